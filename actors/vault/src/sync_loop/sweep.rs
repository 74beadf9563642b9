//! The daily sweep over every note: compacts old ones, retries what has failed, and notices what was moved.

use std::time::Instant;

use baton_conversation::record::{SessionId, Timestamp};
use baton_notes::session;
use baton_notes::session::Status;
use baton_notes::threshold;

use super::super::compaction;
use super::super::open_vault::{Desk, Note, day};
use super::super::register::Entry;
use super::super::vault_fs::Refused;
use super::super::write_session::{Bringing, Failed, limits};
use super::super::{DAY_MS, Scribe};
use super::{GROUP, answered, answered_in, broken};
use crate::Surroundings;

/// Why a sweep did not finish.
#[derive(Debug)]
pub(crate) enum Unswept {
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
    again: u64,
}

impl Checked {
    fn add(&mut self, other: Self) {
        self.compacted += other.compacted;
        self.failed += other.failed;
        self.again += other.again;
    }
}

impl Scribe {
    /// Returns when the next sweep is due.
    pub(crate) async fn sweep_due(&self) -> Option<Timestamp> {
        let around = &self.around;
        let mut desk = self.desk().await.ok()?;
        let (open, _) = desk.at(&around.settings.now().vault).ok()?;
        // A time in the future came from a wrong clock.
        let now = around.clock.now();
        let swept = open.register.swept().filter(|at| *at <= now.0);
        Some(swept.map_or(Timestamp(0), |at| Timestamp(at.saturating_add(DAY_MS))))
    }

    /// Checks every note: compacts old ones, retries what has failed, and notices what was moved.
    pub(crate) async fn sweep(&self) -> Result<(), Unswept> {
        let around = &self.around;
        let begun = Instant::now();
        let ids = self.known(true).await.map_err(Unswept::Away)?;
        let mut all = Checked::default();
        for group in ids.chunks(GROUP) {
            self.stand_back(false).await;
            let mut desk = self.desk().await.map_err(Unswept::Stuck)?;
            let room = around.throttle.wait_for_background().await;
            let (working, group, group_len) = (around.clone(), group.to_vec(), group.len() as u64);
            let checking = tokio::task::spawn_blocking(move || check(&mut desk, &working, &group));
            match answered_in(Some(room), checking).await {
                Ok(checked) => all.add(checked.map_err(Unswept::Stuck)?),
                // A panic on one note must not keep the others from being checked.
                Err(problem) if problem == broken() => all.failed += group_len,
                Err(problem) => return Err(Unswept::Stuck(problem)),
            }
        }
        let now = around.clock.now();
        if let Ok(mut desk) = self.desk().await
            && let Ok((open, _)) = desk.at(&around.settings.now().vault)
        {
            open.register.put_swept(now.0);
            if let Err(refused) = open.settle() {
                tracing::warn!(problem = %refused, "time of the sweep not recorded");
            }
        }
        let looks = self.desk().await.ok().and_then(|mut desk| Some(desk.known()?.take_looks()));
        tracing::info!(
            notes = ids.len(),
            looks = looks.unwrap_or_default(),
            compacted = all.compacted,
            failed = all.failed,
            again = all.again,
            ms = begun.elapsed().as_millis() as u64,
            "notes checked"
        );
        Ok(())
    }

    /// Returns the sessions that have entries. With `anew`, the vault is walked again and all owed sessions are
    /// determined again.
    pub(super) async fn known(&self, anew: bool) -> Result<Vec<SessionId>, Refused> {
        let around = &self.around;
        let mut desk = self.desk().await?;
        let settings = around.settings.now();
        let looking = tokio::task::spawn_blocking(move || {
            let (open, _) = desk.at(&settings.vault)?;
            open.look(false)?;
            if anew {
                open.forget_names();
                open.forget_owed();
            }
            open.index()?;
            if anew {
                compaction::name_copies(open)?;
            }
            Ok(open.register.entries().map(|(id, _)| id.clone()).collect())
        });
        answered(looking).await?
    }
}

/// Checks the notes of some sessions.
pub(crate) fn check(desk: &mut Desk, around: &Surroundings, group: &[SessionId]) -> Result<Checked, Refused> {
    let mut checked = Checked::default();
    let (table, settings, today) = (around.table.now(), around.settings.now(), day(around.clock.now()));
    let (open, _) = desk.at(&settings.vault)?;
    open.index()?;
    let _turn = open.place.turn()?;
    open.follow_entities()?;
    for id in group {
        let Some(entry) = open.register.get(id).cloned() else { continue };
        if entry.removed && open.names().note(id).is_none() {
            continue;
        }
        if entry.left.is_some() {
            // The next round tries it again.
            open.register.put(id, Entry { stamp: String::new(), left: None, ..entry });
            checked.again += 1;
            continue;
        }
        if entry.note.is_none() {
            continue;
        }
        // The walk at the start of the sweep has found all notes that were moved or removed.
        let Note::There(path) = open.note_as_known(id)? else {
            open.register.put(id, Entry { removed: true, ..entry });
            continue;
        };
        open.follow(id, &path)?;
        let mut entry = Entry { note: Some(path.clone()), removed: false, ..entry };
        let is_due = {
            let text = open.text(&path).ok().flatten().unwrap_or_default();
            match session::identity(&text).map(|identity| identity.status) {
                Some(Status::CompactionFailed) => true,
                Some(Status::Active) => threshold::measure(&text, &limits(&settings.vault), today).is_over(),
                _ => false,
            }
        };
        if is_due && let Some(row) = table.get(id).cloned() {
            let bringing = Bringing { around, id, row: &row, stamp: entry.stamp.clone(), today, is_asked: false };
            let folder = bringing.folder(open, true);
            let compacted = match bringing.told(folder) {
                Ok(mut told) => {
                    bringing.name(open, &mut told, Some(&path));
                    bringing.finish(open, &told, &path, false, &mut entry)?
                }
                Err(Failed::Refused(refused)) => return Err(refused),
                Err(Failed::Unreadable(why)) => {
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
    open.settle()?;
    Ok(checked)
}
