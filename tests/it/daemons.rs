//! One daemon per home: started by any command that needs it, ended by signal or command, replaced across versions.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::record::Log;
use crate::world::{BATON, World, finished, id, text, wait};

#[test]
fn ten_clients_racing_to_start_meet_one_daemon() {
    let world = World::new();
    for number in 0..5 {
        world.transcript("-work-one", &id(number)).prompt("the shared wolverine").reply("yes");
    }
    for round in 0..3 {
        let clients: Vec<_> = (0..10)
            .map(|number| match number % 3 {
                0 => world.spawn(&["search", "wolverine", "--json"]),
                1 => world.spawn(&["sessions", "--json"]),
                _ => world.spawn(&["status", "--json"]),
            })
            .collect();
        for client in clients {
            let ran = finished(client.wait_with_output().unwrap());
            assert_eq!(ran.code, 0, "{}{}\n{}", ran.out, ran.err, world.log());
            let answer = ran.json();
            if let Some(hits) = answer["hits"].as_array() {
                assert_eq!(
                    hits.iter().map(|hit| text(&hit["session_id"])).collect::<std::collections::BTreeSet<_>>().len(),
                    5
                );
            }
        }
        assert_eq!(world.log().matches("daemon started").count(), round + 1, "{}", world.log());
        match round {
            0 => world.stop(),
            _ => world.kill(),
        }
    }
    Log::of(&world);
}

#[test]
fn a_second_daemon_in_the_foreground_says_who_holds_the_home() {
    let world = World::new();
    let mut first = world.spawn(&["daemon", "--foreground"]);
    assert!(wait(|| world.home().join("baton.sock").exists()), "{}", world.log());
    let second = world.run(&["daemon", "--foreground"]);
    assert_eq!(second.code, 1);
    let holder = format!("another daemon (process {}) already serves {}", first.id(), world.home().display());
    assert!(second.err.contains(&holder), "{}", second.err);
    // The first is not affected, and all commands reach it.
    assert_eq!(world.json(&["status"])["pid"], first.id());
    let asked = world.ok(&["daemon"]);
    assert!(asked.out.contains(&first.id().to_string()), "{}", asked.out);
    world.ok(&["stop"]);
    assert_eq!(first.wait().unwrap().code(), Some(0));
}

