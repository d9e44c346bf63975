//! Encodings by the numbers that Windows gives them.

use std::collections::HashMap;

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, IBM866, ISO_8859_2, MACINTOSH, SHIFT_JIS, UTF_8, WINDOWS_874,
    WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255,
    WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};

pub(super) fn of_codepage(page: i32) -> Option<&'static Encoding> {
    Some(match page {
        852 => ISO_8859_2,
        866 => IBM866,
        874 => WINDOWS_874,
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1252 => WINDOWS_1252,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10_000 => MACINTOSH,
        65_001 => UTF_8,
        _ => return None,
    })
}

/// Charset 0 is ANSI, which may be any: the document's own page holds.
fn of_charset(charset: i32) -> Option<&'static Encoding> {
    of_codepage(match charset {
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

/// The encodings of the fonts of a document.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    encodings: HashMap<i32, &'static Encoding>,
    defined: i32,
}

impl Fonts {
    /// What is said next is of this font.
    pub(super) fn define(&mut self, font: i32) {
        self.defined = font;
    }

    pub(super) fn set_charset(&mut self, charset: i32) {
        if let Some(encoding) = of_charset(charset) {
            self.encodings.insert(self.defined, encoding);
        }
    }

    pub(super) fn encoding(&self, font: i32) -> Option<&'static Encoding> {
        self.encodings.get(&font).copied()
    }
}
