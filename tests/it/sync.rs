//! History on demand: listing what is not indexed, previewing a range of it, and indexing that.

use std::io::Read as _;

use serde_json::Value;

use crate::transcript::Transcript;
use crate::world::{World, id, list, text};

/// Sessions that may be resumed, so that only a request indexes them: two of `alpha`, one of `beta` with a subagent.
fn open_sessions(world: &World) {
    for (number, folder) in [(1, "-alpha"), (2, "-alpha"), (3, "-beta")] {
        let mut open = world.transcript(folder, &id(number)).minutes_ago(i64::from(number) * 3);
        open.prompt(&format!("the question number{number}x")).reply("an answer of some words");
    }
    let agent = world.projects().join("-beta").join(id(3)).join("subagents/agent-a0000001.jsonl");
    let mut agent = Transcript::new(agent, &id(3), "/srv/-beta").of_subagent(&id(3)).minutes_ago(9);
    agent.prompt("look for the tamarin").reply("found it");
}

fn ids(listed: &Value) -> Vec<String> {
    list(&listed["sessions"]).iter().map(|row| text(&row["session_id"])).collect()
}

#[test]
fn unindexed_lists_what_a_query_would_index_and_indexes_nothing() {
    let world = World::new();
    open_sessions(&world);
    let listed = world.json(&["unindexed"]);
    assert_eq!((&listed["status"], &listed["count"]), (&"success".into(), &4.into()), "{listed}");
    assert_eq!(ids(&listed)[..2], [id(1), id(2)], "latest activity first");
    let first = &listed["sessions"][0];
    assert_eq!((&first["message_count"], &first["project"]), (&2.into(), &"/srv/-alpha".into()), "{first}");
    assert!(text(&first["file_path"]).ends_with(&format!("{}.jsonl", id(1))), "{first}");
    let agent = list(&listed["sessions"]).into_iter().find(|row| row["parent_session_id"] == *id(3));
    assert_eq!(agent.map(|row| row["message_count"].clone()), Some(2.into()));

    assert_eq!(ids(&world.json(&["unindexed", "--project", "/srv/-alpha"])), [id(1), id(2)]);
    assert_eq!(world.json(&["unindexed", "--active-only"])["count"], 0, "all are quiet for more than a minute");
    let table = world.ok(&["unindexed"]);
    assert!(
        table.out.contains("/srv/-beta") && table.err.contains("4 sessions are not fully indexed"),
        "{}",
        table.err
    );
    assert!(world.sessions().iter().all(|row| row["episode_uuid"] == Value::Null), "nothing was indexed");

    world.close(&id(1));
    assert!(!ids(&world.json(&["unindexed"])).contains(&id(1)));
    // New lines that have not been read yet; metadata alone does not count.
    let mut grown = world.transcript("-alpha", &id(1)).minutes_ago(0);
    grown.metadata();
    assert!(!ids(&world.json(&["unindexed"])).contains(&id(1)), "only metadata came");
    grown.prompt("one thing more");
    let listed = world.json(&["unindexed", "--active-only"]);
    assert_eq!(ids(&listed), std::slice::from_ref(&id(1)));
    assert_eq!(listed["sessions"][0]["message_count"], 3);
    world.ok(&["search", "tamarin"]);
    assert_eq!(world.json(&["unindexed"])["count"], 0);
    assert_eq!(world.ok(&["unindexed"]).out, "Nothing waits to be indexed.\n");
    let unknown = world.run(&["unindexed", "--project", "/srv/nowhere"]);
    assert!(unknown.code == 1 && unknown.err.contains("no project"), "{}", unknown.err);
}

