//! Retrieval quality on a judged collection in BEIR layout (Thakur et al. 2021), measured through the
//! production path.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use url::Url;

use super::{Engine, EngineError, JobProgress, SearchMode, SearchRequest};
use crate::config::Config;
use crate::data::{ContentHash, Document, DocumentId, LocatorMap, MediaType, Source, TextLayout};
use crate::ingest;
use crate::search::evaluation::{Judgments, mrr_at, ndcg_at, recall_at};

/// Documents of an answer that are looked at.
const DEPTH: usize = 100;

#[derive(Clone, Debug)]
pub struct EvaluationOptions {
    pub modes: Vec<SearchMode>,
    /// Cutoff of nDCG and MRR.
    pub k: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    pub mode: BTreeMap<String, Quality>,
    pub queries: usize,
    pub documents: usize,
    pub passages: u64,
    /// End-to-end time of a search in the first of the modes.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub index_seconds: f64,
}

/// Means over the queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    pub k: usize,
    pub ndcg: f64,
    pub mrr: f64,
    pub recall_100: f64,
}

impl Serialize for Quality {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        BTreeMap::from([
            (format!("ndcg@{}", self.k), rounded(self.ndcg)),
            (format!("mrr@{}", self.k), rounded(self.mrr)),
            ("recall@100".to_owned(), rounded(self.recall_100)),
        ])
        .serialize(serializer)
    }
}

/// Indexes `folder/corpus.jsonl` into `config.data_dir`, which should be empty, asks the judged
/// queries and scores the answers.
///
/// # Errors
/// When the collection cannot be read or the engine fails.
pub async fn evaluate(
    config: Config,
    folder: &Path,
    options: &EvaluationOptions,
    progress: impl FnMut(JobProgress),
) -> Result<Evaluation, EngineError> {
    let collection = Collection::read(folder)?;
    let engine = Engine::open(config)?;
    let model = engine.model().await?;
    let started = Instant::now();
    let (_keep, cancel) = watch::channel(false);
    let names: HashMap<DocumentId, String> =
        collection.documents.iter().map(|(name, document)| (document.id, name.clone())).collect();
    let documents = collection.documents.into_iter().map(|(_, document)| document).collect();
    ingest::index_documents(&engine.pipeline(&model), documents, cancel, progress).await?;
    engine.catch_up().await?;
    let index_seconds = started.elapsed().as_secs_f64();

    let mut mode_quality = BTreeMap::new();
    let mut times_ms = Vec::new();
    for (at, mode) in options.modes.iter().enumerate() {
        let mut total = Quality { k: options.k, ..Quality::default() };
        for (text, judgments) in &collection.queries {
            let mut request = SearchRequest::new(collection_query(text));
            (request.mode, request.limit) = (*mode, DEPTH);
            request.include_weaker = true;
            let started = Instant::now();
            let response = engine.search(request).await?;
            if at == 0 {
                times_ms.push(started.elapsed().as_secs_f64() * 1e3);
            }
            let ranking: Vec<&str> = response
                .hits
                .iter()
                .filter_map(|hit| names.get(&hit.document.id).map(String::as_str))
                .collect();
            total.ndcg += ndcg_at(options.k, &ranking, judgments);
            total.mrr += mrr_at(options.k, &ranking, judgments);
            total.recall_100 += recall_at(DEPTH, &ranking, judgments);
        }
        let queries = collection.queries.len() as f64;
        let mean = Quality {
            k: options.k,
            ndcg: total.ndcg / queries,
            mrr: total.mrr / queries,
            recall_100: total.recall_100 / queries,
        };
        mode_quality.insert(mode.name().to_owned(), mean);
    }
    times_ms.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (times_ms.len() as f64 * share) as usize;
        times_ms.get(rank.min(times_ms.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    Ok(Evaluation {
        mode: mode_quality,
        queries: collection.queries.len(),
        documents: names.len(),
        passages: engine.inner.store.counts()?.passages,
        p50_ms: at(0.5),
        p95_ms: at(0.95),
        index_seconds,
    })
}

/// Queries of a collection are plain words: what would be an operator is taken literally.
fn collection_query(text: &str) -> String {
    text.replace(['"', '-', ':'], " ")
}

#[derive(Debug)]
struct Collection {
    /// By the name that judgments use.
    documents: Vec<(String, Document)>,
    queries: Vec<(String, Judgments)>,
}

#[derive(Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

impl Collection {
    fn read(folder: &Path) -> Result<Self, EngineError> {
        let mut judgments = read_judgments(&folder.join("qrels/test.tsv"))?;
        let corpus: Vec<CorpusLine> = read_jsonl(&folder.join("corpus.jsonl"))?;
        let queries: Vec<QueryLine> = read_jsonl(&folder.join("queries.jsonl"))?;
        let queries: Vec<_> = queries
            .into_iter()
            .filter_map(|query| Some((query.text, judgments.remove(&query.id)?)))
            .filter(|(_, judgments)| judgments.values().any(|grade| *grade > 0))
            .collect();
        if queries.is_empty() {
            return Err(EngineError::CollectionEmpty { path: folder.to_owned() });
        }
        let documents = corpus.into_iter().filter_map(document).collect();
        Ok(Self { documents, queries })
    }
}

/// A line as the document that a file with the same words would give.
fn document(line: CorpusLine) -> Option<(String, Document)> {
    let CorpusLine { id, title, text } = line;
    let repeats = title.is_empty() || text.starts_with(title.as_str());
    let text = if repeats { text } else { format!("{title}\n\n{text}") };
    let mut url = Url::parse("beir://corpus/").ok()?;
    url.path_segments_mut().ok()?.push(&id);
    let source = Source::Web(url);
    let document = Document {
        id: DocumentId::of(&source),
        source,
        media_type: MediaType::Text,
        title,
        layout: TextLayout::Plain,
        has_lines: true,
        locators: LocatorMap::default(),
        content_hash: ContentHash::of(text.as_bytes()),
        bytes: text.len() as u64,
        modified: None,
        text,
    };
    Some((id, document))
}

fn read_text(path: &Path) -> Result<String, EngineError> {
    fs::read_to_string(path)
        .map_err(|source| EngineError::Collection { path: path.to_owned(), source })
}

fn at_line(path: &Path, index: usize, reason: impl std::fmt::Display) -> EngineError {
    EngineError::CollectionLine {
        path: PathBuf::from(path),
        line: index + 1,
        reason: reason.to_string(),
    }
}

fn read_jsonl<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, EngineError> {
    read_text(path)?
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| serde_json::from_str(line).map_err(|e| at_line(path, index, e)))
        .collect()
}

/// Lines of query, document and grade, after a line of headings.
fn read_judgments(path: &Path) -> Result<HashMap<String, Judgments>, EngineError> {
    let mut judgments: HashMap<String, Judgments> = HashMap::new();
    for (index, line) in read_text(path)?.lines().enumerate().skip(1) {
        let mut columns = line.split('\t');
        let (Some(query), Some(document), Some(grade)) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Err(at_line(path, index, "expected query, document and grade"));
        };
        let grade = grade.trim().parse().map_err(|e| at_line(path, index, e))?;
        judgments.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
    }
    Ok(judgments)
}
