//! The web, politely: which addresses belong to a site, and what an address gives.
//!
//! Nothing here knows the store or the order of a crawl; that is `ingest`. What leads out of this
//! module was fetched with a site's leave ([`Fetcher`] asks its robots.txt), at its pace, from an
//! address that is no private one unless a person typed that host, and has a bounded size.

mod body;
mod canonical;
mod fetched;
mod fetcher;
mod limits;
mod media;
mod pace;
mod passage;
mod private;
mod resolver;
mod robots;
mod scope;
mod site;
mod sitemaps;
mod tracking;
mod traps;
mod trouble;

pub use canonical::{UrlError, canonical};
pub use fetched::{FetchRequest, Fetched, FetchedPage, RefusedBecause, XRobots};
pub use fetcher::{Fetcher, FetcherError};
pub use limits::FetchLimits;
pub use media::is_not_for_text;
pub use passage::passage_link;
pub use resolver::{Looking, Lookup, SystemLookup};
pub use scope::{OutOfScope, Scope, ScopeError};
pub use site::site;
pub use sitemaps::{SitemapEntry, SitemapFile, Sitemaps};
pub use traps::{Trap, Traps};

/// Where the owner of a site reads what this crawler is and how to have it stay away.
pub const CONTACT: &str = "https://lodestone.invalid/crawler";

/// How the crawler introduces itself.
#[must_use]
pub fn user_agent() -> String {
    format!("Lodestone/{} (+{CONTACT})", env!("CARGO_PKG_VERSION"))
}

/// The name that robots.txt, `X-Robots-Tag` and `<meta name=…>` know the crawler by.
pub const AGENT: &str = crate::extract::AGENT;

#[cfg(test)]
#[path = "../tests/support/web.rs"]
pub(crate) mod web;
