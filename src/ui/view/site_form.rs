use dioxus::prelude::*;

use super::button::Button;
use super::icon::Symbol;
use super::top_box::TopBox;
use super::use_session;
use crate::ui::state::{Field, ReachChoice, RulesForm};
use crate::ui::wording::{reach_name, recrawl_name};

/// The box for the address of a site, with one button.
#[component]
pub fn AddSite() -> Element {
    let session = use_session();
    let web = session.web.read();
    let form = &web.adding;
    let address = session.web.peek().adding.address.clone();
    let trouble = form.trouble.as_ref().filter(|trouble| trouble.is_of_address());
    rsx! {
        TopBox {
            id: "web-input",
            class: "add-site",
            symbol: Symbol::Web,
            label: "Address of a web site to add",
            placeholder: "Add a web site: docs.rs/tokio",
            inputmode: "url",
            trouble: trouble.is_some().then_some("trouble-address"),
            begin: address,
            ontype: move |address| session.type_address(address),
            onkey: move |event: KeyboardEvent| {
                // They go on to the list below.
                if !matches!(event.key(), Key::ArrowUp | Key::ArrowDown) {
                    keep_keys(&event, Enter::Submits, move || session.submit_form());
                }
            },
            Button {
                id: "site-options",
                symbol: Symbol::Options,
                text: "Options",
                label: "How far the site is read, how gently, and how often",
                pressed: form.is_open,
                onpress: move |()| session.toggle_options(),
            }
            Button {
                id: "add-site",
                text: "Add site",
                label: "Read this site and keep it searchable (Enter)",
                tone: "primary",
                disabled: form.address.trim().is_empty(),
                onpress: move |()| session.add_site(),
            }
        }
        if let Some(trouble) = trouble {
            p { id: "trouble-address", class: "field-trouble under-query", role: "alert", "{trouble.text}" }
        }
    }
}

/// The rules of a site: to add it with, or to `save`.
#[component]
pub fn SiteRules(saves: bool) -> Element {
    let session = use_session();
    // The boxes keep what is typed into them; what they begin with is read once.
    let begin = use_hook(|| {
        let web = session.web.peek();
        web.editing.as_ref().unwrap_or(&web.adding).rules.clone()
    });
    let web = session.web.read();
    let form = web.editing.as_ref().unwrap_or(&web.adding);
    let (reach, recrawl) = (form.rules.reach, form.rules.recrawl);
    let trouble = form.trouble.as_ref().filter(|trouble| saves && trouble.is_of_address());
    let RulesForm { hosts, depth, pages, include, exclude, delay, .. } = begin;
    rsx! {
        div { id: "site-rules", class: "rules", role: "group", aria_label: "Options of the site",
            fieldset { class: "rules-reach",
                legend { class: "field-name", "What to read" }
                div { class: "choices",
                    for choice in ReachChoice::ALL {
                        label { key: "{choice:?}", class: "choice", "data-on": choice == reach,
                            input {
                                r#type: "radio",
                                name: "reach",
                                checked: choice == reach,
                                onchange: move |_| session.type_rules(|form| form.rules.reach = choice),
                                onkeydown: move |event| keep_keys(&event, Enter::Submits, move || session.submit_form()),
                            }
                            {reach_name(choice)}
                        }
                    }
                }
            }
            if reach == ReachChoice::Hosts {
                TextField {
                    lines: true,
                    field: Field::Hosts,
                    name: "Other hosts",
                    hint: "api.example.org or *.example.org, one a line",
                    begin: hosts,
                    ontype: move |text| session.type_rules(|form| form.rules.hosts = text),
                }
            }
            div { class: "rules-numbers",
                TextField {
                    field: Field::Depth,
                    name: "Links deep",
                    hint: "from the start page",
                    begin: depth,
                    ontype: move |text| session.type_rules(|form| form.rules.depth = text),
                }
                TextField {
                    field: Field::Pages,
                    name: "Pages at most",
                    hint: "a crawl",
                    begin: pages,
                    ontype: move |text| session.type_rules(|form| form.rules.pages = text),
                }
                TextField {
                    field: Field::Delay,
                    name: "Seconds between requests",
                    hint: "more is gentler",
                    begin: delay,
                    ontype: move |text| session.type_rules(|form| form.rules.delay = text),
                }
                label { class: "field",
                    span { class: "field-name", "Check for changes" }
                    select {
                        id: "field-recrawl",
                        onchange: move |event| {
                            let chosen = recrawl.choices().into_iter().find(|choice| recrawl_name(*choice) == event.value());
                            if let Some(chosen) = chosen {
                                session.type_rules(|form| form.rules.recrawl = chosen);
                            }
                        },
                        onkeydown: move |event| keep_keys(&event, Enter::Stays, || {}),
                        for choice in recrawl.choices() {
                            option { key: "{choice:?}", value: recrawl_name(choice), selected: choice == recrawl,
                                {recrawl_name(choice)}
                            }
                        }
                    }
                }
            }
            div { class: "rules-patterns",
                TextField {
                    lines: true,
                    field: Field::Include,
                    name: "Only addresses like",
                    hint: "/docs/** for all below docs; one a line",
                    begin: include,
                    ontype: move |text| session.type_rules(|form| form.rules.include = text),
                }
                TextField {
                    lines: true,
                    field: Field::Exclude,
                    name: "Leave out addresses like",
                    hint: "**/print.html; one a line",
                    begin: exclude,
                    ontype: move |text| session.type_rules(|form| form.rules.exclude = text),
                }
            }
            if saves {
                div { class: "rules-end",
                    if let Some(trouble) = trouble {
                        p { class: "field-trouble", role: "alert", "{trouble.text}" }
                    } else {
                        p { class: "field-hint",
                            "Pages that these rules leave out are forgotten at once. What they bring in is read with the next check."
                        }
                    }
                    Button {
                        id: "save-rules",
                        text: "Save",
                        label: "Save these options",
                        tone: "primary",
                        disabled: form.is_busy,
                        onpress: move |()| session.submit_form(),
                    }
                    Button {
                        id: "drop-rules",
                        text: "Cancel",
                        label: "Leave the options as they were (Esc)",
                        tone: "plain",
                        onpress: move |()| {
                            let site = session.web.peek().chosen().map(|site| site.id);
                            if let Some(site) = site {
                                session.edit_rules(site);
                            }
                        },
                    }
                }
            }
        }
    }
}

