//! The session actor: owns one aggregate, its read offset, and the reading of its transcript.
//!
//! Every handler takes the same steps: read the file, propose events, record them (durable), start what is owed,
//! answer. The actor trusts no state but its own; after a restart it is rebuilt from the journal, and what was owed is
//! owed again. It keeps no text: index jobs read the file again.

mod answer;
mod closing;
mod effects;
mod enriching;
mod forgetting;
mod log_lines;
mod observe;
mod signal;
mod tracking;

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{CommandId, Metadata, SessionId};
use baton_events::session::{Aggregate, Asleep, CloseReason, Command, EffectId, Policy, Rejection, last_sign};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};
use tokio::sync::watch;
use uuid::Uuid;

pub use answer::{Closed, Outcome};
use closing::Waiter;
pub use enriching::{EnrichmentStep, NotAsked, StepRecorded};
pub use signal::{HandoffStep, SignalCall, Signalled};
pub use tracking::{Switch, Switched};

use crate::indexer;
use crate::indexer::JobOutcome;
use crate::transcript_roots::Roots;
use crate::watcher;
use baton_base::actor_address;
use baton_base::actor_address::CallError;
use baton_base::clock::Clock;
use baton_base::journal_health::JournalHealth;
use baton_base::throttle::{Permit, Throttle, Urgency};
use baton_base::transcript_file::FileSeen;
use baton_config::settings::SettingsReader;
use baton_journal::session_stream;
use baton_journal::session_stream::SessionStream;
use baton_journal::session_table::TableReader;
use baton_journal::{AppendError, Journal};
use baton_store::chunks::ChunkStore;
use baton_store::fingerprints::ForgottenSessions;
use baton_views::clones::Clones;

/// What all sessions share.
#[derive(Clone)]
pub struct Options {
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// Time source.
    pub clock: Arc<dyn Clock>,
    /// Timeouts and switches as currently configured.
    pub settings: SettingsReader,
    /// Limits the concurrent reads of all sessions together.
    pub throttle: Throttle,
    /// Stores closing notes.
    pub chunks: Arc<ChunkStore>,
    /// Runs index jobs.
    pub indexer: indexer::Handle,
    /// Learns how far each file was read.
    pub watcher: watcher::Handle,
    /// Starts, rests and restarts sessions.
    pub supervisor: Arc<dyn Supervisor>,
    /// Learns whether the log accepts writes.
    pub outage: JournalHealth,
    /// State of other sessions: a subagent is forgotten together with its parent, and clones are one project.
    pub table: TableReader,
    /// Decides which project a session is recorded in.
    pub clones: Arc<Clones>,
    /// Fingerprints that recognise copies of forgotten sessions.
    pub remains: Arc<ForgottenSessions>,
    /// Knows which file systems do not answer.
    pub roots: Arc<Roots>,
}

/// Reports from a session to its supervisor. No method blocks or waits.
pub trait Supervisor: Send + Sync {
    /// An incarnation could not record an event, because the log takes no writes.
    fn unrecorded(&self, id: SessionId);

    /// A drained incarnation owes something that it can no longer do itself.
    fn owed(&self, id: SessionId);

    /// An incarnation cannot read its history.
    fn unreadable(&self, id: SessionId, incarnation: ActorId, reason: String);

    /// An incarnation owes nothing at the moment; it may be stopped if `rest` is true.
    fn settled(&self, id: SessionId, incarnation: ActorId, rest: bool);
}

/// Reaches one incarnation of a session.
#[derive(Clone)]
pub struct Handle(ActorRef<Msg>, Callers);

/// The number of callers that wait for an answer of a session.
type Callers = Arc<watch::Sender<usize>>;

/// Counts one waiting caller until dropped.
struct Caller<'a>(&'a Callers);

