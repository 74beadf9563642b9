//! The session table: the state of every session, memo and the home, as of a position.
//!
//! A [`SessionTable`] is made of persistent maps: a snapshot is free and shares what did not change. It still holds
//! what was deleted or cleared; [`SessionTable::visible_episode`] and [`SessionTable::memo`] leave that out.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};
use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use super::belonging::Belonging;
use super::multiset::Multiset;
use super::others::{Author, Others};
use super::recent::Recent;
use crate::memo::Memo;
pub use crate::row::{HomeRow, MemoRow, Row};
use crate::session::{EpisodeRef, Event, Phase, Place, Policy, State, UnindexedReason, evolve, wake_at};
use crate::{home, memo, schema};
use baton_conversation::hash::ContentHash;
use baton_conversation::record;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};

/// Must be raised when the fold of existing events changes in what [`SessionTable::state_hash`] covers.
pub const VERSION: u32 = 4;

/// All sessions, ordered by id.
#[derive(Clone, Debug, Default)]
pub struct SessionTable {
    rows: RedBlackTreeMapSync<SessionId, Arc<Row>>,
    memos: RedBlackTreeMapSync<Uuid, Arc<MemoRow>>,
    /// The groups of memos.
    groups: Multiset<String>,
    /// Where sessions belong: many sessions share few values.
    belongings: Multiset<Belonging>,
    home: Arc<HomeRow>,
    /// Sessions that owe an enrichment or have a running call of a model.
    enriching: RedBlackTreeSetSync<SessionId>,
    /// Sessions that may have something which is not indexed, and failed ones.
    unsettled: RedBlackTreeSetSync<SessionId>,
    recent: Recent,
    position: Position,
    skipped: u64,
    /// Number of unreadable events, for sessions that have some.
    unreadable: RedBlackTreeMapSync<SessionId, u64>,
    /// See [`SessionTable::with_others`].
    others: Others,
}

impl SessionTable {
    /// A view for answers in which others' sessions are found as well. Where both have a session, the log's own row
    /// stands. No part that acts on sessions may be given such a view.
    #[must_use]
    pub fn with_others(mut self, others: Others) -> Self {
        self.others = others;
        self
    }

    /// This table without what a view added.
    #[must_use]
    pub fn without_others(&self) -> Self {
        self.clone().with_others(self.others.own_alone())
    }

    /// The author of this log, as others know them; with empty names if unknown.
    pub fn own_author(&self) -> &Arc<Author> {
        &self.others.own
    }

    /// Who wrote a session, if it is not of this log.
    pub fn author(&self, id: &SessionId) -> Option<&Arc<Author>> {
        self.others.author(id).filter(|_| !self.rows.contains_key(id))
    }

    /// Folds an event of a session in.
    pub fn apply(&mut self, position: Position, id: &SessionId, sequence: SequenceNumber, event: &Event) {
        let before = self.rows.get(id).map(|row| (row.state.clone(), row.since));
        let (before, since) = before.unwrap_or_default();
        let came = (before.episode.clone(), before.group_id().map(str::to_owned));
        let state = evolve(before, event);
        let stays = match (&came.0, &state.episode) {
            _ if matches!(event, Event::EpisodeRestored { .. }) => false,
            // Deleted or cleared sessions stay so.
            _ if matches!(event, Event::Redacted { .. } | Event::Shortened { .. }) => true,
            (Some(before), Some(after)) => {
                // After a clear of all groups, a session stays cleared in whatever group it is put.
                let is_there = || came.1.as_deref() == state.group_id() || self.home.state.clears_all(since);
                after.has_same_content(before) && is_there()
            }
            _ => false,
        };
        let row = Row { version: sequence, state, since: if stays { since } else { position } };
        self.restore(id.clone(), row);
        self.recent.push(self.position, position, id);
        self.position = position;
    }

    /// Folds an event of a memo in.
    pub fn apply_memo(&mut self, position: Position, uuid: Uuid, sequence: SequenceNumber, event: &memo::Event) {
        let before = self.memos.get(&uuid).map(|row| (row.state.clone(), row.since));
        let (before, since) = before.unwrap_or_default();
        // Cleared memos stay so.
        let since = if matches!(event, memo::Event::Redacted(_)) { since } else { position };
        let row = MemoRow { version: sequence, state: memo::evolve(before, event), since };
        self.restore_memo(uuid, row);
        self.position = position;
    }

    /// Folds an event of the home in.
    pub fn apply_home(&mut self, position: Position, sequence: SequenceNumber, event: home::Event) {
        let state = home::evolve(self.home.state.clone(), event);
        self.home = Arc::new(HomeRow { version: sequence, state });
        self.position = position;
    }

    /// Skips an event that this version cannot read, or that belongs to an unknown kind of stream.
    pub fn skip(&mut self, position: Position, unreadable: bool) {
        self.position = position;
        self.skipped += u64::from(unreadable);
    }

