//! Power cuts of a real daemon on a file system of its own, if root may mount one; `baton-bench crash --cuts` does it
//! as often as requested. `a_power_cut_at_every_sync_…` of the journal covers other machines, and hundreds of instants.

use serde_json::json;

use crate::world::{World, skipped, text};

#[test]
fn i1_what_was_acknowledged_survives_a_power_cut() {
    let world = World::new();
    let ran = world.run(&["crash", "--kills", "0", "--cuts", "5", "--seed", "7", "--json"]);
    let crash = ran.json();
    assert_eq!(crash["losses"], json!([]), "{crash}");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let power = &crash["power"];
    if !power["skipped"].is_null() {
        return skipped(text(&power["skipped"]));
    }
    assert_eq!((&power["instants"], &power["daemons_started"]), (&5.into(), &1.into()), "{crash}");
    assert!(power["held_against_the_log"].as_u64().unwrap() > 0, "{crash}");
    world.assert_nothing_is_left();
}
