use std::fmt::Write as _;

use lodestone::data::{Hit, Locator, Passage};
use lodestone::engine::SearchResponse;

use super::excerpt::excerpt;
use crate::figures::{count, counted};
use crate::output::{Style, one_line, printable};

/// Rank, title, place and passage of each hit, and a line about the whole.
pub fn render(response: &SearchResponse, style: Style) -> String {
    let mut text = String::new();
    for hit in &response.hits {
        render_hit(&mut text, hit, style);
    }
    let _ = writeln!(text, "{}", style.dim(&summary(response)));
    text
}

fn render_hit(text: &mut String, hit: &Hit, style: Style) {
    let Hit { rank, document, passage, more, also, .. } = hit;
    let _ = writeln!(text, "{rank}. {}", style.bold(&one_line(&document.title)));
    let _ = writeln!(text, "   {}", style.dim(&place(&document.source.to_string(), passage)));
    for line in marked(passage, style).lines() {
        let indent = if line.is_empty() { "" } else { "   " };
        let _ = writeln!(text, "{indent}{line}");
    }
    if !more.is_empty() {
        let more = counted(more.len() as u64, "more passage");
        let _ = writeln!(text, "   {}", style.dim(&format!("({more} in this document)")));
    }
    if !also.is_empty() {
        let places = counted(also.len() as u64, "other place");
        let _ = writeln!(text, "   {}", style.dim(&format!("(nearly the same in {places})")));
    }
    text.push('\n');
}

/// The source with its line, as editors and terminals open it, and the heading.
fn place(source: &str, passage: &Passage) -> String {
    let mut place = one_line(source);
    if let Some(line) = passage.locator.as_ref().and_then(Locator::line) {
        let _ = write!(place, ":{line}");
    }
    match &passage.locator {
        None | Some(Locator::Line { .. }) => {}
        Some(locator) => {
            let _ = write!(place, "  {}", one_line(&locator.to_string()));
        }
    }
    place
}

/// The excerpt with the words of the query set off.
fn marked(passage: &Passage, style: Style) -> String {
    let text = &passage.text;
    let shown = excerpt(passage);
    let mut marked = String::from(if shown.start > 0 { "… " } else { "" });
    let mut at = shown.start;
    for range in &passage.matches {
        let (start, end) = (range.start.max(at), range.end.min(shown.end));
        let (Some(before), Some(word)) = (text.get(at..start), text.get(start..end)) else {
            continue;
        };
        marked.push_str(&printable(before));
        marked.push_str(&style.matched(&printable(word)));
        at = end;
    }
    marked.push_str(&printable(text.get(at..shown.end).unwrap_or_default()));
    if shown.end < text.trim_end().len() {
        marked.push_str(" …");
    }
    marked
}

fn summary(response: &SearchResponse) -> String {
    let SearchResponse { mode, took_ms, hits, weaker, coverage, .. } = response;
    if coverage.known == 0 {
        return "Nothing is indexed yet; start with: lode index FOLDER".to_owned();
    }
    let mut parts = vec![format!(
        "{} in {took_ms:.0} ms ({})",
        counted(hits.len() as u64, "document"),
        mode.name()
    )];
    if *weaker > 0 {
        parts.push(format!("{} weaker not shown", count(*weaker as u64)));
    }
    if coverage.indexed < coverage.known {
        let (indexed, known) = (count(coverage.indexed), count(coverage.known));
        parts.push(format!("{indexed} of {known} sources are searchable"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use lodestone::data::{ChunkKey, DocumentId, HitDocument, MediaType, Source, TextRange, Why};
    use lodestone::engine::{Coverage, SearchMode};

    use super::*;

    fn response() -> SearchResponse {
        let id = DocumentId::from_stored(7);
        let path = vec!["Storage".to_owned(), "Roots".to_owned()];
        let passage = Passage {
            chunk: ChunkKey { document: id, ordinal: 0 },
            text: "Carrots keep in sand.\nPotatoes\x1b[0m keep in the dark.".to_owned(),
            range: TextRange { start: 0, end: 49 },
            locator: Some(Locator::Heading { path, anchor: None, line: Some(12) }),
            matches: vec![TextRange { start: 0, end: 7 }, TextRange { start: 16, end: 20 }],
            sentence: None,
        };
        let document = HitDocument {
            id,
            source: Source::File("/home/ada/garden notes.md".into()),
            title: "Garden\nnotes".to_owned(),
            media_type: MediaType::Markdown,
            modified: None,
        };
        let more = vec![passage.clone()];
        let also = vec![document.clone(), document.clone()];
        SearchResponse {
            query: "carrots sand".to_owned(),
            mode: SearchMode::Hybrid,
            took_ms: 12.4,
            hits: vec![Hit {
                rank: 1,
                score: 0.5,
                document,
                passage,
                more,
                also,
                why: Why::default(),
                is_weak: false,
            }],
            weaker: 3,
            considered: Vec::new(),
            is_cut: false,
            coverage: Coverage { indexed: 9, known: 10 },
        }
    }

    #[test]
    fn a_hit_is_rank_title_place_and_passage() {
        insta::assert_snapshot!(render(&response(), Style::Plain), @r"
        1. Garden notes
           /home/ada/garden notes.md:12  § Storage › Roots
           Carrots keep in sand.
           Potatoes�[0m keep in the dark.
           (1 more passage in this document)
           (nearly the same in 2 other places)

        1 document in 12 ms (hybrid), 3 weaker not shown, 9 of 10 sources are searchable
        ");
    }

    #[test]
    fn words_of_the_query_are_set_off_on_a_terminal() {
        let rendered = render(&response(), Style::Terminal);
        let line = "   \x1b[1;33mCarrots\x1b[0m keep in \x1b[1;33msand\x1b[0m.\n";
        assert!(rendered.contains(line), "{rendered:?}");
    }

    #[test]
    fn an_empty_index_says_how_to_start() {
        let mut response = response();
        response.hits.clear();
        response.coverage = Coverage::default();
        assert!(render(&response, Style::Plain).contains("lode index FOLDER"));
    }

    #[test]
    fn the_json_is_the_contract() {
        let json = serde_json::to_value(response()).unwrap();
        for key in ["query", "mode", "took_ms", "hits", "weaker", "coverage"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        let hit = &json["hits"][0];
        for pointer in [
            "/rank",
            "/score",
            "/document/id",
            "/document/source",
            "/document/title",
            "/document/media_type",
            "/passage/text",
            "/passage/range/1",
            "/passage/locator",
            "/why",
        ] {
            assert!(hit.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
