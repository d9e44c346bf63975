//! The crawl of a site: take, fetch, read, chunk, embed, commit.
//!
//! What is still to be asked for is in the store, so a crawl goes on where it was whatever ended the
//! process. Trouble with one page is a line of its row and the crawl goes on.

mod contact;
mod figures;
mod links;
mod page;
mod run;
mod seed;

pub use figures::CrawlFigures;
pub use run::crawl_site;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Gate;
use crate::crawler::{Fetcher, Scope};
use crate::storage::StoredSite;

/// Which site to crawl, and when to stop.
#[derive(Debug)]
pub struct CrawlRun {
    /// Its crawl is under way, and this process has its lease.
    pub site: StoredSite,
    /// By the rules that the site has.
    pub scope: Scope,
    pub fetcher: Arc<Fetcher>,
    pub gate: Gate,
    /// Turns true to stop.
    pub cancel: watch::Receiver<bool>,
    /// How long hosts that answered before may be silent, all of them, before the crawl is left for
    /// later.
    pub patience: Duration,
}

/// How a crawl ended, or why it did not come to its end. What was committed before stays.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum CrawlEnd {
    /// Nothing is left to ask for.
    Done,
    /// By a person, until the site is resumed.
    Paused,
    /// The process ends, or does not go on with it.
    Interrupted,
    /// No host answers, or all ask to be left alone. It goes on by itself, at `at` where that is known, in
    /// seconds since the Unix epoch.
    Later { reason: String, at: Option<i64> },
    /// The rules have changed: it goes on by the new ones.
    Outdated,
    /// The site was removed.
    Removed,
}
