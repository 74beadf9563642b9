//! Gathers the new items of a conversation for a job, and the hash of all. A few are held in memory, so that nothing is
//! written if it turns out to be unchanged, and the memory need not read them back. More are written as they come, so
//! that any length needs the memory of one chunk.

use baton_conversation::hash::{ContentHash, ContentHasher};
use baton_conversation::item::{Body, Item, Meta};
use baton_conversation::record::SessionId;
use baton_conversation::transcript::Sink;
use baton_events::schema::item;

use super::append_state::AppendState;
use super::fresh::Held;
use baton_store::chunks;
use baton_store::chunks::{Append, Batch, ChunkStore, Header, ManifestId};

/// Limit of items held, by [`Item::weight`]; multiplied by the number of jobs that wait for the disk together.
const HELD_BYTES: usize = 1024 * 1024;
/// A conversation being gathered.
pub(super) struct ConversationBuilder<'a> {
    session: &'a SessionId,
    batch: Batch,
    prior: Option<ManifestId>,
    pub(super) append_state: AppendState,
    /// True if a new item withdraws a prompt. The hash does not show that, and the withdrawn prompt would still be
    /// found.
    pub(super) withdraws: bool,
    state: State,
    /// Why it cannot be stored. Later items are only counted.
    failed: Option<chunks::Error>,
}

enum State {
    /// The new items are held.
    Held { items: Vec<Item>, weight: usize },
    /// There are too many to hold; they are written as they come.
    Written(Append),
}

/// A written conversation that is not durable yet.
pub(super) struct Written {
    pub(super) batch: Batch,
    pub(super) manifest: ManifestId,
    /// The new items, if they are held.
    pub(super) held: Option<Held>,
    pub(super) append_state: AppendState,
}

impl<'a> ConversationBuilder<'a> {
    /// Starts an empty conversation.
    pub(super) fn new(chunks: &ChunkStore, session: &'a SessionId) -> Self {
        Self {
            session,
            batch: chunks.batch(),
            prior: None,
            append_state: AppendState::default(),
            withdraws: false,
            state: State::Held { items: Vec::new(), weight: 0 },
            failed: None,
        }
    }

    /// Continues the conversation of `prior`.
    pub(super) fn continuing(
        chunks: &ChunkStore,
        session: &'a SessionId,
        prior: ManifestId,
        append_state: AppendState,
    ) -> Self {
        Self { prior: Some(prior), append_state, ..Self::new(chunks, session) }
    }

    /// Returns the hash of all items except withdrawn prompts. If there are any, computes it from all items, because the
    /// prompts are only known at the end.
    pub(super) fn hash(&mut self) -> Result<ContentHash, chunks::Error> {
        if let Some(hash) = self.append_state.hash() {
            return Ok(hash);
        }
        let mut hasher = ContentHasher::default();
        if self.failed.is_some() {
            return Ok(hasher.finish());
        }
        if self.prior.is_some() {
            self.spill()?;
        }
        let AppendState { withdrawn, .. } = &self.append_state;
        match &self.state {
            State::Held { items, .. } => {
                items.iter().filter(|item| !withdrawn.is_withdrawn(item)).for_each(|item| hasher.item(item));
            }
            State::Written(append) => {
                let mut index = 0;
                append.each(&self.batch, |lines| {
                    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                        let item = item::decode(line)
                            .map_err(|_| chunks::Error::BadLine { index, what: "it cannot be read back" })?;
                        index += 1;
                        if !withdrawn.is_withdrawn(&item) {
                            hasher.item(&item);
                        }
                    }
                    Ok::<_, chunks::Error>(())
                })?;
            }
        }
        self.append_state.settle(hasher.clone());
        Ok(hasher.finish())
    }

    /// Writes what is not written yet.
    pub(super) fn written(mut self, header: Header) -> Result<Written, chunks::Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (append, held) = match self.state {
            State::Written(append) => (append, None),
            State::Held { items, weight } => {
                let mut append = self.batch.begin(self.session, self.prior.as_ref())?;
                for item in &items {
                    write(&mut append, &mut self.batch, item)?;
                }
                (append, Some(Held { after: self.prior, items, weight }))
            }
        };
        let manifest = append.finish(&mut self.batch, header)?;
        Ok(Written { batch: self.batch, manifest, held, append_state: self.append_state })
    }

    fn add(&mut self, item: Item) -> Result<(), chunks::Error> {
        match &mut self.state {
            State::Held { items, weight } => {
                *weight += item.weight();
                items.push(item);
                if *weight > HELD_BYTES { self.spill() } else { Ok(()) }
            }
            State::Written(append) => write(append, &mut self.batch, &item),
        }
    }

    /// Writes the new items that are held, and releases them.
    fn spill(&mut self) -> Result<(), chunks::Error> {
        let State::Held { items, .. } = &mut self.state else { return Ok(()) };
        let items = std::mem::take(items);
        let mut append = self.batch.begin(self.session, self.prior.as_ref())?;
        for item in &items {
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
        self.append_state.note(&item);
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

    /// The stored conversation is the same however it is divided. A few new items are held, unless the stored ones had to
    /// be gone through because one is withdrawn.
    #[test]
    fn a_conversation_is_the_same_in_whatever_pieces_it_is_gathered() {
        let session = SessionId::new("a").unwrap();
        for (kept, new, chars, is_held, withdraws) in [
            (0, 0, 0, true, false),
            (0, 20, 100, true, false),
            (20, 0, 100, true, false),
            (20, 20, 100, false, true),
            (0, 40, 100_000, false, true),
            (40, 0, 100_000, true, false),
            (40, 5, 100_000, true, false),
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
            let mut whole = ConversationBuilder::new(&chunks, &session);
            all.iter().for_each(|item| whole.item(item.clone()));
            let expected = whole.written(Header::default()).unwrap();
            let manifest = expected.manifest;
            expected.batch.commit().unwrap();

            let mut first = ConversationBuilder::new(&chunks, &session);
            old.iter().for_each(|item| first.item(item.clone()));
            let first = first.written(Header::default()).unwrap();
            let prior = first.manifest;
            first.batch.commit().unwrap();
            let mut second = ConversationBuilder::continuing(&chunks, &session, prior, first.append_state);
            more.iter().for_each(|item| second.item(item.clone()));
            assert_eq!(
                (second.hash().unwrap(), second.append_state.count),
                (ContentHash::digest(&all), all.len() as u64)
            );
            assert_eq!(second.hash().unwrap(), ContentHash::digest(&all), "as often as it is asked for");
            let written = second.written(Header::default()).unwrap();
            assert_eq!(written.manifest, manifest, "{kept} and {new} of {chars}");
            let held = written.held.map(|held| (held.after, held.items));
            assert_eq!(held, is_held.then(|| (Some(prior), more.to_owned())));
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
        let mut builder = ConversationBuilder::new(&chunks, &session);
        items(1..40, 100_000).into_iter().for_each(|item| builder.item(item));
        assert!(files() > 0, "it is written as it comes");
        drop(builder);
        assert_eq!(files(), 0);
    }

    #[test]
    fn an_item_that_cannot_be_stored_fails_the_whole() {
        let (folder, session) = (tempfile::tempdir().unwrap(), SessionId::new("a").unwrap());
        let chunks = ChunkStore::open(folder.path()).unwrap();
        let mut builder = ConversationBuilder::new(&chunks, &session);
        items(1..2, chunks::LINE_MAX_BYTES).into_iter().chain(items(2..40, 50_000)).for_each(|item| builder.item(item));
        assert!(matches!(builder.written(Header::default()), Err(chunks::Error::BadLine { index: 0, .. })));
    }
}
