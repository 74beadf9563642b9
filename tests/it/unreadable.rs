//! Transcripts that cannot be read, and files that are not transcripts: reported, without effect on the others.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::record::Log;
use crate::world::{World, id, skipped, text};

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn an_unreadable_transcript_is_named_and_harms_no_other() {
    let Some(world) = World::without_superpowers() else { return };
    world.transcript("-work-one", &id(1)).prompt("the lynx is readable");
    let mut locked = world.transcript("-work-one", &id(2));
    locked.prompt("the ocelot is locked away");
    set_mode(locked.path(), 0o000);

    assert_eq!(world.found("lynx"), [id(1)]);
    let missed = world.search("ocelot");
    assert_eq!((&missed["hits"], &missed["freshness"]["failed"]), (&json!([]), &json!([id(2)])), "{missed}");
    let human = world.ok(&["search", "ocelot"]);
    assert!(human.err.contains(&id(2)) && human.err.contains("baton status"), "{}", human.err);
    let closed = world.close_fails(&[&id(2)]);
    let message = text(&closed["message"]);
    assert!(message.contains("Permission denied"), "{message}");
    assert!(message.contains("close again"), "{message}");
    let problems = world.problems();
    assert!(problems.contains(&id(2)) && problems.contains("unreadable"), "{problems}");
    assert!(!problems.contains(&id(1)), "{problems}");
    assert_eq!(world.show(&id(2))["state"], "failed");

    // Repeated queries do not add to the log.
    let position = world.search("lynx")["freshness"]["position"].clone();
    for _ in 0..3 {
        assert_eq!(world.search("lynx")["freshness"]["position"], position, "{}", world.log());
    }

    set_mode(locked.path(), 0o600);
    world.close(&id(2));
    assert_eq!(world.found("ocelot"), [id(2)]);
    assert_eq!(world.search("ocelot")["freshness"].get("failed"), None);
    assert!(!world.problems().contains(&id(2)));
    world.stop();
    Log::of(&world);
}

#[test]
fn a_transcript_that_becomes_unreadable_keeps_its_episode() {
    let Some(world) = World::without_superpowers() else { return };
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the serval was read").reply("yes");
    let uuid = world.close(&id(1));
    transcript.prompt("the caracal was not");
    set_mode(transcript.path(), 0o000);
    assert_eq!(world.found("serval"), [id(1)]);
    let closed = world.close_fails(&[&id(1)]);
    assert!(text(&closed["message"]).contains("Permission denied"), "{closed}");
    assert_eq!(world.show(&id(1))["episode"]["uuid"], *uuid);
    // A query for another project lacks nothing because of it.
    world.transcript("-work-two", &id(3)).prompt("the margay is elsewhere");
    assert_eq!(world.found("margay"), [id(3)]);
    for (asked, failed) in [(None, true), (Some("/srv/-work-one"), true), (Some("/srv/-work-two"), false)] {
        let project = asked.map_or_else(Vec::new, |project| vec!["--project", project]);
        let found = world.json(&[&["search", "margay"], &project[..]].concat());
        assert_eq!(found["freshness"].get("failed").is_some(), failed, "{asked:?}: {found}");
    }
    set_mode(transcript.path(), 0o600);
    assert_eq!(world.found("caracal"), [id(1)]);
}

#[test]
fn an_unreadable_project_folder_is_named() {
    let Some(world) = World::without_superpowers() else { return };
    world.transcript("-work-open", &id(1)).prompt("the lynx is readable");
    world.transcript("-work-shut", &id(2)).prompt("the ocelot is not");
    let shut = world.projects().join("-work-shut");
    set_mode(&shut, 0o000);
    assert_eq!(world.found("lynx"), [id(1)]);
    let problems = world.problems();
    assert!(problems.contains("-work-shut") && problems.contains("readable"), "{problems}");
    set_mode(&shut, 0o700);
    assert_eq!(world.found("ocelot"), [id(2)]);
    // The note that changes in there are not reported may remain for another minute.
    assert!(!world.problems().contains("cannot look into"), "{}", world.problems());
}

#[test]
fn a_binary_file_with_a_transcripts_name_is_named_and_harms_no_other() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the lynx is readable");
    let mut noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    noise.push(b'\n');
    world.transcript("-work-one", &id(2)).write(&noise);
    world.transcript("-work-one", &id(3)).write(&vec![0; 100_000]);
    assert_eq!(world.found("lynx"), [id(1)]);
    let shown = world.show(&id(2));
    assert_eq!(shown["message_count"], 0);
    assert!(shown["malformed_lines"].as_u64().unwrap() > 100, "{shown}");
    let problems = world.problems();
    assert!(problems.contains(&id(2)), "a file that holds no record is named: {problems}");
    let closed = world.json(&["close", &id(2)]);
    assert_eq!((&closed["status"], &closed["episode_uuid"]), (&"success".into(), &serde_json::Value::Null), "{closed}");
    assert!(text(&closed["message"]).contains("not readable"), "a close says why nothing came of it: {closed}");
}

#[test]
fn things_in_the_way_are_passed_over() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the lynx is readable");
    let folder = world.projects().join("-work-one");
    // A directory and a pipe with a transcript's name, a dangling link and a circular one.
    std::fs::create_dir_all(folder.join(format!("{}.jsonl", id(2)))).unwrap();
    let pipe = folder.join(format!("{}.jsonl", id(3)));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all.jsonl", folder.join(format!("{}.jsonl", id(4)))).unwrap();
    std::os::unix::fs::symlink(world.projects(), folder.join("circle")).unwrap();
    assert_eq!(world.found("lynx"), [id(1)]);
    assert_eq!(world.json(&["status"])["transcripts"], 1);
}

#[test]
fn what_has_no_name_as_text_is_named_as_far_as_it_can_be() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the lynx is readable");
    let nameless = |bytes: &[u8]| world.projects().join(std::ffi::OsStr::from_bytes(bytes));
    if std::fs::create_dir(nameless(b"-work-caf\xe9")).is_err() {
        return skipped("this file system has no names that are no text");
    }
    std::fs::write(nameless(b"-work-one/sp\xe9cial.jsonl"), "{}\n").unwrap();
    std::fs::write(nameless(b"-work-one/not\xe9s.txt"), "no transcript").unwrap();
    assert_eq!(world.found("lynx"), [id(1)]);
    let problems = world.problems();
    assert!(problems.contains("-work-caf\u{fffd}") && problems.contains("sp\u{fffd}cial.jsonl"), "{problems}");
    assert!(problems.contains("not UTF-8") && !problems.contains("not\u{fffd}s"), "{problems}");
}
