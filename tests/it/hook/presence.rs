//! An MCP server that is connected, and one that has disconnected.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::called::{call, event, patient};
use crate::mcp::agent::Lines;
use crate::world::{World, id, wait};

/// The output of `explain` for a session, which names its signals.
fn signals(world: &World, session: &str) -> String {
    world.ok(&["explain", session]).out
}

#[test]
fn a_killed_server_is_noticed_and_one_that_lives_over_a_restart_is_not_gone() {
    let mut world = World::new();
    patient(&world);
    world.transcript("-srv-one", &id(1)).prompt("the visible walrus");
    world.ok(&["sessions"]);
    call(&world, "SessionStart", &event(&world, "SessionStart", &id(1)));
    world.set("CLAUDE_CODE_SESSION_ID", id(1));

    let mut server = Lines::start(&world);
    server.greet("2025-06-18");
    let is_there = || world.json(&["status"])["hooks"]["present"] == 1;
    assert!(wait(is_there), "{}", world.json(&["status"]));
    world.kill();
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "session_tracking_status", "arguments": {}}});
    assert!(server.ask(&asked)["result"].is_object());
    assert!(wait(is_there), "the next daemon knows of it too: {}", world.json(&["status"]));
    assert!(!signals(&world, &id(1)).contains("mcp_disconnect"), "it is there");

    let pid = Pid::from_child(&server.child);
    kill_process(pid, Signal::KILL).unwrap();
    assert!(wait(|| signals(&world, &id(1)).contains("mcp_disconnect")), "{}", signals(&world, &id(1)));
}
