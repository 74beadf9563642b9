//! Effect of an edit on a file, read before its text is shortened.

use crate::item::Edit;
use baton_redaction::raw_json::Value;
use baton_redaction::{redact, redact_owned};

/// Longest text of the added lines, and of the removed ones, in characters.
const MAX_KEPT_CHARS: usize = 400;
/// The lines of a longer text are not kept, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// A run of letters and digits of this length with [`RANDOM_DIGITS`] digits may be a secret whose name stands elsewhere.
const RANDOM_CHARS: usize = 16;
/// See [`RANDOM_CHARS`].
const RANDOM_DIGITS: usize = 3;
/// Longer texts are not compared line by line, in pairs of lines.
const MAX_COMPARED: usize = 250_000;

/// The number of lines that an edit adds and removes, and their text.
#[derive(Default)]
struct Changed {
    added: usize,
    removed: usize,
    /// Number of lines between the common ends that are the same before and after.
    kept: usize,
    new_text: String,
    old_text: String,
}

/// The effect of a call that changes a file; `None` if it names no file.
///
/// Edits are compared by their common first and last lines: everything in between counts as removed and added, as it is
/// hashed so. [`Edit::compared`] has the numbers that a comparison of all lines gives.
pub(crate) fn effect_of(input: Value<'_>) -> Option<Edit> {
    let whole = [&b"content"[..], b"new_source"].into_iter().find(|name| input.get(name).is_some());
    let changed = match (input.get(b"edits"), whole) {
        (Some(edits), _) => edits.elements().map(replacement).fold(Changed::default(), |mut all, one| {
            all.added += one.added;
            all.removed += one.removed;
            all.kept += one.kept;
            for (all, one) in [(&mut all.new_text, one.new_text), (&mut all.old_text, one.old_text)] {
                if all.len() < MAX_TEXT_BYTES {
                    *all = std::mem::take(all) + &one + "\n";
                }
            }
            all
        }),
        (None, Some(name)) => written(input, name),
        (None, None) => replacement(input),
    };
    let path = [&b"file_path"[..], b"notebook_path", b"path"].into_iter().find_map(|name| input.get(name)?.text())?;
    let path = redact_owned(path.decode().into_owned());
    let bounded = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    let (added, removed) = (bounded(changed.added), bounded(changed.removed));
    let kept = bounded(changed.kept);
    let compared = (kept > 0).then(|| (added.saturating_sub(kept), removed.saturating_sub(kept)));
    let kept = |text: &str| super::stored_head(text, MAX_KEPT_CHARS).unwrap_or_default();
    let (old_text, new_text) = (kept(&changed.old_text), kept(&changed.new_text));
    Some(Edit { path, added, removed, compared, new_text, old_text })
}

/// The lines that a patch removes, and those that it adds, as they are stored.
pub(crate) fn lines_of_patch(patch: &str) -> (String, String) {
    if patch.len() > MAX_TEXT_BYTES {
        return Default::default();
    }
    // Whole, because what makes a line secret may stand in another.
    let patch = redact(patch);
    let kept = |mark: char| {
        let lines = without_random(patch.lines().filter_map(|line| line.strip_prefix(mark)));
        super::stored_head(&lines, MAX_KEPT_CHARS).unwrap_or_default()
    };
    (kept('-'), kept('+'))
}

/// The lines that are replaced, and those that replace them, redacted as part of the whole text.
fn differing(old: &str, new: &str) -> (String, String) {
    if old.len().max(new.len()) > MAX_TEXT_BYTES {
        return Default::default();
    }
    let (old, new) = (redact(old), redact(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let (first, last) = common_ends(&old, &new);
    let between = |lines: &[&str]| without_random(lines[first..lines.len() - last].iter().copied());
    (between(&old), between(&new))
}

/// Joins lines, without those that may be a secret.
fn without_random<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let is_random =
        |run: &str| run.len() >= RANDOM_CHARS && run.bytes().filter(u8::is_ascii_digit).count() >= RANDOM_DIGITS;
    let runs = |line: &str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random);
    lines.filter(|line| !runs(line)).collect::<Vec<_>>().join("\n")
}

/// The number of lines with which both begin, and of those with which the rests end.
fn common_ends(old: &[&str], new: &[&str]) -> (usize, usize) {
    let first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let last = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(|(old, new)| old == new).count();
    (first, last)
}

fn text(input: Value<'_>, name: &[u8]) -> String {
    input.get(name).and_then(Value::text).map(|text| text.decode().into_owned()).unwrap_or_default()
}

fn written(input: Value<'_>, name: &[u8]) -> Changed {
    let text = text(input, name);
    Changed { added: text.lines().count(), new_text: differing("", &text).1, ..Changed::default() }
}

fn replacement(edit: Value<'_>) -> Changed {
    let (old, new) = (text(edit, b"old_string"), text(edit, b"new_string"));
    let (old_text, new_text) = differing(&old, &new);
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let (first, last) = common_ends(&old, &new);
    let (old, new) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    Changed { added: new.len(), removed: old.len(), kept: common_lines(old, new), new_text, old_text }
}

/// The greatest number of lines that are in both, in the same order; 0 if that would take too long.
fn common_lines(old: &[&str], new: &[&str]) -> usize {
    if old.len().saturating_mul(new.len()) > MAX_COMPARED {
        return 0;
    }
    let mut counts = vec![0; new.len() + 1];
    for line in old {
        let mut before = 0;
        for (at, other) in new.iter().enumerate() {
            let above = counts[at + 1];
            counts[at + 1] = if line == other { before + 1 } else { above.max(counts[at]) };
            before = above;
        }
    }
    counts[new.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, input: &str, expected: Option<(&str, u32, u32)>) {
        let edit = effect_of(Value::Object(input.as_bytes().into()));
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
        let compared = |old: &str, new: &str| {
            effect_of(Value::Object(a(old, new).as_bytes().into())).and_then(|edit| edit.compared)
        };
        assert_eq!(compared("a\\nx\\nb\\ny\\nc", "a\\nX\\nb\\nY\\nY\\nc"), Some((3, 2)));
        assert_eq!(compared("a\\nx\\nc", "a\\ny\\nc"), None);
        let new = |old: &str, new: &str| {
            let input = a(old, new);
            effect_of(Value::Object(input.as_bytes().into())).map(|edit| edit.new_text)
        };
        assert_eq!(new("a\\nb\\nc", "a\\nB\\nc").as_deref(), Some("B"), "only what differs");
        let edit = effect_of(Value::Object(a("a\\nb\\nc", "a\\nB\\nc").as_bytes().into()));
        assert_eq!(edit.map(|edit| edit.old_text).as_deref(), Some("b"));
        assert_eq!(new("a", &"b".repeat(1_000)).map(|text| text.chars().count()), Some(MAX_KEPT_CHARS));
        // The reason why a line is secret may be in another line, or outside the edit.
        let key = |body: &str| format!("-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----");
        assert_eq!(new(&key("abc"), &key("bnVtYmF0bnVtYmF0bnVtYmF0")).as_deref(), Some(""));
        assert_eq!(new("key:\\n  a", "key:\\n  q8Zr2LmX7vKp4TnW9sYb\\n  b").as_deref(), Some("b"));
        let patch = "@@\n+api_key:\n+  q8Zr2LmX7vKp4TnW9sYb\n+b\n-c";
        let (removed, added) = lines_of_patch(patch);
        assert!(!added.contains("q8Zr2") && added.ends_with('b') && removed == "c");
        check("Edit", r#"{"old_string":"a"}"#, None);
    }
}
