//! The log as a file: exported, imported, printed, followed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::record::memory;
use crate::world::{Ran, World, finished, id, list, text, wait};

/// A world with three sessions, one of them closed with a note.
fn told() -> World {
    let world = World::new();
    for number in 1..=3 {
        let mut transcript = world.transcript(&format!("-work-{number}"), &id(number)).minutes_ago(90);
        transcript.prompt(&format!("where does the ibis{number} nest?"));
        transcript.reply("In the reeds, see `src/reeds.rs`.");
    }
    world.ok(&["sync"]);
    world.ok(&["close", &id(1), "--reason", "ibis found"]);
    world
}

fn export(world: &World, name: &str) -> PathBuf {
    let path = world.path(name);
    world.ok(&["log", "export", "-o", path.to_str().unwrap()]);
    path
}

fn import(world: &World, file: &Path) -> Ran {
    world.run(&["log", "import", file.to_str().unwrap(), "--json"])
}

/// Statistics of the log, without those that depend on the machine.
fn stats(world: &World) -> Vec<Value> {
    let told = world.json(&["log", "stats"]);
    ["position", "chain", "state_hash", "events", "sessions", "unreadable"].map(|field| told[field].clone()).to_vec()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_export_becomes_the_same_home_and_the_same_export() {
    let world = told();
    let live = export(&world, "live.jsonl");
    let told_live = stats(&world);
    world.stop();
    let at_rest = export(&world, "rest.jsonl");
    assert_eq!(std::fs::read(&live).unwrap(), std::fs::read(&at_rest).unwrap(), "with a daemon and without one");
    assert_eq!(stats(&world), told_live);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&live).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let other = World::new();
    let built = import(&other, &live).json();
    assert_eq!((&built["position"], &built["sessions"], &built["missing"]), (&told_live[0], &3.into(), &0.into()));
    assert_eq!(stats(&other), told_live);
    assert_eq!(std::fs::read(export(&other, "again.jsonl")).unwrap(), std::fs::read(&live).unwrap());

    // The memory is built from the log, without the transcripts.
    assert_eq!(other.found("ibis2"), [id(2)]);
    assert_eq!(other.show(&id(1))["close_note"], "ibis found");
    assert_eq!(stats(&other), told_live, "a daemon has run in it and recorded nothing");
    other.stop();
    assert_eq!(memory(other.home()), memory(world.home()));
    let again = import(&other, &live);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("has events already"), "{}", again.err);
}

#[test]
fn what_came_from_another_home_is_left_as_it_came() {
    let world = told();
    // A session that is still open when it is exported, and would soon time out.
    let mut open = world.transcript("-work-4", &id(4));
    open.prompt("is the ibis4 still there?");
    let open = text(&world.show(&id(4))["state"]);
    assert!(matches!(open.as_str(), "active" | "inactive"), "{open}");
    world.stop();
    let file = export(&world, "all.jsonl");

    let other = World::new();
    std::fs::create_dir_all(other.home()).unwrap();
    let config = r#"{"session_tracking": {"inactivity_timeout": 1, "check_interval": 1}}"#;
    assert_eq!(import(&other, &file).code, 0);
    std::fs::write(other.home().join("config.json"), config).unwrap();
    let before = stats(&other);
    let state = other.show(&id(4))["state"].clone();
    assert_eq!(other.found("ibis2"), [id(2)]);
    let closed = other.close_fails(&[&id(4)]);
    assert!(closed["message"].as_str().unwrap_or_default().contains("it was imported"), "{closed}");
    let tracked = other.run(&["close", &id(4)]);
    assert!(tracked.err.contains("watch_directories"), "{}", tracked.err);
    // The home's own session times out; by then the other home's would have, too.
    let mut own = other.transcript("-own", &id(9)).minutes_ago(30);
    own.prompt("an own question");
    other.wait_for(&id(9), "the timeout", |shown| shown["end"] == "inactivity_timeout");
    assert_eq!(other.show(&id(4))["state"], state);
    let told = other.json(&["log", "stats"]);
    let own_events = told["position"].as_u64().unwrap() - before[0].as_u64().unwrap();
    let all = other.ok(&["log", "tail", "-n", &own_events.to_string(), "--json"]);
    assert!(all.out.lines().all(|line| line.contains(&id(9))), "only of its own session: {}", all.out);

    // If its transcripts are read here, reading continues.
    other.stop();
    let watched = format!(
        r#"{{"session_tracking": {{"watch_directories": [{:?}, {:?}]}}}}"#,
        other.projects().display().to_string(),
        world.projects().display().to_string()
    );
    std::fs::write(other.home().join("config.json"), watched).unwrap();
    assert_eq!(other.found("ibis4"), [id(4)]);
}

