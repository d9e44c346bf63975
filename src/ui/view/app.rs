use dioxus::desktop::use_asset_handler;
use dioxus::prelude::*;
use lodestone::config::Theme;

use super::activity::ActivityView;
use super::activity_strip::ActivityStrip;
use super::drop_target::DropTarget;
use super::hints::Hints;
use super::library::LibraryView;
use super::notices::NoticeStack;
use super::overlay::OverlayLayer;
use super::presence::use_presence;
use super::rail::Rail;
use super::reader::ReaderPane;
use super::search::SearchView;
use super::settings::SettingsView;
use super::splitter::Splitter;
use super::status_bar::StatusBar;
use super::trouble::Trouble;
use super::web::WebView;
use crate::ui::session::{Phase, Session};
use crate::ui::state::{NoticeTone, View};
use crate::ui::turn::use_turn_spans;
use crate::ui::{Start, assets, bridge, dom, keys};

/// The root: provides the session, takes keys and drops, and divides the window.
#[component]
pub fn App() -> Element {
    let start = use_context::<Start>();
    let session =
        use_context_provider(|| Session::new(start.data_dir.clone(), start.settings.clone()));
    use_asset_handler(assets::FONTS, |request, responder| {
        assets::serve_font(&request, responder);
    });
    use_effect(|| {
        dom::draw_at_once();
        dom::load_fonts();
    });
    use_hook(|| {
        if let Some(trouble) = start.trouble.clone() {
            session.notify(NoticeTone::Warning, trouble);
        }
        spawn(bridge::run(&session));
    });
    use_effect(move || {
        session.follow_answers();
        spawn(async {
            dom::painted().await;
            tracing::info!("the window is there");
        });
    });
    use_turn_spans();
    use_presence(&session, &start);
    let theme = match session.settings.read().theme {
        Theme::System => "system",
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    use_effect(move || dom::zoom(f64::from(session.settings.read().zoom_percent) / 100.0));
    rsx! {
        div {
            id: "app",
            "data-theme": theme,
            tabindex: "-1",
            onkeydown: move |event| {
                if event.is_composing() {
                    return;
                }
                if let Some(command) = keys::command(&event.key(), event.modifiers()) {
                    event.prevent_default();
                    session.run(command);
                }
            },
            onresize: move |event| {
                if let Ok(size) = event.get_border_box_size() {
                    session.resize(size.width, size.height);
                }
            },
            DropTarget {
                Rail {}
                Content {}
                // The view of that name shows every job, and more of each.
                if session.view.cloned() != View::Activity {
                    ActivityStrip {}
                }
                StatusBar {}
                NoticeStack {}
                OverlayLayer {}
            }
        }
    }
}

#[component]
fn Content() -> Element {
    let session = use_context::<Session>();
    if let Phase::Failed { reason } = session.phase.cloned() {
        return rsx! {
            Trouble { reason }
        };
    }
    let reading = session.reader.read().is_open();
    let pane = session.pane.cloned();
    let covering = reading && !pane.is_wide();
    rsx! {
        main { class: "content", "data-reader": if covering { "covers" } else { "beside" },
            section { class: "list-pane", aria_label: session.view.read().name(),
                match session.view.cloned() {
                    View::Search => rsx! {
                        SearchView {}
                    },
                    View::Library => rsx! {
                        LibraryView {}
                    },
                    View::Web => rsx! {
                        WebView {}
                    },
                    View::Activity => rsx! {
                        ActivityView {}
                    },
                    View::Settings => rsx! {
                        SettingsView {}
                    },
                }
                if session.view.cloned() == View::Search {
                    Hints {}
                }
            }
            if reading {
                if !covering {
                    Splitter {}
                }
                ReaderPane {}
            }
        }
    }
}
