//! `replay`: the sessions as of a position of the log, and what the event there did.
//!
//! # Decisions
//!
//! - Folding from the start takes seconds in a long log. Tables share what did not change, so some are cached on the
//!   way, evenly spaced, and a later question continues from the nearest one before its position. When there are too
//!   many, every second one is dropped.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_conversation::record::{Position, SessionId, StreamId};
use baton_events::envelope::StoredRecord;
use baton_events::projection::table::SessionTable;
use baton_events::replay::{History, Occurrence, replayed};
use baton_events::schema::session::hide_group;
use baton_events::session::{Phase, Policy};
use baton_journal::session_table::fold;
use baton_journal::{Journal, ReadError};
use baton_protocol::{ReplayParams, answer};
use baton_views::catalog::Catalog;

use super::{QueryError, internal};
use crate::resolve::SessionResolver;

/// Records per read.
const STEP: usize = 4096;
/// Tables that are kept.
const KEPT: usize = 16;
/// Records between two of them at first.
const APART: u64 = 2048;
/// Sessions of an answer if no number is asked for.
const SESSIONS: usize = 100;
/// Most sessions of an answer.
const SESSIONS_MAX: usize = 1_000;

/// Tables as of earlier positions.
pub struct CachedTables(Mutex<Kept>);

struct Kept {
    apart: u64,
    /// As of multiples of `apart`.
    tables: BTreeMap<u64, SessionTable>,
    /// The last one requested.
    last: SessionTable,
}

impl Default for CachedTables {
    fn default() -> Self {
        Self(Mutex::new(Kept { apart: APART, tables: BTreeMap::new(), last: SessionTable::default() }))
    }
}

impl CachedTables {
    /// The table as of a position that is in the log.
    fn table_at(&self, journal: &dyn Journal, position: u64) -> Result<SessionTable, ReadError> {
        let mut table = self.nearest(position);
        while table.position().0 < position {
            let from = table.position().next();
            let span = usize::try_from(position - table.position().0).unwrap_or(STEP);
            let records = journal.read(from, span.min(STEP))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                // Unreadable events have no effect, as in the daemon's own table; the answer says why one is
                // unreadable.
                let _ = fold(&mut table, &record);
                self.keep(&table);
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last = table.clone();
        Ok(table)
    }

    fn nearest(&self, position: u64) -> SessionTable {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spaced = kept.tables.range(..=position).next_back().map(|(_, table)| table);
        let last = Some(&kept.last).filter(|table| table.position().0 <= position);
        spaced.into_iter().chain(last).max_by_key(|table| table.position()).cloned().unwrap_or_default()
    }

    fn keep(&self, table: &SessionTable) {
        let position = table.position().0;
        if !position.is_multiple_of(APART) {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !position.is_multiple_of(kept.apart) {
            return;
        }
        kept.tables.insert(position, table.clone());
        if kept.tables.len() > KEPT {
            kept.apart *= 2;
            let apart = kept.apart;
            kept.tables.retain(|position, _| position.is_multiple_of(apart));
        }
    }
}

/// Answers `replay`.
pub(crate) struct Replay {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) catalog: Catalog,
    pub(crate) folded: Arc<CachedTables>,
}

impl Replay {
    pub(crate) async fn answer(
        self,
        asked: ReplayParams,
        resolver: SessionResolver<'_>,
    ) -> Result<answer::Replay, QueryError> {
        let session = match &asked.session {
            Some(text) => Some(resolver.find_session(text).await?),
            None => None,
        };
        let read = baton_base::task::spawn_blocking(move || self.read(&asked, session));
        let read = read.await.map_err(|error| internal("reading the log broke", error))?;
        Ok(read.map_err(|error| internal("the log cannot be read", error))?)
    }

    fn read(&self, asked: &ReplayParams, session: Option<SessionId>) -> Result<answer::Replay, ReadError> {
        let now = self.catalog.table.now();
        let last = now.position().0;
        let position = asked.at.unwrap_or(last).clamp(1, last.max(1));
        let Some(record) = self.journal.read(Position(position), 1)?.pop() else {
            return Ok(answer::Replay::default());
        };
        let table = if position == last { now.clone() } else { self.folded.table_at(&*self.journal, position)? };
        let own = record.stream.session_id();
        let neighbours = session.or_else(|| own.clone());
        let mut answer = answer::Replay { position, last, ..answer::Replay::default() };
        answer.event = Some(match &own {
            Some(id) if neighbours.as_ref() == own.as_ref() => self.walk(&now, id, &record, &mut answer)?,
            Some(id) => self.walk(&now, id, &record, &mut answer::Replay::default())?,
            // Not of a session: its text needs no history.
            None => {
                History::default().apply_and_describe(&Occurrence::decode(record.clone(), false), &Policy::default())
            }
        });
        if let Some(id) = neighbours.as_ref().filter(|id| own.as_ref() != Some(*id)) {
            self.walk(&now, id, &record, &mut answer)?;
        }
        answer.session_id = neighbours.map(|id| id.to_string());
        let limit = match asked.limit as usize {
            0 => SESSIONS,
            limit => limit.min(SESSIONS_MAX),
        };
        list(&table, own.as_ref(), limit, &mut answer);
        Ok(answer)
    }

