mod answer;
mod ask;
mod files;

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use url::Url;

use self::answer::{Head, Meaning};
use self::ask::{Answer, NoAnswer};
use self::files::KnownRobots;
use super::media::kind_without_text;
use super::pace::{Pace, Terms};
use super::resolver::{GuardedResolver, Lookup, SystemLookup, Trust};
use super::{
    FetchLimits, FetchRequest, Fetched, FetchedPage, RefusedBecause, Scope, canonical, user_agent,
};

/// A connection that nobody uses is kept so long.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// Longest time that a page is left alone after a failure.
const RETRY_MAX: Duration = Duration::from_hours(6);

/// Why nothing can be fetched at all.
#[derive(Debug, thiserror::Error)]
pub enum FetcherError {
    #[error("pages cannot be fetched: {0}")]
    Client(#[from] reqwest::Error),
}

/// Fetches pages; one for the whole process, shared by all crawls, since it is what knows how a host
/// is to be treated.
///
/// It keeps no cookies, says nothing of where it comes from, and uses no proxy: behind one it could
/// not know to which address a name leads.
#[derive(Debug)]
pub struct Fetcher {
    limits: FetchLimits,
    /// Connects to hosts that the person typed.
    typed: Client,
    /// Connects to all others. Apart, since connections that are kept are checked no more.
    open: Client,
    pace: Pace,
    robots: KnownRobots,
}

impl Fetcher {
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(limits: FetchLimits) -> Result<Self, FetcherError> {
        Self::with_lookup(limits, Arc::new(SystemLookup))
    }

    /// As [`Self::new`], with addresses of hosts from elsewhere than the operating system.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn with_lookup(limits: FetchLimits, lookup: Arc<dyn Lookup>) -> Result<Self, FetcherError> {
        let client = |trust, lookup| {
            Client::builder()
                .user_agent(user_agent())
                .redirect(Policy::none())
                .referer(false)
                .no_proxy()
                .http1_only()
                .connect_timeout(limits.connect_max)
                .pool_idle_timeout(IDLE_MAX)
                .dns_resolver(Arc::new(GuardedResolver::new(lookup, trust)))
                .build()
        };
        Ok(Self {
            limits,
            typed: client(Trust::Typed, Arc::clone(&lookup))?,
            open: client(Trust::None, lookup)?,
            pace: Pace::new(limits.rest_first),
            robots: KnownRobots::default(),
        })
    }

    /// Asks for a page when it is the turn of its host, and says what became of it. Dropping the
    /// future gives the request up.
    ///
    /// Every address on the way, the first and those that it leads on to, is judged in the same way:
    /// by scheme, scope, robots.txt and where its host is.
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Fetched {
        let mut passed = Vec::new();
        let fetched = match canonical(request.url) {
            Ok(start) => self.follow(request, start, &mut passed).await,
            Err(error) => Err(NoAnswer::Refused(error.into())),
        };
        fetched.unwrap_or_else(|no_answer| match no_answer {
            NoAnswer::Refused(because) => {
                Fetched::Refused { because, redirects: canonical_all(passed.into_iter().skip(1)) }
            }
            NoAnswer::Failed { reason, status, rest } => {
                let retry_after = rest.max(self.retry_after(request.attempts));
                Fetched::Failed { reason, status, retry_after }
            }
            NoAnswer::Later { reason, after } => Fetched::Later { reason, after },
        })
    }

    /// `passed` gets every address that was gone to, in order.
    async fn follow(
        &self,
        request: FetchRequest<'_>,
        start: Url,
        passed: &mut Vec<Url>,
    ) -> Result<Fetched, NoAnswer> {
        let scope = request.scope;
        let mut url = start;
        loop {
            let is_first = passed.is_empty();
            passed.push(url.clone());
            let leave = self.leave(&url, scope, request.depth).await;
            let terms = leave.map_err(|no_answer| match no_answer {
                NoAnswer::Refused(because) if !is_first => NoAnswer::Refused(because.behind(&url)),
                other => other,
            })?;
            // What is known of the page that was asked for says nothing of another.
            let known = if is_first { (request.etag, request.last_modified) } else { (None, None) };
            let answer = self.ask(&url, scope, terms, known).await?;
            let head = Head::of(&answer.response);
            match answer.meaning() {
                Meaning::Page => return self.page(url, passed, answer, head).await,
                Meaning::NotModified if known != (None, None) => {
                    answer.turn.went_well();
                    return Ok(head.not_modified());
                }
                Meaning::Redirect => {
                    answer.turn.went_well();
                    url = next(&url, &head, passed, self.limits.redirects_max)?;
                }
                Meaning::Gone => {
                    answer.turn.went_well();
                    return Ok(Fetched::Gone { status: answer.status() });
                }
                Meaning::Overloaded => return Err(answer.overloaded(&head)),
                Meaning::Trouble => return Err(answer.trouble()),
                Meaning::NotModified | Meaning::Refused => return Err(answer.refused()),
            }
        }
    }

