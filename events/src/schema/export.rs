//! Export of a log: JSON Lines that every version reads, with the exact bytes of every record and the conversations.
//!
//! ```text
//! {"baton_export":1,"whole":true,"position":9,"chain":"…"}           first, once
//! {"chain":"…","record":{…}}                                         each record, in order; what is stored, to the byte
//! {"session":"…","manifest":"…","content":{…}}                       then, session by session, what the current episode
//! {"session":"…","chunk":"…","items":2,"bytes":812}                  names: its manifest, each chunk,
//! {"item":{…}}                                                       and that chunk's items
//! {"session":"…","note":"…","text":"…"}                              notes that closes were given,
//! {"session":"…","missing":"…"}                                      and what of these is not there to be written
//! {"session":"…","forgotten":["…"],"copy_of":"…"}                    fingerprints by which copies of a forgotten one are known
//! {"end":{"position":9,"chain":"…","state_hash":"…","records":9,"items":2,"redacted":0}}
//! ```
//!
//! A file without its last line was cut off. `chain` in the first and last line is the journal's at `position`. Fields
//! may be added; an unknown kind of line is [`Line::Other`].

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::envelope::{ChainHash, FORMAT, Tail};
use baton_conversation::hash::{ContentHash, Mark};
use baton_conversation::record::{Position, SessionId};

/// Format of an export. A file with a higher one was written by a newer version of the program.
pub const EXPORT_FORMAT: u32 = 1;

/// One line of an export, without its line break.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Line<'a> {
    /// The header.
    Header(Header),
    /// One record of the log.
    #[serde(skip)]
    Record(Record<'a>),
    /// The manifest of a session's conversation.
    Manifest {
        /// The session.
        session: SessionId,
        /// The SHA-256 of `content`, by which it is named.
        #[serde(rename = "manifest")]
        id: ContentHash,
        /// Content of the manifest.
        content: &'a RawValue,
    },
    /// A chunk of a conversation; its [`Line::Item`]s follow.
    Chunk {
        /// The session.
        session: SessionId,
        /// The SHA-256 of its items with their line breaks, by which it is named.
        #[serde(rename = "chunk")]
        name: ContentHash,
        /// Number of items that follow.
        items: u64,
        /// Their size in bytes, line breaks included.
        bytes: u64,
    },
    /// One item of the current chunk.
    #[serde(skip)]
    Item(&'a RawValue),
    /// The note of a close.
    Note {
        /// The session.
        session: SessionId,
        /// The SHA-256 of its text, by which it is named.
        #[serde(rename = "note")]
        id: ContentHash,
        /// Text of the note.
        text: String,
    },
    /// A manifest or note that is referenced but is missing, incomplete or unreadable.
    Missing {
        /// The session.
        session: SessionId,
        /// Its hash.
        #[serde(rename = "missing")]
        id: ContentHash,
    },
    /// A forgotten session with fingerprints that recognise its copies.
    Forgotten {
        /// The session.
        session: SessionId,
        /// Fingerprints of its records' ids.
        #[serde(rename = "forgotten")]
        marks: Vec<Mark>,
        /// The session of which it was forgotten as a copy.
        #[serde(skip_serializing_if = "Option::is_none")]
        copy_of: Option<SessionId>,
    },
    /// The end of the file.
    #[serde(skip)]
    End(End),
    /// A kind of line added by a later version.
    #[serde(skip)]
    Other,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Format of the file: [`EXPORT_FORMAT`].
    #[serde(rename = "baton_export")]
    pub format: u32,
    /// True if it has every record of the log up to `tail`, unchanged: only such a file can be imported.
    pub whole: bool,
    /// The end of the log when the export began.
    #[serde(flatten)]
    pub tail: Tail,
}

/// A record of the log.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Format byte of the record.
    pub format: u8,
    /// The remaining bytes.
    pub json: &'a str,
    /// Chain hash of the record.
    pub chain: ChainHash,
}

impl Record<'_> {
    /// The stored bytes of the record.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.json.len() + 1);
        bytes.push(self.format);
        bytes.extend_from_slice(self.json.as_bytes());
        bytes
    }
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// As in the header.
    #[serde(flatten)]
    pub tail: Tail,
    /// Hash of the session table that the records of the file fold to.
    pub state_hash: ContentHash,
    /// The [version](crate::projection::table::VERSION) of that table; hashes of different versions differ.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub state_version: u32,
    /// Number of records in the file.
    pub records: u64,
    /// Number of items in the file.
    pub items: u64,
    /// Number of records, items and notes that were redacted and so differ from the stored ones.
    #[serde(default)]
    pub redacted: u64,
}

/// Why a line is not one of an export.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a JSON object.
    #[error("it is not a JSON object: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A required field is missing or has an impossible value.
    #[error("its field {0:?} is missing or invalid")]
    Field(&'static str),
}

