//! The daily round over all notes, with the test's clock.

use std::fs;

use baton_events::session::CloseReason;
use serde_json::json;

use super::{configure, notes, only_session, own, ready, tell, until, worked};
use crate::time::{Held, after};
use crate::world::{World, files_below, id};

const DAY_S: i64 = 24 * 3600;

/// A world with `count` notes, each of a session that is over.
fn with_notes(count: u32) -> Held {
    let held = Held::new();
    configure(&held.world, &json!({}));
    for number in 1..=count {
        let mut transcript = held.world.transcript("-work-one", &id(number)).at(after(0));
        tell(&mut transcript, "-work-one", &format!("wombat cache {number}"));
    }
    held.at(60);
    held.world.ok(&["sessions"]);
    for number in 1..=count {
        held.close(&id(number), CloseReason::Explicit, &format!("close {number}"));
    }
    ready(&held.world, u64::from(count));
    held
}

/// True once the round of that day is done.
fn swept(day: i64) -> impl Fn(&serde_json::Value) -> bool {
    let at = after(day * DAY_S).to_string();
    move |told| told["swept_at"].as_str() >= Some(at.as_str())
}

/// For a stopped daemon: removes the record of the last round, so that one is due.
fn overdue(world: &World) {
    for register in files_below(&world.home().join("vault-register")) {
        let text = fs::read_to_string(&register).unwrap();
        let others = text.lines().filter(|line| !line.contains("\"swept\""));
        fs::write(&register, others.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
}

#[test]
fn many_notes_that_were_removed_cost_one_look() {
    let world = super::with_notes(&json!({}));
    for number in 1..=5 {
        worked(&world, "-work-one", number, &format!("wombat cache {number}"));
        world.close(&id(number));
    }
    ready(&world, 5);
    world.stop();
    let root = own(&world);
    for path in notes(&root).iter().filter(|path| path.contains("/sessions/")) {
        fs::remove_file(root.join(path)).unwrap();
    }
    for _ in 0..2 {
        overdue(&world);
        let told = until(&world, "the round", |told| told["swept_at"].is_string() && told["notes"] == 0);
        assert_eq!(told["state"], "ready", "{told}");
        world.stop();
    }
    let log = world.log();
    let rounds: Vec<&str> = log.lines().filter(|line| line.contains("notes checked notes=5")).collect();
    assert_eq!(rounds.len(), 2, "{log}");
    // One at the start of the daemon, one for the round.
    assert!(rounds.iter().all(|line| line.contains(" looks=2 ")), "{rounds:?}");
}

#[test]
fn a_vault_that_is_away_when_a_round_is_due_is_said_once() {
    let world = World::new();
    let (vault, away) = (world.path("notes"), world.path("away"));
    fs::create_dir_all(&vault).unwrap();
    configure(&world, &json!({"path": vault}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    world.stop();
    overdue(&world);
    fs::rename(&vault, &away).unwrap();
    let said = |what: &str| world.log().matches(what).count();
    let before = (said("notes cannot be written"), said("notes are written again"));
    // Only the round is owed. If it were repeated at once, the log would say so hundreds of times by now.
    for _ in 0..50 {
        until(&world, "what waits", |told| told["state"] == "waiting" && told["behind"] == 0);
    }
    assert_eq!(
        (said("notes cannot be written"), said("notes are written again")),
        (before.0 + 1, before.1),
        "{}",
        world.log()
    );
    fs::rename(&away, &vault).unwrap();
    ready(&world, 1);
    until(&world, "the round", |told| told["swept_at"].is_string());
    assert_eq!((said("notes cannot be written"), said("notes are written again")), (before.0 + 1, before.1 + 1));
}

#[test]
fn a_copy_that_is_called_like_its_note_gets_a_name_of_its_own() {
    let held = with_notes(1);
    let (world, root) = (&held.world, own(&held.world));
    world.ok(&["vault", "compact", &id(1)]);
    let copies = || -> Vec<String> { notes(&root).into_iter().filter(|path| path.contains("/archive/")).collect() };
    let [copy] = copies().try_into().unwrap();
    // The name of copies in an earlier version.
    let before = copy.replace(" (archived)", "");
    assert_ne!(before, copy);
    fs::rename(root.join(&copy), root.join(&before)).unwrap();
    let text = fs::read_to_string(root.join(&before)).unwrap();
    let verified = world.run(&["vault", "verify"]);
    assert!(verified.code == 1 && verified.out.contains("may mean 2 notes"), "{}", verified.out);
    held.at(DAY_S + 120);
    until(world, "the round", swept(1));
    assert_eq!(copies(), std::slice::from_ref(&copy));
    assert_eq!(fs::read_to_string(root.join(&copy)).unwrap(), text);
    assert_eq!(world.json(&["vault", "verify"])["clean"], true);
}

#[test]
fn what_leads_to_a_renamed_note_of_an_entity_follows_it_within_a_day() {
    let held = with_notes(1);
    let (world, root) = (&held.world, own(&held.world));
    let from = notes(&root).into_iter().find(|path| path.contains("/entities/")).unwrap();
    fs::rename(root.join(&from), root.join(&from).with_file_name("Another.md")).unwrap();
    let verified = world.run(&["vault", "verify"]);
    assert!(verified.code == 1 && verified.out.contains("leads nowhere"), "{}", verified.out);
    held.at(DAY_S + 120);
    until(world, "the round", swept(1));
    assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.run(&["vault", "verify"]).out);
    assert!(!root.join(&from).exists());
}

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

    // After a day the note is still young. After three it is old, and its archive cannot be created.
    held.at(DAY_S + 120);
    let told = until(world, "the first round", swept(1));
    assert_eq!((&told["active"], &told["archived"]), (&json!(1), &json!(0)), "{told}");
    let archive = path.parent().unwrap().parent().unwrap().join("archive");
    fs::write(&archive, "in the way").unwrap();
    held.at(3 * DAY_S + 240);
    let told = until(world, "the failure", swept(3));
    assert_eq!(told["compaction_failed"], 1, "{told}");
    let note = fs::read_to_string(&path).unwrap();
    assert!(note.contains("status: compaction_failed") && note.contains("\nerror:"), "{note}");

    // The next round catches up.
    fs::remove_file(&archive).unwrap();
    held.at(4 * DAY_S + 360);
    let told = until(world, "the second try", swept(4));
    assert_eq!((&told["archived"], &told["compaction_failed"]), (&json!(1), &json!(0)), "{told}");
    let note = fs::read_to_string(&path).unwrap();
    assert!(note.contains("status: archived") && !note.contains("\nerror:"), "{note}");
    assert_eq!(notes(&own(world)).iter().filter(|path| path.contains("/archive/")).count(), 1);
}
