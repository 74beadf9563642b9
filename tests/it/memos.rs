//! What agents add to the memory and delete from it through their tools: durable once answered, found by the next call,
//! and unchanged whatever happens to the daemon, the memory and the home.

mod facts;

use std::fs;

use serde_json::{Value, json};

use crate::forget::found_in;
use crate::mcp::agent::Agent;
use crate::record::memory;
use crate::world::{World, hits, id, list, text, wait};

fn add(agent: &Agent, name: &str, body: &str) -> String {
    let added = agent.call("add_memory", json!({"name": name, "episode_body": body})).ok();
    assert_eq!(added["status"], "added", "{added}");
    text(&added["episode_uuid"])
}

/// The names of all episodes, newest first.
fn episodes(agent: &Agent, arguments: Value) -> Vec<String> {
    let told = agent.call("get_episodes", arguments).ok();
    list(&told["episodes"]).iter().map(|episode| text(&episode["name"])).collect()
}

/// True if the note is found. Asserts that listing, search and `show` agree.
fn is_there(world: &World, uuid: &str, word: &str) -> bool {
    let key = format!("memory:{uuid}");
    let agent = Agent::start(world);
    let listed = list(&agent.call("get_episodes", json!({})).ok()["episodes"]).iter().any(|it| it["uuid"] == *uuid);
    agent.end();
    let found = world.found(word) == [key.as_str()];
    let shown = world.run(&["show", uuid, "--json"]).code == 0 && world.run(&["show", &key, "--json"]).code == 0;
    assert!(listed == found && found == shown, "listed {listed}, found {found}, shown {shown}");
    listed
}

#[test]
fn what_is_added_is_found_by_the_next_call_and_survives_everything() {
    let world = World::new();
    let agent = Agent::start(&world);
    let uuid = add(&agent, "Deploys", "Never deploy the pangolin on a Friday.\nSee src/deploy.rs and #42.");
    let nodes = agent.call("search_nodes", json!({"query": "deploy.rs"})).ok();
    let node = &list(&nodes["nodes"])[0];
    assert_eq!((&node["name"], &node["labels"][1]), (&json!("src/deploy.rs"), &json!("File")), "{nodes}");
    let hit = hits(&world.search("pangolin"))[0].clone();
    let expected =
        (&json!("episode"), &json!(uuid), &json!(format!("memory:{uuid}")), &json!("text"), &json!("Deploys"));
    let told = (&hit["kind"], &hit["episode_uuid"], &hit["session_id"], &hit["source"], &hit["title"]);
    assert_eq!(told, expected, "{hit}");
    assert!(text(&hit["snippet"]).contains("pangolin") && hit["line"].is_null(), "{hit}");
    let shown = world.show(&uuid);
    assert_eq!(shown["episode"]["content"], "Never deploy the pangolin on a Friday.\nSee src/deploy.rs and #42.");
    assert_eq!(shown["source"], "text", "{shown}");
    assert_eq!(shown["group_id"], *world.path("work").canonicalize().unwrap().to_str().unwrap(), "its project");
    // The answer came after the write: nothing else was done to make it durable.
    world.kill();
    drop(agent);
    assert!(is_there(&world, &uuid, "pangolin"), "killed");
    world.stop();
    let before = memory(world.home());
    assert!(is_there(&world, &uuid, "pangolin"), "started anew");
    world.stop();
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert!(is_there(&world, &uuid, "pangolin"), "the memory built anew");
    world.stop();
    assert_eq!(memory(world.home()), before, "I-5");

    let file = world.path("all.jsonl");
    let file = file.to_str().unwrap();
    world.ok(&["log", "export", "-o", file]);
    let verified = world.json(&["log", "verify"]);
    assert_eq!((&verified["clean"], &verified["complete"]), (&json!(true), &json!(true)), "{verified}");
    let other = World::new();
    other.ok(&["log", "import", file]);
    assert!(is_there(&other, &uuid, "pangolin"), "imported");
    other.stop();
    assert_eq!(memory(other.home()), before);
    let (one, two) = (world.json(&["log", "stats"]), other.json(&["log", "stats"]));
    assert_eq!((&one["state_hash"], &one["position"]), (&two["state_hash"], &two["position"]));
    let replayed = world.ok(&["replay", file]);
    assert!(
        replayed.out.contains("told: text of") && replayed.out.contains(&text(&one["state_hash"])),
        "{}",
        replayed.out
    );
    assert!(!replayed.out.contains("pangolin") && !replayed.out.contains("Deploys"), "no words in events");
}

