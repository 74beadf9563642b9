//! A JSON file edited by cutting and inserting text, so that every byte outside an edit is preserved: order,
//! indentation, line ends, a byte order mark, comments, a trailing comma. Removing an insertion restores the text
//! exactly.
//!
//! # Hazards
//!
//! - If a file had an empty object or list spread over several lines, only the backup preserves how it was written.

use std::ops::Range;
use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use serde::Serialize;
use serde_json::Value;

use super::foreign_file::Target;

/// Byte order mark, which some editors write.
const MARK: &str = "\u{feff}";
/// Indentation if the file has none.
const INDENT: &str = "  ";

/// Reason why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not valid JSON.
    #[error("it is not valid JSON: {0}")]
    Invalid(String),
    /// The text is not valid TOML; holds the line.
    #[error("it is not valid TOML: line {0}: {1}")]
    InvalidToml(usize, String),
    /// A table is written in a form that is not edited.
    #[error("its table `{0}` is written in a form that Baton does not edit")]
    Form(&'static str),
    /// A value has the wrong type; an object or a list is required.
    #[error("{place} is {found}, and must be {wanted}")]
    Mistyped {
        /// Its path in the document.
        place: String,
        /// Its JSON type.
        found: &'static str,
        /// The JSON type that is required.
        wanted: &'static str,
    },
}

/// A step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A member of an object; of several with one name the last, as in JavaScript.
    Key(&'a str),
    /// An element of a list, from 0.
    At(usize),
}

/// A text with one JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: String,
    is_marked: bool,
}

/// Position of a value and of its children.
struct Span {
    range: Range<usize>,
    children: Vec<Range<usize>>,
    kind: &'static str,
}

impl Document {
    /// Parses a text. An empty text is an empty object.
    pub fn read(text: &str) -> Result<Self, Error> {
        let (text, is_marked) = text.strip_prefix(MARK).map_or((text, false), |rest| (rest, true));
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let document = Self { text: text.to_owned(), is_marked };
        document.span(&[])?.must_be(OBJECT, "the file")?;
        Ok(document)
    }

    /// The current text.
    pub(crate) fn text(&self) -> String {
        if self.is_marked { format!("{MARK}{}", self.text) } else { self.text.clone() }
    }

    /// The parsed value.
    pub fn value(&self) -> Result<Value, Error> {
        self.with_node(&[], value)
    }

