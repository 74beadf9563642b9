//! A session that was left is resumed, even the next day. The daemon runs in this process, with the test's clock.

use super::{Script, configure};
use crate::time::Held;
use crate::world::id;

#[test]
fn resumed_the_next_day_a_session_is_one_episode_of_both_days() {
    const DAY: i64 = 24 * 3600;
    let mut held = Held::new();
    held.stop();
    configure(&held.world);
    held.begin();
    let world = &held.world;
    held.at(10);
    let mut script = Script::starts(world, "-work-one", &id(1), "startup").at(crate::time::after(10));
    script.turn().turn();
    held.at(60);
    script.ends("prompt_input_exit");
    let first = script.ended("hook_prompt_input_exit");
    held.at(DAY);
    let mut script = Script { told: None, ..script }.at(crate::time::after(DAY));
    script.fire("SessionStart", serde_json::json!({"source": "resume"}));
    let shown = world.show(&id(1));
    assert_eq!(shown["episode_uuid"], first["episode_uuid"], "the first one serves");
    held.at(DAY + 5);
    script.turn();
    held.at(DAY + 30);
    script.ends("other");
    let second = script.ended("hook_other");
    assert_ne!(second["episode_uuid"], first["episode_uuid"]);
    script.tells(&["session_end (prompt_input_exit)", "session_start (resume)", "session_end (other)"]);
    held.stop();
}

#[test]
fn resumed_and_left_without_a_word_a_session_stays_as_it_was() {
    let mut held = Held::new();
    held.stop();
    configure(&held.world);
    held.begin();
    let world = &held.world;
    let mut script = Script::starts(world, "-work-one", &id(1), "startup").at(crate::time::after(0));
    held.at(20);
    script.turn();
    script.ends("prompt_input_exit");
    let first = script.ended("hook_prompt_input_exit");
    held.at(7200);
    script.fire("SessionStart", serde_json::json!({"source": "resume"}));
    script.ends("other");
    held.settle(&id(1));
    let shown = world.show(&id(1));
    assert_eq!((&shown["episode_uuid"], &shown["state"]), (&first["episode_uuid"], &"indexed".into()), "{shown}");
    script.is_whole();
    held.stop();
}
