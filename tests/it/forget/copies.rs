//! Forks and copies of a forgotten session.

use crate::world::{World, files_below, id, list, text};

use super::*;

#[test]
fn forks_and_copies_go_too_unless_they_are_to_stay() {
    let world = World::new();
    let mut original = world.transcript("-work-one", &id(1));
    original.prompt("the quokkaprompt").reply("the bilbyreply");
    let read = std::fs::read_to_string(original.path()).unwrap();
    let copied = |number: u32, folder: &str| {
        let mut copy = world.transcript(folder, &id(number));
        copy.write(
            read.replace(&format!("\"sessionId\":\"{}\"", id(1)), &format!("\"sessionId\":\"{}\"", id(number)))
                .as_bytes(),
        );
        copy
    };
    // The fork is the last active one, so the older session owns what both contain.
    copied(2, "-work-one").minutes_ago(0).prompt("and the fork goes on with the numbatinput");
    world.transcript("-work-one", &id(3)).prompt("the platypus").reply("stays");
    assert!(world.found("quokkaprompt").contains(&id(1)));
    // A copy that has not been read yet.
    copied(4, "-work-two");
    let would = world.json(&["forget", &id(1), "--dry-run"]);
    // The files of two stored sessions and of one that has not been read, as they are now.
    let stored = |number: u32| files_below(&world.home().join("blobs").join(id(number)));
    let files: Vec<_> = [1, 2, 4].into_iter().flat_map(stored).collect();
    let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert_eq!((would["files"].as_u64(), would["bytes"].as_u64()), (Some(files.len() as u64), Some(bytes)), "{would}");
    assert!(bytes > 0 && would["estimated"] == true, "{would}");
    let also: Vec<(String, u64)> =
        list(&would["also"]).iter().map(|row| (text(&row["session_id"]), row["shared"].as_u64().unwrap())).collect();
    assert_eq!(also, [(id(2), 2), (id(4), 2)], "{would}");
    assert!(text(&would["also"][0]["why"]).contains(&id(1)), "{would}");
    assert_eq!(world.show(&id(1))["state"].as_str().map(|state| state == "forgotten"), Some(false));

    let only = forget(&world, &[&id(1), "--only"]);
    assert!(only["files"].as_u64() > Some(0) && only["estimated"].is_null(), "{only}");
    assert_eq!((list(&only["also"]).len(), list(&only["left"]).len()), (0, 2), "{only}");
    let found = world.found("quokkaprompt");
    assert!(!found.contains(&id(1)) && !found.is_empty(), "{found:?}");
    let all = forget(&world, &[&id(2)]);
    assert_eq!(list(&all["also"]).len(), 1, "{all}");
    world.kill();
    assert_eq!(found_in(world.home(), &["quokkaprompt", "bilbyreply", "numbatinput"]), [""; 0]);
    assert_eq!((world.found("quokkaprompt").len(), world.found("platypus")), (0, vec![id(3)]));
}

#[test]
fn a_copy_that_is_made_later_brings_nothing_back() {
    let world = World::new();
    let mut original = world.transcript("-work-one", &id(1));
    original.prompt("the quokkaprompt").reply("the bilbyreply");
    let read = std::fs::read_to_string(original.path()).unwrap();
    let copied = |number: u32| {
        let mut copy = world.transcript("-work-one", &id(number));
        let other = format!("\"sessionId\":\"{}\"", id(number));
        copy.write(read.replace(&format!("\"sessionId\":\"{}\"", id(1)), &other).as_bytes());
        copy.prompt("and the fork goes on with the numbatinput");
    };
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    forget(&world, &[&id(1)]);
    copied(2);
    world.transcript("-work-one", &id(3)).prompt("the platypus").reply("stays");
    let found = |word: &str| world.found(word);
    assert_eq!((found("quokkaprompt"), found("numbatinput"), found("platypus")), (vec![], vec![], vec![id(3)]));
    assert_eq!(world.show(&id(2))["state"], "forgotten");
    let told = world.ok(&["explain", &id(2)]).out;
    assert!(told.contains("a copy of a forgotten session") && told.contains(&id(1)), "{told}");
    world.kill();
    assert_eq!(found_in(world.home(), &["quokkaprompt", "bilbyreply", "numbatinput"]), [""; 0]);

    // A daemon that starts later recognises it as well.
    copied(4);
    assert_eq!((found("quokkaprompt").len(), found("platypus")), (0, vec![id(3)]));
    // A copy can be restored like any other session; once the original is restored, its text no longer marks copies as
    // forgotten.
    world.ok(&["forget", "--undo", &id(2)]);
    assert_eq!(found("numbatinput"), [id(2)]);
    world.ok(&["forget", "--undo", &id(1)]);
    copied(5);
    assert!(found("quokkaprompt").contains(&id(1)), "{:?}", found("quokkaprompt"));
    assert!(found("numbatinput").contains(&id(5)), "{:?}", found("numbatinput"));
}

#[test]
fn a_kill_before_the_tombstone_or_behind_an_undo_leaves_no_copy_forgotten() {
    let world = World::new();
    let mut original = world.transcript("-work-one", &id(1));
    original.prompt("the quokkaprompt").reply("the bilbyreply");
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
    forget(&world, &[&id(1)]);
    let fingerprints = world.home().join("log/forgotten-records.json");
    let kept = std::fs::read(&fingerprints).unwrap();
    world.ok(&["forget", "--undo", &id(1)]);
    world.kill();
    // The fingerprints are still there, as after a kill before the tombstone was recorded, or after the undo was.
    std::fs::write(&fingerprints, kept).unwrap();
    let read = std::fs::read_to_string(original.path()).unwrap();
    let other = read.replace(&format!("\"sessionId\":\"{}\"", id(1)), &format!("\"sessionId\":\"{}\"", id(2)));
    let mut copy = world.transcript("-work-one", &id(2));
    copy.write(other.as_bytes());
    copy.prompt("and the fork goes on with the numbatinput");
    assert_eq!(world.found("numbatinput"), [id(2)]);
    assert_eq!(world.found("quokkaprompt"), [id(1)]);
}
