//! A lot of history at once: read in the background without delaying anything, and each session indexed exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_actors::System;
use baton_actors::system::Options;
use baton_base::clock::SystemClock;
use baton_base::transcript_root::Root;
use baton_config::settings::Settings;
use baton_events::session::{Event, Policy};
use serde_json::Value;

use crate::record::Log;
use crate::world::{DEADLINE, World, id, list, say, wait};

/// Bytes of noise in each session: two thousand sessions together exceed what a query reads unconditionally.
const NOISE_BYTES: usize = 20 * 1024;

/// Sessions of long ago, in several projects, each with a word of its own.
fn history(world: &World, sessions: u32) {
    for number in 1..=sessions {
        let minutes = 60 + i64::from(number);
        let mut one = world.transcript(&format!("-work-{:02}", number % 40), &id(number)).minutes_ago(minutes);
        let records = [
            one.prompt_record(&format!("the question number{number}x about the okapi")),
            one.reply_record("an answer that says nothing new"),
        ];
        let noise = serde_json::json!({"type": "progress", "data": "x".repeat(NOISE_BYTES)});
        one.write((records.map(|record| format!("{record}\n")).concat() + &format!("{noise}\n")).as_bytes());
    }
}

/// Number of times each session was indexed, according to a stopped daemon's log.
fn indexed(world: &World) -> BTreeMap<String, u32> {
    let mut indexed = BTreeMap::new();
    for recorded in Log::of(world).events {
        if let (Some(session), Event::Indexed { .. }) = (recorded.stream.session_id(), &recorded.event) {
            *indexed.entry(session.to_string()).or_default() += 1;
        }
    }
    indexed
}

fn pending(world: &World) -> u64 {
    let status = world.json(&["status"]);
    match status["looking"].as_bool() {
        Some(true) => u64::MAX,
        _ => status["backlog"]["pending"].as_u64().unwrap(),
    }
}

/// A daemon in this process with settings of its own, which the binary uses like any other.
struct Daemon {
    runtime: tokio::runtime::Runtime,
    system: System,
}

