//! Components: each renders state and makes one call.

#![expect(unused_qualifications, reason = "rsx! writes event attributes with full paths")]

mod about;
mod activity;
mod activity_strip;
mod app;
mod block;
mod button;
mod card;
mod chart;
mod cheat_sheet;
mod chips;
mod completions;
mod data_settings;
mod dialog;
mod drop_target;
mod empty;
mod exclusions;
mod folders;
mod golden;
mod hints;
mod icon;
mod keyboard;
mod library;
mod library_row;
mod library_table;
mod models;
mod notices;
mod offer;
mod overlay;
mod page_row;
mod palette;
mod presence;
mod rail;
mod reader;
mod results;
mod running_job;
mod search;
mod setting;
mod settings;
mod site_form;
mod site_page;
mod site_row;
mod splitter;
mod status_bar;
mod top_box;
mod trouble;
mod web;
mod window_settings;

pub use app::App;

use dioxus::prelude::*;

use super::session::Session;

/// The session that the root component provides.
fn use_session() -> Session {
    use_context::<Session>()
}

#[cfg(test)]
mod tests {
    use lodestone::config::Settings;

    use super::*;

    #[derive(Clone)]
    struct Content(fn() -> Element);

    /// The HTML of a component inside a session.
    pub fn rendered(content: fn() -> Element) -> String {
        fn root() -> Element {
            use_context_provider(|| Session::new(Err("none".to_owned()), Settings::default()));
            (use_context::<Content>().0)()
        }
        let mut dom = VirtualDom::new(root).with_root_context(Content(content));
        dom.rebuild_in_place();
        dioxus_ssr::render(&dom)
    }
}
