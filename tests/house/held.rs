//! Invariants of a world that has come to rest, checked against its log, its files and its memory. The ids are those of
//! ARCHITECTURE.md, "Invariants".

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::{Position, Recorded, SequenceNumber, SessionId, StreamId};
use baton_events::session::{EffectId, Event, episode_uuid};
use baton_journal::session_stream;
use baton_journal::session_stream::SessionStream;

use crate::sim::Acknowledged;
use crate::story::Story;
use crate::world::{House, World};

/// Checks the invariants that depend on the log alone.
pub(crate) fn log(world: &World, acknowledged: &[Acknowledged]) {
    let events = events(world);
    places(&events);
    commands(&events, acknowledged);
    effects(&events);
    let mut by_session: BTreeMap<SessionId, Vec<&Event>> = BTreeMap::new();
    for recorded in &events {
        by_session.entry(recorded.stream.session_id().unwrap()).or_default().push(&recorded.event);
    }
    for (session, events) in &by_session {
        ranges(session, events);
        episodes(session, events);
    }
    let table = world.table.now();
    assert_eq!(table.len(), by_session.len(), "I-2: every stream is a row");
    for (id, row) in table.iter() {
        let aggregate = SessionStream::new(world.journal.log().clone(), id.clone()).rehydrate().unwrap();
        assert_eq!((aggregate.version(), aggregate.state()), (row.version, &row.state), "I-2: {id}");
    }
}

fn events(world: &World) -> Vec<Recorded<Event>> {
    let (mut events, mut from) = (Vec::new(), Position(1));
    loop {
        let records = world.journal.log().read(from, 1_000).unwrap();
        let Some(last) = records.last() else { return events };
        from = last.position.next();
        events.extend(records.iter().map(|record| session_stream::decode(record).unwrap()));
    }
}

fn places(events: &[Recorded<Event>]) {
    let mut versions: BTreeMap<&StreamId, SequenceNumber> = BTreeMap::new();
    for (recorded, position) in events.iter().zip(1..) {
        assert_eq!(recorded.position, Position(position), "I-3: positions");
        let version = versions.entry(&recorded.stream).or_default();
        assert_eq!(recorded.sequence, version.next(), "I-3: sequences of {}", recorded.stream);
        *version = recorded.sequence;
    }
}

fn commands(events: &[Recorded<Event>], acknowledged: &[Acknowledged]) {
    let mut by_command: BTreeMap<&str, Vec<&Recorded<Event>>> = BTreeMap::new();
    for recorded in events {
        if let Some(command) = &recorded.metadata.cause {
            by_command.entry(command.as_str()).or_default().push(recorded);
        }
    }
    for (command, recorded) in &by_command {
        let closes = recorded.iter().filter(|recorded| matches!(recorded.event, Event::CloseRequested { .. }));
        assert!(closes.count() <= 1, "I-4: {command} is recorded twice: {recorded:?}");
        let (first, last) = (recorded[0], recorded[recorded.len() - 1]);
        assert_eq!(first.stream, last.stream, "I-4: {command}");
        assert_eq!(last.sequence.0 - first.sequence.0 + 1, recorded.len() as u64, "I-4: {command} is one append");
    }
    for Acknowledged { session, command, episode, unwritten } in acknowledged {
        // A close of an unwritten session records nothing.
        if let Some(is_so) = unwritten {
            assert!(is_so, "I-1: the close {command} of {session} was told that nothing is written, and something was");
            continue;
        }
        assert!(by_command.contains_key(command.as_str()), "I-1: the close {command} of {session} is not in the log");
        let Some(episode) = episode else { continue };
        let is_its = |event: &Event| matches!(event, Event::Indexed { episode: stored, .. } if stored.uuid.to_string() == *episode);
        let mut its = events.iter().filter(|recorded| recorded.stream == StreamId::session(session));
        assert!(its.any(|recorded| is_its(&recorded.event)), "I-1: episode {episode} of {session} is not in the log");
    }
}

/// Each job that ends was started, and ends once.
fn effects(events: &[Recorded<Event>]) {
    let mut begun: BTreeSet<(StreamId, EffectId)> = BTreeSet::new();
    for recorded in events {
        let of = |effect: &EffectId| (recorded.stream.clone(), *effect);
        match &recorded.event {
            Event::IndexingStarted { effect, .. } => assert!(begun.insert(of(effect)), "I-7: {recorded:?} again"),
            Event::Indexed { effect, .. }
            | Event::IndexSkipped { effect: Some(effect), .. }
            | Event::IndexingFailed { effect, .. } => {
                assert!(begun.remove(&of(effect)), "I-7: {recorded:?} was not begun, or ended before");
            }
            _ => {}
        }
    }
}

/// Every byte of each generation is counted in exactly one range.
fn ranges(session: &SessionId, events: &[&Event]) {
    let (mut at, mut generation) = (0, 1);
    for event in events {
        match event {
            Event::Rewritten { generation: next, .. } => (at, generation) = (0, *next),
            Event::RecordsAppended { generation: of, from, to, .. } => {
                assert_eq!((*of, *from), (generation, at), "I-6: {session}: {event:?}");
                assert!(to.offset > at, "I-6: {session}: {event:?}");
                at = to.offset;
            }
            _ => {}
        }
    }
}

fn episodes(session: &SessionId, events: &[&Event]) {
    let mut last = None;
    for event in events {
        if let Event::Indexed { episode, .. } = event {
            assert_eq!(episode.uuid, episode_uuid(session, &episode.hash), "I-8: {session}");
            let content = Some((episode.hash, episode.filter_version));
            assert_ne!(last, content, "I-8: unchanged content of {session} is indexed again");
            last = content;
        }
    }
}

/// The counts equal the contents of the files.
pub(crate) fn files(world: &World, stories: &[Story]) {
    for story in stories.iter().filter(|story| story.is_there()) {
        let state = world.state(story.id()).unwrap();
        let counted = (state.read.offset, state.counts.messages);
        assert_eq!(counted, (story.bytes, story.messages), "I-6: {}", story.id());
    }
}

/// Returns the contents of the memory, after checking that it contains each session with an episode once.
pub(crate) fn memory(world: &World, house: &House) -> Vec<String> {
    let lines = house.parts().indexer.searcher().unwrap().dump().unwrap();
    let of_sessions = lines.iter().filter(|line| line.contains("kind=session"));
    let held: Vec<String> = of_sessions.map(|line| line.split('"').nth(1).unwrap_or_default().to_owned()).collect();
    let table = world.table.now();
    let indexed = table.iter().filter(|(_, row)| row.state.episode.is_some());
    let expected: Vec<String> = indexed.map(|(id, _)| id.to_string()).collect();
    assert_eq!(held, expected, "I-8: each episode is in the memory once");
    lines
}
