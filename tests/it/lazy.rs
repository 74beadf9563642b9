//! A query first indexes what it would otherwise miss.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sockets::Raw;
use crate::transcript::Transcript;
use crate::world::{World, finished, hits, id, text, wait};

#[test]
fn lazy_index_on_search_sees_an_append_and_a_new_file() {
    let world = World::new();
    let mut first = world.transcript("-work-one", &id(1));
    first.prompt("the aardvark question").reply("the aardvark answer");
    assert_eq!(world.found("aardvark"), [id(1)]);

    // Appended lines: the very next query finds them.
    first.prompt("and the pangolin?").reply("the pangolin too");
    let found = world.search("pangolin");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(found["freshness"]["pending"], 0);
    assert_eq!(hits(&found)[0]["session_id"], *id(1));

    // A file in a new project folder: the very next query finds it.
    world.transcript("-work-brand-new", &id(2)).prompt("an okapi appears").reply("indeed");
    let found = world.search("okapi");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    assert_eq!(hits(&found)[0]["session_id"], *id(2));

    // Both at once, in a query that does not wait for history.
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
fn many_that_ask_at_once_all_see_an_append() {
    let world = World::new();
    let mut transcript = world.transcript("-work", &id(1));
    transcript.prompt("a first tapir").reply("yes");
    assert_eq!(world.found("tapir"), [id(1)]);
    transcript.prompt("a late okapi");
    let params = json!({"query": "okapi", "limit": 10});
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "search", "params": params});
    let callers: Vec<Raw> = (0..200).map(|_| Raw::greeted(&world)).collect();
    std::thread::scope(|scope| {
        for mut caller in callers {
            let (asked, me) = (&asked, id(1));
            scope.spawn(move || {
                let answer = caller.call(asked);
                assert_eq!(answer["result"]["hits"][0]["session_id"], *me, "{answer}");
            });
        }
    });
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

