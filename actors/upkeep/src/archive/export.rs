//! Exports a home to one file: the exact records, the conversations of the current episodes, and the fingerprints of
//! forgotten sessions.
//!
//! The header states whether something was redacted, so everything is read before the first line is written.
//! Conversations go to a [`Spool`], because a daemon may replace them meanwhile; records are read again, because they
//! do not change. If a conversation was replaced before it could be read, the export moves on to a later end of the
//! log.
//!
//! # Decisions
//!
//! - An export that redaction changes is not whole, and only a whole one can be imported. Transcript roots that clients
//!   of the other home named stay in the log, for the chain's sake, but are not read; `log/imported.json` records that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;

use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::record::{Position, SessionId};
use baton_events::envelope;
use baton_events::envelope::{ChainHash, StoredRecord, Tail};
use baton_events::memo;
use baton_events::projection::table;
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::schema::export::{EXPORT_FORMAT, End, Header, Line, Record, write};
use baton_events::schema::session::hide_group;
use baton_events::session::{Correction, Event, ModelAnswer, Phase};
use baton_protocol::Progress;
use baton_redaction::json::redact_json;

use super::spool::Spool;
use super::{Error, Source, report_progress};
use baton_journal::session_stream;
use baton_journal::session_table::{TableFold, TableReader};
use baton_journal::{Exact, Fold};
use baton_store::chunks::ChunkStore;
use baton_store::fingerprints::{ForgottenSession, ForgottenSessions};

/// Most times that the export moves on to a later end of the log because a conversation was replaced.
const ROUNDS_MAX: usize = 8;
/// Most losses that are named.
const NAMED_MAX: usize = 10;

/// What to export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Only this session: an id or a prefix.
    pub session: Option<String>,
    /// Only from this position on.
    pub since: Option<Position>,
    /// Only up to this position, inclusive.
    pub until: Option<Position>,
    /// True to include conversations and notes.
    pub conversations: bool,
    /// True to keep everything as stored, without redaction.
    pub unredacted: bool,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// The end of the log that was exported.
    pub tail: Tail,
    /// True if the file can be imported.
    pub whole: bool,
    /// Records written.
    pub records: u64,
    /// Sessions whose conversation or notes were written.
    pub conversations: u64,
    /// Items written.
    pub items: u64,
    /// Records, items and notes in which something was redacted.
    pub redacted: u64,
    /// Conversations and notes that are named but could not be read.
    pub missing: u64,
    /// The first of these, with the reason.
    pub lost: Vec<String>,
}

