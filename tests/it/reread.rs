//! A home whose conversations an earlier version stored without what their tools report.

use std::time::Duration;

use serde_json::{Value, json};

use crate::earlier::world_of;
use crate::world::{World, id, list, wait_within};

/// Longest wait until transcripts are read again, 60 s.
const LONG: Duration = Duration::from_secs(60);

/// The errors that a session came to, with what mended them.
fn errors(world: &World, number: u32) -> Vec<Value> {
    list(&world.json(&["show", &id(number)])["episode"]["errors"])
}

#[test]
fn a_transcript_that_is_there_is_read_again_and_what_its_tools_report_is_known() {
    let world = world_of("untyped.tar.zst", &[1]);
    // Before the daemon of this version runs; the earlier one stored both alike.
    let mut status = Value::Null;
    let done = wait_within(LONG, || {
        status = world.json(&["status"]);
        status["untyped"] == 1 && errors(&world, 1).len() == 1
    });
    assert!(done, "{status}\n{}", world.log());
    let error = &errors(&world, 1)[0];
    assert!(error["text"].as_str().unwrap().contains("E0308"), "{error}");
    assert!(error["resolution"]["text"].as_str().unwrap().contains("wombat.rs"), "{error}");
    assert_eq!(errors(&world, 2), [Value::Null; 0], "its transcript is gone");
    // Nothing is read twice, and the episode is the one that it was.
    let events = |number| list(&world.json(&["explain", &id(number)])["events"]);
    let begun = |number| events(number).iter().filter(|event| event["type"] == "indexing_started").count();
    let before = (begun(1), begun(2));
    let uuid = world.json(&["show", &id(1)])["episode"]["uuid"].clone();
    assert_ne!(uuid, Value::Null);
    world.stop();
    assert!(wait_within(LONG, || world.json(&["status"])["untyped"] == 1));
    assert_eq!(errors(&world, 1).len(), 1);
    assert_eq!(((begun(1), begun(2)), world.json(&["show", &id(1)])["episode"]["uuid"].clone()), (before, uuid));
    assert_eq!(world.json(&["log", "verify"])["clean"], json!(true));
}