    /// True if it is plain JSON, without comments and trailing commas.
    pub(crate) fn is_strict(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.text).is_ok()
    }

    /// Appends a member to an object.
    pub(crate) fn insert(&mut self, path: &[Step], key: &str, value: &impl Serialize) -> Result<(), Error> {
        let span = self.span(path)?.must_be(OBJECT, &name(path))?;
        let key = serde_json::to_string(key).map_err(|error| Error::Invalid(error.to_string()))?;
        self.add(&span, &format!("{key}: "), value)
    }

    /// Appends an element to a list.
    pub(crate) fn push(&mut self, path: &[Step], value: &impl Serialize) -> Result<(), Error> {
        let span = self.span(path)?.must_be(LIST, &name(path))?;
        self.add(&span, "", value)
    }

    /// Replaces a value.
    pub(crate) fn replace(&mut self, path: &[Step], value: &impl Serialize) -> Result<(), Error> {
        let range = self.span(path)?.range;
        let text = self.pretty(value, &self.indentation(range.start))?;
        self.text.replace_range(range, &text);
        Ok(())
    }

    /// Removes a member or an element, with its comma and its line.
    pub(crate) fn remove(&mut self, path: &[Step]) -> Result<(), Error> {
        let Some((last, parent)) = path.split_last() else { return Ok(()) };
        let span = self.span(parent)?;
        let index = match last {
            Step::At(index) => *index,
            Step::Key(key) => self.index(parent, key)?,
        };
        let Some(child) = span.children.get(index).cloned() else {
            return Err(Error::Mistyped { place: name(path), found: "not there", wanted: "a value" });
        };
        let next = span.children.get(index + 1).map_or(span.range.end - 1, |next| next.start);
        let following = self.comma(child.end..next);
        let preceding = match index.checked_sub(1).and_then(|before| span.children.get(before)) {
            Some(before) if following.is_none() => self.comma(before.end..child.start),
            _ => None,
        };
        let start = self.text[..child.start].trim_end().len();
        // From the back, so that earlier positions stay valid.
        if let Some(comma) = following {
            self.text.remove(comma);
        }
        self.text.replace_range(start..child.end, "");
        if let Some(comma) = preceding {
            self.text.remove(comma);
        }
        if span.children.len() == 1 {
            self.close_up(parent)?;
        }
        Ok(())
    }

    /// Returns an error unless the value at `path` is an object.
    pub(crate) fn must_be_object(&self, path: &[Step]) -> Result<(), Error> {
        self.span(path)?.must_be(OBJECT, &name(path)).map(|_| ())
    }

    /// True if there is a value at `path`.
    pub(crate) fn has(&self, path: &[Step]) -> bool {
        self.span(path).is_ok()
    }

    /// Removes the line break that the only child had added.
    fn close_up(&mut self, path: &[Step]) -> Result<(), Error> {
        let range = self.span(path)?.range;
        let inner = range.start + 1..range.end - 1;
        let line = format!("{}{}", self.newline(), self.indentation(range.start));
        if self.text[inner.clone()] == line {
            self.text.replace_range(inner, "");
        }
        Ok(())
    }

    fn add(&mut self, span: &Span, before: &str, value: &impl Serialize) -> Result<(), Error> {
        let newline = self.newline();
        let outer = self.indentation(span.range.start);
        let indentation = match span.children.first() {
            Some(child) if self.begins_line(child.start) => self.indentation(child.start),
            _ => format!("{outer}{}", self.unit()),
        };
        let text = format!("{newline}{indentation}{before}{}", self.pretty(value, &indentation)?);
        let Some(last) = span.children.last() else {
            let open = span.range.start + 1;
            let is_closed_on_its_line = !self.text[open..span.range.end - 1].contains('\n');
            let end = if is_closed_on_its_line { format!("{newline}{outer}") } else { String::new() };
            self.text.insert_str(open, &format!("{text}{end}"));
            return Ok(());
        };
        let rest = last.end..span.range.end - 1;
        match self.comma(rest.clone()) {
            Some(comma) => {
                let place = self.end_of_remarks(comma + 1..rest.end);
                self.text.insert_str(place, &format!("{text},"));
            }
            None => {
                let place = self.end_of_remarks(rest.clone());
                self.text.insert_str(place, &text);
                self.text.insert(rest.start, ',');
            }
        }
        Ok(())
    }

    /// Formats a value over several lines, indented from the second line on.
    fn pretty(&self, value: &impl Serialize, indentation: &str) -> Result<String, Error> {
        let unit = self.unit();
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        let written = value.serialize(&mut serializer).map_err(|error| error.to_string());
        let text = written.and_then(|()| String::from_utf8(bytes).map_err(|error| error.to_string()));
        // Line breaks within strings are escaped, so these are between values.
        text.map(|text| text.replace('\n', &format!("{}{indentation}", self.newline()))).map_err(Error::Invalid)
    }

    fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// One level of indentation, taken from the first indented line.
    fn unit(&self) -> String {
        let mut lines = self.text.lines().skip(1);
        let blank = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
        lines.find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty()).map_or(INDENT.to_owned(), blank)
    }

    /// The indentation of the line that contains `place`.
    fn indentation(&self, place: usize) -> String {
        let line = &self.text[self.text[..place].rfind('\n').map_or(0, |at| at + 1)..];
        line.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect()
    }

    fn begins_line(&self, place: usize) -> bool {
        self.text[..place].trim_end_matches([' ', '\t']).ends_with('\n')
    }

    /// Finds the comma between two values, among white space and comments.
    fn comma(&self, range: Range<usize>) -> Option<usize> {
        let text = &self.text[range.clone()];
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            if letter == ',' {
                return Some(range.start + at);
            }
            at += remark(&text[at..]).unwrap_or(letter.len_utf8());
        }
        None
    }

    /// End of the comments that follow on the same line.
    fn end_of_remarks(&self, range: Range<usize>) -> usize {
        let text = &self.text[range.clone()];
        let (mut at, mut end) = (0, 0);
        while let Some(letter) = text[at..].chars().next() {
            match remark(&text[at..]) {
                Some(length) => {
                    at += length;
                    end = at;
                }
                None if matches!(letter, ' ' | '\t') => at += 1,
                None => break,
            }
        }
        range.start + end
    }

    fn index(&self, path: &[Step], key: &str) -> Result<usize, Error> {
        let missing = || Error::Mistyped { place: key.to_owned(), found: "not there", wanted: "a value" };
        self.with_node(path, |node| {
            let members = node.as_object().map(|object| &object.properties);
            members.and_then(|members| members.iter().rposition(|member| member.name.as_str() == key))
        })?
        .ok_or_else(missing)
    }

    fn span(&self, path: &[Step]) -> Result<Span, Error> {
        self.with_node(path, |node| {
            let (kind, children) = match node {
                Node::Object(object) => (OBJECT, object.properties.iter().map(|member| range(&member.range)).collect()),
                Node::Array(list) => (LIST, list.elements.iter().map(|element| range(&element.range())).collect()),
                Node::StringLit(_) => ("a string", Vec::new()),
                Node::NumberLit(_) => ("a number", Vec::new()),
                Node::BooleanLit(_) => ("true or false", Vec::new()),
                Node::NullKeyword(_) => ("null", Vec::new()),
            };
            Span { range: range(&node.range()), children, kind }
        })
    }

    fn with_node<T>(&self, path: &[Step], take: impl FnOnce(&Node) -> T) -> Result<T, Error> {
        let parsed = jsonc_parser::parse_to_ast(&self.text, &Default::default(), &options());
        let root = parsed.map_err(|error| Error::Invalid(error.to_string()))?.value;
        let mut node = root.as_ref();
        for step in path {
            node = match (node, step) {
                (Some(Node::Object(object)), Step::Key(key)) => {
                    object.properties.iter().rfind(|member| member.name.as_str() == *key).map(|member| &member.value)
                }
                (Some(Node::Array(list)), Step::At(index)) => list.elements.get(*index),
                _ => None,
            };
        }
        let missing = || Error::Mistyped { place: name(path), found: "not there", wanted: "a value" };
        node.map(take).ok_or_else(missing)
    }
}

