//! Messages and mailboxes: who wrote what to whom and when, and what was attached.

mod mailbox;

use std::fmt::Write as _;

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use super::nested::Members;
use super::{Extracted, Unreadable, html, one_line, stem, title};
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

/// All messages of a mailbox, each marked with its number and subject.
///
/// # Errors
/// As [`read_message`].
pub(super) fn read_mailbox(
    bytes: &[u8],
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let (mut text, mut locators) = (String::new(), LocatorMap::default());
    for (number, bytes) in (1_u32..).zip(mailbox::messages(bytes)) {
        let Ok(message) = parse(&bytes) else { continue };
        let mut members = Members::new(levels_left);
        write(&mut members, &message)?;
        if members.text.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let subject = title::choose(message.subject(), None, "no subject");
        locators.push(text.len(), Locator::Message { message: number, subject });
        text.push_str(&members.text);
    }
    finish(text, locators, stem(name).to_owned())
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
