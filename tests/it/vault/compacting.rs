//! Long and old notes are compacted into the notes of entities, and copied to the archive.

use std::fs;

use serde_json::{Value, json};

use super::{notes, only_session, own, ready, tell, until, with_notes, worked};
use crate::world::{World, files_below, id, list, text};

const DAY_MINUTES: i64 = 24 * 60;

fn entities(world: &World) -> String {
    let is_knowledge = |path: &std::path::PathBuf| {
        let path = path.display().to_string();
        path.contains("/entities/") || path.contains("/topics/")
    };
    files_below(&own(world))
        .iter()
        .filter(|path| is_knowledge(path))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn a_note_is_compacted_when_it_is_long_or_old() {
    for (prompts, days, lines, compacted) in
        [(90, 1, 100, true), (2, 4, 100, true), (90, 4, 100, true), (2, 1, 100, false)]
    {
        let world = with_notes(&json!({"compact_lines": lines}));
        let mut transcript = world.transcript("-work-one", &id(1)).minutes_ago(days * DAY_MINUTES + 60);
        tell(&mut transcript, "-work-one", "wombat cache");
        for number in 0..prompts {
            transcript.prompt(&format!("Then do number {number} of the list"));
        }
        transcript.reply("all done");
        world.close(&id(1));
        let told = ready(&world, 1);
        let case = format!("{prompts} prompts, {days} days: {told}");
        let (path, note) = only_session(&own(&world));
        let archived: Vec<String> = notes(&own(&world)).into_iter().filter(|path| path.contains("/archive/")).collect();
        assert_eq!(
            (told["archived"].as_u64(), archived.len()),
            (Some(u64::from(compacted)), usize::from(compacted)),
            "{case}"
        );
        if !compacted {
            assert!(note.contains("status: active"), "{case}\n{note}");
            let preview = world.json(&["vault", "compact", "--dry-run"]);
            assert_eq!((list(&preview["notes"]).len(), preview["below"].as_u64()), (0, Some(1)), "{preview}");
            continue;
        }
        assert!(note.contains("status: archived"), "{case}\n{note}");
        let copy = fs::read_to_string(own(&world).join(&archived[0])).unwrap();
        for part in ["status: archived", "archived_date:", "archived_reason: Compaction threshold exceeded"] {
            assert!(copy.contains(part), "{case}, {part}: {copy}");
        }
        assert!(
            copy.contains("Session completed. Work finalized.") && copy.contains("sled instead of sqlite"),
            "{copy}"
        );
        let known = entities(&world);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(known.contains("sled instead of sqlite"), "{case}: {known}");
        assert!(known.contains(&format!("- [[{name}]] - Archived session (compacted)")), "{case}: {known}");
        assert_eq!(world.json(&["vault", "verify"])["clean"], true, "{}", world.json(&["vault", "verify"]));
        // Repeating it duplicates nothing.
        world.ok(&["vault", "sync"]);
        world.ok(&["vault", "compact"]);
        assert_eq!(entities(&world), known, "{case}");
    }
}

#[test]
fn a_note_is_compacted_when_it_is_asked_for() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    let before: Vec<Vec<u8>> = files_below(&own(&world)).iter().map(|path| fs::read(path).unwrap()).collect();
    let printed = world.ok(&["vault", "compact", &id(1)[..8], "--dry-run"]).out;
    assert!(printed.contains("over no threshold, but asked for") && printed.contains("1 note would"), "{printed}");
    let preview = world.json(&["vault", "compact", &id(1)[..8], "--dry-run"]);
    let note = &preview["notes"][0];
    assert_eq!((&preview["dry_run"], &note["reason"]), (&json!(true), &json!("asked")), "{preview}");
    assert!(list(&note["updated"]).iter().any(|updated| text(&updated["note"]).contains("/entities/")), "{preview}");
    let after: Vec<Vec<u8>> = files_below(&own(&world)).iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(before, after, "nothing was changed");
    let done = world.json(&["vault", "compact", &id(1)[..8]]);
    let compacted = &done["notes"][0];
    assert_eq!((&done["status"], &compacted["error"]), (&json!("success"), &Value::Null), "{done}");
    assert!(compacted["duration_ms"].as_u64() < Some(5_000), "{done}");
    assert!(world.home().join("vault").join(text(&compacted["archive"])).exists());
    let again = world.run(&["vault", "compact", &id(1)[..8]]);
    assert!(again.code == 1 && again.err.contains("archived already"), "{}{}", again.out, again.err);
    let again = world.run(&["vault", "compact", &id(1), "--json"]);
    assert_eq!((again.code, again.out.as_str()), (1, ""));
    let error: Value = serde_json::from_str(&again.err).unwrap();
    assert!(text(&error["error"]["message"]).contains("archived already"), "{error}");
}

#[test]
fn a_compaction_that_fails_says_so_in_the_note_and_is_made_up_for() {
    let world = with_notes(&json!({}));
    worked(&world, "-work-one", 1, "wombat cache");
    world.close(&id(1));
    ready(&world, 1);
    // A file at the archive's path.
    let (path, _) = only_session(&own(&world));
    let archive = path.parent().unwrap().parent().unwrap().join("archive");
    fs::write(&archive, "in the way").unwrap();
    let failed = world.run(&["vault", "compact", &id(1), "--json"]);
    assert_eq!(failed.code, 1, "{}{}", failed.out, failed.err);
    let note = fs::read_to_string(&path).unwrap();
    assert!(note.contains("status: compaction_failed") && note.contains("\nerror:"), "{note}");
    let told = until(&world, "the failure", |told| told["compaction_failed"] == 1);
    assert!(!told["failed"][0]["error"].is_null(), "{told}");
    assert_eq!(told["state"], "incomplete", "{told}");
    let error = text(&told["failed"][0]["error"]);
    assert_eq!(
        (error.matches(".md").count(), error.contains(&world.home().display().to_string())),
        (1, false),
        "{error}"
    );
    assert!(world.problems().contains("could not be compacted"), "{}", world.problems());
    fs::remove_file(&archive).unwrap();
    world.ok(&["vault", "compact"]);
    let told = until(&world, "the compaction", |told| told["compaction_failed"] == 0);
    let note = fs::read_to_string(&path).unwrap();
    assert!(!note.contains("\nerror:") && !note.contains("compaction_failed"), "{told}: {note}");
}

#[test]
fn a_daemon_that_is_killed_while_it_compacts_leaves_each_line_once() {
    let world = with_notes(&json!({"compact_lines": 1}));
    for round in 0..6 {
        let number = 10 + round;
        let mut transcript = world.transcript("-work-one", &id(number));
        for part in 0..12 {
            tell(&mut transcript, "-work-one", &format!("wombat cache {round} {part}"));
        }
        let before = files_below(&own(&world)).len();
        let closing = world.spawn(&["close", &id(number)]);
        // Kills at a later moment in each round, counted in files written.
        let seen = crate::world::wait(|| files_below(&own(&world)).len() > before + round as usize);
        assert!(seen, "{}", world.log());
        world.kill();
        let _ = closing.wait_with_output();
        world.close(&id(number));
    }
    ready(&world, 6);
    let all = notes(&own(&world));
    assert_eq!(all.iter().filter(|path| path.contains("/archive/")).count(), 6, "{all:?}");
    for path in files_below(&own(&world)) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- 20")).collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "{}: {text}", path.display());
        assert!(!path.display().to_string().ends_with(".tmp"), "{}", path.display());
    }
    let verified = world.json(&["vault", "verify"]);
    assert_eq!(verified["clean"], true, "{verified}");
}
