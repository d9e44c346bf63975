use lodestone::data::{CrawlRules, Reach, SiteFindings};
use lodestone::engine::{PageState, PageView, SiteState, SiteView};
use url::Url;

use super::{ago, bytes, count, counted, until};
use crate::ui::state::{PageGroup, ReachChoice, Recrawl};

/// A site as people name it: `docs.rs/tokio`, `localhost:8000`.
pub fn site_name(start: &Url) -> String {
    let host = start.host_str().unwrap_or_default();
    let port = start.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = start.path().trim_end_matches('/');
    let query = start.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{host}{port}{path}{query}")
}

/// How the engine begins a reason; the word beside it says so already.
const GOES_ON_LATER: &str = "it goes on later: ";

/// How a site stands: a word, and what there is to say about it.
pub fn site_standing(site: &SiteView, now: i64) -> (&'static str, String) {
    match &site.state {
        SiteState::Crawling { figures: Some(figures) } if figures.done + figures.queued == 0 => {
            ("Crawling", "starting".to_owned())
        }
        SiteState::Crawling { figures: Some(figures) } => {
            let pages = counted(figures.done, "page");
            let mut facts = vec![format!("{pages} done, {} to go", count(figures.queued))];
            facts.extend(pages_per_second(figures.pages_per_second));
            if figures.failed > 0 {
                facts.push(format!("{} failed", count(figures.failed)));
            }
            facts.extend((figures.bytes > 0).then(|| bytes(figures.bytes)));
            ("Crawling", facts.join(" · "))
        }
        SiteState::Crawling { figures: None } => {
            ("Crawling", "by another Lodestone on this computer".to_owned())
        }
        SiteState::Paused => ("Paused", "until you resume it".to_owned()),
        SiteState::Waiting { reason, at } => {
            let again = at.map(|at| format!("tries again {}", until(at, now)));
            let reason = reason.as_deref();
            let reason = reason.map(|text| text.strip_prefix(GOES_ON_LATER).unwrap_or(text));
            let facts: Vec<String> = reason.map(str::to_owned).into_iter().chain(again).collect();
            let facts =
                if facts.is_empty() { "goes on by itself".to_owned() } else { facts.join(" · ") };
            ("Waiting", facts)
        }
        SiteState::Done => {
            let mut facts = Vec::new();
            if let Some(last) = site.last_crawl {
                let last = ago(last, now);
                facts.push(format!("read {}", decapitalized(&last)));
            }
            let failed = PageGroup::Failed.count(site);
            if failed > 0 {
                facts.push(format!("{} failed", counted(failed, "page")));
            }
            facts.push(site.next_crawl.map_or_else(
                || "no check is planned".to_owned(),
                |next| format!("next check {}", until(next, now)),
            ));
            ("Done", facts.join(" · "))
        }
    }
}

/// `12 pages/s`, once something has been measured.
pub fn pages_per_second(speed: f64) -> Option<String> {
    match speed {
        9.95.. => Some(format!("{} pages/s", count(speed.round() as u64))),
        0.05.. => Some(format!("{speed:.1} pages/s")),
        _ => None,
    }
}

fn decapitalized(text: &str) -> String {
    let is_day = text.starts_with(|c: char| c.is_ascii_uppercase())
        && ["Today", "Yesterday", "Just now"].contains(&text);
    if is_day { text.to_lowercase() } else { text.to_owned() }
}

/// Pages that could be searchable: copies and redirects are other names of these.
pub fn pages_wanted(site: &SiteView) -> u64 {
    let is_name =
        |state| matches!(state, PageState::Duplicate | PageState::Redirected | PageState::Removed);
    let wanted = site.pages.iter().filter(|(state, _)| !is_name(**state)).map(|(_, pages)| pages);
    wanted.sum::<u64>().max(site.searchable)
}

/// `112 of 120 pages searchable`.
pub fn coverage(site: &SiteView) -> String {
    format!("{} of {} searchable", count(site.searchable), counted(pages_wanted(site), "page"))
}

/// What robots.txt and the sitemaps said, a sentence each.
pub fn findings_lines(findings: &SiteFindings) -> Vec<String> {
    let mut lines = Vec::new();
    if !findings.robots.is_empty() {
        lines.push(format!("robots.txt: {}", findings.robots));
    }
    if let Some(delay_ms) = findings.crawl_delay_ms.filter(|delay_ms| *delay_ms > 0) {
        let seconds = delay_ms as f64 / 1000.0;
        lines.push(format!("It asks for {seconds} s between two requests."));
    }
    if findings.sitemaps.is_empty() {
        lines.push("Sitemap: none; pages are found by their links.".to_owned());
    }
    for sitemap in &findings.sitemaps {
        let name = sitemap.url.path().trim_start_matches('/');
        lines.push(match &sitemap.trouble {
            Some(trouble) => format!("Sitemap {name}: {trouble}"),
            None => format!("Sitemap {name}: {}", counted(sitemap.pages, "page")),
        });
    }
    lines
}

