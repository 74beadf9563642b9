//! `baton keep` shortens old conversations, and their episodes stay.

use std::fs;

use serde_json::{Value, json};

use crate::record::memory;
use crate::transcript::{Transcript, now};
use crate::verify::check_clean;
use crate::world::{World, files_below, id, list};

/// Two years ago.
const LONG_AGO: i64 = 2 * 366 * 24 * 60;

/// A session with a failure that was mended, and words of the agent that nothing needs.
fn old_session(world: &World, number: u32) -> Transcript {
    let mut transcript = world.transcript("-work-one", &id(number)).minutes_ago(LONG_AGO);
    transcript.prompt(&format!("why do the tests of otter{number} fail?"));
    for step in 1..=30 {
        transcript.reply(&format!(
            "Let me look at wombat{number} next, part {step}: {}",
            "it may be somewhere here. ".repeat(20)
        ));
        transcript.call(&format!("r{step}"), "Read", json!({ "file_path": format!("/srv/one/src/part{step}.rs") }));
        transcript.result(&format!("r{step}"), "fn part() {}", false);
    }
    transcript.call("t1", "Bash", json!({ "command": "cargo test" }));
    transcript.result("t1", "Exit code 101\nerror: test pond failed: lock was poisoned", true);
    transcript.call("e1", "Edit", json!({ "file_path": "/srv/one/src/pond.rs", "old_string": "a", "new_string": "b" }));
    transcript.result("e1", "The file /srv/one/src/pond.rs has been updated.", false);
    transcript.call("t2", "Bash", json!({ "command": "cargo test" }));
    transcript.result("t2", "test result: ok. 12 passed", false);
    transcript.reply(&format!(
        "Decision: use one lock per pond, because two writers blocked each other. The otter{number} tests pass."
    ));
    transcript
}

/// Two old sessions, of which the first may go on, and a young one.
fn world() -> (World, Transcript) {
    let world = World::new();
    let first = old_session(&world, 1);
    old_session(&world, 2);
    let mut young = world.transcript("-work-one", &id(3)).minutes_ago(90);
    young.prompt("and what of the heron?");
    young.reply("Let me look at wombat3 next.").reply("It waits in the reeds, nothing is to be done.");
    world.ok(&["sync", "--days", "3650"]);
    (world, first)
}

/// Everything that is told of a session but for how much of it is stored.
fn told(world: &World, number: u32) -> Value {
    let mut shown = world.show(&id(number));
    let numbers = shown["episode"]["metadata"].as_object_mut().unwrap();
    numbers.remove("filtered_token_count");
    numbers.remove("llm_cost_estimate");
    shown
}

