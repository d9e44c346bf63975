use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};

/// Name under which tantivy knows our analyzer.
pub(super) const ANALYZER: &str = "lodestone";

/// Counts up when analysis or fields change, so that an index of another make is rebuilt.
pub(super) const FORMAT: u32 = 2;

pub(super) const DOCUMENT: &str = "document";
pub(super) const ORDINAL: &str = "ordinal";

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub document: Field,
    pub ordinal: Field,
    /// The code of the language that the words were stemmed in.
    pub language: Field,
    pub title: Field,
    pub headings: Field,
    pub body: Field,
}

impl Fields {
    /// The fields that hold words, with the weight of their BM25 in the sum.
    pub fn weighted(&self) -> [(Field, f32); 3] {
        [(self.title, TITLE_WEIGHT), (self.headings, HEADINGS_WEIGHT), (self.body, 1.0)]
    }
}

/// A word in the title says something of every passage, so it counts, but less than one in the
/// passage itself.
const TITLE_WEIGHT: f32 = 0.5;
const HEADINGS_WEIGHT: f32 = 0.5;

/// Nothing is stored here but what is needed to find a passage: its text is in the store.
pub(super) fn schema() -> (Schema, Fields) {
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let mut builder = Schema::builder();
    let fields = Fields {
        document: builder.add_u64_field(DOCUMENT, FAST | INDEXED),
        ordinal: builder.add_u64_field(ORDINAL, FAST),
        language: builder.add_text_field("language", STRING),
        title: builder.add_text_field("title", words.clone()),
        headings: builder.add_text_field("headings", words.clone()),
        body: builder.add_text_field("body", words),
    };
    (builder.build(), fields)
}
