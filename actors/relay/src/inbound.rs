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
use baton_sharing::batch::{self, Batch, Chunk, MAX_WRITERS, Notice};
use baton_sharing::membership::Membership;
use baton_sharing::published::{check, check_state};
use baton_store::chunks::{self, CHUNK_BYTES, ChunkRef, Header, LINE_MAX_BYTES, Manifest};
use ed25519_dalek::VerifyingKey;

use crate::folder::object_name;
use crate::keys::{Keys, Name, Secret, WriterId};
use crate::record::{Line, Record, Shared, Tombstone, Writer};
use crate::seal::{self, Frame, Kind};
use crate::transport::{self, Relay, Slot};

/// Most sessions of a writer.
const MAX_SESSIONS: usize = 100_000;
/// Most bytes of a writer's conversations, before compression.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Longest record of another writer, before notices.
const MAX_LOG_BYTES: u64 = 128 * 1024 * 1024;

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
    /// Bytes of the writer's record, if it was compacted.
    pub(crate) compacted: Option<u64>,
    /// Why nothing of the message counts but its place.
    pub(crate) refused: Option<String>,
}

/// Why a frame was not recorded.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// Something that it needs is not there yet, or cannot be read.
    Held {
        why: String,
        /// Bytes of its conversation that may be stored meanwhile.
        stored: u64,
    },
    /// It is wrong, and will not become right.
    Refused(String),
    /// This machine or the relay failed; nothing is known of the frame.
    Failed(String),
}

impl From<transport::Error> for NotTaken {
    fn from(error: transport::Error) -> Self {
        match error {
            transport::Error::Place(why) => held(why),
            error => Self::Failed(error.to_string()),
        }
    }
}

fn held(why: impl ToString) -> NotTaken {
    NotTaken::Held { why: why.to_string(), stored: 0 }
}

fn refused(why: impl ToString) -> NotTaken {
    NotTaken::Refused(why.to_string())
}

fn failed(why: impl ToString) -> NotTaken {
    NotTaken::Failed(why.to_string())
}

impl From<batch::Error> for NotTaken {
    fn from(error: batch::Error) -> Self {
        match error {
            // It is kept: a later version of this program may read it.
            batch::Error::Newer => held(error),
            batch::Error::Malformed(_) => refused(error),
        }
    }
}

impl From<seal::Error> for NotTaken {
    fn from(error: seal::Error) -> Self {
        match error {
            seal::Error::Newer(_) => held(error),
            error => refused(error),
        }
    }
}

/// What is known of a frame's writer and stream.
pub(crate) struct Known {
    /// Number of all members.
    pub(crate) members: usize,
    pub(crate) writer: Option<KnownWriter>,
    /// True if something of the writer is held.
    pub(crate) is_waiting: bool,
    /// The session of the stream.
    pub(crate) session: Option<Shared>,
    /// What the team's administrator has said, as far as it has arrived.
    pub(crate) membership: Membership,
}

