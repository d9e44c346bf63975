use std::borrow::Cow;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::Url;

use super::{UrlError, canonical};
use crate::data::{Reach, Site};

/// Why the rules of a site cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error(transparent)]
    Start(#[from] UrlError),
    #[error("the pattern {pattern:?} cannot be read ({why}); write one such as /docs/**")]
    Pattern { pattern: String, why: String },
    #[error("{host:?} is no host; write one such as docs.example.org or *.example.org")]
    Host { host: String },
}

/// Why an address is not for this crawl.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfScope {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("{host} is another site")]
    Host { host: String },
    #[error("it is not below {prefix}")]
    Prefix { prefix: String },
    #[error("it is more than {depth_max} links from the start")]
    Depth { depth_max: u32 },
    #[error("none of the patterns to include matches it")]
    NotIncluded,
    #[error("the pattern {pattern} excludes it")]
    Excluded { pattern: String },
}

/// Which addresses belong to a site, by its rules.
///
/// Two liberties, without which a crawl of what people type would end at its first redirect: a host
/// with and without `www.` in front is the same, and so are its ordinary ports for http and https.
#[derive(Clone, Debug)]
pub struct Scope {
    site: Site,
    folder: Option<String>,
    hosts: Vec<HostPattern>,
    include: GlobSet,
    exclude: GlobSet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Is(String),
    /// The host and all below it.
    EndsIn(String),
}

/// What is not written as it is in a canonical path.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

impl Scope {
    /// # Errors
    /// When the start is no address to crawl, or a pattern or host cannot be read.
    pub fn new(site: &Site) -> Result<Self, ScopeError> {
        let start = canonical(&site.start)?;
        let rules = site.rules.clone();
        let folder = matches!(rules.reach, Reach::Prefix).then(|| folder(start.path()).to_owned());
        let hosts = match &rules.reach {
            Reach::Hosts(hosts) => {
                hosts.iter().map(|host| HostPattern::read(host)).collect::<Result<_, _>>()?
            }
            Reach::Origin | Reach::Prefix => Vec::new(),
        };
        let include = globs(&rules.include)?;
        let exclude = globs(&rules.exclude)?;
        Ok(Self { site: Site { start, rules }, folder, hosts, include, exclude })
    }

    /// The site, with its start in canonical form.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Whether a page is wanted that is `depth` links from the start. The start itself always is,
    /// whatever the patterns say.
    ///
    /// # Errors
    /// With the reason when it is not.
    pub fn judge(&self, url: &Url, depth: u32) -> Result<(), OutOfScope> {
        let url = canonical(url)?;
        self.judge_host(&url)?;
        if url == self.site.start {
            return Ok(());
        }
        if let Some(folder) = &self.folder
            && !is_below(folder, url.path())
        {
            return Err(OutOfScope::Prefix { prefix: folder.clone() });
        }
        let depth_max = self.site.rules.depth_max;
        if depth > depth_max {
            return Err(OutOfScope::Depth { depth_max });
        }
        let path = match url.query() {
            Some(query) => Cow::Owned(format!("{}?{query}", url.path())),
            None => Cow::Borrowed(url.path()),
        };
        if let Some(first) = self.exclude.matches(&*path).first() {
            let pattern = self.site.rules.exclude[*first].clone();
            return Err(OutOfScope::Excluded { pattern });
        }
        if !self.include.is_empty() && !self.include.is_match(&*path) {
            return Err(OutOfScope::NotIncluded);
        }
        Ok(())
    }

    /// Whether the person named this host, so that it may have a private address.
    pub(super) fn is_typed(&self, host: &str) -> bool {
        self.site.start.host_str() == Some(host)
            || self.hosts.iter().any(|pattern| *pattern == HostPattern::Is(host.to_owned()))
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_millis(self.site.rules.delay_ms)
    }

    pub(super) fn connections_max(&self) -> usize {
        self.site.rules.connections_max.max(1) as usize
    }

    fn judge_host(&self, url: &Url) -> Result<(), OutOfScope> {
        let host = url.host_str().unwrap_or_default();
        if is_same_origin(&self.site.start, url)
            || self.hosts.iter().any(|pattern| pattern.matches(host))
        {
            return Ok(());
        }
        Err(OutOfScope::Host { host: host.to_owned() })
    }
}

