use dioxus::prelude::*;
use lodestone::engine::{KnownModelKind, ModelEntry, ModelEntryState};

use super::button::Button;
use super::search::keep_typing;
use super::setting::Question;
use super::use_session;
use crate::ui::state::Asking;
use crate::ui::wording::{model_facts, switch_cost};

/// The models of this machine, which of them searches use, and how to get others.
#[component]
pub fn Models() -> Element {
    let session = use_session();
    let options = session.options.read();
    let mut what = use_signal(String::new);
    let fetching = options.fetching.as_ref().map(|(name, _)| name.clone());
    let percent = options.fetched_percent();
    let is_busy = fetching.is_some();
    rsx! {
        section { class: "panel", aria_label: "Model",
            h2 { "Model" }
            ul { class: "models", role: "list",
                for model in options.models.iter() {
                    ModelRow { key: "{model.name}", model: model.clone(), asking: options.asking.clone() }
                }
            }
            form {
                class: "add-model",
                onsubmit: move |event| {
                    event.prevent_default();
                    session.add_model(&what.peek());
                },
                span { class: "field",
                    input {
                        id: "add-model",
                        r#type: "text",
                        aria_label: "Model to add: a folder, or owner/name on the hub",
                        placeholder: "A folder, or owner/name on the hub",
                        autocomplete: "off",
                        spellcheck: "false",
                        oninput: move |event| what.set(event.value()),
                        onkeydown: move |event| {
                            keep_typing(&event);
                            if event.key() == Key::Enter {
                                event.stop_propagation();
                            }
                        },
                    }
                }
                Button {
                    id: "fetch-model",
                    text: if is_busy { "Adding" } else { "Add" },
                    label: "Add this model; nothing changes until you choose it",
                    tone: "plain",
                    disabled: is_busy,
                    onpress: move |()| session.add_model(&what.peek()),
                }
                Button {
                    id: "model-folder",
                    text: "Choose a folder",
                    label: "Choose the folder of a model",
                    disabled: is_busy,
                    onpress: move |()| session.pick_model_folder(),
                }
            }
            if let Some(name) = fetching {
                div { class: "fetching", role: "status",
                    span { "Adding {name}" }
                    div {
                        class: "job-bar",
                        role: "progressbar",
                        aria_label: "Adding {name}",
                        aria_valuemin: "0",
                        aria_valuemax: "100",
                        aria_valuenow: percent.map(|percent| percent.round().to_string()),
                        "data-open": percent.is_none(),
                        span { class: "job-fill", style: "width: {percent.unwrap_or(100.0):.1}%" }
                    }
                }
            }
            if let Some(trouble) = &options.fetch_trouble {
                p { class: "field-trouble", role: "alert", "{trouble}" }
            }
        }
    }
}

#[component]
fn ModelRow(model: ModelEntry, asking: Option<Asking>) -> Element {
    let session = use_session();
    let name = model.name.clone();
    let facts = model_facts(&model);
    let (state, standing) = match &model.state {
        ModelEntryState::InUse => ("used", "In use".to_owned()),
        ModelEntryState::Pending { percent } => ("pending", format!("{percent} % made")),
        ModelEntryState::Available => ("known", String::new()),
        ModelEntryState::Unusable { reason } => ("broken", reason.clone()),
    };
    let can_use = model.kind == KnownModelKind::Embedding && state == "known";
    let can_go = model.folder.is_some() && matches!(state, "known" | "broken");
    let (to_use, to_remove) = (name.clone(), name.clone());
    let question = match asking {
        Some(Asking::Switch(of)) if of == name => {
            let cost = switch_cost(session.health.read().passages, &session.monitor.read().history);
            Some((format!("Search with {name}? {cost}"), "Switch"))
        }
        Some(Asking::RemoveModel(of)) if of == name => {
            Some((format!("Forget {name}? What was fetched is deleted, a folder stays."), "Forget"))
        }
        _ => None,
    };
    rsx! {
        li { class: "model", "data-state": state,
            div { class: "model-what",
                span { class: "model-name", "{name}" }
                span { class: "setting-hint", "{facts}" }
            }
            if !standing.is_empty() {
                span { class: "model-state", "{standing}" }
            }
            if can_use {
                Button {
                    text: "Use",
                    label: format!("Search with {name}; you see what it costs first"),
                    tone: "plain",
                    onpress: move |()| session.ask_about(Some(Asking::Switch(to_use.clone()))),
                }
            }
            if can_go {
                Button {
                    text: "Forget",
                    label: format!("Forget {name}"),
                    onpress: move |()| session.ask_about(Some(Asking::RemoveModel(to_remove.clone()))),
                }
            }
            if let Some((text, yes)) = question {
                Question {
                    text,
                    yes,
                    yes_label: format!("{yes} {name}"),
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
    fn Two() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let model = |name: &str, state, folder: Option<&str>| ModelEntry {
                name: name.to_owned(),
                kind: KnownModelKind::Embedding,
                dim: Some(384),
                bytes: 45_000_000,
                folder: folder.map(Into::into),
                state,
            };
            let mut options = session.options.write();
            options.set_models(vec![
                model("all-MiniLM-L6-v2", ModelEntryState::InUse, None),
                model("a/b-en", ModelEntryState::Available, Some("/m/a--b-en")),
            ]);
            options.asking = Some(Asking::Switch("a/b-en".to_owned()));
            options.fetch_trouble = Some("the hub cannot be reached".to_owned());
            session.health.write().passages = 4_000;
        });
        rsx! {
            Models {}
        }
    }

    #[test]
    fn a_switch_says_what_it_costs_before_it_begins() {
        let html = rendered(|| rsx! { Two {} });
        for part in [
            "In use",
            "384 numbers a passage",
            "English",
            "45 MB",
            "alertdialog",
            "4,000 passages will be embedded anew",
            "the hub cannot be reached",
            "answer-yes",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
