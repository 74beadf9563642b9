//! A session's actor as in the shell: one message after the other, each in a few steps: propose, append, commit, start
//! what is owed, answer. Between any two steps the world may do something else, or end.

mod message;

use std::collections::VecDeque;

use baton_conversation::record::{CommandId, Metadata, SessionId, StreamId};
use baton_conversation::transcript::Source;
use baton_events::session::{
    Aggregate, Close, CloseReason, Command, Counts, Discover, Effect, EffectId, Event, FailureReason, IndexJob, Kind,
    Observe, Phase, Place, Policy, Rejection, UnindexedReason,
};

use crate::folder::{Form, Pass, Start};
use crate::invariant::{Broken, ensure, live_is_rehydrated};
use crate::log::{Asker, Request, Verdict};
use crate::mutant::Mutant;

use message::{Appending, Step, Then};
pub(crate) use message::{Around, Message, Outcome, Wanted};

/// The actor.
pub(crate) struct Session {
    pub(crate) number: usize,
    pub(crate) id: SessionId,
    stream: StreamId,
    is_subagent: bool,
    incarnation: u64,
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) mailbox: VecDeque<Message>,
    steps: VecDeque<Step>,
    appending: Option<Appending>,
    in_flight: Option<EffectId>,
    unreadable: bool,
    void: Option<CloseReason>,
    /// The file that was read to its end, and its stamp then.
    checked: Option<(String, u64)>,
    waiting: Vec<CommandId>,
    /// True while an owed close is in progress.
    closing: bool,
    /// True after the log has refused an append: what is owed must be tried again.
    pub(crate) retries: bool,
    busy: bool,
    pub(crate) observed: Vec<Command>,
}

impl Session {
    pub(crate) fn new(number: usize) -> Self {
        let id = SessionId::new(&format!("s{number}")).expect("a plain name");
        Self {
            number,
            stream: StreamId::session(&id),
            id,
            // The last of three is a subagent's.
            is_subagent: number == 2,
            incarnation: 0,
            aggregate: None,
            mailbox: VecDeque::new(),
            steps: VecDeque::new(),
            appending: None,
            in_flight: None,
            unreadable: false,
            void: None,
            checked: None,
            waiting: Vec::new(),
            closing: false,
            retries: false,
            busy: false,
            observed: Vec::new(),
        }
    }

    pub(crate) fn source(&self) -> Source {
        Source { agent: Form::of_session(self.number).agent(), subagent: self.is_subagent }
    }

    /// The actor dies; its mailbox, its state and its waiting callers are lost. A queued append may still be written.
    pub(crate) fn die(&mut self) {
        let incarnation = self.incarnation + 1;
        *self = Self { incarnation, observed: std::mem::take(&mut self.observed), ..Self::new(self.number) };
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && self.steps.is_empty() && self.appending.is_none() && !self.busy
    }

    /// Describes the session, to explain why it does not come to rest.
    pub(crate) fn told(&self) -> String {
        let owed = self.aggregate.as_ref().map(|live| live.pending(&Policy::default()));
        format!("{}: {:?}, {:?}, {:?}, owes {owed:?}", self.id, self.steps, self.mailbox, self.appending)
    }

    pub(crate) fn waits_for_log(&self) -> bool {
        self.appending.is_some()
    }

    fn live(&self) -> &Aggregate {
        self.aggregate.as_ref().expect("rehydrated before anything is handled")
    }

    /// One step, if there is something to do and no append is pending.
    pub(crate) fn step(&mut self, around: &mut Around<'_>) -> Result<Vec<Wanted>, Broken> {
        if self.appending.is_some() {
            return Ok(Vec::new());
        }
        if self.aggregate.is_none() {
            let history = around.log.history(&self.stream).cloned();
            let gap = |gap| Broken::new("I-3", format!("{gap}"));
            self.aggregate = Some(Aggregate::rehydrate(self.id.clone(), history).map_err(gap)?);
        }
        let mut wanted = Vec::new();
        if let Some(step) = self.steps.pop_front() {
            self.take(step, around, &mut wanted)?;
        } else if let Some(message) = self.mailbox.pop_front() {
            self.busy = true;
            self.begin(message, around, &mut wanted);
        }
        if self.busy && self.steps.is_empty() && self.appending.is_none() {
            self.settle(around, &mut wanted)?;
        }
        Ok(wanted)
    }

