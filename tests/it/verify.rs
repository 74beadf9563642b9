//! `baton log verify`: clean if nothing is wrong, and every damage named with its place and remedy.

use std::fs;
use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use baton_memory::{Entry, Store};
use serde_json::Value;

use crate::world::{World, files_below, id, list, text};

/// A world with three closed sessions, one with a note, and one that has grown since.
pub(crate) fn lived_in() -> World {
    let world = World::new();
    for number in 1..=3 {
        let mut transcript = world.transcript("-work-one", &id(number));
        transcript.prompt(&format!("why does subject{number} fail?"));
        transcript.reply(&format!("Because `src/part{number}.rs` forgets the lock."));
        world.ok(&["close", &id(number), "--reason", &format!("done with {number}")]);
        if number == 3 {
            transcript.prompt("and what of the heron?");
            transcript.reply("It waits.");
        }
    }
    world
}

/// The output of `log verify`, and whether it reports a clean log.
pub(crate) fn verify(world: &World, arguments: &[&str]) -> (Value, bool) {
    let ran = world.run(&[&["log", "verify", "--json"], arguments].concat());
    let told = ran.json();
    assert_eq!(told["clean"], ran.code == 0, "{told}");
    assert_eq!(told["found"], list(&told["findings"]).len(), "{told}");
    (told, ran.code == 0)
}

/// Asserts that a complete verification finds nothing.
pub(crate) fn check_clean(world: &World, case: &str) -> Value {
    let (told, clean) = verify(world, &[]);
    assert!(clean && told["complete"] == true, "{case}: {told}\n{}", world.log());
    told
}

