//! The supervisor: owns the children and their restart budgets, finds or makes the actor of a session, keeps the timer
//! wheel, works off the backlog, and drains everything on shutdown.
//!
//! It awaits nobody's answer. Sessions rehydrate on their first message, so spawning one costs microseconds. If it fails
//! itself the daemon ends: there is nobody above it, and a fresh process replays the log.

mod backlog;
mod children;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use baton_events::record::{SessionId, Timestamp};
use baton_events::session::Phase;
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::files::FileSeen;
use crate::limits;
use crate::restart::{RestartBudget, Verdict};
use crate::session::{self, CloseCall, Closed, SessionActor};
use crate::settings::SettingsReader;
use crate::slot::{CallError, Slot};
use crate::table::TableReader;

pub use backlog::Progress;
use backlog::{Backlog, Entry, Work};
use children::Child as Only;
pub use children::Children;

/// What the supervisor needs.
pub struct Options {
    /// What every session needs.
    pub sessions: session::Options,
    /// The published session table: the timer wheel reads what is due from it.
    pub table: TableReader,
    /// Where progress of the backlog is shown.
    pub progress: watch::Sender<Progress>,
    /// Children that keep failing and are left alone.
    pub degraded: watch::Sender<Vec<String>>,
    /// The actors there is one of.
    pub children: Children,
}

/// Reaches the supervisor.
#[derive(Clone, Default)]
pub struct Handle(pub(crate) Slot<Msg>);

impl Handle {
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

    /// The actor of a session, made if need be. Whether the session exists is for the actor to say.
    pub async fn resolve(&self, id: SessionId) -> Result<session::Handle, CallError> {
        self.0.call(|reply| Msg::Resolve(id, reply), Duration::from_secs(5)).await?
    }

    /// Reads a session's file to its end, closes it, and waits until its episode is durable. If the actor was put to
    /// rest in between, asks its successor once, with the same command id.
    pub async fn close(
        &self,
        id: &SessionId,
        seen: Option<FileSeen>,
        call: CloseCall,
        within: Duration,
    ) -> Result<Closed, CallError> {
        let session = self.resolve(id.clone()).await?;
        match session.refresh(seen.clone(), call.clone(), within).await {
            Err(CallError::Gone) => self.resolve(id.clone()).await?.refresh(seen, call, within).await,
            answer => answer,
        }
    }

