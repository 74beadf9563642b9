//! The vault: notes on disk, written from the results of sessions, which a person may edit.
//!
//! The vault is a projection of the log that respects edits. After a session ends, its notes are written in the
//! background: what is owed follows from the session table and the register, so a restart loses nothing, and writing
//! the same notes twice changes nothing. Closing a session, calling a hook and asking a question never wait for it.
//!
//! | module | holds |
//! |---|---|
//! | `vault_fs` | the vault as files: reading, writing, locking, walking |
//! | `register` | what was written for each session and project |
//! | `index` | the names that notes have |
//! | `owed_sessions` | the sessions whose notes lack something |
//! | `open_vault` | the vault that is written to, with its register, outbox and index |
//! | `write_session` | writes one session into its notes |
//! | `compaction` | moves what a long or old note knows into notes of entities |
//! | `outbox` | finished notes that the vault did not accept yet |
//! | `sync_round` | writes what is owed at once; checks every note once a day (`sweep`); compacts on request (`compact`) |
//! | `promotion` | shares the notes of entities that several projects recall |
//! | `predecessors` | the sessions that a session continues |
//! | `forgetting` | removes sessions from every note |
//! | `relocated` | every place that notes were written to, and which of them were moved |
//! | `reader` | reads one note; checks all |
//! | `status` | the state of the vault, for `status` |
//! | `faults` | what tests of a whole system break on purpose |

mod compaction;
#[cfg(feature = "faults")]
pub mod faults;
mod forgetting;
mod index;
mod open_vault;
mod outbox;
mod owed_sessions;
mod predecessors;
mod promotion;
mod reader;
mod register;
mod relocated;
mod status;
mod sync_round;
mod vault_fs;
mod write_session;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_base::clock::Clock;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::throttle::Throttle;
use baton_config::settings::SettingsReader;
use baton_conversation::record::{SessionId, Timestamp};
use baton_journal::session_table::TableReader;
use baton_memos::Memos;
use baton_protocol::answer;
use baton_store::chunks::ChunkStore;
use baton_views::conversation::Conversations;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use baton_base::limits;
use forgetting::OwedRemovals;
use open_vault::Vaults;
use vault_fs::Refused;

pub use reader::ReadError;
pub use status::{Progress, pluralize, sessions_waiting};
use sync_round::SweepError;
pub use sync_round::SyncRequest;

/// How long changes of the table are gathered before the next look.
const GATHER: Duration = Duration::from_millis(100);
/// Interval between attempts at a vault that refuses.
const RETRY_REFUSED: Duration = Duration::from_secs(3);
/// Longest wait for the vault's lock, which is held for one group of sessions, or longer on a disk that hangs.
const LOCK_WAIT: Duration = Duration::from_secs(60);
/// Time limit for a group of sessions; beyond it the vault's disk counts as unresponsive.
const DISK_WAIT: Duration = Duration::from_secs(if cfg!(feature = "faults") { 5 } else { 120 });
/// How long a group of sessions keeps its permit for background work.
const PERMIT_TIME: Duration = Duration::from_secs(5);
/// Interval between sweeps over all notes, in milliseconds.
const SWEEP_EVERY_MS: i64 = 24 * 3_600_000;
/// Interval between attempts at a sweep that fails although the vault accepts notes, in milliseconds.
const SWEEP_RETRY_MS: i64 = 3_600_000;
/// Delay before notes that could not be written are tried again; doubles up to [`RETRY_LEFT_ALONE_MOST`].
const RETRY_LEFT_ALONE: Duration = Duration::from_secs(5);
/// Delay before forgotten sessions are again removed from a vault that was unreachable; doubles up to
/// [`RETRY_REMOVAL_MOST`].
const RETRY_REMOVAL: Duration = Duration::from_secs(3);
/// Longest delay before forgotten sessions are again removed from a vault that was unreachable: every attempt goes
/// through the reachable vaults as well.
const RETRY_REMOVAL_MOST: Duration = Duration::from_secs(600);
/// See [`RETRY_LEFT_ALONE`].
const RETRY_LEFT_ALONE_MOST: Duration = Duration::from_secs(3_600);
/// Number of single notes read at once.
const READERS: usize = 2;