/// A box with its name and what it is for, or what is wrong with it.
#[component]
fn TextField(
    field: Field,
    name: &'static str,
    hint: &'static str,
    begin: String,
    /// Whether it holds several lines, so that Enter begins another.
    #[props(default)]
    lines: bool,
    ontype: EventHandler<String>,
) -> Element {
    let session = use_session();
    let trouble = trouble_of(field);
    let wrong = trouble.is_some().then_some("true");
    rsx! {
        label { class: "field",
            span { class: "field-name", "{name}" }
            if lines {
                textarea {
                    rows: "2",
                    autocomplete: "off",
                    spellcheck: "false",
                    aria_invalid: wrong,
                    aria_describedby: described_by(field),
                    initial_value: begin,
                    oninput: move |event| ontype.call(event.value()),
                    onkeydown: move |event| keep_keys(&event, Enter::Stays, || {}),
                }
            } else {
                input {
                    r#type: "text",
                    inputmode: "decimal",
                    autocomplete: "off",
                    aria_invalid: wrong,
                    aria_describedby: described_by(field),
                    initial_value: begin,
                    oninput: move |event| ontype.call(event.value()),
                    onkeydown: move |event| keep_keys(&event, Enter::Submits, move || session.submit_form()),
                }
            }
            Hint { field, hint, trouble }
        }
    }
}

/// What is wrong with a box, or else what it is for.
#[component]
fn Hint(field: Field, hint: &'static str, trouble: Option<String>) -> Element {
    rsx! {
        if let Some(trouble) = trouble {
            span { id: described_by(field), class: "field-trouble", role: "alert", "{trouble}" }
        } else {
            span { id: described_by(field), class: "field-hint", "{hint}" }
        }
    }
}

fn trouble_of(field: Field) -> Option<String> {
    let web = use_session().web;
    let web = web.read();
    let trouble = web.editing.as_ref().unwrap_or(&web.adding).trouble.as_ref();
    trouble.filter(|trouble| trouble.field == field).map(|trouble| trouble.text.clone())
}

fn described_by(field: Field) -> &'static str {
    match field {
        Field::Address => "trouble-address",
        Field::Hosts => "trouble-hosts",
        Field::Depth => "trouble-depth",
        Field::Pages => "trouble-pages",
        Field::Include => "trouble-include",
        Field::Exclude => "trouble-exclude",
        Field::Delay => "trouble-delay",
    }
}

/// What Enter does in a box.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enter {
    Submits,
    Stays,
}

/// Keys that a box needs are not commands of the window; Escape and those with Ctrl or ⌘ are.
fn keep_keys(event: &KeyboardEvent, enter: Enter, submit: impl FnOnce()) {
    let modifiers = event.modifiers();
    if event.key() == Key::Escape || modifiers.ctrl() || modifiers.meta() || event.is_composing() {
        return;
    }
    event.stop_propagation();
    if event.key() == Key::Enter && enter == Enter::Submits {
        event.prevent_default();
        submit();
    }
}
