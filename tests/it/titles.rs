//! Titles that one transcript gives to another session: shown wherever that session is named, and gone when the
//! transcript that gives them is.

use serde_json::{Value, json};

use crate::transcript::Transcript;
use crate::world::{World, hits, id, list, text};

const TITLE: &str = "Zebra parser off by one";

/// A session of one exchange; also returns the uuid of its last record.
fn old(world: &World) -> (Transcript, String) {
    let mut old = world.transcript("-work-zoo", &id(1)).minutes_ago(90);
    old.prompt("why does the stripe counter fail on Tuesdays").reply("It reads one byte too many.");
    let written = std::fs::read_to_string(old.path()).unwrap();
    let last: Value = serde_json::from_str(written.lines().last().unwrap()).unwrap();
    let uuid = text(&last["uuid"]);
    (old, uuid)
}

/// A later session, whose transcript begins with titles of other sessions.
fn giver(world: &World, folder: &str, leaf: &str) -> Transcript {
    let mut giver = world.transcript(folder, &id(2)).minutes_ago(60);
    giver.append(&json!({"type": "summary", "summary": "Somebody else's", "leafUuid": "nowhere"}));
    giver.append(&json!({"type": "summary", "summary": TITLE, "leafUuid": leaf}));
    giver.prompt("paint the giraffe").reply("Painted.");
    giver
}

/// The name of the old session in each command that shows it.
fn names(world: &World) -> Vec<(&'static str, String)> {
    let of = |value: &Value, field: &str| text(&value[field]);
    let shown = world.show(&id(1))["episode"].clone();
    let hit = hits(&world.search("stripe counter")).into_iter().find(|hit| hit["session_id"] == id(1).as_str());
    let days = list(&world.json(&["timeline"])["days"]);
    let past: Vec<Value> = days.iter().flat_map(|day| list(&day["sessions"])).collect();
    let past = past.into_iter().find(|past| past["session_id"] == id(1).as_str());
    let recalled = list(&world.json(&["recall", "stripe counter"])["answer"]);
    let recalled =
        recalled.into_iter().find(|entry| entry["kind"] == "session" && entry["session_id"] == id(1).as_str());
    vec![
        ("show", of(&shown, "title")),
        ("content", of(&shown, "content")),
        ("search", of(&hit.unwrap(), "title")),
        ("timeline", of(&past.unwrap(), "title")),
        ("recall", of(&recalled.unwrap(), "text")),
    ]
}

fn check(world: &World, is_called: bool) {
    for (what, name) in names(world) {
        assert_eq!(name.contains(TITLE), is_called, "{what}: {name}");
        assert!(!name.contains("Somebody else's"), "{what}: {name}");
    }
    let other = world.show(&id(2))["episode"]["title"].clone();
    assert_eq!(other, "Paint the giraffe", "whoever gives a title has another");
}

#[test]
fn a_title_is_shown_whichever_of_both_is_indexed_first_and_goes_with_its_giver() {
    for old_first in [true, false] {
        let world = World::new();
        let (_old, leaf) = match old_first {
            true => {
                let (old, leaf) = old(&world);
                world.close(&id(1));
                giver(&world, "-work-zoo", &leaf);
                (old, leaf)
            }
            false => {
                // An older session's file that turns up later.
                let aside = world.path("aside.jsonl");
                let (old, leaf) = old(&world);
                std::fs::rename(old.path(), &aside).unwrap();
                giver(&world, "-work-zoo", &leaf);
                world.close(&id(2));
                std::fs::rename(&aside, old.path()).unwrap();
                world.search("stripe counter");
                (old, leaf)
            }
        };
        world.close(&id(1));
        world.close(&id(2));
        assert!(!leaf.is_empty());
        check(&world, true);
        world.ok(&["forget", &id(2), "--yes"]);
        for (what, name) in names(&world) {
            assert!(!name.contains(TITLE), "{what}: {name}");
        }
    }
}

#[test]
fn a_title_of_its_own_is_better_than_what_others_say() {
    let world = World::new();
    let (mut old, leaf) = old(&world);
    giver(&world, "-work-zoo", &leaf);
    world.close(&id(1));
    world.close(&id(2));
    check(&world, true);
    old.append(&json!({"type": "ai-title", "aiTitle": "Stripes on Tuesdays", "sessionId": id(1)}));
    old.prompt("and on Mondays").reply("Then too.");
    world.close(&id(1));
    assert_eq!(world.show(&id(1))["episode"]["title"], "Stripes on Tuesdays");
    check(&world, false);
}

#[test]
fn a_handoff_names_the_title() {
    let world = World::new();
    let (mut old, leaf) = old(&world);
    old.call("c1", "Edit", json!({"file_path": "/srv/-work-zoo/a.rs", "old_string": "a", "new_string": "b"}));
    old.result("c1", "The file has been updated.", false).reply("Mended.");
    world.close(&id(1));
    let handed = || text(&world.json(&["handoff", "--project", "/srv/-work-zoo"])["objective"]);
    assert!(!handed().contains(TITLE), "{}", handed());
    giver(&world, "-work-farm", &leaf);
    world.close(&id(2));
    assert!(handed().contains(TITLE), "{}", handed());
}
