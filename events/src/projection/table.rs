//! The session table: the state of every session, and beside it that of every memo and of the home, as of a position.
//!
//! A [`SessionTable`] is made of persistent maps: a snapshot costs nothing and shares what did not change. What somebody
//! has deleted or cleared is still in it, and [`SessionTable::shown`] and [`SessionTable::memo`] do not give it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::recent::Recent;
use super::tally::Tally;
use crate::memo;
use crate::memo::Memo;
use crate::session::{EpisodeRef, Event, Phase, Place, Policy, State, evolve, wake_at};
use crate::{home, schema};
use baton_conversation::hash::ContentHash;
use baton_conversation::record;
use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};

/// Bumped when the fold of events that were there before changes in what [`SessionTable::state_hash`] counts.
pub const VERSION: u32 = 4;

/// One session as the table knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: State,
    /// The position at which the content of its episode came into its group.
    pub since: Position,
}

/// One memo as the table knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoRow {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: memo::State,
    /// The position at which its words came into its group.
    pub since: Position,
}

/// The home as the table knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HomeRow {
    /// How many of its events are folded in.
    pub version: SequenceNumber,
    /// The state after them.
    pub state: home::State,
}

/// Where a session belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Belonging {
    /// The group it was put into, if any.
    pub group: Option<String>,
    /// Where it works, once known.
    pub place: Option<Place>,
    /// True if it is forgotten.
    pub is_forgotten: bool,
}

impl Belonging {
    fn is_of(&self, state: &State) -> bool {
        self.group == state.group && self.place == state.place && self.is_forgotten == (state.phase == Phase::Forgotten)
    }
}

impl From<&State> for Belonging {
    fn from(state: &State) -> Self {
        let (group, place) = (state.group.clone(), state.place.clone());
        Self { group, place, is_forgotten: state.phase == Phase::Forgotten }
    }
}

/// Every session, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct SessionTable {
    rows: RedBlackTreeMapSync<SessionId, Arc<Row>>,
    memos: RedBlackTreeMapSync<Uuid, Arc<MemoRow>>,
    /// The groups of memos.
    groups: Tally<String>,
    /// Where sessions belong: many sessions share few values.
    belongings: Tally<Belonging>,
    home: Arc<HomeRow>,
    /// Sessions that owe an enrichment, or have a call of a model under way.
    enriching: RedBlackTreeSetSync<SessionId>,
    recent: Recent,
    position: Position,
    skipped: u64,
    /// How many events of a session could not be read, of those that have some.
    unreadable: RedBlackTreeMapSync<SessionId, u64>,
}

impl SessionTable {
    /// Folds one event in.
    pub fn apply(&mut self, position: Position, id: &SessionId, sequence: SequenceNumber, event: &Event) {
        let before = self.rows.get(id).map(|row| (row.state.clone(), row.since));
        let (before, since) = before.unwrap_or_default();
        let came = (before.episode.clone(), before.group_id().map(str::to_owned));
        let state = evolve(before, event);
        let stays = match (&came.0, &state.episode) {
            _ if matches!(event, Event::EpisodeRestored { .. }) => false,
            // What was deleted or cleared stays so.
            _ if matches!(event, Event::Redacted { .. }) => true,
            (Some(before), Some(after)) => {
                // What was cleared with all groups is cleared in whatever group it comes to.
                let is_there = || came.1.as_deref() == state.group_id() || self.home.state.clears_all(since);
                after.is_of_the_content_of(before) && is_there()
            }
            _ => false,
        };
        let row = Row { version: sequence, state, since: if stays { since } else { position } };
        self.restore(id.clone(), row);
        self.recent.push(self.position, position, id);
        self.position = position;
    }

