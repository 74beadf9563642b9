//! Takes in what others published: opens, checks, stores the conversation, records the message.
//!
//! A frame is believed in steps, and refused at the first that fails: its writer is known, the writer signed it, it is
//! the next of its stream, it can be unsealed, it holds published events of the session that its stream is named after,
//! and every chunk is what the batch says. What has not arrived yet, a key or a chunk, holds the stream, and only that.

mod conversation;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_base::durable;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::schema::item;
use baton_events::session::{EpisodeRef, Event};
use baton_sharing::batch::{self, Batch, Chunk, MAX_NAME_BYTES, Notice};
use baton_sharing::paths::Paths;
use baton_sharing::published::published;
use baton_store::chunks::{self, CHUNK_BYTES, ChunkRef, Header, LINE_MAX_BYTES, Manifest};
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
/// Most kinds of records that an event may count.
const MAX_KINDS: usize = 256;
/// Most corrections of a session.
const MAX_CORRECTIONS: usize = 1024;
/// Most bytes of a writer's conversations, before compression.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Longest record of another writer, before notices.
const MAX_LOG_BYTES: u64 = 256 * 1024 * 1024;

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
    /// The same of a notice: that it was there is recorded.
    PassedOver(String),
    /// This machine or the relay failed; nothing is known of the frame.
    Failed(String),
}

