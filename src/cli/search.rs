//! `lode search`: ranked passages.

mod excerpt;
mod render;

use lodestone::data::ChunkKey;
use lodestone::engine::{ModelState, SearchMode, SearchRequest};

use crate::arguments::{Common, SearchArguments, SimilarArguments};
use crate::failure::{Exit, Failure};
use crate::output::{Output, one_line};

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: SearchArguments,
) -> Result<Exit, Failure> {
    let SearchArguments { query, limit, mode, fold } = arguments;
    if query.trim().is_empty() {
        return Err(Failure::usage(anyhow::anyhow!(
            "the query is empty; give words or a question"
        )));
    }
    let engine = common.open()?;
    // A keyword search needs no model and does not wait for one.
    if mode != SearchMode::Keyword
        && let ModelState::Failed { model, reason } = engine.wait_for_model().await
        && mode == SearchMode::Hybrid
    {
        eprintln!("lode: model {model} is not available ({}); by words alone", one_line(&reason));
    }
    let mut request = SearchRequest::new(query);
    (request.mode, request.limit, request.fold_duplicates) = (mode, usize::from(limit), fold);
    let response = engine.search(request).await?;
    output.print(&response, render::render)?;
    Ok(Exit::Done)
}

/// `lode similar`: what is near a passage. Its vector is there, so no model is needed.
pub async fn similar(
    common: &Common,
    output: &Output,
    arguments: SimilarArguments,
) -> Result<Exit, Failure> {
    let SimilarArguments { source, passage, only, limit } = arguments;
    let engine = common.open()?;
    let Some(document) = engine.document_named(&source).await? else {
        let unknown = anyhow::anyhow!("{source} is not indexed; add it with: lode index {source}");
        return Err(Failure::usage(unknown));
    };
    let mut request = SearchRequest::new(only);
    request.like = Some(ChunkKey { document, ordinal: passage - 1 });
    (request.limit, request.fold_duplicates) = (usize::from(limit), true);
    let response = engine.search(request).await?;
    output.print(&response, render::render)?;
    Ok(Exit::Done)
}
