//! `lode eval`: retrieval quality on a judged collection, in an index that is thrown away.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lodestone::config::Config;
use lodestone::engine::{
    Comparison, Evaluation, EvaluationOptions, EvaluationRecord, SearchMode, evaluate,
};

use crate::arguments::{Common, EvalArguments};
use crate::failure::{Exit, Failure};
use crate::figures::{count, seconds};
use crate::output::{Output, Style};
use crate::progress::Progress;

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: EvalArguments,
) -> Result<Exit, Failure> {
    let EvalArguments { folder, modes, k, index, save, against, runs } = arguments;
    let modes = if modes.is_empty() { SearchMode::ALL.to_vec() } else { modes };
    let against = against.as_deref().map(read_record).transpose().map_err(Failure::usage)?;
    let options = EvaluationOptions { modes, k: usize::from(k), against, runs };
    let temporary = match &index {
        Some(_) => None,
        None => Some(TemporaryDir::create().map_err(Failure::environment)?),
    };
    let kept = index.or(temporary.as_ref().map(|temporary| temporary.path.clone()));
    // All settings but the place are the ones that the person's own index has.
    let config = common.config()?;
    let config = Config { data_dir: kept.unwrap_or(config.data_dir), ..config };
    let progress = Progress::new();
    let evaluated = evaluate(config, &folder, &options, |now| progress.show(&now)).await;
    progress.finish();
    let evaluated = evaluated?;
    if let Some(path) = save {
        write_record(&path, &evaluated.record).map_err(Failure::environment)?;
    }
    output.print(&evaluated, render)?;
    Ok(Exit::Done)
}

fn read_record(path: &Path) -> anyhow::Result<EvaluationRecord> {
    let json = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_slice(&json)
        .with_context(|| format!("{} is not what lode eval --save writes", path.display()))
}

fn write_record(path: &Path, record: &EvaluationRecord) -> anyhow::Result<()> {
    let written = serde_json::to_vec(record).map_err(std::io::Error::from);
    written
        .and_then(|json| std::fs::write(path, json))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn render(evaluation: &Evaluation, style: Style) -> String {
    let mut text = String::new();
    let k = evaluation.mode.values().next().map_or(0, |quality| quality.k);
    let heads = [format!("nDCG@{k}"), format!("MRR@{k}"), "Recall@100".to_owned()];
    let heads = heads.map(|head| format!("{head:>11}")).concat();
    let _ = writeln!(text, "{}", style.bold(&format!("{:<9}{heads}", "mode")));
    for (mode, quality) in &evaluation.mode {
        let _ = writeln!(
            text,
            "{mode:<9}{:>11.4}{:>11.4}{:>11.4}",
            quality.ndcg, quality.mrr, quality.recall_100
        );
    }
    for comparison in &evaluation.comparisons {
        let Comparison { mode, than, ndcg_difference, p_value, queries } = comparison;
        let _ = writeln!(
            text,
            "{mode} against {than}: nDCG@{k} {ndcg_difference:+.4}, p = {p_value:.4} \
             (paired randomization test, {} queries)",
            count(*queries as u64)
        );
    }
    let _ = writeln!(
        text,
        "{} queries on {} documents ({} passages, indexed in {}); a search takes {:.1} ms, \
         95% at most {:.1} ms, 99% {:.1} ms",
        count(evaluation.queries as u64),
        count(evaluation.documents as u64),
        count(evaluation.passages),
        seconds(evaluation.index_seconds),
        evaluation.p50_ms,
        evaluation.p95_ms,
        evaluation.p99_ms
    );
    text
}

/// A new directory that goes when this does.
#[derive(Debug)]
struct TemporaryDir {
    path: PathBuf,
}

impl TemporaryDir {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("lodestone-eval-{}", std::process::id()));
        std::fs::create_dir(&path)
            .with_context(|| format!("temporary directory {} cannot be made", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // What is left behind lies where the system clears up.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lodestone::engine::Quality;

    use super::*;

    #[test]
    fn an_evaluation_is_a_table() {
        let quality = Quality { k: 10, ndcg: 0.40712, mrr: 0.567, recall_100: 0.7911 };
        let evaluation = Evaluation {
            mode: BTreeMap::from([("hybrid".to_owned(), quality), ("keyword".to_owned(), quality)]),
            comparisons: vec![Comparison {
                mode: "hybrid".to_owned(),
                than: "keyword".to_owned(),
                ndcg_difference: 0.01234,
                p_value: 0.031_25,
                queries: 225,
            }],
            queries: 225,
            documents: 1400,
            passages: 2345,
            p50_ms: 8.25,
            p95_ms: 20.0,
            p99_ms: 31.0,
            index_seconds: 70.0,
            record: EvaluationRecord::default(),
        };
        insta::assert_snapshot!(render(&evaluation, Style::Plain), @r"
        mode         nDCG@10     MRR@10 Recall@100
        hybrid        0.4071     0.5670     0.7911
        keyword       0.4071     0.5670     0.7911
        hybrid against keyword: nDCG@10 +0.0123, p = 0.0312 (paired randomization test, 225 queries)
        225 queries on 1,400 documents (2,345 passages, indexed in 1 min 10 s); a search takes 8.2 ms, 95% at most 20.0 ms, 99% 31.0 ms
        ");
    }

    #[test]
    fn the_temporary_index_goes() {
        let dir = TemporaryDir::create().unwrap();
        let path = dir.path.clone();
        std::fs::write(path.join("file"), "x").unwrap();
        drop(dir);
        assert!(!path.exists());
    }
}
