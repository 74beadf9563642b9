//! The application: what each command and tool does, and the background maintenance of a home.
//!
//! One file per verb below [`calls`]. Nothing here knows sockets: the caller is a [`client::Client`].

mod answers;
pub mod archive;
pub mod calls;
pub mod client;
pub mod compaction;
pub(crate) mod conversation_summary;
pub mod disk_usage;
mod family;
mod filters;
mod graph;
pub mod handoff;
mod lazy;
pub(crate) mod listing;
mod memo;
mod page;
pub mod redacting;
pub mod repair;
pub(crate) mod resolve;
pub mod session_states_file;
pub mod tombstones;
mod transcript_peek;
mod usage;
pub mod verify;

use std::path::PathBuf;
use std::sync::Arc;

use baton_conversation::record::Timestamp;
use tokio::sync::{Semaphore, watch};

use crate::disk_usage::{DiskUsage, MeasuredParts};
use crate::redacting::Redacting;
use baton_base::clock::Clock;
use baton_base::condition::Condition;
use baton_base::journal_health::Outage;
use baton_base::latest::Latest;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_config::configuration::Configuration;
use baton_config::settings::SettingsReader;
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_journal::vitals::Vitals;
use baton_memos::Memos;
use baton_store::chunks::ChunkStore;
use baton_store::forgotten::ForgottenSessions;
use baton_tracking::embedding::Embedder;
use baton_tracking::enricher::Enricher;
use baton_tracking::hooks::Hooks;
use baton_tracking::indexer;
use baton_tracking::supervisor;
use baton_tracking::supervisor::{Degraded, Progress};
use baton_tracking::transcript_roots::Roots;
use baton_tracking::watcher;
use baton_vault::NoteWriter;
use baton_views::conversation::Conversations;

/// Most sessions that one answer names.
const SESSIONS_NAMED: usize = 8;

/// The handles that queries use, shared by all of them.
#[derive(Clone)]
pub struct Services {
    /// The home directory.
    pub home: PathBuf,
    /// The folders with transcripts.
    pub roots: Arc<Roots>,
    /// Reads and changes the configuration.
    pub configuration: Arc<Configuration>,
    /// The version reported by `hello`.
    pub version: String,
    /// Start of the daemon.
    pub started_at: Timestamp,
    /// The event log.
    pub journal: Arc<dyn Journal>,
    /// The session table.
    pub table: TableReader,
    /// Settings derived from the configuration.
    pub settings: SettingsReader,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Stored conversations and notes.
    pub chunks: Arc<ChunkStore>,
    /// Records added and deleted notes.
    pub memos: Memos,
    /// Finds and starts sessions.
    pub supervisor: supervisor::Handle,
    /// Finds transcripts.
    pub watcher: watcher::Handle,
    /// Searches.
    pub indexer: indexer::Handle,
    /// Computes vectors, if configured.
    pub embedder: Arc<Embedder>,
    /// Has a model enrich episodes, if configured.
    pub enricher: Arc<Enricher>,
    /// The configured socket at the start of the daemon, if it is not in the home.
    pub socket_path: Option<PathBuf>,
    /// Takes in hooks.
    pub hooks: Arc<Hooks>,
    /// Progress of the backlog.
    pub progress: watch::Receiver<Progress>,
    /// Delays background work while queries run.
    pub throttle: Throttle,
    /// Actors that keep failing and are suspended.
    pub degraded: Latest<Vec<Degraded>>,
    /// Tells whether the log accepts writes.
    pub outage: Outage,
    /// Damage found when the log was opened.
    pub log_problem: Option<String>,
    /// Tells whether `session_states.json` can be written.
    pub session_states_condition: Arc<Condition>,
    /// Measures disk usage.
    pub disk_usage: Arc<DiskUsage>,
    /// Permit for a verification or a compaction; one runs at a time.
    pub verifying: Arc<Semaphore>,
    /// Fingerprints that recognise copies of forgotten sessions.
    pub forgotten_sessions: Arc<ForgottenSessions>,
    /// Reads and digests conversations.
    pub conversations: Arc<Conversations>,
    /// Handoffs that were prepared in advance.
    pub handoffs: Arc<handoff::Handoffs>,
    /// Writes notes to the vault.
    pub scribe: Arc<NoteWriter>,
    /// Tells whether the daemon can continue.
    pub vitals: Arc<Vitals>,
    /// Redacts what earlier versions stored.
    pub redacting: Arc<Redacting>,
    /// Supervises long-lived tasks.
    pub tasks: TaskSupervisor,
    /// Set to `true` to stop the daemon.
    pub stop: watch::Sender<bool>,
}

impl Services {
    /// The parts whose disk usage is measured.
    pub(crate) fn measured_parts(&self) -> MeasuredParts {
        MeasuredParts {
            journal: self.journal.clone(),
            table: self.table.clone(),
            chunks: self.chunks.clone(),
            indexer: self.indexer.clone(),
        }
    }
}
