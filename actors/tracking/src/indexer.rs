//! The indexer: a bounded pool of index jobs, at most one per session, and the memory that follows the journal.
//!
//! Jobs run in the blocking pool and report to their session, which records the outcome; the projector thread then
//! takes it from the journal into the searchable memory. A job that panics is reported as failed. If this actor fails,
//! its queued jobs are lost: their sessions still owe them and hand them out again.

mod append_state;
mod conversation_builder;
mod covering;
mod dispatch;
mod fresh;
mod job;
mod large;
mod left_out;
mod projector;
mod purge;
pub mod rebuild;
pub mod redacting;
mod restore;
pub mod shortening;
mod sweep;
mod sync_batch;
mod under_way;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::item::Agent;
use baton_conversation::record::{Position, SessionId};
use baton_events::projection::others::Others;
use baton_events::session::{Complete, EffectId, FailureReason, FileIdentity, IndexJob, Phase};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr};
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use baton_base::actor_address::{ActorAddress, CallError};
use baton_base::condition::Condition;
use baton_base::latest::Latest;
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::{Throttle, Urgency};
use baton_config::settings::SettingsReader;
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_memory::{Searcher, vectors::Vectors};
use baton_store::chunks::{self, ChunkStore, Removed};

use job::Caches;
use large::LargeConversations;
pub use large::is_large;
use left_out::LeftOut;
pub use projector::{Covered, Want, as_episode, memo_items};
use projector::{Port, Projector};
use redacting::named_manifests;
use sweep::Sweep;
pub use sweep::Swept;
use sync_batch::SyncQueue;
use under_way::UnderWay;

/// What the indexer is started with.
#[derive(Clone)]
pub struct Options {
    /// The log that the memory follows.
    pub journal: Arc<dyn Journal>,
    /// Current episodes and owed jobs.
    pub table: TableReader,
    /// Sessions of others, which the memory indexes too.
    pub others: Latest<Others>,
    /// Switches: a queued job of a session stopped meanwhile is dropped.
    pub settings: SettingsReader,
    /// Stored conversations.
    pub chunks: Arc<ChunkStore>,
    /// Directory of the search index.
    pub memory: PathBuf,
    /// Vectors to purge along with the memory; `None` if another owner does so.
    pub vectors: Option<Arc<Vectors>>,
    /// Limit of jobs that use a processor at once; further ones may wait for the disk.
    pub jobs_at_once: usize,
    /// Makes background work give way to questions.
    pub throttle: Throttle,
    /// True while history is read for the first time.
    pub is_backfill: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// An index job of a session.
pub struct JobRequest {
    /// The session's id.
    pub session: SessionId,
    /// The agent that wrote the transcript.
    pub agent: Agent,
    /// True if the whole file is a subagent's.
    pub subagent: bool,
    /// The job owed.
    pub job: IndexJob,
    /// Version of the filter to apply.
    pub filter_version: u32,
    /// True to rebuild the conversation from its first line; if the transcript is gone, what is stored is redacted again.
    pub anew: bool,
    /// Whether a caller waits for it.
    pub urgency: Urgency,
    /// Called once with the outcome.
    pub reply: Reply,
}

/// Answers a job. Must not block.
pub type Reply = Arc<dyn Fn(JobOutcome) + Send + Sync>;

/// The outcome of a job.
#[derive(Clone, Debug)]
pub enum JobOutcome {
    /// The conversation is stored or unchanged.
    Complete(Box<Complete>),
    /// It could not be read or stored.
    Failed {
        /// The job's id.
        effect: EffectId,
        /// The kind of failure.
        why: FailureReason,
        /// A description.
        reason: String,
    },
    /// The file no longer continues what was observed.
    Rewritten {
        /// The job's id.
        effect: EffectId,
        /// Identity of the current file.
        identity: FileIdentity,
    },
    /// Nothing was read, because the job was no longer owed or its session was stopped when its turn came.
    LetGo {
        /// The job's id.
        effect: EffectId,
    },
}

impl JobOutcome {
    /// The job's id.
    pub fn effect(&self) -> EffectId {
        match self {
            Self::Complete(complete) => complete.effect,
            Self::Failed { effect, .. } | Self::Rewritten { effect, .. } | Self::LetGo { effect } => *effect,
        }
    }
}

/// Reaches the indexer and its memory.
#[derive(Clone)]
pub struct Handle {
    slot: ActorAddress<Msg>,
    /// The memory's thread in the current incarnation.
    port: Arc<watch::Sender<Option<Port>>>,
    chunks: Arc<ChunkStore>,
    table: TableReader,
    large: Arc<LargeConversations>,
    left_out: Arc<LeftOut>,
    under_way: UnderWay,
    storing: Arc<Condition>,
}

impl Handle {
    /// Creates a handle to an indexer that is started later.
    pub fn new(chunks: Arc<ChunkStore>, table: TableReader) -> Self {
        Self {
            slot: ActorAddress::default(),
            port: Arc::new(watch::Sender::new(None)),
            chunks,
            table,
            large: Arc::default(),
            left_out: Arc::default(),
            under_way: UnderWay::default(),
            storing: Arc::new(Condition::new("conversations cannot be stored")),
        }
    }

