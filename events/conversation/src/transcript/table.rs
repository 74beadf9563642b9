//! Sessions in an SQLite database, as the lines that readers take.
//!
//! The path of a session is the database's path, the ids of its parents' sessions if it is a subagent's, and its own id:
//! `…/opencode.db/ses_1`. What a session's rows say is rendered as JSON Lines, in an order in which nothing is ever
//! inserted: a session that goes on gives the same first lines and further ones, like a file that is appended to.
//!
//! This module knows no SQL engine: a format says by [`Table`] which statements give its rows, and makes lines of them by
//! [`Render`]; the store runs the statements within bounds and refuses everything that is not on the format's list.
//!
//! To add an agent: set `Format::TABLE`, give the names of its databases in `LAYOUT.endings`, let `classify` accept
//! `<database>/<session>`, write a [`Render`], and read its lines in `record`.
//!
//! # Hazards
//!
//! - A row that is still being written must be behind [`Lines::open`], else its next state counts as a rewrite of the
//!   session. A value that changes without being conversation (a title, a status, a total) must not be rendered: a title
//!   is passed by [`Lines::title`].
//! - An agent that was killed leaves its last message unfinished. It is rendered as soon as a later message shows that
//!   nothing more comes.

use std::collections::BTreeMap;

use baton_redaction::raw_json::{Raw, Value};

use super::document::write_value;

/// An agent's databases.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// What the databases' file names begin with; they end as [`Layout::endings`](super::Layout::endings) says.
    pub prefix: &'static str,
    /// Known schemas, the newest first. The first one whose tables are all there is used.
    pub schemas: &'static [DatabaseSchema],
    /// Makes the lines of one session.
    pub render: fn() -> Box<dyn Render>,
    /// True if a session that also has a file of its own is read from that.
    pub yields_to_files: bool,
    /// Where earlier versions kept the sessions, if in files.
    pub tree: Option<Tree>,
}

/// Sessions as files, in a folder beside the databases: one for each session, for each message and for each part of one,
/// `<sessions>/<project>/<session>.json`, `<messages>/<session>/<message>.json` and `<parts>/<message>/<part>.json`. A
/// session's path is that of its own file. The files stay when their content has been taken into a database.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The folder.
    pub folder: &'static str,
    /// Its folder of sessions.
    pub sessions: &'static str,
    /// Its folder of messages.
    pub messages: &'static str,
    /// Its folder of parts.
    pub parts: &'static str,
    /// Adds the lines of a session.
    pub render: fn(&SessionFiles, &mut Lines),
}

/// The files of a session. All but its own may hold anything.
#[derive(Clone, Debug, Default)]
pub struct SessionFiles {
    /// Its id.
    pub id: String,
    /// A JSON object.
    pub session: Vec<u8>,
    /// In any order.
    pub messages: Vec<MessageFiles>,
}

/// The files of a message.
#[derive(Clone, Debug, Default)]
pub struct MessageFiles {
    /// Its id.
    pub id: String,
    /// The content of its own file.
    pub content: Vec<u8>,
    /// The ids and contents of its parts, in any order.
    pub parts: Vec<(String, Vec<u8>)>,
}

/// How the sessions in one form of an agent's database are found and read.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseSchema {
    /// All that may be selected: ordinary tables and their columns, which may be listed in several parts.
    pub tables: &'static [(&'static str, &'static [&'static str])],
    /// All sessions after the row with key `?1`, in the order of the key. Columns: the key, an integer; the session's id;
    /// its parent's id or NULL; a number that changes whenever rows of the session do; the time of its last change in
    /// milliseconds.
    pub sessions: &'static str,
    /// The columns of session `?1` that [`Render::session`] takes.
    pub session: &'static str,
    /// The rows of session `?1` behind the key `?2`, `?3` …, in the order of the key. The first columns are the key.
    /// Values that may be large are guarded by `octet_length`.
    pub rows: &'static str,
    /// The key before the first row.
    pub before_first: &'static [Cell<'static>],
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// `NULL`
    Null,
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text, which a foreign writer may have left without a valid encoding.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// The integer, or 0.
    pub fn integer(self) -> i64 {
        if let Self::Integer(number) = self { number } else { 0 }
    }

    /// The text or bytes, or none.
    pub fn bytes(self) -> &'a [u8] {
        if let Self::Text(bytes) | Self::Blob(bytes) = self { bytes } else { b"" }
    }

    /// The text, if it is one and valid.
    pub fn text(self) -> Option<&'a str> {
        if let Self::Text(bytes) = self { std::str::from_utf8(bytes).ok() } else { None }
    }
}

/// Makes lines of the rows of one session.
pub trait Render {
    /// Takes the columns of [`DatabaseSchema::session`], before all rows.
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines);

    /// Takes a row of [`DatabaseSchema::rows`]. Returns false if the session shows no further rows.
    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool;
}

/// The lines of a session so far.
#[derive(Debug, Default)]
pub struct Lines {
    parts: BTreeMap<usize, Part>,
    place: usize,
    size: usize,
    title: Option<String>,
}

/// The lines at one place.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    /// Where lines begin that may still change.
    open: Option<usize>,
}