/// What is read of a site, and how gently, in one line.
pub fn rules_line(rules: &CrawlRules) -> String {
    let reach = match &rules.reach {
        Reach::Prefix => "This folder and below".to_owned(),
        Reach::Origin => "The whole site".to_owned(),
        Reach::Hosts(hosts) => format!("This site and {}", hosts.join(", ")),
    };
    let pages = counted(rules.pages_max, "page");
    let links = counted(u64::from(rules.depth_max), "link");
    let recrawl = Recrawl::of(rules.recrawl_after_s);
    let mut facts = vec![reach, format!("up to {pages}, {links} deep")];
    if !rules.include.is_empty() {
        facts.push(format!("only {}", rules.include.join(", ")));
    }
    if !rules.exclude.is_empty() {
        facts.push(format!("without {}", rules.exclude.join(", ")));
    }
    if recrawl != Recrawl::Never {
        facts.push(format!("checked for changes {}", recrawl_name(recrawl).to_lowercase()));
    }
    facts.join(" · ")
}

pub fn reach_name(reach: ReachChoice) -> &'static str {
    match reach {
        ReachChoice::Folder => "This folder and below",
        ReachChoice::Site => "The whole site",
        ReachChoice::Hosts => "Other hosts as well",
    }
}

pub fn recrawl_name(recrawl: Recrawl) -> String {
    match recrawl {
        Recrawl::Never => "Only when I ask".to_owned(),
        Recrawl::Daily => "Every day".to_owned(),
        Recrawl::Weekly => "Every week".to_owned(),
        Recrawl::Monthly => "Every month".to_owned(),
        Recrawl::Other(after_s) if after_s.is_multiple_of(86_400) => {
            format!("Every {} days", after_s / 86_400)
        }
        Recrawl::Other(after_s) if after_s.is_multiple_of(3_600) => {
            format!("Every {} hours", after_s / 3_600)
        }
        Recrawl::Other(after_s) => format!("Every {} minutes", after_s / 60),
    }
}

pub fn group_name(group: PageGroup) -> &'static str {
    match group {
        PageGroup::All => "All pages",
        PageGroup::Indexed => "Indexed",
        PageGroup::Waiting => "Waiting",
        PageGroup::Failed => "Failed",
        PageGroup::LeftOut => "Left out",
    }
}

/// What became of a page: a word, and why.
pub fn page_standing(page: &PageView) -> (&'static str, String) {
    let target = page.target.as_ref().map(Url::path).unwrap_or_default();
    let (word, usual) = match page.state {
        PageState::Queued if page.is_searchable => {
            ("Waiting", "to be checked for changes".to_owned())
        }
        PageState::Queued => ("Waiting", String::new()),
        PageState::Fetching => ("Reading", String::new()),
        PageState::Indexed => ("Indexed", String::new()),
        PageState::Duplicate => ("Copy", format!("of {target}")),
        PageState::Redirected => ("Moved", format!("to {target}")),
        PageState::Skipped => ("Left out", String::new()),
        PageState::Failed => ("Failed", answered(page.status)),
        PageState::Gone => ("Gone", answered(page.status)),
        PageState::Beyond => ("Left out", "more than the page limit".to_owned()),
        PageState::Removed => ("Removed", "by you".to_owned()),
    };
    (word, page.reason.clone().unwrap_or(usual))
}

