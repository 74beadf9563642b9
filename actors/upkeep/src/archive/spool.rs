//! Buffers the conversations of an export: they are read and redacted once, session by session, and kept in a file
//! until the lines before them are known.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::schema;
use baton_events::schema::export::{Line, write};
use baton_protocol::Progress;
use baton_redaction::json::redact_json;
use baton_redaction::redact;
use serde_json::value::RawValue;

use super::{Error, report_progress};
use baton_store::chunks;
use baton_store::chunks::{ChunkStore, ManifestId};

/// The buffered conversations.
pub(super) struct Spool {
    out: BufWriter<File>,
    /// Valid bytes in the file; what is behind them is overwritten.
    written: u64,
    unredacted: bool,
    sessions: BTreeMap<SessionId, SpooledSession>,
}

/// The part of one session.
#[derive(Default)]
struct SpooledSession {
    manifest: Option<ManifestId>,
    notes: BTreeSet<ContentHash>,
    at: u64,
    bytes: u64,
    items: u64,
    redacted: u64,
    lost: Vec<String>,
}

impl Spool {
    pub(super) fn new(file: File, unredacted: bool) -> Self {
        Self { out: BufWriter::new(file), written: 0, unredacted, sessions: BTreeMap::new() }
    }

    /// Reads what is new since the last call, and what could not be read then. Drops sessions that no longer have
    /// anything.
    pub(super) fn update(
        &mut self,
        store: &ChunkStore,
        table: &SessionTable,
        notes: &BTreeMap<SessionId, BTreeSet<ContentHash>>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), Error> {
        let none = BTreeSet::new();
        let mut wanted = BTreeMap::new();
        for (id, row) in table.iter() {
            let notes = notes.get(id).unwrap_or(&none);
            let manifest = row.state.episode.as_ref().map(|episode| episode.manifest);
            if manifest.is_some() || !notes.is_empty() {
                wanted.insert(id, (manifest, notes));
            }
        }
        // A memo has only its words.
        for (id, notes) in notes.iter().filter(|(id, notes)| id.is_memo() && !notes.is_empty()) {
            wanted.insert(id, (None, notes));
        }
        self.sessions.retain(|id, _| wanted.contains_key(id));
        let total = wanted.len() as u64;
        for (done, (id, (manifest, notes))) in (1..).zip(wanted) {
            let is_there = |spooled: &SpooledSession| {
                spooled.manifest == manifest && spooled.notes == *notes && spooled.lost.is_empty()
            };
            if !self.sessions.get(id).is_some_and(is_there) {
                let spooled = self.session(store, id, manifest, notes)?;
                self.sessions.insert(id.clone(), spooled);
            }
            report_progress(progress, "reading conversations", done, total);
        }
        Ok(())
    }

    fn session(
        &mut self,
        store: &ChunkStore,
        id: &SessionId,
        manifest: Option<ManifestId>,
        notes: &BTreeSet<ContentHash>,
    ) -> Result<SpooledSession, Error> {
        let mut spooled =
            SpooledSession { manifest, notes: notes.clone(), at: self.written, ..SpooledSession::default() };
        if let Some(manifest) = manifest {
            match self.conversation(store, id, &manifest) {
                Ok((items, redacted)) => (spooled.items, spooled.redacted) = (items, redacted),
                Err(SpoolError::Conversation(error)) => {
                    // A partial conversation is dropped.
                    self.rewind(spooled.at)?;
                    self.put_missing(id, manifest)?;
                    spooled.lost.push(error.to_string());
                }
                Err(SpoolError::Spool(error)) => return Err(error),
            }
        }
        for note in notes {
            match store.note(id, note) {
                Ok(text) => {
                    let redacted = if self.unredacted { (&*text).into() } else { redacted(id, &text) };
                    spooled.redacted += u64::from(redacted != text);
                    let text = redacted.into_owned();
                    self.put(&Line::Note { session: id.clone(), id: *note, text })?;
                }
                Err(error) => {
                    self.put_missing(id, *note)?;
                    spooled.lost.push(error.to_string());
                }
            }
        }
        spooled.bytes = self.written - spooled.at;
        Ok(spooled)
    }

