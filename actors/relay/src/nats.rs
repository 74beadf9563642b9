//! A NATS server with JetStream as relay, or a cluster of them.
//!
//! ```text
//! stream BATON_<team>_FRAMES, kept until purged
//!   baton.<team>.f.<writer>.<stream>                a frame, or the mark of a purge
//! stream BATON_<team>_KEPT, the last message of each subject
//!   baton.<team>.k.s.<name>                         a named slot
//!   baton.<team>.k.o.<hash>.<part>                  an object
//!   baton.<team>.k.b.<writer>.<stream>.<hash>.<part>   a frame that is longer than a message of the server may be
//! ```
//!
//! The header `Baton-Sequence` of a message is the sequence of its frame; the server checks the previous message's
//! number (`Nats-Expected-Last-Subject-Sequence`), so that one of two concurrent writers is refused. A long frame is
//! stored in parts in the other stream before the message that names it (`Baton-Body`) is appended. A cursor is the
//! server's number of the last message read, with the time at which the stream was created.
//!
//! # Decisions
//!
//! - A purge first appends an empty message with the sequence that was reached, then purges the subject up to it: the
//!   sequence stays known at every moment.
//! - Slots and objects lie in a stream of their own instead of a key-value and an object bucket: deleting from those
//!   leaves a mark behind for each name, and the content in the server's file until it is compacted. Deleting a message
//!   by its number overwrites it. That matters for keys of sessions, without which the rest is noise.
//! - A broken connection is not repaired: the caller reopens the relay, with pauses, and is offline until then.
//!
//! # Hazards
//!
//! - A server acknowledges what it has written to its file, but syncs that file only every two minutes unless
//!   configured otherwise (`sync_interval`, from 2.10). Messages that a single server loses in a power failure cause a
//!   conflict later.

mod address;
mod connection;
mod kept;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use async_nats::HeaderMap;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull, push};
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, RawMessageErrorKind, StorageType};
use baton_conversation::hash::ContentHash;
use futures_util::StreamExt as _;

use crate::keys::Name;
use crate::seal::MAX_FRAME_BYTES;
use crate::transport::{Error, MAX_OBJECT_BYTES, Pending, Received, Relay, Slot, Stream};
use address::Address;
pub(crate) use address::{is_address, is_local};
use connection::{Connection, PATIENCE};
use kept::{HEADER_BYTES, Kept, PART_BYTES, last_message, number};

const SEQUENCE: &str = "Baton-Sequence";
const BODY: &str = "Baton-Body";

/// Most bytes of frames in one answer; a single frame may be longer.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Most messages in one answer.
const ANSWER_MESSAGES: usize = 4096;

/// See the module.
pub(crate) struct Nats {
    connection: Connection,
    frames: stream::Stream,
    kept: Kept,
    team: Name,
    /// The ends of streams, as last seen.
    ends: Mutex<BTreeMap<Stream, End>>,
    /// The server's number of the first message, as last seen.
    first: AtomicU64,
    /// True once the cursor of the previous connection was checked.
    is_looked_at: AtomicBool,
    /// Announces new messages; begins at the first reader's position.
    news: tokio::sync::Mutex<Option<push::Ordered>>,
}

/// The last message of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    sequence: u64,
    /// The server's number of that message.
    number: u64,
    is_purged: bool,
}

