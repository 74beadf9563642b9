//! The look at every transcript before each answer, with many transcripts.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::process::CpuPerCall;
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Corpus, CorpusOptions, Error, Memory, Spread, Table, TestDaemon, process};

/// Mean size of a transcript, in bytes.
const SMALL_BYTES: u64 = 4000;
/// Number of searches.
const CALLS: usize = 200;
/// Number of scans by this program itself.
const LOOKS: usize = 20;

/// Searches over many small transcripts with nothing new.
#[derive(Clone, Debug, Serialize)]
pub struct Lazy {
    /// How this was measured.
    pub how: &'static str,
    /// Transcripts.
    pub transcripts: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// `search` calls on an open connection.
    pub search: Spread,
    /// Processor time of the daemon per search, in milliseconds; absent where the system does not report it.
    pub cpu_ms: Option<f64>,
    /// Time in which this program reads all directories and calls `stat` for each file.
    pub stat_all: Spread,
    /// Memory of the daemon; absent where the system does not report it.
    pub memory: Option<Memory>,
}

pub(super) fn measure(workspace: &Workspace, files: u32, seed: u64) -> Result<Lazy, Error> {
    let claude = workspace.path().join("many");
    // One transcript in five is a subagent's.
    let sessions = (files / 5 * 4).max(1);
    let options = CorpusOptions { sessions, bytes: u64::from(files) * SMALL_BYTES, seed, dense: false };
    let corpus = Corpus::write(options, &claude)?;
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.index_all(&corpus.rare_word, corpus.transcripts)?;
    let cpu = CpuPerCall::begin(daemon.pid());
    let mut search = Sample::default();
    for _ in 0..CALLS {
        let found = search.time(|| daemon.ask(&corpus.rare_word, false))?;
        if found.hits.is_empty() || found.freshness.pending > 0 {
            return Err(Error::NothingMeasured("a search over many transcripts finds too little".to_owned()));
        }
    }
    let cpu_ms = cpu.end(CALLS);
    let mut stat_all = Sample::default();
    for _ in 0..LOOKS {
        let seen = stat_all.time(|| Ok::<_, Error>(look(&claude.join("projects"))))?;
        if seen != corpus.transcripts {
            return Err(Error::NothingMeasured(format!("{seen} of {} transcripts are seen", corpus.transcripts)));
        }
    }
    Ok(Lazy {
        how: "Small transcripts, all indexed and nothing new: `search` for a rare word on an open connection, each of \
              which looks at every file; beside it a plain look at every file by the measuring program.",
        transcripts: corpus.transcripts,
        raw_bytes: corpus.bytes,
        search: search.spread(),
        cpu_ms,
        stat_all: stat_all.spread(),
        memory: process::memory(daemon.pid()),
    })
}

/// Counts the transcripts below a folder.
fn look(folder: &Path) -> u64 {
    let mut seen = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => seen += look(&path),
            Ok(_) if path.extension().is_some_and(|ending| ending == "jsonl") => seen += 1,
            _ => {}
        }
    }
    seen
}

impl Lazy {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Lazy look", self.how);
        table.row("transcripts", format!("{}, {}", self.transcripts, megabytes(self.raw_bytes)));
        table.row("search", self.search.text());
        if let Some(ms) = self.cpu_ms {
            table.row("processor for one", format!("{ms:.2} ms"));
        }
        table.row("plain look at all files", self.stat_all.text());
        if let Some(memory) = self.memory {
            table.row("memory of the daemon", memory.text());
        }
        table
    }
}
