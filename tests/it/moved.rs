//! A home that is renamed while its daemon runs: nothing is acknowledged that would be split over two homes.

use serde_json::Value;

use crate::world::{World, finished, id, wait};

/// Runs a command with the home at its current path.
fn in_home(world: &World, home: &std::path::Path, arguments: &[&str]) -> crate::world::Ran {
    finished(world.command(arguments).env("BATON_HOME", home).output().unwrap())
}

fn found(world: &World, home: &std::path::Path, word: &str) -> bool {
    let ran = in_home(world, home, &["search", word, "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    !ran.json()["hits"].as_array().unwrap().is_empty()
}

#[test]
fn what_is_acknowledged_after_a_home_was_renamed_is_in_the_renamed_home() {
    let world = World::new();
    let mut transcripts: Vec<_> = (1..=4).map(|number| world.transcript("-work-one", &id(number))).collect();
    for transcript in &mut transcripts {
        transcript.prompt("the wolverine was here").reply("it was");
    }
    world.json(&["sync"]);
    let daemon = world.daemon().unwrap();
    let moved = world.path("elsewhere");
    std::fs::rename(world.home(), &moved).unwrap();
    let mut acknowledged = Vec::new();
    for (number, transcript) in (1..).zip(&mut transcripts) {
        let word = format!("pango{number}lin");
        transcript.prompt(&format!("now for the {word}")).reply("yes");
        let closed = in_home(&world, &moved, &["close", &id(number), "--json"]);
        let answer: Value = serde_json::from_str(closed.out.lines().next().unwrap_or("{}")).unwrap();
        match closed.code {
            0 => acknowledged.push(word),
            _ => assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", closed.err),
        }
    }
    assert!(wait(|| world.daemon() != Some(daemon)), "the daemon that was started on the old path has ended");
    assert!(!acknowledged.is_empty(), "another daemon serves the home where it is now");
    assert!(!world.home().exists(), "nothing is made anew at the old path");
    let log = std::fs::read_to_string(moved.join("daemon.log")).unwrap();
    assert!(log.contains("was moved, removed or replaced"), "{log}");
    assert_eq!(in_home(&world, &moved, &["stop"]).code, 0);
    // Acknowledged data does not depend on the transcripts.
    std::fs::rename(world.projects(), world.path("gone")).unwrap();
    std::fs::create_dir_all(world.projects()).unwrap();
    assert_eq!(in_home(&world, &moved, &["log", "verify"]).code, 0);
    for word in &acknowledged {
        assert!(found(&world, &moved, word), "{word} was acknowledged");
    }
    assert_eq!(in_home(&world, &moved, &["stop"]).code, 0);
}
