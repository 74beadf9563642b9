//! Receives what others published: opens and checks the message, stores the conversation, records the message.
//!
//! A frame is checked in steps, and refused at the first that fails: its writer is known, the writer signed it, it is
//! the next of its stream, it can be unsealed, it holds published events of the session that its stream is named after,
//! and every chunk is what the batch says. A key or chunk that has not arrived yet holds up its stream and no other.

mod conversation;

use baton_conversation::record::Timestamp;
use baton_events::session::{EpisodeRef, Event, State};
use baton_sharing::batch::{self, Batch, MAX_WRITERS, Notice};
use baton_sharing::membership::Membership;
use baton_sharing::published::{check, check_state};
use ed25519_dalek::VerifyingKey;

use crate::keys::{Keys, Name, Secret, WriterId};
use crate::record::{Line, Record, SharedSession, Writer, gone};
use crate::seal::{self, Frame, Kind};
use crate::transport::{self, Relay, Slot};

/// Most sessions of a writer.
const MAX_SESSIONS: usize = 100_000;
/// Longest record of another writer, before notices.
const MAX_LOG_BYTES: u64 = 128 * 1024 * 1024;

/// The outcome of a frame.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It has been recorded.
    Recorded(Box<Change>),
    /// It had been recorded before.
    Known,
}

/// What has changed.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) writer: WriterId,
    pub(crate) line: Line,
    /// The state of the session after its events, if the line is a batch and the state is known.
    pub(crate) state: Option<State>,
    /// Bytes of the writer's record now.
    pub(crate) size: u64,
    /// Why the message has no effect except that its sequence number is used up.
    pub(crate) refused: Option<String>,
}

/// Why a frame was not recorded.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// It needs something that is not there yet, or cannot be read.
    Held {
        why: String,
        /// Bytes of its conversation that may be stored meanwhile.
        stored: u64,
    },
    /// It is invalid for good.
    Refused(String),
    /// This machine or the relay failed before the frame could be judged; nothing was recorded.
    Failed(String),
    /// This machine failed while recording it: the record may or may not have it.
    Unsure(String),
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
            // The frame is held: a later version of this program may read it.
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
    /// True if frames of the writer are held.
    pub(crate) is_waiting: bool,
    /// The session of the stream.
    pub(crate) session: Option<SharedSession>,
    /// The membership by the administrator's notices that have arrived.
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
    /// The last sequence of the stream, if the writer wants its session removed.
    pub(crate) gone: Option<u64>,
    /// Number of sessions.
    pub(crate) sessions: usize,
    /// Bytes of conversations, those of held messages included.
    pub(crate) stored: u64,
}

/// Receives frames.
pub(crate) struct Inbound<'a> {
    pub(crate) relay: &'a dyn Relay,
    pub(crate) keys: &'a Keys,
    /// The folder of all records.
    pub(crate) folder: &'a std::path::Path,
    pub(crate) now: Timestamp,
    /// Later frames of the same stream. If one names a conversation, those before it are not needed.
    pub(crate) later: &'a [&'a [u8]],
}

