//! Reads a stored conversation, repeatedly if needed: from memory if it is short, else chunk by chunk from disk, so
//! that a conversation of any length takes at most [`HELD_BYTES`].

use std::sync::Arc;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_events::schema::item;
use baton_events::session::EpisodeRef;

use crate::chunks;
use crate::chunks::{ChunkRef, ChunkStore, ManifestId};

/// Most bytes of items held in memory for one conversation, by [`Item::weight`]; nearly every session fits. Longer ones
/// are read from disk on each pass.
pub const HELD_BYTES: usize = 4 * 1024 * 1024;

/// Why a stored conversation could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A chunk or manifest could not be read.
    #[error(transparent)]
    Chunks(#[from] chunks::Error),
    /// A stored item could not be decoded.
    #[error("stored item {line} of {manifest} is not readable: {reason}")]
    Item {
        /// The manifest.
        manifest: ContentHash,
        /// The line of the conversation, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// Passes each item of an episode's conversation to `take`, holding one chunk in memory. Blocks for disk reads.
pub fn for_each_item(
    chunks: &ChunkStore,
    id: &SessionId,
    episode: &EpisodeRef,
    mut take: impl FnMut(Item),
) -> Result<(), Error> {
    Stored::open(chunks, id, &episode.manifest)?.items().try_for_each(|item| {
        take(item?);
        Ok(())
    })
}

/// A conversation in memory or on disk.
#[derive(Debug)]
pub enum Conversation {
    /// In memory.
    Held(Arc<Vec<Item>>),
    /// On disk, because it is longer than [`HELD_BYTES`].
    Stored(Stored),
}

/// A conversation on disk.
#[derive(Debug)]
pub struct Stored {
    chunks: ChunkStore,
    session: SessionId,
    manifest: ManifestId,
    refs: Vec<ChunkRef>,
}

impl Stored {
    /// Opens the conversation of a manifest, which must exist and be intact. Chunks are checked as they are read.
    pub fn open(chunks: &ChunkStore, session: &SessionId, manifest: &ManifestId) -> Result<Self, Error> {
        let refs = chunks.manifest(session, manifest)?.chunks;
        Ok(Self { chunks: chunks.clone(), session: session.clone(), manifest: *manifest, refs })
    }

    /// Its items in file order, read as they are consumed; an error ends the iteration.
    pub fn items(&self) -> Items<'_> {
        Items { of: self, next: 0, lines: Vec::new(), at: 0, line: 0, failed: false }
    }
}

impl Conversation {
    /// Opens the conversation of an episode and loads it if it is short. Blocks for disk reads.
    pub fn open(chunks: &ChunkStore, session: &SessionId, episode: &EpisodeRef) -> Result<Self, Error> {
        let stored = Stored::open(chunks, session, &episode.manifest)?;
        let (mut items, mut weight) = (Vec::new(), 0);
        for item in stored.items() {
            let item = item?;
            weight += item.weight();
            if weight > HELD_BYTES {
                return Ok(Self::Stored(stored));
            }
            items.push(item);
        }
        Ok(Self::Held(Arc::new(items)))
    }

    /// Passes each item in file order to `take`, until that fails.
    pub fn each<E: From<Error>>(&self, mut take: impl FnMut(&Item) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Held(items) => items.iter().try_for_each(take),
            Self::Stored(stored) => stored.items().try_for_each(|item| take(&item?)),
        }
    }
}

/// See [`Stored::items`]. Holds one chunk.
pub struct Items<'a> {
    of: &'a Stored,
    /// Index of the next chunk.
    next: usize,
    lines: Vec<u8>,
    /// Where the next line begins in `lines`.
    at: usize,
    /// Number of lines returned.
    line: usize,
    failed: bool,
}

impl Items<'_> {
    fn read(&mut self) -> Result<Option<Item>, Error> {
        loop {
            let rest = self.lines.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                let Some(chunk) = self.of.refs.get(self.next) else { return Ok(None) };
                // Freed before the next chunk is read, because both may be large.
                self.lines = Vec::new();
                self.lines = self.of.chunks.chunk(&self.of.session, chunk)?;
                (self.next, self.at) = (self.next + 1, 0);
                continue;
            }
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = &rest[..end];
            self.at += end + 1;
            if line.is_empty() {
                continue;
            }
            self.line += 1;
            return item::decode(line).map(Some).map_err(|error| Error::Item {
                manifest: self.of.manifest,
                line: self.line,
                reason: error.to_string(),
            });
        }
    }
}

impl Iterator for Items<'_> {
    type Item = Result<Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let read = self.read().transpose();
        self.failed = matches!(read, Some(Err(_)));
        read
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::hash::ContentHash;
    use baton_conversation::item::Body;
    use baton_conversation::record::Timestamp;
    use baton_events::session::Tier;

    use super::*;
    use crate::chunks::Header;

    fn items(count: u64, chars: usize) -> Vec<Item> {
        let item = |line| Item {
            line,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Reply { text: format!("{line} {}", "x".repeat(chars)) },
        };
        (1..=count).map(item).collect()
    }

    fn line(item: &Item) -> Vec<u8> {
        let mut line = Vec::new();
        item::encode(item, &mut line).unwrap();
        line.pop();
        line
    }

    #[test]
    fn a_short_conversation_is_held_and_a_long_one_is_read_again_each_time() {
        for (count, chars, is_held) in [(0, 0, true), (3, 10, true), (300, 1_000, true), (300, 20_000, false)] {
            let folder = tempfile::tempdir().unwrap();
            let chunks = ChunkStore::open(folder.path()).unwrap();
            let (session, expected) = (SessionId::new("a").unwrap(), items(count, chars));
            let lines: Vec<_> = expected.iter().map(line).collect();
            let manifest = chunks.append(&session, None, &lines, Header::default()).unwrap();
            let episode = EpisodeRef {
                uuid: uuid::Uuid::nil(),
                tier: Tier::Extractive,
                manifest,
                hash: ContentHash::digest(&expected),
                filter_version: 1,
                generation: 1,
                to: 1,
                items: count,
                at: Timestamp(0),
            };
            let conversation = Conversation::open(&chunks, &session, &episode).unwrap();
            assert_eq!(matches!(conversation, Conversation::Held(_)), is_held, "{count} of {chars}");
            for _ in 0..2 {
                let mut found = Vec::new();
                let mut note = |item: &Item| {
                    found.push(item.clone());
                    Ok::<_, Error>(())
                };
                conversation.each(&mut note).unwrap();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn nothing_comes_behind_what_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = ChunkStore::open(folder.path()).unwrap();
        let session = SessionId::new("a").unwrap();
        let lines = [line(&items(1, 5)[0]), b"{\"no\":\"item\"}".to_vec(), line(&items(1, 5)[0])];
        let manifest = chunks.append(&session, None, &lines, Header::default()).unwrap();
        let stored = Stored::open(&chunks, &session, &manifest).unwrap();
        let read: Vec<_> = stored.items().collect();
        assert!(matches!(&read[..], [Ok(_), Err(Error::Item { line: 2, .. })]), "{read:?}");
        let name = stored.refs[0].file_name();
        std::fs::remove_file(chunks.folder_of(&session).join(name)).unwrap();
        assert!(matches!(stored.items().collect::<Vec<_>>()[..], [Err(Error::Chunks(_))]));
    }
}
