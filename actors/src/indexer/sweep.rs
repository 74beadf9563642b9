//! A look through all conversations, for files that no event names any more: each session is collected as after an index, and
//! folders that no session has are removed. Whoever asked for it is told what it came to.

use std::collections::BTreeSet;

use baton_events::projection::table::SessionTable;
use baton_events::record::SessionId;
use tokio::sync::oneshot;

use crate::chunks::{ChunkStore, Removed};

/// What a sweep has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swept {
    /// Sessions that were looked at.
    pub(crate) sessions: u64,
    /// Sessions that were left alone because something of them is under way.
    pub(crate) busy: u64,
    /// What was removed.
    pub(crate) removed: Removed,
}

/// What the sweep under way has come to so far, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    swept: Swept,
    waiting: Vec<oneshot::Sender<Swept>>,
}

impl Sweep {
    /// Begins one, or joins the one that is under way: the sessions to be collected. `folders` are those that were there before
    /// the table was looked at. Those that no session has are removed at once.
    pub(super) fn begin(
        &mut self,
        mut folders: BTreeSet<String>,
        reply: oneshot::Sender<Swept>,
        table: &SessionTable,
        chunks: &ChunkStore,
    ) -> Vec<SessionId> {
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
        for folder in folders {
            match chunks.discard(&folder) {
                Ok(removed) => self.swept.removed += removed,
                Err(error) => tracing::warn!(%folder, %error, "conversation of no session not removed"),
            }
        }
        sessions
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
        for reply in self.waiting.drain(..) {
            // Whoever does not wait any more has its room back all the same.
            let _ = reply.send(self.swept);
        }
    }
}
