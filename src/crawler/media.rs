//! What kind of thing a server sends, and whether it holds text to search.

use url::Url;

/// `Content-Type`, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContentType {
    /// In lower case and without parameters; `None` when it is missing or no type.
    pub essence: Option<String>,
    pub charset: Option<String>,
}

impl ContentType {
    pub(super) fn read(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty())
                .then(|| value.to_ascii_lowercase())
        });
        let is_type = essence.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        Self { essence: is_type.then_some(essence), charset }
    }
}

/// Types that say what they are and hold text.
const INDEXABLE: &[&str] = &[
    "application/epub+zip",
    "application/msword",
    "application/pdf",
    "application/rtf",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/x-ipynb+json",
    "application/x-pdf",
    "application/x-tex",
    "application/xhtml+xml",
    "message/rfc822",
];

/// Families of office formats.
const INDEXABLE_PREFIXES: &[&str] =
    &["application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."];

/// Texts for machines.
const NOT_FOR_READERS: &[&str] = &[
    "text/cache-manifest",
    "text/calendar",
    "text/css",
    "text/ecmascript",
    "text/event-stream",
    "text/javascript",
    "text/vcard",
    "text/x-vcard",
    "text/xml",
    "text/xsl",
];

/// Types that say nothing, or that many things are sent as; there the ending of the address decides.
const VAGUE: &[&str] = &[
    "application/binary",
    "application/download",
    "application/force-download",
    "application/json",
    "application/octet-stream",
    "application/xml",
    "application/x-download",
    "binary/octet-stream",
    "text/xml",
];

/// Endings under which documents lie.
const DOCUMENT_ENDINGS: &[&str] = &[
    "docx", "epub", "htm", "html", "ipynb", "md", "odp", "ods", "odt", "pdf", "pptx", "rst", "rtf",
    "tex", "txt", "xhtml", "xlsx",
];

/// Endings under which there is nothing to search; links to them are not even asked for.
const OTHER_ENDINGS: &[&str] = &[
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dmg", "eot", "exe",
    "flac", "gif", "gz", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "map", "mjs",
    "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "ogg", "ogv", "opus", "otf", "png", "rar",
    "rpm", "rss", "so", "svg", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp",
    "whl", "wmv", "woff", "woff2", "xz", "zip", "zst",
];

/// What `essence` is when it is nothing to search.
pub(super) fn kind_without_text(essence: Option<&str>, url: &Url) -> Option<String> {
    let essence = essence?;
    let is_document = || ending(url).is_some_and(|end| DOCUMENT_ENDINGS.contains(&end.as_str()));
    if VAGUE.contains(&essence) {
        return (!is_document()).then(|| format!("of the type {essence}"));
    }
    let is_text = essence.starts_with("text/") && !NOT_FOR_READERS.contains(&essence);
    let is_indexable = is_text
        || INDEXABLE.contains(&essence)
        || INDEXABLE_PREFIXES.iter().any(|prefix| essence.starts_with(prefix));
    if is_indexable {
        return None;
    }
    Some(match essence.split_once('/') {
        Some(("image", _)) => "a picture".to_owned(),
        Some(("audio", _)) => "a recording".to_owned(),
        Some(("video", _)) => "a film".to_owned(),
        Some(("font", _)) => "a font".to_owned(),
        _ => format!("of the type {essence}"),
    })
}

/// Whether the ending of an address says that there is nothing to search, so that asking can be
/// spared: pictures, films, archives, scripts.
#[must_use]
pub fn is_not_for_text(url: &Url) -> bool {
    // Behind a question mark anything may come.
    url.query().is_none() && ending(url).is_some_and(|end| OTHER_ENDINGS.contains(&end.as_str()))
}

fn ending(url: &Url) -> Option<String> {
    let name = url.path_segments()?.next_back()?;
    let (stem, ending) = name.rsplit_once('.')?;
    (!stem.is_empty()).then(|| ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_taken_apart() {
        for (header, essence, charset) in [
            ("text/html; charset=UTF-8", Some("text/html"), Some("utf-8")),
            ("Text/HTML;x=y; Charset=\"Shift_JIS\"", Some("text/html"), Some("shift_jis")),
            ("application/pdf", Some("application/pdf"), None),
            ("", None, None),
            ("html; charset=", None, None),
        ] {
            let read = ContentType::read(header);
            let read = (read.essence.as_deref(), read.charset.as_deref());
            assert_eq!(read, (essence, charset), "{header}");
        }
    }

    fn check(essence: &str, url: &str, expected: Option<&str>) {
        let kind = kind_without_text(Some(essence), &Url::parse(url).unwrap());
        assert_eq!(kind.as_deref(), expected, "{essence} {url}");
    }

    #[test]
    fn only_what_may_hold_text_for_readers_is_taken() {
        let page = "https://a.test/b";
        for essence in [
            "text/html",
            "text/plain",
            "text/markdown",
            "text/x-rust",
            "application/pdf",
            "application/xhtml+xml",
            "application/vnd.oasis.opendocument.text",
        ] {
            check(essence, page, None);
        }
        check("image/png", page, Some("a picture"));
        check("video/mp4", page, Some("a film"));
        check("application/javascript", page, Some("of the type application/javascript"));
        check("text/css", page, Some("of the type text/css"));
        check("application/rss+xml", page, Some("of the type application/rss+xml"));
        check("application/zip", page, Some("of the type application/zip"));
        check("application/octet-stream", page, Some("of the type application/octet-stream"));
        check("application/octet-stream", "https://a.test/B.PDF", None);
        check("application/json", "https://a.test/b.ipynb", None);
        assert_eq!(kind_without_text(None, &Url::parse(page).unwrap()), None);
    }

    #[test]
    fn endings_spare_a_request() {
        let is = |url: &str| is_not_for_text(&Url::parse(url).unwrap());
        assert!(is("https://a.test/x/logo.PNG") && is("https://a.test/a.tar.gz"));
        assert!(!is("https://a.test/a.html") && !is("https://a.test/a.png?view=page"));
        assert!(!is("https://a.test/.png") && !is("https://a.png/"));
    }
}
