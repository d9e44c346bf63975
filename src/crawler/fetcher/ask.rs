//! One request and its answer, within the limits.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::Fetcher;
use super::answer::{Head, Meaning};
use crate::crawler::body::{self, Packing};
use crate::crawler::pace::{NotNow, Terms, Turn};
use crate::crawler::resolver::{self, PrivateAddress, Trust};
use crate::crawler::trouble::Trouble;
use crate::crawler::{RefusedBecause, Scope};

/// What is wanted most; servers that have one page in several forms choose by it.
const WANTED: &str = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.9,*/*;q=0.5";

/// Why a request has no answer that can be used.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Refused(RefusedBecause),
    Failed { reason: String, status: Option<u16>, rest: Duration },
    Later { reason: String, after: Duration },
}

impl From<RefusedBecause> for NoAnswer {
    fn from(because: RefusedBecause) -> Self {
        Self::Refused(because)
    }
}

impl From<PrivateAddress> for RefusedBecause {
    fn from(PrivateAddress { host, address }: PrivateAddress) -> Self {
        Self::PrivateAddress { host, address }
    }
}

/// The head of an answer has come, its body not yet.
#[derive(Debug)]
pub(super) struct Answer {
    pub response: Response,
    pub turn: Turn,
    host: String,
    deadline: Instant,
}

/// A whole body, unpacked.
#[derive(Debug)]
pub(super) struct Body {
    pub bytes: Vec<u8>,
    pub sent_bytes: u64,
}

impl Fetcher {
    pub(super) fn check_literal(url: &Url, scope: &Scope) -> Result<(), RefusedBecause> {
        resolver::check_literal(url, trust(url, scope)).map_err(RefusedBecause::from)
    }

    /// Asks for `url` when it is its host's turn. `known` are the marks of a version that is there
    /// already.
    pub(super) async fn ask(
        &self,
        url: &Url,
        scope: &Scope,
        terms: Terms,
        known: (Option<&str>, Option<&str>),
    ) -> Result<Answer, NoAnswer> {
        Self::check_literal(url, scope)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let turn = self.pace.turn(&host, terms, self.limits.wait_max).await;
        let turn = turn.map_err(|NotNow { after }| NoAnswer::Later {
            reason: format!("{host} is not asked before some time has passed"),
            after,
        })?;
        let client = match trust(url, scope) {
            Trust::Typed => &self.typed,
            Trust::None => &self.open,
        };
        let deadline = Instant::now() + self.limits.request_max;
        let head_max =
            (self.limits.connect_max + self.limits.silence_max).min(self.limits.request_max);
        let sending = client.get(url.clone()).headers(asking(known)).send();
        let response = match timeout(head_max, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(failed(&error, &host, &turn)),
            Err(_) => return Err(silent(&host, &turn)),
        };
        Ok(Answer { response, turn, host, deadline })
    }

    /// The body of an answer, as far as the limits allow.
    pub(super) async fn body(&self, answer: Answer, head: &Head) -> Result<Body, NoAnswer> {
        let packing = Packing::of(&head.encoding)?;
        let sent = self.sent(answer, self.limits.sent_bytes_max, Surplus::Refused).await?;
        let sent_bytes = sent.len() as u64;
        let bytes = unpacked(packing, sent, self.limits.body_bytes_max).await?;
        Ok(Body { bytes, sent_bytes })
    }

    pub(super) async fn sent(
        &self,
        mut answer: Answer,
        bytes_max: usize,
        surplus: Surplus,
    ) -> Result<Vec<u8>, NoAnswer> {
        let too_large = RefusedBecause::TooLarge { mb_max: bytes_max >> 20 };
        let is_announced =
            answer.response.content_length().is_some_and(|length| length > bytes_max as u64);
        if is_announced && surplus == Surplus::Refused {
            answer.turn.went_well();
            return Err(too_large.into());
        }
        let mut sent = Vec::new();
        loop {
            let silence_ends = Instant::now() + self.limits.silence_max;
            let next = timeout_at(silence_ends.min(answer.deadline), answer.response.chunk()).await;
            match next {
                Ok(Ok(Some(piece))) => {
                    let room = bytes_max - sent.len();
                    sent.extend_from_slice(&piece[..piece.len().min(room)]);
                    if piece.len() > room {
                        answer.turn.went_well();
                        match surplus {
                            Surplus::Refused => return Err(too_large.into()),
                            Surplus::CutOff => break,
                        }
                    }
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(failed(&error, &answer.host, &answer.turn)),
                Err(_) => return Err(silent(&answer.host, &answer.turn)),
            }
        }
        answer.turn.went_well();
        Ok(sent)
    }
}

/// What becomes of a body that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surplus {
    Refused,
    CutOff,
}

/// Away from the threads of the network: a bomb keeps a processor busy.
pub(super) async fn unpacked(
    packing: Packing,
    sent: Vec<u8>,
    bytes_max: usize,
) -> Result<Vec<u8>, RefusedBecause> {
    if packing.is_none() {
        return Ok(sent);
    }
    let unpacking = tokio::task::spawn_blocking(move || packing.unpack(sent, bytes_max));
    // A decoder that panicked met damage that it did not foresee.
    unpacking
        .await
        .unwrap_or_else(|_| Err(RefusedBecause::Damaged { encoding: "its encoding".to_owned() }))
}

impl Answer {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(super) fn meaning(&self) -> Meaning {
        Meaning::of(self.response.status())
    }

    /// The host rests as long as it asks.
    pub(super) fn overloaded(&self, head: &Head) -> NoAnswer {
        let rest = self.turn.went_wrong(head.retry_after);
        let status = self.status();
        let reason = match status {
            429 => format!("{} asks for fewer requests (429)", self.host),
            _ => format!("{} is overloaded or down for maintenance ({status})", self.host),
        };
        NoAnswer::Failed { reason, status: Some(status), rest }
    }

    /// Nothing of the host: other pages may be well.
    pub(super) fn trouble(&self) -> NoAnswer {
        self.turn.went_well();
        let status = self.status();
        let reason = RefusedBecause::of_status(self.response.status()).to_string();
        NoAnswer::Failed { reason, status: Some(status), rest: Duration::ZERO }
    }

    pub(super) fn refused(&self) -> NoAnswer {
        self.turn.went_well();
        let status = self.response.status();
        match status.as_u16() {
            status @ (401 | 407) => RefusedBecause::NeedsPassword { status }.into(),
            _ => RefusedBecause::of_status(status).into(),
        }
    }
}

fn trust(url: &Url, scope: &Scope) -> Trust {
    if url.host_str().is_some_and(|host| scope.is_typed(host)) { Trust::Typed } else { Trust::None }
}

fn asking((etag, last_modified): (Option<&str>, Option<&str>)) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(WANTED));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(body::ACCEPT_ENCODING));
    for (name, value) in [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, last_modified)] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}

fn failed(error: &reqwest::Error, host: &str, turn: &Turn) -> NoAnswer {
    match Trouble::of(error, host) {
        Trouble::Private(private) => RefusedBecause::from(private).into(),
        Trouble::Passing(reason) => {
            NoAnswer::Failed { reason, status: None, rest: turn.went_wrong(None) }
        }
    }
}

fn silent(host: &str, turn: &Turn) -> NoAnswer {
    let reason = format!("{host} does not answer in time");
    NoAnswer::Failed { reason, status: None, rest: turn.went_wrong(None) }
}
