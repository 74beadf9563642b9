//! Notes for people: what the end of a session writes, what a person's edit survives, and what happens when the vault is not
//! there.

mod compacting;
mod continued;
mod edited;
mod forgotten;
mod places;
mod recalled;
mod refused;
mod swept;
mod written;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::transcript::{Transcript, now};
use crate::world::{World, files_below, id, wait};

/// A world in which notes are written; with more keys of `vault`.
fn with_notes(more: &Value) -> World {
    let world = World::new();
    configure(&world, more);
    world
}

/// Sets the keys of `vault`.
fn configure(world: &World, more: &Value) {
    let mut vault = json!({"enabled": true});
    vault.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({"vault": vault}).to_string()).unwrap();
}

/// Has notes written in a vault, which is made.
fn in_vault(world: &World, vault: &Path) {
    fs::create_dir_all(vault).unwrap();
    configure(world, &json!({"path": vault}));
}

/// Has a session in its note that tells of a quokka.
fn with_one(world: &World) {
    worked(world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(world, 1);
}

/// And another one of the same project, which tells of a platypus.
fn with_two(world: &World) {
    for (number, word) in [(1, "quokka"), (2, "platypus")] {
        worked(world, "-work-one", number, word);
        world.close(&id(number));
    }
    ready(world, 2);
}

/// Where notes lie in the home's own vault.
fn own(world: &World) -> PathBuf {
    world.home().join("vault/claude")
}

/// Notes below a folder, by their paths in it.
fn notes(folder: &Path) -> Vec<String> {
    let path = |file: &PathBuf| file.strip_prefix(folder).unwrap().display().to_string();
    files_below(folder).iter().map(path).filter(|path| path.ends_with(".md")).collect()
}

/// Files below a folder that have a word, in their names or in what they say.
fn with_word(folder: &Path, word: &str) -> Vec<String> {
    let has = |path: &&std::path::PathBuf| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        name.contains(word) || fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    files_below(folder).iter().filter(has).map(|path| path.display().to_string()).collect()
}

/// What `vault status` says once it is so.
fn until(world: &World, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    let came = wait(|| {
        last = world.json(&["vault", "status"]);
        is_so(&last)
    });
    let log = world.log();
    let log: Vec<&str> = log.lines().filter(|line| !line.contains("client greeted")).collect();
    assert!(came, "{what} did not come: {last}\n{}", log.join("\n"));
    last
}

/// Waits until every end is in its note, and there are so many notes.
fn ready(world: &World, count: u64) -> Value {
    until(world, "every note", |told| told["state"] == "ready" && told["behind"] == 0 && told["notes"] == count)
}

/// The only note of a session, with its path.
fn only_session(folder: &Path) -> (PathBuf, String) {
    let sessions: Vec<String> =
        notes(folder).into_iter().filter(|path| path.contains("/sessions/") && !path.contains("/archive/")).collect();
    let [one] = sessions.as_slice() else { panic!("one note: {sessions:?}") };
    let path = folder.join(one);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// A session that decided something about a file, failed and mended it. `words` make it tell of nothing else.
fn worked(world: &World, project: &str, number: u32, words: &str) -> Transcript {
    let mut transcript = world.transcript(project, &id(number));
    tell(&mut transcript, project, words);
    transcript
}

/// The session goes on, and is over again.
fn goes_on(world: &World, transcript: &mut Transcript, words: &str) {
    // Later than its end, or it would belong to that.
    transcript.set_time(now());
    transcript.prompt(words).reply("done");
    let id = transcript.path().file_stem().unwrap().to_string_lossy().into_owned();
    world.close(&id);
}

fn tell(transcript: &mut Transcript, project: &str, words: &str) {
    let file = format!("/srv/{project}/src/{}.rs", words.replace(' ', "_"));
    transcript
        .prompt(&format!("Mend the {words} of the service"))
        .call("c1", "Bash", json!({"command": "cargo test", "description": "test"}))
        .result("c1", "error: test failed\nthread 'main' panicked", true)
        .call("c2", "Edit", json!({"file_path": file, "old_string": "a", "new_string": "b"}))
        .result("c2", "The file has been updated.", false)
        .call("c3", "Bash", json!({"command": "cargo test", "description": "test"}))
        .result("c3", "test result: ok. 3 passed", false)
        .reply(&format!("I decided to use sled instead of sqlite for the {words}, because it needs no server."));
}
