//! An agent's mistakes are named, with what it may have meant and what to do next.

use rmcp::service::ServiceError;
use serde_json::{Value, json};

use super::agent::Agent;
use crate::world::{World, id};

#[test]
fn wrong_arguments_are_named() {
    let world = World::new();
    let agent = Agent::start(&world);
    // Tool, arguments, expected parts of the message.
    let cases: [(&str, Value, &[&str]); 11] = [
        ("search_memory_nodes", json!({}), &["query is missing"]),
        ("fix", json!({"error": ""}), &["error is empty"]),
        ("search_memory_nodes", json!({"query": 3}), &["query is the number 3", "expected a string"]),
        ("search_memory_nodes", json!({"query": "a", "max_nodes": "ten"}), &["max_nodes", "\"ten\"", "from 1 to 100"]),
        ("search_memory_facts", json!({"query": "a", "max_fact": 3}), &["\"max_fact\"", "did you mean max_facts?"]),
        ("get_episodes", json!({"group_ids": {"a": 1}}), &["group_ids is an object", "a list of strings"]),
        ("session_tracking_close", json!({"sesion_id": "a"}), &["did you mean session_id?"]),
        ("session_tracking_list_unindexed", json!({"include_inactive": 1}), &["the number 1", "true or false"]),
        ("session_tracking_sync_history", json!({"days": -1}), &["days is the number -1", "from 0"]),
        ("stop_tracking_session", Value::Null, &["session_id is missing"]),
        ("track_session", json!({"force": "please"}), &["force is the string \"please\""]),
    ];
    for (tool, arguments, says) in cases {
        let refused = agent.call(tool, arguments.clone()).refused();
        for part in says {
            assert!(refused.contains(part), "{tool} {arguments}: {refused}");
        }
    }
    agent.end();
}

#[test]
fn a_tool_that_there_is_not_is_an_error_of_the_call() {
    let world = World::new();
    let agent = Agent::start(&world);
    for (tool, near) in [("search_memory_node", "search_nodes"), ("close", "session_tracking_close")] {
        match agent.try_call(tool, &json!({})) {
            Err(ServiceError::McpError(error)) => {
                assert_eq!(error.code.0, -32_602, "{error:?}");
                assert!(error.message.contains(&format!("did you mean {near}?")), "{error:?}");
            }
            other => panic!("{tool}: {other:?}"),
        }
    }
    agent.end();
}

#[test]
fn a_session_that_nobody_knows_is_named_with_those_near_it() {
    let world = World::new();
    for number in 1..4 {
        world.transcript("-work-one", &id(number)).prompt("the unmoved sloth").reply("yes");
    }
    assert_eq!(world.found("sloth").len(), 3);
    let agent = Agent::start(&world);
    let nobody = "00000001-ffff";
    let refused = agent.call("session_tracking_status", json!({"session_id": nobody})).refused();
    assert!(refused.contains(nobody) && refused.contains(&id(1)), "{refused}");
    let refused = agent.call("session_tracking_status", json!({"session_id": "0000000"})).refused();
    assert!(refused.contains("at least the first 8 characters") && refused.contains(&id(1)), "{refused}");
    // A close returns its own object, also when it fails.
    let closed = agent.call("session_tracking_close", json!({"session_id": nobody}));
    assert!(closed.is_error);
    assert_eq!((&closed.value["status"], &closed.value["episode_uuid"]), (&json!("error"), &Value::Null));
    let message = closed.value["message"].as_str().unwrap();
    assert!(message.contains(nobody) && message.contains(&id(1)), "{message}");
    agent.end();
}

#[test]
fn what_is_too_much_is_refused_and_the_next_call_served() {
    let world = World::new();
    let agent = Agent::start(&world);
    let long = "sloth ".repeat(400_000);
    let refused = agent.call("search_memory_nodes", json!({"query": long})).refused();
    assert!(refused.contains("at most"), "{refused}");
    let long = "sloth ".repeat(10_000);
    let refused = agent.call("search_memory_nodes", json!({"query": long})).refused();
    assert!(refused.contains("16384"), "{refused}");
    let refused = agent.call("session_tracking_status", json!({"session_id": "nobody"})).refused();
    assert!(refused.contains("nobody"), "{refused}");
    agent.end();
}

#[test]
fn numbers_and_lists_in_quotes_are_read_and_answers_wrapped_as_graphitis_clients_expect() {
    let world = World::new();
    for number in 1..4 {
        world.transcript("-work-one", &id(number)).prompt("the unmoved sloth").reply("yes");
    }
    let agent = Agent::start(&world);
    let quoted = json!({"group_ids": "[\"-work-one\"]", "max_episodes": "2", "wait": "true"});
    assert_eq!(agent.call("get_episodes", quoted).ok()["episodes"].as_array().unwrap().len(), 2);
    for (tool, arguments, is_wrapped) in [
        ("get_episodes", json!({}), true),
        ("search_nodes", json!({"query": "sloth"}), true),
        ("search_memory_nodes", json!({"query": "sloth"}), true),
        ("search_memory_facts", json!({"query": "sloth", "max_facts": "none"}), true),
        ("get_status", json!({}), false),
        ("recall", json!({"query": "sloth"}), false),
        ("session_tracking_status", json!({}), false),
    ] {
        let structured = agent.try_call(tool, &arguments).unwrap().structured_content.unwrap();
        let fields = structured.as_object().unwrap();
        assert_eq!(fields.len() == 1 && fields.contains_key("result"), is_wrapped, "{tool}: {structured}");
    }
    agent.end();
}
