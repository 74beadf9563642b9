//! Losses are noticed: logs and promises that do not fit are told apart from those that do.

use std::collections::BTreeMap;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{
    CommandId, Metadata, Position, Recorded, SequenceNumber, SessionId, StreamId, Timestamp,
};
use baton_conversation::transcript::Cursor;
use baton_events::session::{
    Agent, CloseReason, Counts, EffectId, EpisodeRef, Event, FailureReason, FileIdentity, Kind, TailDigest, Tier,
    episode_uuid,
};

use super::history::History;
use super::promises::Promises;

fn id() -> SessionId {
    SessionId::new("s-1").unwrap()
}

fn uuid(content: u8) -> String {
    episode_uuid(&id(), &ContentHash([content; 32])).to_string()
}

fn discovered() -> Event {
    let (path, identity, at) = ("/t".to_owned(), FileIdentity::default(), Timestamp(0));
    Event::Discovered { agent: Agent::ClaudeCode, path, identity, kind: Kind::Main, at }
}

fn read(generation: u32, from: u64, to: u64) -> Event {
    Event::RecordsAppended {
        generation,
        from,
        to: Box::new(Cursor { offset: to, ..Cursor::default() }),
        tail: TailDigest::default(),
        counts: Counts::default(),
        first_at: None,
        last_at: None,
        last_conversation_at: None,
        late_index_at: None,
    }
}

fn rewritten(generation: u32) -> Event {
    Event::Rewritten { generation, identity: FileIdentity::default() }
}

fn job(start: u32) -> EffectId {
    EffectId { generation: 1, start }
}

fn started(start: u32) -> Event {
    Event::IndexingStarted { effect: job(start), reason: CloseReason::Explicit, to: 10 }
}

fn indexed(start: u32, content: u8) -> Event {
    let hash = ContentHash([content; 32]);
    Event::Indexed {
        effect: job(start),
        episode: EpisodeRef {
            uuid: episode_uuid(&id(), &hash),
            tier: Tier::Extractive,
            hash,
            filter_version: 1,
            generation: 1,
            to: 10,
            manifest: hash,
            items: 1,
            at: Timestamp(0),
        },
    }
}

fn skipped(start: u32, content: u8) -> Event {
    let hash = ContentHash([content; 32]);
    Event::IndexSkipped { effect: Some(job(start)), episode: episode_uuid(&id(), &hash), to: 10 }
}

fn failed(start: u32) -> Event {
    let (effect, why, retry_at) = (job(start), FailureReason::Unreadable, Timestamp(0));
    Event::IndexingFailed { effect, why, attempts: 1, retry_at }
}

/// The events of one session, each with the id of the command that caused it.
fn log(events: Vec<(Event, &str)>) -> Vec<Recorded<Event>> {
    let recorded = |(place, (event, command)): (u64, (Event, &str))| Recorded {
        position: Position(place),
        stream: StreamId::session(&id()),
        sequence: SequenceNumber(place),
        at: Timestamp(0),
        metadata: Metadata { correlation: (!command.is_empty()).then(|| CommandId::new(command)), cause: None },
        event,
    };
    (1..).zip(events).map(recorded).collect()
}