/// All fields of all kinds of lines; the first one present determines the kind.
#[derive(Deserialize)]
struct AnyLine<'a> {
    baton_export: Option<u32>,
    whole: Option<bool>,
    position: Option<Position>,
    chain: Option<String>,
    format: Option<u8>,
    #[serde(borrow)]
    record: Option<&'a RawValue>,
    session: Option<String>,
    manifest: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    chunk: Option<String>,
    items: Option<u64>,
    bytes: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    note: Option<String>,
    text: Option<String>,
    missing: Option<String>,
    forgotten: Option<Vec<String>>,
    copy_of: Option<String>,
    end: Option<End>,
}

/// Version 1 is not written.
fn first() -> u32 {
    1
}

fn is_first(version: &u32) -> bool {
    *version == first()
}

/// Writes a line without a line break. [`Line::Other`] gives an empty text.
pub fn write(line: &Line<'_>) -> String {
    // Structs of strings, integers and JSON always have a JSON form.
    match line {
        Line::Record(Record { format: FORMAT, json, chain }) => format!("{{\"chain\":\"{chain}\",\"record\":{json}}}"),
        Line::Record(Record { format, json, chain }) => {
            format!("{{\"chain\":\"{chain}\",\"format\":{format},\"record\":{json}}}")
        }
        Line::Item(item) => format!("{{\"item\":{item}}}"),
        Line::End(end) => format!("{{\"end\":{}}}", serde_json::to_string(end).unwrap_or_default()),
        Line::Other => String::new(),
        line => serde_json::to_string(line).unwrap_or_default(),
    }
}

/// Reads a line. Accepts arbitrary text and never panics.
pub fn read(line: &str) -> Result<Line<'_>, Error> {
    if let Some(record) = quick_record(line) {
        return Ok(Line::Record(record));
    }
    let any: AnyLine<'_> = serde_json::from_str(line)?;
    if let Some(format) = any.baton_export {
        let tail =
            Tail { position: any.position.ok_or(Error::Field("position"))?, chain: chain(any.chain.as_deref())? };
        return Ok(Line::Header(Header { format, whole: any.whole.ok_or(Error::Field("whole"))?, tail }));
    }
    if let Some(record) = any.record {
        let chain = chain(any.chain.as_deref())?;
        return Ok(Line::Record(Record { format: any.format.unwrap_or(FORMAT), json: record.get(), chain }));
    }
    if let Some(item) = any.item {
        return Ok(Line::Item(item));
    }
    if let Some(end) = any.end {
        return Ok(Line::End(end));
    }
    let session = || any.session.as_deref().and_then(SessionId::new).ok_or(Error::Field("session"));
    if let Some(id) = &any.manifest {
        let content = any.content.ok_or(Error::Field("content"))?;
        return Ok(Line::Manifest { session: session()?, id: hash("manifest", id)?, content });
    }
    if let Some(name) = &any.chunk {
        let items = any.items.ok_or(Error::Field("items"))?;
        let bytes = any.bytes.ok_or(Error::Field("bytes"))?;
        return Ok(Line::Chunk { session: session()?, name: hash("chunk", name)?, items, bytes });
    }
    if let Some(id) = &any.note {
        let text = any.text.clone().ok_or(Error::Field("text"))?;
        return Ok(Line::Note { session: session()?, id: hash("note", id)?, text });
    }
    if let Some(id) = &any.missing {
        return Ok(Line::Missing { session: session()?, id: hash("missing", id)? });
    }
    if let Some(marks) = &any.forgotten {
        let marks: Option<Vec<Mark>> = marks.iter().map(|mark| Mark::parse(mark)).collect();
        let copy_of = any.copy_of.as_deref().map(|id| SessionId::new(id).ok_or(Error::Field("copy_of")));
        return Ok(Line::Forgotten {
            session: session()?,
            marks: marks.ok_or(Error::Field("forgotten"))?,
            copy_of: copy_of.transpose()?,
        });
    }
    Ok(Line::Other)
}

/// Reads a record in exactly the form of [`write`], which most lines have. The JSON between the outer braces is checked
/// when the record is decoded.
fn quick_record(line: &str) -> Option<Record<'_>> {
    let rest = line.strip_prefix("{\"chain\":\"")?;
    let (chain, rest) = rest.split_at_checked(32)?;
    let json = rest.strip_prefix("\",\"record\":")?.strip_suffix('}')?;
    Some(Record { format: FORMAT, json, chain: ChainHash::parse(chain)? })
}

fn chain(text: Option<&str>) -> Result<ChainHash, Error> {
    text.and_then(ChainHash::parse).ok_or(Error::Field("chain"))
}