impl Nats {
    /// Connects to the relay of a team. Returns it and its address, which contains the team.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses, or has nothing of this team.
    pub(crate) async fn open(url: &str, credentials: Option<&Path>, team: Option<Name>) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let team = match (address.team, team) {
            (Some(there), Some(team)) if there != team => {
                return Err(Error::Refused(format!("{url} is the relay of another team")));
            }
            (there, team) => team.or(there),
        };
        let team = team.ok_or_else(|| Error::Refused(format!("{url} does not name the team")))?;
        let connection = Connection::open(&address, credentials).await?;
        let frames = connection.stream(&stream_name(team, "FRAMES")).await?;
        let kept = Kept::open(&connection, &stream_name(team, "KEPT")).await?;
        let (ends, news) = (Mutex::default(), tokio::sync::Mutex::default());
        let first = AtomicU64::new(frames.cached_info().state.first_sequence);
        Ok(Self { connection, frames, kept, team, ends, first, is_looked_at: AtomicBool::new(false), news })
    }

    /// Makes a server the relay of a team. Returns the team's address.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses.
    pub(crate) async fn create(url: &str, credentials: Option<&Path>, team: Name) -> Result<String, Error> {
        let address = Address::parse(url)?;
        if address.team.is_some() {
            return Err(Error::Refused(format!("{url} names a team already; `baton relay join` joins one")));
        }
        let connection = Connection::open(&address, credentials).await?;
        for (kind, subjects, most_of_one) in [("FRAMES", "f", -1), ("KEPT", "k", 1)] {
            let config = stream::Config {
                name: stream_name(team, kind),
                subjects: vec![format!("baton.{team}.{subjects}.>")],
                max_messages_per_subject: most_of_one,
                max_message_size: i32::try_from(PART_BYTES + HEADER_BYTES).unwrap_or(i32::MAX),
                storage: StorageType::File,
                allow_direct: true,
                ..stream::Config::default()
            };
            // A cluster keeps three copies, a single server one. A cluster with too few servers up must not end with
            // one copy.
            let of = |num_replicas| stream::Config { num_replicas, ..config.clone() };
            let mut created = connection.jetstream.create_stream(of(3)).await.map(drop);
            let is_single = |error: &CreateStreamError| {
                matches!(error.kind(), CreateStreamErrorKind::JetStream(why)
                    if why.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED)
            };
            if created.as_ref().is_err_and(is_single) {
                created = connection.jetstream.create_stream(of(1)).await.map(drop);
            }
            if created.is_err() {
                // Nothing is left of a team whose creation failed.
                let _ = connection.jetstream.delete_stream(stream_name(team, "FRAMES")).await;
            }
            created.map_err(|error| {
                let why = connection.failed(error);
                Error::Unavailable(format!(
                    "{url}: {why}; the server needs JetStream, and a cluster three servers; see `baton help relay`"
                ))
            })?;
        }
        Ok(format!("{}/{team}", url.trim_end_matches('/')))
    }

    fn failed(&self, error: impl ToString) -> Error {
        self.connection.failed(error)
    }

    fn subject(&self, stream: Stream) -> String {
        format!("baton.{}.f.{}.{}", self.team, stream.writer, stream.stream)
    }

    /// Subject prefix of the bodies of a stream's long frames.
    fn body_prefix(&self, stream: Stream) -> String {
        format!("baton.{}.k.b.{}.{}", self.team, stream.writer, stream.stream)
    }

    fn slot(&self, slot: Slot) -> String {
        match slot {
            Slot::Object(hash) => format!("baton.{}.k.o.{hash}", self.team),
            Slot::Named(name) => format!("baton.{}.k.s.{name}", self.team),
        }
    }

    fn known_end(&self, stream: Stream) -> Option<End> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).get(&stream).copied()
    }

    fn set_end(&self, stream: Stream, end: Option<End>) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match end {
            Some(end) => drop(ends.insert(stream, end)),
            None => drop(ends.remove(&stream)),
        }
    }

    /// The end of a stream, as the server has it now.
    async fn fetch_end(&self, stream: Stream) -> Result<End, Error> {
        let last = last_message(&self.connection, &self.frames, &self.subject(stream)).await?;
        let end = last.map_or_else(End::default, |last| End {
            sequence: number(&last.headers, SEQUENCE),
            number: last.sequence,
            is_purged: last.payload.is_empty() && last.headers.get(BODY).is_none(),
        });
        self.set_end(stream, Some(end));
        Ok(end)
    }

    /// Appends a message after an end. Returns `false` if the stream has grown since.
    async fn append(&self, stream: Stream, end: End, sequence: u64, message: PublishMessage) -> Result<bool, Error> {
        self.set_end(stream, None);
        let message = message.expected_last_subject_sequence(end.number).header(SEQUENCE, sequence.to_string());
        let is_purged = sequence == end.sequence;
        let sent = self.connection.jetstream.send_publish(self.subject(stream), message).await;
        let acknowledged = match sent {
            Ok(sent) => sent.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(ack) if ack.duplicate => Ok(false),
            Ok(ack) => {
                self.set_end(stream, Some(End { sequence, number: ack.sequence, is_purged }));
                Ok(true)
            }
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The message number in a cursor, if the cursor belongs to this stream.
    fn cursor_position(&self, cursor: &str) -> u64 {
        let mut parts = cursor.split('-');
        let is_of_it = parts.next() == Some(&self.created());
        parts.next().filter(|_| is_of_it).and_then(|number| number.parse().ok()).unwrap_or_default()
    }

    /// False if the message at a cursor's end is another one now: the stream was set back to an earlier state, and may
    /// have grown again since. Restoring a server breaks its connections, so one check for each is enough.
    async fn is_cursor_valid(&self, cursor: &str) -> Result<bool, Error> {
        let (at, check) = (self.cursor_position(cursor), cursor.split('-').nth(2).unwrap_or_default());
        if at == 0 || check.is_empty() || self.is_looked_at.swap(true, Ordering::Relaxed) {
            return Ok(true);
        }
        match self.frames.get_raw_message(at).await {
            Ok(message) => Ok(check_of(&message.payload, Some(&message.headers)) == check),
            // It may have been purged.
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(true),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn created(&self) -> String {
        self.frames.cached_info().created.unix_timestamp_nanos().to_string()
    }

    /// The frame of a message; `None` if it holds none, or one that was purged meanwhile.
    async fn frame_of(&self, message: &async_nats::Message) -> Result<Option<Vec<u8>>, Error> {
        let body = message.headers.as_ref().and_then(|headers| headers.get(BODY));
        let Some(body) = body else {
            return Ok(Some(message.payload.to_vec()).filter(|frame| !frame.is_empty()));
        };
        let name = message.subject.as_str().rsplit_once(".f.").and_then(|(team, stream)| {
            let hash = ContentHash::parse(body.as_str())?;
            Some((format!("{team}.k.b.{stream}.{hash}"), hash))
        });
        let Some((subject, hash)) = name else { return Ok(None) };
        let frame = self.kept.get_parts(&subject, MAX_FRAME_BYTES).await?;
        Ok(frame.filter(|frame| ContentHash::of(frame) == hash))
    }
}

impl Relay for Nats {
    fn publish(&self, stream: Stream, expected: u64, frame: Vec<u8>) -> Pending<'_, ()> {
        self.connection.run(async move {
            let end = match self.known_end(stream).filter(|end| end.sequence == expected) {
                Some(end) => end,
                None => self.fetch_end(stream).await?,
            };
            if end.sequence != expected {
                return Err(Error::Conflict { actual: end.sequence });
            }
            if frame.len() > MAX_FRAME_BYTES {
                return Err(Error::Refused(format!("{} bytes are over the bound of {MAX_FRAME_BYTES}", frame.len())));
            }
            let hash = ContentHash::of(&frame).to_string();
            let message = PublishMessage::build().message_id(&hash);
            let message = match frame.len() <= self.kept.part {
                true => message.payload(frame.into()),
                false => {
                    self.kept.put_parts(&format!("{}.{hash}", self.body_prefix(stream)), frame).await?;
                    message.header(BODY, hash)
                }
            };
            match self.append(stream, end, expected + 1, message).await? {
                true => Ok(()),
                false => Err(Error::Conflict { actual: self.fetch_end(stream).await?.sequence }),
            }
        })
    }

    fn receive<'a>(&'a self, cursor: &'a str) -> Pending<'a, Received> {
        self.connection.run(async move {
            let info = self.frames.get_info().await.map_err(|error| self.failed(error))?;
            if info.created != self.frames.cached_info().created {
                return Err(self.failed("the team's stream was recreated"));
            }
            let (newest, mut at) = (info.state.last_sequence, self.cursor_position(cursor));
            if at > newest || !self.is_cursor_valid(cursor).await? {
                at = 0;
            }
            let mut check = cursor.split('-').nth(2).filter(|_| at > 0).unwrap_or_default().to_owned();
            let is_elsewhere = !cursor.is_empty() && self.cursor_position(cursor) != at;
            // The first message is an introduction, which no member removes.
            let first = info.state.first_sequence;
            let is_cut = newest > 0 && self.first.swap(first, Ordering::Relaxed) < first && first > 1;
            let is_of_another = cursor.split('-').next().is_some_and(|of| !of.is_empty() && of != self.created());
            let mut received = Received { is_set_back: is_elsewhere || is_cut || is_of_another, ..Received::default() };
            if at < newest {
                let config = pull::Config {
                    deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: at + 1 },
                    ack_policy: AckPolicy::None,
                    inactive_threshold: PATIENCE,
                    memory_storage: true,
                    num_replicas: 1,
                    ..pull::Config::default()
                };
                let consumer = self.frames.create_consumer(config).await.map_err(|error| self.failed(error))?;
                if consumer.cached_info().num_pending == 0 {
                    (at, check) = (newest, String::new());
                } else {
                    let batch =
                        consumer.batch().max_messages(ANSWER_MESSAGES).max_bytes(ANSWER_BYTES).expires(PATIENCE);
                    let mut messages = batch.messages().await.map_err(|error| self.failed(error))?;
                    let mut bytes = 0;
                    received.more = true;
                    while bytes < ANSWER_BYTES
                        && received.more
                        && let Some(Ok(message)) = messages.next().await
                    {
                        let (number, pending) = match message.info() {
                            Ok(info) => (info.stream_sequence, info.pending),
                            Err(error) => return Err(self.failed(error)),
                        };
                        let frame = match self.frame_of(&message).await {
                            Err(Error::Place(why)) => {
                                received.problems.push(why);
                                None
                            }
                            frame => frame?,
                        };
                        match frame {
                            Some(frame) => {
                                bytes += frame.len();
                                received.frames.push(frame);
                            }
                            None if message.headers.as_ref().is_some_and(|headers| headers.get(BODY).is_some()) => {
                                received.problems.push(format!("a message at {} is not whole", message.subject));
                            }
                            None => {}
                        }
                        at = number;
                        check = check_of(&message.payload, message.headers.as_ref());
                        received.more = pending > 0;
                    }
                    if received.more && at == self.cursor_position(cursor) {
                        return Err(self.failed("the server does not deliver what it has"));
                    }
                }
                // Without this the server drops the consumer after a while.
                let _ = self.frames.delete_consumer(&consumer.cached_info().name).await;
            }
            received.cursor = format!("{}-{at}-{check}", self.created());
            Ok(received)
        })
    }

    fn head(&self, stream: Stream) -> Pending<'_, u64> {
        self.connection.run(async move { Ok(self.fetch_end(stream).await?.sequence) })
    }

    fn put(&self, slot: Slot, bytes: Vec<u8>) -> Pending<'_, ()> {
        self.connection.run(async move {
            let most = match slot {
                Slot::Object(_) => MAX_OBJECT_BYTES,
                Slot::Named(_) => self.kept.part,
            };
            if bytes.len() > most {
                return Err(Error::Refused(format!("{} bytes are over the bound of {most}", bytes.len())));
            }
            match slot {
                Slot::Object(_) => self.kept.put_parts(&self.slot(slot), bytes).await,
                Slot::Named(_) => self.kept.put(self.slot(slot), bytes).await,
            }
        })
    }

    fn get(&self, slot: Slot) -> Pending<'_, Option<Vec<u8>>> {
        self.connection.run(async move {
            let subject = self.slot(slot);
            match slot {
                Slot::Object(_) => self.kept.get_parts(&subject, MAX_OBJECT_BYTES).await,
                Slot::Named(_) => Ok(self.kept.get(&subject).await?.map(|message| message.payload.to_vec())),
            }
        })
    }

    fn delete(&self, slot: Slot) -> Pending<'_, ()> {
        self.connection.run(async move {
            let subject = self.slot(slot);
            match slot {
                Slot::Object(_) => self.kept.erase_parts(&subject).await,
                Slot::Named(_) => self.kept.erase(&subject).await,
            }
        })
    }

    fn purge(&self, stream: Stream) -> Pending<'_, ()> {
        self.connection.run(async move {
            let mut end = self.fetch_end(stream).await?;
            if end.number == 0 {
                return Ok(());
            }
            while !end.is_purged {
                let is_marked = self.append(stream, end, end.sequence, PublishMessage::build()).await?;
                end = self.fetch_end(stream).await?;
                if is_marked {
                    break;
                }
            }
            let purged = self.frames.purge().filter(self.subject(stream)).sequence(end.number).await;
            purged.map_err(|error| self.failed(error))?;
            self.kept.purge(&self.body_prefix(stream)).await
        })
    }

    fn continue_after(&self, stream: Stream, sequence: u64) -> Pending<'_, ()> {
        self.connection.run(async move {
            let end = self.fetch_end(stream).await?;
            if end.sequence < sequence && !self.append(stream, end, sequence, PublishMessage::build()).await? {
                return Err(Error::Conflict { actual: self.fetch_end(stream).await?.sequence });
            }
            Ok(())
        })
    }

    fn changed<'a>(&'a self, cursor: &'a str) -> Pending<'a, ()> {
        Box::pin(async move {
            let wait = async {
                let (at, mut news) = (self.cursor_position(cursor), self.news.lock().await);
                loop {
                    let messages = match news.as_mut() {
                        Some(messages) => messages,
                        None => news.insert(self.follow(at).await?),
                    };
                    match messages.next().await {
                        Some(Ok(message)) => {
                            let number = message.info().map_or(u64::MAX, |info| info.stream_sequence);
                            if number > at {
                                return Ok(());
                            }
                        }
                        Some(Err(_)) | None => {
                            *news = None;
                            return Ok(());
                        }
                    }
                }
            };
            tokio::select! {
                () = self.connection.lost() => {}
                done = wait => return done,
            }
            // The server may have dropped the consumer.
            *self.news.lock().await = None;
            Ok(())
        })
    }
}

impl Nats {
    /// Follows the headers of messages after a number.
    async fn follow(&self, at: u64) -> Result<push::Ordered, Error> {
        let config = push::OrderedConfig {
            deliver_subject: self.connection.jetstream.client().new_inbox(),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: at + 1 },
            headers_only: true,
            ..push::OrderedConfig::default()
        };
        let consumer = self.frames.create_consumer(config).await.map_err(|error| self.failed(error))?;
        consumer.messages().await.map_err(|error| self.failed(error))
    }
}

/// The digest that identifies a message in a cursor.
fn check_of(payload: &[u8], headers: Option<&HeaderMap>) -> String {
    let body = headers.and_then(|headers| headers.get(BODY)).map_or(&b""[..], |body| body.as_str().as_bytes());
    ContentHash::of(&[payload, body].concat()).to_string()[..16].to_owned()
}

fn stream_name(team: Name, kind: &str) -> String {
    format!("BATON_{team}_{kind}")
}

#[cfg(test)]
mod tests;
