//! Prepares the conversation of an episode for a model.

use baton_conversation::record::SessionId;
use baton_enrichment::{Limits, Lines, Plan, plan_of};
use baton_episode::digest::{Abridged, Show};
use baton_events::session::EpisodeRef;

use crate::indexer;
use baton_store::chunks;
use baton_store::chunks::ChunkStore;
use baton_store::conversation::{Error as EpisodeError, for_each_item};

/// The requests about a conversation, and the lines to which claims may refer.
pub(super) struct Read {
    pub(super) plan: Plan,
    pub(super) lines: Lines,
}

/// Reads a conversation and makes requests from the parts that may be sent. Blocks for disk reads. A conversation that
/// is lost is restored from its transcript, if that is unchanged.
pub(super) fn read(
    indexer: &indexer::Handle,
    chunks: &ChunkStore,
    id: &SessionId,
    episode: &EpisodeRef,
    limits: &Limits,
    show: &Show,
) -> Result<Read, EpisodeError> {
    let read = || {
        let mut abridged = Abridged::default();
        for_each_item(chunks, id, episode, |item| abridged.push(item)).map(|()| abridged)
    };
    let abridged = match read() {
        Err(error) if is_lost(&error) && indexer.restore(id, episode).is_ok() => read()?,
        read => read?,
    };
    let (plan, lines) = plan_of(abridged, limits, show);
    Ok(Read { plan, lines })
}

/// True if the stored conversation is missing or damaged, as opposed to a temporary error.
pub(super) fn is_lost(error: &EpisodeError) -> bool {
    match error {
        EpisodeError::Chunks(error) => !matches!(error, chunks::Error::Io { .. }),
        EpisodeError::Item { .. } => true,
    }
}