/// What a vault needs from the rest of the daemon.
#[derive(Clone)]
pub struct Options {
    /// The home directory.
    pub home: PathBuf,
    /// The settings, with the vault's path.
    pub settings: SettingsReader,
    /// The session table.
    pub table: TableReader,
    /// Time source.
    pub clock: Arc<dyn Clock>,
    /// Conversations in chunks.
    pub chunks: Arc<ChunkStore>,
    /// Reads conversations and their digests.
    pub conversations: Arc<Conversations>,
    /// Records which entities were recalled.
    pub memos: Memos,
    /// Background work yields to foreground work through this.
    pub throttle: Throttle,
    /// Restarts the vault's task if it panics.
    pub tasks: TaskSupervisor,
    /// Becomes `true` when the daemon stops.
    pub stop: watch::Receiver<bool>,
}

/// Writes the notes of a home. Shared by all parts that need them.
pub struct NoteWriter {
    options: Arc<Options>,
    vaults: Arc<AsyncMutex<Vaults>>,
    /// Notified when the background task has something to do.
    wake: Notify,
    /// True while notes of forgotten sessions may still exist.
    removal_owed: AtomicBool,
    /// Note folders that were moved away and contain forgotten sessions if they return.
    away: watch::Sender<Vec<PathBuf>>,
    /// Limits the looks at these folders to one.
    looks_away: relocated::SingleLook,
    /// Limits the threads that read single notes, should the disk hang.
    readers: Arc<Semaphore>,
    last_known: Mutex<status::LastKnown>,
}

/// A removal in progress, which clears the flag `owed`. Unless it is marked done, dropping it sets the flag again. A
/// flag set by others meanwhile stays set.
struct Removal<'a> {
    owed: &'a AtomicBool,
    is_done: bool,
}

impl<'a> Removal<'a> {
    fn begin(owed: &'a AtomicBool) -> Self {
        owed.store(false, Ordering::Relaxed);
        Self { owed, is_done: false }
    }

    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.owed.store(true, Ordering::Relaxed);
        }
    }
}

impl NoteWriter {
    /// Opens the vault of a home. Nothing is written before [`NoteWriter::start`]. Blocks for short reads.
    pub fn new(options: Options) -> Self {
        let vaults = Arc::new(AsyncMutex::new(Vaults::new(&options.home)));
        Self {
            options: Arc::new(options),
            vaults,
            wake: Notify::new(),
            removal_owed: AtomicBool::new(true),
            away: watch::channel(Vec::new()).0,
            looks_away: relocated::SingleLook::default(),
            readers: Arc::new(Semaphore::new(READERS)),
            last_known: Mutex::default(),
        }
    }

    /// Starts the background task, which writes notes as they become due until the daemon stops.
    pub fn start(self: &Arc<Self>) {
        let writer = self.clone();
        self.options.tasks.spawn("vault", move || {
            let (writer, mut stop) = (writer.clone(), writer.options.stop.clone());
            async move {
                tokio::select! {
                    _ = stop.wait_for(|stop| *stop) => {}
                    () = writer.sync_loop() => {}
                    () = writer.watch_away() => {}
                }
            }
        });
    }

    /// Waits until no notes are being written, after the daemon was told to stop. Unwritten notes stay owed.
    pub async fn finish(&self) {
        if timeout(limits::DRAIN, self.vaults.lock()).await.is_err() {
            tracing::warn!("notes were still being written when the daemon stopped");
        }
    }

