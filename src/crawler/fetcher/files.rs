//! What a host keeps for crawlers: its robots.txt and its sitemaps.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::answer::{Head, Meaning};
use super::ask::{NoAnswer, Surplus, unpacked};
use super::{Fetcher, next};
use crate::crawler::body::{Packing, unpack_if_gzip};
use crate::crawler::pace::Terms;
use crate::crawler::robots::{ROBOTS_BYTES_MAX, RobotRules};
use crate::crawler::sitemaps::{self, SITEMAP_BYTES_MAX, SITEMAP_FILES_MAX, SITEMAP_PAGES_MAX};
use crate::crawler::{RefusedBecause, Scope, SitemapFile, Sitemaps, canonical};

/// A robots.txt is asked for again after so long (RFC 9309: a day at most).
const ROBOTS_AGE_MAX: Duration = Duration::from_hours(24);

/// Redirects of these files (RFC 9309: five at least).
const FILE_REDIRECTS_MAX: usize = 5;

/// What a packed robots.txt may unpack to before it is cut off.
const ROBOTS_UNPACKED_BYTES_MAX: usize = 8 * ROBOTS_BYTES_MAX;

/// The rules of every origin that was asked.
#[derive(Debug, Default)]
pub(super) struct KnownRobots {
    origins: Mutex<HashMap<String, Arc<KnownOrigin>>>,
}

/// Held while its robots.txt is fetched, so that those who come meanwhile wait for it and do not ask
/// themselves.
type KnownOrigin = tokio::sync::Mutex<Option<(Arc<RobotRules>, Instant)>>;

/// A file, or that there is none.
enum File {
    Is(Vec<u8>),
    IsNot(RefusedBecause),
}

/// Which file, as far as it makes a difference.
#[derive(Clone, Copy)]
struct Kind {
    sent_bytes_max: usize,
    unpacked_bytes_max: usize,
    surplus: Surplus,
}

const ROBOTS: Kind = Kind {
    sent_bytes_max: ROBOTS_BYTES_MAX,
    unpacked_bytes_max: ROBOTS_UNPACKED_BYTES_MAX,
    surplus: Surplus::CutOff,
};

const SITEMAP: Kind = Kind {
    sent_bytes_max: SITEMAP_BYTES_MAX,
    unpacked_bytes_max: SITEMAP_BYTES_MAX,
    surplus: Surplus::Refused,
};

