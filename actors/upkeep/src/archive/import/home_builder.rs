//! A home under construction, filled line by line from an export.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::envelope::{StoredRecord, Tail};
use baton_events::projection::table;
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::schema::export::{EXPORT_FORMAT, End, Header, Line, read};
use baton_events::session::Phase;

use super::ImportSummary;
use crate::archive::export::track_notes;
use crate::archive::{ImportError, Refusal};
use baton_config::import_boundary::ImportBoundary;
use baton_journal::Fold;
use baton_journal::refill;
use baton_journal::refill::Refill;
use baton_journal::session_table::{TableFold, TableReader};
use baton_store::chunks::{ChunkRef, ChunkStore, LINE_MAX_BYTES};
use baton_store::fingerprints;
use baton_store::fingerprints::{ForgottenSession, ForgottenSessions};

/// Why a line was not accepted.
pub(super) enum LineError {
    /// The line is not valid.
    Refused(Refusal),
    /// An operation on this machine failed.
    Failed(ImportError),
}

impl From<Refusal> for LineError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<baton_store::chunks::Error> for LineError {
    fn from(error: baton_store::chunks::Error) -> Self {
        match error {
            error @ baton_store::chunks::Error::Io { .. } => Self::Failed(ImportError::Chunks(error)),
            // The path in the home under construction would mean nothing to the caller.
            baton_store::chunks::Error::Damaged { what, .. } => Self::Refused(Refusal::Content(what)),
            baton_store::chunks::Error::Newer { format, .. } => {
                Self::Refused(Refusal::Newer(format!("manifest format {format}")))
            }
            other => Self::Refused(Refusal::Content(other.to_string())),
        }
    }
}

impl From<refill::Error> for LineError {
    fn from(error: refill::Error) -> Self {
        match error {
            refill::Error::Io(source) => Self::Failed(ImportError::Log(source)),
            other => Self::Refused(Refusal::Record(other.to_string())),
        }
    }
}

/// A home under construction.
pub(super) struct HomeBuilder {
    aside: PathBuf,
    refill: Option<Refill>,
    chunks: ChunkStore,
    fold: TableFold,
    table: TableReader,
    header: Option<Header>,
    records: u64,
    notes: BTreeMap<SessionId, BTreeSet<ContentHash>>,
    /// Known once all records were read.
    expected: Option<Expected>,
    open: Option<OpenConversation>,
    forgotten_sessions: BTreeMap<SessionId, ForgottenSession>,
    built: ImportSummary,
}

/// What the events name and what has not been read yet.
struct Expected {
    table: SessionTable,
    manifests: BTreeMap<SessionId, ContentHash>,
    notes: BTreeSet<(SessionId, ContentHash)>,
}

/// The conversation that is being read.
struct OpenConversation {
    session: SessionId,
    chunks: std::vec::IntoIter<ChunkRef>,
    chunk: Option<ChunkRef>,
    items: u64,
    lines: Vec<u8>,
}

impl HomeBuilder {
    pub(super) fn begin(aside: &Path, log: &Path) -> Result<Self, ImportError> {
        let refill = Refill::begin(log).map_err(|error| match error {
            refill::Error::Io(source) => ImportError::Io { what: "create", path: log.to_owned(), source },
            other => ImportError::Log(io::Error::other(other.to_string())),
        })?;
        let chunks = ChunkStore::open(aside.join("blobs"))?;
        let (fold, table) = TableFold::new();
        Ok(Self {
            aside: aside.to_owned(),
            refill: Some(refill),
            chunks,
            fold,
            table,
            header: None,
            records: 0,
            notes: BTreeMap::new(),
            expected: None,
            open: None,
            forgotten_sessions: BTreeMap::new(),
            built: ImportSummary::default(),
        })
    }

