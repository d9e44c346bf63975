//! Chunking one Markdown file of 17,418 characters, the size of the file whose chunking took the
//! conception's own code 4,110 ms: tokenizing once and looking offsets up, beside a sizer that
//! tokenizes every candidate slice again, as text-splitter does with a tokenizer.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lodestone::chunking::{ChunkSize, split};
use lodestone::data::{
    ContentHash, Document, DocumentId, LocatorMap, MediaType, Source, TextLayout,
};
use lodestone::tokenization::Tokenizer;
use text_splitter::{ChunkConfig, ChunkSizer, MarkdownSplitter};

const CHARACTERS: usize = 17_418;
const TOKENS_MAX: usize = 254;

static TOKENIZER: &[u8] = include_bytes!("../assets/models/all-MiniLM-L6-v2/tokenizer.json");

struct Retokenizing<'a>(&'a Tokenizer);

impl ChunkSizer for Retokenizing<'_> {
    fn size(&self, chunk: &str) -> usize {
        self.0.encode(chunk).map_or(usize::MAX, |tokens| tokens.len())
    }
}

fn document(text: &str) -> Document {
    let source = Source::File("/bench.md".into());
    Document {
        id: DocumentId::of(&source),
        source,
        media_type: MediaType::Markdown,
        title: String::new(),
        text: text.to_owned(),
        layout: TextLayout::Markdown,
        has_lines: true,
        locators: LocatorMap::default(),
        content_hash: ContentHash::of(text.as_bytes()),
        bytes: text.len() as u64,
        modified: None,
    }
}

fn chunking(c: &mut Criterion) {
    let tokenizer = Tokenizer::from_bytes(TOKENIZER).expect("the bundled tokenizer is whole");
    let prose = include_str!("../docs/ARCHITECTURE.md");
    let text: String = prose.chars().cycle().take(CHARACTERS).collect();
    let size = ChunkSize { tokens_max: TOKENS_MAX, overlap: 0 };
    let mut group = c.benchmark_group("chunk 17,418 characters");
    group.bench_function("tokenize once, offsets", |b| {
        b.iter(|| {
            let tokens = tokenizer.encode(&text).expect("text");
            split(document(&text), tokens, size).expect("size")
        });
    });
    let tokens = tokenizer.encode(&text).expect("text");
    group.bench_function("split alone", |b| {
        b.iter(|| split(document(&text), tokens.clone(), size).expect("size"));
    });
    group.sample_size(10);
    group.bench_function("peer: tokenize every slice", |b| {
        b.iter(|| {
            let config = ChunkConfig::new(TOKENS_MAX).with_sizer(Retokenizing(&tokenizer));
            black_box(MarkdownSplitter::new(config).chunks(&text).count())
        });
    });
    group.finish();
}

criterion_group!(benches, chunking);
criterion_main!(benches);
