use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn file_of(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn kept(folder: &Path, options: HnswOptions, rows: &[Vec<f32>]) -> HnswIndex {
    let (index, opening) = HnswIndex::open(options, VectorHome::new(folder.to_owned(), origin()));
    assert!(matches!(opening, VectorOpening::Missing), "{opening:?}");
    index.apply(update(rows, 0, 1)).unwrap();
    index.upkeep(&never).unwrap();
    index
}

#[test]
fn the_graph_depends_on_the_passages_and_the_seed_alone() {
    let rows = clustered(900, 12, 8);
    let bytes = |threads, seed, backwards: bool, simd| {
        let dir = tempfile::tempdir().unwrap();
        let options = HnswOptions { simd, threads, seed, ..options(12) };
        let home = VectorHome::new(dir.path().to_owned(), origin());
        let (index, _) = HnswIndex::open(options, home);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        if backwards {
            order.reverse();
        }
        for n in order {
            index.apply(update(&rows[n..=n], n as u64, 1)).unwrap();
        }
        index.upkeep(&never).unwrap();
        fs::read(file_of(dir.path())).unwrap()
    };
    let one = bytes(1, 5, false, Simd::detect());
    assert!(one == bytes(4, 5, true, Simd::detect()), "threads and order count");
    assert!(one == bytes(2, 5, false, Simd::Plain), "the instruction set counts");
    assert!(one != bytes(1, 6, false, Simd::detect()), "the seed does not count");
}

#[test]
fn a_file_is_opened_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(600, 12, 8);
    let index = kept(dir.path(), walking(12), &rows);
    let home = |model| {
        VectorHome::new(dir.path().to_owned(), VectorOrigin { store: STORE.to_owned(), model })
    };
    let (again, opening) = HnswIndex::open(walking(12), home(7));
    assert!(matches!(opening, VectorOpening::Opened), "{opening:?}");
    assert_eq!((again.reached(), again.len()), (ChangeNumber(1), 600));
    assert_eq!(again.parts(), index.parts());
    assert!(again.needs_upkeep(), "the bytes are not checked yet");
    assert_eq!(again.upkeep(&never).unwrap(), Upkeep::Nothing);
    assert!(!again.needs_upkeep());
    for query in clustered(20, 12, 4) {
        let filter = PassageFilter::all();
        assert_eq!(search(&again, &query, &filter, 5), search(&index, &query, &filter, 5));
    }
    let (other, opening) = HnswIndex::open(walking(12), home(8));
    assert!(matches!(opening, VectorOpening::Missing), "of another model: {opening:?}");
    assert!(other.is_empty());
    let elsewhere = VectorOrigin { store: "another".to_owned(), model: 7 };
    let (other, _) =
        HnswIndex::open(walking(12), VectorHome::new(dir.path().to_owned(), elsewhere));
    assert!(other.is_empty(), "of another store");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_flipped_bit_and_every_other_length_is_noticed(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 40),
        lengths in proptest::collection::vec(any::<prop::sample::Index>(), 10),
    ) {
        thread_local! {
            static FILE: (tempfile::TempDir, Vec<u8>) = {
                let dir = tempfile::tempdir().unwrap();
                kept(dir.path(), options(5), &clustered(90, 5, 8));
                let bytes = fs::read(file_of(dir.path())).unwrap();
                (dir, bytes)
            };
        }
        FILE.with(|(dir, bytes)| {
            let path = file_of(dir.path());
            let home = || VectorHome::new(dir.path().to_owned(), origin());
            for (at, bit) in flips {
                let mut flipped = bytes.clone();
                flipped[at.index(bytes.len())] ^= 1 << bit;
                fs::write(&path, &flipped).unwrap();
                let (index, opening) = HnswIndex::open(options(5), home());
                if matches!(opening, VectorOpening::Opened) {
                    // Searches may be wrong until the bytes are checked; they must not fail.
                    search(&index, &[1.0, 0.5, 0.0, 0.0, 0.2], &PassageFilter::all(), 3);
                    prop_assert!(index.check().is_err(), "bit {bit} of byte {}", at.index(bytes.len()));
                    prop_assert!(index.is_damaged());
                }
            }
            for length in lengths {
                let other = length.index(bytes.len() + 5_000);
                let mut resized = bytes.clone();
                resized.resize(other, 0);
                fs::write(&path, &resized).unwrap();
                let (_, opening) = HnswIndex::open(options(5), home());
                let is_whole = other == bytes.len();
                prop_assert_eq!(matches!(opening, VectorOpening::Opened), is_whole, "{}", other);
            }
            fs::write(&path, bytes).unwrap();
            Ok(())
        })?;
    }
}

#[test]
fn upkeep_reports_damage_once_and_removes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(kept(dir.path(), options(8), &clustered(200, 8, 8)));
    let path = file_of(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[9_000] ^= 4;
    fs::write(&path, bytes).unwrap();
    let (index, _) = HnswIndex::open(options(8), VectorHome::new(dir.path().to_owned(), origin()));
    assert!(!index.is_damaged());
    assert!(matches!(index.upkeep(&never), Err(UpkeepError::Damaged(_))));
    assert!(index.is_damaged());
    assert!(!path.exists());
}