    /// Accepts a line; returns the last line.
    pub(super) fn accept(&mut self, line: &str) -> Result<Option<End>, LineError> {
        let line = read(line).map_err(|error| Refusal::NoLine(error.to_string()))?;
        if self.header.is_none() {
            return self.accept_header(line).map(|()| None);
        }
        match line {
            Line::Header(_) => {
                return Err(Refusal::Misplaced("it contains a second header: are these two files in one?").into());
            }
            Line::Record(record) => self.accept_record(record.bytes(), record.chain)?,
            Line::Manifest { session, id, content } => {
                self.close_conversation()?;
                if self.expected()?.manifests.get(&session) != Some(&id) {
                    return Err(Refusal::Misplaced("no event names this conversation, or it came already").into());
                }
                let manifest = self.chunks.put_manifest(&session, &id, content.get().as_bytes())?;
                self.expected()?.manifests.remove(&session);
                self.built.conversations += 1;
                let chunks = manifest.chunks.into_iter();
                self.open = Some(OpenConversation { session, chunks, chunk: None, items: 0, lines: Vec::new() });
            }
            Line::Chunk { session, name, items, bytes } => self.accept_chunk(&session, name, items, bytes)?,
            Line::Item(item) => self.accept_item(item.get())?,
            Line::Note { session, id, text } => {
                self.close_conversation()?;
                if !self.expected()?.notes.remove(&(session.clone(), id)) {
                    return Err(Refusal::Misplaced("no event names this note, or it came already").into());
                }
                self.chunks.put_note_as(&session, &id, &text)?;
            }
            Line::Missing { session, id } => {
                self.close_conversation()?;
                let expected = self.expected()?;
                let is_manifest = expected.manifests.get(&session) == Some(&id);
                if is_manifest {
                    expected.manifests.remove(&session);
                } else if !expected.notes.remove(&(session, id)) {
                    return Err(Refusal::Misplaced("no event names what is missing, or it came already").into());
                }
                self.built.missing += 1;
            }
            Line::Forgotten { session, marks, copy_of } => {
                self.close_conversation()?;
                let row = self.expected()?.table.get(&session);
                if row.is_none_or(|row| row.state.phase != Phase::Forgotten)
                    || self.forgotten_sessions.contains_key(&session)
                {
                    return Err(Refusal::Misplaced("no event forgets this session, or it came already").into());
                }
                if marks.len() > fingerprints::MARKS {
                    return Err(Refusal::Misplaced("it has more fingerprints than a session can have").into());
                }
                let marks = marks.into_iter().map(|mark| mark.0).collect();
                self.forgotten_sessions.insert(session, ForgottenSession { marks, copy_of });
            }
            Line::End(end) => {
                self.close_conversation()?;
                return Ok(Some(end));
            }
            Line::Other => self.built.unknown += 1,
        }
        Ok(None)
    }

    fn accept_header(&mut self, line: Line<'_>) -> Result<(), LineError> {
        let Line::Header(header) = line else { return Err(Refusal::NoExport.into()) };
        if header.format > EXPORT_FORMAT {
            return Err(Refusal::Newer(format!("export format {}", header.format)).into());
        }
        if header.format == 0 {
            return Err(Refusal::NoExport.into());
        }
        if !header.whole {
            return Err(Refusal::Filtered.into());
        }
        self.header = Some(header);
        Ok(())
    }

    fn accept_record(&mut self, bytes: Vec<u8>, chain: baton_events::envelope::ChainHash) -> Result<(), LineError> {
        let refill = match (&mut self.refill, &self.expected) {
            (Some(refill), None) => refill,
            _ => return Err(Refusal::Misplaced("events after conversations").into()),
        };
        if bytes.first() != Some(&baton_events::envelope::FORMAT) {
            return Err(Refusal::Newer(format!("record format {}", bytes.first().copied().unwrap_or(0))).into());
        }
        let record = refill.append(bytes, chain)?;
        check_known(&record)?;
        self.records += 1;
        self.fold.apply(&record);
        track_notes(&mut self.notes, &record);
        Ok(())
    }

    /// What the events name. The first call closes the log.
    fn expected(&mut self) -> Result<&mut Expected, LineError> {
        if self.expected.is_none() {
            let tail = match self.refill.take() {
                Some(refill) => refill.finish()?,
                None => Tail::default(),
            };
            if self.header.as_ref().is_none_or(|header| header.tail != tail) {
                return Err(Refusal::Ends(format!("its events end at position {}", tail.position)).into());
            }
            self.fold.publish(tail);
            self.built.tail = tail;
            let table = self.table.now();
            let manifests =
                table.iter().filter_map(|(id, row)| Some((id.clone(), row.state.episode.as_ref()?.manifest))).collect();
            let notes = std::mem::take(&mut self.notes)
                .into_iter()
                .flat_map(|(id, notes)| notes.into_iter().map(move |note| (id.clone(), note)))
                .collect();
            self.expected = Some(Expected { table, manifests, notes });
        }
        self.expected.as_mut().ok_or_else(|| Refusal::NoExport.into())
    }

    fn accept_chunk(
        &mut self,
        session: &SessionId,
        name: ContentHash,
        items: u64,
        bytes: u64,
    ) -> Result<(), LineError> {
        self.close_chunk()?;
        let open = self.open.as_mut().filter(|open| open.session == *session);
        let open = open.ok_or(Refusal::Misplaced("it follows no manifest of its session"))?;
        let named = open
            .chunks
            .next()
            .filter(|chunk| chunk.name == name.to_string() && chunk.items == items && chunk.bytes == bytes);
        let named = named.ok_or(Refusal::Misplaced("its manifest names another chunk here"))?;
        // Its lines are buffered until it is complete; each has at least a line break.
        if bytes > LINE_MAX_BYTES as u64 + 1 || items > bytes {
            return Err(Refusal::Content(format!("a chunk cannot have {items} items and {bytes} bytes")).into());
        }
        (open.chunk, open.items) = (Some(named), items);
        self.close_empty()
    }

