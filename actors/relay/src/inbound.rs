//! Takes in what others published: opens, checks, stores the conversation, records the message.
//!
//! A frame is believed in steps, and refused at the first that fails: its writer is known, the writer signed it, it is
//! the next of its stream, it can be unsealed, it holds published events of the session that its stream is named after,
//! and every chunk is what the batch says. What has not arrived yet, a key or a chunk, holds the stream, and only that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_base::durable;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::schema::item;
use baton_events::session::{EpisodeRef, Event};
use baton_sharing::batch::{self, Batch, Chunk, MAX_NAME_BYTES, Notice};
use baton_sharing::paths::Paths;
use baton_sharing::published::published;
use baton_store::chunks::{CHUNK_BYTES, ChunkRef, Header, LINE_MAX_BYTES, Manifest};
use ed25519_dalek::VerifyingKey;

use crate::folder::object_name;
use crate::keys::{Keys, Name, Secret, WriterId};
use crate::record::{Line, Record, Shared, Writer};
use crate::seal::{self, Frame, Kind};
use crate::transport::{self, Relay, Slot};

/// Most writers of a team.
pub(crate) const MAX_WRITERS: usize = 256;
/// Most sessions of a writer.
const MAX_SESSIONS: usize = 100_000;
/// Most bytes of a writer's conversations, before compression.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Longest record of another writer, before notices.
const MAX_LOG_BYTES: u64 = 1024 * 1024 * 1024;

/// What came of a frame.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is recorded now.
    Recorded(Box<Change>),
    /// It was recorded before.
    Known,
}

/// What has changed.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) writer: WriterId,
    pub(crate) line: Line,
}

/// Why a frame was not recorded.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// Something that it needs is not there yet.
    Held(String),
    /// It is wrong, and will not become right.
    Refused(String),
    /// This machine or the relay failed; nothing is known of the frame.
    Failed(String),
}