#[test]
fn parts_are_for_replay_and_no_home() {
    let world = told();
    for (arguments, expected) in [
        (&["--session", &id(2)[..12]][..], "ibis2"),
        (&["--since", "3"], "\"position\":3"),
        (&["--until", "3"], "\"position\":3"),
        (&["--no-conversations"], "\"items\":0"),
    ] {
        let path = world.path("part.jsonl");
        world.ok(&[&["log", "export", "-o", path.to_str().unwrap()], arguments].concat());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(expected) && text.contains("\"whole\":false"), "{arguments:?}: {text}");
        world.ok(&["replay", path.to_str().unwrap()]);
        let other = World::new();
        let refused = import(&other, &path);
        assert_eq!(refused.code, 1, "{arguments:?}");
        assert!(refused.err.contains("baton replay"), "{}", refused.err);
        assert!(!other.home().join("log").exists() && !other.home().join("import").exists());
    }
    let unknown = world.run(&["log", "export", "--session", "feed"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""), "{}", unknown.err);
    assert_eq!(world.run(&["log", "export", "--since", "3", "--until", "2"]).code, 2);
}

#[test]
fn a_file_that_fails_leaves_what_was_there() {
    let world = told();
    let path = world.path("kept.jsonl");
    std::fs::write(&path, "what was there").unwrap();
    let failed = world.run(&["log", "export", "--session", "feed", "-o", path.to_str().unwrap()]);
    assert_eq!(failed.code, 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there");
    let nowhere = world.run(&["log", "export", "-o", "/no/such/folder/x.jsonl"]);
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.err.contains("cannot write /no/such/folder/x.jsonl"), "{}", nowhere.err);
}

