//! A log that refuses writes: what is known is still served, new events wait, and nothing is lost or repeated
//! endlessly.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use baton_events::session::Phase;
use serde_json::{Value, json};

use crate::faults::Fault;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_log_refuses_reads_go_on_and_afterwards_everything_is_taken_up() {
    let world = World::new();
    world.record_growth_after(5);
    let mut stories: Vec<_> = (0..20).map(|number| world.story(&format!("session-{number:02}"))).collect();
    stories.iter_mut().for_each(|story| story.say("an old subject"));
    let house = world.start().await;
    for story in &stories {
        house.closed(story.id()).await;
    }

    world.journal.on_append(|_, _| Some(Fault::Refuse));
    stories.iter_mut().for_each(|story| story.say("a new matter"));
    let before = world.journal.log().tail();
    let closed = house.close(stories[0].id()).await;
    assert_eq!(closed["status"], "error", "{closed}");
    let message = closed["message"].as_str().unwrap();
    assert!(message.contains("the log cannot be written: No space left"), "{message}");
    let problems = house.until_problem("No space left", true).await;
    assert!(problems.contains("free space"), "{problems}");

    let tried = world.journal.appends();
    for _ in 0..5 {
        let found = house.call("search", json!({"query": "subject", "limit": 100})).await.unwrap();
        assert_eq!(sessions_of(&found), stories.len(), "what is known is found");
        let freshness = &found["freshness"];
        assert!(freshness["note"].as_str().is_some_and(|note| note.contains("recorded")), "{freshness}");
        assert_eq!(freshness["pending"], json!(stories.len()), "{freshness}");
        let waited = house.call("search", json!({"query": "subject", "wait": true})).await.unwrap();
        assert!(!waited["hits"].as_array().unwrap().is_empty());
        let shown = house.call("show", json!({"session": "session-07"})).await.unwrap();
        assert!(shown["episode_uuid"].is_string(), "{shown}");
        let rows = house.call("sessions", json!({})).await.unwrap();
        assert_eq!(rows["sessions"].as_array().unwrap().len(), stories.len());
    }
    let tries = world.journal.appends() - tried;
    assert!(tries < 20, "{tries} tries to write while nobody asked for one");
    assert_eq!(world.journal.log().tail(), before);

    world.journal.heal();
    // Without any request: refused sessions try again, and one stored write is enough for all of them.
    for story in &stories {
        world.until(story.id(), "read", |state| state.read.offset == story.bytes).await;
    }
    house.until_problem("No space left", false).await;
    for story in &stories {
        house.closed(story.id()).await;
        let state = world.state(story.id()).unwrap();
        assert_eq!((state.phase, state.counts.messages), (Phase::Indexed, story.messages));
    }
    let found = house.call("search", json!({"query": "matter", "limit": 100})).await.unwrap();
    assert_eq!(sessions_of(&found), stories.len());
    house.stop().await;
}

fn sessions_of(found: &Value) -> usize {
    let hits = found["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["session_id"].as_str().unwrap()).collect::<BTreeSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_an_index_that_cannot_be_recorded_fails_at_once() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("waited-for");
    story.say("an old subject");
    let refusing = Arc::new(AtomicBool::new(true));
    {
        let refusing = refusing.clone();
        world.journal.on_append(move |_, batch| {
            let meant = batch.iter().any(|record| record.kind == "indexed") && refusing.load(Ordering::SeqCst);
            meant.then_some(Fault::Refuse)
        });
    }
    let begun = Instant::now();
    let closed = house.close(story.id()).await;
    assert_eq!(closed["status"], "error", "{closed}");
    assert!(closed["message"].as_str().unwrap().contains("No space left"), "{closed}");
    assert!(begun.elapsed() < Duration::from_secs(20), "not at the deadline");
    assert_eq!(world.state(story.id()).unwrap().phase, Phase::Indexing, "the wish itself is recorded");
    refusing.store(false, Ordering::SeqCst);
    world.until_indexed(&story).await;
    assert_eq!((world.events(story.id(), "indexing_started"), world.events(story.id(), "indexed")), (1, 1));
    assert_eq!(house.found("old subject").await, ["waited-for"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_log_is_reported_and_the_next_daemon_lacks_nothing() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("cut-off");
    story.say("an old subject");
    house.closed(story.id()).await;
    story.say("a new matter");
    // The writer has ended after its last successful write.
    world.journal.on_append(|_, _| Some(Fault::LoseAnswer));
    let closed = house.close(story.id()).await;
    assert!(closed["status"] == "success" || closed["message"].as_str().unwrap().contains("log is closed"), "{closed}");
    assert_eq!(house.found("old subject").await, ["cut-off"]);
    house.stop().await;
    world.journal.heal();
    let house = world.start_again().await;
    house.closed(story.id()).await;
    assert_eq!(world.state(story.id()).unwrap().counts.messages, story.messages);
    assert_eq!(house.found("new matter").await, ["cut-off"]);
    house.stop().await;
}
