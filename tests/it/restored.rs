//! Deleted or cleared content is found again when a person asks for it, and stays whatever happens to daemon, memory
//! and home.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;

use baton_conversation::record::{CommandId, SessionId, StreamId};
use baton_events::session::Event;
use baton_events::{memo, schema};
use serde_json::{Value, json};

use crate::forget::found_in;
use crate::mcp::agent::Agent;
use crate::newer::append;
use crate::record::memory;
use crate::sockets::Raw;
use crate::world::{World, id, list, text};

fn undo(world: &World, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["forget", "--undo"].iter().chain(arguments).copied().collect();
    world.json(&all)
}

/// Asserts that a search finds this number of sessions and notes, now, after a kill, after the memory is rebuilt, and
/// in a home imported from an export.
fn check(world: &World, word: &str, expected: usize, way: &str) {
    assert_eq!(world.found(word).len(), expected, "{way}");
    world.kill();
    assert_eq!(world.found(word).len(), expected, "{way}, killed");
    world.stop();
    let before = memory(world.home());
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found(word).len(), expected, "{way}, the memory built anew");
    world.stop();
    assert_eq!(memory(world.home()), before, "I-5: {way}");
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let other = World::new();
    other.ok(&["log", "import", file.to_str().unwrap()]);
    assert_eq!(other.found(word).len(), expected, "{way}, imported");
    assert_eq!(other.json(&["log", "verify"])["clean"], true, "{way}");
}

#[test]
fn a_deleted_episode_comes_back_when_a_person_says_so() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("where does the axolotl live?").reply("In src/lake.rs.");
    let uuid = world.close(&id(1));
    let agent = Agent::start(&world);
    let deleted = agent.call("delete_episode", json!({"uuid": uuid})).ok();
    assert!(text(&deleted["message"]).contains(&format!("baton forget --undo {}", id(1))), "{deleted}");
    agent.end();
    for (arguments, says) in [
        (["show", &id(1)], "baton forget --undo"),
        (["explain", &id(1)], "its episode was deleted"),
        (["close", &id(1)], "baton forget --undo"),
    ] {
        let told = world.ok(&arguments).out;
        assert!(told.contains(says) && !told.contains("No episode yet"), "{arguments:?}: {told}");
    }
    let dry = undo(&world, &[&id(1), "--dry-run"]);
    assert_eq!((&dry["found_again"], world.found("axolotl").len()), (&json!(1), 0), "{dry}");
    let back = undo(&world, &[&id(1)]);
    assert_eq!((&back["status"], &back["found_again"]), (&json!("success"), &json!(1)), "{back}");
    assert_eq!(world.show(&id(1))["episode_uuid"], json!(uuid), "the same episode");
    check(&world, "axolotl", 1, "deleted and back");
    let told = world.ok(&["explain", &id(1)]).out;
    assert!(told.contains(&format!("episode {uuid} is found again")), "{told}");
    let again = world.run(&["forget", "--undo", &id(1)]);
    assert!(again.code != 0 && again.err.contains("neither forgotten nor deleted"), "{}", again.err);
}

/// The daemon's answer to a request with this id.
fn asked(world: &World, request: &str, mut params: Value) -> Value {
    params["command_id"] = json!(request);
    world.ok(&["status"]);
    Raw::greeted(world).call(&json!({"jsonrpc": "2.0", "id": 2, "method": "forget", "params": params}))
}

#[test]
fn a_request_that_comes_again_gets_the_first_answer_and_another_one_its_own() {
    let world = World::new();
    for number in [1, 2] {
        world.transcript("-work-one", &id(number)).prompt("where does the axolotl live?").reply("In src/lake.rs.");
        world.close(&id(number));
    }
    let agent = Agent::start(&world);
    let told_again = json!({"name": "N", "episode_body": "the okapi goes", "group_id": "zoo"});
    let note = text(&agent.call("add_memory", told_again.clone()).ok()["episode_uuid"]);
    agent.call("delete_episode", json!({"uuid": world.show(&id(2))["episode_uuid"]})).ok();
    agent.end();
    for (request, params, told) in [
        ("find", json!({"sessions": [id(2)], "undo": true}), "1 thing that was deleted or cleared is found again"),
        ("forget", json!({"sessions": [id(1)]}), "1 session forgotten:"),
        ("restore", json!({"sessions": [id(1)], "undo": true}), "1 session no longer forgotten"),
        ("forget all", json!({"project": "-work-one"}), "2 sessions forgotten:"),
        ("restore all", json!({"project": "-work-one", "undo": true}), "2 sessions no longer forgotten"),
        ("note", json!({"sessions": [note]}), "1 note deleted for good"),
    ] {
        let first = asked(&world, request, params.clone());
        assert!(text(&first["result"]["message"]).starts_with(told), "{request}: {first}");
        // As a command does that finds its daemon killed.
        world.kill();
        let again = asked(&world, request, params.clone());
        for field in ["status", "message", "notes", "found_again"] {
            assert_eq!(again["result"][field], first["result"][field], "{request}: {again}");
        }
        let other = asked(&world, "another one", params);
        assert_ne!(other["result"]["message"], first["result"]["message"], "{request}: {other}");
    }
    // Repeating an answered request does not undo what others have done since.
    let agent = Agent::start(&world);
    assert_eq!(agent.call("add_memory", told_again).ok()["episode_uuid"], json!(note));
    agent.end();
    for (request, params) in [("forget", json!({"sessions": [id(1)]})), ("note", json!({"sessions": [note]}))] {
        assert_eq!(asked(&world, request, params)["result"]["status"], "success", "{request}");
    }
    assert_eq!(world.found("axolotl").len(), 2);
    assert_eq!(world.found("okapi"), [format!("memory:{note}")]);
    world.stop();
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!((world.found("axolotl").len(), world.found("okapi").len()), (2, 1), "nor in its files");
}

