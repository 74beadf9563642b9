//! The indexer: a bounded pool of index jobs, at most one per session, and the memory that follows the journal.
//!
//! Jobs run in the blocking pool and report to their session, which records the fact; the projector thread then takes it
//! from the journal into the searchable memory. A job that breaks is reported as failed. If this actor fails, the jobs in
//! flight are lost with it: their sessions still owe them, and hand them out again when they are woken.

mod conversation_builder;
mod covering;
mod dispatch;
mod episode;
mod fresh;
mod job;
mod large;
mod left_out;
mod may_read;
mod projector;
mod purge;
pub(crate) mod rebuild;
pub(crate) mod redacting;
mod restore;
mod sweep;
mod sync_batch;
mod under_way;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::item::Agent;
use baton_conversation::record::{Position, SessionId};
use baton_events::session::{Complete, EffectId, FailureReason, FileIdentity, IndexJob, Phase};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr};
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use baton_base::actor_address::{ActorAddress, CallError};
use baton_base::condition::Condition;
use baton_base::limits;
use baton_base::throttle::{Throttle, Urgency};
use baton_config::settings::SettingsReader;
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_memory::Searcher;
use baton_memory::vectors::Vectors;
use baton_store::chunks;
use baton_store::chunks::{ChunkStore, Removed};

use fresh::Fresh;
use large::Large;
pub(crate) use large::is_large;
use left_out::LeftOut;
pub(crate) use projector::{Covered, Want, as_episode, memo_items};
use projector::{Port, Projector};
pub use restore::Index;
use sweep::{Sweep, Swept};
use sync_batch::Shelf;
use under_way::UnderWay;

/// What the indexer needs.
#[derive(Clone)]
pub struct Options {
    /// The log that the memory follows.
    pub journal: Arc<dyn Journal>,
    /// Which episode is current, and which jobs are owed.
    pub table: TableReader,
    /// What is stopped: a job that has waited meanwhile is let go.
    pub settings: SettingsReader,
    /// Conversations.
    pub chunks: Arc<ChunkStore>,
    /// Directory of the memory.
    pub memory: PathBuf,
    /// Vectors beside it, which are rid of what is forgotten as the memory is; none where another owner sees to them.
    pub vectors: Option<Arc<Vectors>>,
    /// Jobs that take a processor at once; more wait for the disk beside them.
    pub jobs_at_once: usize,
    /// What work in the background gives way to.
    pub throttle: Throttle,
}

/// One job, as a session hands it out.
pub struct JobRequest {
    /// The session.
    pub session: SessionId,
    /// Who wrote the transcript.
    pub agent: Agent,
    /// Whether the whole file is a subagent's.
    pub subagent: bool,
    /// What to read.
    pub job: IndexJob,
    /// Filter to use.
    pub filter_version: u32,
    /// Whether to make the conversation anew from its first line on, whatever is stored; of a transcript that is gone, by
    /// today's redaction of what is stored.
    pub anew: bool,
    /// Whether anybody waits for it.
    pub urgency: Urgency,
    /// Is called once with what became of it.
    pub reply: Reply,
}

/// How a job is answered; it must not block.
pub type Reply = Arc<dyn Fn(JobOutcome) + Send + Sync>;

/// What became of a job.
#[derive(Clone, Debug)]
pub enum JobOutcome {
    /// The conversation is stored, or unchanged.
    Complete(Box<Complete>),
    /// It could not be read or stored.
    Failed {
        /// The job.
        effect: EffectId,
        /// Why.
        why: FailureReason,
        /// In words.
        reason: String,
    },
    /// The file no longer continues what was observed.
    Rewritten {
        /// The job.
        effect: EffectId,
        /// The file as it is now.
        identity: FileIdentity,
    },
    /// When its turn came it was owed no more, or its session was stopped: nothing was read.
    LetGo {
        /// The job.
        effect: EffectId,
    },
}

impl JobOutcome {
    /// The job it is of.
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
    /// The memory of the current incarnation.
    port: Arc<watch::Sender<Option<Port>>>,
    chunks: Arc<ChunkStore>,
    large: Arc<Large>,
    left_out: Arc<LeftOut>,
    under_way: UnderWay,
    storing: Arc<Condition>,
}

impl Handle {
    /// A handle to an indexer that is still to be started.
    pub fn new(chunks: Arc<ChunkStore>) -> Self {
        Self {
            slot: ActorAddress::default(),
            port: Arc::new(watch::Sender::new(None)),
            chunks,
            large: Arc::default(),
            left_out: Arc::default(),
            under_way: UnderWay::default(),
            storing: Arc::new(Condition::new("conversations cannot be stored")),
        }
    }

    /// Starts an indexer, linked to its supervisor, in place of the one before.
    pub(crate) async fn start(&self, options: Options, supervisor: ActorCell) -> Result<ActorId, SpawnErr> {
        let arguments = Arguments { options, handle: self.clone() };
        let (actor, _) = Actor::spawn_linked(None, IndexerActor, arguments, supervisor).await?;
        self.slot.put(actor.clone());
        Ok(actor.get_id())
    }