    /// A chunk without items is complete at once.
    fn close_empty(&mut self) -> Result<(), LineError> {
        if self.open.as_ref().is_some_and(|open| open.items == 0) { self.close_chunk() } else { Ok(()) }
    }

    fn accept_item(&mut self, item: &str) -> Result<(), LineError> {
        let misplaced = Refusal::Misplaced("it follows no chunk with room for it");
        let open = self.open.as_mut().filter(|open| open.items > 0);
        let Some((open, chunk)) =
            open.and_then(|open| Some((open.chunk.clone()?, open))).map(|(chunk, open)| (open, chunk))
        else {
            return Err(misplaced.into());
        };
        if (open.lines.len() + item.len() + 1) as u64 > chunk.bytes {
            return Err(misplaced.into());
        }
        open.lines.extend_from_slice(item.as_bytes());
        open.lines.push(b'\n');
        open.items -= 1;
        self.built.items += 1;
        self.close_empty()
    }

    /// Stores a complete chunk.
    fn close_chunk(&mut self) -> Result<(), LineError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.items > 0 {
            return Err(Refusal::Misplaced("items of the chunk before it are missing").into());
        }
        let lines = std::mem::take(&mut open.lines);
        if let Some(chunk) = open.chunk.take() {
            self.chunks.put_chunk(&open.session, &chunk, &lines)?;
        }
        Ok(())
    }

    /// Ends the open conversation, if there is one.
    fn close_conversation(&mut self) -> Result<(), LineError> {
        self.close_chunk()?;
        match self.open.take() {
            Some(open) if open.chunks.len() > 0 => {
                Err(Refusal::Misplaced("chunks of the conversation before it are missing").into())
            }
            _ => Ok(()),
        }
    }

    /// Checks everything against the last line, and records where the log came from.
    pub(super) fn finish(mut self, end: &End) -> Result<ImportSummary, LineError> {
        let (records, items) = (self.records, self.built.items);
        self.expected()?;
        let tail = self.built.tail;
        let expected = self.expected()?;
        if let Some((session, _)) = expected.manifests.iter().next() {
            return Err(Refusal::Ends(format!("the conversation of session {session} is not in it")).into());
        }
        if let Some((session, _)) = expected.notes.iter().next() {
            let whose = if session.is_memo() { "" } else { "session " };
            return Err(Refusal::Ends(format!("a note of {whose}{session} is not in it")).into());
        }
        let state_hash = match end.state_version {
            table::VERSION => expected.table.state_hash(),
            // Another version hashes states differently, so the hash cannot be compared.
            _ => end.state_hash,
        };
        let sessions = expected.table.len() as u64;
        let paths = expected.table.iter().filter_map(|(_, row)| Some(row.state.transcript.as_ref()?.path.clone()));
        let imported = ImportBoundary::new(tail, paths.collect());
        for (what, stated, actual) in [
            ("position", end.tail.position.to_string(), tail.position.to_string()),
            ("chain", end.tail.chain.to_string(), tail.chain.to_string()),
            ("state_hash", end.state_hash.to_string(), state_hash.to_string()),
            ("records", end.records.to_string(), records.to_string()),
            ("items", end.items.to_string(), items.to_string()),
            ("redacted", end.redacted.to_string(), 0.to_string()),
        ] {
            if stated != actual {
                return Err(
                    Refusal::Ends(format!("its {what} is {stated}, but the lines before it have {actual}")).into()
                );
            }
        }
        let log = self.aside.join("log");
        let failed = |source| LineError::Failed(ImportError::Log(source));
        imported.write(&log).map_err(failed)?;
        ForgottenSessions::open(&log).keep_all(std::mem::take(&mut self.forgotten_sessions)).map_err(failed)?;
        Ok(ImportSummary { sessions, ..self.built })
    }
}

/// Refuses an event that this version cannot read, because it would be lost.
fn check_known(record: &StoredRecord) -> Result<(), Refusal> {
    let StoredRecord { kind, v, data, stream, .. } = record;
    let decoded = match stream.as_str() {
        "home" => schema::home::decode(kind, *v, data).map(drop),
        _ if stream.memo_uuid().is_some() => schema::memo::decode(kind, *v, data).map(drop),
        other if other.starts_with("session:") => schema::session::decode(kind, *v, data).map(drop),
        other => return Err(Refusal::Newer(format!("events of stream {other:?}"))),
    };
    match decoded {
        Err(error @ (schema::session::Error::UnknownType { .. } | schema::session::Error::NewerVersion { .. })) => {
            Err(Refusal::Newer(error.to_string()))
        }
        // An event that was damaged when it was recorded is kept: the table skips it, here as in the original home.
        Ok(()) | Err(_) => Ok(()),
    }
}
