//! Sets keys in a configuration text and keeps everything else: comments, order, unknown keys and white space.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::Node;

/// Changes to an object, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Changes {
    members: Vec<(String, Change)>,
    places: BTreeMap<String, usize>,
}

#[derive(Debug)]
enum Change {
    Set(Value),
    Within(Changes),
}

impl Changes {
    /// Sets the value at `path`; a later value for the same path wins.
    pub(super) fn set(&mut self, path: &[&str], value: Value) {
        let Some((name, rest)) = path.split_first() else { return };
        let at = *self.places.entry((*name).to_owned()).or_insert(self.members.len());
        if at == self.members.len() {
            self.members.push(((*name).to_owned(), Change::Within(Self::default())));
        }
        match (&mut self.members[at].1, rest) {
            (change, []) => *change = Change::Set(value),
            (Change::Within(changes), rest) => changes.set(rest, value),
            (change, rest) => {
                let mut changes = Self::default();
                changes.set(rest, value);
                *change = Change::Within(changes);
            }
        }
    }

    /// The value that was set at `path`.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        let (name, rest) = path.split_first()?;
        match self.members.get(*self.places.get(*name)?)? {
            (_, Change::Set(value)) => Some(value).filter(|_| rest.is_empty()),
            (_, Change::Within(changes)) => changes.get(rest),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// Sets the value at `path`, like [`apply`].
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let mut changes = Changes::default();
    changes.set(path, value.clone());
    apply(text, &changes)
}

/// Applies all changes and creates missing objects on the way. The text must be JSON, with an object at the top and
/// wherever a path leads through; the error says where it is not. Each object is parsed once, however many changes
/// there are.
pub(super) fn apply(text: &str, changes: &Changes) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let node = Node::parse(text).map_err(|error| format!("line {}: not JSON: {}", error.line, error.reason))?;
    let mut pieces = Vec::new();
    within(text, &node, changes, &mut pieces)?;
    pieces.sort_by_key(|piece| (piece.from, piece.to));
    let (mut edited, mut done) = (String::with_capacity(text.len()), 0);
    for piece in pieces {
        edited += &text[done..piece.from];
        edited += &piece.by;
        done = piece.to;
    }
    Ok(edited + &text[done..])
}

/// Replaces the bytes from `from` to `to` by `by`.
struct Piece {
    from: usize,
    to: usize,
    by: String,
}

fn within(text: &str, object: &Node<'_>, changes: &Changes, pieces: &mut Vec<Piece>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let members = object.members().ok_or_else(|| format!("line {}: not an object", object.line()))?;
    let mut known: BTreeMap<&str, &Node<'_>> = BTreeMap::new();
    for member in &members {
        known.entry(&member.name).or_insert(&member.value);
    }
    let mut added = Vec::new();
    for (name, change) in &changes.members {
        match (known.get(name.as_str()), change) {
            (Some(node), Change::Set(value)) => {
                pieces.push(Piece { from: node.start(), to: node.end(), by: value.to_string() });
            }
            (Some(node), Change::Within(changes)) => within(text, node, changes, pieces)?,
            (None, change) => added.push((name.as_str(), change)),
        }
    }
    if added.is_empty() {
        return Ok(());
    }
    let indent = indent_at(text, object.start());
    let (from, to, separator, indent, end) = match members.last().map(|last| (last.at, last.value.end())) {
        // On a new line, unless the whole object is on one line.
        Some((at, end)) if text[object.start()..at].contains('\n') => {
            let indent = indent_at(text, at);
            (end, end, format!(",\n{indent}"), indent, String::new())
        }
        Some((_, end)) => (end, end, ", ".to_owned(), indent, String::new()),
        None => {
            let inner = format!("{indent}  ");
            (object.start(), object.end(), format!(",\n{inner}"), inner, format!("\n{indent}}}"))
        }
    };
    let written: Vec<String> = added.into_iter().map(|(name, change)| member(name, change, &indent)).collect();
    let before = if end.is_empty() { separator.clone() } else { format!("{{\n{indent}") };
    pieces.push(Piece { from, to, by: format!("{before}{}{end}", written.join(&separator)) });
    Ok(())
}

