use dioxus::prelude::*;
use lodestone::data::Hit;
use lodestone::engine::at_passage;

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::text::{Excerpt, Piece};
use crate::ui::wording::{also_in, breadcrumb, date, now, open_label, type_name, why_lines};

/// One hit: where it is, what it says, and, when selected, what can be done with it.
#[component]
pub fn Card(hit: Hit, at: usize, selected: bool, why: bool, unfolded: bool) -> Element {
    let session = use_session();
    let document = &hit.document;
    let excerpt = Excerpt::of(&hit.passage, document.media_type);
    let trail = breadcrumb(&document.source, std::env::home_dir().as_deref()).join(" › ");
    let modified = document.modified.map(|seconds| date(seconds, now()));
    let more = hit.more.len();
    let also = also_in(&hit);
    let id = document.id;
    rsx! {
        div { class: "card", role: "presentation", "data-selected": selected, "data-weak": hit.is_weak,
            div {
                id: "hit-{at}",
                class: "card-body",
                role: "option",
                aria_selected: selected,
                onclick: move |_| session.open_hit(at),
                ondoubleclick: {
                    let source = at_passage(&document.source, &hit.passage.text);
                    let locator = hit.passage.locator.clone();
                    move |_| session.open_at(source.clone(), locator.clone())
                },
                div { class: "card-head",
                    Icon { symbol: Symbol::of_type(document.media_type) }
                    h2 { class: "card-title", dir: "auto", "{document.title}" }
                    if let Some(locator) = &hit.passage.locator {
                        span { class: "card-locator", title: "{locator}", dir: "auto", "{locator}" }
                    }
                }
                p { class: "card-where",
                    span { class: "trail", title: "{document.source}", "{trail}" }
                    span { class: "fact", {type_name(document.media_type)} }
                    if let Some(modified) = modified {
                        span { class: "fact", "{modified}" }
                    }
                    if more > 0 {
                        span { class: "fact more", "{more} more here" }
                    }
                    if let Some((text, places)) = also {
                        span { class: "fact more",
                            button {
                                class: "places-toggle",
                                r#type: "button",
                                title: "{places}",
                                aria_expanded: "{unfolded}",
                                onclick: move |event| {
                                    event.stop_propagation();
                                    session.toggle_places(id);
                                },
                                ondoubleclick: |event| event.stop_propagation(),
                                onkeydown: |event| {
                                    if matches!(event.key(), Key::Enter) {
                                        event.stop_propagation();
                                    }
                                },
                                "{text}"
                            }
                        }
                    }
                }
                Passage { excerpt }
            }
            if unfolded {
                Places { hit: hit.clone() }
            }
            if selected {
                Actions { hit: hit.clone(), why }
            }
            if why {
                ul { class: "why", id: "why", aria_label: "Why this result",
                    for line in why_lines(&hit, session.search.read().like().is_none()) {
                        li { key: "{line}", "{line}" }
                    }
                }
            }
        }
    }
}

#[component]
fn Passage(excerpt: Excerpt) -> Element {
    let face = if excerpt.is_code { "code" } else { "prose" };
    rsx! {
        p { class: "passage {face}", dir: "auto",
            for (at , piece) in excerpt.pieces.iter().enumerate() {
                PieceText { key: "{at}", piece: piece.clone() }
            }
        }
    }
}

#[component]
fn PieceText(piece: Piece) -> Element {
    let class = piece.sentence.then_some("sentence");
    if piece.matched {
        rsx! {
            mark { class, "{piece.text}" }
        }
    } else {
        rsx! {
            span { class, "{piece.text}" }
        }
    }
}

/// Where else nearly the same is said.
#[component]
fn Places(hit: Hit) -> Element {
    let session = use_session();
    rsx! {
        ul { class: "places", aria_label: "Copies and versions of {hit.document.title}",
            for document in hit.also.iter() {
                li { key: "{document.id}", class: "place",
                    Icon { symbol: Symbol::of_type(document.media_type) }
                    span { class: "path", dir: "auto", title: "{document.source}", "{document.source}" }
                    Button {
                        text: "Read",
                        label: format!("Read {}", document.source),
                        onpress: {
                            let id = document.id;
                            move |()| session.read_copy(id)
                        },
                    }
                    Button {
                        symbol: Symbol::Open,
                        label: format!("Open {}", document.source),
                        onpress: {
                            let source = document.source.clone();
                            move |()| session.open_source(source.clone())
                        },
                    }
                }
            }
        }
    }
}

#[component]
fn Actions(hit: Hit, why: bool) -> Element {
    let session = use_session();
    let source = hit.document.source.clone();
    let opened = at_passage(&source, &hit.passage.text);
    let path = source.path().map(std::path::Path::to_path_buf);
    let starring = source.clone();
    let locator = hit.passage.locator.clone();
    let likened = hit.clone();
    let starred = session.golden.read().is_starred(session.search.read().query(), &source);
    rsx! {
        div { class: "card-actions", role: "toolbar", aria_label: "Actions on this result",
            Button {
                symbol: Symbol::Open,
                text: "Open",
                label: open_label(&source),
                onpress: move |()| session.open_at(opened.clone(), locator.clone()),
            }
            if let Some(path) = path {
                Button {
                    symbol: Symbol::Folder,
                    text: "Reveal",
                    tone: "quiet brief",
                    label: "Reveal in the file manager",
                    onpress: move |()| session.reveal(path.clone()),
                }
            }
            Button {
                symbol: Symbol::Copy,
                text: "Copy",
                tone: "quiet brief",
                label: "Copy the passage",
                copies: hit.passage.text.clone(),
                onpress: |()| {},
            }
            Button {
                symbol: Symbol::Like,
                text: "More like this",
                label: "Show what is near this passage in meaning",
                onpress: move |()| session.ask_like(&likened),
            }
            Button {
                symbol: Symbol::Star,
                text: "Star",
                tone: "quiet brief",
                label: "Right answer: measure search by it",
                pressed: starred,
                onpress: move |()| session.toggle_star(starring.clone()),
            }
            Button {
                symbol: Symbol::Why,
                text: "Why",
                label: "Why this result stands here",
                pressed: why,
                onpress: move |()| session.toggle_why(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;
    use crate::ui::view::tests::rendered;

    #[component]
    fn OneCard(why: bool) -> Element {
        let mut hit = fixture::hit("a.md", "It *has* owners. <b>");
        hit.more = vec![fixture::passage(0); 4];
        hit.also = vec![fixture::hit("b.md", "The same.").document];
        rsx! {
            Card { hit, at: 0, selected: true, why, unfolded: why }
        }
    }

    #[test]
    fn a_card_names_the_place_and_marks_the_words() {
        let html = rendered(|| rsx! { OneCard { why: false } });
        for part in [
            r#"role="option""#,
            ">a.md</h2>",
            ">line 3</span>",
            ">docs</span>",
            ">Markdown</span>",
            ">4 more here</span>",
            ">also in 1 place</button>",
            "docs/b.md",
            "<mark>owners</mark>",
            "It has ",
            r#"data-copy="It *has* owners. &#60;b&#62;""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains(r#"id="why""#));
    }

    #[test]
    fn the_reasons_unfold() {
        let html = rendered(|| rsx! { OneCard { why: true } });
        assert!(html.contains("By meaning: 1st of all passages"), "{html}");
        for part in ["More like this", r#"aria-expanded="true""#, r#"aria-label="Open /docs/b.md""#]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
