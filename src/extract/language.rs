//! Which names are source code, and which of them the chunker has a grammar for.

use super::extension;
use crate::data::TextLayout;

/// Extensions of code and data without a grammar; sorted, so that a search may be binary.
const PLAIN_EXTENSIONS: &[&str] = &[
    "asm",
    "awk",
    "bash",
    "bat",
    "bazel",
    "bzl",
    "cfg",
    "cl",
    "clj",
    "cljs",
    "cmake",
    "cmd",
    "cob",
    "comp",
    "conf",
    "cr",
    "cs",
    "cson",
    "css",
    "d",
    "dart",
    "diff",
    "dockerfile",
    "edn",
    "el",
    "elm",
    "env",
    "erl",
    "ex",
    "exs",
    "f",
    "f90",
    "f95",
    "fish",
    "frag",
    "fs",
    "fsi",
    "fsx",
    "gd",
    "gleam",
    "glsl",
    "gql",
    "gradle",
    "graphql",
    "groovy",
    "hcl",
    "hlsl",
    "hrl",
    "hs",
    "idl",
    "ini",
    "jl",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "ksh",
    "kt",
    "kts",
    "less",
    "lhs",
    "lisp",
    "lock",
    "lua",
    "m",
    "mk",
    "ml",
    "mli",
    "mm",
    "ndjson",
    "nim",
    "nix",
    "pas",
    "patch",
    "php",
    "pl",
    "plist",
    "pm",
    "pp",
    "properties",
    "proto",
    "ps1",
    "psm1",
    "purs",
    "r",
    "rake",
    "rb",
    "rkt",
    "s",
    "sass",
    "scala",
    "scm",
    "scss",
    "sed",
    "sh",
    "sol",
    "sql",
    "sty",
    "sv",
    "svelte",
    "swift",
    "tcl",
    "tf",
    "thrift",
    "toml",
    "v",
    "vala",
    "vb",
    "vert",
    "vhd",
    "vhdl",
    "vim",
    "vue",
    "wat",
    "wgsl",
    "xml",
    "xsd",
    "xsl",
    "xslt",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

/// Whole names in lower case.
const NAMES: &[&str] = &[
    ".bash_profile",
    ".bashrc",
    ".editorconfig",
    ".gitattributes",
    ".gitconfig",
    ".gitignore",
    ".gitmodules",
    ".npmrc",
    ".profile",
    ".vimrc",
    ".zshrc",
    "brewfile",
    "build",
    "cmakelists.txt",
    "containerfile",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "meson.build",
    "pkgbuild",
    "procfile",
    "rakefile",
    "vagrantfile",
    "workspace",
];

/// Layout for an extension in lower case; `None` when it is not known as code.
pub(super) fn of_extension(extension: &str) -> Option<TextLayout> {
    Some(match extension {
        "rs" => TextLayout::Rust,
        "py" | "pyi" | "pyw" => TextLayout::Python,
        "js" | "mjs" | "cjs" | "jsx" => TextLayout::JavaScript,
        "ts" | "mts" | "cts" => TextLayout::TypeScript,
        "tsx" => TextLayout::Tsx,
        "go" => TextLayout::Go,
        "java" => TextLayout::Java,
        "c" => TextLayout::C,
        // A header may be of either language; the grammar of C++ reads nearly all of C.
        "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp"
        | "cu" | "cuh" => TextLayout::Cpp,
        other => PLAIN_EXTENSIONS.binary_search(&other).ok().map(|_| TextLayout::Plain)?,
    })
}

/// Whether a name in lower case is code without saying so by an extension.
pub(super) fn is_code_name(name: &str) -> bool {
    NAMES.contains(&name) || name.starts_with("dockerfile.") || name.starts_with("makefile.")
}

/// Lines of minified code are longer than this on average, those that people write never.
const LINE_BYTES_MAX: usize = 500;

/// Shorter files are taken as they are: one long line is no sign yet.
const MINIFIED_BYTES_MIN: usize = 4096;

/// Whether a script, style sheet or source map was made by a tool for machines to load: libraries
/// and search indexes of saved pages, whose words would be found everywhere and say nothing.
pub(super) fn is_minified(name: &str, text: &str) -> bool {
    matches!(extension(name).as_str(), "js" | "mjs" | "cjs" | "css" | "map")
        && text.len() >= MINIFIED_BYTES_MIN
        && text.len() > text.lines().count() * LINE_BYTES_MAX
}

/// Layout of a script by its first line.
pub(super) fn of_shebang(text: &str) -> Option<TextLayout> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    Some(if line.contains("python") {
        TextLayout::Python
    } else if line.contains("node") || line.contains("deno") || line.contains("bun") {
        TextLayout::JavaScript
    } else {
        TextLayout::Plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(PLAIN_EXTENSIONS.is_sorted());
    }

    #[test]
    fn long_lines_betray_minified_scripts() {
        let long = "a();".repeat(2000);
        assert!(is_minified("lib.min.JS", &long));
        assert!(!is_minified("lib.js", &long.replace(';', ";\n")));
        assert!(!is_minified("data.json", &long));
        assert!(!is_minified("lib.js", "a();"));
    }

    #[test]
    fn known_and_unknown_extensions() {
        assert_eq!(of_extension("tsx"), Some(TextLayout::Tsx));
        assert_eq!(of_extension("sql"), Some(TextLayout::Plain));
        assert_eq!(of_extension("quux"), None);
    }
}
