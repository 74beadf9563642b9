//! `baton logs`, and the contents of the daemon's log.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{DEADLINE, World, id};

/// `baton logs -f`, and the lines it has printed.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(&[&["logs", "-f"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (tell, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, lines }
    }

    /// Waits for a line that contains this text; skips the lines before it.
    fn expect(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("no line with {text:?} came"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends Ctrl-C; returns what it then prints on standard error.
    fn interrupt(mut self) -> String {
        // If the tests run in the background, all their processes ignore Ctrl-C.
        let signal = if is_ctrl_c_ignored() { Signal::TERM } else { Signal::INT };
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let has_ended = crate::world::wait(|| self.child.try_wait().unwrap().is_some());
        if !has_ended {
            self.child.kill().unwrap();
        }
        assert!(has_ended, "it goes on");
        std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap()
    }
}

/// False where the system does not report it.
fn is_ctrl_c_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

#[test]
fn without_a_log_it_says_so_and_starts_nothing() {
    let world = World::new();
    let ran = world.ok(&["logs"]);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("There is no log at") && ran.err.contains("daemon.log"), "{}", ran.err);
    assert!(!world.home().exists());
    assert_eq!(world.daemon(), None);
}

#[test]
fn the_last_lines_come_in_order_from_both_files_and_by_level() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    let line =
        |second: u32, level: &str, what: &str| format!("2026-11-03T09:26:{second:02}.000000Z {level:>5} x: {what}\n");
    std::fs::write(
        world.home().join("daemon.log.1"),
        line(1, "INFO", "one") + &line(2, "WARN", "two") + "  second line of two\n",
    )
    .unwrap();
    std::fs::write(
        world.home().join("daemon.log"),
        line(3, "ERROR", "three") + &line(4, "DEBUG", "four \u{1b}[2J") + "cut",
    )
    .unwrap();
    let cases: [(&[&str], &[&str]); 6] = [
        (&[], &["one", "two", "second line of two", "three", "four", "cut"]),
        (&["-n", "all"], &["one", "two", "second line of two", "three", "four", "cut"]),
        (&["-n", "2"], &["four", "cut"]),
        (&["-n", "0"], &[]),
        (&["--level", "warn"], &["two", "second line of two", "three"]),
        (&["--level", "ERROR", "-n", "1"], &["three"]),
    ];
    for (arguments, expected) in cases {
        let ran = world.ok(&[&["logs"], arguments].concat());
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{arguments:?}: {}", ran.out);
        assert!(lines.iter().zip(expected).all(|(line, part)| line.contains(part)), "{arguments:?}: {}", ran.out);
        assert!(!ran.out.contains('\u{1b}'), "no colours where no terminal is, and nothing that moves the cursor");
    }
    assert_eq!(world.run(&["logs", "-n", "many"]).code, 2);
    assert_eq!(world.run(&["logs", "--level", "loud"]).code, 2);
    assert_eq!(world.daemon(), None, "no daemon was needed");
}

#[test]
fn a_followed_log_goes_on_over_a_restart_and_a_rotation() {
    let world = World::new();
    world.ok(&["daemon"]);
    let following = Following::start(&world, &[]);
    world.transcript("-work-one", &id(1)).prompt("the careful otter");
    world.close(&id(1));
    following.expect("daemon started");
    following.expect("episode stored");
    world.stop();
    following.expect("daemon stopped");
    std::fs::rename(world.home().join("daemon.log"), world.home().join("daemon.log.1")).unwrap();
    world.ok(&["daemon"]);
    following.expect("daemon started");
    assert_eq!(following.interrupt(), "", "Ctrl-C ends it quietly");
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    let world = World::new();
    world.ok(&["daemon"]);
    let mut child = world.spawn(&["logs"]);
    drop(child.stdout.take());
    let ran = crate::world::finished(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

/// Asserts that the newest line with this text has level INFO and these fields.
fn check(world: &World, what: &str, fields: &[&str]) {
    let log = world.log();
    let line = log.lines().rev().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what:?} in {log}"));
    assert!(line.contains(" INFO "), "{line}");
    for field in fields {
        assert!(line.contains(&format!(" {field}")), "{what:?} lacks {field:?}: {line}");
    }
}

#[test]
fn the_log_names_reason_hash_and_both_uuids_of_a_session() {
    let world = World::new();
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the careful otter");
    let first = world.close(&id(1));
    let session = format!("session={}", id(1));
    check(&world, "close requested", &[&session, "reason=explicit", "hash=none", "old=none"]);
    check(&world, "episode stored", &[&session, "reason=explicit", "hash=", "old=none", &format!("new={first}")]);
    let hash = crate::world::text(&world.show(&id(1))["content_hash"]);
    world.close(&id(1));
    let (old, new, hash) = (format!("old={first}"), format!("new={first}"), format!("hash={hash}"));
    check(&world, "index skipped", &[&session, "reason=explicit", &hash, &old, &new]);
    transcript.prompt("and its young");
    let second = world.close(&id(1));
    assert_ne!(first, second);
    let new = format!("new={second}");
    check(&world, "episode replaced", &[&session, "reason=explicit", "hash=", &format!("old_{hash}"), &old, &new]);
    assert!(crate::world::wait(|| world.log().contains("chunks deleted")), "{}", world.log());
    check(&world, "chunks deleted", &[&session, "reason=superseded", "files="]);
    assert!(!world.log().contains("otter"), "no text of a conversation");
}
