//! `lode golden`: starred answers, and how well search finds them.

use std::fmt::Write as _;

use lodestone::engine::{GoldenMeasurement, GoldenSet};
use serde::Serialize;

use crate::arguments::{Common, GoldenCommand};
use crate::failure::{Exit, Failure};
use crate::figures::{count, counted};
use crate::output::{Output, Style, one_line};

#[derive(Debug, Serialize)]
struct Changed {
    changed: bool,
}

pub async fn run(
    common: &Common,
    output: &Output,
    command: GoldenCommand,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    match command {
        GoldenCommand::List => output.print(&engine.golden_set().await?, render)?,
        GoldenCommand::Star { query, source } => {
            let changed = engine.star_named(query, source, true).await?;
            output.print(&Changed { changed }, |_, _| "starred\n".to_owned())?;
        }
        GoldenCommand::Unstar { query, source } => {
            let changed = engine.star_named(query, source, false).await?;
            let text = if changed { "no longer starred\n" } else { "there was no such star\n" };
            output.print(&Changed { changed }, |_, _| text.to_owned())?;
            if !changed {
                return Ok(Exit::Partly);
            }
        }
        GoldenCommand::Measure => {
            let measured = engine.measure_golden().await?;
            output.print(&measured, |measured, _| {
                measured.as_ref().map_or_else(
                    || "nothing is starred; lode golden star QUERY SOURCE\n".to_owned(),
                    |measured| line(measured) + "\n",
                )
            })?;
        }
    }
    Ok(Exit::Done)
}

fn render(golden: &GoldenSet, style: Style) -> String {
    let mut text = String::new();
    for starred in &golden.stars {
        let source = style.dim(&one_line(&starred.source.to_string()));
        let _ = writeln!(text, "{}  {source}", style.bold(&one_line(&starred.query)));
    }
    for measured in &golden.measurements {
        let _ = writeln!(text, "{}", line(measured));
    }
    if golden.stars.is_empty() {
        text.push_str("nothing is starred; lode golden star QUERY SOURCE\n");
    }
    text
}

fn line(measured: &GoldenMeasurement) -> String {
    let GoldenMeasurement { at, model, passages, queries, stars, .. } = measured;
    let gap = measured.ann_gap_at_10.map_or_else(
        || "no vectors".to_owned(),
        |gap| format!("the vector index misses {:.1} %", gap * 100.0),
    );
    format!(
        "{}  recall@10 {:.1} %, MRR@10 {:.3}, {gap}, {:.1} ms, 95% at most {:.1} ms  \
         ({} to {}, {} passages, {model})",
        day(*at),
        measured.recall_at_10 * 100.0,
        measured.mrr_at_10,
        measured.p50_ms,
        measured.p95_ms,
        counted(*stars, "answer"),
        queries_asked(*queries),
        count(*passages),
    )
}

fn queries_asked(n: u64) -> String {
    if n == 1 { "1 query".to_owned() } else { format!("{} queries", count(n)) }
}

/// Day and minute in UTC.
fn day(seconds: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(seconds).map_or_else(
        |_| "at an unknown time".to_owned(),
        |at| format!("{} {:02}:{:02}", at.date(), at.hour(), at.minute()),
    )
}

#[cfg(test)]
mod tests {
    use lodestone::data::Source;
    use lodestone::engine::StarredAnswer;

    use super::*;

    #[test]
    fn stars_and_measurements_are_a_line_each() {
        let measured = GoldenMeasurement {
            at: 1_750_000_000,
            model: "all-MiniLM-L6-v2".to_owned(),
            passages: 1_234,
            queries: 1,
            stars: 2,
            recall_at_10: 0.5,
            mrr_at_10: 1.0 / 3.0,
            ann_gap_at_10: Some(0.012),
            p50_ms: 8.25,
            p95_ms: 20.0,
        };
        let star = StarredAnswer {
            query: "share ownership".to_owned(),
            source: Source::File("/notes/rc.md".into()),
            starred_at: 0,
        };
        let golden = GoldenSet { stars: vec![star], measurements: vec![measured] };
        insta::assert_snapshot!(render(&golden, Style::Plain), @r"
        share ownership  /notes/rc.md
        2025-06-15 15:06  recall@10 50.0 %, MRR@10 0.333, the vector index misses 1.2 %, 8.2 ms, 95% at most 20.0 ms  (2 answers to 1 query, 1,234 passages, all-MiniLM-L6-v2)
        ");
        let empty = render(&GoldenSet::default(), Style::Plain);
        assert_eq!(empty, "nothing is starred; lode golden star QUERY SOURCE\n");
    }
}
