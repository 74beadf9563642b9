//! Days are those of the person: `TZ`, carried with each request, and the daemon's own in notes.

use std::fs;
use std::path::Path;

use baton_conversation::record::Timestamp;
use serde_json::{Value, json};

use crate::transcript::now;
use crate::world::{World, files_below, id, list, text, wait};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Sessions that `timeline` lists, with their days.
fn listed(timeline: &Value) -> Vec<(String, String)> {
    let days = list(&timeline["days"]).into_iter();
    let sessions = |day: Value| {
        let sessions = list(&day["sessions"]);
        sessions.into_iter().map(move |session| (text(&day["day"]), text(&session["session_id"])))
    };
    days.flat_map(sessions).collect()
}

/// A session of one prompt that has ended.
fn worked(world: &World, number: u32, at: Timestamp) {
    world.transcript("-work-one", &id(number)).at(at).prompt("tame the quokka").reply("It is tame.");
    world.close(&id(number));
}

/// Los Angeles by name where the machine knows it, else by its rule.
fn pacific() -> &'static str {
    match Path::new("/usr/share/zoneinfo/America/Los_Angeles").exists() {
        true => "America/Los_Angeles",
        false => "PST8PDT,M3.2.0,M11.1.0",
    }
}

#[test]
fn in_the_evening_today_is_the_day_that_is_ending() {
    let mut world = World::new();
    // The daemon has no zone of its own here.
    world.ok(&["status"]);
    // West of UTC, so far that it is 20:00 of the day before.
    let west = now().0.rem_euclid(DAY_MS) + 4 * HOUR_MS;
    world.set("TZ", format!("XYZ{}:{:02}", west / HOUR_MS, west % HOUR_MS / 60_000));
    let (morning, yesterday) = (now().plus_ms(-19 * HOUR_MS), now().plus_ms(-22 * HOUR_MS));
    worked(&world, 1, morning);
    worked(&world, 2, yesterday);
    let day = |at: Timestamp| at.plus_ms(-west).to_string()[..10].to_owned();
    let of_today = (day(now()), id(1));
    let of_yesterday = (day(yesterday), id(2));
    assert_eq!(listed(&world.json(&["timeline", "--since", "today"])), std::slice::from_ref(&of_today));
    assert_eq!(listed(&world.json(&["timeline", "--since", "yesterday"])), [of_today.clone(), of_yesterday.clone()]);
    for (question, (day, session)) in
        [("what did we work on today", of_today), ("what did we work on yesterday", of_yesterday)]
    {
        let recalled = world.json(&["recall", question]);
        let entries = list(&recalled["answer"]);
        assert!(!entries.is_empty(), "{question}: {recalled}");
        for entry in entries {
            assert_eq!((text(&entry["session_id"]), text(&entry["day"])), (session.clone(), day.clone()), "{recalled}");
        }
    }
}

#[test]
fn near_midnight_the_asker_decides_which_day_it_was() {
    let mut world = World::new();
    // 20:30 on 14 March in Los Angeles, in summer time, and 15:30 on 31 December.
    worked(&world, 1, Timestamp::parse("2026-03-15T03:30:00Z").unwrap());
    worked(&world, 2, Timestamp::parse("2025-12-31T23:30:00Z").unwrap());
    let in_utc = listed(&world.json(&["timeline"]));
    assert_eq!(in_utc, [("2026-03-15".to_owned(), id(1)), ("2025-12-31".to_owned(), id(2))]);
    world.set("TZ", pacific());
    let here = listed(&world.json(&["timeline"]));
    assert_eq!(here, [("2026-03-14".to_owned(), id(1)), ("2025-12-31".to_owned(), id(2))]);
    let shown = world.ok(&["timeline"]).out;
    assert!(shown.contains("2026-03-14\n  20:30") && shown.contains("2025-12-31\n  15:30"), "{shown}");
    let found = |query: &str| world.json(&["search", query])["hits"].as_array().unwrap().len();
    assert!(found("quokka after:2026-03-14 before:2026-03-15") > 0);
    assert_eq!(found("quokka after:2026-03-15"), 0);
}

#[test]
fn a_note_is_dated_by_the_day_of_its_person_and_keeps_it() {
    let mut world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), json!({"vault": {"enabled": true}}).to_string()).unwrap();
    world.set("TZ", pacific());
    let folder = world.home().join("vault/claude");
    let note = |day: &str| {
        let is_it = |path: &std::path::PathBuf| path.ends_with(format!("sessions/{day}-tame-the-quokka.md"));
        files_below(&folder).into_iter().find(is_it)
    };
    let mut transcript = world.transcript("-work-one", &id(1)).at(Timestamp::parse("2026-03-15T03:30:00Z").unwrap());
    transcript.prompt("tame the quokka").reply("It is tame.");
    world.close(&id(1));
    assert!(wait(|| note("2026-03-14").is_some()), "{}", world.log());
    let read = || fs::read_to_string(note("2026-03-14").unwrap()).unwrap();
    assert!(
        read().contains("created: 2026-03-14") && read().contains("- 2026-03-14 20:30 tame the quokka"),
        "{}",
        read()
    );

    // Elsewhere later, its lines stay the same.
    world.kill();
    world.set("TZ", "UTC0");
    transcript.set_time(Timestamp::parse("2026-03-15T04:30:00Z").unwrap());
    transcript.prompt("tame it again").reply("It is tame again.");
    world.close(&id(1));
    assert!(wait(|| read().contains("- 2026-03-14 21:30 tame it again")), "{}", read());
    assert_eq!(read().matches(":30 tame the quokka\n").count(), 1, "{}", read());
    assert_eq!(note("2026-03-15"), None);
}
