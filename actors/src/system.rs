//! The whole daemon as one value: wired in one place, and taken down in the opposite order.

mod background_work;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::background_work::BackgroundWork;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::Phase;
use ractor::SpawnErr;
use tokio::sync::{Semaphore, watch};

use crate::gateway;
use baton_base::clock::Clock;
use baton_base::durable;
use baton_config::configuration;
use baton_config::configuration::Configuration;
use baton_config::import_boundary::ImportBoundary;
use baton_home::endpoint::Endpoint;
use baton_queries::DaemonParts;
use baton_queries::daemon_info::DaemonInfo;
use baton_queries::handoff::Handoffs;
use baton_queries::listing::SessionRows;
use baton_queries::session_states_file::{Exporter, SessionStatesFile};
use baton_store::chunks::{self, ChunkStore};
use baton_tracking::embedding::Embedder;
use baton_tracking::enricher;
use baton_tracking::enricher::{Enricher, Enriching};
use baton_tracking::hooks;
use baton_tracking::hooks::Hooks;
use baton_tracking::indexer;
use baton_upkeep::archive;
use baton_upkeep::disk_usage::DiskUsage;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;

use baton_memos::Memos;
use baton_queries::page_requests::PageRequests;
use baton_relay::Team;
use baton_tracking::session;
use baton_tracking::supervisor;
use baton_tracking::supervisor::Progress;
use baton_tracking::transcript_roots::Roots;
use baton_upkeep::compaction::Upkeep;
use baton_upkeep::cut_tombstones;
use baton_upkeep::newer_version::DailyCheck;
use baton_upkeep::redacting::Redacting;

use baton_base::io_remedy::IoCause;
use baton_base::journal_health::JournalHealth;
use baton_base::limits;
use baton_base::lock;
use baton_base::lock::{HomeLock, LockError};
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_base::transcript_root::Root;
use baton_config::settings::{Settings, SettingsReader};
use baton_journal::session_table::{TableFold, TableReader};
use baton_journal::vitals::Vitals;
use baton_journal::{DiskJournal, Journal, OpenError};
use baton_store::fingerprints::ForgottenSessions;
use baton_tracking::watcher;
use baton_vault::NoteWriter;

/// What a daemon is started with.
pub struct Options {
    /// The home directory.
    pub home: PathBuf,
    /// Transcript roots, unless the configuration names others.
    pub roots: Vec<Root>,
    /// Defaults for what the home's configuration does not set.
    pub settings: SettingsReader,
    /// Time source.
    pub clock: Arc<dyn Clock>,
    /// The program's version, as reported to clients.
    pub version: String,
}

/// An open log.
pub struct Log {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The session table maintained by its fold.
    pub table: TableReader,
    /// A problem found when it was opened.
    pub problem: Option<String>,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The home could not be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log could not be opened.
    #[error("{source}{}", what_helps(source))]
    Log {
        /// The cause.
        #[from]
        source: OpenError,
    },
    /// The conversation store could not be opened.
    #[error("{source}; {}", IoCause::in_message(&source.to_string()).remedy())]
    Chunks {
        /// The cause.
        #[from]
        source: chunks::Error,
    },
    /// The record of an import is unreadable.
    #[error(
        "cannot read {}: {source}; put it back from a backup, or remove it: then the sessions that were imported count as this \
         machine's own",
        home.join("log").join("imported.json").display()
    )]
    Imported {
        /// The home directory.
        home: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The actors could not be started.
    #[error("the daemon could not be started: {reason}")]
    Actors {
        /// The cause.
        reason: String,
    },
}

/// The remedy for a refusal of the system; other errors of the log name theirs.
fn what_helps(error: &OpenError) -> String {
    match error {
        OpenError::Io { source, .. } => format!("; {}", IoCause::from_error(source).remedy()),
        _ => String::new(),
    }
}

/// A running daemon.
pub struct System {
    parts: Arc<DaemonParts>,
    gateway: gateway::Handle,
    journal: Arc<dyn Journal>,
    exporter: Exporter,
    enriching: Enriching,
    upkeep: Upkeep,
    #[cfg(test)]
    tasks: TaskSupervisor,
    lock: HomeLock,
}

