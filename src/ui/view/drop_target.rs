use std::path::{Path, PathBuf};
use std::time::Duration;

use dioxus::html::HasFileData;
use dioxus::prelude::*;

use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::wording::{drop_label, is_address};

/// A pointer that moves again means that the drag has ended; a drop is told of a little later.
const DROP_FOLLOWS_WITHIN: Duration = Duration::from_millis(600);

/// What is being dragged over the window.
#[derive(Clone, Debug, Default, PartialEq)]
struct Drag {
    /// Elements entered and not left yet: the page tells of each one on the way, so the window is
    /// left when none remains.
    depth: usize,
    paths: Vec<PathBuf>,
    label: String,
}

/// The whole window takes files and folders.
#[component]
pub fn DropTarget(children: Element) -> Element {
    let session = use_session();
    let mut drag = use_signal(Drag::default);
    let over = drag.read().depth > 0;
    rsx! {
        div {
            class: "window",
            // WebKit asks whether it may drop with either of these two, never with both.
            ondragenter: move |event| {
                event.prevent_default();
                drag.write().depth += 1;
                name(drag, dropped(&event));
            },
            ondragover: move |event| {
                event.prevent_default();
                if drag.peek().depth == 0 {
                    drag.write().depth = 1;
                }
                name(drag, dropped(&event));
            },
            ondragleave: move |_| {
                let mut drag = drag.write();
                drag.depth = drag.depth.saturating_sub(1);
            },
            ondrop: move |event| {
                event.prevent_default();
                drag.set(Drag::default());
                let paths = dropped(&event);
                match address(&event).filter(|_| paths.is_empty()) {
                    Some(address) => session.offer_site(address),
                    None => session.consider(paths),
                }
            },
            {children}
            if over {
                Overlay {
                    label: drag.read().label.clone(),
                    // The overlay must outlive the drop that is aimed at it.
                    ongone: move |()| async move {
                        tokio::time::sleep(DROP_FOLLOWS_WITHIN).await;
                        drag.set(Drag::default());
                    },
                }
            }
        }
    }
}

#[component]
fn Overlay(label: String, ongone: EventHandler<()>) -> Element {
    rsx! {
        div {
            id: "drop-overlay",
            class: "drop",
            role: "status",
            // During a drag no pointer moves; one that does shows an end that the page missed.
            onpointermove: move |_| ongone.call(()),
            div { class: "drop-frame",
                Icon { symbol: Symbol::AddFolder }
                p { class: "drop-label", "{label}" }
                p { class: "drop-note", "Read on this machine, searchable in a moment" }
            }
        }
    }
}

fn dropped(event: &DragEvent) -> Vec<PathBuf> {
    event.files().iter().map(dioxus::html::FileData::path).collect()
}

/// The web address that a link drops.
fn address(event: &DragEvent) -> Option<String> {
    let text = event.data_transfer().get_data("text/uri-list")?;
    // Lines that begin with # are remarks.
    text.lines().map(str::trim).find(|line| is_address(line)).map(str::to_owned)
}

/// Names what the drag carries, once for each drag.
fn name(mut drag: Signal<Drag>, paths: Vec<PathBuf>) {
    if drag.peek().paths == paths && !drag.peek().label.is_empty() {
        return;
    }
    let label = |is_folder: &[bool], paths: &[PathBuf]| {
        let refs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        drop_label(&refs, is_folder)
    };
    {
        let mut drag = drag.write();
        drag.label = label(&vec![false; paths.len()], &paths);
        drag.paths.clone_from(&paths);
    }
    // Telling folders from files reads the disk, which may be slow.
    spawn(async move {
        let named = tokio::task::spawn_blocking(move || {
            let is_folder: Vec<bool> = paths.iter().map(|path| path.is_dir()).collect();
            (label(&is_folder, &paths), paths)
        });
        if let Ok((label, paths)) = named.await
            && drag.peek().paths == paths
        {
            drag.write().label = label;
        }
    });
}
