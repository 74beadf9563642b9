//! Replay of an exported log: what each event did, and the sessions at its end. Uses the live rules, without daemon,
//! disk or clock.
//!
//! Lines are read [in sections](DecodedLines), possibly in parallel, and [taken in](Replay::apply) in order. A whole
//! file must keep all guarantees of a log: gapless positions and streams, an unbroken chain, and a last line that
//! matches the result. A filtered file must only keep the order.

mod decoded_lines;
mod field;
mod history;
mod occurrence;
mod owed;
mod reason;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use decoded_lines::{DecodedLines, Entry, Link};
pub use history::History;
pub use occurrence::{Fact, Occurrence};
pub use owed::owed;

use crate::envelope;
use crate::envelope::{ChainHash, Tail, chain};
use crate::projection::table;
use crate::projection::table::{HomeRow, MemoRow, Row, SessionTable};
use crate::schema::export;
use crate::schema::export::{EXPORT_FORMAT, End, Header};
use crate::session::Policy;
use baton_conversation::record::{Position, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_protocol::answer::{HistoryEvent, Replayed, ReplayedSession};

/// Most session ids listed in the error for an ambiguous prefix.
const NAMED: usize = 4;

/// Parameters of a replay.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only the session with this id or id prefix.
    pub session: Option<String>,
    /// Where to stop.
    pub until: Until,
    /// Rules for computing what is owed. The states do not depend on it.
    pub policy: Policy,
    /// If true, every event is reported; else they are only folded.
    pub tell: bool,
}

/// Where a replay stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// To its end.
    #[default]
    End,
    /// To this position, included.
    Position(Position),
    /// At the first event recorded after this time.
    Time(Timestamp),
}

/// Why a file cannot be replayed further. Everything before the named line is good.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The line is not UTF-8.
    #[error("line {line} is not UTF-8 text")]
    NoText {
        /// Number of the line.
        line: u64,
    },
    /// The line is not one of an export.
    #[error("line {line} is not one of an export: {source}")]
    NoLine {
        /// Number of the line.
        line: u64,
        /// What is wrong with it.
        source: export::Error,
    },
    /// The record cannot be decoded.
    #[error("line {line}: {source}")]
    NoRecord {
        /// Number of the line.
        line: u64,
        /// What is wrong with it.
        source: envelope::Error,
    },
    /// The file was not written by `baton log export`.
    #[error("it is not an export of a log: its first line must be a header; `baton log export` writes one")]
    NoHeader,
    /// A later version wrote the file.
    #[error("it has format {found}, and this version of Baton reads up to {EXPORT_FORMAT}: install the newer version")]
    NewerFormat {
        /// Format of the file.
        found: u32,
    },
    /// A header after the first line, or a line after the last.
    #[error("line {line} is misplaced: are these two files in one?")]
    Misplaced {
        /// Number of the line.
        line: u64,
    },
    /// The position is not the next one.
    #[error("line {line}: position {found} follows position {after}: records are missing or out of order")]
    Hole {
        /// Number of the line.
        line: u64,
        /// The last good position.
        after: Position,
        /// The position that was found.
        found: Position,
    },
    /// The sequence is not the next one.
    #[error("line {line}, position {position}: event {found} of {stream} follows its event {after}")]
    Gap {
        /// Number of the line.
        line: u64,
        /// Position of the record.
        position: Position,
        /// Name of its stream.
        stream: String,
        /// Last event of the stream.
        after: u64,
        /// The event that was found.
        found: u64,
    },
    /// The record, or one before it, was modified.
    #[error(
        "line {line}, position {position}: the chain breaks here: this record, or one before it, is not as it was written"
    )]
    Broken {
        /// Number of the line.
        line: u64,
        /// Position of the record.
        position: Position,
    },
    /// The session prefix is ambiguous.
    #[error("{text:?} fits several sessions: {named}; give more of the id")]
    Several {
        /// The prefix.
        text: String,
        /// Some of the matching ids.
        named: String,
    },
}

/// A log up to the last line that was taken in.
#[derive(Debug)]
pub struct Replay {
    options: Options,
    header: Option<Header>,
    end: Option<End>,
    stopped: bool,
    tail: Tail,
    records: u64,
    items: u64,
    unreadable: u64,
    /// Records of a filtered file whose chain hash follows from the previous record.
    unchanged: u64,
    streams: BTreeMap<StreamId, Stream>,
    /// Sessions that match `options.session`.
    fitting: Vec<SessionId>,
}

