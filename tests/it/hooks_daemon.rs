//! What the daemon does with hook signals, sent over its socket in raw lines as a hook sends them, without our client.

use baton_conversation::record::{Metadata, SequenceNumber, SessionId, StreamId};
use baton_events::envelope::NewRecord;
use baton_events::session::{CloseReason, Phase, UnindexedReason};
use serde_json::{Value, json};

use crate::sockets::Raw;
use crate::time::{Held, after};
use crate::transcript::now;
use crate::world::{World, files_below, id, text, wait};

/// Sends an event of a session as its hook would; `more` has additional fields.
fn hook(raw: &mut Raw, world: &World, event: &str, session: &str, more: Value) -> Value {
    let path = world.projects().join("-work-one").join(format!("{session}.jsonl"));
    let mut params = json!({
        "id": format!("{event}-{session}"), "event": event, "at": now().0, "session_id": session, "cwd": "/srv/-work-one",
        "transcript_path": path, "wait_ms": 100,
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 7, "method": "hook", "params": params}));
    assert!(answer["error"].is_null(), "{event}: {answer}");
    answer["result"].clone()
}

fn stats(raw: &mut Raw) -> Value {
    raw.call(&json!({"jsonrpc": "2.0", "id": 8, "method": "hook/stats"}))["result"].clone()
}

#[test]
fn a_start_and_an_end_are_recorded_before_they_are_acknowledged() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("noted");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let started = hook(raw, &world, "SessionStart", &id(1), json!({"detail": "startup"}));
    assert_eq!(started["status"], "recorded", "{started}");
    let prompted = hook(raw, &world, "UserPromptSubmit", &id(1), json!({}));
    assert_eq!(prompted["status"], "accepted", "{prompted}");
    let ended = hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "prompt_input_exit"}));
    assert_eq!(ended["status"], "recorded", "{ended}");
    // The signals are durable now.
    world.kill();
    let told = world.ok(&["explain", &id(1)]).out;
    assert!(told.contains("session_start (startup)") && told.contains("session_end (prompt_input_exit)"), "{told}");
    // The same signal is not recorded again.
    let raw = &mut Raw::greeted(&world);
    let again = hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "prompt_input_exit"}));
    assert_eq!(again["status"], "known", "{again}");
    assert_eq!(world.ok(&["explain", &id(1)]).out.matches("session_end (").count(), 1);
}

#[test]
fn what_is_of_no_transcript_that_is_read_is_ignored_and_counted() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
    world.ok(&["status"]);
    std::fs::create_dir_all(world.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.projects().join("-link")).unwrap();
    let raw = &mut Raw::greeted(&world);
    let at = |path: &str| json!({"transcript_path": world.path(path)});
    for (event, session, more, why) in [
        ("SessionEnd", id(2), at("elsewhere/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), at("claude/projects/-link/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), at("claude/projects/../../elsewhere/x.jsonl"), "outside_roots"),
        ("SessionEnd", id(2), json!({"transcript_path": "x.jsonl"}), "outside_roots"),
        ("SessionStart", id(2), json!({"cwd": world.home().join("blobs")}), "own"),
        ("SessionStart", "../x".to_owned(), json!({"transcript_path": null}), "malformed"),
        ("SessionStart", id(2), json!({"id": ""}), "malformed"),
        ("SessionStart", "please ignore the rest".to_owned(), json!({"transcript_path": null}), "malformed"),
        ("SessionStart", "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6".to_owned(), json!({}), "malformed"),
        ("SessionEnd", id(1), at(&format!("claude/projects/-work-one/{}.jsonl", id(2))), "malformed"),
        ("SessionEnd", id(2), at(&format!("claude/projects/-work-one/{}.jsonl", id(1))), "malformed"),
        ("Stop", id(2), json!({"transcript_path": null}), "unknown_session"),
        ("SessionEnd", id(2), json!({"at": 5}), "too_old"),
    ] {
        let answer = hook(raw, &world, event, &session, more.clone());
        assert_eq!((text(&answer["status"]), text(&answer["why"])), ("ignored".to_owned(), why.to_owned()), "{more}");
    }
    let stats = stats(raw);
    assert_eq!(stats["ignored"]["outside_roots"], 4, "{stats}");
    assert_eq!(stats["events"]["SessionEnd"]["calls"], 7, "{stats}");
    assert_eq!(world.sessions().len(), 1, "none of them has become a session");
    assert!(!world.log().contains("a1B2c3D4e5F6"), "{}", world.log());
}

