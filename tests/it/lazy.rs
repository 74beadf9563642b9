//! A query first indexes what it would otherwise miss.

use serde_json::Value;

use crate::world::{World, hits, id, text};

#[test]
fn lazy_index_on_search_sees_an_append_and_a_new_file() {
    let world = World::new();
    let mut first = world.transcript("-work-one", &id(1));
    first.prompt("the aardvark question").reply("the aardvark answer");
    assert_eq!(world.found("aardvark"), [id(1)]);

    // Appended: the very next query.
    first.prompt("and the pangolin?").reply("the pangolin too");
    let found = world.search("pangolin");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(found["freshness"]["pending"], 0);
    assert_eq!(hits(&found)[0]["session_id"], *id(1));

    // A new file in a project folder that was not there: the very next query.
    world.transcript("-work-brand-new", &id(2)).prompt("an okapi appears").reply("indeed");
    let found = world.search("okapi");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(hits(&found)[0]["session_id"], *id(2));

    // Both at once, asked without waiting for history.
    first.reply("a capybara as well");
    world.transcript("-work-newer", &id(3)).prompt("another capybara");
    let found = world.json(&["search", "capybara", "--no-wait"]);
    assert_eq!(found["freshness"]["indexed_now"], 2, "{found}");
    let mut sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions, [id(1), id(3)]);

    let row = world.show(&id(1));
    assert_eq!(row["state"], "indexed");
    assert_eq!(row["close_reason"], "lazy_query");
    assert_eq!(row["end"], Value::Null, "a query ends no session");
}

#[test]
fn a_query_with_nothing_to_do_leaves_no_trace() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the aardvark question").reply("the aardvark answer");
    let first = world.search("aardvark");
    assert_eq!(first["freshness"]["indexed_now"], 1);
    for _ in 0..3 {
        let again = world.search("aardvark");
        assert_eq!(again["freshness"]["indexed_now"], 0);
        assert_eq!(again["freshness"]["position"], first["freshness"]["position"]);
        assert_eq!(again["hits"], first["hits"]);
    }
}

#[test]
fn every_append_is_visible_to_the_very_next_query() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    for round in 0..20 {
        transcript.prompt(&format!("needle{round}x"));
        assert_eq!(world.found(&format!("needle{round}x")), [id(1)], "round {round}");
    }
    assert_eq!(world.show(&id(1))["message_count"], 20);
}

#[test]
fn a_session_that_has_just_begun_is_known_to_every_command() {
    let world = World::new();
    world.ok(&["status"]);
    for number in 0..10 {
        let me = id(0x100 + number);
        world.transcript(&format!("-work-{number}"), &me).prompt("just begun").reply("yes");
        match number % 3 {
            0 => assert_eq!(world.show(&me)["session_id"], *me),
            1 => drop(world.close(&me[..8])),
            _ => {
                let listed = world.json(&["sessions"])["sessions"].to_string();
                assert!(listed.contains(&me), "{number}: {listed}");
            }
        }
    }
}

#[test]
fn a_query_in_one_project_finds_only_that_ones() {
    let world = World::new();
    let folders = ["alpha", "beta", "beta-two"].map(|name| world.path(format!("work/{name}")));
    for (number, folder) in (1..).zip(&folders) {
        std::fs::create_dir_all(folder).unwrap();
        let folder = folder.to_str().unwrap();
        let transcript = world.transcript(&format!("-{number}"), &id(number)).in_directory(folder);
        { transcript }.prompt("a shared tapir").reply("yes");
    }
    let found = |project: &str| {
        let found = world.json(&["search", "tapir", "--project", project]);
        let mut sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
        sessions.sort();
        sessions.dedup();
        sessions
    };
    assert_eq!(world.found("tapir").len(), 3);
    assert_eq!(found("beta"), [id(2)], "a name that fits one");
    assert_eq!(found(folders[0].to_str().unwrap()), [id(1)], "a directory");
    assert_eq!(found("./beta-two"), [id(3)], "a directory, relative");
    let unknown = world.run(&["search", "tapir", "--project", "gamma"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("no project \"gamma\"") && unknown.err.contains("alpha"), "{}", unknown.err);
}
