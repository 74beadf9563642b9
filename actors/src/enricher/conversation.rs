//! The conversation of an episode as a model is asked about it.

use baton_events::conversation::Item;
use baton_events::digest::Abridged;
use baton_events::enrichment::{Limits, Lines, Plan, plan};
use baton_events::record::SessionId;
use baton_events::session::EpisodeRef;

use crate::indexer::{self, EpisodeError};

/// What is asked about a conversation, and what claims about it may point to.
pub(super) struct Read {
    pub(super) plan: Plan,
    pub(super) lines: Lines,
}

/// Reads a conversation, and makes the requests for it. Blocks for disk reads.
pub(super) fn read(
    indexer: &indexer::Handle,
    id: &SessionId,
    episode: &EpisodeRef,
    limits: &Limits,
) -> Result<Read, EpisodeError> {
    let mut abridged = Abridged::default();
    indexer.each(id, episode, |item| abridged.push(item))?;
    let items: Vec<Item> = abridged.into_items();
    Ok(Read { plan: plan(&items, limits), lines: Lines::of(&items) })
}