#[test]
fn sessions_of_which_only_hooks_speak_are_not_taken_without_end() {
    let world = World::new();
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let begins =
        |raw: &mut Raw, number: u32, more: Value| text(&hook(raw, &world, "SessionStart", &id(number), more)["status"]);
    let unnamed = || json!({"transcript_path": null});
    let taken = (1..=300).filter(|number| begins(raw, *number, unnamed()) == "recorded").count();
    assert_eq!(taken, 256);
    assert_eq!(stats(raw)["ignored"]["too_many"], 300 - 256);
    // Signals for known sessions are still recorded, and so is one that names a transcript that does not exist yet.
    assert_eq!(begins(raw, 1, json!({"transcript_path": null, "id": "again"})), "recorded");
    assert_eq!(begins(raw, 301, json!({})), "recorded");
}

/// Writes a file into the spool, as a hook does that got no answer.
fn spool(world: &World, name: &str, text: &str) {
    std::fs::create_dir_all(world.home().join("spool")).unwrap();
    std::fs::write(world.home().join("spool").join(name), text).unwrap();
}

fn spooled(world: &World, event: &str, session: &str, at: i64, detail: &str) -> String {
    let path = world.projects().join("-work-one").join(format!("{session}.jsonl"));
    let hook = json!({
        "id": format!("{event}-{session}"), "event": event, "at": at, "session_id": session, "cwd": "/srv/-work-one",
        "transcript_path": path, "detail": detail,
    });
    json!({"v": 1, "why": "absent", "took_us": 900, "hook": hook}).to_string()
}

#[test]
fn what_hooks_left_is_taken_in_once_and_in_order() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("noted");
    world.ok(&["status"]);
    world.stop();
    let at = now().0 - 5_000;
    spool(&world, &format!("{}-b.json", at + 1), &spooled(&world, "SessionStart", &id(2), at + 1, "clear"));
    spool(&world, &format!("{at}-a.json"), &spooled(&world, "SessionEnd", &id(1), at, "clear"));
    spool(&world, &format!("activity-{}.json", id(1)), &spooled(&world, "Stop", &id(1), at, ""));
    spool(&world, &format!("{}-c.json", at + 2), "{\"v\": 1, \"hook\": {\"sess");
    spool(&world, "dropped", "..");
    std::os::unix::fs::symlink("/etc/passwd", world.home().join("spool").join(format!("{}-d.json", at + 3))).unwrap();
    // The same signal also arrives over the socket.
    let raw = &mut {
        world.ok(&["status"]);
        Raw::greeted(&world)
    };
    let known = hook(raw, &world, "SessionEnd", &id(1), json!({"at": at, "detail": "clear"}));
    assert_eq!(known["status"], "known", "{known}");
    let emptied = wait(|| stats(raw)["spooled"] == 0);
    assert!(emptied, "{}", world.log());
    let told = world.ok(&["explain", &id(1)]).out;
    assert_eq!(told.matches("session_end (clear)").count(), 1, "{told}");
    let told = world.ok(&["explain", &id(2)]).out;
    assert!(told.contains(&format!("after {}", id(1))), "the one follows the other: {told}");
    let stats = stats(raw);
    assert_eq!((&stats["unreadable"], &stats["dropped"]), (&json!(2), &json!(2)), "{stats}");
    assert_eq!(stats["events"]["SessionEnd"]["failures"], json!({"absent": 1}), "{stats}");
    let left: Vec<_> = files_below(&world.home().join("spool"));
    assert!(left.iter().all(|path| path.starts_with(world.home().join("spool/unreadable"))), "{left:?}");
    // The spool is also read while the daemon runs, and the counts survive a restart.
    spool(&world, &format!("{}-e.json", at + 4), &spooled(&world, "PostCompact", &id(1), at + 4, "auto"));
    assert!(wait(|| world.ok(&["explain", &id(1)]).out.contains("post_compact (auto)")), "{}", world.log());
    world.stop();
    world.ok(&["status"]);
    assert_eq!(world.json(&["status"])["hooks"]["dropped"], 2);
}

