//! `baton replay --at`: a position of the home's log tells the same as the same position of its export, and as the page.

use serde_json::Value;

use crate::world::{World, id, list};

#[test]
fn a_position_of_the_log_tells_what_its_export_tells() {
    let world = World::new();
    for number in 1..=3 {
        world.transcript("-work-shop", &id(number)).prompt(&format!("walrus {number}")).reply("Done.");
    }
    world.search("walrus");
    world.close(&id(2));
    world.ok(&["forget", &id(3), "--yes"]);
    let export = world.path("log.jsonl");
    let export = export.to_str().unwrap();
    world.ok(&["log", "export", "-o", export]);
    let without = world.run(&["replay"]);
    assert!(without.code == 2 && without.err.contains("baton log export") && without.err.contains("--at POSITION"));
    let last = world.json(&["replay", "--at", "0"])["last"].as_u64().unwrap();
    assert!(last > 10, "{last} events");
    // Backwards and forwards.
    for at in (1..=last).rev().chain(1..=last) {
        let live = world.json(&["replay", "--at", &at.to_string()]);
        assert_eq!((&live["position"], &live["more"]), (&at.into(), &0.into()), "{live}");
        let ran = world.ok(&["replay", export, "--at", &at.to_string(), "--json"]);
        let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [mut event, summary] = <[Value; 2]>::try_from(lines).unwrap();
        let by_id = |sessions: &Value| {
            let mut sessions = list(sessions);
            sessions.sort_by_key(|session| session["session_id"].to_string());
            sessions
        };
        assert_eq!(by_id(&live["sessions"]), by_id(&summary["summary"]["sessions"]), "at {at}");
        let counted: u64 = live["states"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(counted as usize, list(&live["sessions"]).len(), "at {at}");
        let mut told = live["event"].clone();
        for changing in ["data", "owed", "why"] {
            // The export has the stored data, and the default timeouts.
            event.as_object_mut().unwrap().remove(changing);
            told.as_object_mut().unwrap().remove(changing);
        }
        if told["stream"] != format!("session:{}", id(3)) {
            assert_eq!(told, event, "at {at}");
        }
    }
}

#[test]
fn the_positions_beside_lead_through_a_session() {
    let world = World::new();
    for number in 1..=2 {
        world.transcript("-work-shop", &id(number)).prompt(&format!("walrus {number}")).reply("Done.");
    }
    world.search("walrus");
    world.close(&id(1));
    let explained = world.json(&["explain", &id(1)]);
    let events = list(&explained["events"]);
    let positions: Vec<u64> = events.iter().map(|event| event["position"].as_u64().unwrap()).collect();
    let changes: Vec<u64> = events
        .iter()
        .filter(|event| event["before"] != event["after"])
        .map(|event| event["position"].as_u64().unwrap())
        .collect();
    let last = world.json(&["replay", "--at", "0"])["last"].as_u64().unwrap();
    for at in 1..=last {
        let replayed = world.json(&["replay", "--at", &at.to_string(), "--session", &id(1)]);
        let before = |list: &[u64]| list.iter().copied().rfind(|position| *position < at);
        let after = |list: &[u64]| list.iter().copied().find(|position| *position > at);
        for (name, expected) in [
            ("previous", before(&positions)),
            ("next", after(&positions)),
            ("previous_change", before(&changes)),
            ("next_change", after(&changes)),
        ] {
            assert_eq!(replayed[name].as_u64(), expected, "{name} at {at}");
        }
        if let Some(event) = events.iter().find(|event| event["position"] == at) {
            assert_eq!((&replayed["event"], &replayed["sessions"][0]["session_id"]), (event, &id(1).into()));
        }
    }
    let said = world.ok(&["replay", "--at", &last.to_string()]).out;
    assert!(said.contains(&format!("position   {last} of {last}")), "{said}");
    let beyond = world.json(&["replay", "--at", "1000000"]);
    assert_eq!(beyond["position"], last, "the last one stands for those beyond");
    assert_ne!(world.run(&["replay", "--at", "1", "--session", "ffffffff"]).code, 0);
    assert_ne!(world.run(&["replay"]).code, 0, "neither a file nor a position");
}
