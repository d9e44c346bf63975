//! `lode models`: which models there are, which one is used, and how to get others.

use std::fmt::Write as _;

use lodestone::config::Config;
use lodestone::engine::{
    self, Engine, EngineError, JobOutcome, KnownModelKind, ModelEntry, ModelEntryState,
};

use crate::arguments::{Common, ModelsCommand};
use crate::failure::{Exit, Failure};
use crate::figures::{bytes, counted};
use crate::index::follow;
use crate::output::{Output, Style, one_line};
use crate::progress::FetchBar;

pub async fn run(
    common: &Common,
    output: &Output,
    command: ModelsCommand,
) -> Result<Exit, Failure> {
    let config = common.config()?;
    match command {
        ModelsCommand::List => {
            output.print(&list(config).await?, render)?;
            Ok(Exit::Done)
        }
        ModelsCommand::Add { model } => add(config, output, model).await,
        ModelsCommand::Use { name, no_wait } => choose(config, output, name, no_wait).await,
        ModelsCommand::Remove { name } => {
            let removing = config.clone();
            blocking(move || engine::remove_model(&removing, &name)).await?;
            output.print(&list(config).await?, render)?;
            Ok(Exit::Done)
        }
    }
}

async fn list(config: Config) -> Result<Vec<ModelEntry>, Failure> {
    blocking(move || engine::models(&config)).await
}

async fn add(config: Config, output: &Output, model: String) -> Result<Exit, Failure> {
    let added = blocking(move || {
        let bar = FetchBar::new();
        let added = engine::add_model(&config, &model, |progress| bar.show(&progress));
        bar.finish();
        added
    });
    output.print(&vec![added.await?], render)?;
    Ok(Exit::Done)
}

/// Chooses a model, and stays until it is in use unless told not to.
async fn choose(
    config: Config,
    output: &Output,
    name: String,
    no_wait: bool,
) -> Result<Exit, Failure> {
    let engine = Engine::open(Config { switches_model: false, ..config.clone() })?;
    engine.wait_for_model().await;
    let events = engine.events();
    let job = engine.use_model(name).await?;
    let outcome = if no_wait {
        // Until the store knows of it: whoever runs, or starts next, takes it up from there.
        engine.wait_for_switch(job.id()).await?;
        job.cancel();
        job.outcome().await
    } else {
        follow(&engine, events, job).await
    };
    engine.close().await;
    output.print(&list(config).await?, render)?;
    match outcome {
        JobOutcome::Switched { report, .. } if !report.skipped.is_empty() => {
            let documents = counted(report.skipped.len() as u64, "document");
            eprintln!("lode: {documents} could not be embedded and are found by words alone");
            Ok(Exit::Partly)
        }
        JobOutcome::Failed { reason } => Err(Failure::environment(anyhow::anyhow!(reason))),
        JobOutcome::SwitchPaused { .. } | JobOutcome::Cancelled(_) if !no_wait => {
            eprintln!("lode: stopped; what was embedded stays, and the same command goes on");
            Ok(Exit::Partly)
        }
        _ => Ok(Exit::Done),
    }
}

async fn blocking<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(body).await.map_err(Failure::environment)?;
    Ok(done?)
}

fn render(entries: &Vec<ModelEntry>, style: Style) -> String {
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for ModelEntry { name, kind, dim, bytes: size, folder, state } in entries {
        let kind = match kind {
            KnownModelKind::Embedding => "embedding",
            KnownModelKind::Language => "language",
            KnownModelKind::Unknown => "unknown",
        };
        let dim = dim.map_or("-".to_owned(), |dim| dim.to_string());
        let place = folder.as_ref().map_or_else(
            || "part of the program".to_owned(),
            |folder| one_line(&folder.to_string_lossy()),
        );
        let state = match state {
            ModelEntryState::InUse => ", in use".to_owned(),
            ModelEntryState::Pending { percent } => format!(", pending ({percent} %)"),
            ModelEntryState::Available => String::new(),
            ModelEntryState::Unusable { reason } => format!(", not usable: {}", one_line(reason)),
        };
        let name = style.bold(&format!("{:<width$}", one_line(name)));
        let size = bytes(*size);
        let _ = writeln!(text, "{name}  {kind:<9}  {dim:>5}  {size:>9}  {place}{state}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_a_line_with_its_state() {
        let entry = |name: &str, folder: Option<&str>, state| ModelEntry {
            name: name.to_owned(),
            kind: KnownModelKind::Embedding,
            dim: Some(384),
            bytes: 45_000_000,
            folder: folder.map(Into::into),
            state,
        };
        let broken = ModelEntryState::Unusable { reason: "config.json is\n missing".to_owned() };
        let entries = vec![
            entry("all-MiniLM-L6-v2", None, ModelEntryState::InUse),
            entry("a/b", Some("/d/models/a--b"), ModelEntryState::Pending { percent: 40 }),
            ModelEntry { dim: None, ..entry("mine", Some("/m/mine"), broken) },
        ];
        insta::assert_snapshot!(render(&entries, Style::Plain), @r"
        all-MiniLM-L6-v2  embedding    384    45.0 MB  part of the program, in use
        a/b               embedding    384    45.0 MB  /d/models/a--b, pending (40 %)
        mine              embedding      -    45.0 MB  /m/mine, not usable: config.json is missing
        ");
        let json = serde_json::to_value(&entries).unwrap();
        assert_eq!(
            (json[1]["state"].as_str(), json[1]["percent"].as_u64()),
            (Some("pending"), Some(40))
        );
        assert_eq!(json[0]["dimension"], 384);
    }
}
