//! The conversation behind a session's episode, whichever is current by the time it is read.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_enrichment::Lines;
use baton_episode::digest::{Abridged, Episode, Show};
use baton_events::session::EpisodeRef;

use super::digests::MadeOf;
use super::{Services, titles};
use crate::indexer::{EpisodeError, answer};

/// The digest of what `current` names, see [`read`], under the title that another session gives it if it has none. Its
/// conversation is not in memory, however long it is; its digest may be, see [`Digests`](super::digests::Digests).
pub(crate) fn digest(
    services: &Services,
    id: &SessionId,
    current: EpisodeRef,
    show: &Show,
) -> Result<(EpisodeRef, Episode), EpisodeError> {
    read(services, id, current, |episode| {
        let by = services.table.now().get(id).and_then(|row| answer::of(&row.state, episode));
        let made_of = MadeOf { manifest: episode.manifest, answer: by, show: *show };
        let mut episode = match services.digests.get(&made_of) {
            Some(known) => Episode::clone(&known),
            None => {
                let (mut abridged, mut lines) = (Abridged::default(), Lines::default());
                services.indexer.each(id, episode, |item| {
                    // What shall not be shown bears out no claim.
                    if by.is_some() && show.keeps(&item.body) {
                        lines.note(&item);
                    }
                    abridged.push(item);
                })?;
                let made = told_by(services, id, by.as_ref(), abridged.digest(show), &lines);
                services.digests.put(made_of, &made);
                made
            }
        };
        titles::entitle(services, id, &mut episode);
        Ok(episode)
    })
}

/// An episode as a model has told it, if one has; `by` names its answer. Blocks for a disk read.
pub(super) fn told_by(
    services: &Services,
    id: &SessionId,
    by: Option<&ContentHash>,
    episode: Episode,
    lines: &Lines,
) -> Episode {
    match by.and_then(|by| answer::read(&services.chunks, id, by)) {
        Some(answer) => answer.tell(episode, lines),
        None => episode,
    }
}

/// Reads what `current` names, or what has replaced it since: then its chunks may have been collected. What cannot be read
/// any more is restored from the transcript, if that still says the same. Blocks for disk reads.
pub(crate) fn read<T>(
    services: &Services,
    id: &SessionId,
    current: EpisodeRef,
    of: impl Fn(&EpisodeRef) -> Result<T, EpisodeError>,
) -> Result<(EpisodeRef, T), EpisodeError> {
    let error = match of(&current) {
        Ok(read) => return Ok((current, read)),
        Err(error) => error,
    };
    let row = services.table.now().get(id).cloned();
    let newer = row.as_ref().and_then(|row| row.state.episode.clone());
    if let Some(newer) = newer.filter(|newer| newer.manifest != current.manifest) {
        return of(&newer).map(|read| (newer, read));
    }
    match services.indexer.restore(&services.table, id, &current) {
        Ok(()) => of(&current).map(|read| (current, read)),
        Err(why) => {
            tracing::debug!(session = %id, %why, "conversation not restored");
            Err(error)
        }
    }
}