    /// An incarnation owes nothing at the moment; `rest` says that it may be put to rest.
    pub(crate) fn settled(&self, id: SessionId, incarnation: ActorId, rest: bool) {
        self.0.cast(Msg::Settled { id, incarnation, rest });
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

pub(crate) enum Msg {
    Seen(Vec<FileSeen>),
    Wanted(Vec<(SessionId, Option<FileSeen>)>),
    /// A question was answered, or has been for long: the backlog goes on.
    GoOn,
    Resolve(SessionId, RpcReplyPort<Result<session::Handle, CallError>>),
    Settled {
        id: SessionId,
        incarnation: ActorId,
        rest: bool,
    },
    /// Time has passed, or the table has changed.
    Tick,
    /// The settings are others: what was stopped may be owed again.
    Reconfigured,
    Settle(RpcReplyPort<()>),
    Drain(RpcReplyPort<()>),
}

pub(crate) struct SupervisorActor;

pub(crate) struct State {
    options: Options,
    children: BTreeMap<SessionId, Child>,
    only: BTreeMap<u64, Only>,
    by_actor: BTreeMap<u64, SessionId>,
    budget: RestartBudget,
    backlog: Backlog,
    /// Sessions that time has woken, and when: a session that has nothing to do about it is not woken at once again.
    woken: BTreeMap<SessionId, Timestamp>,
    wheel: watch::Sender<Option<Timestamp>>,
    settled_count: u64,
    /// When work of the backlog was last begun.
    begun: tokio::time::Instant,
    draining: bool,
}

struct Child {
    actor: ActorRef<session::Msg>,
    /// When it last said that it may be put to rest, as a count; `None` while it is at work.
    resting_since: Option<u64>,
}

/// A session that was woken is not woken again within this time.
const WAKE_PAUSE_MS: i64 = 10_000;

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
        let mut only = BTreeMap::new();
        for child in Only::ALL {
            only.insert(options.children.start(child, myself.get_cell()).await?.pid(), child);
        }
        let wheel = watch::Sender::new(None);
        tokio::spawn(turn_wheel(
            myself.clone(),
            options.sessions.clock.clone(),
            options.table.clone(),
            options.sessions.settings.clone(),
            wheel.subscribe(),
        ));
        let mut state = State {
            options,
            children: BTreeMap::new(),
            only,
            by_actor: BTreeMap::new(),
            budget: RestartBudget::new(
                limits::RESTARTS,
                i64::try_from(limits::RESTART_WINDOW.as_millis()).unwrap_or(i64::MAX),
            ),
            backlog: Backlog::new(limits::BACKLOG_IN_FLIGHT),
            woken: BTreeMap::new(),
            wheel,
            settled_count: 0,
            begun: tokio::time::Instant::now(),
            draining: false,
        };
        // What was owed when the last daemon ended is owed now.
        let owed: Vec<SessionId> = {
            let table = state.options.table.borrow().clone();
            let owes = |phase| matches!(phase, Phase::Indexing);
            table.iter().filter(|(_, row)| owes(row.state.phase)).map(|(id, _)| id.clone()).collect()
        };
        state.take_in(owed.into_iter().map(Work::Wake).collect());
        let asked = state.options.sessions.pace.asked();
        tokio::spawn(turn_to_backlog(myself.clone(), asked));
        state.work_off(&myself).await;
        Ok(state)
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Seen(files) => state.take_in(files.into_iter().map(|file| Work::Read(Box::new(file))).collect()),
            Msg::Wanted(sessions) => {
                let work = |(id, file): (_, Option<_>)| Work::Index(id, file.map(Box::new));
                state.take_in(sessions.into_iter().map(work).collect());
            }
            Msg::GoOn => {}
            Msg::Resolve(id, reply) => {
                let resolved = state.resolve(&myself, &id).await;
                let _ = reply.send(resolved.map(session::Handle));
            }
            Msg::Settled { id, incarnation, rest } => state.settled(&id, incarnation, rest),
            Msg::Tick => state.tick(),
            Msg::Reconfigured => state.reconfigured(),
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
            SupervisionEvent::ActorTerminated(cell, ..) => state.ended(cell.get_id()),
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

    async fn resolve(&mut self, myself: &ActorRef<Msg>, id: &SessionId) -> Result<ActorRef<session::Msg>, CallError> {
        if let Some(child) = self.children.get_mut(id) {
            child.resting_since = None;
            return Ok(child.actor.clone());
        }
        if self.draining || self.budget.given_up(id.as_str(), self.now()) {
            return Err(CallError::Gone);
        }
        let arguments = (id.clone(), self.options.sessions.clone());
        match Actor::spawn_linked(None, SessionActor, arguments, myself.get_cell()).await {
            Ok((actor, _)) => {
                self.by_actor.insert(actor.get_id().pid(), id.clone());
                self.children.insert(id.clone(), Child { actor: actor.clone(), resting_since: None });
                Ok(actor)
            }
            Err(error) => {
                tracing::error!(session = %id, %error, "session actor not started");
                Err(CallError::Gone)
            }
        }
    }

    /// Takes work into the backlog, but of sessions that may not be read.
    fn take_in(&mut self, work: Vec<Work>) {
        if work.is_empty() || self.draining {
            return;
        }
        let table = self.options.table.borrow().clone();
        let settings = self.options.sessions.settings.borrow().clone();
        let unknown = baton_events::session::State::default();
        let entry = |work: Work| {
            let row = table.get(work.session());
            let state = row.map_or(&unknown, |row| &row.state);
            // What is not known yet has no project to judge it by: the session finds out.
            if row.is_some() && !settings.reads(state) {
                return None;
            }
            let file = match &work {
                Work::Read(file) | Work::Index(_, Some(file)) => Some(file),
                Work::Index(_, None) | Work::Wake(_) => None,
            };
            let at = file.map(|file| file.stat.modified()).or(row.map(|row| row.state.last_activity()));
            let bytes = file.map_or(0, |file| file.stat.size.saturating_sub(state.read.offset));
            Some(Entry { at: at.unwrap_or_default(), bytes, work })
        };
        let entries = work.into_iter().filter_map(entry).collect();
        self.backlog.push(entries, self.options.sessions.clock.now());
    }

    /// Hands out as much of the backlog as may be in flight. While a question is being answered that is only little.
    async fn work_off(&mut self, myself: &ActorRef<Msg>) {
        let pace = self.options.sessions.pace.clone();
        while !(pace.is_asked() && self.begun.elapsed() < limits::BACKLOG_PAUSE)
            && let Some(work) = self.backlog.next()
        {
            self.begun = tokio::time::Instant::now();
            let id = work.session().clone();
            match (self.resolve(myself, &id).await, work) {
                (Ok(actor), Work::Read(file)) => session::Handle(actor).seen(*file),
                (Ok(actor), Work::Index(_, file)) => session::Handle(actor).index(file.map(|file| *file)),
                (Ok(actor), Work::Wake(_)) => session::Handle(actor).wake(),
                (Err(_), _) => self.backlog.done(&id),
            }
        }
        self.options.progress.send_if_modified(|shown| {
            let progress = self.backlog.progress();
            let changed = *shown != progress;
            *shown = progress;
            changed
        });
    }

    fn settled(&mut self, id: &SessionId, incarnation: ActorId, rest: bool) {
        self.backlog.done(id);
        self.settled_count += 1;
        let count = self.settled_count;
        if let Some(child) = self.children.get_mut(id)
            && child.actor.get_id() == incarnation
        {
            child.resting_since = rest.then_some(count);
        }
        self.passivate();
    }

    /// Puts the longest resting sessions to rest when there are more than are worth keeping. A drained actor handles
    /// what is in its mailbox; who comes later resolves anew.
    fn passivate(&mut self) {
        let resting = self.children.values().filter(|child| child.resting_since.is_some()).count();
        for _ in limits::IDLE_SESSIONS..resting {
            let longest = self
                .children
                .iter()
                .filter_map(|(id, child)| child.resting_since.map(|since| (since, id.clone())))
                .min();
            let Some((_, id)) = longest else { return };
            if let Some(child) = self.children.remove(&id) {
                let _ = child.actor.drain();
            }
        }
    }

    fn tick(&mut self) {
        if self.draining {
            return;
        }
        let (settings, now) = (self.options.sessions.settings.borrow().clone(), self.now());
        let table = self.options.table.borrow_and_update().clone();
        let (due, next) = table.due(|state| settings.policy_for(state), now);
        self.woken.retain(|_, at| now.since_ms(*at) < WAKE_PAUSE_MS);
        let mut work = Vec::new();
        for id in due {
            if !self.woken.contains_key(&id) {
                self.woken.insert(id.clone(), now);
                work.push(Work::Wake(id));
            }
        }
        let again = (!self.woken.is_empty()).then(|| now.plus_ms(WAKE_PAUSE_MS));
        self.take_in(work);
        self.wheel.send_replace(next.into_iter().chain(again).min());
    }

    /// Jobs that were owed when their sessions were stopped are owed again; timers follow with the next tick.
    fn reconfigured(&mut self) {
        let settings = self.options.sessions.settings.borrow().clone();
        let table = self.options.table.borrow().clone();
        let owed = table.iter().filter(|(_, row)| row.state.phase == Phase::Indexing);
        let owed = owed.filter(|(_, row)| settings.policy_for(&row.state).tracked);
        let work = owed.map(|(id, _)| Work::Wake(id.clone())).collect();
        if !self.draining {
            self.woken.clear();
            self.take_in(work);
        }
        self.tick();
    }

    async fn failed(&mut self, myself: &ActorRef<Msg>, actor: ActorId) {
        if let Some(child) = self.only.remove(&actor.pid()) {
            return self.restart(myself, child).await;
        }
        let Some(id) = self.by_actor.remove(&actor.pid()) else { return };
        // A drained incarnation may fail while its successor is already at work.
        self.children.retain(|child, entry| *child != id || entry.actor.get_id() != actor);
        self.backlog.done(&id);
        let now = self.now();
        match self.budget.failed(id.as_str(), now) {
            Verdict::Restart => {
                tracing::warn!(session = %id, "session actor failed");
                tracing::info!(session = %id, reason = %"actor_failed", "session actor restarted from the log");
                // Whatever it owed is owed still; its first message finds out.
                if let Ok(actor) = self.resolve(myself, &id).await {
                    session::Handle(actor).wake();
                }
            }
            Verdict::GiveUp => {
                tracing::error!(session = %id, "session actor keeps failing and is left alone");
            }
        }
        self.tell_degraded(now);
    }

    async fn restart(&mut self, myself: &ActorRef<Msg>, child: Only) {
        let now = self.now();
        if self.draining {
            return;
        }
        while self.budget.failed(child.name(), now) == Verdict::Restart {
            tracing::warn!(actor = child.name(), "actor failed");
            tracing::info!(actor = child.name(), reason = %"actor_failed", "actor restarted");
            match self.options.children.start(child, myself.get_cell()).await {
                Ok(actor) => {
                    self.only.insert(actor.pid(), child);
                    if child == Only::Indexer {
                        // The jobs that waited in it are lost with it.
                        self.children.values().for_each(|child| session::Handle(child.actor.clone()).hand_out_again());
                    }
                    return self.tell_degraded(now);
                }
                Err(error) => tracing::error!(actor = child.name(), %error, "actor not started"),
            }
        }
        // Without one of these three nothing works: a fresh process replays the log, and the next client starts it.
        tracing::error!(actor = child.name(), "actor keeps failing, the daemon ends");
        self.options.children.gateway.1.stop.send_replace(true);
    }

    fn tell_degraded(&self, now: Timestamp) {
        let given_up = self.budget.all_given_up(now).into_iter().map(str::to_owned).collect();
        self.options.degraded.send_replace(given_up);
    }

    fn ended(&mut self, actor: ActorId) {
        if let Some(id) = self.by_actor.remove(&actor.pid()) {
            self.children.retain(|child, entry| *child != id || entry.actor.get_id() != actor);
            self.backlog.done(&id);
        }
    }

    async fn drain(&mut self) {
        self.draining = true;
        self.backlog.clear();
        let children = std::mem::take(&mut self.children);
        for child in children.values() {
            let _ = child.actor.drain();
        }
        let until = tokio::time::Instant::now() + limits::DRAIN / 2;
        for child in children.values() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            let _ = child.actor.wait(Some(left)).await;
        }
    }
}