#[test]
fn the_same_note_again_is_one_and_a_uuid_is_replaced() {
    let world = World::new();
    let agent = Agent::start(&world);
    let note = json!({"name": "Rule", "episode_body": "Tabs, said the okapi.", "group_id": "house-rules"});
    let first = agent.call("add_memory", note.clone()).ok();
    let again = agent.call("add_memory", note).ok();
    assert_eq!((&first["episode_uuid"], &again["status"]), (&again["episode_uuid"], &json!("unchanged")), "{again}");
    let uuid = "0c4d7e61-2c39-4a3b-9a0e-8d5b3c1f7a22";
    let mine = |body: &str| {
        let arguments = json!({"name": "Mine", "episode_body": body, "uuid": uuid, "group_id": "house-rules",
            "source": "message", "source_description": "stand-up", "reference_time": "2026-03-14", "saga": "s",
            "update_communities": true});
        agent.call("add_memory", arguments).ok()
    };
    let added = mine("okapi: spaces");
    assert_eq!((&added["status"], &added["episode_uuid"]), (&json!("added"), &json!(uuid)));
    assert_eq!(added["ignored"], json!(["saga", "update_communities"]), "{added}");
    assert_eq!(mine("okapi: spaces")["status"], "unchanged");
    assert_eq!(mine("dugong: spaces")["status"], "replaced");
    assert_eq!(world.found("dugong"), [format!("memory:{uuid}")]);
    assert_eq!(world.found("okapi"), [format!("memory:{}", text(&first["episode_uuid"]))]);
    assert_eq!(episodes(&agent, json!({"group_id": "house-rules", "last_n": 5})), ["Mine", "Rule"]);
    let told = agent.call("get_episodes", json!({"last_n": 1})).ok();
    let entry = &told["episodes"][0];
    assert_eq!((&entry["source"], &entry["source_description"]), (&json!("message"), &json!("stand-up")), "{entry}");
    let next = agent.call("get_episodes", json!({"last_n": 1, "cursor": told["next_cursor"]})).ok();
    assert_eq!(next["episodes"][0]["name"], "Rule", "{next}");
    let project = world.json(&["search", "dugong", "--project", "house-rules"]);
    assert_eq!(hits(&project).len(), 1);
    // The replaced words leave every file, if a moment later.
    agent.end();
    world.stop();
    assert_eq!(found_in(world.home(), &["okapi: spaces"]), [""; 0]);
}

#[test]
fn a_note_is_deleted_when_its_words_have_left_every_file() {
    let world = World::new();
    let agent = Agent::start(&world);
    // Added together, they share a segment.
    let notes = ["binturong", "quetzal", "okapi"].map(|word| add(&agent, word, &format!("the {word} is here")));
    let stated = agent.call(
        "add_triplet",
        json!({"source_node_name": "flamingo", "edge_name": "LIVES_IN",
        "target_node_name": "zanzibar", "fact": "flamingo lives in zanzibar", "group_id": "zoo"}),
    );
    let fact = stated.ok()["edges"][0]["uuid"].clone();
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found("quetzal").len(), 1);
    agent.call("delete_episode", json!({"uuid": notes[0]})).ok();
    assert_eq!(found_in(world.home(), &["binturong"]), [""; 0]);
    agent.call("delete_entity_edge", json!({"uuid": fact})).ok();
    assert_eq!(found_in(world.home(), &["flamingo"]), [""; 0]);
    assert_eq!(found_in(world.home(), &["quetzal", "okapi"]).len(), 2);
    agent.end();
}

