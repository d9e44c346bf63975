//! `lode export` and `lode import`: the whole index as one file.

use lodestone::engine::JobOutcome;
use serde::Serialize;

use crate::arguments::{Common, ExportArguments, ImportArguments};
use crate::failure::{Exit, Failure};
use crate::figures::{bytes, counted};
use crate::index::follow;
use crate::output::{Output, one_line};

#[derive(Serialize)]
struct Exported {
    file: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Imported {
    documents: u64,
}

pub async fn export(
    common: &Common,
    output: &Output,
    ExportArguments { file }: ExportArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let events = engine.events();
    let outcome = follow(&engine, events, engine.export(&file)).await;
    engine.close().await;
    let JobOutcome::Exported { path, bytes: size } = outcome else { return other(outcome) };
    let exported = Exported { file: path.display().to_string(), bytes: size };
    output.print(&exported, |exported, _| {
        format!("{} written, {}\n", one_line(&exported.file), bytes(exported.bytes))
    })?;
    Ok(Exit::Done)
}

pub async fn import(
    common: &Common,
    output: &Output,
    ImportArguments { file, replace }: ImportArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let there = engine.status().await?.documents;
    if there > 0 && !replace {
        let documents = counted(there, "document");
        return Err(Failure::usage(anyhow::anyhow!(
            "{documents} would be forgotten; say so with --replace"
        )));
    }
    let events = engine.events();
    let outcome = follow(&engine, events, engine.import(&file)).await;
    engine.close().await;
    let JobOutcome::Imported { documents } = outcome else { return other(outcome) };
    output.print(&Imported { documents }, |imported, _| {
        format!("{} imported\n", counted(imported.documents, "document"))
    })?;
    Ok(Exit::Done)
}

fn other(outcome: JobOutcome) -> Result<Exit, Failure> {
    if let JobOutcome::Failed { reason } = outcome {
        return Err(Failure::environment(anyhow::anyhow!(reason)));
    }
    eprintln!("lode: stopped; nothing was changed");
    Ok(Exit::Partly)
}
