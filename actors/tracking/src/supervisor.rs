//! The supervisor: owns the child actors and their restart budgets, finds or starts the actor of a session, runs the
//! timer wheel, works off the backlog, and drains everything on shutdown.
//!
//! It never waits for an answer. Sessions rehydrate on their first message, so spawning one costs microseconds.
//!
//! A child that fails is rebuilt from the log. One that keeps failing is suspended, listed in `status`, and retried
//! after a pause that doubles; a person's request starts a session at once. Without the indexer transcripts are read
//! but not searchable, and without the watcher changes go unnoticed, but the daemon goes on. Without the gateway no
//! client can reach it, and a failed supervisor has no parent to restart it: in both cases the daemon ends, and the
//! next client starts a new one.
//!
//! While the log accepts no writes the backlog is paused, and one session at a time probes whether it accepts them
//! again.

mod backlog;
mod children;
mod degraded;
mod dispatch;
mod due;
mod failures;
mod resting;
mod timer;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::CloseReason;
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::session;
use crate::session::{
    CloseCall, Closed, EnrichmentStep, HandoffStep, SignalCall, Signalled, StepRecorded, Switch, Switched,
};
use crate::watcher;
use crate::watcher::Page;
use baton_base::actor_address::{ActorAddress, CallError};
use baton_base::limits;
use baton_base::restart_budget::RestartBudget;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::transcript_file::FileSeen;
use baton_journal::session_table::TableReader;

pub use backlog::Progress;
use backlog::{Backlog, Work};
pub use children::Children;
use children::Singleton;
pub use degraded::Degraded;
use due::Due;
use failures::BudgetKey;
use timer::{resume_backlog, run_timer, watch_outage};

/// What the supervisor is started with.
pub struct Options {
    /// Options of every session.
    pub sessions: session::Options,
    /// The session table, from which the timer wheel reads what is due.
    pub table: TableReader,
    /// Publishes the progress of the backlog.
    pub progress: watch::Sender<Progress>,
    /// Publishes the children that keep failing and are suspended.
    pub degraded: watch::Sender<Vec<Degraded>>,
    /// The actors that exist once.
    pub children: Children,
    /// Supervises the loops that wake the supervisor.
    pub tasks: TaskSupervisor,
    /// Set to `true` to stop the daemon when the gateway is lost.
    pub stop: watch::Sender<bool>,
}

/// Reaches the supervisor.
#[derive(Clone, Default)]
pub struct Handle(ActorAddress<Msg>);

impl Handle {
    /// Starts the supervisor and the actors that exist once. The returned task ends with the supervisor.
    pub async fn start(&self, options: Options) -> Result<JoinHandle<()>, SpawnErr> {
        let (_, ended) = Actor::spawn(None, SupervisorActor, (options, self.clone())).await?;
        Ok(ended)
    }

    /// Stops the supervisor and waits up to `within` for its end.
    pub async fn stop(&self, within: Duration) {
        if let Some(actor) = self.0.get() {
            actor.stop(None);
            let _ = actor.wait(Some(within)).await;
        }
    }

    /// Adds transcripts that are new or have changed, in the order in which to read them.
    pub fn seen(&self, files: Vec<FileSeen>) {
        if !files.is_empty() {
            self.0.cast(Msg::Seen(files));
        }
    }

    /// Adds sessions that a query needed but could not wait for, each with its file if that has grown. They are read
    /// and indexed before the rest of the backlog.
    pub fn wanted(&self, sessions: Vec<(SessionId, Option<FileSeen>)>) {
        if !sessions.is_empty() {
            self.0.cast(Msg::Wanted(sessions));
        }
    }

    /// Returns the actor of a session, started if need be; the actor decides whether the session exists. Fails with
    /// `Gone` while the session is suspended because it keeps failing.
    pub async fn resolve(&self, id: SessionId) -> Result<session::Handle, CallError> {
        self.find(id, Asker::Anything, None).await
    }

    /// Like [`Self::resolve`], but also starts a suspended session, because a person asked for it.
    pub async fn resolve_even_suspended(&self, id: SessionId) -> Result<session::Handle, CallError> {
        self.find(id, Asker::Person, None).await
    }

