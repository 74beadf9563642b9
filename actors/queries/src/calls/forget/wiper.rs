//! Deletes text from files that are not a session's own.

use std::path::PathBuf;
use std::sync::Arc;

use baton_conversation::record::{Position, SessionId};
use baton_events::memo;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::set_aside;
use baton_base::limits;
use baton_store::chunks::Removed;
use baton_tracking::indexer;

/// See the module.
#[derive(Clone)]
pub(crate) struct Wiper {
    pub(crate) home: PathBuf,
    pub(crate) indexer: indexer::Handle,
    /// Held by a verification or a compaction.
    pub(crate) verifying: Arc<Semaphore>,
}

impl Wiper {
    /// Wipes the words of a note that was deleted at or before a position: when this returns, no file of the home contains
    /// them. The error names what may still contain them; the memory removes that once it is idle.
    pub(crate) async fn wipe_note(&self, note: Uuid, position: Position) -> Result<(), String> {
        let note = [memo::key(note)];
        self.indexer.purge(&note, position, || {}).await?;
        self.wipe_aside(&note).await.map(drop)
    }

    /// Deletes what lies aside of these sessions. Waits for a running verification, whose copy of the memory is removed at its end.
    pub(super) async fn wipe_aside(&self, sessions: &[SessionId]) -> Result<Removed, String> {
        let turn = tokio::time::timeout(limits::PURGE, self.verifying.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| "the home is being verified".to_owned())?.map_err(|error| error.to_string())?;
        let (home, sessions) = (self.home.clone(), sessions.to_vec());
        let wiping = baton_base::task::spawn_blocking(move || {
            let _turn = turn;
            set_aside::wipe(&home, &sessions)
        });
        wiping.await.map_err(|error| error.to_string())?
    }
}
