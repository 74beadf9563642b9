//! Once a day every note is looked at, by a clock that the test holds.

use std::fs;

use baton_events::session::CloseReason;
use serde_json::json;

use super::{configure, notes, only_session, own, ready, tell, until};
use crate::time::{Held, after};
use crate::world::id;

const DAY_S: i64 = 24 * 3600;

#[test]
fn a_note_that_grows_old_is_compacted_by_the_daily_round_and_what_failed_is_tried_again() {
    let held = Held::new();
    let world = &held.world;
    configure(world, &json!({}));
    let mut transcript = world.transcript("-work-one", &id(1)).at(after(0));
    tell(&mut transcript, "-work-one", "wombat cache");
    held.at(60);
    world.ok(&["sessions"]);
    held.close(&id(1), CloseReason::Explicit, "one");
    let told = ready(world, 1);
    assert_eq!(told["active"], 1, "{told}");
    let (path, _) = only_session(&own(world));

    // After a day it is young still. After three it is old, and its archive cannot be made.
    held.at(DAY_S + 120);
    let swept = |day: i64| {
        let at = after(day * DAY_S).to_string();
        move |told: &serde_json::Value| told["swept_at"].as_str() >= Some(at.as_str())
    };
    let told = until(world, "the first round", swept(1));
    assert_eq!((&told["active"], &told["archived"]), (&json!(1), &json!(0)), "{told}");
    let archive = path.parent().unwrap().parent().unwrap().join("archive");
    fs::write(&archive, "in the way").unwrap();
    held.at(3 * DAY_S + 240);
    let told = until(world, "the failure", swept(3));
    assert_eq!(told["compaction_failed"], 1, "{told}");
    let note = fs::read_to_string(&path).unwrap();
    assert!(note.contains("status: compaction_failed") && note.contains("\nerror:"), "{note}");

    // The next round makes up for it.
    fs::remove_file(&archive).unwrap();
    held.at(4 * DAY_S + 360);
    let told = until(world, "the second try", swept(4));
    assert_eq!((&told["archived"], &told["compaction_failed"]), (&json!(1), &json!(0)), "{told}");
    let note = fs::read_to_string(&path).unwrap();
    assert!(note.contains("status: archived") && !note.contains("\nerror:"), "{note}");
    assert_eq!(notes(&own(world)).iter().filter(|path| path.contains("/archive/")).count(), 1);
}