    /// `but` is an incarnation known to have ended, even if the supervisor has not noticed yet.
    async fn find(&self, id: SessionId, asker: Asker, but: Option<ActorId>) -> Result<session::Handle, CallError> {
        self.0.call(|reply| Msg::Resolve { id, asker, but, reply }, Duration::from_secs(5)).await?
    }

    /// Asks the session's actor. If it ends before answering, because it was drained or failed, asks its successor
    /// once.
    async fn ask<T: Send + 'static>(
        &self,
        id: &SessionId,
        asker: Asker,
        within: Duration,
        message: impl Fn(&session::Handle, RpcReplyPort<T>) -> session::Msg + Sync,
    ) -> Result<T, CallError> {
        let session = self.find(id.clone(), asker, None).await?;
        match session.call(|reply| message(&session, reply), within).await {
            Err(CallError::Gone) => {
                let successor = self.find(id.clone(), asker, Some(session.incarnation())).await?;
                successor.call(|reply| message(&successor, reply), within).await
            }
            answer => answer,
        }
    }

    /// Reads a session's file to its end, closes the session, and waits until its episode is durable. A successor gets
    /// the same command id, so the close is recorded once.
    pub async fn close(
        &self,
        id: &SessionId,
        seen: Option<FileSeen>,
        call: CloseCall,
        within: Duration,
    ) -> Result<Closed, CallError> {
        let asker = if call.reason == CloseReason::Explicit { Asker::Person } else { Asker::Anything };
        self.ask(id, asker, within, |session, reply| {
            seen.iter().cloned().for_each(|file| session.seen(file));
            session::Msg::Close(call.clone(), reply)
        })
        .await
    }

    /// Changes a session's tracking. A change already in effect is not recorded again.
    pub async fn switch(&self, id: &SessionId, switch: Switch, within: Duration) -> Result<Switched, CallError> {
        self.ask(id, Asker::Person, within, |_, reply| session::Msg::Switch(switch.clone(), reply)).await
    }

    /// Records a signal from a hook or a connection. A signal is recorded once.
    pub async fn signal(
        &self,
        id: &SessionId,
        seen: Option<FileSeen>,
        call: SignalCall,
        within: Duration,
    ) -> Result<Signalled, CallError> {
        let message = |_: &_, reply| session::Msg::Signal(call.clone(), seen.clone(), reply);
        self.ask(id, Asker::Anything, within, message).await
    }

    /// Records a handoff step; as [`Self::signal`].
    pub async fn record_handoff_step(
        &self,
        id: &SessionId,
        what: HandoffStep,
        within: Duration,
    ) -> Result<Signalled, CallError> {
        self.ask(id, Asker::Anything, within, |_, reply| session::Msg::HandOver(what.clone(), reply)).await
    }

    /// Records a step of the session's enrichment; as [`Self::signal`]. A model call that was recorded before is
    /// refused the second time, because it is in flight.
    pub async fn record_enrichment_step(
        &self,
        id: &SessionId,
        what: EnrichmentStep,
        within: Duration,
    ) -> Result<StepRecorded, CallError> {
        self.ask(id, Asker::Anything, within, |_, reply| session::Msg::Asking(what.clone(), reply)).await
    }

    /// Resolves once all earlier messages are handled.
    pub async fn settle(&self) -> Result<(), CallError> {
        self.0.call(Msg::Settle, Duration::from_secs(60)).await
    }

    /// Finishes running work: accepts no new work and drains the sessions.
    pub async fn drain(&self) -> Result<(), CallError> {
        self.0.call(Msg::Drain, limits::DRAIN).await
    }
}

impl session::Supervisor for Handle {
    fn unrecorded(&self, id: SessionId) {
        self.0.cast(Msg::Unrecorded(id));
    }

    fn owed(&self, id: SessionId) {
        self.0.cast(Msg::Owed(id));
    }

    fn unreadable(&self, id: SessionId, incarnation: ActorId, reason: String) {
        self.0.cast(Msg::Unreadable { id, incarnation, reason });
    }

    fn settled(&self, id: SessionId, incarnation: ActorId, rest: bool) {
        self.0.cast(Msg::Settled { id, incarnation, rest });
    }
}

