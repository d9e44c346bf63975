//! Killed at random points through a long ingest of mixed files and edits, the index is the one that an
//! undisturbed ingest makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use half::f16;
use rusqlite::Connection;

use crate::corpus;
use crate::lode::Lode;
use crate::process::{Process, wait_for};
use crate::tiny_model;

/// Kills in an ordinary run; `LODESTONE_CRASH_KILLS` asks for more.
const KILLS: u64 = 10;
const KILLS_VARIABLE: &str = "LODESTONE_CRASH_KILLS";

/// Notes that are new when a kill is aimed at the queue: enough that they are not all stored within the moment between
/// the look and the kill.
const NOTES_TO_WAIT_FOR: usize = 20;

/// The longest that a process lives, in milliseconds: starting takes a part of it.
const LIFE_MS_MAX: u64 = 1_500;

/// Vectors of one passage differ in their last bits with the batch that it was embedded in.
const VECTOR_TOLERANCE: f32 = 2e-3;

#[test]
fn killed_at_random_points_it_makes_the_index_of_an_undisturbed_run() {
    let kills = std::env::var(KILLS_VARIABLE).map_or(KILLS, |kills| kills.parse().unwrap());
    let (files, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut world = World { folder: files.path().to_owned(), state: 0x5eed, serial: 0 };
    world.populate();
    let lode = tiny_model::lode(data.path());
    let index = ["index".as_ref(), files.path().as_os_str()];

    let (mut ended, mut left_over) = (0, 0);
    for kill in 0..kills {
        // Both faces of it: the command that was asked, and the process that goes on unasked.
        let mut command =
            if kill % 3 == 2 { lode.command(&["daemon"]) } else { lode.command(&index) };
        // Most kills fall where nothing waits; some are aimed at a moment at which something does.
        let is_aimed = kill % 5 == 4;
        if is_aimed {
            (0..NOTES_TO_WAIT_FOR).for_each(|_| world.write_note());
        }
        let mut process = Process::start(command.stderr(Stdio::null()));
        let life = Duration::from_millis(world.below(LIFE_MS_MAX));
        if kill % 2 == 0 {
            world.edit();
        }
        if is_aimed {
            while !has_queue(data.path()) && !process.has_ended() {
                std::thread::yield_now();
            }
        } else {
            // What it says ends its life as well as the time does.
            process.line_within(life);
        }
        ended += u64::from(process.has_ended());
        process.kill();
        left_over += u64::from(has_queue(data.path()));
        world.edit();
    }
    println!("{kills} kills, {ended} came too late, {left_over} left files on the queue");
    assert!(ended < kills / 2, "{ended} of {kills} kills came too late: add files");
    assert!(left_over > 0, "no kill left files on the queue: add files");

    // What was left of changes that the daemon saw is its own to finish.
    let mut daemon = Process::start(lode.command(&["daemon"]).stderr(Stdio::null()));
    wait_for("the queue to be empty", || {
        (lode.json(&["status"])["queue"]["runs"] == 0).then_some(())
    });
    daemon.kill();
    let finished = lode.command(&index).output().unwrap();
    assert_ne!(finished.status.code(), Some(3), "{finished:?}");
    let clean_data = tempfile::tempdir().unwrap();
    let clean = tiny_model::lode(clean_data.path());
    assert_ne!(clean.command(&index).output().unwrap().status.code(), Some(3));
    compare(data.path(), clean_data.path());
    for query in ["quokka", "the harbor remembers", "zeppelin day"] {
        for mode in ["keyword", "semantic"] {
            let found = |lode: &Lode| ranking(lode, query, mode);
            assert_eq!(found(&lode), found(&clean), "{query} by {mode}");
        }
    }
    let checked = lode.command(&["doctor", "--json"]).output().unwrap();
    let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    for check in checked["checks"].as_array().unwrap() {
        // A random model knows no meaning, and the doctor says so.
        assert!(check["ok"] == true || check["name"] == "model", "{checked}");
    }
}

/// A folder that changes, the same way every time.
struct World {
    folder: PathBuf,
    state: u64,
    serial: usize,
}

impl World {
    fn populate(&mut self) {
        corpus::write_documents(&self.folder, 60, 200);
        fs::create_dir(self.folder.join("notes")).unwrap();
        for _ in 0..30 {
            self.write_note();
        }
        let long: String = (0..400).map(|n| section(n, n * 7)).collect();
        fs::write(self.folder.join("long.md"), format!("# A long one\n\n{long}")).unwrap();
        fs::write(self.folder.join("page.html"), "<title>A page</title><p>Glass outlives rain.")
            .unwrap();
        fs::write(self.folder.join("code.rs"), "fn quokka() {}\n\nfn zeppelin() {}\n").unwrap();
        fs::write(self.folder.join("image.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
        fs::write(self.folder.join("empty.txt"), "").unwrap();
    }

    /// xorshift64*: even numbers are enough here.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn notes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join("notes")).unwrap();
        let mut notes: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        notes.sort();
        notes
    }

    fn write_note(&mut self) {
        self.serial += 1;
        let (name, sections) = (format!("notes/{:04}.md", self.serial), 1 + self.below(9) as usize);
        let body: String = (0..sections).map(|n| section(self.serial, n)).collect();
        // A title of its own, so that a renamed note is the same to the encoder.
        let text = format!("# Note {}\n\n{body}", self.serial);
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// A few changes: new notes, edits, renames, copies and removals.
    fn edit(&mut self) {
        for _ in 0..=self.below(4) {
            let notes = self.notes();
            let note = &notes[self.below(notes.len() as u64) as usize];
            self.serial += 1;
            let other = self.folder.join(format!("notes/{:04}.md", self.serial));
            match self.below(6) {
                0 => self.write_note(),
                1 => fs::rename(note, other).unwrap(),
                2 => drop(fs::copy(note, other).unwrap()),
                3 if notes.len() > 10 => fs::remove_file(note).unwrap(),
                4 => self.edit_long(),
                _ => {
                    let text = fs::read_to_string(note).unwrap() + &section(self.serial, 1);
                    fs::write(note, text).unwrap();
                }
            }
        }
    }

    fn edit_long(&mut self) {
        let path = self.folder.join("long.md");
        let text = fs::read_to_string(&path).unwrap();
        let at = self.below(text.len() as u64) as usize;
        let at = text[..at].rfind("\n\n").unwrap_or(0) + 2;
        let inserted =
            format!("{}On edit {} rain repairs it. {}", &text[..at], self.serial, &text[at..]);
        fs::write(path, inserted).unwrap();
    }
}

fn section(one: usize, two: usize) -> String {
    let subjects = ["The harbor", "A careful reader", "The old compiler", "Rain", "Glass"];
    let sentences: Vec<String> = (0..12)
        .map(|n| format!("{} remembers {one} and {} on day {n}.", subjects[(one + n) % 5], two * n))
        .collect();
    let sentences = sentences.join(" ");
    format!("## Section {two} of {one}\n\n{sentences}\n\n")
}

fn ranking(lode: &Lode, query: &str, mode: &str) -> Vec<String> {
    let found = lode.json(&["search", query, "--mode", mode, "-n", "5"]);
    let hits = found["hits"].as_array().unwrap().iter();
    let mut names: Vec<_> =
        hits.map(|hit| hit["passage"]["text"].as_str().unwrap().to_owned()).collect();
    // Copies have equal scores.
    names.sort();
    names
}

/// Everything that is stored, but for the times of indexing and the order in which it came.
fn compare(one: &Path, other: &Path) {
    let [one, other] = [one, other].map(|dir| Connection::open(dir.join("store.sqlite3")).unwrap());
    for sql in [
        "SELECT source || '|' || hex(content_hash) || '|' || bytes || '|' || modified || '|' || title
             || '|' || media_type || '|' || locators || '|' || text
         FROM documents JOIN bodies ON document = documents.id ORDER BY source",
        "SELECT source || '|' || ordinal || '|' || start || '|' || stop || '|' || hex(input)
         FROM passages JOIN documents ON documents.id = document ORDER BY source, ordinal",
        "SELECT source || '|' || reason || '|' || attempts FROM skipped ORDER BY source",
        "SELECT source FROM roots ORDER BY source",
        "SELECT documents || '|' || passages || '|' || skipped FROM state",
        "SELECT source FROM queue",
        "SELECT id FROM runs",
        "SELECT count(*) || '' FROM spare_vectors",
    ] {
        let [one, other] = [&one, &other].map(|connection| texts(connection, sql));
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "{sql}");
        }
        assert_eq!(one.len(), other.len(), "{sql}");
    }
    let [one, other] = [&one, &other].map(vectors);
    assert_eq!(one.len(), other.len());
    for (a, b) in one.iter().zip(&other) {
        assert!((a - b).abs() <= VECTOR_TOLERANCE, "{a} {b}");
    }
}

fn has_queue(data: &Path) -> bool {
    let connection = Connection::open(data.join("store.sqlite3")).unwrap();
    !texts(&connection, "SELECT source FROM queue LIMIT 1").is_empty()
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let value: rusqlite::types::Value = row.get(0)?;
        Ok(format!("{value:?}"))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn vectors(connection: &Connection) -> Vec<f32> {
    let sql = "SELECT rows FROM embedded JOIN documents ON documents.id = document ORDER BY source";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    rows.flat_map(Result::unwrap)
        .collect::<Vec<u8>>()
        .chunks_exact(2)
        .map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32())
        .collect()
}