impl Lines {
    /// Further lines stand at this place among the others, for rows that do not come in the order of the conversation.
    pub fn at(&mut self, place: usize) {
        self.place = place;
    }

    /// Adds a line: an object of these fields, each with its value as JSON.
    pub fn push(&mut self, fields: &[(&str, Value<'_>)]) {
        let bytes = &mut self.parts.entry(self.place).or_default().bytes;
        let before = bytes.len();
        write_object(fields, bytes);
        bytes.push(b'\n');
        self.size += bytes.len() - before;
    }

    /// Everything from here on may still change, until [`Self::settle`].
    pub fn open(&mut self) {
        let part = self.parts.entry(self.place).or_default();
        part.open.get_or_insert(part.bytes.len());
    }

    /// Nothing so far will change any more.
    pub fn settle(&mut self) {
        self.parts.values_mut().for_each(|part| part.open = None);
    }

    /// The session's title.
    pub fn title(&mut self, title: String) {
        self.title = Some(title);
    }

    /// Bytes so far.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The lines that will not change any more, and the title.
    pub fn finish(self) -> (Vec<u8>, Option<String>) {
        let mut bytes = Vec::new();
        for Part { bytes: mut part, open } in self.parts.into_values() {
            part.truncate(open.unwrap_or(usize::MAX));
            match bytes.is_empty() {
                true => bytes = part,
                false => bytes.extend(part),
            }
            if open.is_some() {
                break;
            }
        }
        (bytes, self.title)
    }
}

/// A field of a JSON object that is rendered, with the fields inside it; without any it is rendered as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(pub(super) &'static str, pub(super) &'static [Key]);

/// The named fields of an object, in the order of the names, as JSON without the braces: fields that it also has are left
/// out, and the order in which it has them does not matter.
pub(super) fn fields(object: Value<'_>, keys: &[Key]) -> Vec<u8> {
    let mut json = Vec::new();
    for Key(name, within) in keys {
        let Some(value) = object.get(name.as_bytes()) else { continue };
        if !json.is_empty() {
            json.push(b',');
        }
        write_name(name, &mut json);
        match within {
            [] => write_value(value, &mut json),
            within => {
                json.push(b'{');
                json.extend(fields(value, within));
                json.push(b'}');
            }
        }
    }
    json
}

/// Writes an object of these fields, each with its value as JSON.
pub(super) fn write_object(fields: &[(&str, Value<'_>)], json: &mut Vec<u8>) {
    json.push(b'{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write_name(name, json);
        write_value(*value, json);
    }
    json.push(b'}');
}

/// A text as JSON.
pub(super) fn quoted(text: &[u8]) -> Vec<u8> {
    serde_json::Value::from(String::from_utf8_lossy(text)).to_string().into_bytes()
}

/// JSON as a value that is written as it stands.
pub(super) fn raw(json: &[u8]) -> Value<'_> {
    Value::Object(Raw::from(json))
}

fn write_name(name: &str, line: &mut Vec<u8>) {
    line.push(b'"');
    line.extend(name.as_bytes());
    line.extend(b"\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Value<'_> {
        Value::Number(text.as_bytes())
    }

    #[test]
    fn only_what_is_final_is_given() {
        let line = |lines: &mut Lines, value: &str| lines.push(&[("a", number(value)), ("b", Value::Null)]);
        let mut lines = Lines::default();
        line(&mut lines, "1");
        lines.open();
        line(&mut lines, "2");
        lines.settle();
        line(&mut lines, "3");
        lines.open();
        line(&mut lines, "4");
        lines.open();
        line(&mut lines, "5");
        lines.title("t".to_owned());
        let (bytes, title) = lines.finish();
        let expected = "{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":null}\n{\"a\":3,\"b\":null}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        assert_eq!(title.as_deref(), Some("t"));
    }

    #[test]
    fn lines_stand_at_their_places_up_to_what_may_change() {
        let mut lines = Lines::default();
        for (place, value) in [(3, "3"), (1, "1"), (2, "2"), (1, "1"), (4, "4")] {
            lines.at(place);
            lines.push(&[("a", number(value))]);
        }
        assert_eq!(lines.size(), 5 * 8);
        lines.at(3);
        lines.open();
        let (bytes, _) = lines.finish();
        assert_eq!(String::from_utf8(bytes).unwrap().replace("{\"a\":", "").replace("}\n", ""), "1123");
    }

    #[test]
    fn only_listed_fields_are_given_in_the_order_of_the_list() {
        const KEYS: &[Key] = &[Key("type", &[]), Key("state", &[Key("input", &[]), Key("exit", &[])]), Key("z", &[])];
        let json = br#"{"state":{"token":"x","exit":1,"input":{"k": [1,
 2]}},"secret":"x","type":"tool"}"#;
        let given = fields(raw(json), KEYS);
        assert_eq!(String::from_utf8(given).unwrap(), r#""type":"tool","state":{"input":{"k": [1, 2]},"exit":1}"#);
        assert_eq!(fields(raw(b"[1"), KEYS), b"");
        assert_eq!(quoted(b"a\"\xff\n"), "\"a\\\"\u{fffd}\\n\"".as_bytes());
    }
}
