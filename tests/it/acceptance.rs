//! Acceptance tests under the names that the specification gives them: hashes, states, restarts, parallel sessions.

use serde_json::{Value, json};

use crate::mcp::agent::Agent;
use crate::transcript::now;
use crate::world::{World, hits, id, text};

/// A session with a question and an answer about `word`.
fn told(world: &World, number: u32, word: &str) -> crate::transcript::Transcript {
    say(world.transcript("-work-one", &id(number)), word)
}

/// Like [`told`], but idle long enough that its state does not change during a test.
fn told_long_ago(world: &World, number: u32, word: &str) {
    say(world.transcript("-work-one", &id(number)).minutes_ago(5), word);
}

fn say(mut told: crate::transcript::Transcript, word: &str) -> crate::transcript::Transcript {
    told.prompt(&format!("How tall is the {word}?")).reply(&format!("The {word} is tall."));
    told
}

fn hash(world: &World, number: u32) -> String {
    text(&world.show(&id(number))["content_hash"])
}

/// The episodes of a session that a search returns.
fn episodes_found(world: &World, word: &str, number: u32) -> Vec<String> {
    let found = world.search(word);
    let of_it = hits(&found).into_iter().filter(|hit| hit["session_id"] == *id(number));
    let mut uuids: Vec<String> = of_it.map(|hit| text(&hit["episode_uuid"])).collect();
    uuids.dedup();
    uuids
}

/// The stored fields of every session, except when it was last looked at.
fn kept(world: &World) -> Vec<Value> {
    let mut rows = world.sessions();
    rows.sort_by_key(|row| text(&row["session_id"]));
    let fields = ["session_id", "state", "content_hash", "episode_uuid", "message_count", "close_reason", "project"];
    rows.iter().map(|row| fields.iter().map(|field| row[field].clone()).collect()).collect()
}

#[test]
fn test_content_hash_stability() {
    let (one, other) = (World::new(), World::new());
    told(&one, 1, "giraffe");
    // The same words at another time, with metadata records between them.
    let mut later = other.transcript("-work-two", &id(1)).minutes_ago(7);
    later.metadata();
    later.prompt("How tall is the giraffe?");
    later.metadata();
    later.reply("The giraffe is tall.");
    one.close(&id(1));
    other.close(&id(1));
    assert_eq!(hash(&one, 1), hash(&other, 1));
}

#[test]
fn test_content_hash_changes() {
    let world = World::new();
    told(&world, 1, "giraffe");
    told(&world, 2, "okapi");
    world.close(&id(1));
    world.close(&id(2));
    assert_ne!(hash(&world, 1), hash(&world, 2));
    let before = hash(&world, 1);
    world.transcript("-work-one", &id(1)).prompt("And how old?").reply("It is old.");
    world.close(&id(1));
    assert_ne!(hash(&world, 1), before);
}

#[test]
fn test_state_persistence() {
    let world = World::new();
    told_long_ago(&world, 1, "giraffe");
    told_long_ago(&world, 2, "okapi");
    world.close(&id(1));
    world.ok(&["sessions"]);
    let before = kept(&world);
    assert_eq!(before.len(), 2);
    world.stop();
    assert_eq!(kept(&world), before);
    world.kill();
    assert_eq!(kept(&world), before);
}

#[test]
fn test_explicit_close_indexes() {
    let world = World::new();
    told(&world, 1, "giraffe");
    let agent = Agent::start(&world);
    let closed = agent.call("session_tracking_close", json!({"session_id": id(1), "reason": "done"})).ok();
    assert_eq!(closed["status"], "success", "{closed}");
    let shown = world.show(&id(1));
    assert_eq!((&shown["state"], &shown["close_reason"]), (&json!("indexed"), &json!("explicit")), "{shown}");
    assert_eq!(episodes_found(&world, "giraffe", 1), [text(&closed["episode_uuid"])]);
    agent.end();
}

#[test]
fn test_explicit_close_skips_unchanged() {
    let world = World::new();
    told(&world, 1, "giraffe");
    let episode = world.close(&id(1));
    let indexed_at = world.show(&id(1))["last_indexed_at"].clone();
    assert_eq!(world.close(&id(1)), episode);
    assert_eq!(world.show(&id(1))["last_indexed_at"], indexed_at, "it was not indexed again");
}

