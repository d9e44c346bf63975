//! Everything on screen as signals of plain structs, and the actions that components call.

mod activity;
mod complete;
mod golden;
mod index;
mod library;
mod open;
mod options;
mod overlay;
mod read;
mod search;
mod web;

pub use web::SiteWish;

use std::path::PathBuf;
use std::time::Instant;

use dioxus::core::{Task, spawn_forever};
use dioxus::prelude::*;
use lodestone::config::{Settings, Theme};

use super::arguments::Wish;
use super::bridge::{self, Bridge};
use super::dom;
use super::keys::Command;
use super::state::{
    Activity, Completion, GoldenState, Health, LibraryState, Monitor, NoticeAction, NoticeTone,
    Notices, Options, Overlay, Palette, Pane, ReaderState, Removals, SearchState, Undo, View,
    WebState,
};

/// Changes a state, and has the page drawn anew only when what it shows of the state is another then. Each time that
/// something is drawn, the next thing waits until the page has taken it over: for a key that changes nothing on
/// screen, that would be the answer to it.
fn change_unseen<T: 'static, S: PartialEq, R>(
    mut signal: Signal<T>,
    shown: impl Fn(&T) -> S,
    change: impl FnOnce(&mut T) -> R,
) -> R {
    let before = shown(&signal.peek());
    #[expect(
        deprecated,
        reason = "who reads the state is told below, when there is something to tell"
    )]
    let result = change(&mut signal.write_silent());
    if shown(&signal.peek()) != before {
        drop(signal.write());
    }
    result
}

/// Whether the index can be used.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Opening,
    Ready,
    Failed { reason: String },
}

/// A handle to all state of the window; cheap to copy, shared through the context.
#[derive(Clone, Copy, PartialEq)]
pub struct Session {
    pub phase: Signal<Phase>,
    pub view: Signal<View>,
    pub search: Signal<SearchState>,
    pub completion: Signal<Completion>,
    pub reader: Signal<ReaderState>,
    pub library: Signal<LibraryState>,
    pub golden: Signal<GoldenState>,
    pub web: Signal<WebState>,
    pub activity: Signal<Activity>,
    pub health: Signal<Health>,
    pub notices: Signal<Notices>,
    pub settings: Signal<Settings>,
    pub pane: Signal<Pane>,
    pub monitor: Signal<Monitor>,
    pub options: Signal<Options>,
    pub palette: Signal<Palette>,
    pub overlay: Signal<Option<Overlay>>,
    data_dir: CopyValue<Result<PathBuf, String>>,
    bridge: CopyValue<Option<Bridge>>,
    /// Whether an icon in the tray stays when the window closes.
    pub in_tray: Signal<bool>,
    /// Why the keys that summon the window do not.
    pub summon_trouble: Signal<Option<String>>,
    /// What is to be indexed as soon as the index is open.
    waiting: CopyValue<Wish>,
    removals: CopyValue<Removals>,
    searching: CopyValue<Option<Task>>,
    /// When the query was typed in last.
    typed: CopyValue<Option<Instant>>,
    /// Where the results are scrolled to, for when they come back.
    results_scroll_px: CopyValue<f64>,
    loading: CopyValue<Option<Task>>,
    refreshing: CopyValue<bool>,
    following: CopyValue<bool>,
}

impl Session {
    /// Made once, in the root component.
    ///
    /// Owned by the root scope, because tasks that outlive the component that started them run there.
    pub fn new(data_dir: Result<PathBuf, String>, settings: Settings) -> Self {
        Self {
            phase: signal(Phase::Opening),
            view: signal(View::default()),
            search: signal(SearchState::restored(settings.last_query.clone())),
            completion: signal(Completion::default()),
            reader: signal(ReaderState::default()),
            library: signal(LibraryState::default()),
            golden: signal(GoldenState::default()),
            web: signal(WebState::default()),
            activity: signal(Activity::default()),
            health: signal(Health::default()),
            notices: signal(Notices::default()),
            monitor: signal(Monitor::default()),
            options: signal(Options::default()),
            palette: signal(Palette::default()),
            overlay: signal(None),
            pane: signal(Pane::new(settings.reader_share)),
            settings: signal(settings),
            data_dir: value(data_dir),
            bridge: value(None),
            in_tray: signal(false),
            summon_trouble: signal(None),
            waiting: value(Wish::default()),
            removals: value(Removals::default()),
            searching: value(None),
            typed: value(None),
            results_scroll_px: value(0.0),
            loading: value(None),
            refreshing: value(false),
            following: value(false),
        }
    }

    /// Takes the opened engine, adds what was dropped meanwhile and asks what was typed.
    pub fn attach(mut self, bridge: Bridge) {
        self.bridge.set(Some(bridge));
        self.phase.set(Phase::Ready);
        let waiting = self.waiting.take();
        self.fulfill(waiting);
        self.refresh_golden();
        self.search_again();
        let view = *self.view.peek();
        if !matches!(view, View::Search | View::Library) {
            self.refresh(view);
        }
    }

    /// Opens the index once more after it failed.
    pub fn reopen(mut self) {
        self.phase.set(Phase::Opening);
        spawn_forever(bridge::run(&self));
    }