#[test]
fn a_deleted_note_leaves_every_file_and_stays_deleted() {
    let world = World::new();
    let agent = Agent::start(&world);
    let stays = add(&agent, "Stays", "the quetzal stays");
    let uuid = add(&agent, "Goes", "the binturong goes");
    let deleted = agent.call("delete_episode", json!({"uuid": uuid})).ok();
    assert!(text(&deleted["message"]).contains("deleted successfully"), "{deleted}");
    assert!(!is_there(&world, &uuid, "binturong"));
    agent.call("delete_episode", json!({"uuid": uuid})).ok();
    assert_eq!(agent.call("search_nodes", json!({"query": "binturong"})).ok()["nodes"], json!([]));
    agent.end();
    world.stop();
    assert_eq!(found_in(world.home(), &["binturong"]), [""; 0]);
    assert_eq!(found_in(world.home(), &["quetzal"]).len(), 1);
    for way in ["restart", "rebuild", "import"] {
        let file = world.path("all.jsonl");
        match way {
            "rebuild" => fs::remove_dir_all(world.home().join("memory")).unwrap(),
            "import" => {
                world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
                let other = World::new();
                other.ok(&["log", "import", file.to_str().unwrap()]);
                assert!(!is_there(&other, &uuid, "binturong") && is_there(&other, &stays, "quetzal"), "{way}");
                assert_eq!(other.json(&["log", "verify"])["clean"], true);
                continue;
            }
            _ => {}
        }
        assert!(!is_there(&world, &uuid, "binturong") && is_there(&world, &stays, "quetzal"), "{way}");
        world.stop();
    }
    // Adding it again restores it.
    let agent = Agent::start(&world);
    assert_eq!(add(&agent, "Goes", "the binturong goes"), uuid);
    assert!(is_there(&world, &uuid, "binturong"));
    agent.end();
}

#[test]
fn a_deleted_episode_of_a_session_stays_deleted_until_its_content_changes() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("where does the axolotl live?").reply("In src/lake.rs, we decided.");
    world.transcript("-work-one", &id(2)).prompt("another axolotl").reply("yes");
    let (uuid, other) = (world.close(&id(1)), world.close(&id(2)));
    let agent = Agent::start(&world);
    let deleted = agent.call("delete_episode", json!({"uuid": uuid})).ok();
    assert!(text(&deleted["message"]).contains(&id(1)), "{deleted}");
    let gone = |world: &World, way: &str| {
        assert_eq!(world.found("axolotl"), [id(2)], "{way}");
        assert_eq!(world.found("lake"), [""; 0], "{way}");
        let shown = world.show(&id(1));
        assert_eq!((&shown["episode_uuid"], &shown["episode"]), (&Value::Null, &Value::Null), "{way}: {shown}");
        assert_eq!(shown["episode_deleted"], true, "{way}");
        let agent = Agent::start(world);
        assert_eq!(episodes(&agent, json!({})), ["session_00000002"], "{way}");
        assert_eq!(agent.call("search_nodes", json!({"query": "lake.rs"})).ok()["nodes"], json!([]), "{way}");
        agent.end();
    };
    gone(&world, "deleted");
    let again = agent.call("delete_episode", json!({"uuid": uuid})).ok();
    assert!(text(&again["message"]).contains("deleted"), "{again}");
    let closed = world.json(&["close", &id(1)]);
    assert_eq!((&closed["status"], &closed["episode_uuid"]), (&json!("success"), &Value::Null), "{closed}");
    assert!(text(&closed["message"]).contains("deleted"), "{closed}");
    gone(&world, "closed again");
    world.ok(&["reindex", "--all"]);
    gone(&world, "made anew");
    agent.end();
    world.kill();
    gone(&world, "killed");
    world.stop();
    let before = memory(world.home());
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    gone(&world, "the memory built anew");
    world.stop();
    assert_eq!(memory(world.home()), before, "I-5");
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let elsewhere = World::new();
    elsewhere.ok(&["log", "import", file.to_str().unwrap()]);
    gone(&elsewhere, "imported");
    let told = world.ok(&["explain", &id(1)]).out;
    assert!(told.contains(&format!("episode {uuid} deleted, until its content changes")), "{told}");
    // The session gets new content.
    transcript.prompt("and the capybara?").reply("no");
    assert_eq!(world.found("axolotl").len(), 2);
    assert!(world.show(&id(1))["episode_deleted"].is_null());
    // The old episode cannot be deleted any more, because another has replaced it.
    let agent = Agent::start(&world);
    let refused = agent.call("delete_episode", json!({"uuid": uuid})).refused();
    assert!(refused.contains("no episode"), "{refused}");
    agent.call("delete_episode", json!({"uuid": other})).ok();
    assert_eq!(world.found("axolotl"), [id(1)]);
    // Forgetting the session afterwards forgets all of it.
    world.ok(&["forget", &id(2), "--yes"]);
    agent.end();
}

