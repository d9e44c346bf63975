//! Lists of pages that a site keeps for crawlers: sitemaps, their indexes, plain lists, feeds.
//!
//! They are read in this process: the parser gives one tag after the other, knows no entities but the
//! five of XML, and fetches nothing.

use std::time::Duration;

use time::{Date, Month};
use url::Url;

use crate::extract::xml::{Element, Node, walk};

/// Of one file, unpacked, and a little more than the protocol allows (50 MB).
pub(super) const SITEMAP_BYTES_MAX: usize = 52 << 20;

pub(super) const SITEMAP_FILES_MAX: usize = 200;

pub(super) const SITEMAP_PAGES_MAX: usize = 200_000;

/// Of one file; the protocol allows no more.
const ENTRIES_MAX: usize = 50_000;

/// Longer texts of a tag are neither addresses nor dates.
const TEXT_BYTES_MAX: usize = 4096;

/// What the sitemaps of a site say.
#[derive(Clone, Debug, PartialEq)]
pub struct Sitemaps {
    /// Pages in scope, in canonical form, each once.
    pub entries: Vec<SitemapEntry>,
    /// The files that were asked for.
    pub files: Vec<SitemapFile>,
    /// Whether the host of the start has a robots.txt, or why that cannot be known now.
    pub robots: Result<bool, String>,
    pub crawl_delay: Option<Duration>,
    /// Whether nothing named a sitemap and it was looked for where one usually is; that it is not there
    /// then is no trouble.
    pub is_guess: bool,
    /// Whether there is more than is read.
    pub is_cut_off: bool,
}

impl Default for Sitemaps {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            files: Vec::new(),
            robots: Ok(false),
            crawl_delay: None,
            is_guess: false,
            is_cut_off: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapEntry {
    pub url: Url,
    /// Seconds since the Unix epoch.
    pub lastmod: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapFile {
    pub url: Url,
    /// How many pages it names, in scope or not, or why it cannot be read.
    pub pages: Result<u64, String>,
}

/// What one file names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub pages: Vec<SitemapEntry>,
    pub sitemaps: Vec<Url>,
}

/// Reads a file of any of the forms, up to where it is damaged; addresses are resolved against that of
/// the file, as some write them short.
pub(super) fn read(bytes: &[u8], at: &Url) -> Found {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"<") {
        read_xml(bytes, at)
    } else {
        read_lines(bytes, at)
    }
}

fn read_lines(bytes: &[u8], at: &Url) -> Found {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim).filter(|line| line.len() <= TEXT_BYTES_MAX);
    // Only whole addresses: anything else is some other text.
    let is_address = |line: &&str| line.starts_with("http://") || line.starts_with("https://");
    let urls = lines.filter(is_address).filter_map(|line| at.join(line).ok());
    let pages = urls.map(|url| SitemapEntry { url, lastmod: None }).take(ENTRIES_MAX).collect();
    Found { pages, sitemaps: Vec::new() }
}

/// What is being read of an entry.
#[derive(Debug, Default)]
struct Entry {
    address: Option<String>,
    date: Option<String>,
    is_sitemap: bool,
}

fn read_xml(bytes: &[u8], at: &Url) -> Found {
    let mut found = Found::default();
    let mut entry: Option<Entry> = None;
    let mut text = String::new();
    walk(&String::from_utf8_lossy(bytes), |node| match node {
        Node::Open(element) => {
            text.clear();
            match element.name {
                "url" | "item" | "entry" => entry = Some(Entry::default()),
                "sitemap" => entry = Some(Entry { is_sitemap: true, ..Entry::default() }),
                "link" => {
                    if let Some(entry) = &mut entry {
                        entry.link_of_atom(&element);
                    }
                }
                _ => {}
            }
        }
        Node::Text(part) => {
            if text.len() + part.len() <= TEXT_BYTES_MAX {
                text.push_str(part);
            }
        }
        Node::Close("url" | "sitemap" | "item" | "entry") => {
            if let Some(entry) = entry.take()
                && found.pages.len() + found.sitemaps.len() < ENTRIES_MAX
            {
                found.add(&entry, at);
            }
        }
        Node::Close(name) => {
            if let Some(entry) = &mut entry {
                entry.take(name, text.trim());
            }
            text.clear();
        }
    });
    found
}

impl Entry {
    /// The text of an element.
    fn take(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        match name {
            // Those of pictures and films stand behind that of the page.
            "loc" | "link" => {
                self.address.get_or_insert_with(|| text.to_owned());
            }
            "lastmod" | "pubDate" | "updated" => self.date = Some(text.to_owned()),
            _ => {}
        }
    }

    /// `<link href="…"/>`, of the page itself where a `rel` says of what.
    fn link_of_atom(&mut self, element: &Element<'_>) {
        let is_own = element.attr("rel").is_none_or(|rel| rel == "alternate");
        if let (true, Some(href)) = (is_own, element.attr("href")) {
            self.address.get_or_insert(href);
        }
    }
}

impl Found {
    fn add(&mut self, entry: &Entry, at: &Url) {
        let Some(url) = entry.address.as_deref().and_then(|address| at.join(address).ok()) else {
            return;
        };
        if !matches!(url.scheme(), "http" | "https") {
            return;
        }
        if entry.is_sitemap {
            self.sitemaps.push(url);
        } else {
            let lastmod = entry.date.as_deref().and_then(seconds_of);
            self.pages.push(SitemapEntry { url, lastmod });
        }
    }
}

