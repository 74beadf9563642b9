//! The configuration as a person sees it: an edit applies to the next command, a mistake to none.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use baton_events::session::{CloseReason, Phase};
use serde_json::{Value, json};

use crate::time::Held;
use crate::world::{World, id, list, text};

fn write(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.json"), text).unwrap();
}

/// A key's value and origin.
fn key(told: &Value, name: &str) -> (Value, String) {
    let values = list(&told["values"]);
    let value = values.iter().find(|value| value["key"] == name).unwrap_or_else(|| panic!("no {name} in {told}"));
    (value["value"].clone(), text(&value["origin"]))
}

/// Opening a pipe blocks until its other end is opened, which never happens here.
#[test]
fn a_pipe_in_place_of_a_file_of_the_home_keeps_nobody_waiting() {
    for name in [
        "config.json",
        "config.last-good.json",
        "hook_stats.json",
        "daemon.socket",
        "daemon.lock",
        "daemon.log",
        "start.lock",
        "log/forgotten-records.json",
    ] {
        let world = World::new().run_by(&["timeout", "30"]);
        fs::create_dir_all(world.home().join("log")).unwrap();
        for folder in [world.home().to_owned(), world.home().join("log")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(world.home().join(name)).status().unwrap();
        assert!(made.success(), "{name}");
        for command in [vec!["search", "x"], vec!["status"], vec!["hook", "stats"], vec!["stop"]] {
            let ran = world.run(&command);
            assert!([0, 1, 2].contains(&ran.code), "{name}: baton {command:?} ended with {}\n{}", ran.code, ran.err);
        }
        // Dropping the world reads the lock file.
        drop(fs::remove_file(world.home().join(name)));
    }
}

const TIMEOUT: &str = "session_tracking.inactivity_timeout";

#[test]
fn every_value_is_shown_with_where_it_came_from() {
    let world = World::new();
    let told = world.json(&["config"]);
    assert_eq!(key(&told, TIMEOUT), (1800.into(), "default".to_owned()));
    let roots = json!([world.projects().to_str().unwrap()]);
    assert_eq!(key(&told, "session_tracking.watch_directories"), (roots, "environment".to_owned()));
    assert!(!world.home().join("config.json").exists());

    write(
        &world,
        "{\n  \"session_tracking\": {\n    \"inactivity_timeout\": 60,\n    \"inactivity_timeot\": 61\n  }\n}\n",
    );
    let told = world.json(&["config"]);
    assert_eq!(key(&told, TIMEOUT), (60.into(), "config.json:3".to_owned()), "the very next command");
    let warnings = told["warnings"].to_string();
    assert!(warnings.contains("line 4") && warnings.contains("did you mean session_tracking.inactivity_timeout"));
    let ran = world.ok(&["config"]);
    assert!(
        ran.out.contains("session_tracking.inactivity_timeout") && ran.out.contains("(config.json:3)"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("warning: config.json, line 4"), "{}", ran.err);
}

#[test]
fn a_mistake_stops_nothing_and_is_named_until_it_is_mended() {
    let world = World::new();
    write(&world, "{\"session_tracking\": {\"inactivity_timeout\": 60}}");
    world.ok(&["status"]);
    for (mistake, line) in
        [("{\n\"session_tracking\": {\n\"check_interval\": 0}}", "line 3"), ("{,", "line 1"), ("", "line 1")]
    {
        write(&world, mistake);
        assert_eq!(key(&world.json(&["config"]), TIMEOUT), (60.into(), "last good copy".to_owned()), "{mistake}");
        let problems = world.problems();
        assert!(problems.contains(line) && problems.contains("last good configuration stays in force"), "{problems}");
        // Baton does not write into the broken file, and every other command works.
        let refused = world.run(&["session-tracking", "disable"]);
        assert!(refused.code == 1 && refused.err.contains(line), "{}", refused.err);
        world.search("anything");
        world.stop();
        assert_eq!(key(&world.json(&["config"]), TIMEOUT), (60.into(), "last good copy".to_owned()), "restarted");
        assert_eq!(fs::read_to_string(world.home().join("config.json")).unwrap(), mistake, "it is left alone");
    }
    let told = world.ok(&["config"]);
    assert!(
        told.err.contains("mistake: config.json, line 1")
            && told.err.contains("The file is ignored until this is fixed"),
        "{}",
        told.err
    );
    write(&world, "{\"session_tracking\": {\"inactivity_timeout\": 61}}");
    assert_eq!(key(&world.json(&["config"]), TIMEOUT), (61.into(), "config.json:1".to_owned()));
    assert!(!world.problems().contains("config.json"), "{}", world.problems());
    let mode = fs::metadata(world.home().join("config.last-good.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_first_file_with_a_mistake_and_one_that_vanishes_let_nothing_be_read() {
    let world = World::new();
    world.transcript("-private", &id(1)).prompt("the aye-aye in private");
    let excluding = "{\"session_tracking\": {\"exclude\": [\"/srv/-private\"]}}";
    write(&world, &excluding.replace(['[', ']'], ""));
    assert_eq!(world.found("private"), [""; 0]);
    let problems = world.problems();
    assert!(problems.contains("line 1") && problems.contains("session tracking is off"), "{problems}");
    write(&world, excluding);
    assert_eq!(world.found("private"), [""; 0]);
    assert!(!world.problems().contains("config.json"));

    fs::remove_file(world.home().join("config.json")).unwrap();
    assert_eq!(world.found("private"), [""; 0], "at once");
    assert!(world.problems().contains("config.last-good.json"), "{}", world.problems());
    world.stop();
    assert_eq!(world.found("private"), [""; 0], "over a restart");
    fs::remove_file(world.home().join("config.last-good.json")).unwrap();
    assert_eq!(world.found("private"), [id(1)], "said twice");
}

#[test]
fn a_directory_that_looks_like_a_glob_is_switched_alone() {
    let world = World::new();
    for name in ["app[12]", "co$t", "app1"] {
        fs::create_dir_all(world.path("work").join(name)).unwrap();
    }
    let work = fs::canonicalize(world.path("work")).unwrap();
    let path = |name: &str| work.join(name).to_str().unwrap().to_owned();
    for name in ["app[12]", "co$t"] {
        world.ok(&["session-tracking", "disable", "--project", &path(name)]);
        world.ok(&["session-tracking", "disable", "--project", &path(name)]);
    }
    let told = world.json(&["session-tracking", "status"]);
    assert_eq!(told["projects"].as_object().unwrap().len(), 2, "{told}");
    for (number, name) in ["app[12]", "co$t", "app1"].into_iter().enumerate() {
        let transcript = world.transcript("-any", &id(number as u32)).in_directory(&path(name));
        { transcript }.prompt("the fossa");
    }
    assert_eq!(world.found("fossa"), [id(2)]);
    world.ok(&["session-tracking", "enable", "--project", &path("app[12]")]);
    assert_eq!(world.found("fossa").len(), 2);
    let off = world.ok(&["session-tracking", "disable"]).err;
    assert!(off.contains("Still read") && off.contains("app[[]12]") && !off.contains("co$t"), "{off}");
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains("! tracking    session tracking is off but for projects"), "{doctor}");
}

#[test]
fn a_timeout_that_is_changed_while_the_daemon_runs_is_followed() {
    let held = Held::new();
    let me = id(1);
    held.open_session(&me);
    held.at(10 + 99);
    assert_eq!(held.settle(&me).phase, Phase::Inactive);
    write(&held.world, "{\"session_tracking\": {\"inactivity_timeout\": 100}}");
    held.world.ok(&["config"]);
    held.at(10 + 100);
    let state = held.wait_for(&me, |state| state.phase == Phase::Indexed);
    assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::InactivityTimeout));
}

#[test]
fn an_edit_is_found_without_anybody_asking() {
    let mut held = Held::new();
    let me = id(1);
    held.open_session(&me);
    held.at(10 + 200);
    assert_eq!(held.settle(&me).phase, Phase::Inactive);
    write(&held.world, "{\"session_tracking\": {\"inactivity_timeout\": 100}}");
    held.wait_for(&me, |state| state.phase == Phase::Indexed);
    held.stop();
}

#[test]
fn without_the_timeout_an_abandoned_session_waits_for_a_query() {
    let world = World::new();
    write(&world, "{\"session_tracking\": {\"inactivity_timeout\": 0}}");
    let old = world.transcript("-work-one", &id(1)).minutes_ago(31);
    { old }.prompt("the abandoned klipspringer");
    world.ok(&["daemon"]);
    world.wait_for(&id(1), "being let go", |row| row["why"] == "timeout_disabled");
    assert_eq!(world.found("klipspringer"), [id(1)]);
}

#[test]
fn the_originals_file_is_imported_and_everything_in_it_accounted_for() {
    let world = World::new();
    write(&world, "{\n  \"_mine\": \"stays\",\n  \"session_tracking\": {\"check_interval\": 30}\n}\n");
    let original = world.path("graphiti.config.json");
    let original_text = json!({
        "version": "2.0",
        "session_tracking": {
            "enabled": true, "inactivity_timeout": 300, "check_interval": 10, "auto_summarize_on_close": true,
            "summarization": {"model": "gpt-4.1-mini"},
        },
        "projects": {"host__1": {"project_root": "/srv/app", "session_tracking_enabled": false}},
    });
    fs::write(&original, original_text.to_string()).unwrap();
    let original = original.to_str().unwrap();
    let before = fs::read_to_string(world.home().join("config.json")).unwrap();

    let told = world.json(&["config", "import", original, "--dry-run"]);
    let outcome = |told: &Value, name: &str| {
        let imported = list(&told["imported"]);
        let found = imported.iter().find(|key| key["key"] == name).unwrap_or_else(|| panic!("no {name} in {told}"));
        text(&found["outcome"])
    };
    for (name, expected) in [
        ("version", "dropped"),
        ("session_tracking.enabled", "taken"),
        ("session_tracking.inactivity_timeout", "taken"),
        ("session_tracking.check_interval", "kept"),
        ("session_tracking.auto_summarize_on_close", "dropped"),
        ("session_tracking.summarization.model", "taken"),
        ("projects.host__1", "taken"),
    ] {
        assert_eq!(outcome(&told, name), expected, "{name}: {told}");
    }
    assert_eq!(fs::read_to_string(world.home().join("config.json")).unwrap(), before, "a dry run");

    let ran = world.ok(&["config", "import", original]);
    assert!(ran.out.contains("session_tracking.summarization.model -> llm.model"), "{}", ran.out);
    let told = world.json(&["config"]);
    assert_eq!(key(&told, TIMEOUT).0, 300);
    assert_eq!(key(&told, "session_tracking.check_interval").0, 30, "what was set stays");
    assert_eq!(key(&told, "session_tracking.projects./srv/app.enabled").0, false);
    let after = fs::read_to_string(world.home().join("config.json")).unwrap();
    assert!(after.contains("\"_mine\": \"stays\""), "{after}");
    let mode = fs::metadata(world.home().join("config.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    world.ok(&["config", "import", original, "--force"]);
    assert_eq!(key(&world.json(&["config"]), "session_tracking.check_interval").0, 10);

    for (file, why) in [("nowhere.json", "cannot read"), ("work", "cannot read")] {
        let refused = world.run(&["config", "import", world.path(file).to_str().unwrap()]);
        assert!(refused.code == 1 && refused.err.contains(why), "{}", refused.err);
    }
}
