//! A damaged log: the daemon refuses it, `log verify` names the place, `log repair` cuts there and keeps what it cuts,
//! and everything before the cut is there again; transcripts that still exist are read from there on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::record::{Log, memory};
use crate::verify::{check_clean, verify};
use crate::world::{World, files_below, id, list, text};

const HEADER: usize = 56;

fn segment(world: &World) -> PathBuf {
    world.home().join("log/segments/0001.seg")
}

/// Offset of each record in a segment.
fn borders(path: &Path) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    let (mut borders, mut at) = (Vec::new(), HEADER);
    while at < bytes.len() {
        borders.push(at);
        let word = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        at += 20 + (word & 0x3fff_ffff) as usize;
    }
    borders
}

/// Damages a record of the log.
fn spoil(world: &World, position: u64) {
    let path = segment(world);
    let at = borders(&path)[position as usize - 1] + 40;
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(&path, bytes).unwrap();
}

fn told(world: &World, number: u32) {
    let mut transcript = world.transcript("-work-one", &id(number));
    transcript.prompt(&format!("why does subject{number} fail?"));
    transcript.reply(&format!("Because `src/part{number}.rs` forgets the lock."));
}

/// Every file below a folder with its bytes, except the lock file.
fn state(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(folder).into_iter().filter(|file| !file.ends_with("daemon.lock"));
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

#[test]
fn a_damaged_log_is_cut_and_read_on_without_a_duplicate() {
    let world = World::new();
    let mut episodes = BTreeMap::new();
    for number in 1..=4 {
        told(&world, number);
        episodes.insert(id(number), world.close(&id(number)));
    }
    world.stop();
    let whole = Log::of(&world).events;
    // In the middle: at this record the second session is known, and the third is not.
    let third = whole.iter().position(|event| event.stream.session_id().unwrap().as_str() == id(3)).unwrap() as u64 + 1;
    spoil(&world, third);

    let refused = world.run(&["status"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains(&format!("position {third}")), "{}", refused.err);
    let (found, clean) = verify(&world, &[]);
    assert!(!clean && found["position"] == third - 1, "{found}");
    let finding = &found["findings"][0];
    assert!(text(&finding["place"]).contains("0001.seg at byte"), "{finding}");
    assert!(text(&finding["fix"]).contains(&format!("baton log repair --cut-at {third}")), "{finding}");

    let before = state(world.home());
    let looked = world.run(&["log", "repair", "--json"]);
    assert_eq!(looked.code, 1, "{}", looked.err);
    let looked = looked.json();
    assert_eq!((&looked["cut"], &looked["cut_at"]), (&false.into(), &third.into()), "{looked}");
    let behind = whole.len() as u64 - third;
    let lost = looked["lost"]["events"].as_u64().unwrap();
    assert!(
        (behind - 3..=behind).contains(&lost),
        "what was recorded with the bad one, and all others can be read: {looked}"
    );
    let asked = world.run(&["log", "repair", "--cut-at", &third.to_string()]);
    assert!(asked.code == 2 && asked.err.contains("--yes"), "{}", asked.err);
    let late = world.run(&["log", "repair", "--cut-at", &(third + 1).to_string(), "--yes"]);
    assert!(late.code == 1 && late.err.contains(&format!("cut at {third} or before")), "{}", late.err);
    let none = world.run(&["log", "repair", "--cut-at", "100000", "--yes"]);
    assert_eq!(none.code, 1, "{}", none.err);
    assert_eq!(state(world.home()), before, "nothing of that has changed anything");

    let cut = world.json(&["log", "repair", "--cut-at", &third.to_string(), "--yes"]);
    assert_eq!((&cut["cut"], &cut["position"]), (&true.into(), &(third - 1).into()), "{cut}");
    assert_eq!(cut["lost"], looked["lost"], "as it was foreseen");
    let kept = PathBuf::from(text(&cut["kept"]));
    assert!(kept.starts_with(world.home().join("log")), "{}", kept.display());
    // The rest and the part that was cut together are the original log, byte for byte.
    let (stays, goes) = (fs::read(segment(&world)).unwrap(), fs::read(only(&kept, ".seg.at-")).unwrap());
    assert_eq!([stays, goes].concat(), before[&segment(&world)]);
    // The conversations of the removed sessions are kept with it, and nowhere else.
    for number in [3, 4] {
        assert!(!files_below(&kept.join("blobs").join(id(number))).is_empty(), "{number}");
        assert!(files_below(&world.home().join("blobs").join(id(number))).is_empty(), "{number}");
    }
    assert!(kept.join("sled/db").exists(), "the index is kept too");
    assert!(!world.home().join("memory").exists() && !world.home().join("log/sled").exists());

    for number in 1..=4 {
        assert_eq!(world.found(&format!("subject{number}")), [id(number)], "{}", world.log());
        assert_eq!(world.close(&id(number)), episodes[&id(number)], "the same content is the same episode");
    }
    check_clean(&world, "after the cut");
    let storage = &world.json(&["status"])["storage"];
    assert!(storage["aside"]["bytes"].as_u64() > Some(0), "{storage}");
    world.stop();
    let log = Log::of(&world);
    assert_eq!(log.events[..third as usize - 1], whole[..third as usize - 1], "all before the cut is as it was");
    let episodes = memory(world.home()).iter().filter(|line| line.contains("kind=session")).count();
    assert_eq!(episodes, 4);
    assert!(kept.exists(), "it is never removed by itself");
}

fn only(folder: &Path, part: &str) -> PathBuf {
    let mut files = files_below(folder);
    files.retain(|file| file.to_string_lossy().contains(part));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn a_session_that_is_set_back_is_read_on_from_there() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("first the heron");
    transcript.reply("It waits.");
    world.close(&id(1));
    world.stop();
    let first = Log::of(&world).events.len() as u64;
    transcript.prompt("then the gannet");
    transcript.reply("It dives.");
    let uuid = world.close(&id(1));
    world.stop();
    let cut = world.json(&["log", "repair", "--cut-at", &(first + 1).to_string(), "--yes"]);
    let lost = &cut["lost"];
    assert_eq!((&lost["sessions"], &lost["sessions_set_back"]), (&0.into(), &1.into()), "{cut}");
    assert_eq!(world.found("gannet"), [id(1)], "{}", world.log());
    assert_eq!(world.found("heron"), [id(1)]);
    assert_eq!(world.close(&id(1)), uuid);
    assert_eq!(world.show(&id(1))["message_count"], 4);
    check_clean(&world, "read on");
    world.stop();
    Log::of(&world);
}

#[test]
fn a_whole_log_has_nothing_to_repair_and_a_running_daemon_refuses() {
    let world = World::new();
    told(&world, 1);
    world.close(&id(1));
    let refused = world.run(&["log", "repair"]);
    assert!(refused.code == 1 && refused.err.contains("`baton stop`"), "{}", refused.err);
    world.stop();
    let looked = world.json(&["log", "repair"]);
    assert_eq!(
        (&looked["damage"], &looked["cut_at"]),
        (&serde_json::Value::Null, &serde_json::Value::Null),
        "{looked}"
    );
    assert!(world.ok(&["log", "repair"]).out.contains("nothing needs repair"));
}

#[test]
fn segments_missing_on_disk_are_reported_and_restored_from_the_index_at_the_next_start() {
    let world = World::new();
    told(&world, 1);
    world.close(&id(1));
    world.stop();
    let whole = Log::of(&world).events;
    fs::remove_file(segment(&world)).unwrap();
    let before = state(world.home());
    let looked = world.run(&["log", "repair"]);
    assert_eq!(looked.code, 1, "{}", looked.out);
    assert!(looked.out.contains(&format!("the last {} records, which the index has", whole.len())), "{}", looked.out);
    assert!(looked.out.contains("`baton daemon`") && !looked.out.contains("The log is whole"), "{}", looked.out);
    assert_eq!(state(world.home()), before, "nothing of that has changed anything");
    world.ok(&["daemon"]);
    check_clean(&world, "restored");
    world.stop();
    assert_eq!(Log::of(&world).events[..whole.len()], whole);
}

#[test]
fn a_torn_tail_is_reported_and_left_to_the_next_start() {
    let world = World::new();
    told(&world, 1);
    world.close(&id(1));
    world.stop();
    let path = segment(&world);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"\x80\0\0\x40half a record"].concat()).unwrap();
    let looked = world.run(&["log", "repair", "--json"]).json();
    assert_eq!(looked["cut_at"], serde_json::Value::Null, "{looked}");
    assert!(text(&looked["damage"]["fix"]).contains("the next start"), "{looked}");
    let (found, clean) = verify(&world, &["--quick"]);
    assert!(!clean && list(&found["findings"]).len() == 1, "{found}");
    world.ok(&["daemon"]);
    check_clean(&world, "cut by the start");
    assert_eq!(fs::read(&path).unwrap(), whole);
}
