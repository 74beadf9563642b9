//! kill -9 while requests are in flight, a few dozen times; `baton-bench crash` does it as often as requested.

use serde_json::{Value, json};

use crate::world::World;

/// A home's daemon lives some tenths of a second; with more homes than processors they wait for each other.
const KILLS: [&str; 7] = ["crash", "--kills", "51", "--homes", "3", "--seed", "7"];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn i1_what_was_acknowledged_survives_kills_while_requests_are_in_flight() {
    let world = World::new();
    let ran = world.run(&[&KILLS[..], &["--json"]].concat());
    let crash = ran.json();
    assert_eq!(crash["losses"], json!([]), "{crash}");
    assert_eq!((ran.code, number(&crash["kills_total"])), (0, 51), "{crash}");
    assert_eq!(number(&crash["rests"]), 3, "each home came to rest in the end: {crash}");
    // The seed determines the moments; how many requests are in flight depends on the scheduler.
    assert!(number(&crash["kills_with_requests_in_flight"]) > 0, "{crash}");
    for moment in ["at_work", "while_starting", "while_stopping"] {
        assert!(number(&crash["kills"][moment]) > 0, "{crash}");
    }
    let acknowledged: u64 = crash["acknowledged"].as_object().unwrap().values().map(number).sum();
    assert!(acknowledged > 0 && number(&crash["held_against_the_log"]) > 0, "{crash}");
    assert!(crash["power"].is_null(), "not asked for");
    world.assert_nothing_is_left();
}
