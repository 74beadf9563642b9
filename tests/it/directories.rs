//! Agents' variables: those that move only a part of an agent's files, and directories that must not be read.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::world::{World, wait};

const AT: &str = "2026-06-11T19:15:35.513Z";

/// A session of Pi that says these words.
fn pi(folder: &Path, id: &str, words: &str) {
    fs::create_dir_all(folder).unwrap();
    let lines = [
        json!({ "type": "session", "version": 3, "id": id, "timestamp": AT, "cwd": "/srv/harbor" }),
        json!({ "type": "message", "id": words, "parentId": null, "timestamp": AT,
                "message": { "role": "user", "content": words } }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join(format!("2026-06-11T19-15-00-000Z_{id}.jsonl")), lines).unwrap();
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn what_a_variable_moves_is_read_beside_the_usual_place() {
    let mut world = World::new();
    let moved = world.path("moved");
    world.set("PI_CODING_AGENT_SESSION_DIR", &moved);
    let (one, two) = ("5d2f1c3a-7b1e-4c55-9a01-000000000001", "5d2f1c3a-7b1e-4c55-9a01-000000000002");
    pi(&world.path("user/.pi/agent/sessions/--srv-harbor--"), one, "Let the otter swim");
    pi(&moved, two, "Let the badger dig");
    assert_eq!(world.found("otter"), [one]);
    assert_eq!(world.found("badger"), [two]);
    assert_eq!(world.problems(), "[]");
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains(&format!("PI_CODING_AGENT_SESSION_DIR={}", moved.display())), "{doctor}");
    assert!(world.ok(&["help", "agents"]).out.contains("`PI_CODING_AGENT_SESSION_DIR`"));
}

#[test]
fn an_agent_whose_directory_others_can_write_is_left_out_and_the_rest_goes_on() {
    let mut world = World::new();
    let (moved, data) = (world.path("moved"), world.path("data"));
    world.set("PI_CODING_AGENT_SESSION_DIR", &moved);
    world.set("XDG_DATA_HOME", &data);
    pi(&moved, "5d2f1c3a-7b1e-4c55-9a01-000000000001", "Let the badger dig");
    fs::create_dir_all(data.join("goose/sessions")).unwrap();
    [&moved, &data].into_iter().for_each(|folder| open_to_all(folder));
    let own = crate::world::id(1);
    world.transcript("-work-one", &own).prompt("where does the marmot sleep").reply("In its burrow.");
    assert_eq!(world.found("marmot"), [own]);
    assert_eq!(world.found("badger"), [""; 0]);
    assert!(wait(|| world.problems().contains("can be written by others")), "{}", world.problems());
    let doctor = world.run(&["doctor"]).out;
    for (variable, folder, agent) in [("PI_CODING_AGENT_SESSION_DIR", &moved, "Pi"), ("XDG_DATA_HOME", &data, "Goose")]
    {
        let told = format!("{variable} names {}, which is not read for {agent}: ", folder.display());
        assert!(doctor.contains(&told), "{told}: {doctor}");
    }
}