impl Fetcher {
    /// The rules of the host that `url` is on, fetched unless they are known.
    pub(super) async fn robots(
        &self,
        url: &Url,
        scope: &Scope,
    ) -> Result<Arc<RobotRules>, NoAnswer> {
        let origin = url.origin().ascii_serialization();
        let known = {
            let mut origins = self.robots.origins.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(origins.entry(origin).or_default())
        };
        let mut known = known.lock().await;
        if let Some((rules, until)) = known.as_ref()
            && Instant::now() < *until
        {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(self.fetch_robots(url, scope).await?);
        *known = Some((Arc::clone(&rules), Instant::now() + ROBOTS_AGE_MAX));
        Ok(rules)
    }

    /// Whether a host answers at all: asks for its robots.txt, whatever is known of it.
    pub async fn is_there(&self, url: &Url, scope: &Scope) -> bool {
        match self.fetch_robots(url, scope).await {
            Ok(_) | Err(NoAnswer::Refused(_)) => true,
            Err(NoAnswer::Failed { status, .. }) => status.is_some(),
            Err(NoAnswer::Later { .. }) => false,
        }
    }

    async fn fetch_robots(&self, url: &Url, scope: &Scope) -> Result<RobotRules, NoAnswer> {
        let mut at = url.clone();
        at.set_query(None);
        at.set_fragment(None);
        at.set_path("/robots.txt");
        match self.file(at, scope, terms(scope), ROBOTS).await {
            Ok(File::Is(text)) => {
                let reading = tokio::task::spawn_blocking(move || RobotRules::read(&text));
                Ok(reading.await.unwrap_or(RobotRules::Unreadable))
            }
            Ok(File::IsNot(_)) => Ok(RobotRules::None),
            // Of the host itself, and not of one that its robots.txt is said to be on.
            Err(NoAnswer::Refused(RefusedBecause::PrivateAddress { host, address }))
                if Some(host.as_str()) == url.host_str() =>
            {
                Err(RefusedBecause::PrivateAddress { host, address }.into())
            }
            // What cannot be asked for is no leave.
            Err(NoAnswer::Refused(_)) => Ok(RobotRules::Unreadable),
            Err(NoAnswer::Failed { reason, status, rest }) => {
                let reason = format!("its robots.txt cannot be read now: {reason}");
                Err(NoAnswer::Failed { reason, status, rest })
            }
            Err(later @ NoAnswer::Later { .. }) => Err(later),
        }
    }

    /// What the sitemaps of a site name, as far as it is in scope: those of its robots.txt, else
    /// `/sitemap.xml`. Trouble with one of them is noted beside it.
    pub async fn sitemaps(&self, scope: &Scope) -> Sitemaps {
        let mut sitemaps = Sitemaps::default();
        let start = &scope.site().start;
        let robots = match self.robots(start, scope).await {
            Ok(robots) => robots,
            Err(no_answer) => {
                sitemaps.robots = Err(no_answer.to_string());
                return sitemaps;
            }
        };
        sitemaps.robots = Ok(matches!(*robots, RobotRules::Read(_)));
        sitemaps.crawl_delay = robots.delay();
        let mut named = robots.sitemaps(start);
        if named.is_empty() {
            named.extend(start.join("/sitemap.xml"));
            sitemaps.is_guess = true;
        }
        let delay = robots.delay().unwrap_or_default().max(scope.delay());
        let terms = Terms { delay, connections_max: scope.connections_max() };
        let mut seen = HashSet::new();
        let mut pages = HashSet::new();
        let mut to_read: VecDeque<Url> = named.into();
        while let Some(url) = to_read.pop_front() {
            if sitemaps.files.len() == SITEMAP_FILES_MAX
                || sitemaps.entries.len() == SITEMAP_PAGES_MAX
            {
                sitemaps.is_cut_off = true;
                break;
            }
            let Ok(url) = canonical(&url) else { continue };
            if !seen.insert(url.clone()) {
                continue;
            }
            let found = match self.sitemap(url.clone(), scope, terms).await {
                Ok(found) => found,
                Err(trouble) => {
                    let pages = Err(trouble.to_string());
                    sitemaps.files.push(SitemapFile { url, pages });
                    continue;
                }
            };
            sitemaps.files.push(SitemapFile { url, pages: Ok(found.pages.len() as u64) });
            to_read.extend(found.sitemaps);
            for mut entry in found.pages {
                let Ok(page) = canonical(&entry.url) else { continue };
                if scope.judge(&page, 1).is_ok() && pages.insert(page.clone()) {
                    if sitemaps.entries.len() == SITEMAP_PAGES_MAX {
                        sitemaps.is_cut_off = true;
                        break;
                    }
                    entry.url = page;
                    sitemaps.entries.push(entry);
                }
            }
        }
        sitemaps
    }

    async fn sitemap(
        &self,
        url: Url,
        scope: &Scope,
        terms: Terms,
    ) -> Result<sitemaps::Found, NoAnswer> {
        match self.file(url.clone(), scope, terms, SITEMAP).await? {
            File::IsNot(because) => Err(because.into()),
            File::Is(bytes) => {
                let reading = tokio::task::spawn_blocking(move || {
                    let bytes = unpack_if_gzip(bytes, SITEMAP_BYTES_MAX)?;
                    Ok(sitemaps::read(&bytes, &url))
                });
                reading.await.unwrap_or_else(|_| {
                    Err(RefusedBecause::Damaged { encoding: "its encoding".to_owned() }.into())
                })
            }
        }
    }

    /// A file that is not for readers and so in no scope; that its host is a public one is checked
    /// for each address on the way.
    async fn file(
        &self,
        start: Url,
        scope: &Scope,
        terms: Terms,
        kind: Kind,
    ) -> Result<File, NoAnswer> {
        let mut url = start;
        let mut passed = Vec::new();
        loop {
            passed.push(url.clone());
            canonical(&url).map_err(RefusedBecause::from)?;
            let answer = self.ask(&url, scope, terms, (None, None)).await?;
            let head = Head::of(&answer.response);
            match answer.meaning() {
                Meaning::Page => {
                    let packing = Packing::of(&head.encoding)?;
                    let sent = self.sent(answer, kind.sent_bytes_max, kind.surplus).await?;
                    let bytes = unpacked(packing, sent, kind.unpacked_bytes_max).await?;
                    return Ok(File::Is(bytes));
                }
                Meaning::Redirect => {
                    answer.turn.went_well();
                    match next(&url, &head, &passed, FILE_REDIRECTS_MAX) {
                        Ok(target) => url = target,
                        // RFC 9309: as if there were none.
                        Err(because) => return Ok(File::IsNot(because)),
                    }
                }
                Meaning::Overloaded => return Err(answer.overloaded(&head)),
                // The whole host waits for its robots.txt, so the whole host rests.
                Meaning::Trouble => return Err(answer.overloaded(&Head::default())),
                Meaning::Gone | Meaning::Refused | Meaning::NotModified => {
                    answer.turn.went_well();
                    let because = RefusedBecause::of_status(answer.response.status());
                    return Ok(File::IsNot(because));
                }
            }
        }
    }
}

fn terms(scope: &Scope) -> Terms {
    Terms { delay: scope.delay(), connections_max: scope.connections_max() }
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(because) => because.fmt(f),
            Self::Failed { reason, .. } | Self::Later { reason, .. } => f.write_str(reason),
        }
    }
}