/// One timer for all sessions: looks at the table when it has changed, and when the next session's time has come.
async fn turn_wheel(
    supervisor: ActorRef<Msg>,
    clock: Arc<dyn Clock>,
    mut table: TableReader,
    mut settings: SettingsReader,
    mut next: watch::Receiver<Option<Timestamp>>,
) {
    loop {
        if supervisor.send_message(Msg::Tick).is_err() {
            return;
        }
        tokio::time::sleep(limits::TIMER_MIN).await;
        let at = *next.borrow_and_update();
        let time = async {
            match at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = table.changed() => if changed.is_err() { return },
            changed = settings.changed() => if changed.is_err() || supervisor.send_message(Msg::Reconfigured).is_err() { return },
            () = time => {}
        }
    }
}

/// Wakes the backlog when it has paused for questions: after the last one, and now and then while there are more.
async fn turn_to_backlog(supervisor: ActorRef<Msg>, mut asked: watch::Receiver<usize>) {
    while asked.changed().await.is_ok() {
        loop {
            let many = *asked.borrow_and_update();
            if supervisor.send_message(Msg::GoOn).is_err() {
                return;
            }
            if many == 0 {
                break;
            }
            tokio::time::sleep(limits::BACKLOG_PAUSE).await;
        }
    }
}