    /// Walks through the events of a session: finds those next to the record, and describes the record if it is one of
    /// them.
    fn walk(
        &self,
        now: &SessionTable,
        id: &SessionId,
        record: &StoredRecord,
        answer: &mut answer::Replay,
    ) -> Result<answer::HistoryEvent, ReadError> {
        let row = now.get(id);
        let is_forgotten = row.is_some_and(|row| row.state.phase == Phase::Forgotten);
        let policy = row.map(|row| self.catalog.settings.now().policy_for(&row.state)).unwrap_or_default();
        let (mut history, mut told) = (History::default(), answer::HistoryEvent::default());
        loop {
            let records = self.journal.read_stream(&StreamId::session(id), history.sequence, STEP)?;
            if records.is_empty() {
                return Ok(told);
            }
            for mut each in records {
                if is_forgotten {
                    hide_group(&mut each);
                }
                let (at, before) = (each.position, history.state.phase);
                let occurrence = Occurrence::decode(each, false);
                if at == record.position {
                    told = history.apply_and_describe(&occurrence, &policy);
                    continue;
                }
                history.apply(&occurrence);
                let is_change = before != history.state.phase;
                if at < record.position {
                    answer.previous = Some(at.0);
                    if is_change {
                        answer.previous_change = Some(at.0);
                    }
                    continue;
                }
                answer.next.get_or_insert(at.0);
                if is_change {
                    answer.next_change = Some(at.0);
                    return Ok(told);
                }
            }
        }
    }
}

/// The sessions of a table: that of the event first, then those with the latest records.
fn list(table: &SessionTable, own: Option<&SessionId>, limit: usize, answer: &mut answer::Replay) {
    let mut rows: Vec<_> = table.iter().collect();
    rows.sort_by_key(|(id, row)| (Some(*id) != own, Reverse(row.state.last_at.max(Some(row.state.discovered_at)))));
    for (_, row) in &rows {
        *answer.states.entry(row.state.phase.as_str().to_owned()).or_default() += 1;
    }
    answer.more = rows.len().saturating_sub(limit) as u64;
    answer.sessions = rows.into_iter().take(limit).map(|(id, row)| replayed(id, row)).collect();
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Metadata, SequenceNumber, Timestamp};
    use baton_events::envelope::NewRecord;
    use baton_journal::MemoryJournal;

    use super::*;

    /// More than is kept at first.
    const RECORDS: u64 = APART * (KEPT as u64 + 3);

    #[tokio::test]
    async fn a_table_is_the_same_whatever_was_asked_before() {
        let journal = MemoryJournal::new(Box::new(()));
        let stream = StreamId::recorded("session:a");
        let record = |kind: &str, data: &str| NewRecord {
            kind: kind.to_owned(),
            v: 1,
            at: Timestamp(0),
            metadata: Metadata::default(),
            data: data.to_owned(),
        };
        let discovered =
            r#"{"agent":"claude_code","path":"/t.jsonl","file":{"device":1,"inode":2},"subagent":false,"at":5}"#;
        let batch = std::iter::once(record("discovered", discovered));
        let turns = (1..RECORDS).map(|at| record(if at % 2 == 0 { "resumed" } else { "went_idle" }, "{}"));
        let mut sequence = 0;
        for part in batch.chain(turns).collect::<Vec<_>>().chunks(256) {
            journal.append(stream.clone(), SequenceNumber(sequence), part.to_vec()).await.unwrap();
            sequence += part.len() as u64;
        }
        let folded = CachedTables::default();
        for position in [RECORDS, 1, RECORDS - 1, APART, APART + 1, APART - 1, RECORDS / 2, 3, 2, RECORDS] {
            let table = folded.table_at(&journal, position).unwrap();
            let row = table.get_by_text("a").unwrap();
            assert_eq!((table.position().0, row.version.0), (position, position));
            let state = if position % 2 == 0 { "inactive" } else { "active" };
            assert_eq!(row.state.phase.as_str(), state, "at {position}");
            let kept = folded.0.lock().unwrap();
            assert!(kept.tables.len() <= KEPT && kept.tables.keys().all(|at| at.is_multiple_of(kept.apart)));
            assert!(kept.tables.iter().all(|(at, table)| table.position().0 == *at));
        }
        assert_eq!(folded.0.lock().unwrap().apart, 2 * APART, "every second one was dropped");
        assert!(folded.nearest(RECORDS - 1).position().0 >= RECORDS - 3 * APART, "folding goes on from a kept one");
    }
}
