//! Rich Text Format, as version 1.9.1 of its specification has it: the text, headings by their outline
//! level, rows of tables, notes in parentheses. Pictures, fields' codes, headers and footers are left
//! out.

mod charset;
mod token;

use std::collections::HashMap;

use encoding_rs::Encoding;

use self::charset::{Fonts, of_codepage};
use self::token::{Token, Tokens};
use crate::data::MediaType;
use crate::extract::prose::Prose;
use crate::extract::{Extracted, Unreadable, title};

/// Groups nested deeper are read as if they were not nested; real documents have a dozen levels.
const LEVELS_MAX: usize = 1_000;

/// # Errors
/// When there is no text.
pub(in crate::extract) fn read(bytes: &[u8], name: &str) -> Result<Extracted, Unreadable> {
    let mut reader = Reader::default();
    for token in Tokens::new(bytes) {
        reader.step(token);
    }
    reader.end_paragraph();
    let Reader { prose, title, .. } = reader;
    if prose.text().is_empty() {
        return Err(Unreadable::NoText);
    }
    let title = title::choose(Some(&title), prose.first_heading(), name);
    let (text, locators) = prose.finish();
    Ok(Extracted::converted(MediaType::Document, title, text, locators))
}

/// Where the text of a group goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Destination {
    #[default]
    Body,
    Title,
    FontTable,
    StyleSheet,
    Nowhere,
}

/// What a group inherits from the one around and loses at its end.
#[derive(Clone, Debug)]
struct Group {
    destination: Destination,
    /// Bytes that follow each `\u` for readers that do not know it.
    fallback_bytes: usize,
    encoding: &'static Encoding,
    is_hidden: bool,
    is_note: bool,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            destination: Destination::Body,
            fallback_bytes: 1,
            encoding: encoding_rs::WINDOWS_1252,
            is_hidden: false,
            is_note: false,
        }
    }
}

#[derive(Debug, Default)]
struct Reader {
    group: Group,
    above: Vec<Group>,
    /// Groups that are open beyond [`LEVELS_MAX`].
    beyond: usize,
    fonts: Fonts,
    default_encoding: Option<&'static Encoding>,
    /// Bytes of text that wait to be decoded together: characters may take two.
    bytes: Vec<u8>,
    /// What is left to pass over after a `\u`.
    passed_over: usize,
    high_surrogate: Option<u16>,
    paragraph: String,
    level: Option<u8>,
    /// Whether the paragraph is an item of a list.
    is_item: bool,
    /// Outline levels of styles, and the style that is being defined.
    styles: HashMap<i32, u8>,
    style: i32,
    in_row: bool,
    title: String,
    prose: Prose,
}

impl Reader {
    fn step(&mut self, token: Token<'_>) {
        if !matches!(token, Token::Byte(_) | Token::Text(_)) {
            self.flush();
        }
        match token {
            Token::Open => {
                self.passed_over = 0;
                if self.above.len() < LEVELS_MAX {
                    self.above.push(self.group.clone());
                } else {
                    self.beyond += 1;
                }
            }
            Token::Close => self.close_group(),
            Token::Ignorable => self.group.destination = Destination::Nowhere,
            Token::Byte(byte) => self.take_bytes(&[byte]),
            Token::Text(text) => self.take_bytes(text),
            Token::Symbol(symbol) => match symbol {
                b'~' => self.push(" "),
                b'_' => self.push("-"),
                b'\n' | b'\r' => self.end_paragraph(),
                _ => {}
            },
            Token::Control { word, value } => self.control(word, value),
        }
    }

    fn close_group(&mut self) {
        self.passed_over = 0;
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let was_note = self.group.is_note;
        self.group = self.above.pop().unwrap_or_default();
        if was_note && !self.group.is_note {
            self.push(")");
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        let passed = bytes.len().min(self.passed_over);
        self.passed_over -= passed;
        self.bytes.extend_from_slice(&bytes[passed..]);
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let (text, _) = self.group.encoding.decode_without_bom_handling(&bytes);
            self.push(&text);
        }
    }

    fn push(&mut self, text: &str) {
        match self.group.destination {
            Destination::Body if !self.group.is_hidden => self.paragraph.push_str(text),
            Destination::Title => self.title.push_str(text),
            Destination::Body
            | Destination::FontTable
            | Destination::StyleSheet
            | Destination::Nowhere => {}
        }
    }

