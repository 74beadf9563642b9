//! What the daemon does with what hooks say, asked over its socket as a hook asks: raw lines, no client of ours.

use serde_json::{Value, json};

use crate::sockets::Raw;
use crate::transcript::now;
use crate::world::{World, id, text};

/// Says an event of a session as its hook would; the fields beside those are `more`.
fn hook(raw: &mut Raw, world: &World, event: &str, session: &str, more: Value) -> Value {
    let path = world.projects().join("-work-one").join(format!("{session}.jsonl"));
    let mut params = json!({
        "id": format!("{event}-{session}"), "event": event, "at": now().0, "session_id": session, "cwd": "/srv/-work-one",
        "transcript_path": path, "wait_ms": 100,
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": params}));
    assert!(answer["error"].is_null(), "{event}: {answer}");
    answer["result"].clone()
}

fn stats(raw: &mut Raw) -> Value {
    raw.call(&json!({"jsonrpc": "2.0", "id": 8, "method": "hook/stats"}))["result"].clone()
}

#[test]
fn a_start_and_an_end_are_recorded_before_they_are_acknowledged() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("noted");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let started = hook(raw, &world, "SessionStart", &id(1), json!({"detail": "startup"}));
    assert_eq!(started["status"], "recorded", "{started}");
    let prompted = hook(raw, &world, "UserPromptSubmit", &id(1), json!({}));
    assert_eq!(prompted["status"], "accepted", "{prompted}");
    let ended = hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "prompt_input_exit"}));
    assert_eq!(ended["status"], "recorded", "{ended}");
    // Whatever happens now, it is known.
    world.kill();
    let told = world.ok(&["explain", &id(1)]).out;
    assert!(told.contains("session_start (startup)") && told.contains("session_end (prompt_input_exit)"), "{told}");
    // And the same again is not recorded again.
    let raw = &mut Raw::greeted(&world);
    let again = hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "prompt_input_exit"}));
    assert_eq!(again["status"], "known", "{again}");
    assert_eq!(world.ok(&["explain", &id(1)]).out.matches("session_end (").count(), 1);
}

#[test]
fn what_is_of_no_transcript_that_is_read_is_ignored_and_counted() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
    world.ok(&["status"]);
    std::fs::create_dir_all(world.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.projects().join("-link")).unwrap();
    let raw = &mut Raw::greeted(&world);
    let at = |path: &str| json!({"transcript_path": world.path(path)});
    for (event, session, more, why) in [
        ("SessionEnd", id(2), at("elsewhere/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), at("claude/projects/-link/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), at("claude/projects/../../elsewhere/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), json!({"transcript_path": "x.jsonl"}), "outside_roots"),
        ("SessionStart", id(2), json!({"cwd": world.home().join("blobs")}), "own"),
        ("SessionStart", "../x".to_owned(), json!({"transcript_path": null}), "malformed"),
        ("SessionStart", id(2), json!({"id": ""}), "malformed"),
        ("Stop", id(2), json!({"transcript_path": null}), "unknown_session"),
        ("SessionEnd", id(2), json!({"at": 5}), "too_old"),
    ] {
        let answer = hook(raw, &world, event, &session, more.clone());
        assert_eq!((text(&answer["status"]), text(&answer["why"])), ("ignored".to_owned(), why.to_owned()), "{more}");
    }
    let stats = stats(raw);
    assert_eq!(stats["ignored"]["outside_roots"], 4, "{stats}");
    assert_eq!(stats["events"]["SessionEnd"]["calls"], 5, "{stats}");
    assert_eq!(world.sessions().len(), 1, "none of them has become a session");
}
