//! Given / when / then, as text: each line is a wish at a moment, the facts that follow and the phase after them.
//!
//! ```text
//! 80s close explicit        -> requested ended started | indexing end=explicit
//! ```

use super::*;
use crate::record::{Metadata, StreamId};

mod world;

use world::{World, session};

/// Runs a table, and after each line checks that replaying what was recorded gives the same aggregate (I-2).
fn check(table: &str) {
    let mut world = World::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        world.step(line);
        world.replay();
    }
}

const OPEN: &str = "
    0s discover             -> discovered | active wake=60s
    10s observe records=3   -> located appended | active wake=70s";

const INDEXED: &str = "
    0s discover             -> discovered | active wake=60s
    10s observe records=3   -> located appended | active wake=70s
    20s close explicit      -> requested ended started | indexing end=explicit owes=index..300
    21s complete            -> indexed | indexed end=explicit episode=1";

fn after(given: &str, then: &str) {
    check(&format!("{given}\n{then}"));
}

#[test]
fn a_discovered_session_is_active_and_discovered_once() {
    check(
        "0s observe                   -> refused: not discovered
         0s close explicit            -> refused: not discovered
         0s discover                  -> discovered | active wake=60s
         1s discover                  -> | active wake=60s",
    );
}

#[test]
fn an_active_session_goes_idle_and_comes_back() {
    after(
        OPEN,
        "69s wake                     -> | active wake=70s
         70s wake                     -> idle | inactive wake=1810s
         90s observe meta             -> appended | inactive wake=1810s
         95s observe                  -> appended | active wake=155s",
    );
}

#[test]
fn a_tool_call_in_flight_holds_it_open_up_to_a_bound() {
    after(
        OPEN,
        "20s observe call             -> appended | active wake=21680s
         5000s wake                   -> | active wake=21680s
         21680s wake                  -> idle | inactive wake=23420s
         23420s wake                  -> requested ended started | indexing end=inactivity_timeout owes=index..400",
    );
}

#[test]
fn every_closing_reason_indexes_and_only_ends_end() {
    for reason in CloseReason::ALL {
        let end = if reason.ends_session() { format!(" end={reason}") } else { String::new() };
        let ended = if reason.ends_session() { " ended" } else { "" };
        let wake = if reason.ends_session() { "" } else { " wake=1810s" };
        after(
            OPEN,
            &format!(
                "20s close {reason}   -> requested{ended} started | indexing{end} owes=index..300
                 21s complete         -> indexed | indexed{end} episode=1{wake}"
            ),
        );
    }
}

#[test]
fn the_timeout_closes_what_nobody_closed_and_time_asleep_does_not_count() {
    after(
        OPEN,
        "70s wake                     -> idle | inactive wake=1810s
         1809s wake                   -> | inactive wake=1810s
         1900s wake asleep=600        -> | inactive wake=1810s
         2410s wake asleep=600        -> requested ended started | indexing end=inactivity_timeout owes=index..300
         2411s complete               -> indexed | indexed end=inactivity_timeout episode=1",
    );
}

#[test]
fn an_indexed_session_without_an_end_still_times_out() {
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         21s complete                 -> indexed | indexed episode=1 wake=1810s
         1810s wake                   -> requested skipped ended | indexed end=inactivity_timeout episode=1
         9999s wake                   -> | indexed end=inactivity_timeout episode=1",
    );
}

#[test]
fn with_the_timeout_off_an_abandoned_session_waits_for_a_query() {
    after(
        OPEN,
        "20s policy timeout=0         ->
         1810s wake                   -> abandoned | unindexed(timeout_disabled)
         2000s close lazy_query       -> requested started | indexing owes=index..300
         2001s complete               -> indexed | indexed episode=1
         9000s wake                   -> | indexed episode=1",
    );
}