fn hash(field: &'static str, text: &str) -> Result<ContentHash, Error> {
    ContentHash::parse(text).ok_or(Error::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &Line<'_>, expected: &str) {
        let text = write(line);
        assert_eq!(text, expected);
        let back = read(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(format!("{back:?}"), format!("{line:?}"));
    }

    #[test]
    fn every_kind_of_line_has_this_form_and_comes_back() {
        let (c, h) = ("01".repeat(16), "02".repeat(32));
        let session = SessionId::new("s1").unwrap();
        let raw: &RawValue = serde_json::from_str(r#"{ "a" : 1 }"#).unwrap();
        let (tail, id) = (Tail { position: Position(9), chain: ChainHash([1; 16]) }, ContentHash([2; 32]));
        check(
            &Line::Header(Header { format: 1, whole: true, tail }),
            &format!(r#"{{"baton_export":1,"whole":true,"position":9,"chain":"{c}"}}"#),
        );
        check(
            &Line::Record(Record { format: 1, json: r#"{"position":1}"#, chain: tail.chain }),
            &format!(r#"{{"chain":"{c}","record":{{"position":1}}}}"#),
        );
        check(
            &Line::Record(Record { format: 2, json: r#"{"position":1}"#, chain: tail.chain }),
            &format!(r#"{{"chain":"{c}","format":2,"record":{{"position":1}}}}"#),
        );
        check(
            &Line::Manifest { session: session.clone(), id, content: raw },
            &format!(r#"{{"session":"s1","manifest":"{h}","content":{{ "a" : 1 }}}}"#),
        );
        check(
            &Line::Chunk { session: session.clone(), name: id, items: 2, bytes: 20 },
            &format!(r#"{{"session":"s1","chunk":"{h}","items":2,"bytes":20}}"#),
        );
        check(&Line::Item(raw), r#"{"item":{ "a" : 1 }}"#);
        check(&Line::Missing { session: session.clone(), id }, &format!(r#"{{"session":"s1","missing":"{h}"}}"#));
        check(
            &Line::Note { session: session.clone(), id, text: "done".to_owned() },
            &format!(r#"{{"session":"s1","note":"{h}","text":"done"}}"#),
        );
        let marks = vec![Mark(1), Mark(u64::MAX)];
        check(
            &Line::Forgotten { session: session.clone(), marks, copy_of: None },
            r#"{"session":"s1","forgotten":["0000000000000001","ffffffffffffffff"]}"#,
        );
        check(
            &Line::Forgotten { session, marks: Vec::new(), copy_of: SessionId::new("s2") },
            r#"{"session":"s1","forgotten":[],"copy_of":"s2"}"#,
        );
        let end = End { tail, state_hash: id, state_version: 1, records: 9, items: 2, redacted: 1 };
        check(
            &Line::End(End { state_version: 2, ..end }),
            &format!(
                r#"{{"end":{{"position":9,"chain":"{c}","state_hash":"{h}","state_version":2,"records":9,"items":2,"redacted":1}}}}"#
            ),
        );
        check(
            &Line::End(end),
            &format!(
                r#"{{"end":{{"position":9,"chain":"{c}","state_hash":"{h}","records":9,"items":2,"redacted":1}}}}"#
            ),
        );
    }

    #[test]
    fn what_was_written_by_others_is_read_or_named() {
        let spaced = format!(r#"{{ "record" : {{"position":1}}, "chain" : "{}" , "later": 1}}"#, "01".repeat(16));
        assert!(matches!(read(&spaced), Ok(Line::Record(Record { json: r#"{"position":1}"#, format: 1, .. }))));
        assert!(matches!(read(r#"{"mood":"fine"}"#), Ok(Line::Other)));
        for (line, field) in [
            (r#"{"record":{}}"#, "chain"),
            (r#"{"baton_export":1,"whole":true}"#, "position"),
            (r#"{"manifest":"x","content":{},"session":"s"}"#, "manifest"),
            (r#"{"chunk":"x","session":"../s"}"#, "items"),
            (r#"{"note":"x","text":"","session":"a/b"}"#, "session"),
            (r#"{"forgotten":["xyz"],"session":"a"}"#, "forgotten"),
            (r#"{"forgotten":[],"session":"a","copy_of":"a/b"}"#, "copy_of"),
        ] {
            let error = read(line).map(|line| format!("{line:?}")).unwrap_err();
            assert!(matches!(error, Error::Field(named) if named == field), "{line}: {error}");
        }
        assert!(matches!(read("{"), Err(Error::NotJson(_))));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*", cut in 0usize..60) {
            let _ = read(&text);
            let line = write(&Line::Record(Record { format: 1, json: &text, chain: ChainHash([1; 16]) }));
            let _ = read(&line[..line.floor_char_boundary(cut.min(line.len()))]);
        }
    }
}
