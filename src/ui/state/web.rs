use std::collections::BTreeSet;

use lodestone::engine::{CrawlFigures, SiteId, SiteState, SiteView};

use super::{FieldTrouble, PageRows, RulesForm};

/// A form in which a site is added, or its rules are changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteForm {
    pub address: String,
    pub rules: RulesForm,
    /// Whether the options are unfolded.
    pub is_open: bool,
    /// Whether the engine has been asked and has not answered.
    pub is_busy: bool,
    pub trouble: Option<FieldTrouble>,
}

/// The sites, the one that is looked at, and its pages.
#[derive(Clone, Debug, Default)]
pub struct WebState {
    sites: Vec<SiteView>,
    pub loaded: bool,
    chosen: Option<SiteId>,
    pub pages: PageRows,
    pub adding: SiteForm,
    /// Of the chosen site.
    pub editing: Option<SiteForm>,
    /// The site whose removal waits for a second word.
    pub asking: Option<SiteId>,
    /// Sites that were paused and still have pages in hand.
    pausing: BTreeSet<SiteId>,
}

impl WebState {
    pub fn refresh(&mut self, sites: Vec<SiteView>) {
        self.sites = sites;
        self.loaded = true;
        let crawls = |site: &&SiteView| matches!(site.state, SiteState::Crawling { .. });
        let crawling: BTreeSet<SiteId> = self.sites.iter().filter(crawls).map(|s| s.id).collect();
        self.pausing.retain(|id| crawling.contains(id));
        if self.chosen.is_some_and(|id| self.site(id).is_none()) {
            self.leave();
        }
        if self.asking.is_some_and(|id| self.site(id).is_none()) {
            self.asking = None;
        }
    }

    /// Shows how far a crawl is.
    pub fn progress(&mut self, id: SiteId, figures: &CrawlFigures) {
        if let Some(site) = self.sites.iter_mut().find(|site| site.id == id) {
            site.state = SiteState::Crawling { figures: Some(figures.clone()) };
        }
    }

    /// Shows at once that a site pauses, or does so no longer.
    pub fn set_pausing(&mut self, id: SiteId, pausing: bool) {
        if pausing {
            self.pausing.insert(id);
        } else {
            self.pausing.remove(&id);
        }
    }

    pub fn is_pausing(&self, id: SiteId) -> bool {
        self.pausing.contains(&id)
    }

    pub fn sites(&self) -> &[SiteView] {
        &self.sites
    }

    pub fn site(&self, id: SiteId) -> Option<&SiteView> {
        self.sites.iter().find(|site| site.id == id)
    }

    pub fn choose(&mut self, id: SiteId) {
        self.chosen = Some(id);
        self.pages = PageRows::default();
        self.editing = None;
        self.asking = None;
    }

    /// Back to the list of sites.
    pub fn leave(&mut self) {
        self.chosen = None;
        self.editing = None;
        self.asking = None;
    }

    pub fn chosen(&self) -> Option<&SiteView> {
        self.chosen.and_then(|id| self.site(id))
    }

    /// Unfolds the rules of the chosen site.
    pub fn edit(&mut self) {
        self.editing = self.chosen().map(|site| SiteForm {
            address: site.start.to_string(),
            rules: RulesForm::of(&site.rules),
            is_open: true,
            ..SiteForm::default()
        });
    }

    /// The form on screen: the rules of the chosen site, or a site to add.
    pub fn form(&mut self) -> &mut SiteForm {
        self.editing.as_mut().unwrap_or(&mut self.adding)
    }

    /// Takes back one thing; tells whether there was one.
    pub fn back(&mut self) -> Option<Backed> {
        if self.asking.take().is_some() || self.editing.take().is_some() {
            return Some(Backed::Closed);
        }
        if self.chosen.is_some() {
            if self.pages.filter().is_empty() {
                self.leave();
                return Some(Backed::Left);
            }
            self.pages.set_filter("");
            return Some(Backed::Cleared);
        }
        if self.adding.is_open {
            self.adding.is_open = false;
            return Some(Backed::Closed);
        }
        if self.adding.address.is_empty() && self.adding.trouble.is_none() {
            return None;
        }
        self.adding = SiteForm::default();
        Some(Backed::Cleared)
    }
}

/// What a step back did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backed {
    /// A question or a form.
    Closed,
    /// What was typed.
    Cleared,
    /// A site, for the list of all.
    Left,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::site;

    fn web() -> WebState {
        let mut web = WebState::default();
        web.refresh(vec![site(1, SiteState::Done), site(2, SiteState::Paused)]);
        web
    }

    #[test]
    fn a_site_that_has_gone_is_left() {
        let mut web = web();
        web.choose(SiteId::from_stored(2));
        web.asking = Some(SiteId::from_stored(2));
        web.edit();
        assert!(web.editing.is_some());
        web.refresh(vec![site(1, SiteState::Done)]);
        assert!(web.chosen().is_none() && web.asking.is_none() && web.editing.is_none());
    }

    #[test]
    fn progress_shows_at_its_site() {
        let mut web = web();
        let figures = CrawlFigures { done: 7, ..CrawlFigures::default() };
        web.progress(SiteId::from_stored(2), &figures);
        web.progress(SiteId::from_stored(9), &figures);
        let crawling = SiteState::Crawling { figures: Some(figures) };
        assert_eq!(web.site(SiteId::from_stored(2)).unwrap().state, crawling);
        assert_eq!(web.site(SiteId::from_stored(1)).unwrap().state, SiteState::Done);
    }

    #[test]
    fn a_site_pauses_until_its_crawl_has_ended() {
        let mut web = web();
        let (id, crawling) = (SiteId::from_stored(1), SiteState::Crawling { figures: None });
        web.set_pausing(id, true);
        web.refresh(vec![site(1, crawling)]);
        assert!(web.is_pausing(id));
        web.refresh(vec![site(1, SiteState::Paused)]);
        assert!(!web.is_pausing(id));
    }

    #[test]
    fn each_step_back_takes_one_thing() {
        let mut web = web();
        web.adding.address = "docs.rs".to_owned();
        web.adding.is_open = true;
        web.choose(SiteId::from_stored(1));
        web.pages.set_filter("book");
        web.edit();
        web.asking = Some(SiteId::from_stored(1));
        let steps: Vec<Option<Backed>> = (0..7).map(|_| web.back()).collect();
        let (closed, cleared) = (Some(Backed::Closed), Some(Backed::Cleared));
        let left = Some(Backed::Left);
        assert_eq!(steps, [closed, closed, cleared, left, closed, cleared, None]);
        assert_eq!(web.adding, SiteForm::default());
    }

    #[test]
    fn the_form_on_screen_is_the_one_that_is_open() {
        let mut web = web();
        web.form().address = "a.test".to_owned();
        web.choose(SiteId::from_stored(1));
        web.edit();
        assert_eq!(web.form().address, "https://site1.test/docs/");
        web.form().rules.depth = "2".to_owned();
        web.back();
        assert_eq!(web.form().address, "a.test");
        assert_eq!(web.form().rules, RulesForm::default());
    }
}
