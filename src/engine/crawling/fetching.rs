//! By what the pages of all sites are fetched.

use std::sync::Arc;
use std::time::Duration;

use crate::crawler::{FetchLimits, Fetcher};
use crate::engine::{Engine, EngineError};

/// First pause before a page that failed is tried again. A crawl ends when all pages had their tries, so
/// that one page that never answers must not hold it up for long.
const RETRY_FIRST: Duration = Duration::from_secs(5);

const PATIENCE: Duration = Duration::from_secs(20);

impl Engine {
    /// Has pages fetched by this, with its own limits and names of hosts, and crawls left for later when
    /// hosts that answered before are silent for longer than `patience`. Returns whether it was in time:
    /// before the first crawl of this process.
    pub fn fetch_by(&self, fetcher: Fetcher, patience: Duration) -> bool {
        let crawls = &self.inner.crawls;
        crawls.fetcher.set(Arc::new(fetcher)).is_ok() && crawls.patience.set(patience).is_ok()
    }

    pub(super) async fn fetcher(&self) -> Result<Arc<Fetcher>, EngineError> {
        let make = || async {
            // Reading the certificates of the system takes a while.
            let limits = FetchLimits { retry_first: RETRY_FIRST, ..FetchLimits::default() };
            let make = move || Ok(Arc::new(Fetcher::new(limits)?));
            self.run_blocking(make).await
        };
        self.inner.crawls.fetcher.get_or_try_init(make).await.map(Arc::clone)
    }

    pub(super) fn patience(&self) -> Duration {
        self.inner.crawls.patience.get().copied().unwrap_or(PATIENCE)
    }
}
