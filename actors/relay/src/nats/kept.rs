//! The stream for everything except frames: slots, objects, and the bodies of long frames, in parts if one message is
//! too short.

use async_nats::HeaderMap;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{self, DirectGetErrorKind, LastRawMessageErrorKind};

use super::connection::Connection;
use crate::transport::{Error, MAX_OBJECT_BYTES};

/// The number of parts.
const PARTS: &str = "Baton-Parts";
/// Most bytes of a message's payload, if the server allows as many. Its default is 1 MiB, headers included.
pub(super) const PART_BYTES: usize = 1024 * 1024 - HEADER_BYTES;
/// Bytes left for headers.
pub(super) const HEADER_BYTES: usize = 4 * 1024;
/// Smallest message limit of a server that is sufficient.
const LEAST_BYTES: usize = 64 * 1024;
/// Most parts of anything.
const MAX_PARTS: u64 = (MAX_OBJECT_BYTES / (LEAST_BYTES - HEADER_BYTES)) as u64 + 1;

/// See the module.
pub(super) struct Kept {
    connection: Connection,
    pub(super) stream: stream::Stream,
    /// Most bytes of a payload.
    pub(super) part: usize,
}

impl Kept {
    /// Opens the stream of a name.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or the server's messages are too short.
    pub(super) async fn open(connection: &Connection, name: &str) -> Result<Self, Error> {
        let most = connection.jetstream.client().server_info().max_payload;
        if most < LEAST_BYTES {
            let message = format!("the server's max_payload is {most} bytes; it must be at least {LEAST_BYTES}");
            return Err(Error::Refused(message));
        }
        let stream = connection.stream(name).await?;
        Ok(Self { connection: connection.clone(), stream, part: PART_BYTES.min(most - HEADER_BYTES) })
    }

    fn failed(&self, error: impl ToString) -> Error {
        self.connection.failed(error)
    }

    /// Stores bytes in parts. Parts that are there already stay.
    pub(super) async fn put_parts(&self, subject: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let count = bytes.len().div_ceil(self.part).max(1);
        let mut sent = Vec::with_capacity(count);
        for part in 0..count {
            let payload = bytes[part * self.part..bytes.len().min((part + 1) * self.part)].to_vec();
            let message = PublishMessage::build().payload(payload.into()).header(PARTS, count.to_string());
            let message = message.expected_last_subject_sequence(0);
            let sending = self.connection.jetstream.send_publish(format!("{subject}.{part}"), message).await;
            sent.push(sending.map_err(|error| self.failed(error))?);
        }
        for sent in sent {
            match sent.await {
                Err(error) if error.kind() != PublishErrorKind::WrongLastSequence => return Err(self.failed(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads bytes stored in parts; `None` if a part is missing.
    pub(super) async fn get_parts(&self, subject: &str, most: usize) -> Result<Option<Vec<u8>>, Error> {
        let (mut bytes, mut part, mut count) = (Vec::new(), 0, 1);
        while part < count {
            let Some(message) = self.get(&format!("{subject}.{part}")).await? else { return Ok(None) };
            count = number(&message.headers, PARTS).min(MAX_PARTS);
            bytes.extend_from_slice(&message.payload);
            if bytes.len() > most {
                return Err(Error::Place(format!("{subject} is over the bound of {most} bytes")));
            }
            part += 1;
        }
        Ok(Some(bytes))
    }

    /// Replaces the message of a subject. Overwrites the old one, which the server would only drop: it may be a key.
    pub(super) async fn put(&self, subject: String, bytes: Vec<u8>) -> Result<(), Error> {
        self.erase(&subject).await?;
        let sent =
            self.connection.jetstream.publish(subject, bytes.into()).await.map_err(|error| self.failed(error))?;
        sent.await.map(drop).map_err(|error| self.failed(error))
    }

    /// The message of a subject.
    pub(super) async fn get(&self, subject: &str) -> Result<Option<StreamMessage>, Error> {
        match self.stream.direct_get_last_for_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            // Any server may have answered, even one that is behind.
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => {
                last_message(&self.connection, &self.stream, subject).await
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Overwrites the message of a subject.
    pub(super) async fn erase(&self, subject: &str) -> Result<(), Error> {
        while let Some(message) = last_message(&self.connection, &self.stream, subject).await? {
            self.stream.delete_message(message.sequence).await.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Overwrites bytes stored in parts.
    pub(super) async fn erase_parts(&self, subject: &str) -> Result<(), Error> {
        let Some(first) = self.get(&format!("{subject}.0")).await? else { return Ok(()) };
        // The first part goes last, because it has the number of parts.
        for part in (0..number(&first.headers, PARTS).clamp(1, MAX_PARTS)).rev() {
            self.erase(&format!("{subject}.{part}")).await?;
        }
        Ok(())
    }

    /// Removes everything below a subject.
    pub(super) async fn purge(&self, subject: &str) -> Result<(), Error> {
        let purged = self.stream.purge().filter(format!("{subject}.>")).await;
        purged.map(drop).map_err(|error| self.failed(error))
    }
}

/// The last message of a subject, according to the stream's leader.
pub(super) async fn last_message(
    connection: &Connection,
    stream: &stream::Stream,
    subject: &str,
) -> Result<Option<StreamMessage>, Error> {
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(connection.failed(error)),
    }
}

/// The number in a header; 0 if there is none.
pub(super) fn number(headers: &HeaderMap, name: &str) -> u64 {
    headers.get(name).and_then(|value| value.as_str().parse().ok()).unwrap_or_default()
}
