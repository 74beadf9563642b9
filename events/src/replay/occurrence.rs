//! One recorded event with what this version makes of it.

use crate::envelope::StoredRecord;
use crate::{home, memo, schema, session};
use baton_conversation::record::{CommandId, Position, SequenceNumber, StreamId, Timestamp};
use baton_protocol::answer::Happened;
use baton_redaction::json::redact_value;
use baton_redaction::redact;

/// A record of the log, read.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Place in the whole log.
    pub position: Position,
    /// Whose event it is.
    pub stream: StreamId,
    /// Place in that stream.
    pub sequence: SequenceNumber,
    /// When it was recorded.
    pub at: Timestamp,
    /// Its type, as recorded.
    pub kind: String,
    /// The version of its shape.
    pub v: u32,
    /// The request that brought it about.
    pub cause: Option<CommandId>,
    /// What it says.
    pub fact: Fact,
    /// Its data as it is stored, where that was asked for.
    pub data: Option<String>,
}

/// What an event says.
#[derive(Clone, Debug)]
pub enum Fact {
    /// Something of a session.
    Session(session::Event),
    /// Something of a memo.
    Memo(memo::Event),
    /// Something of the home.
    Home(home::Event),
    /// Nothing that this version can read; why.
    Unreadable(String),
}

impl Occurrence {
    /// Reads a record's event. With `keep_data` its stored form is kept beside it.
    pub fn of(record: StoredRecord, keep_data: bool) -> Self {
        let StoredRecord { position, stream, sequence, kind, v, at, metadata, data } = record;
        let fact = if stream.as_str().starts_with("session:") {
            schema::session::decode(&kind, v, &data).map(Fact::Session)
        } else if stream.memo_uuid().is_some() {
            schema::memo::decode(&kind, v, &data).map(Fact::Memo)
        } else if stream.is_home() {
            schema::home::decode(&kind, v, &data).map(Fact::Home)
        } else {
            Ok(Fact::Unreadable(format!("{kind} is of a kind of stream that this version does not know")))
        };
        let fact = fact.unwrap_or_else(|error| Fact::Unreadable(error.to_string()));
        let data = keep_data.then_some(data);
        Self { position, stream, sequence, at, kind, v, cause: metadata.cause, fact, data }
    }

    /// What is told of it without its history. Every text is redacted with today's rules.
    pub fn told(&self) -> Happened {
        let redacted = |text: &str| redact(text).into_owned();
        let (told, unreadable) = match &self.fact {
            Fact::Session(event) => (redacted(&event.to_string()), None),
            Fact::Memo(event) => (redacted(&event.to_string()), None),
            Fact::Home(event) => (redacted(&event.to_string()), None),
            Fact::Unreadable(why) => (String::new(), Some(redacted(why))),
        };
        Happened {
            position: self.position.0,
            stream: redacted(self.stream.as_str()),
            sequence: self.sequence.0,
            at: self.at.to_string(),
            kind: self.kind.clone(),
            v: self.v,
            cause: self.cause.as_ref().map(|id| redacted(id.as_str())),
            data: self.data.as_deref().and_then(|data| serde_json::from_str(data).ok()).map(redact_value),
            told,
            unreadable,
            ..Happened::default()
        }
    }
}
