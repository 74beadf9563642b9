//! The session actor: owns one aggregate, its offset, and the reading of its file.
//!
//! Every handler goes the same way: read what must be known, propose, record (durable), start what is owed, answer. It
//! trusts nobody's idea of its state; after a restart it rebuilds from the journal, and what was owed is owed again.
//! It keeps no text: index jobs read the file again.

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
use uuid::Uuid;

pub use answer::{Closed, Outcome};
use closing::Waiter;
pub use enriching::{Asked, Asking, NotAsked};
pub use signal::{HandOver, SignalCall, Signalled};
pub use tracking::{Switch, Switched};

use crate::indexer;
use crate::indexer::JobOutcome;
use crate::transcript_roots::Roots;
use crate::watcher;
use baton_base::actor_address;
use baton_base::actor_address::CallError;
use baton_base::clock::Clock;
use baton_base::journal_health::Outage;
use baton_base::throttle::{Throttle, Urgency};
use baton_base::transcript_file::FileSeen;
use baton_config::settings::SettingsReader;
use baton_journal::session_stream;
use baton_journal::session_stream::SessionStream;
use baton_journal::session_table::TableReader;
use baton_journal::{AppendError, Journal};
use baton_store::chunks::ChunkStore;
use baton_store::forgotten::ForgottenSessions;

/// What a session needs of the world; the same for all of them.
#[derive(Clone)]
pub struct Options {
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Timeouts and switches, as configured now.
    pub settings: SettingsReader,
    /// Bounds the reads of all sessions together.
    pub throttle: Throttle,
    /// Where notes are kept.
    pub chunks: Arc<ChunkStore>,
    /// Takes index jobs.
    pub indexer: indexer::Handle,
    /// Is told how far a file was read.
    pub watcher: watcher::Handle,
    /// Starts, rests and restarts sessions.
    pub supervisor: Arc<dyn Supervisor>,
    /// Is told whether the log takes writes.
    pub outage: Outage,
    /// What has become of other sessions: a subagent is forgotten with its own.
    pub table: TableReader,
    /// What copies of forgotten sessions are known by.
    pub remains: Arc<ForgottenSessions>,
    /// Which file systems do not answer.
    pub roots: Arc<Roots>,
}

/// What a session reports to whoever started it. No call blocks or waits.
pub trait Supervisor: Send + Sync {
    /// An incarnation could not record an event, because the log takes no writes.
    fn unrecorded(&self, id: SessionId);

    /// An incarnation that is being put to rest owes something that it can no longer do itself.
    fn owed(&self, id: SessionId);

    /// An incarnation cannot read its history.
    fn unreadable(&self, id: SessionId, incarnation: ActorId, reason: String);

    /// An incarnation owes nothing at the moment; `rest` says that it may be put to rest.
    fn settled(&self, id: SessionId, incarnation: ActorId, rest: bool);
}

/// Reaches one incarnation of a session.
#[derive(Clone)]
pub struct Handle(ActorRef<Msg>);

/// A close, as a caller asks for it.
#[derive(Clone, Debug)]
pub struct CloseCall {
    /// Which layer.
    pub reason: CloseReason,
    /// The closer's words, redacted and bounded by the caller.
    pub note: Option<String>,
    /// Whether the session itself asks.
    pub by_self: bool,
    /// Identity of the wish.
    pub command: CommandId,
}

