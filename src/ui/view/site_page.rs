use dioxus::prelude::*;
use lodestone::data::{DocumentId, Source};
use lodestone::engine::SiteView;

use super::button::Button;
use super::icon::Symbol;
use super::page_row::PageRow;
use super::site_form::SiteRules;
use super::site_row::{Coverage, RemovalQuestion, SiteActions, Standing};
use super::top_box::TopBox;
use super::use_session;
use crate::ui::state::{PageGroup, ROW_PX};
use crate::ui::wording::{count, findings_lines, group_name, rules_line, site_name};

/// One site: how it stands, what it said about itself, and all its pages.
#[component]
pub fn SitePage(site: SiteView) -> Element {
    let session = use_session();
    let asking = session.web.read().asking == Some(site.id);
    let editing = session.web.read().editing.is_some();
    let name = site_name(&site.start);
    let source = Source::Web(site.start.clone());
    rsx! {
        header { class: "site-head",
            div { class: "site-names",
                Button {
                    id: "site-back",
                    symbol: Symbol::Back,
                    label: "Back to all sites (Esc)",
                    onpress: move |()| session.leave_site(),
                }
                div { class: "site-title",
                    h1 { title: "{name}", "{name}" }
                    Button {
                        text: site.start.to_string(),
                        label: format!("Open {} in the browser", site.start),
                        tone: "address",
                        onpress: move |()| session.open_source(source.clone()),
                    }
                }
                if asking {
                    RemovalQuestion { site: site.clone() }
                } else {
                    SiteActions { site: site.clone(), texts: true }
                }
            }
            div { class: "site-state",
                Standing { site: site.clone() }
                Coverage { site: site.clone() }
            }
            if !editing {
                div { class: "site-facts",
                    p { "{rules_line(&site.rules)}" }
                    if let Some(findings) = &site.findings {
                        for line in findings_lines(findings) {
                            p { key: "{line}", title: "{line}", "{line}" }
                        }
                    }
                }
            }
        }
        if editing {
            SiteRules { saves: true }
        } else {
            Filter {}
            Groups { site: site.clone() }
            Rows {}
        }
    }
}

#[component]
fn Filter() -> Element {
    let session = use_session();
    let filter = session.web.peek().pages.filter().to_owned();
    rsx! {
        TopBox {
            id: "web-input",
            class: "page-filter",
            symbol: Symbol::Search,
            label: "Filter the pages by address",
            placeholder: "Filter by address",
            begin: filter,
            ontype: move |text: String| session.filter_pages(&text),
        }
    }
}

#[component]
fn Groups(site: SiteView) -> Element {
    let session = use_session();
    let current = session.web.read().pages.group();
    rsx! {
        div { class: "tabs", role: "tablist", aria_label: "Pages by what became of them",
            for group in PageGroup::ALL {
                button {
                    key: "{group:?}",
                    r#type: "button",
                    class: "tab",
                    role: "tab",
                    aria_selected: group == current,
                    aria_controls: "page-rows",
                    onclick: move |_| session.show_pages(group),
                    onkeydown: |event| {
                        if event.key() == Key::Enter {
                            event.stop_propagation();
                        }
                    },
                    {group_name(group)}
                    span { class: "tab-count", {count(group.count(&site))} }
                }
            }
        }
    }
}

/// The rows near the view, between two spaces as tall as the rows that are left out.
#[component]
fn Rows() -> Element {
    let session = use_session();
    let web = session.web.read();
    let pages = &web.pages;
    let (above, shown, below) = pages.shown();
    let selected = session.library.read().selected;
    let empty = match (pages.known && pages.total() == 0, pages.filter().is_empty(), pages.group())
    {
        (false, ..) => None,
        (true, false, _) => Some("No address here holds these letters."),
        (true, true, PageGroup::All) => Some("No page is known yet."),
        (true, true, PageGroup::Indexed) => Some("No page is indexed yet."),
        (true, true, PageGroup::Waiting) => Some("No page waits."),
        (true, true, PageGroup::Failed) => Some("Every page that was asked for could be had."),
        (true, true, PageGroup::LeftOut) => Some("Nothing was left out."),
    };
    rsx! {
        if empty.is_none() {
            div { class: "row row-head row-page", aria_hidden: "true",
                span { "Page" }
                span { "State" }
                span { class: "cell-number cell-depth", title: "Links from the start", "Depth" }
                span { class: "cell-number cell-size", "Size" }
                span { class: "cell-date", "Read" }
                span {}
            }
        }
        div {
            id: "page-rows",
            class: "rows",
            role: "table",
            aria_label: "Pages of the site",
            aria_rowcount: "{pages.total()}",
            onscroll: move |event| {
                session.scroll_pages(event.scroll_top(), f64::from(event.client_height()));
            },
            if let Some(empty) = empty {
                p { class: "rows-empty", "{empty}" }
            }
            div { style: "height: {above as f64 * ROW_PX}px" }
            for page in shown {
                PageRow {
                    key: "{page.url}",
                    page: page.clone(),
                    selected: page.is_searchable
                        && selected == Some(DocumentId::of(&Source::Web(page.url.clone()))),
                }
            }
            div { style: "height: {below as f64 * ROW_PX}px" }
        }
    }
}
