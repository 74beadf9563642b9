//! Which directories are read: the agent's own, those that clients name, and those in the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::transcript::Transcript;
use crate::world::{World, id, list, text, wait};

/// Creates an agent's directory with one session.
fn agent(world: &World, name: &str, number: u32, prompt: &str) -> PathBuf {
    let directory = fs::canonicalize(world.path("")).unwrap().join(name);
    fs::create_dir_all(directory.join("projects")).unwrap();
    session(&directory, number, prompt);
    directory
}

fn session(directory: &Path, number: u32, prompt: &str) {
    let path = directory.join("projects/-srv-app").join(format!("{}.jsonl", id(number)));
    Transcript::new(path, &id(number), "/srv/app").prompt(prompt).reply("yes");
}

/// Runs a search as a person whose agent writes to `directory`.
fn search_from(world: &World, directory: &Path, query: &str) -> (Vec<String>, String) {
    let mut command = world.command(&["search", query, "--json"]);
    let ran = crate::world::finished(command.env("CLAUDE_CONFIG_DIR", directory).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut sessions: Vec<String> = list(&ran.json()["hits"]).iter().map(|hit| text(&hit["session_id"])).collect();
    sessions.sort();
    sessions.dedup();
    (sessions, ran.err)
}

fn roots(world: &World) -> Vec<(String, String)> {
    let told: Value = world.json(&["status"]);
    list(&told["roots"]).iter().map(|root| (text(&root["path"]), text(&root["named_by"]))).collect()
}

fn projects(directory: &Path) -> String {
    directory.join("projects").to_str().unwrap().to_owned()
}

#[test]
fn a_directory_that_a_client_names_is_read_at_once_and_known_after_a_restart() {
    let world = World::new();
    world.transcript("-one", &id(1)).prompt("the dugong at home");
    assert_eq!(world.found("dugong"), [id(1)]);
    let other = agent(&world, "claude-work", 2, "the dugong at work");
    let (found, note) = search_from(&world, &other, "dugong");
    assert_eq!((found, note.as_str()), (vec![id(1), id(2)], ""), "both, by the very first search");
    let expected =
        [(world.projects().to_str().unwrap().to_owned(), "default".to_owned()), (projects(&other), "cli".to_owned())];
    assert_eq!(roots(&world), expected);

    world.stop();
    session(&other, 3, "the manatee");
    assert_eq!(world.found("manatee"), [id(3)], "by a client that does not name it");
    assert_eq!(roots(&world), expected);
    assert_eq!(world.problems(), "[]");
}

#[test]
fn a_directory_that_a_repository_could_have_made_is_refused_and_named() {
    let world = World::new();
    world.ok(&["status"]);
    let planted = agent(&world, "work/repo/.claude", 1, "the planted dugong");
    fs::create_dir(world.path("work/repo/.git")).unwrap();
    let mut command = world.command(&["search", "dugong"]);
    let ran = crate::world::finished(command.env("CLAUDE_CONFIG_DIR", &planted).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("which is not read") && ran.err.contains("git work tree"), "{}", ran.err);
    assert_eq!(roots(&world).len(), 1);
    let problems = world.problems();
    assert!(problems.contains(planted.to_str().unwrap()) && problems.contains("named by cli"), "{problems}");
    // It is not read after a restart either, and a client with a good directory gets no message.
    world.stop();
    let ran = world.ok(&["search", "dugong"]);
    assert!(ran.out.contains("Nothing found") && !ran.err.contains("not read:"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_directory_that_came_with_what_was_unpacked_is_refused_by_whoever_works_there() {
    let check = |started: bool, variable: Option<&str>| {
        let world = World::new();
        if started {
            world.ok(&["status"]);
        }
        // There is no repository, and no session has ever worked there.
        let planted = agent(&world, "work/app/.evil", 1, "the planted dugong");
        let app = world.path("work/app");
        let mut command = world.command(&["search", "dugong", "--json"]);
        command.env("CLAUDE_CONFIG_DIR", &planted);
        match variable {
            Some(variable) => command.env(variable, &app),
            None => command.current_dir(&app),
        };
        let ran = crate::world::finished(command.output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        let why = "where the client that names it works";
        assert!(ran.err.contains("which is not read") && ran.err.contains(why), "{}", ran.err);
        assert!(roots(&world).iter().all(|(path, _)| *path != projects(&planted)), "{:?}", roots(&world));
        assert_eq!(world.found("dugong"), [""; 0]);
        // A daemon that received the request reports it.
        assert_eq!(world.problems().contains(planted.to_str().unwrap()), started);
    };
    check(true, None);
    check(true, Some("CLAUDE_PROJECT_DIR"));
    // If the command would have to start a daemon, nothing else is reported.
    check(false, None);
    check(false, Some("CLAUDE_PROJECT_DIR"));
}

#[test]
fn the_configuration_names_the_directories_instead_and_is_followed_while_it_changes() {
    let world = World::new();
    world.transcript("-one", &id(1)).prompt("the dugong at home");
    let (first, second) =
        (agent(&world, "first", 2, "the dugong first"), agent(&world, "second", 3, "the dugong second"));
    let configure = |directories: &[String]| {
        let text = serde_json::json!({"session_tracking": {"watch_directories": directories}}).to_string();
        fs::create_dir_all(world.home()).unwrap();
        fs::write(world.home().join("config.json"), text).unwrap();
    };
    configure(&[projects(&first), "/not/there/projects".to_owned()]);
    assert_eq!(world.found("dugong"), [id(2)]);
    let named: Vec<String> = roots(&world).into_iter().map(|(_, by)| by).collect();
    assert_eq!(named, ["config.json", "config.json"]);
    let ran = world.ok(&["search", "dugong"]);
    assert!(ran.err.contains("config.json names the directories that are read"), "{}", ran.err);

    configure(&[projects(&first), projects(&second)]);
    let mut found = world.found("dugong");
    found.sort();
    assert_eq!(found, [id(2), id(3)], "the very next search");
    // It is watched, too: this session is found without a request.
    session(&second, 4, "the manatee comes by itself");
    assert!(wait(|| world.sessions().iter().any(|row| row["session_id"] == *id(4))), "{}", world.log());
    fs::remove_file(world.home().join("config.json")).unwrap();
    assert_eq!(roots(&world).len(), 2, "an editor may be writing it anew");
    fs::remove_file(world.home().join("config.last-good.json")).unwrap();
    assert_eq!(roots(&world).len(), 1);
    assert_eq!(world.found("dugong").len(), 3, "what was read stays");
}