#[test]
fn a_command_whose_daemon_is_killed_over_it_asks_again_with_its_id() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("where does the axolotl live?").reply("In src/lake.rs.");
    world.close(&id(1));
    world.ok(&["forget", "--yes", &id(1)]);
    world.stop();
    let socket = world.home().join("baton.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // A daemon that records the request and ends without an answer.
    let killed = || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap() > 0 {
            let request: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            if request["method"] == "forget" {
                let cause = CommandId::new(&text(&request["params"]["command_id"]));
                let event = schema::session::encode(&Event::Restored { generation: 2, file_exists: true });
                let stream = StreamId::session(&SessionId::new(&id(1)).unwrap());
                append(&world, stream, event.kind, &event.data, Some(cause));
                break;
            }
            let welcome =
                json!({"jsonrpc": "2.0", "id": request["id"], "result": {"protocol": 1, "version": "0", "pid": 0}});
            writeln!(stream.get_mut(), "{welcome}").unwrap();
        }
        fs::remove_file(&socket).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(killed);
        let told = undo(&world, &[&id(1)]);
        assert_eq!(told["status"], "success", "{told}");
        assert!(text(&told["message"]).starts_with("1 session no longer forgotten"), "{told}");
    });
    assert_eq!(world.found("axolotl"), [id(1)]);
}

#[test]
fn a_note_that_a_killed_daemon_has_deleted_is_wiped_before_it_is_said_to_be_gone() {
    let world = World::new();
    let agent = Agent::start(&world);
    let add = |body: &str| agent.call("add_memory", json!({"name": "N", "episode_body": body, "group_id": "zoo"})).ok();
    let (goes, stays) = (text(&add("the okapi goes")["episode_uuid"]), add("the dugong stays"));
    agent.end();
    world.stop();
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found("okapi").len(), 1, "both in one segment");
    world.stop();
    // As if killed after that event was recorded and before anything else was done.
    let deleted = schema::memo::encode(&memo::Event::Deleted);
    let stream = StreamId::memo(goes.parse().unwrap());
    append(&world, stream, deleted.kind, &deleted.data, Some(CommandId::new("forget it")));
    let told = asked(&world, "forget it", json!({"sessions": [goes]}));
    assert_eq!(told["result"]["status"], "success", "{told}");
    assert_eq!(found_in(world.home(), &["okapi"]), [""; 0]);
    assert_eq!(found_in(world.home(), &["dugong"]).len(), 1, "{stays}");
    let other = asked(&world, "another one", json!({"sessions": [goes]}));
    assert!(text(&other["error"]["message"]).contains("no session"), "{other}");
}

#[test]
fn a_cleared_group_and_all_that_was_cleared_come_back() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the first narwhal").reply("yes");
    world.transcript("-work-two", &id(2)).prompt("the second narwhal").reply("yes");
    world.ok(&["sync"]);
    // An unread transcript is cleared as well.
    world.transcript("-work-one", &id(3)).prompt("the last narwhal").reply("yes");
    let agent = Agent::start(&world);
    agent.call("add_memory", json!({"name": "N", "episode_body": "the third narwhal", "group_id": "-work-one"})).ok();
    let cleared = agent.call("clear_graph", json!({"group_ids": "-work-one", "confirm": true})).ok();
    assert_eq!((&cleared["sessions"], &cleared["notes"]), (&json!(2), &json!(1)), "{cleared}");
    assert!(text(&cleared["message"]).contains("baton forget --undo --project"), "{cleared}");
    assert_eq!(world.found("narwhal"), [id(2)]);
    let told = world.ok(&["explain", &id(1)]).out;
    assert!(told.contains("was cleared (`clear_graph`)"), "{told}");
    undo(&world, &["--project=-work-one"]);
    check(&world, "narwhal", 4, "a group");
    // A single session, in a group that stays cleared.
    let cleared = agent.call("clear_graph", json!({"confirm": true})).ok();
    assert_eq!((&cleared["sessions"], &cleared["notes"]), (&json!(3), &json!(1)), "{cleared}");
    assert_eq!(world.found("narwhal"), [""; 0]);
    // A change of the group does not bring back what was cleared with everything.
    agent.call("track_session", json!({"session_id": id(1), "group_id": "elsewhere"})).ok();
    assert_eq!(world.found("narwhal"), [""; 0]);
    undo(&world, &[&id(2)]);
    assert_eq!(world.found("narwhal"), [id(2)]);
    let back = undo(&world, &["--all"]);
    assert_eq!(back["found_again"], 3, "{back}");
    check(&world, "narwhal", 4, "all");
    agent.end();
}

