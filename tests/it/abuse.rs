//! Abuse of the socket, by mistake or on purpose: every offender gets an answer or is disconnected, other clients are
//! not affected, and the daemon retains neither memory nor connections for it.

mod crowds;
mod floods;
mod noise;
mod requests;
mod strangers;

use crate::world::{World, id, text, wait};

/// Maximum memory growth of the daemon, in KB: what its allocator keeps, and what its limits allow it to hold.
const GROWTH_KB: u64 = 160 * 1024;
/// Maximum growth in open files of a daemon without clients: searching opens some.
const FILES: usize = 24;

/// A running daemon, and its resource usage before the abuse.
struct Abused {
    world: World,
    memory_kb: u64,
    files: usize,
}

impl Abused {
    fn new() -> Self {
        let world = World::new();
        world.transcript("-work-one", &id(1)).prompt("the unmoved sloth");
        assert_eq!(world.found("sloth"), [id(1)]);
        let mut new = Self { world, memory_kb: 0, files: 0 };
        (new.memory_kb, new.files) = (new.memory(), new.open_files());
        new
    }

    /// Asserts that another client is still served.
    fn serves(&self) {
        assert_eq!(self.world.found("sloth"), [id(1)], "{}", self.world.log());
    }

    /// Asserts that the abuse left no resources in use and broke nothing.
    fn check(&self) {
        self.serves();
        let grown = self.memory().saturating_sub(self.memory_kb);
        assert!(grown < GROWTH_KB, "{grown} KB more than before");
        let left = wait(|| self.open_files() <= self.files + FILES);
        assert!(left, "{} open files, {} before", self.open_files(), self.files);
        let log = self.world.log();
        assert!(!log.contains("panic"), "{log}");
        assert!(log.lines().count() < 2_000, "{} lines in the log", log.lines().count());
    }

    fn process(&self) -> String {
        format!("/proc/{}", self.world.daemon().expect("a daemon").as_raw_nonzero())
    }

    /// Resident memory of the daemon in KB; zero where the system does not report it.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("{}/status", self.process())).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        resident.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
    }

    fn open_files(&self) -> usize {
        std::fs::read_dir(format!("{}/fd", self.process())).map_or(0, Iterator::count)
    }

    /// Number of events in the log.
    fn events(&self) -> u64 {
        self.world.json(&["log", "stats"])["events"].as_u64().expect("a number")
    }
}

/// The error code of a refusal.
fn code(answer: &serde_json::Value) -> i64 {
    let message = text(&answer["error"]["message"]);
    assert!(!message.is_empty() && message.len() < 10_000, "{} bytes", message.len());
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}