    fn begin(&mut self, message: Message, around: &Around<'_>, wanted: &mut Vec<Wanted>) {
        let state = self.live().state();
        let at_rest = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked));
        let steps: Vec<Step> = match message {
            Message::Seen(_) if at_rest || (state.transcript.is_none() && !around.policy.tracked) => vec![],
            Message::Seen(path) => vec![Step::Discover(path), Step::Read, Step::Time],
            Message::Query => vec![Step::Read, Step::Query],
            Message::Close(reason, by_self, id) => vec![Step::Read, Step::Close(reason, by_self, Some(id))],
            // Tracking is switched off, and the command does not force it.
            Message::Wish(Command::Track { force: false }, _) if !around.policy.tracked => vec![],
            Message::Wish(Command::Signal(_), id) if around.mutant == Some(Mutant::AnswersSignalsUnrecorded) => {
                wanted.push(Wanted::Heard(id));
                vec![]
            }
            Message::Wish(command, id) => {
                let reads = matches!(command, Command::Track { .. } | Command::Restore { .. });
                let after = [Step::Read, Step::Time].into_iter().filter(|_| reads);
                std::iter::once(Step::Submit(command, Some(id))).chain(after).collect()
            }
            Message::Wake => {
                (self.retries, self.closing) = (false, false);
                vec![Step::Read, Step::Time]
            }
            Message::Again => {
                self.in_flight = None;
                vec![]
            }
            Message::Stray(command) => vec![Step::Submit(command, None)],
            Message::Done(outcome) => self.done(outcome, around, wanted),
        };
        self.steps.extend(steps);
    }

    fn done(&mut self, mut outcome: Outcome, around: &Around<'_>, wanted: &mut Vec<Wanted>) -> Vec<Step> {
        if around.mutant == Some(Mutant::BelievesOldJobs)
            && let (Outcome::Complete(complete), Some(job)) = (&mut outcome, self.live().state().job)
        {
            (complete.effect, complete.generation, complete.to) = (job.effect, job.effect.generation, job.to);
        } else if self.in_flight != Some(outcome.effect()) {
            wanted.push(Wanted::Disown(outcome.effect()));
            return vec![];
        }
        self.in_flight = None;
        match outcome {
            Outcome::Complete(complete) => vec![Step::Submit(Command::Complete(complete), None)],
            Outcome::Failed(effect, why) => {
                self.unreadable = true;
                let path = self.live().state().transcript.as_ref().map(|transcript| &transcript.path);
                let is_there = path.is_some_and(|path| around.folder.files.contains_key(path));
                // The file was gone when the job looked, and is there again: that will be retried.
                let why = if why == FailureReason::Gone && is_there { FailureReason::Unreadable } else { why };
                vec![Step::Submit(Command::Fail { effect, why }, None)]
            }
            Outcome::Rewritten(_, identity) => {
                self.void = self.live().state().job.map(|job| job.again.unwrap_or(job.reason));
                vec![Step::Submit(Command::Rewrite { identity }, None), Step::Read]
            }
            Outcome::LetGo(_) => vec![],
        }
    }

    fn take(&mut self, step: Step, around: &mut Around<'_>, wanted: &mut Vec<Wanted>) -> Result<(), Broken> {
        match step {
            Step::Discover(path) => self.discover(path, around, wanted),
            Step::Read => self.read(around, wanted),
            Step::AskAgain => match self.void.take() {
                Some(reason) => self.close(reason, false, None, around, wanted),
                None => Ok(()),
            },
            Step::Time => {
                let wake = Command::Wake { unread: self.unreadable, asleep: around.asleep };
                self.submit(&wake, None, Then::GoOn, around, wanted).map(drop)
            }
            Step::Close(reason, by_self, id) => self.close(reason, by_self, id, around, wanted),
            Step::Query if self.finds_nothing_to_do(around) => Ok(()),
            Step::Query => self.close(CloseReason::LazyQuery, false, None, around, wanted),
            Step::Submit(command, id) => {
                let then = if matches!(command, Command::Signal(_)) { Then::Heard } else { Then::GoOn };
                self.submit(&command, id, then, around, wanted).map(drop)
            }
        }
    }

    fn close(
        &mut self,
        reason: CloseReason,
        by_self: bool,
        id: Option<CommandId>,
        around: &mut Around<'_>,
        wanted: &mut Vec<Wanted>,
    ) -> Result<(), Broken> {
        let close = Command::Close(Close { reason, note: None, by_self, unread: self.unreadable });
        self.submit(&close, id, Then::Answer, around, wanted).map(drop)
    }

    fn finds_nothing_to_do(&self, around: &Around<'_>) -> bool {
        let state = self.live().state();
        match state.phase {
            Phase::New => true,
            Phase::Indexed => state.unindexed == 0 && !self.unreadable && state.filter_is(around.policy.filter_version),
            Phase::Failed => self.unreadable && state.failure.is_some_and(|failure| around.now < failure.retry_at),
            Phase::Indexing => !self.unreadable && state.job.is_some_and(|job| state.unindexed <= job.covers),
            _ => false,
        }
    }

    fn discover(&mut self, path: String, around: &mut Around<'_>, wanted: &mut Vec<Wanted>) -> Result<(), Broken> {
        let state = self.live().state();
        let Some(file) = around.folder.files.get(&path) else {
            self.steps.clear();
            return Ok(());
        };
        let takes_over = state.transcript.as_ref().is_some_and(|known| {
            known.path != path && around.folder.continues(&known.path, &path, state.read.offset, state.tail)
        });
        let kind = if self.is_subagent { Kind::Subagent { parent: None } } else { Kind::Main };
        let agent = self.source().agent;
        let discover =
            Command::Discover(Discover { agent, path, identity: file.identity, kind, takes_over, written_at: None });
        if self.submit(&discover, None, Then::GoOn, around, wanted)?.is_some() {
            self.steps.clear();
        }
        Ok(())
    }

    fn read(&mut self, around: &mut Around<'_>, wanted: &mut Vec<Wanted>) -> Result<(), Broken> {
        let state = self.live().state();
        let at_rest = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked));
        let Some(transcript) = state.transcript.as_ref().filter(|_| !at_rest && around.policy.tracked) else {
            return Ok(());
        };
        let start = Start {
            source: self.source(),
            path: transcript.path.clone(),
            cursor: state.read.clone(),
            tail: state.tail,
            compares: around.mutant != Some(Mutant::TrustsEveryFile),
        };
        let generation = state.generation;
        let stamp = around.folder.files.get(&start.path).map(|file| file.stamp);
        match around.folder.observe(&start, around.enough) {
            Pass::Read { cursor, seen, tail, more } => {
                self.unreadable = false;
                let mut counts = Counts::from(&*seen);
                if around.mutant == Some(Mutant::CountsALineTwice) {
                    counts.records += 1;
                }
                let parent = seen.agent_session.as_deref().and_then(SessionId::new);
                let has_parent = self.live().state().parent().is_some();
                let observe = Command::Observe(Box::new(Observe {
                    generation,
                    from: start.cursor.offset,
                    to: *cursor,
                    tail,
                    counts,
                    first_at: seen.first_at,
                    last_at: seen.last_at,
                    last_conversation_at: seen.last_conversation_at,
                    place: seen.cwd.clone().map(|cwd| Place::new(cwd.clone(), cwd)),
                    parent: parent.filter(|_| !has_parent),
                }));
                let then = if more { Then::ReadOn } else { Then::AskAgain };
                self.checked = stamp.map(|stamp| (start.path.clone(), stamp)).filter(|_| !more);
                self.submit(&observe, None, then, around, wanted)?;
                if self.observed.len() < 8 {
                    self.observed.push(observe);
                }
                Ok(())
            }
            Pass::Rewritten(identity) => {
                self.void = self.live().state().job.map(|job| job.again.unwrap_or(job.reason)).or(self.void);
                self.submit(&Command::Rewrite { identity }, None, Then::ReadOn, around, wanted).map(drop)
            }
            Pass::Gone => {
                self.unreadable = false;
                self.submit(&Command::Vanish, None, Then::AskAgain, around, wanted).map(drop)
            }
            Pass::Unreadable => {
                self.unreadable = true;
                self.go_on(Then::AskAgain, None, wanted);
                Ok(())
            }
        }
    }

    /// Proposes a command and sends its events to the log. Returns a rejection.
    fn submit(
        &mut self,
        command: &Command,
        id: Option<CommandId>,
        then: Then,
        around: &mut Around<'_>,
        wanted: &mut Vec<Wanted>,
    ) -> Result<Option<Rejection>, Broken> {
        let remembered = id.as_ref().filter(|_| around.mutant != Some(Mutant::ForgetsWhatWasAnswered));
        let events = match self.live().propose(command, remembered, around.policy, around.now) {
            Ok(events) => events,
            Err(rejection) => {
                if let Command::Complete(complete) = command {
                    wanted.push(Wanted::Disown(complete.effect));
                }
                return Ok(Some(rejection));
            }
        };
        if events.is_empty() {
            self.go_on(then, id, wanted);
            return Ok(None);
        }
        let metadata = Metadata { correlation: id.clone(), cause: id.clone() };
        let expected = self.live().version();
        if around.mutant == Some(Mutant::IndexesBeforeDurable) {
            let after = events.iter().fold(self.live().state().clone(), baton_events::session::evolve);
            wanted.extend(jobs(&baton_events::session::pending(&after, around.policy)).map(Wanted::Job));
        }
        if around.mutant == Some(Mutant::BelievesBeforeWriting) {
            self.believe(&events, &metadata, around)?;
        }
        let asker = Asker { session: self.number, incarnation: self.incarnation };
        let request = Request { asker, stream: self.stream.clone(), expected, events, metadata, at: around.now };
        around.log.queue.push_back(request);
        self.appending = Some(Appending { then, id });
        Ok(None)
    }

    fn believe(
        &mut self,
        events: &[baton_events::session::Event],
        metadata: &Metadata,
        around: &Around<'_>,
    ) -> Result<(), Broken> {
        let live = self.aggregate.as_mut().expect("rehydrated before anything is handled");
        for event in events {
            let recorded = baton_conversation::record::Recorded {
                position: live.position().next(),
                stream: self.stream.clone(),
                sequence: live.version().next(),
                at: around.now,
                metadata: metadata.clone(),
                event: event.clone(),
            };
            live.commit(&recorded).map_err(|gap| Broken::new("I-3", gap.to_string()))?;
        }
        Ok(())
    }

    fn go_on(&mut self, then: Then, id: Option<CommandId>, wanted: &mut Vec<Wanted>) {
        match then {
            Then::GoOn => wanted.extend(id.map(|_| Wanted::Answer)),
            Then::Heard => wanted.extend(id.map(Wanted::Heard)),
            Then::ReadOn => self.steps.push_front(Step::Read),
            Then::AskAgain => {
                if self.void.is_some() {
                    self.steps.push_front(Step::AskAgain);
                }
                wanted.extend(self.checked.take().map(|(path, stamp)| Wanted::Checked(path, stamp)));
            }
            Then::Answer => self.waiting.extend(id),
        }
    }

    /// Handles the log's answer.
    pub(crate) fn answered(
        &mut self,
        asker: Asker,
        verdict: Verdict,
        around: &mut Around<'_>,
    ) -> Result<Vec<Wanted>, Broken> {
        let mut wanted = Vec::new();
        if asker.incarnation != self.incarnation {
            return Ok(wanted);
        }
        let Some(Appending { then, id }) = self.appending.take() else { return Ok(wanted) };
        match verdict {
            Verdict::Durable(recorded) => {
                let live = self.aggregate.as_mut().expect("it has asked");
                if around.mutant != Some(Mutant::BelievesBeforeWriting) {
                    for recorded in &recorded {
                        live.commit(recorded).map_err(|gap| Broken::new("I-3", gap.to_string()))?;
                    }
                }
                live_is_rehydrated(around.log, self.live())?;
                // The job of an older generation is void once that is durable, and no earlier.
                if recorded.iter().any(|recorded| matches!(recorded.event, Event::Rewritten { .. })) {
                    self.in_flight = None;
                }
                self.go_on(then, id, &mut wanted);
            }
            Verdict::Refused => {
                self.steps.clear();
                (self.void, self.checked) = (None, None);
                self.busy = false;
                self.retries = true;
                live_is_rehydrated(around.log, self.live())?;
            }
            // Another writer has written to this stream: the state is out of date.
            Verdict::Conflict => {
                self.die();
                self.mailbox.push_back(Message::Again);
            }
        }
        if self.busy && self.steps.is_empty() {
            self.settle(around, &mut wanted)?;
        }
        Ok(wanted)
    }

    /// The message is handled: starts what is owed, and answers the callers that can be answered.
    fn settle(&mut self, around: &Around<'_>, wanted: &mut Vec<Wanted>) -> Result<(), Broken> {
        self.busy = false;
        self.void = None;
        self.checked = None;
        let owed = self.live().pending(around.policy);
        let owes_close = owed.iter().any(|effect| matches!(effect, Effect::Close(_)));
        if owes_close && !self.closing && around.mutant != Some(Mutant::LeavesOwedCloses) {
            self.closing = true;
            self.mailbox.push_back(Message::Wake);
        }
        for job in jobs(&owed) {
            if self.in_flight != Some(job.effect) {
                self.in_flight = Some(job.effect);
                wanted.push(Wanted::Job(job));
            }
        }
        if self.live().state().phase != Phase::Indexing {
            wanted.extend(self.waiting.drain(..).map(|_| Wanted::Answer));
        }
        ensure("I-12", self.waiting.len() <= 64 && self.mailbox.len() <= 256, || {
            format!("s{} keeps {} waiting, {} in its mailbox", self.number, self.waiting.len(), self.mailbox.len())
        })
    }
}

fn jobs(owed: &[Effect]) -> impl Iterator<Item = IndexJob> + '_ {
    owed.iter().filter_map(|effect| match effect {
        Effect::Index(job) => Some(job.clone()),
        Effect::Close(_) | Effect::Enrich(_) | Effect::Wake(_) => None,
    })
}