impl From<transport::Error> for NotTaken {
    fn from(error: transport::Error) -> Self {
        match error {
            // What lies there cannot be used now; the relay can.
            transport::Error::Refused(why) => Self::Held(why),
            error => Self::Failed(error.to_string()),
        }
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
    /// True if they belong to the team.
    pub(crate) is_member: bool,
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
        match &known.writer {
            // Where two have removed each other both must be known, but not once the team has newer keys.
            Some(writer) if writer.is_removed => {
                let is_newest = frame.header.epoch >= self.keys.team.current().0;
                if frame.header.kind != Kind::Notice || !is_newest {
                    return Err(refused("its writer was removed from the team"));
                }
            }
            Some(writer) if !writer.is_member => {
                return Err(refused("its writer came by an old key, and no member names them"));
            }
            _ => {}
        }
        match (frame.header.kind, &known.writer) {
            (Kind::Notice, None) => self.join(known, &frame).await,
            (Kind::Notice, Some(writer)) => self.notice(writer, &frame).await,
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
    async fn join(&self, known: &Known, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
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
        let (epoch, _) = self.keys.team.current();
        if frame.header.epoch < epoch && !is_vouched {
            let why = "it is sealed by an old key, and no member names its writer";
            return Err(if known.is_complete { refused(why) } else { NotTaken::Held(why.to_owned()) });
        }
        let vouched_epoch = if is_vouched { epoch } else { 0 };
        self.record(writer.id, Line { vouched_epoch, ..line }).await
    }

    fn line(&self, frame: &Frame<'_>, line: Line) -> Line {
        let seal::Header { sequence, epoch, stream, .. } = frame.header;
        Line { sequence, epoch, stream: stream.to_string(), at: self.now, ..line }
    }

    async fn notice(&self, writer: &KnownWriter, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        if frame.header.sequence <= writer.notices {
            return Ok(Taken::Known);
        }
        self.check_place(frame, &writer.id, self.keys.team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        // Whoever keeps the relay must not be able to leave one out unseen.
        if frame.header.sequence != writer.notices + 1 && !writer.is_removed {
            return Err(NotTaken::Held(format!("notice {} of its writer is missing", writer.notices + 1)));
        }
        let key = self.epoch_key(frame.header.epoch)?;
        match frame.unseal(key).map_err(NotTaken::from).and_then(|text| said(writer, &text)) {
            Ok(notice) => {
                let is_from_relay = writer.id == self.keys.writer();
                let line = Line { notice: Some(notice), is_from_relay, ..Line::default() };
                self.record(writer.id.clone(), self.line(frame, line)).await
            }
            // One that is refused is passed over, so that it does not silence its writer.
            Err(NotTaken::Refused(why)) => {
                self.record(writer.id.clone(), self.line(frame, Line { is_passed_over: true, ..Line::default() }))
                    .await?;
                Err(NotTaken::PassedOver(why))
            }
            Err(held) => Err(held),
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
        let corrections = events.iter().filter(|event| matches!(event, Event::Corrected { .. })).count();
        let before = known.filter(|_| !batch.begin).map_or(0, |known| known.state.corrections.entries.len());
        if before + corrections > MAX_CORRECTIONS {
            return Err(refused("its session has too many corrections"));
        }
        if writer.id != self.keys.writer() {
            match self.conversation(writer, known, &batch, &events, &key).await {
                Err(NotTaken::Held(_)) if self.is_superseded(writer, &key) => {}
                Err(NotTaken::Refused(why)) => {
                    // What was stored of it before that counts in no quota.
                    self.discard(writer, known, &batch.session).await?;
                    return Err(NotTaken::Refused(why));
                }
                stored => stored?,
            }
        }
        let (session, since) = (batch.session.clone(), known.map(|known| known.since));
        let line = self.line(frame, Line { since, batch: Some(batch), key: Some(key), ..Line::default() });
        let taken = self.record(writer.id.clone(), line).await?;
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
        // What lies there may be replaced at any time, and may have arrived in part only.
        let held =
            |why: &dyn ToString| NotTaken::Held(format!("what lies in the place of its key: {}", why.to_string()));
        let frame = Frame::parse(&sealed).map_err(|error| held(&error))?;
        if frame.header.kind != Kind::Key || frame.header.stream != stream {
            return Err(held(&"it is another one"));
        }
        frame.verify(&writer.key).map_err(|error| held(&error))?;
        let key = frame.unseal(self.epoch_key(frame.header.epoch)?).map_err(|error| held(&error))?;
        key.try_into().map(Secret).map_err(|_| held(&"it has another length"))
    }

    /// A frame must name the writer who signed it, and the stream that its message belongs to.
    fn check_place(&self, frame: &Frame<'_>, writer: &WriterId, stream: Name) -> Result<(), NotTaken> {
        let is_there = frame.header.writer == self.keys.team.writer_name(writer) && frame.header.stream == stream;
        if is_there { Ok(()) } else { Err(refused("it stands in a stream that it does not belong to")) }
    }

    async fn record(&self, writer: WriterId, line: Line) -> Result<Taken, NotTaken> {
        let record = Record::new(self.folder, &writer);
        // Notices have room beside everything else, so that what is forgotten can always be said.
        let most = if line.batch.is_none() { MAX_LOG_BYTES / 4 * 5 } else { MAX_LOG_BYTES };
        if writer != self.keys.writer() && record.size() > most {
            return Err(refused(format!(
                "its writer has a record of {MAX_LOG_BYTES} bytes, the most that is accepted"
            )));
        }
        let recording = baton_base::task::spawn_blocking(move || {
            match &line.batch {
                // What was published of it before is void, and its key with it.
                Some(batch) if batch.begin && line.sequence > 1 => record.replace(&batch.session, &line),
                _ => record.append(&line),
            }
            .map(|()| line)
        });
        let recorded = recording.await.map_err(|error| NotTaken::Failed(error.to_string()))?;
        let line = recorded.map_err(|error| NotTaken::Failed(error.to_string()))?;
        Ok(Taken::Recorded(Box::new(Change { writer, line })))
    }
}

/// What a notice says.
fn said(writer: &KnownWriter, text: &[u8]) -> Result<Notice, NotTaken> {
    let notice = Notice::decode(text)?;
    let own = baton_conversation::hex::encode(writer.key.as_bytes());
    match &notice.said {
        batch::Said::Joined { key, .. } if *key != own => Err(refused("it gives its writer another key")),
        batch::Said::Removed { .. } | batch::Said::Rekeyed { .. } => Ok(notice),
        _ if writer.is_removed => Err(refused("its writer was removed from the team")),
        _ => Ok(notice),
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
        let is_bounded = match event {
            Event::Located { place } => {
                let texts = [Some(&place.cwd), Some(&place.project), place.remote.as_ref()];
                texts.into_iter().flatten().all(|text| text.len() <= 16 * MAX_NAME_BYTES)
            }
            Event::RecordsAppended { counts, .. } => {
                let kinds = || counts.by_type.keys().chain(counts.unknown.keys()).chain(&counts.agent_version);
                kinds().count() <= MAX_KINDS && kinds().all(|kind| kind.len() <= MAX_NAME_BYTES)
            }
            _ => true,
        };
        if !is_bounded {
            return Err(refused("it has a text that is too long"));
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

#[cfg(test)]
mod tests;