#[test]
fn closing_again_without_news_keeps_the_episode() {
    after(
        INDEXED,
        "30s close explicit           -> requested skipped | indexed end=explicit episode=1
         31s observe meta             -> appended | indexed end=explicit episode=1
         32s close lazy_query         -> requested skipped | indexed end=explicit episode=1",
    );
}

#[test]
fn a_new_filter_reindexes_on_close_and_never_by_itself() {
    after(
        INDEXED,
        "30s policy filter=2          ->
         31s wake                     -> | indexed end=explicit episode=1
         32s close sync               -> requested started | indexing end=explicit episode=1 owes=index..300
         33s complete hash=1 same     -> refused: wrong episode
         33s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
    after(INDEXED, "30s reindex                  -> started | indexing end=explicit episode=1 owes=index..300");
}

#[test]
fn a_session_that_goes_on_is_resumed_and_replaced() {
    after(
        INDEXED,
        "90s observe prompt           -> appended resumed | active episode=1 wake=150s
         100s close explicit          -> requested ended started | indexing end=explicit episode=1 owes=index..400
         101s complete hash=2         -> indexed | indexed end=explicit episode=2",
    );
}

#[test]
fn unchanged_content_is_skipped_with_the_same_episode() {
    after(
        INDEXED,
        "90s observe                  -> appended resumed | active episode=1 wake=150s
         100s close explicit          -> requested ended started | indexing end=explicit episode=1 owes=index..400
         101s complete hash=1 same    -> skipped | indexed end=explicit episode=1",
    );
}

#[test]
fn late_records_belong_to_the_end() {
    after(
        INDEXED,
        "# dated before the end plus two seconds
         25s observe at=21            -> appended(late) | indexed end=explicit episode=1 wake=85s
         84s wake                     -> | indexed end=explicit episode=1 wake=85s
         85s wake                     -> started | indexing end=explicit episode=1 owes=index..400
         86s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
    after(
        INDEXED,
        "# typed after the end, so it goes on
         25s observe prompt at=21     -> appended resumed | active episode=1 wake=81s",
    );
    after(
        INDEXED,
        "25s observe at=21            -> appended(late) | indexed end=explicit episode=1 wake=85s
         30s close lazy_query         -> requested started | indexing end=explicit episode=1 owes=index..400",
    );
}

#[test]
fn the_last_words_of_an_agent_that_closed_itself_are_late_until_the_next_prompt() {
    after(
        OPEN,
        "20s close explicit by_self   -> requested ended started | indexing end=explicit owes=index..300
         30s observe                  -> appended(late) | indexing end=explicit owes=index..300
         31s complete                 -> indexed | indexed end=explicit episode=1 wake=90s
         95s observe prompt           -> appended resumed | active episode=1 wake=155s",
    );
}

#[test]
fn records_that_come_while_indexing_are_not_lost() {
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         25s observe                  -> appended resumed | indexing owes=index..300
         26s observe                  -> appended | indexing owes=index..300
         27s complete                 -> indexed | active episode=1 wake=86s",
    );
}

#[test]
fn a_close_while_indexing_is_served_by_the_job_or_after_it() {
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         21s close explicit           -> requested ended | indexing end=explicit owes=index..300
         22s complete                 -> indexed | indexed end=explicit episode=1",
    );
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         25s observe                  -> appended resumed | indexing owes=index..300
         26s close explicit           -> requested ended | indexing end=explicit owes=index..300
         27s complete                 -> indexed started | indexing end=explicit episode=1 owes=index..400
         28s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
}

