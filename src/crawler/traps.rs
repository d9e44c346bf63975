//! Addresses that a server makes up without end.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use url::Url;

/// Longer addresses are made by machines for machines.
const BYTES_MAX: usize = 2000;

const SEGMENTS_MAX: usize = 32;

const PARAMETERS_MAX: usize = 12;

/// How often a part of a path may follow itself: once too often and a relative link builds on itself.
const REPEATS_MAX: usize = 3;

/// Longest part of a path, in segments, that is looked at for repeating itself.
const PERIOD_MAX: usize = 4;

/// Different sets of parameter names under one path: filters that combine freely make two to the
/// power of their number.
const SHAPES_MAX: usize = 24;

/// Different values under one path, by the number of parameters: one is often the number of an
/// article, many are ways to look at the same things.
const QUERIES_MAX: [usize; 3] = [10_000, 1_000, 200];

/// Dates in addresses that are the same but for the date, as a calendar has them: a year of days, 30
/// years of months.
const DATES_MAX: usize = 366;

/// Years that pages are about; a calendar that is followed leaves them in the end.
const YEARS: RangeInclusive<u32> = 1900..=2100;

/// Why an address is taken for one of endlessly many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    #[error("its address is longer than {BYTES_MAX} bytes")]
    Long,
    #[error("its address has more than {SEGMENTS_MAX} folders")]
    Deep,
    #[error("its address repeats {part:?} over and over")]
    Repeating { part: String },
    #[error("its address has more than {PARAMETERS_MAX} parameters")]
    ManyParameters,
    #[error("{path} comes with endless combinations of parameters")]
    Combinations { path: String },
    #[error("{path} is a calendar that goes on and on")]
    Calendar { path: String },
}

/// Tells such addresses by those that were accepted before. It knows no clock and no chance, so a
/// crawl that is resumed and told of all that it had accepted, in that order, goes on as it would have.
#[derive(Clone, Debug, Default)]
pub struct Traps {
    known: HashSet<u64>,
    /// For each path, the sets of names of its parameters.
    shapes: HashMap<u64, HashSet<u64>>,
    /// For each path and number of parameters, how many addresses.
    queries: HashMap<(u64, usize), usize>,
    /// For each address with its date blotted out, how many dates.
    dates: HashMap<u64, usize>,
}

impl Traps {
    /// Accepts an address in canonical form and remembers it. One that was accepted before always is.
    ///
    /// # Errors
    /// With the reason when it looks like one of endlessly many; it is not remembered then.
    pub fn accept(&mut self, url: &Url) -> Result<(), Trap> {
        let whole = hash(url.as_str());
        if self.known.contains(&whole) {
            return Ok(());
        }
        let segments: Vec<&str> = url.path().split('/').filter(|s| !s.is_empty()).collect();
        if url.as_str().len() > BYTES_MAX {
            return Err(Trap::Long);
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(Trap::Deep);
        }
        if let Some(part) = repeated(&segments) {
            return Err(Trap::Repeating { part });
        }
        let names: Vec<&str> = parameters(url).map(|(name, _)| name).collect();
        if names.len() > PARAMETERS_MAX {
            return Err(Trap::ManyParameters);
        }
        let dated = self.judge_date(url)?;
        let page = hash(&(url.origin().ascii_serialization(), url.path()));
        self.judge_parameters(url, page, &names)?;
        if let Some(dated) = dated {
            *self.dates.entry(dated).or_default() += 1;
        }
        if !names.is_empty() {
            self.shapes.entry(page).or_default().insert(hash(&names));
            *self.queries.entry((page, QUERIES_MAX.len().min(names.len()))).or_default() += 1;
        }
        self.known.insert(whole);
        Ok(())
    }

    fn judge_parameters(&self, url: &Url, page: u64, names: &[&str]) -> Result<(), Trap> {
        if names.is_empty() {
            return Ok(());
        }
        let kind = QUERIES_MAX.len().min(names.len());
        let shapes = self.shapes.get(&page);
        let is_new_shape = shapes.is_none_or(|shapes| !shapes.contains(&hash(&names)));
        let too_many_shapes = is_new_shape && shapes.map_or(0, HashSet::len) >= SHAPES_MAX;
        let queries = self.queries.get(&(page, kind)).copied().unwrap_or(0);
        if too_many_shapes || queries >= QUERIES_MAX[kind - 1] {
            return Err(Trap::Combinations { path: url.path().to_owned() });
        }
        Ok(())
    }

