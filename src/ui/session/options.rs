use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Instant;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::config::Settings;
use lodestone::engine::Endpoint;

use super::Session;
use super::index::DISMISSED_AFTER;
use crate::ui::dom;
use crate::ui::state::{Asking, Measured, NoticeTone, Undo, View};

/// Where figures are told unless somebody wrote another address into the settings.
const METRICS_PORT: u16 = 9464;

/// How a file with an index is called unless a person calls it something else.
const EXPORT_NAME: &str = "lodestone-index.lodestone";

impl Session {
    /// Loads the models, the size of the data, and whether figures are told.
    pub fn refresh_options(mut self) {
        let Some(bridge) = self.bridge() else { return };
        self.options.write().endpoint = bridge.endpoint();
        spawn_forever(async move {
            match (bridge.models().await, bridge.status().await) {
                (Ok(models), Ok(status)) => {
                    let mut options = self.options.write();
                    options.set_models(models);
                    options.data_bytes = Some(status.bytes);
                    drop(options);
                    // The command line may have changed them.
                    if self.settings.peek().exclusions != status.exclusions {
                        self.settings.write().exclusions = status.exclusions;
                    }
                }
                (Err(problem), _) | (_, Err(problem)) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    /// Changes what a person chose, here and on disk.
    pub fn change_settings(mut self, change: impl Fn(&mut Settings) + Send + 'static) {
        change(&mut self.settings.write());
        let Ok(data_dir) = self.data_dir() else { return };
        spawn_forever(async move {
            let save = move || Settings::update(&data_dir, change);
            if let Ok(Err(error)) = tokio::task::spawn_blocking(save).await {
                self.notify(NoticeTone::Warning, error.to_string());
            }
        });
    }

    /// Leaves out what matches the pattern, of every folder and from now on.
    pub fn add_exclusion(mut self, pattern: &str) -> bool {
        let pattern = pattern.trim().to_owned();
        if pattern.is_empty() {
            return false;
        }
        if let Err(error) = Settings::check_exclusion(&pattern) {
            self.options.write().exclusion_trouble = Some(error.to_string());
            return false;
        }
        self.options.write().exclusion_trouble = None;
        if !self.settings.peek().exclusions.contains(&pattern) {
            self.change_settings(move |settings| settings.exclusions.push(pattern.clone()));
        }
        true
    }

    pub fn remove_exclusion(self, pattern: &str) {
        let before = self.settings.peek().exclusions.clone();
        let gone = pattern.to_owned();
        self.change_settings(move |settings| settings.exclusions.retain(|kept| *kept != gone));
        self.offer(format!("{pattern} is no longer left out."), Some(Undo::Exclusions(before)));
    }

    /// Goes back to the list that the program comes with.
    pub fn reset_exclusions(self) {
        let before = self.settings.peek().exclusions.clone();
        self.change_settings(|settings| settings.exclusions = Settings::default().exclusions);
        self.offer("The list is as it was at first.".to_owned(), Some(Undo::Exclusions(before)));
    }

    pub fn ask_about(mut self, asking: Option<Asking>) {
        self.options.write().asking = asking;
    }

    /// Does what was asked about.
    pub fn confirm(mut self) {
        let asked = self.options.write().asking.take();
        let (Some(asked), Some(bridge)) = (asked, self.bridge()) else { return };
        match asked {
            Asking::Clear => bridge.clear(),
            Asking::Import(path) => bridge.import(&path),
            Asking::Switch(name) => {
                spawn_forever(async move {
                    if let Err(problem) = bridge.use_model(name).await {
                        self.notify(NoticeTone::Warning, problem);
                    }
                    self.refresh_options();
                });
            }
            Asking::RemoveModel(name) => {
                spawn_forever(async move {
                    if let Err(problem) = bridge.remove_model(name).await {
                        self.notify(NoticeTone::Warning, problem);
                    }
                    self.refresh_options();
                });
            }
        }
    }

    /// Makes a model known: a folder, or a name on the hub, which is fetched.
    pub fn add_model(mut self, what: &str) {
        let what = what.trim().to_owned();
        let Some(bridge) = self.bridge().filter(|_| !what.is_empty()) else { return };
        if self.options.peek().fetching.is_some() {
            return;
        }
        let mut options = self.options.write();
        (options.fetching, options.fetch_trouble) = (Some((what.clone(), None)), None);
        drop(options);
        spawn_forever(async move {
            let (told, mut telling) = tokio::sync::watch::channel(None);
            let adding = bridge.add_model(what.clone(), move |progress| {
                told.send_replace(Some(progress));
            });
            let mut adding = std::pin::pin!(adding);
            let added = loop {
                tokio::select! {
                    added = &mut adding => break added,
                    changed = telling.changed() => match changed {
                        Ok(()) => {
                            let progress = telling.borrow_and_update().clone();
                            self.options.write().fetching = Some((what.clone(), progress));
                        }
                        Err(_) => break adding.await,
                    }
                }
            };
            let mut options = self.options.write();
            options.fetching = None;
            options.fetch_trouble = added.err();
            drop(options);
            self.refresh_options();
        });
    }

    pub fn pick_model_folder(self) {
        let dialog = rfd::AsyncFileDialog::new().set_title("Folder of a model");
        spawn_forever(async move {
            if let Some(folder) = self.asked(dialog.pick_folder()).await {
                self.add_model(&folder.path().display().to_string());
            }
        });
    }

    pub fn export(self) {
        let Some(bridge) = self.bridge() else { return };
        let dialog =
            rfd::AsyncFileDialog::new().set_title("Export the index").set_file_name(EXPORT_NAME);
        spawn_forever(async move {
            if let Some(file) = self.asked(dialog.save_file()).await {
                bridge.export(file.path());
            }
        });
    }

    /// Asks for a file, and then whether what is here may go.
    pub fn import(mut self) {
        let dialog = rfd::AsyncFileDialog::new()
            .set_title("Import an index")
            .add_filter("Index", &["lodestone"])
            .add_filter("All files", &["*"]);
        spawn_forever(async move {
            let Some(file) = self.asked(dialog.pick_file()).await else { return };
            let path: PathBuf = file.path().to_path_buf();
            self.show_settings();
            self.options.write().asking = Some(Asking::Import(path));
        });
    }

    /// What a dialog gave; says so where there is none, which looks the same as one that was dismissed.
    async fn asked<T>(self, dialog: impl Future<Output = Option<T>>) -> Option<T> {
        let began = Instant::now();
        let chosen = dialog.await;
        if chosen.is_none() && began.elapsed() < DISMISSED_AFTER {
            let text = "This system has no file dialog. The command line does the same: lode help.";
            self.notify(NoticeTone::Warning, text.to_owned());
        }
        chosen
    }

    fn show_settings(self) {
        if *self.view.peek() != View::Settings {
            self.show(View::Settings);
        }
    }

    /// Measures recall and speed, and shows what comes of it in Settings.
    pub fn measure(mut self) {
        let Some(bridge) = self.bridge() else { return };
        self.show_settings();
        if std::mem::replace(&mut self.options.write().measuring, true) {
            return;
        }
        spawn_forever(async move {
            let measured = bridge.measure().await;
            let mut options = self.options.write();
            options.measuring = false;
            match measured {
                Ok(Some(measured)) => options.measured = Measured::As(measured),
                Ok(None) => options.measured = Measured::Nothing,
                Err(problem) => {
                    drop(options);
                    self.notify(NoticeTone::Warning, problem);
                }
            }
        });
    }

    /// Checks store, indexes, model and device.
    pub fn self_test(mut self) {
        let Some(bridge) = self.bridge() else { return };
        if std::mem::replace(&mut self.options.write().testing, true) {
            return;
        }
        spawn_forever(async move {
            let tested = bridge.diagnose().await;
            let mut options = self.options.write();
            options.testing = false;
            match tested {
                Ok(tested) => options.tested = Some(tested),
                Err(problem) => {
                    drop(options);
                    self.notify(NoticeTone::Warning, problem);
                }
            }
        });
    }

    /// Tells figures on this machine, or no longer.
    pub fn tell_metrics(mut self, on: bool) {
        let Some(bridge) = self.bridge() else { return };
        let port = SocketAddr::from((Ipv4Addr::LOCALHOST, METRICS_PORT));
        let address = on.then(|| self.settings.peek().metrics_address.unwrap_or(port));
        spawn_forever(async move {
            let told = bridge.tell_metrics(address).await;
            self.options.write().endpoint = match told {
                Ok(endpoint) => endpoint,
                Err(reason) => Endpoint::Failed { reason },
            };
            self.settings.write().metrics_address = address;
        });
    }

    /// Backs out of a question of these views.
    pub(super) fn back_in_page(mut self) {
        self.options.write().asking = None;
        self.monitor.write().asking = false;
        dom::focus(self.view.peek().input_id());
    }
}