#[test]
fn a_session_whose_history_cannot_be_read_holds_up_no_other_in_the_spool() {
    let held = Held::new();
    let world = &held.world;
    world.transcript("-work-one", &id(2)).at(after(0)).prompt("the unmoved sloth");
    // A later version has written an event into one of the two.
    let metadata = Metadata { correlation: None, cause: None };
    let later = NewRecord { kind: "came_tomorrow".to_owned(), v: 1, at: after(0), metadata, data: "{}".to_owned() };
    let stream = StreamId::session(&SessionId::new(&id(1)).unwrap());
    let journal = held.system().parts().journal.clone();
    held.runtime.block_on(journal.append(stream, SequenceNumber(0), vec![later])).unwrap();
    held.at(10);
    let at = after(5).0;
    for (number, event, session) in [(0, "SessionEnd", 1), (1, "SessionStart", 1), (2, "SessionEnd", 2)] {
        let at = at + number;
        spool(world, &format!("{at}-{session}.json"), &spooled(world, event, &id(session), at, "clear"));
    }
    let left = || files_below(&world.home().join("spool")).iter().map(|path| name_of(path)).collect::<Vec<_>>();
    let waiting = [format!("{at}-1.json"), format!("{}-1.json", at + 1)];
    assert!(wait(|| left() == waiting), "{:?}: {}", left(), world.log());
    assert!(world.ok(&["explain", &id(2)]).out.contains("session_end (clear)"));
}

fn name_of(path: &std::path::Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn whoever_was_started_in_a_session_works_in_the_one_that_took_its_place() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth").reply("noted");
    world.transcript("-work-one", &id(3)).prompt("another terminal");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let since = now().0;
    let close = |raw: &mut Raw, caller: Value| {
        let params = json!({"caller": caller});
        let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 9, "method": "close", "params": params}));
        (answer["result"]["session_id"].clone(), text(&answer["result"]["message"]))
    };
    hook(raw, &world, "SessionStart", &id(1), json!({"detail": "startup"}));
    hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "clear"}));
    hook(raw, &world, "SessionStart", &id(2), json!({"detail": "clear"}));
    assert!(
        world.sessions().iter().all(|row| row["session_id"] != id(2).as_str()),
        "nothing is known of it but a hook"
    );
    let caller =
        |session: &str, since: i64| json!({"agent_session": session, "directory": "/srv/-work-one", "since": since});
    let (session, message) = close(raw, caller(&id(1), since));
    assert_eq!(session, id(2).as_str(), "{message}");
    assert!(message.contains("nothing is written"), "{message}");
    world.transcript("-work-one", &id(2)).prompt("the spotted newt").reply("noted");
    let (session, message) = close(raw, caller(&id(1), since));
    assert_eq!(session, id(2).as_str(), "{message}");
    assert!(message.contains("closed and indexed"), "{message}");
    // A caller that started later in the old session means the old session.
    assert_eq!(close(raw, caller(&id(1), now().0 + 60_000)).0, id(1).as_str());
    // A caller in an unknown session means no other session, even if only one is open in the directory.
    let (session, message) = close(raw, caller(&id(9), since));
    assert!(session.is_null() && message.contains(&id(3)), "{message}");
    let (session, message) = close(raw, json!({"directory": "/srv/-work-one"}));
    assert_eq!(session, id(3).as_str(), "{message}");
}

#[test]
fn the_end_of_the_last_connection_of_a_session_is_noticed() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
    world.ok(&["status"]);
    let arrive = |session: &str| {
        let mut raw = Raw::greeted(&world);
        let params = json!({"caller": {"agent_session": session, "since": now().0}});
        let answer = raw.call(&json!({"jsonrpc": "2.0", "id": 2, "method": "presence", "params": params}));
        assert_eq!(answer["result"]["present"], true, "{answer}");
        raw
    };
    let told = || world.ok(&["explain", &id(1)]).out.matches("mcp_disconnect").count();
    let (one, two, other) = (arrive(&id(1)), arrive(&id(1)), arrive(&id(7)));
    drop(one);
    drop(other);
    // When this is answered, anything recorded for the first disconnect has been recorded: a hook of the same session
    // is handled after it.
    hook(&mut Raw::greeted(&world), &world, "PreCompact", &id(1), json!({"detail": "auto"}));
    assert_eq!(told(), 0, "another server still serves it");
    drop(two);
    assert!(wait(|| told() == 1), "{}", world.log());
    // A new connection revokes the disconnect, and a daemon that stops records none for its clients.
    let three = arrive(&id(1));
    assert!(wait(|| world.ok(&["explain", &id(1)]).out.contains("told by other")), "{}", world.log());
    world.stop();
    drop(three);
    assert_eq!(told(), 1);
}

