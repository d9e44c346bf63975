use std::collections::HashMap;

/// Names headings as GitHub does, so that a link with the anchor works where Markdown is shown:
/// lower case, punctuation dropped, spaces to hyphens, `-1`, `-2` … for repeated ones.
#[derive(Debug, Default)]
pub(super) struct Slugs {
    seen: HashMap<String, u32>,
}

impl Slugs {
    pub(super) fn of(&mut self, heading: &str) -> String {
        let slug: String = heading
            .trim()
            .chars()
            .flat_map(char::to_lowercase)
            .filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                _ => c.is_alphanumeric().then_some(c),
            })
            .collect();
        let times = self.seen.entry(slug.clone()).or_default();
        let slug = if *times == 0 { slug } else { format!("{slug}-{times}") };
        *times += 1;
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_as_on_github() {
        let mut slugs = Slugs::default();
        assert_eq!(slugs.of("What's *new* in 1.0?"), "whats-new-in-10");
        assert_eq!(slugs.of("snake_case & Größe"), "snake_case--größe");
        assert_eq!(slugs.of("Notes"), "notes");
        assert_eq!(slugs.of("Notes"), "notes-1");
        assert_eq!(slugs.of("notes"), "notes-2");
    }
}
