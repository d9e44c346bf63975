use std::sync::{Arc, Weak};
use std::time::Duration;

use tracing::warn;

use super::{Engine, EngineError, Inner};

impl Engine {
    /// Waits until the indexes have been read for the first time.
    pub(super) async fn indexes_ready(&self) {
        let mut ready = self.inner.indexes_ready.subscribe();
        // The sender lives as long as the engine.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Brings the indexes up to date with the store; returns whether anything had changed.
    pub(super) async fn catch_up(&self) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Ok(inner.indexes.catch_up(&inner.store)?.changed)).await
    }
}

/// Follows the store for as long as the engine lives: makes what a job commits searchable while it
/// goes on, and notices what other processes write.
pub(super) async fn follow(inner: Weak<Inner>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = inner.upgrade() else { return };
        if !*inner.indexes_ready.borrow() {
            continue;
        }
        let engine = Engine { inner };
        match engine.catch_up().await {
            Ok(true) => engine.announce_change(),
            Ok(false) => {}
            Err(error) => warn!(%error, "the indexes cannot follow the store"),
        }
    }
}
