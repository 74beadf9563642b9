//! `baton resume`: the agent is started with the session, in the session's directory, and never with anything but an id.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::world::{World, id};

/// An agent that says where it runs and with what.
const AGENT: &str = "#!/bin/sh\nprintf '%s|' \"$(pwd -P)\" \"$0\" \"$@\" > \"$HOME/started\"\n";

/// A world with agents on the path, and a directory in which sessions work.
fn world() -> (World, String) {
    let mut world = World::new();
    let programs = world.path("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(world.path("user")).unwrap();
    for name in ["claude", "codex"] {
        fs::write(programs.join(name), AGENT).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.set("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    let work = world.path("work/shop");
    fs::create_dir_all(&work).unwrap();
    let work = fs::canonicalize(work).unwrap().display().to_string();
    (world, work)
}

/// What the started agent said, and forgets it.
fn started(world: &World) -> Option<Vec<String>> {
    let file = world.path("user/started");
    let said = fs::read_to_string(&file).ok()?;
    fs::remove_file(file).unwrap();
    Some(said.trim_end_matches('|').split('|').map(str::to_owned).collect())
}

#[test]
fn a_session_goes_on_in_its_directory() {
    let (world, work) = world();
    for (number, words) in [(1, "rotate the refresh token"), (2, "paint the lighthouse")] {
        world.transcript("-work-shop", &id(number)).in_directory(&work).prompt(words).reply("Done.");
        world.close(&id(number));
    }
    let claude = world.path("programs/claude").display().to_string();
    let expected = |number: u32| Some(vec![work.clone(), claude.clone(), "--resume".to_owned(), id(number)]);
    let line = format!("claude --resume {}", id(1));
    world.ok(&["resume", &id(1)]);
    assert_eq!(started(&world), expected(1), "by id");
    world.ok(&["resume", "lighthouse"]);
    assert_eq!(started(&world), expected(2), "by words");
    let mut command = world.command(&["resume"]);
    assert!(command.current_dir(&work).output().unwrap().status.success());
    assert!(started(&world).is_some(), "the last one of this project");
    let elsewhere = world.run(&["resume"]);
    let is_told = elsewhere.out.contains("no session to go on with. The last ones of others; name one by its id:");
    assert!(
        elsewhere.code == 1 && is_told && elsewhere.out.contains("baton resume 0000"),
        "{} {}",
        elsewhere.out,
        elsewhere.err
    );
    assert_eq!(started(&world), None);

    assert_eq!(world.json(&["show", &id(1)])["episode"]["resume"], line.as_str());
    assert!(world.ok(&["search", "refresh token"]).out.contains(&line));
    assert_eq!(world.ok(&["resume", &id(1), "--print"]).out.trim(), format!("cd {work} && {line}"));
    let plan = world.json(&["resume", &id(1)]);
    assert_eq!(plan["command"], json!(["claude", "--resume", id(1)]));
    assert_eq!((plan["agent"].as_str(), plan["directory"].as_str()), (Some("claude_code"), Some(work.as_str())));
    assert_eq!(started(&world), None, "printing starts nothing");
}

#[test]
fn geminis_whole_id_is_read_from_the_file_when_asked_for() {
    let (world, work) = world();
    let whole = "d5be006c-3180-402b-977a-50ad2bb30a2e";
    let project = world.path("user/.gemini/tmp/shop");
    fs::create_dir_all(project.join("chats")).unwrap();
    let at = "2026-06-11T19:15:35.513Z";
    let lines = [
        json!({"sessionId": whole, "projectHash": "x", "startTime": at, "lastUpdated": at, "kind": "main", "directories": [work]}),
        json!({"id": "1", "timestamp": at, "type": "user", "content": [{"text": "paint the lighthouse"}]}),
        json!({"id": "2", "timestamp": at, "type": "gemini", "content": "Done.", "model": "m"}),
    ];
    let chat = project.join("chats/session-2026-06-11T19-15-d5be006c.jsonl");
    fs::write(&chat, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let line = format!("gemini --resume {whole}");
    world.search("lighthouse");
    world.close("d5be006c");
    assert_eq!(world.search("lighthouse")["hits"][0]["resume"], line.as_str());
    assert_eq!(world.json(&["show", "d5be006c"])["episode"]["resume"], line.as_str());
    assert_eq!(world.ok(&["resume", "d5be006c", "--print"]).out.trim(), format!("cd {work} && {line}"));
    fs::remove_file(&chat).unwrap();
    assert_eq!(world.json(&["show", "d5be006c"])["episode"]["resume"], json!(null), "there is nothing to go on with");
    let refused = world.run(&["resume", "d5be006c", "--print"]);
    assert!(refused.code == 1 && refused.err.contains("no transcript"), "{}", refused.err);
}

#[test]
fn what_cannot_go_on_is_refused_with_the_reason() {
    let (world, work) = world();
    let refused = |session: &str, why: &str| {
        let ran = world.run(&["resume", session]);
        assert!(ran.code == 1 && ran.err.contains(why), "{session}: {}", ran.out + &ran.err);
        assert_eq!(started(&world), None, "{session}");
    };
    world.transcript("-work-shop", &id(1)).in_directory(&work).prompt("an open walrus").reply("yes");
    refused(&id(1), "still open");
    world.transcript("-gone", &id(2)).in_directory("/nowhere/at/all").prompt("a lost marmot").reply("no");
    world.close(&id(2));
    refused(&id(2), "does not exist");
    refused("quokka in nothing", "no session");
    // The name of a file is no option for the agent.
    let option = "--dangerously-skip-permissions";
    world.transcript("-work-shop", option).in_directory(&work).prompt("a planted pangolin").reply("yes");
    assert_ne!(world.run(&["resume", "pangolin"]).code, 0);
    assert_eq!(started(&world), None);
    for number in [3, 4] {
        world.transcript("-work-shop", &id(number)).in_directory(&work).prompt("twin ferrets").reply("yes");
        world.close(&id(number));
    }
    let several = world.run(&["resume", "twin", "ferrets"]);
    let named = [3, 4].into_iter().all(|number| several.out.contains(&id(number)[..8]));
    assert!(several.code == 1 && named, "{}", several.out);
    assert_eq!(started(&world), None, "several are listed and none is started");
    let empty = PathBuf::from(&work).join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(!world.command(&["resume"]).current_dir(world.path("user")).output().unwrap().status.success());
}
