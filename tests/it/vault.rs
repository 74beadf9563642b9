//! Notes for people: what the end of a session writes, how a person's edits survive, and what happens when the vault is
//! missing.

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

/// A world that writes notes; `more` has further keys of `vault`.
fn with_notes(more: &Value) -> World {
    let world = World::new();
    configure(&world, more);
    world
}

/// Writes the keys of `vault` into the configuration.
fn configure(world: &World, more: &Value) {
    let mut vault = json!({"enabled": true});
    vault.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({"vault": vault}).to_string()).unwrap();
}

/// Creates a vault, and has notes written there.
fn in_vault(world: &World, vault: &Path) {
    fs::create_dir_all(vault).unwrap();
    configure(world, &json!({"path": vault}));
}

/// Closes a session about a quokka, and waits for its note.
fn with_one(world: &World) {
    worked(world, "-work-one", 1, "quokka");
    world.close(&id(1));
    ready(world, 1);
}

/// Closes two sessions of one project, about a quokka and about a platypus.
fn with_two(world: &World) {
    for (number, word) in [(1, "quokka"), (2, "platypus")] {
        worked(world, "-work-one", number, word);
        world.close(&id(number));
    }
    ready(world, 2);
}

/// The folder of notes in the home's own vault.
fn own(world: &World) -> PathBuf {
    world.home().join("vault/claude")
}

/// Notes below a folder, by their paths in it.
fn notes(folder: &Path) -> Vec<String> {
    let path = |file: &PathBuf| file.strip_prefix(folder).unwrap().display().to_string();
    files_below(folder).iter().map(path).filter(|path| path.ends_with(".md")).collect()
}

/// Files below a folder that contain a word, in their names or in their text.
fn with_word(folder: &Path, word: &str) -> Vec<String> {
    let has = |path: &&std::path::PathBuf| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        name.contains(word) || fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    files_below(folder).iter().filter(has).map(|path| path.display().to_string()).collect()
}

/// Waits until `vault status` is as wanted, and returns it.
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

/// Waits until every end is written and there are `count` notes.
fn ready(world: &World, count: u64) -> Value {
    until(world, "every note", |told| told["state"] == "ready" && told["behind"] == 0 && told["notes"] == count)
}

/// Path and text of the only note of a session.
fn only_session(folder: &Path) -> (PathBuf, String) {
    let sessions: Vec<String> =
        notes(folder).into_iter().filter(|path| path.contains("/sessions/") && !path.contains("/archive/")).collect();
    let [one] = sessions.as_slice() else { panic!("one note: {sessions:?}") };
    let path = folder.join(one);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// A session that decided something about a file, failed and fixed that. `words` are its subject.
fn worked(world: &World, project: &str, number: u32, words: &str) -> Transcript {
    let mut transcript = world.transcript(project, &id(number));
    tell(&mut transcript, project, words);
    transcript
}

/// The session continues, and ends again.
fn goes_on(world: &World, transcript: &mut Transcript, words: &str) {
    // Later than its end, to which it would otherwise belong.
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
