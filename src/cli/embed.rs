//! `lode embed`: texts to vectors, for measurements and for other programs.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use lodestone::data::Embedding;
use lodestone::engine::{Embedded, Engine};
use serde::{Deserialize, Serialize};

use crate::arguments::{Common, EmbedArguments};
use crate::failure::{Exit, Failure};
use crate::figures::{count, counted, seconds};
use crate::output::{Output, Style};

/// One line of the input.
#[derive(Deserialize)]
struct Line {
    text: String,
}

#[derive(Debug, Serialize)]
struct EmbedReport {
    rows: usize,
    dim: usize,
    tokens: u64,
    /// From the first text to the last vector, without loading the model.
    seconds: f64,
    tokens_per_second: f64,
    device: String,
}

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: EmbedArguments,
) -> Result<Exit, Failure> {
    let texts = read_texts(&arguments.input).map_err(Failure::usage)?;
    let mut config = common.config()?;
    config.threads = arguments.threads.map(usize::from);
    let engine = Engine::open(config)?;
    let embedded = engine.embed(texts).await?;
    write_rows(&arguments.output, &embedded.rows).map_err(Failure::environment)?;
    let Embedded { rows, dim, tokens, seconds, device } = embedded;
    let tokens_per_second = if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    let report = EmbedReport { rows: rows.len(), dim, tokens, seconds, tokens_per_second, device };
    output.print(&report, render)?;
    Ok(Exit::Done)
}

fn read_texts(path: &Path) -> anyhow::Result<Vec<String>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut texts = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), index + 1);
        let line = line.with_context(place)?;
        if line.trim().is_empty() {
            continue;
        }
        let Line { text } = serde_json::from_str(&line)
            .with_context(|| format!("{} is no object with \"text\"", place()))?;
        texts.push(text);
    }
    Ok(texts)
}

fn write_rows(path: &Path, rows: &[Embedding]) -> anyhow::Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        for value in rows.iter().flat_map(Embedding::as_slice) {
            file.write_all(&value.to_le_bytes())?;
        }
        file.flush()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

fn render(report: &EmbedReport, _style: Style) -> String {
    format!(
        "{} of {} components from {} in {} on {} ({} tokens/s)\n",
        counted(report.rows as u64, "row"),
        report.dim,
        counted(report.tokens, "token"),
        seconds(report.seconds),
        report.device,
        count(report.tokens_per_second.round() as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_a_wrong_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.jsonl");
        std::fs::write(&path, "{\"text\": \"a\", \"id\": 1}\n\n{\"text\": \"b\\nc\"}\n").unwrap();
        assert_eq!(read_texts(&path).unwrap(), ["a", "b\nc"]);
        std::fs::write(&path, "{\"text\": \"a\"}\n{\"title\": \"b\"}\n").unwrap();
        let message = format!("{:#}", read_texts(&path).unwrap_err());
        assert!(message.contains("in.jsonl, line 2 is no object"), "{message}");
        let missing = format!("{:#}", read_texts(&dir.path().join("x")).unwrap_err());
        assert!(missing.contains("cannot be read"), "{missing}");
    }

    #[test]
    fn rows_are_little_endian_floats() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.f32");
        let rows = [vec![3.0, 4.0], vec![0.0, -2.0]].map(|v| Embedding::normalized(v).unwrap());
        write_rows(&path, &rows).unwrap();
        let written = std::fs::read(&path).unwrap();
        let values: Vec<f32> =
            written.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert_eq!(values, [0.6, 0.8, 0.0, -1.0]);
    }
}