#[test]
fn what_works_in_the_home_is_no_session() {
    let world = World::new();
    let cwd = world.home().join("model").display().to_string();
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    world.transcript(&slug, &id(1)).in_directory(&cwd).prompt("summarise this");
    world.transcript("-work-one", &id(2)).prompt("the unmoved sloth");
    assert_eq!(world.found("sloth"), [id(2)]);
    assert!(world.found("summarise").is_empty());
    assert_eq!(world.sessions().len(), 1);
    assert_eq!(world.json(&["log", "stats"])["sessions"].as_u64().unwrap_or(1), 1);
    let forced = world.run(&["explain", &id(1)]);
    assert_ne!(forced.code, 0, "it was never discovered: {}", forced.out);
}

#[test]
fn hooks_may_be_switched_off_and_the_socket_lie_elsewhere() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    std::fs::write(world.home().join("config.json"), "{\"hooks\": {\"enabled\": false}}").unwrap();
    let answer = hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "clear"}));
    assert_eq!((&answer["status"], &answer["why"]), (&json!("ignored"), &json!("switched_off")), "{answer}");
    let elsewhere = world.path("run/baton.sock");
    std::fs::write(world.home().join("config.json"), json!({"hooks": {"socket_path": elsewhere}}).to_string()).unwrap();
    let status = raw.call(&json!({"jsonrpc": "2.0", "id": 2, "method": "status"}));
    let problems = status["result"]["problems"].to_string();
    assert!(problems.contains("hooks.socket_path says") && problems.contains("baton stop"), "{status}");
}

#[test]
fn a_daemon_is_found_wherever_the_configuration_had_it_listen() {
    let world = World::new();
    let elsewhere = world.path("run/baton.sock");
    let file = world.home().join("config.json");
    world.ok(&["status"]);
    let mut daemon = world.daemon();
    let there = json!({"hooks": {"socket_path": elsewhere}}).to_string();
    // The daemon listens in its home, then elsewhere, and each time the configuration names the other place.
    for (config, next) in [(&*there, "{}"), ("{}", &*there)] {
        std::fs::write(&file, config).unwrap();
        let status = world.json(&["status"]);
        assert_eq!(status["pid"].as_u64(), daemon.map(|pid| pid.as_raw_nonzero().get() as u64), "{status}");
        assert!(status["problems"].to_string().contains("hooks.socket_path says"), "{status}");
        let doctor = world.run(&["doctor"]).out;
        assert!(doctor.contains("hooks.socket_path says") && !doctor.contains("none runs"), "{doctor}");
        assert_eq!(world.json(&["stop"])["stopped"], true);
        assert_eq!(world.daemon(), None);
        assert_eq!(world.json(&["stop"])["stopped"], false);
        // A daemon that listens where the configuration says, before that changes once more.
        world.ok(&["status"]);
        daemon = world.daemon();
        assert_eq!(elsewhere.exists(), config == there);
        std::fs::write(&file, next).unwrap();
    }
    // With a mistake in the file the last good configuration applies, also for a daemon that starts.
    std::fs::write(&file, &there).unwrap();
    world.ok(&["status"]);
    world.ok(&["stop"]);
    world.ok(&["status"]);
    world.ok(&["stop"]);
    std::fs::write(&file, r#"{"hooks": {"enabled": 7}}"#).unwrap();
    world.ok(&["status"]);
    assert!(elsewhere.exists(), "{}", world.log());
}

#[test]
fn a_home_below_the_users_own_is_written_with_a_tilde() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.json"), r#"{"hooks": {"socket_path": "~/run/b.sock"}}"#).unwrap();
    world.ok(&["status"]);
    assert!(world.path("user/run/b.sock").exists());
    assert_eq!(world.json(&["stop"])["stopped"], true);
}