/// A writer, without their sessions.
pub(crate) struct KnownWriter {
    pub(crate) id: WriterId,
    pub(crate) key: VerifyingKey,
    /// Sequence of the last notice.
    pub(crate) notices: u64,
    /// True if they belong to the team.
    pub(crate) is_member: bool,
    /// The sessions that they want removed.
    pub(crate) forgotten: Arc<BTreeMap<SessionId, Tombstone>>,
    /// Number of sessions.
    pub(crate) sessions: usize,
    /// Bytes of conversations, those of held messages included.
    pub(crate) stored: u64,
    /// Bytes of their record when it was last compacted.
    pub(crate) compacted: u64,
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
        if known.writer.as_ref().is_some_and(|writer| !writer.is_member) {
            return Err(refused("its writer is no member of the team any more"));
        }
        match (frame.header.kind, &known.writer) {
            (Kind::Notice, None) => self.join(known, &frame).await,
            (Kind::Notice, Some(writer)) => self.notice(writer, &frame).await,
            (Kind::Batch, Some(writer)) => self.batch(writer, known.session.as_ref(), &frame).await,
            (Kind::Batch, None) if known.is_waiting => Err(held("its writer is not known yet")),
            (Kind::Batch, None) => Err(refused("its writer has not introduced themselves")),
            (Kind::Key | Kind::Invitation, _) => Err(refused("it is no message of a stream")),
        }
    }

    fn epoch_key(&self, epoch: u32) -> Result<&Secret, NotTaken> {
        let key = self.keys.team.of_epoch(epoch);
        key.ok_or_else(|| held(format!("this home has no key of epoch {epoch}")))
    }

    /// A writer's first notice, which has their key: accepted from whoever is a member by what the administrator says.
    async fn join(&self, known: &Known, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        let (epoch, team) = (frame.header.epoch, &self.keys.team);
        if frame.header.sequence != 1 {
            return Err(refused("the beginning of its stream is not there"));
        }
        let notice = Notice::decode(&frame.unseal(self.epoch_key(epoch)?)?)?;
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
        self.check_place(frame, &writer.id, team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        if writer.id != self.keys.writer() && writer.id != team.admin {
            // What the administrator says later may be that this writer was removed.
            if known.membership.epoch() < team.current().0 && epoch < team.current().0 {
                return Err(held("not everything that the team's administrator has said is there yet"));
            }
            if !known.membership.is_member(writer.id.as_str(), epoch) {
                return Err(refused(
                    "its writer is no member: they were removed, or came by keys that the team has no more",
                ));
            }
            if known.members >= MAX_WRITERS {
                return Err(held(format!("the team has {MAX_WRITERS} members, the most that are accepted")));
            }
        }
        self.record(writer.id, line, 0).await
    }

    fn line(&self, frame: &Frame<'_>, line: Line) -> Line {
        let seal::Header { sequence, epoch, stream, .. } = frame.header;
        let received = frame.header.writer == self.keys.team.writer_name(&self.keys.writer());
        Line { sequence, epoch, stream: stream.to_string(), at: self.now, received, ..line }
    }

    /// A notice of a writer: taken in the order in which they were said, so that none can be kept away from one member
    /// while the others have it.
    async fn notice(&self, writer: &KnownWriter, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        if frame.header.sequence <= writer.notices {
            return Ok(Taken::Known);
        }
        self.check_place(frame, &writer.id, self.keys.team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        if Some(frame.header.sequence) != writer.notices.checked_add(1) {
            return Err(held(format!("notice {} of its writer is missing", writer.notices.saturating_add(1))));
        }
        let message = match frame.unseal(self.epoch_key(frame.header.epoch)?) {
            Err(error @ seal::Error::Sealed) => return Err(held(error)),
            opened => opened.map_err(NotTaken::from),
        };
        let notice = message.and_then(|message| Ok(Notice::decode(&message)?)).and_then(|notice| match &notice.said {
            batch::Said::Joined { key, .. } if *key != baton_conversation::hex::encode(writer.key.as_bytes()) => {
                Err(refused("it gives its writer another key"))
            }
            batch::Said::Removed { .. } if writer.id != self.keys.team.admin => {
                Err(refused("it removes a member, which the team's administrator alone can"))
            }
            _ => Ok(notice),
        });
        // What is wrong with a notice does not silence its writer: its place counts, so that the next one can follow.
        let (notice, why) = match notice {
            Ok(notice) => (Some(notice), None),
            Err(NotTaken::Refused(why)) => (None, Some(why)),
            Err(error) => return Err(error),
        };
        let line = self.line(frame, Line { notice, ..Line::default() });
        match self.record(writer.id.clone(), line, writer.compacted).await? {
            Taken::Recorded(change) => Ok(Taken::Recorded(Box::new(Change { refused: why, ..*change }))),
            Taken::Known => Ok(Taken::Known),
        }
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
                    seal::Error::Sealed => held("the key that lies there is another one"),
                    error => error.into(),
                })?;
                (message, key)
            }
        };
        let batch = Batch::decode(&message)?;
        self.check_place(frame, &writer.id, self.keys.team.session_name(&writer.id, &batch.session))?;
        if writer.forgotten.get(&batch.session).is_some_and(|gone| frame.header.sequence <= gone.sequence) {
            return Ok(Taken::Known);
        }
        if !batch.begin {
            check_next(frame.header.sequence, reached)?;
        }
        if known.is_none() && writer.sessions >= MAX_SESSIONS {
            return Err(refused(format!("its writer has {MAX_SESSIONS} sessions, the most that are accepted")));
        }
        let events = batch.events()?;
        events.iter().try_for_each(check).map_err(refused)?;
        check_state(&batch.fold(known.map(|known| known.state.clone()).unwrap_or_default())?).map_err(refused)?;
        let session = batch.session.clone();
        let is_own = writer.id == self.keys.writer();
        let record = Record::new(self.folder, &writer.id);
        if !is_own {
            match self.conversation(writer, known, &batch, &events, &key).await {
                Err(NotTaken::Held { .. }) if self.is_superseded(writer, &key) => {}
                Err(NotTaken::Refused(why)) => {
                    // What was stored of it is nobody's.
                    let current = known.and_then(|known| known.state.episode.as_ref()).map(|episode| episode.manifest);
                    blocking(move || record.keep_only(&session, current.as_slice()).map_err(failed)).await?;
                    return Err(NotTaken::Refused(why));
                }
                stored => stored?,
            }
        }
        let since = known.map(|known| known.since);
        let line = self.line(frame, Line { since, batch: Some(batch), key: Some(key), ..Line::default() });
        let taken = self.record(writer.id.clone(), line, writer.compacted).await?;
        if let Some(current) = events.iter().find_map(episode_of).map(|episode| episode.manifest)
            && !is_own
            && let Err(error) = blocking(move || record.keep_only(&session, &[current]).map_err(failed)).await
        {
            tracing::warn!(?error, "an earlier conversation of another member is not removed yet");
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

    /// The key of a session's stream. It lies where anybody can write: whatever is wrong with it says nothing of the
    /// message that needs it.
    async fn session_key(&self, writer: &KnownWriter, stream: Name) -> Result<Secret, NotTaken> {
        let slot = Slot::Named(self.keys.team.key_name(stream));
        let Some(sealed) = self.relay.get(slot).await? else {
            return Err(held("its key is not there: it has not arrived yet, or was destroyed"));
        };
        let open = || {
            let frame = Frame::parse(&sealed)?;
            if frame.header.kind != Kind::Key || frame.header.stream != stream {
                return Err(refused("it is another one"));
            }
            frame.verify(&writer.key)?;
            let key = frame.unseal(self.epoch_key(frame.header.epoch)?)?;
            key.try_into().map(Secret).map_err(|_| refused("it has another length"))
        };
        open().map_err(|error| match error {
            NotTaken::Refused(why) => held(format!("what lies in the place of its key cannot be used: {why}")),
            error => error,
        })
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
        let stored = conversation.chunks.iter().map(|chunk| chunk.bytes).fold(0, u64::saturating_add);
        let waits = |why: &str| NotTaken::Held { why: why.to_owned(), stored };
        if writer.stored.saturating_add(stored) > MAX_BYTES {
            return Err(refused(format!(
                "its writer has {MAX_BYTES} bytes of conversations, the most that are accepted"
            )));
        }
        let (blobs, session) = (Record::new(self.folder, &writer.id).blobs(), batch.session.clone());
        let stream = self.keys.team.session_name(&writer.id, &session);
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
            let got = self.relay.get(Slot::Object(chunk.object)).await.map_err(|error| match error {
                transport::Error::Place(why) => waits(&why),
                error => error.into(),
            });
            let Some(object) = got? else {
                return Err(waits("a part of its conversation has not arrived yet"));
            };
            if object_name(&object) != chunk.object {
                return Err(waits("a part of its conversation is damaged on the relay"));
            }
            let most = usize::try_from(chunk.bytes).map_err(refused)?;
            let lines = seal::unseal_object(&object, key, &stream.0, most)?;
            let (blobs, session, chunk) = (blobs.clone(), session.clone(), reference(chunk));
            blocking(move || {
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    item::decode(line).map_err(refused)?;
                }
                if path.exists() {
                    std::fs::remove_file(&path).map_err(failed)?;
                }
                blobs.put_chunk(&session, &chunk, &lines).map_err(|error| match error {
                    // It does not match its name.
                    chunks::Error::Damaged { .. } => refused(error),
                    // A disk that is full is not the writer's fault.
                    error => failed(error),
                })
            })
            .await?;
        }
        blocking(move || {
            let folder = blobs.folder_of(&session);
            std::fs::remove_file(folder.join(format!("{id}.json"))).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(failed(error)),
            })?;
            blobs.put_manifest(&session, &id, &bytes).map_err(failed)?;
            durable::sync_below(&folder).and_then(|()| durable::sync_parent(&folder)).map_err(failed)
        })
        .await
    }

    async fn record(&self, writer: WriterId, line: Line, compacted: u64) -> Result<Taken, NotTaken> {
        let record = Record::new(self.folder, &writer);
        let is_own = writer == self.keys.writer();
        blocking(move || {
            let compacted = match is_own {
                true => None,
                false => record.compact(compacted).map_err(failed)?,
            };
            // Notices have room beside everything else, so that what is forgotten can always be said.
            let most = if line.batch.is_none() { MAX_LOG_BYTES / 4 * 5 } else { MAX_LOG_BYTES };
            if !is_own && record.size() > most {
                return Err(refused(format!(
                    "its writer has a record of {MAX_LOG_BYTES} bytes, the most that is accepted"
                )));
            }
            let recorded = match &line.batch {
                // What was published of it before is void, and its key with it.
                Some(batch) if batch.begin && line.sequence > 1 => record.replace(&batch.session, &line),
                _ => record.append(&line),
            };
            recorded.map_err(failed)?;
            Ok(Taken::Recorded(Box::new(Change { writer, line, compacted, refused: None })))
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotTaken> + Send + 'static,
) -> Result<T, NotTaken> {
    baton_base::task::spawn_blocking(work).await.map_err(failed)?
}

fn check_next(sequence: u64, reached: u64) -> Result<(), NotTaken> {
    match Some(sequence) == reached.checked_add(1) {
        true => Ok(()),
        false => {
            // Frames come in order: one before was refused, and nothing counts until the session is begun anew.
            Err(refused(format!(
                "messages {} to {} of its stream are not there",
                reached.saturating_add(1),
                sequence - 1
            )))
        }
    }
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
