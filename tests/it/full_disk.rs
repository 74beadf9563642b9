//! A full or read-only disk: acknowledged data stays, reads work, each refusal says what to do, and once there is room
//! everything continues by itself.
//!
//! Where mounting is allowed (root), this runs on a real small file system, in a mount namespace of its own:
//! [`on_a_small_file_system`] runs the tests of [`mounted`] there. The other tests run everywhere, with a daemon that
//! cannot enlarge its files.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

use crate::record::Log;
use crate::transcript::Transcript;
use crate::world::{World, files_below, id, list, skipped, text, wait};

/// Maximum number of lines that a daemon may log about one outage of some seconds.
const LINES: usize = 60;

/// Adds a session that is known and closed; returns its transcript and its episode.
fn with_a_session(world: &World) -> (Transcript, String) {
    let mut transcript = world.transcript("-work-one", &id(1));
    transcript.prompt("the wolverine was there before").reply("it was");
    let uuid = world.close(&id(1));
    assert_eq!(world.found("wolverine"), [id(1)]);
    (transcript, uuid)
}

/// Asserts that a daemon that cannot write still reads, and that its refusals contain `expected`.
fn check_reads(world: &World, uuid: &str, expected: &str) {
    assert_eq!(world.found("wolverine"), [id(1)], "{}", world.log());
    assert_eq!(world.show(&id(1))["episode"]["uuid"], *uuid);
    assert!(world.sessions().iter().any(|row| row["session_id"] == *id(1)));
    let closed = world.close_fails(&[&id(1)]);
    let message = text(&closed["message"]);
    assert!(message.contains("nothing was recorded") && message.contains(expected), "{message}");
    let missed = world.search("badger");
    assert_eq!(missed["hits"], Value::Array(Vec::new()), "not recorded, not found: {missed}");
    let fresh = &missed["freshness"];
    assert!(fresh["pending"].as_u64() >= Some(1), "the answer says that it lacks something: {missed}");
    let note = text(&fresh["note"]);
    assert!(note.contains("cannot be recorded") && note.contains(expected), "{note}");
    let human = world.ok(&["search", "badger"]);
    assert!(human.err.contains(expected), "{}", human.err);
    let refused = world.run(&["session-tracking", "disable"]);
    assert!(refused.code == 1 && refused.err.contains("config.json cannot be written"), "{}", refused.err);
    world.ok(&["status"]);
}

/// Asserts the state after there is room again: nothing acknowledged is lost, missed work is done, and no temporary
/// files are left.
fn check_recovered(world: &World, uuid: &str) {
    assert!(wait(|| world.found("badger") == [id(1)]), "taken up by itself: {}", world.log());
    assert_eq!(world.found("ferret"), [id(2)], "{}", world.log());
    assert_ne!(world.close(&id(1)), uuid);
    assert_eq!(world.found("wolverine"), [id(1)]);
    world.ok(&["session-tracking", "disable"]);
    world.ok(&["session-tracking", "enable"]);
    let leftovers = || {
        let is_temporary = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(".tmp") || name.starts_with("tmp-")
        };
        files_below(world.home()).into_iter().filter(|path| is_temporary(path)).collect::<Vec<_>>()
    };
    assert!(wait(|| leftovers().is_empty()), "{:?}", leftovers());
    let told = world.log().lines().filter(|line| line.contains("ERROR") || line.contains("WARN")).count();
    assert!(told <= LINES, "{told} lines about it: {}", world.log());
    world.stop();
    Log::of(world);
    // After a restart nothing needs a manual repair.
    assert_eq!(world.found("badger"), [id(1)]);
    world.stop();
}

/// The session continues and another one starts while nothing can be written.
fn meanwhile(world: &World, transcript: &mut Transcript) {
    transcript.prompt("the badger came when there was no room");
    world.transcript("-work-one", &id(2)).prompt("so did the ferret").reply("yes");
}