#[test]
fn a_failed_index_is_retried_with_backoff_and_the_last_episode_serves() {
    let jittered = |attempts| Policy::default().backoff_ms(&session(), attempts) / 1000;
    let (first, second) = (21 + jittered(1), 21 + jittered(1) + 1 + jittered(2));
    after(
        OPEN,
        &format!(
            "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
             21s fail unreadable          -> failed(1) | failed end=explicit wake={first}s
             {first}s wake                -> | failed end=explicit wake={first}s
             {}s wake                     -> started | indexing end=explicit owes=index..300
             {}s fail unreadable          -> failed(2) | failed end=explicit wake={second}s
             9000s close explicit         -> requested started | indexing end=explicit owes=index..300
             9001s complete               -> indexed | indexed end=explicit episode=1",
            first + 1,
            first + 1,
        ),
    );
    after(
        INDEXED,
        "90s observe prompt           -> appended resumed | active episode=1 wake=150s
         91s close sync               -> requested started | indexing episode=1 owes=index..400
         92s fail gone                -> failed(1) abandoned | unindexed(gone) episode=1
         95s observe                  -> appended resumed | active episode=1 wake=155s",
    );
}

#[test]
fn jobs_of_another_time_are_refused() {
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s complete job=9           -> refused: unknown effect
         21s fail broken job=9        -> refused: unknown effect
         22s rewrite                  -> rewritten | active generation=2 wake=70s
         23s complete                 -> refused: unknown effect
         24s observe generation=1     -> refused: stale range
         24s observe                  -> appended | active generation=2 wake=84s",
    );
    after(INDEXED, "30s complete -> refused: unknown effect");
}

#[test]
fn an_empty_session_is_let_go_and_comes_back() {
    check(
        "0s discover                  -> discovered | active wake=60s
         10s observe silent           -> located appended | active wake=70s
         20s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit
         21s close explicit           -> requested | unindexed(empty) end=explicit
         90s observe prompt           -> appended resumed | active wake=150s",
    );
}

#[test]
fn a_session_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let retry = Policy::default().backoff_ms(&session(), 1) / 1000 + 21;
    check(&format!(
        "0s discover                  -> discovered | active wake=60s
         20s close explicit unread    -> requested ended started | indexing end=explicit owes=index..0
         21s fail unreadable          -> failed(1) | failed end=explicit wake={retry}s"
    ));
    check(
        "0s discover                  -> discovered | active wake=60s
         1800s wake unread            -> requested ended started | indexing end=inactivity_timeout owes=index..0",
    );
    // Nor for an unchanged one.
    after(
        INDEXED,
        "30s close explicit unread    -> requested started | indexing end=explicit episode=1 owes=index..300
         31s complete same            -> skipped | indexed end=explicit episode=1",
    );
}

#[test]
fn a_vanished_transcript_keeps_what_was_indexed() {
    after(OPEN, "20s vanish -> abandoned | unindexed(gone)");
    after(INDEXED, "30s vanish -> | indexed end=explicit episode=1");
    after(
        INDEXED,
        "90s observe prompt           -> appended resumed | active episode=1 wake=150s
         91s vanish                   -> abandoned | unindexed(gone) episode=1",
    );
}

#[test]
fn a_stopped_session_is_touched_by_no_layer_until_tracked() {
    after(
        INDEXED,
        "30s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         31s untrack                  -> | unindexed(untracked) end=explicit episode=1
         32s close explicit           -> refused: untracked
         33s observe                  -> refused: untracked
         34s rewrite                  -> refused: untracked
         35s reindex                  -> refused: untracked
         99999s wake                  -> | unindexed(untracked) end=explicit episode=1
         99999s track                 -> tracked | indexed end=explicit episode=1",
    );
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s untrack                  -> stopped | unindexed(untracked) end=explicit
         22s complete                 -> refused: untracked
         23s track                    -> tracked | active end=explicit wake=70s",
    );
}

#[test]
fn a_switched_off_project_owes_nothing() {
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s policy untracked         ->
         22s wake                     -> | indexing end=explicit
         23s close explicit           -> refused: switched off
         23s close lazy_query         -> refused: switched off
         24s policy tracked           ->
         25s wake                     -> | indexing end=explicit owes=index..300
         25s policy untracked         ->
         26s complete                 -> indexed | indexed end=explicit episode=1
         27s reindex                  -> refused: switched off
         28s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1",
    );
}