impl Inbound<'_> {
    /// Receives one frame.
    pub(crate) async fn receive(&self, known: &Known, frame: &[u8]) -> Result<Taken, NotTaken> {
        let frame = Frame::parse(frame)?;
        if known.writer.as_ref().is_some_and(|writer| !writer.is_member) {
            return Err(refused("its writer is no longer a member of the team"));
        }
        match (frame.header.kind, &known.writer) {
            (Kind::Notice, None) => self.receive_join(known, &frame).await,
            (Kind::Notice, Some(writer)) => self.receive_notice(writer, &frame).await,
            (Kind::Batch, Some(writer)) => self.receive_batch(writer, known.session.as_ref(), &frame).await,
            (Kind::Batch, None) if known.is_waiting => Err(held("its writer is not known yet")),
            (Kind::Batch, None) => Err(refused("its writer has not introduced themselves")),
            (Kind::Key | Kind::Invitation, _) => Err(refused("it is not a message of a stream")),
        }
    }

    fn epoch_key(&self, epoch: u32) -> Result<&Secret, NotTaken> {
        let key = self.keys.team.key_of_epoch(epoch);
        key.ok_or_else(|| held(format!("this home has no key of epoch {epoch}")))
    }

    /// Receives a writer's first notice, which contains their key. The administrator's notices decide who is a member.
    async fn receive_join(&self, known: &Known, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
        let (epoch, team) = (frame.header.epoch, &self.keys.team);
        if frame.header.sequence != 1 {
            return Err(refused("the beginning of its stream is missing"));
        }
        let notice = Notice::decode(&frame.unseal(self.epoch_key(epoch)?)?)?;
        let line = self.complete_line(frame, Line { notice: Some(notice), ..Line::default() });
        let id = line.notice.as_ref().and_then(|notice| match &notice.said {
            batch::Said::Joined { key, .. } => {
                let key = VerifyingKey::from_bytes(&baton_conversation::hex::decode(key)?).ok()?;
                Some(WriterId::from_key(&key))
            }
            _ => None,
        });
        let writer = id.as_ref().and_then(|id| Writer::from_first_notice(id, &line));
        let writer = writer.ok_or_else(|| refused("it does not introduce its writer"))?;
        self.check_place(frame, &writer.id, team.notices_name(&writer.id))?;
        frame.verify(&writer.key)?;
        if writer.id != self.keys.writer() && writer.id != team.admin {
            // A later notice of the administrator may have removed this writer.
            if known.membership.epoch() < team.current().0 && epoch < team.current().0 {
                return Err(held("some notices of the team's administrator have not arrived yet"));
            }
            if !known.membership.is_member(writer.id.as_str(), epoch) {
                return Err(refused("its writer is not a member: removed, or joined with replaced keys"));
            }
            if known.members >= MAX_WRITERS {
                return Err(held(format!("the team has {MAX_WRITERS} members, the most that are accepted")));
            }
        }
        self.record(writer.id, line).await
    }

    fn complete_line(&self, frame: &Frame<'_>, line: Line) -> Line {
        let seal::Header { sequence, epoch, stream, .. } = frame.header;
        let received = frame.header.writer == self.keys.team.writer_name(&self.keys.writer());
        Line { sequence, epoch, stream: stream.to_string(), at: self.now, received, ..line }
    }

    /// Receives a notice, in the order of its stream, so that nobody can withhold one from a single member.
    async fn receive_notice(&self, writer: &KnownWriter, frame: &Frame<'_>) -> Result<Taken, NotTaken> {
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
        // An invalid notice uses up its sequence number, so that the writer's next one can follow.
        let (notice, why) = match notice {
            Ok(notice) => (Some(notice), None),
            Err(NotTaken::Refused(why)) => (None, Some(why)),
            Err(error) => return Err(error),
        };
        let gone = notice.as_ref().and_then(|notice| gone(self.keys, &writer.id, notice));
        let line = self.complete_line(frame, Line { notice, gone, ..Line::default() });
        match self.record(writer.id.clone(), line).await? {
            Taken::Recorded(change) => Ok(Taken::Recorded(Box::new(Change { refused: why, ..*change }))),
            Taken::Known => Ok(Taken::Known),
        }
    }

    async fn receive_batch(
        &self,
        writer: &KnownWriter,
        known: Option<&SharedSession>,
        frame: &Frame<'_>,
    ) -> Result<Taken, NotTaken> {
        let stream = frame.header.stream;
        let reached = known.map_or(0, |known| known.sequence);
        if frame.header.sequence <= reached {
            return Ok(Taken::Known);
        }
        frame.verify(&writer.key)?;
        // Its key is gone too, so it can never be opened.
        if writer.gone.is_some_and(|gone| frame.header.sequence <= gone) {
            return Ok(Taken::Known);
        }
        let opened = known.filter(|known| known.epoch == frame.header.epoch).map(|known| (known.key.clone(), frame));
        let opened = opened.and_then(|(key, frame)| Some((frame.unseal(&key).ok()?, key)));
        let (message, key) = match opened {
            Some(opened) => opened,
            // The session may have been republished under another key.
            None => {
                let key = self.session_key(writer, stream).await?;
                let message = frame.unseal(&key).map_err(|error| match error {
                    seal::Error::Sealed => held("the key in its slot is another one"),
                    error => error.into(),
                })?;
                (message, key)
            }
        };
        let batch = Batch::decode(&message)?;
        self.check_place(frame, &writer.id, self.keys.team.session_name(&writer.id, &batch.session))?;
        if !batch.begin {
            check_next(frame.header.sequence, reached)?;
        }
        if known.is_none() && writer.sessions >= MAX_SESSIONS {
            return Err(refused(format!("its writer has {MAX_SESSIONS} sessions, the most that are accepted")));
        }
        let events = batch.events()?;
        events.iter().try_for_each(check).map_err(refused)?;
        let state = batch.after(&events, known.map(|known| known.state.clone()).unwrap_or_default());
        check_state(&state).map_err(refused)?;
        let session = batch.session.clone();
        let is_own = writer.id == self.keys.writer();
        let record = Record::new(self.folder, &writer.id);
        if !is_own {
            match self.fetch_conversation(writer, known, &batch, &events, &key).await {
                Err(NotTaken::Held { .. }) if self.is_superseded(writer, &key) => {}
                Err(NotTaken::Refused(why)) => {
                    // Chunks stored for it belong to no session.
                    let current = known.and_then(|known| known.state.episode.as_ref()).map(|episode| episode.manifest);
                    blocking(move || record.keep_only(&session, current.as_slice()).map_err(failed)).await?;
                    return Err(NotTaken::Refused(why));
                }
                stored => stored?,
            }
        }
        let since = known.map(|known| known.since);
        let line = self.complete_line(frame, Line { since, batch: Some(batch), key: Some(key), ..Line::default() });
        let mut taken = self.record(writer.id.clone(), line).await?;
        if let Some(current) = events.iter().find_map(episode_of).map(|episode| episode.manifest)
            && !is_own
            && let Err(error) = blocking(move || record.keep_only(&session, &[current]).map_err(failed)).await
        {
            tracing::warn!(?error, "an earlier conversation of another member is not removed yet");
        }
        if let Taken::Recorded(change) = &mut taken {
            change.state = Some(state);
        }
        Ok(taken)
    }

    /// True if a later message names a conversation, so that this one's is not needed.
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

    /// The key of a session's stream. Anybody can write to its slot, so a bad key does not make the message invalid.
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
        if is_there { Ok(()) } else { Err(refused("it is in a stream that it does not belong to")) }
    }

    async fn record(&self, writer: WriterId, line: Line) -> Result<Taken, NotTaken> {
        let record = Record::new(self.folder, &writer);
        let is_own = writer == self.keys.writer();
        blocking(move || {
            // Notices have extra room, so that forgetting can always be announced.
            let most = if line.batch.is_none() { MAX_LOG_BYTES / 4 * 5 } else { MAX_LOG_BYTES };
            if !is_own && record.size() > most {
                return Err(refused(format!(
                    "its writer has a record of {MAX_LOG_BYTES} bytes, the most that is accepted"
                )));
            }
            let size = record.append(&line).map_err(|error| NotTaken::Unsure(error.to_string()))?;
            Ok(Taken::Recorded(Box::new(Change { writer, line, state: None, size, refused: None })))
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
            // Frames come in order, so an earlier one was refused: none counts until the session is republished.
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

#[cfg(test)]
mod tests;
