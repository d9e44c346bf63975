//! Files of a person's own machine, for the figures in `docs/formats.md`.

use std::time::Instant;

use super::*;

/// By hand: reads the files named in the file `LODESTONE_REAL_FILES`, one path a line, and prints for
/// each whether it gave text or why not, its bytes, the seconds it took, the bytes of text, its title.
/// With `LODESTONE_REAL_TEXTS` set to a folder, it writes the texts there.
#[test]
#[ignore = "needs files that are not here"]
fn real_files() {
    let list = std::env::var("LODESTONE_REAL_FILES").unwrap();
    let texts = std::env::var("LODESTONE_REAL_TEXTS").ok();
    for (number, path) in std::fs::read_to_string(list).unwrap().lines().enumerate() {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let size = bytes.len();
        let started = Instant::now();
        let source = Source::File(Path::new(path).into());
        let read = catch_unwind(|| read_document_here(source, bytes, None));
        let seconds = started.elapsed().as_secs_f64();
        match read {
            Ok(Ok(document)) => {
                check_laws(&document);
                let (kind, text) = (document.media_type, document.text.len());
                println!("OK\t{kind}\t{size}\t{seconds:.4}\t{text}\t{path}\t{}", document.title);
                if let Some(folder) = &texts {
                    std::fs::write(format!("{folder}/{number}.txt"), &document.text).unwrap();
                }
            }
            Ok(Err(reason)) => println!("NO\t{reason}\t{size}\t{seconds:.4}\t0\t{path}\t"),
            Err(_) => println!("PANIC\tpanic\t{size}\t{seconds:.4}\t0\t{path}\t"),
        }
    }
}
