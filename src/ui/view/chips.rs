use dioxus::prelude::*;
use lodestone::data::MediaType;

use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::state::{Chip, chips};
use crate::ui::wording::{chip_label, count, counted};

/// What narrows the answer: what the query holds, and what it might.
#[component]
pub fn Chips() -> Element {
    let session = use_session();
    let search = session.search.read();
    let chips = chips(search.query(), search.facets());
    let like = search.like().map(|like| like.title.clone());
    // Before the first count there is room for it, so that what it narrows stays where it is.
    let is_counting = search.answer().is_some() && search.facets().is_none();
    if chips.is_empty() && like.is_none() && !is_counting {
        return VNode::empty();
    }
    let home = std::env::home_dir();
    rsx! {
        div { id: "chips", class: "chips", role: "group", aria_label: "Narrow the results",
            if let Some(title) = like {
                button {
                    id: "like-chip",
                    class: "chip",
                    r#type: "button",
                    aria_pressed: "true",
                    title: "Back to the query before (Esc)",
                    onclick: move |_| session.leave_like(),
                    onkeydown: |event| keep_press(&event),
                    Icon { symbol: Symbol::Like }
                    span { class: "chip-text", dir: "auto", "Like: {title}" }
                    Icon { symbol: Symbol::Close }
                }
            }
            for chip in chips {
                ChipButton {
                    key: "{chip.name}:{chip.value}",
                    label: chip_label(chip.name.trim_start_matches('-'), &chip.value, home.as_deref()),
                    chip,
                }
            }
        }
    }
}

#[component]
fn ChipButton(chip: Chip, label: String) -> Element {
    let session = use_session();
    let Chip { name, value, on, documents } = chip;
    let (negated, kind) = match name.strip_prefix('-') {
        Some(kind) => (true, kind),
        None => (false, name.as_str()),
    };
    let symbol = match kind {
        "in" => Symbol::Folder,
        "site" => Symbol::Web,
        "after" | "before" => Symbol::Clock,
        "type" => MediaType::from_name(&value).map_or(Symbol::Text, Symbol::of_type),
        _ => Symbol::Text,
    };
    let label = if negated { format!("Not {label}") } else { label };
    let tip = match documents {
        Some(documents) => {
            format!("{name}:{value} leaves {} of what was found", counted(documents, "document"))
        }
        None => format!("Take {name}:{value} out of the query"),
    };
    // A person hears what the chip is of, and how much it leaves.
    let spoken = documents.map(|documents| format!("{label}, {}", counted(documents, "document")));
    rsx! {
        button {
            class: "chip",
            r#type: "button",
            title: "{tip}",
            aria_label: spoken.unwrap_or_else(|| label.clone()),
            aria_pressed: "{on}",
            onclick: {
                let (name, value) = (name.clone(), value.clone());
                move |_| session.toggle_qualifier(&name, &value)
            },
            onkeydown: |event| keep_press(&event),
            Icon { symbol }
            span { class: "chip-text", dir: "auto", "{label}" }
            if let Some(documents) = documents {
                span { class: "chip-count", "{count(documents)}" }
            }
            if on {
                Icon { symbol: Symbol::Close }
            }
        }
    }
}

/// A chip that is on or off, with how much it is about.
#[component]
pub fn ChipToggle(
    symbol: Symbol,
    label: String,
    total: u64,
    on: bool,
    /// Gets what it is to be.
    onpress: EventHandler<bool>,
) -> Element {
    rsx! {
        button {
            class: "chip",
            r#type: "button",
            title: "{label}",
            aria_label: "{label}, {count(total)}",
            aria_pressed: "{on}",
            onclick: move |_| onpress.call(!on),
            onkeydown: |event| keep_press(&event),
            Icon { symbol }
            span { class: "chip-text", "{label}" }
            span { class: "chip-count", "{count(total)}" }
        }
    }
}

/// These keys press the button; further out they would open the selected result.
fn keep_press(event: &KeyboardEvent) {
    if matches!(event.key(), Key::Enter) || event.key() == Key::Character(" ".into()) {
        event.stop_propagation();
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{FacetValue, Facets};

    use super::*;
    use crate::ui::fixture::response;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Answered() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let value = |value: &str, documents| FacetValue { value: value.to_owned(), documents };
            let facets = Facets {
                documents: 9,
                types: vec![value("pdf", 5), value("code", 4)],
                dates: vec![value("7d", 3)],
                ..Facets::default()
            };
            let mut search = session.search.write();
            let sequence = search.ask("type:pdf -in:old owner".to_owned()).unwrap();
            search.accept(sequence, Ok(response(&["a"])));
            search.count(sequence, facets);
            search.count(sequence - 1, Facets::default());
        });
        rsx! {
            Chips {}
        }
    }

    #[component]
    fn Like() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let passage = response(&["a.md"]).hits[0].passage.chunk;
            session.search.write().ask_like(passage, "Shared ownership".to_owned());
        });
        rsx! {
            Chips {}
        }
    }

    #[test]
    fn chips_show_what_is_asked_and_what_would_narrow_it() {
        let html = rendered(|| rsx! { Answered {} });
        for part in [
            r#"aria-label="PDF" aria-pressed="true""#,
            r#"aria-label="Not old" aria-pressed="true""#,
            r#"aria-label="Code, 4 documents" aria-pressed="false""#,
            r#"aria-label="Past week, 3 documents""#,
            r#"<span class="chip-count">4</span>"#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches(">PDF<").count(), 1, "one chip for one qualifier: {html}");
    }

    #[test]
    fn neighbors_of_a_passage_say_so_and_lead_back() {
        let html = rendered(|| rsx! { Like {} });
        assert!(html.contains(">Like: Shared ownership<"), "{html}");
    }
}
