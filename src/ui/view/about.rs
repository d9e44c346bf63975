use dioxus::prelude::*;

use super::button::Button;
use super::dialog::Dialog;
use super::use_session;
use crate::ui::assets::{LICENSES, License};
use crate::ui::state::Overlay;

const MARK: &str = include_str!("../../../assets/icons/lodestone.svg");

/// What this program is made of, and whether its device computes what it should.
#[component]
pub fn About() -> Element {
    let session = use_session();
    let health = session.health.read();
    let options = session.options.read();
    let testing = options.testing;
    let version = env!("CARGO_PKG_VERSION");
    rsx! {
        Dialog { id: "about-dialog", title: "About Lodestone",
            div { class: "about-name",
                span { class: "about-mark", aria_hidden: "true", dangerous_inner_html: MARK }
                div {
                    p { class: "about-version", "Lodestone {version}" }
                    p { class: "setting-hint", "Searches your files and chosen web sites, wholly on this machine." }
                }
            }
            dl { class: "about-facts",
                div {
                    dt { "Model" }
                    dd { "{health.model_name()}" }
                }
                div {
                    dt { "Device" }
                    dd { "{health.device()}" }
                }
                div {
                    dt { "System" }
                    dd { "{std::env::consts::OS} {std::env::consts::ARCH}" }
                }
            }
            section { aria_label: "Self-test",
                div { class: "panel-head",
                    h2 { "Self-test" }
                    Button {
                        id: "self-test",
                        text: if testing { "Testing" } else { "Test" },
                        label: "Check the store, the indexes, the model and the device",
                        tone: "plain",
                        disabled: testing,
                        onpress: move |()| session.self_test(),
                    }
                    Button {
                        id: "about-diagnostics",
                        text: "Diagnostics",
                        label: "Show diagnostics that can be copied",
                        onpress: move |()| session.show_diagnostics(),
                    }
                    Button {
                        id: "about-keys",
                        text: "Keys",
                        label: "Show every key",
                        onpress: move |()| session.open_overlay(Overlay::CheatSheet),
                    }
                }
                if let Some(tested) = &options.tested {
                    ul { class: "checks", role: "list", "aria-live": "polite",
                        for check in tested.checks.iter() {
                            li { key: "{check.name}", class: "check", "data-ok": check.ok,
                                span { class: "check-verdict", if check.ok { "Well" } else { "Failed" } }
                                span { class: "check-name", "{check.name}" }
                                span { class: "check-finding", "{check.finding}" }
                            }
                        }
                    }
                } else {
                    p { class: "setting-hint",
                        "Embeds three sentences and compares them; compares the indexes with what is stored."
                    }
                }
            }
            section { aria_label: "Made with",
                h2 { "Made with" }
                ul { class: "licenses", role: "list",
                    for license in LICENSES {
                        LicenseRow { key: "{license.name}", license }
                    }
                }
            }
        }
    }
}

#[component]
fn LicenseRow(license: License) -> Element {
    let License { name, what, terms, text } = license;
    rsx! {
        li { class: "license",
            if text.is_empty() {
                span { class: "license-name", "{name}" }
                span { class: "setting-hint", "{what}" }
                span { class: "license-terms", "{terms}" }
            } else {
                details {
                    summary {
                        span { class: "license-name", "{name}" }
                        span { class: "setting-hint", "{what}" }
                        span { class: "license-terms", "{terms}" }
                    }
                    pre { class: "license-text", "{text}" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{Check, Diagnosis};

    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Tested() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let finding = "1 of 2 passages".to_owned();
            let checks = vec![Check { name: "vector index", ok: false, finding }];
            session.options.write().tested = Some(Diagnosis { ok: false, checks });
        });
        rsx! {
            About {}
        }
    }

    #[test]
    fn versions_licenses_and_the_test_are_told() {
        let html = rendered(|| rsx! { Tested {} });
        for part in [
            env!("CARGO_PKG_VERSION"),
            "Source Serif 4",
            "SIL OPEN FONT LICENSE",
            "Apache",
            "all-MiniLM-L6-v2",
            "1 of 2 passages",
            "Failed",
            "Lucide",
            "dioxus",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
