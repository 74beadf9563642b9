//! The stored record: the bytes of one event, and the hash chain that binds it to all earlier ones.
//!
//! A record is one format byte, then a JSON object `{position, stream, sequence, type, v, at, correlation?, cause?,
//! data}`. `data` is the event's own JSON, kept byte for byte: this module knows no event types. `at` is an integer,
//! milliseconds since 1970 in UTC: RFC 3339 ends at the year 9999 and costs a parser, and a record must reproduce
//! exactly what was stored.
//!
//! # Decisions
//!
//! - `at` is milliseconds since 1970: RFC 3339 cannot express every time that a broken clock reports.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use baton_conversation::record::{CommandId, Metadata, Position, SequenceNumber, StreamId, Timestamp};
use baton_protocol::serde_as_text;

/// The first byte of every record. Any other value comes from another version of the program.
pub const FORMAT: u8 = 1;

/// An event to be stored, without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// The event's recorded type (`Discovered`).
    pub kind: String,
    /// The version of that type's shape.
    pub v: u32,
    /// Time of recording, by the shell's clock.
    pub at: Timestamp,
    /// Correlation and cause.
    pub metadata: Metadata,
    /// The event as JSON; surrounding white space is removed.
    pub data: String,
}

/// A stored event with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Position in the whole journal.
    pub position: Position,
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// Number in its stream, from 1.
    pub sequence: SequenceNumber,
    /// The event's recorded type.
    pub kind: String,
    /// The version of that type's shape.
    pub v: u32,
    /// Time of recording, by the shell's clock.
    pub at: Timestamp,
    /// Correlation and cause.
    pub metadata: Metadata,
    /// The event as JSON.
    pub data: String,
}

/// Why bytes are not a record, or a record cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The format byte is unknown.
    #[error("record format {0} is unknown: it was written by a newer version of this program")]
    UnknownFormat(u8),
    /// There are no bytes at all.
    #[error("the record is empty")]
    Empty,
    /// The envelope does not match its format.
    #[error("the record's envelope cannot be read: {0}")]
    Malformed(serde_json::Error),
    /// The event's data is not JSON, so it could never be read again.
    #[error("the event's data is not JSON: {0}")]
    NotJson(serde_json::Error),
}

impl NewRecord {
    /// Places the event.
    pub fn placed(self, position: Position, stream: StreamId, sequence: SequenceNumber) -> StoredRecord {
        let Self { kind, v, at, metadata, data } = self;
        let inner = data.trim_matches([' ', '\t', '\r', '\n']);
        let data = if inner.len() == data.len() { data } else { inner.to_owned() };
        StoredRecord { position, stream, sequence, kind, v, at, metadata, data }
    }
}

#[derive(Serialize, Deserialize)]
struct EnvelopeV1<'a> {
    position: u64,
    #[serde(borrow)]
    stream: Cow<'a, str>,
    sequence: u64,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    v: u32,
    at: i64,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// Encodes a record. Fails only if its `data` is not JSON.
pub fn encode(record: &StoredRecord) -> Result<Vec<u8>, Error> {
    let data: &RawValue = serde_json::from_str(&record.data).map_err(Error::NotJson)?;
    let envelope = EnvelopeV1 {
        position: record.position.0,
        stream: record.stream.as_str().into(),
        sequence: record.sequence.0,
        kind: record.kind.as_str().into(),
        v: record.v,
        at: record.at.0,
        correlation: record.metadata.correlation.as_ref().map(|id| id.as_str().into()),
        cause: record.metadata.cause.as_ref().map(|id| id.as_str().into()),
        data,
    };
    let mut bytes = Vec::with_capacity(record.data.len() + 256);
    bytes.push(FORMAT);
    serde_json::to_writer(&mut bytes, &envelope).map_err(Error::NotJson)?;
    Ok(bytes)
}

/// Decodes a record. Accepts arbitrary bytes and never panics.
pub fn decode(bytes: &[u8]) -> Result<StoredRecord, Error> {
    let (format, json) = bytes.split_first().ok_or(Error::Empty)?;
    if *format != FORMAT {
        return Err(Error::UnknownFormat(*format));
    }
    let envelope: EnvelopeV1<'_> = serde_json::from_slice(json).map_err(Error::Malformed)?;
    Ok(StoredRecord {
        position: Position(envelope.position),
        stream: StreamId::recorded(&envelope.stream),
        sequence: SequenceNumber(envelope.sequence),
        kind: envelope.kind.into_owned(),
        v: envelope.v,
        at: Timestamp(envelope.at),
        metadata: Metadata {
            correlation: envelope.correlation.map(|id| CommandId::new(&id)),
            cause: envelope.cause.map(|id| CommandId::new(&id)),
        },
        data: envelope.data.get().to_owned(),
    })
}

