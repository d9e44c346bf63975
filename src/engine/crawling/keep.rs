use std::sync::Arc;

use super::run::{self, Begun};
use crate::engine::{Engine, EngineError};
use crate::platform;

impl Engine {
    /// Goes on with crawls that nobody is at work on, and begins those whose time has come.
    pub(in crate::engine) async fn keep_crawls(&self) -> Result<(), EngineError> {
        let engine = self.clone();
        let look = move || {
            let inner = Arc::clone(&engine.inner);
            let _beginning = inner.crawls.beginning();
            let now = platform::now_seconds();
            let mut due = Vec::new();
            for site in inner.store.sites()? {
                if site.is_paused || inner.crawls.is_begun(site.key) {
                    continue;
                }
                if site.is_open() {
                    let may_go_on = site.next_at.is_none_or(|at| at <= now);
                    if may_go_on && !inner.store.is_adopted(site.key) {
                        due.push((Begun::new(engine.clone(), site.key), site.site.start));
                    }
                } else if site.crawl == 0 || site.next_at.is_some_and(|at| at <= now) {
                    // One that was added when the process ended has had no crawl yet.
                    inner.store.begin_crawl(site.key, now)?;
                    due.push((Begun::new(engine.clone(), site.key), site.site.start));
                }
            }
            Ok(due)
        };
        for (begun, start) in self.run_blocking(look).await? {
            drop(run::crawl(begun, &start));
        }
        Ok(())
    }
}
