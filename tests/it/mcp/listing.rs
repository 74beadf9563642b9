//! Which tools are listed, and how much of an agent's context that takes.

use serde_json::{Value, json};

use super::agent::Lines;
use crate::world::{World, list, text};

/// Maximum size of the listing, in bytes of the answer.
const MOST_BYTES: usize = 8 * 1024;

fn listed(world: &World, arguments: &[&str]) -> Value {
    let mut lines = Lines::with(world, arguments);
    lines.greet("2025-06-18");
    lines.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
}

fn names(answer: &Value) -> Vec<String> {
    list(&answer["result"]["tools"]).iter().map(|tool| text(&tool["name"])).collect()
}

#[test]
fn what_is_listed_by_default_is_short() {
    let answer = listed(&World::new(), &[]);
    let bytes = answer.to_string().len();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    let names = names(&answer);
    assert!(names.len() <= 14, "{names:?}");
    for tool in list(&answer["result"]["tools"]) {
        for (argument, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let described = property["description"].as_str().is_some_and(|text| text.len() > 5);
            assert!(described, "{argument} of {}", tool["name"]);
        }
    }
}

#[test]
fn other_tools_are_listed_on_demand_and_all_can_be_called() {
    let world = World::new();
    let few = names(&listed(&world, &[]));
    let all = names(&listed(&world, &["--tools", "all"]));
    assert!(all.len() > few.len() && few.iter().all(|name| all.contains(name)), "{few:?} {all:?}");
    for unlisted in ["timeline", "explain", "how", "blame"] {
        assert!(all.contains(&unlisted.to_owned()) && !few.contains(&unlisted.to_owned()), "{unlisted}");
    }
    assert_eq!(names(&listed(&world, &["--tools", "timeline,search_nodes"])), ["search_nodes", "timeline"]);
    let graphiti = names(&listed(&world, &["--tools", "graphiti"]));
    assert!(
        graphiti.contains(&"search_nodes".to_owned())
            && graphiti.contains(&"get_episodes".to_owned())
            && !graphiti.contains(&"recall".to_owned()),
        "{graphiti:?}"
    );
    let ran = world.run(&["mcp", "--tools", "timelin"]);
    assert!(ran.code == 2 && ran.err.contains("did you mean timeline?"), "{}", ran.err);

    let mut lines = Lines::start(&world);
    lines.greet("2025-06-18");
    let call = json!({"name": "timeline", "arguments": {}});
    let answer = lines.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}));
    assert_eq!(answer["result"]["structuredContent"]["days"], json!([]), "{answer}");
    let call = json!({"name": "recall", "arguments": {"query": "what is still open", "budget_tokens": 200}});
    let answer = lines.ask(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}));
    let said = &answer["result"]["structuredContent"];
    assert_eq!((&said["took"], &said["answer"]), (&json!(["open"]), &json!([])), "{answer}");
}
