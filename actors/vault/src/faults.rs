//! Faults that tests of a whole system inject, and state that they inspect.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton_config::settings;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use tokio::sync::OwnedMutexGuard;

use crate::open_vault::Desk;
use crate::sync_loop::{bring, sweep};
use crate::{Scribe, Surroundings, forgetting};

/// The vault with its lock held, so that nothing else writes notes.
pub struct Held {
    desk: OwnedMutexGuard<Desk>,
    around: Arc<Surroundings>,
}

impl Scribe {
    /// Takes the vault's lock, which keeps everything else from writing notes.
    pub async fn hold(&self) -> Held {
        Held { desk: self.desk.clone().lock_owned().await, around: self.around.clone() }
    }

    /// True while notes of forgotten sessions may still be somewhere.
    pub fn owes_removal(&self) -> bool {
        self.removal_owed.load(Ordering::Relaxed)
    }

    /// Clears what [`Scribe::owes_removal`] returns.
    pub fn owe_no_removal(&self) {
        self.removal_owed.store(false, Ordering::Relaxed);
    }
}

impl Held {
    /// Makes syncs of the vault fail, or succeed again.
    pub fn refuse_to_settle(&mut self, refuses: bool) {
        let vault = self.around.settings.now().vault.clone();
        self.desk.at(&vault).map_or_else(
            |_| panic!("the vault can be opened"),
            |(open, _)| {
                open.place.refuses_to_settle = refuses;
            },
        );
    }

    /// Writes the notes of sessions. Returns how many were written, and the remedy if the vault refused.
    pub fn write(&mut self, sessions: &[SessionId]) -> (u64, Option<String>) {
        let round = bring(&mut self.desk, &self.around, sessions, false, (None, 0));
        (round.written, round.refused.map(|refused| refused.fix))
    }

    /// Returns the sessions whose notes are owed.
    pub fn owed(&mut self) -> Vec<SessionId> {
        let (table, settings) = (self.around.table.now(), self.around.settings.now());
        self.desk.at(&settings.vault).map(|(open, _)| open.owed(&table, &settings).sessions()).unwrap_or_default()
    }

    /// Checks the notes of sessions as the daily sweep does. Returns how many were compacted.
    pub fn sweep(&mut self, sessions: &[SessionId]) -> Option<u64> {
        sweep::check(&mut self.desk, &self.around, sessions).ok().map(|checked| checked.compacted)
    }

    /// Drops the index of names, as forgetting a session does.
    pub fn forget_names(&mut self) {
        self.desk.known().into_iter().for_each(|open| open.forget_names());
    }
}

/// Removes sessions from all vaults of a home that no process has open; stops after `changes` changed files.
///
/// # Errors
///
/// What is still there.
pub fn forget_stopped_after(
    changes: Option<u32>,
    home: &Path,
    vault: &settings::Vault,
    table: &SessionTable,
    sessions: &[SessionId],
) -> Result<Vec<String>, String> {
    let mut desk = Desk::open(home);
    if let Ok((open, _)) = desk.at(vault) {
        open.place.changes_left.set(changes);
    }
    forgetting::everywhere(&mut desk, vault, table, sessions, &mut Vec::new())
}
