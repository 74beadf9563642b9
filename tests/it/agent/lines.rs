//! Lines that are written after the end, or that are not part of the conversation.

use serde_json::json;

use super::{Script, patient};
use crate::transcript::now;
use crate::world::{id, text};

#[test]
fn lines_that_come_after_the_end_belong_to_it() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup").at(now().plus_ms(-30_000));
    script.turn();
    script.ends("prompt_input_exit");
    // The agent's writer lags behind its hook.
    script.transcript.reply("and the numbat was seen too");
    script.ended("hook_prompt_input_exit");
    assert_eq!(world.found("numbat"), [id(1)]);
    script.transcript.reply("and the quokka");
    assert_eq!(world.found("quokka"), [id(1)], "{}", script.told());
    script.ended("hook_prompt_input_exit");
}

#[test]
fn metadata_of_an_old_transcript_resumes_nothing() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup").at(now().plus_ms(-90 * 60_000));
    script.turn();
    script.ends("prompt_input_exit");
    let before = script.ended("hook_prompt_input_exit");
    for _ in 0..3 {
        script.transcript.metadata();
        script.transcript.append(&json!({"type": "summary", "summary": "the day in short", "leafUuid": "x"}));
    }
    // A query makes the daemon read it.
    world.search("anything");
    let after = script.ended("hook_prompt_input_exit");
    assert_eq!(text(&after["episode_uuid"]), text(&before["episode_uuid"]), "{}", script.told());
    assert_eq!(after["last_activity"], before["last_activity"]);
}

#[test]
fn an_end_whose_transcript_comes_later_is_its_end() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup").at(now().plus_ms(-30_000));
    // The session ends before anything is written.
    script.ends("prompt_input_exit");
    assert_eq!(world.sessions(), Vec::<serde_json::Value>::new(), "what has no transcript is not listed");
    script.hooked = false;
    script.turn();
    assert_eq!(world.found(&super::word(&id(1), 0)), [id(1)]);
    script.ended("hook_prompt_input_exit");
}
