//! Transcripts that are one JSON document, rewritten as a whole by the agent, as the lines that readers take.
//!
//! The first line is what the document says of itself, and each message is a line of its own, in order. A document that
//! was extended gives the same first lines and further ones, like a file that is appended to; one whose earlier
//! messages changed gives other lines, like a file that is rewritten.
//!
//! Some agents write a small document for each message, into a folder beside the document of the session; the lines are
//! the same.
//!
//! # Decisions
//!
//! - The first line has only the fields that the format names: one that changes with every message, like the time of
//!   the last one, would move all lines.
//! - A document that is an array has no such line, so that a line's number is the message's.

use serde::de::IgnoredAny;

use baton_redaction::raw_json::{Found, Raw, Value, first_object};

/// Which of an agent's transcripts are documents, and what is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// Endings of the documents' file names; the first is the one of those that are replaced.
    pub endings: &'static [&'static str],
    /// Ending of the file of JSON Lines that a later version of the agent writes in its place. The document may stay
    /// beside it, and is then out of date.
    pub replaced_by: Option<&'static str>,
    /// Where the messages are.
    pub messages: Messages,
    /// Fields that tell about the session and rarely change.
    pub header: &'static [&'static str],
}

/// Where the messages of a document are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// In this field. An array as a whole holds nothing but messages.
    Field(&'static str),
    /// In files of their own.
    Files {
        /// The folder beside the document.
        folder: &'static str,
        /// Beginning of a file's name, before the number of the message and a `-`.
        start: &'static str,
    },
}

/// Why a document gives no lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends early: it is being written, or its writer was killed.
    Torn,
    /// It is no JSON document with messages.
    Foreign,
}

