//! Memory of a daemon that indexes one conversation of 1 GB, which must not grow with the conversation.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::super::process::{self, memory};
use super::super::table::megabytes;
use super::super::{Corpus, CorpusOptions, Error, Table, TestDaemon, io_error};
use super::transcripts;

/// Size of the transcript, in bytes.
const BYTES: u64 = 1_000_000_000;
/// It is put together from corpora of this size.
const PART: CorpusOptions = CorpusOptions { sessions: 60, bytes: 50_000_000, seed: 0, dense: false };
/// The session's id.
const ID: &str = "6d1a7c52-90be-4f3d-8e21-5b7f0c9a4d13";

/// Peaks of memory, in bytes; absent where the system does not report them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Giant {
    /// Size of the transcript.
    pub bytes: u64,
    /// Time to index it, in seconds.
    pub seconds: f64,
    /// Memory before the transcript existed.
    pub before_bytes: Option<u64>,
    /// Peak while it was read, stored and added to the memory.
    pub index_bytes: Option<u64>,
    /// Peak while it was indexed again after one more line.
    pub append_bytes: Option<u64>,
    /// Peak while its episode was shown.
    pub show_bytes: Option<u64>,
    /// Peak while a page of its messages was shown.
    pub messages_bytes: Option<u64>,
    /// Peak while it was forgotten.
    pub forget_bytes: Option<u64>,
}

/// Writes the transcript, measures a daemon over it, and removes it.
pub(super) fn measure(folder: &Path) -> Result<Giant, Error> {
    let claude = folder.join("giant");
    let project = claude.join("projects/-home-dev-giant");
    fs::create_dir_all(&project).map_err(io_error("create", &project))?;
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.ask(Corpus::COMMON_WORD, true)?;
    let pid = daemon.pid();
    let before_bytes = most(pid);
    let path = project.join(format!("{ID}.jsonl"));
    let bytes = write(&path, &folder.join("part"))?;
    let since = Instant::now();
    process::reset_peak(pid);
    daemon.index_all(Corpus::COMMON_WORD, 1)?;
    let mut giant = Giant {
        bytes,
        seconds: since.elapsed().as_secs_f64(),
        before_bytes,
        index_bytes: most(pid),
        ..Giant::default()
    };
    let step = |what: &[&str]| -> Result<Option<u64>, Error> {
        process::reset_peak(pid);
        daemon.run(what)?;
        Ok(most(pid))
    };
    let line = format!(
        "{{\"type\":\"user\",\"uuid\":\"last\",\"sessionId\":\"{ID}\",\"message\":{{\"role\":\"user\",\"content\":\"One more.\"}}}}\n"
    );
    let appended = OpenOptions::new().append(true).open(&path).and_then(|mut file| file.write_all(line.as_bytes()));
    appended.map_err(io_error("write", &path))?;
    giant.append_bytes = step(&["close", ID])?;
    giant.show_bytes = step(&["show", ID])?;
    giant.messages_bytes = step(&["show", ID, "--messages"])?;
    giant.forget_bytes = step(&["forget", ID, "--yes"])?;
    drop(daemon);
    fs::remove_dir_all(&claude).map_err(io_error("remove", &claude))?;
    Ok(giant)
}

fn most(pid: u32) -> Option<u64> {
    memory(pid).map(|memory| memory.peak_bytes)
}

/// Writes the lines of many sessions as one session. Returns its size in bytes.
fn write(path: &Path, part: &Path) -> Result<u64, Error> {
    let mut file = BufWriter::new(File::create(path).map_err(io_error("create", path))?);
    let (mut written, mut seed) = (0, 0);
    while written < BYTES {
        seed += 1;
        Corpus::write(CorpusOptions { seed, ..PART }, part)?;
        for one in transcripts(&[part.to_owned()])? {
            let name = one.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if name.starts_with("agent-") {
                continue;
            }
            let text = fs::read_to_string(&one).map_err(io_error("read", &one))?.replace(&name, ID);
            written += text.len() as u64;
            file.write_all(text.as_bytes()).map_err(io_error("write", path))?;
        }
        fs::remove_dir_all(part).map_err(io_error("remove", part))?;
    }
    file.flush().map_err(io_error("write", path))?;
    Ok(written)
}

impl Giant {
    pub(super) fn table(&self) -> Table {
        let how = "A daemon over one transcript, shaped as real ones are; the most that it held in each step.";
        let mut table = Table::new("Memory of a daemon with one giant", how);
        table.row("transcript", format!("{}, indexed in {:.1} s", megabytes(self.bytes), self.seconds));
        let rows = [
            ("before it", self.before_bytes),
            ("indexed, searchable", self.index_bytes),
            ("one more line, closed", self.append_bytes),
            ("shown", self.show_bytes),
            ("a page of its messages", self.messages_bytes),
            ("forgotten", self.forget_bytes),
        ];
        for (name, bytes) in rows {
            table.row(name, bytes.map_or_else(|| process::ONLY_LINUX.to_owned(), megabytes));
        }
        table
    }
}
