//! Files of one family: forks, copies, subagents. What they repeat is found and counted once.

use serde_json::{Value, json};

use crate::mcp::agent::Agent;
use crate::transcript::Transcript;
use crate::world::{World, hits, id, list, text};

/// An indexed session of two exchanges.
fn base(world: &World) -> Transcript {
    let mut base = world.transcript("-work-base", &id(1));
    base.prompt("why does the zebra parser fail").reply("The zebra parser reads one byte too many.");
    base.prompt("then mend the lexer of the zebra").reply("Mended: the lexer stops at the end.");
    world.close(&id(1));
    base
}

/// Another session that begins as a copy of the file, as `--fork-session` makes it: all records that have an id, each
/// with the new session's id.
pub(crate) fn fork(world: &World, base: &Transcript, session: &str, change: impl Fn(&mut Value)) -> Transcript {
    let fork = world.transcript("-work-base", session);
    let copied = std::fs::read_to_string(base.path()).unwrap();
    let lines = copied.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut text = String::new();
    for mut record in lines.filter(|record| record.get("uuid").is_some()) {
        record["sessionId"] = session.into();
        change(&mut record);
        text += &format!("{record}\n");
    }
    std::fs::write(fork.path(), text).unwrap();
    fork
}

/// `name session` of each relation that `show` prints.
fn relations(world: &World, session: &str) -> Vec<String> {
    let shown = world.show(session);
    let told = list(&shown["relations"]);
    told.iter().map(|relation| format!("{} {}", text(&relation["name"]), text(&relation["session_id"]))).collect()
}

#[test]
fn a_fork_is_found_by_its_own_turns_only_and_counts_only_its_own() {
    let world = World::new();
    let base = base(&world);
    let mut fork = fork(&world, &base, &id(2), |_| {});
    assert_eq!(world.found("zebra lexer"), [id(1)], "nothing but copies: left out");
    fork.prompt("and now draw a giraffe").reply("A giraffe it is.");
    assert_eq!(world.found("zebra lexer"), [id(1)]);
    assert_eq!(world.found("giraffe"), [id(2)]);
    let turns: Vec<Value> = hits(&world.search("zebra")).into_iter().filter(|hit| hit["kind"] == "turn").collect();
    let mut lines: Vec<u64> = turns.iter().filter_map(|hit| hit["line"].as_u64()).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), turns.len(), "each turn once: {turns:?}");

    assert_eq!(relations(&world, &id(2)), [format!("continues {}", id(1))]);
    assert_eq!(relations(&world, &id(1)), [format!("continued_by {}", id(2))]);
    let shown = world.show(&id(2));
    assert_eq!(shown["relations"][0]["shared_records"], 4);
    let usage = &shown["usage"];
    assert_eq!((&usage["total"]["messages"], &usage["copied"]["messages"]), (&3.into(), &2.into()), "{usage}");
    assert_eq!(world.show(&id(1))["usage"]["copied"]["messages"], 0, "the elder has copied nothing");
    let human = world.ok(&["show", &id(2)]).out;
    assert!(human.contains("continues") && human.contains("copied"), "{human}");
}

#[test]
fn where_both_are_found_at_once_the_one_that_was_left_first_is_the_elder() {
    let world = World::new();
    let mut base = world.transcript("-work-base", &id(2));
    base.prompt("why does the zebra parser fail").reply("It reads one byte too many.");
    fork(&world, &base, &id(1), |_| {}).minutes_ago(0).prompt("now draw a giraffe").reply("A giraffe it is.");
    assert_eq!(world.found("zebra parser"), [id(2)]);
    assert_eq!(world.found("giraffe"), [id(1)]);
    assert_eq!(relations(&world, &id(1)), [format!("continues {}", id(2))]);
}

#[test]
fn the_fork_of_a_fork_continues_its_nearest_elder() {
    let world = World::new();
    let base = base(&world);
    let mut first = fork(&world, &base, &id(2), |_| {});
    first.prompt("draw a giraffe").reply("A giraffe it is.");
    world.close(&id(2));
    fork(&world, &first, &id(3), |_| {}).prompt("draw an okapi").reply("An okapi it is.");
    world.close(&id(3));
    assert_eq!(relations(&world, &id(3)), [format!("continues {}", id(2))]);
    assert_eq!(relations(&world, &id(2)), [format!("continues {}", id(1)), format!("continued_by {}", id(3))]);
    assert_eq!(relations(&world, &id(1)), [format!("continued_by {}", id(2))]);
    assert_eq!(world.found("giraffe"), [id(2)]);
}

