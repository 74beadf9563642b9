//! Checking a log on disk against the rules that hold whatever was acknowledged.
//!
//! Positions and sequences have no gaps; ranges of a transcript tile each generation from byte 0; every index job ends
//! at most once; an episode has the uuid of its content and is never stored twice in a row; and a table folded from the
//! events equals the table that the log folded on open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{Position, Recorded, SequenceNumber, SessionId, Timestamp};
use baton_events::envelope::Tail;
use baton_events::projection::table::SessionTable;
use baton_events::session::{EffectId, Event, Phase, State, UnindexedReason, episode_uuid};
use baton_journal::session_stream;
use baton_journal::session_table::TableFold;
use baton_journal::{DiskJournal, Journal};

/// Records read at once.
const STEP: usize = 1000;

/// The content of a log.
#[derive(Debug)]
pub(super) struct History {
    /// Its end.
    pub(super) tail: Tail,
    /// Its sessions.
    pub(super) sessions: BTreeMap<String, SessionHistory>,
    /// SHA-256 over the states of all sessions.
    pub(super) state_hash: ContentHash,
}

/// The content of a log about one session.
#[derive(Debug, Default)]
pub(super) struct SessionHistory {
    /// The final state.
    pub(super) state: State,
    /// Ids of the commands that left an event.
    pub(super) commands: BTreeSet<String>,
    /// Episodes that were stored.
    pub(super) stored: BTreeSet<String>,
    /// Episodes that were stored, or kept as unchanged.
    pub(super) named: BTreeSet<String>,
    /// Groups that it was put in.
    pub(super) groups: BTreeSet<String>,
    /// How often tracking was stopped.
    pub(super) stops: u64,
    /// How often tracking was resumed.
    pub(super) resumes: u64,
}

impl History {
    /// Opens a log that no other process uses, recovering from a crash, and reads all of it. `earlier` is a former end
    /// of the log, which must still be on its chain. Fails with what is wrong.
    pub(super) fn read(log: &Path, now: Timestamp, earlier: Option<Tail>) -> Result<Self, String> {
        let (fold, table) = TableFold::new();
        let journal = DiskJournal::open(baton_journal::Options::new(log, now), Box::new(fold))
            .map_err(|error| format!("the log does not open: {error}"))?;
        let history = Self::from_journal(&journal, &table.now());
        let on_chain =
            earlier.is_none_or(|tail| journal.chain_at(tail.position).is_ok_and(|at| at == Some(tail.chain)));
        journal.close();
        match (earlier, on_chain) {
            (Some(tail), false) => Err(format!("the log does not continue what it was at position {}", tail.position)),
            _ => history,
        }
    }

    fn from_journal(journal: &DiskJournal, table: &SessionTable) -> Result<Self, String> {
        let (mut events, mut next) = (Vec::new(), Position(1));
        loop {
            let records = journal.read(next, STEP).map_err(|error| format!("the log cannot be read: {error}"))?;
            let Some(last) = records.last() else { break };
            next = last.position.next();
            for record in &records {
                // The home's own events belong to no session and have other types.
                if record.stream.session_id().is_some() {
                    events.push(
                        session_stream::decode(record)
                            .map_err(|error| format!("position {}: {error}", record.position))?,
                    );
                }
            }
        }
        let mut history = Self::from_events(events)?;
        if history.state_hash != table.state_hash() {
            return Err("the table that the log folded is not the table of its events".to_owned());
        }
        history.tail = journal.tail();
        match next == history.tail.position.next() {
            true => Ok(history),
            false => Err(format!("the log ends at position {}, and can be read up to {next}", history.tail.position)),
        }
    }

    /// Checks events in the order of the log.
    pub(super) fn from_events(events: impl IntoIterator<Item = Recorded<Event>>) -> Result<Self, String> {
        let (mut table, mut checkers) = (SessionTable::default(), BTreeMap::<SessionId, SessionChecker>::new());
        let mut last = Position(0);
        for event in events {
            let wrong = |what: &str| format!("position {}, {}: {what}", event.position, event.stream);
            let Some(id) = event.stream.session_id() else { continue };
            if event.position <= last {
                return Err(wrong("its position does not come after the one before"));
            }
            last = event.position;
            let checker = checkers.entry(id.clone()).or_default();
            if event.sequence != checker.version.next() {
                return Err(wrong(&format!("sequence {} follows {}", event.sequence.0, checker.version.0)));
            }
            checker.version = event.sequence;
            checker.check(&id, &event).map_err(|what| wrong(&what))?;
            table.apply(event.position, &id, event.sequence, &event.event);
        }
        let state_hash = table.state_hash();
        let session = |(id, checker): (SessionId, SessionChecker)| {
            let state = table.get(&id).map(|row| row.state.clone()).unwrap_or_default();
            (id.to_string(), SessionHistory { state, ..checker.history })
        };
        Ok(Self { sessions: checkers.into_iter().map(session).collect(), state_hash, tail: Tail::default() })
    }
}

/// The state of one session while its events are read.
#[derive(Default)]
struct SessionChecker {
    version: SequenceNumber,
    generation: u32,
    read_to: u64,
    ended: BTreeSet<EffectId>,
    current: Option<String>,
    history: SessionHistory,
}

impl SessionChecker {
    fn check(&mut self, id: &SessionId, event: &Recorded<Event>) -> Result<(), String> {
        if let Some(command) = &event.metadata.correlation {
            self.history.commands.insert(command.to_string());
        }
        match &event.event {
            Event::Discovered { .. } => self.generation = 1,
            Event::RecordsAppended { generation, from, to, .. } => {
                let read = (*generation, *from, to.offset);
                if (*generation, *from) != (self.generation, self.read_to) || to.offset <= *from {
                    return Err(format!("range {read:?} follows {:?}", (self.generation, self.read_to)));
                }
                self.read_to = to.offset;
            }
            Event::Rewritten { generation, .. } | Event::Restored { generation, .. } => {
                if *generation != self.generation + 1 {
                    return Err(format!("generation {generation} follows {}", self.generation));
                }
                (self.generation, self.read_to) = (*generation, 0);
            }
            Event::Indexed { effect, episode } => {
                self.end(*effect)?;
                let uuid = episode.uuid.to_string();
                if episode.uuid != episode_uuid(id, &episode.hash) {
                    return Err(format!("episode {uuid} is not of its content"));
                }
                if self.current.as_ref() == Some(&uuid) {
                    return Err(format!("episode {uuid} is stored twice"));
                }
                self.history.stored.insert(uuid.clone());
                self.history.named.insert(uuid.clone());
                self.current = Some(uuid);
            }
            Event::IndexSkipped { effect, episode, .. } => {
                effect.map_or(Ok(()), |effect| self.end(effect))?;
                let uuid = episode.to_string();
                if self.current.as_ref() != Some(&uuid) {
                    return Err(format!("episode {uuid} is kept, and is not the current one"));
                }
                self.history.named.insert(uuid);
            }
            Event::IndexingFailed { effect, .. } => self.end(*effect)?,
            Event::GroupAssigned { group } => drop(self.history.groups.insert(group.clone())),
            Event::TrackingStopped => self.history.stops += 1,
            Event::TrackingResumed => self.history.resumes += 1,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, effect: EffectId) -> Result<(), String> {
        let first = self.ended.insert(effect);
        if first { Ok(()) } else { Err(format!("index job {effect:?} has ended twice")) }
    }
}

impl SessionHistory {
    /// True if tracking was stopped and not resumed.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.phase == Phase::Unindexed(UnindexedReason::Untracked)
    }
}