fn answered(status: Option<u16>) -> String {
    status.map(|status| format!("the server answered {status}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lodestone::data::SitemapFinding;
    use lodestone::engine::CrawlFigures;

    use super::*;
    use crate::ui::fixture::{page, site};

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_site_is_named_as_it_is_typed() {
        assert_eq!(site_name(&url("https://docs.rs/tokio/")), "docs.rs/tokio");
        assert_eq!(site_name(&url("http://localhost:8000/")), "localhost:8000");
        assert_eq!(site_name(&url("https://a.test/w?id=3")), "a.test/w?id=3");
    }

    #[test]
    fn every_state_is_told_in_words() {
        let figures = CrawlFigures {
            done: 34,
            queued: 1_086,
            failed: 2,
            bytes: 4_210_000,
            pages_per_second: 12.2,
            ..CrawlFigures::default()
        };
        let told = |state| site_standing(&site(1, state), 1_000_000).1;
        let crawling = SiteState::Crawling { figures: Some(figures) };
        assert_eq!(told(crawling), "34 pages done, 1,086 to go · 12 pages/s · 2 failed · 4.2 MB");
        let starting = SiteState::Crawling { figures: Some(CrawlFigures::default()) };
        assert_eq!(told(starting), "starting");
        let elsewhere = told(SiteState::Crawling { figures: None });
        assert_eq!(elsewhere, "by another Lodestone on this computer");
        let waiting = |reason: Option<&str>, at| {
            told(SiteState::Waiting { reason: reason.map(str::to_owned), at })
        };
        assert_eq!(waiting(None, None), "goes on by itself");
        let later = waiting(Some("it goes on later: no answer"), Some(1_000_300));
        assert_eq!(later, "no answer · tries again in 5 min");
        assert_eq!(told(SiteState::Paused), "until you resume it");
    }

    #[test]
    fn a_site_that_is_done_tells_when_and_what_comes_next() {
        let mut done = site(1, SiteState::Done);
        done.last_crawl = Some(1_000_000 - 7_200);
        assert_eq!(site_standing(&done, 1_000_000).1, "read 2 h ago · no check is planned");
        done.next_crawl = Some(1_000_000 + 79_200);
        done.pages.insert(PageState::Failed, 3);
        let told = site_standing(&done, 1_000_000).1;
        assert_eq!(told, "read 2 h ago · 3 pages failed · next check in 22 h");
        done.last_crawl = Some(999_990);
        assert!(site_standing(&done, 1_000_000).1.starts_with("read just now"));
    }

    #[test]
    fn speeds_are_as_exact_as_they_are_measured() {
        assert_eq!(pages_per_second(0.0), None);
        assert_eq!(pages_per_second(0.44).unwrap(), "0.4 pages/s");
        assert_eq!(pages_per_second(31.6).unwrap(), "32 pages/s");
    }

    #[test]
    fn coverage_counts_a_page_once_under_its_own_name() {
        let mut site = site(1, SiteState::Done);
        let states = [(PageState::Indexed, 110), (PageState::Queued, 8), (PageState::Failed, 2)];
        site.pages = states.into_iter().collect();
        site.pages.insert(PageState::Redirected, 40);
        site.searchable = 112;
        assert_eq!(coverage(&site), "112 of 120 pages searchable");
    }

    #[test]
    fn findings_are_sentences() {
        let sitemap = |path: &str, pages, trouble: Option<&str>| SitemapFinding {
            url: url("https://a.test").join(path).unwrap(),
            pages,
            trouble: trouble.map(str::to_owned),
        };
        let findings = SiteFindings {
            robots: "all pages may be read".to_owned(),
            crawl_delay_ms: Some(1_500),
            sitemaps: vec![sitemap("/map.xml", 1_204, None), sitemap("/b.xml", 0, Some("404"))],
        };
        let lines = findings_lines(&findings);
        assert_eq!(lines[0], "robots.txt: all pages may be read");
        assert_eq!(lines[1], "It asks for 1.5 s between two requests.");
        assert_eq!(lines[2..], ["Sitemap map.xml: 1,204 pages", "Sitemap b.xml: 404"]);
        assert!(findings_lines(&SiteFindings::default())[0].starts_with("Sitemap: none"));
    }

    #[test]
    fn rules_read_as_one_line() {
        let usual = rules_line(&CrawlRules::default());
        assert_eq!(usual, "This folder and below · up to 10,000 pages, 16 links deep");
        let rules = CrawlRules {
            exclude: vec!["/old/**".to_owned()],
            recrawl_after_s: Some(86_400),
            ..CrawlRules::default()
        };
        assert!(rules_line(&rules).ends_with("without /old/** · checked for changes every day"));
    }

    #[test]
    fn a_page_says_what_became_of_it() {
        let mut page = page("/a", PageState::Redirected);
        page.target = Some(url("https://site1.test/docs/b.html"));
        assert_eq!(page_standing(&page), ("Moved", "to /docs/b.html".to_owned()));
        page.state = PageState::Gone;
        page.status = Some(404);
        assert_eq!(page_standing(&page), ("Gone", "the server answered 404".to_owned()));
        page.state = PageState::Failed;
        page.reason = Some("no answer in time".to_owned());
        assert_eq!(page_standing(&page), ("Failed", "no answer in time".to_owned()));
    }
}
