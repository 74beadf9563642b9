//! The project and group of a session, and how they are named.

use std::fs;

use serde_json::{Value, json};

use crate::tracking::ask;
use crate::world::{World, hits, id, text};

fn found_in(world: &World, project: &str) -> Vec<String> {
    let found = world.json(&["search", "kakapo", "--project", project]);
    let mut sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

fn session_in(world: &World, number: u32, directory: &str) -> String {
    let transcript = world.transcript(&format!("-{number}"), &id(number)).in_directory(directory);
    { transcript }.prompt("the kakapo").reply("yes");
    id(number)
}

#[test]
fn worktrees_join_and_directories_of_one_name_differ() {
    let world = World::new();
    let root = fs::canonicalize(world.path("work")).unwrap();
    for directory in ["repo/.git/worktrees/fix", "repo/src", "trees/fix/src", "a/app", "b/app"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let pointer = format!("gitdir: {}\n", root.join("repo/.git/worktrees/fix").display());
    fs::write(root.join("trees/fix/.git"), pointer).unwrap();
    std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let main = session_in(&world, 1, &at("repo/src"));
    let tree = session_in(&world, 2, &at("trees/fix/src"));
    let one = session_in(&world, 3, &at("a/app"));
    let other = session_in(&world, 4, &format!("{}/", at("b/app")));
    let linked = session_in(&world, 5, &at("link/app"));
    let dotted = session_in(&world, 6, &at("b/../a/app"));
    assert_eq!(world.found("kakapo").len(), 6);

    assert_eq!(found_in(&world, "repo"), [main.clone(), tree.clone()], "one project");
    assert_eq!(found_in(&world, &at("trees/fix")), [main, tree.clone()], "by the worktree's own directory");
    assert_eq!(world.show(&tree)["group_id"], *at("repo"));
    let app = world.run(&["search", "kakapo", "--project", "app"]);
    assert_eq!(app.code, 1);
    assert!(app.err.contains("fits 2 projects") && app.err.contains(&at("a/app")), "{}", app.err);
    assert!(app.err.contains(&at("b/app")), "{}", app.err);
    assert_eq!(found_in(&world, &at("a/app")), [one, linked, dotted]);
    assert_eq!(found_in(&world, &at("b/app/")), [other]);
}

#[test]
fn projects_may_be_called_anything() {
    let world = World::new();
    for (number, directory) in (1..).zip([
        "/srv/größe/日本 プロジェクト",
        "/srv/with space",
        r"C:\Users\dev\app",
        "/srv/'quoted' \"twice\"",
        "/srv/[brackets] *",
    ]) {
        let me = session_in(&world, number, directory);
        world.ok(&["sessions"]);
        assert_eq!(found_in(&world, directory), [me.as_str()], "{directory}");
        assert_eq!(world.show(&me)["group_id"], directory);
    }
    assert_eq!(found_in(&world, "日本 プロジェクト"), [id(1)], "by its name alone");
    assert_eq!(found_in(&world, "app"), [id(3)], "a name between backslashes");
    // Tracking can be switched off for each.
    for directory in ["/srv/größe/日本 プロジェクト", r"C:\Users\dev\app", "/srv/with space"] {
        world.ok(&["session-tracking", "disable", "--project", directory]);
    }
    let tracked = world.sessions().iter().filter(|row| row["tracked"] == true).count();
    assert_eq!(tracked, 2);
}

#[test]
fn a_session_may_be_put_in_a_group_of_another_name() {
    let world = World::new();
    let (one, two) = (session_in(&world, 1, "/srv/one"), session_in(&world, 2, "/srv/two"));
    assert_eq!(world.found("kakapo").len(), 2);
    let group =
        |session: &str, group: &str| -> Value { ask(&world, "track", &json!({"session": session, "group": group})) };
    let told = group(&one, "birds-2026");
    assert_eq!(told["status"], "success", "{told}");
    assert_eq!(group(&two[..8], "birds-2026")["status"], "success");
    assert_eq!(world.show(&one)["group_id"], "birds-2026");
    assert_eq!(world.show(&one)["project"], "/srv/one");
    assert_eq!(found_in(&world, "birds-2026"), [one.clone(), two.clone()]);
    assert_eq!(found_in(&world, "/srv/one"), [one.as_str()], "the project still finds it");
    world.stop();
    assert_eq!(world.show(&one)["group_id"], "birds-2026", "over a restart");
    // A known project, by path or by its name alone.
    assert_eq!(group(&one, "/srv/two")["status"], "success");
    assert_eq!(world.show(&one)["group_id"], "/srv/two");
    assert_eq!(group(&one, "one")["status"], "success");
    assert_eq!(world.show(&one)["group_id"], "/srv/one");

    let secret = format!("sk-{}", "a1B2c3D4e5F6".repeat(2));
    for (wrong, why) in [
        ("", "no name for a group"),
        ("two words", "no name for a group"),
        ("größe", "no name for a group"),
        ("/srv/nowhere", "no known project"),
        (&"x".repeat(65), "no name for a group"),
        (&secret, "looks like a secret"),
    ] {
        let told = group(&two, wrong);
        assert!(told["status"] == "error" && text(&told["message"]).contains(why), "{wrong}: {told}");
        assert!(!told.to_string().contains(&secret));
    }
    assert_eq!(world.show(&two)["group_id"], "birds-2026", "nothing has changed");
}

#[test]
fn the_group_of_a_forgotten_session_is_hidden_until_it_is_restored() {
    let world = World::new();
    let one = session_in(&world, 1, "/srv/one");
    assert_eq!(world.found("kakapo").len(), 1);
    ask(&world, "track", &json!({"session": one, "group": "birds-2026"}));
    world.ok(&["forget", &one, "--yes"]);
    assert_eq!(world.show(&one)["group_id"], "/srv/one");
    let tells = |arguments: &[&str]| {
        let told = world.ok(arguments).out;
        let is_told = told.contains("birds-2026");
        is_told.then(|| format!("{arguments:?}"))
    };
    let of_log: [&[&str]; 6] = [
        &["log", "tail", "-n", "all"],
        &["log", "tail", "-n", "all", "--json"],
        &["log", "tail", "--session", &one, "-n", "all"],
        &["log", "export"],
        &["log", "export", "--session", &one],
        // Up to a position before it was forgotten; it is forgotten now.
        &["log", "export", "--until", "8"],
    ];
    let of_daemon: [&[&str]; 8] = [
        &["sessions"],
        &["sessions", "--json"],
        &["show", &one],
        &["show", &one, "--json"],
        &["status"],
        &["status", "--json"],
        &["explain", &one],
        &["explain", &one, "--json"],
    ];
    let asked: Vec<_> = of_daemon.iter().chain(&of_log).filter_map(|arguments| tells(arguments)).collect();
    assert_eq!(asked, [""; 0], "by the daemon");
    let states = fs::read_to_string(world.home().join("session_states.json")).unwrap();
    assert!(!states.contains("birds-2026"), "{states}");
    world.stop();
    let read: Vec<_> = of_log.iter().filter_map(|arguments| tells(arguments)).collect();
    assert_eq!(read, [""; 0], "by the home's files");
    // The events are complete, and a replay gives the states that the export names.
    let file = world.path("all.jsonl");
    world.ok(&["log", "export", "-o", file.to_str().unwrap()]);
    let replayed = &world.json(&["replay", file.to_str().unwrap(), "--summary"])["summary"];
    assert_eq!((&replayed["differences"], &replayed["sessions"][0]["state"]), (&json!([]), &json!("forgotten")));
    assert!(world.ok(&["log", "export", "--unredacted"]).out.contains("birds-2026"), "the log keeps it");
    world.ok(&["forget", "--undo", &one]);
    assert_eq!(tells(&["explain", &one]), Some(format!("{:?}", ["explain", &one])), "it is restored");
    assert_eq!(found_in(&world, "birds-2026"), [one]);
}

#[test]
fn a_directory_of_a_made_up_name_belongs_to_no_other_group() {
    let world = World::new();
    let honest = session_in(&world, 1, "/srv/honest");
    let forged = session_in(&world, 2, "/srv/forged\u{1f}/srv/honest");
    assert_eq!(world.found("kakapo").len(), 2);
    assert_eq!(found_in(&world, "/srv/honest"), [honest]);
    assert_eq!(world.show(&forged)["group_id"], "/srv/forged\u{fffd}/srv/honest");
}

#[test]
fn a_move_says_that_it_has_lifted_a_stop() {
    let world = World::new();
    let me = session_in(&world, 1, "/srv/one");
    assert_eq!(world.found("kakapo"), [me.as_str()]);
    let track = |group: &str| ask(&world, "track", &json!({"session": me, "group": group}));
    assert!(!text(&track("birds")["message"]).contains("lifted"));
    ask(&world, "untrack", &json!({"session": me}));
    let refused = track("two words");
    assert!(refused["status"] == "error" && !text(&refused["message"]).contains("lifted"), "{refused}");
    assert_eq!(world.show(&me)["tracked"], false, "a group that cannot be is no reason to lift a stop");
    let moved = track("parrots");
    assert_eq!(moved["status"], "success");
    assert!(text(&moved["message"]).contains("`stop_tracking_session` is lifted"), "{moved}");
    assert!(!text(&track("parrots")["message"]).contains("lifted"));
}
