//! Given / when / then, as text: each line is a command at a time, the events that follow and the phase after them.
//!
//! ```text
//! 80s close explicit        -> requested ended started | indexing end=explicit
//! ```

use super::*;
use baton_conversation::record::{Metadata, StreamId};

mod correcting;
mod deleting;
mod disconnects;
mod enrichment;
mod history;
mod late;
mod signals;
mod tracking;
mod transcript;
mod unseen;
mod world;

use world::{World, session};

/// Runs a table. After each line, checks that replaying the recorded events gives the same aggregate (I-2).
fn check(table: &str) {
    run(table);
}

fn run(table: &str) -> World {
    let mut world = World::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        world.step(line);
        world.replay();
    }
    world
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

/// The world after a table, to check what the table does not show.
fn world(given: &str, then: &str) -> World {
    run(&format!("{given}\n{then}"))
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
        "30s policy filter=next       ->
         31s wake                     -> | indexed end=explicit episode=1
         32s close sync               -> requested started | indexing end=explicit episode=1 owes=index..300
         33s complete hash=1 same     -> refused: wrong episode
         33s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
}

#[test]
fn what_is_stored_is_made_anew_when_a_person_asks() {
    let again = "30s reindex                  -> started | indexing end=explicit episode=1 owes=index..300";
    after(INDEXED, &format!("{again}\n31s complete hash=1 same -> skipped | indexed end=explicit episode=1"));
    after(INDEXED, &format!("{again}\n31s complete hash=2 -> indexed | indexed end=explicit episode=2"));
    after(
        INDEXED,
        "90s observe prompt           -> appended resumed | active episode=1 wake=150s
         91s reindex                  -> started | indexing episode=1 owes=index..400
         92s reindex                  -> | indexing episode=1 owes=index..400
         93s complete hash=2          -> indexed | indexed episode=2 wake=1890s",
    );
    check("0s discover -> discovered | active wake=60s\n1s reindex -> | active wake=60s");
    let state = |world: &World| world.aggregate.state().clone();
    let started = world(INDEXED, again);
    assert_eq!(state(&started).job.map(|job| job.reason), Some(CloseReason::Reindex));
    assert_eq!(state(&started).last_close, Some(CloseReason::Explicit), "it closes nothing");
}

#[test]
fn what_a_model_made_stays_until_something_is_said() {
    for (then, kept) in [
        ("30s reindex -> started | indexing end=explicit episode=1(enriched) owes=index..300", true),
        (
            "30s observe prompt -> appended resumed | active episode=1(enriched) wake=90s\n31s close lazy_query -> requested started | indexing episode=1(enriched) owes=index..400",
            false,
        ),
    ] {
        let mut world = world(
            INDEXED,
            "22s enrich      -> owed(asked) | indexed end=explicit episode=1 enrich=22s
             22s call        -> called(whole) | indexed end=explicit episode=1 enrich=22s
             23s answer good -> answered(good) enriched | indexed end=explicit episode=1(enriched)",
        );
        for line in then.lines() {
            world.step(line);
        }
        let complete = world.command(&["complete", "hash=2"], Timestamp(32_000));
        let events = world.aggregate.propose(&complete, None, &world.policy, Timestamp(32_000)).unwrap();
        world.record(events, None, Timestamp(32_000));
        let tier = world.aggregate.state().episode.as_ref().unwrap().tier;
        assert_eq!(tier == Tier::Enriched, kept, "{then}");
        assert_eq!(world.aggregate.state().enriched_by().is_some(), kept, "{then}");
        world.replay();
    }
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
