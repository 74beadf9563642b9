use serde_json::{Value, json};

use super::*;

fn tool(name: &str) -> &'static Tool {
    named(name).unwrap_or_else(|| panic!("no tool {name}"))
}

#[test]
fn the_tools_are_those_of_the_contract() {
    // Name, aliases, arguments as listed: `!` required, `=` default.
    let contract = "\
        recall | query! project limit=5 budget_tokens=1200\n\
        search_nodes search_memory_nodes | query! group_ids max_nodes=10 center_node_uuid entity_types wait=false cursor\n\
        search_memory_facts | query! group_ids max_facts=10 center_node_uuid edge_types valid_at_after valid_at_before invalid_at_after invalid_at_before wait=false cursor\n\
        get_episodes | group_ids/group_id episode_uuids max_episodes/last_n=10 budget_tokens wait=false cursor\n\
        get_passage | session_id! line=1 context=20 budget_tokens=1200\n\
        get_handoff | project\n\
        timeline | project since until agent limit=20 cursor\n\
        fix | error! project\n\
        how | command! project\n\
        blame | path! project\n\
        patterns | project agent diagram/format\n\
        add_memory add_episode | name! episode_body! group_id source source_description uuid reference_time \
        (excluded_entity_types) (custom_extraction_instructions) (previous_episode_uuids) (update_communities) (saga) \
        (saga_previous_episode_uuid)\n\
        add_triplet | source_node_name! edge_name! fact! target_node_name! group_id (source_node_uuid) (target_node_uuid)\n\
        get_episode_entities | episode_uuids!\n\
        get_entity_edge | uuid!\n\
        delete_episode | uuid!\n\
        delete_entity_edge | uuid!\n\
        clear_graph | group_ids confirm=false\n\
        get_status | \n\
        session_tracking_close | session_id reason\n\
        session_tracking_list_unindexed | project_namespace/project include_inactive=true\n\
        session_tracking_sync_history | project days=7 max_sessions=100 dry_run=true\n\
        session_tracking_status get_session_tracking_status | session_id\n\
        track_session | session_id group_id force=false\n\
        stop_tracking_session | session_id!\n\
        correct | session_id title wrong superseded done not_a_fix undo\n\
        explain | session_id\n\
        vault_status | \n\
        vault_read | path!";
    let shown = |argument: &Argument| {
        let name = std::iter::once(&argument.name).chain(argument.aliases).copied().collect::<Vec<_>>().join("/");
        match argument.kind {
            Kind::Needed | Kind::Words | Kind::Long { .. } | Kind::TextsNeeded => format!("{name}!"),
            Kind::Text | Kind::Agent | Kind::Texts | Kind::AtMost { .. } => name,
            Kind::Ignored => format!("({name})"),
            Kind::Count { default, .. } | Kind::Entries { default } => format!("{name}={default}"),
            Kind::Flag { default } => format!("{name}={default}"),
        }
    };
    let table: Vec<String> = all()
        .map(|tool| {
            let names = std::iter::once(&tool.name).chain(tool.aliases).copied().collect::<Vec<_>>().join(" ");
            format!("{names} | {}", tool.arguments.iter().map(shown).collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(table.join("\n"), contract);
}

#[test]
fn every_name_means_one_thing() {
    let mut names: Vec<&str> =
        all().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases)).copied().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for tool in all() {
        assert!(tool.description.len() > 60 && tool.description.len() < 700, "{}", tool.name);
        let mut names: Vec<&str> =
            tool.arguments.iter().flat_map(|it| std::iter::once(&it.name).chain(it.aliases)).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", tool.name);
        for argument in tool.arguments {
            assert!(argument.description.len() >= 9, "{}: {}", tool.name, argument.name);
            assert!(!argument.description.contains("  "), "{}: {}", tool.name, argument.name);
        }
        assert!(!tool.description.contains("  "), "{}", tool.name);
    }
}

#[test]
fn schemas_are_plain_and_short() {
    for tool in all() {
        let schema = Value::Object(tool.input_schema());
        assert_eq!(schema["type"], "object");
        let properties = schema["properties"].as_object().expect("properties");
        let known = tool.arguments.iter().filter(|argument| argument.kind != Kind::Ignored);
        assert_eq!(properties.len(), known.count());
        for (name, property) in properties {
            assert!(property["type"].is_string(), "{name}: {property}");
            assert!(property["description"].is_string(), "{name}: {property}");
        }
        assert!(!schema.to_string().contains("\"format\""), "{}", tool.name);
    }
    let nodes = Value::Object(tool("search_memory_nodes").input_schema());
    assert_eq!(nodes["required"], json!(["query"]));
    assert_eq!(nodes["properties"]["max_nodes"]["default"], 10);
    assert_eq!(nodes["properties"]["wait"]["type"], "boolean");
    assert_eq!(nodes["properties"]["group_ids"]["type"], "array");
    assert!(Value::Object(tool("get_episodes").input_schema())["required"].is_null());
}

#[test]
fn arguments_are_checked() {
    // Tool, arguments, parts of the error; none if the arguments are valid.
    let cases: &[(&str, Value, &[&str])] = &[
        ("search_nodes", json!({"query": "a"}), &[]),
        ("search_nodes", json!({"query": "a", "max_nodes": null, "cursor": null, "group_ids": null}), &[]),
        ("search_nodes", json!({"query": "a", "max_nodes": 3.0}), &[]),
        ("search_nodes", json!({"query": "a", "max_nodes": "5", "wait": "true"}), &[]),
        ("search_nodes", json!({"query": "[\"a\"]", "group_ids": "[\"main\"]", "cursor": "7"}), &[]),
        ("search_nodes", json!({"query": "a", "max_nodes": "0"}), &["the number 0", "from 1 to 100"]),
        ("get_episode_entities", json!({"episode_uuids": "[]"}), &["episode_uuids is empty"]),
        ("search_nodes", json!({"query": "a", "group_ids": ["x", "y"], "entity_types": "File"}), &[]),
        ("search_nodes", json!({}), &["query is missing"]),
        ("search_nodes", json!({"query": null}), &["query is missing"]),
        ("search_nodes", json!({"query": "  "}), &[]),
        ("search_memory_facts", json!({"query": ""}), &[]),
        ("fix", json!({"error": "  "}), &["error is empty"]),
        ("add_memory", json!({"name": "a", "episode_body": {"a": [1]}, "source": "json"}), &[]),
        ("add_memory", json!({"name": "a", "episode_body": [{"a": 1}]}), &[]),
        ("add_memory", json!({"name": "a", "episode_body": 7}), &["episode_body is the number 7"]),
        ("search_nodes", json!({"query": "a", "max_nodes": 101}), &[]),
        ("get_episodes", json!({"budget_tokens": 99_999}), &[]),
        ("search_nodes", json!({"query": 7}), &["query is the number 7", "expected a string"]),
        ("search_nodes", json!({"query": ["a"]}), &["query is a list", "expected a string"]),
        ("search_nodes", json!({"query": {"a": 1}}), &["query is an object"]),
        ("search_nodes", json!({"query": "x".repeat(20_000)}), &["20000 bytes", "16384"]),
        (
            "search_nodes",
            json!({"query": "a", "max_nodes": "ten"}),
            &["max_nodes is the string \"ten\"", "from 1 to 100"],
        ),
        ("search_nodes", json!({"query": "a", "max_nodes": 0}), &["the number 0", "from 1 to 100"]),
        ("search_nodes", json!({"query": "a", "max_nodes": -1}), &["the number -1"]),
        ("search_nodes", json!({"query": "a", "max_nodes": 2.5}), &["the number 2.5"]),
        ("search_nodes", json!({"query": "a", "max_nodes": 1e300}), &["expected a whole number"]),
        ("search_nodes", json!({"query": "a", "max_nodes": u64::MAX}), &[]),
        ("search_nodes", json!({"query": "a", "group_ids": [1]}), &["group_ids is a list", "a list of strings"]),
        ("search_nodes", json!({"query": "a", "group_ids": vec!["g"; 101]}), &["101 strings"]),
        ("search_nodes", json!({"query": "a", "wait": "yes"}), &["wait is the string \"yes\"", "true or false"]),
        (
            "search_nodes",
            json!({"query": "a", "max_node": 3}),
            &["no argument \"max_node\"", "did you mean max_nodes?"],
        ),
        ("search_nodes", json!({"query": "a", "limit": 3}), &["no argument \"limit\"; there are query, group_ids"]),
        ("search_memory_facts", json!({"query": "a", "max_nodes": 3}), &["did you mean max_facts?"]),
        ("get_episodes", json!({"group_id": "g", "last_n": 3}), &[]),
        ("get_episodes", json!({"max_episodes": 2, "last_n": 3}), &["max_episodes and last_n are the same argument"]),
        ("get_episodes", json!({"max_episodes": null, "last_n": 3}), &[]),
        ("get_episodes", json!([]), &["the arguments are a list, not an object"]),
        ("get_episodes", json!(null), &[]),
        ("session_tracking_list_unindexed", json!({"project": "p"}), &[]),
        ("session_tracking_sync_history", json!({"days": 0, "max_sessions": 0, "dry_run": false}), &[]),
        ("session_tracking_sync_history", json!({"dryrun": false}), &["did you mean dry_run?"]),
        ("session_tracking_close", json!({"session": "a"}), &["did you mean session_id?"]),
        ("stop_tracking_session", json!({}), &["session_id is missing"]),
        ("get_episode_entities", json!({"episode_uuids": []}), &["episode_uuids is empty"]),
        ("get_episode_entities", json!({}), &["episode_uuids is missing"]),
        ("get_episode_entities", json!({"episode_uuids": "a"}), &[]),
        ("add_memory", json!({"name": "n", "episode_body": "x".repeat(200_000)}), &[]),
        ("add_memory", json!({"name": "n", "episode_body": "x".repeat(262_145)}), &["262145 bytes", "at most 262144"]),
        ("add_memory", json!({"name": "n", "episode_body": " \n"}), &["episode_body is empty"]),
        ("add_memory", json!({"name": "n", "episode_body": true}), &["episode_body is true"]),
        ("add_memory", json!({"name": "n", "episode_body": "b", "saga": 7, "update_communities": true}), &[]),
        ("add_memory", json!({"name": "n", "episode_body": "b", "sage": 7}), &["did you mean saga?", "There are name"]),
    ];
    for (name, arguments, says) in cases {
        match tool(name).check(Some(&arguments.to_string())) {
            Ok(_) => assert!(says.is_empty(), "{name} {arguments}: taken"),
            Err(error) => {
                assert!(!says.is_empty(), "{name} {arguments}: {error}");
                let all = says.iter().all(|part| error.contains(part));
                assert!(all && error.starts_with(tool(name).name), "{name} {arguments}: {error}");
            }
        }
    }
    assert!(tool("get_episodes").check(Some("{\"a\":")).is_err_and(|error| error.contains("not JSON")));
}

#[test]
fn arguments_become_the_fields_of_the_method() {
    let cases = [
        ("session_tracking_sync_history", json!(null), json!({"days": 7, "max_sessions": 100, "dry_run": true})),
        (
            "search_nodes",
            json!({"query": " a b ", "group_ids": ["x", "", " y "], "wait": true, "cursor": ""}),
            json!({"query": "a b", "groups": ["x", "y"], "limit": 10, "wait": true}),
        ),
        (
            "search_nodes",
            json!({"query": "7", "max_nodes": "5", "group_ids": "[\"main\", \"b\"]", "entity_types": "[File]", "wait": "true"}),
            json!({"query": "7", "limit": 5, "groups": ["main", "b"], "labels": ["[File]"], "wait": true}),
        ),
        (
            "search_memory_facts",
            json!({"query": "a", "valid_at_after": "2026-03", "invalid_at_before": "2026-04"}),
            json!({"query": "a", "limit": 10, "valid": {"after": "2026-03"}, "invalid": {"before": "2026-04"}, "wait": false}),
        ),
        ("get_episodes", json!({"group_id": "g", "last_n": 3}), json!({"groups": ["g"], "limit": 3, "wait": false})),
        (
            "add_memory",
            json!({"name": "n", "episode_body": {"a": 1}, "saga": 7}),
            json!({"name": "n", "episode_body": "{\"a\":1}", "ignored": ["saga"]}),
        ),
    ];
    for (name, given, expected) in cases {
        let taken = tool(name).check(Some(&given.to_string())).expect("these are fine");
        assert_eq!((Value::Object(taken.fields), taken.cut), (expected, None), "{name} {given}");
    }
    let many = tool("search_nodes").check(Some(r#"{"query":"a","max_nodes":"4294967296"}"#)).expect("it is reduced");
    assert_eq!((&many.fields["limit"], many.cut), (&json!(100), Some(("max_nodes", 100))));
}

#[test]
fn a_name_nearby_is_found() {
    let cases = [
        ("search_memory_node", Some("search_nodes")),
        ("search_facts", Some("search_memory_facts")),
        ("Search_Nodes", Some("search_nodes")),
        ("session_tracking_stop", Some("stop_tracking_session")),
        ("sesion_tracking_status", Some("session_tracking_status")),
        ("close", Some("session_tracking_close")),
        ("sync_history", Some("session_tracking_sync_history")),
        ("get_episode", Some("get_episodes")),
        ("x", None),
        ("", None),
        ("delete_everything_now", None),
    ];
    for (written, meant) in cases {
        let says = unknown_tool_message(written);
        match meant {
            Some(meant) => assert!(says.contains(&format!("did you mean {meant}?")), "{written}: {says}"),
            None => assert!(!says.contains("did you mean") && says.contains("get_episodes"), "{written}: {says}"),
        }
    }
    assert!(unknown_tool_message(&"long".repeat(100_000)).len() < 1_000);
}
