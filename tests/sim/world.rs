//! One world: sessions and their files, log, store, memory and indexer, a clock that may jump, and random numbers that
//! decide what happens next. All invariants are checked after each step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{CommandId, Position, Timestamp};
use baton_events::envelope::{ChainHash, Tail};
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::session::{
    Asleep, CloseReason, Command, Correction, Effect, Policy, Redact, ReplacedConversation, Signal, SignalDetail,
    SignalKind, State, Stored, episode_uuid, last_sign,
};

use crate::folder::{File, Folder, Form};
use crate::indexer::{Indexer, Job};
use crate::invariant::{self, Broken, Watch, ensure, fold, table_is_rebuilt};
use crate::log::{Asker, Log, Trouble, Verdict};
use crate::model::Model;
use crate::mutant::Mutant;
use crate::rng::Rng;
use crate::session::{Around, Message, Outcome, Session, Wanted};
use crate::store::{Memory, Store};

/// A stored table: its position, and its rows in stored form.
type Checkpoint = (Tail, Vec<(baton_conversation::record::SessionId, String)>);

/// Everything in a world.
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) now: Timestamp,
    pub(crate) sleeps: Vec<(Timestamp, Timestamp)>,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) policy: Policy,
    pub(crate) log: Log,
    pub(crate) folder: Folder,
    pub(crate) sessions: Vec<Session>,
    pub(crate) indexer: Indexer,
    pub(crate) model: Model,
    pub(crate) store: Store,
    pub(crate) memory: Memory,
    pub(crate) table: SessionTable,
    checkpoint: Option<Checkpoint>,
    /// Files that have changed and were not read since.
    pub(crate) dirty: BTreeSet<String>,
    /// Reports of jobs that are not delivered yet.
    pub(crate) reports: VecDeque<(usize, Outcome)>,
    /// Requests of clients, which may be repeated.
    pub(crate) asked: Vec<(usize, Message)>,
    /// Signals that were acknowledged.
    heard: BTreeSet<CommandId>,
    /// Records that were acknowledged as durable.
    promised: BTreeMap<Position, ChainHash>,
    watch: Watch,
    pub(crate) enough: usize,
    wishes: u64,
    pub(crate) trace: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>, traced: bool) -> Self {
        let mut rng = Rng::new(seed);
        let model = Model::new(seed);
        let begins = Timestamp(1_800_000_000_000);
        let policy = Policy {
            model_since: model.is_enabled.then_some(begins),
            inactivity_timeout_ms: if rng.percent(20) { 0 } else { Policy::default().inactivity_timeout_ms },
            ..Policy::default()
        };
        let sessions = (0..1 + rng.below(4)).map(Session::new).collect();
        let enough = if rng.percent(50) { usize::MAX } else { 200 + rng.below(1500) };
        Self {
            rng,
            now: begins,
            sleeps: Vec::new(),
            mutant,
            policy,
            log: Log::default(),
            folder: Folder::default(),
            sessions,
            indexer: Indexer::default(),
            model,
            store: Store::default(),
            memory: Memory::default(),
            table: SessionTable::default(),
            checkpoint: None,
            dirty: BTreeSet::new(),
            reports: VecDeque::new(),
            asked: Vec::new(),
            heard: BTreeSet::new(),
            promised: BTreeMap::new(),
            watch: Watch::default(),
            enough,
            wishes: 0,
            trace: traced.then(Vec::new),
        }
    }

    pub(crate) fn is_wrong(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(crate) fn note(&mut self, what: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let line = what(self);
            self.trace.iter_mut().for_each(|trace| trace.push(line.clone()));
        }
    }

    /// The possible paths of a session's file.
    pub(crate) fn paths(session: usize) -> [String; 2] {
        ["/r/projects/p", "/r/projects/q"].map(|folder| Form::of_session(session).path(folder, session))
    }

    pub(crate) fn state(&self, session: usize) -> Option<&State> {
        self.sessions.get(session).and_then(|it| self.table.get(&it.id)).map(|row| &row.state)
    }

    fn states(&self) -> Vec<Option<State>> {
        (0..self.sessions.len()).map(|session| self.state(session).cloned()).collect()
    }

    /// The policy for a session: a session with forced tracking is read although tracking is off.
    pub(crate) fn policy_of(&self, session: usize) -> Policy {
        let live = self.sessions.get(session).and_then(|it| it.aggregate.as_ref()).map(|live| live.state());
        let forced = live.or_else(|| self.state(session)).is_some_and(|state| state.forced);
        Policy { tracked: self.policy.tracked || forced, ..self.policy.clone() }
    }

    fn asleep_ms(&self, since: Timestamp) -> i64 {
        let overlap = |(from, to): &(Timestamp, Timestamp)| to.since_ms((*from).max(since)).max(0);
        self.sleeps.iter().map(overlap).sum()
    }

    pub(crate) fn command_id(&mut self) -> CommandId {
        self.wishes += 1;
        CommandId::new(&format!("wish-{}", self.wishes))
    }

    /// Sends a message as a client that may repeat it.
    pub(crate) fn ask(&mut self, session: usize, message: Message) {
        self.asked.push((session, message.clone()));
        self.tell(session, message);
    }

    pub(crate) fn tell(&mut self, session: usize, message: Message) {
        // Clients have permits, and the watcher a set, so mailboxes are bounded.
        if self.sessions[session].mailbox.len() < 64 {
            self.sessions[session].mailbox.push_back(message);
        }
    }

    /// One step of one session.
    pub(crate) fn step_session(&mut self, number: usize) -> Result<(), Broken> {
        self.with_session(number, |session, around| session.step(around))
    }

    fn with_session(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut Session, &mut Around<'_>) -> Result<Vec<Wanted>, Broken>,
    ) -> Result<(), Broken> {
        let policy = self.policy_of(number);
        let state = self.sessions[number].aggregate.as_ref().map(|live| live.state());
        let asleep = state.map_or_else(Asleep::default, |state| Asleep {
            since_sign_ms: self.asleep_ms(last_sign(state, &policy)),
            since_disconnect_ms: state.signals.disconnected_at.map_or(0, |at| self.asleep_ms(at)),
        });
        let mut around = Around {
            log: &mut self.log,
            folder: &self.folder,
            policy: &policy,
            now: self.now,
            asleep,
            enough: self.enough,
            mutant: self.mutant,
        };
        let wanted = act(&mut self.sessions[number], &mut around)?;
        wanted.into_iter().try_for_each(|wanted| self.give(number, wanted, &policy))
    }

    fn give(&mut self, number: usize, wanted: Wanted, policy: &Policy) -> Result<(), Broken> {
        let session = &self.sessions[number];
        match wanted {
            Wanted::Job(job) => {
                let stream = baton_conversation::record::StreamId::session(&session.id);
                let started = self.log.history(&stream).any(|recorded| {
                    matches!(recorded.event, baton_events::session::Event::IndexingStarted { effect, .. } if effect == job.effect)
                });
                ensure("I-7", started, || {
                    format!("job {:?} of s{number} is handed out before its event is durable", job.effect)
                })?;
                let prior = session.aggregate.as_ref().and_then(|live| live.state().episode.clone());
                let (id, source) = (session.id.clone(), session.source());
                self.indexer.take(Job {
                    session: number,
                    id,
                    source,
                    job,
                    prior,
                    filter_version: policy.filter_version,
                });
            }
            Wanted::Disown(effect) => self.store.disown(number, effect),
            Wanted::Answer => {
                let position = session.aggregate.as_ref().map_or(Position(0), |live| live.position());
                if let Some(chain) = self.log.chain_at(position) {
                    self.promised.insert(position, chain);
                }
            }
            Wanted::Heard(id) => {
                self.heard.insert(id);
                self.keep_what_was_heard()?;
            }
            Wanted::Checked(path, stamp) => {
                if self.folder.files.get(&path).is_some_and(|file| file.stamp == stamp) {
                    self.dirty.remove(&path);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn write_log(&mut self) -> Result<(), Broken> {
        let answers = self.log.write(&mut self.rng)?;
        self.deliver(answers)?;
        if self.is_wrong(Mutant::AcknowledgesBeforeSync) {
            let answers = self.log.answer_unsynced();
            self.deliver(answers)?;
        }
        Ok(())
    }

    pub(crate) fn sync_log(&mut self) -> Result<(), Broken> {
        let answers = self.log.sync();
        self.deliver(answers)
    }

    /// Folds the durable records, then answers.
    fn deliver(&mut self, answers: Vec<(Asker, Verdict)>) -> Result<(), Broken> {
        let from = self.table.position().0 as usize;
        for kept in self.log.kept.iter().skip(from) {
            fold(&mut self.table, kept);
        }
        for (asker, verdict) in answers {
            if let Verdict::Durable(recorded) = &verdict
                && let Some(last) = recorded.last()
                && let Some(chain) = self.log.chain_at(last.position)
            {
                self.promised.insert(last.position, chain);
            }
            self.with_session(asker.session, |session, around| session.answered(asker, verdict, around))?;
        }
        Ok(())
    }

    /// One step of one index job.
    pub(crate) fn step_indexer(&mut self, turn: usize) -> Result<(), Broken> {
        let tracked: Vec<bool> = (0..self.sessions.len()).map(|number| self.policy_of(number).tracked).collect();
        let holds = |session: usize| tracked[session];
        let done = self.indexer.step(turn, holds, &self.folder, &mut self.store, self.mutant)?;
        self.reports.extend(done);
        Ok(())
    }

    pub(crate) fn deliver_report(&mut self, which: usize) {
        if let Some((session, outcome)) = self.reports.remove(which) {
            self.sessions[session].mailbox.push_back(Message::Done(outcome));
        }
    }

    /// The supervisor wakes sessions that are due.
    pub(crate) fn wake_due(&mut self) -> bool {
        let number_of = |id: &str| id.strip_prefix('s').and_then(|digits| digits.parse::<usize>().ok());
        let policy = |state: &State| Policy { tracked: self.policy.tracked || state.forced, ..self.policy.clone() };
        let (due, _) = self.table.due(policy, self.now);
        let retry = self.sessions.iter().filter(|session| session.retries).map(|session| session.number);
        let due: BTreeSet<usize> = due.iter().filter_map(|id| number_of(id.as_str())).chain(retry).collect();
        due.iter().for_each(|session| self.tell(*session, Message::Wake));
        !due.is_empty()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let policy = |state: &State| Policy { tracked: self.policy.tracked || state.forced, ..self.policy.clone() };
        self.table.due(policy, self.now).1
    }

    pub(crate) fn follow_memory(&mut self, records: usize) -> Result<(), Broken> {
        let states = self.states();
        let misses = self.is_wrong(Mutant::RemembersTheForgotten);
        self.memory.follow(&self.log, &self.store, &states, records, misses)?;
        self.memory.check(&self.log, &self.store, &states)
    }

    pub(crate) fn collect(&mut self, session: usize) {
        let state = self.state(session).cloned();
        let is_rash = self.is_wrong(Mutant::CollectsTooEarly);
        if is_rash || !self.indexer.is_at_work(session) {
            self.store.collect(session, state.as_ref(), is_rash);
        }
    }

    pub(crate) fn keep_table(&mut self) {
        let rows = self.table.iter().map(|(id, row)| (id.clone(), schema::state::encode(row))).collect();
        self.checkpoint = Some((self.log.tail(), rows));
    }

    /// The process ends, perhaps with the power; then everything starts again from what is on disk.
    pub(crate) fn crash(&mut self, power: bool) -> Result<(), Broken> {
        self.log.crash(power, &mut self.rng);
        self.store.crash(power, &mut self.rng);
        self.indexer.crash();
        self.model.crash();
        self.reports.clear();
        self.sessions.iter_mut().for_each(Session::die);
        let half = self.is_wrong(Mutant::RecoversHalfAnAppend);
        self.log.recover(half)?;
        for (position, chain) in &self.promised {
            let found = self.log.chain_at(*position);
            ensure("I-1", found == Some(*chain), || {
                format!("{position:?} was acknowledged; the log ends at {:?}", self.log.tail())
            })?;
        }
        self.keep_what_was_heard()?;
        self.restore_table();
        self.watch = Watch::default();
        self.memory.restart(&self.log);
        for number in 0..self.sessions.len() {
            self.store.collect(number, self.state(number).cloned().as_ref(), false);
            let read = self.state(number).map_or(0, |state| state.read.offset);
            for path in Self::paths(number) {
                // The size of a session in a database is not known.
                let is_read = |file: &File| Form::of(&path) != Form::Table && file.bytes.len() as u64 == read;
                if self.folder.files.get(&path).is_some_and(|file| !is_read(file)) {
                    self.dirty.insert(path);
                }
            }
            let policy = self.policy_of(number);
            let forgets_closes = self.is_wrong(Mutant::ForgetsOwedClosesAfterRestart);
            let is_begun = |effect: &Effect| match effect {
                Effect::Index(_) => true,
                Effect::Close(_) => !forgets_closes,
                // Models are not asked by the session's actor.
                Effect::Enrich(_) | Effect::Wake(_) => false,
            };
            let owes = |state: &State| baton_events::session::pending(state, &policy).iter().any(is_begun);
            if self.state(number).is_some_and(owes) && !self.is_wrong(Mutant::OwesNothingAfterRestart) {
                self.tell(number, Message::Again);
            }
        }
        table_is_rebuilt(&self.log, &self.table)
    }

    /// I-1: a signal that was acknowledged to a hook is in the log.
    fn keep_what_was_heard(&self) -> Result<(), Broken> {
        let causes: BTreeSet<_> =
            self.log.kept.iter().filter_map(|kept| kept.recorded.metadata.cause.as_ref()).collect();
        let missing = self.heard.iter().find(|id| !causes.contains(id));
        ensure("I-1", missing.is_none(), || format!("the signal {missing:?} was acknowledged and is not in the log"))
    }

    /// Restores the table from the checkpoint, if that belongs to this log's history, else from nothing, and applies
    /// the later records.
    fn restore_table(&mut self) {
        self.table = SessionTable::default();
        if let Some((tail, rows)) = &self.checkpoint
            && self.log.chain_at(tail.position) == Some(tail.chain)
        {
            for (id, line) in rows {
                if let Some(row) = schema::state::decode(line) {
                    self.table.restore(id.clone(), row);
                }
            }
            self.table.set_restored(tail.position, 0);
        }
        for kept in self.log.kept.iter().skip(self.table.position().0 as usize) {
            fold(&mut self.table, kept);
        }
    }

    /// Checks what must hold after every step.
    pub(crate) fn check(&mut self) -> Result<(), Broken> {
        self.watch.follow(&self.log)?;
        for session in &self.sessions {
            let row = self.table.get(&session.id);
            ensure("I-5", row.map(|row| &row.state) == self.watch.state(&session.id), || {
                format!("the row of {} is not its fold", session.id)
            })?;
            let episode = row.and_then(|row| row.state.episode.as_ref());
            let missing = episode.filter(|episode| self.store.get(session.number, &episode.manifest).is_none());
            ensure("I-7", missing.is_none(), || {
                format!("the conversation that the log names for {} is missing: {missing:?}", session.id)
            })?;
        }
        Ok(())
    }

    pub(crate) fn check_all(&self) -> Result<(), Broken> {
        table_is_rebuilt(&self.log, &self.table)?;
        self.sessions
            .iter()
            .filter(|session| !session.waits_for_log())
            .filter_map(|session| session.aggregate.as_ref())
            .try_for_each(|live| invariant::live_is_rehydrated(&self.log, live))
    }

    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        self.log.trouble = trouble;
    }

    /// A close from any layer, as a hook, an agent or a query would send it.
    pub(crate) fn random_close(&mut self, session: usize) {
        let reason = *self.rng.pick(CloseReason::ALL).unwrap_or(&CloseReason::Explicit);
        let (by_self, id) = (self.rng.percent(20), self.command_id());
        self.ask(session, Message::Close(reason, by_self, id));
    }

    /// A signal of a hook or a connection: at once, later from the spool, several times, or never; dated now, long ago,
    /// or by a clock that is ahead.
    pub(crate) fn random_signal(&mut self, session: usize) -> String {
        let kinds = SignalKind::ALL.iter().chain([&SignalKind::SessionEnd; 4]).chain([&SignalKind::McpDisconnect; 3]);
        let kinds: Vec<SignalKind> = kinds.copied().collect();
        let kind = *self.rng.pick(&kinds).unwrap_or(&SignalKind::SessionEnd);
        let detail = self.rng.pick(SignalDetail::ALL).copied().filter(|_| self.rng.percent(80));
        let late_ms = match self.rng.below(10) {
            0..=5 => 0,
            6 | 7 => self.rng.between(0, 5_000),
            8 => self.rng.between(0, 2 * 3_600_000),
            _ => -self.rng.between(0, 3_600_000),
        };
        let signal = Signal { kind, detail, at: self.now.plus_ms(-late_ms), follows: None };
        let told = format!("{signal}");
        let message = Message::Wish(Command::Signal(signal), self.command_id());
        let is_late = self.rng.percent(25);
        match is_late {
            true => self.asked.push((session, message)),
            false => self.ask(session, message),
        }
        if is_late { format!("{told}, later or never") } else { told }
    }

    /// An offer or claim of a handoff from an earlier session.
    fn handover(&mut self) -> (&'static str, Command) {
        let from = baton_conversation::record::SessionId::new("before").expect("a plain name");
        match self.rng.percent(50) {
            true => ("offer", Command::Offer { episode: episode_uuid(&from, &ContentHash([7; 32])), from }),
            false => ("claim", Command::Claim),
        }
    }

    pub(crate) fn random_wish(&mut self, session: usize) -> &'static str {
        let exists = Self::paths(session).iter().any(|path| self.folder.files.contains_key(path));
        let episode = self.state(session).and_then(|state| state.episode.as_ref()).map(|episode| episode.uuid);
        let (name, command) = match (self.rng.below(12), episode) {
            (0, _) => ("untrack", Command::Untrack),
            (1 | 2, _) => ("track", Command::Track { force: false }),
            (3, _) => ("track by force", Command::Track { force: true }),
            (4, _) => ("assign", Command::Assign { group: format!("g{}", self.rng.below(2)) }),
            (5, _) => ("reindex", Command::Reindex),
            (6, _) => ("forget", Command::Forget),
            (7..=9, _) => self.handover(),
            (10, Some(episode)) => ("delete the episode", Command::DeleteEpisode { episode }),
            (11, Some(episode)) => ("show the episode", Command::RestoreEpisode { episode, is_cleared: false }),
            _ => ("restore", Command::Restore { file_exists: exists }),
        };
        // Most of what was deleted is restored later.
        let back = match &command {
            // A person corrects what is told at a handover, or takes that back.
            Command::Offer { .. } | Command::Claim => {
                let (withdrawn, verdict) = (matches!(command, Command::Claim), baton_events::session::Verdict::Wrong);
                Some(Command::Correct(vec![Correction::Entry { line: 1, print: 7, verdict, withdrawn }]))
            }
            Command::DeleteEpisode { episode } if self.rng.percent(90) => {
                Some(Command::RestoreEpisode { episode: *episode, is_cleared: false })
            }
            // A person shortens old conversations; this one already needs all it has.
            Command::Assign { .. } | Command::Track { .. } => {
                self.state(session).and_then(|state| state.episode.as_ref()).map(|current| {
                    let (of, items) = (current.manifest, current.items);
                    let stored = Stored { episode: current.uuid, manifest: of, items };
                    Command::Shorten(Box::new(ReplacedConversation { of, hash: current.hash, stored }))
                })
            }
            Command::Reindex => {
                let notes = vec![(ContentHash([1; 32]), ContentHash([2; 32]))];
                Some(Command::Redact(Box::new(Redact { conversation: None, notes })))
            }
            _ => None,
        };
        for command in std::iter::once(command).chain(back) {
            let id = self.command_id();
            self.ask(session, Message::Wish(command, id));
        }
        name
    }
}
