//! The actors that exist once, killed while the daemon runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{Metadata, Position, SequenceNumber, StreamId, Timestamp};
use baton_events::envelope::{NewRecord, StoredRecord, Tail};
use ractor::{ActorCell, ActorId};
use tokio::sync::watch;

use super::{Log, Options, System};
use baton_base::clock::{Clock, ManualClock};
use baton_home::endpoint::Endpoint;

use baton_base::limits;
use baton_base::lock::HomeLock;
use baton_base::transcript_root::Root;
use baton_config::settings::Settings;
use baton_journal::session_table::TableFold;
use baton_journal::{DiskJournal, Fold, Journal, MemoryJournal};

const DEADLINE: Duration = Duration::from_secs(60);

struct World {
    temp: tempfile::TempDir,
    clock: Arc<ManualClock>,
    system: System,
}

async fn world() -> World {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().join("home");
    let (fold, table) = TableFold::new();
    let clock = Arc::new(ManualClock::new(Timestamp(1_790_000_000_000)));
    let options = Options {
        home: home.clone(),
        roots: vec![Root::claude_code(&temp.path().join("claude"))],
        settings: watch::channel(Arc::new(Settings::default())).1.into(),
        clock: clock.clone(),
        version: "test".to_owned(),
    };
    let log = Log { journal: Arc::new(MemoryJournal::new(Box::new(fold))), table, problem: None };
    let system = System::start_on(options, HomeLock::acquire(&home).unwrap(), log).await.unwrap();
    World { temp, clock, system }
}

