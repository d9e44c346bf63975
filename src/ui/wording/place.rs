use std::path::{Component, Path};

use lodestone::data::{Hit, MediaType, Source};

use super::counted;

/// Folders shown before the rest folds into an ellipsis.
const FOLDERS_SHOWN: usize = 3;

/// The folders of a file, or the site and path of a page, outermost first and short enough for one
/// line. The name of the document itself is left out.
pub fn breadcrumb(source: &Source, home: Option<&Path>) -> Vec<String> {
    let parts = match source {
        Source::File(path) => folders(path, home),
        Source::Web(url) => {
            let mut parts: Vec<String> = url.host_str().map(str::to_owned).into_iter().collect();
            parts.extend(url.path_segments().into_iter().flatten().map(str::to_owned));
            if parts.len() > 1 {
                parts.pop();
            }
            parts.retain(|part| !part.is_empty());
            parts
        }
    };
    fold(parts)
}

fn folders(path: &Path, home: Option<&Path>) -> Vec<String> {
    let folder = path.parent().unwrap_or(path);
    let inside_home = home.and_then(|home| folder.strip_prefix(home).ok());
    let mut parts: Vec<String> = inside_home.map(|_| "~".to_owned()).into_iter().collect();
    for component in inside_home.unwrap_or(folder).components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::Prefix(prefix) => {
                parts.push(prefix.as_os_str().to_string_lossy().into_owned());
            }
            Component::RootDir | Component::CurDir | Component::ParentDir => {}
        }
    }
    if parts.is_empty() {
        parts.push(std::path::MAIN_SEPARATOR.to_string());
    }
    parts
}

fn fold(mut parts: Vec<String>) -> Vec<String> {
    if parts.len() > FOLDERS_SHOWN {
        let tail = parts.split_off(parts.len() - FOLDERS_SHOWN);
        parts = std::iter::once("…".to_owned()).chain(tail).collect();
    }
    parts
}

/// What kind of document it is, for a person.
pub fn type_name(media_type: MediaType) -> &'static str {
    match media_type {
        MediaType::Text => "Text",
        MediaType::Markdown => "Markdown",
        MediaType::Html => "Web page",
        MediaType::Code => "Code",
        MediaType::Pdf => "PDF",
        MediaType::Document => "Document",
        MediaType::Presentation => "Presentation",
        MediaType::Spreadsheet => "Spreadsheet",
        MediaType::Book => "Book",
        MediaType::Email => "E-mail",
        MediaType::Notebook => "Notebook",
        MediaType::Archive => "Archive",
    }
}

/// Whether a text is one web address and nothing else.
pub fn is_address(text: &str) -> bool {
    let after = |scheme| text.strip_prefix(scheme).filter(|rest: &&str| !rest.is_empty());
    let rest = after("https://").or_else(|| after("http://"));
    rest.is_some_and(|rest| !rest.contains(char::is_whitespace))
}

/// What opening a source does.
pub fn open_label(source: &Source) -> &'static str {
    match source {
        Source::File(_) => "Open in the system's application",
        Source::Web(_) => "Open at this passage in the browser",
    }
}

/// What a drop of these paths will do: `Index 3 files`, `Index folder Notes`.
///
/// `is_folder` runs beside `paths`.
pub fn drop_label(paths: &[&Path], is_folder: &[bool]) -> String {
    let name = |path: &Path| {
        path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into())
    };
    let folders = is_folder.iter().filter(|folder| **folder).count() as u64;
    let files = paths.len() as u64 - folders;
    match (paths, folders, files) {
        ([], ..) => "Drop files, folders or a web address".to_owned(),
        ([path], 1, _) => format!("Index folder {}", name(path)),
        ([path], ..) => format!("Index {}", name(path)),
        (_, 0, files) => format!("Index {}", counted(files, "file")),
        (_, folders, 0) => format!("Index {}", counted(folders, "folder")),
        (_, folders, files) => {
            format!("Index {} and {}", counted(folders, "folder"), counted(files, "file"))
        }
    }
}

/// Files of one extension, in lower case, as people call them.
pub fn kind_name(extension: &str) -> String {
    let name = match extension {
        "" => "Without an extension",
        "md" | "markdown" => "Markdown",
        "txt" | "text" => "Plain text",
        "htm" | "html" | "xhtml" => "Web pages",
        "doc" | "docx" | "odt" | "rtf" => "Text documents",
        "xls" | "xlsx" | "ods" | "csv" | "tsv" => "Tables",
        "ppt" | "pptx" | "odp" => "Slides",
        "eml" | "mbox" => "Mail",
        "epub" => "Books",
        "ipynb" => "Notebooks",
        _ => return extension.to_uppercase(),
    };
    format!(
        "{name}{}",
        if extension.is_empty() { String::new() } else { format!(" (.{extension})") }
    )
}

/// Where else nearly the same is said: in how many places, and which; `None` where nowhere.
pub fn also_in(hit: &Hit) -> Option<(String, String)> {
    let count = hit.also.len() as u64;
    let places: Vec<String> = hit.also.iter().map(|document| document.source.to_string()).collect();
    (count > 0).then(|| (format!("also in {}", counted(count, "place")), places.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(path: &str) -> String {
        breadcrumb(&Source::File(path.into()), Some(Path::new("/home/ada"))).join(" › ")
    }

    #[cfg(unix)]
    #[test]
    fn a_trail_names_the_folders_that_matter() {
        assert_eq!(trail("/home/ada/notes/rust/a.md"), "~ › notes › rust");
        assert_eq!(trail("/home/ada/a.md"), "~");
        assert_eq!(trail("/srv/a/b/c/d/e.md"), "… › b › c › d");
        assert_eq!(trail("/a.md"), "/");
        assert_eq!(trail("/home/adam/a.md"), "home › adam");
    }

    #[test]
    fn a_page_starts_at_its_site() {
        let page = |url: &str| {
            let source = Source::from_key(url).unwrap();
            breadcrumb(&source, None).join(" › ")
        };
        assert_eq!(page("https://example.org/book/ch1.html"), "example.org › book");
        assert_eq!(page("https://example.org/"), "example.org");
    }

    #[test]
    fn an_address_is_told_from_a_question() {
        assert!(is_address("https://docs.rs/tokio") && is_address("http://localhost:8000/"));
        assert!(
            !is_address("https://") && !is_address("docs.rs") && !is_address("why https://a b")
        );
        assert!(!is_address("https://docs.rs is down"));
    }

    #[test]
    fn a_drop_names_what_will_happen() {
        let notes = Path::new("/x/Notes");
        let file = Path::new("/x/a.md");
        assert_eq!(drop_label(&[notes], &[true]), "Index folder Notes");
        assert_eq!(drop_label(&[file], &[false]), "Index a.md");
        assert_eq!(drop_label(&[file, file, file], &[false; 3]), "Index 3 files");
        assert_eq!(drop_label(&[notes, file], &[true, false]), "Index 1 folder and 1 file");
        assert_eq!(drop_label(&[], &[]), "Drop files, folders or a web address");
    }
}
