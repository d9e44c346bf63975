//! The `title` of YAML (`---`) and TOML (`+++`) front matter.

/// Lines looked at; longer front matter holds no title where one would put it.
const LINES_MAX: usize = 200;

/// The title, when the text opens with closed front matter that has one on a line of its own.
pub(super) fn title(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let fence = lines.next()?.trim_end();
    let separator = match fence {
        "---" => ':',
        "+++" => '=',
        _ => return None,
    };
    let mut title = None;
    for line in lines.take(LINES_MAX) {
        if line.trim_end() == fence || (fence == "---" && line.trim_end() == "...") {
            return title;
        }
        if let Some((key, value)) = line.split_once(separator)
            && key.trim_end() == "title"
        {
            title = unquoted(value.trim());
        }
    }
    None
}

/// A scalar on one line, without its quotes; block scalars (`>`, `|`) are none.
fn unquoted(value: &str) -> Option<String> {
    let value = ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
        .trim();
    (!value.is_empty() && !matches!(value, ">" | "|" | ">-" | "|-")).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_front_matter_counts() {
        assert_eq!(title("---\ntitle: A\n---\n").as_deref(), Some("A"));
        assert_eq!(title("---\ntitle: 'it''s'\n...\n").as_deref(), Some("it''s"));
        assert_eq!(title("---\ntitle: A\n"), None);
        assert_eq!(title("---\nsubtitle: A\n---\n"), None);
        assert_eq!(title("---\ntitle: \"\"\n---\n"), None);
        assert_eq!(title("---\ntitle: >\n  A\n---\n"), None);
        assert_eq!(title("title: A\n"), None);
        assert_eq!(title("---\ntitle: \"\n---\n").as_deref(), Some("\""));
    }
}