/// The sessions that a search finds without waiting for history, each once.
fn found_at_once(world: &World, query: &str) -> Vec<String> {
    let found = world.json(&["search", query, "--no-wait"]);
    let mut sessions: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

#[test]
fn whatever_happens_to_files_and_folders_is_seen_by_the_very_next_query() {
    let world = World::new();
    world.ok(&["search", "nothing"]);
    for round in 0..10 {
        // A new folder, three levels deep, and a file in it that grows at once.
        let (main, agent) = (id(0x100 + round), format!("agent-a{round:07}"));
        let folder = format!("-work-{round}");
        world.transcript(&folder, &main).prompt(&format!("outer{round}x"));
        assert_eq!(found_at_once(&world, &format!("outer{round}x")), std::slice::from_ref(&main), "round {round}");
        let nested = world.projects().join(&folder).join(&main).join("subagents").join(format!("{agent}.jsonl"));
        let mut nested = Transcript::new(nested, &main, "/srv/work").of_subagent(&main);
        nested.prompt(&format!("inner{round}x"));
        assert_eq!(found_at_once(&world, &format!("inner{round}x")).len(), 1, "round {round}");
        nested.reply(&format!("grown{round}x"));
        assert_eq!(found_at_once(&world, &format!("grown{round}x")).len(), 1, "round {round}");
    }
    // A renamed folder takes its files along, and they are followed there.
    let mut moved = world.transcript("-before", &id(1));
    moved.prompt("the vicuna stays");
    assert_eq!(found_at_once(&world, "vicuna"), [id(1)]);
    std::fs::rename(world.projects().join("-before"), world.projects().join("-after")).unwrap();
    let mut moved = world.transcript("-after", &id(1));
    moved.prompt("the guanaco comes");
    assert_eq!(found_at_once(&world, "guanaco"), [id(1)]);
    moved.prompt("and the alpaca");
    assert_eq!(found_at_once(&world, "alpaca"), [id(1)]);
    // A folder that is filled elsewhere and then moved in.
    let outside = world.path("outside");
    Transcript::new(outside.join(format!("{}.jsonl", id(2))), &id(2), "/srv/w").prompt("a llama moves in");
    std::fs::rename(&outside, world.projects().join("-moved-in")).unwrap();
    assert_eq!(found_at_once(&world, "llama"), [id(2)]);
    world.transcript("-moved-in", &id(2)).prompt("and a quagga");
    assert_eq!(found_at_once(&world, "quagga"), [id(2)]);
    // All transcripts go, and others take their place.
    std::fs::rename(world.projects(), world.path("put-aside")).unwrap();
    std::fs::create_dir(world.projects()).unwrap();
    world.transcript("-after", &id(3)).prompt("a new root with a kudu");
    assert_eq!(found_at_once(&world, "kudu"), [id(3)]);
    world.transcript("-after", &id(3)).prompt("and an eland");
    assert_eq!(found_at_once(&world, "eland"), [id(3)]);
}

#[test]
fn without_change_notifications_everything_is_checked() {
    let world = World::new();
    // A linked project folder: changes in it are not reported under its name below the root.
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.projects().join("-linked")).unwrap();
    let mut linked = Transcript::new(elsewhere.join(format!("{}.jsonl", id(1))), &id(1), "/srv/linked");
    linked.prompt("the wombat");
    assert_eq!(found_at_once(&world, "wombat"), [id(1)]);
    for round in 0..5 {
        linked.prompt(&format!("further{round}x"));
        assert_eq!(found_at_once(&world, &format!("further{round}x")), [id(1)], "round {round}");
    }
    std::fs::remove_file(world.projects().join("-linked")).unwrap();

    // A transcript with a second name elsewhere.
    let mut twice = world.transcript("-work", &id(2));
    twice.prompt("the dingo");
    let other_name = world.path("other-name.jsonl");
    std::fs::hard_link(twice.path(), &other_name).unwrap();
    assert_eq!(found_at_once(&world, "dingo"), [id(2)]);
    let mut by_other_name = Transcript::new(other_name, &id(2), "/srv/work");
    by_other_name.prompt("the quokka");
    assert_eq!(found_at_once(&world, "quokka"), [id(2)]);

    // If the daemon cannot create its marker files.
    std::fs::remove_dir_all(world.home().join("watch")).unwrap();
    let mut plain = world.transcript("-work", &id(3));
    for round in 0..3 {
        plain.prompt(&format!("plain{round}x"));
        assert_eq!(found_at_once(&world, &format!("plain{round}x")), [id(3)], "round {round}");
    }
}

#[test]
fn the_asking_session_is_left_out_unless_it_is_named() {
    let mut world = World::new();
    world.transcript("-work", &id(1)).prompt("the older numbat").reply("yes");
    world.ok(&["search", "numbat"]);
    world.transcript("-work", &id(2)).prompt("another numbat numbat").reply("numbat");
    world.set("CLAUDE_CODE_SESSION_ID", id(1));
    let mut mine = world.transcript("-work", &id(1));
    mine.prompt("what did I say about the bilby and the numbat");
    let found = world.json(&["search", "numbat"]);
    assert_eq!(found["freshness"]["left_out_asking"], true, "{found}");
    assert_eq!((&found["freshness"]["pending"], &found["freshness"]["indexed_now"]), (&0.into(), &1.into()));
    let ranked: Vec<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
    assert_eq!((ranked.first(), ranked.last()), (Some(&id(2)), Some(&id(1))), "its older hits rank last");
    assert!(world.found("bilby").is_empty());
    assert!(world.ok(&["search", "bilby"]).err.contains("left out"));
    let named = world.json(&["search", &format!("bilby {}", &id(1)[..8])]);
    assert_eq!(named["freshness"]["indexed_now"], 1, "{named}");
    assert_eq!(hits(&named)[0]["session_id"], *id(1));
    assert_eq!(named["freshness"]["left_out_asking"], Value::Null);
}