/// Limits the size of the daemon's files, as on a full disk; `None` removes the limit.
#[cfg(target_os = "linux")]
pub(crate) fn limit_files(daemon: Pid, bytes: Option<u64>) {
    let hard = rustix::process::getrlimit(Resource::Fsize).maximum;
    prlimit(Some(daemon), Resource::Fsize, Rlimit { current: bytes.or(hard), maximum: hard }).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_can_write_no_more_serves_reads_and_goes_on_by_itself() {
    let world = World::new().run_by(&["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
    let (mut transcript, uuid) = with_a_session(&world);
    let daemon = world.daemon().unwrap();
    limit_files(daemon, Some(1));
    meanwhile(&world, &mut transcript);
    check_reads(&world, &uuid, "free space");
    assert_eq!(world.daemon(), Some(daemon), "the same daemon");
    limit_files(daemon, None);
    check_recovered(&world, &uuid);
}

/// Runs the tests of [`mounted`] if mounting is allowed.
#[test]
fn on_a_small_file_system() {
    if !run_where_mounting_is_allowed("full_disk::mounted::", 5) {
        skipped("a small file system may not be mounted here; a limit of the process stands in for it");
    }
}

/// Runs the ignored tests below `tests`, of which there must be `expected`, in a mount namespace of their own. Returns
/// false if mounting is not allowed.
pub(crate) fn run_where_mounting_is_allowed(tests: &str, expected: usize) -> bool {
    let place = tempfile::tempdir().unwrap();
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(place.path())
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return false;
    }
    let ran = Command::new("unshare")
        .arg("-m")
        .arg(std::env::current_exe().unwrap())
        .args([tests, "--ignored", "--nocapture", "--test-threads", "2"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    assert!(told.contains(&format!("{expected} passed")), "{told}");
    true
}

/// Like [`run_where_mounting_is_allowed`], for file systems that do not answer.
pub(crate) fn run_where_hung_may_be_mounted(tests: &str, expected: usize) {
    if !Path::new("/dev/fuse").exists() || !run_where_mounting_is_allowed(tests, expected) {
        skipped("a file system that does not answer may not be mounted here");
    }
}

/// A file system without a server, mounted until this is dropped.
pub(crate) struct Hung {
    pub(crate) at: PathBuf,
    server: Option<File>,
}

impl Hung {
    pub(crate) fn mount(at: PathBuf) -> Self {
        fs::create_dir_all(&at).unwrap();
        let server = OpenOptions::new().read(true).write(true).open("/dev/fuse").unwrap();
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other";
        let mut mount = Command::new("mount");
        mount.args(["-i", "-n", "-t", "fuse", "-o", options, "none"]).arg(&at);
        let ran = mount.stdin(Stdio::from(server.try_clone().unwrap())).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        Self { at, server: Some(server) }
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Waiting calls now fail, because the server is gone.
        drop(self.server.take());
        let _ = Command::new("umount").args(["-l", "-n"]).arg(&self.at).output();
    }
}

/// Remounts `at` read-only or writable.
pub(crate) fn read_only(at: &Path, is: bool) {
    let how = if is { "remount,ro" } else { "remount,rw" };
    // A process that another test has just forked may hold our files open until it executes its program.
    let done = || Command::new("mount").args(["-o", how]).arg(at).output().unwrap().status.success();
    assert!(wait(done), "{how}");
}

/// Tests on file systems of their own; the mounts go with the mount namespace of each test.
mod mounted {
    use super::*;

    fn mount(arguments: &[&str], at: &Path) {
        std::fs::create_dir_all(at).unwrap();
        let ran = Command::new("mount").args(arguments).arg(at).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    fn small(at: &Path) {
        mount(&["-t", "tmpfs", "-o", "size=8m,mode=700", "none"], at);
    }

    /// Fills the file system.
    fn fill(at: &Path) {
        use std::io::Write;
        let mut file = std::fs::File::create(at.join("filler")).unwrap();
        while file.write(&[b'x'; 4096]).is_ok_and(|written| written > 0) {}
    }

    fn clear(at: &Path) {
        std::fs::remove_file(at.join("filler")).unwrap();
    }

    #[test]
    #[ignore = "run by on_a_small_file_system"]
    fn a_full_disk() {
        let world = World::new();
        small(world.home());
        let (mut transcript, uuid) = with_a_session(&world);
        fill(world.home());
        meanwhile(&world, &mut transcript);
        check_reads(&world, &uuid, "free space");
        // A daemon that starts there serves reads too.
        world.ok(&["stop"]);
        check_reads(&world, &uuid, "free space");
        clear(world.home());
        check_recovered(&world, &uuid);
    }

    #[test]
    #[ignore = "run by on_a_small_file_system"]
    fn a_disk_that_turns_read_only() {
        let world = World::new();
        small(world.home());
        let (mut transcript, uuid) = with_a_session(&world);
        world.stop();
        read_only(world.home(), true);
        for arguments in [&["search", "wolverine"][..], &["status"], &["daemon"], &["daemon", "--foreground"]] {
            let ran = world.run(arguments);
            assert_eq!(ran.code, 1, "{arguments:?}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains("writable again"), "{arguments:?}: {}", ran.err);
        }
        let told = world.run(&["status", "--json"]);
        let object: Value = serde_json::from_str(told.err.trim()).unwrap();
        assert!(text(&object["error"]["message"]).contains("writable again"), "{object}");
        // Commands that only read the log need no room.
        for arguments in [["log", "stats"], ["log", "tail"]] {
            let ran = world.run(&arguments);
            assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.err);
        }
        read_only(world.home(), false);
        meanwhile(&world, &mut transcript);
        check_recovered(&world, &uuid);
    }

    #[test]
    #[ignore = "run by on_a_small_file_system"]
    fn a_memory_without_room() {
        let world = World::new();
        let (mut transcript, _) = with_a_session(&world);
        world.stop();
        let memory = world.home().join("memory");
        std::fs::remove_dir_all(&memory).unwrap();
        small(&memory);
        read_only(&memory, true);
        // The memory cannot even be opened: everything else works, and a search says what is missing.
        let none = world.run(&["search", "wolverine"]);
        assert!(none.code == 1 && none.err.contains("writable again"), "{}", none.err);
        world.show(&id(1));
        transcript.prompt("the badger is stored all the same").reply("yes");
        assert!(world.problems().contains("writable again"), "{}", world.problems());
        read_only(&memory, false);
        assert!(wait(|| world.run(&["search", "badger"]).code == 0), "{}", world.log());
        assert_eq!(world.found("badger"), [id(1)], "{}", world.log());
        // The disk fills up while the memory is open: it reports that, serves what it has, and catches up once there is
        // room.
        fill(&memory);
        transcript.prompt("the ferret has no room");
        let missed = world.search("ferret");
        assert!(text(&missed["freshness"]["note"]).contains("free space"), "{missed}");
        assert_eq!(world.found("badger"), [id(1)], "{}", world.log());
        let problems = world.problems();
        assert!(problems.contains("memory does not follow") && problems.contains("free space"), "{problems}");
        clear(&memory);
        assert!(wait(|| world.found("ferret") == [id(1)]), "{}", world.log());
        assert!(!world.problems().contains("does not follow"), "{}", world.problems());
        let told = world.log().lines().filter(|line| line.contains("does not follow")).count();
        assert!((2..=6).contains(&told), "told once when it begins and once when it is over: {}", world.log());
    }

    #[test]
    #[ignore = "run by on_a_small_file_system"]
    fn conversations_without_room() {
        let world = World::new();
        let (mut transcript, uuid) = with_a_session(&world);
        let blobs = world.home().join("blobs");
        let kept = world.path("kept");
        crate::world::copy(&blobs, &kept);
        small(&blobs);
        crate::world::copy(&kept, &blobs);
        fill(&blobs);
        transcript.prompt("the badger cannot be stored").reply("no");
        let closed = world.close_fails(&[&id(1)]);
        assert!(text(&closed["message"]).contains("free space"), "{closed}");
        assert_eq!(world.show(&id(1))["episode"]["uuid"], *uuid, "the last one serves");
        for number in 10..30 {
            world.transcript("-work-many", &id(number)).minutes_ago(90).prompt("one of many martens").reply("yes");
        }
        let missed = world.json(&["search", "martens", "--no-wait"]);
        assert_eq!(list(&missed["hits"]).len(), 0, "{missed}");
        assert!(world.problems().contains("conversations cannot be stored"), "{}", world.problems());
        clear(&blobs);
        world.close(&id(1));
        assert_eq!(world.found("badger"), [id(1)]);
        assert!(wait(|| !world.problems().contains("conversations cannot be stored")), "{}", world.problems());
        world.stop();
        Log::of(&world);
    }

    #[test]
    #[ignore = "run by on_a_small_file_system"]
    fn a_first_start_without_room() {
        let world = World::new();
        small(world.home());
        fill(world.home());
        world.transcript("-work-one", &id(1)).prompt("the wolverine waits").reply("yes");
        let ran = world.run(&["search", "wolverine"]);
        assert!(ran.err.contains("free space"), "{}{}", ran.out, ran.err);
        clear(world.home());
        assert!(wait(|| world.run(&["search", "wolverine"]).code == 0), "{}", world.log());
        assert!(wait(|| world.found("wolverine") == [id(1)]), "{}", world.log());
    }
}
