//! Codex's transcripts beside Claude Code's: found, closed, searched and shown, compressed in place and decompressed
//! again.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::agent::{Agent, Lines};
use crate::sockets::Raw;
use crate::transcript::now;
use crate::world::{World, id, list, text, wait};

const CODEX: &str = "019ed50c-2fb3-7002-a384-000000000001";

/// The path at which Codex puts the transcript of a session.
fn rollout(world: &World, session: &str) -> PathBuf {
    let folder = world.path("codex").join("sessions/2026/06/17");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("rollout-2026-06-17T11-00-00-{session}.jsonl"))
}

fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/codex");
    fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap()
}

fn row(world: &World, session: &str) -> Value {
    let told = world.json(&["sessions", "--subagents"]);
    let rows = told["sessions"].as_array().unwrap();
    let row = rows.iter().find(|row| row["session_id"] == session);
    row.unwrap_or_else(|| panic!("no {session} in {told}")).clone()
}

fn said(text: &str) -> String {
    let prompt = |kind: &str, payload: Value| {
        serde_json::json!({ "timestamp": "2026-06-17T10:00:00.000Z", "type": kind, "payload": payload }).to_string()
    };
    let content = serde_json::json!([{ "type": "input_text", "text": text }]);
    let item = serde_json::json!({ "type": "message", "role": "user", "content": content });
    let event = serde_json::json!({ "type": "user_message", "message": text });
    format!("{}\n{}\n", prompt("response_item", item), prompt("event_msg", event))
}

#[test]
fn a_codex_session_is_found_closed_and_shown_beside_those_of_claude_code() {
    let world = World::new();
    world.transcript("-one", &id(1)).prompt("the harbour office closes at five").reply("noted");
    fs::write(rollout(&world, CODEX), fixture("usual")).unwrap();
    let mut found = world.found("harbour");
    found.sort();
    let mut both = vec![id(1), CODEX.to_owned()];
    both.sort();
    assert_eq!(found, both, "one search finds both agents' sessions");

    let seen = row(&world, CODEX);
    assert_eq!((seen["agent"].as_str(), seen["project"].as_str()), (Some("codex"), Some("/home/dev/projects/tide")));
    assert_eq!(seen["message_count"], 3);
    assert_eq!(row(&world, &id(1))["agent"], "claude_code");

    world.close(CODEX);
    let shown = world.json(&["show", CODEX]);
    assert_eq!((shown["agent"].as_str(), shown["close_reason"].as_str()), (Some("codex"), Some("explicit")));
    let episode = shown["episode"].to_string();
    for expected in ["the tide table is off by one hour", "cargo test times", "src/zone.rs", "Write a test for March"] {
        assert!(episode.contains(expected), "{expected} in {episode}");
    }
    let status = world.json(&["status"]);
    let roots: Vec<_> =
        status["roots"].as_array().unwrap().iter().map(|root| root["agent"].as_str().unwrap()).collect();
    assert_eq!(roots, ["claude_code", "codex"], "and no archive that is not there");
    assert_eq!(world.problems(), "[]");
}

#[test]
fn two_sessions_of_one_minute_are_two_entities() {
    let world = World::new();
    let other = CODEX.replace("000001", "000002");
    for (session, word) in [(CODEX, "marmot"), (&other, "pangolin")] {
        let told = fixture("usual").replace(CODEX, session) + &said(&format!("look after the {word}"));
        fs::write(rollout(&world, session), told).unwrap();
        world.close(session);
    }
    let agent = Agent::start(&world);
    let found = agent.call("search_nodes", json!({"query": "session", "entity_types": ["Session"]})).ok();
    let nodes = list(&found["nodes"]);
    let names: Vec<String> = nodes.iter().map(|node| text(&node["name"])).collect();
    assert_eq!(names, ["session_019ed50c"; 2], "{found}");
    assert_ne!(nodes[0]["uuid"], nodes[1]["uuid"], "{found}");
    // Each is the center of its own statements.
    let mut said = Vec::new();
    for node in &nodes {
        let arguments = json!({"query": "", "center_node_uuid": node["uuid"], "max_facts": 50});
        let facts = list(&agent.call("search_memory_facts", arguments).ok()["facts"]);
        let ends = |fact: &Value| [text(&fact["source_node_uuid"]), text(&fact["target_node_uuid"])];
        let own = facts.iter().filter(|fact| ends(fact).contains(&text(&node["uuid"]))).count();
        assert!(own > 0, "{facts:?}");
        said.push(own);
    }
    assert_eq!(said[0], said[1]);
    agent.end();
}

