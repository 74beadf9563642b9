//! Gathers the items of a conversation for a job, with their hash. A small conversation is held in memory, so that
//! nothing is written if it turns out to be unchanged, and the memory need not read it back. Items of a larger one are
//! written as they come, so that any length needs the memory of one chunk.

use std::sync::Arc;

use baton_conversation::hash::{ContentHash, ContentHasher};
use baton_conversation::item::{Body, Item, Meta};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{OpenCalls, Sink, is_unread};
use baton_events::schema::item;

use super::fresh::Held;
use baton_store::chunks;
use baton_store::chunks::{Append, Batch, ChunkStore, Header, ManifestId};

/// Limit of items held, by [`Item::weight`]; multiplied by the number of jobs that wait for the disk together.
const HELD_BYTES: usize = 1024 * 1024;
/// Limit of lines listed as unreadable.
const UNREAD_NAMED: usize = 100;

/// A conversation being gathered.
pub(super) struct ConversationBuilder<'a> {
    session: &'a SessionId,
    batch: Batch,
    prior: Option<ManifestId>,
    /// Hash of all items, including withdrawn ones.
    hasher: ContentHasher,
    withdrawn: Withdrawn,
    open: OpenCalls,
    /// Number of items.
    pub(super) count: u64,
    /// The first lines that could not be read.
    pub(super) unread: Vec<u64>,
    /// True if a new item withdraws a prompt. The hash does not show that, and the withdrawn prompt would still be
    /// found.
    pub(super) withdraws: bool,
    state: State,
    /// Why it cannot be stored. Later items are only counted.
    failed: Option<chunks::Error>,
}

enum State {
    /// All items are held; the first `kept` are already stored.
    Held { items: Vec<Item>, kept: usize, weight: usize },
    /// Too large to hold; all items so far are already stored.
    Kept,
    /// Too large to hold; new items are written.
    Written(Append),
}

/// A written conversation that is not durable yet.
pub(super) struct Written {
    pub(super) batch: Batch,
    pub(super) manifest: ManifestId,
    /// All items, if they are held.
    pub(super) held: Option<Held>,
}

impl<'a> ConversationBuilder<'a> {
    /// Starts an empty conversation that will continue `prior`.
    pub(super) fn new(chunks: &ChunkStore, session: &'a SessionId, prior: Option<ManifestId>) -> Self {
        Self {
            session,
            batch: chunks.batch(),
            prior,
            hasher: ContentHasher::default(),
            withdrawn: Withdrawn::default(),
            open: OpenCalls::default(),
            count: 0,
            unread: Vec::new(),
            withdraws: false,
            state: State::Held { items: Vec::new(), kept: 0, weight: 0 },
            failed: None,
        }
    }

    /// Adds the next item of the prior conversation. All of these must come before the first new item.
    pub(super) fn stored(&mut self, item: Item) {
        self.open.note(&item);
        self.note(&item);
        if let State::Held { items, kept, weight } = &mut self.state {
            *weight += item.weight();
            items.push(item);
            *kept += 1;
            if *weight > HELD_BYTES {
                self.state = State::Kept;
            }
        }
    }

    fn note(&mut self, item: &Item) {
        self.withdrawn.note(item);
        self.hasher.item(item);
        self.count += 1;
        if is_unread(item) && self.unread.len() < UNREAD_NAMED {
            self.unread.push(item.line);
        }
    }

    /// The calls of the prior conversation without a result.
    pub(super) fn open_calls(&self) -> OpenCalls {
        self.open.clone()
    }

    /// Returns the hash of all items except withdrawn prompts. If there are any, computes it from the written chunks,
    /// because the prompts are only known at the end.
    pub(super) fn hash(&mut self) -> Result<ContentHash, chunks::Error> {
        if self.withdrawn.is_empty() || self.failed.is_some() {
            return Ok(self.hasher.clone().finish());
        }
        if let State::Kept = self.state {
            self.state = State::Written(self.batch.begin(self.session, self.prior.as_ref())?);
        }
        let append = match &self.state {
            State::Held { items, .. } => return Ok(ContentHash::digest(items)),
            State::Kept => return Ok(self.hasher.clone().finish()),
            State::Written(append) => append,
        };
        let (mut hasher, mut index) = (ContentHasher::default(), 0);
        append.each(&self.batch, |lines| {
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let item =
                    item::decode(line).map_err(|_| chunks::Error::BadLine { index, what: "it cannot be read back" })?;
                index += 1;
                if !self.withdrawn.holds(&item) {
                    hasher.item(&item);
                }
            }
            Ok::<_, chunks::Error>(())
        })?;
        Ok(hasher.finish())
    }

    /// Writes what is not written yet.
    pub(super) fn written(mut self, header: Header) -> Result<Written, chunks::Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (append, held) = match self.state {
            State::Written(append) => (append, None),
            State::Kept => (self.batch.begin(self.session, self.prior.as_ref())?, None),
            State::Held { items, kept, weight } => {
                let mut append = self.batch.begin(self.session, self.prior.as_ref())?;
                for item in items.iter().skip(kept) {
                    write(&mut append, &mut self.batch, item)?;
                }
                (append, Some(Held { items: Arc::new(items), weight }))
            }
        };
        let manifest = append.finish(&mut self.batch, header)?;
        Ok(Written { batch: self.batch, manifest, held })
    }

    fn add(&mut self, item: Item) -> Result<(), chunks::Error> {
        if let State::Held { items, weight, .. } = &mut self.state {
            *weight += item.weight();
            items.push(item);
            return if *weight > HELD_BYTES { self.spill() } else { Ok(()) };
        }
        if let State::Kept = self.state {
            self.state = State::Written(self.batch.begin(self.session, self.prior.as_ref())?);
        }
        match &mut self.state {
            State::Written(append) => write(append, &mut self.batch, &item),
            State::Held { .. } | State::Kept => Ok(()),
        }
    }

    /// Writes the new items that are held, and releases them.
    fn spill(&mut self) -> Result<(), chunks::Error> {
        let State::Held { items, kept, .. } = std::mem::replace(&mut self.state, State::Kept) else { return Ok(()) };
        let mut append = self.batch.begin(self.session, self.prior.as_ref())?;
        for item in items.iter().skip(kept) {
            write(&mut append, &mut self.batch, item)?;
        }
        self.state = State::Written(append);
        Ok(())
    }
}