#[derive(Debug)]
struct Stream {
    id: Option<SessionId>,
    wanted: bool,
    history: History,
}

/// Result of taking in a line.
#[derive(Debug)]
pub enum Applied {
    /// Nothing to report.
    Quiet,
    /// An event.
    Event(Box<HistoryEvent>),
    /// The line is beyond the requested end: neither it nor any later one is needed.
    Enough,
}

impl Replay {
    /// A replay before the first line.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            header: None,
            end: None,
            stopped: false,
            tail: Tail::default(),
            records: 0,
            items: 0,
            unreadable: 0,
            unchanged: 0,
            streams: BTreeMap::new(),
            fitting: Vec::new(),
        }
    }

    /// The last record that was taken in.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Marks the replay as stopped by the caller.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Takes in the next line.
    pub fn apply(&mut self, line: u64, entry: Entry) -> Result<Applied, Error> {
        if let Entry::Header(header) = entry {
            return self.begin(line, header);
        }
        let Some(whole) = self.header.as_ref().map(|header| header.whole) else { return Err(Error::NoHeader) };
        if self.end.is_some() {
            return Err(Error::Misplaced { line });
        }
        match entry {
            Entry::Event(occurrence, hash, link) => return self.event(line, whole, &occurrence, hash, &link),
            Entry::Skipped { items, .. } => self.items += items,
            Entry::End(end) => self.end = Some(end),
            Entry::Header(_) => {}
        }
        Ok(Applied::Quiet)
    }

    fn begin(&mut self, line: u64, header: Header) -> Result<Applied, Error> {
        if header.format > EXPORT_FORMAT {
            return Err(Error::NewerFormat { found: header.format });
        }
        match self.header.replace(header) {
            Some(_) => Err(Error::Misplaced { line }),
            None => Ok(Applied::Quiet),
        }
    }

    fn event(
        &mut self,
        line: u64,
        whole: bool,
        occurrence: &Occurrence,
        hash: ChainHash,
        link: &Link,
    ) -> Result<Applied, Error> {
        let (position, after) = (occurrence.position, self.tail.position);
        let beyond = match self.options.until {
            Until::End => false,
            Until::Position(last) => position > last,
            Until::Time(last) => occurrence.at > last,
        };
        if beyond {
            self.stopped = true;
            return Ok(Applied::Enough);
        }
        let is_next = position == after.next();
        if !is_next && (whole || position <= after) {
            return Err(Error::Hole { line, after, found: position });
        }
        let holds = match link {
            Link::Holds => true,
            Link::Broken => false,
            Link::Open(bytes) => chain(self.tail.chain, bytes) == hash,
        };
        if whole && !holds {
            return Err(Error::Broken { line, position });
        }
        self.unchanged += u64::from(is_next && holds);
        let applied = self.fold(line, whole, occurrence)?;
        self.tail = Tail { position, chain: hash };
        self.records += 1;
        Ok(applied)
    }

    fn fold(&mut self, line: u64, whole: bool, occurrence: &Occurrence) -> Result<Applied, Error> {
        let stream = match self.streams.get_mut(&occurrence.stream) {
            Some(stream) => stream,
            None => {
                let stream = self.open(occurrence, whole)?;
                self.streams.entry(occurrence.stream.clone()).or_insert(stream)
            }
        };
        if occurrence.sequence != stream.history.sequence.next() {
            return Err(Error::Gap {
                line,
                position: occurrence.position,
                stream: occurrence.stream.to_string(),
                after: stream.history.sequence.0,
                found: occurrence.sequence.0,
            });
        }
        self.unreadable += u64::from(matches!(occurrence.fact, Fact::Unreadable(_)));
        if self.options.tell && stream.wanted {
            return Ok(Applied::Event(Box::new(stream.history.apply_and_describe(occurrence, &self.options.policy))));
        }
        stream.history.apply(occurrence);
        Ok(Applied::Quiet)
    }

    fn open(&mut self, occurrence: &Occurrence, whole: bool) -> Result<Stream, Error> {
        let id = occurrence.stream.session_id();
        let wanted = match (&self.options.session, &id) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(text), Some(id)) => id.as_str().starts_with(text.as_str()),
        };
        if let (Some(text), Some(id), true) = (&self.options.session, &id, wanted) {
            self.fitting.push(id.clone());
            if self.fitting.len() > 1 {
                let named: Vec<&str> = self.fitting.iter().take(NAMED).map(SessionId::as_str).collect();
                return Err(Error::Several { text: text.clone(), named: named.join(", ") });
            }
        }
        // In a filtered file a stream may begin in the middle.
        let first = if whole { 1 } else { occurrence.sequence.0 };
        let history = History { sequence: SequenceNumber(first.saturating_sub(1)), ..History::default() };
        Ok(Stream { id, wanted, history })
    }

    /// The selected sessions, memos and home after the last record.
    pub fn table(&self) -> SessionTable {
        let mut table = SessionTable::default();
        for (name, stream) in self.streams.iter().filter(|(_, stream)| stream.wanted && stream.history.version.0 > 0) {
            let History { version, state, memo, home, .. } = &stream.history;
            // The position in the log is not part of the state.
            let (version, since) = (*version, Position::default());
            if let Some(id) = &stream.id {
                table.restore(id.clone(), Row { version, state: state.clone(), since });
            } else if let Some(uuid) = name.memo_uuid() {
                table.restore_memo(uuid, MemoRow { version, state: memo.clone(), since });
            } else if name.is_home() {
                table.restore_home(HomeRow { version, state: home.clone() });
            }
        }
        table.set_restored(self.tail.position, self.unreadable);
        table
    }

    /// Summary of the replay so far; at the end of the file also whether the last line matches.
    pub fn summary(&self) -> Replayed {
        let table = self.table();
        let state_hash = table.state_hash().to_string();
        let differences = self.differences(&state_hash);
        Replayed {
            records: self.records,
            unreadable: self.unreadable,
            sessions: table.iter().map(|(id, row)| replayed(id, row)).collect(),
            position: self.tail.position.0,
            chain: self.tail.chain.to_string(),
            state_hash,
            notes: self.notes(),
            differences,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.header.as_ref().is_some_and(|header| !header.whole) {
            // Positions have no gaps, so as many records as the last position are all there are.
            let what = match self.records == self.tail.position.0 {
                true => "all events are in the file, but secrets were redacted or conversations left out",
                false => "the file is filtered: sessions may begin in the middle",
            };
            notes
                .push(format!("{what}; the chain was checked for {} of {} records only", self.unchanged, self.records));
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{} events are of a newer version or damaged, and not in the states: install the newer version",
                self.unreadable
            ));
        }
        if self.end.as_ref().is_some_and(|end| end.state_version != table::VERSION) {
            notes.push("the file's state hash is of another version of the states, and was not compared".to_owned());
        }
        if self.stopped {
            notes.push("stopped where that was asked for; the end of the file was not compared".to_owned());
        }
        notes
    }

    fn differences(&self, state_hash: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let (Some(text), true) = (&self.options.session, self.fitting.is_empty()) {
            found.push(format!("no session {text:?} is in the file"));
        }
        let Some(end) = &self.end else {
            match (self.stopped, &self.header) {
                (true, _) => {}
                (false, None) => found.push("the file is empty: `baton log export` writes one".to_owned()),
                (false, Some(_)) => {
                    found.push(
                        "the file has no last line: it was cut off, and what stands above is all it holds".to_owned(),
                    );
                }
            }
            return found;
        };
        let mut compare = |what: &str, said: &dyn std::fmt::Display, is: &dyn std::fmt::Display| {
            let (said, is) = (said.to_string(), is.to_string());
            if said != is {
                found.push(format!("the file's last line says {what} {said}, and it is {is}"));
            }
        };
        compare("records", &end.records, &self.records);
        compare("items", &end.items, &self.items);
        if self.header.as_ref().is_some_and(|header| header.whole) {
            compare("position", &end.tail.position, &self.tail.position);
            compare("chain", &end.tail.chain, &self.tail.chain);
        }
        // The hash covers all sessions, and depends on the version of the states.
        if self.options.session.is_none() && end.state_version == table::VERSION {
            compare("state_hash", &end.state_hash, &state_hash);
        }
        found
    }
}

/// A session as a replay shows it.
pub fn replayed(id: &SessionId, row: &Row) -> ReplayedSession {
    let state = &row.state;
    ReplayedSession {
        session_id: id.to_string(),
        version: row.version.0,
        state: field::phase_name(state.phase),
        end: state.end.map(|end| end.reason.to_string()),
        generation: state.generation,
        offset: state.read.offset,
        message_count: state.counts.messages,
        unindexed: state.unindexed,
        episode_uuid: state.episode.as_ref().map(|episode| episode.uuid.to_string()),
    }
}