    /// Starts an indexer linked to its supervisor, replacing the previous incarnation.
    pub(crate) async fn start(
        &self,
        options: Options,
        tasks: TaskSupervisor,
        supervisor: ActorCell,
    ) -> Result<ActorId, SpawnErr> {
        let arguments = (options, tasks, self.clone());
        let (actor, _) = Actor::spawn_linked(None, IndexerActor, arguments, supervisor).await?;
        self.slot.put(actor.clone());
        Ok(actor.get_id())
    }

    /// The current incarnation.
    #[cfg(feature = "faults")]
    pub fn actor(&self) -> Option<ActorCell> {
        self.slot.get().map(|actor| actor.get_cell())
    }

    /// Removes all conversation files that no event names, except those of sessions being indexed. Waits for it.
    pub async fn sweep(&self) -> Result<Swept, CallError> {
        let chunks = self.chunks.clone();
        // List the folders before reading the table: a session is in the table before anything of it is stored.
        let folders = baton_base::task::spawn_blocking(move || chunks.folders()).await;
        let folders = folders.ok().and_then(Result::ok).ok_or(CallError::Gone)?;
        let (reply, swept) = oneshot::channel();
        self.slot.cast(Msg::Sweep(folders, reply));
        match tokio::time::timeout(limits::SWEEP_CHUNKS, swept).await {
            Ok(Ok(swept)) => Ok(swept),
            Ok(Err(_)) => Err(CallError::Gone),
            Err(_) => Err(CallError::TimedOut),
        }
    }

    /// Queues a job.
    pub(crate) fn index(&self, request: JobRequest) {
        self.slot.cast(Msg::Index(Box::new(request)));
    }

    /// Makes a queued or starting background job urgent, because a caller waits for it.
    pub(crate) fn hurry(&self, session: &SessionId) {
        self.slot.cast(Msg::Hurry(session.clone()));
    }

    /// Tells that no event will name what a job has stored, so that it can be collected.
    pub(crate) fn disown(&self, session: &SessionId, effect: EffectId) {
        self.slot.cast(Msg::Unwanted(session.clone(), effect));
    }

    /// Keeps others from writing a session's files until this is dropped.
    #[cfg(feature = "faults")]
    pub fn hold(&self, session: &SessionId) -> Option<impl Drop + use<>> {
        self.under_way.hold(session)
    }

    /// Has the indexer look again for jobs whose session is free.
    #[cfg(feature = "faults")]
    pub fn go_on(&self) {
        self.slot.cast(Msg::GoOn);
    }

    fn port(&self) -> Result<Port, CallError> {
        self.port.borrow().clone().ok_or(CallError::Gone)
    }

    /// Returns a searcher on the last committed state of the memory.
    pub fn searcher(&self) -> Result<Searcher, CallError> {
        self.port()?.searcher().ok_or(CallError::Gone)
    }

    /// Returns how far searches cover the log, and what is wrong with the memory. Between two incarnations of it,
    /// returns position 0 and no problem.
    pub fn memory_state(&self) -> (Position, Option<String>) {
        self.port().map_or((Position(0), None), |port| port.state())
    }

    /// Why conversations cannot be stored at the moment, if so.
    pub fn storage_problem(&self) -> Option<String> {
        self.storing.describe()
    }

