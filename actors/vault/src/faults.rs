//! Faults that tests of a whole system inject, and state that they inspect.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton_config::settings;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_protocol::Zone;
use tokio::sync::OwnedMutexGuard;

use crate::open_vault::Vaults;
use crate::sync_round::{sweep, write_group};
use crate::{NoteWriter, Options, forgetting};

/// The vault with its lock held, so that nothing else writes notes.
pub struct Held {
    vaults: OwnedMutexGuard<Vaults>,
    options: Arc<Options>,
}

impl NoteWriter {
    /// Takes the vault's lock, which keeps everything else from writing notes.
    pub async fn hold(&self) -> Held {
        Held { vaults: self.vaults.clone().lock_owned().await, options: self.options.clone() }
    }

    /// True while notes of forgotten sessions may still be somewhere.
    pub fn owes_removal(&self) -> bool {
        self.removal_owed.load(Ordering::Relaxed)
    }

    /// Clears what [`NoteWriter::owes_removal`] returns.
    pub fn clear_owed_removal(&self) {
        self.removal_owed.store(false, Ordering::Relaxed);
    }
}

impl Held {
    /// Makes syncs of the vault fail, or succeed again.
    pub fn fail_syncs(&mut self, fails: bool) {
        let vault = self.options.settings.now().vault.clone();
        self.vaults.open(&vault).map_or_else(
            |_| panic!("the vault can be opened"),
            |(open, _)| {
                open.vault_fs.fails_syncs = fails;
            },
        );
    }

    /// Writes the notes of sessions. Returns how many were written, and the remedy if the vault refused.
    pub fn write(&mut self, sessions: &[SessionId]) -> (u64, Option<String>) {
        let round = write_group(&mut self.vaults, &self.options, sessions, false, (None, 0));
        (round.written, round.refused.map(|refused| refused.fix))
    }

    /// Returns the sessions whose notes are owed.
    pub fn owed(&mut self) -> Vec<SessionId> {
        let (table, settings) = (self.options.table.now(), self.options.settings.now());
        self.vaults.open(&settings.vault).map(|(open, _)| open.owed(&table, &settings).sessions()).unwrap_or_default()
    }

    /// Checks the notes of sessions as the daily sweep does. Returns how many were compacted.
    pub fn sweep(&mut self, sessions: &[SessionId]) -> Option<u64> {
        sweep::check_notes(&mut self.vaults, &self.options, sessions).ok().map(|checked| checked.compacted)
    }

    /// Drops the index of names, as forgetting a session does.
    pub fn drop_index(&mut self) {
        self.vaults.opened().into_iter().for_each(|open| open.drop_index());
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
    let mut vaults = Vaults::new(home);
    if let Ok((open, _)) = vaults.open(vault) {
        open.vault_fs.changes_left.set(changes);
    }
    forgetting::remove_everywhere(&mut vaults, vault, table, sessions, Zone::UTC, &mut Vec::new())
}