impl System {
    /// Locks the home, opens the log, rebuilds the session table from it, and starts the actors: supervisor, indexer,
    /// watcher, and the gateway last.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let lock = HomeLock::acquire(&options.home)?;
        let log = open_log(&options.home, options.clock.now()).await?;
        Self::start_on(options, lock, log).await
    }

    /// The same with a given open log, in a home whose lock is held.
    pub async fn start_on(options: Options, lock: HomeLock, log: Log) -> Result<Self, StartError> {
        let Options { home, roots, settings, clock, version } = options;
        let Log { journal, table, problem: log_problem } = log;
        let started_at = clock.now();
        let chunks = Arc::new(ChunkStore::open(home.join("blobs"))?);

        durable::remove_unfinished(&home);
        archive::clear(&home).unwrap_or_else(|error| {
            tracing::warn!(%error, "leftovers of an interrupted import not removed");
        });
        let imported = ImportBoundary::read(&home.join("log"))
            .map_err(|source| StartError::Imported { home: home.clone(), source })?;
        // Sessions that work in the home are Baton's own.
        let own_home = std::fs::canonicalize(&home).unwrap_or_else(|_| home.clone());
        let base = Settings { imported, home: Some(own_home), ..Settings::clone(&settings.now()) };
        let own: Vec<PathBuf> = roots.iter().map(|root| root.projects.clone()).collect();
        let configuration = Arc::new(Configuration::open(&home, base, own));
        let settings = configuration.settings();
        let roots = Roots::open(roots, settings.clone(), table.clone(), journal.clone(), clock.clone());
        let roots = Arc::new(roots);

        let (supervisor, watcher) = (supervisor::Handle::default(), watcher::Handle::default());
        let (indexer, gateway) = (indexer::Handle::new(chunks.clone(), table.clone()), gateway::Handle::default());
        let (progress, degraded) = (watch::Sender::new(Progress::default()), watch::Sender::new(Vec::new()));
        let processors = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        let (throttle, outage) = (Throttle::new(processors), JournalHealth::default());
        let socket_path = settings.now().hooks.socket_path.clone();
        let stop = watch::Sender::new(false);
        let vitals = Arc::new(Vitals::new(lock.home().cloned(), journal.clone()));
        let ending = vitals.clone();
        let tasks = TaskSupervisor::new(move |reason| ending.declare_lost(reason));
        let watched = Arc::downgrade(&configuration);
        tasks.spawn("configuration", move || configuration::watch(watched.clone()));
        let remains = Arc::new(ForgottenSessions::open(&home.join("log")));
        // A repair may have cut off the tombstones of these, which are set again; and a session unknown to the log may
        // have lost its tombstone with the log's end.
        if let Ok(cut) = cut_tombstones::read(&home.join("log")) {
            let known = table.now();
            let is_back = |id: &SessionId| known.get(id).is_some_and(|row| row.state.phase != Phase::Forgotten);
            remains.drop_unforgotten(|id| cut.contains(id) || !is_back(id));
        }
        let hooks = Arc::new(Hooks::open(hooks::Options {
            home: home.clone(),
            roots: roots.clone(),
            settings: settings.clone(),
            table: table.clone(),
            clock: clock.clone(),
            supervisor: supervisor.clone(),
            watcher: watcher.clone(),
            outage: outage.clone(),
            stopping: stop.subscribe(),
        }));
        let embedder = Arc::new(Embedder::new(&home.join("vectors")));
        let memos = Memos::new(journal.clone(), table.clone(), chunks.clone(), clock.clone(), outage.clone());
        let enricher = Arc::new(Enricher::new(enricher::Options {
            settings: settings.clone(),
            table: table.clone(),
            clock: clock.clone(),
            chunks: chunks.clone(),
            indexer: indexer.clone(),
            supervisor: supervisor.clone(),
            memos: memos.clone(),
            throttle: throttle.clone(),
            stop: stop.subscribe(),
        }));
        let team = Arc::new(Team::new(baton_relay::Options {
            home: home.clone(),
            settings: settings.clone(),
            table: table.clone(),
            journal: journal.clone(),
            chunks: chunks.clone(),
            clock: clock.clone(),
            purge: indexer.purging(),
        }));
        let catalog = Catalog { table: table.clone(), settings: settings.clone(), others: team.others() };
        let conversations = Arc::new(Conversations::new(catalog.clone(), chunks.clone(), indexer.clone()));
        let note_writer = Arc::new(NoteWriter::new(baton_vault::Options {
            home: home.clone(),
            settings: settings.clone(),
            table: table.clone(),
            clock: clock.clone(),
            chunks: chunks.clone(),
            conversations: conversations.clone(),
            memos: memos.clone(),
            throttle: throttle.clone(),
            tasks: tasks.clone(),
            stop: stop.subscribe(),
        }));
        let rows = SessionRows { conversations: conversations.clone(), enricher: enricher.clone() };
        let info = Arc::new(DaemonInfo {
            home: home.clone(),
            version,
            started_at,
            socket_path: socket_path.clone(),
            log_problem,
        });
        let handoffs =
            Handoffs::new(conversations.clone(), hooks.clone(), supervisor.clone(), journal.clone(), clock.clone());
        let disk_usage = DiskUsage::new(&home, journal.clone(), table.clone(), chunks.clone(), indexer.clone());
        let parts = Arc::new(DaemonParts {
            info,
            roots: roots.clone(),
            configuration,
            journal: journal.clone(),
            catalog,
            clock: clock.clone(),
            chunks: chunks.clone(),
            memos: memos.clone(),
            supervisor: supervisor.clone(),
            watcher: watcher.clone(),
            indexer: indexer.clone(),
            embedder: embedder.clone(),
            enricher: enricher.clone(),
            hooks,
            progress: progress.subscribe(),
            throttle: throttle.clone(),
            degraded: degraded.subscribe().into(),
            outage: outage.clone(),
            states_file: Arc::new(SessionStatesFile::new(&home, rows, clock.clone())),
            disk_usage: Arc::new(disk_usage),
            verifying: Arc::new(Semaphore::new(1)),
            forgotten_sessions: remains.clone(),
            conversations,
            handoffs: Arc::new(handoffs),
            note_writer,
            vitals: vitals.clone(),
            redacting: Arc::new(Redacting::open(&home.join("log"), &table.now())),
            newer_version: Arc::new(DailyCheck::new(settings.clone())),
            folded: Arc::default(),
            fork_usage: Arc::default(),
            team: team.clone(),
            page_requests: PageRequests::default(),
            stop,
        });
        let sessions = session::Options {
            journal: journal.clone(),
            clock,
            settings: settings.clone(),
            throttle: throttle.clone(),
            chunks: chunks.clone(),
            indexer: indexer.clone(),
            watcher: watcher.clone(),
            supervisor: Arc::new(supervisor.clone()),
            outage,
            table: table.clone(),
            clones: Arc::default(),
            remains,
            roots: roots.clone(),
        };
        let backlog = progress.subscribe();
        let memory = indexer::Options {
            journal: journal.clone(),
            table: table.clone(),
            others: team.others(),
            settings: settings.clone(),
            chunks,
            memory: home.join("memory"),
            vectors: Some(embedder.vectors()),
            jobs_at_once: processors,
            throttle: throttle.clone(),
            is_backfill: Arc::new(move || backlog.borrow().pending() > limits::LAZY_SESSIONS as u64),
        };
        let watching = watcher::Options {
            roots,
            settings,
            table: table.clone(),
            backlog: Arc::new(supervisor.clone()),
            markers: home.join("watch"),
            tasks: tasks.clone(),
        };
        if let Some(path) = &socket_path
            && let Err(error) = lock::record_socket(&home, path)
        {
            tracing::warn!(%error, "clients find this daemon only while hooks.socket_path stays what it is");
        }
        let endpoint = socket_path.map_or_else(|| Endpoint::for_home(&home), Endpoint::from_path);
        let (listening, answering) = (gateway.clone(), parts.clone());
        let children = supervisor::Children {
            indexer: (indexer.clone(), memory),
            watcher: (watcher, watching),
            gateway: Arc::new(move |supervisor| {
                let (gateway, parts, endpoint) = (listening.clone(), answering.clone(), endpoint.clone());
                Box::pin(async move { gateway.start(parts, endpoint, supervisor).await })
            }),
        };
        let strays = if was_cut(&home) { BTreeSet::new() } else { memos.strays() };
        let stop = parts.stop.clone();
        let options = supervisor::Options { sessions, table, progress, degraded, children, tasks: tasks.clone(), stop };
        let started = supervisor.start(options).await;
        let ended = started.map_err(|error| StartError::Actors { reason: cause(&error) })?;
        baton_base::task::spawn(end_with(ended, parts.stop.clone()));
        tracing::info!(home = %home.display(), sessions = parts.catalog.table.now().len(), "daemon started");
        let BackgroundWork { exporter, enriching, upkeep } = background_work::start(&parts, &tasks, strays);
        Ok(Self {
            upkeep,
            parts,
            gateway,
            journal,
            exporter,
            enriching,
            #[cfg(test)]
            tasks,
            lock,
        })
    }

    /// Resolves when a client has asked the daemon to stop.
    pub async fn stop_asked(&self) {
        let mut stop = self.parts.stop.subscribe();
        // The sender lives as long as the parts.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Resolves with the reason when the daemon cannot go on because its home or log is lost. The process must then
    /// exit at once, without [`System::stop`], which writes to the home.
    pub async fn lost(&self) -> String {
        self.parts.vitals.lost().await
    }

    /// The parts of the daemon, for callers in this process.
    pub fn parts(&self) -> &Arc<DaemonParts> {
        &self.parts
    }

    /// Accepts no more calls, gives running model calls a moment, lets sessions finish, commits the memory, exports the
    /// table, and closes the log. Returns the home's lock, to be dropped once nothing in this process writes there any
    /// more. Unfinished work is owed and done after the next start.
    pub async fn stop(self) -> HomeLock {
        self.parts.stop.send_replace(true);
        self.upkeep.end();
        self.gateway.close().await;
        self.enriching.finish().await;
        if let Err(error) = self.parts.supervisor.drain().await {
            tracing::warn!(%error, "sessions not drained in time");
        }
        self.parts.watcher.save().await;
        self.parts.indexer.close().await;
        self.parts.supervisor.stop(limits::DRAIN).await;
        self.parts.note_writer.finish().await;
        self.parts.hooks.save(true).await;
        self.exporter.finish().await;
        let journal = self.journal.clone();
        let _ = baton_base::task::spawn_blocking(move || journal.close()).await;
        tracing::info!("daemon stopped");
        self.lock
    }
}

