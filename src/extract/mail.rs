//! Messages and mailboxes: who wrote what to whom and when, and what was attached.

mod mailbox;

use std::fmt::Write as _;

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use super::nested::Members;
use super::{Extracted, Unreadable, caught, html, one_line, stem, title};
use crate::data::{Locator, LocatorMap, MediaType, TextLayout};

pub(super) use mailbox::{is_mailbox, is_message};

/// One message. Its title is the subject.
///
/// # Errors
/// When it cannot be parsed, holds nothing, or its attachments are more than the limits.
pub(super) fn read_message(
    bytes: &[u8],
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let message = parse(bytes)?;
    let mut members = Members::new(levels_left);
    write(&mut members, &message)?;
    let title = title::choose(message.subject(), None, name);
    finish(members.text, members.locators, title)
}

/// All messages of a mailbox, each marked with its number and subject. One that cannot be read is only
/// named, at the end.
///
/// # Errors
/// When no message gives text, with what kept the first from it.
pub(super) fn read_mailbox(
    bytes: &[u8],
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let mut mailbox = Members::new(levels_left);
    for (number, bytes) in (1_u32..).zip(mailbox::messages(bytes)) {
        let (subject, text) = match caught(|| one_of_many(&bytes, levels_left)) {
            Ok(message) => message,
            Err(reason) => {
                mailbox.unread.push(&format!("message {number}"), &reason);
                continue;
            }
        };
        if text.is_empty() {
            continue;
        }
        mailbox.gap();
        let start = mailbox.text.len();
        mailbox.locators.push(start, Locator::Message { message: number, subject });
        mailbox.text.push_str(&text);
    }
    if mailbox.text.is_empty() {
        return Err(mailbox.unread.into_reason());
    }
    mailbox.name_unread("Messages without text:");
    finish(mailbox.text, mailbox.locators, stem(name).to_owned())
}

/// Subject and text of a message among others.
fn one_of_many(bytes: &[u8], levels_left: u32) -> Result<(String, String), Unreadable> {
    let message = parse(bytes)?;
    let mut members = Members::new(levels_left);
    write(&mut members, &message)?;
    Ok((title::choose(message.subject(), None, "no subject"), members.text))
}

/// A page that a browser saved as one file: the page is the first HTML of the message.
///
/// # Errors
/// When there is no page in it, or as for a page.
pub(super) fn read_web_archive(bytes: &[u8], name: &str) -> Result<Extracted, Unreadable> {
    let message = parse(bytes)?;
    let page = message.parts.iter().find_map(|part| match &part.body {
        PartType::Html(page) => Some(page),
        _ => None,
    });
    html::read(page.ok_or(Unreadable::NoTextInPage)?, name)
}

fn parse(bytes: &[u8]) -> Result<Message<'_>, Unreadable> {
    let damaged = || Unreadable::Damaged { what: "it holds no message".into() };
    MessageParser::default().parse(bytes).ok_or_else(damaged)
}

fn finish(text: String, locators: LocatorMap, title: String) -> Result<Extracted, Unreadable> {
    if text.trim().is_empty() {
        return Err(Unreadable::NoText);
    }
    let text = if text.contains('\0') { text.replace('\0', " ") } else { text };
    Ok(Extracted {
        media_type: MediaType::Email,
        title,
        text,
        layout: TextLayout::Plain,
        has_lines: false,
        locators,
    })
}

/// Headers, body and attachments of one message.
fn write(members: &mut Members, message: &Message<'_>) -> Result<(), Unreadable> {
    let mut text = String::new();
    for (label, value) in [
        ("Subject", message.subject().map(one_line)),
        ("From", message.from().map(people)),
        ("To", message.to().map(people)),
        ("Cc", message.cc().map(people)),
        ("Date", message.date().map(date)),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = writeln!(text, "{label}: {value}");
        }
    }
    for part in message.text_bodies() {
        let body = body(part);
        if !body.trim().is_empty() {
            let _ = write!(text, "\n{}\n", body.trim());
        }
    }
    members.text.push_str(&text);
    for part in message.attachments() {
        let name = part.attachment_name().map_or_else(|| unnamed(part), one_line);
        match &part.body {
            // Text that the message shows as its body in another form.
            PartType::Html(_) if part.attachment_name().is_none() => {}
            PartType::Multipart(_) => {}
            PartType::Message(inner) => members.push(&name, inner.raw_message().to_vec())?,
            _ => members.push(&name, part.contents().to_vec())?,
        }
    }
    members.name_unread("Attachments without text:");
    Ok(())
}

fn body(part: &MessagePart<'_>) -> String {
    match &part.body {
        PartType::Html(page) => match html::read_whole(page) {
            Ok(Some(page)) => page.text,
            Ok(None) | Err(_) => String::new(),
        },
        PartType::Text(text) => text.replace("\r\n", "\n"),
        _ => String::new(),
    }
}

fn unnamed(part: &MessagePart<'_>) -> String {
    match &part.body {
        PartType::Message(message) => {
            let subject = message.subject().map(one_line).unwrap_or_default();
            format!("{subject}.eml")
        }
        PartType::Text(_) => "attachment.txt".to_owned(),
        _ => "attachment".to_owned(),
    }
}

/// Names and addresses: `Ada Lovelace <ada@example.org>, Charles`.
fn people(address: &Address<'_>) -> String {
    let person = |person: &mail_parser::Addr<'_>| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => String::new(),
    };
    let people: Vec<String> = address.iter().map(person).filter(|one| !one.is_empty()).collect();
    one_line(&people.join(", "))
}

fn date(date: &mail_parser::DateTime) -> String {
    let mail_parser::DateTime { year, month, day, hour, minute, .. } = date;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over this one `mail-parser` 0.11 panics; it is among its own samples.
    const BROKEN: &str = "d\nContent-Type:multipart;boundary=b5\n\n--b5Content-Type:message/rfc822\n\
                          \n5\nContent-Type:message/rfc822\n\n\n--b5--";

    fn read(messages: &[&str]) -> Result<Extracted, Unreadable> {
        let separated = |text: &&str| format!("From bo Mon Feb 12 09:00:00 2024\n{text}\n\n");
        let mailbox: String = messages.iter().map(separated).collect();
        read_mailbox(mailbox.as_bytes(), "list.mbox", 3)
    }

    #[test]
    fn a_message_that_cannot_be_read_costs_itself_alone() {
        let mailbox = read(&["Subject: One\n\nfirst", BROKEN, "Subject: Three\n\nthird"]).unwrap();
        let marks: Vec<_> = mailbox.locators.iter().map(|(_, mark)| mark.to_string()).collect();
        assert_eq!(marks, ["message 1: One", "message 3: Three"]);
        let (_, unread) = mailbox.text.split_once("\nMessages without text:\n\n").unwrap();
        assert!(unread.starts_with("message 2 (its reader crashed ("), "{unread}");
        let reason = read(&[BROKEN]).unwrap_err();
        assert!(matches!(reason, Unreadable::ReaderCrashed { .. }), "{reason}");
    }
}
