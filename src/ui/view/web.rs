use dioxus::prelude::*;

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::site_form::{AddSite, SiteRules};
use super::site_page::SitePage;
use super::site_row::SiteRow;
use super::use_session;

/// An address that shows what can be typed.
const EXAMPLE: &str = "doc.rust-lang.org/book";

/// The sites that are searchable, or one of them with its pages.
#[component]
pub fn WebView() -> Element {
    let session = use_session();
    let chosen = session.web.read().chosen().cloned();
    match chosen {
        Some(site) => rsx! {
            SitePage { key: "{site.id.get()}", site }
        },
        None => rsx! {
            AddSite {}
            if session.web.read().adding.is_open {
                SiteRules { saves: false }
            }
            Sites {}
        },
    }
}

#[component]
fn Sites() -> Element {
    let session = use_session();
    let web = session.web.read();
    if !web.loaded {
        return VNode::empty();
    }
    if web.sites().is_empty() {
        return rsx! {
            NoSites {}
        };
    }
    rsx! {
        div { id: "sites", class: "rows", role: "list", aria_label: "Web sites",
            for site in web.sites() {
                SiteRow {
                    key: "{site.id.get()}",
                    site: site.clone(),
                    asking: web.asking == Some(site.id),
                }
            }
        }
    }
}

/// No site was added yet: teaches the one action that changes this.
#[component]
fn NoSites() -> Element {
    let session = use_session();
    rsx! {
        div { id: "no-sites", class: "empty",
            div { class: "empty-drop empty-web",
                Icon { symbol: Symbol::Web }
                h1 { "Make a web site searchable" }
                p {
                    "Type its address above and press Enter. Lodestone reads the pages below it, "
                    "at a pace that does the site no harm, and you search them beside your files. "
                    "What you ask stays on this computer."
                }
                div { class: "empty-actions",
                    Button {
                        id: "example-site",
                        text: format!("Try {EXAMPLE}"),
                        label: format!("Put {EXAMPLE} into the box above"),
                        tone: "plain",
                        onpress: move |()| session.offer_site(EXAMPLE.to_owned()),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{CrawlFigures, PageList, PageState, SiteId, SiteState};

    use super::*;
    use crate::ui::fixture::{page, site};
    use crate::ui::state::{Field, FieldTrouble};
    use crate::ui::view::tests::rendered;

    #[component]
    fn Empty() -> Element {
        let mut session = use_session();
        use_hook(|| session.web.write().refresh(Vec::new()));
        rsx! {
            WebView {}
        }
    }

    #[component]
    fn Three(asking: bool) -> Element {
        let mut session = use_session();
        use_hook(|| {
            let figures = CrawlFigures { done: 7, queued: 3, ..CrawlFigures::default() };
            let crawling = SiteState::Crawling { figures: Some(figures) };
            let mut web = session.web.write();
            web.refresh(vec![
                site(1, crawling),
                site(2, SiteState::Paused),
                site(3, SiteState::Done),
            ]);
            web.asking = asking.then(|| SiteId::from_stored(2));
        });
        rsx! {
            WebView {}
        }
    }

    #[component]
    fn Refused() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut web = session.web.write();
            web.refresh(Vec::new());
            web.adding.is_open = true;
            let text = "the pattern \"[\" cannot be read".to_owned();
            web.adding.trouble = Some(FieldTrouble { field: Field::Exclude, text });
        });
        rsx! {
            WebView {}
        }
    }

    #[component]
    fn Chosen(editing: bool) -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut web = session.web.write();
            let mut failed = page("/docs/b.html", PageState::Failed);
            failed.status = Some(500);
            web.refresh(vec![site(1, SiteState::Done)]);
            web.choose(SiteId::from_stored(1));
            if editing {
                web.edit();
            }
            let query = web.pages.ask();
            let pages = vec![page("/docs/a.html", PageState::Indexed), failed];
            web.pages.accept(&query, PageList { total: 2, pages });
        });
        rsx! {
            WebView {}
        }
    }

    fn assert_holds(html: &str, parts: &[&str]) {
        for part in parts {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn without_sites_the_view_teaches_how_to_add_one() {
        let html = rendered(|| rsx! { Empty {} });
        assert_holds(&html, &["Make a web site searchable", "Try doc.rust-lang.org/book"]);
        assert_holds(&html, &[r#"id="web-input""#, r#"aria-label="Address of a web site to add""#]);
        assert!(!html.contains(r#"id="site-rules""#), "options are folded: {html}");
        let unknown = rendered(|| rsx! { WebView {} });
        assert!(!unknown.contains("no-sites"), "sites that are being loaded are not none");
    }

    #[test]
    fn every_site_says_how_it_stands_and_offers_what_fits() {
        let html = rendered(|| rsx! { Three { asking: false } });
        assert_holds(&html, &["site1.test/docs", "7 pages done, 3 to go"]);
        assert_holds(&html, &["2 of 3 pages searchable", r#"aria-label="Pause site1.test/docs""#]);
        assert_holds(&html, &[r#"aria-label="Resume site2.test/docs""#]);
        assert!(!html.contains(r#"aria-label="Pause site3.test/docs""#), "{html}");
        assert!(!html.contains(r#"aria-label="Check site1.test/docs for changes""#), "{html}");
        assert_holds(&html, &[r#"aria-label="Check site3.test/docs for changes""#]);
    }

    #[test]
    fn a_removal_asks_once_and_says_what_goes() {
        let html = rendered(|| rsx! { Three { asking: true } });
        assert_holds(&html, &[r#"role="alertdialog""#, "Remove site2.test/docs and its 2 pages"]);
        assert_eq!(html.matches("alertdialog").count(), 1);
    }

    #[test]
    fn what_is_wrong_stands_at_its_box() {
        let html = rendered(|| rsx! { Refused {} });
        assert_holds(&html, &[r#"id="trouble-exclude""#, "cannot be read"]);
        assert_holds(&html, &[r#"aria-invalid="true""#, r#"aria-describedby="trouble-exclude""#]);
        assert_eq!(html.matches(r#"aria-invalid="true""#).count(), 1, "{html}");
    }

    #[test]
    fn a_site_shows_its_pages_with_reasons() {
        let html = rendered(|| rsx! { Chosen { editing: false } });
        assert_holds(&html, &["Page /docs/a.html", ">Indexed<", ">Failed<"]);
        assert_holds(&html, &["the server answered 500", "This folder and below"]);
        assert_holds(&html, &[r#"role="tablist""#, r#"aria-label="Filter the pages by address""#]);
    }

    #[test]
    fn the_rules_of_a_site_unfold_with_what_they_are() {
        let html = rendered(|| rsx! { Chosen { editing: true } });
        assert_holds(&html, &[r#"id="site-rules""#, r#"value="10000""#, "Save"]);
    }
}