#[test]
fn a_query_that_does_not_wait_waits_for_a_few_new_sessions_and_not_for_history() {
    let count = |count: u32, query: &str| {
        let world = World::new();
        std::fs::create_dir_all(world.home()).unwrap();
        let budget = r#"{"session_tracking": {"lazy_index": {"budget_ms": 0}}}"#;
        std::fs::write(world.home().join("config.json"), budget).unwrap();
        for number in 0..count {
            world.transcript("-work", &id(number)).prompt("a first tapir").reply("yes");
        }
        let found = world.json(&["search", query, "--no-wait", "--limit", "100"]);
        let sessions: BTreeSet<String> = hits(&found).iter().map(|hit| text(&hit["session_id"])).collect();
        (sessions.len(), found["freshness"]["pending"].as_u64().unwrap())
    };
    assert_eq!(count(20, "tapir"), (20, 0), "whatever the clock says");
    let (found, pending) = count(200, "tapir");
    assert!(pending > 0 && found < 100, "{found} found, {pending} still to be read");
}

/// A large closed session.
fn closed_giant(world: &World) -> Transcript {
    let mut giant = world.transcript("-work-one", &id(1)).minutes_ago(36);
    giant.prompt("the aardvark question");
    for step in 0..2_050 {
        giant.reply(&format!("step {step}"));
    }
    world.close(&id(1));
    giant
}

#[test]
fn an_answer_that_lacks_what_is_new_in_a_large_session_names_it() {
    let world = World::new();
    let mut giant = closed_giant(&world);
    assert_eq!(found_at_once(&world, "aardvark"), [id(1)], "a close waits, however large it is");
    for (word, small, is_killed) in [("pangolin", 2, false), ("okapi", 3, true)] {
        giant.prompt(&format!("a {word} comes by"));
        let found_or_named = |arguments: &[&str]| {
            let found = world.json(arguments);
            let is_found = hits(&found).iter().any(|hit| hit["session_id"] == *id(1));
            let pending = &found["freshness"]["pending_sessions"];
            assert!(is_found || pending.as_array().unwrap().contains(&id(1).into()), "{found}");
            is_found
        };
        found_or_named(&["search", word, "--no-wait"]);
        world.transcript("-work-one", &id(small)).prompt(&format!("a numbat beside the {word}"));
        assert!(world.found("numbat").contains(&id(small)), "it stands behind nobody");
        if is_killed {
            world.kill();
        }
        assert!(wait(|| found_or_named(&["search", word])), "{}", world.log());
    }
    assert_eq!(world.json(&["log", "verify"])["clean"], true);
}

#[test]
fn a_handoff_leaves_the_session_that_asks_alone() {
    let world = World::new();
    let directory = world.path("work").canonicalize().unwrap();
    let mut mine = world.transcript("-work", &id(1)).in_directory(directory.to_str().unwrap());
    mine.prompt("Tame the numbat").reply("I am at it.");
    world.wait_for(&id(1), "the session", |row| row["message_count"] == 2);
    let mut command = world.command(&["handoff", "--json"]);
    let told = finished(command.env("CLAUDE_CODE_SESSION_ID", id(1)).output().unwrap()).json();
    let message = text(&told["message"]);
    assert!(message.contains("no other session") && !message.contains("baton close"), "{told}");
    assert_eq!(world.show(&id(1))["state"], "active", "nothing of it was indexed");
}

#[test]
fn a_large_session_that_is_being_read_holds_no_search_up() {
    let world = World::new();
    let mut giant = closed_giant(&world);
    // Takes longer to read than anybody would wait.
    let record = giant.reply_record(&"an answer of many words ".repeat(400));
    let block = format!("{record}\n").repeat(2_000);
    for _ in 0..12 {
        giant.write(block.as_bytes());
    }
    let reads = || world.json(&["status"]).to_string();
    world.transcript("-work-two", &id(2)).prompt("a numbat").reply("yes");
    let begun = Instant::now();
    let found = world.search("numbat");
    assert_eq!(hits(&found)[0]["session_id"], id(2), "{found}");
    let (took, pending) = (begun.elapsed(), found["freshness"]["pending_sessions"].to_string());
    assert!(took < Duration::from_secs(5) && pending.contains(&id(1)), "{took:?} {found}\n{}", reads());
}
