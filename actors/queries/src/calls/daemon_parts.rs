//! The parts of a running daemon, and the groups of them that calls use.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use super::edges::Edges;
use super::explain::Explain;
use super::forget::{ExportedTable, Forget, Selector, SetAside, VaultNotes, Wiper};
use super::graph_search::GraphSearch;
use super::relay::Relay;
use super::replay::{CachedTables, Replay};
use super::search::QuestionReader;
use super::status::StatusReport;
use super::sync::HistorySync;
use super::vault::RecallRecorder;
use crate::agent_usage::{AgentUsage, ForkUsage};
use crate::client::ClientRef;
use crate::daemon_info::DaemonInfo;
use crate::discovery::Discovery;
use crate::handoff::Handoffs;
use crate::lazy::{Coverage, FreshMemory};
use crate::listing::SessionRows;
use crate::page_requests::PageRequests;
use crate::resolve::SessionResolver;
use crate::session_states_file::SessionStatesFile;
use baton_base::clock::Clock;
use baton_base::journal_health::JournalHealth;
use baton_base::latest::Latest;
use baton_base::throttle::Throttle;
use baton_config::configuration::Configuration;
use baton_events::projection::others::Others;
use baton_journal::Journal;
use baton_journal::vitals::Vitals;
use baton_memos::Memos;
use baton_relay::Team;
use baton_store::chunks::ChunkStore;
use baton_store::fingerprints::ForgottenSessions;
use baton_store::text_keeper::TextKeepers;
use baton_tracking::embedding::Embedder;
use baton_tracking::enricher::Enricher;
use baton_tracking::hooks::Hooks;
use baton_tracking::indexer;
use baton_tracking::supervisor;
use baton_tracking::supervisor::{Degraded, Progress};
use baton_tracking::transcript_roots::Roots;
use baton_tracking::watcher;
use baton_upkeep::compaction::Compaction;
use baton_upkeep::disk_usage::DiskUsage;
use baton_upkeep::keeping::Keeping;
use baton_upkeep::newer_version::DailyCheck;
use baton_upkeep::redacting::{Redacting, TextStores};
use baton_upkeep::rereading::Rereading;
use baton_upkeep::verify::OpenHome;
use baton_vault::NoteWriter;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;

/// The parts of a running daemon. Only the dispatch of calls holds all of them; it hands each call its own.
pub struct DaemonParts {
    /// What is known from the start.
    pub info: Arc<DaemonInfo>,
    /// The folders with transcripts.
    pub roots: Arc<Roots>,
    /// Reads and changes the configuration.
    pub configuration: Arc<Configuration>,
    /// The event log.
    pub journal: Arc<dyn Journal>,
    /// The sessions, and the settings that apply to them.
    pub catalog: Catalog,
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
    /// Takes in hooks.
    pub hooks: Arc<Hooks>,
    /// Progress of the backlog.
    pub progress: watch::Receiver<Progress>,
    /// Delays background work while queries run.
    pub throttle: Throttle,
    /// Actors that keep failing and are suspended.
    pub degraded: Latest<Vec<Degraded>>,
    /// Tells whether the log accepts writes.
    pub outage: JournalHealth,
    /// Writes `session_states.json`.
    pub states_file: Arc<SessionStatesFile>,
    /// Measures disk usage.
    pub disk_usage: Arc<DiskUsage>,
    /// Permit for a verification or a compaction; one runs at a time.
    pub verifying: Arc<Semaphore>,
    /// Fingerprints that recognise copies of forgotten sessions.
    pub forgotten_sessions: Arc<ForgottenSessions>,
    /// Reads and digests conversations.
    pub conversations: Arc<Conversations>,
    /// Handoffs that were prepared in advance.
    pub handoffs: Arc<Handoffs>,
    /// Writes notes to the vault.
    pub note_writer: Arc<NoteWriter>,
    /// Tells whether the daemon can continue.
    pub vitals: Arc<Vitals>,
    /// Redacts what earlier versions stored.
    pub redacting: Arc<Redacting>,
    /// Asks for newer versions, if that is on.
    pub newer_version: Arc<DailyCheck>,
    /// The session table as of earlier positions.
    pub folded: Arc<CachedTables>,
    /// What forks have not copied, as computed before.
    pub fork_usage: Arc<ForkUsage>,
    /// The team that sessions are shared with.
    pub team: Arc<Team>,
    /// Asks for the pages that a browser shows.
    pub page_requests: PageRequests,
    /// Set to `true` to stop the daemon.
    pub stop: watch::Sender<bool>,
}

