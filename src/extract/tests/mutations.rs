//! Real files with something broken in them. Whatever is read keeps the laws of a document; nothing
//! panics, and nothing takes longer or grows larger than its input allows.
//!
//! Workbooks are left out: calamine makes room for every cell up to the last one that a broken file
//! names, 24 GB at times, which only a reader process survives.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::*;

/// Longer than any broken file of the corpus takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Text that a file of the corpus, of 40 kB at most, may give when it is broken.
const TEXT_BYTES_MAX: usize = 16 << 20;

static CORPUS: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/formats");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_stem().is_none_or(|stem| stem != "accounts"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
});

/// One change of some bytes, at a place that is a fraction of the file.
#[derive(Clone, Debug)]
enum Mutation {
    Set(f64, u8),
    Flip(f64, u8),
    Cut(f64),
    Remove(f64, usize),
    Repeat(f64, usize),
    /// A number made huge, where one is written in digits.
    Inflate(f64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = || 0.0..1.0_f64;
    prop_oneof![
        3 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        3 => (at(), 0..8_u8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        1 => at().prop_map(Mutation::Cut),
        2 => (at(), 1..200_usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        2 => (at(), 1..200_usize).prop_map(|(at, count)| Mutation::Repeat(at, count)),
        2 => at().prop_map(Mutation::Inflate),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let place = |at: f64| ((bytes.len() as f64 * at) as usize).min(bytes.len().saturating_sub(1));
    match *mutation {
        _ if bytes.is_empty() => {}
        Mutation::Set(at, byte) => {
            let at = place(at);
            bytes[at] = byte;
        }
        Mutation::Flip(at, bit) => {
            let at = place(at);
            bytes[at] ^= 1 << bit;
        }
        Mutation::Cut(at) => bytes.truncate(place(at)),
        Mutation::Remove(at, count) => {
            let at = place(at);
            bytes.drain(at..bytes.len().min(at + count));
        }
        Mutation::Repeat(at, count) => {
            let at = place(at);
            let part = bytes[at..bytes.len().min(at + count)].to_vec();
            bytes.splice(at..at, part);
        }
        Mutation::Inflate(at) => {
            let from = place(at);
            if let Some(digit) = bytes[from..].iter().position(u8::is_ascii_digit) {
                bytes.splice(from + digit..from + digit, *b"99999999");
            }
        }
    }
}

/// ZIP files say what is wrong with them by a checksum, so a broken byte reaches no parser. Their
/// parts are broken instead, and put into a new file.
fn mutate(bytes: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    if !bytes.starts_with(b"PK") {
        let mut bytes = bytes.to_vec();
        for mutation in mutations {
            apply(&mut bytes, mutation);
        }
        return bytes;
    }
    let mut old = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut new = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for index in 0..old.len() {
        let mut part = old.by_index(index).unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut part, &mut content).unwrap();
        for mutation in mutations {
            apply(&mut content, mutation);
        }
        new.start_file(part.name().unwrap(), options).unwrap();
        std::io::Write::write_all(&mut new, &content).unwrap();
    }
    new.finish().unwrap().into_inner()
}

fn check_broken(file: usize, mutations: &[Mutation]) {
    let (name, bytes) = &CORPUS[file % CORPUS.len()];
    let broken = mutate(bytes, mutations);
    let started = Instant::now();
    if let Ok(document) = read(name, broken) {
        check_laws(&document);
        assert!(document.text.len() <= TEXT_BYTES_MAX, "{name} grew to {}", document.text.len());
    }
    assert!(started.elapsed() < PATIENCE, "{name} took {:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]
    #[test]
    fn a_broken_file_is_read_or_refused(
        file in any::<usize>(),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        check_broken(file, &mutations);
    }

    #[test]
    fn a_broken_package_is_read_or_refused(
        file in any::<usize>(),
        at in 0.0..1.0_f64,
        byte: u8,
    ) {
        let (name, bytes) = &CORPUS[file % CORPUS.len()];
        let mut bytes = bytes.clone();
        apply(&mut bytes, &Mutation::Set(at, byte));
        if let Ok(document) = read(name, bytes) {
            check_laws(&document);
        }
    }
}

/// By hand, for as many seconds as `LODESTONE_FUZZ_SECONDS` says.
#[test]
#[ignore = "runs for as long as it is told"]
fn broken_files_for_a_long_time() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let seconds = std::env::var("LODESTONE_FUZZ_SECONDS").map_or(60, |s| s.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runner = TestRunner::default();
    let cases = (any::<usize>(), prop::collection::vec(mutation(), 1..12));
    let mut count = 0_u64;
    while Instant::now() < end {
        let (file, mutations) = cases.new_tree(&mut runner).unwrap().current();
        let outcome = catch_unwind(|| check_broken(file, &mutations));
        if let Err(panic) = outcome {
            println!("{} {mutations:?}", CORPUS[file % CORPUS.len()].0);
            std::panic::resume_unwind(panic);
        }
        count += 1;
    }
    println!("{count} broken files in {seconds} s");
}