    /// Skips an event of a session that this version cannot read. The row continues with the readable events; what this
    /// one meant is unknown.
    pub fn skip_event_of(&mut self, position: Position, id: &SessionId) {
        self.skip(position, true);
        let events = self.unreadable_events(id) + 1;
        self.unreadable.insert_mut(id.clone(), events);
    }

    /// Restores a session's row from a checkpoint.
    pub fn restore(&mut self, id: SessionId, row: Row) {
        let waits = row.state.enrichment().is_some_and(|known| known.owed.is_some() || known.call.is_some());
        keep(&mut self.enriching, &id, waits);
        keep(&mut self.unsettled, &id, is_unsettled(&row.state));
        let left = self.rows.get(&id).map(|row| Belonging::from(&row.state));
        if !left.as_ref().is_some_and(|left| left.is_of(&row.state)) {
            left.into_iter().for_each(|left| self.belongings.remove(left));
            self.belongings.add(Belonging::from(&row.state));
        }
        self.rows.insert_mut(id, Arc::new(row));
    }

    /// Restores a memo's row from a checkpoint.
    pub fn restore_memo(&mut self, uuid: Uuid, row: MemoRow) {
        let group = |row: &MemoRow| row.state.memo.as_ref().map(|memo| memo.group.clone());
        let left = self.memos.get(&uuid).and_then(|row| group(row));
        left.into_iter().for_each(|group| self.groups.remove(group));
        group(&row).into_iter().for_each(|group| self.groups.add(group));
        self.memos.insert_mut(uuid, Arc::new(row));
    }

    /// Restores the home's row from a checkpoint.
    pub fn restore_home(&mut self, row: HomeRow) {
        self.home = Arc::new(row);
    }

    /// Sets the position of the restored rows and the number of events that they could not read.
    pub fn set_restored(&mut self, position: Position, skipped: u64) {
        (self.position, self.skipped) = (position, skipped);
        self.recent = Recent::after(position);
    }

    /// SHA-256 over all sessions in order of id, each as its id in JSON, a space, its [stored shape](schema::state) and
    /// a line break; then over all memos in order of uuid, each as the name of its stream in JSON and its stored shape;
    /// then likewise over the home, if anything was ever deleted in it or a model is enabled. It depends on the
    /// recorded events alone: tables that folded the same events have the same hash on any machine, and any difference
    /// changes it.
    pub fn state_hash(&self) -> ContentHash {
        let mut digest = Sha256::new();
        for (id, row) in &self.rows {
            let id = serde_json::to_string(id.as_str()).unwrap_or_default();
            digest.update(format!("{id} {}\n", schema::state::encode(row)));
        }
        for (uuid, row) in &self.memos {
            // The position in the log is not part of the state.
            let row = MemoRow { since: Position(0), ..MemoRow::clone(row) };
            digest.update(format!("\"memory:{uuid}\" {}\n", schema::checkpoint_row::memo(&row)));
        }
        if self.home.state.deletes() || self.home.state.model_since.is_some() {
            digest.update(format!("\"home\" {}\n", schema::checkpoint_row::home(&self.home)));
        }
        ContentHash(digest.finalize().into())
    }

    /// The position of the last event folded in.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Number of unreadable events.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Number of unreadable events of a session.
    pub fn unreadable_events(&self, id: &SessionId) -> u64 {
        self.unreadable.get(id).copied().unwrap_or_default()
    }

    /// Sessions with unreadable events, and their number.
    pub fn unreadable(&self) -> impl Iterator<Item = (&SessionId, u64)> {
        self.unreadable.iter().map(|(id, events)| (id, *events))
    }

    /// The row of a session.
    pub fn get(&self, id: &SessionId) -> Option<&Arc<Row>> {
        self.rows.get(id).or_else(|| self.others.get(id))
    }

    /// One session by the text of its id.
    pub fn get_by_text(&self, id: &str) -> Option<&Arc<Row>> {
        self.rows.get(id).or_else(|| self.others.get_by_text(id))
    }

