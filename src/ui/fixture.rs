//! Documents and answers for the tests of this binary.

use lodestone::data::{
    ChunkKey, CrawlRules, DocumentId, Hit, HitDocument, KeywordWhy, Locator, MediaType, Passage,
    SemanticWhy, Source, TextLayout, TextRange, Why,
};
use lodestone::engine::{
    Coverage, DocumentView, LibraryEntry, PageState, PageView, SearchMode, SearchResponse, SiteId,
    SiteState, SiteView,
};
use url::Url;

use super::state::OpenDocument;

const PASSAGES: [&str; 4] = [
    "# Shared ownership\n\n`Rc<T>` keeps a count.",
    "A value lives while it has owners & friends.",
    "## Threads\n\nUse *Arc* instead: it counts atomically.",
    "- one\n- two",
];

fn source(name: &str) -> Source {
    Source::File(format!("/docs/{name}").into())
}

/// A Markdown document of four passages.
pub fn document() -> DocumentView {
    let mut text = String::new();
    let mut passages = Vec::new();
    for (at, passage) in PASSAGES.iter().enumerate() {
        let start = text.len();
        text += passage;
        let path = vec![if at < 2 { "Shared ownership" } else { "Threads" }.to_owned()];
        let locator = Locator::Heading { path, anchor: None, line: Some(1) };
        passages.push((TextRange { start, end: text.len() }, Some(locator)));
        text += "\n\n";
    }
    let source = source("ownership.md");
    DocumentView {
        id: DocumentId::of(&source),
        source,
        title: "Shared ownership".to_owned(),
        media_type: MediaType::Markdown,
        layout: TextLayout::Markdown,
        text,
        passages,
        modified: Some(0),
        indexed_at: 0,
    }
}

pub fn open_document() -> OpenDocument {
    OpenDocument::new(document())
}

/// Passage `ordinal` of [`document`]; "owners" is marked where it stands.
pub fn passage(ordinal: usize) -> Passage {
    let view = document();
    let (range, locator) = view.passages[ordinal].clone();
    let text = PASSAGES[ordinal].to_owned();
    let word = text.find("owners").map(|start| TextRange { start, end: start + 6 });
    Passage {
        chunk: ChunkKey { document: view.id, ordinal: ordinal as u32 },
        sentence: word.map(|_| TextRange { start: 0, end: text.len() }),
        matches: word.into_iter().collect(),
        text,
        range,
        locator,
    }
}

/// A hit in a Markdown file whose whole text is `text`.
pub fn hit(name: &str, text: &str) -> Hit {
    let source = source(name);
    let id = DocumentId::of(&source);
    let word = text.find("owners").map(|start| TextRange { start, end: start + 6 });
    Hit {
        rank: 1,
        score: 0.5,
        document: HitDocument {
            id,
            source,
            title: name.to_owned(),
            media_type: MediaType::Markdown,
            modified: Some(0),
        },
        passage: Passage {
            chunk: ChunkKey { document: id, ordinal: 0 },
            text: text.to_owned(),
            range: TextRange { start: 0, end: text.len() },
            locator: Some(Locator::Line { line: 3 }),
            matches: word.into_iter().collect(),
            sentence: None,
        },
        more: Vec::new(),
        also: Vec::new(),
        why: Why {
            semantic: Some(SemanticWhy { rank: Some(1), score: 0.52, evidence: 9.0 }),
            keyword: Some(KeywordWhy {
                rank: Some(2),
                score: 3.1,
                evidence: 3.1,
                terms: vec!["owners".to_owned()],
            }),
        },
        is_weak: false,
    }
}

/// An answer with one hit for each name.
pub fn response(names: &[&str]) -> SearchResponse {
    SearchResponse {
        query: "owner".to_owned(),
        mode: SearchMode::Hybrid,
        took_ms: 4.0,
        hits: names.iter().map(|name| hit(name, "It has owners.")).collect(),
        weaker: 0,
        considered: Vec::new(),
        is_cut: false,
        coverage: Coverage { indexed: 1, known: 1 },
    }
}

pub fn entry(name: &str) -> LibraryEntry {
    let source = source(name);
    LibraryEntry {
        id: DocumentId::of(&source),
        source,
        title: name.to_owned(),
        media_type: MediaType::Markdown,
        passages: 4,
        bytes: 2_048,
        modified: Some(0),
        indexed_at: 0,
    }
}

/// The site `https://site1.test/docs/` for number 1, of three pages.
pub fn site(number: i64, state: SiteState) -> SiteView {
    SiteView {
        id: SiteId::from_stored(number),
        start: Url::parse(&format!("https://site{number}.test/docs/")).unwrap(),
        rules: CrawlRules::default(),
        state,
        pages: [(PageState::Indexed, 2), (PageState::Queued, 1)].into_iter().collect(),
        searchable: 2,
        bytes: 40_960,
        added_at: 0,
        last_crawl: None,
        next_crawl: None,
        findings: None,
    }
}

/// A page of the first site.
pub fn page(path: &str, state: PageState) -> PageView {
    PageView {
        url: Url::parse("https://site1.test").unwrap().join(path).unwrap(),
        title: (state == PageState::Indexed).then(|| format!("Page {path}")),
        depth: 2,
        state,
        reason: None,
        target: None,
        status: Some(200),
        bytes: 2_048,
        fetched_at: Some(0),
        found_by: None,
        is_searchable: state == PageState::Indexed,
    }
}