impl Daemon {
    fn start(world: &World, settings: Settings) -> Self {
        let (_, settings) = tokio::sync::watch::channel(Arc::new(settings));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let options = Options {
            home: world.home().to_owned(),
            roots: vec![Root::claude_code(world.config())],
            settings: settings.into(),
            clock: Arc::new(SystemClock::default()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let system = runtime.block_on(System::start(options)).unwrap();
        Self { runtime, system }
    }

    fn stop(self) {
        drop(self.runtime.block_on(self.system.stop()));
    }
}

#[test]
fn two_thousand_sessions_are_read_while_queries_are_answered() {
    const SESSIONS: u32 = 2_000;
    let world = World::new();
    history(&world, SESSIONS);
    world.ok(&["daemon"]);
    let early = world.json(&["status"]);
    assert!(early["looking"] == true || early["backlog"]["pending"].as_u64() > Some(0), "{early}");
    let (mut answers, mut slowest, mut partial, mut queries) = (0, Duration::ZERO, 0, 0);
    while pending(&world) > 0 {
        let begun = Instant::now();
        let found = world.json(&["search", "okapi", "--no-wait"]);
        slowest = slowest.max(begun.elapsed());
        answers += usize::from(!found["hits"].as_array().unwrap().is_empty());
        partial += usize::from(found["freshness"]["pending"].as_u64() > Some(0));
        queries += 1;
        // A close in the middle of the backfill.
        world.close(&id(SESSIONS / 2 + queries));
        assert!(queries < 1_000, "it does not end");
    }
    say(&format!("{queries} queries meanwhile, the slowest {slowest:?}, {partial} of them partial"));
    assert!(answers > 0);
    assert!(partial > 0 && slowest < DEADLINE, "none was answered before everything was read: {slowest:?}");
    for number in [1, SESSIONS / 3, SESSIONS] {
        assert_eq!(world.found(&format!("number{number}x")), [id(number)]);
    }
    assert_eq!(world.json(&["unindexed"])["count"], 0);
    let status = world.json(&["status"]);
    assert_eq!((&status["sessions"]["indexed"], &status["transcripts"]), (&SESSIONS.into(), &SESSIONS.into()));
    world.stop();
    let indexed = indexed(&world);
    assert_eq!(indexed.len(), SESSIONS as usize);
    let twice: Vec<_> = indexed.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "indexed more than once: {twice:?}");
}

#[test]
fn a_backfill_goes_on_after_a_kill() {
    const SESSIONS: u32 = 300;
    let world = World::new();
    history(&world, SESSIONS);
    for _ in 0..3 {
        world.ok(&["daemon"]);
        let before = pending(&world);
        assert!(wait(|| pending(&world) < before.max(2) || before == 0));
        world.kill();
    }
    world.ok(&["daemon"]);
    assert!(wait(|| pending(&world) == 0), "{}", world.log());
    assert_eq!(world.found("number7x"), [id(7)]);
    world.stop();
    let indexed = indexed(&world);
    assert_eq!((indexed.len(), indexed.values().sum::<u32>()), (SESSIONS as usize, SESSIONS));
}

#[test]
fn with_the_timeout_off_history_is_found_and_waits_for_a_query() {
    const SESSIONS: u32 = 30;
    let world = World::new();
    history(&world, SESSIONS);
    let policy = Policy { inactivity_timeout_ms: 0, ..Policy::default() };
    let daemon = Daemon::start(&world, Settings { policy, ..Settings::default() });
    let waiting = || {
        let rows = world.sessions();
        rows.len() == SESSIONS as usize && rows.iter().all(|row| row["why"] == "timeout_disabled")
    };
    assert!(wait(waiting), "{:?}", world.sessions().first());
    assert_eq!(world.json(&["unindexed"])["count"], SESSIONS);
    assert_eq!(world.json(&["status"])["memory"]["documents"], 0, "nothing was indexed");

    let found = world.json(&["search", "number7x"]);
    assert_eq!(found["hits"][0]["session_id"], *id(7), "{found}");
    assert_eq!(found["freshness"]["indexed_now"], SESSIONS);
    assert_eq!(world.json(&["unindexed"])["count"], 0);
    daemon.stop();
    assert!(indexed(&world).values().all(|times| *times == 1));
}

#[test]
fn a_giant_keeps_no_answer_waiting_and_is_named() {
    let world = World::new();
    let daemon = Daemon::start(&world, Settings { lazy_budget: Duration::ZERO, ..Settings::default() });
    world.ok(&["search", "nothing"]);
    let mut giant = world.transcript("-work-giant", &id(1)).minutes_ago(5);
    giant.prompt("the giant armadillo");
    // More than a query reads unconditionally.
    let noise = serde_json::json!({"type": "progress", "data": "x".repeat(1 << 20)});
    let lines = format!("{noise}\n").repeat(17);
    giant.write(lines.as_bytes());
    giant.reply("sleeps all day");
    world.transcript("-work-small", &id(2)).prompt("a small armadillo");

    let found = world.json(&["search", "armadillo", "--no-wait"]);
    assert!(found["hits"].to_string().contains(&id(2)), "{found}");
    let fresh = &found["freshness"];
    assert_eq!((&fresh["indexed_now"], &fresh["pending"]), (&1.into(), &1.into()), "{fresh}");
    assert_eq!(list(&fresh["pending_sessions"]), [Value::from(id(1))]);

    // It was announced as pending, and is read although it is open and there is no further request.
    let shown = world.wait_for(&id(1), "the giant", |row| row["state"] == "indexed");
    assert_eq!((&shown["message_count"], &shown["close_reason"]), (&2.into(), &"lazy_query".into()));
    let found = world.found("armadillo");
    assert!(found.contains(&id(1)) && found.contains(&id(2)), "{found:?}");
    assert_eq!(world.json(&["search", "armadillo", "--no-wait"])["freshness"]["pending_sessions"], Value::Null);
    daemon.stop();
}
