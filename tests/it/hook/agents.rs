//! Hooks of other agents than Claude Code: their inputs become the same signals, and nothing is printed that they could
//! take for an order.

use std::io::Write as _;

use serde_json::{Value, json};

use super::called::{Ended, HOOK, call_as, patient, spool};
use super::peer::{Answer, Peer};
use crate::world::{World, wait};

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// Calls the hook; without a daemon the signal is in the spool.
fn call(world: &World, arguments: &[&str], input: &Value) -> Ended {
    call_with(world, arguments, input.to_string().as_bytes())
}

fn call_with(world: &World, arguments: &[&str], input: &[u8]) -> Ended {
    call_as(world.program(HOOK, arguments), |mut stdin| {
        // The hook need not read everything.
        let _ = stdin.write_all(input);
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
        ("cursor", "sessionEnd", &cursor, "SessionEnd"),
        ("droid", "SessionEnd", &claude, "SessionEnd"),
    ] {
        for arguments in [&["--agent", agent, event][..], &["--agent", "unheard-of", event], &[event]] {
            let mut world = World::new();
            patient(&world);
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

#[test]
fn context_has_the_form_that_the_agent_reads() {
    let world = World::new();
    patient(&world);
    let peer = Peer::listen(&world.home().join("baton.sock"), Answer::Context);
    let context = "\"one\"\nand two";
    let claude = |event: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}});
    let plain = json!({"session_id": SESSION, "cwd": "/srv/one"});
    let copilot = json!({"sessionId": SESSION, "cwd": "/srv/one", "source": "new"});
    let cursor = json!({"conversation_id": SESSION, "cursor_version": "3", "workspace_roots": ["/srv/one"]});
    let (start, gemini) = (claude("SessionStart"), claude("BeforeAgent"));
    let named = json!({"session_id": SESSION, "cwd": "/srv/one", "hook_event_name": "BeforeAgent"});
    let (for_copilot, for_cursor) = (json!({ "additionalContext": context }), json!({ "additional_context": context }));
    for (arguments, input, expected) in [
        (&["SessionStart"][..], &plain, Some(&start)),
        (&["--agent", "qwen", "SessionStart"], &plain, Some(&start)),
        (&["--agent", "gemini", "SessionStart"], &plain, Some(&start)),
        (&["--agent", "gemini", "BeforeAgent"], &named, Some(&gemini)),
        (&["--agent", "droid", "SessionStart"], &plain, Some(&start)),
        (&["--agent", "opencode", "SessionStart"], &plain, Some(&start)),
        (&["--agent", "copilot", "sessionStart"], &copilot, Some(&for_copilot)),
        (&["sessionStart"], &copilot, Some(&for_copilot)),
        (&["--agent", "copilot", "userPromptSubmitted"], &copilot, None),
        (&["--agent", "cursor", "sessionStart"], &cursor, Some(&for_cursor)),
        // Claude Code's hook that Cursor calls too: its own has told the session already.
        (&["SessionStart"], &cursor, None),
        // An answer to these could hold up a prompt or a stop.
        (&["--agent", "cursor", "beforeSubmitPrompt"], &cursor, None),
        (&["--agent", "cursor", "stop"], &cursor, None),
        (&["--agent", "gemini", "AfterAgent"], &plain, None),
        (&["--agent", "qwen", "Stop"], &plain, None),
        (&["--agent", "copilot", "agentStop"], &copilot, None),
    ] {
        assert_eq!(call(&world, arguments, input).0.as_ref(), expected, "{arguments:?}");
    }
    peer.end();
}

#[test]
fn what_nobody_has_typed_is_no_prompt() {
    for (agent, event, input, is_prompt) in [
        ("qwen", "UserPromptSubmit", json!({"session_id": SESSION, "cwd": "/p", "prompt": ""}), false),
        ("qwen", "UserPromptSubmit", json!({"session_id": SESSION, "cwd": "/p", "prompt": "walrus"}), true),
        ("qwen", "UserPromptSubmit", json!({"session_id": SESSION, "cwd": "/p", "prompt": 7}), true),
        ("qwen", "Stop", json!({"session_id": SESSION, "cwd": "/p", "prompt": ""}), true),
        ("copilot", "userPromptSubmitted", json!({"sessionId": SESSION, "prompt": "x", "parentAgentId": "a"}), false),
        ("copilot", "userPromptSubmitted", json!({"sessionId": SESSION, "prompt": "x", "parentAgentId": null}), true),
        ("copilot", "agentStop", json!({"sessionId": SESSION, "parentAgentId": "a"}), true),
    ] {
        let world = World::new();
        patient(&world);
        let called = || {
            assert_eq!(call(&world, &["--agent", agent, event], &input).0, None);
            spool(world.home()).len()
        };
        // On a busy machine a hook may give up before it has read its configuration.
        let spooled = if is_prompt { usize::from(wait(|| called() == 1)) } else { called() };
        assert_eq!(spooled, usize::from(is_prompt), "{agent} {event} {input}");
    }
}

#[test]
fn no_input_blocks_an_agent() {
    let long = "x".repeat(100_000);
    let inputs: [Vec<u8>; 7] = [
        Vec::new(),
        b"\0\xff{{{".to_vec(),
        b"[1, 2]".to_vec(),
        br#"{"session_id": 7, "sessionId": {}, "cwd": [], "workspace_roots": "x", "prompt": null, "parentAgentId": []}"#.to_vec(),
        json!({"session_id": long, "transcript_path": long, "cwd": "../../..", "cursor_version": long}).to_string().into_bytes(),
        json!({"session_id": "../../../etc/passwd", "transcript_path": "/etc/passwd", "cwd": "/\u{0}"}).to_string().into_bytes(),
        json!({"prompt": "y".repeat(9_000_000), "session_id": SESSION}).to_string().into_bytes(),
    ];
    for (agent, event) in [
        ("gemini", "BeforeAgent"),
        ("qwen", "UserPromptSubmit"),
        ("copilot", "sessionStart"),
        ("cursor", "beforeSubmitPrompt"),
        ("droid", "SessionEnd"),
        ("codex", "SessionStart"),
    ] {
        let world = World::new();
        for input in &inputs {
            assert_eq!(call_with(&world, &["--agent", agent, event], input).0, None, "{agent} {event}");
        }
    }
}
