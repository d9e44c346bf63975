//! A judged collection in BEIR layout, as documents and queries of ours.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use crate::data::{Document, Source};
use crate::engine::EngineError;
use crate::search::evaluation::Judgments;

/// Queries of a collection are plain words: what would be an operator is taken literally.
fn plain_words(text: &str) -> String {
    text.replace(['"', '-', ':'], " ")
}

/// What is searched and asked, and which answers are right.
#[derive(Debug)]
pub(super) struct Collection {
    /// By the name that judgments use.
    pub documents: Vec<(String, Document)>,
    pub queries: Vec<JudgedQuery>,
}

#[derive(Debug)]
pub(super) struct JudgedQuery {
    /// As the collection names it.
    pub id: String,
    /// As it is asked.
    pub text: String,
    pub judgments: Judgments,
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
    pub fn read(folder: &Path) -> Result<Self, EngineError> {
        let mut judgments = read_judgments(&folder.join("qrels/test.tsv"))?;
        let corpus: Vec<CorpusLine> = read_jsonl(&folder.join("corpus.jsonl"))?;
        let queries: Vec<QueryLine> = read_jsonl(&folder.join("queries.jsonl"))?;
        let queries: Vec<_> = queries
            .into_iter()
            .filter_map(|QueryLine { id, text }| {
                let judgments = judgments.remove(&id)?;
                Some(JudgedQuery { id, text: plain_words(&text), judgments })
            })
            .filter(|query| query.judgments.values().any(|grade| *grade > 0))
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
    Some((id, Document::plain(source, title, text)))
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