impl watcher::Backlog for Handle {
    fn add(&self, files: Vec<FileSeen>) {
        self.seen(files);
    }

    fn add_page(&self, page: Page) {
        self.0.cast(Msg::Page(page));
    }
}

/// The requester of a session's actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// A person or an agent that named this session: it is started even if suspended.
    Person,
    /// A query, the backlog or a timer.
    Anything,
}

enum Msg {
    Seen(Vec<FileSeen>),
    Page(Page),
    Wanted(Vec<(SessionId, Option<FileSeen>)>),
    /// No question is being answered any more, or one takes long: the backlog may go on.
    GoOn,
    Resolve {
        id: SessionId,
        asker: Asker,
        but: Option<ActorId>,
        reply: RpcReplyPort<Result<session::Handle, CallError>>,
    },
    Settled {
        id: SessionId,
        incarnation: ActorId,
        rest: bool,
    },
    Unrecorded(SessionId),
    Owed(SessionId),
    Unreadable {
        id: SessionId,
        incarnation: ActorId,
        reason: String,
    },
    /// Time to probe whether the log accepts writes again.
    TryLog,
    /// The log accepts writes again.
    LogTakes,
    /// Time has passed or the table has changed.
    Tick,
    /// The settings have changed: stopped work may be owed again.
    Reconfigured,
    Settle(RpcReplyPort<()>),
    Drain(RpcReplyPort<()>),
}

struct SupervisorActor;

struct State {
    options: Options,
    children: BTreeMap<SessionId, Child>,
    only: BTreeMap<u64, Singleton>,
    by_actor: BTreeMap<u64, SessionId>,
    budget: RestartBudget<BudgetKey>,
    /// Why the histories of suspended sessions are unreadable.
    unreadable: BTreeMap<SessionId, String>,
    backlog: Backlog,
    /// Sessions with something to record that the log did not accept.
    unrecorded: BTreeSet<SessionId>,
    /// When each session was last woken by time: a session with nothing to do is not woken again at once for the same
    /// moment.
    woken: BTreeMap<SessionId, Timestamp>,
    due: Due,
    wheel: watch::Sender<Option<Timestamp>>,
    settled_count: u64,
    /// When work of the backlog was last started.
    begun: tokio::time::Instant,
    draining: bool,
}

struct Child {
    session: session::Handle,
    /// The count of [`State::settled_count`] when it last said that it may be stopped; `None` while it works.
    resting_since: Option<u64>,
}