    /// Writes the items of a conversation. Returns how many there are, and how many of them were redacted.
    fn conversation(
        &mut self,
        store: &ChunkStore,
        id: &SessionId,
        name: &ManifestId,
    ) -> Result<(u64, u64), SpoolError> {
        let damaged = |what: String| {
            SpoolError::Conversation(chunks::Error::Damaged {
                path: store.folder_of(id).join(format!("{name}.json")),
                what,
            })
        };
        let (manifest, bytes) = store.manifest_bytes(id, name)?;
        let content = raw(&bytes).map_err(damaged)?;
        self.put(&Line::Manifest { session: id.clone(), id: *name, content: &content })?;
        let mut redacted = 0;
        for chunk in &manifest.chunks {
            let lines = store.chunk(id, chunk)?;
            let named =
                ContentHash::parse(&chunk.name).ok_or_else(|| damaged("it names a chunk that can be none".into()))?;
            let (items, bytes) = (chunk.items, chunk.bytes);
            self.put(&Line::Chunk { session: id.clone(), name: named, items, bytes })?;
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                let mut item = raw(line).map_err(damaged)?;
                if let Some(clean) = (!self.unredacted).then(|| redact_json(item.get())).flatten() {
                    item = raw(clean.as_bytes()).map_err(damaged)?;
                    redacted += 1;
                }
                self.put(&Line::Item(&item))?;
            }
        }
        Ok((manifest.items, redacted))
    }

    fn put_missing(&mut self, session: &SessionId, id: ContentHash) -> Result<(), Error> {
        self.put(&Line::Missing { session: session.clone(), id })
    }

    fn put(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let mut text = write(line);
        text.push('\n');
        self.out.write_all(text.as_bytes()).map_err(Error::Spool)?;
        self.written += text.len() as u64;
        Ok(())
    }

    fn rewind(&mut self, at: u64) -> Result<(), Error> {
        self.out.seek(SeekFrom::Start(at)).map_err(Error::Spool)?;
        self.written = at;
        Ok(())
    }

    /// Writes all conversations, by session.
    pub(super) fn write_to(mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.out.flush().map_err(Error::Spool)?;
        let mut file = self.out.into_inner().map_err(|error| Error::Spool(error.into_error()))?;
        let mut block = vec![0; 256 * 1024];
        for spooled in self.sessions.values() {
            file.seek(SeekFrom::Start(spooled.at)).map_err(Error::Spool)?;
            let mut left = (&mut file).take(spooled.bytes);
            loop {
                match left.read(&mut block).map_err(Error::Spool)? {
                    0 if left.limit() > 0 => return Err(Error::Spool(io::ErrorKind::UnexpectedEof.into())),
                    0 => break,
                    count => out.write_all(&block[..count]).map_err(Error::Write)?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn sessions(&self) -> u64 {
        self.sessions.len() as u64
    }

    pub(super) fn items(&self) -> u64 {
        self.sessions.values().map(|spooled| spooled.items).sum()
    }

    pub(super) fn redacted(&self) -> u64 {
        self.sessions.values().map(|spooled| spooled.redacted).sum()
    }

    pub(super) fn missing(&self) -> u64 {
        self.sessions.values().map(|spooled| spooled.lost.len() as u64).sum()
    }

    /// The first few losses.
    pub(super) fn lost(&self, few: usize) -> Vec<String> {
        self.sessions.values().flat_map(|spooled| &spooled.lost).take(few).cloned().collect()
    }
}

/// Why a conversation was not buffered.
enum SpoolError {
    /// The conversation cannot be read.
    Conversation(chunks::Error),
    /// The buffer cannot be written.
    Spool(Error),
}

impl From<chunks::Error> for SpoolError {
    fn from(error: chunks::Error) -> Self {
        Self::Conversation(error)
    }
}

impl From<Error> for SpoolError {
    fn from(error: Error) -> Self {
        Self::Spool(error)
    }
}

/// Redacts a note; the words of a memo are redacted field by field, so that they still decode.
fn redacted<'a>(id: &SessionId, text: &'a str) -> Cow<'a, str> {
    let words = id.is_memo().then(|| schema::memo::decode_words(text).ok()).flatten();
    match words {
        Some(words) => Cow::Owned(schema::memo::encode_words(&words.redacted())),
        None => redact(text),
    }
}

/// One line of JSON, unchanged.
fn raw(bytes: &[u8]) -> Result<Box<RawValue>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if text.contains('\n') {
        return Err("it has more than one line".to_owned());
    }
    let raw = RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())?;
    // White space around the value would be lost.
    if raw.get().len() == text.len() { Ok(raw) } else { Err("it has white space around it".to_owned()) }
}