impl HostPattern {
    /// Through [`Url`], which knows international names and the many spellings of numbers.
    fn read(typed: &str) -> Result<Self, ScopeError> {
        let malformed = || ScopeError::Host { host: typed.to_owned() };
        let name = typed.trim().trim_end_matches('.');
        let (below, name) = match name.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, name),
        };
        // The brackets of an IPv6 address hold colons that begin no port.
        let after_brackets = name.rsplit_once(']').map_or(name, |(_, rest)| rest);
        if after_brackets.contains(':') {
            return Err(malformed());
        }
        let url = Url::parse(&format!("http://{name}/")).map_err(|_| malformed())?;
        let is_host_alone = url.path() == "/" && url.username().is_empty() && !name.is_empty();
        let host = url.host_str().filter(|_| is_host_alone).ok_or_else(malformed)?.to_owned();
        if host.contains('*') {
            return Err(malformed());
        }
        Ok(if below { Self::EndsIn(host) } else { Self::Is(host) })
    }

    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Is(name) => host == name,
            Self::EndsIn(name) => host
                .strip_suffix(name.as_str())
                .is_some_and(|below| below.is_empty() || below.ends_with('.')),
        }
    }
}

fn is_same_origin(start: &Url, url: &Url) -> bool {
    let bare = |url: &Url| {
        let host = url.host_str().unwrap_or_default().to_owned();
        host.strip_prefix("www.").map(str::to_owned).unwrap_or(host)
    };
    let is_same_scheme_and_port = start.scheme() == url.scheme() && start.port() == url.port();
    let are_ordinary = start.port().is_none() && url.port().is_none();
    bare(start) == bare(url) && (is_same_scheme_and_port || are_ordinary)
}

/// The folder that a page lies in. A last part without a dot is one itself, such as `/tokio` in
/// `docs.rs/tokio`: a server sends on from there to `/tokio/…`.
fn folder(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((folder, last)) if last.contains('.') => &path[..=folder.len()],
        _ => path,
    }
}

