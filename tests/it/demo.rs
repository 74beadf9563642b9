//! The first command of the README, in a fresh checkout on a machine without transcripts.

use std::path::Path;
use std::process::Command;

use crate::world::{Ran, World, finished, hits, id, text};

const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");

fn in_checkout(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(arguments);
    finished(command.current_dir(CHECKOUT).output().unwrap())
}

pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The processes of a world, with their ids.
pub(crate) fn processes_of(world: &World) -> Vec<String> {
    world.processes().iter().map(crate::world::Process::shown).collect()
}

#[test]
fn the_demo_answers_from_the_examples_and_leaves_nothing_behind() {
    let world = World::new();
    std::fs::remove_dir_all(world.config()).unwrap();
    let human = in_checkout(&world, &["search", "refresh token"]);
    assert_eq!(human.code, 0, "{}", human.err);
    assert!(
        human.err.contains("No transcripts of any agent") && human.err.contains("example sessions"),
        "{}",
        human.err
    );
    let first = human.out.lines().next().unwrap();
    assert!(first.contains("a94e0d17"), "{}", human.out);

    let ran = in_checkout(&world, &["search", "refresh", "token", "--json"]);
    let found = hits(&ran.json());
    assert!(text(&found[0]["session_id"]).starts_with("a94e0d17"), "{found:?}");
    assert_eq!(found[0]["project"], "/home/dev/projects/ledger-api");
    assert!(found.iter().any(|hit| hit["project"] == "/home/dev/projects/harbor-ui"), "the other end of the story");

    assert!(!world.home().exists(), "BATON_HOME was not touched");
    assert_eq!(entries(&world.path("tmp")), [""; 0], "no throwaway home is left");
    assert_eq!(entries(&world.path("user")), [""; 0]);
    assert_eq!(processes_of(&world), [""; 0], "no process is left");

    assert!(human.err.contains("`baton --examples show ID`"), "{}", human.err);
    let show = in_checkout(&world, &["show", "a94e0d17"]);
    assert!(show.code == 1 && show.err.contains("`baton --examples show ID`"), "{}", show.err);
    let listed = in_checkout(&world, &["sessions"]);
    assert!(listed.code == 0 && listed.out.contains("`baton --examples sessions`"), "{}", listed.out);
}

#[test]
fn the_demos_daemon_ends_although_its_client_was_killed() {
    let world = World::new();
    let mut client = world.command(&["search", "refresh token"]);
    client.current_dir(CHECKOUT).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut client = client.spawn().unwrap();
    assert!(crate::world::wait(|| !entries(&world.path("tmp")).is_empty()));
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(crate::world::wait(|| processes_of(&world).is_empty()), "{:?}", processes_of(&world));
    // If the command is killed before its daemon starts, it leaves at most a folder without a process.
    if let [left] = entries(&world.path("tmp")).as_slice() {
        assert!(!world.path("tmp").join(left).join("log").exists(), "{left}");
    }
}

#[test]
fn the_demo_is_only_for_those_who_have_nothing() {
    // A person with one session.
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("a refresh of my own");
    let ran = in_checkout(&world, &["search", "refresh", "--json"]);
    assert_eq!(hits(&ran.json())[0]["session_id"], *id(1));
    assert_eq!(ran.err, "");
    // The transcripts are gone, but what was recorded of them is not.
    world.stop();
    std::fs::remove_dir_all(world.projects()).unwrap();
    let ran = in_checkout(&world, &["search", "refresh", "--json"]);
    assert_eq!(hits(&ran.json())[0]["session_id"], *id(1), "{}", ran.err);

    // Outside a checkout.
    let world = World::new();
    let ran = world.run(&["search", "refresh"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("Nothing found"), "{}", ran.out);
    assert_eq!(entries(&world.path("tmp")), [""; 0]);
}

#[test]
fn the_examples_need_no_git_and_no_network() {
    // An empty PATH: the program needs no other programs.
    let world = World::new();
    let empty = world.path("tmp/empty");
    std::fs::create_dir_all(&empty).unwrap();
    let mut command: Command = world.command(&["search", "refresh token", "--json"]);
    let ran = finished(command.current_dir(CHECKOUT).env("PATH", &empty).output().unwrap());
    assert!(text(&hits(&ran.json())[0]["session_id"]).starts_with("a94e0d17"), "{}", ran.err);
}
