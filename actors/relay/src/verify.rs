//! Checks what was received from others: each line of their records, and each conversation against its hashes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use baton_conversation::record::SessionId;

use crate::keys::WriterId;
use crate::membership::Error;
use crate::record::{self, MadeOf, Record, SharedSession};
use crate::team::Team;

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Sessions.
    pub sessions: u64,
    /// Damaged records: the writer's fingerprint, and the damage.
    pub damaged: Vec<(String, String)>,
}

/// The number of a writer's sessions, and the damage of those whose conversations are damaged.
type Found = (u64, BTreeMap<SessionId, String>);

/// Checks all records below `BATON_HOME/relay` until `go_on`, called with the number of checked sessions, returns
/// false. Changes nothing. Blocks for the disk.
pub fn verify(relay: &Path, go_on: &mut dyn FnMut(u64) -> bool) -> Verified {
    let mut verified = Verified::default();
    for id in Record::writers(relay) {
        let before = verified.sessions;
        match verify_writer(relay, &id, &mut |done| go_on(before + done)) {
            Ok((sessions, damaged)) => {
                verified.sessions += sessions;
                let damaged = damaged.into_iter().next();
                verified
                    .damaged
                    .extend(damaged.map(|(session, why)| (id.to_string(), format!("session {session}: {why}"))));
            }
            Err(error) => verified.damaged.push((id.to_string(), error.to_string())),
        }
    }
    verified
}

fn verify_writer(relay: &Path, id: &WriterId, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Found, record::Error> {
    let record = Record::new(relay, id);
    let blobs = record.blobs();
    // This home's own conversations are not stored here.
    let is_own = |shared: &SharedSession| shared.received || shared.made_of != MadeOf::default();
    let mut suspects = None::<BTreeMap<SessionId, String>>;
    loop {
        // Nothing was received from them yet.
        let Some(writer) = record.fold(id)? else { return Ok(Found::default()) };
        let (mut checked, mut damaged) = (0, BTreeMap::new());
        for (session, shared) in writer.sessions.iter().filter(|(_, shared)| !is_own(shared)) {
            if suspects.as_ref().is_some_and(|suspects| !suspects.contains_key(session)) {
                continue;
            }
            if !go_on(checked) {
                return Ok((checked, BTreeMap::new()));
            }
            checked += 1;
            if let Some(episode) = &shared.state.episode
                && let Err(error) = blobs.read(session, &episode.manifest)
            {
                damaged.insert(session.clone(), error.to_string());
            }
        }
        // Conversations may be replaced during the check: check those that seem damaged once more.
        if damaged.is_empty() || suspects.is_some() {
            return Ok((writer.sessions.len() as u64, damaged));
        }
        suspects = Some(damaged);
    }
}

impl Team {
    /// Fetches damaged conversations of others again, and receives damaged records again.
    ///
    /// # Errors
    ///
    /// If the relay cannot be reached, or damaged data cannot be replaced, which then stays as it is.
    pub async fn fetch_damaged(self: &Arc<Self>) -> Result<(), Error> {
        if !self.options.settings.now().relay.enabled {
            return Ok(());
        }
        let folder = self.folder.clone();
        let looking = baton_base::task::spawn_blocking(move || {
            let writers = Record::writers(&folder).into_iter();
            let look = |id: WriterId| (verify_writer(&folder, &id, &mut |_| true).map(|(_, damaged)| damaged), id);
            writers.map(look).collect::<Vec<_>>()
        });
        let found = looking.await.map_err(|error| Error::Failed(error.to_string()))?;
        let mut round = self.round.lock().await;
        if found.iter().any(|(found, _)| found.is_err()) {
            // Opening the relay rereads the records and receives damaged ones again.
            self.state().is_stale = true;
            *round = None;
        }
        let member = self.connected_member(&mut round).await?;
        for (damaged, writer) in found {
            for session in damaged.unwrap_or_default().into_keys() {
                self.fetch_again(member, &writer, &session).await.map_err(Error::Failed)?;
            }
        }
        drop(round);
        self.nudge();
        Ok(())
    }
}
