//! Ids as they are shown to people and may be typed: as short as they are unique.

use crate::transcript::now;
use crate::world::{World, hits, id, text};

/// Ids that begin with a time, of two sessions within a minute.
const ONE: &str = "019f2a3b-4c5d-7000-8000-00000000000a";
const TWO: &str = "019f2a3b-4c5e-7000-8000-00000000000b";

fn world() -> World {
    let world = World::new();
    world.transcript("-work-one", ONE).prompt("Tame the quokka of the lobby").reply("The quokka is tame.");
    let mut two = world.transcript("-work-two", TWO);
    two.prompt("Feed the quokka of the cellar");
    two.call("c1", "Bash", serde_json::json!({"command": "cargo test quokka"})).result(
        "c1",
        "Exit code 1\nerror: no quokka",
        true,
    );
    two.reply("The quokka is fed.");
    world.transcript("-work-one", &id(7)).prompt("Wake the quokka").reply("Done.");
    world.ok(&["sync"]);
    world
}

/// Removes paths, because names of transcript files contain whole ids.
fn without_paths(shown: &str) -> String {
    let lines = shown.lines().filter(|line| !line.contains("claude --resume "));
    lines.flat_map(|line| line.split(' ')).filter(|word| !word.contains('/')).collect::<Vec<_>>().join(" ")
}

#[test]
fn ids_are_shown_as_short_as_each_names_one_session_alone() {
    let world = world();
    let commands: [&[&str]; 8] = [
        &["sessions"],
        &["search", "quokka"],
        &["recall", "quokka"],
        &["timeline"],
        &["session-tracking", "status"],
        &["log", "tail", "-n", "all"],
        &["forget", "--project", "/srv/-work-one", "--dry-run"],
        &["how", "cargo", "test"],
    ];
    for command in commands {
        let shown = without_paths(&world.ok(command).out);
        let ids: Vec<&str> = shown
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .filter(|word| word.starts_with("019f2a3b"))
            .collect();
        assert!(!ids.is_empty(), "{command:?}: {shown}");
        for short in ids {
            assert!([&ONE[..13], &TWO[..13]].contains(&short), "{command:?}: {short}\n{shown}");
        }
        assert!(!shown.contains(&id(7)), "{command:?}: {shown}");
    }
    world.stop();
    let shown = without_paths(&world.ok(&["log", "tail", "-n", "all"]).out);
    assert!(shown.contains(&format!(" {} ", &ONE[..13])) && !shown.contains(ONE), "{shown}");
    for whole in [ONE, TWO] {
        assert_eq!(world.show(&whole[..13])["session_id"], whole);
    }
    let found = world.search("quokka");
    assert!(hits(&found).iter().all(|hit| text(&hit["session_id"]).len() == 36), "{found}");
}

#[test]
fn a_beginning_that_fits_several_lists_them() {
    let world = world();
    for command in [["show", "019f2a3b"], ["close", "019f2a3b"], ["explain", "019f2a3b"], ["reindex", "019f2a3b"]] {
        let refused = world.run(&command);
        assert_eq!(refused.code, 1, "{command:?}: {}", refused.out);
        let says = [
            ONE,
            TWO,
            "/srv/-work-one",
            "/srv/-work-two",
            "quokka of the lobby",
            "fits 2 sessions",
            "give more of the id, as 019f2a3b-4c5",
        ];
        for part in says {
            assert!(refused.err.contains(part), "{command:?} lacks {part}: {}", refused.err);
        }
        assert!(refused.err.contains("T") && refused.err.lines().count() == 3, "{}", refused.err);
    }
    world.ok(&["forget", "--yes", ONE]);
    let refused = world.run(&["show", "019f2a3b"]);
    assert!(refused.err.contains(ONE) && !refused.err.contains("lobby"), "{}", refused.err);
}

#[test]
fn a_beginning_of_fewer_than_eight_characters_names_nothing() {
    let world = World::new();
    world.transcript("-work-one", &id(7)).prompt("Wake the quokka").reply("Done.");
    for command in [&["show", "0"][..], &["close", "0000000"], &["forget", "0000000", "--yes"], &["explain", "00"]] {
        let refused = world.run(command);
        assert_eq!(refused.code, 1, "{command:?}: {}", refused.out);
        assert!(refused.err.contains("at least the first 8 characters"), "{command:?}: {}", refused.err);
    }
    assert_eq!(world.show(&id(7)[..8])["session_id"], id(7));
}

#[test]
fn what_forget_refuses_is_listed_as_elsewhere() {
    let world = world();
    let refused = world.run(&["forget", "019f2a3b", "--yes"]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    for part in [ONE, TWO, "/srv/-work-one", "quokka of the cellar", "fits 2 sessions"] {
        assert!(refused.err.contains(part), "lacks {part}: {}", refused.err);
    }
}

#[test]
fn a_session_known_only_from_hooks_is_found_by_a_short_id() {
    let world = World::new();
    world.ok(&["status"]);
    let hook = serde_json::json!({"id": "h1", "event": "SessionStart", "session_id": id(9), "detail": "startup", "at": now().0,
        "cwd": world.path("work"), "transcript_path": world.projects().join("-work").join(format!("{}.jsonl", id(9)))});
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": hook});
    let told = crate::sockets::Raw::greeted(&world).call(&call);
    assert!(told["error"].is_null(), "{told}");
    assert!(world.ok(&["explain", &id(9)[..8], "--json"]).out.contains(&id(9)));
}
