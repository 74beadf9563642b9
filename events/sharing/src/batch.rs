//! The messages between writers and readers, as JSON. They carry their version: what a newer program wrote is told
//! apart from what is damaged.

use std::collections::BTreeMap;

use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::schema::session as stored;
use baton_events::session::{Event, State, evolve};
use serde::{Deserialize, Serialize};

use crate::form;

/// Version of both kinds of messages.
pub const VERSION: u32 = 2;
/// Most events in a batch.
pub const MAX_EVENTS: usize = 256;
/// Most bytes of a batch's events; one alone may have more.
pub const MAX_EVENT_BYTES: usize = 128 * 1024;
/// Most chunks of a conversation: 4 GB of text.
pub const MAX_CHUNKS: usize = 16 * 1024;
/// Most writers of a team.
pub const MAX_WRITERS: usize = 256;
/// Hex digits of a writer's fingerprint, of a key, and at most of a sealed one.
const WRITER_DIGITS: usize = 32;
const KEY_DIGITS: usize = 64;
const MAX_BOX_DIGITS: usize = 512;
/// Longest name of a person, machine or project, in bytes.
pub const MAX_NAME_BYTES: usize = 200;

/// Why a message cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A newer program wrote it.
    #[error("a newer version of Baton wrote it")]
    Newer,
    /// It does not have its form.
    #[error("{0}")]
    Malformed(String),
}

/// Some published events of one session, and the conversation that the last of them names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// See [`VERSION`].
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// True if everything that was published of the session before is void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begin: bool,
    /// How many events the session's stream has on the writer's machine.
    pub through: u64,
    /// The events, in order.
    pub events: Vec<StoredEvent>,
    /// The conversation of the current episode; absent if no event names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The hash of what all published events of the session come to.
    pub form: ContentHash,
}

/// An event in its stored shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredEvent {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the shape.
    pub v: u32,
    /// Its data: one JSON object.
    pub data: Box<serde_json::value::RawValue>,
}

/// A conversation: what its manifest holds, and where its chunks are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The generation of the transcript.
    pub generation: u32,
    /// The version of the filter.
    pub filter_version: u32,
    /// The version of the items' shape.
    pub item_version: u32,
    /// Its chunks in order.
    pub chunks: Vec<Chunk>,
}

/// One chunk of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// SHA-256 of its lines.
    pub name: ContentHash,
    /// Number of items.
    pub items: u64,
    /// Bytes of its lines.
    pub bytes: u64,
    /// SHA-256 of the sealed chunk, which is its name on the relay.
    pub object: ContentHash,
}

/// What a writer says beside sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// See [`VERSION`].
    pub v: u32,
    /// When it was said.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub said: Said,
}

/// See [`Notice`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Said {
    /// The writer belongs to the team from now on. The first notice of every writer.
    Joined {
        /// Their name.
        name: String,
        /// Their machine.
        machine: String,
        /// Their public key, 64 hex digits.
        key: String,
        /// Their public key for sealing, 64 hex digits.
        box_key: String,
    },
    /// The writer has left; what they shared stays until it is forgotten.
    Left,
    /// Of the team's administrator alone: writers belong to the team no more, and nothing that they say from now on
    /// counts; the team has new keys.
    Removed {
        /// Those writers.
        writers: Vec<String>,
        /// The epoch of the new key: the one after the newest.
        epoch: u32,
        /// SHA-256 of the new key, 64 hex digits.
        key: String,
        /// The key, sealed for each writer who is to have it.
        boxes: BTreeMap<String, String>,
    },
    /// A session must be removed wherever it is.
    Forgot {
        /// The session.
        session: SessionId,
        /// The sequence that its stream had: nothing up to it counts, even if shown again.
        #[serde(default)]
        sequence: u64,
    },
    /// The writer has removed what another writer wanted removed.
    Acknowledged {
        /// The other writer.
        writer: String,
        /// Sequence of the last notice of theirs that this holds for.
        notices: u64,
    },
}

/// True if a person or machine may have this name.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)
}

/// Reads a message of this version. Names are checked against their bound, and may hold no control characters.
fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    let malformed = |error: serde_json::Error| Error::Malformed(error.to_string());
    let Version { v } = serde_json::from_slice(text).map_err(malformed)?;
    match v {
        VERSION => serde_json::from_slice(text).map_err(malformed),
        older if older < VERSION => Err(Error::Malformed(format!("version {older} is read no more"))),
        _ => Err(Error::Newer),
    }
}

impl Batch {
    /// Reads a batch and checks its bounds.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub fn decode(text: &[u8]) -> Result<Self, Error> {
        let batch: Self = read(text)?;
        let chunks = batch.conversation.as_ref().map_or(0, |conversation| conversation.chunks.len());
        if batch.events.len() > MAX_EVENTS || chunks > MAX_CHUNKS {
            let events = batch.events.len();
            return Err(Error::Malformed(format!("it has {events} events and {chunks} chunks, over the bounds")));
        }
        if SessionId::new(batch.session.as_str()).is_none() || batch.session.is_memo() {
            return Err(Error::Malformed("its session has no valid id".to_owned()));
        }
        Ok(batch)
    }

    /// Its JSON.
    pub fn encode(&self) -> Vec<u8> {
        // Strings and integers always have a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The events.
    ///
    /// # Errors
    ///
    /// The first that this version cannot read.
    pub fn events(&self) -> Result<Vec<Event>, Error> {
        let event = |stored: &StoredEvent| {
            stored::decode(&stored.kind, stored.v, stored.data.get()).map_err(|error| match error {
                stored::Error::UnknownType { .. } | stored::Error::NewerVersion { .. } => Error::Newer,
                stored::Error::Malformed { .. } => Error::Malformed(error.to_string()),
            })
        };
        self.events.iter().map(event).collect()
    }

    /// The session's state after this batch.
    ///
    /// # Errors
    ///
    /// Why the events cannot be read.
    pub fn fold(&self, before: State) -> Result<State, Error> {
        Ok(self.after(&self.events()?, before))
    }

    /// The same, if its events are read already.
    pub fn after(&self, events: &[Event], before: State) -> State {
        let before = if self.begin { State::default() } else { before };
        events.iter().fold(before, evolve)
    }

    /// True if a state after this batch is what its writer has.
    pub fn agrees_with(&self, state: &State) -> bool {
        form::hash(&self.session, state) == self.form
    }
}