    /// The current incarnation.
    #[cfg(test)]
    pub(crate) fn actor(&self) -> Option<ActorCell> {
        self.slot.get().map(|actor| actor.get_cell())
    }

    /// Removes all files of conversations that no event names any more, but of sessions that are being indexed. Whoever waits is
    /// told when it is done.
    pub(crate) async fn sweep(&self) -> Result<Swept, CallError> {
        let chunks = self.chunks.clone();
        // Before the table is looked at: a session is known before anything of it is stored.
        let folders = tokio::task::spawn_blocking(move || chunks.folders()).await;
        let folders = folders.ok().and_then(Result::ok).ok_or(CallError::Gone)?;
        let (reply, swept) = oneshot::channel();
        self.slot.cast(Msg::Sweep(folders, reply));
        match tokio::time::timeout(limits::SWEEP_CHUNKS, swept).await {
            Ok(Ok(swept)) => Ok(swept),
            Ok(Err(_)) => Err(CallError::Gone),
            Err(_) => Err(CallError::TimedOut),
        }
    }

    /// Hands out a job.
    pub(crate) fn index(&self, request: JobRequest) {
        self.slot.cast(Msg::Index(Box::new(request)));
    }

    /// Somebody waits for a session's job, which was handed out when nobody did.
    pub(crate) fn hurry(&self, session: &SessionId) {
        self.slot.cast(Msg::Hurry(session.clone()));
    }

    /// No event will name what a job has stored: it can go.
    pub(crate) fn unwanted(&self, session: &SessionId, effect: EffectId) {
        self.slot.cast(Msg::Unwanted(session.clone(), effect));
    }

    fn port(&self) -> Result<Port, CallError> {
        self.port.borrow().clone().ok_or(CallError::Gone)
    }

    /// Asks the memory as of the last time it caught up.
    pub fn searcher(&self) -> Result<Searcher, CallError> {
        self.port()?.searcher().ok_or(CallError::Gone)
    }

    /// How far searches cover the log, and what is wrong with the memory. While one that broke is followed by the next,
    /// they cover nothing, and nothing is known to be wrong.
    pub fn memory(&self) -> (Position, Option<String>) {
        self.port().map_or((Position(0), None), |port| port.state())
    }

    /// What keeps conversations from being stored, while something does.
    pub fn not_storing(&self) -> Option<String> {
        self.storing.describe()
    }

    /// Makes the memory durable and lets go of it. Jobs in flight are not waited for: they are owed still.
    pub async fn close(&self) {
        if let Ok(port) = self.port() {
            port.close().await;
        }
    }
}

enum Msg {
    Index(Box<JobRequest>),
    /// Somebody waits for a job that was in no hurry.
    Hurry(SessionId),
    /// A job that somebody waits for takes no processor any more: another may begin.
    Finished,
    /// A job of the background takes no processor any more: another may begin.
    Prepared(SessionId),
    /// A job or collection that an earlier incarnation had begun is over: its session may have another.
    GoOn,
    /// The memory has taken in a newer episode of the session: what it no longer names can go.
    Collect(SessionId),
    /// What is forgotten needs no job.
    Forget(Vec<SessionId>),
    /// Nor does an event name what this job has stored.
    Unwanted(SessionId, EffectId),
    /// It has gone.
    Collected(Removed),
    /// Folders of no session are gone.
    Discarded(Removed),
    /// Every session that has one of these folders is to be collected.
    Sweep(BTreeSet<String>, oneshot::Sender<Swept>),
    /// The memory's thread is gone: start over with a new one.
    MemoryBroke,
}

struct IndexerActor;

/// What the actor is started with.
struct Arguments {
    options: Options,
    handle: Handle,
}

struct State {
    options: Options,
    fresh: Arc<Fresh>,
    /// Room for jobs that take a processor.
    at_work: Arc<Semaphore>,
    /// Jobs that somebody waits for: they go before all others.
    asked: VecDeque<Box<JobRequest>>,
    /// How many of those are at work or on their way to the shelf.
    asked_under_way: usize,
    /// Jobs that nobody waits for.
    behind: VecDeque<Box<JobRequest>>,
    /// Those of them that have begun and are not on the shelf yet, each with the way to hurry it.
    preparing: BTreeMap<SessionId, Arc<Notify>>,
    /// Conversations of such jobs, to be made durable together.
    shelf: Shelf,
    /// The same for jobs that somebody waits for: they do not stand behind others.
    asked_shelf: Shelf,
    under_way: UnderWay,
    /// Where its successor will be.
    slot: ActorAddress<Msg>,
    /// Sessions that may have chunks which no event names any more: at first all, for a crash may have left some.
    superseded: BTreeSet<SessionId>,
    /// One of them is being collected: they are in no hurry, and after a backfill there are thousands.
    collecting: bool,
    left_out: Arc<LeftOut>,
    /// Whether the disk takes conversations.
    storing: Arc<Condition>,
    /// All conversations are being looked through.
    sweep: Sweep,
}