/// Writes an export to `out`. `spool` is an empty file that buffers the conversations.
pub fn export(
    source: &mut dyn Source,
    chunks: &ChunkStore,
    forgotten_sessions: &ForgottenSessions,
    wanted: &ExportRequest,
    spool: File,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ExportSummary, Error> {
    let session = wanted.session.as_deref().map(|text| source.session(text)).transpose()?;
    let mut spool = Spool::new(spool, wanted.unredacted);
    // Both readings use the same set, even if a session is forgotten in between.
    let forgotten = if wanted.unredacted { BTreeSet::new() } else { source.forgotten()? };
    let mut survey = Survey::new(RecordRedaction { forgotten, unredacted: wanted.unredacted });
    let from = wanted.since.unwrap_or(Position(1)).max(Position(1));
    let end = source.tail()?;
    let mut tail = Tail { position: wanted.until.map_or(end.position, |until| until.min(end.position)), ..end };
    if tail.position != end.position {
        tail.chain = chain_at(source, tail.position)?;
    }
    survey.read(source, from, tail.position, session.as_ref(), progress)?;
    if wanted.conversations {
        for round in 1..=ROUNDS_MAX {
            spool.update(chunks, &survey.table(), &survey.notes, progress)?;
            if spool.missing() == 0 || wanted.until.is_some() || round == ROUNDS_MAX {
                break;
            }
            let newer = source.tail()?;
            if newer.position == tail.position {
                break;
            }
            survey.read(source, tail.position.next().max(from), newer.position, session.as_ref(), progress)?;
            tail = newer;
        }
    }
    let redacted = survey.redacted + spool.redacted();
    let is_all = session.is_none() && wanted.since.is_none() && wanted.until.is_none() && wanted.conversations;
    let whole = is_all && redacted == 0;
    let mut written = ExportSummary {
        tail,
        whole,
        records: survey.records,
        conversations: spool.sessions(),
        items: spool.items(),
        redacted,
        missing: spool.missing(),
        lost: spool.lost(NAMED_MAX),
    };
    write_line(out, &Line::Header(Header { format: EXPORT_FORMAT, whole, tail }))?;
    let redacts = survey.redacted > 0;
    let (mut records, total) = (0, survey.records);
    source.records(from, tail.position, session.as_ref(), &mut |exact| {
        records += 1;
        report_progress(progress, "writing events", records, total);
        let replacement = if redacts { survey.redaction.replacement(&exact)? } else { None };
        let json = replacement.as_deref().map_or_else(|| json_of(&exact), Ok)?;
        write_line(out, &Line::Record(Record { format: exact.bytes[0], json, chain: exact.chain }))
    })?;
    if records != total {
        return Err(Error::Changed { expected: total, found: records });
    }
    spool.write_to(out)?;
    if is_all {
        match forgotten_sessions.by_session() {
            Ok(all) => write_forgotten(out, all, &survey.table())?,
            Err(error) => {
                written.missing += 1;
                written.lost.push(format!("what copies of forgotten sessions are known by cannot be read: {error}"));
            }
        }
    }
    let state_hash = survey.table().state_hash();
    let ExportSummary { items, redacted, .. } = written;
    let state_version = table::VERSION;
    write_line(out, &Line::End(End { tail, state_hash, state_version, records, items, redacted }))?;
    out.flush().map_err(Error::Write)?;
    written.lost.truncate(NAMED_MAX);
    Ok(written)
}

/// Writes the fingerprints of sessions that are forgotten at the exported end.
fn write_forgotten(
    out: &mut dyn Write,
    all: BTreeMap<SessionId, ForgottenSession>,
    table: &SessionTable,
) -> Result<(), Error> {
    let is_forgotten = |id: &SessionId| table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten);
    for (session, ForgottenSession { marks, copy_of }) in all.into_iter().filter(|(session, _)| is_forgotten(session)) {
        let marks = marks.into_iter().map(Mark).collect();
        write_line(out, &Line::Forgotten { session, marks, copy_of })?;
    }
    Ok(())
}

fn chain_at(source: &mut dyn Source, position: Position) -> Result<ChainHash, Error> {
    let mut chain = ChainHash::GENESIS;
    source.records(position, position, None, &mut |exact| {
        chain = exact.chain;
        Ok(())
    })?;
    Ok(chain)
}

pub(super) fn write_line(out: &mut dyn Write, line: &Line<'_>) -> Result<(), Error> {
    let mut text = write(line);
    text.push('\n');
    out.write_all(text.as_bytes()).map_err(Error::Write)
}

fn json_of(exact: &Exact) -> Result<&str, Error> {
    let json = exact.bytes.get(1..).and_then(|json| std::str::from_utf8(json).ok());
    json.filter(|json| !json.contains('\n')).ok_or(Error::NoLine { position: exact.position })
}

/// What is removed from records.
struct RecordRedaction {
    /// Sessions whose group is removed.
    forgotten: BTreeSet<SessionId>,
    unredacted: bool,
}

impl RecordRedaction {
    /// The replacement of a record; `None` if it is written as stored.
    fn replacement(&self, exact: &Exact) -> Result<Option<String>, Error> {
        let stored = json_of(exact)?;
        if self.unredacted {
            return Ok(None);
        }
        let hidden = self.without_group(exact);
        let redacted = redact_json(hidden.as_deref().unwrap_or(stored));
        Ok(redacted.or(hidden))
    }

