//! A look through all conversations, for files that no event names any more: each session is collected as after an index, and
//! folders that no session has are removed. Whoever asked for it is told what it came to.

use std::collections::BTreeSet;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use ractor::ActorRef;
use tokio::sync::oneshot;

use super::Msg;
use baton_store::chunks::{ChunkStore, Removed};

/// What a sweep has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swept {
    /// Sessions that were looked at.
    pub(crate) sessions: u64,
    /// Sessions that were left alone because something of them is under way.
    pub(crate) busy: u64,
    /// Events that this version cannot read: nothing was removed, for what they name is not known.
    pub(crate) unreadable: u64,
    /// What was removed.
    pub(crate) removed: Removed,
}

/// What the sweep under way has come to so far, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    swept: Swept,
    waiting: Vec<oneshot::Sender<Swept>>,
    /// How often folders of no session are being removed.
    discarding: usize,
}

impl Sweep {
    /// Begins one, or joins the one that is under way: the sessions to be collected. `folders` are those that were there before
    /// the table was looked at; those of them that no session has come second.
    pub(super) fn begin(
        &mut self,
        mut folders: BTreeSet<String>,
        reply: oneshot::Sender<Swept>,
        table: &SessionTable,
        chunks: &ChunkStore,
    ) -> (Vec<SessionId>, BTreeSet<String>) {
        if self.waiting.is_empty() {
            self.swept = Swept::default();
        }
        self.waiting.push(reply);
        let has_folder = |session: &&SessionId| {
            let folder = chunks.folder_of(session);
            folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| folders.remove(name))
        };
        let sessions: Vec<SessionId> = table.iter().map(|(session, _)| session).filter(has_folder).cloned().collect();
        self.swept.sessions += sessions.len() as u64;
        // They may be of sessions that only a newer version knows.
        if table.skipped() > 0 {
            self.unreadable(table.skipped());
            folders.clear();
        }
        (sessions, folders)
    }

    /// Folders of no session are being removed: this is not done before they are gone.
    pub(super) fn discarding(&mut self) {
        self.discarding += 1;
    }

    /// They are gone.
    pub(super) fn discarded(&mut self, removed: Removed) {
        self.discarding = self.discarding.saturating_sub(1);
        self.swept.removed += removed;
    }

    /// There are so many events that this version cannot read.
    pub(super) fn unreadable(&mut self, events: u64) {
        self.swept.unreadable = events;
    }

    /// One session was collected.
    pub(super) fn removed(&mut self, removed: Removed) {
        self.swept.removed += removed;
    }

    /// One session was left alone.
    pub(super) fn passed_over(&mut self) {
        self.swept.busy += 1;
    }

    /// Nothing is left to be collected.
    pub(super) fn done(&mut self) {
        if self.discarding > 0 {
            return;
        }
        for reply in self.waiting.drain(..) {
            // Whoever does not wait any more has its room back all the same.
            let _ = reply.send(self.swept);
        }
    }
}

impl super::State {
    /// Removes folders that no session has. No job begins meanwhile: its session may have come since, and have such a folder.
    pub(super) fn discard(&mut self, folders: BTreeSet<String>, myself: &ActorRef<Msg>) {
        if folders.is_empty() {
            return;
        }
        let (chunks, slot, myself) = (self.options.chunks.clone(), self.slot.clone(), myself.clone());
        self.sweep.discarding();
        let held = self.under_way.hold_all();
        tokio::spawn(async move {
            let gone = tokio::task::spawn_blocking(move || discard(&chunks, folders)).await;
            drop(held);
            super::report(&myself, &slot, Msg::Discarded(gone.unwrap_or_default()));
        });
    }
}

/// Removes folders that no session has. Blocks for the disk.
fn discard(chunks: &ChunkStore, folders: BTreeSet<String>) -> Removed {
    let mut gone = Removed::default();
    for folder in folders {
        match chunks.discard(&folder) {
            Ok(removed) => gone += removed,
            Err(error) => tracing::warn!(%folder, %error, "conversation of no session not removed"),
        }
    }
    gone
}
