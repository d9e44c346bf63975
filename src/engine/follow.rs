use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tracing::{debug_span, warn};

use super::{Engine, EngineError, Inner, ModelState};

impl Engine {
    /// Waits until the indexes have been read for the first time.
    pub(super) async fn indexes_ready(&self) {
        let mut ready = self.inner.indexes_ready.subscribe();
        // The sender lives as long as the engine.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Brings the indexes up to date with the store; returns whether anything had changed.
    /// They stay with the model they have until the one in use is loaded, or is known to have failed.
    pub(super) async fn catch_up(&self) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.inner);
        let catch_up = move || {
            let _span = debug_span!("catch_up").entered();
            let may_use = |model: &_| inner.models.of(model).is_some();
            Ok(inner.indexes.catch_up_if(&inner.store, may_use)?.changed)
        };
        self.run_blocking(catch_up).await
    }

    /// Reads the indexes for the first time: searches by words are possible from here on, however
    /// long the model takes.
    pub(super) async fn read_indexes(&self) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.inner);
        let read = move || Ok(inner.indexes.catch_up(&inner.store)?.changed);
        let read = self.run_blocking(read).await;
        self.inner.indexes_ready.send_replace(true);
        read
    }

    /// Waits until the vector index has the graph it needs, or until `cancel`: a process that only
    /// indexes would else end before.
    pub(super) async fn settle_indexes(
        &self,
        cancel: watch::Receiver<bool>,
    ) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            inner.indexes.settle(&|| *cancel.borrow());
            Ok(())
        })
        .await
    }

    async fn follow_store(&self) -> Result<(), EngineError> {
        if self.catch_up().await? {
            self.announce_change();
        }
        // While the first model loads there is nothing to change over from.
        if !matches!(self.model_state(), ModelState::Loading { .. }) {
            self.follow_model().await?;
            if self.inner.config.switches_model {
                self.join_switch().await?;
            }
        }
        Ok(())
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
        if let Err(error) = engine.follow_store().await {
            warn!(%error, "the indexes cannot follow the store");
        }
    }
}
