//! `session_states.json`: the session table for people and scripts that do not ask the daemon. Baton never reads it.
//!
//! `{"version":1,"written_at":TIME,"position":N,"sessions":[ROW…]}`: the rows of `baton sessions --json` (without
//! subagents and titles) in the same order, as of a position in the log. Readable by its owner only; replaced
//! atomically. Written when the daemon starts, after a change of the table or the configuration but at most every ten
//! seconds (less often if writing takes long), and at the end. A failed write is retried.
//!
//! # Decisions
//!
//! - It holds the rows of `sessions --json`, so no subagents, but no titles: these come from the memory, which may not be
//!   there yet. The first write after a start may lag by ten seconds.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_base::task::Task;
use baton_protocol::answer::Row;
use serde::{Serialize, Serializer};
use tokio::sync::watch;

use crate::listing::SessionRows;
use baton_base::clock::Clock;
use baton_base::condition::Condition;
use baton_base::latest::Latest;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::{durable, limits};
use baton_views::catalog::Catalog;

/// File name, in the home.
pub const FILE: &str = "session_states.json";

/// The condition reported while it cannot be written.
const TROUBLE: &str = "session_states.json cannot be written";

/// Version of the format.
const VERSION: u32 = 1;

/// Least time between two writes.
const PAUSE: Duration = Duration::from_secs(10);

/// Pause between writes as a multiple of the last write's duration: writing takes 2 % of the time at most.
const SHARE: u32 = 50;

/// Delay before a failed write is retried.
const AGAIN: Duration = Duration::from_secs(30);

#[derive(Serialize)]
struct Export<I: Iterator<Item = Row>> {
    version: u32,
    written_at: String,
    position: u64,
    #[serde(serialize_with = "one_after_another")]
    sessions: Cell<Option<I>>,
}

/// Serialises rows as they are made: all of them together may take hundreds of megabytes.
fn one_after_another<I: Iterator<Item = Row>, S: Serializer>(rows: &Cell<Option<I>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(rows.take().into_iter().flatten())
}

/// The file and what is written to it.
pub struct SessionStatesFile {
    path: PathBuf,
    rows: SessionRows,
    clock: Arc<dyn Clock>,
    /// Tells whether the file can be written.
    pub(crate) condition: Condition,
    /// Serialises writes, so that the last one has the newest table.
    writing: Mutex<()>,
}

impl SessionStatesFile {
    /// The file of this home.
    pub fn new(home: &Path, rows: SessionRows, clock: Arc<dyn Clock>) -> Self {
        let condition = Condition::new(TROUBLE);
        Self { path: home.join(FILE), rows, clock, condition, writing: Mutex::default() }
    }

    /// Writes the current state now, because what was forgotten must not stay in the file. The error is the reason.
    pub(crate) async fn write_now(self: &Arc<Self>) -> Result<(), String> {
        let file = self.clone();
        let written = baton_base::task::spawn_blocking(move || file.write()).await;
        written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    fn write(&self) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let table = self.rows.conversations.catalog().table.now();
        let export = Export {
            version: VERSION,
            written_at: self.clock.now().to_string(),
            position: table.position().0,
            sessions: Cell::new(Some(self.rows.list(&table, 0, |_, state| !state.is_subagent()))),
        };
        durable::write_file_with(&self.path, |file| {
            serde_json::to_writer_pretty(&mut *file, &export)?;
            file.write_all(b"\n")
        })
    }
}

/// Keeps the file up to date; stopped by [`Exporter::finish`].
pub struct Exporter {
    finish: watch::Sender<bool>,
    task: Task<()>,
}

impl Exporter {
    /// Starts the task.
    pub fn start(file: Arc<SessionStatesFile>, tasks: &TaskSupervisor) -> Self {
        let (finish, finished) = watch::channel(false);
        let task = tasks.spawn("session_states", move || {
            let (Catalog { table, settings, .. }, file) = (file.rows.conversations.catalog().clone(), file.clone());
            keep(table, settings, finished.clone(), async move || {
                match file.write_now().await {
                    Ok(()) => file.condition.succeeded(),
                    Err(problem) => file.condition.failed(&problem),
                }
                file.condition.reason().is_none()
            })
        });
        Self { finish, task }
    }

