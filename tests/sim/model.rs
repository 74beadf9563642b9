//! The enricher: each model call is recorded before it is made and after it has ended, and may be interrupted at any
//! moment.

use std::collections::BTreeSet;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;
use baton_events::session::{Ask, CallEnd, CallModel, CallOutcome, Command, Effect, EnrichJob, TakeAnswer, pending};

use crate::invariant::{Broken, ensure};
use crate::mutant::Mutant;
use crate::rng::Rng;
use crate::session::Message;
use crate::world::World;

/// The enricher. It has its own random numbers, so that it does not change worlds without a model.
pub(crate) struct Model {
    rng: Rng,
    pub(crate) is_enabled: bool,
    /// Sessions for which a call was requested since the start.
    wished: BTreeSet<usize>,
    /// Calls made since the start, by session and number.
    made: BTreeSet<(usize, u32)>,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x6d6f_6465_6c00);
        let is_enabled = rng.percent(50);
        Self { rng, is_enabled, wished: BTreeSet::new(), made: BTreeSet::new() }
    }

    /// The process ends: it is no longer known what was asked.
    pub(crate) fn crash(&mut self) {
        self.wished.clear();
        self.made.clear();
    }
}

impl World {
    /// Perhaps requests an enrichment; perhaps continues a call.
    pub(crate) fn random_model(&mut self) -> Result<(), Broken> {
        if !self.model.is_enabled {
            return Ok(());
        }
        let number = self.model.rng.below(self.sessions.len());
        match self.model.rng.below(100) {
            0 => {
                let id = self.command_id();
                self.tell(number, Message::Wish(Command::Enrich, id));
            }
            // For a call that has ended, or was never made.
            1 => {
                let id = self.model.rng.below(3) as u32;
                self.tell(number, Message::Stray(Command::LoseCall { id }));
            }
            2..=60 => drop(self.step_model(number, false)?),
            _ => {}
        }
        Ok(())
    }

    /// One step of the enricher for a session. Returns true if there was one.
    pub(crate) fn step_model(&mut self, number: usize, answers_well: bool) -> Result<bool, Broken> {
        let known = self.state(number).and_then(|state| state.enrichment().cloned()).unwrap_or_default();
        // Earlier commands for the session are answered first.
        let is_ours = |message: &Message| {
            let ours = |command: &Command| {
                matches!(command, Command::CallModel(_) | Command::TakeAnswer(_) | Command::LoseCall { .. })
            };
            matches!(message, Message::Wish(command, _) if ours(command))
        };
        let session = &self.sessions[number];
        if session.mailbox.iter().any(is_ours) || (answers_well && !session.is_idle()) {
            return Ok(false);
        }
        let Some(call) = known.call else {
            let Some(job) = self.enrich_job(number).filter(|job| job.due <= self.now) else { return Ok(false) };
            let is_part = !answers_well && self.model.rng.percent(15);
            let request = ContentHash([self.model.rng.below(250) as u8; 32]);
            let call = CallModel {
                model: "m".to_owned(),
                content: job.content,
                request,
                ask: if is_part { Ask::Part } else { Ask::Whole },
                part: u32::from(is_part),
                parts: 1 + u32::from(is_part),
                tokens_in: 10,
                tokens_out: 5,
                nanos: 1_000,
            };
            self.model.wished.insert(number);
            if self.is_wrong(Mutant::AsksBeforeRecording) {
                self.make(number, known.calls + 1)?;
            }
            let id = self.command_id();
            self.tell(number, Message::Wish(Command::CallModel(Box::new(call)), id));
            return Ok(true);
        };
        let is_made = self.model.made.contains(&(number, call.id));
        let command = match (self.model.wished.contains(&number), is_made) {
            // An earlier process has started the call.
            (false, _) => Command::LoseCall { id: call.id },
            (true, false) => {
                self.make(number, call.id)?;
                return Ok(true);
            }
            (true, true) => self.answer(call.id, answers_well),
        };
        let id = self.command_id();
        self.tell(number, Message::Wish(command, id));
        Ok(true)
    }

    /// Sends the request.
    fn make(&mut self, number: usize, call: u32) -> Result<(), Broken> {
        let recorded = self.state(number).and_then(|state| state.enrichment()).and_then(|known| known.call.as_ref());
        let is_recorded = recorded.is_some_and(|recorded| recorded.id == call);
        ensure("I-7", is_recorded, || format!("call {call} of s{number} is made before its event is durable"))?;
        self.model.made.insert((number, call));
        Ok(())
    }

    fn answer(&mut self, call: u32, answers_well: bool) -> Command {
        let failed: Vec<CallOutcome> = CallOutcome::ALL
            .iter()
            .copied()
            .filter(|outcome| !matches!(outcome, CallOutcome::Good | CallOutcome::Lost))
            .collect();
        let bad: Vec<CallOutcome> = failed.iter().copied().filter(|outcome| outcome.is_bad_answer()).collect();
        let failed = if self.model.rng.percent(60) { bad } else { failed };
        let end = match self.model.rng.percent(if answers_well { 70 } else { 40 }) {
            true => {
                let answer = ContentHash([self.model.rng.below(250) as u8; 32]);
                CallEnd::Good { answer, facts: 1, dropped: 0, unseen: 0, not_held: 0 }
            }
            false => CallEnd::Failed {
                outcome: *self.model.rng.pick(&failed).unwrap_or(&CallOutcome::Refused),
                retry_after_ms: None,
            },
        };
        let nanos = self.model.rng.percent(70).then_some(900);
        Command::TakeAnswer(Box::new(TakeAnswer { id: call, end, tokens: None, nanos, duration_ms: 5 }))
    }

    fn enrich_job(&self, number: usize) -> Option<EnrichJob> {
        let policy = self.policy_of(number);
        pending(self.state(number)?, &policy).into_iter().find_map(|effect| match effect {
            Effect::Enrich(job) => Some(job),
            _ => None,
        })
    }

    /// The time at which the next session may be asked about, if not now; now, if a call is in progress.
    pub(crate) fn next_enrichment(&self) -> Option<Timestamp> {
        let of = |number: usize| {
            let running = self.state(number)?.enrichment()?.call.is_some();
            if running { Some(self.now) } else { self.enrich_job(number).map(|job| job.due) }
        };
        (0..self.sessions.len()).filter_map(of).min()
    }
}