    /// What the address is without its date, when it has one.
    fn judge_date(&self, url: &Url) -> Result<Option<u64>, Trap> {
        let Some(Dated { without, year }) = Dated::of(url) else { return Ok(None) };
        let dated = hash(&without);
        let calendar = || Trap::Calendar { path: url.path().to_owned() };
        if year.is_some_and(|year| !YEARS.contains(&year))
            || self.dates.get(&dated).copied().unwrap_or(0) >= DATES_MAX
        {
            return Err(calendar());
        }
        Ok(Some(dated))
    }
}

/// An address with a date in it, which a blot stands for.
struct Dated {
    without: String,
    year: Option<u32>,
}

impl Dated {
    /// Parts of the path that are a date or together make one (`/2024/05/13/`), and parameters with
    /// such values or with the names of a calendar.
    fn of(url: &Url) -> Option<Self> {
        const BLOT: &str = "\u{1}";
        let mut year = None;
        let mut is_dated = false;
        let mut without = format!("{}|", url.origin().ascii_serialization());
        let mut follows_year = false;
        for segment in url.path().split('/') {
            let date = year_of_date(segment).or_else(|| year_alone(segment));
            let is_rest = follows_year && is_number(segment, 2);
            follows_year = date.is_some() || is_rest;
            if follows_year {
                is_dated = true;
                year = date.or(year);
                without.push_str(BLOT);
            } else {
                without.push_str(segment);
            }
            without.push('/');
        }
        for (name, value) in parameters(url) {
            let lower = name.to_ascii_lowercase();
            let date = year_of_date(value);
            let is_part =
                date.is_some() || (CALENDAR_NAMES.contains(&lower.as_str()) && is_number(value, 4));
            without.push_str(name);
            without.push('=');
            if is_part {
                is_dated = true;
                let is_year = matches!(lower.as_str(), "year" | "y" | "yr");
                year = date.or_else(|| value.parse().ok().filter(|_| is_year)).or(year);
                without.push_str(BLOT);
            } else {
                without.push_str(value);
            }
            without.push('&');
        }
        is_dated.then_some(Self { without, year })
    }
}

/// Parameters that calendars count with.
const CALENDAR_NAMES: &[&str] =
    &["year", "yr", "y", "month", "mon", "m", "day", "d", "week", "w", "date"];

