//! What an edit costs.

use std::fmt::Write as _;

use super::Pipeline;
use super::read::tests::pipeline;
use crate::config::Limits;
use crate::data::Source;
use crate::extract;
use crate::gpu::Priority;
use crate::ingest::PlannedDocument;
use crate::storage::{EmbeddingModel, Settled};

/// Paragraphs of one to nine sentences, no two of them alike, until there is a megabyte.
fn book() -> String {
    let mut text = String::from("The book of rain\n\n");
    let mut paragraph = 0;
    while text.len() < 1_000_000 {
        paragraph += 1;
        for sentence in 0..=(paragraph * 7) % 9 {
            let _ = write!(
                text,
                "On day {paragraph} rain falls for the {sentence}th time, and the \
                harbor measures how much {} of it there is. ",
                paragraph * sentence
            );
        }
        text.push_str("\n\n");
    }
    text
}

async fn plan(pipeline: &Pipeline, path: &str, text: &str) -> PlannedDocument {
    let source = Source::File(path.into());
    let document = extract::read_document_here(source, text.as_bytes().to_vec(), None).unwrap();
    pipeline.plan(pipeline.chunk(document).unwrap()).await.unwrap()
}

/// A passage is cut where the text has its widest gap, so passages after an edit soon begin where they
/// began before it.
#[tokio::test]
async fn an_edit_of_a_megabyte_embeds_what_it_changed_and_a_copy_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pipeline = pipeline(dir.path(), Limits::default());
    let model = EmbeddingModel { name: "bundled".to_owned(), dim: 384 };
    pipeline.store().choose_model(&model).unwrap();
    let text = book();
    let mut first = plan(&pipeline, "/book.txt", &text).await;
    let passages = first.cost().passages;
    // The vectors matter to nobody here; what they were made from does.
    first.pretend_embedded(model.dim);
    let (embedded, cost) = pipeline.embed(first, Priority::Background, None).await.unwrap();
    assert_eq!(cost.passages, 0);
    let documents = [embedded];
    let settled =
        Settled { run: None, documents: &documents, outdated: &[], skipped: &[], stamps: &[] };
    pipeline.settle(&settled).unwrap();

    assert_eq!(plan(&pipeline, "/book.txt", &text).await.cost().passages, 0);
    // A title that is not the name of the file stays with a copy, and the bytes are known anyway.
    assert_eq!(plan(&pipeline, "/sub/copy.txt", &text).await.cost().passages, 0);
    let mut costs = Vec::new();
    for tenth in 0..10 {
        let at = text.floor_char_boundary(text.len() * (2 * tenth + 1) / 20);
        let at = at + text[at..].find("\n\n").unwrap_or(0) + 2;
        let edited = format!("{}A sentence that was not there. {}", &text[..at], &text[at..]);
        costs.push(plan(&pipeline, "/book.txt", &edited).await.cost().passages);
    }
    costs.sort_unstable();
    println!("{passages} passages; an edit embeds {costs:?} of them");
    assert!(costs[5] < 3 && costs[9] < 20, "{costs:?}");
}