#[test]
fn forcing_is_recorded_once_and_taken_back_by_a_stop() {
    after(
        INDEXED,
        "30s track                    -> | indexed end=explicit episode=1
         31s track force              -> forced | indexed end=explicit episode=1
         32s track force              -> | indexed end=explicit episode=1
         33s track                    -> | indexed end=explicit episode=1
         34s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         35s track force              -> tracked forced | indexed end=explicit episode=1
         36s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         37s track                    -> tracked | indexed end=explicit episode=1",
    );
    check("0s track force -> refused: not discovered");
    let mut world = World::new();
    for (line, forced) in [
        ("0s discover     -> discovered | active wake=60s", false),
        ("1s track force  -> forced | active wake=60s", true),
        ("2s untrack      -> stopped | unindexed(untracked)", false),
        ("3s track        -> tracked | active wake=60s", false),
        ("4s track force  -> forced | active wake=60s", true),
        ("5s forget       -> forgotten | forgotten", false),
    ] {
        world.step(line);
        assert_eq!(world.aggregate.state().forced, forced, "after {line}");
    }
}

#[test]
fn a_rewritten_file_begins_a_generation_and_the_episode_serves_meanwhile() {
    after(
        INDEXED,
        "30s rewrite                  -> rewritten | active episode=1 generation=2 wake=70s
         31s observe records=2        -> appended | active episode=1 generation=2 wake=91s
         40s close explicit           -> requested ended started | indexing end=explicit episode=1 generation=2 owes=index..200
         41s complete hash=1 same     -> skipped | indexed end=explicit episode=1 generation=2",
    );
}

#[test]
fn a_forgotten_session_stays_forgotten_until_restored() {
    after(
        INDEXED,
        "30s forget                   -> forgotten | forgotten
         31s discover                 -> | forgotten
         32s discover /other.jsonl    -> | forgotten
         33s observe                  -> refused: forgotten
         34s close explicit           -> refused: forgotten
         35s wake                     -> | forgotten
         36s restore                  -> restored | active generation=2 wake=70s
         37s restore                  -> refused: not forgotten",
    );
    after(
        INDEXED,
        "30s forget                   -> forgotten | forgotten
         31s restore gone             -> restored | unindexed(gone) generation=2",
    );
}