impl Actor for IndexerActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Arguments;

    async fn pre_start(&self, myself: ActorRef<Msg>, arguments: Arguments) -> Result<State, ActorProcessingErr> {
        let Arguments { options, handle } = arguments;
        let fresh = Arc::new(Fresh::default());
        // The thread of an incarnation that has failed holds the memory still.
        let former = handle.port.send_replace(None);
        if let Some(port) = former {
            port.close().await;
        }
        let (large, left_out, mender) = (handle.large.clone(), handle.left_out.clone(), handle.mender());
        let for_thread = (options.clone(), fresh.clone(), myself.clone());
        let port = tokio::task::spawn_blocking(move || {
            let (options, fresh, indexer) = for_thread;
            let broken = indexer.clone();
            let collect = move |session| drop(indexer.send_message(Msg::Collect(session)));
            let broke = move || drop(broken.send_message(Msg::MemoryBroke));
            Projector::start(options, fresh, large, left_out, mender, collect, broke)
        })
        .await??;
        projector::follow(options.table.clone(), port.clone());
        handle.port.send_replace(Some(port));
        let at_work = Arc::new(Semaphore::new(options.jobs_at_once));
        let storing = handle.storing.clone();
        // A crash between a conversation and its event has left files that no event names.
        let superseded = options.table.now().iter().map(|(session, _)| session.clone()).collect();
        let _ = myself.send_message(Msg::Collected(Removed::default()));
        Ok(State {
            options,
            shelf: Shelf::new(fresh.clone(), storing.clone(), limits::STORE_GATHER),
            asked_shelf: Shelf::new(fresh.clone(), storing.clone(), Duration::ZERO),
            fresh,
            at_work,
            asked: VecDeque::new(),
            asked_under_way: 0,
            behind: VecDeque::new(),
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
                // A session that was rewritten or restarted hands out anew what it owes; only the newest counts.
                state.asked.retain(|waiting| waiting.session != request.session);
                state.behind.retain(|waiting| waiting.session != request.session);
                match request.urgency {
                    Urgency::Asked => state.asked.push_back(request),
                    Urgency::Background => state.behind.push_back(request),
                }
            }
            Msg::Hurry(session) => state.hurry(&session),
            Msg::Finished => state.asked_under_way = state.asked_under_way.saturating_sub(1),
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
                state.sweep.removed(removed);
            }
            Msg::Sweep(folders, reply) => {
                let table = state.options.table.now();
                let (sessions, strays) = state.sweep.begin(folders, reply, &table, &state.options.chunks);
                state.superseded.extend(sessions);
                state.discard(strays, &myself);
            }
            Msg::Discarded(removed) => state.sweep.discarded(removed),
            Msg::MemoryBroke => return Err("the memory broke".into()),
        }
        state.dispatch(&myself);
        state.collect(&myself);
        Ok(())
    }
}

/// Tells the incarnation that has begun something that it is over, or its successor, which counts it not and may have
/// waited for it.
fn report(begun_by: &ActorRef<Msg>, slot: &ActorAddress<Msg>, over: Msg) {
    if begun_by.send_message(over).is_err() {
        slot.cast(Msg::GoOn);
    }
}

fn broken(effect: EffectId) -> JobOutcome {
    let reason = "the index job broke; `daemon.log` tells where".to_owned();
    JobOutcome::Failed { effect, why: FailureReason::Broken, reason }
}

impl State {
    /// Removes chunks that no event names, of one session at a time. Counts as a job, so that no other writes chunks of
    /// the session meanwhile.
    fn collect(&mut self, myself: &ActorRef<Msg>) {
        while !self.collecting
            && let Some(session) = self.superseded.pop_first()
        {
            let waits = self.asked.iter().chain(&self.behind).any(|waiting| waiting.session == session);
            let table = self.options.table.now();
            let named = episode::named(&table, &session);
            let row = table.get(&session);
            let running = row.and_then(|row| row.state.job.map(|job| job.effect));
            let is_forgotten = row.is_some_and(|row| row.state.phase == Phase::Forgotten);
            // What an event of a newer version names is not known.
            if table.skipped() > 0 {
                self.sweep.unreadable(table.skipped());
                continue;
            }
            // The next index of the session will bring us here again.
            if waits || !self.under_way.begin_collecting(&session, &named, running) {
                self.sweep.passed_over();
                continue;
            }
            let (under_way, slot, throttle) =
                (self.under_way.clone(), self.slot.clone(), self.options.throttle.clone());
            self.collecting = true;
            let (chunks, left_out, myself) = (self.options.chunks.clone(), self.left_out.clone(), myself.clone());
            tokio::spawn(async move {
                let id = session.clone();
                let blocking = tokio::task::spawn_blocking(move || {
                    // Whoever comes here has a new conversation, or was never looked at by this process.
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
                    // Who reads the conversation says so. With thousands of them that is one line too many.
                    Ok(Err(error @ (chunks::Error::Missing { .. } | chunks::Error::Damaged { .. }))) => {
                        tracing::debug!(%session, %error, "superseded chunks not removed");
                    }
                    Ok(Err(error)) => tracing::warn!(%session, %error, "superseded chunks not removed"),
                    Err(_) => tracing::error!(%session, "removing superseded chunks broke"),
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