    /// Whether an address may be asked for, and at which pace.
    async fn leave(&self, url: &Url, scope: &Scope, depth: u32) -> Result<Terms, NoAnswer> {
        Self::check_literal(url, scope)?;
        scope.judge(url, depth).map_err(RefusedBecause::from)?;
        let robots = self.robots(url, scope).await?;
        if !robots.allows(url) {
            return Err(RefusedBecause::Robots.into());
        }
        let delay = robots.delay().unwrap_or_default().max(scope.delay());
        Ok(Terms { delay, connections_max: scope.connections_max() })
    }

    async fn page(
        &self,
        url: Url,
        passed: &[Url],
        answer: Answer,
        head: Head,
    ) -> Result<Fetched, NoAnswer> {
        if let Some(kind) = kind_without_text(head.content_type.essence.as_deref(), &url) {
            answer.turn.went_well();
            return Err(RefusedBecause::NotForText { kind }.into());
        }
        let status = answer.status();
        let body = self.body(answer, &head).await?;
        let redirects = &passed[..passed.len() - 1];
        let last = canonical(&url).map_err(RefusedBecause::from)?;
        Ok(Fetched::Page(Box::new(FetchedPage {
            canonical: head.canonical(&url),
            url: last,
            redirects: canonical_all(redirects.iter().cloned()),
            status,
            body: body.bytes,
            sent_bytes: body.sent_bytes,
            content_type: head.content_type.essence,
            charset: head.content_type.charset,
            language: head.language,
            modified: head.last_modified.as_deref().and_then(answer::seconds_of_date),
            etag: head.etag,
            last_modified: head.last_modified,
            retrieved_at: crate::platform::now_seconds(),
            x_robots: head.x_robots,
        })))
    }

    fn retry_after(&self, attempts: u32) -> Duration {
        let times = 4_u32.saturating_pow(attempts.min(8));
        self.limits.retry_first.saturating_mul(times).min(RETRY_MAX)
    }
}

/// Where a redirect leads. Addresses are followed as they are given and not in canonical form: a server
/// may send from one form of them to the other.
fn next(
    url: &Url,
    head: &Head,
    passed: &[Url],
    redirects_max: usize,
) -> Result<Url, RefusedBecause> {
    let location = head.location.as_deref().unwrap_or_default();
    if location.is_empty() {
        return Err(RefusedBecause::RedirectNowhere);
    }
    let mut target = url.join(location).map_err(|_| RefusedBecause::RedirectNowhere)?;
    target.set_fragment(None);
    if passed.contains(&target) {
        return Err(RefusedBecause::RedirectLoop);
    }
    if passed.len() > redirects_max {
        return Err(RefusedBecause::TooManyRedirects { redirects_max });
    }
    Ok(target)
}

/// An address that led on was asked for, and only such are of a kind that has a canonical form; the
/// last may have been refused for its kind.
fn canonical_all(urls: impl Iterator<Item = Url>) -> Vec<Url> {
    urls.filter_map(|url| canonical(&url).ok()).collect()
}

impl RefusedBecause {
    /// The same at the end of a redirect.
    fn behind(self, url: &Url) -> Self {
        let mut shown = url.clone();
        // Not to be written down anywhere.
        let _ = shown.set_password(None);
        let _ = shown.set_username("");
        Self::Redirect { target: shown.to_string(), because: Box::new(self) }
    }

    fn of_status(status: StatusCode) -> Self {
        let meaning = status.canonical_reason().unwrap_or("unknown").to_ascii_lowercase();
        Self::Status { status: status.as_u16(), meaning: meaning.into() }
    }
}

#[cfg(test)]
mod tests;
