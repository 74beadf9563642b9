//! The conversation behind a session's episode, whichever is current by the time it is read.

use baton_events::conversation::Item;
use baton_events::record::SessionId;
use baton_events::session::EpisodeRef;

use super::Services;
use crate::indexer::EpisodeError;

/// Reads what `current` names, or what has replaced it since: then its chunks may have been collected. What cannot be read
/// any more is restored from the transcript, if that still says the same. Blocks for disk reads.
pub(super) fn of(
    services: &Services,
    id: &SessionId,
    current: EpisodeRef,
) -> Result<(EpisodeRef, Vec<Item>), EpisodeError> {
    match services.indexer.conversation(id, &current) {
        Ok(items) => Ok((current, items)),
        Err(error) => {
            let row = services.table.borrow().get(id).cloned();
            let newer = row.as_ref().and_then(|row| row.state.episode.clone());
            match newer.filter(|newer| newer.manifest != current.manifest) {
                Some(newer) => services.indexer.conversation(id, &newer).map(|items| (newer, items)),
                None => {
                    let restored = services.indexer.restore(&services.table, id, &current);
                    let restored =
                        restored.map_err(|why| tracing::debug!(session = %id, %why, "conversation not restored"));
                    restored.map(|items| (current, items)).map_err(|()| error)
                }
            }
        }
    }
}