#[test]
fn a_second_file_takes_over_only_when_told() {
    after(
        OPEN,
        "20s discover /t/b.jsonl      -> refused: second file
         21s discover /t/b.jsonl takes_over -> moved | active wake=70s",
    );
}

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
fn a_group_is_assigned_once() {
    after(
        OPEN,
        "20s assign team              -> assigned | active wake=70s
         21s assign team              -> | active wake=70s",
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
    /// Whatever is wished in whatever order: replay gives the same session, every byte is in one range, and a session
    /// that is left alone comes to rest with nothing owed.
    #[test]
    fn i2_any_wishes_in_any_order_replay_to_the_same_session(wishes in proptest::collection::vec((0..WISHES.len(), 0..2_000_i64), 0..60)) {
        let mut world = World::new();
        let mut now = Timestamp(0);
        for (wish, seconds) in wishes {
            now = now.plus_ms(seconds * 1000);
            let words: Vec<&str> = WISHES[wish].split_whitespace().collect();
            let command = world.command(&words, now);
            if let Ok(events) = world.aggregate.propose(&command, None, &world.policy, now) {
                world.record(events, None, now);
                world.replay();
            }
        }
        for _ in 0..10 {
            let owed = world.aggregate.pending(&world.policy);
            let Some(effect) = owed.first() else { break };
            let (wish, at) = match effect {
                Effect::Index(_) => ("complete hash=7", now),
                Effect::Wake(at) => ("wake", *at),
            };
            now = now.max(at);
            let words: Vec<&str> = wish.split_whitespace().collect();
            let command = world.command(&words, now);
            let events = world.aggregate.propose(&command, None, &world.policy, now).unwrap();
            proptest::prop_assert!(!events.is_empty(), "{effect:?} is owed and {wish} does nothing: {:?}", world.aggregate);
            world.record(events, None, now);
            world.replay();
        }
        proptest::prop_assert_eq!(world.aggregate.pending(&world.policy), vec![]);
    }
}

const WISHES: [&str; 25] = [
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
];

#[test]
fn words_that_come_after_an_empty_end_open_the_session_however_late_they_are() {
    check(
        "0s discover                  -> discovered | active wake=60s
         10s observe silent           -> located appended | active wake=70s
         20s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit
         22s observe at=21            -> appended resumed | active wake=81s",
    );
}

#[test]
fn a_session_that_was_never_read_stays_gone_when_it_is_closed() {
    check(
        "0s discover                  -> discovered | active wake=60s
         10s vanish                   -> abandoned | unindexed(gone)
         11s close explicit           -> requested ended | unindexed(gone) end=explicit",
    );
}

#[test]
fn a_transcript_that_is_found_again_is_indexed_although_nothing_was_added() {
    after(
        OPEN,
        "20s vanish                   -> abandoned | unindexed(gone)
         30s discover                 -> resumed | active wake=70s
         70s wake                     -> idle | inactive wake=1810s
         1810s wake                   -> requested ended started | indexing end=inactivity_timeout owes=index..300
         1811s complete               -> indexed | indexed end=inactivity_timeout episode=1",
    );
    after(
        OPEN,
        "20s vanish                   -> abandoned | unindexed(gone)
         30s discover /t/b.jsonl      -> refused: second file
         31s discover /t/b.jsonl takes_over -> moved resumed | active wake=70s
         32s discover /t/b.jsonl      -> | active wake=70s",
    );
}

#[test]
fn a_job_that_reads_where_the_transcript_was_is_void() {
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s discover /t/b.jsonl takes_over -> moved started | indexing end=explicit owes=index..300
         22s fail gone job=1          -> refused: unknown effect
         23s complete                 -> indexed | indexed end=explicit episode=1",
    );
}

#[test]
fn an_emptied_transcript_keeps_its_episode() {
    after(
        INDEXED,
        "30s rewrite                  -> rewritten | active episode=1 generation=2 wake=70s
         31s observe silent           -> appended | active episode=1 generation=2 wake=91s
         40s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit episode=1 generation=2",
    );
}

#[test]
fn a_query_does_not_take_the_word_of_who_ended_the_session() {
    let mut world = World::new();
    for line in INDEXED.lines().map(str::trim).filter(|line| !line.is_empty()) {
        world.step(line);
    }
    world.step("25s observe at=21     -> appended(late) | indexed end=explicit episode=1 wake=85s");
    world.step("30s close lazy_query  -> requested started | indexing end=explicit episode=1 owes=index..400");
    assert_eq!(world.aggregate.state().last_close, Some(CloseReason::Explicit));
}

#[test]
fn answered_wishes_are_remembered_within_bounds() {
    let mut world = World::new();
    let wish = |number: usize| CommandId::new(&format!("wish-{number}"));
    let day_ms = 24 * 3_600_000;
    for number in 0..ANSWERED_MAX + 5 {
        world.record(vec![Event::WentIdle], Some(wish(number)), Timestamp(1_000));
    }
    for (number, is_known) in [(0, false), (4, false), (5, true), (ANSWERED_MAX + 4, true)] {
        assert_eq!(world.aggregate.has_answered(&wish(number)), is_known, "wish {number}");
    }
    world.record(vec![Event::WentIdle], None, Timestamp(1_000 + day_ms));
    assert!(world.aggregate.has_answered(&wish(5)), "a day later");
    world.record(vec![Event::WentIdle], None, Timestamp(1_001 + day_ms));
    assert!(!world.aggregate.has_answered(&wish(ANSWERED_MAX + 4)), "more than a day later");
    world.replay();
}
