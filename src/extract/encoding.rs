//! Bytes to UTF-8, whatever encoding they were written in.

mod wide;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP};

use super::Unreadable;
use wide::Width;

/// Characters looked at to tell text from binary data.
const SAMPLE_CHARS: usize = 1 << 16;

/// More control characters and undecodable bytes than one in so many, and it is no text. Random
/// bytes have about one in nine, damaged logs with blocks of NULs few.
const TEXT_CHARS_PER_STRAY: usize = 50;

/// Valid sequences of several bytes for each broken one, from which on a text is damaged UTF-8
/// rather than sound text of an older encoding.
const VALID_PER_BROKEN: usize = 4;

/// Decodes `bytes`, in this order: byte order mark, UTF-16 by its zero bytes, UTF-8, `declared`,
/// UTF-8 with few broken bytes (which become U+FFFD), what the statistics of `chardetng` say.
///
/// Sound UTF-8 wins over `declared`, since text of another encoding hardly ever is valid UTF-8 by
/// chance and a page that was converted often keeps its old declaration. The result has no byte
/// order mark and no NUL, which becomes a space; nothing else is changed.
///
/// # Errors
/// [`Unreadable::Binary`] when the result is not text.
pub(super) fn decode(
    bytes: Vec<u8>,
    declared: Option<&'static Encoding>,
) -> Result<String, Unreadable> {
    let (text, doubtful) = if let Some((width, mark)) = Width::of_mark(&bytes) {
        width.decode(&bytes[mark..])
    } else if let Some(width) = Width::of_zeros(&bytes) {
        width.decode(&bytes)
    } else {
        decode_narrow(bytes, declared)
    };
    if is_binary(&text, doubtful) {
        return Err(Unreadable::Binary);
    }
    Ok(without_nul(text))
}

/// The text, and whether its broken bytes count against it being text at all.
fn decode_narrow(mut bytes: Vec<u8>, declared: Option<&'static Encoding>) -> (String, bool) {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return decode_escapes(&text).unwrap_or((text, false)),
        Err(error) => error.into_bytes(),
    };
    if let Some(declared) = declared {
        let (text, damaged) = declared.decode_without_bom_handling(&bytes);
        if !damaged {
            return (text.into_owned(), false);
        }
    }
    if is_damaged_utf8(&bytes) {
        return (String::from_utf8_lossy(&bytes).into_owned(), false);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let (text, damaged) = guess.decode_without_bom_handling(&bytes);
    (text.into_owned(), damaged)
}

/// ISO-2022-JP is written in ASCII bytes alone, so it passes for UTF-8: its escapes betray it.
fn decode_escapes(text: &str) -> Option<(String, bool)> {
    if !text.is_ascii() || !(text.contains("\x1b$B") || text.contains("\x1b$@")) {
        return None;
    }
    let (decoded, damaged) = ISO_2022_JP.decode_without_bom_handling(text.as_bytes());
    (!damaged).then(|| (decoded.into_owned(), false))
}

fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut several, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        several += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    several >= broken * VALID_PER_BROKEN
}

fn is_binary(text: &str, doubtful: bool) -> bool {
    let (mut chars, mut stray) = (0, 0);
    for c in text.chars().take(SAMPLE_CHARS) {
        chars += 1;
        stray += usize::from(is_stray(c) || (doubtful && c == char::REPLACEMENT_CHARACTER));
    }
    stray * TEXT_CHARS_PER_STRAY > chars
}

/// Control characters that text files do not hold; tab, line and page breaks, backspace (manual
/// pages), escape (terminal colors) and Control-Z (the end of old DOS files) they do.
fn is_stray(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\x08' | '\x0c' | '\x1a' | '\x1b')
}

fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', " ") } else { text }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{
        BIG5, EUC_JP, EUC_KR, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
        WINDOWS_1253,
    };
    use proptest::prelude::*;

    use super::*;

    /// Texts as people write them in each encoding: detection rests on the statistics of language.
    const SAMPLES: &[(&Encoding, &str)] = &[
        (
            WINDOWS_1252,
            "Größe und Gewicht der Fässer wurden überprüft; das Maß ist für alle gleich.\r\n",
        ),
        (
            WINDOWS_1252,
            "L'été dernier, nous avons déjà vérifié la qualité des forêts près de l'océan.\n",
        ),
        (ISO_8859_2, "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl překvapený učitel dětem.\n"),
        (WINDOWS_1251, "Съешь ещё этих мягких французских булок, да выпей чаю.\n"),
        (KOI8_R, "Съешь ещё этих мягких французских булок, да выпей чаю.\n"),
        (WINDOWS_1253, "Η γρήγορη αλεπού πηδάει πάνω από το τεμπέλικο σκυλί κάθε πρωί.\n"),
        (SHIFT_JIS, "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\r\n"),
        (EUC_JP, "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n"),
        (ISO_2022_JP, "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n"),
        (GBK, "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。\n"),
        (BIG5, "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心。\n"),
        (EUC_KR, "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"),
    ];

    fn plain(bytes: impl Into<Vec<u8>>) -> Result<String, Unreadable> {
        decode(bytes.into(), None)
    }

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        let order = if big_endian { u16::to_be_bytes } else { u16::to_le_bytes };
        text.encode_utf16().flat_map(order).collect()
    }

    fn utf32(text: &str, big_endian: bool) -> Vec<u8> {
        let order = if big_endian { u32::to_be_bytes } else { u32::to_le_bytes };
        text.chars().map(u32::from).flat_map(order).collect()
    }

    fn with_mark(mark: &[u8], bytes: Vec<u8>) -> Vec<u8> {
        [mark.to_vec(), bytes].concat()
    }

    #[test]
    fn encodings_round_trip_on_language_of_any_length() {
        for (encoding, sample) in SAMPLES {
            for times in [1, 3, 40] {
                let text = sample.repeat(times);
                let (bytes, _, lost) = encoding.encode(&text);
                assert!(!lost, "{}", encoding.name());
                assert_eq!(plain(bytes.into_owned()).unwrap(), text, "{}", encoding.name());
            }
        }
    }

    #[test]
    fn a_declared_encoding_decides_where_statistics_cannot() {
        let (bytes, _, _) = WINDOWS_1251.encode("щи");
        assert_eq!(decode(bytes.to_vec(), Some(WINDOWS_1251)).unwrap(), "щи");
        let utf8 = "naïve café".as_bytes().to_vec();
        assert_eq!(decode(utf8, Some(WINDOWS_1252)).unwrap(), "naïve café");
    }

    #[test]
    fn few_broken_bytes_are_replaced() {
        let mut bytes = "Ein Bär, zwei Bären, drei süße Bärchen: schön.".as_bytes().to_vec();
        bytes.push(0xff);
        let text = plain(bytes).unwrap();
        assert!(text.starts_with("Ein Bär") && text.ends_with('\u{fffd}'), "{text}");
    }

    #[test]
    fn a_log_with_a_few_nuls_is_text_and_noise_is_not() {
        let log =
            format!("{}\0\0{}", "service started\n".repeat(20), "service stopped\n".repeat(20));
        assert!(!plain(log).unwrap().contains('\0'));
        let mut state = 1_u32;
        let noise = (0..4096).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        assert_eq!(plain(noise.collect::<Vec<_>>()), Err(Unreadable::Binary));
        assert_eq!(plain(vec![0; 100]), Err(Unreadable::Binary));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>) {
            if let Ok(text) = plain(bytes) {
                prop_assert!(!text.contains('\0'));
            }
        }

        #[test]
        fn unicode_encodings_with_a_mark_round_trip(text in "[^\\x00-\\x1f\\x7f\u{feff}]{1,200}") {
            prop_assert_eq!(&plain(text.clone()).unwrap(), &text);
            for big_endian in [false, true] {
                let (mark16, mark32): (&[u8], &[u8]) = if big_endian {
                    (b"\xfe\xff", b"\0\0\xfe\xff")
                } else {
                    (b"\xff\xfe", b"\xff\xfe\0\0")
                };
                let bytes = with_mark(mark16, utf16(&text, big_endian));
                prop_assert_eq!(&plain(bytes).unwrap(), &text);
                let bytes = with_mark(mark32, utf32(&text, big_endian));
                prop_assert_eq!(&plain(bytes).unwrap(), &text);
            }
            let bytes = with_mark(b"\xef\xbb\xbf", text.clone().into_bytes());
            prop_assert_eq!(&plain(bytes).unwrap(), &text);
        }

        #[test]
        fn utf16_without_a_mark_round_trips_where_words_have_spaces(
            text in "([a-zäöüа-я]{1,6} ){4,40}", big_endian: bool
        ) {
            prop_assert_eq!(&plain(utf16(&text, big_endian)).unwrap(), &text);
        }
    }
}
