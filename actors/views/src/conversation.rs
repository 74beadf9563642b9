//! The conversation behind a session's episode, whichever is current by the time it is read.

use std::sync::Arc;

use baton_config::settings::SettingsReader;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_enrichment::Lines;
use baton_episode::digest::{Abridged, Episode, Show};
use baton_events::session::EpisodeRef;
use baton_journal::session_table::TableReader;
use baton_memory::Searcher;
use baton_store::chunks::ChunkStore;
use baton_store::conversation::{Error, each};
use baton_store::model_answer::{current_answer, read_answer};

use crate::digests::{Digests, MadeOf};
pub use crate::titles::given_title;

/// What the views need of the indexer.
pub trait Index: Send + Sync {
    /// The memory as of the last time it caught up; `None` while there is none.
    fn searcher(&self) -> Option<Searcher>;

    /// Stores the conversation of an episode again from its transcript, if that still says the same. Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// Why it cannot be restored.
    fn restore(&self, id: &SessionId, episode: &EpisodeRef) -> Result<(), String>;
}

/// Reads conversations, and what they come to. Shared by all who do.
pub struct Conversations {
    table: TableReader,
    settings: SettingsReader,
    chunks: Arc<ChunkStore>,
    index: Box<dyn Index>,
    digests: Digests,
}

impl Conversations {
    /// Of the sessions of this table, whose conversations lie in these chunks.
    pub fn new(
        table: TableReader,
        settings: SettingsReader,
        chunks: Arc<ChunkStore>,
        index: impl Index + 'static,
    ) -> Self {
        Self { table, settings, chunks, index: Box::new(index), digests: Digests::default() }
    }

    /// The digest of what `current` names, see [`Self::read`], under the title that another session gives it if it has none.
    /// Its conversation is not in memory, however long it is; its digest may be. Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// When the conversation cannot be read.
    pub fn digest(&self, id: &SessionId, current: EpisodeRef, show: &Show) -> Result<(EpisodeRef, Episode), Error> {
        self.read(id, current, |episode| {
            let by = self.table.now().get(id).and_then(|row| current_answer(&row.state, episode));
            let made_of = MadeOf { manifest: episode.manifest, answer: by, show: *show };
            let mut episode = match self.digests.get(&made_of) {
                Some(known) => Episode::clone(&known),
                None => {
                    let (mut abridged, mut lines) = (Abridged::default(), Lines::default());
                    each(&self.chunks, id, episode, |item| {
                        // What shall not be shown bears out no claim.
                        if by.is_some() && show.keeps(&item.body) {
                            lines.note(&item);
                        }
                        abridged.push(item);
                    })?;
                    let made = self.told_by_model(id, by.as_ref(), abridged.digest(show), &lines);
                    self.digests.put(made_of, &made);
                    made
                }
            };
            self.entitle(id, &mut episode);
            Ok(episode)
        })
    }

    /// An episode as a model has told it, if one has; `by` names its answer. Blocks for a disk read.
    pub fn told_by_model(&self, id: &SessionId, by: Option<&ContentHash>, episode: Episode, lines: &Lines) -> Episode {
        match by.and_then(|by| read_answer(&self.chunks, id, by)) {
            Some(answer) => answer.tell(episode, lines),
            None => episode,
        }
    }

    /// Reads what `current` names, or what has replaced it since: then its chunks may have been collected. What cannot be read
    /// any more is restored from the transcript, if that still says the same. Blocks for disk reads.
    ///
    /// # Errors
    ///
    /// When neither can be read.
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
        let row = self.table.now().get(id).cloned();
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

    /// What another session that may be shown calls this one. Blocks for reads of the index.
    pub fn given_title(&self, id: &SessionId) -> Option<String> {
        given_title(&self.index.searcher()?, &self.table.now(), &self.settings.now(), id)
    }

    /// Gives an episode its title, where another session has it. Blocks for reads of the index.
    pub fn entitle(&self, id: &SessionId, episode: &mut Episode) {
        if !episode.is_titled
            && let Some(title) = self.given_title(id)
        {
            episode.entitle(&title);
        }
    }
}
