//! Hooks of other agents than Claude Code: their inputs become the same signals, and nothing is printed that they could
//! take for an order.

use std::io::Write as _;

use serde_json::{Value, json};

use super::called::{Ended, HOOK, call_as, spool};
use crate::world::World;

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// Calls the hook without a daemon; the signal is in the spool.
fn call(world: &World, arguments: &[&str], input: &Value) -> Ended {
    call_as(world.program(HOOK, arguments), |mut stdin| {
        let _ = stdin.write_all(input.to_string().as_bytes());
        None
    })
}

#[test]
fn every_agents_input_becomes_the_same_signal_and_nothing_is_printed() {
    let claude = json!({"session_id": SESSION, "transcript_path": "/t/a.jsonl", "cwd": "/srv/one"});
    let copilot =
        json!({"sessionId": SESSION, "transcriptPath": "/t/a.jsonl", "cwd": "/srv/one", "stopReason": "end_turn"});
    let cursor = json!({
        "conversation_id": SESSION, "session_id": SESSION, "cursor_version": "3", "workspace_roots": ["/srv/one", "/srv/two"],
        "transcript_path": "/t/a.jsonl", "user_email": "a@b.example"
    });
    for (agent, event, input, expected) in [
        ("qwen", "UserPromptSubmit", &claude, "UserPromptSubmit"),
        ("qwen", "PreCompact", &claude, "PreCompact"),
        ("qwen", "SessionEnd", &claude, "SessionEnd"),
        ("gemini", "BeforeAgent", &claude, "UserPromptSubmit"),
        ("gemini", "AfterAgent", &claude, "Stop"),
        ("gemini", "SessionEnd", &claude, "SessionEnd"),
        ("copilot", "userPromptSubmitted", &copilot, "UserPromptSubmit"),
        ("copilot", "agentStop", &copilot, "Stop"),
        ("copilot", "subagentStop", &copilot, "SubagentStop"),
        ("copilot", "sessionEnd", &copilot, "SessionEnd"),
        ("cursor", "beforeSubmitPrompt", &cursor, "UserPromptSubmit"),
        ("cursor", "stop", &cursor, "Stop"),
    ] {
        for arguments in [&["--agent", agent, event][..], &["--agent", "unheard-of", event], &[event]] {
            let mut world = World::new();
            // As several agents set it, it says nothing about the caller.
            world.set("CLAUDE_PROJECT_DIR", "/srv/other");
            let said = call(&world, arguments, input).0;
            assert_eq!(said, None, "{agent} {event}");
            let spooled = spool(world.home());
            let [one] = &spooled[..] else { panic!("{agent} {event}: {spooled:?}") };
            let told = (one.hook.event.as_str(), one.hook.session_id.as_str(), one.hook.cwd.as_deref());
            assert_eq!(told, (expected, SESSION, Some("/srv/one")), "{arguments:?}");
            assert_eq!(one.hook.transcript_path.as_deref(), Some("/t/a.jsonl"), "{arguments:?}");
        }
    }
}

#[test]
fn the_name_of_the_event_may_be_in_the_input_alone() {
    let world = World::new();
    let input = json!({"session_id": SESSION, "cwd": "/srv/one", "hook_event_name": "AfterAgent"});
    for arguments in [&["--agent", "gemini"][..], &["--agent"], &[]] {
        assert_eq!(call(&world, arguments, &input).0, None);
        assert!(spool(world.home()).iter().all(|spooled| spooled.hook.event == "Stop"), "{arguments:?}");
    }
    assert_eq!(spool(world.home()).len(), 1, "of activity the last one");
}