fn check_finds(world: &World, arguments: &[&str], parts: &[&str]) {
    let (told, clean) = verify(world, arguments);
    assert!(!clean, "{parts:?} is missed: {told}");
    let findings = list(&told["findings"]);
    let finding = findings.iter().find(|finding| parts.iter().all(|part| finding.to_string().contains(part)));
    let finding = finding.unwrap_or_else(|| panic!("nothing says {parts:?}: {findings:#?}"));
    assert!(!text(&finding["fix"]).is_empty());
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn only(home: &Path, folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut files = files_below(&home.join(folder));
    files.retain(|file| file.to_string_lossy().ends_with(ending));
    assert!(!files.is_empty(), "no {ending} below {folder}");
    files
}

#[test]
fn a_home_that_was_lived_in_is_clean_with_a_daemon_and_without() {
    let world = lived_in();
    let open = check_clean(&world, "while the daemon runs");
    assert_eq!(open["running"], true);
    let checked = &open["checked"];
    for (what, at_least) in [
        ("events", 9),
        ("segments", 1),
        ("streams", 3),
        ("indexed", 9),
        ("keys", 9),
        ("sessions", 3),
        ("conversations", 3),
        ("chunks", 3),
        ("notes", 3),
        ("documents", 6),
    ] {
        assert!(checked[what].as_u64() >= Some(at_least), "{what}: {checked}");
    }
    let (quick, clean) = verify(&world, &["--quick"]);
    assert!(clean && quick["complete"] == false, "{quick}");
    assert!(quick["left_out"].to_string().contains("the memory"), "{quick}");
    world.search("heron");
    check_clean(&world, "after the third session was indexed again");
    world.stop();
    let before = files_below(world.home());
    let bytes: Vec<Vec<u8>> = before.iter().map(|file| fs::read(file).unwrap()).collect();
    let closed = check_clean(&world, "without a daemon");
    assert_eq!(closed["running"], false);
    assert_eq!(world.daemon(), None, "verifying starts none");
    assert_eq!(files_below(world.home()), before, "nothing was changed");
    for (file, bytes) in before.iter().zip(bytes) {
        assert!(file.ends_with("daemon.lock") || fs::read(file).unwrap() == bytes, "{}", file.display());
    }
    let stats = world.json(&["log", "stats"]);
    for field in ["position", "chain", "state_hash"] {
        assert_eq!(stats[field], closed[field], "{field}");
    }
}

#[test]
fn what_a_person_reads_tells_what_was_looked_at_and_what_is_wrong() {
    let world = lived_in();
    let told = world.ok(&["log", "verify"]).out;
    assert!(told.contains("events of") && told.contains("Nothing is wrong."), "{told}");
    let note = &only(world.home(), "blobs", ".note")[0];
    flip(note, 0);
    let ran = world.run(&["log", "verify"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("does not match its name") && ran.out.contains("1 thing is wrong"), "{}", ran.out);
}

#[test]
fn a_damaged_conversation_is_found_with_its_session_in_both_ways() {
    let world = lived_in();
    let chunk = only(world.home(), "blobs", ".zst")[0].clone();
    let session = text(&Value::String(chunk.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()));
    let whole = fs::read(&chunk).unwrap();
    flip(&chunk, whole.len() / 2);
    check_finds(&world, &["--quick"], &[&session, "damaged", "blobs/"]);
    fs::remove_file(&chunk).unwrap();
    check_finds(&world, &["--quick"], &[&session, "is missing"]);
    world.stop();
    check_finds(&world, &["--quick"], &[&session, "is missing"]);
    fs::write(&chunk, whole).unwrap();
    check_clean(&world, "put back");
}

/// Changes what the memory of a stopped daemon holds about a session.
fn mislead_memory(world: &World, session: &str) {
    let opened = Store::open(&world.home().join("memory")).unwrap();
    let (mut store, checkpoint) = (opened.store, opened.checkpoint.unwrap());
    store
        .put(&Entry {
            session: &SessionId::new(session).unwrap(),
            generation: 1,
            project: None,
            group_id: "elsewhere",
            agent: Agent::ClaudeCode,
            title: "",
            episode_uuid: Default::default(),
            episode_text: "the gannet dives",
            ended_at: None,
            indexed_at: Timestamp(0),
            parent: None,
            links: &[],
            titles: &Default::default(),
            units: &Vec::<Unit>::new(),
            changed_from: 0,
            graph: &Graph::default(),
            outcomes: &Outcomes::default(),
            usage: &baton_conversation::usage::Course::default(),
        })
        .unwrap();
    store.commit(checkpoint).unwrap();
    store.idle().unwrap();
}

#[test]
fn a_memory_that_differs_is_found_and_built_anew_by_the_way_out() {
    let world = lived_in();
    world.search("heron");
    world.stop();
    let memory = world.home().join("memory");
    mislead_memory(&world, &id(2));
    check_finds(&world, &[], &[&id(2), "the memory has 1 documents of it", "delete `memory/`"]);
    world.ok(&["daemon"]);
    check_finds(&world, &[], &[&id(2), "the memory has 1 documents of it", "delete `memory/`"]);
    world.stop();
    fs::remove_dir_all(&memory).unwrap();
    world.ok(&["search", "lock"]);
    check_clean(&world, "built anew");
    world.stop();
    fs::write(memory.join("meta.json"), b"{}").unwrap();
    check_finds(&world, &[], &["the memory cannot be used"]);
    assert_eq!(fs::read(memory.join("meta.json")).unwrap(), b"{}", "it is looked at, not mended");
}

#[test]
fn an_index_that_cannot_be_opened_is_found_and_no_obstacle() {
    let world = lived_in();
    world.stop();
    let sled = world.home().join("log/sled");
    fs::write(sled.join("db"), b"this is no index").unwrap();
    for file in files_below(&sled).iter().filter(|file| file.to_string_lossy().contains("snap.")) {
        fs::remove_file(file).unwrap();
    }
    let (told, _) = verify(&world, &["--quick"]);
    // sled may create an empty index if it recognises nothing: then the index is merely behind.
    let indexed = told["checked"]["indexed"].as_u64().unwrap();
    assert_eq!(indexed, 0, "{told}");
    world.ok(&["daemon"]);
    check_clean(&world, "rebuilt");
}
