use dioxus::prelude::*;

use super::button::Button;
use super::icon::Symbol;
use super::setting::{Question, Setting};
use super::use_session;
use crate::ui::state::Asking;
use crate::ui::wording::{bytes, counted};

/// Where the index lies, and how it leaves or comes as one file.
#[component]
pub fn DataSettings() -> Element {
    let session = use_session();
    let options = session.options.read();
    let place = session.data_dir().unwrap_or_default();
    let shown = place.display().to_string();
    let size = options.data_bytes.map(bytes);
    let documents = counted(session.health.read().documents, "document");
    let copied = shown.clone();
    let question = match &options.asking {
        Some(Asking::Clear) => Some((
            format!(
                "Forget {documents}, all folders and all sites? Your files are not touched. This cannot be undone."
            ),
            "Clear the index",
        )),
        Some(Asking::Import(path)) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Some((
                format!(
                    "Take {name} in place of what is indexed here ({documents})? It is checked first; if it is damaged, nothing changes."
                ),
                "Import",
            ))
        }
        _ => None,
    };
    rsx! {
        section { class: "panel", aria_label: "Data",
            h2 { "Data" }
            Setting { name: "Place", hint: size.map(|size| format!("{size} on disk")).unwrap_or_default(),
                span { class: "path", title: "{shown}", "{shown}" }
                Button {
                    symbol: Symbol::Copy,
                    label: "Copy the path of the data",
                    copies: copied,
                    onpress: |()| {},
                }
                Button {
                    symbol: Symbol::Folder,
                    label: "Show the data in the file manager",
                    onpress: move |()| session.reveal(place.clone()),
                }
            }
            Setting {
                name: "One file",
                hint: "An export holds the text of everything that is indexed. The search indexes are made again from it.",
                Button {
                    id: "export",
                    text: "Export",
                    label: "Write the whole index into one file",
                    tone: "plain",
                    onpress: move |()| session.export(),
                }
                Button {
                    id: "import",
                    text: "Import",
                    label: "Take the index of a file in place of this one",
                    tone: "plain",
                    onpress: move |()| session.import(),
                }
            }
            Setting { name: "Clear", hint: "Forgets everything that is indexed. Settings, models and your files stay.",
                Button {
                    id: "clear",
                    text: "Clear the index",
                    label: "Forget everything that is indexed; you are asked once",
                    tone: "danger",
                    onpress: move |()| session.ask_about(Some(Asking::Clear)),
                }
            }
            if let Some((text, yes)) = question {
                Question {
                    text,
                    yes,
                    yes_label: yes.to_owned(),
                    onyes: move |()| session.confirm(),
                    onno: move |()| session.ask_about(None),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Asked() -> Element {
        let mut session = use_session();
        use_hook(|| {
            session.options.write().asking = Some(Asking::Clear);
            session.health.write().documents = 1_204;
        });
        rsx! {
            DataSettings {}
        }
    }

    #[test]
    fn clearing_says_what_goes_and_asks_once() {
        let html = rendered(|| rsx! { Asked {} });
        for part in ["Forget 1,204 documents", "Your files are not touched", "answer-no"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let calm = rendered(|| rsx! { DataSettings {} });
        assert!(!calm.contains("answer-no"), "{calm}");
    }
}
