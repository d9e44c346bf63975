use std::time::Duration;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;

use super::Session;
use crate::ui::state::{NoticeTone, View};

/// Jobs of the past that are listed.
const HISTORY_MAX: usize = 100;

/// While somebody looks, figures follow at this pace, which is that at which they are taken.
const FOLLOW: Duration = Duration::from_secs(1);

impl Session {
    /// Loads what became of jobs and of sources, and lets the figures follow for as long as they are
    /// looked at.
    pub fn refresh_activity(mut self) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match (bridge.history(HISTORY_MAX).await, bridge.status().await) {
                (Ok(history), Ok(status)) => {
                    let mut monitor = self.monitor.write();
                    monitor.history = history;
                    monitor.set_skipped(&status.skipped);
                }
                (Err(problem), _) | (_, Err(problem)) => self.notify(NoticeTone::Warning, problem),
            }
        });
        self.follow_figures();
    }

    fn follow_figures(mut self) {
        if std::mem::replace(&mut self.monitor.write().following, true) {
            return;
        }
        spawn_forever(async move {
            while *self.view.peek() == View::Activity {
                let Some(bridge) = self.bridge() else { break };
                // What cannot be read now is asked for again in a second.
                if let Ok((samples, metrics)) = bridge.metrics().await {
                    self.monitor.write().measured(samples, metrics);
                }
                tokio::time::sleep(FOLLOW).await;
            }
            self.monitor.write().following = false;
        });
    }

    /// Forgets the jobs that have ended, when that is said twice.
    pub fn forget_history(mut self) {
        if !std::mem::replace(&mut self.monitor.write().asking, true) {
            return;
        }
        self.monitor.write().asking = false;
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.forget_history().await {
                self.notify(NoticeTone::Warning, problem);
            }
            self.refresh_activity();
        });
    }

    /// Tries once more what was kept out for one reason.
    pub fn retry_all(self, sources: Vec<String>) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.retry(Some(sources)).await {
                self.notify(NoticeTone::Warning, problem);
            }
        });
    }
}
