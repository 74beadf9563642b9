//! What can happen in a world, how often, and how a world comes to rest.

use baton_conversation::hash::ContentHash;
use baton_events::session::{Effect, Phase, UnindexedReason};

use crate::invariant::{Broken, ensure};
use crate::log::Trouble;
use crate::session::{Message, Session};
use crate::world::World;

/// Maximum number of steps until nothing more can be done without time passing.
const STEPS_TO_REST: usize = 3_000;
/// Maximum number of wake-ups until nothing is owed any more.
const WAKES_TO_REST: usize = 300;

impl World {
    /// Makes one random thing happen.
    pub(crate) fn happen(&mut self) -> Result<(), Broken> {
        let number = self.rng.below(self.sessions.len());
        let what = match self.rng.below(214) {
            0..=33 => {
                let steps = 1 + self.rng.below(6);
                (0..steps).try_for_each(|_| self.step_session(number))?;
                format!("s{number} goes on")
            }
            34..=47 => {
                self.write_log()?;
                "the log writes".to_owned()
            }
            48..=61 => {
                self.sync_log()?;
                "the log syncs".to_owned()
            }
            62..=77 => {
                let turn = self.rng.below(8);
                self.step_indexer(turn)?;
                "a job goes on".to_owned()
            }
            78..=86 => {
                let which = self.rng.below(self.reports.len());
                self.deliver_report(which);
                "a job's report arrives".to_owned()
            }
            87..=112 => self.change_file(number),
            113..=126 => {
                let dirty: Vec<String> =
                    Self::paths(number).into_iter().filter(|path| self.dirty.contains(path)).collect();
                if let Some(path) = self.rng.pick(&dirty).cloned() {
                    self.tell(number, Message::Seen(path));
                }
                format!("s{number}: its file is noticed")
            }
            127..=136 => {
                let times = if self.rng.percent(20) { 3 } else { 1 };
                (0..times).for_each(|_| self.random_close(number));
                format!("s{number}: {times} closes")
            }
            137..=140 => {
                self.tell(number, Message::Query);
                format!("s{number}: a query")
            }
            141..=145 => format!("s{number}: a wish to {}", self.random_wish(number)),
            146..=150 => {
                if let Some((session, message)) = self.rng.pick(&self.asked).cloned() {
                    self.tell(session, message);
                }
                "somebody asks again".to_owned()
            }
            151..=153 => {
                if let Some(command) = self.rng.pick(&self.sessions[number].observed).cloned() {
                    self.tell(number, Message::Stray(command));
                }
                format!("s{number}: an observation comes again")
            }
            154..=167 => self.pass_time(),
            168..=176 => {
                self.wake_due();
                "whose time has come is woken".to_owned()
            }
            177..=182 => {
                let records = 1 + self.rng.below(20);
                self.follow_memory(records)?;
                if self.rng.percent(40) {
                    self.memory.commit();
                }
                "the memory follows".to_owned()
            }
            183..=185 => {
                self.collect(number);
                format!("what is superseded of s{number} is collected")
            }
            186 | 187 => {
                self.keep_table();
                if self.rng.percent(60) {
                    self.run()?;
                }
                "the table is kept".to_owned()
            }
            188..=190 => self.fail(number)?,
            191..=193 => {
                self.trouble(Trouble::None);
                "the disk is well".to_owned()
            }
            194 => {
                self.policy.tracked = false;
                "tracking is switched off".to_owned()
            }
            195 | 196 => {
                self.policy.tracked = true;
                (0..self.sessions.len()).for_each(|session| self.tell(session, Message::Again));
                "tracking is switched on".to_owned()
            }
            197 => {
                self.policy.filter_version += u32::from(self.rng.percent(20));
                format!("filter {}", self.policy.filter_version)
            }
            198 | 199 => self.end_abruptly()?.to_owned(),
            _ => format!("s{number}: {}", self.random_signal(number)),
        };
        self.random_model()?;
        self.note(|world| format!("{what} | {}", world.told()));
        self.check()
    }

