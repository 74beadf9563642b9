//! Indexing again after one appended line, which reads only the tail.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use baton_conversation::transcript::{Cursor, OpenCalls};
use baton_events::session::TailDigest;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Pass, Start};
use serde::Serialize;

use super::super::process::read_bytes;
use super::super::table::megabytes;
use super::super::{Error, Table, io_error};
use super::{Hashed, source_of};

/// Size of the session, in bytes.
pub(super) const BYTES: u64 = 50_000_000;
/// Number of appends, of one line each.
const APPENDS: u32 = 21;
/// The appended line.
const LINE: &str = r#"{"type":"user","uuid":"9c2b663e-2745-4b58-a8a9-000000000001","timestamp":"2026-03-14T09:26:53.589Z","message":{"role":"user","content":"One more thing: is the token refreshed before it ends?"}}"#;

/// Cost of reading after an append.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tail {
    /// Size of the session.
    pub bytes: u64,
    /// Time to observe the whole session and read it to items, in milliseconds.
    pub whole_ms: f64,
    /// Size of the appended line.
    pub line_bytes: u64,
    /// Median of the same for one append, in milliseconds.
    pub line_ms: f64,
    /// Bytes read from the file for one append by observation and index together, including the tail that is compared
    /// first; absent where the system does not report it.
    pub taken_bytes: Option<u64>,
}

pub(super) fn measure(folder: &Path, like: &[PathBuf]) -> Result<Tail, Error> {
    let path = folder.join("tail.jsonl");
    write(&path, like)?;
    let mut start = Start {
        source: source_of(&path),
        path: path.to_string_lossy().into_owned(),
        cursor: Cursor::default(),
        tail: TailDigest::default(),
    };
    let since = Instant::now();
    follow(&mut start)?;
    let whole_ms = since.elapsed().as_secs_f64() * 1000.0;
    let bytes = start.cursor.offset;
    let mut file = OpenOptions::new().append(true).open(&path).map_err(io_error("append to", &path))?;
    let mut times = Vec::new();
    let before = read_bytes();
    for _ in 0..APPENDS {
        file.write_all(format!("{LINE}\n").as_bytes()).map_err(io_error("append to", &path))?;
        let since = Instant::now();
        follow(&mut start)?;
        times.push(since.elapsed().as_secs_f64() * 1000.0);
    }
    let after = read_bytes();
    times.sort_by(f64::total_cmp);
    let taken = before.zip(after).map(|(before, after)| (after - before) / u64::from(APPENDS));
    fs::remove_file(&path).map_err(io_error("remove", &path))?;
    Ok(Tail { bytes, whole_ms, line_bytes: LINE.len() as u64 + 1, line_ms: times[times.len() / 2], taken_bytes: taken })
}

/// Writes transcripts one after another until the file is large enough.
fn write(path: &Path, like: &[PathBuf]) -> Result<(), Error> {
    let mut file = fs::File::create(path).map_err(io_error("write", path))?;
    let mut written = 0;
    while written < BYTES {
        let round = written;
        for one in like {
            let mut bytes = fs::read(one).map_err(io_error("read", one))?;
            if bytes.last().is_some_and(|last| *last != b'\n') {
                bytes.push(b'\n');
            }
            file.write_all(&bytes).map_err(io_error("write", path))?;
            written += bytes.len() as u64;
            if written >= BYTES {
                break;
            }
        }
        if written == round {
            return Err(Error::NothingMeasured("the transcripts are empty".to_owned()));
        }
    }
    Ok(())
}

/// Observes what is new and reads it to items, as a session and its index job do.
fn follow(start: &mut Start) -> Result<(), Error> {
    let untrue = |pass: &Pass| Error::NothingMeasured(format!("reading ended with {pass:?}"));
    let mut reached = start.clone();
    loop {
        match transcript_reader::observe(&reached) {
            Pass::Read(done) => {
                (reached.cursor, reached.tail) = (done.cursor, done.tail);
                if !done.more {
                    break;
                }
            }
            other => return Err(untrue(&other)),
        }
    }
    let mut hashed = Hashed::default();
    match transcript_reader::items(start, OpenCalls::default(), reached.cursor.offset, &mut hashed) {
        Pass::Read(_) => *start = reached,
        other => return Err(untrue(&other)),
    }
    Ok(())
}

impl Tail {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(
            "One line more",
            "Observation and index of a session of 50 MB from its beginning, and after one line was appended: files in the \
             page cache, without what becomes of the items.",
        );
        table.row("from the beginning", format!("{:.1} ms, {}", self.whole_ms, megabytes(self.bytes)));
        table.row("after one line", format!("{:.2} ms, {} bytes", self.line_ms, self.line_bytes));
        if let Some(taken) = self.taken_bytes {
            table.row("taken from the file for it", format!("{taken} bytes"));
        }
        table
    }
}
