use std::path::Path;

use super::{FetchProgress, Hub, KnownModel, RegistryError, check, hub, list};
use crate::config::{HubName, ModelFiles, Settings};
use crate::platform;

/// Makes a model known: a folder, of which nothing is copied, or a name on the hub, which is fetched.
/// It is opened once, so that what is known can be used. Blocks.
///
/// # Errors
/// When it cannot be had or used, or another model has its name.
pub fn add(
    hub: &Hub,
    what: &str,
    data_dir: &Path,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<KnownModel, RegistryError> {
    let path = Path::new(what);
    if path.is_dir() {
        return add_folder(path, data_dir);
    }
    let name =
        HubName::parse(what).ok_or_else(|| RegistryError::NoName { name: what.to_owned() })?;
    let files = hub.fetch(&name, data_dir, progress)?;
    check(&files)
}

fn add_folder(path: &Path, data_dir: &Path) -> Result<KnownModel, RegistryError> {
    let folder = platform::resolve(path);
    let files = ModelFiles::Folder(folder.clone());
    let name = files.name();
    let settings = Settings::load(data_dir)?;
    if settings.model_folders.contains(&folder) {
        return check(&files);
    }
    if settings.model_named(&name, data_dir).is_some() {
        return Err(RegistryError::NameTaken { name });
    }
    let known = check(&files)?;
    Settings::update(data_dir, |settings| settings.model_folders.push(folder))?;
    Ok(known)
}

/// Forgets a model: what was fetched is deleted, a folder stays where it is. The caller has seen to it
/// that it is not in use.
///
/// # Errors
/// When it is not known or cannot be deleted.
pub fn forget(name: &str, data_dir: &Path) -> Result<(), RegistryError> {
    let settings = Settings::load(data_dir)?;
    let known = list(data_dir, &settings)?.into_iter().find(|known| known.files.name() == name);
    match known.map(|known| known.files) {
        None => return Err(RegistryError::Unknown { name: name.to_owned() }),
        Some(ModelFiles::Bundled) => return Err(RegistryError::Bundled { name: name.to_owned() }),
        Some(ModelFiles::Folder(_)) => {}
        Some(ModelFiles::Downloaded { folder, .. }) => hub::remove(&folder)?,
    }
    Settings::update(data_dir, |settings| {
        settings.model_folders.retain(|folder| ModelFiles::Folder(folder.clone()).name() != name);
        settings.model.take_if(|chosen| chosen == name);
    })?;
    Ok(())
}
