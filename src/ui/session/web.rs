use std::time::Duration;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::{DocumentId, Source};
use lodestone::engine::{CrawlFigures, PageView, SiteId};

use super::Session;
use crate::ui::dom;
use crate::ui::state::{Backed, FieldTrouble, NoticeTone, PageGroup, SiteForm, View};
use crate::ui::wording::{counted, site_name};

/// While a crawl runs, its pages and numbers on screen follow at this pace.
const FOLLOW_AFTER: Duration = Duration::from_millis(500);
/// Between two letters of a filter.
const TYPING: Duration = Duration::from_millis(120);

/// What a person asks of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteWish {
    Pause,
    Resume,
    Check,
}

impl Session {
    /// Loads the sites, and the pages that are on screen.
    pub fn refresh_web(mut self) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match bridge.sites().await {
                Ok(sites) => self.web.write().refresh(sites),
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
            self.load_pages(Duration::ZERO);
        });
    }

    /// Shows how far a crawl is; what only the store knows follows at a bounded pace.
    pub(super) fn show_crawl(mut self, site: SiteId, figures: &CrawlFigures) {
        if *self.view.peek() != View::Web {
            return;
        }
        self.web.write().progress(site, figures);
        if std::mem::replace(&mut *self.following.write(), true) {
            return;
        }
        spawn_forever(async move {
            tokio::time::sleep(FOLLOW_AFTER).await;
            self.following.set(false);
            if *self.view.peek() == View::Web {
                self.refresh_web();
            }
        });
    }

    fn load_pages(mut self, delay: Duration) {
        let Some(bridge) = self.bridge() else { return };
        let Some(site) = self.web.peek().chosen().map(|site| site.id) else { return };
        let query = self.web.write().pages.ask();
        spawn_forever(async move {
            tokio::time::sleep(delay).await;
            if !self.web.peek().pages.is_newest(&query) {
                return;
            }
            match bridge.pages(site, query.filter.clone(), query.range.clone()).await {
                Ok(list) => self.web.write().pages.accept(&query, list),
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    pub fn scroll_pages(mut self, scroll_px: f64, height_px: f64) {
        if self.web.write().pages.scrolled(scroll_px, height_px) {
            self.load_pages(Duration::ZERO);
        }
    }

    pub fn show_pages(mut self, group: PageGroup) {
        self.web.write().pages.show(group);
        self.load_pages(Duration::ZERO);
    }

    pub fn filter_pages(mut self, filter: &str) {
        self.web.write().pages.set_filter(filter);
        self.load_pages(TYPING);
    }

    pub fn choose_site(mut self, site: SiteId) {
        self.web.write().choose(site);
        self.load_pages(Duration::ZERO);
    }

    /// Shows the pages of a site that could not be had.
    pub(super) fn show_failed(mut self, site: SiteId) {
        if *self.view.peek() != View::Web {
            self.show(View::Web);
        }
        let mut web = self.web.write();
        web.choose(site);
        web.pages.show(PageGroup::Failed);
        drop(web);
        // The sites may not have been loaded before.
        self.refresh_web();
    }

    /// Back to the list of sites.
    pub fn leave_site(mut self) {
        self.web.write().leave();
    }

    /// Backs out of one thing in the view.
    pub(super) fn back_in_web(mut self) {
        let backed = self.web.write().back();
        if backed == Some(Backed::Cleared) {
            dom::set_text(View::Web.input_id(), "");
            self.load_pages(Duration::ZERO);
        }
        // Where a site was left, its box takes the focus as it comes.
        if backed != Some(Backed::Left) {
            dom::focus_text(View::Web.input_id());
        }
    }

    pub fn type_address(mut self, address: String) {
        let mut web = self.web.write();
        web.adding.address = address;
        web.adding.trouble = None;
    }

    /// Puts an address into the box and leaves the word to the person.
    pub fn offer_site(self, address: String) {
        if *self.view.peek() != View::Web {
            self.show(View::Web);
        }
        self.leave_site();
        dom::set_text(View::Web.input_id(), &address);
        dom::focus_text(View::Web.input_id());
        self.type_address(address);
    }

    /// Changes the form on screen; what was wrong with it may be no more.
    pub fn type_rules(mut self, change: impl FnOnce(&mut SiteForm)) {
        let mut web = self.web.write();
        let form = web.form();
        form.trouble = None;
        change(form);
    }

    pub fn toggle_options(mut self) {
        let mut web = self.web.write();
        web.adding.is_open = !web.adding.is_open;
    }

    pub fn edit_rules(mut self, site: SiteId) {
        if self.web.peek().chosen().is_none_or(|chosen| chosen.id != site) {
            self.choose_site(site);
        }
        let mut web = self.web.write();
        if web.editing.take().is_none() {
            web.edit();
        }
    }

    pub fn submit_form(self) {
        if self.web.peek().editing.is_some() {
            self.save_rules();
        } else {
            self.add_site();
        }
    }

    pub fn add_site(mut self) {
        let Some(bridge) = self.bridge() else { return };
        if self.web.peek().adding.address.trim().is_empty() {
            return;
        }
        let rules = match self.web.peek().adding.rules.rules() {
            Ok(rules) => rules,
            Err(trouble) => return self.refuse(trouble),
        };
        // The box is free at once, so that what is typed next is not lost when the answer comes.
        let form = std::mem::take(&mut self.web.write().adding);
        dom::set_text(View::Web.input_id(), "");
        spawn_forever(async move {
            // A site that is known keeps its rules unless others were typed.
            let is_plain = form.rules == SiteForm::default().rules;
            let known = match bridge.site_named(&form.address, &rules).await {
                Ok(known) if is_plain => known,
                Ok(_) => None,
                Err(trouble) => return self.give_back(form, trouble),
            };
            let added = match known {
                Some(known) => {
                    let text = format!("{} is looked through again.", site_name(&known.start));
                    self.notify(NoticeTone::Quiet, text);
                    bridge.recrawl(known.id).await.map_err(FieldTrouble::of_address)
                }
                None => bridge.add_site(&form.address, rules).await,
            };
            match added {
                Ok(()) => self.refresh_web(),
                Err(trouble) => self.give_back(form, trouble),
            }
        });
    }

    /// Puts back what could not be added, unless another address is being typed.
    fn give_back(mut self, form: SiteForm, trouble: FieldTrouble) {
        let is_free = self.web.peek().adding.address.is_empty();
        if !is_free || self.web.peek().chosen().is_some() {
            return self.notify(NoticeTone::Warning, trouble.text);
        }
        dom::set_text(View::Web.input_id(), &form.address);
        self.web.write().adding = form;
        self.refuse(trouble);
    }

    fn save_rules(mut self) {
        let Some(bridge) = self.bridge() else { return };
        let asked = self.web.peek().chosen().map(|site| site.id);
        let form = self.web.peek().editing.clone();
        let (Some(site), Some(form)) = (asked, form.filter(|form| !form.is_busy)) else { return };
        let rules = match form.rules.rules() {
            Ok(rules) => rules,
            Err(trouble) => return self.refuse(trouble),
        };
        self.web.write().form().is_busy = true;
        spawn_forever(async move {
            match bridge.set_rules(site, rules).await {
                Ok(()) => {
                    self.web.write().editing = None;
                    self.refresh_web();
                }
                Err(trouble) => self.refuse(trouble),
            }
        });
    }

    /// Shows what is wrong at its box, and takes the person there.
    fn refuse(mut self, trouble: FieldTrouble) {
        let mut web = self.web.write();
        let form = web.form();
        form.is_busy = false;
        form.is_open |= !trouble.is_of_address();
        form.trouble = Some(trouble);
    }

    pub fn wish(mut self, site: SiteId, wish: SiteWish) {
        let Some(bridge) = self.bridge() else { return };
        self.web.write().set_pausing(site, wish == SiteWish::Pause);
        spawn_forever(async move {
            let done = match wish {
                SiteWish::Pause => bridge.pause_site(site).await,
                SiteWish::Resume => bridge.resume_site(site).await,
                SiteWish::Check => bridge.recrawl(site).await,
            };
            if let Err(problem) = done {
                self.notify(NoticeTone::Warning, problem);
            }
            self.refresh_web();
        });
    }

    /// Asks whether a site is to be forgotten.
    pub fn ask_site_removal(mut self, site: SiteId) {
        self.web.write().asking = Some(site);
    }

    pub fn keep_site(mut self) {
        self.web.write().asking = None;
    }

    /// Forgets the site that was asked about.
    pub fn remove_asked_site(mut self) {
        let asked = self.web.write().asking.take();
        let site = asked.and_then(|id| self.web.peek().site(id).cloned());
        let (Some(site), Some(bridge)) = (site, self.bridge()) else { return };
        self.close_reader();
        spawn_forever(async move {
            match bridge.remove_site(site.id).await {
                Ok(documents) => {
                    let pages = counted(documents, "page");
                    let text = format!("{} was removed with {pages}.", site_name(&site.start));
                    self.notify(NoticeTone::Quiet, text);
                }
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
            self.refresh_web();
            self.refresh_health().await;
        });
    }

    /// Reads a page here when its text is at hand, and else in the browser.
    pub fn open_page(self, page: &PageView) {
        let source = Source::Web(page.url.clone());
        if page.is_searchable {
            self.read_document(DocumentId::of(&source));
        } else {
            self.open_source(source);
        }
    }
}