impl From<transport::Error> for NotTaken {
    fn from(error: transport::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

fn refused(why: impl ToString) -> NotTaken {
    NotTaken::Refused(why.to_string())
}

impl From<batch::Error> for NotTaken {
    fn from(error: batch::Error) -> Self {
        match error {
            // It is kept: a later version of this program may read it.
            batch::Error::Newer => Self::Held(error.to_string()),
            batch::Error::Malformed(_) => Self::Refused(error.to_string()),
        }
    }
}

impl From<seal::Error> for NotTaken {
    fn from(error: seal::Error) -> Self {
        match error {
            seal::Error::Newer(_) => Self::Held(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// What is known of a frame's writer and stream.
pub(crate) struct Known {
    /// Number of all writers.
    pub(crate) writers: usize,
    pub(crate) writer: Option<KnownWriter>,
    /// True if something of the writer is held.
    pub(crate) is_waiting: bool,
    /// The session of the stream.
    pub(crate) session: Option<Shared>,
    /// Writers who may introduce themselves by the team's older keys.
    pub(crate) vouched: BTreeSet<String>,
    /// True if all members that are known of have introduced themselves.
    pub(crate) is_complete: bool,
}

/// A writer, without their sessions.
pub(crate) struct KnownWriter {
    pub(crate) id: WriterId,
    pub(crate) key: VerifyingKey,
    /// Sequence of the last notice.
    pub(crate) notices: u64,
    /// True if a member has removed them from the team.
    pub(crate) is_removed: bool,
    /// The sessions that they want removed, with the sequences that their streams had.
    pub(crate) forgotten: Arc<BTreeMap<SessionId, u64>>,
    /// Number of sessions.
    pub(crate) sessions: usize,
    /// Bytes of conversations.
    pub(crate) stored: u64,
}

/// Takes in frames.
pub(crate) struct Inbound<'a> {
    pub(crate) relay: &'a dyn Relay,
    pub(crate) keys: &'a Keys,
    /// The folder of all records.
    pub(crate) folder: &'a std::path::Path,
    pub(crate) now: Timestamp,
    /// Frames of the same stream that came later. If one names a conversation, the one before is not needed.
    pub(crate) later: &'a [&'a [u8]],
}

impl Inbound<'_> {
    /// Takes in one frame.
    pub(crate) async fn take(&self, known: &Known, frame: &[u8]) -> Result<Taken, NotTaken> {
        let frame = Frame::parse(frame)?;
        if known.writer.as_ref().is_some_and(|writer| writer.is_removed) {
            return Err(refused("its writer was removed from the team"));
        }
        match (frame.header.kind, &known.writer) {
            (Kind::Notice, None) => self.join(known, &frame),
            (Kind::Notice, Some(writer)) => self.notice(writer, &frame),
            (Kind::Batch, Some(writer)) => self.batch(writer, known.session.as_ref(), &frame).await,
            (Kind::Batch, None) if known.is_waiting => Err(NotTaken::Held("its writer is not known yet".to_owned())),
            (Kind::Batch, None) => Err(refused("its writer has not introduced themselves")),
            (Kind::Key | Kind::Invitation, _) => Err(refused("it is no message of a stream")),
        }
    }

    fn epoch_key(&self, epoch: u32) -> Result<&Secret, NotTaken> {
        let key = self.keys.team.of_epoch(epoch);
        key.ok_or_else(|| NotTaken::Held(format!("this home has no key of epoch {epoch}")))
    }

    /// A writer's first notice, which has their key: accepted from whoever has the team's newest key, and from members of
    /// before.
    fn join(&self, known: &Known, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        if frame.header.sequence != 1 {
            return Err(refused("the beginning of its stream is not there"));
        }
        if known.writers >= MAX_WRITERS {
            return Err(refused(format!("the team has {MAX_WRITERS} writers, the most that are accepted")));
        }
        let notice = Notice::decode(&frame.unseal(self.epoch_key(frame.header.epoch)?)?)?;
        let line = self.line(frame, Line { notice: Some(notice), ..Line::default() });
        let id = line.notice.as_ref().and_then(|notice| match &notice.said {
            batch::Said::Joined { key, .. } => {
                let key = VerifyingKey::from_bytes(&baton_conversation::hex::decode(key)?).ok()?;
                Some(WriterId::of(&key))
            }
            _ => None,
        });
        let writer = id.as_ref().and_then(|id| Writer::joined(id, &line));
        let writer = writer.ok_or_else(|| refused("it does not introduce its writer"))?;
        self.check_place(frame, &writer.id, self.keys.team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        // A key of before may be that of a member who was removed.
        let is_vouched = writer.id == self.keys.writer() || known.vouched.contains(writer.id.as_str());
        if frame.header.epoch < self.keys.team.current().0 && !is_vouched {
            let why = "it is sealed by an old key, and no member names its writer";
            return Err(if known.is_complete { refused(why) } else { NotTaken::Held(why.to_owned()) });
        }
        self.record(writer.id, line)
    }

    fn line(&self, frame: &Frame<'_>, line: Line) -> Line {
        let seal::Header { sequence, epoch, stream, .. } = frame.header;
        Line { sequence, epoch, stream: stream.to_string(), at: self.now, ..line }
    }

    fn notice(&self, writer: &KnownWriter, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        if frame.header.sequence <= writer.notices {
            return Ok(Taken::Known);
        }
        self.check_place(frame, &writer.id, self.keys.team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        let notice = Notice::decode(&frame.unseal(self.epoch_key(frame.header.epoch)?)?)?;
        let again = matches!(&notice.said, batch::Said::Joined { key, .. }
            if *key != baton_conversation::hex::encode(writer.key.as_bytes()));
        if again {
            return Err(refused("it gives its writer another key"));
        }
        let line = self.line(frame, Line { notice: Some(notice), ..Line::default() });
        self.record(writer.id.clone(), line)
    }

    async fn batch(&self, writer: &KnownWriter, known: Option<&Shared>, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        let stream = frame.header.stream;
        let reached = known.map_or(0, |known| known.sequence);
        if frame.header.sequence <= reached {
            return Ok(Taken::Known);
        }
        frame.verify(&writer.key)?;
        let opened = known.filter(|known| known.epoch == frame.header.epoch).map(|known| (known.key.clone(), frame));
        let opened = opened.and_then(|(key, frame)| Some((frame.unseal(&key).ok()?, key)));
        let (message, key) = match opened {
            Some(opened) => opened,
            // The session may have been begun anew by another key.
            None => {
                let key = self.session_key(writer, stream).await?;
                let message = frame.unseal(&key).map_err(|error| match error {
                    seal::Error::Sealed => NotTaken::Held("the key that lies there is another one".to_owned()),
                    error => error.into(),
                })?;
                (message, key)
            }
        };
        let batch = Batch::decode(&message)?;
        self.check_place(frame, &writer.id, self.keys.team.session_name(&writer.id, &batch.session))?;
        if writer.forgotten.get(&batch.session).is_some_and(|gone| frame.header.sequence <= *gone) {
            return Ok(Taken::Known);
        }
        if !batch.begin {
            check_next(frame.header.sequence, reached)?;
        }
        if known.is_none() && writer.sessions >= MAX_SESSIONS {
            return Err(refused(format!("its writer has {MAX_SESSIONS} sessions, the most that are accepted")));
        }
        let events = batch.events()?;
        check_published(&events)?;
        if writer.id != self.keys.writer() {
            match self.conversation(writer, known, &batch, &events, &key).await {
                Err(NotTaken::Held(_)) if self.is_superseded(writer, &key) => {}
                stored => stored?,
            }
        }
        let (session, since) = (batch.session.clone(), known.map(|known| known.since));
        let line = self.line(frame, Line { since, batch: Some(batch), key: Some(key), ..Line::default() });
        let taken = self.record(writer.id.clone(), line)?;
        if let Some(current) = events.iter().find_map(episode_of)
            && writer.id != self.keys.writer()
            && let Err(error) = Record::new(self.folder, &writer.id).keep_only(&session, &current.manifest)
        {
            tracing::warn!(%error, "an earlier conversation of another member is not removed yet");
        }
        Ok(taken)
    }

    /// True if a later message names a conversation: what it needs is all that is needed.
    fn is_superseded(&self, writer: &KnownWriter, key: &Secret) -> bool {
        self.later.iter().any(|frame| {
            let batch = Frame::parse(frame).and_then(|frame| {
                frame.verify(&writer.key)?;
                frame.unseal(key)
            });
            let batch = batch.ok().and_then(|message| Batch::decode(&message).ok());
            batch.is_some_and(|batch| batch.conversation.is_some())
        })
    }

    /// The key of a session's stream.
    async fn session_key(&self, writer: &KnownWriter, stream: Name) -> Result<Secret, NotTaken> {
        let slot = Slot::Named(self.keys.team.key_name(stream));
        let Some(sealed) = self.relay.get(slot).await? else {
            return Err(NotTaken::Held("its key is not there: it has not arrived yet, or was destroyed".to_owned()));
        };
        let frame = Frame::parse(&sealed)?;
        if frame.header.kind != Kind::Key || frame.header.stream != stream {
            return Err(refused("what lies in the place of its key is another one"));
        }
        frame.verify(&writer.key)?;
        let key = frame.unseal(self.epoch_key(frame.header.epoch)?)?;
        key.try_into().map(Secret).map_err(|_| refused("its key has another length"))
    }

    /// A frame must name the writer who signed it, and the stream that its message belongs to.
    fn check_place(&self, frame: &Frame<'_>, writer: &WriterId, stream: Name) -> Result<(), NotTaken> {
        let is_there = frame.header.writer == self.keys.team.writer_name(writer) && frame.header.stream == stream;
        if is_there { Ok(()) } else { Err(refused("it stands in a stream that it does not belong to")) }
    }

    /// Fetches the chunks that are not here yet, and makes the conversation durable.
    async fn conversation(
        &self,
        writer: &KnownWriter,
        known: Option<&Shared>,
        batch: &Batch,
        events: &[Event],
        key: &Secret,
    ) -> Result<(), NotTaken> {
        let mut named = events.iter().filter_map(episode_of);
        let (Some(episode), conversation) = (named.next(), batch.conversation.as_ref()) else {
            return match &batch.conversation {
                None => Ok(()),
                Some(_) => Err(refused("it has a conversation that no event names")),
            };
        };
        if named.next().is_some() {
            return Err(refused("it names several conversations"));
        }
        let conversation = conversation.ok_or_else(|| refused("the conversation that it names is missing"))?;
        let header = Header {
            generation: conversation.generation,
            filter_version: conversation.filter_version,
            item_version: conversation.item_version,
            ..Header::default()
        };
        if header.item_version > item::ITEM_VERSION {
            return Err(batch::Error::Newer.into());
        }
        let (id, bytes) =
            Manifest::assemble(header, conversation.chunks.iter().map(reference).collect()).map_err(refused)?;
        let items: u64 = conversation.chunks.iter().map(|chunk| chunk.items).sum();
        if id != episode.manifest || items != episode.items {
            return Err(refused("its conversation is not the one that its event names"));
        }
        let total = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.bytes).fold(0, u64::saturating_add);
        if writer.stored.saturating_add(total(&conversation.chunks)) > MAX_BYTES {
            return Err(refused(format!(
                "its writer has {MAX_BYTES} bytes of conversations, the most that are accepted"
            )));
        }
        let (blobs, session) = (Record::new(self.folder, &writer.id).blobs(), batch.session.clone());
        let known = known.and_then(|known| known.conversation.as_ref());
        let recorded: BTreeSet<_> = known.iter().flat_map(|known| &known.chunks).map(|chunk| chunk.name).collect();
        for chunk in &conversation.chunks {
            // One that a crash has left may be cut off, but only where nothing was recorded behind it.
            let path = blobs.folder_of(&session).join(reference(chunk).file_name());
            let is_whole = || recorded.contains(&chunk.name) || blobs.chunk(&session, &reference(chunk)).is_ok();
            if path.exists() && is_whole() {
                continue;
            }
            if chunk.bytes > (LINE_MAX_BYTES.max(CHUNK_BYTES) + 1) as u64 {
                return Err(refused("a chunk is longer than any"));
            }
            let Some(object) = self.relay.get(Slot::Object(chunk.object)).await? else {
                return Err(NotTaken::Held("a part of its conversation has not arrived yet".to_owned()));
            };
            if object_name(&object) != chunk.object {
                return Err(NotTaken::Held("a part of its conversation is damaged on the relay".to_owned()));
            }
            let most = usize::try_from(chunk.bytes).map_err(refused)?;
            let lines = seal::unseal_object(&object, key, most)?;
            let (blobs, session, chunk) = (blobs.clone(), session.clone(), reference(chunk));
            let storing = baton_base::task::spawn_blocking(move || {
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    item::decode(line).map_err(refused)?;
                }
                if path.exists() {
                    std::fs::remove_file(&path).map_err(|error| NotTaken::Failed(error.to_string()))?;
                }
                blobs.put_chunk(&session, &chunk, &lines).map_err(refused)
            });
            storing.await.map_err(|error| NotTaken::Failed(error.to_string()))??;
        }
        let storing = baton_base::task::spawn_blocking(move || {
            let folder = blobs.folder_of(&session);
            std::fs::remove_file(folder.join(format!("{id}.json"))).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            blobs.put_manifest(&session, &id, &bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
            durable::sync_below(&folder)?;
            durable::sync_parent(&folder)
        });
        storing.await.map_err(std::io::Error::other).flatten().map_err(|error| NotTaken::Failed(error.to_string()))
    }

    fn record(&self, writer: WriterId, line: Line) -> Result<Taken, NotTaken> {
        let record = Record::new(self.folder, &writer);
        // Notices have room beside everything else, so that what is forgotten can always be said.
        let most = if line.notice.is_some() { MAX_LOG_BYTES / 4 * 5 } else { MAX_LOG_BYTES };
        if writer != self.keys.writer() && record.size() > most {
            return Err(refused(format!(
                "its writer has a record of {MAX_LOG_BYTES} bytes, the most that is accepted"
            )));
        }
        let recorded = match &line.batch {
            // What was published of it before is void, and its key with it.
            Some(batch) if batch.begin && line.sequence > 1 => record.replace(&batch.session, &line),
            _ => record.append(&line),
        };
        recorded.map_err(|error| NotTaken::Failed(error.to_string()))?;
        Ok(Taken::Recorded(Box::new(Change { writer, line })))
    }
}

fn check_next(sequence: u64, reached: u64) -> Result<(), NotTaken> {
    match sequence == reached + 1 {
        true => Ok(()),
        false => {
            // Frames come in order: one before was refused, and nothing counts until the session is begun anew.
            Err(refused(format!("messages {} to {} of its stream are not there", reached + 1, sequence - 1)))
        }
    }
}

/// Others may only say what this program would publish itself.
fn check_published(events: &[Event]) -> Result<(), NotTaken> {
    let paths = Paths::default();
    for event in events {
        if published(event, &paths).as_ref() != Some(event) {
            return Err(refused("it has an event that is not published, or not in this form"));
        }
        if let Event::Located { place } = event
            && [&place.cwd, &place.project].iter().any(|text| text.len() > 16 * MAX_NAME_BYTES)
        {
            return Err(refused("it names a place that is too long"));
        }
    }
    Ok(())
}

/// The episode that an event names with its conversation.
pub(crate) fn episode_of(event: &Event) -> Option<&EpisodeRef> {
    match event {
        Event::Indexed { episode, .. } | Event::Redacted { episode: Some(episode), .. } => Some(episode),
        _ => None,
    }
}

fn reference(chunk: &Chunk) -> ChunkRef {
    ChunkRef { name: chunk.name.to_string(), items: chunk.items, bytes: chunk.bytes }
}

#[cfg(test)]
mod tests;
