//! Which bytes are messages, and where one of a mailbox ends.

use memchr::memmem;

/// Bytes in which a message shows its headers.
const HEAD_BYTES: usize = 8 << 10;

/// Whether bytes open like a mailbox: `From ada@example.org Sat Jan  3 01:05:34 1996` and headers.
pub(in crate::extract) fn is_mailbox(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let mut lines = head.splitn(3, |byte| *byte == b'\n');
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    is_separator(first) && header_name(second).is_some()
}

/// Whether bytes open with the headers of a message: nothing but headers, among them `From` and one of
/// those that every message has.
pub(in crate::extract) fn is_message(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let (mut has_sender, mut has_mark) = (false, false);
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        // A header goes on in the lines that begin with a space.
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            continue;
        }
        let Some(name) = header_name(line) else { return false };
        has_sender |= name.eq_ignore_ascii_case(b"from");
        has_mark |= [&b"message-id"[..], b"mime-version", b"received", b"return-path"]
            .iter()
            .any(|mark| name.eq_ignore_ascii_case(mark));
    }
    has_sender && has_mark
}

fn header_name(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..colon];
    let is_name = |byte: &u8| byte.is_ascii_graphic();
    (!name.is_empty() && name.iter().all(is_name)).then_some(name)
}

/// The messages of a mailbox in the form `mboxrd`, where `From ` at the beginning of a line of text
/// has a `>` before it.
pub(super) fn messages(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut starts: Vec<usize> = memmem::find_iter(bytes, b"\nFrom ").map(|at| at + 1).collect();
    if bytes.starts_with(b"From ") {
        starts.insert(0, 0);
    }
    starts.retain(|start| {
        let line = bytes[*start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        is_separator(line)
    });
    starts.push(bytes.len());
    let bounds: Vec<(usize, usize)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    bounds.into_iter().map(|(start, end)| {
        let message = &bytes[start..end];
        let first =
            message.iter().position(|byte| *byte == b'\n').map_or(message.len(), |at| at + 1);
        unquoted(&message[first..])
    })
}

/// `From `, a sender, and a date, of which the year is at the end or nearly so.
fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let line = String::from_utf8_lossy(rest);
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    line.contains(':') && line.split_whitespace().rev().take(3).any(is_year)
}

/// The message without the `>` before `From ` at the beginning of its lines.
fn unquoted(message: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(message.len());
    for line in message.split_inclusive(|byte| *byte == b'\n') {
        let quotes = line.iter().take_while(|byte| **byte == b'>').count();
        let is_quoted = quotes > 0 && line[quotes..].starts_with(b"From ");
        plain.extend_from_slice(if is_quoted { &line[1..] } else { line });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: &[u8] =
        b"From ada@example.org Sat Jan  3 01:05:34 1996\nFrom: Ada\n\nHi\n>From afar\n\
        From here on it is text\n\nFrom bob Mon Feb 12 09:00:00 2024 +0000\nFrom: Bob\n\nYo\n";

    #[test]
    fn a_mailbox_falls_into_its_messages() {
        let messages: Vec<_> = messages(BOX).map(|m| String::from_utf8(m).unwrap()).collect();
        let first = "From: Ada\n\nHi\nFrom afar\nFrom here on it is text\n\n";
        assert_eq!(messages, [first, "From: Bob\n\nYo\n"]);
    }

    #[test]
    fn messages_are_told_from_texts() {
        assert!(is_mailbox(BOX));
        assert!(!is_mailbox(b"From here to 2024: a trip\n\nText"));
        assert!(is_message(b"Received: by x\r\n\tfor y\r\nFrom: a@b\r\nSubject: c\r\n\r\nText"));
        assert!(!is_message(b"From: me\nTo: you\n\nA letter"));
        assert!(!is_message(b"Received: a parcel\nand that is all\nFrom: x\n"));
    }
}