    fn change_file(&mut self, session: usize) -> String {
        let [here, there] = Self::paths(session);
        let other = self.rng.percent(8);
        let path = if other { there.clone() } else { here.clone() };
        let what = match self.rng.below(100) {
            0..=83 => self.folder.grow(&path, self.now, &mut self.rng),
            84..=88 => self.folder.rewrite(&path, self.now, &mut self.rng),
            89 | 90 => match self.folder.files.remove(&path) {
                Some(_) => "deleted",
                None => "no file",
            },
            91..=94 => {
                let copies = self.rng.percent(50);
                self.folder.carry(&here, &there, copies);
                if copies { "copied" } else { "moved" }
            }
            95 => {
                self.folder.carry(&there, &here, false);
                "moved back"
            }
            _ => match self.folder.files.get_mut(&path) {
                Some(file) => {
                    file.locked = !file.locked;
                    "locked or unlocked"
                }
                None => "no file",
            },
        };
        self.mark_dirty(session);
        format!("s{session}: {what} in {path}")
    }

    fn mark_dirty(&mut self, session: usize) {
        let there = Self::paths(session).into_iter().filter(|path| self.folder.files.contains_key(path));
        self.dirty.extend(there);
    }

    /// Ends the process, preferably in the middle of something.
    fn end_abruptly(&mut self) -> Result<&'static str, Broken> {
        for number in 0..self.sessions.len() {
            let steps = self.rng.below(5);
            (0..steps).try_for_each(|_| self.step_session(number))?;
        }
        if self.rng.percent(60) {
            self.write_log()?;
        }
        let power = self.rng.percent(60);
        self.crash(power)?;
        Ok(if power { "power cut" } else { "killed" })
    }

    fn pass_time(&mut self) -> String {
        let before = self.now;
        let ms = match self.rng.below(14) {
            0..=6 => self.rng.between(0, 30_000),
            7..=9 => self.rng.between(0, 600_000),
            10 | 11 => self.rng.between(600_000, 8 * 3_600_000),
            12 => -self.rng.between(0, 3_600_000),
            _ => {
                let ms = self.rng.between(60_000, 8 * 3_600_000);
                self.sleeps.push((before, before.plus_ms(ms)));
                ms
            }
        };
        self.now = before.plus_ms(ms);
        format!("{} s pass", ms / 1000)
    }

    fn fail(&mut self, number: usize) -> Result<String, Broken> {
        Ok(match self.rng.below(6) {
            0 => {
                self.trouble(Trouble::Full);
                "the disk is full".to_owned()
            }
            1 => {
                self.trouble(Trouble::NoSync);
                "the disk does not sync".to_owned()
            }
            // While an actor waits for the log it runs no code of its own, so it cannot fail then.
            2 if !self.sessions[number].waits_for_log() => {
                self.sessions[number].die();
                self.tell(number, Message::Again);
                format!("s{number}: its actor dies")
            }
            3 => {
                let turn = self.rng.below(4);
                let broken = self.indexer.break_one(turn);
                self.reports.extend(broken);
                "a job breaks".to_owned()
            }
            4 => {
                self.indexer.crash();
                (0..self.sessions.len()).for_each(|session| self.tell(session, Message::Again));
                "the indexer dies".to_owned()
            }
            _ => {
                self.memory.restart(&self.log);
                "the memory dies".to_owned()
            }
        })
    }

    /// Faults stop, files stay unchanged, and time passes: in the end nothing may be owed, and everything must be
    /// found.
    pub(crate) fn come_to_rest(&mut self) -> Result<(), Broken> {
        self.trouble(Trouble::None);
        self.policy.tracked = true;
        for session in 0..self.sessions.len() {
            Self::paths(session).iter().for_each(|path| {
                if let Some(file) = self.folder.files.get_mut(path).filter(|file| file.locked) {
                    file.locked = false;
                    self.dirty.insert(path.clone());
                }
                if self.folder.finish(path) {
                    self.dirty.insert(path.clone());
                }
            });
        }
        // Often the process ends last of all: then the work continues only because it is owed.
        if self.rng.percent(40) {
            self.end_abruptly()?;
        }
        self.note(|world| format!("-- from here on nothing goes wrong | {}", world.told()));
        self.run()?;
        for _ in 0..2 {
            for path in self.dirty.clone() {
                for session in (0..self.sessions.len()).filter(|session| Self::paths(*session).contains(&path)) {
                    self.tell(session, Message::Seen(path.clone()));
                }
            }
            self.run()?;
        }
        // And once more when everything is read: then only what is owed causes further work.
        if self.rng.percent(30) {
            for session in 0..self.sessions.len() {
                match self.rng.percent(50) {
                    true => self.random_close(session),
                    false => drop(self.random_signal(session)),
                }
            }
            for _ in 0..1 + self.rng.below(4) {
                (0..self.sessions.len()).try_for_each(|number| self.step_session(number))?;
                self.write_log()?;
                self.sync_log()?;
            }
            self.end_abruptly()?;
            self.run()?;
        }
        self.let_time_pass()?;
        self.check_rest(false)?;
        (0..self.sessions.len()).for_each(|session| self.tell(session, Message::Query));
        self.run()?;
        self.let_time_pass()?;
        self.check_rest(true)
    }

    /// Does everything that can be done without time passing.
    fn run(&mut self) -> Result<(), Broken> {
        for turn in 0..STEPS_TO_REST {
            (0..self.sessions.len()).try_for_each(|number| self.step_session(number))?;
            self.write_log()?;
            self.sync_log()?;
            self.step_indexer(turn)?;
            self.deliver_report(0);
            // No model is asked while the log refuses writes.
            let mut asks = false;
            let able = if self.log.trouble == Trouble::None { self.sessions.len() } else { 0 };
            for number in 0..able {
                asks |= self.step_model(number, true)?;
            }
            self.check()?;
            let idle = self.sessions.iter().all(|session| session.is_idle());
            if idle && !asks && !self.log.is_busy() && self.indexer.is_idle() && self.reports.is_empty() {
                self.note(|world| format!("all is done | {}", world.told()));
                return Ok(());
            }
        }
        let doing: Vec<String> = self.sessions.iter().filter(|session| !session.is_idle()).map(Session::told).collect();
        let (log, jobs, reports) = (self.log.is_busy(), !self.indexer.is_idle(), self.reports.len());
        Err(Broken::new(
            "liveness",
            format!("there is always something to do: {doing:?}, log {log}, jobs {jobs}, reports {reports}"),
        ))
    }

    fn let_time_pass(&mut self) -> Result<(), Broken> {
        let mut pause_ms = 60_000;
        for _ in 0..WAKES_TO_REST {
            let before = self.log.tail().position;
            let enriches = self.next_enrichment();
            let is_asked = enriches.is_some_and(|at| at <= self.now);
            if self.wake_due() || is_asked {
                self.run()?;
            } else if let Some(next) = self.next_due().into_iter().chain(enriches).min() {
                self.now = next;
                continue;
            } else {
                return Ok(());
            }
            // A wake-up that recorded nothing came too early: time passes, with a growing pause.
            let moved = self.log.tail().position != before;
            pause_ms = if moved { 60_000 } else { (pause_ms * 2).min(3_600_000) };
            self.now = self.now.plus_ms(if moved { 0 } else { pause_ms });
        }
        let due = self.sessions.iter().filter_map(|session| self.table.get(&session.id)).map(|row| row.state.phase);
        Err(Broken::new("liveness", format!("wake-ups never end: {:?}", due.collect::<Vec<_>>())))
    }

    fn check_rest(&mut self, was_queried: bool) -> Result<(), Broken> {
        for number in 0..self.sessions.len() {
            self.collect(number);
        }
        self.follow_memory(usize::MAX)?;
        self.check()?;
        self.check_all()?;
        (0..self.sessions.len()).try_for_each(|number| self.check_rest_of(number, was_queried))
    }

    fn check_rest_of(&self, number: usize, was_queried: bool) -> Result<(), Broken> {
        let Some(state) = self.state(number) else {
            let found = Self::paths(number).iter().any(|path| self.folder.files.contains_key(path));
            return ensure("liveness", !found, || format!("s{number} has a file and was never discovered"));
        };
        let is =
            || format!("s{number} rests as {:?}", (state.phase, state.end, state.unindexed, state.job, &state.episode));
        let owed = baton_events::session::pending(state, &self.policy_of(number));
        let job = owed.iter().any(|effect| matches!(effect, Effect::Index(_) | Effect::Close(_)));
        ensure("I-7", !job, || format!("{owed:?} is owed and nobody is at work: {}", is()))?;
        ensure("liveness", owed.is_empty(), || format!("{owed:?} is owed: {}", is()))?;
        let at_rest = match state.phase {
            Phase::Forgotten => {
                let gone = !self.store.has_any(number);
                return ensure("I-11", gone, || format!("s{number} is forgotten and its conversation is stored"));
            }
            Phase::Unindexed(UnindexedReason::Untracked) => return Ok(()),
            // Hooks have named the session, and its file was never written.
            Phase::New => {
                let found = Self::paths(number).iter().any(|path| self.folder.files.contains_key(path));
                return ensure("liveness", !found, || format!("s{number} has a file and was never discovered"));
            }
            Phase::Indexed | Phase::Unindexed(UnindexedReason::Empty | UnindexedReason::Gone) => true,
            Phase::Unindexed(UnindexedReason::TimeoutDisabled) => self.policy.timeout_disabled() && !was_queried,
            _ => false,
        };
        ensure("liveness", at_rest, is)?;
        let path = state.transcript.as_ref().map_or("", |transcript| &transcript.path);
        let Some((cursor, seen, items)) = self.folder.whole(path, self.sessions[number].source()) else {
            return Ok(());
        };
        ensure("I-6", state.read == cursor, || {
            format!("s{number} was read up to {:?}, and the file to {cursor:?}", state.read)
        })?;
        let counts = baton_events::session::Counts::from(&seen);
        ensure("I-6", state.counts == counts, || {
            format!("s{number} has counted {:?}, and there is {counts:?}", state.counts)
        })?;
        let waits = matches!(state.phase, Phase::Unindexed(UnindexedReason::TimeoutDisabled));
        if counts.messages == 0 || waits {
            return Ok(());
        }
        ensure("liveness", state.phase == Phase::Indexed, is)?;
        ensure("liveness", state.end.is_some() || self.policy.timeout_disabled(), || {
            format!("s{number} is over for no reason: {}", is())
        })?;
        let hash = ContentHash::digest(&items);
        let covers = state.episode.as_ref().is_some_and(|episode| episode.hash == hash);
        ensure("liveness", covers, || format!("the episode of s{number} is not of what its file says: {}", is()))
    }

    fn told(&self) -> String {
        let sessions = self.sessions.iter().map(|session| match self.state(session.number) {
            Some(state) => {
                let (phase, read, ahead) = (state.phase, state.read.offset, state.unindexed);
                let mail = session.mailbox.len();
                format!(
                    "{}: {phase:?} g{} @{read} +{ahead} end {} mail {mail}",
                    session.id,
                    state.generation,
                    state.end.is_some()
                )
            }
            None => format!("{}: nothing, mail {}", session.id, session.mailbox.len()),
        });
        let time = self.now;
        format!("{time} log {} | {}", self.log.tail().position, sessions.collect::<Vec<_>>().join("; "))
    }
}