impl Document {
    /// The lines of a document, each with a newline: only the first if messages are files of their own. An element that
    /// is no object gives `null`, so that the lines behind it keep their numbers.
    pub fn lines(&self, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let bytes = whole(bytes)?;
        let mut lines = Vec::with_capacity(bytes.len());
        let messages = match first_object(bytes) {
            Found::Object(mut fields) => {
                fields.by_ref().for_each(drop);
                let whole = fields.object().ok_or(Fault::Foreign)?;
                let messages = match self.messages {
                    Messages::Field(name) => whole.get(name.as_bytes()),
                    Messages::Files { .. } => Some(Value::Array(Raw::from(&b"[]"[..]))),
                };
                let Some(messages @ Value::Array(_)) = messages else { return Err(Fault::Foreign) };
                self.write_header(whole, &mut lines);
                messages
            }
            _ if bytes.trim_ascii_start().starts_with(b"[") => Value::Array(Raw::from(bytes.trim_ascii())),
            _ => return Err(Fault::Foreign),
        };
        for message in messages.elements() {
            match message {
                Value::Object(_) => write_value(message, &mut lines),
                _ => lines.extend(b"null"),
            }
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// Adds a message that is a file of its own as a line: a broken one, which is counted, if it is no object.
    pub fn add(bytes: &[u8], lines: &mut Vec<u8>) -> Result<(), Fault> {
        let read = whole(bytes);
        match read.map(|bytes| Raw::from(bytes.trim_ascii())) {
            Ok(object) if object.starts_with(b"{") => write_value(Value::Object(object), lines),
            _ => lines.push(b'{'),
        }
        lines.push(b'\n');
        read.map(drop)
    }

    /// The number of the message in a file of this name; `None` if it is no message.
    pub fn number(&self, name: &str) -> Option<u64> {
        let Messages::Files { start, .. } = self.messages else { return None };
        name.strip_prefix(start)?.strip_suffix(".json")?.split_once('-')?.0.parse().ok()
    }

    /// The document of the message in the file at `path`; `None` if that is no message.
    pub(super) fn of_message(&self, path: &str) -> Option<String> {
        let Messages::Files { folder, .. } = self.messages else { return None };
        let (above, name) = path.rsplit_once(['/', '\\'])?;
        self.number(name)?;
        Some(format!("{}{}", above.strip_suffix(folder)?, self.endings.first()?))
    }

    fn write_header(&self, whole: Value<'_>, line: &mut Vec<u8>) {
        line.push(b'{');
        for (key, value) in whole.fields().filter(|(key, _)| self.header.iter().any(|it| it.as_bytes() == key.raw())) {
            if line.len() > 1 {
                line.push(b',');
            }
            write_value(Value::Text(key), line);
            line.push(b':');
            write_value(value, line);
        }
        line.extend(b"}\n");
    }

    /// The path of the file that took a document's place; `None` for any other path.
    pub(super) fn successor(&self, path: &str) -> Option<String> {
        Some(format!("{}{}", path.strip_suffix(self.endings.first()?)?, self.replaced_by?))
    }

    /// The path of the document whose place a file took; `None` for any other path.
    pub(super) fn predecessor(&self, path: &str) -> Option<String> {
        Some(format!("{}{}", path.strip_suffix(self.replaced_by?)?, self.endings.first()?))
    }
}

/// The document without the mark that it may begin with, if it is one.
fn whole(bytes: &[u8]) -> Result<&[u8], Fault> {
    let bytes = bytes.strip_prefix(super::BOM).unwrap_or(bytes);
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(error) if error.is_eof() => Err(Fault::Torn),
        Err(_) => Err(Fault::Foreign),
        Ok(_) => Ok(bytes),
    }
}

/// Writes a value as it stands, without line ends: valid JSON has them only between values.
pub(super) fn write_value(value: Value<'_>, line: &mut Vec<u8>) {
    let is_within_line = |byte: &&u8| !matches!(byte, b'\n' | b'\r');
    match value {
        Value::Object(raw) | Value::Array(raw) => line.extend(raw.iter().filter(is_within_line)),
        Value::Text(text) => {
            line.push(b'"');
            line.extend(text.raw().iter().filter(is_within_line));
            line.push(b'"');
        }
        Value::Number(number) => line.extend(number),
        Value::Bool(value) => line.extend(if value { &b"true"[..] } else { b"false" }),
        Value::Null => line.extend(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: Document = Document {
        endings: &[".json"],
        replaced_by: Some(".jsonl"),
        messages: Messages::Field("messages"),
        header: &["id", "place", "v"],
    };

    fn lines(document: &str) -> Result<String, Fault> {
        DOCUMENT.lines(document.as_bytes()).map(|lines| String::from_utf8(lines).unwrap())
    }

    #[test]
    fn a_document_is_its_header_and_a_line_for_each_message() {
        for (document, expected) in [
            (r#"{"messages":[]}"#, "{}\n"),
            (r#"{"messages":[{"a":1},{"b":"x\ny"}],"id":"s"}"#, "{\"id\":\"s\"}\n{\"a\":1}\n{\"b\":\"x\\ny\"}\n"),
            (
                "{\r\n  \"id\": \"s\",\n  \"last\": 9,\n  \"messages\": [\n    {\n \"a\": [1,\n2] },\n 5, null, {} ],\n \
                 \"v\": true,\n \"place\": {\n\"p\": null}\n}\n",
                "{\"id\":\"s\",\"v\":true,\"place\":{\"p\": null}}\n{ \"a\": [1,2] }\nnull\nnull\n{}\n",
            ),
            ("\u{feff}[{\"a\":1},\n{\"a\":2}]\n", "{\"a\":1}\n{\"a\":2}\n"),
            ("[]", ""),
            // A lone surrogate is no reason to lose the rest.
            (r#"[{"a":"\ud800"}]"#, "{\"a\":\"\\ud800\"}\n"),
        ] {
            assert_eq!(lines(document).as_deref(), Ok(expected), "{document}");
        }
    }

    #[test]
    fn only_a_whole_document_gives_lines() {
        let whole = "{\"id\":\"s\",\"messages\":[{\"a\":[1,{}]},{\"b\":\"x\\u00e9\"}]}";
        for end in 0..whole.len() {
            assert_eq!(lines(&whole[..end]), Err(Fault::Torn), "{end}");
        }
        for foreign in ["5", "\"text\"", "{\"messages\":{}}", "{\"history\":[]}", "{\"messages\":[]}}", "[{]", "a"] {
            assert_eq!(lines(foreign), Err(Fault::Foreign), "{foreign}");
        }
        let deep = format!("[{{\"a\":{}{}}}]", "[".repeat(100_000), "]".repeat(100_000));
        assert!(lines(&deep).is_ok(), "nesting is not bounded");
    }

    #[test]
    fn what_is_unchanged_gives_the_same_lines() {
        let of = |last: u32, messages: &str| {
            lines(&format!("{{\"id\":\"s\",\"last\":{last},\"messages\":[{messages}]}}")).unwrap()
        };
        let (short, long) = (of(1, r#"{"a":1}"#), of(2, r#"{"a":1},{"b":2}"#));
        assert_eq!(long.strip_prefix(&short), Some("{\"b\":2}\n"));
        assert!(!of(3, r#"{"a":2},{"b":2}"#).starts_with(&short));
    }
}
