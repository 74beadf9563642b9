//! Histories: no gaps, each command answered once, every byte counted once, any order replays to the same session.

use super::*;

#[test]
fn i6_a_range_is_counted_once() {
    after(
        OPEN,
        "20s observe from=0           -> refused: stale range
         20s observe from=400         -> refused: stale range
         20s observe from=300         -> appended | active wake=80s",
    );
}

#[test]
fn i4_the_same_wish_twice_is_answered_once() {
    after(
        OPEN,
        "20s close explicit id=a      -> requested ended started | indexing end=explicit owes=index..300
         20s close explicit id=a      -> | indexing end=explicit owes=index..300
         21s complete                 -> indexed | indexed end=explicit episode=1
         22s close explicit id=a      -> | indexed end=explicit episode=1
         23s close explicit id=b      -> requested skipped | indexed end=explicit episode=1",
    );
}

#[test]
fn a_record_from_the_future_does_not_hold_a_session_open() {
    after(OPEN, "20s observe at=999999 -> appended | active wake=80s");
}

#[test]
fn i3_a_history_with_a_hole_is_refused() {
    let recorded = |sequence| Recorded {
        position: Position(sequence),
        stream: StreamId::session(&session()),
        sequence: SequenceNumber(sequence),
        at: Timestamp(0),
        metadata: Metadata::default(),
        event: Event::WentIdle,
    };
    assert!(Aggregate::rehydrate(session(), [recorded(1), recorded(2)]).is_ok());
    let gap = Aggregate::rehydrate(session(), [recorded(1), recorded(3)]).unwrap_err();
    assert_eq!((gap.after, gap.found), (SequenceNumber(1), SequenceNumber(3)));
}

proptest::proptest! {
    /// Any commands in any order: replay gives the same session, every byte is in one range, and a session that is left
    /// alone comes to rest with nothing owed.
    #[test]
    fn i2_any_wishes_in_any_order_replay_to_the_same_session(commands in proptest::collection::vec((0..COMMANDS.len(), 0..2_000_i64), 0..60)) {
        let mut world = World::new();
        let mut now = Timestamp(0);
        for (command, seconds) in commands {
            now = now.plus_ms(seconds * 1000);
            let words: Vec<&str> = COMMANDS[command].split_whitespace().collect();
            let command = world.command(&words, now);
            if let Ok(events) = world.aggregate.propose(&command, None, &world.policy, now) {
                world.record(events, None, now);
                world.replay();
            }
        }
        for _ in 0..14 {
            let owed = world.aggregate.pending(&world.policy);
            let Some(effect) = owed.first() else { break };
            let (line, at) = match effect {
                Effect::Index(_) => ("complete hash=7", now),
                Effect::Close(_) => ("wake", now),
                Effect::Enrich(_) if is_asked(&world) => ("answer good", now),
                Effect::Enrich(job) => ("call", job.due),
                Effect::Wake(at) => ("wake", *at),
            };
            now = now.max(at);
            let words: Vec<&str> = line.split_whitespace().collect();
            let command = world.command(&words, now);
            let events = world.aggregate.propose(&command, None, &world.policy, now).unwrap();
            proptest::prop_assert!(!events.is_empty(), "{effect:?} is owed and {line} does nothing: {:?}", world.aggregate);
            world.record(events, None, now);
            world.replay();
        }
        proptest::prop_assert_eq!(world.aggregate.pending(&world.policy), vec![]);
        let state = world.aggregate.state();
        proptest::prop_assert_eq!(owed_close(state), None, "a close is owed for ever: {:?}", state);
    }
}

/// True if a call of a model is running.
fn is_asked(world: &World) -> bool {
    world.aggregate.state().enrichment().is_some_and(|known| known.call.is_some())
}

const COMMANDS: [&str; 47] = [
    "enrich",
    "call",
    "call part",
    "answer good",
    "answer refused",
    "answer unavailable",
    "answer rejected",
    "lose",
    "give_up",
    "discover",
    "discover /t/b.jsonl takes_over",
    "observe",
    "observe records=3 prompt",
    "observe meta",
    "observe call",
    "observe silent",
    "observe at=1",
    "rewrite",
    "vanish",
    "close explicit",
    "close explicit by_self",
    "close lazy_query",
    "close hook_clear unread",
    "wake",
    "complete",
    "complete hash=2",
    "fail unreadable",
    "fail gone",
    "reindex",
    "track",
    "track force",
    "untrack",
    "forget",
    "restore",
    "signal session_start startup",
    "signal session_start resume",
    "signal session_start clear follows=other",
    "signal user_prompt_submit",
    "signal stop at=1",
    "signal pre_compact auto",
    "signal post_compact",
    "signal session_end clear",
    "signal session_end other at=1",
    "signal session_end logout at=999999999",
    "signal mcp_disconnect",
    "offer",
    "claim",
];

#[test]
fn answered_wishes_are_remembered_within_bounds() {
    let mut world = World::new();
    let command = |number: usize| CommandId::new(&format!("wish-{number}"));
    let day_ms = 24 * 3_600_000;
    for number in 0..ANSWERED_MAX + 5 {
        world.record(vec![Event::WentIdle], Some(command(number)), Timestamp(1_000));
    }
    for (number, is_known) in [(0, false), (4, false), (5, true), (ANSWERED_MAX + 4, true)] {
        assert_eq!(world.aggregate.has_answered(&command(number)), is_known, "wish {number}");
    }
    world.record(vec![Event::WentIdle], None, Timestamp(1_000 + day_ms));
    assert!(world.aggregate.has_answered(&command(5)), "a day later");
    world.record(vec![Event::WentIdle], None, Timestamp(1_001 + day_ms));
    assert!(!world.aggregate.has_answered(&command(ANSWERED_MAX + 4)), "more than a day later");
    world.replay();
}