#[test]
fn a_sync_is_previewed_then_done_and_the_second_time_has_nothing_to_do() {
    let world = World::new();
    open_sessions(&world);
    let preview = world.json(&["sync", "--dry-run"]);
    let numbers =
        |sync: &Value| ["sessions", "would_index", "indexed", "subagents"].map(|key| sync[key].as_u64().unwrap());
    assert_eq!(numbers(&preview), [3, 3, 0, 1], "{preview}");
    let (raw, kept) = (preview["tokens_raw"].as_u64().unwrap(), preview["tokens_filtered"].as_u64().unwrap());
    assert!(raw > 10 * kept && kept > 0, "{preview}");
    let cost = preview["llm_cost_estimate"].as_f64().unwrap();
    let expected = (kept as f64 * 0.40 + 4.0 * 2_000.0 * 1.60) / 1e6;
    assert!((cost - expected).abs() < 5e-6, "{cost} {expected}");
    assert!(world.sessions().iter().all(|row| row["episode_uuid"] == Value::Null), "a preview indexes nothing");
    let told = world.ok(&["sync", "--dry-run", "--project", "/srv/-beta"]);
    assert!(told.out.contains("1 session in the range, 1 to index, and 1 session of subagents"), "{}", told.out);

    let some = world.json(&["sync", "--max-sessions", "1"]);
    assert_eq!(numbers(&some), [1, 1, 1, 0], "{some}");
    let row = world.show(&id(1));
    assert_eq!((&row["state"], &row["close_reason"], &row["end"]), (&"indexed".into(), &"sync".into(), &Value::Null));
    let rest = world.json(&["sync", "--days", "1"]);
    assert_eq!(numbers(&rest), [3, 2, 2, 1], "{rest}");
    assert!(rest["tokens_raw"].as_u64() > rest["tokens_filtered"].as_u64());
    assert_eq!(numbers(&world.json(&["sync"])), [3, 0, 0, 0]);
    assert_eq!(world.json(&["search", "number3x"])["freshness"]["indexed_now"], 0);
    assert!(world.ok(&["sync"]).out.contains("everything is indexed"));

    for wrong in [["--days", "0"], ["--days", "x"], ["--max-sessions", "0"], ["--max-sessions", "-1"]] {
        let ran = world.run(&[&["sync"], &wrong[..]].concat());
        assert_eq!(ran.code, 2, "{wrong:?}: {}", ran.err);
    }
    let unknown = world.run(&["sync", "--project", "/srv/nowhere"]);
    assert!(unknown.code == 1 && unknown.err.contains("no project"), "{}", unknown.err);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_done() {
    let Some(world) = World::without_superpowers() else { return };
    open_sessions(&world);
    let locked = world.projects().join("-alpha").join(format!("{}.jsonl", id(2)));
    let mode = |mode| std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o000);
    for arguments in [&["sync", "--dry-run", "--json"][..], &["sync", "--json"]] {
        let ran = world.run(arguments);
        let sync = ran.json();
        assert_eq!((ran.code, &sync["failures"]), (1, &1.into()), "{sync}");
        assert_eq!(list(&sync["failed"]), [Value::from(id(2))]);
    }
    assert_eq!((world.found("number1x"), world.found("number3x")), (vec![id(1)], vec![id(3)]));
    mode(0o600);
    let again = world.json(&["sync"]);
    assert_eq!((&again["indexed"], &again["failures"]), (&1.into(), &Value::Null), "{again}");
}

#[test]
fn a_sync_that_is_interrupted_has_done_what_it_has_done() {
    const SESSIONS: u32 = 120;
    let world = World::new();
    for number in 1..=SESSIONS {
        let mut open = world.transcript("-work", &id(number)).minutes_ago(5);
        open.prompt(&format!("the question number{number}x")).reply("an answer");
    }
    world.ok(&["daemon"]);
    let mut syncing = world.spawn(&["sync"]);
    let some = || world.sessions().iter().filter(|row| row["episode_uuid"] != Value::Null).count();
    assert!(crate::world::wait(|| some() > 0));
    syncing.kill().unwrap();
    syncing.wait().unwrap();
    drop(syncing.stdout.take().map(|mut out| out.read_to_end(&mut Vec::new())));
    let rest = world.json(&["sync"]);
    assert_eq!((&rest["sessions"], &rest["failures"]), (&SESSIONS.into(), &Value::Null), "{rest}");
    assert_eq!(some(), SESSIONS as usize);
    assert_eq!(world.json(&["sync"])["indexed"], 0);
    for row in world.sessions() {
        assert_eq!((&row["state"], &row["end"]), (&"indexed".into(), &Value::Null), "{row}");
    }
}
