//! `baton explain` answers a person's questions about a session; and `baton replay` of what a daemon has recorded.

use std::process::Stdio;

use serde_json::Value;

use crate::page::Address;
use crate::transcript::now;
use crate::world::{World, finished, id, list, text};

fn told(explained: &Value, field: &str) -> Vec<String> {
    let events = list(&explained["events"]);
    events.iter().filter_map(|event| event[field].as_str()).map(str::to_owned).collect()
}

#[test]
fn a_session_is_explained_from_its_discovery_to_what_is_owed() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1)).minutes_ago(10);
    transcript.prompt("mend the zebra parser").write(b"no record\n").reply("It is mended.");
    world.close(&id(1));
    let explained = world.json(&["explain", "00000001"]);
    assert_eq!((&explained["session_id"], &explained["state"]), (&id(1).into(), &"indexed".into()));
    let kinds = told(&explained, "type");
    let expected =
        ["discovered", "located", "records_appended", "close_requested", "ended", "indexing_started", "indexed"];
    assert_eq!(
        kinds.iter().filter(|kind| *kind != "went_idle").collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    let sequences: Vec<u64> =
        list(&explained["events"]).iter().filter_map(|event| event["sequence"].as_u64()).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    assert!(told(&explained, "why").iter().any(|why| why.starts_with("a person or an agent asked")), "{explained}");
    assert!(
        told(&explained, "told").iter().any(|told| told.contains("2 messages, 1 typed, 1 malformed line")),
        "{explained}"
    );
    assert_eq!(explained["owed"], serde_json::json!([]), "it has ended");
    assert!(
        explained["notes"].to_string().contains("lines of its transcript that are no JSON, passed over: 1"),
        "{explained}"
    );
    transcript.set_time(now());
    transcript.prompt("and the okapi parser");
    world.search("okapi");
    let explained = world.json(&["explain", &id(1)]);
    let owed = list(&explained["owed"]);
    assert_eq!(owed[0]["what"], "close", "{explained}");
    assert!(text(&owed[0]["why"]).starts_with("30 min after its last message, at "), "{explained}");
    assert!(told(&explained, "why").iter().any(|why| why.starts_with("replaces episode ")), "{explained}");
    let said = world.ok(&["explain", &id(1)]).out;
    for line in ["close: explicit", "active -> indexing", "It is indexed now, as episode ", "Next: close 20"] {
        assert!(said.contains(line), "{line:?} is missing in {said}");
    }
}

#[test]
fn the_reason_of_an_end_comes_first_everywhere_and_times_are_local() {
    let mut world = World::new();
    world.set("TZ", "XXX-1");
    world.transcript("-work-one", &id(1)).prompt("mend the zebra parser").reply("It is mended.");
    world.ok(&["close", &id(1), "--reason", "story done"]);
    let silent = world.transcript("-work-one", &id(2)).minutes_ago(600);
    { silent }.prompt("an abandoned giraffe").reply("Nobody answers.");
    world.search("giraffe");
    let address = Address::new(&world);
    let cookie = address.enter();
    let last = world.show(&id(2))["last_activity"].as_str().unwrap().to_owned();
    let utc = baton_conversation::record::Timestamp::parse(&last).unwrap();
    let local = utc.plus_ms(60 * 60 * 1_000).to_string()[..16].replace('T', " ");
    for (session, ending) in [
        (id(1), "\"story done\": the reason that was given when it was closed.".to_owned()),
        (id(2), format!("Closed because nothing was said after {local}; no agent reported its end.")),
    ] {
        let explained = world.ok(&["explain", &session]).out;
        let (answer, history) = (explained.find(&ending).unwrap(), explained.find("transcript of").unwrap());
        assert!(answer < history && explained.contains("Nothing more is due"), "{explained}");
        assert!(!explained.contains("00.000Z") && !explained.contains("generation"), "{explained}");
        let shown = world.ok(&["show", &session]).out;
        assert!(shown.contains(&format!("closed        {ending}")) && shown.contains("Claude Code"), "{shown}");
    }
    let page = address.get(&format!("/session/{}", id(1)), &cookie).body;
    assert!(page.contains("&quot;story done&quot;: the reason"), "{page}");
    let page = address.get(&format!("/session/{}", id(2)), &cookie).body;
    assert!(page.contains("Closed because nothing was said after "), "{page}");
    // The machine's form stays as it was.
    let explained = world.json(&["explain", &id(1)]);
    assert_eq!((&explained["end"], &explained["close_note"]), (&"explicit".into(), &"story done".into()));
    assert!(text(&explained["last_activity"]).ends_with('Z'), "{explained}");
}