    /// Commits and closes the memory. Does not wait for running jobs, which remain owed.
    pub async fn close(&self) {
        if let Ok(port) = self.port() {
            port.close().await;
        }
    }
}

enum Msg {
    Index(Box<JobRequest>),
    /// A caller waits for this session's background job.
    Hurry(SessionId),
    /// An urgent job no longer needs a processor: another may start.
    Finished,
    /// A background job no longer needs a processor: another may start.
    Prepared(SessionId),
    /// A job or collection of an earlier incarnation has ended: its session may have another.
    GoOn,
    /// The memory has committed a newer episode of this session: superseded chunks can be collected.
    Collect(SessionId),
    /// Drop queued jobs of these forgotten sessions.
    Forget(Vec<SessionId>),
    /// No event will name what this job has stored.
    Unwanted(SessionId, EffectId),
    /// One session was collected.
    Collected(Removed),
    /// Folders without a session were removed.
    Discarded(Removed),
    /// Collect every session that has one of these folders, and remove the other folders.
    Sweep(BTreeSet<String>, oneshot::Sender<Swept>),
    /// The memory's thread has ended: fail, so that a new incarnation starts.
    MemoryBroke,
}

struct IndexerActor;

struct State {
    options: Options,
    caches: Caches,
    /// Limits the jobs that use a processor.
    at_work: Arc<Semaphore>,
    /// Queued urgent jobs; they precede all others.
    urgent: VecDeque<Box<JobRequest>>,
    /// Number of urgent jobs that have started and are not queued for storing yet.
    urgent_under_way: usize,
    /// Queued background jobs.
    background: VecDeque<Box<JobRequest>>,
    /// Background jobs that have started and are not queued for storing yet, each with a way to hurry it.
    preparing: BTreeMap<SessionId, Arc<Notify>>,
    /// Conversations of background jobs, to be made durable together.
    background_queue: SyncQueue,
    /// The same for urgent jobs, which must not queue behind the others.
    urgent_queue: SyncQueue,
    under_way: UnderWay,
    /// Address of the next incarnation.
    slot: ActorAddress<Msg>,
    /// Sessions that may have chunks which no event names: all at the start, because a crash may have left some.
    superseded: BTreeSet<SessionId>,
    /// True while one of them is being collected. One at a time suffices: there are thousands after a backfill, and
    /// none is urgent.
    collecting: bool,
    left_out: Arc<LeftOut>,
    /// Whether conversations can be stored.
    storing: Arc<Condition>,
    /// The sweep in progress, if any.
    sweep: Sweep,
}

impl Actor for IndexerActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (Options, TaskSupervisor, Handle);