    /// Folds one event of a memo in.
    pub fn apply_memo(&mut self, position: Position, uuid: Uuid, sequence: SequenceNumber, event: &memo::Event) {
        let before = self.memos.get(&uuid).map(|row| (row.state.clone(), row.since));
        let (before, since) = before.unwrap_or_default();
        // What was cleared stays so.
        let since = if matches!(event, memo::Event::Redacted(_)) { since } else { position };
        let row = MemoRow { version: sequence, state: memo::evolve(before, event), since };
        self.restore_memo(uuid, row);
        self.position = position;
    }

    /// Folds one event of the home in.
    pub fn apply_home(&mut self, position: Position, sequence: SequenceNumber, event: home::Event) {
        let state = home::evolve(self.home.state.clone(), event);
        self.home = Arc::new(HomeRow { version: sequence, state });
        self.position = position;
    }

    /// Counts an event that this version cannot read, or that is of no stream it knows.
    pub fn pass(&mut self, position: Position, unreadable: bool) {
        self.position = position;
        self.skipped += u64::from(unreadable);
    }

    /// Counts an event of a session that this version cannot read. Its row goes on with the events that can be read; what
    /// this one says of it is not known.
    pub fn pass_of(&mut self, position: Position, id: &SessionId) {
        self.pass(position, true);
        let events = self.unreadable_events(id) + 1;
        self.unreadable.insert_mut(id.clone(), events);
    }

    /// Puts back one session as a checkpoint kept it.
    pub fn restore(&mut self, id: SessionId, row: Row) {
        let waits = row.state.enrichment().is_some_and(|known| known.owed.is_some() || known.call.is_some());
        match (waits, self.enriching.contains(&id)) {
            (true, false) => self.enriching.insert_mut(id.clone()),
            (false, true) => drop(self.enriching.remove_mut(&id)),
            _ => {}
        }
        let left = self.rows.get(&id).map(|row| Belonging::from(&row.state));
        if !left.as_ref().is_some_and(|left| left.is_of(&row.state)) {
            left.into_iter().for_each(|left| self.belongings.remove(left));
            self.belongings.add(Belonging::from(&row.state));
        }
        self.rows.insert_mut(id, Arc::new(row));
    }

    /// Puts back one memo as a checkpoint kept it.
    pub fn restore_memo(&mut self, uuid: Uuid, row: MemoRow) {
        let group = |row: &MemoRow| row.state.memo.as_ref().map(|memo| memo.group.clone());
        let left = self.memos.get(&uuid).and_then(|row| group(row));
        left.into_iter().for_each(|group| self.groups.remove(group));
        group(&row).into_iter().for_each(|group| self.groups.add(group));
        self.memos.insert_mut(uuid, Arc::new(row));
    }

    /// Puts back the home as a checkpoint kept it.
    pub fn restore_home(&mut self, row: HomeRow) {
        self.home = Arc::new(row);
    }

    /// Says how far the rows that were put back have come, and how many events they could not read.
    pub fn restored(&mut self, position: Position, skipped: u64) {
        (self.position, self.skipped) = (position, skipped);
        self.recent = Recent::after(position);
    }

    /// SHA-256 over all sessions in the order of their ids, each as its id in JSON, a space, its
    /// [stored shape](schema::state) and a line break, then over all memos in the order of their uuids, each as the name of
    /// its stream in JSON and what it is, then, if anything was ever deleted in it or a model is enabled, over the home likewise. It depends on the recorded events alone: two tables that folded
    /// the same events have the same hash, on whatever machine and whenever, and a table with one difference has another.
    pub fn state_hash(&self) -> ContentHash {
        let mut digest = Sha256::new();
        for (id, row) in &self.rows {
            let id = serde_json::to_string(id.as_str()).unwrap_or_default();
            digest.update(format!("{id} {}\n", schema::state::encode(row)));
        }
        for (uuid, row) in &self.memos {
            // Where something stands in the log is no part of what it is.
            let row = MemoRow { since: Position(0), ..MemoRow::clone(row) };
            digest.update(format!("\"memory:{uuid}\" {}\n", schema::kept::memo(&row)));
        }
        if self.home.state.deletes() || self.home.state.model_since.is_some() {
            digest.update(format!("\"home\" {}\n", schema::kept::home(&self.home)));
        }
        ContentHash(digest.finalize().into())
    }