#[test]
fn an_end_after_an_agents_own_close_and_one_more_prompt_counts() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the unmoved sloth").reply("noted");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    hook(raw, &world, "SessionStart", &id(1), json!({"detail": "startup"}));
    let params = json!({"session": id(1), "caller": {"agent_session": id(1)}});
    let closed = raw.call(&json!({"jsonrpc": "2.0", "id": 9, "method": "close", "params": params}));
    assert_eq!(closed["result"]["status"], "success", "{closed}");
    transcript.set_time(now());
    transcript.reply("closed").prompt("one thing more about the sloth").reply("done");
    hook(raw, &world, "UserPromptSubmit", &id(1), json!({}));
    hook(raw, &world, "SessionEnd", &id(1), json!({"detail": "other"}));
    let row = world.wait_for(&id(1), "the end", |row| row["end"] == "hook_other" && row["state"] == "indexed");
    assert_eq!(row["message_count"], 5, "{row}");
    assert_eq!(world.found("one thing more"), [id(1)]);
}

#[test]
fn a_window_that_was_killed_before_anything_was_typed_is_let_go() {
    let held = Held::new();
    let raw = &mut Raw::greeted(&held.world);
    hook(raw, &held.world, "SessionStart", &id(1), json!({"detail": "startup"}));
    hook(raw, &held.world, "SessionStart", &id(2), json!({"detail": "startup"}));
    hook(raw, &held.world, "SessionEnd", &id(2), json!({"detail": "prompt_input_exit"}));
    held.at(60);
    assert_eq!(held.settle(&id(2)).phase, Phase::Unindexed(UnindexedReason::Empty));
    assert_eq!(held.settle(&id(1)).phase, Phase::New, "it may only be silent");
    held.at(1800);
    let state = held.settle(&id(1));
    assert_eq!(
        (state.phase, state.end.map(|end| end.reason)),
        (Phase::Unindexed(UnindexedReason::Empty), Some(CloseReason::InactivityTimeout))
    );
    assert!(held.world.sessions().is_empty(), "no list shows what nobody has seen");
    let told = held.world.ok(&["explain", &id(1)]).out;
    assert!(told.contains("unindexed (empty)") && told.contains("Nothing more is due"), "{told}");
    // The session gets a prompt after all.
    held.world.transcript("-work-one", &id(1)).at(after(1900)).prompt("the late sloth").reply("noted");
    held.at(1901);
    assert_eq!(held.world.found("late sloth"), [id(1)]);
    assert!(held.state(&id(1)).unwrap().end.is_none());
}

#[test]
fn the_end_of_a_subagent_closes_its_session_and_not_its_parents() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("send somebody out").reply("I send an agent.");
    let folder = world.projects().join("-work-one").join(id(1)).join("subagents");
    let path = folder.join("agent-a1b2c3d.jsonl");
    let mut agent =
        crate::transcript::Transcript::new(path.clone(), "agent-a1b2c3d", "/srv/-work-one").of_subagent(&id(1));
    agent.prompt("look for the gyrfalcon").reply("the gyrfalcon is here");
    world.ok(&["status"]);
    let raw = &mut Raw::greeted(&world);
    let stop = |path: &std::path::Path| json!({"agent_id": "a1b2c3d", "agent_transcript_path": path});
    assert_eq!(hook(raw, &world, "SubagentStop", &id(1), stop(&path))["status"], "accepted");
    let ended = |row: &Value| row["end"] == "hook_other" && row["state"] == "indexed";
    let is_closed = || ended(&world.show("agent-a1b2c3d"));
    assert!(wait(is_closed), "{}", world.show("agent-a1b2c3d"));
    assert!(world.show(&id(1))["end"].is_null());
    // A subagent that never existed, as reported by a compaction.
    hook(
        raw,
        &world,
        "SubagentStop",
        &id(1),
        json!({"id": "other", "agent_id": "", "agent_transcript_path": folder.join("agent-b.jsonl")}),
    );
    assert_eq!(world.run(&["explain", "agent-b"]).code, 1);
}