    fn control(&mut self, word: &[u8], value: Option<i32>) {
        match word {
            // What is left out has paragraphs of its own: LibreOffice begins `\listtext` with `\pard`.
            b"par" | b"sect" | b"page" | b"pard" | b"s" | b"outlinelevel" | b"trowd" | b"cell"
            | b"row"
                if self.group.destination == Destination::Nowhere => {}
            b"ansicpg" => {
                let encoding = value.and_then(of_codepage);
                self.default_encoding = encoding.or(self.default_encoding);
                self.group.encoding = encoding.unwrap_or(self.group.encoding);
            }
            b"fonttbl" => self.group.destination = Destination::FontTable,
            b"f" => {
                let font = value.unwrap_or(0);
                if self.group.destination == Destination::FontTable {
                    self.fonts.define(font);
                } else {
                    let default = self.default_encoding.unwrap_or(encoding_rs::WINDOWS_1252);
                    self.group.encoding = self.fonts.encoding(font).unwrap_or(default);
                }
            }
            b"fcharset" => self.fonts.set_charset(value.unwrap_or(0)),
            b"title" if self.is_body_or_nowhere() => self.group.destination = Destination::Title,
            b"stylesheet" => self.group.destination = Destination::StyleSheet,
            b"s" => self.style(value.unwrap_or(0)),
            // The bullet or number as it was painted.
            b"listtext" | b"pntext" => {
                self.is_item |= self.group.destination == Destination::Body;
                self.group.destination = Destination::Nowhere;
            }
            b"info" | b"colortbl" | b"pict" | b"header" | b"headerl" | b"headerr" | b"headerf"
            | b"footer" | b"footerl" | b"footerr" | b"footerf" | b"fldinst" | b"object"
            | b"author" | b"operator" | b"company" | b"listtable" | b"generator" | b"xe"
            | b"tc" | b"themedata" | b"datastore" | b"revtbl" | b"atnid" | b"atnauthor" => {
                self.group.destination = Destination::Nowhere;
            }
            b"footnote" | b"annotation" => {
                // Some writers mark them as what may be passed over.
                self.group.destination =
                    self.above.last().map_or(Destination::Body, |around| around.destination);
                if !self.group.is_note {
                    self.group.is_note = true;
                    self.push(" (");
                }
            }
            b"v" => self.group.is_hidden = value != Some(0),
            b"uc" => self.group.fallback_bytes = value.unwrap_or(1).clamp(0, 8) as usize,
            b"u" => self.unicode(value.unwrap_or(0)),
            b"par" | b"sect" | b"page" => self.end_paragraph(),
            b"pard" => (self.level, self.is_item) = (None, false),
            b"outlinelevel" => {
                let level = value.and_then(|level| u8::try_from(level).ok());
                self.outline(level.map(|level| level.saturating_add(1)));
            }
            b"trowd" => self.open_row(),
            b"cell" => self.end_cell(),
            b"row" => self.end_row(),
            _ => {
                if let Some(text) = spelled(word) {
                    self.push(text);
                }
            }
        }
    }

    /// A paragraph is of this style, or the style sheet goes on to it.
    fn style(&mut self, style: i32) {
        if self.group.destination == Destination::StyleSheet {
            self.style = style;
        } else if let Some(level) = self.styles.get(&style) {
            self.level = Some(*level);
        }
    }

    fn outline(&mut self, level: Option<u8>) {
        if self.group.destination != Destination::StyleSheet {
            self.level = level;
        } else if let Some(level) = level {
            self.styles.insert(self.style, level);
        }
    }

    fn is_body_or_nowhere(&self) -> bool {
        matches!(self.group.destination, Destination::Body | Destination::Nowhere)
    }

    /// A UTF-16 code unit, written as a signed number.
    fn unicode(&mut self, value: i32) {
        self.passed_over = self.group.fallback_bytes;
        let unit = (value & 0xffff) as u16;
        let units: &[u16] = match self.high_surrogate.take() {
            Some(high) => &[high, unit],
            None if (0xd800..0xdc00).contains(&unit) => {
                self.high_surrogate = Some(unit);
                return;
            }
            None => &[unit],
        };
        for c in char::decode_utf16(units.iter().copied()).flatten() {
            self.push(c.encode_utf8(&mut [0; 4]));
        }
    }

    fn end_paragraph(&mut self) {
        self.flush();
        if self.group.is_note || self.in_row {
            self.paragraph.push(' ');
            return;
        }
        let text = std::mem::take(&mut self.paragraph);
        let is_item = std::mem::take(&mut self.is_item);
        match self.level {
            Some(level @ 1..=6) => self.prose.heading(level, &text),
            _ if is_item => self.prose.item(1, &text),
            _ => self.prose.paragraph(&text),
        }
    }

    fn open_row(&mut self) {
        if !self.in_row && self.group.destination == Destination::Body {
            self.end_paragraph();
            self.prose.open_row();
            self.in_row = true;
        }
    }

    fn end_cell(&mut self) {
        if self.in_row {
            self.prose.open_cell();
            self.prose.paragraph(&std::mem::take(&mut self.paragraph));
        }
    }

    fn end_row(&mut self) {
        if self.in_row {
            self.in_row = false;
            self.prose.close_row();
        }
    }
}

/// Control words that stand for characters.
fn spelled(word: &[u8]) -> Option<&'static str> {
    Some(match word {
        b"line" => "\n",
        b"tab" => "\t",
        b"emdash" => "—",
        b"endash" => "–",
        b"lquote" => "‘",
        b"rquote" => "’",
        b"ldblquote" => "“",
        b"rdblquote" => "”",
        b"bullet" => "•",
        b"emspace" | b"enspace" | b"qmspace" => " ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