    /// Runs a round whenever something is due. Returns only when the session table has gone.
    async fn sync_loop(&self) {
        let options = &self.options;
        let (mut table, mut settings) = (options.table.clone(), options.settings.clone());
        let mut not_before = Timestamp(i64::MIN);
        let (mut pause, mut left_at) = (RETRY_LEFT_ALONE, None);
        let (mut removal_pause, mut removal_at) = (RETRY_REMOVAL, None);
        let mut known = None;
        loop {
            table.mark_seen();
            let vault = settings.newest().vault.clone();
            if known.as_ref() != Some(&vault) {
                // Another vault may have notes of sessions that were forgotten while its path was unknown.
                known = Some(vault.clone());
                (removal_pause, removal_at) = (RETRY_REMOVAL, None);
                self.removal_owed.store(true, Ordering::Relaxed);
            }
            // Also while notes are disabled.
            if removal_at.is_none_or(|at| at <= Instant::now()) {
                self.remove_forgotten().await;
                match self.removal_owed.load(Ordering::Relaxed) {
                    true => {
                        removal_at = Some(Instant::now() + removal_pause);
                        removal_pause = (2 * removal_pause).min(RETRY_REMOVAL_MOST);
                    }
                    false => (removal_pause, removal_at) = (RETRY_REMOVAL, None),
                }
            }
            let mut refused = match vault.enabled {
                true => self.run_round(&SyncRequest::default()).await.refused,
                false => None,
            };
            let now = options.clock.now();
            let mut due = if vault.enabled { self.sweep_due().await } else { None };
            due = due.map(|due| due.max(not_before));
            if due.is_some_and(|due| due <= now) && refused.is_none() {
                match self.sweep().await {
                    Ok(()) => {
                        self.last_known().set_stuck(None);
                        continue;
                    }
                    Err(SweepError::Away(problem)) => {
                        self.last_known().set_refusal(Some(problem.clone()));
                        refused = Some(problem);
                    }
                    Err(SweepError::Stuck(problem)) => {
                        self.last_known().set_stuck(Some(problem));
                        not_before = now.plus_ms(SWEEP_RETRY_MS);
                        due = Some(not_before);
                    }
                }
            }
            let is_left = vault.enabled && refused.is_none() && self.has_left_alone().await;
            if !is_left {
                (pause, left_at) = (RETRY_LEFT_ALONE, None);
            }
            // Other events do not postpone it.
            let until = *left_at.get_or_insert_with(|| Instant::now() + pause);
            let again = if refused.is_some() { Some(Instant::now() + RETRY_REFUSED) } else { removal_at };
            let sweep_at = due.filter(|due| *due > now);
            tokio::select! {
                changed = table.changed(), if vault.enabled => match changed {
                    Ok(()) => sleep(GATHER).await,
                    Err(_) => return,
                },
                changed = settings.changed() => if changed.is_err() {
                    return;
                },
                () = self.wake.notified() => {}
                () = sleep_until(again.unwrap_or(until)), if again.is_some() => {}
                () = sleep_until(until), if is_left => {
                    (pause, left_at) = ((2 * pause).min(RETRY_LEFT_ALONE_MOST), None);
                    self.retry_left_alone().await;
                }
                () = options.clock.sleep_until(sweep_at.unwrap_or(now)), if sweep_at.is_some() => {}
            }
        }
    }

    /// Locks the vault; fails after [`LOCK_WAIT`].
    async fn lock_vaults(&self) -> Result<OwnedMutexGuard<Vaults>, Refused> {
        timeout(LOCK_WAIT, self.vaults.clone().lock_owned()).await.map_err(|_| Refused {
            what: "notes have been written for a long time".to_owned(),
            fix: "check that the disk of the vault responds".to_owned(),
        })
    }