#[test]
fn a_cleared_group_is_empty_until_something_new_comes() {
    let world = World::new();
    let mut one = world.transcript("-work-one", &id(1));
    one.prompt("the first narwhal").reply("yes");
    world.transcript("-work-two", &id(2)).prompt("the second narwhal").reply("yes");
    world.ok(&["sync"]);
    let agent = Agent::start(&world);
    let arguments = json!({"name": "N", "episode_body": "the third narwhal", "group_id": "-work-one"});
    let note = text(&agent.call("add_memory", arguments.clone()).ok()["episode_uuid"]);
    let asked = agent.call("clear_graph", json!({"group_ids": ["-work-one"]}));
    assert!(asked.is_error, "{asked:?}");
    assert_eq!((&asked.value["sessions"], &asked.value["notes"]), (&json!(1), &json!(1)), "{asked:?}");
    assert!(text(&asked.value["message"]).contains("confirm=true"), "{asked:?}");
    assert_eq!(world.found("narwhal").len(), 3);
    let cleared = agent.call("clear_graph", json!({"group_ids": "-work-one", "confirm": true})).ok();
    assert_eq!(cleared["cleared"], true, "{cleared}");
    let gone = |world: &World, way: &str| {
        assert_eq!(world.found("narwhal"), [id(2)], "{way}");
        let agent = Agent::start(world);
        assert_eq!(episodes(&agent, json!({})), ["session_00000002"], "{way}");
        agent.end();
        assert_ne!(world.run(&["show", &note, "--json"]).code, 0, "{way}");
    };
    gone(&world, "cleared");
    world.kill();
    gone(&world, "killed");
    world.stop();
    let before = memory(world.home());
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    gone(&world, "the memory built anew");
    world.stop();
    assert_eq!(memory(world.home()), before, "I-5");
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let other = World::new();
    other.ok(&["log", "import", file.to_str().unwrap()]);
    gone(&other, "imported");
    // Whatever is said or added from now on is kept.
    one.prompt("one more narwhal").reply("yes");
    assert_eq!(world.found("narwhal").len(), 2);
    let again = agent.call("add_memory", arguments).ok();
    assert_eq!((&again["status"], &again["episode_uuid"]), (&json!("added"), &json!(note)), "{again}");
    assert_eq!(world.found("narwhal").len(), 3);
    let all = agent.call("clear_graph", json!({"confirm": true})).ok();
    assert_eq!((&all["sessions"], &all["notes"]), (&json!(2), &json!(1)), "{all}");
    assert_eq!(world.found("narwhal"), [""; 0]);
    let status = agent.call("get_status", json!({})).ok();
    assert_eq!(
        (&status["status"], &status["episodes"], &status["notes"]),
        (&json!("ok"), &json!(0), &json!(0)),
        "{status}"
    );
    agent.end();
}

#[test]
fn what_cannot_be_kept_is_refused_and_no_secret_is_kept() {
    const SECRET: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";
    let world = World::new();
    let agent = Agent::start(&world);
    let refused = |change: Value, says: &str| {
        let mut arguments = json!({"name": "n", "episode_body": "b"});
        for (key, value) in change.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        let why = agent.call("add_memory", arguments).refused();
        assert!(why.contains(says) && !why.contains(SECRET), "{change}: {why}");
    };
    refused(json!({"episode_body": "x".repeat(300_000)}), "262144");
    refused(json!({"episode_body": "<private>all of it"}), "episode_body");
    refused(json!({"uuid": "not-a-uuid"}), "not a uuid");
    refused(json!({"group_id": "../../etc"}), "no name for a group");
    refused(json!({"group_id": "a b"}), "no name for a group");
    refused(json!({"group_id": SECRET}), "looks like a secret");
    refused(json!({"source": "song"}), "there are text, json and message");
    refused(json!({"source": "json", "episode_body": "{"}), "not JSON");
    refused(json!({"reference_time": "some day"}), "not a time");
    refused(json!({"name": "n".repeat(500)}), "200");
    refused(json!({"bogus": 1}), "no argument");
    for (tool, arguments, says) in [
        ("delete_episode", json!({"uuid": "x"}), "not a uuid"),
        ("delete_episode", json!({"uuid": "0c4d7e61-2c39-4a3b-9a0e-8d5b3c1f7a22"}), "no episode"),
        ("clear_graph", json!({"group_ids": ["nobody"], "confirm": true}), "nobody"),
    ] {
        let why = agent.call(tool, arguments.clone()).refused();
        assert!(why.contains(says), "{tool} {arguments}: {why}");
    }
    let uuid = add(
        &agent,
        &format!("Key {SECRET}"),
        &format!("tapir\u{0}\u{7}\u{1b}[31m {SECRET}\npassword=hunter2hunter2 <private>gharial</private> end"),
    );
    let shown = world.show(&uuid);
    assert!(text(&shown["episode"]["content"]).contains("[redacted:"), "{shown}");
    assert_eq!(world.found("tapir"), [format!("memory:{uuid}")]);
    let json = json!({"name": "J", "episode_body": format!("{{\"api_key\": \"{SECRET}\"}}"), "source": "json"});
    agent.call("add_memory", json).ok();
    agent.end();
    world.stop();
    let secrets = [SECRET, "hunter2hunter2", "gharial"];
    assert_eq!(found_in(world.home(), &secrets), [""; 0]);
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let exported = fs::read_to_string(&file).unwrap();
    assert!(secrets.iter().all(|secret| !exported.contains(secret)) && exported.contains("tapir"));
    World::new().ok(&["log", "import", file.to_str().unwrap()]);
}