impl Actor for SupervisorActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (Options, Handle);

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        (options, handle): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        handle.0.put(myself.clone());
        let (mut only, mut failed) = (BTreeMap::new(), Vec::new());
        for child in Singleton::ALL {
            match options.children.start(child, &options.tasks, myself.get_cell()).await {
                Ok(actor) => drop(only.insert(actor.pid(), child)),
                // Fail the start of the daemon, which reports the reason.
                Err(error) if child == Singleton::Gateway => return Err(error.into()),
                Err(error) => {
                    tracing::error!(actor = child.name(), %error, "actor not started");
                    failed.push(child);
                }
            }
        }
        let wheel = watch::Sender::new(None);
        let turned = (
            myself.clone(),
            options.sessions.clock.clone(),
            options.table.clone(),
            options.sessions.settings.clone(),
            wheel.subscribe(),
        );
        options.tasks.spawn("timer", move || {
            let (supervisor, clock, table, settings, next) = turned.clone();
            run_timer(supervisor, clock, table, settings, next)
        });
        let mut state = State {
            options,
            children: BTreeMap::new(),
            only,
            by_actor: BTreeMap::new(),
            budget: RestartBudget::new(
                limits::RESTARTS,
                i64::try_from(limits::RESTART_WINDOW.as_millis()).unwrap_or(i64::MAX),
            ),
            unreadable: BTreeMap::new(),
            backlog: Backlog::new(limits::BACKLOG_IN_FLIGHT),
            unrecorded: BTreeSet::new(),
            woken: BTreeMap::new(),
            due: Due::default(),
            wheel,
            settled_count: 0,
            begun: tokio::time::Instant::now(),
            draining: false,
        };
        // Take up what was owed when the last daemon ended.
        let owed = state.owed();
        state.take_in(owed);
        let asked = state.options.sessions.throttle.questions();
        let supervisor = myself.clone();
        state.options.tasks.spawn("backlog", move || resume_backlog(supervisor.clone(), asked.clone()));
        let (supervisor, outage) = (myself.clone(), state.options.sessions.outage.clone());
        state.options.tasks.spawn("outage", move || watch_outage(supervisor.clone(), outage.clone()));
        for child in failed {
            state.restart(&myself, child).await;
        }
        state.hand_out_backlog(&myself).await;
        Ok(state)
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Seen(files) => state.take_in(files.into_iter().map(|file| Work::Read(Box::new(file))).collect()),
            Msg::Page(page) => state.add_page_of_work(page),
            Msg::Wanted(sessions) => {
                let work = |(id, file): (_, Option<_>)| Work::Index(id, file.map(Box::new));
                state.take_in(sessions.into_iter().map(work).collect());
            }
            Msg::GoOn => {}
            Msg::Resolve { id, asker, but, reply } => {
                state.children.retain(|child, entry| *child != id || Some(entry.session.incarnation()) != but);
                let _ = reply.send(state.resolve(&myself, &id, asker).await);
            }
            Msg::Settled { id, incarnation, rest } => state.settled(&id, incarnation, rest),
            Msg::Unrecorded(id) => drop(state.unrecorded.insert(id)),
            Msg::Owed(id) => state.take_in(vec![Work::Wake(id)]),
            Msg::Unreadable { id, incarnation, reason } => state.unreadable(id, incarnation, reason),
            Msg::TryLog => state.probe(&myself).await,
            Msg::LogTakes => {
                let unrecorded = std::mem::take(&mut state.unrecorded);
                state.take_in(unrecorded.into_iter().map(Work::Wake).collect());
            }
            Msg::Tick => state.tick(&myself).await,
            Msg::Reconfigured => state.reconfigured(&myself).await,
            Msg::Settle(reply) => {
                state.hand_out_backlog(&myself).await;
                let _ = reply.send(());
            }
            Msg::Drain(reply) => {
                state.drain().await;
                let _ = reply.send(());
            }
        }
        state.hand_out_backlog(&myself).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            // The error is not logged: a panic message may quote conversation text.
            SupervisionEvent::ActorFailed(cell, _) => state.failed(&myself, cell.get_id()).await,
            SupervisionEvent::ActorTerminated(cell, left, _) => {
                // Drop its state first: the successor may need what it holds, above all a gateway's socket.
                drop(left);
                state.ended(&myself, cell.get_id()).await;
            }
            _ => {}
        }
        state.hand_out_backlog(&myself).await;
        Ok(())
    }
}

impl State {
    fn now(&self) -> Timestamp {
        self.options.sessions.clock.now()
    }

    async fn resolve(
        &mut self,
        myself: &ActorRef<Msg>,
        id: &SessionId,
        asker: Asker,
    ) -> Result<session::Handle, CallError> {
        if let Some(child) = self.children.get_mut(id) {
            child.resting_since = None;
            return Ok(child.session.clone());
        }
        let left_alone = self.budget.given_up_until(&BudgetKey::Session(id.clone()), self.now()).is_some();
        if self.draining || (left_alone && asker == Asker::Anything) {
            return Err(CallError::Gone);
        }
        match session::Handle::start(id.clone(), self.options.sessions.clone(), myself.get_cell()).await {
            Ok(session) => {
                self.by_actor.insert(session.incarnation().pid(), id.clone());
                self.children.insert(id.clone(), Child { session: session.clone(), resting_since: None });
                Ok(session)
            }
            Err(error) => {
                tracing::error!(session = %id, %error, "session actor not started");
                Err(CallError::Gone)
            }
        }
    }

    async fn drain(&mut self) {
        self.draining = true;
        self.backlog.clear();
        let children = std::mem::take(&mut self.children);
        for child in children.values() {
            child.session.drain();
        }
        let until = tokio::time::Instant::now() + limits::DRAIN / 2;
        for child in children.values() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            child.session.wait(left).await;
        }
    }
}
