use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes in which a page has to declare its encoding.
/// <https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding>
const PRESCAN_BYTES: usize = 2048;

/// The encoding that a `<meta charset>`, `<meta http-equiv>` or XML declaration names.
pub(in crate::extract) fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(PRESCAN_BYTES)].to_ascii_lowercase();
    let label = of_xml(&head).or_else(|| of_meta(&head))?;
    let encoding = Encoding::for_label(label)?;
    // A declaration that can be read byte by byte is not written in UTF-16, whatever it says.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn of_xml(head: &[u8]) -> Option<&[u8]> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = find(declaration, b"?>")?;
    value_of(&declaration[..end], b"encoding")
}

fn of_meta(mut head: &[u8]) -> Option<&[u8]> {
    while let Some(start) = find(head, b"<meta") {
        head = &head[start + b"<meta".len()..];
        let end = find(head, b">").unwrap_or(head.len());
        if let Some(label) = value_of(&head[..end], b"charset") {
            return Some(label);
        }
    }
    None
}

/// The value after `key` and `=`, with or without quotes.
fn value_of<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = text[find(text, key)? + key.len()..].trim_ascii_start();
    let value = rest.strip_prefix(b"=")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b"\"';/>".contains(byte))
        .unwrap_or(value.len());
    Some(&value[..end])
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    use super::*;

    #[test]
    fn declarations_of_every_form() {
        let of = |text: &str| declared_encoding(text.as_bytes());
        assert_eq!(of("<html><META CHARSET=Shift_JIS>"), Some(SHIFT_JIS));
        let equiv = "<meta name=a><meta http-equiv='Content-Type' content='text/html; \
                     charset=windows-1251'>";
        assert_eq!(of(equiv), Some(WINDOWS_1251));
        assert_eq!(of("<?xml version='1.0' encoding=\"iso-8859-1\"?>"), Some(WINDOWS_1252));
        assert_eq!(of("<meta charset=utf-16>"), Some(UTF_8));
        assert_eq!(of("<meta charset=\"klingon\">"), None);
        assert_eq!(of("<p>charset=utf-8"), None);
        assert_eq!(of("<meta charset"), None);
    }
}
