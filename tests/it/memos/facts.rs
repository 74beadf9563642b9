//! Facts that agents add, and what a session says.

use crate::mcp::agent::Agent;
use crate::world::{World, id, list, text};
use serde_json::json;
use std::fs;

#[test]
fn a_fact_is_stated_read_deleted_and_stated_anew() {
    let world = World::new();
    let agent = Agent::start(&world);
    let stated = json!({"source_node_name": "payments team", "edge_name": "WANTS",
        "fact": "The payments team wants the serval.", "target_node_name": "src/serval.rs", "group_id": "rules",
        "source_node_uuid": "x"});
    let added = agent.call("add_triplet", stated.clone()).ok();
    let (edge, episode) = (list(&added["edges"])[0].clone(), text(&added["episode_uuid"]));
    assert_eq!((&edge["name"], &added["ignored"]), (&json!("WANTS"), &json!(["source_node_uuid"])), "{added}");
    let names: Vec<String> = list(&added["nodes"]).iter().map(|node| text(&node["name"])).collect();
    assert_eq!(names, ["payments team", "src/serval.rs"]);
    let uuid = text(&edge["uuid"]);
    let found = |agent: &Agent| list(&agent.call("search_memory_facts", json!({"query": "serval"})).ok()["facts"]);
    let fact = found(&agent)[0].clone();
    assert_eq!((&fact["uuid"], &fact["name"], &fact["episodes"]), (&json!(uuid), &json!("WANTS"), &json!([episode])));
    let one = agent.call("get_entity_edge", json!({"uuid": uuid})).ok();
    assert_eq!(one["fact"], "The payments team wants the serval.", "{one}");
    let of_episode = |agent: &Agent| {
        let told = agent.call("get_episode_entities", json!({"episode_uuids": [episode]})).ok();
        (list(&told["nodes"]).len(), list(&told["edges"]).len())
    };
    assert_eq!(of_episode(&agent), (2, 1));

    agent.call("delete_entity_edge", json!({"uuid": uuid})).ok();
    agent.call("delete_entity_edge", json!({"uuid": uuid})).ok();
    let gone = |world: &World, way: &str| {
        let agent = Agent::start(world);
        assert!(found(&agent).is_empty(), "{way}");
        // The episode stated nothing else.
        let refused = agent.call("get_episode_entities", json!({"episode_uuids": [episode]})).refused();
        assert!(refused.contains("no episode"), "{way}: {refused}");
        let refused = agent.call("get_entity_edge", json!({"uuid": uuid})).refused();
        assert!(refused.contains("no fact"), "{way}: {refused}");
        agent.end();
    };
    gone(&world, "deleted");
    world.kill();
    gone(&world, "killed");
    world.stop();
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    gone(&world, "the memory built anew");
    world.stop();
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let other = World::new();
    other.ok(&["log", "import", file.to_str().unwrap()]);
    gone(&other, "imported");

    let again = agent.call("add_triplet", stated).ok();
    assert_eq!((&again["edges"][0]["uuid"], &again["episode_uuid"]), (&json!(uuid), &json!(episode)), "{again}");
    assert_eq!(found(&agent).len(), 1);
    agent.call("delete_episode", json!({"uuid": episode})).ok();
    assert!(found(&agent).is_empty());
    let refused = agent.call("get_episode_entities", json!({"episode_uuids": [episode]})).refused();
    assert!(refused.contains("no episode"), "{refused}");
    for (tool, arguments) in [
        ("get_entity_edge", json!({"uuid": "nonsense"})),
        ("delete_entity_edge", json!({"uuid": "0c4d7e61-2c39-4a3b-9a0e-8d5b3c1f7a22"})),
        ("add_triplet", json!({"source_node_name": "a", "edge_name": "B", "fact": "c"})),
    ] {
        agent.call(tool, arguments).refused();
    }
    agent.end();
}

#[test]
fn what_a_session_says_is_shown_by_its_episode() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("mend the fossa");
    let edit = json!({"file_path": "/srv/-work-one/src/fossa.rs", "old_string": "a", "new_string": "b"});
    transcript.call("c1", "Edit", edit).result("c1", "The file has been updated.", false);
    let episode = world.close(&id(1));
    let agent = Agent::start(&world);
    let told = agent.call("get_episode_entities", json!({"episode_uuids": episode})).ok();
    let names: Vec<String> = list(&told["nodes"]).iter().map(|node| text(&node["name"])).collect();
    assert!(names.iter().any(|name| name == "src/fossa.rs"), "{told}");
    let edges: Vec<String> = list(&told["edges"]).iter().map(|edge| text(&edge["name"])).collect();
    assert!(edges.iter().any(|name| name == "MODIFIED"), "{told}");
    agent.end();
}