fn blob_bytes(world: &World, number: u32) -> u64 {
    let files = files_below(&world.home().join("blobs").join(id(number)));
    files.iter().map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn old_conversations_go_and_their_episodes_stay() {
    let (world, _) = world();
    let before = [1, 2, 3].map(|number| (told(&world, number), blob_bytes(&world, number)));
    assert_eq!(world.found("wombat1"), [id(1)]);

    // Looking changes nothing.
    let position = world.json(&["log", "stats"])["position"].clone();
    let would = world.json(&["keep", "--days", "365", "--dry-run"]);
    let ids = |keep: &Value| list(&keep["sessions"]).iter().map(|row| row["session_id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&would), [id(1), id(2)], "{would}");
    assert_eq!((&would["dry_run"], &would["conversations"]), (&true.into(), &3.into()), "{would}");
    let asked = world.run(&["keep", "--days", "365"]);
    assert!(asked.code == 1 && asked.err.contains("--yes"), "{}", asked.err);
    let shown = world.ok(&["keep", "--days", "365", "--dry-run"]).out;
    assert!(shown.contains("shortening 2 conversations would free about"), "{shown}");
    assert_eq!(world.json(&["log", "stats"])["position"], position);

    let done = world.json(&["keep", "--days", "365", "--yes"]);
    assert_eq!((&done["status"], ids(&done)), (&"success".into(), vec![id(1).into(), id(2).into()]), "{done}");
    for (number, (then, bytes)) in [1, 2].into_iter().zip(&before) {
        assert_eq!(&told(&world, number), then, "session {number}");
        assert!(blob_bytes(&world, number) < *bytes, "session {number} takes as much as before");
        assert_eq!(world.found(&format!("otter{number}")), [id(number)]);
        assert_eq!(world.found(&format!("wombat{number}")), [""; 0], "what went is not found");
    }
    assert_eq!((&told(&world, 3), world.found("wombat3")), (&before[2].0, vec![id(3)]));
    let explained = world.ok(&["explain", &id(1)]).out;
    assert!(explained.contains("conversation shortened to what its episode needs"), "{explained}");
    let messages = world.ok(&["show", &id(1), "--messages"]).out;
    assert!(messages.contains('…') && !messages.contains("wombat"), "{messages}");
    check_clean(&world, "shortened");

    // Once more there is nothing to do.
    let again = world.json(&["keep", "--days", "365", "--yes"]);
    assert_eq!((ids(&again), &again["already"], &again["freed_bytes"]), (vec![], &2.into(), &0.into()), "{again}");

    // Neither a new reading nor a rebuild brings it back, and a maintained memory is as one filled afresh.
    world.ok(&["reindex", "--all"]);
    assert_eq!((world.found("wombat1"), &told(&world, 1)), (vec![], &before[0].0));
    world.stop();
    let maintained = memory(world.home());
    fs::remove_dir_all(world.home().join("memory")).unwrap();
    assert_eq!((world.found("wombat1"), world.found("otter1")), (vec![], vec![id(1)]));
    world.stop();
    assert_eq!(memory(world.home()), maintained);

    // A backup has what is left, and a home that is made of it is told alike.
    let file = world.path("backup.jsonl");
    world.ok(&["backup", file.to_str().unwrap()]);
    let other = World::new();
    other.ok(&["log", "import", file.to_str().unwrap()]);
    assert_eq!(told(&other, 1)["episode"], before[0].0["episode"]);
    assert_eq!(other.found("wombat1"), [""; 0]);
}

#[test]
fn a_session_that_goes_on_is_stored_whole_again() {
    let (world, mut transcript) = world();
    world.ok(&["keep", "--days", "365", "--yes"]);
    assert_eq!(world.found("wombat1"), [""; 0]);
    transcript.set_time(now().plus_ms(-60_000));
    transcript.prompt("and does the bittern stand?").reply("It does.");
    world.close(&id(1));
    assert_eq!((world.found("wombat1"), world.found("bittern")), (vec![id(1)], vec![id(1)]));
    check_clean(&world, "gone on");
}

#[test]
fn the_oldest_go_until_the_rest_fits() {
    let (world, _) = world();
    let all = world.json(&["keep", "--max-bytes", "1GB", "--dry-run"]);
    assert_eq!(list(&all["sessions"]).len(), 0, "{all}");
    let most = all["bytes"].as_u64().unwrap() - 1;
    let done = world.json(&["keep", "--max-bytes", &most.to_string(), "--yes"]);
    let rows = list(&done["sessions"]);
    assert_eq!((rows.len(), &rows[0]["session_id"], &done["over_bytes"]), (1, &id(1).into(), &0.into()), "{done}");
    // What cannot fit is said.
    let done = world.json(&["keep", "--max-bytes", "10", "--yes"]);
    assert!(done["over_bytes"].as_u64().unwrap() > 0, "{done}");
    for (wrong, said) in [
        (&["keep"][..], "--days"),
        (&["keep", "--max-bytes", "many"], "500MB"),
        (&["keep", "--days", "many"], "number"),
    ] {
        let ran = world.run(wrong);
        assert!(ran.code == 2 && ran.err.contains(said), "{wrong:?}: {}", ran.err);
    }
}