impl Handle {
    /// Starts an incarnation, linked to its supervisor. It reads its history with the first message.
    pub(crate) async fn start(id: SessionId, options: Options, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, SessionActor, (id, options), supervisor).await?;
        Ok(Self(actor))
    }

    /// Which incarnation this is.
    pub(crate) fn incarnation(&self) -> ActorId {
        self.0.get_id()
    }

    /// Ends the incarnation when it has handled what was sent before.
    pub(crate) fn drain(&self) {
        let _ = self.0.drain();
    }

    /// Resolves when the incarnation has ended, or after this time.
    pub(crate) async fn wait(&self, within: Duration) {
        let _ = self.0.wait(Some(within)).await;
    }

    /// A transcript file of the session was found, or has changed.
    pub fn seen(&self, file: FileSeen) {
        let _ = self.0.send_message(Msg::Seen(file));
    }

    /// Reads to the end of the file and indexes what there is, as for a query, when there is time for it.
    pub fn index(&self, seen: Option<FileSeen>) {
        let _ = self.0.send_message(Msg::Index(seen));
    }

    /// Applies what time alone brings about.
    pub fn wake(&self) {
        let _ = self.0.send_message(Msg::Wake);
    }

    /// The indexer was restarted: hand out again what it may have lost.
    pub(crate) fn hand_out_again(&self) {
        let _ = self.0.send_message(Msg::HandOutAgain);
    }

    /// Comes back when everything that was sent before has been handled.
    pub async fn taken_in(&self, within: Duration) -> Result<(), CallError> {
        actor_address::call(&self.0, Msg::TakenIn, within).await
    }

    /// Closes, and waits until the episode is durable, at most `within`.
    pub async fn close(&self, call: CloseCall, within: Duration) -> Result<Closed, CallError> {
        actor_address::call(&self.0, |reply| Msg::Close(call, reply), within).await
    }

    /// Has the session tracked, or tracked no more, whatever the switches say at the moment.
    pub async fn switch(&self, switch: Switch, within: Duration) -> Result<Switched, CallError> {
        actor_address::call(&self.0, |reply| Msg::Switch(switch, reply), within).await
    }

    /// Records what a hook or a connection has said, and what follows from it. Answered when that is durable and before
    /// anything is read; `seen`, its transcript, is looked at afterwards.
    pub async fn signal(
        &self,
        seen: Option<FileSeen>,
        call: SignalCall,
        within: Duration,
    ) -> Result<Signalled, CallError> {
        actor_address::call(&self.0, |reply| Msg::Signal(call, seen, reply), within).await
    }

    /// Records that the session was told of the one before it, or has taken over from it.
    pub async fn hand_over(&self, what: HandOver, within: Duration) -> Result<Signalled, CallError> {
        actor_address::call(&self.0, |reply| Msg::HandOver(what, reply), within).await
    }

    /// Records what a model is asked about the session, or what came of it.
    pub async fn asking(&self, what: Asking, within: Duration) -> Result<Asked, CallError> {
        actor_address::call(&self.0, |reply| Msg::Asking(what, reply), within).await
    }

    /// Reads to the end of the file as it stands, then closes for a query.
    pub async fn refresh(
        &self,
        seen: Option<FileSeen>,
        call: CloseCall,
        within: Duration,
    ) -> Result<Closed, CallError> {
        if let Some(file) = seen {
            self.seen(file);
        }
        self.close(call, within).await
    }
}

/// What the actor is sent.
enum Msg {
    Seen(FileSeen),
    Index(Option<FileSeen>),
    Close(CloseCall, RpcReplyPort<Closed>),
    Switch(Switch, RpcReplyPort<Switched>),
    Signal(SignalCall, Option<FileSeen>, RpcReplyPort<Signalled>),
    HandOver(HandOver, RpcReplyPort<Signalled>),
    Asking(Asking, RpcReplyPort<Asked>),
    TakenIn(RpcReplyPort<()>),
    Wake,
    Done(Box<JobOutcome>),
    HandOutAgain,
}

/// The actor. Everything it knows is in its [`State`].
struct SessionActor;

struct State {
    id: SessionId,
    options: Options,
    stream: SessionStream,
    /// Rebuilt by the first message.
    aggregate: Option<Aggregate>,
    /// The job that this incarnation has handed out.
    in_flight: Option<EffectId>,
    waiting: Vec<Waiter>,
    /// The file has changed and was not read since.
    dirty: Option<FileSeen>,
    /// When the file was last read, for the pace of recording.
    read_at: Option<tokio::time::Instant>,
    /// A wake-up is on its way.
    timer: bool,
    /// An owed close is on its way.
    closing: bool,
    /// Why the file could not be read the last time.
    unreadable: Option<String>,
    /// Whether somebody waits for what is being done.
    urgency: Urgency,
}

