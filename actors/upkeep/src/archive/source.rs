//! The log that an export reads: of a running daemon, or of a home that no daemon has open.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;

use baton_conversation::record::{Position, SessionId, unique_prefix};
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::session::Event;

use super::Error;
use baton_journal::Exact;
use baton_journal::offline::OfflineReader;
use baton_journal::session_stream;

/// Most sessions that are named if a prefix fits several.
const NAMED: usize = 4;

/// A log that can be read.
pub trait Source {
    /// The current end of the log.
    fn tail(&mut self) -> Result<Tail, Error>;

    /// The session that a text names: an id or a prefix.
    fn session(&mut self, text: &str) -> Result<SessionId, Error>;

    /// The sessions that are forgotten now, at least those with a group.
    fn forgotten(&mut self) -> Result<BTreeSet<SessionId>, Error>;

    /// Calls `each` with the exact bytes of the records from `from` to `to`, both included, in order; with a session,
    /// only its own. An error of `each` ends the reading.
    fn records(
        &mut self,
        from: Position,
        to: Position,
        session: Option<&SessionId>,
        each: &mut dyn FnMut(Exact) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// The log of a home whose lock the caller holds. A damaged log ends where the damage begins.
pub struct Offline<'a> {
    home: &'a Path,
    tail: Tail,
    sessions: BTreeSet<SessionId>,
    forgotten: BTreeSet<SessionId>,
    broken: Option<String>,
}

impl<'a> Offline<'a> {
    /// Reads the whole log once to find its end.
    pub fn open(home: &'a Path) -> Result<Self, Error> {
        let mut reader = OfflineReader::open(&home.join("log"))?;
        let (mut sessions, mut forgotten) = (BTreeSet::new(), BTreeSet::new());
        let broken = loop {
            match reader.next() {
                Ok(Some((record, _))) => {
                    // Most events belong to a session that is known already.
                    if record.sequence.0 == 1 {
                        sessions.extend(record.stream.session_id());
                    }
                    note_forgotten(&mut forgotten, &record);
                }
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        Ok(Self { home, tail: reader.tail(), sessions, forgotten, broken })
    }

    /// The shortest prefix of a session's id that is unique in the log.
    pub fn short_id<'b>(&self, id: &'b SessionId) -> &'b str {
        let before = self.sessions.range::<SessionId, _>(..id).next_back();
        let after = self.sessions.range::<SessionId, _>((Bound::Excluded(id), Bound::Unbounded)).next();
        unique_prefix(id.as_str(), before.into_iter().chain(after).map(SessionId::as_str))
    }

    /// Why the log cannot be read after its tail, if it cannot.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}

fn note_forgotten(forgotten: &mut BTreeSet<SessionId>, record: &StoredRecord) {
    if !matches!(record.kind.as_str(), "forgotten" | "restored") {
        return;
    }
    let Some(session) = record.stream.session_id() else { return };
    match session_stream::decode(record).map(|recorded| recorded.event) {
        Ok(Event::Forgotten) => drop(forgotten.insert(session)),
        Ok(Event::Restored { .. }) => drop(forgotten.remove(&session)),
        _ => {}
    }
}

impl Source for Offline<'_> {
    fn tail(&mut self) -> Result<Tail, Error> {
        Ok(self.tail)
    }

    fn session(&mut self, text: &str) -> Result<SessionId, Error> {
        let fitting: Vec<&SessionId> =
            self.sessions.iter().filter(|id| !text.is_empty() && id.as_str().starts_with(text)).collect();
        match fitting.as_slice() {
            [] => Err(Error::NoSession(format!("no session {text:?} in the log; `baton sessions` lists them"))),
            [one] => Ok(SessionId::clone(one)),
            [first, ..] if first.as_str() == text => Ok(SessionId::clone(first)),
            several => {
                let named: Vec<&str> = several.iter().take(NAMED).map(|id| id.as_str()).collect();
                Err(Error::NoSession(format!(
                    "{text:?} fits {} sessions: {}; give more of the id",
                    several.len(),
                    named.join(", ")
                )))
            }
        }
    }

    fn forgotten(&mut self) -> Result<BTreeSet<SessionId>, Error> {
        Ok(self.forgotten.clone())
    }

    fn records(
        &mut self,
        from: Position,
        to: Position,
        session: Option<&SessionId>,
        each: &mut dyn FnMut(Exact) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut reader = OfflineReader::open(&self.home.join("log"))?;
        while reader.tail().position < to {
            let Some((record, exact)) = reader.next()? else { break };
            let wanted = session.is_none_or(|session| record.stream.session_id().as_ref() == Some(session));
            if record.position >= from && wanted {
                each(exact)?;
            }
        }
        Ok(())
    }
}