#[test]
fn a_project_that_is_forgotten_takes_what_was_added_to_it_along() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the first markhor").reply("yes");
    world.ok(&["sync"]);
    let agent = Agent::start(&world);
    for (name, group) in [("goes", "-work-one"), ("stays", "elsewhere")] {
        let note = json!({"name": name, "episode_body": format!("a markhor that {name}"), "group_id": group});
        agent.call("add_memory", note).ok();
    }
    let would = world.json(&["forget", "--project=-work-one", "--dry-run"]);
    assert_eq!((&would["notes"], list(&would["sessions"]).len()), (&json!(1), 1), "{would}");
    let done = world.json(&["forget", "--project=-work-one", "--yes"]);
    assert_eq!((&done["status"], &done["notes"]), (&json!("success"), &json!(1)), "{done}");
    assert!(text(&done["message"]).contains("gone for good"), "{done}");
    assert_eq!(episodes(&agent, json!({})), ["stays"]);
    agent.end();
    world.kill();
    assert_eq!(found_in(world.home(), &["that goes", "first markhor"]), [""; 0]);
    assert_eq!(found_in(world.home(), &["that stays"]).len(), 1);
}

#[test]
fn words_that_were_never_recorded_are_gone_after_the_next_start_and_others_stay() {
    let world = World::new();
    let agent = Agent::start(&world);
    let uuid = add(&agent, "Deploys", "Never deploy the pangolin on a Friday.");
    drop(agent);
    world.stop();
    let blobs = world.home().join("blobs");
    let stray = |name: &str, file: &str| {
        let folder = blobs.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), "the numbat was never recorded").unwrap();
        folder
    };
    let hash = "0123456789abcdef".repeat(4);
    let words = stray("x-00112233445566778899aabbccddeeff", &format!("{hash}.note"));
    let other = stray("x-ffeeddccbbaa99887766554433221100", "something.else");
    assert!(is_there(&world, &uuid, "pangolin"));
    assert!(wait(|| !words.exists()), "{words:?}");
    assert!(other.exists() && is_there(&world, &uuid, "pangolin"));
}

#[test]
fn a_note_is_explained_by_what_was_recorded_of_it() {
    let world = World::new();
    let agent = Agent::start(&world);
    let uuid = add(&agent, "Deploys", "Never deploy the pangolin on a Friday.");
    agent.end();
    for asked in [uuid.clone(), format!("memory:{uuid}")] {
        let explained = world.json(&["explain", &asked]);
        assert_eq!(
            (&explained["session_id"], &explained["source"]),
            (&json!(format!("memory:{uuid}")), &json!("text"))
        );
        let events = list(&explained["events"]);
        assert_eq!((events.len(), &events[0]["sequence"]), (1, &json!(1)), "{explained}");
        assert!(!explained.to_string().contains("pangolin"), "no word of it is in the log");
        assert_eq!(explained["owed"], json!([]));
    }
    assert!(world.ok(&["explain", &uuid]).out.contains("memory:"), "told to a person");
}
