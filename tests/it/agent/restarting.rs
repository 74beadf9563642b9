//! The daemon stops and starts while the agent works.

use std::path::Path;

use rustix::process::{Signal, kill_process};

use super::{Script, patient, spooled, taken};
use crate::world::{World, id, wait};

#[test]
fn a_daemon_that_is_killed_and_stopped_meanwhile_misses_nothing() {
    let world = patient();
    world.ok(&["status"]);
    let mut first = Script::starts(&world, "-work-one", &id(1), "startup");
    first.turn();
    world.kill();
    // No daemon listens, and the socket of the dead one is still there.
    first.turn();
    first.ends("clear");
    assert!(!spooled(&world).is_empty());
    world.ok(&["status"]);
    taken(&world);
    first.ended("hook_clear");
    let mut second = Script::starts(&world, "-work-one", &id(2), "clear");
    second.turn();
    world.stop();
    second.turn();
    second.ends("prompt_input_exit");
    world.ok(&["status"]);
    taken(&world);
    second.ended("hook_prompt_input_exit");
    first.ended("hook_clear");
    second.tells(&["session_start (clear)", "session_end (prompt_input_exit)"]);
}

#[test]
fn a_start_brings_a_daemon_with_it() {
    let world = patient();
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    assert!(wait(|| world.daemon().is_some()), "SessionStart starts one");
    script.turn();
    script.ends("other");
    script.ended("hook_other");
    taken(&world);
    script.tells(&["session_start (startup)", "session_end (other)"]);
}

#[test]
fn a_daemon_that_is_stopped_holds_up_no_agent_and_takes_what_was_left() {
    let world = World::new();
    world.ok(&["status"]);
    let mut script = Script::starts(&world, "-work-one", &id(1), "startup");
    script.turn();
    let daemon = world.daemon().expect("a daemon");
    kill_process(daemon, Signal::STOP).unwrap();
    script.turn();
    script.ends("logout");
    let mut next = Script::starts(&world, "-work-one", &id(2), "startup");
    next.turn();
    let left = spooled(&world);
    assert!(left.len() >= 2, "an end and a start at least: {left:?}");
    assert!(left.iter().all(|file| is_private(file)), "{left:?}");
    kill_process(daemon, Signal::CONT).unwrap();
    taken(&world);
    assert_eq!(world.daemon(), Some(daemon), "and no other was started in its place");
    script.ended("hook_logout");
    next.ends("other");
    taken(&world);
    next.ended("hook_other");
}

fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o777 == 0o600)
}
