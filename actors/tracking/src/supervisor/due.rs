//! When each session is due. Kept incrementally: the table changes many times a second during a backfill, and few of
//! hundreds of thousands of sessions have changed since the last look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::wake_at;

use baton_config::settings::Settings;

/// The sessions that time will wake.
#[derive(Default)]
pub(super) struct Due {
    at: BTreeMap<SessionId, Timestamp>,
    /// The same by time.
    by_time: BTreeSet<(Timestamp, SessionId)>,
    /// Table position and settings of the last look; absent before the first.
    as_of: Option<(Position, Arc<Settings>)>,
}

impl Due {
    /// Returns the sessions due by `now`, each with its due time, and the next due time of another session.
    pub(super) fn look(
        &mut self,
        table: &SessionTable,
        settings: &Arc<Settings>,
        now: Timestamp,
    ) -> (Vec<(SessionId, Timestamp)>, Option<Timestamp>) {
        let known = self.as_of.as_ref().filter(|(_, under)| Arc::ptr_eq(under, settings));
        match known.and_then(|(as_of, _)| table.changed_since(*as_of)) {
            Some(changed) => changed.into_iter().for_each(|id| self.note(table, settings, id)),
            None => {
                (self.at, self.by_time) = Default::default();
                table.iter().for_each(|(id, _)| self.note(table, settings, id));
            }
        }
        self.as_of = Some((table.position(), settings.clone()));
        let mut times = self.by_time.iter();
        let mut next = None;
        let due = times.by_ref().take_while(|(at, _)| {
            next = Some(*at).filter(|at| *at > now);
            next.is_none()
        });
        let mut due: Vec<_> = due.map(|(at, id)| (id.clone(), *at)).collect();
        due.sort_unstable();
        (due, next)
    }

    fn note(&mut self, table: &SessionTable, settings: &Settings, id: &SessionId) {
        let state = table.get(id).map(|row| &row.state);
        let at = state.and_then(|state| wake_at(state, &settings.policy_for(state)));
        let before = match at {
            Some(at) => self.at.insert(id.clone(), at),
            None => self.at.remove(id),
        };
        if before != at {
            if let Some(before) = before {
                self.by_time.remove(&(before, id.clone()));
            }
            self.by_time.extend(at.map(|at| (at, id.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::Agent;
    use baton_conversation::record::SequenceNumber;
    use baton_events::session::{Event, FileIdentity, Kind, Policy};

    use super::*;

    /// After any sequence of events and looks the result equals a full scan of the table.
    #[test]
    fn it_is_what_a_look_at_every_session_says() {
        let (mut table, mut due) = (SessionTable::default(), Due::default());
        let mut settings = Arc::new(Settings::default());
        let id = |number: u64| SessionId::new(&format!("s-{number}")).unwrap();
        let discovered = |at| Event::Discovered {
            agent: Agent::ClaudeCode,
            path: "/t".to_owned(),
            identity: FileIdentity::default(),
            kind: Kind::Main,
            at: Timestamp(at),
        };
        let (mut position, mut found) = (0, 0);
        for round in 0..40_u64 {
            // Now and then more changes than the table remembers.
            for step in 0..if round % 13 == 12 { 10_000 } else { round } {
                position += 1;
                let number = (step * 7 + round) % 50;
                let events =
                    [discovered(i64::try_from(position).unwrap()), Event::WentIdle, Event::Resumed, Event::Forgotten];
                let event = &events[usize::try_from((step + round) % 4).unwrap()];
                table.apply(Position(position), &id(number), SequenceNumber(position), event);
            }
            if round % 7 == 6 {
                let policy = Policy { check_interval_ms: i64::try_from(round).unwrap() * 1_000, ..Policy::default() };
                settings = Arc::new(Settings { policy, ..Settings::default() });
            }
            let now = Timestamp(i64::try_from(position).unwrap() / 2 + 60_000);
            let (woken, next) = due.look(&table, &settings, now);
            let looked: (Vec<SessionId>, _) = (woken.into_iter().map(|(id, _)| id).collect(), next);
            assert_eq!(looked, table.due(|state| settings.policy_for(state), now), "round {round}");
            found += looked.0.len();
        }
        assert!(found > 0);
    }
}