    /// The position of the last event folded in.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many events could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How many events of a session could not be read.
    pub fn unreadable_events(&self, id: &SessionId) -> u64 {
        self.unreadable.get(id).copied().unwrap_or_default()
    }

    /// The sessions of which events could not be read, and how many.
    pub fn unreadable(&self) -> impl Iterator<Item = (&SessionId, u64)> {
        self.unreadable.iter().map(|(id, events)| (id, *events))
    }

    /// One session.
    pub fn get(&self, id: &SessionId) -> Option<&Arc<Row>> {
        self.rows.get(id)
    }

    /// One session by the text of its id.
    pub fn get_by_text(&self, id: &str) -> Option<&Arc<Row>> {
        self.rows.get(id)
    }

    /// The current episode of a session, unless somebody has deleted it, or cleared its group since.
    pub fn shown<'a>(&self, row: &'a Row) -> Option<&'a EpisodeRef> {
        let is_cleared = || self.home.state.clears(row.state.group_id(), row.since);
        row.state.episode.as_ref().filter(|episode| row.state.deleted != Some(episode.uuid) && !is_cleared())
    }

    /// Whether a session has an episode that somebody has deleted, or cleared with its group.
    pub fn is_deleted(&self, row: &Row) -> bool {
        row.state.episode.is_some() && self.shown(row).is_none()
    }

    /// A memo with the row it is from, unless it is deleted, or its group was cleared since.
    pub fn memo(&self, uuid: Uuid) -> Option<(&Arc<MemoRow>, &Memo)> {
        let row = self.memos.get(&uuid)?;
        let memo = row.state.memo.as_ref()?;
        (!self.home.state.clears(Some(&memo.group), row.since)).then_some((row, memo))
    }

    /// The shortest beginning of a session's id, of at least 8 characters, that no other known id begins with.
    pub fn short_id<'a>(&self, id: &'a SessionId) -> &'a str {
        let before = self.rows.range(..id.clone()).next_back().map(|(near, _)| near.as_str());
        let after =
            self.rows.range((Bound::Excluded(id.clone()), Bound::Unbounded)).next().map(|(near, _)| near.as_str());
        // Those that share most with it stand next to it.
        record::unique_start(id.as_str(), before.into_iter().chain(after))
    }

    /// As [`SessionTable::short_id`], of a memo's uuid: no session's id begins with it either.
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
        record::unique_start(&text, near.iter().map(String::as_str)).to_owned()
    }

    /// All memos by uuid, deleted ones included.
    pub fn memos(&self) -> impl Iterator<Item = (Uuid, &Arc<MemoRow>)> {
        self.memos.iter().map(|(uuid, row)| (*uuid, row))
    }

    /// What is known of a memo, deleted or not.
    pub fn memo_row(&self, uuid: Uuid) -> Option<&Arc<MemoRow>> {
        self.memos.get(&uuid)
    }

    /// The groups in which memos stand, cleared ones included.
    pub fn memo_groups(&self) -> impl Iterator<Item = &str> {
        self.groups.values().map(String::as_str)
    }

    /// The distinct values of where sessions belong.
    pub fn belongings(&self) -> impl Iterator<Item = &Belonging> {
        self.belongings.values()
    }

    /// How many memos there ever were.
    pub fn memos_len(&self) -> usize {
        self.memos.size()
    }

    /// The home.
    pub fn home(&self) -> &Arc<HomeRow> {
        &self.home
    }

    /// The facts that nobody is told of.
    pub fn deleted_facts(&self) -> impl Iterator<Item = Uuid> {
        self.home.state.deleted_facts.iter().copied()
    }

    /// All sessions, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.rows.iter()
    }

    /// The sessions that events of their own have changed behind a position that this table had once. What a cleared group
    /// hides is told by [`SessionTable::home`]. `None`: that is too long ago to be told.
    pub fn changed_since(&self, position: Position) -> Option<BTreeSet<&SessionId>> {
        if position > self.position { None } else { self.recent.since(position) }
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.rows.size()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sessions that owe an enrichment, or have a call of a model that has not ended, by id.
    pub fn enriching(&self) -> impl Iterator<Item = (&SessionId, &Arc<Row>)> {
        self.enriching.iter().filter_map(|id| Some((id, self.rows.get(id)?)))
    }

    /// Sessions whose time has come by `now`, and the next moment at which another's comes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Agent, EffectId, FileIdentity, GaveUp, Kind, Place, Tier, episode_uuid};

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn discovered(at: i64) -> Event {
        Event::Discovered {
            agent: Agent::ClaudeCode,
            path: "/t".to_owned(),
            identity: FileIdentity::default(),
            kind: Kind::Main,
            at: Timestamp(at),
        }
    }

    #[test]
    fn a_snapshot_does_not_see_what_comes_after_it() {
        let mut table = SessionTable::default();
        table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
        let snapshot = table.clone();
        table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(0));
        table.apply(Position(3), &id("a"), SequenceNumber(2), &Event::WentIdle);
        assert_eq!((snapshot.len(), snapshot.position()), (1, Position(1)));
        assert_eq!(snapshot.get(&id("a")).map(|row| row.version), Some(SequenceNumber(1)));
        assert_eq!((table.len(), table.position()), (2, Position(3)));
    }

    #[test]
    fn its_hash_tells_what_was_folded_and_nothing_else() {
        let mut table = SessionTable::default();
        let empty = table.state_hash();
        table.apply(Position(1), &id("b"), SequenceNumber(1), &discovered(0));
        table.apply(Position(2), &id("a"), SequenceNumber(1), &discovered(0));
        let mut other = SessionTable::default();
        other.apply(Position(7), &id("a"), SequenceNumber(1), &discovered(0));
        for (id, row) in table.iter().filter(|(id, _)| id.as_str() == "b") {
            other.restore(id.clone(), Row::clone(row));
        }
        other.pass(Position(9), true);
        assert_eq!(table.state_hash(), other.state_hash(), "the same sessions by another way");
        assert_ne!(table.state_hash(), empty);
        other.apply(Position(10), &id("a"), SequenceNumber(2), &Event::WentIdle);
        assert_ne!(table.state_hash(), other.state_hash());
    }

    #[test]
    fn sessions_that_owe_an_enrichment_are_found_without_the_others() {
        let mut table = SessionTable::default();
        let found =
            |table: &SessionTable| -> Vec<String> { table.enriching().map(|(id, _)| id.as_str().to_owned()).collect() };
        let owed = || Event::EnrichmentOwed { at: Timestamp(0), asked: false };
        let given_up = Event::EnrichmentGivenUp { content: ContentHash([1; 32]), why: GaveUp::Refused };
        table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
        table.apply(Position(2), &id("b"), SequenceNumber(1), &owed());
        table.apply(Position(3), &id("c"), SequenceNumber(1), &owed());
        let snapshot = table.clone();
        table.apply(Position(4), &id("b"), SequenceNumber(2), &given_up);
        table.apply(Position(5), &id("c"), SequenceNumber(2), &Event::WentIdle);
        assert_eq!((found(&snapshot), found(&table)), (vec!["b".to_owned(), "c".to_owned()], vec!["c".to_owned()]));
        let mut restored = SessionTable::default();
        table.iter().for_each(|(id, row)| restored.restore(id.clone(), Row::clone(row)));
        assert_eq!(found(&restored), ["c"], "as a checkpoint keeps it");
    }

    fn indexed(hash: u8, filter_version: u32, to: u64) -> Event {
        let hash = ContentHash([hash; 32]);
        Event::Indexed {
            effect: EffectId { generation: 1, start: 1 },
            episode: EpisodeRef {
                uuid: episode_uuid(&id("a"), &hash),
                tier: Tier::Extractive,
                hash,
                filter_version,
                generation: 1,
                to,
                manifest: hash,
                items: 1,
                at: Timestamp(0),
            },
        }
    }

    fn located(project: &str) -> Event {
        Event::Located { place: Place { cwd: project.to_owned(), project: project.to_owned() } }
    }

    /// A session's story; after each event, whether its episode is shown.
    fn check_shown(story: &[(Told, bool)]) {
        let mut table = SessionTable::default();
        let (mut of_session, mut of_home) = (0, 0);
        for (at, (told, shown)) in (1..).zip(story) {
            match told {
                Told::Session(event) => {
                    of_session += 1;
                    table.apply(Position(at), &id("a"), SequenceNumber(of_session), event);
                }
                Told::Clear(group) => {
                    of_home += 1;
                    let event = home::Event::GroupCleared { group: group.map(str::to_owned), up_to: Position(at - 1) };
                    table.apply_home(Position(at), SequenceNumber(of_home), event);
                }
                Told::Back(group) => {
                    of_home += 1;
                    let event = home::Event::GroupRestored { group: group.map(str::to_owned) };
                    table.apply_home(Position(at), SequenceNumber(of_home), event);
                }
            }
            let row = table.get(&id("a")).unwrap();
            assert_eq!(table.shown(row).is_some(), *shown, "after {at}: {told:?}");
            assert_eq!(table.is_deleted(row), !shown && row.state.episode.is_some(), "after {at}");
        }
    }

    #[derive(Debug)]
    enum Told {
        Session(Event),
        Clear(Option<&'static str>),
        Back(Option<&'static str>),
    }

    #[test]
    fn a_deleted_episode_is_shown_again_when_its_content_is_another() {
        let deleted = |hash: u8| Event::EpisodeDeleted { episode: episode_uuid(&id("a"), &ContentHash([hash; 32])) };
        check_shown(&[
            (Told::Session(located("/p")), false),
            (Told::Session(indexed(1, 1, 10)), true),
            (Told::Session(deleted(2)), true),
            (Told::Session(deleted(1)), false),
            (Told::Session(Event::WentIdle), false),
            (Told::Session(indexed(1, 1, 10)), false),
            // The same bytes through another filter.
            (Told::Session(indexed(2, 2, 10)), false),
            (Told::Session(indexed(3, 2, 20)), true),
            (Told::Session(indexed(2, 2, 30)), true),
            (Told::Session(deleted(2)), false),
            (Told::Session(Event::Forgotten), false),
        ]);
    }

    #[test]
    fn a_cleared_group_shows_what_comes_after() {
        let moved = |group: &str| Event::GroupAssigned { group: group.to_owned() };
        check_shown(&[
            (Told::Session(located("/p")), false),
            (Told::Session(indexed(1, 1, 10)), true),
            (Told::Clear(Some("/q")), true),
            (Told::Clear(Some("/p")), false),
            (Told::Session(indexed(1, 1, 10)), false),
            (Told::Session(indexed(2, 2, 10)), false),
            (Told::Session(indexed(3, 2, 20)), true),
            (Told::Clear(Some("/p")), false),
            (Told::Session(Event::WentIdle), false),
            // Who puts it into another group wants it there.
            (Told::Session(moved("g")), true),
            (Told::Clear(Some("/p")), true),
            (Told::Clear(Some("g")), false),
        ]);
    }

    #[test]
    fn what_was_deleted_or_cleared_comes_back() {
        let of = |hash: u8| episode_uuid(&id("a"), &ContentHash([hash; 32]));
        let restored = |hash| Told::Session(Event::EpisodeRestored { episode: of(hash) });
        check_shown(&[
            (Told::Session(located("/p")), false),
            (Told::Session(indexed(1, 1, 10)), true),
            (Told::Session(Event::EpisodeDeleted { episode: of(1) }), false),
            (restored(1), true),
            (Told::Clear(Some("/p")), false),
            (restored(1), true),
            (Told::Clear(None), false),
            (Told::Session(Event::EpisodeDeleted { episode: of(1) }), false),
            (Told::Back(None), false),
            (restored(2), false),
            (restored(1), true),
            (Told::Clear(Some("/p")), false),
            (Told::Back(Some("/p")), true),
        ]);
    }

    #[test]
    fn what_was_cleared_with_all_stays_so_in_another_group() {
        check_shown(&[
            (Told::Session(located("/p")), false),
            (Told::Session(indexed(1, 1, 10)), true),
            (Told::Clear(None), false),
            (Told::Session(Event::GroupAssigned { group: "g".to_owned() }), false),
            (Told::Session(indexed(3, 2, 20)), true),
        ]);
    }

    #[test]
    fn belongings_are_those_of_the_rows() {
        let mut table = SessionTable::default();
        let assigned = |group: &str| Event::GroupAssigned { group: group.to_owned() };
        let events = [
            ("a", located("/p")),
            ("b", located("/p")),
            ("a", assigned("g")),
            ("b", assigned("g")),
            ("b", Event::WentIdle),
            ("c", located("/q")),
            ("a", assigned("h")),
            ("b", Event::Forgotten),
            ("c", assigned("h")),
        ];
        for (at, (name, event)) in (1..).zip(&events) {
            table.apply(Position(at), &id(name), SequenceNumber(at), event);
            let expected: BTreeSet<Belonging> = table.iter().map(|(_, row)| Belonging::from(&row.state)).collect();
            assert!(table.belongings().eq(&expected), "after {event:?}: {:?}", table.belongings().collect::<Vec<_>>());
        }
        assert_eq!(table.belongings().count(), 3);
    }

    #[test]
    fn memos_and_deletions_are_in_the_hash_and_nothing_else_of_the_home() {
        let mut table = SessionTable::default();
        let empty = table.state_hash();
        let root = home::NamedRoot { config_dir: "/c".to_owned(), named_by: "mcp".to_owned() };
        table.apply_home(Position(1), SequenceNumber(1), home::Event::RootAdded(root));
        assert_eq!(table.state_hash(), empty, "as logs of before were counted");
        let uuid = Uuid::from_u128(1);
        let memo = Memo {
            source: memo::Source::Text,
            group: "g".to_owned(),
            words: ContentHash([1; 32]),
            bytes: 1,
            reference_time: None,
            at: Timestamp(0),
        };
        table.apply_memo(Position(2), uuid, SequenceNumber(1), &memo::Event::Added(memo));
        assert!(table.memo(uuid).is_some());
        let told = table.state_hash();
        assert_ne!(told, empty);
        table.apply_home(
            Position(3),
            SequenceNumber(2),
            home::Event::GroupCleared { group: Some("g".to_owned()), up_to: Position(2) },
        );
        assert!(table.memo(uuid).is_none() && table.memo_row(uuid).is_some());
        assert_ne!(table.state_hash(), told);
        let mut other = SessionTable::default();
        other.restore_home(HomeRow::clone(table.home()));
        for (uuid, row) in table.memos() {
            other.restore_memo(uuid, MemoRow { since: Position(99), ..MemoRow::clone(row) });
        }
        assert_eq!(other.state_hash(), table.state_hash(), "the same by another way");
        assert!(other.memo_groups().eq(["g"]) && table.memo_groups().eq(["g"]));
        table.apply_memo(Position(4), uuid, SequenceNumber(2), &memo::Event::Deleted);
        assert_eq!(table.memo_groups().count(), 0);
        assert!(table.memo(uuid).is_none());
        assert_ne!(other.state_hash(), table.state_hash());
    }

    #[test]
    fn it_tells_whose_time_has_come() {
        let mut table = SessionTable::default();
        table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
        table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(5_000));
        let policy = |_: &State| Policy::default();
        assert_eq!(table.due(policy, Timestamp(59_999)), (vec![], Some(Timestamp(60_000))));
        assert_eq!(table.due(policy, Timestamp(60_000)), (vec![id("a")], Some(Timestamp(65_000))));
    }
}
