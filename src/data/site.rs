use serde::{Deserialize, Serialize};
use url::Url;

/// A web site that a person chose. Its address, in canonical form, names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Where a crawl starts; `http` or `https`, without a fragment and credentials.
    pub start: Url,
    pub rules: CrawlRules,
}

/// Which pages of a site are wanted, and how gently they are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlRules {
    pub reach: Reach,
    /// Links from the start at most; the start itself has depth 0, what a sitemap names 1.
    pub depth_max: u32,
    /// Pages that are fetched at most, of those that are not known to be unchanged.
    pub pages_max: u64,
    /// Globs over path and query, such as `/docs/**`, where `*` ends at a slash; without any all is
    /// included.
    pub include: Vec<String>,
    /// As `include`, and stronger.
    pub exclude: Vec<String>,
    /// Least time between two requests to one host, in milliseconds; a longer `Crawl-delay` wins.
    pub delay_ms: u64,
    /// Requests at once to one host.
    pub connections_max: u32,
    /// How long after a crawl the next begins by itself, in seconds; `None` for never.
    pub recrawl_after_s: Option<u64>,
}

/// How far from its start a crawl goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Scheme, host and port of the start; with or without `www.` in front, and by http or https where
    /// both have their ordinary port.
    Origin,
    /// The origin, below the folder that the start lies in, or is when its last part has no dot.
    #[default]
    Prefix,
    /// The origin, and these hosts with any port; `*.example.org` is that host and all below it.
    Hosts(Vec<String>),
}

impl Default for CrawlRules {
    fn default() -> Self {
        Self {
            reach: Reach::default(),
            depth_max: 16,
            pages_max: 10_000,
            include: Vec::new(),
            exclude: Vec::new(),
            delay_ms: 200,
            connections_max: 4,
            recrawl_after_s: None,
        }
    }
}

/// What a crawl learned of a site before its first page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteFindings {
    /// What `robots.txt` says, for people.
    pub robots: String,
    /// The time between two requests that it asks for, in milliseconds.
    pub crawl_delay_ms: Option<u64>,
    pub sitemaps: Vec<SitemapFinding>,
}

/// A sitemap that was read, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitemapFinding {
    pub url: Url,
    /// Pages that it names, in scope or not.
    pub pages: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
