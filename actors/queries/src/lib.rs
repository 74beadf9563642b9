//! The application: what each command and tool does, and the background work that looks after a home.
//!
//! One file a verb below [`calls`]. Nothing here knows of sockets: who asks is a [`client::Client`].

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

use crate::disk_usage::{Measured, Scale};
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
use baton_vault::Scribe;
use baton_views::conversation::Conversations;

/// How many sessions an answer names where there may be more.
const SESSIONS_NAMED: usize = 8;

/// Everything that answering takes; shared by all who ask.
#[derive(Clone)]
pub struct Services {
    /// Where everything lies.
    pub home: PathBuf,
    /// Whose transcripts are read.
    pub roots: Arc<Roots>,
    /// What is configured, and the way to change it.
    pub configuration: Arc<Configuration>,
    /// The program's version, as `hello` says it.
    pub version: String,
    /// When the daemon was started.
    pub started_at: Timestamp,
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// The session table.
    pub table: TableReader,
    /// Timeouts and switches.
    pub settings: SettingsReader,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Conversations and notes.
    pub chunks: Arc<ChunkStore>,
    /// Records what is added and deleted.
    pub memos: Memos,
    /// Finds sessions.
    pub supervisor: supervisor::Handle,
    /// Finds transcripts.
    pub watcher: watcher::Handle,
    /// Searches.
    pub indexer: indexer::Handle,
    /// Makes vectors, where that is configured.
    pub embedder: Arc<Embedder>,
    /// Has a model make more of episodes, where that is configured.
    pub enricher: Arc<Enricher>,
    /// Where the configuration had this daemon listen when it was started, if not in its home.
    pub socket_path: Option<PathBuf>,
    /// What hooks say.
    pub hooks: Arc<Hooks>,
    /// How far the backlog is.
    pub progress: watch::Receiver<Progress>,
    /// What work in the background gives way to.
    pub throttle: Throttle,
    /// Who keeps failing and is left alone.
    pub degraded: Latest<Vec<Degraded>>,
    /// Whether the log takes writes.
    pub outage: Outage,
    /// What was found wrong when the log was opened.
    pub log_problem: Option<String>,
    /// Whether `session_states.json` can be written.
    pub exporting: Arc<Condition>,
    /// What everything takes on disk.
    pub scale: Arc<Scale>,
    /// Held while everything is verified: two at once would only be in each other's way.
    pub verifying: Arc<Semaphore>,
    /// What copies of forgotten sessions are known by.
    pub remains: Arc<ForgottenSessions>,
    /// Reads conversations, and what they come to.
    pub conversations: Arc<Conversations>,
    /// What is ready to be handed over.
    pub handoffs: Arc<handoff::Handoffs>,
    /// Writes notes for people.
    pub scribe: Arc<Scribe>,
    /// Whether the daemon can go on.
    pub vitals: Arc<Vitals>,
    /// Redacts what earlier versions stored.
    pub redacting: Arc<Redacting>,
    /// Sees how long-lived work ends.
    pub tasks: TaskSupervisor,
    /// Set to `true` to stop the daemon.
    pub stop: watch::Sender<bool>,
}

impl Services {
    /// What takes room on disk.
    pub(crate) fn measured(&self) -> Measured {
        Measured {
            journal: self.journal.clone(),
            table: self.table.clone(),
            chunks: self.chunks.clone(),
            indexer: self.indexer.clone(),
        }
    }
}