    /// Writes pending changes, and ends.
    pub async fn finish(self) {
        self.finish.send_replace(true);
        if tokio::time::timeout(limits::DRAIN, self.task).await.is_err() {
            tracing::warn!(file = FILE, "session table not exported in time");
        }
    }
}

/// Writes at once, then after a change of either value, at most every [`PAUSE`], and at the end if something changed.
/// `write` returns false on failure, which counts as a change.
async fn keep<A, B>(
    mut table: Latest<A>,
    mut settings: Latest<B>,
    mut finish: watch::Receiver<bool>,
    mut write: impl AsyncFnMut() -> bool,
) {
    loop {
        table.mark_seen();
        settings.mark_seen();
        let began = tokio::time::Instant::now();
        let done = write().await;
        let pause = PAUSE.max(began.elapsed() * SHARE);
        tokio::select! {
            _ = finish.wait_for(|finish| *finish) => break,
            () = tokio::time::sleep(if done { pause } else { AGAIN }) => {}
        }
        if !done {
            continue;
        }
        let changed = async {
            tokio::select! {
                changed = table.changed() => changed.is_ok(),
                changed = settings.changed() => changed.is_ok(),
            }
        };
        tokio::select! {
            _ = finish.wait_for(|finish| *finish) => break,
            goes_on = changed => if !goes_on { return },
        }
    }
    if table.has_changed() || settings.has_changed() {
        write().await;
    }
}

#[cfg(test)]
mod tests {

    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    struct World {
        table: watch::Sender<u32>,
        settings: watch::Sender<u32>,
        finish: watch::Sender<bool>,
        written: Arc<AtomicU32>,
        failing: Arc<AtomicBool>,
        task: Task<()>,
    }

    fn world() -> World {
        let (table, of_table) = watch::channel(0);
        let (settings, of_settings) = watch::channel(0);
        let (finish, finished) = watch::channel(false);
        let written = Arc::new(AtomicU32::new(0));
        let (count, failing) = (written.clone(), Arc::new(AtomicBool::new(false)));
        let fails = failing.clone();
        let task = baton_base::task::spawn(keep(of_table.into(), of_settings.into(), finished, async move || {
            count.fetch_add(1, Ordering::Relaxed);
            !fails.load(Ordering::Relaxed)
        }));
        World { table, settings, finish, written, failing, task }
    }

    impl World {
        /// Lets time pass; returns how often the file was written by then.
        async fn after(&self, seconds: u64) -> u32 {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            self.written.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_written_when_something_has_changed_and_not_more_often_than_said() {
        let world = world();
        assert_eq!(world.after(1).await, 1, "at the start");
        assert_eq!(world.after(3_600).await, 1, "nothing has changed");
        for _ in 0..15 {
            world.table.send_modify(|table| *table += 1);
            world.after(1).await;
        }
        assert_eq!(world.after(0).await, 3, "at once, and once more within 15 s");
        assert_eq!(world.after(3_600).await, 4, "the last change too");
        world.settings.send_modify(|settings| *settings += 1);
        assert_eq!(world.after(1).await, 5, "the switches stand in it");
        world.table.send_modify(|table| *table += 1);
        world.finish.send_replace(true);
        world.task.await.unwrap();
        assert_eq!(world.written.load(Ordering::Relaxed), 6, "what has changed before the end");
    }

    #[tokio::test(start_paused = true)]
    async fn what_could_not_be_written_is_tried_again_and_not_often() {
        let world = world();
        world.failing.store(true, Ordering::Relaxed);
        world.table.send_modify(|table| *table += 1);
        let before = world.after(11).await;
        let tries = world.after(600).await - before;
        assert!((15..=20).contains(&tries), "{tries}");
        world.failing.store(false, Ordering::Relaxed);
        let before = world.after(60).await;
        assert_eq!(world.after(3_600).await, before, "it is there now");
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_without_a_change_writes_nothing() {
        let world = world();
        assert_eq!(world.after(60).await, 1);
        world.finish.send_replace(true);
        world.task.await.unwrap();
        assert_eq!(world.written.load(Ordering::Relaxed), 1);
    }
}