/// Hash of a record and all earlier ones: 16 bytes of SHA-256 over the previous hash and the record's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChainHash(pub [u8; 16]);

serde_as_text!(ChainHash, ChainHash::parse);

impl ChainHash {
    /// The hash before the first record.
    pub const GENESIS: Self = Self([0; 16]);

    /// Parses the form written by `Display`: 32 lower-case hex digits. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut hash = [0; 16];
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(hash))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

/// The hash after `record`, given the hash before it.
pub fn chain(before: ChainHash, record: &[u8]) -> ChainHash {
    let digest = Sha256::new().chain_update(before.0).chain_update(record).finalize();
    let mut hash = [0; 16];
    hash.copy_from_slice(&digest[..16]);
    ChainHash(hash)
}

/// A position and the history up to it: the end of a journal, or the checkpoint of a fold. A checkpoint whose `chain`
/// differs from the journal's at `position` belongs to another history and must be discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tail {
    /// The last position included; 0 if there is none.
    pub position: Position,
    /// The chain hash at that position.
    pub chain: ChainHash,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> StoredRecord {
        let new = NewRecord {
            kind: "Discovered".into(),
            v: 2,
            at: Timestamp::parse("2026-03-14T09:26:53.589Z").unwrap(),
            metadata: Metadata { correlation: Some(CommandId::new("c1")), cause: None },
            data: " {\"path\":\"/tmp/ä.jsonl\"}\n".into(),
        };
        new.placed(Position(7), StreamId::recorded("session:a\"b"), SequenceNumber(3))
    }

    #[test]
    fn the_stored_shape_is_this_one() {
        let bytes = encode(&record()).unwrap();
        assert_eq!(bytes[0], 1);
        assert_eq!(
            std::str::from_utf8(&bytes[1..]).unwrap(),
            "{\"position\":7,\"stream\":\"session:a\\\"b\",\"sequence\":3,\"type\":\"Discovered\",\"v\":2,\
             \"at\":1773480413589,\"correlation\":\"c1\",\"data\":{\"path\":\"/tmp/ä.jsonl\"}}"
        );
        assert_eq!(decode(&bytes).unwrap(), record());
    }

    #[test]
    fn what_is_no_record_says_why() {
        let check = |bytes: &[u8], expected: &str| {
            let error = decode(bytes).expect_err("not a record").to_string();
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        };
        check(b"", "empty");
        check(b"\x02{}", "newer version");
        check(b"\x01", "cannot be read");
        check(b"\x01{\"position\":1}", "missing field");
        let mut cut = encode(&record()).unwrap();
        cut.pop();
        check(&cut, "cannot be read");
        check(&[encode(&record()).unwrap(), b"{}".to_vec()].concat(), "trailing characters");
    }

    #[test]
    fn data_that_is_not_json_is_never_stored() {
        for data in ["", "{", "{} {}", "nul", "{\"a\":1}x"] {
            let record = StoredRecord { data: data.into(), ..record() };
            assert!(matches!(encode(&record), Err(Error::NotJson(_))), "{data:?}");
        }
    }

    #[test]
    fn the_chain_depends_on_every_byte_and_on_what_came_before() {
        let one = chain(ChainHash::GENESIS, b"one");
        assert_eq!(one.to_string(), "b4e11d330f99c77032854a35c4a4adcb");
        assert_ne!(chain(one, b"two"), chain(ChainHash::GENESIS, b"two"));
        assert_ne!(chain(one, b"two"), chain(one, b"twp"));
        assert_eq!(ChainHash::parse(&one.to_string()), Some(one));
        for bad in ["", "0", &"g".repeat(32), &"A".repeat(32), &"0".repeat(33)] {
            assert_eq!(ChainHash::parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_record_survives(
            (position, sequence, v, at) in any::<(u64, u64, u32, i64)>(),
            (stream, kind, text) in any::<(String, String, String)>(),
            (correlation, cause) in any::<(Option<String>, Option<String>)>(),
        ) {
            let record = StoredRecord {
                position: Position(position),
                stream: StreamId::recorded(&stream),
                sequence: SequenceNumber(sequence),
                kind,
                v,
                at: Timestamp(at),
                metadata: Metadata {
                    correlation: correlation.as_deref().map(CommandId::new),
                    cause: cause.as_deref().map(CommandId::new),
                },
                data: serde_json::to_string(&text).unwrap(),
            };
            prop_assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        }

        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), format in any::<bool>()) {
            if format && !bytes.is_empty() {
                bytes[0] = FORMAT;
            }
            let _ = decode(&bytes);
        }

        #[test]
        fn a_flipped_byte_never_panics(at in 0usize..150, bit in 0u8..8) {
            let mut bytes = encode(&record()).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let _ = decode(&bytes);
        }
    }
}