    /// Runs work on the disk of the vault, which it locks. Work that hangs keeps the lock until it returns.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Vaults, &Options) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let (mut vaults, options) = (self.lock_vaults().await?, self.options.clone());
        sync_round::wait_for_disk(baton_base::task::spawn_blocking(move || work(&mut vaults, &options))).await?
    }

    fn last_known(&self) -> MutexGuard<'_, status::LastKnown> {
        self.last_known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes sessions from every note, in every vault that the home ever wrote to. On success no note, archive copy
    /// or pending note contains them; otherwise the error says what could not be reached, and the removal is owed.
    /// Returns the paths of files in which text written by people is left.
    pub async fn forget(&self, sessions: &[SessionId]) -> Result<Vec<String>, String> {
        // It is owed until it is done, whatever interrupts it.
        self.removal_owed.store(true, Ordering::Relaxed);
        let forgotten = self.forget_now(sessions).await;
        self.wake.notify_one();
        forgotten
    }

    async fn forget_now(&self, sessions: &[SessionId]) -> Result<Vec<String>, String> {
        let options = &self.options;
        let owed = |refused: Refused| {
            format!("notes still mention it: {refused}; {}, and it is removed by itself", refused.fix)
        };
        let mut vaults = self.lock_vaults().await.map_err(owed)?;
        let removal = Removal::begin(&self.removal_owed);
        let (vault, table, zone) = (options.settings.now().vault.clone(), options.table.now(), options.clock.zone());
        let sessions = sessions.to_vec();
        let forgetting = baton_base::task::spawn_blocking(move || {
            // Includes what could not be reached before.
            let before = forgetting::owed_removals(&vaults, &table, &vault).sessions;
            let all: Vec<SessionId> = before.into_iter().chain(sessions).collect::<BTreeSet<_>>().into_iter().collect();
            let mut away = Vec::new();
            (forgetting::remove_everywhere(&mut vaults, &vault, &table, &all, zone, &mut away), away)
        });
        let (forgotten, away) = sync_round::wait_for_disk(forgetting).await.map_err(owed)?;
        self.away.send_replace(away);
        let forgotten = forgotten?;
        removal.done();
        Ok(forgotten)
    }

    /// Removes sessions from notes that could not be reached when they were forgotten, or that a killed daemon had not
    /// removed yet.
    async fn remove_forgotten(&self) {
        let options = &self.options;
        if !self.removal_owed.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut vaults) = self.lock_vaults().await else { return };
        let removal = Removal::begin(&self.removal_owed);
        let (vault, table, zone) = (options.settings.now().vault.clone(), options.table.now(), options.clock.zone());
        let removing = baton_base::task::spawn_blocking(move || {
            let OwedRemovals { sessions, mut away } = forgetting::owed_removals(&vaults, &table, &vault);
            match sessions.is_empty() {
                true => (true, away),
                // The error goes to callers of `forget` and to `status`, not to the log: it may name a note.
                false => (
                    forgetting::remove_everywhere(&mut vaults, &vault, &table, &sessions, zone, &mut away).is_ok(),
                    away,
                ),
            }
        });
        if let Ok((is_done, away)) = removing.await {
            self.away.send_replace(away);
            if is_done {
                removal.done();
            }
        }
    }

    /// Returns the state of the vault. While notes are being written, it is the last known one.
    pub async fn status(&self) -> answer::Vault {
        let options = &self.options;
        const PATIENCE: Duration = Duration::from_millis(200);
        let vaults = timeout(PATIENCE, self.vaults.clone().lock_owned()).await;
        if let Ok(mut vaults) = vaults {
            let (settings, table) = (options.settings.now(), options.table.now());
            let removal_owed = self.removal_owed.load(Ordering::Relaxed);
            let counting =
                baton_base::task::spawn_blocking(move || status::count(&mut vaults, &settings, &table, removal_owed));
            if let Ok(Ok((counted, away))) = timeout(PATIENCE, counting).await {
                let mut last_known = self.last_known();
                last_known.counted = counted;
                if away.is_some() {
                    // Nothing had to be written since; the next round notices when the vault is back.
                    last_known.set_refusal(away);
                    self.wake.notify_one();
                }
            }
        }
        self.last_known().answer(&options.settings.now(), &options.home)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undone_removal_stays_owed_even_if_another_is_done() {
        let owed = AtomicBool::new(true);
        Removal::begin(&owed).done();
        assert!(!owed.load(Ordering::Relaxed));
        drop(Removal::begin(&owed));
        assert!(owed.load(Ordering::Relaxed));
        let removal = Removal::begin(&owed);
        drop(Removal::begin(&owed));
        removal.done();
        assert!(owed.load(Ordering::Relaxed), "the other removal is not done");
    }
}
