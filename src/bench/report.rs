//! What was measured: exactly the JSON of `baton bench main-job --json`. MB are 1,000,000 bytes.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::sample::Spread;

/// The main job, measured.
#[derive(Clone, Debug, Serialize)]
pub struct MainJob {
    /// Raw bytes of all transcripts.
    pub raw_bytes: u64,
    /// Transcripts, subagents' included: each is a session.
    pub transcripts: u64,
    /// From nothing to all of it searchable.
    pub index: Index,
    /// Memory of the daemon; absent where the system does not tell.
    pub memory: Option<Memory>,
    /// Disk taken by the home after indexing.
    pub disk: Disk,
    /// From an append to an answer that has it.
    pub append: BTreeMap<&'static str, Appending>,
    /// Searches by kind of query.
    pub search: BTreeMap<&'static str, Searching>,
    /// A whole `baton status` process.
    pub status_process: Spread,
}

/// From a ready daemon over unread transcripts to an answer from all of them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Index {
    /// Wall time of the first `search` that waits for everything, its commit and its answer included.
    pub wall_seconds: f64,
    /// Processor time that the daemon took for it, user and system; absent where the system does not tell.
    pub cpu_seconds: Option<f64>,
    /// Raw bytes by wall time.
    pub mb_per_second: f64,
    /// Raw bytes by processor time: what one core does.
    pub mb_per_cpu_second: Option<f64>,
    /// Events that the log has for it.
    pub events: u64,
}

/// Memory of the daemon.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// Most ever.
    pub peak_bytes: u64,
    /// When everything was indexed.
    pub after_index_bytes: u64,
    /// When everything was measured.
    pub at_end_bytes: u64,
}

/// Disk taken, by part of the home.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// Each part.
    pub parts: BTreeMap<&'static str, Part>,
    /// All of it.
    pub all: Part,
    /// Bytes on disk by raw bytes.
    pub share_of_raw: f64,
}

/// What lies in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Files.
    pub files: u64,
    /// Their lengths.
    pub bytes: u64,
    /// What they take, in whole blocks.
    pub bytes_on_disk: u64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.bytes_on_disk += other.bytes_on_disk;
    }
}

/// A prompt and a reply with a word that is nowhere else are appended; the first search for that word must find them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Appending {
    /// From before the append to the answer.
    pub to_answer: Spread,
    /// Of that, the search alone.
    pub search_call: Spread,
}

/// Searches for one query.
#[derive(Clone, Debug, Serialize)]
pub struct Searching {
    /// What is searched for.
    pub query: String,
    /// Calls on one open connection.
    pub call: Spread,
    /// Whole processes, `baton search --json --no-wait`.
    pub process: Spread,
}