#[test]
fn hostile_files_are_refused_without_a_trace() {
    let world = told();
    let whole = std::fs::read_to_string(export(&world, "all.jsonl")).unwrap();
    let header = whole.lines().next().unwrap();
    let chain = "0".repeat(32);
    let outside = whole.replace(&format!("\"session\":\"{}\"", id(2)), "\"session\":\"../../../../escaped\"");
    for (what, file) in [
        ("a line without an end", format!("{header}\n{}", "x".repeat(20 << 20))),
        ("absurd counts", header.replace("\"position\":", "\"position\":9999999999999") + "\n"),
        ("a path for an id", outside),
        ("a record of zeros", format!("{header}\n{{\"chain\":\"{chain}\",\"record\":{{}}}}\n")),
        ("deep JSON", format!("{header}\n{}", "[".repeat(200_000))),
        ("nothing", String::new()),
    ] {
        let other = World::new();
        let path = other.path("hostile.jsonl");
        std::fs::write(&path, file).unwrap();
        let refused = import(&other, &path);
        assert_eq!(refused.code, 1, "{what}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains("line "), "{what}: {}", refused.err);
        let left: Vec<_> = std::fs::read_dir(other.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["daemon.lock"], "{what}");
        assert!(!other.path("escaped").exists());
    }
}

#[test]
fn an_import_killed_in_the_middle_leaves_no_half_home() {
    let world = told();
    let file = std::fs::read(export(&world, "all.jsonl")).unwrap();
    let other = World::new();
    let mut child = other.command(&["log", "import", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // It has received everything but the end, and waits for it.
    let mut input = child.stdin.take().unwrap();
    input.write_all(&file[..file.len() - 20]).unwrap();
    assert!(wait(|| other.home().join("import/blobs").is_dir()));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    drop(input);
    assert!(other.home().join("import").exists(), "it was in the middle");
    assert_eq!(other.json(&["log", "stats"])["events"], 0);
    assert_eq!(list(&other.json(&["sessions"])["sessions"]), [] as [Value; 0], "a daemon begins an empty home");
    other.stop();
    assert!(!other.home().join("import").exists(), "the daemon has cleared it");
    let path = other.path("all.jsonl");
    std::fs::write(&path, &file).unwrap();
    assert_eq!(import(&other, &path).code, 0);
    assert_eq!(std::fs::read(export(&other, "again.jsonl")).unwrap(), file);
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_killed_in_the_middle_leaves_nothing() {
    let world = told();
    world.ok(&["status"]);
    let daemon = world.daemon().unwrap();
    // The export has its files, and waits for an answer of the stopped daemon.
    kill_process(daemon, Signal::STOP).unwrap();
    let folder = world.path("exports");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("all.jsonl"), "what was there").unwrap();
    let mut child = world.spawn(&["log", "export", "--unredacted", "-o", folder.join("all.jsonl").to_str().unwrap()]);
    let opened = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        targets.filter(|target| target.starts_with(&folder)).count()
    };
    assert!(wait(|| opened() == 2), "{}", opened());
    child.kill().unwrap();
    child.wait().unwrap();
    kill_process(daemon, Signal::CONT).unwrap();
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["all.jsonl"]);
    assert_eq!(std::fs::read_to_string(folder.join("all.jsonl")).unwrap(), "what was there");
    world.ok(&["log", "export", "-o", folder.join("all.jsonl").to_str().unwrap()]);
    assert!(std::fs::read_to_string(folder.join("all.jsonl")).unwrap().contains("ibis2"));
}

#[test]
fn an_export_beside_a_busy_daemon_is_of_one_moment() {
    let world = told();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut transcript = world.transcript("-work-1", &id(1)).minutes_ago(1);
            for round in 0.. {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                transcript.prompt(&format!("and the ibis of round {round}?"));
                world.close(&id(1));
            }
        });
        for round in 0..8 {
            let file = export(&world, &format!("busy{round}.jsonl"));
            let (told, end) = (lines(&file), lines(&file).pop().unwrap());
            assert_eq!(told[0]["position"], end["end"]["position"]);
            // An import checks every hash in it.
            let other = World::new();
            let built = import(&other, &file);
            assert_eq!(built.code, 0, "round {round}: {}", built.err);
            assert_eq!(built.json()["missing"], 0);
            world.ok(&["replay", file.to_str().unwrap()]);
        }
        over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_broken_log_is_reported_and_exported_up_to_the_damage() {
    let world = told();
    world.stop();
    let whole = lines(&export(&world, "whole.jsonl"));
    let segment = world.home().join("log/segments/0001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&segment, &bytes).unwrap();

    let told = world.run(&["log", "stats", "--json"]);
    assert_eq!(told.code, 1);
    let told = told.json();
    let good = told["position"].as_u64().unwrap();
    assert!(good > 0 && told["problem"].as_str().unwrap().contains(&format!("position {}", good + 1)), "{told}");

    let path = world.path("rescued.jsonl");
    let rescued = world.run(&["log", "export", "-o", path.to_str().unwrap()]);
    assert_eq!(rescued.code, 1);
    assert!(rescued.err.contains("baton log import"), "{}", rescued.err);
    let records = usize::try_from(good).unwrap();
    assert_eq!(lines(&path)[1..=records], whole[1..=records]);
    assert_eq!(std::fs::read(&segment).unwrap(), bytes, "nothing was changed");
    let other = World::new();
    assert_eq!(import(&other, &path).json()["position"], good);
    // Up to a position before the damage the export succeeds.
    let until = good.to_string();
    world.ok(&["log", "export", "--until", &until, "-o", path.to_str().unwrap()]);
}

#[test]
fn the_tail_tells_the_last_events_and_follows_over_a_restart() {
    let world = told();
    let last = world.ok(&["log", "tail", "-n", "2"]).out;
    assert_eq!(last.lines().count(), 2, "{last}");
    let of_session = world.ok(&["log", "tail", "-n", "all", "--session", &id(2)[..8]]).out;
    assert!(of_session.lines().all(|line| line.contains(&id(2)[..8])), "{of_session}");
    assert!(of_session.contains("discovered") && of_session.contains("indexed"), "{of_session}");
    world.stop();
    assert_eq!(world.ok(&["log", "tail", "-n", "2"]).out, last, "without a daemon");
    assert_eq!(world.ok(&["log", "tail", "-n", "all", "--session", &id(2)[..8]]).out, of_session);
    assert_eq!(world.daemon(), None, "none was started");

    let mut child = world.command(&["log", "tail", "-f", "-n", "1", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    // It has read the log, and waits for more.
    assert!(told.next().unwrap().unwrap().contains(&id(1)));
    let mut next_of = |session: &str| -> Value {
        loop {
            let event: Value = serde_json::from_str(&told.next().unwrap().unwrap()).unwrap();
            if event["stream"].as_str().unwrap().contains(session) {
                return event;
            }
        }
    };
    let mut first = world.transcript("-work-7", &id(7));
    first.prompt("a new question");
    world.ok(&["unindexed"]);
    assert_eq!(next_of(&id(7))["type"], "discovered");
    world.stop();
    let mut second = world.transcript("-work-8", &id(8));
    second.prompt("another one");
    world.ok(&["unindexed"]);
    assert_eq!(next_of(&id(8))["type"], "discovered");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    finished(child.wait_with_output().unwrap());
}
