use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process;

use serde_json::{Map, Value, json};

use super::mark::{COUNTER, FLOW};

/// The file of a trace, one event a line, in the Trace Event Format
/// (<https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>).
///
/// tracing-chrome writes spans and knows of nothing else, and gives every value as text. What comes out of
/// it is made into what a viewer draws: numbers, counters, and arrows from a request to its step.
pub(super) struct TraceFile<W: Write = BufWriter<File>> {
    file: W,
    /// Of a line that is not at its end.
    pending: Vec<u8>,
    has_events: bool,
    is_closed: bool,
}

impl TraceFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        Self::begin(BufWriter::new(file))
    }
}

impl<W: Write> TraceFile<W> {
    fn begin(mut file: W) -> io::Result<Self> {
        file.write_all(b"[")?;
        let mut trace = Self { file, pending: Vec::new(), has_events: false, is_closed: false };
        let program = std::env::args().next().unwrap_or_default();
        let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
        trace.write_event(&json!({
            "ph": "M", "name": "process_name", "pid": process::id(), "tid": 0,
            "args": { "name": program },
        }))?;
        Ok(trace)
    }

    fn write_event(&mut self, event: &Value) -> io::Result<()> {
        self.file.write_all(if self.has_events { b",\n" } else { b"\n" })?;
        self.has_events = true;
        serde_json::to_writer(&mut self.file, event)?;
        Ok(())
    }

    /// A line as tracing-chrome writes it: an event, or one of the brackets around all.
    fn take_line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = line.strip_suffix(b",").unwrap_or(line);
        match serde_json::from_slice::<Value>(line) {
            Ok(event @ Value::Object(_)) => self.write_event(&drawn(event)),
            _ => Ok(()),
        }
    }
}

impl<W: Write> Write for TraceFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(part);
            if self.pending.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.pending);
                self.take_line(&line[..line.len() - 1])?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let is_end = pending == b"]";
        if serde_json::from_slice::<Value>(&pending).is_ok_and(|event| event.is_object()) {
            self.take_line(&pending)?;
        } else {
            self.pending = pending;
        }
        if is_end && !self.is_closed {
            self.is_closed = true;
            self.file.write_all(b"\n]\n")?;
        }
        self.file.flush()
    }
}

/// An event with numbers as numbers, and marks as what they mean.
fn drawn(mut event: Value) -> Value {
    if let Some(args) = event.get_mut("args").and_then(Value::as_object_mut) {
        for value in args.values_mut() {
            if let Some(text) = value.as_str() {
                *value = meant(text);
            }
        }
    }
    event["pid"] = process::id().into();
    match event["cat"].as_str() {
        Some(COUNTER) => counter(&event),
        Some(FLOW) => flow(&event),
        _ => event,
    }
}

/// What stands behind a value that was written as for a programmer.
fn meant(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::String(_))) => value,
        _ => text.into(),
    }
}

fn counter(event: &Value) -> Value {
    let mut values = event["args"].as_object().cloned().unwrap_or_else(Map::new);
    let name = values.remove("counter").unwrap_or_default();
    json!({ "ph": "C", "name": name, "pid": event["pid"], "ts": event["ts"], "args": values })
}

fn flow(event: &Value) -> Value {
    let is_begin = event["args"]["flow"] == "begin";
    let mut arrow = json!({
        "ph": if is_begin { "s" } else { "f" },
        "name": "request",
        "cat": "request",
        "id": event["args"]["request"],
        "pid": event["pid"],
        "tid": event["tid"],
        "ts": event["ts"],
    });
    if !is_begin {
        // It points at the span that is open, and not at the next one.
        arrow["bp"] = "e".into();
    }
    arrow
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However the writer before it cuts what it writes, and wherever it flushes.
        #[test]
        fn every_cut_gives_the_same_file(
            names in proptest::collection::vec("[a-z\n\"]{0,6}", 0..6),
            cuts in proptest::collection::vec((1..20_usize, any::<bool>()), 1..200),
        ) {
            let events: Vec<Value> =
                names.iter().map(|name| json!({ "ph": "B", "name": name, "ts": 1.5 })).collect();
            let lines: Vec<String> = events.iter().map(Value::to_string).collect();
            let text = format!("[\n{}\n]", lines.join(",\n"));
            let mut trace = TraceFile::begin(Vec::new()).unwrap();
            let mut rest = text.as_bytes();
            for (length, flushes) in cuts.into_iter().cycle() {
                let (part, after) = rest.split_at(length.min(rest.len()));
                trace.write_all(part).unwrap();
                if flushes {
                    trace.flush().unwrap();
                }
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            trace.flush().unwrap();
            let written: Vec<Value> = serde_json::from_slice(&trace.file).unwrap();
            let written: Vec<&Value> = written[1..].iter().map(|event| &event["name"]).collect();
            prop_assert_eq!(written, events.iter().map(|event| &event["name"]).collect::<Vec<_>>());
        }
    }
}