/// Unwraps the error of an actor that did not start from those of the actors that started it.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(SpawnErr::StartupFailed(inner)) => cause(inner.as_ref()),
        _ => error.to_string(),
    }
}

/// Ends the daemon when its supervisor has failed, since nothing can restart it and its children ended with it.
async fn end_with(supervisor: tokio::task::JoinHandle<()>, stop: watch::Sender<bool>) {
    let _ = supervisor.await;
    if !stop.send_replace(true) {
        tracing::error!("the supervisor has failed, the daemon ends; the next command starts a new one");
    }
}

/// Opens the log and describes what a person should know of its recovery.
async fn open_log(home: &Path, now: Timestamp) -> Result<Log, StartError> {
    let (fold, table) = TableFold::new();
    let options = baton_journal::Options::new(home.join("log"), now);
    let opened = baton_base::task::spawn_blocking(move || DiskJournal::open(options, Box::new(fold))).await;
    let journal = opened.map_err(|error| StartError::Actors { reason: error.to_string() })??;
    let found = journal.recovery();
    let mut problem = None;
    if let Some(cut) = &found.cut {
        let whose = match found.restored {
            0 => "unless the disk is damaged, it belongs to a write that was never acknowledged".to_owned(),
            restored => format!("{restored} events were restored from the index"),
        };
        let told = format!(
            "a torn tail of {} bytes was cut from {} at byte {}: {whose}; it is kept in {}",
            cut.bytes,
            cut.segment,
            cut.offset,
            cut.kept.display()
        );
        problem = Some(told);
    }
    Ok(Log { journal: Arc::new(journal), table, problem })
}

/// True if a repair has cut events off and kept them for inspection. Notes that seem to be unnamed may be named there,
/// so they are kept as well.
fn was_cut(home: &Path) -> bool {
    let entries = std::fs::read_dir(home.join("log")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(|name| name.starts_with("cut-")))
}

#[cfg(test)]
mod tests;