/// A date of a sitemap (W3C: `2024-05`, `2024-05-13`, `2024-05-13T10:00:00+02:00`) or of a feed (RFC
/// 822), in seconds since the Unix epoch. What is missing is the earliest that it may be.
fn seconds_of(text: &str) -> Option<i64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        let text = text.replace("+0000", "GMT").replace("-0000", "GMT").replace(" UTC", " GMT");
        let date = httpdate::parse_http_date(&text).ok()?;
        let since = date.duration_since(std::time::UNIX_EPOCH).ok()?;
        return i64::try_from(since.as_secs()).ok();
    }
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let mut parts = date.split('-');
    let year = parts.next()?.parse().ok()?;
    let month: u8 = parts.next().map_or(Ok(1), str::parse).ok()?;
    let day = parts.next().map_or(Ok(1), str::parse).ok()?;
    let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
    let days = i64::from(date.to_julian_day() - UNIX_EPOCH_JULIAN_DAY);
    Some(days * 86_400 + seconds_of_day(time)?)
}

const UNIX_EPOCH_JULIAN_DAY: i32 = 2_440_588;

/// `10:00:00.5+02:00`; nothing is midnight in Greenwich.
fn seconds_of_day(time: &str) -> Option<i64> {
    let time = time.trim().trim_end_matches(['Z', 'z']);
    let zone_at = time.find(['+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let clock = minutes(clock.get(..5).unwrap_or(clock))? * 60
        + clock.get(6..8).map_or(Some(0), |seconds| seconds.parse().ok())?;
    let offset = match zone.as_bytes().first() {
        Some(b'-') => -minutes(&zone[1..])?,
        Some(_) => minutes(&zone[1..])?,
        None => 0,
    };
    Some(clock - offset * 60)
}

/// `hh:mm` or `hhmm`; nothing is zero.
fn minutes(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.is_empty() {
        return Some(0);
    }
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    Some(hours.parse::<i64>().ok()? * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Found {
        read(text.as_bytes(), &Url::parse("https://a.test/maps/map.xml").unwrap())
    }

    fn pages(text: &str) -> Vec<(String, Option<i64>)> {
        of(text).pages.into_iter().map(|entry| (entry.url.to_string(), entry.lastmod)).collect()
    }

    fn page(url: &str, lastmod: Option<i64>) -> (String, Option<i64>) {
        (url.to_owned(), lastmod)
    }

    #[test]
    fn a_sitemap_names_pages_and_when_they_changed() {
        let text = "\u{feff}<?xml version='1.0'?><urlset xmlns='x' xmlns:image='y'>
            <url><loc> https://a.test/?a=1&amp;b=2 </loc><lastmod>1970-01-02</lastmod>
              <image:image><image:loc>https://a.test/p.png</image:loc></image:image></url>
            <url><loc><![CDATA[/b]]></loc><lastmod>tomorrow</lastmod></url>
            <url><loc>javascript:x</loc></url><url></url>
            <url><loc>https://a.test/cut";
        let found = pages(text);
        let expected =
            [page("https://a.test/?a=1&b=2", Some(86_400)), page("https://a.test/b", None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_index_names_sitemaps() {
        let found = of("<sitemapindex><sitemap><loc>https://a.test/1.xml.gz</loc></sitemap>\
                        <sitemap><loc>2.xml</loc></sitemap></sitemapindex>");
        let sitemaps: Vec<_> = found.sitemaps.iter().map(Url::as_str).collect();
        assert_eq!(sitemaps, ["https://a.test/1.xml.gz", "https://a.test/maps/2.xml"]);
        assert!(found.pages.is_empty());
    }

    #[test]
    fn lists_and_feeds_name_pages() {
        let list = "https://a.test/1\r\n\n/2\nhttps://a.test/3\nnot an address\n";
        assert_eq!(pages(list), [page("https://a.test/1", None), page("https://a.test/3", None)]);
        let rss = "<rss><channel><link>https://a.test/</link><item><title>x</title>\
                   <link>https://a.test/4</link><pubDate>Fri, 02 Jan 1970 00:00:01 +0000</pubDate>\
                   </item></channel></rss>";
        assert_eq!(pages(rss), [page("https://a.test/4", Some(86_401))]);
        let atom = "<feed><link href='https://a.test/'/><entry><link rel='edit' href='/x'/>\
                    <link href='/5'/><updated>1970-01-01T00:00:02Z</updated></entry></feed>";
        assert_eq!(pages(atom), [page("https://a.test/5", Some(2))]);
    }

    #[test]
    fn dates_of_every_length_are_read() {
        for (text, seconds) in [
            ("1970", Some(0)),
            ("1970-02", Some(31 * 86_400)),
            ("2024-02-29", Some(1_709_164_800)),
            ("2024-02-29T12:30Z", Some(1_709_209_800)),
            ("2024-02-29T12:30:15+02:00", Some(1_709_202_615)),
            ("2024-02-29 12:30:15.123-0130", Some(1_709_215_215)),
            ("2023-02-29", None),
            ("2024-13-01", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(seconds_of(text), seconds, "{text}");
        }
    }

    #[test]
    fn no_file_names_more_than_the_protocol_allows() {
        let entry = "<url><loc>https://a.test/</loc></url>";
        let text = format!("<urlset>{}</urlset>", entry.repeat(ENTRIES_MAX + 10));
        assert_eq!(of(&text).pages.len(), ENTRIES_MAX);
    }

    proptest! {
        #[test]
        fn no_text_is_a_fault(text in "(<(/?)(url|loc|lastmod|link|item)( href='x')?>|[0-9T:+-]{1,12}|&amp;|é|&#0;){0,40}") {
            let _ = of(&text);
        }
    }
}