#[test]
fn a_deleted_fact_is_hidden_and_comes_back() {
    let world = World::new();
    let agent = Agent::start(&world);
    let triplet = json!({"source_node_name": "flamingo", "edge_name": "PREFERS", "target_node_name": "zanzibar",
        "fact": "flamingo is deployed on host zanzibar", "group_id": "zoo"});
    let stated = agent.call("add_triplet", triplet.clone()).ok();
    let fact = text(&stated["edges"][0]["uuid"]);
    let facts = |query: Value| list(&agent.call("search_memory_facts", query).ok()["facts"]).len();
    assert_eq!(facts(json!({"query": "zanzibar", "edge_types": ["PREFERS"]})), 1, "a name that is one of ours too");
    let deleted = agent.call("delete_entity_edge", json!({"uuid": fact})).ok();
    assert!(text(&deleted["message"]).contains("add_triplet"), "{deleted}");
    // Neither is it found as a note.
    assert_eq!((facts(json!({"query": "zanzibar"})), world.found("zanzibar").len()), (0, 0));
    assert_eq!(agent.call("search_nodes", json!({"query": "zanzibar"})).ok()["nodes"], json!([]));
    agent.call("add_triplet", triplet).ok();
    assert_eq!(facts(json!({"query": "zanzibar"})), 1);
    // A fact from a note: the note stays, and the fact comes back.
    let note = json!({"name": "Deploys", "episode_body": "The capybara is deployed on Tuesdays.", "group_id": "zoo"});
    let note = text(&agent.call("add_memory", note).ok()["episode_uuid"]);
    let found = agent.call("search_memory_facts", json!({"query": "capybara Tuesdays"})).ok();
    assert_eq!(list(&found["facts"])[0]["fact"], "Deploys: The capybara is deployed on Tuesdays.", "{found}");
    let fact = text(&found["facts"][0]["uuid"]);
    let deleted = agent.call("delete_entity_edge", json!({"uuid": fact})).ok();
    assert!(text(&deleted["message"]).contains(&note), "{deleted}");
    assert_eq!((facts(json!({"query": "capybara"})), world.found("capybara").len()), (0, 1));
    let back = undo(&world, &[&fact]);
    assert_eq!((&back["found_again"], facts(json!({"query": "capybara"}))), (&json!(1), 1), "{back}");
    agent.end();
}

#[test]
fn a_note_is_named_by_the_beginning_of_its_uuid() {
    let world = World::new();
    let agent = Agent::start(&world);
    let note = json!({"name": "Pref", "episode_body": "The user prefers tabs over the quokka.", "group_id": "zoo"});
    let uuid = text(&agent.call("add_memory", note).ok()["episode_uuid"]);
    agent.end();
    let short = &uuid[..8];
    let printed = world.ok(&["search", "quokka"]).out;
    assert!(printed.contains(short) && !printed.contains("memory:"), "{printed}");
    for named in [short.to_owned(), format!("memory:{}", &uuid[..4]), uuid.clone()] {
        assert_eq!(world.show(&named)["episode_uuid"], json!(uuid), "{named}");
        let said = world.json(&["show", &named, "--messages"]);
        assert!(said.to_string().contains("quokka"), "{named}: {said}");
    }
    let shown = world.ok(&["show", short]).out;
    assert!(!shown.contains("summary by a model") && !shown.contains("messages"), "{shown}");
    let gone = world.json(&["forget", short, "--yes"]);
    assert_eq!((&gone["status"], &gone["notes"]), (&json!("success"), &json!(1)), "{gone}");
    assert_eq!(world.found("quokka"), [""; 0]);
    let back = world.run(&["forget", "--undo", &uuid]);
    assert!(back.code != 0 && back.err.contains("nowhere any more"), "{}", back.err);
}
