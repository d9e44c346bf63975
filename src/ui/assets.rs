//! Everything that the page shows or runs, part of the binary: nothing is fetched.

use std::borrow::Cow;

use dioxus::desktop::wry::http::{Response, StatusCode};
use dioxus::desktop::{AssetRequest, RequestAsyncResponder};

pub const INDEX: &str = include_str!("../../assets/web/index.html");
pub const ICON_PNG: &[u8] = include_bytes!("../../assets/icons/lodestone-256.png");

const SCRIPT: &str = include_str!("../../assets/web/window.js");
pub const TOKENS: &str = include_str!("../../assets/styles/tokens.css");
const STYLES: [&str; 9] = [
    TOKENS,
    include_str!("../../assets/styles/base.css"),
    include_str!("../../assets/styles/chrome.css"),
    include_str!("../../assets/styles/search.css"),
    include_str!("../../assets/styles/reader.css"),
    include_str!("../../assets/styles/library.css"),
    include_str!("../../assets/styles/web.css"),
    include_str!("../../assets/styles/pages.css"),
    include_str!("../../assets/styles/overlays.css"),
];

/// Something that is part of the program, and on what terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct License {
    pub name: &'static str,
    pub what: &'static str,
    pub terms: &'static str,
    /// The whole text where it has to come along; empty for what Cargo.lock names.
    pub text: &'static str,
}

pub const LICENSES: [License; 12] = [
    License {
        name: "all-MiniLM-L6-v2",
        what: "the embedding model that comes with the program",
        terms: "Apache-2.0",
        text: concat!(
            include_str!("../../assets/models/all-MiniLM-L6-v2/NOTICE"),
            "\n",
            include_str!("../../assets/models/all-MiniLM-L6-v2/LICENSE"),
        ),
    },
    License {
        name: "Source Sans 3",
        what: "the face of the window",
        terms: "OFL-1.1",
        text: include_str!("../../assets/fonts/LICENSE-source-sans-3.txt"),
    },
    License {
        name: "Source Serif 4",
        what: "the face of the reader",
        terms: "OFL-1.1",
        text: include_str!("../../assets/fonts/LICENSE-source-serif-4.txt"),
    },
    License {
        name: "JetBrains Mono",
        what: "the face of paths and code",
        terms: "OFL-1.1",
        text: include_str!("../../assets/fonts/LICENSE-jetbrains-mono.txt"),
    },
    License {
        name: "Lucide",
        what: "the icons",
        terms: "ISC",
        text: include_str!("../../assets/icons/lucide/LICENSE"),
    },
    library("dioxus 0.7", "the window", "MIT or Apache-2.0"),
    library("candle 0.11", "networks on CPU and GPU", "MIT or Apache-2.0"),
    library("tantivy 0.27", "the keyword index", "MIT"),
    library("SQLite", "the store, through rusqlite 0.41", "public domain, MIT"),
    library("tokenizers 0.23", "text to tokens", "Apache-2.0"),
    library("tokio 1, hyper 1, reqwest 0.12", "work beside work, and the web", "MIT, Apache-2.0"),
    library("text-splitter 0.33", "passages", "MIT"),
];

const fn library(name: &'static str, what: &'static str, terms: &'static str) -> License {
    License { name, what, terms, text: "" }
}

/// The first part of the path under which fonts are asked for.
pub const FONTS: &str = "fonts";

macro_rules! fonts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../../assets/fonts/", $name)).as_slice())),*]
    };
}

const FONT_FILES: [(&str, &[u8]); 7] = fonts![
    "source-sans-3-latin-wght-normal.woff2",
    "source-sans-3-latin-ext-wght-normal.woff2",
    "source-serif-4-latin-wght-normal.woff2",
    "source-serif-4-latin-ext-wght-normal.woff2",
    "source-serif-4-latin-wght-italic.woff2",
    "jetbrains-mono-latin-wght-normal.woff2",
    "jetbrains-mono-latin-ext-wght-normal.woff2",
];

/// What goes into the head of the page.
pub fn head() -> String {
    format!("<style>{}</style><script>{SCRIPT}</script>", STYLES.concat())
}