/// The white space at the beginning of the line that contains byte `at`.
fn indent_at(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// `"a": {"b": value}`, with each object's members on lines of their own.
fn member(name: &str, change: &Change, indent: &str) -> String {
    let name = Value::from(name);
    match change {
        Change::Set(value) => format!("{name}: {value}"),
        Change::Within(changes) => {
            let inner = format!("{indent}  ");
            let members: Vec<String> =
                changes.members.iter().map(|(name, change)| member(name, change, &inner)).collect();
            format!("{name}: {{\n{inner}{}\n{indent}}}", members.join(&format!(",\n{inner}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_set_and_nothing_else_is_touched() {
        for (text, path, value, expected) in [
            ("", &["a"][..], json!(1), "{\n  \"a\": 1\n}\n"),
            ("{}", &["a", "b"], json!(true), "{\n  \"a\": {\n    \"b\": true\n  }\n}"),
            ("{\"a\": 1, \"b\" : 2}", &["b"], json!(3), "{\"a\": 1, \"b\" : 3}"),
            ("{\"a\": 1}", &["b"], json!("x"), "{\"a\": 1, \"b\": \"x\"}"),
            (
                "{\n\t\"_why\": \"x\",\n\t\"s\": {\n\t\t\"on\": true\n\t},\n\t\"z\": 1\n}\n",
                &["s", "p", "/srv/\"q\""],
                json!(false),
                "{\n\t\"_why\": \"x\",\n\t\"s\": {\n\t\t\"on\": true,\n\t\t\"p\": {\n\t\t  \"/srv/\\\"q\\\"\": false\n\t\t}\n\t},\n\t\"z\": 1\n}\n",
            ),
            ("{\n  \"s\": {}\n}", &["s", "on"], json!(1), "{\n  \"s\": {\n    \"on\": 1\n  }\n}"),
            ("{\"s\": {\"on\": 1 }, \"größe\": 2}", &["s", "on"], json!([1]), "{\"s\": {\"on\": [1] }, \"größe\": 2}"),
        ] {
            let edited = set(text, path, &value).unwrap();
            assert_eq!(edited, expected, "{text}");
            let read: serde_json::Value = serde_json::from_str(&edited).unwrap();
            assert_eq!(path.iter().fold(&read, |read, name| &read[name]), &value);
            assert_eq!(set(&edited, path, &value).unwrap(), edited, "twice is once");
        }
    }

    #[test]
    fn many_keys_are_set_at_once() {
        let (a, b) = (json!(1), json!(2));
        for (text, expected) in [
            ("", "{\n  \"s\": {\n    \"on\": 2,\n    \"p\": {\n      \"x\": 1\n    }\n  },\n  \"l\": 2\n}\n"),
            ("{\"s\": {\"on\": 0}, \"l\": 0}", "{\"s\": {\"on\": 2, \"p\": {\n  \"x\": 1\n}}, \"l\": 2}"),
            ("{\n \"s\": {}\n}", "{\n \"s\": {\n   \"on\": 2,\n   \"p\": {\n     \"x\": 1\n   }\n },\n \"l\": 2\n}"),
        ] {
            let mut changes = Changes::default();
            for (path, value) in [(&["s", "on"][..], &a), (&["s", "p", "x"], &a), (&["l"], &b), (&["s", "on"], &b)] {
                changes.set(path, value.clone());
            }
            assert_eq!(apply(text, &changes).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_edited_is_said() {
        assert!(set("{\n  x", &["a"], &json!(1)).unwrap_err().contains("line 2: not JSON"));
        assert!(set("{\n\"a\":\n3}", &["a", "b"], &json!(1)).unwrap_err().contains("line 3: not an object"));
        assert!(set("[1]", &["a"], &json!(1)).unwrap_err().contains("line 1: not an object"));
    }
}
