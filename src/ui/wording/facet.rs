use std::path::Path;

use lodestone::data::MediaType;

use super::type_name;

/// A kind of document by its name in a query, as people say it; an extension as it is.
pub fn type_label(value: &str) -> String {
    MediaType::from_name(value).map_or_else(|| value.to_owned(), |kind| type_name(kind).to_owned())
}

/// A folder by its last part, and where that lies.
pub fn folder_name(path: &Path, home: Option<&Path>) -> (String, String) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| path.display().to_string());
    if Some(path) == home {
        return ("Home".to_owned(), String::new());
    }
    let parent = path.parent().unwrap_or(path);
    let place = match home.and_then(|home| parent.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => parent.display().to_string(),
    };
    (name, place)
}

/// What `after:7d` and `before:7d` mean.
pub fn age_name(name: &str, age: &str) -> String {
    let days = age.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let span = match days {
        Some(1) => "day".to_owned(),
        Some(7) => "week".to_owned(),
        Some(30) => "month".to_owned(),
        Some(365) => "year".to_owned(),
        Some(days) => format!("{days} days"),
        None => {
            return if name == "after" { format!("Since {age}") } else { format!("Before {age}") };
        }
    };
    if name == "after" { format!("Past {span}") } else { format!("Older than a {span}") }
}

/// What a qualifier narrows by.
pub fn qualifier_note(name: &str) -> &'static str {
    match name {
        "type" => "kind of document",
        "in" => "folder, or a part of the path",
        "site" => "web site",
        "after" => "changed since",
        "before" => "last changed before",
        "ext" => "ending of the file name",
        _ => "",
    }
}

/// A qualifier as a chip says it.
pub fn chip_label(name: &str, value: &str, home: Option<&Path>) -> String {
    match name {
        "type" => type_label(value),
        "ext" => format!(".{}", value.trim_start_matches('.')),
        "in" => folder_name(Path::new(value.trim_end_matches('/')), home).0,
        "after" | "before" => age_name(name, value),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn chips_say_what_a_qualifier_means() {
        let home = Some(Path::new("/home/ada"));
        for (name, value, label) in [
            ("type", "pdf", "PDF"),
            ("type", "rs", "rs"),
            ("ext", ".md", ".md"),
            ("in", "/home/ada/Notes/", "Notes"),
            ("in", "/home/ada", "Home"),
            ("site", "docs.rs", "docs.rs"),
            ("after", "7d", "Past week"),
            ("after", "2024", "Since 2024"),
            ("before", "365d", "Older than a year"),
        ] {
            assert_eq!(chip_label(name, value, home), label);
        }
        let place = |path: &str| folder_name(Path::new(path), home).1;
        assert_eq!(place("/home/ada/Notes"), "~");
        assert_eq!(place("/home/ada/Notes/rust"), "~/Notes");
        assert_eq!(place("/srv/x"), "/srv");
    }
}
