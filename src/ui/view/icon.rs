use dioxus::prelude::*;
use lodestone::data::MediaType;

macro_rules! icons {
    ($($variant:ident = $file:literal),* $(,)?) => {
        /// The icons in use, of Lucide (ISC), drawn in the color of the text around them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Symbol {
            $($variant),*
        }

        impl Symbol {
            fn svg(self) -> &'static str {
                match self {
                    $(Self::$variant => {
                        include_str!(concat!("../../../assets/icons/lucide/", $file, ".svg"))
                    })*
                }
            }
        }
    };
}

icons! {
    Activity = "activity",
    AddFiles = "file-plus",
    AddFolder = "folder-plus",
    Back = "arrow-left",
    Clock = "clock",
    Close = "x",
    Code = "file-code",
    Copy = "copy",
    Dark = "moon",
    Down = "chevron-down",
    Disk = "hard-drive",
    Folder = "folder-open",
    Library = "library",
    Like = "text-search",
    Light = "sun",
    Markdown = "file-text",
    Open = "external-link",
    Options = "sliders-horizontal",
    Pause = "pause",
    Picked = "square-check",
    Play = "play",
    Refresh = "refresh-cw",
    Remove = "trash-2",
    Search = "search",
    Settings = "settings",
    Skipped = "file-x",
    Star = "star",
    System = "monitor",
    Text = "file-type",
    Up = "chevron-up",
    Warning = "triangle-alert",
    Web = "globe",
    Why = "circle-question-mark",
}

impl Symbol {
    pub fn of_type(media_type: MediaType) -> Self {
        match media_type {
            MediaType::Text | MediaType::Spreadsheet => Self::Text,
            MediaType::Markdown
            | MediaType::Pdf
            | MediaType::Document
            | MediaType::Presentation
            | MediaType::Book
            | MediaType::Email => Self::Markdown,
            MediaType::Html => Self::Web,
            MediaType::Code | MediaType::Notebook => Self::Code,
            MediaType::Archive => Self::Folder,
        }
    }
}

/// An icon beside a text that says the same, so assistive technology passes over it.
#[component]
pub fn Icon(symbol: Symbol) -> Element {
    rsx! {
        span { class: "icon", aria_hidden: "true", dangerous_inner_html: symbol.svg() }
    }
}