/// The content of a file that may have comments; `None` if there is none, or it cannot be parsed.
pub(crate) fn value_of(path: &Path) -> Option<Value> {
    Document::read(&Target::read(path).ok()?.text?).ok()?.value().ok()
}

const OBJECT: &str = "an object";
const LIST: &str = "a list";

impl Span {
    fn must_be(self, wanted: &'static str, place: &str) -> Result<Self, Error> {
        if self.kind == wanted {
            return Ok(self);
        }
        Err(Error::Mistyped { place: place.to_owned(), found: self.kind, wanted })
    }
}

/// JSON with comments and trailing commas, and no other extension.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn range(range: &jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}

/// Converts a node to a value. Numbers too large for it become null; ours are small.
fn value(node: &Node) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        Node::BooleanLit(truth) => Value::Bool(truth.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(list) => Value::Array(list.elements.iter().map(value).collect()),
        Node::Object(object) => {
            let members = object.properties.iter();
            Value::Object(members.map(|member| (member.name.as_str().to_owned(), value(&member.value))).collect())
        }
    }
}

/// Length of the comment at the start of a text, without its line break.
fn remark(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\r', '\n']).unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |end| end + 2))
}

/// Formats a path for a person: `hooks.Stop[0]`.
fn name(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
            Step::At(index) => text.push_str(&format!("[{index}]")),
        }
    }
    if text.is_empty() { "the file".to_owned() } else { text }
}

#[cfg(test)]
mod tests;
