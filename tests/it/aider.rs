//! Aider's history in a project: each session of the file is one of its own, read only where it may be, and only if it is
//! this user's.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::world::{World, id, list, text, wait};

const NAME: &str = ".aider.chat.history.md";

fn session(time: &str, ask: &str, say: &str) -> String {
    format!(
        "\n# aider chat started at {time}\n\n> /usr/bin/aider --model m1  \n> Model: m1 with diff edit format  \n\n\
         #### {ask}  \n#### and say why  \n\n{say}\n\n> Tokens: 2.5k sent, 16 received.  \n> Applied edit to swim.py  \n"
    )
}

/// A project in which a session of Claude Code works, and the path of Aider's history there.
fn project(world: &World, number: u32) -> PathBuf {
    let work = world.path(format!("work/{number}"));
    fs::create_dir_all(&work).unwrap();
    let work = fs::canonicalize(work).unwrap();
    let directory = work.display().to_string();
    world.transcript("-work", &id(number)).in_directory(&directory).prompt("Look at the heron").reply("Done.");
    work.join(NAME)
}

fn rows(world: &World) -> Vec<Value> {
    list(&world.json(&["sessions", "--agent", "aider"])["sessions"])
}

/// The prompts and answers of a session.
fn told(world: &World, session: &str) -> Vec<String> {
    let messages = list(&world.json(&["show", session, "--messages"])["messages"]);
    let parts = |message: &Value| {
        list(&message["parts"]).iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect::<String>()
    };
    let spoken = messages.iter().filter(|message| message["role"] != "harness");
    spoken.map(|message| format!("{} {}", text(&message["role"]), parts(message))).collect()
}

/// The sessions that a search finds, once there are as many.
fn found(world: &World, query: &str, count: usize) -> Vec<String> {
    assert!(wait(|| world.found(query).len() == count), "{query}: {:?}", world.found(query));
    world.found(query)
}

#[test]
fn a_person_who_leaves_ends_the_session_if_it_was_watched() {
    // A time in the far future counts as now.
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), r#"{"session_tracking": {"check_interval": 2}}"#).unwrap();
    let history = project(&world, 1);
    fs::write(&history, session("2999-01-01 19:15:00", "Let the otter swim", "It swims.") + "\n#### /exit  \n")
        .unwrap();
    assert_eq!(found(&world, "agent:aider otter", 1).len(), 1);
    let mut file = fs::OpenOptions::new().append(true).open(&history).unwrap();
    let write = |file: &mut fs::File, text: &str| file.write_all(text.as_bytes()).unwrap();
    write(&mut file, &session("2999-01-01 20:15:00", "Let the walrus dive", "It dives."));
    let walrus = found(&world, "agent:aider walrus", 1).remove(0);
    let reason = |session: &str| rows(&world).iter().find(|row| row["session_id"] == session).unwrap()["end"].clone();
    assert!(rows(&world).iter().all(|row| row["end"].is_null()), "history is no news: {:#?}", rows(&world));
    write(&mut file, "\n#### say /exit to leave  \n\nI cannot.\n\n\n#### /quit  \n");
    assert!(wait(|| reason(&walrus) == "hook_prompt_input_exit"), "{:#?}", rows(&world));
    assert!(rows(&world).iter().filter(|row| !row["end"].is_null()).count() == 1);
}

#[test]
fn each_session_of_the_history_in_a_known_project_is_read_grows_and_is_forgotten_alone() {
    let world = World::new();
    let history = project(&world, 1);
    let first = session("2026-06-11 19:15:00", "Let the otter swim", "It swims in the harbor.");
    let second = session("2026-06-11 20:15:00", "Let the otter dive", "It dives in the harbor.");
    fs::write(&history, first + &second).unwrap();
    let ids = found(&world, "agent:aider otter", 2);
    let one = found(&world, "agent:aider otter swims", 2).remove(0);
    let other = ids.iter().find(|id| **id != one).unwrap().clone();
    assert!(told(&world, &one)[0].starts_with("user Let the otter swim\nand say why"), "{:?}", told(&world, &one));
    assert!(told(&world, &one)[1].starts_with("assistant It swims in the harbor."), "{:?}", told(&world, &one));
    let here = history.parent().unwrap().display().to_string();
    for row in rows(&world) {
        assert_eq!((text(&row["project"]), &row["unknown_types"]), (here.clone(), &serde_json::json!({})));
    }
    assert!(world.ok(&["show", &one]).out.contains("aider --restore-chat-history"));

    let mut file = fs::OpenOptions::new().append(true).open(&history).unwrap();
    file.write_all(b"\n#### Now feed the otter  \n\nIt eats mussels.\n\n").unwrap();
    assert_eq!(found(&world, "agent:aider mussels", 1), std::slice::from_ref(&other), "the last one goes on");
    assert_eq!(told(&world, &other).iter().filter(|said| said.contains("otter dive")).count(), 1);
    let third = session("2026-06-11 21:15:00", "Wake the walrus", "It is awake.");
    file.write_all(third.as_bytes()).unwrap();
    assert_eq!(found(&world, "agent:aider walrus", 1).len(), 1);

    world.ok(&["forget", &one, "--yes"]);
    assert!(!world.found("agent:aider otter swims").contains(&one));
    assert_eq!(found(&world, "agent:aider otter dives", 1), [other]);
    assert_eq!(world.problems(), "[]");
}

#[test]
fn a_history_that_git_tracks_is_named_and_not_read() {
    let world = World::new();
    let history = project(&world, 1);
    fs::write(&history, session("2026-06-11 19:15:00", "Let the otter swim", "It swims.")).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        let ran = git.arg("-C").arg(history.parent().unwrap()).args(arguments).env("HOME", world.path("user")).output();
        assert!(ran.unwrap().status.success(), "git {arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", NAME]);
    assert_eq!(found(&world, "heron", 1), [id(1)]);
    assert!(wait(|| world.problems().contains("git tracks it")), "{}", world.problems());
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains(NAME) && doctor.contains("git tracks it"), "{doctor}");
    let named = world.run(&["install", "aider", "--project", history.parent().unwrap().to_str().unwrap()]);
    assert!(named.code == 1 && named.err.contains("git tracks it") && named.out.is_empty(), "{}", named.err);
    assert!(world.found("agent:aider otter").is_empty() && rows(&world).is_empty());
}

#[test]
fn a_history_elsewhere_is_read_once_a_person_names_its_project() {
    let world = World::new();
    let work = world.path("work/other");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join(NAME), session("2026-06-11 19:15:00", "Let the otter swim", "It swims.")).unwrap();
    assert!(world.found("agent:aider otter").is_empty());
    let work = work.display().to_string();
    world.ok(&["install", "aider", "--project", &work]);
    found(&world, "agent:aider otter", 1);
    let config = || fs::read_to_string(world.home().join("config.json")).unwrap();
    assert!(config().contains("work/other"), "{}", config());
    world.ok(&["uninstall", "aider", "--project", &work]);
    assert!(!config().contains("work/other"), "{}", config());
    assert!(world.run(&["install", "aider"]).err.contains("--project DIR"));
}