impl PartialEq for StoredEvent {
    fn eq(&self, other: &Self) -> bool {
        (&self.kind, self.v, self.data.get()) == (&other.kind, other.v, other.data.get())
    }
}

impl StoredEvent {
    /// An event in its newest shape.
    pub fn new(event: &Event) -> Self {
        let encoded = stored::encode(event);
        // The codec writes JSON.
        let data = serde_json::value::RawValue::from_string(encoded.data).unwrap_or_default();
        Self { kind: encoded.kind.to_owned(), v: encoded.v, data }
    }
}

impl Notice {
    /// A notice of this version.
    pub fn new(at: Timestamp, said: Said) -> Self {
        Self { v: VERSION, at, said }
    }

    /// Reads a notice and checks its bounds.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub fn decode(text: &[u8]) -> Result<Self, Error> {
        let notice: Self = read(text)?;
        let malformed = |what: &str| Err(Error::Malformed(what.to_owned()));
        let is_hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|it| it.is_ascii_hexdigit());
        let is_writer = |text: &String| is_hex(text, WRITER_DIGITS);
        match &notice.said {
            Said::Joined { name, machine, .. } if ![name, machine].into_iter().all(|name| is_name(name)) => {
                malformed("it names its writer by what is no name")
            }
            Said::Joined { key, box_key, .. } if ![key, box_key].into_iter().all(|key| is_hex(key, KEY_DIGITS)) => {
                malformed("it introduces its writer without keys")
            }
            Said::Removed { writers, key, boxes, .. }
                if writers.len().max(boxes.len()) > MAX_WRITERS
                    || !writers.iter().chain(boxes.keys()).all(is_writer)
                    || !is_hex(key, KEY_DIGITS)
                    || boxes.values().any(|sealed| sealed.len() > MAX_BOX_DIGITS) =>
            {
                malformed("it removes writers in another form, or too many")
            }
            Said::Acknowledged { writer, .. } if !is_writer(writer) => malformed("it names no writer"),
            Said::Forgot { session, .. } if SessionId::new(session.as_str()).is_none() => {
                malformed("its session has no valid id")
            }
            _ => Ok(notice),
        }
    }

    /// Its JSON.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_of_another_form_is_none() {
        let (writer, key) = ("0a".repeat(16), "0b".repeat(32));
        let boxes = |count: usize, sealed: &str| {
            (0..count).map(|at| (format!("{at:032x}"), sealed.to_owned())).collect::<BTreeMap<_, _>>()
        };
        let removed =
            |writers: Vec<String>, key: &str, boxes| Said::Removed { writers, epoch: 2, key: key.to_owned(), boxes };
        let joined = |name: &str, key: &str, box_key: &str| Said::Joined {
            name: name.to_owned(),
            machine: "one".to_owned(),
            key: key.to_owned(),
            box_key: box_key.to_owned(),
        };
        for (said, is_one) in [
            (joined("Ann", &key, &key), true),
            (joined("", &key, &key), false),
            (joined(&"x".repeat(MAX_NAME_BYTES + 1), &key, &key), false),
            (joined("Ann", &key[1..], &key), false),
            (joined("Ann", &key, "no key"), false),
            (removed(vec![writer.clone()], &key, boxes(MAX_WRITERS, &"0".repeat(MAX_BOX_DIGITS))), true),
            (removed(vec![writer.clone()], &key, boxes(MAX_WRITERS + 1, "0")), false),
            (removed(vec![writer.clone(); MAX_WRITERS + 1], &key, boxes(1, "0")), false),
            (removed(vec![writer.clone()], &key, boxes(1, &"0".repeat(MAX_BOX_DIGITS + 1))), false),
            (removed(vec!["../../etc".to_owned()], &key, boxes(1, "0")), false),
            (removed(vec![writer.clone()], &key, [(String::new(), String::new())].into()), false),
            (removed(vec![writer.clone()], "", boxes(1, "0")), false),
            (Said::Acknowledged { writer, notices: u64::MAX }, true),
            (Said::Acknowledged { writer: "x".repeat(1 << 20), notices: 1 }, false),
            (Said::Left, true),
        ] {
            let notice = Notice::new(Timestamp(0), said);
            assert_eq!(Notice::decode(&notice.encode()).is_ok(), is_one, "{notice:?}");
        }
        for (text, expected) in [
            (r#"{"v":3,"at":0,"said":"left"}"#, Error::Newer),
            (r#"{"v":1,"at":0,"said":"left"}"#, Error::Malformed("version 1 is read no more".to_owned())),
        ] {
            assert_eq!(Notice::decode(text.as_bytes()), Err(expected), "{text}");
        }
        let forgot =
            format!(r#"{{"v":{VERSION},"at":"2026-01-01T00:00:00Z","said":"forgot","session":"../a","sequence":1}}"#);
        assert!(Notice::decode(forgot.as_bytes()).is_err());
    }
}
