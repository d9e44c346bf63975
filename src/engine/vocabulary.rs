use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::{Engine, EngineError};
use crate::data::{DocumentId, Source};
use crate::platform;
use crate::search::Facets;

/// Values that the qualifiers of a query can have here, most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    pub types: Vec<KnownValue>,
    pub extensions: Vec<KnownValue>,
    pub sites: Vec<KnownValue>,
    /// Every folder with files, and those above it, by their paths.
    pub folders: Vec<KnownValue>,
}

/// A value, and how many documents have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownValue {
    pub value: String,
    pub documents: u64,
}

impl Engine {
    /// How documents divide, by what would narrow a query that has considered them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn facets(&self, considered: Vec<DocumentId>) -> Result<Facets, EngineError> {
        let inner = Arc::clone(&self.inner);
        let now = platform::now_seconds();
        self.run_blocking(move || Ok(Facets::of(&inner.store, considered, now)?)).await
    }

    /// What can be typed behind the names of qualifiers: reads the traits of every document.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn vocabulary(&self) -> Result<Vocabulary, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let [mut types, mut extensions, mut sites, mut folders] =
                [(); 4].map(|()| HashMap::<String, u64>::new());
            inner.store.for_each_traits(|traits| {
                add(&mut types, traits.media_type.name());
                traits.extension.iter().for_each(|extension| add(&mut extensions, extension));
                traits.site.iter().for_each(|site| add(&mut sites, site));
                if let Some((folder, _)) = traits.source.rsplit_once('/')
                    && traits.site.is_none()
                {
                    add(&mut folders, folder);
                }
            })?;
            Ok(Vocabulary {
                types: sorted(types),
                extensions: sorted(extensions),
                sites: sorted(sites),
                folders: sorted(with_parents(folders)),
            })
        })
        .await
    }
}

fn add(counts: &mut HashMap<String, u64>, value: &str) {
    match counts.get_mut(value) {
        Some(count) => *count += 1,
        None => drop(counts.insert(value.to_owned(), 1)),
    }
}

/// Folders by their paths, with the folders above them; one whose documents all lie in one folder below
/// it means the same and is left out.
fn with_parents(keys: HashMap<String, u64>) -> HashMap<String, u64> {
    let mut counts: HashMap<PathBuf, u64> = HashMap::new();
    for (key, documents) in keys {
        let Ok(Source::File(folder)) = Source::from_key(&key) else { continue };
        for above in folder.ancestors() {
            *counts.entry(above.to_owned()).or_default() += documents;
        }
    }
    let twins: HashSet<PathBuf> = counts
        .iter()
        .filter_map(|(path, count)| Some((path.parent()?.to_owned(), count)))
        .filter(|(parent, count)| counts.get(parent) == Some(count))
        .map(|(parent, _)| parent)
        .collect();
    counts
        .into_iter()
        .filter(|(path, _)| !twins.contains(path))
        // What a query cannot say is not offered.
        .filter_map(|(path, count)| Some((path.to_str()?.to_owned(), count)))
        .filter(|(path, _)| !path.contains('"'))
        .collect()
}

fn sorted(counts: HashMap<String, u64>) -> Vec<KnownValue> {
    let mut values: Vec<KnownValue> =
        counts.into_iter().map(|(value, documents)| KnownValue { value, documents }).collect();
    values.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.value.cmp(&b.value)));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_adds_nothing_to_the_one_below_it_is_left_out() {
        let keys = [("file:///home/ada/notes", 2), ("file:///home/ada/notes/a%20b", 3)];
        let keys = keys.map(|(key, count)| (key.to_owned(), count)).into();
        let folders: Vec<_> = sorted(with_parents(keys))
            .into_iter()
            .map(|known| (known.value, known.documents))
            .collect();
        let expected = [("/home/ada/notes", 5), ("/home/ada/notes/a b", 3)];
        assert_eq!(folders, expected.map(|(path, count)| (path.to_owned(), count)));
    }
}
