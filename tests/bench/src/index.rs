//! Bulk index: from transcripts on disk to the first answer from all of them.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::table::megabytes;
use super::{Corpus, Error, Memory, Table, TestDaemon, process};

/// Bytes of an MB.
const MB: f64 = 1_000_000.0;

/// From starting a daemon to an answer from everything.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Index {
    /// How this was measured.
    pub how: &'static str,
    /// Wall time.
    pub wall_seconds: f64,
    /// Processor time of the daemon, user and system, all threads; absent where the system does not report it.
    pub cpu_seconds: Option<f64>,
    /// MB of transcripts per second of wall time.
    pub mb_per_second: f64,
    /// MB of transcripts per second of processor time, which is what one core does.
    pub mb_per_cpu_second: Option<f64>,
    /// Events written to the log.
    pub events: u64,
    /// Documents in the memory.
    pub documents: u64,
    /// Memory of the daemon right after; absent where the system does not report it.
    pub memory: Option<Memory>,
}

/// Starts a daemon over the corpus and waits for an answer from all of it.
pub(super) fn measure(claude: &Path, corpus: &Corpus) -> Result<(TestDaemon, Index), Error> {
    let since = Instant::now();
    let mut daemon = TestDaemon::start(claude)?;
    daemon.ask(&corpus.common_word, true)?;
    let wall_seconds = since.elapsed().as_secs_f64();
    let cpu_seconds = process::cpu_seconds(daemon.pid());
    let memory = process::memory(daemon.pid());
    let status = daemon.index_all(&corpus.common_word, corpus.transcripts)?;
    let megabytes = corpus.bytes as f64 / MB;
    let index = Index {
        how: "Wall time from starting a daemon in an empty home to the first `search` answered from every transcript, \
              commits included; files in the page cache. Processor time of the daemon from /proc.",
        wall_seconds,
        cpu_seconds,
        mb_per_second: megabytes / wall_seconds,
        mb_per_cpu_second: cpu_seconds.map(|seconds| megabytes / seconds),
        events: status.log.position,
        documents: status.memory.documents,
        memory,
    };
    Ok((daemon, index))
}

impl Index {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Index", self.how);
        table.row("wall", format!("{:.2} s, {:.1} MB/s", self.wall_seconds, self.mb_per_second));
        if let (Some(seconds), Some(rate)) = (self.cpu_seconds, self.mb_per_cpu_second) {
            table.row("processor", format!("{seconds:.2} s, {rate:.1} MB/s on one core"));
        }
        table.row("written", format!("{} events, {} documents", self.events, self.documents));
        if let Some(memory) = self.memory {
            table.row("memory, most", megabytes(memory.peak_bytes));
            table.row("memory, after", memory.text());
        }
        table
    }
}

impl Corpus {
    /// The corpus as a table.
    pub fn table(&self) -> Table {
        let how = format!(
            "{} sessions and {} subagents in {} projects, seed {}; shaped as real transcripts are.",
            self.sessions,
            self.transcripts.saturating_sub(u64::from(self.sessions)),
            self.projects,
            self.seed
        );
        let mut table = Table::new("Corpus", &how);
        table.row("size", format!("{} in {} lines", megabytes(self.bytes), self.lines));
        let [half, most, nearly_all] = self.line_bytes;
        table.row("bytes a line", format!("p50 {half}, p90 {most}, p99 {nearly_all}"));
        let mut counted = 0;
        let mut parts: Vec<_> = self.bytes_of.iter().collect();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
        for (what, bytes) in parts {
            counted += bytes;
            table.row(what, super::table::percent(*bytes as f64, self.bytes as f64));
        }
        table.row("envelope", super::table::percent(self.bytes.saturating_sub(counted) as f64, self.bytes as f64));
        table
    }
}
