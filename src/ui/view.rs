//! Components: each renders state and makes one call.

#![expect(unused_qualifications, reason = "rsx! writes event attributes with full paths")]

mod activity_strip;
mod app;
mod block;
mod button;
mod card;
mod drop_target;
mod empty;
mod icon;
mod library;
mod library_row;
mod notices;
mod rail;
mod reader;
mod results;
mod search;
mod splitter;
mod status_bar;
mod trouble;

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

    /// The HTML of a component inside a session.
    pub fn rendered(content: fn() -> Element) -> String {
        #[component]
        fn Root(content: fn() -> Element) -> Element {
            use_context_provider(|| Session::new(Err("none".to_owned()), Settings::default()));
            content()
        }
        let mut dom = VirtualDom::new_with_props(Root, RootProps { content });
        dom.rebuild_in_place();
        dioxus_ssr::render(&dom)
    }
}