impl Actor for SessionActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (SessionId, Options);

    async fn pre_start(
        &self,
        _myself: ActorRef<Msg>,
        (id, options): Self::Arguments,
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
    /// Rebuilds the session from the log unless that has been done. The inner error says why its history cannot be read.
    async fn rehydrate(&mut self) -> Result<Result<(), session_stream::Error>, ActorProcessingErr> {
        if self.aggregate.is_some() {
            return Ok(Ok(()));
        }
        let stream = self.stream.clone();
        Ok(match tokio::task::spawn_blocking(move || stream.rehydrate()).await? {
            Ok(aggregate) => {
                self.aggregate = Some(aggregate);
                Ok(())
            }
            Err(error) => Err(error),
        })
    }

    /// What follows when the log has not taken an event. What is owed is started again when it takes events again, and not
    /// before: it may refuse for a long time.
    fn not_recorded(&mut self, myself: &ActorRef<Msg>, error: &AppendError) -> Result<(), ActorProcessingErr> {
        let reason = error.to_string();
        match error {
            AppendError::Conflict { actual } => {
                // Somebody else wrote to this stream: what we believe is worth nothing.
                tracing::warn!(session = %self.id, version = actual.0, "another writer was at work");
                return Err("the stream has moved on".into());
            }
            AppendError::TooLarge { .. } | AppendError::Refused { retriable: false, .. } => {
                tracing::error!(session = %self.id, %error, "event not recorded, and never will be");
                self.dismiss_waiters(&Outcome::NotRecorded { reason });
                return Err("an event cannot be recorded".into());
            }
            AppendError::Refused { .. } => {}
            // It may be stored all the same, and could not be read back: only reading anew tells.
            AppendError::Closed => self.aggregate = None,
        }
        tracing::debug!(session = %self.id, %error, "event not recorded");
        self.options.outage.refused(&reason, self.options.clock.now());
        self.options.supervisor.unrecorded(self.id.clone());
        // A job that runs still tells its waiters what has become of it.
        if self.in_flight.is_none() {
            self.dismiss_waiters(&Outcome::NotRecorded { reason });
        }
        self.settle(myself);
        Ok(())
    }

    fn aggregate(&self) -> &Aggregate {
        self.aggregate.as_ref().expect("rehydrated before any message is handled")
    }

    fn policy(&self) -> Policy {
        let settings = self.options.settings.now();
        let policy = settings.policy_for(self.aggregate().state());
        // What the log says of a model that is switched off by now holds no more.
        let model_since = settings.llm.as_ref().and_then(|_| self.options.table.now().home().state.model_since);
        Policy { model_since, ..policy }
    }

    /// Proposes, and records what follows.
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
        self.options.outage.taken(now);
        recorded.iter().for_each(|event| self.tell(event, before.as_ref(), failed));
        Ok(Ok(()))
    }

    /// Applies the rules of time to what is known now.
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
        // Before time or a hook's word closes a session, make sure that nothing has come that nobody told us of.
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
        if state.transcript.is_none() || !self.options.settings.now().reads(state) {
            return Ok(());
        }
        let command = CommandId::new(&Uuid::new_v4().to_string());
        let call = CloseCall { reason: CloseReason::LazyQuery, note: None, by_self: false, command };
        self.submit_close(&call).await.map(drop)
    }

    fn wake_later(&mut self, myself: &ActorRef<Msg>, after: Duration) {
        if !self.timer {
            self.timer = true;
            myself.send_after(after, || Msg::Wake);
        }
    }

    /// Tells the supervisor that this incarnation may be put to rest, or that it may not.
    fn settle(&self, myself: &ActorRef<Msg>) {
        let busy = self.in_flight.is_some() || !self.waiting.is_empty();
        let waits = self.dirty.is_some() || self.timer || self.closing;
        if !busy {
            self.options.supervisor.settled(self.id.clone(), myself.get_id(), !waits);
        }
    }
}