impl<'a> Caller<'a> {
    fn new(callers: &'a Callers) -> Self {
        callers.send_modify(|count| *count += 1);
        Self(callers)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// A request to close a session.
#[derive(Clone, Debug)]
pub struct CloseCall {
    /// The layer that asks.
    pub reason: CloseReason,
    /// The closer's note, already redacted and shortened.
    pub note: Option<String>,
    /// True if the session itself asks.
    pub by_self: bool,
    /// Command id, for deduplication.
    pub command: CommandId,
}

impl CloseCall {
    /// A close that does not end the session.
    pub fn new(reason: CloseReason) -> Self {
        let command = CommandId::new(&Uuid::new_v4().to_string());
        Self { reason, note: None, by_self: false, command }
    }
}

impl Handle {
    /// Starts an incarnation linked to its supervisor. It reads its history on its first message.
    pub(crate) async fn start(id: SessionId, options: Options, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let callers = Callers::default();
        let arguments = (id, options, callers.clone());
        let (actor, _) = Actor::spawn_linked(None, SessionActor, arguments, supervisor).await?;
        Ok(Self(actor, callers))
    }

    /// Identifies this incarnation.
    pub(crate) fn incarnation(&self) -> ActorId {
        self.0.get_id()
    }

    /// Stops the incarnation once it has handled the messages already sent.
    pub(crate) fn drain(&self) {
        let _ = self.0.drain();
    }

    /// Resolves when the incarnation has ended or the time is up.
    pub(crate) async fn wait(&self, within: Duration) {
        let _ = self.0.wait(Some(within)).await;
    }

    /// A transcript of the session was found or has changed.
    pub fn seen(&self, file: FileSeen) {
        let _ = self.0.send_message(Msg::Seen(file));
    }

    /// Reads to the end of the file and indexes the result in the background, as a query would.
    pub fn index(&self, seen: Option<FileSeen>) {
        let _ = self.0.send_message(Msg::Index(seen));
    }

    /// Applies the rules of time, such as idle timeouts.
    pub fn wake(&self) {
        let _ = self.0.send_message(Msg::Wake);
    }

    /// Hands out the pending job again, after an indexer restart that may have lost it.
    pub(crate) fn hand_out_again(&self) {
        let _ = self.0.send_message(Msg::HandOutAgain);
    }

    /// Resolves once all earlier messages are handled.
    pub async fn wait_until_handled(&self, within: Duration) -> Result<(), CallError> {
        self.call(Msg::TakenIn, within).await
    }

    /// Asks for an answer. Reads that come before it no longer wait for other background work.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<T>) -> Msg + Send,
        within: Duration,
    ) -> Result<T, CallError> {
        let _caller = Caller::new(&self.1);
        actor_address::call(&self.0, message, within).await
    }
}

pub(crate) enum Msg {
    Seen(FileSeen),
    Index(Option<FileSeen>),
    /// Answered once the episode is durable.
    Close(CloseCall, RpcReplyPort<Closed>),
    /// Changes the session's tracking: track, untrack, forget, restore, delete or redact.
    Switch(Switch, RpcReplyPort<Switched>),
    /// A signal with its consequences. Answered once they are durable, before the transcript is read.
    Signal(SignalCall, Option<FileSeen>, RpcReplyPort<Signalled>),
    /// The session was offered a handoff, or has claimed it.
    HandOver(HandoffStep, RpcReplyPort<Signalled>),
    /// A model call about the session, or the result of one.
    Asking(EnrichmentStep, RpcReplyPort<StepRecorded>),
    TakenIn(RpcReplyPort<()>),
    Wake,
    Done(Box<JobOutcome>),
    HandOutAgain,
}

/// The actor; everything it knows is in its [`State`].
struct SessionActor;

struct State {
    id: SessionId,
    options: Options,
    stream: SessionStream,
    /// Absent until the first message rebuilds it.
    aggregate: Option<Aggregate>,
    /// The job that this incarnation has handed out.
    in_flight: Option<EffectId>,
    waiting: Vec<Waiter>,
    /// A change of the file that is still to be read.
    dirty: Option<FileSeen>,
    /// When the file was last read, to limit how often progress is recorded.
    read_at: Option<tokio::time::Instant>,
    /// True while a delayed [`Msg::Wake`] is scheduled.
    timer: bool,
    /// True while a [`Msg::Wake`] for an owed close is in the mailbox.
    closing: bool,
    /// Why the last read or job failed.
    unreadable: Option<String>,
    /// Whether a caller waits for the message being handled.
    urgency: Urgency,
    callers: Callers,
}

impl Actor for SessionActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (SessionId, Options, Callers);

