//! The sessions whose latest end is not in their notes, by the session table and the register.
//!
//! # Hazards
//!
//! - What is owed is maintained incrementally (`OwedSessions`): all sessions are examined only at the start, once a day, when
//!   settings change, and when a group is cleared. A change of an entry is noticed only if it is made by
//!   `Register::put`. Changing how notes are written needs a new `NOTES_VERSION`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_conversation::record::{Position, SequenceNumber, SessionId, Timestamp};
use baton_episode::digest::Show;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{Phase, UnindexedReason};

use super::register::{Entry, Register};
use baton_config::settings::Settings;
use baton_store::model_answer::current_answer;

/// Version of what notes say; raising it makes every session owed.
const NOTES_VERSION: u32 = 1;

/// Identifies an episode and its end: a note with another stamp is owed. `None` if the session has not ended or is
/// still being processed.
pub(super) fn stamp(table: &SessionTable, row: &Row) -> Option<String> {
    let state = &row.state;
    let is_settled =
        matches!(state.phase, Phase::Indexed | Phase::Unindexed(UnindexedReason::Gone | UnindexedReason::Empty));
    if !is_settled || state.is_subagent() {
        return None;
    }
    let (episode, end) = (table.visible_episode(row)?, state.end?);
    let (uuid, manifest) = (episode.uuid.simple(), episode.manifest.short());
    // A model's answer comes later and changes the note.
    let by = current_answer(state, episode).map_or_else(|| "-".to_owned(), |answer| answer.short());
    // So does a correction.
    let corrected = state.corrections.mark().map(|mark| format!(":{mark}")).unwrap_or_default();
    Some(format!("{NOTES_VERSION}:{uuid}:{manifest}:{}:{by}{corrected}", end.at.0))
}

/// The sessions whose notes are owed, maintained incrementally: only changed rows and entries are examined, or all
/// after a change of settings.
#[derive(Debug, Default)]
pub(super) struct OwedSessions {
    /// `None` before the first look.
    seen: Option<LastUpdate>,
    owed: BTreeMap<SessionId, Timestamp>,
    /// Total number of rows examined.
    looked_at: u64,
}

/// What was examined last.
#[derive(Debug)]
struct LastUpdate {
    position: Position,
    /// Version of the home's stream: clearing a group affects every row.
    home: SequenceNumber,
    settings: Arc<Settings>,
}

impl OwedSessions {
    /// Examines what has changed.
    pub(super) fn update(&mut self, table: &SessionTable, settings: &Arc<Settings>, register: &mut Register) {
        let touched = register.take_touched();
        let home = table.home().version;
        let same = self.seen.as_ref().filter(|seen| seen.home == home && Arc::ptr_eq(&seen.settings, settings));
        match same.and_then(|seen| table.changed_since(seen.position)) {
            Some(changed) => {
                for id in changed.into_iter().chain(&touched).collect::<BTreeSet<_>>() {
                    self.update_one(table, id, settings, register);
                }
            }
            None => {
                self.owed.clear();
                for (id, _) in table.iter() {
                    self.update_one(table, id, settings, register);
                }
            }
        }
        self.seen = Some(LastUpdate { position: table.position(), home, settings: settings.clone() });
    }

    fn update_one(&mut self, table: &SessionTable, id: &SessionId, settings: &Settings, register: &Register) {
        self.looked_at += 1;
        match table.get(id).and_then(|row| owed_since(table, id, row, settings, register)) {
            Some(since) => drop(self.owed.insert(id.clone(), since)),
            None => drop(self.owed.remove(id)),
        }
    }

    /// The sessions in the order in which they ended.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        let mut owed: Vec<(Timestamp, &SessionId)> = self.owed.iter().map(|(id, since)| (*since, id)).collect();
        owed.sort_unstable();
        owed.into_iter().map(|(_, id)| id.clone()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.owed.len()
    }
}

/// True if a session has prompts but settings hide them: it gets a note without them.
pub(super) fn has_hidden_prompts(row: &Row, show: &Show) -> bool {
    !show.keep_user_messages && row.state.counts.prompts > 0
}

/// True if the note has what `stamp` stands for. A session without a note counts as not written if its prompts are
/// hidden.
pub(super) fn is_written(row: &Row, stamp: &str, entry: Option<&Entry>, show: &Show) -> bool {
    let lacks = |entry: &Entry| entry.note.is_none() && entry.left.is_none() && has_hidden_prompts(row, show);
    entry.is_some_and(|entry| entry.stamp == stamp && !lacks(entry))
}

/// Returns when a session ended, if its note is owed.
fn owed_since(
    table: &SessionTable,
    id: &SessionId,
    row: &Row,
    settings: &Settings,
    register: &Register,
) -> Option<Timestamp> {
    let end = row.state.end?;
    let stamp = stamp(table, row)?;
    let is_written = is_written(row, &stamp, register.get(id), &settings.filtering);
    (!is_written && !settings.excludes(&row.state)).then_some(end.at)
}

