//! What a stopped daemon leaves behind: its log, read event by event and checked against the rules, and its memory.

use std::collections::BTreeMap;
use std::path::Path;

use baton_base::lock::HomeLock;
use baton_conversation::record::{Position, Recorded, SequenceNumber, SessionId};
use baton_events::session::{Aggregate, Event, State};
use baton_journal::session_stream;
use baton_journal::{DiskJournal, Journal};
use baton_memory::Store;

use crate::transcript::now;
use crate::world::{World, wait};

/// The events of a home's log in the order of their positions.
pub(crate) struct Log {
    pub(crate) events: Vec<Recorded<Event>>,
}

impl Log {
    /// Reads the log of a world without a daemon, and checks the rules that hold for every log.
    pub(crate) fn of(world: &World) -> Self {
        Self::read(world.home())
    }

    pub(crate) fn read(home: &Path) -> Self {
        let lock = take(home);
        let journal = DiskJournal::open(baton_journal::Options::new(home.join("log"), now()), Box::new(())).unwrap();
        let (mut events, mut next) = (Vec::new(), Position(1));
        loop {
            let records = journal.read(next, 1_000).unwrap();
            let Some(last) = records.last() else { break };
            next = last.position.next();
            events.extend(records.iter().map(|record| session_stream::decode(record).unwrap()));
        }
        journal.close();
        drop(lock);
        let log = Self { events };
        log.check();
        log
    }

    /// True if the log is intact: opening it cuts nothing and puts nothing aside.
    pub(crate) fn is_clean(world: &World) -> bool {
        let _lock = take(world.home());
        let journal =
            DiskJournal::open(baton_journal::Options::new(world.home().join("log"), now()), Box::new(())).unwrap();
        let found = journal.recovery();
        let clean =
            found.cut.is_none() && found.index_put_aside.is_none() && found.restored == 0 && found.caught_up == 0;
        journal.close();
        clean
    }

    /// The events of one session.
    pub(crate) fn of_session(&self, id: &str) -> impl Iterator<Item = &Event> + use<'_> {
        let id = SessionId::new(id).unwrap();
        self.events
            .iter()
            .filter(move |event| event.stream.session_id().as_ref() == Some(&id))
            .map(|event| &event.event)
    }

    /// The sessions, folded from their events.
    pub(crate) fn states(&self) -> BTreeMap<String, State> {
        let mut streams: BTreeMap<SessionId, Vec<Recorded<Event>>> = BTreeMap::new();
        for event in &self.events {
            streams.entry(event.stream.session_id().unwrap()).or_default().push(event.clone());
        }
        let fold = |(id, history): (SessionId, Vec<_>)| {
            let aggregate = Aggregate::rehydrate(id.clone(), history).unwrap();
            (id.to_string(), aggregate.state().clone())
        };
        streams.into_iter().map(fold).collect()
    }

    fn check(&self) {
        let mut versions: BTreeMap<String, SequenceNumber> = BTreeMap::new();
        let mut read: BTreeMap<String, (u32, u64)> = BTreeMap::new();
        for (place, event) in (1..).zip(&self.events) {
            assert_eq!(event.position, Position(place), "positions are gapless");
            let stream = event.stream.to_string();
            let version = versions.entry(stream.clone()).or_default();
            assert_eq!(event.sequence, version.next(), "sequences of {stream} are gapless");
            *version = event.sequence;
            let (generation, to) = read.entry(stream.clone()).or_insert((1, 0));
            match &event.event {
                Event::RecordsAppended { generation: of, from, to: end, .. } => {
                    assert_eq!((*of, *from), (*generation, *to), "each byte of {stream} is counted once");
                    assert!(end.offset > *from, "an empty range of {stream} was recorded");
                    *to = end.offset;
                }
                Event::Rewritten { generation: new, .. } => {
                    assert_eq!(*new, *generation + 1, "{stream}");
                    (*generation, *to) = (*new, 0);
                }
                Event::Restored { generation: new, .. } => (*generation, *to) = (*new, 0),
                _ => {}
            }
        }
    }
}

/// Locks the home of a daemon that has ended. A killed process holds its files until its last thread is gone.
fn take(home: &Path) -> HomeLock {
    let mut taken = None;
    let free = wait(|| {
        taken = HomeLock::acquire(home).ok();
        taken.is_some()
    });
    assert!(free, "a daemon runs in {}", home.display());
    taken.unwrap()
}

/// The contents of a memory in a home without a daemon, one line for each document.
pub(crate) fn memory(home: &Path) -> Vec<String> {
    let opened = Store::open(&home.join("memory")).unwrap();
    assert_eq!(opened.wiped, None, "the memory is readable");
    opened.store.searcher().dump().unwrap()
}
