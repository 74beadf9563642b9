//! How sessions end, one after another and side by side.

use serde_json::json;

use super::{Script, configure, patient, spooled};
use crate::time::{Held, after};
use crate::world::id;

#[test]
fn each_way_to_leave_is_its_own_reason() {
    let world = patient();
    world.ok(&["status"]);
    let reasons = [
        ("prompt_input_exit", "hook_prompt_input_exit"),
        ("logout", "hook_logout"),
        ("clear", "hook_clear"),
        ("resume", "hook_resume"),
        // The terminal was closed.
        ("other", "hook_other"),
        // A reason of a later version.
        ("bored", "hook_other"),
    ];
    let mut scripts = Vec::new();
    for (number, (reason, _)) in (1..).zip(reasons) {
        let mut script = Script::starts(&world, &format!("-work-{number}"), &id(number), "startup");
        script.turn().turn();
        script.ends(reason);
        scripts.push(script);
    }
    for (script, (said, reason)) in scripts.iter().zip(reasons) {
        script.ended(reason);
        let said = if said == "bored" { "other" } else { said };
        script.tells(&["session_start (startup)", &format!("session_end ({said})"), "indexed"]);
    }
    assert_eq!(spooled(&world), Vec::<std::path::PathBuf>::new());
}

#[test]
fn clear_ends_one_session_and_starts_the_next_again_and_again() {
    let world = patient();
    world.ok(&["status"]);
    let mut first = Script::starts(&world, "-work-one", &id(1), "startup");
    first.turn();
    let mut second = first.clears(&id(2));
    let told = second.told.take().expect("what the session was for that ended a moment ago");
    assert!(told.contains(&super::word(&id(1), 0)), "{told}");
    second.turn();
    assert_eq!(second.told, None, "and it is told once");
    let mut third = second.clears(&id(3));
    // Cleared again before anything was typed: nothing to index and nothing to list.
    let mut fourth = third.clears(&id(4));
    fourth.turn();
    fourth.ends("prompt_input_exit");
    first.ended("hook_clear");
    second.ended("hook_clear");
    fourth.ended("hook_prompt_input_exit");
    second.tells(&["session_start (clear)", &format!("after {}", id(1)), "session_end (clear)"]);
    let rows = world.sessions();
    assert_eq!(rows.len(), 3, "the one without a transcript is no session: {rows:?}");
}

#[test]
fn a_hook_that_is_called_twice_ends_its_session_once() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    script.turn();
    // The hook is installed twice, in the settings and by a plugin.
    script.ends("clear");
    script.ends("clear");
    let uuid = script.ended("hook_clear")["episode_uuid"].clone();
    script.ends("other");
    world.ok(&["sync"]);
    let shown = script.ended("hook_clear");
    assert_eq!(shown["episode_uuid"], uuid, "{}", script.told());
}

#[test]
fn two_sessions_in_one_directory_end_each_for_itself() {
    let world = patient();
    world.ok(&["status"]);
    let mut one = Script::starts(&world, "-work-one", &id(1), "startup");
    let mut other = Script::starts(&world, "-work-one", &id(2), "startup");
    one.turn();
    other.turn();
    one.ends("prompt_input_exit");
    other.turn();
    one.ended("hook_prompt_input_exit");
    let shown = world.show(&id(2));
    assert!(shown["end"].is_null(), "{shown}");
    let mut next = one.clears(&id(3));
    next.turn();
    other.turn();
    other.ends("other");
    next.ends("logout");
    other.ended("hook_other");
    next.ended("hook_logout");
}

#[test]
fn subagents_that_stop_end_nothing() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    script.turn();
    let below = world.projects().join("-work-one").join(id(1)).join("subagents");
    let path = below.join("agent-a1b2c3d.jsonl");
    let mut subagent =
        crate::transcript::Transcript::new(path.clone(), "agent-a1b2c3d", "/srv/-work-one").of_subagent(&id(1));
    subagent.prompt("find the wombat").reply("here is the wombat");
    let about = json!({"agent_id": "a1b2c3d", "agent_type": "Explore", "agent_transcript_path": path, "stop_hook_active": false});
    script.fire("SubagentStop", about);
    // A subagent of whose transcript nothing is known.
    script.fire(
        "SubagentStop",
        json!({"agent_id": "", "agent_type": "", "agent_transcript_path": "", "stop_hook_active": false}),
    );
    script.turn();
    assert!(world.show(&id(1))["end"].is_null());
    script.ends("prompt_input_exit");
    script.ended("hook_prompt_input_exit");
    assert_eq!(world.sessions().len(), 2);
}

#[test]
fn without_any_hook_time_ends_a_session() {
    let world = patient();
    let mut script = Script::unhooked(&world, "-work-one", &id(1)).at(crate::transcript::now().plus_ms(-40 * 60_000));
    script.turn().turn();
    world.ok(&["daemon"]);
    script.ended("inactivity_timeout");
    assert!(!script.told().contains("session_end ("), "{}", script.told());
}

#[test]
fn killed_without_a_word_time_ends_the_session() {
    let held = Held::new();
    configure(&held.world);
    let mut script = Script::starts(&held.world, "-work-one", &id(1), "startup").at(after(0));
    script.turn().turn();
    held.at(60);
    // The agent is killed, so there is no SessionEnd. Its next session is a new one.
    let mut next = Script::starts(&held.world, "-work-one", &id(2), "startup").at(after(60));
    next.turn();
    next.ends("other");
    next.ended("hook_other");
    assert!(held.world.show(&id(1))["end"].is_null(), "{}", script.told());
    // Closed half an hour after its last hook, which was called at 0 s, and not before.
    held.at(1_799);
    assert_eq!(held.settle(&id(1)).end, None, "{}", script.told());
    held.at(1_860);
    script.ended("inactivity_timeout");
    assert!(!script.told().contains("session_end ("), "{}", script.told());
}
