//! Checks what was taken in of others: each line of their records, and each conversation against its hashes.

use std::path::Path;
use std::sync::Arc;

use crate::keys::WriterId;
use crate::membership::Error;
use crate::record::{MadeOf, Record, Shared};
use crate::team::{Team, forget_cursor};

/// What was checked, and what is damaged.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Sessions.
    pub sessions: u64,
    /// Records that are damaged: the writer's fingerprint, and how.
    pub damaged: Vec<(String, String)>,
}

/// Checks all records below `BATON_HOME/relay`. Changes nothing. Blocks for the disk.
pub fn verify(relay: &Path) -> Verified {
    let mut verified = Verified::default();
    for id in Record::writers(relay) {
        match verify_writer(relay, &id) {
            Ok(sessions) => verified.sessions += sessions,
            Err(why) => verified.damaged.push((id.to_string(), why)),
        }
    }
    verified
}

fn verify_writer(relay: &Path, id: &WriterId) -> Result<u64, String> {
    let record = Record::new(relay, id);
    // Nothing was received of them yet.
    let Some((writer, _)) = record.fold(id).map_err(|error| error.to_string())? else { return Ok(0) };
    let blobs = record.blobs();
    // Conversations of this home's own are not kept twice.
    let is_own = |shared: &Shared| shared.received || shared.made_of != MadeOf::default();
    for (session, shared) in writer.sessions.iter().filter(|(_, shared)| !is_own(shared)) {
        if let Some(episode) = &shared.state.episode {
            blobs.read(session, &episode.manifest).map_err(|error| error.to_string())?;
        }
    }
    Ok(writer.sessions.len() as u64)
}

impl Team {
    /// Has everything of writers whose records are damaged received again.
    ///
    /// # Errors
    ///
    /// If what is damaged cannot be removed.
    pub async fn fetch_damaged(self: &Arc<Self>) -> Result<(), Error> {
        let mut round = self.round.lock().await;
        let folder = self.folder.clone();
        let clearing = baton_base::task::spawn_blocking(move || {
            // First, so that it is received again whatever happens.
            forget_cursor(&folder)?;
            let mut damaged = verify(&folder).damaged.into_iter().filter_map(|(id, _)| WriterId::parse(&id));
            damaged.try_for_each(|id| Record::new(&folder, &id).remove_all())
        });
        let cleared = clearing.await.map_err(|error| Error::Failed(error.to_string()))?;
        cleared.map_err(|error| Error::Failed(error.to_string()))?;
        self.state().is_stale = true;
        *round = None;
        drop(round);
        self.nudge();
        Ok(())
    }
}
