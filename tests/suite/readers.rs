//! Readers of binary formats are processes of their own, and what goes wrong there costs one file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lodestone::data::{MediaType, Source};
use lodestone::extract::{PageHead, PageHints, ReadPage, ReaderLimits, Readers, Unreadable};
use serde_json::Value;
use url::Url;

use crate::lode::Lode;
#[cfg(target_os = "linux")]
use crate::process::wait_for;

fn corpus(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/formats");
    std::fs::read(folder.join(name)).unwrap()
}

fn readers(limits: ReaderLimits) -> Readers {
    Readers::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_lode"))), limits)
}

/// Reads a PDF under a name that says what its parser is to do.
fn read(readers: &Readers, name: &str) -> Result<MediaType, Unreadable> {
    let source = Source::File(std::env::temp_dir().join(name));
    readers.read_document(source, corpus("plain.pdf"), None).map(|document| document.media_type)
}

#[test]
fn a_parser_that_fails_costs_its_file_alone() {
    let limits = ReaderLimits {
        time_max: Duration::from_secs(20),
        memory_bytes_max: 256 << 20,
        ..ReaderLimits::default()
    };
    let readers = readers(limits);
    assert_eq!(read(&readers, "a.pdf"), Ok(MediaType::Pdf));
    for (name, expected) in [
        ("abort.lodestone-test", "its reader crashed ("),
        ("panic.lodestone-test", "its reader crashed (the parser gave up)"),
        ("memory.lodestone-test", "reading it takes more than 256 MB of memory"),
        ("stack.lodestone-test", "its reader crashed (it nests too deeply)"),
    ] {
        let reason = read(&readers, name).unwrap_err();
        assert!(reason.to_string().starts_with(expected), "{name}: {reason}");
        assert!(reason.is_of_the_file());
        assert_eq!(read(&readers, "a.pdf"), Ok(MediaType::Pdf), "after {name}");
    }
}

#[test]
fn a_parser_that_hangs_is_stopped() {
    let limits = ReaderLimits { time_max: Duration::from_secs(2), ..ReaderLimits::default() };
    let readers = readers(limits);
    let started = Instant::now();
    let reason = read(&readers, "hang.lodestone-test").unwrap_err();
    assert_eq!(reason, Unreadable::TooSlow { seconds_max: 2 });
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(read(&readers, "a.pdf"), Ok(MediaType::Pdf));
}

#[test]
fn pages_are_parsed_apart_as_well() {
    let limits = ReaderLimits { time_max: Duration::from_secs(2), ..ReaderLimits::default() };
    let readers = readers(limits);
    let read = |name: &str, page: &str| {
        let source = Source::File(std::env::temp_dir().join(name));
        readers.read_document(source, page.as_bytes().to_vec(), None).map(|page| page.text)
    };
    assert_eq!(read("a.html", "<p>Straw keeps it damp."), Ok("Straw keeps it damp.\n".to_owned()));
    let late = read("hang.lodestone-test", "\n<!doctype html><p>Straw").unwrap_err();
    assert_eq!(late, Unreadable::TooSlow { seconds_max: 2 });
}