#[test]
fn a_fork_with_ids_of_its_own_is_known_by_what_it_names() {
    let world = World::new();
    let base = base(&world);
    fork(&world, &base, &id(2), |record| {
        let message = record["uuid"].take();
        record["uuid"] = format!("new-{}", text(&message)).into();
        record["forkedFrom"] = json!({"sessionId": id(1), "messageUuid": message});
    });
    world.close(&id(2));
    assert_eq!(relations(&world, &id(2)), [format!("continues {}", id(1))]);
    assert_eq!(relations(&world, &id(1)), [format!("continued_by {}", id(2))]);
    let usage = world.show(&id(2))["usage"].clone();
    assert_eq!(usage["copied"]["messages"], usage["total"]["messages"], "{usage}");
    assert_eq!(world.show(&id(2))["relations"][0]["shared_records"], 4, "each copy is the record that it names");
    assert_eq!(world.found("zebra lexer"), [id(1)], "nothing but copies: left out");
}

#[test]
fn a_session_that_goes_on_elsewhere_says_where() {
    let world = World::new();
    let mut base = base(&world);
    base.append(&json!({"type": "continued-in", "sessionId": id(1), "continuedInSessionId": id(3)}));
    world.transcript("-work-base", &id(3)).prompt("go on in the background").reply("Going on.");
    world.close(&id(3));
    base.prompt("anything else").reply("No.");
    world.close(&id(1));
    assert_eq!(relations(&world, &id(1)), [format!("continued_by {}", id(3))]);
    assert_eq!(relations(&world, &id(3)), [format!("continues {}", id(1))]);
}

#[test]
fn what_show_tells_of_a_session_s_line_is_found_as_facts_of_the_graph() {
    let world = World::new();
    let base = base(&world);
    fork(&world, &base, &id(2), |_| {}).minutes_ago(-10).prompt("draw a giraffe").reply("A giraffe it is.");
    world.close(&id(2));
    world.transcript("-work-base", &id(3)).minutes_ago(-30).prompt("what about the okapi").reply("It rests.");
    world.close(&id(3));
    let shown = relations(&world, &id(2));
    assert_eq!(shown, [format!("continues {}", id(1)), format!("followed_by {}", id(3))]);

    let agent = Agent::start(&world);
    let asked = |agent: &Agent, tool: &str, arguments: Value| agent.call(tool, arguments).ok();
    let nodes = asked(&agent, "search_nodes", json!({"query": "session_00000002", "entity_types": ["Session"]}));
    let found = list(&nodes["nodes"]).into_iter().find(|node| node["name"] == "session_00000002").unwrap();
    let (node, episode) = (text(&found["uuid"]), text(&world.show(&id(2))["episode_uuid"]));
    let is_line = |fact: &Value| ["CONTINUED_BY", "PRECEDED_BY"].contains(&text(&fact["name"]).as_str());
    let told = |agent: &Agent| {
        let of_node = asked(agent, "search_memory_facts", json!({"query": "", "center_node_uuid": node}));
        let of_words = asked(agent, "search_memory_facts", json!({"query": format!("who goes on with {}", id(2))}));
        let of_kind = json!({"query": id(2), "edge_types": ["CONTINUED_BY", "PRECEDED_BY"], "max_facts": 1});
        let mut last = asked(agent, "search_memory_facts", of_kind.clone());
        let mut pages = list(&last["facts"]);
        while let Some(cursor) = last["next_cursor"].as_str().map(str::to_owned) {
            let mut next = of_kind.clone();
            next["cursor"] = cursor.into();
            last = asked(agent, "search_memory_facts", next);
            pages.extend(list(&last["facts"]));
        }
        let pages = Value::from(pages);
        let of_episode = asked(agent, "get_episode_entities", json!({"episode_uuids": [episode]}));
        [&of_node["facts"], &of_words["facts"], &pages, &of_episode["edges"]].map(|facts| {
            let mut facts: Vec<Value> = list(facts).into_iter().filter(is_line).collect();
            facts.sort_by_key(|fact| text(&fact["name"]));
            facts
        })
    };
    let before = told(&agent);
    for facts in &before {
        let told: Vec<String> = facts.iter().map(|fact| text(&fact["fact"])).collect();
        assert_eq!(
            told,
            ["session 00000001 goes on in session 00000002", "session 00000003 began after session 00000002"]
        );
        assert_eq!((&facts[0]["target_node_uuid"], &facts[1]["target_node_uuid"]), (&json!(node), &json!(node)));
    }
    let uuids: Vec<String> = before[0].iter().map(|fact| text(&fact["uuid"])).collect();
    for (uuid, fact) in uuids.iter().zip(&before[0]) {
        assert_eq!(asked(&agent, "get_entity_edge", json!({"uuid": uuid}))["fact"], fact["fact"]);
    }
    agent.end();

    // The same after the memory is rebuilt from the log.
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!(world.found("okapi"), [id(3)]);
    let agent = Agent::start(&world);
    let after = told(&agent);
    assert_eq!(uuids, after[0].iter().map(|fact| text(&fact["uuid"])).collect::<Vec<_>>());
    assert_eq!(before, after);

    agent.call("delete_entity_edge", json!({"uuid": uuids[1]})).ok();
    assert!(told(&agent).iter().all(|facts| facts.len() == 1), "what is deleted is told no more");
    assert!(agent.call("get_entity_edge", json!({"uuid": uuids[1]})).refused().contains("no fact"));
    world.ok(&["forget", "--undo", &uuids[1]]);
    assert_eq!(told(&agent), before);
    world.ok(&["forget", &id(3), "--yes"]);
    assert!(told(&agent).iter().all(|facts| facts.len() == 1), "nor what a forgotten session brought");
    agent.end();
}

