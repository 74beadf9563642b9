//! Applies one event to the memory.

use std::borrow::Cow;

use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_enrichment::Lines;
use baton_episode::digest;
use baton_episode::digest::{Episode, Show};
use baton_events::envelope::StoredRecord;
use baton_events::projection::table::Row;
use baton_events::session::EpisodeRef;
use baton_graph::Surroundings;

use super::change::Change;
use super::interrupt::Interrupt;
use super::outline::{self, Outline, Turns};
use super::{Error, Projector, Put, REMEMBERED};
use crate::indexer::left_out::Parts;
use crate::indexer::restore;
use baton_memory::{Entry, Error as MemoryError};
use baton_store::conversation::Conversation;
use baton_store::model_answer::{current_answer, read_answer};
use baton_views::correction;

impl<C: Fn(SessionId) + Send + 'static> Projector<C> {
    pub(super) fn apply(&mut self, record: &StoredRecord) -> Result<(), Error> {
        match Change::of(record, &self.options.table.now()) {
            Change::Nothing => Ok(()),
            Change::Memo(uuid) => self.apply_memo(uuid, record),
            Change::Home => self.apply_home(record),
            Change::Forgotten(session) => {
                self.forgotten.insert(session.clone());
                self.remove(&session)
            }
            Change::BegunAnew(session) => {
                self.begin_anew_with(&session);
                Ok(())
            }
            Change::Put { session, row, anew, is_indexed } => {
                if anew {
                    self.begin_anew_with(&session);
                }
                let Some(current) = &row.state.episode else { return Ok(()) };
                if is_indexed && !self.options.table.now().is_deleted(&row) && self.append(&session, &row, current)? {
                    return Ok(());
                }
                self.put_shown(&session, &row, current)
            }
        }
    }

    /// Replaces all of a session with its next conversation.
    fn begin_anew_with(&mut self, session: &SessionId) {
        self.put.remove(session);
        self.recent.remove(session);
        self.large.set_open(session, false);
    }

    pub(super) fn put(
        &mut self,
        session: &SessionId,
        row: &Row,
        current: &EpisodeRef,
        interrupt: Interrupt<'_>,
    ) -> Result<(), Error> {
        let Some((conversation, mut outline)) = self.conversation(session, current, interrupt)? else { return Ok(()) };
        if self.left_out.holds(session, current) {
            tracing::error!(%session, "conversation makes the memory panic and is left out");
            return self.remove(session);
        }
        // If anything below panics, the next incarnation counts this conversation as suspect.
        self.left_out.suspect(session, current);
        let items = outline.items(&conversation);
        let mut parts = Parts::default();
        let mut episode = parts.make("its digest", || digest::digest(items, &digest::Show::default()));
        episode.left_out = outline.left_out();
        let answer = current_answer(&row.state, current);
        let answer = answer.and_then(|answer| read_answer(&self.options.chunks, session, &answer));
        let lines = if answer.is_some() { Lines::new(items, &Show::default()) } else { Lines::default() };
        let state = &row.state;
        let project = state.place.as_ref().map(|place| place.project.as_str());
        let group = state.group_id().unwrap_or_default();
        let follows = state.signals.follows.as_ref().map(|follows| &follows.session);
        let surroundings = Surroundings { session, group, project, parent: state.parent(), follows };
        interrupt.check()?;
        let (chunks, corrections) = (self.options.chunks.clone(), &state.corrections);
        let correct = |episode: &mut Episode| correction::correct(&chunks, session, state, episode);
        // Corrected again once merged: a model's answer repeats what the rules find.
        let mut by_rules = Cow::Borrowed(&episode);
        if !corrections.is_empty() {
            correct(by_rules.to_mut());
        }
        let graph =
            parts.make("its facts", || outline::graph(items, &by_rules, &surroundings, answer.as_ref(), &lines));
        interrupt.check()?;
        let outcomes = parts.make("its outcomes", || {
            Some(outline.outcomes(&conversation, &by_rules, surroundings, &correct, interrupt))
        });
        let outcomes = outcomes.transpose()?.unwrap_or_default();
        outline.let_go();
        if let Some(answer) = &answer {
            episode = answer.merge_into(episode, &lines);
        }
        correct(&mut episode);
        let titles = std::mem::take(&mut outline.titles).with_own(episode.is_titled);
        let (title, content) = (episode.title.clone(), episode.content_with_marks());
        let entry = Entry {
            session,
            generation: current.generation,
            project,
            group_id: group,
            agent: state.transcript.as_ref().map_or(Agent::ClaudeCode, |transcript| transcript.agent),
            title: &title,
            episode_uuid: current.uuid,
            episode_text: &content,
            ended_at: outline.ended_at,
            indexed_at: current.at,
            parent: state.parent(),
            links: &outline.links,
            titles: &titles,
            units: &Turns { conversation: &conversation, outline: &outline, interrupt },
            changed_from: outline.changed_from,
            graph: &graph,
            outcomes: &outcomes,
            usage: &outline.usage,
        };
        let stored = self.store.put(&entry);
        self.left_out.clear(session);
        self.left_out.set_parts(session, parts);
        stored?;
        self.dirty();
        self.superseded.push(session.clone());
        if self.put.len() >= REMEMBERED {
            self.put.clear();
        }
        let put =
            Put { generation: current.generation, filter_version: current.filter_version, items: outline.item_count };
        // A shortened conversation that continues is replaced by a whole one, which does not start with it.
        match self.options.chunks.manifest(session, &current.manifest) {
            Ok(manifest) if manifest.header.shortened => self.put.remove(session),
            _ => self.put.insert(session.clone(), put),
        };
        self.remember(session, current, conversation, outline);
        Ok(())
    }

    pub(super) fn is_current(&self, session: &SessionId, episode: &EpisodeRef) -> bool {
        self.options.table.now().get(session).is_some_and(|row| restore::is_current(&row.state, episode))
    }

    /// Opens the conversation of an episode and outlines it. Returns `None` if it cannot be read, which is reported;
    /// the memory does without it.
    pub(super) fn conversation(
        &mut self,
        session: &SessionId,
        current: &EpisodeRef,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<(Conversation, Outline)>, Error> {
        let chunks = &self.options.chunks;
        // If neither generation nor filter has changed, what the memory has is a prefix of the conversation.
        let is_same = |put: &&Put| put.generation == current.generation && put.filter_version == current.filter_version;
        let known = self.put.get(session).filter(is_same).map(|put| put.items);
        let read = |conversation, interrupt| {
            Outline::of(&conversation, known, interrupt).map(|outline| (conversation, outline))
        };
        let open = |interrupt| {
            let opened = Conversation::open(chunks, session, current).map_err(outline::unreadable);
            opened.and_then(|conversation| read(conversation, interrupt))
        };
        // What is appended to a large one is left for its event.
        let fresh = if self.large.is_open(session) { None } else { self.fresh.take(&current.manifest) };
        let opened = match self.recent.items(session, &current.manifest, fresh) {
            Some(items) => read(Conversation::Held(items), interrupt),
            None => open(interrupt),
        };
        let error = match opened {
            Ok(opened) => return Ok(Some(opened)),
            Err(MemoryError::Units(error)) => error,
            Err(error) => return Err(error.into()),
        };
        let mended = self.restorer.restore(session, current);
        match mended.and_then(|()| open(Interrupt::never()).map_err(|error| error.to_string())) {
            Ok(opened) => {
                tracing::warn!(%session, %error, "stored conversation restored from its transcript");
                Ok(Some(opened))
            }
            // It was forgotten or superseded meanwhile; a later event handles that.
            Err(_) if !self.is_current(session, current) => Ok(None),
            // One damaged conversation must not block all others. It is reported, and the next index replaces it.
            Err(why) => {
                if self.left_out.unreadable(session, format!("{error}; {why}")) {
                    tracing::error!(%session, %error, %why, "conversation not readable, left out of the memory");
                }
                if self.store.holds(session)? {
                    self.remove(session)?;
                }
                Ok(None)
            }
        }
    }

    pub(super) fn remove(&mut self, session: &SessionId) -> Result<(), Error> {
        self.put.remove(session);
        self.recent.remove(session);
        self.large.forget(session);
        self.store.remove(session)?;
        self.dirty();
        Ok(())
    }
}