impl DaemonParts {
    pub(super) fn discovery(&self) -> Discovery<'_> {
        Discovery { catalog: &self.catalog, supervisor: &self.supervisor, watcher: &self.watcher }
    }

    pub(super) fn resolver(&self) -> SessionResolver<'_> {
        SessionResolver {
            discovery: self.discovery(),
            conversations: &self.conversations,
            hooks: &self.hooks,
            degraded: &self.degraded,
            clock: &*self.clock,
        }
    }

    pub(super) fn questions(&self) -> QuestionReader<'_> {
        QuestionReader { memory: self.memory(), embedder: &self.embedder, roots: &self.roots }
    }

    pub(super) fn graph_search<'a>(&'a self, client: &'a ClientRef) -> GraphSearch<'a> {
        GraphSearch { memory: self.memory(), conversations: &self.conversations, client }
    }

    pub(super) fn recalls(&self) -> RecallRecorder<'_> {
        RecallRecorder { catalog: &self.catalog, indexer: &self.indexer, note_writer: &self.note_writer }
    }

    pub(super) fn explain(&self) -> Explain {
        Explain {
            journal: self.journal.clone(),
            rows: self.rows(),
            roots: self.roots.clone(),
            degraded: self.degraded.clone(),
            forgotten_sessions: self.forgotten_sessions.clone(),
        }
    }

    pub(super) fn replay(&self) -> Replay {
        Replay { journal: self.journal.clone(), catalog: self.catalog.clone(), folded: self.folded.clone() }
    }

    pub(super) fn relay(&self) -> Relay<'_> {
        Relay { team: &self.team, configuration: &self.configuration, catalog: &self.catalog }
    }

    pub(super) fn edges(&self) -> Edges<'_> {
        Edges { conversations: &self.conversations, indexer: &self.indexer, memos: &self.memos }
    }

    pub(super) fn wiper(&self) -> Wiper {
        Wiper {
            indexer: self.indexer.clone(),
            keepers: vec![Arc::new(self.indexer.clone()), Arc::new(self.set_aside())],
        }
    }

    fn set_aside(&self) -> SetAside {
        SetAside { home: self.info.home.clone(), verifying: self.verifying.clone() }
    }

    pub(super) fn rows(&self) -> SessionRows {
        SessionRows { conversations: self.conversations.clone(), enricher: self.enricher.clone() }
    }

    pub(super) fn coverage(&self) -> Coverage<'_> {
        Coverage { indexer: &self.indexer, table: &self.catalog.table, clock: &*self.clock }
    }

    pub(super) fn memory(&self) -> FreshMemory<'_> {
        FreshMemory {
            discovery: self.discovery(),
            coverage: self.coverage(),
            journal: &*self.journal,
            outage: &self.outage,
            progress: &self.progress,
            throttle: &self.throttle,
        }
    }

    pub(super) fn agent_usage(&self) -> AgentUsage<'_> {
        AgentUsage { memory: self.memory(), conversations: &self.conversations, forks: &self.fork_usage }
    }

    pub(super) fn status(&self) -> StatusReport<'_> {
        StatusReport {
            daemon: &self.info,
            discovery: self.discovery(),
            journal: &*self.journal,
            outage: &self.outage,
            indexer: &self.indexer,
            progress: &self.progress,
            degraded: &self.degraded,
            configuration: &self.configuration,
            roots: &self.roots,
            embedder: &self.embedder,
            enricher: &self.enricher,
            forgotten_sessions: &self.forgotten_sessions,
            states_file: &self.states_file,
            hooks: &self.hooks,
            note_writer: &self.note_writer,
            redacting: &self.redacting,
            newer_version: &self.newer_version,
            disk_usage: &self.disk_usage,
            clock: &*self.clock,
        }
    }

    /// Whoever keeps text of sessions, in the order of erasing. Preparing a handoff that had begun may store what it read,
    /// so these come last once more.
    fn text_keepers(&self) -> TextKeepers {
        vec![
            self.handoffs.clone(),
            Arc::new(self.indexer.clone()),
            Arc::new(VaultNotes(self.note_writer.clone())),
            Arc::new(self.set_aside()),
            self.handoffs.clone(),
            Arc::new(ExportedTable(self.states_file.clone())),
        ]
    }

    pub(super) fn forget(&self) -> Forget {
        Forget {
            catalog: self.catalog.clone(),
            supervisor: self.supervisor.clone(),
            memos: self.memos.clone(),
            indexer: self.indexer.clone(),
            forgotten_sessions: self.forgotten_sessions.clone(),
            states_file: self.states_file.clone(),
            keepers: self.text_keepers(),
        }
    }

    pub(super) fn history_sync<'a>(&'a self, client: &'a ClientRef) -> HistorySync<'a> {
        HistorySync {
            discovery: self.discovery(),
            coverage: self.coverage(),
            chunks: &self.chunks,
            throttle: &self.throttle,
            client,
        }
    }

    pub(super) fn selector<'a>(&'a self, client: &'a ClientRef) -> Selector<'a> {
        Selector { resolver: self.resolver(), coverage: self.coverage(), throttle: &self.throttle, client }
    }

    /// Frees disk space.
    pub fn compaction(&self) -> Compaction {
        Compaction {
            journal: self.journal.clone(),
            table: self.catalog.table.clone(),
            indexer: self.indexer.clone(),
            disk_usage: self.disk_usage.clone(),
            verifying: self.verifying.clone(),
        }
    }

    pub(super) fn keeping(&self) -> Keeping {
        Keeping {
            table: self.catalog.table.clone(),
            indexer: self.indexer.clone(),
            supervisor: self.supervisor.clone(),
            disk_usage: self.disk_usage.clone(),
        }
    }

    /// Whatever keeps text.
    pub fn stored_text(&self) -> TextStores {
        TextStores {
            table: self.catalog.table.clone(),
            indexer: self.indexer.clone(),
            memos: self.memos.clone(),
            supervisor: self.supervisor.clone(),
            keepers: vec![
                Arc::new(self.indexer.clone()),
                Arc::new(ExportedTable(self.states_file.clone())),
                Arc::new(VaultNotes(self.note_writer.clone())),
            ],
            throttle: self.throttle.clone(),
        }
    }

    /// What reads transcripts again that an earlier version has stored.
    pub fn rereading(&self) -> Rereading {
        Rereading {
            indexer: self.indexer.clone(),
            catalog: self.catalog.clone(),
            roots: self.roots.clone(),
            supervisor: self.supervisor.clone(),
            throttle: self.throttle.clone(),
            progress: self.progress.clone(),
        }
    }

    pub(super) fn open_home(&self) -> OpenHome {
        let source = indexer::Options {
            journal: self.journal.clone(),
            table: self.catalog.table.clone(),
            others: tokio::sync::watch::channel(Others::default()).1.into(),
            settings: self.catalog.settings.clone(),
            chunks: self.chunks.clone(),
            memory: self.info.home.join("memory"),
            vectors: None,
            jobs_at_once: 1,
            throttle: self.throttle.clone(),
            is_backfill: Arc::new(|| false),
        };
        OpenHome { home: self.info.home.clone(), source, indexer: self.indexer.clone() }
    }
}
