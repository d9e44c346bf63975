use dioxus::prelude::*;

use super::button::Button;
use super::setting::Setting;
use super::use_session;

/// How the window is called from anywhere, and what closing it means.
#[component]
pub fn WindowSettings() -> Element {
    let session = use_session();
    let settings = session.settings.read();
    let (keys, stays) = (settings.summon_keys.clone(), settings.stays_in_tray);
    let trouble = session.summon_trouble.cloned();
    let hint = trouble.unwrap_or_else(|| {
        "Bring the window to the front from anywhere, and send it away again; empty for none"
            .to_owned()
    });
    rsx! {
        section { class: "panel", aria_label: "Window",
            h2 { "Window" }
            Setting { name: "Keys to call it", hint,
                span { class: "field",
                    input {
                        id: "summon-keys",
                        r#type: "text",
                        aria_label: "Keys that call the window",
                        spellcheck: "false",
                        autocomplete: "off",
                        value: "{keys}",
                        // What is typed here moves nothing in the window.
                        onkeydown: |event| {
                            if !matches!(event.key(), Key::Escape | Key::Tab) {
                                event.stop_propagation();
                            }
                        },
                        onchange: move |event| {
                            let keys = event.value().trim().to_owned();
                            session.change_settings(move |settings| settings.summon_keys.clone_from(&keys));
                        },
                    }
                }
            }
            Setting {
                name: "Stay in the tray",
                hint: "Closing the window leaves an icon, and folders and sites are followed further",
                Button {
                    id: "stay-in-tray",
                    text: if stays { "On" } else { "Off" },
                    label: "Stay in the tray when the window is closed",
                    tone: "plain",
                    pressed: stays,
                    onpress: move |()| session.change_settings(move |settings| settings.stays_in_tray = !stays),
                }
            }
        }
    }
}
