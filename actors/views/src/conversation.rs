//! Reads the conversation behind a session's current episode, also if the episode changes meanwhile.

use std::sync::Arc;

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use baton_conversation::record::SessionId;
use baton_enrichment::Lines;
use baton_episode::digest::{Abridged, Episode, Show};
use baton_events::session::EpisodeRef;
use baton_memory::Searcher;
use baton_store::chunks::ChunkStore;
use baton_store::conversation::{Error, for_each_item};
use baton_store::model_answer::{current_answer, read_answer};

use crate::catalog::Catalog;
use crate::correction;
use crate::digests::{Digests, MadeOf};
pub use crate::titles::{given_title, title};

/// The operations of the indexer that the views need.
pub trait Index: Send + Sync {
    /// The memory as of its last update; `None` while there is none.
    fn searcher(&self) -> Option<Searcher>;

    /// Stores the conversation of an episode again from its transcript, if its content is unchanged. Blocks for disk
    /// reads.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be restored.
    fn restore(&self, id: &SessionId, episode: &EpisodeRef) -> Result<(), String>;
}

/// Reads conversations and their digests. Shared by all callers.
pub struct Conversations {
    catalog: Catalog,
    chunks: Arc<ChunkStore>,
    index: Box<dyn Index>,
    digests: Digests,
}

impl Conversations {
    /// `chunks` holds the conversations of the sessions in `catalog`.
    pub fn new(catalog: Catalog, chunks: Arc<ChunkStore>, index: impl Index + 'static) -> Self {
        Self { catalog, chunks, index: Box::new(index), digests: Digests::default() }
    }

    /// The sessions whose conversations these are.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The conversations as they are stored.
    pub fn chunks(&self) -> &ChunkStore {
        &self.chunks
    }

    /// The digest of the episode `current` or its successor, see [`Self::read`], as a person has corrected it. Without a
    /// title of its own it gets the one that another session gives it. The conversation is read in chunks; the digest
    /// may be cached. Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// If the conversation cannot be read.
    pub fn digest(&self, id: &SessionId, current: EpisodeRef, show: &Show) -> Result<(EpisodeRef, Episode), Error> {
        let (current, mut episode) = self.uncorrected(id, current, show)?;
        self.correct(id, &mut episode);
        Ok((current, episode))
    }

    /// The same without a person's corrections and without another session's title. Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// If the conversation cannot be read.
    pub fn uncorrected(
        &self,
        id: &SessionId,
        current: EpisodeRef,
        show: &Show,
    ) -> Result<(EpisodeRef, Episode), Error> {
        self.read(id, current, |episode| match self.digests.get(&self.made_of(id, episode, show)) {
            Some(known) => Ok(Episode::clone(&known)),
            None => self.make_digest(id, episode, show, |_| {}),
        })
    }

    /// Like [`Self::digest`], with a reader's result over the visible items: the conversation is read once for both.
    /// Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// If the conversation cannot be read.
    pub fn digest_reading<R>(
        &self,
        id: &SessionId,
        current: EpisodeRef,
        show: &Show,
        reader: impl Fn() -> R,
        push: impl Fn(&mut R, &Item),
    ) -> Result<(EpisodeRef, Episode, R), Error> {
        let (current, (mut episode, read)) = self.read(id, current, |episode| {
            let mut reader = reader();
            let made = self.make_digest(id, episode, show, |item| push(&mut reader, item))?;
            Ok((made, reader))
        })?;
        self.correct(id, &mut episode);
        Ok((current, episode, read))
    }

    /// Reads a conversation, calls `each` with the visible items, and makes its digest unless it is cached.
    fn make_digest(
        &self,
        id: &SessionId,
        episode: &EpisodeRef,
        show: &Show,
        mut each: impl FnMut(&Item),
    ) -> Result<Episode, Error> {
        let made_of = self.made_of(id, episode, show);
        let known = self.digests.get(&made_of);
        let (mut abridged, mut lines) = (Abridged::default(), Lines::default());
        for_each_item(&self.chunks, id, episode, |item| {
            // Text that is not shown must not support a claim of the model.
            if show.keeps(&item.body) {
                each(&item);
                if made_of.answer.is_some() && known.is_none() {
                    lines.note(&item);
                }
            }
            if known.is_none() {
                abridged.push(item);
            }
        })?;
        Ok(known.map_or_else(
            || {
                let made = self.apply_answer(id, made_of.answer.as_ref(), abridged.digest(show), &lines);
                self.digests.put(made_of, &made);
                made
            },
            |known| Episode::clone(&known),
        ))
    }

    fn made_of(&self, id: &SessionId, episode: &EpisodeRef, show: &Show) -> MadeOf {
        let answer = self.catalog.table.now().get(id).and_then(|row| current_answer(&row.state, episode));
        MadeOf { manifest: episode.manifest, answer, show: *show }
    }

    /// Applies a model's answer to an episode; `by` is the answer's hash. Returns the episode unchanged if there is
    /// none. Blocks for a disk read.
    pub fn apply_answer(&self, id: &SessionId, by: Option<&ContentHash>, episode: Episode, lines: &Lines) -> Episode {
        match by.and_then(|by| read_answer(&self.chunks, id, by)) {
            Some(answer) => answer.merge_into(episode, lines),
            None => episode,
        }
    }

    /// Calls `of` with `current`, or with the episode that has replaced it, whose chunks may have been collected. A
    /// conversation that cannot be read any more is restored from its transcript, if that is unchanged. Blocks for disk
    /// reads.
    ///
    /// # Errors
    ///
    /// If neither can be read.
    pub fn read<T>(
        &self,
        id: &SessionId,
        current: EpisodeRef,
        of: impl Fn(&EpisodeRef) -> Result<T, Error>,
    ) -> Result<(EpisodeRef, T), Error> {
        let error = match of(&current) {
            Ok(read) => return Ok((current, read)),
            Err(error) => error,
        };
        let row = self.catalog.table.now().get(id).cloned();
        let newer = row.as_ref().and_then(|row| row.state.episode.clone());
        if let Some(newer) = newer.filter(|newer| newer.manifest != current.manifest) {
            return of(&newer).map(|read| (newer, read));
        }
        match self.index.restore(id, &current) {
            Ok(()) => of(&current).map(|read| (current, read)),
            Err(why) => {
                tracing::debug!(session = %id, %why, "conversation not restored");
                Err(error)
            }
        }
    }

    /// The title that another visible session gives this one. Blocks for reads of the index.
    pub fn given_title(&self, id: &SessionId) -> Option<String> {
        given_title(&self.index.searcher()?, &self.catalog.table.now(), &self.catalog.settings.now(), id)
    }

    /// Applies a person's corrections. An episode that is still untitled gets the title that another session gives it.
    /// Blocks for disk reads.
    pub fn correct(&self, id: &SessionId, episode: &mut Episode) {
        if let Some(row) = self.catalog.table.now().get(id) {
            correction::correct(&self.chunks, id, &row.state, episode);
        }
        if !episode.is_titled
            && let Some(title) = self.given_title(id)
        {
            episode.set_title(&title);
        }
    }
}
