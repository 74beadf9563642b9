//! The greeting of an agent before there is a daemon, and what it contains.

use serde_json::{Value, json};

use super::agent::{Agent, Lines};
use crate::sockets::Raw;
use crate::world::{World, wait};

#[test]
fn every_version_of_the_protocol_is_greeted() {
    let world = World::new();
    let versions = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-12-31", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ];
    for (asked, spoken) in versions {
        let mut lines = Lines::start(&world);
        let greeted = lines.greet(asked);
        let result = &greeted["result"];
        assert_eq!(result["protocolVersion"], spoken, "{asked}: {greeted}");
        assert_eq!(result["serverInfo"]["name"], "baton", "{greeted}");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"), "{greeted}");
        assert!(result["capabilities"]["tools"].is_object(), "{greeted}");
        let listed = lines.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 14, "{asked}: {listed}");
        let pong = lines.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
        assert_eq!(pong["result"], json!({}), "{asked}");
        lines.hang_up();
        assert_eq!(lines.ended(), Some(0), "{asked}");
    }
}

#[test]
fn the_greeting_needs_no_daemon_and_starts_one_behind_it() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let greeted = lines.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    assert!(greeted["result"].is_object(), "{greeted}");
    lines.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert!(!world.home().exists(), "who only looks leaves nothing behind");
    lines.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(wait(|| world.daemon().is_some()), "{}", world.log());
}

#[test]
fn instructions_say_when_to_search_and_when_to_close() {
    let world = World::new();
    let agent = Agent::start(&world);
    let info = agent.service().peer_info().expect("it was greeted");
    let told = serde_json::to_value(&*info).unwrap()["instructions"].as_str().unwrap().to_owned();
    let words = [
        "recall",
        "search_memory_facts",
        "search_nodes",
        "get_episodes",
        "get_handoff",
        "session_tracking_close",
        "at the start of work",
        "before /clear",
        "data, not instructions",
        "group",
    ];
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(told.len() < 2_048, "some agents cut what is longer: {}", told.len());
    agent.end();
}

#[test]
fn the_tools_are_listed_with_what_they_take_and_change() {
    let world = World::new();
    let agent = Agent::start(&world);
    let tools = agent.tools();
    // Name, read-only, destructive, listed arguments.
    let expected: [(&str, bool, bool, &[&str]); 14] = [
        ("recall", true, false, &["budget_tokens", "limit", "project", "query"]),
        (
            "search_nodes",
            true,
            false,
            &["center_node_uuid", "cursor", "entity_types", "group_ids", "max_nodes", "query", "wait"],
        ),
        (
            "search_memory_facts",
            true,
            false,
            &[
                "center_node_uuid",
                "cursor",
                "edge_types",
                "group_ids",
                "invalid_at_after",
                "invalid_at_before",
                "max_facts",
                "query",
                "valid_at_after",
                "valid_at_before",
                "wait",
            ],
        ),
        (
            "get_episodes",
            true,
            false,
            &["budget_tokens", "cursor", "episode_uuids", "group_ids", "max_episodes", "wait"],
        ),
        ("get_passage", true, false, &["budget_tokens", "context", "line", "session_id"]),
        ("get_handoff", true, false, &["project"]),
        ("fix", true, false, &["error", "project"]),
        (
            "add_memory",
            false,
            false,
            &["episode_body", "group_id", "name", "reference_time", "source", "source_description", "uuid"],
        ),
        ("session_tracking_close", false, false, &["reason", "session_id"]),
        ("session_tracking_list_unindexed", true, false, &["include_inactive", "project_namespace"]),
        ("session_tracking_sync_history", false, false, &["days", "dry_run", "max_sessions", "project"]),
        ("session_tracking_status", true, false, &["session_id"]),
        ("track_session", false, false, &["force", "group_id", "session_id"]),
        ("stop_tracking_session", false, true, &["session_id"]),
    ];
    let listed: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(listed, expected.map(|(name, ..)| name));
    for (tool, (name, reads, destroys, arguments)) in tools.iter().zip(expected) {
        let hints = tool.annotations.as_ref().unwrap();
        let changes = (!reads).then_some(());
        assert_eq!(hints.read_only_hint, Some(reads), "{name}");
        assert_eq!(
            (hints.destructive_hint, hints.idempotent_hint),
            (changes.map(|()| destroys), changes.map(|()| true)),
            "{name}"
        );
        let always = tool.meta.as_ref().and_then(|meta| meta.0.get("anthropic/alwaysLoad"));
        assert_eq!(always, ["recall", "get_handoff"].contains(&name).then_some(&json!(true)), "{name}");
        assert!(tool.title.is_some() && tool.description.is_some(), "{name}");
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{name}");
        assert_ne!(schema["additionalProperties"], false, "{name}: more is accepted than is listed");
        let properties: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(properties, arguments, "{name}");
        for (argument, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name} {argument}");
        }
    }
    agent.end();
}

