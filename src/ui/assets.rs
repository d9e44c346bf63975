//! Everything that the page shows or runs, part of the binary: nothing is fetched.

use std::borrow::Cow;

use dioxus::desktop::wry::http::{Response, StatusCode};
use dioxus::desktop::{AssetRequest, RequestAsyncResponder};

pub const INDEX: &str = include_str!("../../assets/web/index.html");
pub const ICON_PNG: &[u8] = include_bytes!("../../assets/icons/lodestone-256.png");

const SCRIPT: &str = include_str!("../../assets/web/window.js");
pub const TOKENS: &str = include_str!("../../assets/styles/tokens.css");
const STYLES: [&str; 6] = [
    TOKENS,
    include_str!("../../assets/styles/base.css"),
    include_str!("../../assets/styles/chrome.css"),
    include_str!("../../assets/styles/search.css"),
    include_str!("../../assets/styles/reader.css"),
    include_str!("../../assets/styles/library.css"),
];

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
}
