use std::fmt;
use std::path::{Path, PathBuf};

use super::Settings;

/// The name of the model that is part of the binary.
pub const BUNDLED_MODEL: &str = "all-MiniLM-L6-v2";

/// Where the files of a model come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelFiles {
    /// all-MiniLM-L6-v2, part of the binary.
    #[default]
    Bundled,
    /// A folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    Folder(PathBuf),
    /// Fetched from a hub.
    Downloaded { name: HubName, folder: PathBuf },
}

impl ModelFiles {
    /// The one name under which the model is known.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Bundled => BUNDLED_MODEL.to_owned(),
            Self::Folder(folder) => {
                folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
            }
            Self::Downloaded { name, .. } => name.to_string(),
        }
    }

    /// The folder; `None` for what is part of the binary.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Bundled => None,
            Self::Folder(folder) | Self::Downloaded { folder, .. } => Some(folder),
        }
    }
}

/// A model on a hub: `owner/name`, or `owner/name@revision`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HubName {
    pub owner: String,
    pub model: String,
    /// Branch, tag or commit.
    pub revision: Option<String>,
}

/// Stands for the slash in names of folders.
const SLASH: &str = "--";

impl HubName {
    /// `None` for what cannot be a name on a hub.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (path, revision) = match text.split_once('@') {
            Some((path, revision)) => (path, Some(revision)),
            None => (text, None),
        };
        let (owner, model) = path.split_once('/')?;
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && !part.contains(SLASH)
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if !is_plain(owner) || !is_plain(model) || !revision.is_none_or(is_plain) {
            return None;
        }
        let revision = revision.map(str::to_owned);
        Some(Self { owner: owner.to_owned(), model: model.to_owned(), revision })
    }

    /// Below which folder name the files lie.
    #[must_use]
    pub fn folder_name(&self) -> String {
        self.to_string().replace('/', SLASH)
    }

    #[must_use]
    pub fn from_folder_name(name: &str) -> Option<Self> {
        Self::parse(&name.replacen(SLASH, "/", 1))
    }

    /// Where its files lie in a data directory.
    #[must_use]
    pub fn files(&self, data_dir: &Path) -> ModelFiles {
        let folder = downloads(data_dir).join(self.folder_name());
        ModelFiles::Downloaded { name: self.clone(), folder }
    }
}

/// The folder of everything that was fetched from a hub.
#[must_use]
pub(crate) fn downloads(data_dir: &Path) -> PathBuf {
    data_dir.join("models")
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.model)?;
        self.revision.as_ref().map_or(Ok(()), |revision| write!(f, "@{revision}"))
    }
}

impl Settings {
    /// The model of this name, whether its files are there or not; `None` when nothing of the kind was
    /// ever added.
    #[must_use]
    pub fn model_named(&self, name: &str, data_dir: &Path) -> Option<ModelFiles> {
        if name == BUNDLED_MODEL {
            return Some(ModelFiles::Bundled);
        }
        let added = self.model_folders.iter().cloned().map(ModelFiles::Folder);
        let mut added = added.filter(|files| files.name() == name);
        added.next().or_else(|| HubName::parse(name).map(|name| name.files(data_dir)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_hub_name_and_its_folder_name_each_other(
            text in "[a-z0-9]{1,4}(-[a-z0-9._]{1,4})?/[a-zA-Z0-9]{1,4}(-[a-z0-9._]{1,6})?(@[a-z0-9.]{1,8})?",
        ) {
            let Some(name) = HubName::parse(&text) else { return Ok(()) };
            prop_assert_eq!(name.to_string(), text);
            prop_assert_eq!(HubName::from_folder_name(&name.folder_name()), Some(name));
        }
    }

    #[test]
    fn what_could_leave_the_folder_is_no_name() {
        for text in
            ["a", "a/", "/b", "../b", "a/..", "a/b/c", "a/b@../c", "a/b@", "a--b/c", "/tmp/x"]
        {
            assert_eq!(HubName::parse(text), None, "{text}");
        }
        let name = HubName::parse("BAAI/bge-small-en-v1.5@main").unwrap();
        assert_eq!(name.folder_name(), "BAAI--bge-small-en-v1.5@main");
    }

    #[test]
    fn a_model_is_found_by_its_name() {
        let settings =
            Settings { model_folders: vec!["/models/mine".into()], ..Settings::default() };
        let found = |name: &str| settings.model_named(name, Path::new("/data"));
        assert_eq!(found(BUNDLED_MODEL), Some(ModelFiles::Bundled));
        assert_eq!(found("mine"), Some(ModelFiles::Folder("/models/mine".into())));
        let fetched = found("a/b").unwrap();
        assert_eq!(fetched.folder(), Some(Path::new("/data/models/a--b")));
        assert_eq!((fetched.name().as_str(), found("yours")), ("a/b", None));
    }
}
