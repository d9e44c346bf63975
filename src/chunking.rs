//! Where a document may be cut; pure.
//!
//! text-splitter finds the boundaries (sentences, headings, syntax trees). It asks for the size of
//! hundreds of candidate slices a document; [`sizer::OffsetSizer`] answers by looking token offsets up
//! instead of tokenizing again.

mod join;
mod sizer;

pub use join::join_small;

use std::ops::Range;

use text_splitter::{ChunkConfig, CodeSplitter, MarkdownSplitter, TextSplitter};
use tracing::debug_span;

use crate::data::{Chunk, ChunkedDocument, Document, TextLayout, TokenSequence};
use crate::platform;
use sizer::OffsetSizer;

#[derive(Debug, thiserror::Error)]
pub enum ChunkingError {
    #[error("chunks of {tokens_max} tokens at most cannot overlap by {overlap}")]
    Overlap { tokens_max: usize, overlap: usize },
}

/// How large chunks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// Tokens of a chunk at most, special tokens not counted.
    pub tokens_max: usize,
    /// Tokens that neighbors share at most, so that an answer on a boundary stays whole in one.
    pub overlap: usize,
}

/// Cuts a document into chunks that cover its text but for white space between them.
///
/// # Errors
/// When the overlap is not smaller than the chunk.
pub fn split(
    document: Document,
    tokens: TokenSequence,
    size: ChunkSize,
) -> Result<ChunkedDocument, ChunkingError> {
    let _span = debug_span!("chunk", bytes = document.text.len()).entered();
    let text = document.text.as_str();
    let mut lines = LineCounter { text, line: 1, offset: 0 };
    let mut chunks = Vec::new();
    for range in ranges(text, &tokens, document.layout, size)? {
        let line = document.has_lines.then(|| lines.at(range.start));
        let chunk = Chunk {
            tokens: fitting(tokens.within(&range), size.tokens_max),
            locator: document.locators.locate(&range, line),
            range,
        };
        if !chunk.tokens.is_empty() {
            chunks.push(chunk);
        }
    }
    Ok(ChunkedDocument { document, tokens, chunks, contexts: Vec::new() })
}

/// Counts lines from one chunk to the next, so that a whole document is counted once.
struct LineCounter<'a> {
    text: &'a str,
    /// One-based line of `offset`.
    line: u32,
    offset: usize,
}

impl LineCounter<'_> {
    /// The one-based line of `offset`. Overlapping chunks may start a little before the last one.
    fn at(&mut self, offset: usize) -> u32 {
        let bytes = self.text.as_bytes();
        let lines_in =
            |range: Range<usize>| memchr::memchr_iter(b'\n', &bytes[range]).count() as u32;
        if offset >= self.offset {
            self.line += lines_in(self.offset..offset);
        } else {
            self.line -= lines_in(offset..self.offset);
        }
        self.offset = offset;
        self.line
    }
}

/// A range that cuts words in two at both ends may touch one token more than it was sized at.
fn fitting(tokens: Range<usize>, tokens_max: usize) -> Range<usize> {
    tokens.start..tokens.end.min(tokens.start + tokens_max)
}

fn ranges(
    text: &str,
    tokens: &TokenSequence,
    layout: TextLayout,
    size: ChunkSize,
) -> Result<Vec<Range<usize>>, ChunkingError> {
    if matches!(layout, TextLayout::Plain | TextLayout::Markdown) && text.len() > 2 * BLOCK_BYTES {
        let cut = |block: &Range<usize>| {
            let ranges = ranges_of((text, tokens), block.clone(), layout, size)?;
            let shifted = |range: Range<usize>| block.start + range.start..block.start + range.end;
            Ok(ranges.into_iter().map(shifted).collect())
        };
        let cut: Result<Vec<Vec<_>>, _> =
            platform::map_on(platform::cores(), &blocks(text, BLOCK_BYTES), cut)
                .into_iter()
                .collect();
        return Ok(cut?.concat());
    }
    ranges_of((text, tokens), 0..text.len(), layout, size)
}

/// text-splitter looks through all boundaries of a text for every chunk: its time grows with the square of
/// the length, and half a gigabyte of prose was not cut in ten minutes. Longer texts are cut in blocks first,
/// on all cores.
const BLOCK_BYTES: usize = 1 << 20;

/// Cuts at blank lines, as far as there are any. Of those in the last quarter of a block it is the one whose
/// next words have the smallest hash, so that an edit does not move the ends of the blocks behind it.
fn blocks(text: &str, bytes_max: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while text.len() - start > bytes_max {
        let limit = text.floor_char_boundary(start + bytes_max);
        let quarter = text.floor_char_boundary(start + bytes_max / 4 * 3);
        let bytes = text.as_bytes();
        let behind = |at: usize| blake3::hash(&bytes[at..bytes.len().min(at + 32)]);
        let blanks = text[quarter..limit].match_indices("\n\n").map(|(at, _)| quarter + at + 2);
        let blank = blanks.min_by_key(|at| *behind(*at).as_bytes());
        let line = || text[start..limit].rfind('\n').map(|at| start + at + 1);
        let end = blank.or_else(line).unwrap_or(limit);
        blocks.push(start..end);
        start = end;
    }
    blocks.push(start..text.len());
    blocks
}

/// The chunks of a part of a text, counted from where the part begins.
fn ranges_of(
    (text, tokens): (&str, &TokenSequence),
    part: Range<usize>,
    layout: TextLayout,
    size: ChunkSize,
) -> Result<Vec<Range<usize>>, ChunkingError> {
    let ChunkSize { tokens_max, overlap } = size;
    let config = || {
        ChunkConfig::new(tokens_max)
            .with_sizer(OffsetSizer::new(text, tokens))
            .with_overlap(overlap)
            .map_err(|_| ChunkingError::Overlap { tokens_max, overlap })
    };
    // The sizer knows a slice by where it lies in the whole text.
    let part = &text[part];
    let to_ranges = |slices: &mut dyn Iterator<Item = (usize, &str)>| {
        slices.map(|(start, slice)| start..start + slice.len()).collect()
    };
    if let Some(grammar) = grammar(layout)
        && let Ok(splitter) = CodeSplitter::new(grammar, config()?)
    {
        return Ok(to_ranges(&mut splitter.chunk_indices(part)));
    }
    Ok(match layout {
        TextLayout::Markdown => {
            to_ranges(&mut MarkdownSplitter::new(config()?).chunk_indices(part))
        }
        _ => to_ranges(&mut TextSplitter::new(config()?).chunk_indices(part)),
    })
}

fn grammar(layout: TextLayout) -> Option<tree_sitter_language::LanguageFn> {
    Some(match layout {
        TextLayout::Plain | TextLayout::Markdown => return None,
        TextLayout::Rust => tree_sitter_rust::LANGUAGE,
        TextLayout::Python => tree_sitter_python::LANGUAGE,
        TextLayout::JavaScript => tree_sitter_javascript::LANGUAGE,
        TextLayout::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        TextLayout::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        TextLayout::Go => tree_sitter_go::LANGUAGE,
        TextLayout::Java => tree_sitter_java::LANGUAGE,
        TextLayout::C => tree_sitter_c::LANGUAGE,
        TextLayout::Cpp => tree_sitter_cpp::LANGUAGE,
    })
}

#[cfg(test)]
mod tests;