#[test]
fn subagents_are_related_counted_apart_and_not_listed() {
    let world = World::new();
    let mut main = world.transcript("-work-base", &id(1));
    main.prompt("have the zebra looked at").call(
        "toolu_7",
        "Task",
        json!({"description": "look", "prompt": "look at it"}),
    );
    let folder = world.projects().join("-work-base").join(id(1)).join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    let mut agent =
        Transcript::new(folder.join("agent-a1b2c3d.jsonl"), "agent-a1b2c3d", "/srv/-work-base").of_subagent(&id(1));
    agent.prompt("look at it").reply("It is a zebra.").reply("Striped.");
    let secret = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(8));
    let meta = json!({"agentType": "Explore", "description": format!("look with {secret}"), "toolUseId": "toolu_7"});
    std::fs::write(folder.join("agent-a1b2c3d.meta.json"), meta.to_string()).unwrap();
    main.result("toolu_7", "It is a zebra.", false).reply("It is a zebra, says the agent.");
    world.close(&id(1));
    world.search("striped");

    let listed = list(&world.json(&["sessions"])["sessions"]);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(world.sessions().len(), 2);
    let status = world.json(&["status"]);
    assert_eq!((&status["sessions"], &status["subagents"]), (&json!({"indexed": 1}), &json!({"indexed": 1})));

    let shown = world.show(&id(1));
    let relation = &shown["relations"][0];
    assert_eq!((&relation["name"], &relation["session_id"]), (&"spawned_agent".into(), &"agent-a1b2c3d".into()));
    assert_eq!((&relation["agent_type"], &relation["tool_use_id"]), (&"Explore".into(), &"toolu_7".into()));
    assert!(text(&relation["description"]).starts_with("look with [redacted"), "{relation}");
    assert_eq!(shown["usage"]["total"]["messages"], 2, "{}", shown["usage"]);
    let beside = &shown["usage"]["subagents"];
    assert_eq!((&beside["sessions"], &beside["total"]["messages"]), (&1.into(), &2.into()), "{beside}");
    assert_eq!(relations(&world, "agent-a1b2c3d"), [format!("spawned_by {}", id(1))]);
}

#[test]
fn what_a_fork_repeats_was_run_once() {
    let world = World::new();
    let mut base = world.transcript("-work-base", &id(1)).minutes_ago(90);
    base.prompt("make the zebra tests pass");
    let broken = "Exit code 101\nerror[E0382]: borrow of moved value: `token`";
    for run in 0..4 {
        let call = format!("b{run}");
        base.call(&call, "Bash", json!({"command": "cargo test"})).result(&call, broken, true);
    }
    world.close(&id(1));
    let mut fork = fork(&world, &base, &id(2), |_| {}).minutes_ago(10);
    let edit = json!({"file_path": "/srv/base/src/token.rs", "old_string": "a", "new_string": "b"});
    fork.prompt("go on").call("f1", "Edit", edit).result("f1", "The file has been updated.", false);
    fork.call("f2", "Bash", json!({"command": "cargo test"})).result("f2", "test result: ok. 4 passed", false);
    fork.reply("They pass.");
    world.close(&id(2));
    let told = |command: &str| {
        let how = world.json(&["how", command]);
        ["count", "ok", "failed", "sessions"].map(|field| how[field].as_u64().unwrap_or(0))
    };
    assert_eq!(told("cargo test"), [5, 1, 4, 2]);
    let fix = world.json(&["fix", "borrow of moved value: `token`"]);
    let found = &fix["matches"][0];
    assert_eq!(
        (&found["seen"], &found["resolved"], &found["unresolved"]),
        (&json!(4), &json!(1), &json!(null)),
        "{fix}"
    );
    assert_eq!(
        (&found["fixes"][0]["session_id"], &found["fixes"][0]["files"][0]),
        (&json!(id(2)), &json!("/srv/base/src/token.rs"))
    );
    let patterns = world.json(&["patterns"]);
    assert_eq!(patterns["retry_loops"][0]["failures"], 4, "{patterns}");
    assert_eq!(patterns["retry_loops"][0]["loops"], 1, "{patterns}");
    // The older session's result counts for both only until that session is forgotten.
    world.ok(&["forget", &id(1), "--only", "--yes"]);
    assert_eq!(told("cargo test"), [5, 1, 4, 1]);
}