#[test]
fn what_stands_in_no_event_is_noted() {
    let world = World::new();
    let one = world.transcript("-work-one", &id(1));
    { one }.prompt("the careful otter").reply("Indeed.");
    world.close(&id(1));
    world.ok(&["session-tracking", "disable", "--project", "/srv/-work-one"]);
    let second = world.transcript("-work-two", &id(1));
    let path = second.path().to_owned();
    { second }.prompt("a file of the same name");
    world.search("otter");
    let explained = world.json(&["explain", &id(1)]);
    let notes = explained["notes"].to_string();
    assert!(notes.contains("session tracking is off for /srv/-work-one"), "{notes}");
    assert_eq!(explained["owed"], serde_json::json!([]), "nothing is owed while the switch is off");
    world.ok(&["session-tracking", "enable", "--project", "/srv/-work-one"]);
    world.search("otter");
    let notes = world.json(&["explain", &id(1)])["notes"].to_string();
    assert!(notes.contains(&format!("{} has the same id", path.display())), "{notes}");
    let unknown = world.run(&["explain", "nobody"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("no session \"nobody\" is known"), "{}", unknown.err);
}

#[test]
fn a_forgotten_session_is_not_said_to_change_when_it_grows() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the careful otter").reply("Indeed.");
    world.close(&id(1));
    assert!(world.ok(&["explain", &id(1)]).out.contains("it changes when its file grows"));
    world.ok(&["forget", &id(1), "--yes"]);
    let said = world.ok(&["explain", &id(1)]).out;
    assert!(said.contains("It is not read again") && said.contains("--undo"), "{said}");
}

#[test]
fn a_replay_of_what_was_exported_comes_to_what_the_daemon_says() {
    let world = World::new();
    let one = world.transcript("-work-one", &id(1));
    { one }.prompt("the careful otter").reply("Indeed.");
    let old = world.transcript("-work-two", &id(2)).minutes_ago(40);
    { old }.prompt("an abandoned giraffe").reply("Nobody answers.");
    world.transcript("-work-two", &id(3)).metadata();
    world.close(&id(1));
    world.search("giraffe otter");
    let file = world.path("log.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let stats = world.json(&["log", "stats"]);
    let summary: Value =
        serde_json::from_str(&world.ok(&["replay", file.to_str().unwrap(), "--summary", "--json"]).out).unwrap();
    let summary = &summary["summary"];
    for field in ["position", "state_hash", "chain"] {
        assert_eq!(summary[field], stats[field], "{field}: {summary} {stats}");
    }
    assert_eq!(summary["differences"], serde_json::json!([]));
    // `explain` prints the same about a session's events as the replay.
    let explained = world.json(&["explain", &id(1)]);
    let replayed = world.ok(&["replay", file.to_str().unwrap(), "--session", &id(1), "--json"]).out;
    let events: Vec<Value> = replayed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = events.split_last().unwrap();
    assert_eq!(last["summary"]["sessions"][0]["session_id"], *id(1));
    let said = |event: &Value| (event["position"].clone(), event["told"].clone(), event["changed"].clone());
    assert_eq!(
        events.iter().map(said).collect::<Vec<_>>(),
        list(&explained["events"]).iter().map(said).collect::<Vec<_>>()
    );
    // Standard input works as a file.
    let piped =
        world.command(&["replay", "-", "--summary"]).stdin(Stdio::from(std::fs::File::open(&file).unwrap())).output();
    let piped = finished(piped.unwrap());
    assert!(piped.code == 0 && piped.out.contains(&text(&stats["state_hash"])), "{}{}", piped.out, piped.err);
    // A filtered file is replayed too, and reported as filtered.
    let part = world.path("part.jsonl");
    world.ok(&["log", "export", "--session", &id(2), "-o", part.to_str().unwrap()]);
    let filtered = world.ok(&["replay", part.to_str().unwrap()]).out;
    assert!(filtered.contains("note       the file is filtered") && filtered.contains(&id(2)), "{filtered}");
}
