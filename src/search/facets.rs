//! How the documents of an answer divide by kind, folder, site and date.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::SearchError;
use crate::data::{DocumentId, Source};
use crate::storage::{DocumentTraits, Store};

/// Values that are offered of a facet at most.
const VALUES_MAX: usize = 6;

/// Ages that are told apart, as `after:` has them, youngest first.
const AGES: [(&str, i64); 4] = [("1d", 1), ("7d", 7), ("30d", 30), ("365d", 365)];

const DAY_SECONDS: i64 = 86_400;

/// How many documents of an answer, shown or not, each qualifier would leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facets {
    /// Documents that were counted: all that the answer was chosen from.
    pub documents: u64,
    /// By `type:`, most frequent first.
    pub types: Vec<FacetValue>,
    /// By `in:`, most frequent first: the folders into which the documents divide.
    pub folders: Vec<FacetValue>,
    /// By `site:`, most frequent first.
    pub sites: Vec<FacetValue>,
    /// By `after:`, youngest first; each holds those before it.
    pub dates: Vec<FacetValue>,
}

/// A value of a qualifier as it is written into a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FacetValue {
    pub value: String,
    pub documents: u64,
}

impl Facets {
    /// Counts these documents; ages count from `now`, in seconds since the Unix epoch.
    ///
    /// Beside the search and not in it: reading what is counted takes as long as finding it.
    ///
    /// # Errors
    /// [`SearchError`] when the store cannot be read.
    pub fn of(
        store: &Store,
        mut documents: Vec<DocumentId>,
        now: i64,
    ) -> Result<Self, SearchError> {
        // As they lie in the store.
        documents.sort_unstable();
        Ok(Self::count(&store.traits_of(&documents)?, now))
    }

    /// Counts `traits`; ages count from `now`, in seconds since the Unix epoch.
    fn count(traits: &[DocumentTraits], now: i64) -> Self {
        let documents = traits.len() as u64;
        let types = tally(traits.iter().map(|traits| traits.media_type.name().to_owned()));
        let sites = tally(traits.iter().filter_map(|traits| traits.site.clone()));
        let files: Vec<Vec<&str>> = traits.iter().filter_map(folders_of).collect();
        let divides =
            |values: &[FacetValue]| values.iter().any(|value| value.documents < documents);
        let useful = |values: Vec<FacetValue>| if divides(&values) { values } else { Vec::new() };
        Self {
            documents,
            types: useful(types),
            folders: useful(divide(&files)),
            sites: useful(sites),
            dates: ages(traits, now),
        }
    }
}

/// The folders above a file, outermost first, percent-encoded as in its key.
fn folders_of(traits: &DocumentTraits) -> Option<Vec<&str>> {
    let path = traits.source.strip_prefix("file:///")?;
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    Some(parts)
}

/// The folders into which files divide: below the folder that they have in common, each child that holds
/// any, as deep as all that is in it.
fn divide(files: &[Vec<&str>]) -> Vec<FacetValue> {
    let common = common(files.iter());
    let mut children: BTreeMap<&str, Vec<&Vec<&str>>> = BTreeMap::new();
    for file in files {
        if let Some(child) = file.get(common) {
            children.entry(child).or_default().push(file);
        }
    }
    let mut values: Vec<FacetValue> = children
        .into_values()
        .filter_map(|files| {
            let depth = self::common(files.iter().copied());
            let folder = files.first()?.get(..depth)?.join("/");
            let Ok(Source::File(path)) = Source::from_key(&format!("file:///{folder}")) else {
                return None;
            };
            // What a query cannot say is not offered.
            let value = path.to_str().filter(|path| !path.contains('"'))?.to_owned();
            Some(FacetValue { value, documents: files.len() as u64 })
        })
        .collect();
    values.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.value.cmp(&b.value)));
    values.truncate(VALUES_MAX);
    values
}

/// How many of their outermost folders files have in common.
fn common<'a, 'b: 'a>(mut files: impl Iterator<Item = &'a Vec<&'b str>>) -> usize {
    let Some(first) = files.next() else { return 0 };
    files.fold(first.len(), |common, file| {
        let same = first.iter().zip(file).take(common).take_while(|(a, b)| a == b);
        same.count()
    })
}

fn tally(values: impl Iterator<Item = String>) -> Vec<FacetValue> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let mut values: Vec<FacetValue> =
        counts.into_iter().map(|(value, documents)| FacetValue { value, documents }).collect();
    values.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.value.cmp(&b.value)));
    values.truncate(VALUES_MAX);
    values
}

/// Each age that holds some and not all, and more than the age before it.
fn ages(traits: &[DocumentTraits], now: i64) -> Vec<FacetValue> {
    let mut values: Vec<FacetValue> = Vec::new();
    for (value, days) in AGES {
        let since = now - days * DAY_SECONDS;
        let is_young = |traits: &&DocumentTraits| traits.modified.is_some_and(|at| at >= since);
        let documents = traits.iter().filter(is_young).count() as u64;
        let before = values.last().map_or(0, |younger| younger.documents);
        if documents > before && documents < traits.len() as u64 {
            values.push(FacetValue { value: value.to_owned(), documents });
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::MediaType;

    fn file(path: &str) -> DocumentTraits {
        DocumentTraits {
            source: Source::File(path.into()).key(),
            media_type: MediaType::Text,
            extension: None,
            site: None,
            modified: None,
        }
    }

    fn told(values: &[FacetValue]) -> Vec<(&str, u64)> {
        values.iter().map(|value| (value.value.as_str(), value.documents)).collect()
    }

    #[test]
    fn folders_are_those_into_which_the_files_divide() {
        let files = ["/h/a b/x/1", "/h/a b/x/2", "/h/c/y/3", "/h/c/z/4", "/h/5"].map(file);
        let facets = Facets::count(&files, 0);
        assert_eq!(told(&facets.folders), [("/h/a b/x", 2), ("/h/c", 2)]);
        assert!(facets.types.is_empty(), "one kind divides nothing");
        assert!(Facets::count(&["/h/a/1", "/h/a/2"].map(file), 0).folders.is_empty());
        assert!(Facets::count(&[], 0).folders.is_empty());
    }

    #[test]
    fn ages_hold_each_other_and_leave_something_out() {
        let aged = |days: i64| DocumentTraits { modified: Some(-days * DAY_SECONDS), ..file("/a") };
        let facets = Facets::count(&[aged(0), aged(3), aged(4), aged(400), file("/b")], 0);
        assert_eq!(told(&facets.dates), [("1d", 1), ("7d", 3)]);
    }

    proptest! {
        /// Every folder that is offered leaves as many files as it says, and none leaves all.
        #[test]
        fn a_folder_holds_what_it_counts(
            paths in proptest::collection::vec("(/[ab ]{1,2}){1,4}", 1..12),
        ) {
            let traits: Vec<DocumentTraits> = paths.iter().map(|path| file(path)).collect();
            let facets = Facets::count(&traits, 0);
            for FacetValue { value, documents } in &facets.folders {
                let below = format!("{value}/");
                let held = paths.iter().filter(|path| path.starts_with(&below)).count();
                prop_assert_eq!(held as u64, *documents, "{}", value);
            }
        }
    }
}
