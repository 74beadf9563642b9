//! A hook as an agent calls it, and the daemons that it may find.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use baton_protocol::{SPOOL, SPOOL_DROPPED, Spooled};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::peer::{Answer, Peer};
use crate::world::{BATON, World, finished, id, skipped, wait};

/// Many times the longest runtime of a hook, and far less than any agent waits.
const SOON: Duration = Duration::from_secs(5);

/// The program under test.
pub(crate) const HOOK: &str = env!("CARGO_BIN_EXE_baton-hook");

/// A hook that has ended as it must: exit code 0, empty standard error, and nothing or one object on standard output.
pub(crate) struct Ended(pub(crate) Option<Value>);

/// Calls the hook with this standard input, and waits for its end.
pub(super) fn call(world: &World, event: &str, input: &[u8]) -> Ended {
    call_as(world.program(HOOK, &[event]), |mut stdin| {
        // The hook need not read everything.
        let _ = stdin.write_all(input);
        None
    })
}

/// Calls the hook; if `feed` returns its standard input, that stays open until the hook has ended.
pub(crate) fn call_as(mut command: Command, feed: impl FnOnce(ChildStdin) -> Option<ChildStdin>) -> Ended {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let held = feed(child.stdin.take().unwrap());
    let ended = ended(child);
    drop(held);
    ended
}

/// Its own watchdog ends it after 150 ms, or 3 s where that is configured; a busy machine gets some more.
fn ended(mut child: Child) -> Ended {
    let since = Instant::now();
    if !wait(|| child.try_wait().unwrap().is_some() || since.elapsed() > SOON) || since.elapsed() > SOON {
        let _ = child.kill();
        panic!("a hook did not end within {SOON:?}");
    }
    let ran = finished(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let said = (!ran.out.is_empty()).then(|| ran.json());
    Ended(said)
}

/// The input that an agent writes to a hook.
pub(super) fn event(world: &World, name: &str, session: &str) -> Vec<u8> {
    let transcript = world.projects().join("-srv-one").join(format!("{session}.jsonl"));
    let event = json!({
        "session_id": session, "transcript_path": transcript, "cwd": "/srv/one", "hook_event_name": name,
        "source": "startup", "reason": "clear", "trigger": "manual", "prompt": "the hidden walrus",
        "last_assistant_message": "the hidden walrus", "permission_mode": "default",
    });
    format!("{event}\n").into_bytes()
}

/// The signals in the spool, in the order of their file names.
pub(super) fn spool(home: &Path) -> Vec<Spooled> {
    let Ok(entries) = std::fs::read_dir(home.join(SPOOL)) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    // A hook that was cut off may leave what it was writing, which counts for nothing.
    files.retain(|file| file.extension().is_none_or(|ending| ending != "tmp"));
    assert!(files.iter().all(|file| file.extension().is_none_or(|ending| ending == "json")), "{files:?}");
    let signals = files.iter().filter(|file| file.extension().is_some());
    signals.map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()).collect()
}

/// Number of signals counted as lost.
pub(super) fn lost(home: &Path) -> usize {
    std::fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).map_or(0, |bytes| bytes.len())
}