#[test]
fn what_is_compressed_in_place_and_turned_back_is_one_session_and_read_once() {
    let world = World::new();
    let plain = rollout(&world, CODEX);
    let packed = plain.with_extension("jsonl.zst");
    fs::write(&plain, fixture("usual")).unwrap();
    assert_eq!(world.found("harbour"), [CODEX]);
    world.close(CODEX);
    let before = world.json(&["show", CODEX]);

    let pack = || {
        fs::write(&packed, zstd::encode_all(&*fs::read(&plain).unwrap(), 3).unwrap()).unwrap();
        fs::remove_file(&plain).unwrap();
    };
    pack();
    assert_eq!(world.found("harbour"), [CODEX]);
    world.stop();
    assert_eq!(world.found("harbour"), [CODEX], "after a restart, too");
    world.close(CODEX);
    let after = world.json(&["show", CODEX]);
    for kept in ["content_hash", "episode_uuid", "message_count"] {
        assert_eq!(before[kept], after[kept], "{kept}");
    }
    assert_eq!(after["file_path"].as_str(), packed.to_str());

    fs::write(&plain, fixture("usual") + &said("now mind the lighthouse")).unwrap();
    fs::remove_file(&packed).unwrap();
    assert_eq!(world.found("lighthouse"), [CODEX]);
    let grown = row(&world, CODEX);
    assert_eq!((grown["message_count"].as_u64(), grown["file_path"].as_str()), (Some(4), plain.to_str()));
    let told = world.ok(&["explain", CODEX]).out;
    assert!(!told.contains("rewritten"), "{told}");
}

#[test]
fn one_that_is_compressed_before_it_is_seen_is_read_and_a_subagents_names_its_parent() {
    let world = World::new();
    let cold = "019ed50c-2fb3-7002-a384-000000000002";
    let sub = "019ed50c-2fb3-7002-a384-000000000005";
    let packed = rollout(&world, cold).with_extension("jsonl.zst");
    fs::File::create(packed)
        .unwrap()
        .write_all(&zstd::encode_all(fixture("interrupted").as_bytes(), 3).unwrap())
        .unwrap();
    fs::write(rollout(&world, CODEX), fixture("usual")).unwrap();
    fs::write(rollout(&world, sub), fixture("subagent")).unwrap();
    assert_eq!(world.found("colours"), [cold]);
    let mains = world.json(&["sessions"]);
    let ids: Vec<_> = mains["sessions"].as_array().unwrap().iter().map(|row| row["session_id"].clone()).collect();
    assert!(ids.len() == 2 && !ids.contains(&sub.into()), "{ids:?}");
    assert_eq!(row(&world, sub)["parent_session_id"], CODEX);
}

#[test]
fn a_compressed_one_that_is_damaged_fails_and_says_so_until_it_is_mended() {
    // A frame that asks for a window of 2 GB, with a raw block of five bytes.
    let greedy = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o'];
    let whole = zstd::encode_all(fixture("usual").as_bytes(), 3).unwrap();
    for (what, damaged) in
        [("truncated", &whole[..whole.len() / 2]), ("garbage", &b"no zstd at all"[..]), ("greedy", &greedy[..])]
    {
        let world = World::new();
        let packed = rollout(&world, CODEX).with_extension("jsonl.zst");
        fs::write(&packed, damaged).unwrap();
        let missed = world.search("harbour");
        assert_eq!(missed["freshness"]["failed"], serde_json::json!([CODEX]), "{what}: {missed}");
        let shown = row(&world, CODEX);
        assert_eq!((shown["state"].as_str(), shown["message_count"].as_u64()), (Some("failed"), Some(0)), "{what}");
        assert!(world.problems().contains(CODEX), "{what}: {}", world.problems());
        let position = world.search("harbour")["freshness"]["position"].clone();
        for _ in 0..3 {
            assert_eq!(world.search("harbour")["freshness"]["position"], position, "{what}: asking leaves no trace");
        }
        let closed = world.close_fails(&[CODEX]);
        assert!(closed["message"].as_str().unwrap().contains("damaged"), "{what}: {closed}");
        fs::write(&packed, &whole).unwrap();
        assert_eq!(world.found("harbour"), [CODEX], "{what}");
        assert_eq!(world.problems(), "[]", "{what}");
    }
}

#[test]
fn sessions_of_two_agents_with_one_id_are_distinguished() {
    let world = World::new();
    world.transcript("-one", CODEX).prompt("the pilot boat").reply("yes");
    assert_eq!(world.found("pilot"), [CODEX]);
    fs::write(rollout(&world, CODEX), fixture("usual")).unwrap();
    assert_eq!(world.found("harbour"), Vec::<String>::new());
    assert_eq!(row(&world, CODEX)["agent"], "claude_code");
    let problems = world.problems();
    assert!(
        problems.contains("Claude Code has a session with the same id") && problems.contains("rollout-"),
        "{problems}"
    );
}