    fn without_group(&self, exact: &Exact) -> Option<String> {
        if self.forgotten.is_empty() {
            return None;
        }
        let mut record = envelope::decode(&exact.bytes).ok()?;
        let is_meant = self.forgotten.contains(&record.stream.session_id()?) && hide_group(&mut record);
        let bytes = is_meant.then(|| envelope::encode(&record).ok())??;
        String::from_utf8(bytes).ok().map(|text| text[1..].to_owned())
    }
}

/// What the exported records amount to.
struct Survey {
    fold: TableFold,
    table: TableReader,
    /// Notes of closes in sessions that are not forgotten, and the words of existing memos.
    notes: BTreeMap<SessionId, BTreeSet<ContentHash>>,
    redaction: RecordRedaction,
    records: u64,
    redacted: u64,
}

impl Survey {
    fn new(redaction: RecordRedaction) -> Self {
        let (fold, table) = TableFold::new();
        Self { fold, table, notes: BTreeMap::new(), redaction, records: 0, redacted: 0 }
    }

    fn read(
        &mut self,
        source: &mut dyn Source,
        from: Position,
        to: Position,
        session: Option<&SessionId>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), Error> {
        source.records(from, to, session, &mut |exact| {
            report_progress(progress, "reading events", exact.position.0, to.0);
            self.add(&exact)
        })?;
        self.fold.publish(Tail::default());
        Ok(())
    }

    fn add(&mut self, exact: &Exact) -> Result<(), Error> {
        let redacted = self.redaction.replacement(exact)?;
        self.records += 1;
        self.redacted += u64::from(redacted.is_some());
        let decoded = match redacted {
            // The fold uses what the file says.
            Some(json) => envelope::decode(&[&exact.bytes[..1], json.as_bytes()].concat()),
            None => envelope::decode(&exact.bytes),
        };
        let record = decoded.map_err(|_| Error::NoLine { position: exact.position })?;
        self.fold.apply(&record);
        track_notes(&mut self.notes, &record);
        Ok(())
    }

    fn table(&self) -> SessionTable {
        self.table.now()
    }
}

/// Tracks the notes that events name (of closes, answers of models, a person's titles, and memos), by the id of their
/// folder.
pub(crate) fn track_notes(notes: &mut BTreeMap<SessionId, BTreeSet<ContentHash>>, record: &StoredRecord) {
    if let Some(uuid) = record.stream.memo_uuid() {
        match schema::memo::decode(&record.kind, record.v, &record.data) {
            Ok(memo::Event::Added(memo) | memo::Event::Replaced(memo) | memo::Event::Redacted(memo)) => {
                notes.insert(memo::key(uuid), BTreeSet::from([memo.words]));
            }
            Ok(memo::Event::Deleted) => drop(notes.remove(&memo::key(uuid))),
            Err(_) => {}
        }
        return;
    }
    if !matches!(record.kind.as_str(), "close_requested" | "model_answered" | "corrected" | "redacted" | "forgotten") {
        return;
    }
    let Some(session) = record.stream.session_id() else { return };
    match session_stream::decode(record).map(|recorded| recorded.event) {
        Ok(Event::CloseRequested { note: Some(note), .. }) => drop(notes.entry(session).or_default().insert(note)),
        Ok(
            Event::Corrected { correction: Correction::Title(Some(note)), .. }
            | Event::ModelAnswered { answer: ModelAnswer { answer: Some(note), .. } },
        ) => {
            notes.entry(session).or_default().insert(note);
        }
        Ok(Event::Redacted { notes: replaced, .. }) => {
            let Some(named) = notes.get_mut(&session) else { return };
            for (old, new) in replaced {
                if named.remove(&old) {
                    named.insert(new);
                }
            }
        }
        Ok(Event::Forgotten) => drop(notes.remove(&session)),
        _ => {}
    }
}
