use std::path::PathBuf;
use std::time::{Duration, Instant};

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::CrawlRules;
use lodestone::engine::{EngineEvent, JobId, ModelState};
use tracing::debug_span;

use super::{Phase, Session};
use crate::ui::arguments::Wish;
use crate::ui::state::{Notice, NoticeAction, NoticeTone, Offer, Overlay};

/// While documents stream in, what is on screen follows at this pace.
const REFRESH_AFTER: Duration = Duration::from_millis(500);
/// Nobody dismisses a dialog faster.
pub(super) const DISMISSED_AFTER: Duration = Duration::from_millis(250);
/// How exactly a notice goes when its time is over.
const NOTICE_STEP: Duration = Duration::from_millis(250);

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
            Phase::Opening | Phase::Ready => self.waiting.write().paths.extend(paths),
            Phase::Failed { .. } => {
                let text = "The index is not open, so nothing can be added to it.".to_owned();
                self.notify(NoticeTone::Warning, text);
            }
        }
    }

    /// Indexes what was dropped or chosen; what is much is shown first, with what it costs.
    pub fn consider(self, paths: Vec<PathBuf>) {
        let Some(bridge) = self.bridge().filter(|_| !paths.is_empty()) else {
            return self.index(paths);
        };
        spawn_forever(async move {
            let folders = paths.clone();
            let look = move || folders.iter().map(|path| path.is_dir()).collect::<Vec<_>>();
            let are_folders = tokio::task::spawn_blocking(look);
            match (bridge.estimate(paths.clone()).await, are_folders.await) {
                (Ok(estimate), Ok(are_folders)) => {
                    let offer = Offer::new(paths, &are_folders, estimate);
                    if offer.is_small() {
                        self.index(offer.paths);
                    } else {
                        self.open_overlay(Overlay::Offer(offer));
                    }
                }
                // What cannot be estimated can be indexed all the same.
                _ => self.index(paths),
            }
        });
    }

    pub fn accept(self, paths: Vec<PathBuf>) {
        self.close_overlay();
        self.index(paths);
    }

    /// Indexes what the application was started with, and adds the sites with the usual rules.
    pub fn fulfill(mut self, wish: Wish) {
        self.index(wish.paths);
        let Some(bridge) = self.bridge() else {
            self.waiting.write().addresses.extend(wish.addresses);
            return;
        };
        for address in wish.addresses {
            let bridge = bridge.clone();
            spawn_forever(async move {
                if let Err(trouble) = bridge.add_site(&address, CrawlRules::default()).await {
                    let text = format!("{address} is not crawled: {}", trouble.text);
                    self.notify(NoticeTone::Warning, text);
                }
            });
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
                    self.consider(picked.iter().map(|file| file.path().to_path_buf()).collect());
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
        let _span = debug_span!("apply_events", events = events.len()).entered();
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
            let view = *self.view.peek();
            self.refresh(view);
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
        let Some(mut left) = notice.stays() else { return };
        let id = notice.id;
        let removal = match notice.action {
            Some(NoticeAction::UndoRemoval(number)) => Some(number),
            _ => None,
        };
        spawn_forever(async move {
            while !left.is_zero() {
                tokio::time::sleep(NOTICE_STEP).await;
                if !self.notices.peek().held {
                    left = left.saturating_sub(NOTICE_STEP);
                }
            }
            self.notices.write().dismiss(id);
            if let Some(number) = removal {
                self.finish_removal(number).await;
            }
        });
    }
}
