//! Stored conversations that are damaged on disk, files that no event names, and garbage on the socket: repaired where
//! the result can be verified, reported where not, without harm to anything else.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::record::Log;
use crate::transcript::Transcript;
use crate::world::{World, copy, files_below, id, say, wait};

fn stored(world: &World, number: u32) -> Vec<PathBuf> {
    files_below(&world.home().join("blobs").join(id(number)))
}

fn begin_memory_anew(world: &World) {
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
}

/// Two closed sessions of one project; returns the transcript of the first.
fn two_sessions(world: &World) -> Transcript {
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the wolverine was here").reply("it was");
    world.transcript("-work-one", &id(2)).prompt("the ferret is not concerned").reply("no");
    world.close(&id(1));
    world.close(&id(2));
    transcript
}

#[test]
fn a_damaged_conversation_is_restored_from_its_transcript() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the wolverine was here").reply("it was");
    let first = world.close(&id(1));
    transcript.prompt("and the badger").reply("too");
    let uuid = world.close(&id(1));
    assert_ne!(first, uuid);
    world.transcript("-work-one", &id(2)).prompt("the ferret is not concerned").reply("no");
    assert_eq!(world.found("badger"), [id(1)]);
    // Superseded files are collected later.
    assert!(wait(|| stored(&world, 1).len() == 2), "{:?}", stored(&world, 1));
    begin_memory_anew(&world);
    let shown_before = stored(&world, 1).into_iter().map(|path| (std::fs::read(&path).unwrap(), path));
    for (whole, path) in shown_before.collect::<Vec<_>>() {
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x10;
        for damage in [Some(flipped), Some(whole[..middle].to_vec()), None] {
            match &damage {
                Some(bytes) => std::fs::write(&path, bytes).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            // The memory notices the damage when it is filled, and so does a command that reads the file.
            assert_eq!(world.found("badger"), [id(1)], "{}", world.log());
            assert_eq!(world.show(&id(1))["episode"]["uuid"], *uuid);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "the very same file again: {}", world.log());
            assert_eq!(world.found("ferret"), [id(2)]);
            begin_memory_anew(&world);
        }
    }
    assert!(world.log().contains("restored from its transcript"), "{}", world.log());
    Log::of(&world);
}

#[test]
fn a_pipe_among_the_memory_s_files_holds_nobody_up() {
    let world = World::new();
    two_sessions(&world);
    assert_eq!(world.found("wolverine"), [id(1)]);
    world.stop();
    for name in ["meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock"] {
        let path = world.home().join("memory").join(name);
        let _ = std::fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(world.found("wolverine"), [id(1)], "{name}: {}", world.log());
        world.stop();
        assert!(path.symlink_metadata().is_ok_and(|found| found.is_file()), "{name}");
    }
    assert!(world.log().contains("meta.json is not a regular file"), "{}", world.log());
    let path = world.home().join("memory/meta.json");
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let verified = world.run(&["log", "verify"]);
    let told = format!("{}{}", verified.out, verified.err);
    assert!(verified.code == 1 && told.contains("regular file"), "{told}");
}

#[test]
fn a_damaged_conversation_without_its_transcript_is_named_and_harms_no_other() {
    let world = World::new();
    let transcript = two_sessions(&world);
    begin_memory_anew(&world);
    std::fs::remove_file(transcript.path()).unwrap();
    let backup = world.path("backup");
    copy(&world.home().join("blobs"), &backup);
    let chunk =
        stored(&world, 1).into_iter().find(|path| path.extension().is_some_and(|ending| ending == "zst")).unwrap();
    let mut bytes = std::fs::read(&chunk).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&chunk, &bytes).unwrap();

    assert_eq!(world.found("ferret"), [id(2)], "{}", world.log());
    assert_eq!(world.found("wolverine"), [""; 0], "no text that is not proven");
    let problems = world.problems();
    assert!(problems.contains(&id(1)) && problems.contains("is gone") && problems.contains("backup"), "{problems}");
    let shown = world.run(&["show", &id(1)]);
    let name = chunk.file_name().unwrap().to_str().unwrap();
    assert!(shown.code == 1 && shown.err.contains(name), "{}{}", shown.out, shown.err);
    assert_eq!(std::fs::read(&chunk).unwrap(), bytes, "left as it is");

    // A daemon that starts after the file is restored indexes it, although its memory has passed that position of the
    // log.
    world.stop();
    copy(&backup, &world.home().join("blobs"));
    assert!(wait(|| world.found("wolverine") == [id(1)]), "{}", world.log());
    assert!(!world.problems().contains(&id(1)), "{}", world.problems());
    world.stop();
    Log::of(&world);
}

