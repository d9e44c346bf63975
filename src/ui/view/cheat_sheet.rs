use dioxus::prelude::*;

use super::dialog::Dialog;
use super::keyboard::Keyboard;
use crate::ui::keys::{BINDINGS, Section};

/// Every key, from the table that the window dispatches by.
#[component]
pub fn CheatSheet() -> Element {
    rsx! {
        Dialog { id: "cheat-sheet", title: "Keys",
            div { class: "sheet",
                for section in Section::ALL {
                    section { key: "{section.name()}", aria_label: section.name(),
                        h2 { "{section.name()}" }
                        dl { class: "sheet-keys",
                            for (at , binding) in BINDINGS.iter().enumerate().filter(|(_, binding)| binding.section == section) {
                                div { key: "{at}", class: "sheet-row",
                                    dd { "{binding.what}" }
                                    dt {
                                        for (at , press) in binding.presses.iter().enumerate() {
                                            if at > 0 {
                                                span { class: "sheet-or", "or" }
                                            }
                                            Keyboard { keys: press.shown() }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[test]
    fn every_key_of_the_table_is_on_the_sheet() {
        let html = rendered(|| rsx! { CheatSheet {} });
        for binding in BINDINGS {
            assert!(html.contains(&format!(">{}<", binding.what)), "{} in {html}", binding.what);
            for key in binding.presses.iter().flat_map(|press| press.shown()) {
                assert!(html.contains(&format!("<kbd>{key}</kbd>")), "{key} in {html}");
            }
        }
        assert_eq!(html.matches("sheet-row").count(), BINDINGS.len());
    }
}