/// Gives hooks their longest possible time (1 s at a session's end, else 3 s), so that results do not depend on a busy
/// machine.
pub(crate) fn patient(world: &World) {
    configure(world, r#"{"hooks": {"timeout_ms": 3000}}"#);
}

pub(super) fn configure(world: &World, config: &str) {
    if !world.home().is_dir() {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().mode(0o700).create(world.home()).unwrap();
    }
    std::fs::write(world.home().join("config.json"), config).unwrap();
}

/// Asserts what becomes of each event, given the daemon's answer; `why` is the reason in the spooled signal.
fn check(answer: Option<Answer>, why: Option<&str>) {
    let world = World::new();
    // With a daemon that never answers, the hook would wait that long.
    if answer != Some(Answer::Nothing) {
        patient(&world);
    }
    let peer = answer.map(|answer| Peer::listen(&world.home().join("baton.sock"), answer));
    for name in ["session-end", "Stop", "pre-compact", "Unheard-Of"] {
        let Ended(said) = call(&world, name, &event(&world, name, &id(1)));
        assert_eq!(said, None, "{answer:?} {name}");
    }
    let spooled = spool(world.home());
    let expected = if why.is_some() { vec!["SessionEnd", "PreCompact", "Unheard-Of"] } else { vec![] };
    let names: Vec<&str> = spooled.iter().map(|spooled| spooled.hook.event.as_str()).collect();
    assert_eq!(names, expected, "{answer:?}");
    for Spooled { v, why: told, hook, .. } in &spooled {
        assert_eq!((*v, Some(told.as_str()), hook.session_id.as_str()), (1, why, id(1).as_str()), "{answer:?}");
        let detail =
            [("SessionEnd", "clear"), ("PreCompact", "manual")].into_iter().find(|(name, _)| *name == hook.event);
        assert_eq!(hook.detail.as_deref(), detail.map(|(_, detail)| detail), "{answer:?}");
    }
    assert!(!home_says(&world, "walrus"), "{answer:?}: words of a prompt are in the home");
    let (calls, times) = peer.map_or((0, 0), Peer::end);
    if let Some(answer) = answer.filter(|answer| answer.is_proper()) {
        assert_eq!((calls, times), (4, 4), "{answer:?}");
    }
}

/// True if some file of the home contains the word.
fn home_says(world: &World, word: &str) -> bool {
    let says = |file: &std::path::PathBuf| String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains(word);
    crate::world::files_below(world.home()).iter().any(says)
}

#[test]
fn i9_a_hook_ends_in_time_and_exits_0_whatever_the_daemon_does() {
    check(None, Some("absent"));
    check(Some(Answer::Taken), None);
    check(Some(Answer::Nothing), Some("timeout"));
    check(Some(Answer::Garbage), Some("garbled"));
    check(Some(Answer::OtherVersion), Some("other_version"));
    check(Some(Answer::HangsUp), Some("refused"));
    check(Some(Answer::Flood), Some("garbled"));
    check(Some(Answer::Refusal), Some("refused"));
}

#[test]
fn what_is_no_socket_is_nobody() {
    let world = World::new();
    patient(&world);
    std::fs::write(world.home().join("baton.sock"), "notes").unwrap();
    call(&world, "SessionEnd", &event(&world, "SessionEnd", &id(1)));
    let spooled = spool(world.home());
    assert_eq!(spooled.iter().map(|spooled| spooled.why.as_str()).collect::<Vec<_>>(), ["absent"]);
}

#[test]
fn only_where_it_counts_something_is_said() {
    let world = World::new();
    patient(&world);
    let peer = Peer::listen(&world.home().join("baton.sock"), Answer::Context);
    for (name, says) in [
        ("SessionStart", true),
        ("user-prompt-submit", true),
        ("Stop", false),
        ("SessionEnd", false),
        ("PostCompact", false),
        ("SubagentStop", false),
    ] {
        let Ended(said) = call(&world, name, &event(&world, name, &id(1)));
        let expected = says.then(|| {
            let name = if name == "user-prompt-submit" { "UserPromptSubmit" } else { name };
            json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": "\"one\"\nand two"}})
        });
        assert_eq!(said, expected, "{name}");
    }
    assert_eq!(peer.end(), (6, 6));
    assert_eq!(spool(world.home()), []);
}

#[test]
fn both_programs_do_the_same_and_the_object_names_the_event_too() {
    let world = World::new();
    for command in [world.program(HOOK, &[]), world.command(&["hook", "--odd", "words"]), world.command(&["hook"])] {
        let input = event(&world, "SessionEnd", &id(1));
        let Ended(said) = call_as(command, |mut stdin| {
            let _ = stdin.write_all(&input);
            None
        });
        assert_eq!(said, None);
    }
    let events: Vec<String> = spool(world.home()).into_iter().map(|spooled| spooled.hook.event).collect();
    assert_eq!(events.iter().filter(|event| *event == "SessionEnd").count(), 2, "{events:?}");
    assert!(events.contains(&"--odd".to_owned()), "{events:?}");
}