    async fn pre_start(&self, myself: ActorRef<Msg>, arguments: Self::Arguments) -> Result<State, ActorProcessingErr> {
        let (options, tasks, handle) = arguments;
        let caches = Caches::default();
        // The thread of a failed incarnation still holds the memory.
        let former = handle.port.send_replace(None);
        if let Some(port) = former {
            port.close().await;
        }
        let (large, left_out, restorer) = (handle.large.clone(), handle.left_out.clone(), handle.restorer());
        let for_thread = (options.clone(), caches.fresh.clone(), myself.clone());
        let port = baton_base::task::spawn_blocking(move || {
            let (options, fresh, indexer) = for_thread;
            let broken = indexer.clone();
            let collect = move |session| drop(indexer.send_message(Msg::Collect(session)));
            let broke = move || drop(broken.send_message(Msg::MemoryBroke));
            Projector::start(options, fresh, large, left_out, restorer, collect, broke)
        })
        .await??;
        projector::follow(&options, &tasks, &port);
        handle.port.send_replace(Some(port));
        let at_work = Arc::new(Semaphore::new(options.jobs_at_once));
        let storing = handle.storing.clone();
        // A crash between storing a conversation and its event leaves files that no event names.
        let superseded = options.table.now().iter().map(|(session, _)| session.clone()).collect();
        let _ = myself.send_message(Msg::Collected(Removed::default()));
        Ok(State {
            options,
            background_queue: SyncQueue::new(caches.clone(), storing.clone(), limits::STORE_GATHER),
            urgent_queue: SyncQueue::new(caches.clone(), storing.clone(), Duration::ZERO),
            caches,
            at_work,
            urgent: VecDeque::new(),
            urgent_under_way: 0,
            background: VecDeque::new(),
            preparing: BTreeMap::new(),
            under_way: handle.under_way.clone(),
            slot: handle.slot.clone(),
            superseded,
            collecting: false,
            left_out: handle.left_out.clone(),
            storing,
            sweep: Sweep::default(),
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Index(request) => {
                // A rewritten or restarted session hands out its job again; only the newest counts.
                state.urgent.retain(|waiting| waiting.session != request.session);
                state.background.retain(|waiting| waiting.session != request.session);
                match request.urgency {
                    Urgency::Asked => state.urgent.push_back(request),
                    Urgency::Background => state.background.push_back(request),
                }
            }
            Msg::Hurry(session) => state.hurry(&session),
            Msg::Finished => state.urgent_under_way = state.urgent_under_way.saturating_sub(1),
            Msg::Prepared(session) => {
                state.preparing.remove(&session);
            }
            Msg::GoOn => {}
            Msg::Collect(session) => {
                state.superseded.insert(session);
            }
            Msg::Unwanted(session, effect) => {
                state.under_way.disown(&session, effect);
                state.superseded.insert(session);
            }
            Msg::Forget(sessions) => state.let_go(&sessions),
            Msg::Collected(removed) => {
                state.collecting = false;
                state.sweep.swept.removed += removed;
            }
            Msg::Sweep(folders, reply) => {
                let table = state.options.table.now();
                let (sessions, strays) = state.sweep.begin(folders, reply, &table, &state.options.chunks);
                state.superseded.extend(sessions);
                state.discard(strays, &myself);
            }
            Msg::Discarded(removed) => state.sweep.discarded(removed),
            Msg::MemoryBroke => return Err("the memory has panicked".into()),
        }
        state.dispatch(&myself);
        state.collect(&myself);
        Ok(())
    }
}

/// Reports to the incarnation that started the work, or wakes its successor, which has not counted the work but may
/// have waited for it.
fn report(begun_by: &ActorRef<Msg>, slot: &ActorAddress<Msg>, over: Msg) {
    if begun_by.send_message(over).is_err() {
        slot.cast(Msg::GoOn);
    }
}

fn broken(effect: EffectId) -> JobOutcome {
    let reason = "the index job panicked; see `daemon.log`".to_owned();
    JobOutcome::Failed { effect, why: FailureReason::Broken, reason }
}

impl State {
    /// Removes chunks that no event names, one session at a time. Counts as a job, so that no other writes chunks of
    /// the session meanwhile.
    fn collect(&mut self, myself: &ActorRef<Msg>) {
        while !self.collecting
            && let Some(session) = self.superseded.pop_first()
        {
            let waits = self.urgent.iter().chain(&self.background).any(|waiting| waiting.session == session);
            let table = self.options.table.now();
            let named = named_manifests(&table, &session);
            let row = table.get(&session);
            let running = row.and_then(|row| row.state.job.map(|job| job.effect));
            let is_forgotten = row.is_some_and(|row| row.state.phase == Phase::Forgotten);
            // Events of a newer version may name chunks, so nothing can be collected.
            if table.skipped() > 0 {
                self.sweep.swept.unreadable = table.skipped();
                continue;
            }
            // The session's next index adds it again.
            if waits || !self.under_way.begin_collecting(&session, &named, running) {
                self.sweep.swept.busy += 1;
                continue;
            }
            let (under_way, slot, throttle) =
                (self.under_way.clone(), self.slot.clone(), self.options.throttle.clone());
            self.collecting = true;
            if is_forgotten {
                self.caches.append_states.remove(&session);
            }
            let (chunks, left_out, myself) = (self.options.chunks.clone(), self.left_out.clone(), myself.clone());
            baton_base::task::spawn(async move {
                let id = session.clone();
                let blocking = baton_base::task::spawn_blocking(move || {
                    // Refresh the list of unreadable lines: the conversation is new, or this process has not seen it
                    // yet.
                    left_out.look_at(&chunks, &id, named.first().filter(|_| !is_forgotten));
                    match is_forgotten {
                        true => chunks.forget(&id),
                        false => chunks.collect(&id, &named),
                    }
                });
                let mut gone = Removed::default();
                match blocking.await {
                    Ok(Ok(removed)) if removed.files == 0 => {}
                    Ok(Ok(removed)) => {
                        let (files, bytes) = (removed.files, removed.bytes);
                        gone = removed;
                        let reason = if is_forgotten { "forgotten" } else { "superseded" };
                        tracing::info!(%session, %reason, files, bytes, "chunks deleted");
                    }
                    // Readers report this. For thousands of sessions a warning each would be too much.
                    Ok(Err(error @ (chunks::Error::Missing { .. } | chunks::Error::Damaged { .. }))) => {
                        tracing::debug!(%session, %error, "superseded chunks not removed");
                    }
                    Ok(Err(error)) => tracing::warn!(%session, %error, "superseded chunks not removed"),
                    Err(_) => tracing::error!(%session, "removing superseded chunks panicked"),
                }
                under_way.end(&session, None);
                if throttle.is_answering() {
                    tokio::time::sleep(limits::BACKLOG_PAUSE).await;
                }
                report(&myself, &slot, Msg::Collected(gone));
            });
        }
        if !self.collecting && self.superseded.is_empty() {
            self.sweep.done();
        }
    }
}
