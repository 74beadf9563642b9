//! Unusual closes: each has its status, its reason and the next step.

use serde_json::Value;

use crate::record::Log;
use crate::transcript::Transcript;
use crate::world::{World, finished, id, text};

/// Adds a transcript that was made in a real directory below `work/`.
fn in_directory(world: &World, folder: &str, number: u32) {
    let directory = world.path("work").join(folder);
    std::fs::create_dir_all(&directory).unwrap();
    let directory = directory.canonicalize().unwrap();
    let transcript = world.transcript(&format!("-{folder}"), &id(number));
    { transcript.in_directory(directory.to_str().unwrap()) }.prompt("a question").reply("an answer");
}

fn close_in(world: &World, folder: &str, variables: &[(&str, &str)]) -> (i32, Value) {
    let mut command = world.command(&["close", "--json"]);
    command.current_dir(world.path("work").join(folder)).envs(variables.iter().copied());
    let ran = finished(command.output().unwrap());
    (ran.code, ran.json())
}

#[test]
fn close_of_an_unknown_session_names_near_ones_and_the_next_step() {
    let world = World::new();
    world.transcript("-work-one", &id(0xabc1)).prompt("a question");
    world.ok(&["sessions"]);
    let closed = world.close_fails(&[&id(0xabc2)]);
    let message = text(&closed["message"]);
    assert_eq!((&closed["session_id"], &closed["episode_uuid"]), (&Value::Null, &Value::Null), "{closed}");
    assert!(message.contains(&id(0xabc2)) && message.contains(&id(0xabc1)), "{message}");
    assert!(message.contains("baton sessions"), "{message}");
    let human = world.run(&["close", "ffffffff"]);
    assert_eq!((human.code, human.out.as_str()), (1, ""));
    assert!(human.err.starts_with("baton: no session \"ffffffff\" is known"), "{}", human.err);
    // Input that does not look like an id.
    for odd in ["", "../../etc/passwd", "ä", "a b", &"x".repeat(5_000)] {
        let closed = world.close_fails(&["--", odd]);
        assert!(text(&closed["message"]).contains("baton sessions"), "{closed}");
    }
}

#[test]
fn close_by_an_ambiguous_prefix_names_the_candidates() {
    let world = World::new();
    let of = |start: &str, number: u32| format!("{start}-{}", &id(number)[..13]);
    for number in [1, 2] {
        world.transcript("-work-one", &of("0000aa00", number)).prompt("a question");
    }
    world.ok(&["sessions"]);
    let message = text(&world.close_fails(&["0000aa00"])["message"]);
    assert!(message.contains(&of("0000aa00", 1)) && message.contains(&of("0000aa00", 2)), "{message}");
    assert!(message.contains("fits 2 sessions") && message.contains("more of the id"), "{message}");
    assert_eq!(world.json(&["close", "0000aa00-00000001"])["session_id"], *of("0000aa00", 1));
    // Ambiguous although neither session is known yet: both come at once.
    let folder = world.path("work-two");
    for id in [1, 2].map(|number| of("0000bb00", number)) {
        Transcript::new(folder.join(format!("{id}.jsonl")), &id, "/srv/two").prompt("a question");
    }
    std::fs::rename(&folder, world.projects().join("-work-two")).unwrap();
    let message = text(&world.close_fails(&["0000bb00"])["message"]);
    assert!(message.contains("fits 2 sessions"), "{message}");
}

#[test]
fn close_by_directory_means_its_only_open_session() {
    let world = World::new();
    in_directory(&world, "one", 1);
    in_directory(&world, "two", 2);
    in_directory(&world, "two", 3);
    std::fs::create_dir_all(world.path("work/empty")).unwrap();

    let (code, closed) = close_in(&world, "one", &[]);
    assert_eq!((code, &closed["session_id"]), (0, &id(1).into()), "{closed}");

    let (code, closed) = close_in(&world, "two", &[]);
    let message = text(&closed["message"]);
    assert_eq!((code, &closed["status"]), (1, &"error".into()));
    assert!(message.contains("2 open sessions") && message.contains(&id(2)) && message.contains(&id(3)), "{message}");
    assert!(message.contains("give the id"), "{message}");

    let (code, closed) = close_in(&world, "empty", &[]);
    let message = text(&closed["message"]);
    assert_eq!(code, 1);
    assert!(message.contains("no open session") && message.contains("baton sessions"), "{message}");

    // Claude Code names the session in its environment.
    let (code, closed) = close_in(&world, "two", &[("CLAUDE_CODE_SESSION_ID", &id(2))]);
    assert_eq!((code, &closed["session_id"]), (0, &id(2).into()), "{closed}");
    // Now only one session is open there.
    let (code, closed) = close_in(&world, "two", &[]);
    assert_eq!((code, &closed["session_id"]), (0, &id(3).into()), "{closed}");
}