    async fn pre_start(
        &self,
        _myself: ActorRef<Msg>,
        (id, options, callers): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        let stream = SessionStream::new(options.journal.clone(), id.clone());
        Ok(State {
            id,
            options,
            stream,
            aggregate: None,
            in_flight: None,
            waiting: Vec::new(),
            dirty: None,
            read_at: None,
            timer: false,
            closing: false,
            unreadable: None,
            urgency: Urgency::Background,
            callers,
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        if let Err(error) = state.rehydrate().await? {
            let reason = error.to_string();
            match message {
                Msg::Close(_, reply) => drop(reply.send(state.closed(Outcome::Broken { reason: reason.clone() }))),
                Msg::Switch(_, reply) => drop(reply.send(Switched::Failed { reason: reason.clone() })),
                Msg::Signal(_, _, reply) | Msg::HandOver(_, reply) => {
                    drop(reply.send(Signalled::Failed { reason: reason.clone() }));
                }
                Msg::Asking(_, reply) => drop(reply.send(Err(NotAsked::Failed { reason: reason.clone() }))),
                _ => {}
            }
            state.dismiss_waiters(&Outcome::Broken { reason: reason.clone() });
            state.options.supervisor.unreadable(state.id.clone(), myself.get_id(), reason);
            return Ok(());
        }
        let is_asked = matches!(message, Msg::Close(..) | Msg::Switch(..)) || !state.waiting.is_empty();
        state.urgency = if is_asked { Urgency::Asked } else { Urgency::Background };
        let handled = match message {
            Msg::Seen(file) => state.seen(&myself, file).await,
            Msg::Index(file) => state.index(file).await,
            Msg::Close(call, reply) => state.close(call, reply).await,
            Msg::Switch(switch, reply) => state.switch(switch, reply).await,
            Msg::Signal(call, seen, reply) => state.signal(&myself, call, seen, reply).await,
            Msg::HandOver(what, reply) => state.hand_over(what, reply).await,
            Msg::Asking(what, reply) => state.asking(what, reply).await,
            Msg::TakenIn(reply) => {
                let _ = reply.send(());
                Ok(())
            }
            Msg::Wake => state.wake().await,
            Msg::Done(outcome) => state.done(*outcome).await,
            Msg::HandOutAgain => {
                state.in_flight = None;
                Ok(())
            }
        };
        if let Err(error) = handled {
            return state.not_recorded(&myself, &error);
        }
        state.start_effects(&myself);
        state.answer_waiters();
        state.settle(&myself);
        Ok(())
    }
}

impl State {
    /// Rebuilds the session from the log, once. The inner error says why its history cannot be read.
    async fn rehydrate(&mut self) -> Result<Result<(), session_stream::Error>, ActorProcessingErr> {
        if self.aggregate.is_some() {
            return Ok(Ok(()));
        }
        let stream = self.stream.clone();
        Ok(match baton_base::task::spawn_blocking(move || stream.rehydrate()).await? {
            Ok(aggregate) => {
                self.aggregate = Some(aggregate);
                Ok(())
            }
            Err(error) => Err(error),
        })
    }

    /// Handles an event that the log did not accept. Effects owed are not restarted until the log accepts events again,
    /// which may take long.
    fn not_recorded(&mut self, myself: &ActorRef<Msg>, error: &AppendError) -> Result<(), ActorProcessingErr> {
        let reason = error.to_string();
        match error {
            AppendError::Conflict { actual } => {
                // Another writer appended to this stream, so the in-memory state is stale.
                tracing::warn!(session = %self.id, version = actual.0, "another writer has appended to the session");
                return Err("the stream has moved on".into());
            }
            AppendError::TooLarge { .. } | AppendError::Refused { retriable: false, .. } => {
                tracing::error!(session = %self.id, %error, "event can never be recorded");
                self.dismiss_waiters(&Outcome::NotRecorded { reason });
                return Err("an event cannot be recorded".into());
            }
            AppendError::Refused { .. } => {}
            // The event may be stored although it could not be read back; only a rebuild can tell.
            AppendError::Closed => self.aggregate = None,
        }
        tracing::debug!(session = %self.id, %error, "event not recorded");
        self.options.outage.record_failure(&reason, self.options.clock.now());
        self.options.supervisor.unrecorded(self.id.clone());
        // A running job still answers its waiters when it ends.
        if self.in_flight.is_none() {
            self.dismiss_waiters(&Outcome::NotRecorded { reason });
        }
        self.settle(myself);
        Ok(())
    }

    fn aggregate(&self) -> &Aggregate {
        self.aggregate.as_ref().expect("rehydrated before any message is handled")
    }

    /// Waits for a slot to read the transcript: in turn with other background work, but only until a caller waits.
    async fn wait_to_read(&self) -> Permit {
        let (throttle, mut callers) = (&self.options.throttle, self.callers.subscribe());
        let called = async { drop(callers.wait_for(|callers| *callers > 0).await) };
        tokio::select! {
            room = throttle.wait_to_read(self.urgency) => return room,
            () = called => {}
        }
        throttle.wait_to_read(Urgency::Asked).await
    }

    fn policy(&self) -> Policy {
        let settings = self.options.settings.now();
        let policy = settings.policy_for(self.aggregate().state());
        // Ignore a model recorded in the log once it is switched off.
        let model_since = settings.llm.as_ref().and_then(|_| self.options.table.now().home().state.model_since);
        Policy { model_since, ..policy }
    }

    /// Proposes events for a command and records them durably.
    async fn submit(
        &mut self,
        command: &Command,
        id: Option<&CommandId>,
    ) -> Result<Result<(), Rejection>, AppendError> {
        let now = self.options.clock.now();
        let events = match self.aggregate().propose(command, id, &self.policy(), now) {
            Ok(events) => events,
            Err(rejection) => return Ok(Err(rejection)),
        };
        if events.is_empty() {
            return Ok(Ok(()));
        }
        let metadata = Metadata { correlation: id.cloned(), cause: id.cloned() };
        let before = self.aggregate().state();
        let (before, failed) = (before.episode.clone(), before.failure.map(|failure| failure.attempts));
        let recorded = events.clone();
        let aggregate = self.aggregate.as_mut().expect("rehydrated before any message is handled");
        self.stream.record(aggregate, events, &metadata, now).await?;
        self.options.outage.record_success(now);
        recorded.iter().for_each(|event| self.log_event(event, before.as_ref(), failed));
        Ok(Ok(()))
    }

    /// Applies the rules of time to the current state.
    async fn apply_time(&mut self) -> Result<(), AppendError> {
        let (clock, state) = (&self.options.clock, self.aggregate().state());
        let asleep = Asleep {
            since_sign_ms: clock.asleep_ms(last_sign(state, &self.policy())),
            since_disconnect_ms: state.signals.disconnected_at.map_or(0, |at| clock.asleep_ms(at)),
        };
        let wake = Command::Wake { unread: self.unreadable.is_some(), asleep };
        let _ = self.submit(&wake, None).await?;
        Ok(())
    }

    async fn wake(&mut self) -> Result<(), AppendError> {
        (self.timer, self.closing) = (false, false);
        // Read to the end before time or a hook closes the session, in case a change was not announced.
        self.read_to_end().await?;
        self.apply_time().await
    }

    async fn index(&mut self, seen: Option<FileSeen>) -> Result<(), AppendError> {
        if let Some(file) = seen {
            let is_new = self.aggregate().state().transcript.is_none();
            if self.is_hung(&file.path) || self.is_at_rest() || (is_new && !self.may_discover(&file).await) {
                return Ok(());
            }
            if self.discover(&file).await? {
                self.dirty = Some(file);
            }
        }
        self.read_to_end().await?;
        let state = self.aggregate().state();
        if state.transcript.is_none() || !self.options.settings.now().may_read(state) {
            return Ok(());
        }
        self.submit_close(&CloseCall::new(CloseReason::LazyQuery)).await.map(drop)
    }

    fn wake_later(&mut self, myself: &ActorRef<Msg>, after: Duration) {
        if !self.timer {
            self.timer = true;
            myself.send_after(after, || Msg::Wake);
        }
    }

    /// Tells the supervisor that nothing is owed, and whether this incarnation may be stopped.
    fn settle(&self, myself: &ActorRef<Msg>) {
        let busy = self.in_flight.is_some() || !self.waiting.is_empty();
        let waits = self.dirty.is_some() || self.timer || self.closing;
        if !busy {
            self.options.supervisor.settled(self.id.clone(), myself.get_id(), !waits);
        }
    }
}
