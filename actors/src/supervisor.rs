//! The supervisor: owns the children and their restart budgets, finds or makes the actor of a session, keeps the timer
//! wheel, works off the backlog, and drains everything on shutdown.
//!
//! It awaits nobody's answer. Sessions rehydrate on their first message, so spawning one costs microseconds.
//!
//! A child that fails is made anew from the log. One that keeps failing is left alone, named in `status`, and tried again
//! after a pause that doubles; a person's wish has a session tried at once. Without the indexer there is reading and no
//! searching, without the watcher no news: the daemon goes on. Without the gateway nobody reaches it, and if the supervisor
//! itself fails there is nobody above it: then the daemon ends, and the next client starts a fresh one.
//!
//! While the log takes no writes the backlog stands still, and one session at a time tries whether it does again.

mod backlog;
mod children;
mod degraded;
mod dispatch;
mod due;
mod failing;
mod resting;
mod wheel;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::CloseReason;
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::session;
use crate::session::{Asked, Asking, CloseCall, Closed, HandOver, SignalCall, Signalled, Switch, Switched};
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
use children::Child as Only;
pub use children::Children;
pub use degraded::Degraded;
use due::Due;
use failing::Name;
use wheel::{turn_to_backlog, turn_wheel, watch_outage};

/// What the supervisor needs.
pub struct Options {
    /// What every session needs.
    pub sessions: session::Options,
    /// The published session table: the timer wheel reads what is due from it.
    pub table: TableReader,
    /// Where progress of the backlog is shown.
    pub progress: watch::Sender<Progress>,
    /// Children that keep failing and are left alone.
    pub degraded: watch::Sender<Vec<Degraded>>,
    /// The actors there is one of.
    pub children: Children,
    /// Sees how the loops that wake the supervisor end.
    pub tasks: TaskSupervisor,
    /// Set to `true` to stop the daemon: nobody could reach it without a gateway.
    pub stop: watch::Sender<bool>,
}

/// Reaches the supervisor.
#[derive(Clone, Default)]
pub struct Handle(Slot<Msg>);

impl Handle {
    /// Starts the supervisor and the actors there is one of; the task ends with it.
    pub(crate) async fn start(&self, options: Options) -> Result<JoinHandle<()>, SpawnErr> {
        let (_, ended) = Actor::spawn(None, SupervisorActor, (options, self.clone())).await?;
        Ok(ended)
    }

    /// Ends the supervisor, and waits for that at most so long.
    pub(crate) async fn stop(&self, within: Duration) {
        if let Some(actor) = self.0.get() {
            actor.stop(None);
            let _ = actor.wait(Some(within)).await;
        }
    }

    /// Transcripts that are new or have changed, in the order in which to read them.
    pub fn seen(&self, files: Vec<FileSeen>) {
        if !files.is_empty() {
            self.0.cast(Msg::Seen(files));
        }
    }

    /// Sessions that a query wanted and could not wait for, with their files where these have grown: they are read and
    /// indexed before anything else of the backlog.
    pub fn wanted(&self, sessions: Vec<(SessionId, Option<FileSeen>)>) {
        if !sessions.is_empty() {
            self.0.cast(Msg::Wanted(sessions));
        }
    }

    /// The actor of a session, made if need be. Whether the session exists is for the actor to say. `Gone` while the
    /// session is left alone because it keeps failing.
    pub async fn resolve(&self, id: SessionId) -> Result<session::Handle, CallError> {
        self.find(id, Asker::Anything, None).await
    }

    /// The actor of a session that somebody means, although it may keep failing.
    pub async fn resolve_meant(&self, id: SessionId) -> Result<session::Handle, CallError> {
        self.find(id, Asker::Person, None).await
    }

    /// `but` names an incarnation that has ended, whether the supervisor has heard of that or not.
    async fn find(&self, id: SessionId, asker: Asker, but: Option<ActorId>) -> Result<session::Handle, CallError> {
        self.0.call(|reply| Msg::Resolve { id, asker, but, reply }, Duration::from_secs(5)).await?
    }

    /// Asks the session's actor. If it was put to rest in between, or fails over it, asks its successor once.
    async fn ask<T, F>(&self, id: &SessionId, asker: Asker, ask: impl Fn(session::Handle) -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let session = self.find(id.clone(), asker, None).await?;
        let incarnation = session.incarnation();
        match ask(session).await {
            Err(CallError::Gone) => ask(self.find(id.clone(), asker, Some(incarnation)).await?).await,
            answer => answer,
        }
    }

    /// Reads a session's file to its end, closes it, and waits until its episode is durable. A successor is asked with the
    /// same command id.
    pub async fn close(
        &self,
        id: &SessionId,
        seen: Option<FileSeen>,
        call: CloseCall,
        within: Duration,
    ) -> Result<Closed, CallError> {
        let asker = if call.reason == CloseReason::Explicit { Asker::Person } else { Asker::Anything };
        self.ask(id, asker, |session| {
            let (seen, call) = (seen.clone(), call.clone());
            async move { session.refresh(seen, call, within).await }
        })
        .await
    }

    /// Has a session tracked, or tracked no more. What is so already is not recorded again.
    pub async fn switch(&self, id: &SessionId, switch: Switch, within: Duration) -> Result<Switched, CallError> {
        self.ask(id, Asker::Person, |session| {
            let switch = switch.clone();
            async move { session.switch(switch, within).await }
        })
        .await
    }