#[test]
fn garbage_on_the_input_is_answered_and_disturbs_nothing() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    lines.send(b"\xff\xfe garbage");
    lines.send("");
    let refused = lines.line().expect("an answer");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32_700)), "{refused}");
    assert_eq!(lines.greet("2025-06-18")["result"]["serverInfo"]["name"], "baton");
    for garbage in ["{", "}{", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":", "\u{0}\u{1}\u{2}"] {
        lines.send(garbage);
        let refused = lines.line().expect("an answer");
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&Value::Null, &json!(-32_700)),
            "{garbage}: {refused}"
        );
    }
    for odd in ["\"text\"", "[]", "{\"id\":{}}"] {
        lines.send(odd);
        let refused = lines.line().expect("an answer");
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32_600)), "{odd}: {refused}");
    }
    lines.send(r#"{"jsonrpc":"2.0","method":"notifications/nobody_knows_this"}"#);
    let answer = lines.ask(&json!({"jsonrpc": "2.0", "id": 8, "method": "no/such/method"}));
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(8), &json!(-32_601)), "{answer}");
    for arguments in [json!([]), json!("{}"), json!(7), json!(true)] {
        let params = json!({"name": "get_status", "arguments": arguments});
        let answer = lines.ask(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}));
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(9), &json!(-32_602)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("an object is expected"), "{answer}");
    }
    let pong = lines.ask(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
    assert_eq!((&pong["id"], &pong["result"]), (&json!(9), &json!({})));
    // Half an emoji, from an agent that cuts a text: it gets its answer.
    let call = r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"session_tracking_status","arguments":{"session_id":"cut \ud83d"}}}"#;
    lines.send(call);
    let answer = lines.line().expect("an answer");
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(10), &json!(true)), "{answer}");
    lines.hang_up();
    assert_eq!(lines.ended(), Some(0));
}

#[test]
fn a_call_before_initialize_is_refused() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    for method in ["tools/list", "tools/call"] {
        let params = json!({"name": "get_status", "arguments": {}});
        let refused = lines.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let message = refused["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with("initialize first: send `initialize`"), "{method}: {refused}");
    }
    lines.hang_up();
}

#[test]
fn a_method_that_nobody_knows_is_named_as_such() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    lines.greet("2025-06-18");
    for method in ["no/such", "prompts/get", "resources/read", "logging/setLevel", "odd \"x\""] {
        let refused = lines.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "x", "uri": "x:y", "level": "info"}}));
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
        assert_eq!(refused["error"]["message"], format!("unknown method {method:?}"), "{refused}");
    }
    lines.hang_up();
    world.ok(&["status"]);
    let refused = Raw::greeted(&world).call(&json!({"jsonrpc": "2.0", "id": 7, "method": "no/such"}));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("unknown method \"no/such\"; there are blame"), "{refused}");
}

#[test]
fn an_input_that_ends_at_once_is_no_error() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    lines.hang_up();
    assert_eq!((lines.ended(), lines.line()), (Some(0), None));
    assert!(!world.home().exists());
    let refused = world.run(&["mcp", "--tools", "none"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

#[test]
fn whoever_goes_without_taking_its_answers_leaves_no_server_behind() {
    let world = World::new();
    let mut lines = Lines::start(&world);
    lines.greet("2025-06-18");
    // More answers than the pipe and the server can buffer; the requests fit into the pipe.
    for number in 1..=600 {
        lines.send(json!({"jsonrpc": "2.0", "id": number, "method": "tools/list"}).to_string());
    }
    lines.hang_up();
    assert_eq!(lines.ended(), Some(0));
}
