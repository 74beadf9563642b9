//! Whose sessions answers are made of, and whose are handed over.

use serde_json::json;

use super::*;

#[test]
fn whose_sessions_are_meant_is_a_filter() {
    let pair = Pair::sharing();
    let bob = &pair.bob;
    worked(bob, 3, "/srv/own", SAID);
    let only = |who: &str| bob.found(&format!("wombat cache {who}"));
    for (who, number) in
        [("who:me", 3), ("who:Bob", 3), ("who:team", 1), ("who:ann", 1), ("-who:me", 1), ("-who:Ann", 3)]
    {
        assert_eq!(only(who), [id(number)], "{who}");
        assert_eq!(bob.found(who), [id(number)], "{who} alone");
    }
    let unknown = bob.search("wombat cache who:carl");
    assert!(hits(&unknown).is_empty() && unknown["notes"].to_string().contains("carl"), "{unknown}");
    let fingerprint = text(&status(&pair.ann)["writer"]);
    for (who, number) in [("me", 3), ("team", 1), ("Ann", 1), (&fingerprint[..8], 1)] {
        let rows = list(&bob.json(&["sessions", "--who", who])["sessions"]);
        assert_eq!(rows.iter().map(|row| text(&row["session_id"])).collect::<Vec<_>>(), [id(number)], "{who}");
    }
    let recalled = bob.json(&["recall", "which entries does the wombat cache evict who:team"]).to_string();
    assert!(recalled.contains(&id(1)) && !recalled.contains(&id(3)), "{recalled}");
}

#[test]
fn of_equals_ones_own_session_comes_first() {
    let pair = Pair::new();
    let at = crate::transcript::now().plus_ms(-3_600_000);
    // In the order of ids the other's would come first.
    for (world, number) in [(&pair.ann, 1), (&pair.bob, 2)] {
        let mut transcript = world.transcript("-srv-quokkaville", &id(number)).in_directory(SHARED).at(at);
        transcript.prompt("is the potoroo queue empty").reply("The potoroo queue is empty.");
        world.close(&id(number));
    }
    pair.ann.ok(&["relay", "share", SHARED, "--yes"]);
    arrives(&pair.bob, "potoroo queue", &id(1));
    let found = pair.bob.search("potoroo queue");
    let sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
    assert_eq!(sessions.first(), Some(&id(2)), "{found}");
}

#[test]
fn a_session_of_another_is_handed_over_only_to_who_wants_that_and_with_its_author() {
    let pair = Pair::sharing();
    let bob = &pair.bob;
    let handed = || bob.run(&["handoff", "--project", "quokkaville", "--json"]);
    assert!(!handed().out.contains(&id(1)), "{}", handed().out);
    let path = bob.home().join("config.json");
    let mut configuration: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    configuration["handoff"] = json!({"from": "team"});
    std::fs::write(&path, configuration.to_string()).unwrap();
    assert!(wait(|| handed().out.contains(&id(1))), "{}\n{}", handed().out, bob.log());
    let handoff = handed().json();
    assert_eq!((&handoff["from"]["name"], &handoff["claimed_by"]), (&"Ann".into(), &Value::Null), "{handoff}");
    let told = text(&handoff["text"]);
    assert!(told.contains("by Ann on ") && told.contains("not by your user") && !told.contains(SHARED), "{told}");

    configuration["handoff"] = json!({"from": "everybody"});
    std::fs::write(&path, configuration.to_string()).unwrap();
    let refused = || bob.json(&["config"]).to_string();
    assert!(wait(|| refused().contains("handoff.from")), "{}", refused());
}
