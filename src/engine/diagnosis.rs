use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::recall::{self, Recall};
use super::{Engine, EngineError, ModelState};
use crate::search::{Indexes, SearchError};
use crate::storage::Store;

/// The outcome of `lode doctor`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    pub ok: bool,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    /// What was found, and what to do where it is not well.
    pub finding: String,
}

impl Check {
    fn well(name: &'static str, finding: impl Into<String>) -> Self {
        Self { name, ok: true, finding: finding.into() }
    }

    fn ill(name: &'static str, finding: impl Into<String>) -> Self {
        Self { name, ok: false, finding: finding.into() }
    }
}

/// A sentence, and one that says the same in other words, and one that does not: an encoder that
/// computes at all tells them apart.
const SELF_TEST: [&str; 3] = [
    "How do I share ownership of a value between threads?",
    "Several threads can own the same data through a reference-counted pointer.",
    "Bake the bread for forty minutes until the crust is brown.",
];

impl Engine {
    /// Checks the store, the indexes, the model and the device; with `measure_recall` also how many of
    /// the true neighbors the vector index finds, which reads every vector.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub async fn diagnose(&self, measure_recall: bool) -> Result<Diagnosis, EngineError> {
        let mut checks = vec![self.check_model().await];
        let inner = Arc::clone(&self.inner);
        let stored = self
            .run_blocking(move || {
                let store = check_store(&inner.store)?;
                let mut checks = vec![store];
                checks.extend(check_indexes(&inner.store, &inner.indexes)?);
                if measure_recall {
                    checks.push(check_recall(&inner.store, &inner.indexes)?);
                }
                Ok(checks)
            })
            .await?;
        checks.splice(0..0, stored);
        Ok(Diagnosis { ok: checks.iter().all(|check| check.ok), checks })
    }

    async fn check_model(&self) -> Check {
        const NAME: &str = "model";
        let (model, device) = match self.wait_for_model().await {
            ModelState::Ready { model, device } => (model, device),
            ModelState::Failed { reason, .. } => return Check::ill(NAME, reason),
            ModelState::Loading { model } => {
                return Check::ill(NAME, format!("{model} is loading"));
            }
        };
        match self.embed(SELF_TEST.map(str::to_owned).to_vec()).await {
            Ok(embedded) => {
                let near = embedded.rows[0].cosine(&embedded.rows[1]);
                let far = embedded.rows[0].cosine(&embedded.rows[2]);
                let finding = format!(
                    "{model} on {device}: cosine {near:.2} with a sentence of the same meaning, \
                     {far:.2} with another"
                );
                if near > far + 0.2 {
                    Check::well(NAME, finding)
                } else {
                    Check::ill(NAME, finding)
                }
            }
            Err(error) => Check::ill(NAME, error.to_string()),
        }
    }
}

fn check_store(store: &Store) -> Result<Check, EngineError> {
    const NAME: &str = "store";
    let problems = store.check()?;
    let counts = store.counts()?;
    Ok(if problems.is_empty() {
        Check::well(NAME, format!("{} documents, {} passages", counts.documents, counts.passages))
    } else {
        Check::ill(
            NAME,
            format!(
                "{} is damaged: {}; move it away and index your files again",
                store.path().display(),
                problems.join("; ")
            ),
        )
    })
}

fn check_indexes(store: &Store, indexes: &Indexes) -> Result<Vec<Check>, EngineError> {
    let passages = store.counts()?.passages;
    let (snapshot, keywords) = (indexes.snapshot(), indexes.keywords());
    let mut vectors = index_check("vector index", snapshot.vectors().len() as u64, passages);
    let _ = write!(vectors.finding, ", {}", snapshot.vector_index().parts());
    let mut checks =
        vec![vectors, index_check("keyword index", snapshot.keywords().len(), passages)];
    if let Err(damage) = snapshot.vector_index().check() {
        let finding = format!("its file {damage}; it is being made anew");
        checks.push(Check::ill("vector index file", finding));
    }
    let damaged = keywords.check().map_err(SearchError::from)?;
    if !damaged.is_empty() {
        let names: Vec<_> = damaged.iter().map(|path| path.display().to_string()).collect();
        let finding =
            format!("damaged files: {}; delete the folder to rebuild it", names.join(", "));
        checks.push(Check::ill("keyword index files", finding));
    }
    Ok(checks)
}

/// Below this a person would miss answers that are there.
const RECALL_MIN: f64 = 0.95;

fn check_recall(store: &Store, indexes: &Indexes) -> Result<Check, EngineError> {
    const NAME: &str = "recall@10";
    Ok(match recall::measure(store, &indexes.snapshot())? {
        None => Check::well(NAME, "nothing is indexed yet"),
        Some(Recall { queries, at_10 }) => {
            let parts = indexes.snapshot().vector_index().parts();
            let finding = format!("{at_10:.4} against an exact scan, {queries} queries of {parts}");
            if at_10 >= RECALL_MIN { Check::well(NAME, finding) } else { Check::ill(NAME, finding) }
        }
    })
}

fn index_check(name: &'static str, passages: u64, expected: u64) -> Check {
    let finding = format!("{passages} of {expected} passages");
    if passages == expected { Check::well(name, finding) } else { Check::ill(name, finding) }
}