    /// Takes a new size of the window.
    pub fn resize(mut self, width_px: f64, height_px: f64) {
        let was_wide = self.pane.peek().is_wide();
        self.pane.write().resize(width_px, height_px);
        let is_wide = self.pane.peek().is_wide();
        // A preview comes and goes with the room for it.
        if is_wide != was_wide && *self.view.peek() == View::Search {
            self.preview();
        }
    }

    pub fn fail(mut self, reason: String) {
        self.phase.set(Phase::Failed { reason });
    }

    fn bridge(self) -> Option<Bridge> {
        self.bridge.read().clone()
    }

    /// Where the index lies, or why there is no place for it.
    pub fn data_dir(self) -> Result<PathBuf, String> {
        self.data_dir.read().clone()
    }

    /// Ends what runs before the window goes.
    pub fn close(self) {
        self.remember_query();
        if let Some(bridge) = self.bridge() {
            bridge.close(self.removals_left());
        }
    }

    pub fn run(self, command: Command) {
        let searching = *self.view.peek() == View::Search;
        match command {
            Command::FocusInput => dom::focus_text(self.view.peek().input_id()),
            Command::Move(by) if searching => self.move_selection(by),
            Command::Open if searching => self.open_selected(),
            Command::Edge { first } if searching => self.move_to_edge(first),
            Command::Move(by) => dom::move_row(by, self.view.peek().input_id()),
            Command::Open | Command::Edge { .. } => {}
            Command::OpenExternally => self.open_externally(),
            Command::Step(by) => self.step(by),
            Command::Back => self.back(),
            Command::Show(view) => self.show(view),
            Command::Palette => self.open_palette(),
            Command::CheatSheet => self.open_overlay(Overlay::CheatSheet),
            Command::Zoom(zoom) => self.zoom(zoom),
        }
    }

    pub fn show(mut self, view: View) {
        if *self.view.peek() == view {
            dom::focus_text(view.input_id());
            return;
        }
        self.view.set(view);
        self.reader.write().close();
        let asked = self.search.peek().query().to_owned();
        self.palette.write().asked(&asked);
        if view == View::Search {
            self.preview();
        }
        // The index may have changed while the view was out of sight.
        self.refresh(view);
    }

    /// Asks anew for what a view shows of the index.
    fn refresh(self, view: View) {
        match view {
            View::Search => self.search_again(),
            View::Library => self.refresh_library(),
            View::Web => self.refresh_web(),
            View::Activity => self.refresh_activity(),
            View::Settings => self.refresh_options(),
        }
    }

    /// Backs out of one thing: a question, a reader that covers the list, then the query.
    fn back(mut self) {
        if self.web.peek().asking.is_some() {
            return self.keep_site();
        }
        let reading = self.reader.peek().is_open();
        match *self.view.peek() {
            View::Search if reading && !self.pane.peek().is_wide() => self.close_reader(),
            View::Search if self.search.peek().like().is_some() => self.leave_like(),
            View::Search => self.clear_query(),
            View::Activity | View::Settings => self.back_in_page(),
            View::Library | View::Web if reading => self.close_reader(),
            View::Web => self.back_in_web(),
            View::Library if self.library.peek().picked_count() > 0 => {
                self.library.write().unpick();
            }
            View::Library => self.clear_filter(),
        }
    }

    pub fn notify(mut self, tone: NoticeTone, text: String) {
        let notice = self.notices.write().add(tone, text, None);
        self.fade(&notice);
    }

    /// Tells what was done, and how to take it back.
    pub fn offer(mut self, text: String, undo: Option<Undo>) {
        let action = undo.map(NoticeAction::Undo);
        let notice = self.notices.write().add(NoticeTone::Quiet, text, action);
        self.fade(&notice);
    }

    pub fn act(self, action: NoticeAction) {
        match action {
            NoticeAction::Undo(undo) => self.undo(undo),
            NoticeAction::ShowSkipped => self.show_skipped(),
            NoticeAction::ShowFailed(site) => self.show_failed(site),
            NoticeAction::UndoRemoval(number) => self.undo_removal(number),
        }
    }

    fn undo(self, undo: Undo) {
        match undo {
            Undo::Star { query, source } => self.star(query, source, true),
            Undo::Exclusions(before) => {
                self.change_settings(move |settings| settings.exclusions.clone_from(&before));
            }
        }
    }

    pub fn set_theme(self, theme: Theme) {
        self.change_settings(move |settings| settings.theme = theme);
    }

    /// Leaves the line between results and reader where it is.
    pub fn drop_splitter(mut self) {
        self.pane.write().dragging = false;
        self.keep_splitter();
    }

    pub fn keep_splitter(self) {
        let share = Some(self.pane.peek().share());
        self.change_settings(move |settings| settings.reader_share = share);
    }
}

fn signal<T: 'static>(initial: T) -> Signal<T> {
    Signal::new_in_scope(initial, ScopeId::ROOT)
}

fn value<T: 'static>(initial: T) -> CopyValue<T> {
    CopyValue::new_in_scope(initial, ScopeId::ROOT)
}
