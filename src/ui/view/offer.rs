use dioxus::prelude::*;

use super::button::Button;
use super::dialog::Dialog;
use super::icon::Symbol;
use super::use_session;
use crate::ui::state::Offer;

/// What a big drop would cost, before it begins.
#[component]
pub fn OfferBox(offer: Offer) -> Element {
    let session = use_session();
    let paths = offer.paths.clone();
    let accept = rsx! {
        Button {
            id: "accept-offer",
            symbol: Symbol::AddFolder,
            text: "Index",
            label: "{offer.label}",
            tone: "primary",
            onpress: move |()| session.accept(paths.clone()),
        }
    };
    rsx! {
        Dialog { id: "offer-dialog", title: "{offer.label}", actions: accept,
            p { class: "offer-total", "{offer.total()}" }
            table { class: "offer-kinds",
                thead {
                    tr {
                        th { scope: "col", "Kind" }
                        th { scope: "col", "Files" }
                        th { scope: "col", "Size" }
                    }
                }
                tbody {
                    for line in offer.kinds() {
                        tr { key: "{line.name}",
                            th { scope: "row", "{line.name}" }
                            td { "{line.files}" }
                            td { "{line.bytes}" }
                        }
                    }
                }
            }
            ul { class: "offer-costs",
                for cost in offer.costs() {
                    li { key: "{cost}", "{cost}" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{Estimate, Survey, SurveyedKind};

    use super::*;
    use crate::ui::view::tests::rendered;

    fn big_drop() -> Element {
        let kinds =
            vec![SurveyedKind { extension: "pdf".to_owned(), files: 900, bytes: 2_000_000_000 }];
        let survey =
            Survey { files: 900, bytes: 2_000_000_000, kinds, left_out: 0, is_whole: true };
        let estimate = Estimate { survey, ..Estimate::default() };
        let offer = Offer::new(vec!["/home/ada/Papers".into()], &[true], estimate);
        rsx! {
            OfferBox { offer }
        }
    }

    #[test]
    fn a_big_drop_says_what_it_is_and_waits() {
        let html = rendered(big_drop);
        for part in ["Index folder Papers", "900 files, 2.0 GB", "PDF", "id=\"accept-offer\""] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