/// Answers a request for a font.
pub fn serve_font(request: &AssetRequest, responder: RequestAsyncResponder) {
    let name = request.uri().path().rsplit('/').next().unwrap_or_default();
    let found = FONT_FILES.iter().find(|(file, _)| *file == name);
    let (status, body) =
        found.map_or((StatusCode::NOT_FOUND, &[][..]), |(_, bytes)| (StatusCode::OK, *bytes));
    let answer = Response::builder()
        .status(status)
        .header("Content-Type", "font/woff2")
        .header("Access-Control-Allow-Origin", "*")
        .body(Cow::Borrowed(body));
    // Built from constants, so it cannot be malformed; without it the page falls back to a
    // system face.
    if let Ok(answer) = answer {
        responder.respond(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_font_of_the_styles_is_bundled_and_nothing_is_fetched() {
        let head = head();
        for url in head.split("url(").skip(1) {
            let url = url.split(')').next().unwrap().trim_matches('"');
            let name = url.strip_prefix("/fonts/").expect("styles ask for bundled fonts alone");
            assert!(FONT_FILES.iter().any(|(file, _)| *file == name), "{name}");
        }
        for far in ["http://", "https://", "@import"] {
            assert!(!head.contains(far), "{far}");
        }
    }

    /// The value of a color token, in the light theme or the dark one.
    fn color(dark: bool, name: &str) -> [f64; 3] {
        let blocks: Vec<&str> = TOKENS.split("color-scheme:").collect();
        let block = blocks[if dark { 2 } else { 1 }];
        let value = block.split(&format!("--{name}: #")).nth(1).unwrap();
        [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap()) / 255.0)
    }

    /// Contrast of two colors as WCAG 2.2 defines it, 1 ..= 21.
    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let luminance = |color: [f64; 3]| {
            let linear = color
                .map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        (a / b).max(b / a)
    }

    /// The rules of the styles beside the tokens: selector and body.
    fn rules() -> Vec<(String, String)> {
        let mut rules = Vec::new();
        for style in &STYLES[1..] {
            // Remarks name no color that is used.
            let plain: String =
                style.split("/*").map(|part| part.split("*/").last().unwrap()).collect();
            for rule in plain.split('}') {
                if let Some((selector, body)) = rule.rsplit_once('{') {
                    rules.push((selector.trim().to_owned(), body.to_owned()));
                }
            }
        }
        rules
    }

    /// The token that a property of a rule has, if it has one.
    fn token<'a>(body: &'a str, properties: &[&str]) -> Option<&'a str> {
        body.split(';').find_map(|line| {
            let (property, value) = line.trim().split_once(':')?;
            let value = value.trim().strip_prefix("var(--")?;
            properties.contains(&property.trim()).then(|| value.split(')').next())?
        })
    }

    /// Where text stands that names no ground of its own.
    const GROUNDS: [&str; 5] = ["frame", "surface", "raised", "hover", "selected"];

    #[test]
    fn every_color_of_the_styles_is_readable_where_it_stands() {
        let mut pairs = std::collections::BTreeSet::new();
        for (selector, body) in rules() {
            let ground = token(&body, &["background", "background-color"]);
            match (token(&body, &["color"]), ground) {
                (Some(text), Some(ground)) => {
                    pairs.insert((text.to_owned(), ground.to_owned(), selector));
                }
                // An icon is no text, and none of these says something alone.
                (Some(text), None) if !selector.contains(".icon") => {
                    for ground in GROUNDS {
                        pairs.insert((text.to_owned(), ground.to_owned(), selector.clone()));
                    }
                }
                _ => {}
            }
        }
        assert!(pairs.len() > 100, "{} pairs", pairs.len());
        let mut faint = Vec::new();
        for (text, ground, selector) in &pairs {
            for dark in [false, true] {
                let ratio = contrast(color(dark, text), color(dark, ground));
                // Text over a match or the accent names that ground in its rule.
                if ratio < 4.5 {
                    faint.push(format!("{selector}: {text} on {ground}, dark {dark}: {ratio:.2}"));
                }
            }
        }
        assert!(faint.is_empty(), "{}", faint.join("\n"));
        // What is no text but has to be seen: the focus, and the edge of what is typed into.
        for seen in ["accent", "edge"] {
            for ground in GROUNDS {
                for dark in [false, true] {
                    let ratio = contrast(color(dark, seen), color(dark, ground));
                    assert!(ratio >= 3.0, "{seen} on {ground}, dark {dark}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn colors_and_times_stand_in_the_tokens_alone() {
        for (selector, body) in rules() {
            for line in body.split(';') {
                let value = line.split_once(':').map_or("", |(_, value)| value);
                let has_color =
                    value.contains('#') || value.contains("rgb(") || value.contains("hsl(");
                assert!(!has_color, "{selector}: {line}");
                let is_motion = line.contains("transition") || line.contains("animation");
                let has_time = value.contains("ms")
                    || value.split(' ').any(|word| {
                        word.trim_end_matches('s').parse::<f64>().is_ok() && word.ends_with('s')
                    });
                assert!(!(is_motion && has_time), "{selector}: {line}");
            }
        }
    }

    #[test]
    fn every_text_is_readable_on_every_ground_it_stands_on() {
        let grounds = ["frame", "surface", "raised", "hover", "selected", "chosen", "found"];
        let mut pairs: Vec<(&str, &str)> = grounds
            .into_iter()
            .flat_map(|ground| [("ink", ground), ("ink-soft", ground), ("ink-faint", ground)])
            .collect();
        pairs.extend([
            ("ink", "sentence"),
            ("ink-soft", "sentence"),
            ("match-ink", "match"),
            ("accent", "surface"),
            ("accent", "frame"),
            ("accent", "selected"),
            ("on-accent", "accent"),
            ("on-accent", "accent-hover"),
            ("warning", "warning-surface"),
            ("warning", "frame"),
            ("warning", "raised"),
            ("danger", "surface"),
            ("danger", "hover"),
        ]);
        for dark in [false, true] {
            for (text, ground) in &pairs {
                let ratio = contrast(color(dark, text), color(dark, ground));
                assert!(ratio >= 4.5, "{text} on {ground}, dark {dark}: {ratio:.2}");
            }
        }
    }
}
