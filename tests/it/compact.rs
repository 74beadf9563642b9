//! `baton log compact` removes what is not needed and changes nothing else, and a crash in the middle loses nothing.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::record::memory;
use crate::verify::{check_clean, lived_in};
use crate::world::{World, id, wait, wait_within};

/// Values that must be the same before and after.
fn identity(world: &World) -> [Value; 3] {
    let stats = world.json(&["log", "stats"]);
    ["position", "chain", "state_hash"].map(|field| stats[field].clone())
}

#[test]
fn state_and_memory_are_the_same_before_and_after_and_orphans_are_gone() {
    let world = lived_in();
    world.search("heron");
    world.stop();
    let before = (memory(world.home()), identity(&world));
    world.ok(&["daemon"]);
    // At its start the daemon also cleans up after a crash; this waits for it.
    world.ok(&["log", "compact"]);
    let blobs = world.home().join("blobs");
    let orphan = blobs.join(id(1)).join(format!("{}.zst", "ab".repeat(32)));
    fs::write(&orphan, [7; 1000]).unwrap();
    fs::write(blobs.join(id(2)).join("tmp-1-1"), [7; 500]).unwrap();
    let stranger = blobs.join(id(99));
    fs::create_dir(&stranger).unwrap();
    fs::write(stranger.join(format!("{}.zst", "cd".repeat(32))), [7; 100]).unwrap();

    let compacted = world.json(&["log", "compact"]);
    let conversations = &compacted["conversations"];
    assert_eq!((&conversations["files"], &conversations["bytes"]), (&3.into(), &1600.into()), "{compacted}");
    assert_eq!(conversations["sessions"], 3, "{compacted}");
    assert_eq!(compacted["position"], before.1[0], "{compacted}");
    assert_eq!(compacted["state_hash"], before.1[2], "{compacted}");
    assert_eq!(compacted["index"]["events"], before.1[0], "{compacted}");
    assert!(!orphan.exists() && !stranger.exists());
    let again = world.json(&["log", "compact"]);
    assert_eq!(again["conversations"]["files"], 0, "{again}");
    let told = world.ok(&["log", "compact"]).out;
    assert!(told.contains(" freed.") || told.contains("Nothing to free"), "{told}");
    check_clean(&world, "compacted");
    world.stop();
    assert_eq!(identity(&world), before.1);
    assert_eq!(memory(world.home()), before.0);
}

#[test]
fn status_tells_what_everything_takes_and_how_much_of_it_is_needed() {
    let world = lived_in();
    world.search("heron");
    // The index of the log takes in what is new when it is flushed.
    world.stop();
    let mut storage = Value::Null;
    let told = wait(|| {
        storage = world.json(&["status"])["storage"].clone();
        !storage.is_null()
    });
    assert!(told);
    for part in ["segments", "sled", "chunks", "memory"] {
        let (bytes, live) = (storage[part]["bytes"].as_u64(), storage[part]["live_bytes"].as_u64());
        assert!(live > Some(0) && bytes >= live, "{part}: {storage}");
    }
    assert_eq!(storage["aside"]["bytes"], 0, "{storage}");
    let told = world.ok(&["status"]).out;
    assert!(told.contains("disk") && told.contains("conversations"), "{told}");
}

#[test]
fn a_kill_in_the_middle_costs_nothing() {
    let world = World::new();
    for number in 0..120 {
        let mut transcript = world.transcript("-work-one", &id(number)).minutes_ago(60 + i64::from(number));
        transcript.prompt(&format!("why does subject{number} fail?"));
        transcript.reply(&format!("Because `src/part{number}.rs` forgets the lock."));
    }
    world.search("subject7");
    world.ok(&["sync"]);
    let before = identity(&world);
    let log = world.home().join("log");
    // Kills at different stages: while the new index is written, while the old one is still there, or when done.
    for round in 0..6 {
        world.ok(&["daemon"]);
        let mut child = world.spawn(&["log", "compact", "--json"]);
        let step = log.join(if round % 2 == 0 { "sled.new" } else { "sled.old" });
        wait_within(Duration::from_secs(2), || step.exists() || child.try_wait().unwrap().is_some());
        world.kill();
        // The command restarts the daemon, or was done.
        let _ = child.wait();
        world.kill();
        let now = identity(&world);
        assert_eq!(now, before, "round {round}: {}", world.log());
    }
    world.ok(&["daemon"]);
    assert!(!log.join("sled.new").exists() && !log.join("sled.old").exists(), "leftovers are gone");
    check_clean(&world, "after the kills");
    assert_eq!(world.found("subject7"), [id(7)]);
}