#[test]
fn a_log_that_breaks_a_rule_is_seen() {
    let check = |events: Vec<Event>, expected: Option<&str>| {
        let told = format!("{events:?}");
        let history = History::from_events(log(events.into_iter().map(|event| (event, "")).collect()));
        match (history, expected) {
            (Ok(_), None) => {}
            (Err(what), Some(expected)) => assert!(what.contains(expected), "{what}: {told}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}: {told}"),
        }
    };
    check(vec![discovered(), read(1, 0, 10), read(1, 10, 15), rewritten(2), read(2, 0, 3)], None);
    check(vec![discovered(), read(1, 0, 10), read(1, 0, 10)], Some("follows (1, 10)"));
    check(vec![discovered(), read(1, 0, 10), read(1, 11, 15)], Some("follows (1, 10)"));
    check(vec![discovered(), read(1, 0, 10), read(1, 10, 10)], Some("follows (1, 10)"));
    check(vec![discovered(), rewritten(2), read(1, 0, 3)], Some("follows (2, 0)"));
    check(vec![discovered(), rewritten(3)], Some("generation 3 follows 1"));
    check(vec![discovered(), started(1), indexed(1, 7), started(2), skipped(2, 7), started(3), indexed(3, 8)], None);
    check(vec![discovered(), started(1), indexed(1, 7), indexed(1, 8)], Some("ended twice"));
    check(vec![discovered(), started(1), failed(1), indexed(1, 8)], Some("ended twice"));
    check(vec![discovered(), started(1), indexed(1, 7), started(2), indexed(2, 7)], Some("stored twice"));
    check(vec![discovered(), started(1), indexed(1, 7), started(2), skipped(2, 8)], Some("not the current one"));
    let Event::Indexed { effect, episode } = indexed(1, 7) else { panic!("an index") };
    let other = EpisodeRef { hash: ContentHash([9; 32]), ..episode };
    check(vec![discovered(), started(1), Event::Indexed { effect, episode: other }], Some("not of its content"));

    let mut hole = log(vec![(discovered(), ""), (read(1, 0, 10), ""), (read(1, 10, 11), "")]);
    hole.remove(1);
    assert!(History::from_events(hole).unwrap_err().contains("sequence 3 follows 1"));
    let mut turned = log(vec![(discovered(), ""), (read(1, 0, 10), "")]);
    turned[1].position = Position(1);
    assert!(History::from_events(turned).unwrap_err().contains("does not come after"));
}

#[test]
fn a_promise_that_the_log_does_not_keep_is_seen() {
    let closed = |switches: &[(&str, bool)], promise: &dyn Fn(&mut Promises)| {
        let mut history = History::from_events(log(vec![
            (discovered(), "other"),
            (read(1, 0, 10), "close-1"),
            (started(1), "close-1"),
            (indexed(1, 7), ""),
            (Event::GroupAssigned { group: "g".to_owned() }, ""),
            (Event::TrackingStopped, ""),
        ]))
        .unwrap();
        history.tail.position = Position(6);
        let mut promises = Promises::default();
        promise(&mut promises);
        let switches: BTreeMap<String, bool> = switches.iter().map(|(path, on)| ((*path).to_owned(), *on)).collect();
        promises.broken(&history, &switches)
    };
    let check = |promise: &dyn Fn(&mut Promises), expected: &[&str]| {
        let broken = closed(&[("/p", true)], promise);
        assert_eq!(broken.len(), expected.len(), "{broken:?} instead of {expected:?}");
        for (broken, expected) in broken.iter().zip(expected) {
            assert!(broken.contains(expected), "{broken} instead of {expected}");
        }
    };
    check(&|_| {}, &[]);
    check(&|promises| promises.closed("s-1", "close-1", Some(uuid(7))), &[]);
    check(&|promises| promises.closed("s-1", "close-2", Some(uuid(7))), &["close close-2 left no event"]);
    check(&|promises| promises.closed("s-1", "close-1", Some(uuid(8))), &["never recorded"]);
    check(
        &|promises| promises.closed("s-2", "close-1", Some(uuid(7))),
        &["left no event", "never recorded", "has none"],
    );
    check(&|promises| promises.grouped("s-1", "g"), &[]);
    check(&|promises| promises.grouped("s-1", "h"), &["never put in group h"]);
    check(&|promises| promises.tracked("s-1", false, true), &[]);
    check(&|promises| promises.tracked("s-1", true, false), &["not tracked, and was set otherwise"]);
    let twice = |promises: &mut Promises| {
        promises.tracked("s-1", false, true);
        promises.tracked("s-1", false, true);
    };
    check(&twice, &["stopped 2 times, and 1 are recorded"]);
    let in_doubt = |promises: &mut Promises| {
        promises.tracked("s-1", true, false);
        promises.tracking_in_doubt("s-1");
    };
    check(&in_doubt, &[]);
    check(&|promises| promises.switched("/p", true), &[]);
    check(&|promises| promises.switched("/p", false), &["the switch of /p"]);
    check(&|promises| promises.switched("/q", true), &["the switch of /q"]);
    check(&|promises| promises.found(6, [("s-1".to_owned(), uuid(7))]), &[]);
    check(&|promises| promises.found(7, []), &["covered position 7"]);
    check(&|promises| promises.found(6, [("s-1".to_owned(), uuid(8))]), &["which the log does not know"]);
}