fn is_below(folder: &str, path: &str) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => folder.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
        // The folder without its slash, from where servers send on to the folder.
        None => folder.strip_suffix('/') == Some(path),
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, ScopeError> {
    let malformed = |pattern: &str, error: &globset::Error| ScopeError::Pattern {
        pattern: pattern.to_owned(),
        why: error.kind().to_string(),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let written = pattern.trim();
        // `docs/**` means what `/docs/**` does, since every path begins with a slash.
        let written = if written.starts_with(['/', '*', '{', '[', '?']) {
            Cow::Borrowed(written)
        } else {
            Cow::Owned(format!("/{written}"))
        };
        let written = utf8_percent_encode(&written, NOT_IN_PATHS).to_string();
        let glob = GlobBuilder::new(&written)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| malformed(pattern, &error))?;
        set.add(glob);
    }
    set.build().map_err(|error| malformed(&patterns.join(" "), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::CrawlRules;

    fn scope(start: &str, rules: CrawlRules) -> Scope {
        Scope::new(&Site { start: Url::parse(start).unwrap(), rules }).unwrap()
    }

    fn reach(reach: Reach) -> CrawlRules {
        CrawlRules { reach, ..CrawlRules::default() }
    }

    fn check(scope: &Scope, url: &str, expected: &str) {
        let judged = scope.judge(&Url::parse(url).unwrap(), 1);
        let said = judged.err().map_or_else(String::new, |reason| reason.to_string());
        assert_eq!(said, expected, "{url}");
    }

    #[test]
    fn an_origin_is_a_host_and_its_port() {
        let scope = scope("https://example.org/a/b.html", reach(Reach::Origin));
        for url in ["https://example.org/c?d", "https://www.example.org/", "http://example.org/c"] {
            check(&scope, url, "");
        }
        check(&scope, "https://example.org:8443/", "example.org is another site");
        check(&scope, "https://docs.example.org/", "docs.example.org is another site");
        check(&scope, "https://example.org.evil.test/", "example.org.evil.test is another site");
        check(
            &scope,
            "mailto:a@example.org",
            "mailto: addresses cannot be crawled, only http: and https:",
        );
        check(
            &scope,
            "https://a@example.org/",
            "example.org is given with a user name or password; leave it out, pages are read as anyone",
        );
    }

    #[test]
    fn ports_that_are_not_the_ordinary_ones_are_origins_of_their_own() {
        let scope = scope("http://127.0.0.1:8000/", reach(Reach::Origin));
        check(&scope, "http://127.0.0.1:8000/x", "");
        check(&scope, "http://127.0.0.1:8001/", "127.0.0.1 is another site");
        check(&scope, "https://127.0.0.1:8000/", "127.0.0.1 is another site");
        check(&scope, "http://127.0.0.1/", "127.0.0.1 is another site");
    }

    #[test]
    fn a_prefix_is_the_folder_of_the_start() {
        let of_page = scope("https://example.org/guide/index.html", reach(Reach::Prefix));
        check(&of_page, "https://example.org/guide/a", "");
        check(&of_page, "https://example.org/guide", "");
        check(&of_page, "https://example.org/guides/a", "it is not below /guide/");
        check(&of_page, "https://example.org/guide/%2e%2e/a", "it is not below /guide/");
        let of_folder = scope("https://docs.rs/tokio", reach(Reach::Prefix));
        check(&of_folder, "https://docs.rs/tokio/latest/tokio/", "");
        check(&of_folder, "https://docs.rs/tokio", "");
        check(&of_folder, "https://docs.rs/tokio-util", "it is not below /tokio");
        check(&scope("https://example.org", reach(Reach::Prefix)), "https://example.org/a/b", "");
    }

    #[test]
    fn listed_hosts_belong_and_stars_take_all_below() {
        let hosts = ["Docs.Example.org", "*.example.net", "bücher.example"].map(str::to_owned);
        let scope = scope("https://example.org/", reach(Reach::Hosts(hosts.to_vec())));
        for url in [
            "https://example.org/a",
            "http://docs.example.org:81/",
            "https://example.net/",
            "https://a.b.example.net/",
            "https://xn--bcher-kva.example/",
        ] {
            check(&scope, url, "");
        }
        check(&scope, "https://x.docs.example.org/", "x.docs.example.org is another site");
        check(&scope, "https://notexample.net/", "notexample.net is another site");
        assert!(scope.is_typed("example.org") && scope.is_typed("docs.example.org"));
        assert!(!scope.is_typed("example.net") && !scope.is_typed("www.example.org"));
        for host in ["", "https://a.org", "a.org/b", "a.org:80", "*", "a.*.org", "u@a.org"] {
            let rules = reach(Reach::Hosts(vec![host.to_owned()]));
            let site = Site { start: Url::parse("https://example.org").unwrap(), rules };
            assert!(matches!(Scope::new(&site), Err(ScopeError::Host { .. })), "{host}");
        }
    }

    #[test]
    fn patterns_look_at_path_and_query_and_exclusion_is_stronger() {
        let rules = CrawlRules {
            reach: Reach::Origin,
            include: vec!["/docs/**".into(), "über/*".into()],
            exclude: vec!["**/old/**".into(), "**/*\\?*print=*".into()],
            ..CrawlRules::default()
        };
        let scope = scope("https://example.org/start", rules);
        check(&scope, "https://example.org/start", "");
        check(&scope, "https://example.org/docs/a/b", "");
        check(&scope, "https://example.org/%C3%BCber/a", "");
        check(&scope, "https://example.org/über/a/b", "none of the patterns to include matches it");
        check(&scope, "https://example.org/blog", "none of the patterns to include matches it");
        check(&scope, "https://example.org/docs/old/a", "the pattern **/old/** excludes it");
        check(
            &scope,
            "https://example.org/docs/a?page=1&print=yes",
            "the pattern **/*\\?*print=* excludes it",
        );
        let site = Site {
            start: Url::parse("https://example.org").unwrap(),
            rules: CrawlRules { include: vec!["/a[".into()], ..CrawlRules::default() },
        };
        let error = Scope::new(&site).unwrap_err().to_string();
        assert!(error.starts_with("the pattern \"/a[\" cannot be read"), "{error}");
    }

    #[test]
    fn depth_ends_a_crawl() {
        let rules = CrawlRules { depth_max: 2, ..reach(Reach::Origin) };
        let scope = scope("https://example.org/", rules);
        let url = Url::parse("https://example.org/a").unwrap();
        assert_eq!(scope.judge(&url, 2), Ok(()));
        assert_eq!(scope.judge(&url, 3), Err(OutOfScope::Depth { depth_max: 2 }));
    }
}
