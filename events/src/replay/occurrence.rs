//! One recorded event as this version reads it.

use crate::envelope::StoredRecord;
use crate::{home, memo, schema, session};
use baton_conversation::record::{CommandId, Position, SequenceNumber, StreamId, Timestamp};
use baton_protocol::answer::HistoryEvent;
use baton_redaction::json::redact_value;
use baton_redaction::redact;

/// A decoded record of the log.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Position in the whole log.
    pub position: Position,
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// Number in its stream.
    pub sequence: SequenceNumber,
    /// When it was recorded.
    pub at: Timestamp,
    /// Its recorded type.
    pub kind: String,
    /// The version of its shape.
    pub v: u32,
    /// The command that caused it.
    pub cause: Option<CommandId>,
    /// The decoded event.
    pub fact: Fact,
    /// Its stored data, if requested.
    pub data: Option<String>,
}

/// A decoded event.
#[derive(Clone, Debug)]
pub enum Fact {
    /// An event of a session.
    Session(session::Event),
    /// An event of a memo.
    Memo(memo::Event),
    /// An event of the home.
    Home(home::Event),
    /// An event that this version cannot read, and why.
    Unreadable(String),
}

impl Occurrence {
    /// Decodes a record's event. With `keep_data` its stored form is kept too.
    pub fn decode(record: StoredRecord, keep_data: bool) -> Self {
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

    /// The report of the event without its history. All text is redacted by the current rules.
    pub fn describe(&self) -> HistoryEvent {
        let redacted = |text: &str| redact(text).into_owned();
        let (told, unreadable) = match &self.fact {
            Fact::Session(event) => (redacted(&event.to_string()), None),
            Fact::Memo(event) => (redacted(&event.to_string()), None),
            Fact::Home(event) => (redacted(&event.to_string()), None),
            Fact::Unreadable(why) => (String::new(), Some(redacted(why))),
        };
        HistoryEvent {
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
            ..HistoryEvent::default()
        }
    }
}