#[test]
fn a_daemon_that_runs_takes_it_and_a_stopped_one_gets_it_later() {
    let world = World::new();
    patient(&world);
    world.transcript("-srv-one", &id(1)).prompt("the visible walrus");
    world.ok(&["sessions"]);
    call(&world, "SessionEnd", &event(&world, "SessionEnd", &id(1)));
    assert_eq!(spool(world.home()), []);
    world.wait_for(&id(1), "the end", |shown| shown["close_reason"] == "hook_clear");

    let daemon = world.daemon().unwrap();
    kill_process(daemon, Signal::STOP).unwrap();
    call(&world, "SessionEnd", &event(&world, "SessionEnd", &id(2)));
    let why: Vec<String> = spool(world.home()).into_iter().map(|spooled| spooled.why).collect();
    kill_process(daemon, Signal::CONT).unwrap();
    assert_eq!(why, ["timeout"]);
}

#[test]
fn the_start_of_a_session_starts_a_daemon_and_waits_for_nothing() {
    let world = World::new();
    world.transcript("-srv-one", &id(1)).prompt("the visible walrus");
    call(&world, "SessionStart", &event(&world, "SessionStart", &id(1)));
    assert!(wait(|| world.daemon().is_some()), "no daemon: {}", world.log());
    assert_eq!(world.found("walrus"), [id(1)]);
    let pid = world.daemon();
    call(&world, "SessionStart", &event(&world, "SessionStart", &id(1)));
    assert_eq!(world.daemon(), pid);
}

#[test]
fn nobody_but_a_start_starts_a_daemon_and_what_baton_starts_says_nothing() {
    let mut world = World::new();
    for name in ["UserPromptSubmit", "Stop", "SessionEnd"] {
        call(&world, name, &event(&world, name, &id(1)));
    }
    assert_eq!(spool(world.home()).len(), 2);
    assert!(!world.home().join("daemon.lock").exists());
    world.set("BATON_CHILD", "1");
    call(&world, "SessionStart", &event(&world, "SessionStart", &id(2)));
    assert_eq!(spool(world.home()).len(), 2);
    assert!(!world.home().join("daemon.lock").exists());
}

#[test]
fn the_small_program_links_neither_runtime_nor_parser_nor_the_rest_of_baton() {
    // The symbols of the linked program, without its debug information.
    let names = |program: &str| {
        let told = Command::new("nm").arg(program).output().ok().filter(|told| told.status.success());
        told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).filter(|names| !names.is_empty())
    };
    let (Some(small), Some(large)) = (names(HOOK), names(BATON)) else {
        return skipped("there is no nm to tell what a program links, or the programs are stripped");
    };
    // A mangled name has its length before it.
    let holds = |names: &str, crate_name: &str| names.contains(&format!("{}{crate_name}", crate_name.len()));
    let ours = ["baton_actors", "baton_base", "baton_config", "baton_conversation", "baton_events"];
    let others = ["tokio", "clap_builder", "tracing_subscriber", "tantivy", "ractor"];
    for crate_name in ours.into_iter().chain(others) {
        assert!(!holds(&small, crate_name), "baton-hook links {crate_name}");
        assert!(holds(&large, crate_name), "{crate_name} is not found where it is");
    }
}

#[test]
fn a_hook_sends_the_agents_transcript_directories() {
    let world = World::new();
    patient(&world);
    let claude = world.config().to_str().unwrap().to_owned();
    let codex = world.path("codex");
    // The listener, not the hook, checks whether they exist: a file system that hangs must not hang a hook.
    let peer = Peer::listen(&world.home().join("baton.sock"), Answer::Taken);
    // A hook that a busy machine has delayed sends nothing.
    let said = wait(|| {
        call(&world, "Stop", &event(&world, "Stop", &id(1)));
        !peer.hellos().is_empty()
    });
    assert!(said, "nobody was told");
    let hello = peer.hellos().swap_remove(0);
    assert_eq!((&hello["claude_config_dir"], &hello["codex_home"]), (&json!(claude), &json!(codex)), "{hello}");
}