#[test]
fn a_page_of_the_web_comes_with_its_links_and_takes_nobody_along() {
    let limits = ReaderLimits { time_max: Duration::from_secs(2), ..ReaderLimits::default() };
    let readers = readers(limits);
    let read = |path: &str, body: &[u8], content_type: &str| {
        let url = Url::parse("https://a.test").unwrap().join(path).unwrap();
        let hints = PageHints { content_type: Some(content_type.to_owned()), charset: None };
        readers.read_page(url, body.to_vec(), hints, Some(7))
    };
    let page =
        b"<html lang=en><meta name=robots content=noindex><h1>Beds</h1><p>Straw <a href=b>x</a>";
    let ReadPage { head, document } = read("/guide/a", page, "text/html");
    let document = document.unwrap();
    assert_eq!((document.text.as_str(), document.modified), ("# Beds\n\nStraw x\n", Some(7)));
    assert_eq!(document.source.key(), "https://a.test/guide/a");
    assert_eq!(head.links[0].url.as_str(), "https://a.test/guide/b");
    assert!(head.noindex && head.language.as_deref() == Some("en"));
    let pdf = read("/paper", &corpus("plain.pdf"), "application/pdf");
    assert_eq!(pdf.document.unwrap().media_type, MediaType::Pdf);
    assert_eq!(pdf.head, PageHead::default());
    let text = read("/notes.txt", b"<p>as it is", "text/plain");
    assert_eq!(text.document.unwrap().text, "<p>as it is");
    let late = read("/hang.lodestone-test", page, "text/html");
    assert_eq!(late.document, Err(Unreadable::TooSlow { seconds_max: 2 }));
    assert_eq!(late.head, PageHead::default());
    let crashed = read("/abort.lodestone-test", page, "text/html").document.unwrap_err();
    assert!(matches!(crashed, Unreadable::ReaderCrashed { .. }), "{crashed}");
    assert!(read("/guide/a", page, "text/html").document.is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_without_work_leaves_no_process_behind() {
    // No other test allows just so much, which tells this reader from theirs.
    let memory_bytes_max = (300 << 20) + 7;
    let idle_max = Duration::from_secs(2);
    let readers = readers(ReaderLimits { memory_bytes_max, idle_max, ..ReaderLimits::default() });
    assert_eq!(read(&readers, "a.pdf"), Ok(MediaType::Pdf));
    let is_it = |process: &PathBuf| {
        let arguments = std::fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        arguments.split('\0').any(|argument| argument == memory_bytes_max.to_string())
    };
    let mut processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let process = processes.find(is_it).unwrap();
    // A zombie would stay there.
    wait_for("the reader to be gone", || (!process.exists()).then_some(()));
}

#[test]
fn without_a_program_that_reads_nothing_is_parsed() {
    for program in ["/nowhere/at/all", "/bin/cat", "/bin/true"] {
        let readers = Readers::new(Some(program.into()), ReaderLimits::default());
        let reason = read(&readers, "a.pdf").unwrap_err();
        assert!(matches!(reason, Unreadable::NoReader { .. }), "{program}: {reason}");
        assert!(!reason.is_of_the_file());
        let page = Source::File("/a/b.html".into());
        let reason = readers.read_document(page, b"<p>A page".to_vec(), None).unwrap_err();
        assert!(matches!(reason, Unreadable::NoReader { .. }), "{program}: {reason}");
        let text = Source::File("/a/b.txt".into());
        assert!(readers.read_document(text, b"Text needs none.".to_vec(), None).is_ok());
    }
}

#[test]
fn a_folder_of_every_format_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/formats");
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, files.join(path.file_name().unwrap())).unwrap();
    }
    let lode = Lode::new(&dir.path().join("data"));
    // Two of the files are refused, so it does not end as if all were done.
    let indexed = lode.command(&[OsStr::new("index"), files.as_os_str()]).output().unwrap();
    assert_eq!(indexed.status.code(), Some(1), "{}", String::from_utf8_lossy(&indexed.stderr));
    for (word, file) in [
        ("wrung", "handbook.pdf"),
        ("dahlias", "handbook.docx"),
        ("varroa", "bees.pptx"),
        ("broadfork", "accounts.xlsx"),
        ("lovage", "message.eml"),
        ("cardoon", "list.mbox"),
        ("quinces", "shed.zip"),
        ("swifts", "diary.tar.gz"),
    ] {
        let found = lode.files_with(word);
        assert!(found.contains(file), "{word}: {found:?}");
    }
    let status = lode.json(&["status"]);
    let skipped = status["skipped"].as_array().unwrap();
    let reason_of = |name: &str| {
        let is_named = |entry: &&Value| entry.to_string().contains(name);
        skipped.iter().find(is_named).map(|entry| entry["reason"].to_string()).unwrap_or_default()
    };
    assert!(reason_of("protected.pdf").contains("password"), "{status}");
    assert!(reason_of("scanned.pdf").contains("text recognition"), "{status}");
}
