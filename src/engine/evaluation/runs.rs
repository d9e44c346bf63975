use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::collection::JudgedQuery;
use crate::engine::{EngineError, SearchMode};

/// Writes `MODE.run`: a line for each document of each answer, as `trec_eval` reads it. Ranks decide
/// there by the score, so it is written in full.
pub(super) fn write(
    folder: &Path,
    mode: SearchMode,
    queries: &[JudgedQuery],
    rankings: &[Vec<(String, f32)>],
) -> Result<(), EngineError> {
    let mut text = String::new();
    for (query, ranking) in queries.iter().zip(rankings) {
        for (at, (document, score)) in ranking.iter().enumerate() {
            let _ = writeln!(text, "{} Q0 {document} {} {score} lodestone", query.id, at + 1);
        }
    }
    let path = folder.join(format!("{}.run", mode.name()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, text))
        .map_err(|source| EngineError::RunFile { path, source })
}
