//! Effect of an edit on a file, read before its text is shortened.

use crate::item::Edit;
use baton_redaction::raw_json::Value;
use baton_redaction::redact_owned;

/// Longest text of the added lines, in characters.
const MAX_NEW_CHARS: usize = 400;

/// The lines that an edit adds, and the number of those that it removes.
#[derive(Default)]
struct Changed {
    added: Vec<String>,
    removed: usize,
}

/// The effect of a call of a tool that changes a file; `None` for other tools, or if it names no file.
///
/// Edits are compared by their common first and last lines: everything in between counts as removed and added.
pub(crate) fn effect_of(tool: &str, input: Value<'_>) -> Option<Edit> {
    let changed = match tool {
        "Edit" => replacement(input),
        "MultiEdit" => {
            let edits = input.get(b"edits").unwrap_or(Value::Null);
            edits.elements().map(replacement).fold(Changed::default(), |mut all, one| {
                all.added.extend(one.added);
                all.removed += one.removed;
                all
            })
        }
        "Write" => written(input, b"content"),
        "NotebookEdit" => written(input, b"new_source"),
        _ => return None,
    };
    let path = [&b"file_path"[..], b"notebook_path", b"path"].into_iter().find_map(|name| input.get(name)?.text())?;
    let path = redact_owned(path.decode().into_owned());
    let bounded = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    let (added, removed) = (bounded(changed.added.len()), bounded(changed.removed));
    Some(Edit { path, added, removed, new_text: new_text(&changed.added) })
}

/// The added lines as they are stored: redacted, then cut.
pub(crate) fn new_text<L: AsRef<str>>(lines: &[L]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    super::kept_head(&text, MAX_NEW_CHARS).unwrap_or_default()
}

fn text(input: Value<'_>, name: &[u8]) -> String {
    input.get(name).and_then(Value::text).map(|text| text.decode().into_owned()).unwrap_or_default()
}

fn written(input: Value<'_>, name: &[u8]) -> Changed {
    Changed { added: text(input, name).lines().map(str::to_owned).collect(), removed: 0 }
}

fn replacement(edit: Value<'_>) -> Changed {
    let (old, new) = (text(edit, b"old_string"), text(edit, b"new_string"));
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let last = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(|(old, new)| old == new).count();
    let added = new[first..new.len() - last].iter().map(|line| (*line).to_owned()).collect();
    Changed { added, removed: old.len() - first - last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, input: &str, expected: Option<(&str, u32, u32)>) {
        let edit = effect_of(tool, Value::Object(input.as_bytes().into()));
        let found = edit.as_ref().map(|edit| (edit.path.as_str(), edit.added, edit.removed));
        assert_eq!(found, expected, "{tool} {input}");
    }

    #[test]
    fn lines_between_the_common_ends_are_counted() {
        let a = |old: &str, new: &str| format!(r#"{{"file_path":"a.rs","old_string":"{old}","new_string":"{new}"}}"#);
        check("Edit", &a("x", "y"), Some(("a.rs", 1, 1)));
        check("Edit", &a("a\\nb\\nc", "a\\nc"), Some(("a.rs", 0, 1)));
        check("Edit", &a("a\\nc", "a\\nb1\\nb2\\nc"), Some(("a.rs", 2, 0)));
        check("Edit", &a("a\\na", "a\\na\\na"), Some(("a.rs", 1, 0)));
        check("Edit", &a("", "a\\nb\\n"), Some(("a.rs", 2, 0)));
        check("Edit", &a("same", "same"), Some(("a.rs", 0, 0)));
        check("Write", r#"{"content":"1\n2\n3\n","file_path":"b"}"#, Some(("b", 3, 0)));
        check(
            "MultiEdit",
            r#"{"file_path":"c","edits":[{"old_string":"a","new_string":"b\nc"},{"old_string":"d","new_string":""}]}"#,
            Some(("c", 2, 2)),
        );
        check("NotebookEdit", r#"{"notebook_path":"n.ipynb","new_source":"x"}"#, Some(("n.ipynb", 1, 0)));
        let new = |old: &str, new: &str| {
            let input = a(old, new);
            effect_of("Edit", Value::Object(input.as_bytes().into())).map(|edit| edit.new_text)
        };
        assert_eq!(new("a\\nb\\nc", "a\\nB\\nc").as_deref(), Some("B"), "only what differs");
        assert_eq!(new("a", &"b".repeat(1_000)).map(|text| text.chars().count()), Some(MAX_NEW_CHARS));
        check("Edit", r#"{"old_string":"a"}"#, None);
        check("Read", r#"{"file_path":"a"}"#, None);
    }
}
