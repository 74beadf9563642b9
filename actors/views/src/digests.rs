//! A cache of recently requested digests: making one means reading the whole conversation.
//!
//! The key is the conversation's manifest, which changes with its content, and the hash of the model's answer. Entries
//! are therefore never stale, and least recently used ones are dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use baton_conversation::hash::ContentHash;
use baton_episode::digest::{Episode, Show};

/// Most digests in the cache.
const HELD_MAX: usize = 512;
/// Most bytes of text in the cache: some hundred sessions, so that questions about one subject read each once.
const HELD_MAX_BYTES: usize = 4 * 1024 * 1024;

/// See the module. Shared by all calls.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Least recently used first.
    digests: VecDeque<Digest>,
    bytes: usize,
}

/// The inputs of a digest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MadeOf {
    /// The manifest of the conversation.
    pub(crate) manifest: ContentHash,
    /// The hash of the model's answer, if there is one.
    pub(crate) answer: Option<ContentHash>,
    /// What the digest includes.
    pub(crate) show: Show,
}

#[derive(Debug)]
struct Digest {
    made_of: MadeOf,
    episode: Arc<Episode>,
    bytes: usize,
}

impl Digests {
    /// The cached digest, if any; it becomes the most recently used.
    pub(crate) fn get(&self, made_of: &MadeOf) -> Option<Arc<Episode>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held.digests.iter().position(|digest| digest.made_of == *made_of)?;
        let digest = held.digests.remove(at)?;
        let episode = digest.episode.clone();
        held.digests.push_back(digest);
        Some(episode)
    }

    /// Adds a digest and drops others until the limits hold. A digest over a quarter of the size limit is not cached.
    pub(crate) fn put(&self, made_of: MadeOf, episode: &Episode) {
        let bytes = bytes_of(episode);
        if bytes > HELD_MAX_BYTES / 4 || self.get(&made_of).is_some() {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.bytes += bytes;
        held.digests.push_back(Digest { made_of, episode: Arc::new(episode.clone()), bytes });
        while held.digests.len() > HELD_MAX || held.bytes > HELD_MAX_BYTES {
            let Some(dropped) = held.digests.pop_front() else { break };
            held.bytes -= dropped.bytes;
        }
    }
}

/// The approximate bytes of text in a digest.
fn bytes_of(episode: &Episode) -> usize {
    let lists = [
        &episode.prompts,
        &episode.decisions,
        &episode.setbacks,
        &episode.external_research,
        &episode.unresolved,
        &episode.next_steps,
    ];
    let maps = episode.work_completed.values().chain(episode.knowledge_stored.values());
    let said = lists.into_iter().chain(maps).flatten().map(|said| said.text.len());
    let errors = episode.errors.iter();
    let errors = errors.map(|error| error.text.len() + error.resolution.as_ref().map_or(0, |said| said.text.len()));
    let read = episode.files_read.iter().map(|file| file.path.len());
    let modified = episode.files_modified.iter().map(|file| file.path.len());
    let commands = episode.commands.iter().map(|command| command.text.len());
    let of_model = episode.said_by_model.iter().map(|(_, text)| text.len());
    let texts = episode.objective.len() + episode.continuation_context.len();
    // Each entry has a place and a time in addition to its text.
    said.chain(of_model)
        .chain(errors)
        .chain(read)
        .chain(modified)
        .chain(commands)
        .map(|bytes| bytes + 64)
        .sum::<usize>()
        + texts
}

#[cfg(test)]
mod tests {
    use baton_episode::digest::Pointed;

    use super::*;

    fn episode(bytes: usize) -> Episode {
        let said = Pointed { text: "x".repeat(bytes), line: 1, at: None };
        Episode { decisions: vec![said], ..Episode::default() }
    }

    fn made_of(number: u64) -> MadeOf {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        MadeOf { manifest: ContentHash(hash), answer: None, show: Show::default() }
    }

    #[test]
    fn what_was_asked_for_lately_is_held_within_bounds() {
        let digests = Digests::default();
        for number in 0..HELD_MAX as u64 + 10 {
            digests.put(made_of(number), &episode(10));
            assert!(digests.get(&made_of(0)).is_some(), "it is asked for again and again: {number}");
        }
        assert!(digests.get(&made_of(1)).is_none());
        let other = Show { keep_user_messages: false, ..Show::default() };
        assert!(digests.get(&MadeOf { show: other, ..made_of(0) }).is_none());
        assert!(digests.get(&MadeOf { answer: Some(ContentHash([7; 32])), ..made_of(0) }).is_none());
        digests.put(made_of(1_000), &episode(HELD_MAX_BYTES));
        assert!(digests.get(&made_of(1_000)).is_none());
        for number in 2_000..2_020 {
            digests.put(made_of(number), &episode(HELD_MAX_BYTES / 5));
            digests.put(made_of(number), &episode(HELD_MAX_BYTES / 5));
        }
        let held = digests.held.lock().unwrap();
        assert!(held.bytes <= HELD_MAX_BYTES && held.digests.len() == 4, "{}", held.digests.len());
        assert_eq!(held.bytes, held.digests.iter().map(|digest| digest.bytes).sum::<usize>());
    }
}