#[test]
fn a_caller_in_a_session_that_is_not_known_closes_no_other() {
    let world = World::new();
    in_directory(&world, "one", 1);
    world.ok(&["sessions"]);
    for variable in ["QWEN_CODE_SESSION_ID", "CLAUDE_CODE_SESSION_ID"] {
        let (code, closed) = close_in(&world, "one", &[(variable, &id(0x99))]);
        let message = text(&closed["message"]);
        assert_eq!((code, &closed["status"], &closed["session_id"]), (1, &"error".into(), &Value::Null), "{closed}");
        assert!(message.contains(&format!("session {} asks and is not known", id(0x99))), "{message}");
        assert!(message.contains(&id(1)) && message.contains("give the id"), "{message}");
    }
    assert_eq!(world.show(&id(1))["end"], Value::Null);
}

#[test]
fn a_session_whose_first_records_do_not_say_where_it_works_is_closed_from_its_directory() {
    let world = World::new();
    std::fs::create_dir_all(world.path("work/one")).unwrap();
    let directory = world.path("work/one").canonicalize().unwrap();
    let mut begun = world.transcript("-one", &id(1)).in_directory(directory.to_str().unwrap());
    begun.metadata().metadata();
    world.wait_for(&id(1), "its first records", |row| row["records_by_type"]["file-history-snapshot"] == 2);
    begun.prompt("a question").reply("an answer");
    let listed = world.json(&["sessions", "--project", directory.to_str().unwrap()]);
    assert_eq!(listed["sessions"][0]["session_id"], id(1), "{listed}");
    let (code, closed) = close_in(&world, "one", &[]);
    assert_eq!((code, &closed["session_id"]), (0, &id(1).into()), "{closed}");
}

#[test]
fn close_of_an_empty_session_succeeds_without_an_episode() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).metadata().metadata();
    for _ in 0..2 {
        let closed = world.json(&["close", &id(1)]);
        assert_eq!((&closed["status"], &closed["episode_uuid"]), (&"success".into(), &Value::Null), "{closed}");
        assert!(text(&closed["message"]).contains("no conversation"), "{closed}");
    }
    let shown = world.show(&id(1));
    assert_eq!((&shown["state"], &shown["why"]), (&"unindexed".into(), &"empty".into()), "{shown}");
    assert_eq!(shown["episode"], Value::Null);
    // An empty file.
    world.transcript("-work-one", &id(2)).write(b"");
    assert_eq!(world.json(&["close", &id(2)])["status"], "success");
    // The session gets a prompt after all.
    let mut spoken = world.transcript("-work-one", &id(1));
    spoken.prompt("the narwhal speaks");
    assert_eq!(world.found("narwhal"), [id(1)]);
}

#[test]
fn close_of_a_vanished_session_says_what_is_left_of_it() {
    let world = World::new();
    let mut never_indexed = world.transcript("-work-one", &id(1));
    never_indexed.prompt("gone before it was indexed");
    world.wait_for(&id(1), "the session", |row| row["message_count"] == 1);
    std::fs::remove_file(never_indexed.path()).unwrap();
    let closed = world.close_fails(&[&id(1)]);
    assert_eq!(closed["episode_uuid"], Value::Null);
    let message = text(&closed["message"]);
    assert!(message.contains("vanished") && message.contains("nothing to index"), "{message}");
    assert_eq!(world.show(&id(1))["why"], "gone");

    let mut indexed = world.transcript("-work-one", &id(2));
    indexed.prompt("the dugong is remembered").reply("yes");
    let uuid = world.close(&id(2));
    std::fs::remove_file(indexed.path()).unwrap();
    assert_eq!(world.close(&id(2)), uuid, "nothing was left to index");
    assert_eq!(world.found("dugong"), [id(2)]);
    assert_eq!(world.show(&id(2))["episode"]["uuid"], *uuid);
}

