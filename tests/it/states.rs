//! `session_states.json`: the contents of `baton sessions --json` without titles, for programs that read a file.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::transcript::now;
use crate::world::{World, id, list, text, wait};

fn exported(world: &World) -> Value {
    let bytes = std::fs::read(world.home().join("session_states.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

/// The rows that a command tells, without the titles that the memory gives.
fn told(world: &World) -> Value {
    let mut told = world.json(&["sessions"]);
    for row in told["sessions"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("title");
    }
    told
}

/// Two sessions that are over, one of them without any message, and one in progress.
fn world() -> World {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the careful otter").reply("Indeed.");
    world.transcript("-work-one", &id(2)).metadata();
    let open = world.transcript("-work-two", &id(3)).at(now());
    { open }.prompt("an open giraffe");
    world.transcript("-work-one", "agent-0a1b2c3d").of_subagent(&id(1)).prompt("look into it");
    world.close(&id(1));
    world.json(&["close", &id(2)]);
    world.search("otter giraffe");
    world
}

#[test]
fn it_says_what_the_command_says() {
    let world = world();
    let told = told(&world);
    assert_eq!(list(&told["sessions"]).len(), 3, "{told}");
    assert!(world.sessions().len() > 3, "there is a subagent, and it is left out");
    let position = world.json(&["status"])["log"]["position"].clone();
    world.stop();
    let found = exported(&world);
    assert_eq!((&found["version"], &found["sessions"]), (&1.into(), &told["sessions"]));
    assert_eq!(found["position"], position, "all of the log");
    assert!(text(&found["written_at"]).ends_with('Z'));
    let mode = std::fs::metadata(world.home().join("session_states.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner only");
    assert!(!world.home().join("session_states.json.tmp").exists());
}

#[test]
fn it_follows_a_running_daemon_and_nothing_reads_it_back() {
    let world = world();
    let before = told(&world);
    assert!(wait(|| exported(&world)["sessions"] == before["sessions"]), "{}", exported(&world));
    world.kill();
    std::fs::write(world.home().join("session_states.json"), "nonsense").unwrap();
    let after = told(&world);
    assert_eq!(after["sessions"], before["sessions"]);
    assert!(wait(|| exported(&world)["sessions"] == before["sessions"]), "written anew by the next daemon");
    assert_eq!(world.problems(), "[]");
}

#[test]
fn an_unwritable_file_is_reported_once_and_delays_nothing() {
    let world = World::new();
    // Not even root can replace a non-empty folder by a file.
    std::fs::create_dir_all(world.home().join("session_states.json/in the way")).unwrap();
    world.transcript("-work-one", &id(1)).prompt("the careful otter");
    world.close(&id(1));
    world.stop();
    let log = world.log();
    assert_eq!(log.matches("session_states.json cannot be written").count(), 1, "{log}");
    assert!(log.contains("daemon stopped"), "{log}");
}