impl Sink for ConversationBuilder<'_> {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        self.note(&item);
        self.withdraws |= matches!(item.body, Body::Meta(Meta::Withdrawn(_)));
        if self.failed.is_none() {
            self.failed = self.add(item).err();
        }
    }
}

fn write(append: &mut Append, batch: &mut Batch, item: &Item) -> Result<(), chunks::Error> {
    let mut line = Vec::new();
    let index = append.index();
    item::encode(item, &mut line)
        .map_err(|_| chunks::Error::BadLine { index, what: "it cannot be written as JSON" })?;
    line.pop();
    append.line(batch, &line)
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::{Body, Meta};

    use super::*;
    use baton_store::conversation::Stored;

    fn items(lines: std::ops::Range<u64>, chars: usize) -> Vec<Item> {
        let item = |line| Item {
            line,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Reply { text: format!("{line} {}", "x".repeat(chars)) },
        };
        lines.map(item).collect()
    }

    /// The stored conversation is the same however it is divided, and only small ones are held.
    #[test]
    fn a_conversation_is_the_same_in_whatever_pieces_it_is_gathered() {
        let session = SessionId::new("a").unwrap();
        for (kept, new, chars, is_held, withdraws) in [
            (0, 0, 0, true, false),
            (0, 20, 100, true, false),
            (20, 0, 100, true, false),
            (20, 20, 100, true, true),
            (0, 40, 100_000, false, true),
            (40, 0, 100_000, false, false),
            (40, 40, 100_000, false, true),
            (42, 0, 100_000, false, true),
            (5, 40, 100_000, false, true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let chunks = ChunkStore::open(folder.path()).unwrap();
            let mut all = items(1..1 + kept + new, chars);
            // A stored prompt that the last new item withdraws.
            if withdraws {
                all.insert(0, Item { body: Body::Prompt { text: "later".to_owned() }, line: 900, ..all[0].clone() });
                all.push(Item { body: Body::Meta(Meta::Withdrawn(900)), ..all[0].clone() });
                assert_ne!(ContentHash::digest(&all), ContentHash::digest(&all[..all.len() - 1]));
            }
            let (old, more) = all.split_at(kept as usize);
            let mut whole = ConversationBuilder::new(&chunks, &session, None);
            all.iter().for_each(|item| whole.item(item.clone()));
            let expected = whole.written(Header::default()).unwrap();
            let manifest = expected.manifest;
            expected.batch.commit().unwrap();

            let mut first = ConversationBuilder::new(&chunks, &session, None);
            old.iter().for_each(|item| first.item(item.clone()));
            let first = first.written(Header::default()).unwrap();
            let prior = first.manifest;
            first.batch.commit().unwrap();
            let mut second = ConversationBuilder::new(&chunks, &session, Some(prior));
            let stored = Stored::open(&chunks, &session, &prior).unwrap();
            stored.items().for_each(|item| second.stored(item.unwrap()));
            more.iter().for_each(|item| second.item(item.clone()));
            assert_eq!((second.hash().unwrap(), second.count), (ContentHash::digest(&all), all.len() as u64));
            let written = second.written(Header::default()).unwrap();
            assert_eq!(written.manifest, manifest, "{kept} and {new} of {chars}");
            assert_eq!(written.held.map(|held| held.items.to_vec()), is_held.then_some(all.clone()));
            written.batch.commit().unwrap();
            let read: Vec<_> =
                Stored::open(&chunks, &session, &manifest).unwrap().items().map(Result::unwrap).collect();
            assert_eq!(read, all);
        }
    }

    #[test]
    fn what_is_not_written_out_leaves_nothing_behind() {
        let (folder, session) = (tempfile::tempdir().unwrap(), SessionId::new("a").unwrap());
        let chunks = ChunkStore::open(folder.path()).unwrap();
        let files = || std::fs::read_dir(chunks.folder_of(&session)).map_or(0, Iterator::count);
        let mut builder = ConversationBuilder::new(&chunks, &session, None);
        items(1..40, 100_000).into_iter().for_each(|item| builder.item(item));
        assert!(files() > 0, "it is written as it comes");
        drop(builder);
        assert_eq!(files(), 0);
    }

    #[test]
    fn an_item_that_cannot_be_stored_fails_the_whole() {
        let (folder, session) = (tempfile::tempdir().unwrap(), SessionId::new("a").unwrap());
        let chunks = ChunkStore::open(folder.path()).unwrap();
        let mut builder = ConversationBuilder::new(&chunks, &session, None);
        items(1..2, chunks::LINE_MAX_BYTES).into_iter().chain(items(2..40, 50_000)).for_each(|item| builder.item(item));
        assert!(matches!(builder.written(Header::default()), Err(chunks::Error::BadLine { index: 0, .. })));
    }
}