/// A session that started just now.
fn begun(world: &World, session: &str) -> PathBuf {
    let path = rollout(world, session);
    let at = now().to_string();
    let payload = serde_json::json!({ "id": session, "cwd": "/srv/one", "timestamp": at });
    let meta = serde_json::json!({ "timestamp": at, "type": "session_meta", "payload": payload });
    let told = said("the harbour is open").replace("2026-06-17T10:00:00.000Z", &at);
    fs::write(&path, format!("{meta}\n{told}")).unwrap();
    path
}

#[test]
fn sessions_that_only_the_calls_of_a_server_name_are_over_when_it_is_gone() {
    let world = World::new();
    let (one, two, uncalled) = (CODEX, "019ed50c-2fb3-7002-a384-000000000007", "019ed50c-2fb3-7002-a384-000000000009");
    for session in [one, two, uncalled] {
        begun(&world, session);
    }
    world.ok(&["sessions"]);
    let mut server = Lines::start(&world);
    server.greet("2025-06-18");
    for (number, session) in [one, two, one].into_iter().enumerate() {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": {
            "name": "session_tracking_status", "arguments": {}, "_meta": {"sessionId": session, "threadId": session},
        }});
        assert!(server.ask(&call)["result"].is_object());
    }
    let is_told = |session: &str| world.ok(&["explain", session]).out.contains("mcp_disconnect");
    let present = || world.json(&["status"])["hooks"]["present"].as_u64();
    assert!(wait(|| present() == Some(2)), "{:?} are there", present());
    assert!(![one, two, uncalled].into_iter().any(is_told), "the server is there");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(wait(|| is_told(one) && is_told(two)), "{}", world.log());
    assert!(!is_told(uncalled), "no call has named it");
}

#[test]
fn a_hook_of_codex_ends_its_session() {
    let world = World::new();
    let path = begun(&world, CODEX);
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let mut hook = |event: &str, more: &str| {
        let params = serde_json::json!({
            "id": event, "event": event, "at": now().0, "session_id": CODEX, "transcript_path": path, "cwd": "/srv/one",
            "detail": more, "wait_ms": 100,
        });
        raw.call(&serde_json::json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": params}))["result"].clone()
    };
    assert_eq!(hook("SessionStart", "startup")["status"], "recorded");
    assert_eq!(hook("SessionEnd", "other")["status"], "recorded");
    assert!(wait(|| row(&world, CODEX)["state"] == "indexed"), "{}", row(&world, CODEX));
    assert_eq!(row(&world, CODEX)["close_reason"], "hook_other");
}

#[test]
fn what_was_decided_in_codex_is_recalled_in_claude_code() {
    const TIDE: &str = "/home/dev/projects/tide";
    let world = World::new();
    let decided = "We decided to keep the tide table in parquet instead of CSV, because it is ten times smaller.";
    let content = json!([{ "type": "output_text", "text": decided }]);
    let reply = json!({ "timestamp": "2026-06-17T10:00:01.000Z", "type": "response_item",
                        "payload": { "type": "message", "role": "assistant", "content": content } });
    let told = fixture("usual") + &said("In which format do we keep the table?") + &format!("{reply}\n");
    fs::write(rollout(&world, CODEX), told).unwrap();
    world.close(CODEX);
    // The session that asks has said nothing of it.
    world.transcript("-tide", &id(1)).in_directory(TIDE).prompt("Write the importer").reply("Which format?");
    world.close(&id(1));
    let agent = Agent::start(&world);
    let answer = agent.call("recall", json!({ "query": "why did we choose parquet?", "project": TIDE })).ok();
    let entries = list(&answer["answer"]);
    let decision = entries.iter().find(|entry| entry["kind"] == "decision").unwrap_or_else(|| panic!("{answer}"));
    assert!(text(&decision["text"]).contains("parquet instead of CSV"), "{answer}");
    assert_eq!(decision["session_id"], CODEX);
    // The agent can be named, as in the commands.
    let sessions = |agent_name: &str| {
        let days = list(&agent.call("timeline", json!({ "project": TIDE, "agent": agent_name })).ok()["days"]);
        let all = days.iter().flat_map(|day| list(&day["sessions"]));
        all.map(|session| text(&session["session_id"])).collect::<Vec<_>>()
    };
    assert_eq!((sessions("codex"), sessions("Claude-Code")), (vec![CODEX.to_owned()], vec![id(1)]));
    assert_eq!(sessions("").len(), 2);
    assert_eq!(agent.call("patterns", json!({ "agent": "codex" })).ok()["agent"], "codex");
    let wrong = agent.call("timeline", json!({ "agent": "emacs" })).refused();
    assert!(wrong.contains("expected an agent: claude_code, codex"), "{wrong}");
    agent.end();
}
