//! Memory while a file of several GB with a line of 100 MB is read.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use baton_conversation::transcript::{Cursor, OpenCalls};
use baton_events::session::TailDigest;
use baton_store::transcript_reader;
use baton_store::transcript_reader::{Pass, Start};
use serde::Serialize;

use super::super::process::memory;
use super::super::table::megabytes;
use super::super::{Error, Table, io_error};
use super::{Hashed, source_of};

/// Size of the file, in bytes.
const BYTES: u64 = 5_000_000_000;
/// Size of its one huge line, in bytes.
const LINE_BYTES: usize = 100_000_000;
/// Disk space that must remain free, in bytes.
const SPARE_BYTES: u64 = 1_000_000_000;

/// Peaks of memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Huge {
    /// Size of the file.
    pub bytes: u64,
    /// Size of its one huge line.
    pub line_bytes: u64,
    /// Time to observe it and read it to items, in seconds.
    pub seconds: f64,
    /// Peak memory of this process until then, in bytes; absent where the system does not report it.
    pub peak_bytes: Option<u64>,
    /// The peak before anything was read.
    pub before_bytes: Option<u64>,
}

/// Writes the file, reads it and removes it.
pub(super) fn measure(folder: &Path) -> Result<Huge, Error> {
    let free = free_bytes(folder)?;
    if free < BYTES + SPARE_BYTES {
        return Err(Error::NothingMeasured(format!(
            "a file of {} needs as much room and 1 GB more in {}, and {} are free; set TMPDIR to a larger disk",
            megabytes(BYTES),
            folder.display(),
            megabytes(free),
        )));
    }
    let path = folder.join("huge.jsonl");
    write(&path).map_err(io_error("write", &path))?;
    let held = || memory(std::process::id());
    let before = held().map(|memory| memory.peak_bytes);
    let since = Instant::now();
    let mut start = Start {
        source: source_of(&path),
        path: path.to_string_lossy().into_owned(),
        cursor: Cursor::default(),
        tail: TailDigest::default(),
    };
    let begin = start.clone();
    loop {
        match transcript_reader::observe(&start) {
            Pass::Read(done) => {
                (start.cursor, start.tail) = (done.cursor, done.tail);
                if !done.more {
                    break;
                }
            }
            other => return Err(Error::NothingMeasured(format!("reading ended with {other:?}"))),
        }
    }
    let pass = transcript_reader::items(&begin, OpenCalls::default(), start.cursor.offset, &mut Hashed::default());
    let seconds = since.elapsed().as_secs_f64();
    let bytes = start.cursor.offset;
    std::fs::remove_file(&path).map_err(io_error("remove", &path))?;
    if bytes < BYTES || !matches!(pass, Pass::Read(_)) {
        return Err(Error::NothingMeasured(format!("{bytes} bytes of {BYTES} were read")));
    }
    Ok(Huge {
        bytes,
        line_bytes: LINE_BYTES as u64,
        seconds,
        peak_bytes: held().map(|memory| memory.peak_bytes),
        before_bytes: before,
    })
}

/// Writes endless progress with prompts in between, as one version of the agent did, and a huge line in the middle.
fn write(path: &Path) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let progress = format!(
        "{{\"type\":\"progress\",\"uuid\":\"p\",\"data\":{{\"output\":\"{}\"}}}}\n",
        "line of output\\n".repeat(4_000)
    );
    let prompt = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Go on, please.\"}}\n";
    let block = [progress.repeat(16), prompt.to_owned()].concat();
    let mut written = 0;
    let mut giant = true;
    while written < BYTES {
        if giant && written > BYTES / 2 {
            giant = false;
            file.write_all(b"{\"type\":\"progress\",\"data\":\"")?;
            let piece = vec![b'x'; 1_000_000];
            for _ in 0..LINE_BYTES / piece.len() {
                file.write_all(&piece)?;
            }
            file.write_all(b"\"}\n")?;
        }
        file.write_all(block.as_bytes())?;
        written += block.len() as u64;
    }
    Ok(())
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let room = rustix::fs::statvfs(folder).map_err(|error| io_error("look at", folder)(error.into()))?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Result<u64, Error> {
    Err(Error::NothingMeasured("how much room there is can be told on Unix only; leave --huge out".to_owned()))
}

impl Huge {
    pub(super) fn table(&self) -> Table {
        let mut table =
            Table::new("Memory", "Observation and index of one file, in this process, before anything else was held.");
        let giant = megabytes(self.line_bytes);
        table.row("file", format!("{}, with a line of {giant}, in {:.1} s", megabytes(self.bytes), self.seconds));
        match self.peak_bytes.zip(self.before_bytes) {
            Some((peak, before)) => {
                table.row("most ever held", format!("{}, {} before it", megabytes(peak), megabytes(before)));
            }
            None => table.row("most ever held", super::super::process::ONLY_LINUX.to_owned()),
        }
        table
    }
}
