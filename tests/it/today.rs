//! What runs, what was finished today, what is open and what was spent.

use serde_json::{Value, json};

use crate::page::Address;
use crate::transcript::{Transcript, now};
use crate::world::{World, id, list, text};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A world in whose zone it is about noon.
fn at_noon() -> World {
    let mut world = World::new();
    let hour = now().0.div_euclid(HOUR_MS).rem_euclid(24);
    // POSIX counts west of Greenwich.
    world.set("TZ", format!("XXX{}", hour - 12));
    world
}

fn ids(sessions: &Value) -> Vec<String> {
    list(sessions).iter().map(|session| text(&session["session_id"])).collect()
}

/// Appends a reply of a model with a known price: 0.0125 dollars.
fn spend(transcript: &mut Transcript, message: &str, text: &str) {
    let mut record = transcript.reply_record(text);
    record["message"]["id"] = message.into();
    record["message"]["model"] = "claude-opus-4-6".into();
    record["message"]["usage"] = json!({"input_tokens": 2_000, "output_tokens": 100});
    record["requestId"] = message.into();
    record["version"] = "2.1.120".into();
    transcript.append(&record);
}

#[test]
fn a_day_has_what_runs_what_was_finished_what_is_open_and_what_was_spent() {
    let world = at_noon();
    let minutes = |count: i64| now().plus_ms(-count * 60 * 1_000);
    let mut before = world.transcript("shop", &id(1)).in_directory("/srv/shop").at(minutes(2 * 24 * 60));
    before.prompt("count the okapi");
    spend(&mut before, "m1", "Left to do: feed the older okapi.");
    world.close(&id(1));
    let mut done = world.transcript("shop", &id(2)).in_directory("/srv/shop").at(minutes(90));
    done.prompt("build the aviary");
    spend(&mut done, "m2", "The aviary stands. Left to do: paint the aviary's door.");
    world.close(&id(2));
    world.transcript("harbor", &id(3)).in_directory("/srv/harbor").at(minutes(3)).prompt("dredge the harbor");
    world.transcript("harbor", &id(4)).in_directory("/srv/harbor").at(minutes(30 * 24 * 60)).prompt("long ago");
    world.close(&id(4));
    // A date beyond today counts neither for today nor for the week.
    let mut future = world.transcript("far", &id(5)).in_directory("/srv/far").at(minutes(-3 * 24 * 60));
    future.prompt("in three days");
    spend(&mut future, "m5", "Later.");
    world.close(&id(5));
    world.search("okapi");

    let told = world.json(&["today"]);
    assert_eq!(ids(&told["running"]), [id(3)], "{told}");
    assert_eq!(told["running"][0]["outcome"], "", "it is not over: {told}");
    assert_eq!(ids(&told["finished"]), [id(5), id(2)], "what is dated in the future was written by now: {told}");
    assert_eq!(told["finished"][1]["title"], "Build the aviary", "{told}");
    let open = list(&told["open"]);
    assert_eq!(open.len(), 1, "of the latest session of each project: {told}");
    assert_eq!(open[0]["project"], "/srv/shop");
    let items = list(&open[0]["items"]);
    assert!(items.iter().all(|item| item["session_id"] == json!(id(2))), "{told}");
    assert!(items.iter().any(|item| text(&item["text"]).contains("aviary's door")), "{told}");
    let spent = &told["spent"];
    assert_eq!((&spent["today"]["cost_usd"], &spent["today"]["messages"]), (&json!(0.0125), &json!(1)), "{told}");
    assert_eq!((&spent["week"]["cost_usd"], &spent["week"]["messages"]), (&json!(0.025), &json!(2)), "{told}");

    let human = world.ok(&["today"]).out;
    for expected in ["Running", "Dredge the harbor", "Build the aviary", "aviary's door", "$0.0125", "2 requests"] {
        assert!(human.contains(expected), "{expected} in {human}");
    }
    let of_harbor = world.json(&["today", "--project", "/srv/harbor"]);
    assert_eq!((ids(&of_harbor["running"]), ids(&of_harbor["finished"])), (vec![id(3)], vec![]), "{of_harbor}");
    assert_eq!(of_harbor["spent"]["week"]["messages"], 0, "{of_harbor}");
    assert_eq!(world.run(&["today", "--project", "/nowhere"]).code, 1);

    let address = Address::new(&world);
    let page = address.get("/", &address.enter()).body;
    for expected in ["Dredge the harbor", "Build the aviary", "aviary's door", "$0.0125"] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
}

#[test]
fn what_was_closed_after_midnight_was_finished_today() {
    let mut world = World::new();
    // A zone in which it is five past midnight; POSIX counts west of Greenwich.
    let minutes = now().0.div_euclid(60_000).rem_euclid(24 * 60) - 5;
    let sign = if minutes < 0 { "-" } else { "" };
    world.set("TZ", format!("XXX{sign}{}:{:02}", minutes.abs() / 60, minutes.abs() % 60));
    for number in 1..=2 {
        let mut late = world.transcript("shop", &id(number)).in_directory("/srv/shop").minutes_ago(15);
        late.prompt("build the aviary").reply("The aviary stands.");
    }
    world.close(&id(1));
    let told = world.json(&["today"]);
    assert_eq!((ids(&told["finished"]), ids(&told["running"])), (vec![id(1)], vec![id(2)]), "{told}");
}

#[test]
fn an_empty_home_has_a_day_too() {
    let world = World::new();
    world.transcript("shop", &id(1)).metadata();
    assert_eq!(world.json(&["sessions"])["sessions"][0]["title"], "", "without one it is empty");
    let told = world.json(&["today"]);
    assert_eq!((ids(&told["running"]), ids(&told["finished"]), list(&told["open"]).len()), (vec![], vec![], 0));
    assert_eq!(told["spent"]["week"]["cost_usd"], json!(0.0), "{told}");
}