#[test]
fn closes_at_once_have_one_answer_and_one_episode() {
    let world = World::new();
    world.ok(&["status"]);
    for round in 0..3 {
        let me = id(0x30 + round);
        let mut transcript = world.transcript("-work-one", &me);
        for turn in 0..30 {
            transcript.prompt(&format!("question {turn}")).reply(&format!("answer {turn}"));
        }
        let closes: Vec<_> = (0..4).map(|_| world.spawn(&["close", &me, "--json"])).collect();
        let mut uuids: Vec<String> = closes
            .into_iter()
            .map(|close| {
                let ran = finished(close.wait_with_output().unwrap());
                assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
                text(&ran.json()["episode_uuid"])
            })
            .collect();
        uuids.dedup();
        assert_eq!(uuids.len(), 1, "{uuids:?}");
        assert_eq!(world.show(&me)["episode_uuid"], *uuids[0]);
    }
    world.stop();
    let log = Log::of(&world);
    for round in 0..3 {
        let indexed = log.of_session(&id(0x30 + round)).filter(|event| format!("{event:?}").starts_with("Indexed"));
        assert_eq!(indexed.count(), 1);
    }
}

#[test]
fn a_close_whose_deadline_has_passed_says_so_and_is_done_all_the_same() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("a question about the axolotl").reply("an answer");
    world.ok(&["status"]);
    let closed = world.close_fails(&[&id(1), "--wait", "0"]);
    let message = text(&closed["message"]);
    assert!(message.contains("still being indexed") && message.contains("baton show"), "{message}");
    assert_eq!(closed["session_id"], *id(1));
    let shown = world.wait_for(&id(1), "the episode", |row| row["state"] == "indexed");
    assert_eq!(shown["close_reason"], "explicit");
    assert_eq!(world.close(&id(1)), text(&shown["episode_uuid"]));
}

#[test]
fn a_close_racing_with_appends_loses_nothing_and_counts_nothing_twice() {
    const TURNS: u32 = 150;
    let world = World::new();
    world.ok(&["status"]);
    let me = id(1);
    let mut transcript = world.transcript("-work-one", &me);
    transcript.prompt("turn0word");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for turn in 1..TURNS {
                let record = transcript.prompt_record(&format!("turn{turn}word"));
                let line = format!("{record}\n");
                // Writes in pieces, none of them a whole line, as a writer with a small buffer would.
                line.as_bytes().chunks(97).for_each(|piece| {
                    transcript.write(piece);
                });
            }
        });
        while !writer.is_finished() {
            world.close(&me);
            world.search("turn0word");
        }
        writer.join().unwrap();
    });
    let last = world.close(&me);
    let shown = world.show(&me);
    assert_eq!(shown["message_count"], TURNS);
    assert_eq!(shown["malformed_lines"], 0);
    for turn in [0, 1, TURNS / 3, TURNS / 2, TURNS - 2, TURNS - 1] {
        let word = format!("turn{turn}word");
        let found = world.search(&word);
        let turns: Vec<&Value> = found["hits"].as_array().unwrap().iter().filter(|hit| hit["kind"] == "turn").collect();
        assert!(!turns.is_empty(), "{word}: {found}");
        assert!(turns.iter().all(|hit| hit["episode_uuid"] == *last), "{found}");
        let exact = turns.iter().filter(|hit| text(&hit["snippet"]).contains(&word)).count();
        assert_eq!(exact, 1, "{word}: {found}");
    }
    world.stop();
    let size = std::fs::metadata(world.projects().join("-work-one").join(format!("{me}.jsonl"))).unwrap().len();
    let state = &Log::of(&world).states()[&me];
    assert_eq!((state.counts.messages, state.read.offset), (u64::from(TURNS), size));
}

#[test]
fn a_transcript_that_was_left_empty_long_ago_is_not_at_work() {
    let world = World::new();
    let folder = world.projects().join("-work-one");
    std::fs::create_dir_all(&folder).unwrap();
    let now = std::time::SystemTime::now();
    for (number, hours) in [(1, 2), (2, 0)] {
        let file = std::fs::File::create(folder.join(format!("{}.jsonl", id(number)))).unwrap();
        file.set_modified(now - std::time::Duration::from_secs(3_600 * hours)).unwrap();
    }
    world.wait_for(&id(1), "being let go", |shown| shown["why"] == "empty");
    world.wait_for(&id(2), "its time", |shown| shown["state"] == "active");
}
