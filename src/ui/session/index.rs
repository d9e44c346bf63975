use std::path::PathBuf;
use std::time::{Duration, Instant};

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::engine::{EngineEvent, JobId, ModelState};

use super::{Phase, Session};
use crate::ui::state::{Notice, NoticeTone, View};

/// While documents stream in, what is on screen follows at this pace.
const REFRESH_AFTER: Duration = Duration::from_millis(500);
/// Nobody dismisses a dialog faster.
const DISMISSED_AFTER: Duration = Duration::from_millis(250);
/// How long a notice can be read and its action taken.
pub(super) const NOTICE_STAYS: Duration = Duration::from_secs(7);

impl Session {
    /// Adds files and folders to the index; those that come while it opens are added once it is open.
    pub fn index(mut self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        if let Some(bridge) = self.bridge() {
            return bridge.index(paths);
        }
        match &*self.phase.peek() {
            Phase::Opening | Phase::Ready => self.waiting.write().extend(paths),
            Phase::Failed { .. } => {
                let text = "The index is not open, so nothing can be added to it.".to_owned();
                self.notify(NoticeTone::Warning, text);
            }
        }
    }

    pub fn pick_files(self) {
        let dialog = rfd::AsyncFileDialog::new().set_title("Index files");
        self.pick(dialog.pick_files());
    }

    pub fn pick_folders(self) {
        let dialog = rfd::AsyncFileDialog::new().set_title("Index folders");
        self.pick(dialog.pick_folders());
    }

    fn pick(self, picking: impl Future<Output = Option<Vec<rfd::FileHandle>>> + 'static) {
        spawn_forever(async move {
            let asked = Instant::now();
            match picking.await {
                Some(picked) => {
                    self.index(picked.iter().map(|file| file.path().to_path_buf()).collect());
                }
                // The dialog says the same when it was dismissed and when there is none.
                None if asked.elapsed() < DISMISSED_AFTER => {
                    let text = "This system has no file dialog. Drop files on the window instead.";
                    self.notify(NoticeTone::Warning, text.to_owned());
                }
                None => {}
            }
        });
    }

    pub fn cancel(mut self, job: JobId) {
        self.activity.write().cancelling(job);
        if let Some(bridge) = self.bridge() {
            bridge.cancel(job);
        }
    }

    /// Stops indexing after what is in hand, or lets it go on.
    pub fn pause(self, paused: bool) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.pause(paused).await {
                self.notify(NoticeTone::Warning, problem);
            }
        });
    }

    /// Shows what happened in the engine; a burst of events paints once.
    pub fn apply(mut self, events: &[EngineEvent]) {
        for event in events {
            match event {
                EngineEvent::Model(model) => {
                    self.health.write().apply(event);
                    self.refine(model);
                }
                EngineEvent::JobStarted { .. }
                | EngineEvent::JobProgress { .. }
                | EngineEvent::Pace(_) => {
                    self.activity.write().apply(event);
                }
                EngineEvent::CrawlProgress { site, figures, .. } => {
                    self.activity.write().apply(event);
                    self.show_crawl(*site, figures);
                }
                EngineEvent::JobFinished { job, .. } => {
                    let site = self.activity.peek().site(*job);
                    self.activity.write().apply(event);
                    let notice = self.notices.write().apply(event, site);
                    if let Some(notice) = notice {
                        self.fade(&notice);
                    }
                    self.refresh_soon();
                }
                EngineEvent::SitesChanged => self.refresh_soon(),
                EngineEvent::IndexChanged { .. } => {
                    self.completion.write().forget();
                    self.health.write().apply(event);
                    self.refresh_soon();
                }
            }
        }
    }

    /// Events were missed, so everything is asked for anew.
    pub fn resync(mut self) {
        self.activity.write().forget();
        self.refresh_soon();
    }

    fn refine(self, model: &ModelState) {
        if self.search.peek().can_refine(model) {
            self.search_again();
        }
    }

    /// Brings everything that shows the index up to date, at a bounded pace.
    pub fn refresh_soon(mut self) {
        if std::mem::replace(&mut *self.refreshing.write(), true) {
            return;
        }
        spawn_forever(async move {
            // What happens while waiting is seen by this refresh; what happens after starts another.
            tokio::time::sleep(REFRESH_AFTER).await;
            self.refreshing.set(false);
            match *self.view.peek() {
                View::Search => self.search_again(),
                View::Library => self.refresh_library(),
                View::Web => self.refresh_web(),
            }
            self.refresh_health().await;
        });
    }

    pub async fn refresh_health(mut self) {
        let Some(bridge) = self.bridge() else { return };
        match bridge.status().await {
            Ok(status) => {
                self.activity.write().pace = status.queue.pace;
                self.health.write().refresh(&status);
            }
            Err(problem) => self.notify(NoticeTone::Warning, problem),
        }
    }

    pub(super) fn fade(mut self, notice: &Notice) {
        if !notice.fades() {
            return;
        }
        let id = notice.id;
        spawn_forever(async move {
            tokio::time::sleep(NOTICE_STAYS).await;
            self.notices.write().dismiss(id);
        });
    }
}