#[test]
fn test_explicit_close_replaces_changed() {
    let world = World::new();
    told(&world, 1, "giraffe");
    let first = world.close(&id(1));
    world.transcript("-work-one", &id(1)).prompt("And the okapi?").reply("The okapi is small.");
    let second = world.close(&id(1));
    assert_ne!(second, first);
    assert_eq!(episodes_found(&world, "giraffe", 1), [second.as_str()], "the old episode is gone");
    assert_eq!(episodes_found(&world, "okapi", 1), [second.as_str()]);
}

#[test]
fn test_lazy_index_on_search() {
    let world = World::new();
    world.ok(&["sessions"]);
    told(&world, 1, "giraffe");
    let found = world.search("giraffe");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(hits(&found)[0]["session_id"], *id(1), "{found}");
    assert_eq!(world.show(&id(1))["end"], Value::Null, "a query closes nothing");
}

#[test]
fn test_timeout_fallback() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).minutes_ago(31).prompt("How tall is the giraffe?").reply("Tall.");
    told(&world, 2, "okapi");
    world.ok(&["sessions"]);
    let shown = world.wait_for(&id(1), "the timeout", |shown| shown["state"] == "indexed");
    assert_eq!(
        (&shown["end"], &shown["close_reason"]),
        (&json!("inactivity_timeout"), &json!("inactivity_timeout")),
        "{shown}"
    );
    assert_eq!(world.show(&id(2))["end"], Value::Null);
}

#[test]
fn test_full_hybrid_flow() {
    let world = World::new();
    told(&world, 1, "giraffe");
    let closed = world.close(&id(1));
    assert_eq!(episodes_found(&world, "giraffe", 1), [closed]);
    // Nobody closes the next session: the query reads it.
    told(&world, 2, "okapi");
    let found = world.search("okapi");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(episodes_found(&world, "okapi", 2).len(), 1);
    // Closing a session that a query has already read changes nothing.
    let again = world.close(&id(2));
    assert_eq!(episodes_found(&world, "okapi", 2), [again]);
}

#[test]
fn test_session_resume_replace() {
    let world = World::new();
    let mut session = told(&world, 1, "giraffe");
    let first = world.close(&id(1));
    // Records within two seconds after an end still belong to it.
    session.set_time(now().plus_ms(3_000));
    session.prompt("And the okapi?").reply("The okapi is small.");
    let second = episodes_found(&world, "okapi", 1);
    assert_eq!(second.len(), 1);
    let open = world.show(&id(1));
    assert_eq!((&open["message_count"], &open["end"]), (&json!(4), &Value::Null), "{open}");
    assert_ne!(second[0], first);
    assert_eq!(episodes_found(&world, "giraffe", 1), second);
}

#[test]
fn test_parallel_sessions() {
    let world = World::new();
    let words = ["giraffe", "okapi", "zebra", "gnu"];
    let mut sessions: Vec<_> = words.iter().zip(1..).map(|(word, number)| told(&world, number, word)).collect();
    let first = world.close(&id(1));
    sessions[1].prompt("Once more?").reply("Once more.");
    for (word, number) in words.iter().zip(1..) {
        assert_eq!(episodes_found(&world, word, number).len(), 1, "{word}");
    }
    assert_eq!(episodes_found(&world, "giraffe", 1), [first], "what others say changes nothing of it");
    let ends: Vec<bool> = (1..5).map(|number| world.show(&id(number))["end"].is_null()).collect();
    assert_eq!(ends, [false, true, true, true], "one was closed, the others go on");
}

#[test]
fn test_cross_restart_state() {
    let world = World::new();
    told_long_ago(&world, 1, "giraffe");
    told_long_ago(&world, 2, "okapi");
    let agent = Agent::start(&world);
    let closed = agent.call("session_tracking_close", json!({"session_id": id(1)})).ok();
    let status = |agent: &Agent, number: u32| {
        let row = agent.call("session_tracking_status", json!({"session_id": id(number)})).ok();
        [&row["state"], &row["content_hash"], &row["episode_uuid"]].map(Clone::clone)
    };
    let before = [1, 2].map(|number| status(&agent, number));
    agent.end();
    world.stop();
    let agent = Agent::start(&world);
    assert_eq!([1, 2].map(|number| status(&agent, number)), before);
    let again = agent.call("session_tracking_close", json!({"session_id": id(1)})).ok();
    assert_eq!(again["episode_uuid"], closed["episode_uuid"]);
    agent.end();
}
