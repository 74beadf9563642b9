//! After a compaction the conversation continues in the same session and the same file.

use super::{Script, patient};
use crate::world::{id, wait};

#[test]
fn a_compaction_indexes_what_is_there_and_ends_nothing() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    script.turn().turn();
    script.compacts("manual");
    let indexed = world.wait_for(&id(1), "the index of a compaction", |row| row["episode_uuid"].is_string());
    assert_eq!((&indexed["close_reason"], &indexed["end"]), (&"hook_compact".into(), &serde_json::Value::Null));
    script.is_whole();
    script.turn();
    script.compacts("auto");
    script.turn();
    script.ends("prompt_input_exit");
    let ended = script.ended("hook_prompt_input_exit");
    assert_ne!(ended["episode_uuid"], indexed["episode_uuid"], "it has grown since");
    script.tells(&[
        "session_start (startup)",
        "pre_compact (manual)",
        "session_start (compact)",
        "session_end (prompt_input_exit)",
    ]);
}

#[test]
fn an_automatic_compaction_that_does_not_come_changes_nothing() {
    let world = patient();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    script.turn();
    script.fire("PreCompact", serde_json::json!({"trigger": "auto", "custom_instructions": ""}));
    assert!(wait(|| world.show(&id(1))["episode_uuid"].is_string()), "{}", script.told());
    script.turn();
    script.ends("other");
    script.ended("hook_other");
}
