//! The full report: exactly the JSON of `baton-bench … --json`. MB are 1,000,000 bytes. Parts that were not requested
//! are absent.

use serde::Serialize;

use super::{Corpus, Daemon, Disk, Idle, Index, Latency, Lazy, Live, Log, Mcp, Outcome, Searching, Table, Vault};

/// All measurements of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub version: &'static str,
    /// `release` or `debug`; figures of a debug build do not apply to what users run.
    pub build: &'static str,
    /// Operating system and processor family.
    pub machine: String,
    /// Number of usable processors.
    pub processors: usize,
    /// The indexed corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus: Option<Corpus>,
    /// Bulk index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<Index>,
    /// Disk use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// An idle daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Outcome<Idle>>,
    /// Searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Searching>,
    /// The MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Outcome<Mcp>>,
    /// From an append to an answer that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// A session written at its own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Outcome<Live>>,
    /// The look at all transcripts before each answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lazy: Option<Lazy>,
    /// A large log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
    /// A daemon with a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Daemon>,
    /// The notes of the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<Vault>,
}

impl Report {
    pub(super) fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            corpus: None,
            index: None,
            disk: None,
            idle: None,
            search: None,
            mcp: None,
            latency: None,
            live: None,
            lazy: None,
            log: None,
            daemon: None,
            vault: None,
        }
    }

    /// The report as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut program = Table::new("Program", "");
        program.row(
            "version",
            format!("{} ({} build), {}, {} processors", self.version, self.build, self.machine, self.processors),
        );
        let tables = [
            Some(program),
            self.corpus.as_ref().map(Corpus::table),
            self.index.as_ref().map(Index::table),
            self.disk.as_ref().map(Disk::table),
            self.idle.as_ref().map(|idle| idle.table("Idle", Idle::table)),
            self.search.as_ref().map(Searching::table),
            self.mcp.as_ref().map(|mcp| mcp.table("MCP server", Mcp::table)),
            self.latency.as_ref().map(Latency::table),
            self.live.as_ref().map(|live| live.table("Live session", Live::table)),
            self.lazy.as_ref().map(Lazy::table),
            self.daemon.as_ref().map(Daemon::table),
            self.vault.as_ref().map(Vault::table),
        ];
        let log = self.log.as_ref().map(Log::table).unwrap_or_default();
        tables.into_iter().flatten().chain(log).collect()
    }
}
