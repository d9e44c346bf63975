use crate::data::{Source, TextLayout};

use super::language;

/// Which reader takes a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Markdown,
    Html,
    Code(TextLayout),
}

impl Format {
    /// By name where it says enough, else by content. A page from the web goes by content first: its
    /// address may end in anything (`index.php`, `release.md`) and still give HTML.
    pub(super) fn detect(source: &Source, name: &str, text: &str) -> Self {
        let from_web = matches!(source, Source::Web(_));
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
            "txt" | "text" | "log" | "rst" | "adoc" | "asciidoc" | "org" | "tex" | "csv"
            | "tsv" | "srt" | "vtt" | "eml" => Some(Self::Plain),
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
        Format::detect(&Source::File(format!("/x/{name}").into()), name, text)
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
    fn a_page_of_the_web_goes_by_content_first() {
        let url = |text: &str| Source::Web(text.parse().unwrap());
        let index = url("https://example.org/index.php");
        assert_eq!(Format::detect(&index, "index.php", "<html>"), Format::Html);
        let readme = url("https://example.org/README.md");
        assert_eq!(Format::detect(&readme, "README.md", "# Title"), Format::Markdown);
    }
}