/// Kills an actor and waits until another replaces it. Returns `false` if `instead` becomes true first.
async fn tear(actor: impl Fn() -> Option<ActorCell>, instead: impl Fn() -> bool) -> bool {
    let torn = actor().unwrap();
    let id: ActorId = torn.get_id();
    torn.kill();
    let replaced = async {
        loop {
            if actor().is_some_and(|actor| actor.get_id() != id) {
                return true;
            }
            if instead() {
                return false;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, replaced).await.expect("the supervisor decides")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_is_torn_away_is_made_anew_and_then_left_alone_for_a_while() {
    let World { system, clock, .. } = &world().await;
    let parts = system.parts();
    let is_degraded = || !parts.degraded.now().is_empty();
    for round in 0..limits::RESTARTS {
        parts.watcher.actor().unwrap().kill();
        // Callers in between are answered by the successor.
        assert!(parts.watcher.refresh().await.is_ok(), "round {round}");
    }
    assert!(!tear(|| parts.watcher.actor(), is_degraded).await);
    assert_eq!(parts.degraded.now().len(), 1);
    assert!(parts.watcher.refresh().await.is_err());
    assert!(!*parts.stop.borrow(), "without it the daemon goes on");
    clock.advance(limits::RESTART_WINDOW);
    let mut degraded = parts.degraded.clone();
    let mended = tokio::time::timeout(DEADLINE, degraded.wait_for(Vec::is_empty)).await;
    assert!(mended.is_ok_and(|mended| mended.is_ok()));
    assert!(parts.watcher.refresh().await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_indexer_that_is_torn_away_gives_its_memory_to_the_next() {
    let World { system, .. } = &world().await;
    let parts = system.parts();
    for round in 1..=limits::RESTARTS as u64 {
        assert!(tear(|| parts.indexer.actor(), || false).await);
        // An event of no session, which the memory only has to pass.
        let new = NewRecord {
            kind: "nothing".to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: "{}".to_owned(),
        };
        let appended = parts.journal.append(StreamId::home(), SequenceNumber(round - 1), vec![new]).await.unwrap();
        let covered = parts.indexer.caught_up(appended.last, DEADLINE).await;
        assert_eq!(covered, Ok(appended.last), "round {round}");
        assert_eq!(parts.indexer.memory_state(), (appended.last, None), "round {round}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_torn_away_listens_again_and_if_it_cannot_the_daemon_ends() {
    let World { system, temp, .. } = &world().await;
    let parts = system.parts();
    let endpoint = Endpoint::for_home(&temp.path().join("home"));
    let stops = || *parts.stop.borrow();
    for round in 0..limits::RESTARTS {
        assert!(tear(|| system.gateway.actor(), stops).await, "round {round}");
        let connected = tokio::net::UnixStream::connect(endpoint.path()).await;
        assert!(connected.is_ok(), "round {round}: {connected:?}");
    }
    assert!(!tear(|| system.gateway.actor(), stops).await);
    let asked = tokio::time::timeout(DEADLINE, system.stop_asked()).await;
    assert!(asked.is_ok(), "nobody could be answered any more");
}

/// A session table that panics on one record.
struct Breaking(TableFold, Position);

impl Fold for Breaking {
    fn apply(&mut self, record: &StoredRecord) {
        assert!(record.position < self.1, "broken on purpose");
        self.0.apply(record);
    }

    fn publish(&mut self, tail: Tail) {
        self.0.publish(tail);
    }
}

async fn on_disk(temp: &tempfile::TempDir, breaks_at: Position) -> (System, Arc<DiskJournal>) {
    let home = temp.path().join("home");
    let lock = HomeLock::acquire(&home).unwrap();
    let (fold, table) = TableFold::new();
    let clock = Arc::new(ManualClock::new(Timestamp(1_790_000_000_000)));
    let journal = baton_journal::Options::new(home.join("log"), clock.now());
    let journal = Arc::new(DiskJournal::open(journal, Box::new(Breaking(fold, breaks_at))).unwrap());
    let options = Options {
        home,
        roots: vec![Root::claude_code(&temp.path().join("claude"))],
        settings: watch::channel(Arc::new(Settings::default())).1.into(),
        clock,
        version: "test".to_owned(),
    };
    let log = Log { journal: journal.clone(), table, problem: None };
    (System::start_on(options, lock, log).await.unwrap(), journal)
}

fn of_nothing() -> NewRecord {
    let (metadata, data) = (Metadata::default(), "{}".to_owned());
    NewRecord { kind: "nothing".to_owned(), v: 1, at: Timestamp(0), metadata, data }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_whose_log_breaks_is_to_end_with_the_reason() {
    let temp = tempfile::tempdir().unwrap();
    let (system, journal) = on_disk(&temp, Position(1)).await;
    journal.append(StreamId::recorded("nothing"), SequenceNumber(0), vec![of_nothing()]).await.unwrap_err();
    let reason = tokio::time::timeout(DEADLINE, system.lost()).await.expect("it is noticed");
    assert!(reason.contains("panicked"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_whose_home_is_moved_is_to_end_with_the_reason() {
    let temp = tempfile::tempdir().unwrap();
    let (system, _journal) = on_disk(&temp, Position(u64::MAX)).await;
    std::fs::rename(temp.path().join("home"), temp.path().join("elsewhere")).unwrap();
    let reason = tokio::time::timeout(DEADLINE, system.lost()).await.expect("it is noticed");
    assert!(reason.contains("was moved"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_was_lost_is_built_anew_while_the_daemon_runs() {
    let temp = tempfile::tempdir().unwrap();
    let (system, journal) = on_disk(&temp, Position(u64::MAX)).await;
    journal.append(StreamId::recorded("nothing"), SequenceNumber(0), vec![of_nothing()]).await.unwrap();
    journal.lose_index();
    assert!(journal.stats().index_lost && journal.stats().problem.is_some());
    let rebuilt = async {
        while journal.stats().index_lost {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, rebuilt).await.expect("upkeep does it");
    assert_eq!(journal.stats().problem, None);
    drop(system.stop().await);
}

/// Waits until the task start counts satisfy `holds`.
async fn until(system: &System, holds: impl Fn(&BTreeMap<&'static str, u32>) -> bool) {
    let holding = async {
        while !holds(&system.tasks.running()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(DEADLINE, holding).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_that_panics_is_started_anew() {
    let world = world().await;
    let tasks = [
        "backlog",
        "configuration",
        "embedder",
        "enricher",
        "handoffs",
        "newer_version",
        "nudges",
        "outage",
        "page",
        "relay",
        "rereading",
        "roots",
        "session_states",
        "spool",
        "timer",
        "upkeep",
        "vault",
        "vitals",
    ];
    // One-time tasks have returned by then.
    until(&world.system, |running| running.keys().copied().eq(tasks)).await;
    for task in tasks {
        world.system.tasks.break_task(task);
    }
    until(&world.system, |running| tasks.iter().all(|task| running.get(task) == Some(&2))).await;
    // A task that is told to stop still does.
    world.system.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_keeps_failing_ends_the_daemon_with_the_reason() {
    let world = world().await;
    let starts = u32::try_from(limits::RESTARTS).unwrap() + 1;
    for start in 1..=starts {
        until(&world.system, |running| running.get("upkeep") == Some(&start)).await;
        world.system.tasks.break_task("upkeep");
    }
    let reason = tokio::time::timeout(DEADLINE, world.system.lost()).await.expect("in time");
    assert_eq!(reason, "its task upkeep keeps failing");
}
