//! A sweep over all conversations for files that no event names: each session is collected as after an index, and
//! folders without a session are removed.

use std::collections::BTreeSet;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use ractor::ActorRef;
use tokio::sync::oneshot;

use super::Msg;
use baton_store::chunks::{ChunkStore, Removed};

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Swept {
    /// Number of sessions examined.
    pub sessions: u64,
    /// Number of sessions skipped because a job or collection was running.
    pub busy: u64,
    /// Number of events that this version cannot read. If there are any, nothing was removed, because they may name
    /// files.
    pub unreadable: u64,
    /// What was removed.
    pub removed: Removed,
}

/// The sweep in progress and its callers.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) swept: Swept,
    waiting: Vec<oneshot::Sender<Swept>>,
    /// Number of removals of folders in progress.
    discarding: usize,
}

impl Sweep {
    /// Starts a sweep or joins the running one. Returns the sessions to collect, and those of `folders` that belong to
    /// no session. `folders` must have been listed before the table was read.
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
        // The folders may belong to sessions that only a newer version knows.
        if table.skipped() > 0 {
            self.swept.unreadable = table.skipped();
            folders.clear();
        }
        (sessions, folders)
    }

    /// Notes that folders without a session are gone.
    pub(super) fn discarded(&mut self, removed: Removed) {
        self.discarding = self.discarding.saturating_sub(1);
        self.swept.removed += removed;
    }

    /// Ends the sweep, unless folders are still being removed.
    pub(super) fn done(&mut self) {
        if self.discarding > 0 {
            return;
        }
        for reply in self.waiting.drain(..) {
            // A caller that gave up gets its space back all the same.
            let _ = reply.send(self.swept);
        }
    }
}

impl super::State {
    /// Removes folders without a session. No job starts meanwhile, because its session may be new and own such a
    /// folder.
    pub(super) fn discard(&mut self, folders: BTreeSet<String>, myself: &ActorRef<Msg>) {
        if folders.is_empty() {
            return;
        }
        let (chunks, slot, myself) = (self.options.chunks.clone(), self.slot.clone(), myself.clone());
        self.sweep.discarding += 1;
        let held = self.under_way.hold_all();
        baton_base::task::spawn(async move {
            let gone = baton_base::task::spawn_blocking(move || discard(&chunks, folders)).await;
            drop(held);
            super::report(&myself, &slot, Msg::Discarded(gone.unwrap_or_default()));
        });
    }
}

/// Removes folders without a session. Blocks for the disk.
fn discard(chunks: &ChunkStore, folders: BTreeSet<String>) -> Removed {
    let mut gone = Removed::default();
    for folder in folders {
        match chunks.discard(&folder) {
            Ok(removed) => gone += removed,
            Err(error) => tracing::warn!(%folder, %error, "folder without a session not removed"),
        }
    }
    gone
}
