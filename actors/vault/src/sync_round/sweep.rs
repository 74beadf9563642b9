//! The daily sweep over every note: compacts old ones, retries what has failed, and notices what was moved.

use std::time::Instant;

use baton_conversation::record::{SessionId, Timestamp};
use baton_notes::session;
use baton_notes::session::Status;
use baton_notes::threshold;

use super::super::compaction;
use super::super::open_vault::{Note, Vaults, day};
use super::super::register::Entry;
use super::super::vault_fs::Refused;
use super::super::write_session::{SessionWriter, WriteError, thresholds};
use super::super::{NoteWriter, SWEEP_EVERY_MS};
use super::{GROUP_SESSIONS, panicked, wait_with_permit};
use crate::Options;

/// Why a sweep did not finish.
#[derive(Debug)]
pub(crate) enum SweepError {
    /// The vault is unreachable.
    Away(Refused),
    /// The vault is reachable, but something in it is in the way.
    Stuck(Refused),
}

/// The result of checking notes.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) compacted: u64,
    failed: u64,
    retried: u64,
}

impl Checked {
    fn add(&mut self, other: Self) {
        self.compacted += other.compacted;
        self.failed += other.failed;
        self.retried += other.retried;
    }
}

impl NoteWriter {
    /// Returns when the next sweep is due.
    pub(crate) async fn sweep_due(&self) -> Option<Timestamp> {
        let looking = self.on_disk(|vaults, options| {
            // A time in the future came from a wrong clock.
            let now = options.clock.now();
            let (open, _) = vaults.open(&options.settings.now().vault)?;
            let swept = open.register.swept_at().filter(|at| *at <= now.0);
            Ok(swept.map_or(Timestamp(0), |at| Timestamp(at.saturating_add(SWEEP_EVERY_MS))))
        });
        looking.await.ok()
    }

    /// Checks every note: compacts old ones, retries what has failed, and notices what was moved.
    pub(crate) async fn sweep(&self) -> Result<(), SweepError> {
        let options = &self.options;
        let begun = Instant::now();
        let ids = self.list_sessions(true).await.map_err(SweepError::Away)?;
        let mut all = Checked::default();
        for group in ids.chunks(GROUP_SESSIONS) {
            self.yield_to_queries(false).await;
            let mut vaults = self.lock_vaults().await.map_err(SweepError::Stuck)?;
            let permit = options.throttle.wait_for_background().await;
            let (working, group, group_len) = (options.clone(), group.to_vec(), group.len() as u64);
            let checking = baton_base::task::spawn_blocking(move || check_notes(&mut vaults, &working, &group));
            match wait_with_permit(Some(permit), checking).await {
                Ok(checked) => all.add(checked.map_err(SweepError::Stuck)?),
                // A panic on one note must not keep the others from being checked.
                Err(problem) if problem == panicked() => all.failed += group_len,
                Err(problem) => return Err(SweepError::Stuck(problem)),
            }
        }
        let recording = self.on_disk(|vaults, options| {
            let (open, _) = vaults.open(&options.settings.now().vault)?;
            open.register.set_swept_at(options.clock.now().0);
            if let Err(refused) = open.sync() {
                tracing::warn!(problem = %refused, "time of the sweep not recorded");
            }
            Ok(open.take_walks())
        });
        let walks = recording.await;
        tracing::info!(
            notes = ids.len(),
            looks = walks.unwrap_or_default(),
            compacted = all.compacted,
            failed = all.failed,
            retried = all.retried,
            ms = begun.elapsed().as_millis() as u64,
            "notes checked"
        );
        Ok(())
    }

    /// Returns the sessions that have entries. With `rescan`, the vault is walked again and all owed sessions are
    /// determined again.
    pub(super) async fn list_sessions(&self, rescan: bool) -> Result<Vec<SessionId>, Refused> {
        let listing = self.on_disk(move |vaults, options| {
            let (open, _) = vaults.open(&options.settings.now().vault)?;
            open.check(false)?;
            if rescan {
                open.drop_index();
                open.reset_owed();
            }
            open.index()?;
            if rescan {
                compaction::rename_copies(open)?;
            }
            Ok(open.register.entries().map(|(id, _)| id.clone()).collect())
        });
        listing.await
    }
}

/// Checks the notes of some sessions.
pub(crate) fn check_notes(vaults: &mut Vaults, options: &Options, group: &[SessionId]) -> Result<Checked, Refused> {
    let mut checked = Checked::default();
    let (table, settings, today) = (options.table.now(), options.settings.now(), day(&*options.clock));
    let (open, _) = vaults.open(&settings.vault)?;
    open.index()?;
    let _lock = open.vault_fs.lock()?;
    open.relink_entity_notes()?;
    for id in group {
        let Some(entry) = open.register.get(id).cloned() else { continue };
        if entry.removed && open.index_or_default().session_note(id).is_none() {
            continue;
        }
        if entry.left.is_some() {
            // The next round tries it again.
            open.register.update(id, Entry::try_again);
            checked.retried += 1;
            continue;
        }
        if entry.note.is_none() {
            continue;
        }
        // The walk at the start of the sweep has found all notes that were moved or removed.
        let Note::At(path) = open.known_note(id)? else {
            open.register.put(id, Entry { removed: true, ..entry });
            continue;
        };
        open.relink_session_note(id, &path)?;
        let mut entry = Entry { note: Some(path.clone()), removed: false, ..entry };
        let is_due = {
            let text = open.read_text(&path).ok().flatten().unwrap_or_default();
            match session::identity(&text).map(|identity| identity.status) {
                Some(Status::CompactionFailed) => true,
                Some(Status::Active) => threshold::measure(&text, &thresholds(&settings.vault), today).is_over(),
                _ => false,
            }
        };
        if is_due && let Some(row) = table.get(id).cloned() {
            let writer = SessionWriter { options, id, row: &row, stamp: entry.stamp.clone(), today, is_manual: false };
            let folder = writer.project_folder(open, true);
            let compacted = match writer.read_facts(folder) {
                Ok(mut facts) => {
                    writer.choose_names(open, &mut facts, Some(&path));
                    writer.compact_if_due(open, &facts, &path, false, &mut entry)?
                }
                Err(WriteError::Refused(refused)) => return Err(refused),
                Err(WriteError::Unreadable(why)) => {
                    tracing::warn!(session = %id, %why, "note not compacted");
                    None
                }
            };
            let failed = compacted.as_ref().is_some_and(|compacted| compacted.error.is_some());
            checked.compacted += u64::from(compacted.is_some() && !failed);
            checked.failed += u64::from(failed);
        }
        open.register.put(id, entry);
    }
    open.sync()?;
    Ok(checked)
}
