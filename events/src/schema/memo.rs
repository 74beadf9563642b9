//! Stored shapes of memos: their events, and the file of their words. [`super::session`] describes how to change one.

use serde::{Deserialize, Serialize};

use super::version::{Encoded, Error, Shape, first_version, read, write};
use crate::memo::{Event, Memo, Source, Triplet, Words};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

/// Every event type of a memo.
pub const KINDS: [&str; 4] = [MemoAddedV1::KIND, MemoReplacedV1::KIND, MemoRedactedV1::KIND, MemoDeletedV1::KIND];

/// The memo in the events that carry one.
#[derive(Serialize, Deserialize)]
pub(super) struct MemoV1 {
    pub(super) source: String,
    pub(super) group: String,
    pub(super) words: String,
    pub(super) bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reference_time: Option<i64>,
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
struct MemoAddedV1 {
    #[serde(flatten)]
    memo: MemoV1,
}

#[derive(Serialize, Deserialize)]
struct MemoReplacedV1 {
    #[serde(flatten)]
    memo: MemoV1,
}

#[derive(Serialize, Deserialize)]
struct MemoRedactedV1 {
    #[serde(flatten)]
    memo: MemoV1,
}

#[derive(Serialize, Deserialize)]
struct MemoDeletedV1 {}

first_version! {
    MemoAddedV1 = "memo_added",
    MemoReplacedV1 = "memo_replaced",
    MemoRedactedV1 = "memo_redacted",
    MemoDeletedV1 = "memo_deleted",
}

impl From<&Memo> for MemoV1 {
    fn from(memo: &Memo) -> Self {
        Self {
            source: memo.source.as_str().to_owned(),
            group: memo.group.clone(),
            words: memo.words.to_string(),
            bytes: memo.bytes,
            reference_time: memo.reference_time.map(|at| at.0),
            at: memo.at.0,
        }
    }
}

impl MemoV1 {
    /// `Err` is the name of the field with an invalid value.
    pub(super) fn read(self) -> Result<Memo, &'static str> {
        Ok(Memo {
            source: Source::parse(&self.source).ok_or("source")?,
            group: self.group,
            words: ContentHash::parse(&self.words).ok_or("words")?,
            bytes: self.bytes,
            reference_time: self.reference_time.map(Timestamp),
            at: Timestamp(self.at),
        })
    }
}

/// Writes an event in the newest shape of its type.
pub fn encode(event: &Event) -> Encoded {
    match event {
        Event::Added(memo) => write(&MemoAddedV1 { memo: memo.into() }),
        Event::Replaced(memo) => write(&MemoReplacedV1 { memo: memo.into() }),
        Event::Redacted(memo) => write(&MemoRedactedV1 { memo: memo.into() }),
        Event::Deleted => write(&MemoDeletedV1 {}),
    }
}

/// Reads an event of any version ever written.
pub fn decode(kind: &str, v: u32, data: &str) -> Result<Event, Error> {
    match kind {
        MemoAddedV1::KIND => named::<MemoAddedV1>(v, read::<MemoAddedV1>(v, data)?.memo).map(Event::Added),
        MemoReplacedV1::KIND => named::<MemoReplacedV1>(v, read::<MemoReplacedV1>(v, data)?.memo).map(Event::Replaced),
        MemoRedactedV1::KIND => named::<MemoRedactedV1>(v, read::<MemoRedactedV1>(v, data)?.memo).map(Event::Redacted),
        MemoDeletedV1::KIND => read::<MemoDeletedV1>(v, data).map(|_| Event::Deleted),
        other => Err(Error::UnknownType { kind: other.to_owned() }),
    }
}

fn named<S: Shape>(v: u32, memo: MemoV1) -> Result<Memo, Error> {
    memo.read().map_err(|field| Error::Malformed { kind: S::KIND, v, reason: format!("{field} has no such value") })
}

#[derive(Serialize, Deserialize)]
struct WordsV1 {
    format: u32,
    name: String,
    body: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    triplet: Option<TripletV1>,
}

#[derive(Serialize, Deserialize)]
struct TripletV1 {
    source: String,
    edge: String,
    target: String,
}

/// Format of a file of words.
const WORDS_FORMAT: u32 = 1;

/// The file of a memo's words: one JSON object, the same bytes for the same words.
pub fn encode_words(words: &Words) -> String {
    let shape = WordsV1 {
        format: WORDS_FORMAT,
        name: words.name.clone(),
        body: words.body.clone(),
        description: words.description.clone(),
        triplet: words.triplet.as_ref().map(|triplet| TripletV1 {
            source: triplet.source.clone(),
            edge: triplet.edge.clone(),
            target: triplet.target.clone(),
        }),
    };
    serde_json::to_string(&shape).unwrap_or_default()
}

/// Reads such a file. The error describes what is wrong with it.
pub fn decode_words(text: &str) -> Result<Words, String> {
    let shape: WordsV1 = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if shape.format != WORDS_FORMAT {
        return Err(format!("it has format {}, and this version of Baton reads format {WORDS_FORMAT}", shape.format));
    }
    let WordsV1 { name, body, description, triplet, .. } = shape;
    let triplet = triplet.map(|TripletV1 { source, edge, target }| Triplet { source, edge, target });
    Ok(Words { name, body, description, triplet })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of words have shipped: these must stay readable and be written unchanged for ever.
    #[test]
    fn words_are_stored_like_this() {
        let note =
            r#"{"format":1,"name":"Deploys","body":"Never on \"Friday\".\nAsk ops.","description":"team rules"}"#;
        let plain = r#"{"format":1,"name":"n","body":"b"}"#;
        let triplet = r#"{"format":1,"name":"team PREFERS sled","body":"The team prefers sled.","triplet":{"source":"team","edge":"PREFERS","target":"sled"}}"#;
        for text in [note, plain, triplet] {
            assert_eq!(encode_words(&decode_words(text).unwrap()), text);
        }
        assert_eq!(decode_words(triplet).unwrap().triplet.unwrap().edge, "PREFERS");
        for (text, expected) in
            [("{", "EOF"), (r#"{"format":1}"#, "missing field"), (r#"{"format":2,"name":"n","body":"b"}"#, "format 2")]
        {
            let refused = decode_words(text).expect_err(text);
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn what_no_version_wrote_is_named() {
        assert!(matches!(decode("memo_sung", 1, "{}"), Err(Error::UnknownType { kind }) if kind == "memo_sung"));
        let wrong = r#"{"source":"song","group":"g","words":"","bytes":1,"at":0}"#;
        assert!(matches!(decode("memo_added", 1, wrong), Err(Error::Malformed { kind: "memo_added", .. })));
        for kind in KINDS {
            assert!(decode(kind, 99, "{}").is_err() && decode(kind, 1, "[nonsense").is_err());
        }
    }
}
