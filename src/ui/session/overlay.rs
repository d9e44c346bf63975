use std::path::Path;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::Source;
use lodestone::engine::{LibraryEntry, Pace, SiteView};

use super::Session;
use crate::ui::dom;
use crate::ui::keys::Zoom;
use crate::ui::state::{Action, Choice, Group, NoticeTone, Overlay, Row, View, zoomed};
use crate::ui::wording::{diagnostics, site_name};

impl Session {
    /// Lays something over the window; what lay there before goes.
    pub fn open_overlay(mut self, overlay: Overlay) {
        dom::remember_focus();
        self.overlay.set(Some(overlay));
    }

    /// Goes back to where the keys were.
    pub fn close_overlay(mut self) {
        self.overlay.set(None);
        dom::return_focus(self.view.peek().input_id());
    }

    /// Opens the palette, or closes it with the same keys.
    pub fn open_palette(mut self) {
        if matches!(*self.overlay.peek(), Some(Overlay::Palette)) {
            return self.close_overlay();
        }
        let asked = self.search.peek().query().to_owned();
        let mut palette = self.palette.write();
        palette.asked(&asked);
        palette.open(self.activity.peek().pace == Pace::Paused);
        drop(palette);
        self.open_overlay(Overlay::Palette);
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            // What cannot be listed is not found; everything else is.
            let sites = bridge.sites().await.unwrap_or_default();
            let documents = bridge.library().await.unwrap_or_default();
            let rows = tokio::task::spawn_blocking(move || {
                let sites: Vec<Row> = sites.iter().map(site).collect();
                let documents: Vec<Row> = documents.into_iter().map(document).collect();
                (sites, documents)
            });
            if let Ok((sites, documents)) = rows.await {
                self.palette.write().load(sites, documents);
            }
        });
    }

    /// Does what the chosen row of the palette says.
    pub fn choose(mut self) {
        let chosen = self.palette.peek().chosen().map(|shown| shown.row.choice.clone());
        let Some(choice) = chosen else { return };
        self.overlay.set(None);
        dom::return_focus(self.view.peek().input_id());
        match choice {
            Choice::Command(command) => self.run(command),
            Choice::Action(action) => self.perform(action),
            Choice::Query(query) => {
                self.go_to(View::Search);
                dom::set_text(dom::QUERY_ID, &query);
                self.type_query(query);
            }
            Choice::Site(id) => {
                self.go_to(View::Web);
                self.choose_site(id);
            }
            Choice::Document(id) => {
                self.go_to(View::Library);
                self.read_document(id);
            }
        }
    }

    /// As [`Session::show`], and nothing where it is shown already.
    fn go_to(self, view: View) {
        if *self.view.peek() != view {
            self.show(view);
        }
    }

    pub fn perform(self, action: Action) {
        match action {
            Action::AddFiles => self.pick_files(),
            Action::AddFolder => self.pick_folders(),
            Action::AddSite => {
                self.go_to(View::Web);
                dom::focus_text(View::Web.input_id());
            }
            Action::Pause => self.pause(true),
            Action::Resume => self.pause(false),
            Action::RetryAll => self.retry(None),
            Action::ShowSkipped => self.show_skipped(),
            Action::Theme(theme) => self.set_theme(theme),
            Action::Export => self.export(),
            Action::Import => self.import(),
            Action::Measure => self.measure(),
            Action::SelfTest => {
                self.self_test();
                self.open_overlay(Overlay::About);
            }
            Action::Diagnostics => self.show_diagnostics(),
            Action::About => self.open_overlay(Overlay::About),
            Action::Hints => self.change_settings(|settings| settings.hints_seen = false),
            Action::ForgetHistory => {
                self.go_to(View::Activity);
                self.forget_history();
            }
        }
    }

    /// Shows what would be copied, so that it is read before it is given to anybody.
    pub fn show_diagnostics(mut self) {
        self.open_overlay(Overlay::Diagnostics(None));
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match bridge.status().await {
                Ok(status) => {
                    let settings = self.settings.peek().clone();
                    let tested = self.options.peek().tested.clone();
                    let text = diagnostics(&status, &settings, tested.as_ref());
                    if matches!(*self.overlay.peek(), Some(Overlay::Diagnostics(_))) {
                        self.overlay.set(Some(Overlay::Diagnostics(Some(text))));
                    }
                }
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    pub fn zoom(self, zoom: Zoom) {
        let percent = zoomed(self.settings.peek().zoom_percent, zoom);
        self.change_settings(move |settings| settings.zoom_percent = percent);
    }

    /// Puts the hints of the first start away for good.
    pub fn put_hints_away(self) {
        self.change_settings(|settings| settings.hints_seen = true);
    }
}

fn site(site: &SiteView) -> Row {
    Row {
        text: site_name(&site.start),
        place: None,
        group: Group::Site,
        choice: Choice::Site(site.id),
        keys: Vec::new(),
    }
}

fn document(entry: LibraryEntry) -> Row {
    // The folder tells documents of one name apart; the whole path would say little more.
    let place = match &entry.source {
        Source::File(path) => {
            path.parent().and_then(Path::file_name).map(|name| name.display().to_string())
        }
        Source::Web(url) => url.host_str().map(str::to_owned),
    };
    Row {
        place,
        text: entry.title,
        group: Group::Document,
        choice: Choice::Document(entry.id),
        keys: Vec::new(),
    }
}
