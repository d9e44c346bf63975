use std::borrow::Cow;
use std::time::Duration;

use url::Url;

use super::{OutOfScope, Scope, UrlError};

/// What to ask for, and on whose behalf.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'a> {
    pub url: &'a Url,
    pub scope: &'a Scope,
    /// Links from the start.
    pub depth: u32,
    /// Of the version that is known, as the server gave them; where either is there, the answer may be
    /// [`Fetched::NotModified`].
    pub etag: Option<&'a str>,
    pub last_modified: Option<&'a str>,
    /// How often this page has failed before; the more, the longer it is left alone after.
    pub attempts: u32,
}

impl<'a> FetchRequest<'a> {
    /// A page that was never asked for.
    #[must_use]
    pub fn new(url: &'a Url, scope: &'a Scope, depth: u32) -> Self {
        Self { url, scope, depth, etag: None, last_modified: None, attempts: 0 }
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetched {
    Page(Box<FetchedPage>),
    NotModified {
        etag: Option<String>,
        last_modified: Option<String>,
        retrieved_at: i64,
    },
    /// The server says that there is no such page (404, 410).
    Gone {
        status: u16,
    },
    /// This page is not to be had, and will not be by asking again. `redirects` are the addresses
    /// that led to where it was refused, in order, without the one that was asked for.
    Refused {
        because: RefusedBecause,
        redirects: Vec<Url>,
    },
    /// It may be had another time, not before `retry_after`.
    Failed {
        reason: String,
        status: Option<u16>,
        retry_after: Duration,
    },
    /// Nothing was asked: the host rests for so long after trouble, or its robots.txt cannot be read
    /// now. It is no attempt at this page.
    Later {
        reason: String,
        after: Duration,
    },
}

/// A page as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedPage {
    /// Where the page is, in canonical form: after all redirects.
    pub url: Url,
    /// The addresses that sent on, in canonical form and in order; the first is the one asked for.
    /// Empty when none did.
    pub redirects: Vec<Url>,
    pub status: u16,
    /// Unpacked.
    pub body: Vec<u8>,
    /// As they were sent, packed or not.
    pub sent_bytes: u64,
    /// In lower case and without parameters, such as `text/html`.
    pub content_type: Option<String>,
    /// The `charset` of the content type.
    pub charset: Option<String>,
    /// The first of `Content-Language`.
    pub language: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// `last_modified` in seconds since the Unix epoch, where it can be read.
    pub modified: Option<i64>,
    /// Seconds since the Unix epoch.
    pub retrieved_at: i64,
    pub x_robots: XRobots,
    /// `Link: <…>; rel="canonical"`, resolved, as PDF files have it.
    pub canonical: Option<Url>,
}

/// What the header `X-Robots-Tag` asks of us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XRobots {
    pub noindex: bool,
    pub nofollow: bool,
}

/// Why a page is not fetched, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedBecause {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    OutOfScope(#[from] OutOfScope),
    #[error("its robots.txt asks crawlers to stay away")]
    Robots,
    #[error(
        "{host} is a private address ({address}), which only a person may name; add it as a site \
         of its own if it is meant"
    )]
    PrivateAddress { host: String, address: String },
    #[error("it leads on to {target}, where {because}")]
    Redirect { target: String, because: Box<RefusedBecause> },
    #[error("it leads in a circle, as pages do that insist on cookies")]
    RedirectLoop,
    #[error("it leads on more than {redirects_max} times")]
    TooManyRedirects { redirects_max: usize },
    #[error("it leads on to no address that can be read")]
    RedirectNowhere,
    #[error("the server asks for a password ({status})")]
    NeedsPassword { status: u16 },
    #[error("the server answers with status {status} ({meaning})")]
    Status { status: u16, meaning: Cow<'static, str> },
    #[error("it is {kind}, which holds no text to search")]
    NotForText { kind: String },
    #[error("it is larger than {mb_max} MB")]
    TooLarge { mb_max: usize },
    #[error("it unpacks to more than {mb_max} MB")]
    Expands { mb_max: usize },
    #[error("it is packed with {encoding:?}, which was not asked for")]
    Encoding { encoding: String },
    #[error("it was packed wrongly with {encoding}")]
    Damaged { encoding: String },
}