    /// Has a session record what a hook or a connection has said. What was recorded already is not recorded again.
    pub async fn signal(
        &self,
        id: &SessionId,
        seen: Option<FileSeen>,
        call: SignalCall,
        within: Duration,
    ) -> Result<Signalled, CallError> {
        self.ask(id, Asker::Anything, |session| {
            let (seen, call) = (seen.clone(), call.clone());
            async move { session.signal(seen, call, within).await }
        })
        .await
    }

    /// Has a session record that it was told of another, or has taken over from it; as [`Self::signal`].
    pub async fn hand_over(&self, id: &SessionId, what: HandOver, within: Duration) -> Result<Signalled, CallError> {
        self.ask(id, Asker::Anything, |session| {
            let what = what.clone();
            async move { session.hand_over(what, within).await }
        })
        .await
    }

    /// Has a session record what a model is asked about it, or what came of that; as [`Self::signal`]. A call that was
    /// recorded before is refused the second time, for it is under way.
    pub async fn asking(&self, id: &SessionId, what: Asking, within: Duration) -> Result<Asked, CallError> {
        self.ask(id, Asker::Anything, |session| {
            let what = what.clone();
            async move { session.asking(what, within).await }
        })
        .await
    }

    /// Comes back when everything that was sent before has been taken in.
    pub async fn settle(&self) -> Result<(), CallError> {
        self.0.call(Msg::Settle, Duration::from_secs(60)).await
    }

    /// Finishes what has begun: no new work, sessions drained.
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

/// Who wants a session's actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// A person or an agent, who means this session: it is tried although it keeps failing.
    Person,
    /// A query, the backlog, time.
    Anything,
}

enum Msg {
    Seen(Vec<FileSeen>),
    Page(Page),
    Wanted(Vec<(SessionId, Option<FileSeen>)>),
    /// A question was answered, or has been for long: the backlog goes on.
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
    /// It is time to try whether the log takes writes again.
    TryLog,
    /// It does.
    LogTakes,
    /// Time has passed, or the table has changed.
    Tick,
    /// The settings are others: what was stopped may be owed again.
    Reconfigured,
    Settle(RpcReplyPort<()>),
    Drain(RpcReplyPort<()>),
}

struct SupervisorActor;

struct State {
    options: Options,
    children: BTreeMap<SessionId, Child>,
    only: BTreeMap<u64, Only>,
    by_actor: BTreeMap<u64, SessionId>,
    budget: RestartBudget<Name>,
    /// Why sessions that are left alone cannot be read.
    unreadable: BTreeMap<SessionId, String>,
    backlog: Backlog,
    /// Sessions that had something to record while the log took no writes.
    unrecorded: BTreeSet<SessionId>,
    /// Sessions that time has woken, and when: one that has nothing to do about it is not woken at once again for the same
    /// moment.
    woken: BTreeMap<SessionId, Timestamp>,
    due: Due,
    wheel: watch::Sender<Option<Timestamp>>,
    settled_count: u64,
    /// When work of the backlog was last begun.
    begun: tokio::time::Instant,
    draining: bool,
}

struct Child {
    session: session::Handle,
    /// When it last said that it may be put to rest, as a count; `None` while it is at work.
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
        for child in Only::ALL {
            match options.children.start(child, myself.get_cell()).await {
                Ok(actor) => drop(only.insert(actor.pid(), child)),
                // Whoever started the daemon is told why.
                Err(error) if child == Only::Gateway => return Err(error.into()),
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
            turn_wheel(supervisor, clock, table, settings, next)
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
        // What was owed when the last daemon ended is owed now.
        let owed = state.owed();
        state.take_in(owed);
        let asked = state.options.sessions.throttle.questions();
        let supervisor = myself.clone();
        state.options.tasks.spawn("backlog", move || turn_to_backlog(supervisor.clone(), asked.clone()));
        let (supervisor, outage) = (myself.clone(), state.options.sessions.outage.clone());
        state.options.tasks.spawn("outage", move || watch_outage(supervisor.clone(), outage.clone()));
        for child in failed {
            state.restart(&myself, child).await;
        }
        state.work_off(&myself).await;
        Ok(state)
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Seen(files) => state.take_in(files.into_iter().map(|file| Work::Read(Box::new(file))).collect()),
            Msg::Page(page) => state.take_in_page(page),
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
                state.work_off(&myself).await;
                let _ = reply.send(());
            }
            Msg::Drain(reply) => {
                state.drain().await;
                let _ = reply.send(());
            }
        }
        state.work_off(&myself).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            // What it failed with is not told: a panic's message may quote the text it stumbled over.
            SupervisionEvent::ActorFailed(cell, _) => state.failed(&myself, cell.get_id()).await,
            SupervisionEvent::ActorTerminated(cell, left, _) => {
                // What it held on to, its successor may need: a gateway's socket above all.
                drop(left);
                state.ended(&myself, cell.get_id()).await;
            }
            _ => {}
        }
        state.work_off(&myself).await;
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
        let left_alone = self.budget.given_up_until(&Name::Session(id.clone()), self.now()).is_some();
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