/// The year of `2024-05`, `2024-05-13`, `20240513` or the same with a time behind.
fn year_of_date(text: &str) -> Option<u32> {
    let date = text.split(['T', '+', '%', '_']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split('-').collect();
    match parts.as_slice() {
        [year, month] if is_month(month) => year_alone(year),
        [year, month, day] if is_month(month) && is_number(day, 2) => year_alone(year),
        [day] if day.len() == 8 && is_number(day, 8) && is_month(&day[4..6]) => {
            year_alone(&day[..4])
        }
        _ => None,
    }
}

fn year_alone(text: &str) -> Option<u32> {
    let year = text.parse().ok().filter(|_| text.len() == 4 && is_number(text, 4))?;
    // Other numbers of four digits are numbers of something.
    (1000..3000).contains(&year).then_some(year)
}

fn is_month(text: &str) -> bool {
    is_number(text, 2) && text.parse().is_ok_and(|month: u32| (1..=12).contains(&month))
}

fn is_number(text: &str, digits_max: usize) -> bool {
    !text.is_empty() && text.len() <= digits_max && text.bytes().all(|b| b.is_ascii_digit())
}

fn parameters(url: &Url) -> impl Iterator<Item = (&str, &str)> {
    let query = url.query().unwrap_or_default();
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}

/// A part of a path that comes too often. Some of one letter or number are ordinary (`/1/1/1`), so single
/// parts may come once more, and need not follow each other: two links that build on themselves make every
/// mixture of the two.
fn repeated(segments: &[&str]) -> Option<String> {
    let times = |part: &str| segments.iter().filter(|other| **other == part).count();
    if let Some(part) = segments.iter().find(|part| times(part) > REPEATS_MAX) {
        return Some((*part).to_owned());
    }
    for period in 2..=PERIOD_MAX {
        for window in segments.windows(period * REPEATS_MAX) {
            let part = &window[..period];
            if window.chunks(period).all(|chunk| chunk == part) {
                return Some(part.join("/"));
            }
        }
    }
    None
}

/// The same in every run of the same program, which is all that is asked of it: nothing is stored.
fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse("https://a.test").unwrap().join(text).unwrap()
    }

    /// How many of the addresses are accepted before the first that is not.
    fn accepted(texts: impl Iterator<Item = String>) -> (usize, Option<Trap>) {
        let mut traps = Traps::default();
        for (count, text) in texts.enumerate() {
            if let Err(trap) = traps.accept(&url(&text)) {
                return (count, Some(trap));
            }
        }
        (usize::MAX, None)
    }

    fn check(text: &str, expected: Option<&str>) {
        let said = Traps::default().accept(&url(text)).err().map(|trap| trap.to_string());
        assert_eq!(said.as_deref(), expected, "{text}");
    }

    #[test]
    fn addresses_that_build_on_themselves_are_told_at_once() {
        check("/a/b/a/b/c", None);
        check("/1/1/1", None);
        check("/a/b/a/c/d/a", None);
        check("/a/b/a/c/d/a/e/a", Some("its address repeats \"a\" over and over"));
        check("/a/b/a/b/a/b", Some("its address repeats \"a/b\" over and over"));
        check("/x/css/css/css/css", Some("its address repeats \"css\" over and over"));
        check(&"/a/b".repeat(20), Some("its address has more than 32 folders"));
        check(&format!("/{}", "a".repeat(2000)), Some("its address is longer than 2000 bytes"));
        let many: Vec<_> = (0..13).map(|number| format!("p{number}=1")).collect();
        check(&format!("/?{}", many.join("&")), Some("its address has more than 12 parameters"));
    }

    #[test]
    fn calendars_end() {
        let days = (0..).map(|n| {
            format!("/events/{}/{:02}/{:02}/", 1990 + n / 360, n / 30 % 12 + 1, n % 30 + 1)
        });
        let (count, trap) = accepted(days);
        assert_eq!(count, DATES_MAX);
        assert!(trap.unwrap().to_string().ends_with("is a calendar that goes on and on"));
        let months = (0..).map(|n| format!("/cal?month={}&year={}", n % 12 + 1, 1990 + n / 12));
        assert_eq!(accepted(months).0, DATES_MAX);
        let weeks = (0..).map(|n| format!("/cal/{}-{:02}?view=list", 2000 + n / 12, n % 12 + 1));
        assert_eq!(accepted(weeks).0, DATES_MAX);
        check("/events/2101-01-01", Some("/events/2101-01-01 is a calendar that goes on and on"));
        check("/events/1899/12/", Some("/events/1899/12/ is a calendar that goes on and on"));
    }

    #[test]
    fn a_journal_of_many_years_is_no_calendar() {
        let posts =
            (0..20_000).map(|n| format!("/{}/{:02}/post-{n}", 1990 + n / 600, n / 50 % 12 + 1));
        assert_eq!(accepted(posts).1, None);
        let numbers = (0..1_000).map(|n| format!("/port/{}", 9000 + n));
        assert_eq!(accepted(numbers).1, None);
    }

    #[test]
    fn filters_that_combine_end_and_numbered_articles_do_not() {
        let filters = (1..1 << 10).map(|bits: u32| {
            let on: Vec<_> = (0..10).filter(|bit| bits >> bit & 1 == 1).collect();
            let names: Vec<_> = on.iter().map(|bit| format!("f{bit}=1")).collect();
            format!("/shop?{}", names.join("&"))
        });
        assert_eq!(accepted(filters).0, SHAPES_MAX);
        let articles = (0..9_999).map(|number| format!("/article?id={number}"));
        assert_eq!(accepted(articles).1, None);
        let sorted = (0..).map(|n| format!("/list?by={}&from={}&size={}", n % 7, n, n % 3));
        assert_eq!(accepted(sorted).0, QUERIES_MAX[2]);
    }

    #[test]
    fn what_was_accepted_stays_accepted() {
        let mut traps = Traps::default();
        for number in 0..QUERIES_MAX[2] {
            traps.accept(&url(&format!("/l?a={number}&b=1&c=1"))).unwrap();
        }
        assert!(traps.accept(&url("/l?a=x&b=1&c=1")).is_err());
        assert_eq!(traps.accept(&url("/l?a=7&b=1&c=1")), Ok(()));
        assert_eq!(traps.accept(&url("/l")), Ok(()));
    }

    proptest! {
        #[test]
        fn a_resumed_crawl_judges_as_one_that_was_not_interrupted(
            texts in proptest::collection::vec("/[ab]{0,1}(/20[0-9]{2}){0,1}(\\?[ab]=[0-9]){0,1}", 1..60),
            cut in 0_usize..60,
        ) {
            let mut whole = Traps::default();
            let judged: Vec<bool> = texts.iter().map(|text| whole.accept(&url(text)).is_ok()).collect();
            let mut resumed = Traps::default();
            let cut = cut.min(texts.len());
            for (text, was_accepted) in texts.iter().zip(&judged).take(cut) {
                prop_assert!(!was_accepted || resumed.accept(&url(text)).is_ok());
            }
            for (text, was_accepted) in texts.iter().zip(&judged).skip(cut) {
                prop_assert_eq!(resumed.accept(&url(text)).is_ok(), *was_accepted);
            }
        }
    }
}
