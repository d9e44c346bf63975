//! Letters as they are typed, whatever the typesetter made of them.

use std::collections::HashSet;

/// Stands where a word was broken at the end of a line, until [`heal`] has decided what it was.
pub(super) const BROKEN: char = '\u{2}';

/// Makes broken words whole: with their hyphen where the document has the word with a hyphen inside
/// a line as well, and without it everywhere else.
pub(super) fn heal(pages: &mut [String]) {
    let compounds: HashSet<String> = pages
        .iter()
        .flat_map(|page| page.split_whitespace())
        .filter(|word| word.contains('-') && !word.contains(BROKEN))
        .map(bare)
        .collect();
    for page in pages.iter_mut().filter(|page| page.contains(BROKEN)) {
        let mut whole = String::with_capacity(page.len());
        for word in page.split_inclusive(char::is_whitespace) {
            let hyphenated = word.replace(BROKEN, "-");
            let is_compound = word.contains(BROKEN) && compounds.contains(&bare(&hyphenated));
            whole.push_str(&if is_compound { hyphenated } else { word.replace(BROKEN, "") });
        }
        *page = whole;
    }
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// A page's text with ligatures as letters, rows of dots as an ellipsis and no characters without
/// meaning.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ﬀ' => clean.push_str("ff"),
            'ﬁ' => clean.push_str("fi"),
            'ﬂ' => clean.push_str("fl"),
            'ﬃ' => clean.push_str("ffi"),
            'ﬄ' => clean.push_str("ffl"),
            'ﬅ' | 'ﬆ' => clean.push_str("st"),
            '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\t' => clean.push(' '),
            '\n' => clean.push('\n'),
            // Of a font's own; who has the font sees a sign, everyone else nothing.
            '\u{e000}'..='\u{f8ff}' | '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{fffd}' => {}
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    let lines: Vec<String> = clean.lines().map(|line| without_leaders(line.trim())).collect();
    lines.join("\n").trim().to_owned()
}

/// `1.2 Scope . . . . . . 7` is `1.2 Scope … 7`.
fn without_leaders(line: &str) -> String {
    let mut short = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(['.', '·', '…']) {
        let run = &rest[start..];
        let end = run.find(|c| !matches!(c, '.' | '·' | '…' | ' ')).unwrap_or(run.len());
        let dots = run[..end].chars().filter(|c| *c != ' ').count();
        short.push_str(&rest[..start]);
        if dots > 3 {
            short.truncate(short.trim_end().len());
            short.push_str(" … ");
        } else {
            short.push_str(&run[..end]);
        }
        rest = &run[end..];
    }
    short.push_str(rest);
    short.trim_end().to_owned()
}

/// Whether a line ends and the next begins in a script without spaces.
pub(super) fn joins_without_space(last: char, first: char) -> bool {
    let is_wide = |c: char| {
        matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ff60}')
    };
    is_wide(last) && is_wide(first)
}

/// A text of the document's properties: UTF-16 or UTF-8 behind a mark, else PDFDocEncoding, whose
/// letters are those of Latin-1.
pub(super) fn property(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into(),
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into(),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_typed() {
        assert_eq!(clean(" ofﬁce\u{a0}ﬂow\u{ad}er\n\u{f0b7}\u{7} a "), "office flower\na");
        assert_eq!(clean("1.2 Scope . . . . . . 7"), "1.2 Scope … 7");
        assert_eq!(clean("Wait... 3.5 e.g. this"), "Wait... 3.5 e.g. this");
        assert_eq!(clean("End......"), "End …");
    }

    #[test]
    fn broken_words_are_whole_again() {
        let broken = format!("a wrung{BROKEN}out for{BROKEN}est, and a wrung-out sponge");
        let mut pages = [broken, "A Wrung-out.".to_owned()];
        heal(&mut pages);
        assert_eq!(pages[0], "a wrung-out forest, and a wrung-out sponge");
    }

    #[test]
    fn properties_come_in_several_encodings() {
        assert_eq!(property(b"\xfe\xff\0A\x01\x42"), "Ał");
        assert_eq!(property(b"\xef\xbb\xbf\xc3\xa9"), "é");
        assert_eq!(property(b"\xe9t\xe9"), "été");
        assert_eq!(property("été".as_bytes()), "été");
    }
}
