//! The frontmatter of a note names the sessions that it continues.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{notes, own, ready, with_notes, worked};
use crate::transcript::now;
use crate::world::{World, id, wait};

/// Leaves hook signals in the spool: each session was cleared, and the next one began in its place.
fn spool(world: &World, sessions: &[u32]) {
    let folder = world.home().join("spool");
    fs::create_dir_all(&folder).unwrap();
    let mut at = now().0 - 10_000;
    for pair in sessions.windows(2) {
        for (event, number) in [("SessionEnd", pair[0]), ("SessionStart", pair[1])] {
            let transcript = world.projects().join("-work-one").join(format!("{}.jsonl", id(number)));
            let hook = json!({
                "id": format!("{event}-{number}"), "event": event, "at": at, "session_id": id(number),
                "cwd": "/srv/-work-one", "transcript_path": transcript, "detail": "clear",
            });
            let text = json!({"v": 1, "why": "absent", "took_us": 900, "hook": hook}).to_string();
            fs::write(folder.join(format!("{at}-{number}.json")), text).unwrap();
            at += 1;
        }
    }
}

/// The notes of sessions and their archived copies, with the numbers of the sessions in their frontmatter.
fn heads(world: &World) -> Vec<(PathBuf, Vec<u32>)> {
    let is_one = |path: &String| path.contains("/sessions/");
    let named = |path: String| {
        let path = own(world).join(path);
        let text = fs::read_to_string(&path).unwrap();
        let head = text.split("---\n").nth(1).unwrap();
        let list = head.split("session_ids:\n").nth(1).unwrap().lines().take_while(|line| line.starts_with("  - "));
        let number = |line: &str| (1..9).find(|number| line.contains(&id(*number))).unwrap();
        (path, list.map(number).collect())
    };
    notes(&own(world)).into_iter().filter(is_one).map(named).collect()
}

#[test]
fn a_note_names_what_its_session_continues_until_that_is_forgotten() {
    let world = with_notes(&json!({"compact_lines": 1}));
    for (number, words) in [(1, "wombat cache"), (2, "numbat index"), (3, "bilby queue")] {
        worked(&world, "-work-one", number, words);
    }
    spool(&world, &[1, 2, 3]);
    world.ok(&["status"]);
    assert!(wait(|| fs::read_dir(world.home().join("spool")).unwrap().next().is_none()), "what hooks left is recorded");
    world.close(&id(3));
    ready(&world, 3);
    let named = |world: &World| {
        let mut all: Vec<Vec<u32>> = heads(world).into_iter().map(|(_, numbers)| numbers).collect();
        all.sort();
        all
    };
    // Each in its note and in the archived copy.
    let all = [vec![1], vec![1], vec![1, 2], vec![1, 2], vec![1, 2, 3], vec![1, 2, 3]];
    assert_eq!(named(&world), all, "{}", world.log());
    assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.run(&["vault", "verify"]).out);

    // Without any record of what was written, each note is found by its own session.
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    let synced = world.json(&["vault", "sync"]);
    assert_eq!((&synced["status"], &synced["files"]), (&json!("success"), &json!(0)), "{synced}");
    assert_eq!(named(&world), all);

    // A list that a person has changed is theirs, and is reported.
    let (changed, _) = heads(&world)
        .into_iter()
        .find(|(path, ids)| ids.len() == 2 && !path.to_string_lossy().contains("archive"))
        .unwrap();
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, text.replacen("session_ids:\n", "session_ids:\n  - mine\n", 1)).unwrap();
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains(changed.file_name().unwrap().to_str().unwrap()), "{}", forgotten.out);
    let text = fs::read_to_string(&changed).unwrap();
    assert!(text.contains("  - mine\n") && text.contains(&id(1)) && text.contains("numbat index"), "{text}");
    fs::write(&changed, text.replacen("  - mine\n", "", 1)).unwrap();
    assert_eq!(named(&world), [vec![1, 2], vec![2], vec![2, 3], vec![2, 3]]);
    // Once it is as Baton wrote it, Baton maintains it again.
    world.stop();
    fs::remove_dir_all(world.home().join("vault-register")).unwrap();
    world.ok(&["vault", "sync"]);
    assert_eq!(named(&world), [vec![2], vec![2], vec![2, 3], vec![2, 3]]);
    assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.run(&["vault", "verify"]).out);
}

#[test]
fn a_list_that_somebody_has_changed_makes_no_note_anothers() {
    let world = with_notes(&json!({}));
    for (number, words) in [(1, "wombat cache"), (2, "numbat index")] {
        worked(&world, "-work-one", number, words);
    }
    spool(&world, &[1, 2]);
    world.ok(&["status"]);
    world.close(&id(2));
    ready(&world, 2);
    let of =
        |world: &World, ids: &[u32]| heads(world).into_iter().find(|(_, named)| named == ids).map(|(path, _)| path);
    let (one, two) = (of(&world, &[1]).unwrap(), of(&world, &[1, 2]).unwrap());
    // One note is gone, and the other has another name and a changed frontmatter.
    let text = fs::read_to_string(&two).unwrap().replacen("session_ids:\n", "session_ids: # mine\n", 1);
    let moved = own(&world).join("projects/Mine.md");
    fs::write(&moved, &text).unwrap();
    fs::remove_file(&two).unwrap();
    fs::remove_file(&one).unwrap();
    world.stop();
    world.ok(&["vault", "sync"]);
    assert!(fs::read_to_string(&one).is_ok_and(|text| text.contains("wombat cache")), "{:?}", notes(&own(&world)));
    assert_eq!(fs::read_to_string(&moved).unwrap(), text, "it is that of no other session");
    let forgotten = world.ok(&["forget", &id(1), "--yes"]);
    assert!(forgotten.out.contains("Mine.md") && !one.exists(), "{}", forgotten.out);
    assert!(fs::read_to_string(&moved).unwrap().contains("numbat index"));
}
