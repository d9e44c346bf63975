use crate::data::TextLayout;

use super::language;

/// Which reader takes a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Markdown,
    Html,
    Code(TextLayout),
    /// Values with commas or tabs between.
    Table,
    Latex,
    Notebook,
}

/// Whether a name says that the file is text of some kind.
pub(super) fn is_known(name: &str) -> bool {
    Format::of_name(name).is_some()
}

/// Whether [`Format::detect`] may take bytes for a page; never says no of one.
pub(super) fn may_be_page(name: &str, from_web: bool, bytes: &[u8]) -> bool {
    match Format::of_name(name) {
        Some(Format::Html) => true,
        Some(_) if !from_web => false,
        // In every encoding a page opens with this, after spaces and marks that are no ASCII.
        _ => bytes.iter().find(|byte| byte.is_ascii_graphic()) == Some(&b'<'),
    }
}

impl Format {
    /// By name where it says enough, else by content. A page from the web goes by content first: its
    /// address may end in anything (`index.php`, `release.md`) and still give HTML.
    pub(super) fn detect(name: &str, from_web: bool, text: &str) -> Self {
        if from_web && is_html(text) {
            return Self::Html;
        }
        Self::of_name(name).or_else(|| Self::of_content(text)).unwrap_or(Self::Plain)
    }

    fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        // Before the extension: `CMakeLists.txt` is code.
        if language::is_code_name(&lower) {
            return Some(Self::Code(TextLayout::Plain));
        }
        let extension = lower.rsplit_once('.').map(|(_, extension)| extension)?;
        match extension {
            "html" | "htm" | "xhtml" | "xht" | "shtml" => Some(Self::Html),
            "md" | "markdown" | "mdown" | "mkd" | "mkdn" | "mdx" | "qmd" | "rmd" => {
                Some(Self::Markdown)
            }
            "txt" | "text" | "log" | "rst" | "adoc" | "asciidoc" | "org" | "bib" | "srt"
            | "vtt" => Some(Self::Plain),
            "csv" | "tsv" => Some(Self::Table),
            "tex" | "ltx" | "latex" => Some(Self::Latex),
            "ipynb" => Some(Self::Notebook),
            _ => language::of_extension(extension).map(Self::Code),
        }
    }

    fn of_content(text: &str) -> Option<Self> {
        if is_html(text) {
            return Some(Self::Html);
        }
        language::of_shebang(text).map(Self::Code)
    }
}

/// Whether a text opens as an HTML page, after comments and an XML declaration.
fn is_html(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let (open, close) = match rest.as_bytes() {
            [b'<', b'!', b'-', b'-', ..] => ("<!--", "-->"),
            [b'<', b'?', ..] => ("<?", "?>"),
            _ => break,
        };
        match rest[open.len()..].find(close) {
            Some(end) => rest = rest[open.len() + end + close.len()..].trim_start(),
            None => return false,
        }
    }
    let opens = |tag: &str| {
        rest.as_bytes()
            .get(..tag.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes()))
    };
    ["<!doctype html", "<html", "<head", "<body"].into_iter().any(opens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_file(name: &str, text: &str) -> Format {
        Format::detect(name, false, text)
    }

    #[test]
    fn the_name_decides_where_it_says_enough() {
        assert_eq!(of_file("a.TXT", "<html>"), Format::Plain);
        assert_eq!(of_file("a.Md", ""), Format::Markdown);
        assert_eq!(of_file("lib.rs", ""), Format::Code(TextLayout::Rust));
        assert_eq!(of_file("CMakeLists.txt", ""), Format::Code(TextLayout::Plain));
        assert_eq!(of_file("Dockerfile.dev", ""), Format::Code(TextLayout::Plain));
        assert_eq!(of_file("notes", "Milk, eggs"), Format::Plain);
    }

    #[test]
    fn the_content_decides_where_the_name_does_not() {
        let page = "\n<?xml version=\"1.0\"?>\n<!-- saved -->\n<!DOCTYPE HTML>";
        assert_eq!(of_file("page", page), Format::Html);
        assert_eq!(of_file("run", "#!/usr/bin/env python3\n"), Format::Code(TextLayout::Python));
        assert_eq!(of_file("run", "#!/bin/sh\n"), Format::Code(TextLayout::Plain));
        assert_eq!(of_file("page", "<!-- unclosed"), Format::Plain);
    }

    #[test]
    fn what_is_detected_as_a_page_was_thought_to_be_one() {
        let utf16 = "\u{feff} <!-- saved --> <html>".encode_utf16().flat_map(u16::to_le_bytes);
        assert!(may_be_page("page", false, &utf16.collect::<Vec<u8>>()));
        assert!(may_be_page("a.HTM", false, b""));
        assert!(!may_be_page("a.md", false, b"<html>"));
        assert!(!may_be_page("notes", false, b"\xef\xbb\xbf# A <html>"));
        for name in ["a", "a.md", "a.html", "index.php"] {
            for text in ["<html>", "\n <!-- a --> <!doctype html>", "a <html>", "<?php ?><body>"] {
                for from_web in [false, true] {
                    let is_page = Format::detect(name, from_web, text) == Format::Html;
                    assert!(
                        !is_page || may_be_page(name, from_web, text.as_bytes()),
                        "{name} {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_page_of_the_web_goes_by_content_first() {
        assert_eq!(Format::detect("index.php", true, "<html>"), Format::Html);
        assert_eq!(Format::detect("README.md", true, "# Title"), Format::Markdown);
        assert_eq!(Format::detect("README.md", false, "<html>"), Format::Markdown);
    }
}