/// Forgotten sessions that are still in the vault.
pub(super) fn forgotten_in_vault(table: &SessionTable, register: &Register) -> Vec<SessionId> {
    let is_forgotten = |id: &SessionId| table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten);
    register.entries().map(|(id, _)| id).filter(|id| is_forgotten(id)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use baton_conversation::hash::ContentHash;
    use baton_events::home;
    use baton_events::session::{CloseReason, End, EpisodeRef, Event, State, Tier, episode_uuid};

    use super::*;
    use baton_config::settings;

    const ROWS: u64 = 1_000;

    fn id(number: u64) -> SessionId {
        SessionId::new(&format!("s-{number:04}")).unwrap()
    }

    /// A session that was closed explicitly.
    fn row(number: u64, prompts: u64) -> Row {
        let hash = ContentHash([7; 32]);
        let episode = EpisodeRef {
            uuid: episode_uuid(&id(number), &hash),
            tier: Tier::Extractive,
            hash,
            filter_version: 1,
            generation: 1,
            to: 10,
            manifest: hash,
            items: 1,
            at: Timestamp(0),
        };
        let end = End { reason: CloseReason::Explicit, at: Timestamp(i64::try_from(number).unwrap()), by_self: false };
        let mut state = State { phase: Phase::Indexed, end: Some(end), episode: Some(episode), ..State::default() };
        state.counts.prompts = prompts;
        Row { version: SequenceNumber(3), state, since: Position(1) }
    }

    struct World {
        _home: tempfile::TempDir,
        table: SessionTable,
        settings: Arc<Settings>,
        register: Register,
        owed_sessions: OwedSessions,
    }

    impl World {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let register = Register::open(home.path(), &settings::Vault::default()).unwrap();
            let mut table = SessionTable::default();
            (0..ROWS).for_each(|number| table.restore(id(number), row(number, 1)));
            table.set_restored(Position(100), 0);
            Self {
                _home: home,
                table,
                settings: Arc::new(Settings::default()),
                register,
                owed_sessions: OwedSessions::default(),
            }
        }

        /// Returns what is owed, and the number of rows examined.
        fn update(&mut self) -> (Vec<SessionId>, u64) {
            let before = self.owed_sessions.looked_at;
            self.owed_sessions.update(&self.table, &self.settings, &mut self.register);
            (self.owed_sessions.sessions(), self.owed_sessions.looked_at - before)
        }

        fn put(&mut self, number: u64, note: Option<&str>) {
            let stamp = stamp(&self.table, self.table.get(&id(number)).unwrap()).unwrap();
            self.register.put(&id(number), Entry { note: note.map(str::to_owned), stamp, ..Entry::default() });
        }
    }

    #[test]
    fn only_changes_are_examined() {
        let mut world = World::new();
        let (owed, looked_at) = world.update();
        assert_eq!((owed.len() as u64, looked_at), (ROWS, ROWS), "the first look examines everything");
        assert_eq!((owed[0].clone(), owed[999].clone()), (id(0), id(999)), "in the order in which they ended");
        assert_eq!(world.update().1, 0, "nothing has changed");
        (0..ROWS).for_each(|number| world.put(number, Some("x.md")));
        assert_eq!(world.update(), (Vec::new(), ROWS), "every entry has changed");

        // A working agent changes only its own row.
        for at in 101..=110 {
            world.table.apply(Position(at), &id(5), SequenceNumber(at), &Event::WentIdle);
            assert_eq!(world.update().1, 1);
        }
        // Events of other sessions, one of which is forgotten.
        world.table.apply(Position(111), &id(6), SequenceNumber(4), &Event::Forgotten);
        world.table.apply(Position(112), &id(7), SequenceNumber(4), &Event::WentIdle);
        assert_eq!(world.update().1, 2);
        // An entry without a stamp is owed.
        world.register.put(&id(9), Entry { note: Some("x.md".to_owned()), ..Entry::default() });
        assert_eq!(world.update(), (vec![id(9)], 1));
        world.put(9, Some("x.md"));
        assert_eq!(world.update(), (Vec::new(), 1));
        world.register.forget([&id(8)]).unwrap();
        assert_eq!(world.update(), (vec![id(8)], 1));

        // Changed settings and a cleared group affect every session.
        world.settings = Arc::new(Settings::default());
        assert_eq!(world.update().1, ROWS);
        let cleared = home::Event::GroupCleared { group: None, up_to: Position(112) };
        world.table.apply_home(Position(113), SequenceNumber(1), cleared);
        assert_eq!(world.update(), (Vec::new(), ROWS), "cleared sessions get no note");
    }

    #[test]
    fn changes_beyond_the_remembered_ones_are_found() {
        let mut world = World::new();
        (0..ROWS).for_each(|number| world.put(number, Some("x.md")));
        world.update();
        for at in 0..20_000 {
            world.table.apply(Position(200 + at), &id(4 + at % 900), SequenceNumber(10 + at / 900), &Event::WentIdle);
        }
        world.register.put(&id(3), Entry::default());
        assert_eq!(world.update(), (vec![id(3)], ROWS));
    }

    #[test]
    fn hidden_prompts_get_a_note_and_unreadable_sessions_wait() {
        let mut world = World::new();
        world.table.restore(id(0), row(0, 0));
        (0..ROWS).for_each(|number| world.put(number, Some("x.md")));
        // One without prompts; one with; one with prompts that are unreadable.
        world.put(0, None);
        world.put(1, None);
        let stamp = world.register.get(&id(1)).unwrap().stamp.clone();
        let unread = Entry { stamp, left: Some("gone".to_owned()), ..Entry::default() };
        world.register.put(&id(2), Entry { stamp: world.register.get(&id(2)).unwrap().stamp.clone(), ..unread });
        assert_eq!(world.update().0, [], "visible prompts without content need no note");
        let filtering = Show { keep_user_messages: false, ..Show::default() };
        world.settings = Arc::new(Settings { filtering, ..Settings::default() });
        assert_eq!(world.update().0, [id(1)]);
    }
}
