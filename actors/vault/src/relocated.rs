//! The places that a home wrote notes to, and which of them were moved.
//!
//! If a folder of notes is missing and the same folder, by its id, is elsewhere, it was either moved, or copied from a
//! disk that is away; the two cannot be told apart. So sessions forgotten meanwhile are remembered for the missing
//! folder, as hashes only, and are removed there if it returns.
//!
//! # Hazards
//!
//! - A folder of notes is known by the `.baton.id` in it, which the register keeps. If a folder is missing from a vault
//!   that is there, what is forgotten then is `lost` until some configured vault has that id; another folder created in
//!   its place is not the same. Hashes kept for a place that is away are sealed by `Register::seal`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use baton_conversation::record::SessionId;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::NoteWriter;
use super::register::{Entry, Register};
use super::vault_fs::{VaultFs, has_visible};
use baton_config::settings;

/// Interval between looks for places that may have returned.
const LOOK: Duration = Duration::from_secs(60);

/// Runs at most one look at a time, so that a disk that hangs takes one thread.
pub(super) struct SingleLook(Arc<Semaphore>);

impl Default for SingleLook {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl SingleLook {
    /// Returns `None` while another look is in progress, even if its caller has gone.
    async fn run(&self, look: impl FnOnce() -> bool + Send + 'static) -> Option<bool> {
        let permit = self.0.clone().try_acquire_owned().ok()?;
        let run = move || {
            let _permit = permit;
            look()
        };
        baton_base::task::spawn_blocking(run).await.ok()
    }
}

/// The places of a home, as their registers.
pub(super) struct Places {
    /// Places where notes are, or may be once reachable again.
    pub(super) there: Vec<Register>,
    /// Places whose folder of notes was moved, as far as is known.
    pub(super) moved: Vec<Register>,
    /// Places where no note was ever written, such as a mistyped path.
    pub(super) unused: Vec<Register>,
    /// Why other registers are unreadable.
    pub(super) unread: Vec<String>,
}

impl Places {
    /// Finds the places of a home; `current` is the configured vault. Blocks for reads.
    pub(super) fn find(home: &Path, current: &settings::Vault) -> Self {
        let (registers, unread) = Register::open_all(home);
        // A process killed while writing has recorded nothing yet.
        let counts = |register: &Register| {
            is_register_of(register, current) || register.had_notes() || vault_fs_of(register, home).has_entries()
        };
        let (known, unused): (Vec<Register>, Vec<Register>) = registers.into_iter().partition(counts);
        let is_gone = |register: &Register| {
            !is_register_of(register, current) && register.id().is_some() && vault_fs_of(register, home).is_gone()
        };
        let (gone, mut there): (Vec<Register>, Vec<Register>) = known.into_iter().partition(is_gone);
        if gone.is_empty() {
            return Self { there, moved: gone, unused, unread };
        }
        let places = there.iter().map(|register| vault_fs_of(register, home));
        let ids: BTreeSet<String> =
            places.chain([VaultFs::from_settings(current, home)]).filter_map(|vault_fs| vault_fs.id()).collect();
        let is_elsewhere = |register: &Register| register.id().is_some_and(|id| ids.contains(id));
        let (moved, away): (Vec<Register>, Vec<Register>) = gone.into_iter().partition(is_elsewhere);
        there.extend(away);
        Self { there, moved, unused, unread }
    }

    /// Ids of the reachable folders of notes, including the configured one.
    pub(super) fn ids(&self, home: &Path, current: &settings::Vault) -> BTreeSet<String> {
        let places = self
            .there
            .iter()
            .map(|register| vault_fs_of(register, home))
            .chain([VaultFs::from_settings(current, home)]);
        places.filter_map(|vault_fs| vault_fs.id()).collect()
    }

    /// Returns entries of sessions for folders of notes that lie elsewhere now, with these folders' ids.
    pub(super) fn elsewhere(&self, sessions: &[SessionId]) -> Vec<(String, SessionId, Entry)> {
        let of = |register: &Register, session: &SessionId, is_moved: bool| {
            let entry = register.get(session)?;
            let folder = match entry.lost {
                true => entry.folder.clone(),
                false => register.id().filter(|_| is_moved && entry.linked_note().is_some()).map(str::to_owned),
            };
            let known = Entry { stamp: String::new(), lost: false, ..entry.clone() };
            Some((folder?, session.clone(), known))
        };
        let moved = self.moved.iter().map(|register| (register, true));
        let all = moved.chain(self.there.iter().map(|register| (register, false)));
        all.flat_map(|(register, is_moved)| sessions.iter().filter_map(move |id| of(register, id, is_moved))).collect()
    }

    /// Missing folders of notes for which forgotten sessions are remembered.
    pub(super) fn awaited(&self, home: &Path) -> Vec<PathBuf> {
        let awaited = self.moved.iter().chain(&self.there).filter(|register| register.has_sealed());
        let places = awaited.map(|register| vault_fs_of(register, home));
        places.filter(VaultFs::is_gone).map(|vault_fs| vault_fs.notes_folder()).collect()
    }
}

/// True if the register belongs to the vault of these settings.
pub(super) fn is_register_of(register: &Register, settings: &settings::Vault) -> bool {
    register.path == settings.path && register.root == settings.root
}

/// The place of a register.
pub(super) fn vault_fs_of(register: &Register, home: &Path) -> VaultFs {
    let (path, root) = (register.path.clone(), register.root.clone());
    VaultFs::from_settings(&settings::Vault { path, root, ..settings::Vault::default() }, home)
}

impl NoteWriter {
    /// Looks for missing folders of notes now and then, as long as there are any. Never returns.
    pub(super) async fn watch_away(&self) {
        let mut away = self.away.subscribe();
        // The sender lives as long as `self`.
        while away.wait_for(|away| !away.is_empty()).await.is_ok() {
            sleep(LOOK).await;
            self.look_for_away().await;
        }
    }

    /// If a missing folder has returned, removes forgotten sessions from it.
    pub(super) async fn look_for_away(&self) {
        let away = self.away.borrow().clone();
        if away.is_empty() {
            return;
        }
        let is_any_back = move || away.iter().any(|folder| has_visible(folder));
        if self.looks_away.run(is_any_back).await.unwrap_or(false) {
            self.removal_owed.store(true, Ordering::Relaxed);
            self.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn only_one_look_runs_at_a_time() {
        let looks = Arc::new(SingleLook::default());
        let (begun, has_begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = looks.clone();
        let hangs = baton_base::task::spawn(async move {
            let look = move || {
                begun.send(()).unwrap();
                ended.recv().is_err()
            };
            other.run(look).await
        });
        has_begun.recv().unwrap();
        assert_eq!(looks.run(|| panic!("a second look ran")).await, None);
        // The caller is gone, its thread is not.
        hangs.abort();
        assert_eq!(looks.run(|| panic!("a second look ran")).await, None);
        drop(end);
        let free = async {
            while looks.run(|| true).await.is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), free).await.expect("a later look runs");
    }
}