#[test]
fn what_a_crash_left_beside_a_conversation_is_removed_at_the_next_start() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the wolverine was here").reply("it was");
    world.close(&id(1));
    world.stop();
    let before = stored(&world, 1);
    let folder = before[0].parent().unwrap().to_owned();
    // Files of a job that was never recorded, of one that did not finish writing, and of a session that is not known
    // here.
    let unnamed = "0".repeat(64);
    for name in [format!("{unnamed}.zst"), format!("{unnamed}.json"), format!("tmp-12-3-{unnamed}.zst")] {
        std::fs::write(folder.join(name), "left").unwrap();
    }
    let note = folder.join(format!("{unnamed}.note"));
    std::fs::write(&note, "may still be named").unwrap();
    let foreign = world.home().join("blobs").join(id(9));
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join(format!("{unnamed}.zst")), "not ours to judge").unwrap();
    world.ok(&["status"]);
    assert!(wait(|| stored(&world, 1).len() <= before.len() + 1), "{:?}", stored(&world, 1));
    assert!(note.exists(), "an event that names it may be still to come");
    assert_eq!(files_below(&foreign).len(), 1, "of a session that the log does not know nothing is removed");
    assert!(before.iter().all(|path| path.exists()));
    assert_eq!(world.found("wolverine"), [id(1)]);
}

/// Pseudo-random bytes, the same in each run.
fn garbage(seed: u64, count: usize) -> Vec<u8> {
    let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        number as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn garbage_on_the_socket_disturbs_nobody() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("yes");
    assert_eq!(world.found("sloth"), [id(1)]);
    let daemon = world.daemon();
    let hello =
        r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1,"version":"0.0.1","client":"test"}}"#;
    let search = r#"{"jsonrpc":"2.0","id":2,"method":"search","params":{"query":"sloth","limit":3}}"#;
    let whole = format!("{hello}\n{search}\n").into_bytes();
    let (mut answered, mut dropped) = (0, 0);
    for seed in 0..150_u64 {
        let noise = garbage(seed + 1, 400);
        let mut bytes = match seed % 3 {
            // Noise only, after a greeting or instead of it.
            0 => noise,
            1 => [hello.as_bytes(), b"\n", &noise].concat(),
            // A conversation with some bytes changed.
            _ => {
                let mut bytes = whole.clone();
                for at in noise.chunks_exact(3).take(1 + usize::from(noise[0] % 6)) {
                    let place = usize::from(at[0]) * 256 + usize::from(at[1]);
                    let length = bytes.len();
                    bytes[place % length] = at[2];
                }
                bytes
            }
        };
        bytes.push(b'\n');
        let mut stream = UnixStream::connect(world.home().join("baton.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        // The daemon may disconnect in the middle of it.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if answer.is_empty() {
            dropped += 1;
        } else {
            answered += 1;
        }
        for line in answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let object: serde_json::Value = serde_json::from_slice(line).unwrap();
            assert_eq!(object["jsonrpc"], "2.0", "seed {seed}: {object}");
        }
    }
    say(&format!("{answered} answered, {dropped} dropped"));
    assert!(answered > 50, "{answered}");
    assert_eq!(world.daemon(), daemon, "the same daemon");
    assert_eq!(world.found("sloth"), [id(1)]);
    assert!(!world.log().contains("panic"), "{}", world.log());
}

/// Plants something at the paths of the memory's next deletion files, as if a daemon had been killed before it wrote
/// `meta.json`.
fn plant_deletions(world: &World, plant: impl Fn(&std::path::Path)) {
    let memory = world.home().join("memory");
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(memory.join("meta.json")).unwrap()).unwrap();
    let opstamp = meta["opstamp"].as_u64().unwrap();
    for segment in meta["segments"].as_array().unwrap() {
        let segment = segment["segment_id"].as_str().unwrap().replace('-', "");
        for number in opstamp + 1..opstamp + 300 {
            plant(&memory.join(format!("{segment}.{number}.del")));
        }
    }
}

#[test]
fn a_memory_whose_commit_was_cut_off_goes_on() {
    let world = World::new();
    let mut transcript = two_sessions(&world);
    world.stop();
    plant_deletions(&world, |path| std::fs::write(path, "half").unwrap());
    transcript.prompt("and the badger").reply("too");
    world.close(&id(1));
    assert_eq!(world.found("badger"), [id(1)], "{}", world.log());
    assert!(!world.log().contains("does not follow"), "{}", world.log());
    world.ok(&["forget", "--yes", &id(2)]);
    assert_eq!(world.found("ferret"), [""; 0]);
    world.stop();
    Log::of(&world);
}

#[test]
fn a_memory_that_cannot_be_written_twice_is_built_anew() {
    let world = World::new();
    let mut transcript = two_sessions(&world);
    world.stop();
    // A directory cannot be removed as a file.
    plant_deletions(&world, |path| std::fs::create_dir(path).unwrap());
    transcript.prompt("and the badger").reply("too");
    // A close during the rebuild may fail with an error that says so.
    let closed = world.run(&["close", &id(1)]);
    assert!(closed.code == 0 || closed.err.contains("cannot take it in"), "{}", closed.err);
    assert!(wait(|| world.found("badger") == [id(1)]), "{}", world.log());
    assert_eq!(world.found("ferret"), [id(2)], "all of it is there again");
    assert!(world.log().contains("is being rebuilt from the log"), "{}", world.log());
    assert!(wait(|| !world.problems().contains("being rebuilt")), "{}", world.problems());
    world.stop();
    Log::of(&world);
}