    /// The current episode of a session, unless it is deleted or its group was cleared since.
    pub fn visible_episode<'a>(&self, row: &'a Row) -> Option<&'a EpisodeRef> {
        let clears = |group| self.home.state.clears(group, row.since);
        // A session cleared under an earlier derived project stays cleared.
        let recorded = || row.state.place.as_ref().filter(|_| row.state.group.is_none()).map(Place::recorded_project);
        let is_cleared = || clears(row.state.group_id()) || clears(recorded());
        row.state.episode.as_ref().filter(|episode| row.state.deleted != Some(episode.uuid) && !is_cleared())
    }

    /// True if a session has an episode that is deleted, or was cleared with its group.
    pub fn is_deleted(&self, row: &Row) -> bool {
        row.state.episode.is_some() && self.visible_episode(row).is_none()
    }

    /// A memo with its row, unless it is deleted or its group was cleared since.
    pub fn memo(&self, uuid: Uuid) -> Option<(&Arc<MemoRow>, &Memo)> {
        let row = self.memos.get(&uuid)?;
        let memo = row.state.memo.as_ref()?;
        (!self.home.state.clears(Some(&memo.group), row.since)).then_some((row, memo))
    }

    /// The shortest prefix of a session's id, of at least 8 characters, that no other known id has.
    pub fn short_id<'a>(&self, id: &'a SessionId) -> &'a str {
        let before = self.rows.range(..id.clone()).next_back().map(|(near, _)| near.as_str());
        let after =
            self.rows.range((Bound::Excluded(id.clone()), Bound::Unbounded)).next().map(|(near, _)| near.as_str());
        let others = self.others.neighbours(id).map(SessionId::as_str);
        // The ids with the longest common prefix are its neighbours.
        record::unique_prefix(id.as_str(), before.into_iter().chain(after).chain(others))
    }

    /// As [`SessionTable::short_id`], for a memo's uuid; no session's id has that prefix either.
    pub fn short_memo_id(&self, uuid: Uuid) -> String {
        let text = uuid.hyphenated().to_string();
        let before = self.memos.range(..uuid).next_back().map(|(near, _)| near.hyphenated().to_string());
        let after = self.memos.range((Bound::Excluded(uuid), Bound::Unbounded)).next();
        let mut near: Vec<String> =
            before.into_iter().chain(after.map(|(near, _)| near.hyphenated().to_string())).collect();
        if let Some(place) = SessionId::new(&text) {
            near.extend(self.rows.range(..place.clone()).next_back().map(|(near, _)| near.to_string()));
            near.extend(self.rows.range(place..).next().map(|(near, _)| near.to_string()));
        }
        record::unique_prefix(&text, near.iter().map(String::as_str)).to_owned()
    }

    /// All memos by uuid, including deleted ones.
    pub fn memos(&self) -> impl Iterator<Item = (Uuid, &Arc<MemoRow>)> {
        self.memos.iter().map(|(uuid, row)| (*uuid, row))
    }

    /// A memo's row, deleted or not.
    pub fn memo_row(&self, uuid: Uuid) -> Option<&Arc<MemoRow>> {
        self.memos.get(&uuid)
    }

    /// Groups that have memos, including cleared ones.
    pub fn memo_groups(&self) -> impl Iterator<Item = &str> {
        self.groups.values().map(String::as_str)
    }

    /// The distinct values of where sessions belong.
    pub fn belongings(&self) -> impl Iterator<Item = &Belonging> {
        self.belongings.values().chain(self.others.belongings())
    }

    /// Number of memos, including deleted ones.
    pub fn memos_len(&self) -> usize {
        self.memos.size()
    }

    /// The row of the home.
    pub fn home(&self) -> &Arc<HomeRow> {
        &self.home
    }

    /// Hidden facts.
    pub fn deleted_facts(&self) -> impl Iterator<Item = Uuid> {
        self.home.state.deleted_facts.iter().copied()
    }

    /// All sessions, by id; those of others come last.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.rows.iter().chain(self.others.iter().filter(|(id, _)| !self.rows.contains_key(*id)))
    }

    /// Sessions changed by events of their own after a position that this table once had; `None` if that is too long
    /// ago. Changes by clearing a group show in [`SessionTable::home`] only.
    pub fn changed_since(&self, position: Position) -> Option<BTreeSet<&SessionId>> {
        if position > self.position { None } else { self.recent.since(position) }
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// True if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sessions that owe an enrichment or have a running call of a model, by id.
    pub fn enriching(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.enriching.iter().filter_map(|id| Some((id, self.rows.get(id)?)))
    }

    /// Sessions that may have something which is not indexed, and failed ones, by id.
    pub fn unsettled(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.unsettled.iter().filter_map(|id| Some((id, self.rows.get(id)?)))
    }

    /// Sessions that are due at `now`, and when the next one is.
    pub fn due(&self, policy: impl Fn(&State) -> Policy, now: Timestamp) -> (Vec<SessionId>, Option<Timestamp>) {
        let mut due = Vec::new();
        let mut next: Option<Timestamp> = None;
        for (id, row) in &self.rows {
            match wake_at(&row.state, &policy(&row.state)) {
                Some(at) if at <= now => due.push(id.clone()),
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        (due, next)
    }
}

/// Puts a session into a set, or takes it out.
fn keep(set: &mut RedBlackTreeSetSync<SessionId>, id: &SessionId, is_in: bool) {
    match (is_in, set.contains(id)) {
        (true, false) => set.insert_mut(id.clone()),
        (false, true) => drop(set.remove_mut(id)),
        _ => {}
    }
}

fn is_unsettled(state: &State) -> bool {
    match state.phase {
        Phase::Active
        | Phase::Inactive
        | Phase::Indexing
        | Phase::Failed
        | Phase::Unindexed(UnindexedReason::TimeoutDisabled) => true,
        Phase::Indexed => state.unindexed > 0,
        Phase::New | Phase::Unindexed(_) | Phase::Forgotten => false,
    }
}

#[cfg(test)]
mod tests;