#[test]
fn two_daemons_in_the_foreground_at_once_are_one() {
    let world = World::new();
    for _ in 0..5 {
        let mut both = [world.spawn(&["daemon", "--foreground"]), world.spawn(&["daemon", "--foreground"])];
        let mut refused = None;
        assert!(wait(|| {
            refused = both.iter_mut().position(|daemon| daemon.try_wait().unwrap().is_some());
            refused.is_some()
        }));
        let [first, second] = both;
        let (refused, mut serving) = if refused == Some(0) { (first, second) } else { (second, first) };
        let refused = finished(refused.wait_with_output().unwrap());
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("already serves"), "{}", refused.err);
        // Asks as soon as there is a socket.
        assert!(wait(|| world.home().join("baton.sock").exists()));
        assert_eq!(world.json(&["status"])["pid"], serving.id());
        world.ok(&["stop"]);
        assert_eq!(serving.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn stop_returns_when_the_process_is_gone_and_needs_none() {
    let world = World::new();
    let nobody = world.ok(&["stop"]);
    assert_eq!(nobody.out.trim(), "No daemon was running.");
    assert_eq!(world.json(&["stop"]), json!({"stopped": false, "pid": null}));
    assert_eq!(world.daemon(), None, "stop starts none");
    for _ in 0..3 {
        let pid = world.json(&["status"])["pid"].clone();
        let process = format!("/proc/{pid}/exe");
        assert_eq!(world.json(&["stop"]), json!({"stopped": true, "pid": pid}));
        assert!(std::fs::read_link(process).is_err(), "it has ended");
        assert!(!world.home().join("baton.sock").exists());
    }
    assert!(Log::is_clean(&world));
}

#[test]
fn stop_and_start_at_once_do_not_get_in_each_others_way() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the patient polecat");
    for round in 0..6 {
        world.ok(&["status"]);
        let stop = world.spawn(&["stop"]);
        let searches = [(); 3].map(|()| world.spawn(&["search", "polecat", "--json"]));
        for search in searches {
            let ran = finished(search.wait_with_output().unwrap());
            // A search in progress when the daemon is told to stop gets an error that says so; none goes unanswered.
            let told = ran.code == 1 && (ran.err.contains("stopping") || ran.err.contains("broke"));
            assert!(ran.code == 0 || told, "round {round}: {}{}\n{}", ran.out, ran.err, world.log());
        }
        let ran = finished(stop.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(world.found("polecat"), [id(1)]);
    }
}

#[test]
fn sigterm_drains_and_leaves_a_clean_log() {
    let world = World::new();
    for number in 0..60 {
        let mut transcript = world.transcript("-work-one", &id(number));
        for turn in 0..10 {
            transcript.prompt(&format!("question {turn} about otter{number}")).reply("an answer");
        }
    }
    for signal in [Signal::TERM, Signal::INT] {
        // A daemon at work: it reads the first history, and a search waits for it.
        let search = world.spawn(&["search", "otter7", "--json"]);
        assert!(wait(|| world.home().join("baton.sock").exists()));
        assert!(wait(|| world.log().contains("session discovered")), "{}", world.log());
        let daemon = world.daemon();
        kill_process(daemon.unwrap(), signal).unwrap();
        // The search may start another daemon at once.
        assert!(wait(|| world.daemon() != daemon), "{}", world.log());
        let _ = search.wait_with_output().unwrap();
        // The search may already have started a new daemon.
        world.ok(&["stop"]);
        assert!(!world.home().join("baton.sock").exists());
        assert!(world.log().contains("signal received"), "{}", world.log());
        assert!(Log::is_clean(&world), "{}", world.log());
    }
    assert_eq!(world.found("otter7"), [id(7)]);
    assert_eq!(world.sessions().len(), 60);
}

#[test]
fn a_closed_terminal_does_not_end_the_daemon() {
    let world = World::new();
    let status = world.json(&["status"]);
    let pid = Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap();
    // Not compared with our own session id: a container may have no number for the session from which it was started.
    assert_eq!(rustix::process::getsid(Some(pid)).unwrap(), pid, "it leads a session of its own");
    let log = world.home().join("daemon.log");
    assert!(std::fs::read_to_string(log).unwrap().contains("daemon started"));
}

#[test]
fn a_home_with_a_long_path_and_one_that_others_can_write_to() {
    let world = World::with_home(&format!("{}/{}", "deep".repeat(20), "home".repeat(20)));
    world.transcript("-work-one", &id(1)).prompt("the buried mole");
    assert_eq!(world.found("mole"), [id(1)]);
    assert!(!world.home().join("baton.sock").exists(), "too long for a socket's path");
    world.stop();

    use std::os::unix::fs::PermissionsExt;
    let mode = |mode| std::fs::set_permissions(world.home(), PermissionsExt::from_mode(mode)).unwrap();
    mode(0o777);
    let refused = world.run(&["search", "mole"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("can be written to by others") && refused.err.contains("chmod go-w"),
        "{}",
        refused.err
    );
    mode(0o700);
    assert_eq!(world.found("mole"), [id(1)]);
}

#[test]
fn a_home_that_cannot_be_used_is_named() {
    let world = World::new();
    std::fs::write(world.home(), "a file in the way").unwrap();
    let ran = world.run(&["status"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("did not start"), "{}", ran.err);
    std::fs::remove_file(world.home()).unwrap();

    // A regular file at the socket's path.
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("baton.sock"), "a person's notes").unwrap();
    let ran = world.run(&["status"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("baton.sock") && ran.err.contains("move it away"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(world.home().join("baton.sock")).unwrap(), "a person's notes");
}

/// Greets as a daemon of another version, and records the requests it receives.
struct Impostor {
    asked: Arc<Mutex<Vec<String>>>,
    serving: std::thread::JoinHandle<()>,
}

impl Impostor {
    /// Serves until it is asked to stop, or for `connections` connections.
    fn start(world: &World, protocol: u32, connections: usize) -> Self {
        // The id of a process that has ended, so that no client waits for a living one.
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let socket = world.home().join("baton.sock");
        std::fs::create_dir_all(world.home()).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = asked.clone();
        let pid = ended.id();
        let serving = std::thread::spawn(move || {
            for _ in 0..connections {
                let (stream, _) = listener.accept().unwrap();
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
                    let request: Value = serde_json::from_str(&line).unwrap();
                    line.clear();
                    let method = text(&request["method"]);
                    noted.lock().unwrap().push(method.clone());
                    let result = match method.as_str() {
                        "hello" => json!({"protocol": protocol, "version": "9.9.9", "pid": pid}),
                        _ => json!({}),
                    };
                    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                    writeln!(stream.get_mut(), "{answer}").unwrap();
                    if method == "stop" {
                        std::fs::remove_file(&socket).unwrap();
                        return;
                    }
                }
            }
        });
        Self { asked, serving }
    }

    fn asked(self) -> Vec<String> {
        self.serving.join().unwrap();
        self.asked.lock().unwrap().clone()
    }
}

#[test]
fn a_newer_daemon_is_left_alone_and_named() {
    let world = World::new();
    let impostor = Impostor::start(&world, 99, 1);
    let ran = world.run(&["search", "anything"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("9.9.9") && ran.err.contains("update this program"), "{}", ran.err);
    assert_eq!(impostor.asked(), ["hello"], "it is not stopped");
}

#[test]
fn an_older_daemon_is_drained_and_replaced() {
    let world = World::new();
    world.transcript("-work-one", &id(1)).prompt("the patient polecat");
    let impostor = Impostor::start(&world, 0, 2);
    assert_eq!(world.found("polecat"), [id(1)]);
    assert_eq!(impostor.asked(), ["hello", "stop"]);
}

#[test]
fn any_version_can_be_stopped() {
    for protocol in [0, 99] {
        let world = World::new();
        let impostor = Impostor::start(&world, protocol, 1);
        world.ok(&["stop"]);
        assert_eq!(impostor.asked(), ["hello", "stop"]);
    }
}

#[test]
fn something_else_on_the_socket_is_named() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    let listener = UnixListener::bind(world.home().join("baton.sock")).unwrap();
    let talking = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"220 mail.example.com ESMTP ready\r\n");
        let _ = BufReader::new(stream).read_line(&mut String::new());
    });
    let ran = world.run(&["status"]);
    talking.join().unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("not understood"), "{}", ran.err);
}

/// Counts the pages that the process writes to, as reported by the system, without file mappings. An index of the log
/// that initialises all its counters in advance would take four times as much.
#[cfg(target_os = "linux")]
#[test]
fn a_daemon_with_nothing_to_do_takes_little_memory() {
    const MOST_KB: u64 = 16 * 1024;
    let world = World::new();
    world.ok(&["status"]);
    let daemon = world.daemon().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.as_raw_nonzero())).unwrap();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")).unwrap();
    assert!(anonymous.parse::<u64>().unwrap() < MOST_KB, "{status}");
}

#[test]
fn the_program_is_the_one_that_was_built() {
    assert!(std::path::Path::new(BATON).is_file());
    let world = World::new();
    let version = world.ok(&["--version"]);
    assert_eq!(version.out.trim(), format!("baton {}", env!("CARGO_PKG_VERSION")));
    assert!(UnixStream::connect(world.home().join("baton.sock")).is_err(), "asking for the version starts nothing");
}
