//! What the head of an answer says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED,
    LINK, LOCATION, RETRY_AFTER,
};
use reqwest::{Response, StatusCode};
use url::Url;

use crate::crawler::media::ContentType;
use crate::crawler::{Fetched, XRobots};

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Longer values of headers that are kept with a page are no such values.
const KEPT_BYTES_MAX: usize = 1024;

/// What a status means for a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Page,
    NotModified,
    Redirect,
    Gone,
    /// The whole host has too much to do.
    Overloaded,
    /// Something is wrong with this page for now.
    Trouble,
    Refused,
}

impl Meaning {
    pub(super) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            200 | 203 => Self::Page,
            304 => Self::NotModified,
            301 | 302 | 303 | 307 | 308 => Self::Redirect,
            404 | 410 => Self::Gone,
            429 | 503 => Self::Overloaded,
            408 | 425 | 500..=599 => Self::Trouble,
            _ => Self::Refused,
        }
    }
}

/// The headers that matter, as text.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub content_type: ContentType,
    pub encoding: String,
    pub language: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub location: Option<String>,
    pub retry_after: Option<Duration>,
    pub x_robots: XRobots,
    links: Vec<String>,
}

impl Head {
    pub(super) fn of(response: &Response) -> Self {
        Self::read(response.headers(), SystemTime::now())
    }

    fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let first = |name| headers.get(name).map(|value| lossy(value.as_bytes()));
        let kept = |name| first(name).filter(|value| value.len() <= KEPT_BYTES_MAX);
        let all = |name| headers.get_all(name).iter().map(|value| lossy(value.as_bytes()));
        let robots: Vec<String> = all(X_ROBOTS_TAG).collect();
        let language = kept(CONTENT_LANGUAGE).and_then(|languages| {
            let language = languages.split(',').next().unwrap_or_default().trim().to_owned();
            (!language.is_empty()).then_some(language)
        });
        Self {
            content_type: first(CONTENT_TYPE)
                .map(|header| ContentType::read(&header))
                .unwrap_or_default(),
            encoding: all(CONTENT_ENCODING).collect::<Vec<_>>().join(","),
            language,
            etag: kept(ETAG),
            last_modified: kept(LAST_MODIFIED),
            location: first(LOCATION),
            retry_after: first(RETRY_AFTER).and_then(|header| retry_after(&header, now)),
            x_robots: XRobots::read(robots.iter().map(String::as_str)),
            links: all(LINK).collect(),
        }
    }

    pub(super) fn not_modified(self) -> Fetched {
        Fetched::NotModified {
            etag: self.etag,
            last_modified: self.last_modified,
            retrieved_at: crate::platform::now_seconds(),
        }
    }

    /// What a `Link` with `rel=canonical` names.
    pub(super) fn canonical(&self, url: &Url) -> Option<Url> {
        self.links.iter().find_map(|link| canonical_link(link)).and_then(|to| url.join(to).ok())
    }
}

/// Values may be anything; what is no UTF-8 is of no use but must not be lost in silence.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// RFC 8288, as far as it is needed here: targets hold no `>`.
fn canonical_link(header: &str) -> Option<&str> {
    header.split('<').skip(1).find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let is_canonical = parameters.split([';', ',']).any(|parameter| {
            parameter.split_once('=').is_some_and(|(name, value)| {
                name.trim().eq_ignore_ascii_case("rel")
                    && value.trim().trim_matches('"').eq_ignore_ascii_case("canonical")
            })
        });
        is_canonical.then(|| target.trim())
    })
}

/// Seconds, or a date; one that has passed is now.
fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// A date of HTTP in seconds since the Unix epoch.
pub(super) fn seconds_of_date(header: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(header).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_to_come_back_in_seconds_or_by_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (header, seconds) in [
            ("120", Some(120)),
            ("0", Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun Nov  6 08:00:00 1994", Some(0)),
            ("soon", None),
            ("-5", None),
        ] {
            let after = retry_after(header, now).map(|after| after.as_secs());
            assert_eq!(after, seconds, "{header}");
        }
    }

    #[test]
    fn a_header_names_the_canonical_address() {
        for (header, target) in [
            ("</a>; rel=\"canonical\"", Some("/a")),
            ("</b>; rel=next, </a>; title=x; REL=Canonical", Some("/a")),
            ("</b>; rel=next", None),
            ("<", None),
        ] {
            assert_eq!(canonical_link(header), target, "{header}");
        }
    }
}
