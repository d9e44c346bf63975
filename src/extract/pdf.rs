//! PDF documents: page after page in reading order, with paragraphs joined and what repeats on every
//! page left out.
//!
//! A PDF says where each glyph goes and hardly ever what belongs together. [`glyphs`] collects what is
//! painted, [`segment`] makes lines of it, [`furniture`] drops running heads and page numbers,
//! [`columns`] finds the order, [`paragraph`] the text.

mod columns;
mod furniture;
mod glyphs;
mod paragraph;
mod segment;
mod spelling;

use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::segment::{PageText, median};
use super::{Extracted, Unreadable, title};
use crate::data::{Locator, LocatorMap, MediaType, TextLayout};

/// Letters in the title size are this much larger than the ordinary ones at least.
const TITLE_SIZE_MIN: f32 = 1.15;

/// # Errors
/// When the file is damaged, asks for a password or has no text, as pages that are only scanned.
pub(super) fn read(bytes: Vec<u8>, name: &str) -> Result<Extracted, Unreadable> {
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Unreadable::Encrypted,
        LoadPdfError::Decryption(_) => {
            Unreadable::Damaged { what: "it is encrypted in a way that is not known here".into() }
        }
        LoadPdfError::Invalid => Unreadable::Damaged { what: "it has no list of its pages".into() },
    })?;
    let (mut pages, nameless) = glyphs::collect(&pdf);
    let title_line = pages.iter().find_map(title_line);
    furniture::remove(&mut pages);
    let mut pages: Vec<String> = pages.into_iter().map(page_text).collect();
    spelling::heal(&mut pages);
    let (mut text, mut locators) = (String::new(), LocatorMap::default());
    for (number, page) in (1_u32..).zip(pages) {
        let page = spelling::clean(&page);
        if page.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        locators.push(text.len(), Locator::Page { page: number });
        text.push_str(&page);
        text.push('\n');
    }
    if text.is_empty() {
        return Err(if nameless > 0 { Unreadable::NamelessGlyphs } else { Unreadable::Scanned });
    }
    let property = pdf.metadata().title.as_deref().map(spelling::property);
    Ok(Extracted {
        media_type: MediaType::Pdf,
        title: title::choose(property.as_deref(), title_line.as_deref(), name),
        text,
        layout: TextLayout::Plain,
        has_lines: false,
        locators,
    })
}

fn page_text(page: PageText) -> String {
    let mut text = String::new();
    for segments in page.directions {
        for block in columns::reading_order(segments) {
            let block = paragraph::text(block);
            if !block.is_empty() {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(&block);
            }
        }
    }
    text
}

/// What is set in the largest letters of a page, where these are larger than the ordinary ones.
fn title_line(page: &PageText) -> Option<String> {
    let segments = &page.directions[0];
    let worded =
        || segments.iter().filter(|s| s.text.chars().filter(|c| c.is_alphabetic()).count() > 2);
    let ordinary = median(worded().map(|segment| segment.size))?;
    let largest = worded().map(|segment| segment.size).fold(0.0, f32::max);
    if largest < ordinary * TITLE_SIZE_MIN {
        return None;
    }
    let mut lines: Vec<_> = worded().filter(|segment| segment.size > largest * 0.95).collect();
    lines.sort_by(|a, b| {
        (a.baseline, a.left).partial_cmp(&(b.baseline, b.left)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let words: Vec<&str> = lines.iter().map(|segment| segment.text.as_str()).collect();
    let title = spelling::clean(&words.join(" "));
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests;
