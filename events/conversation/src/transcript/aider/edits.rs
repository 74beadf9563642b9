//! The changes that an answer proposes as blocks of searched and replacing lines, each behind its file's name.

use serde_json::{Value, json};

/// The message that a file's changes were made.
pub(super) const APPLIED: &str = "Applied edit to ";
/// Lines before a block in which its file's name is looked for: the name, a blank line, and the fence.
const NAME_LINES: usize = 3;

/// A proposed change of one file.
pub(super) struct Edit {
    file: String,
    change: Value,
}

/// The changes in an answer, in order.
pub(super) fn of_answer(text: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if !is_mark(line, '<', "SEARCH") {
            continue;
        }
        let before = lines[..at - 1].iter().rev().take(NAME_LINES);
        let name = before.filter(|line| !line.trim().is_empty()).find_map(|line| file_name(line));
        let name = name.or_else(|| edits.last().map(|edit| edit.file.clone())).unwrap_or_default();
        let until = |from: usize, letter: char, word: &str| {
            lines[from..].iter().position(|line| is_mark(line, letter, word)).map(|count| from + count)
        };
        let Some(middle) = until(at, '=', "") else { break };
        let Some(end) = until(middle + 1, '>', "REPLACE") else { break };
        let joined = |from: usize, to: usize| lines[from..to].join("\n");
        let change = json!({ "old_string": joined(at, middle), "new_string": joined(middle + 1, end) });
        edits.push(Edit { file: name, change });
        at = end + 1;
    }
    edits
}

/// Takes the changes of a file out of those proposed.
pub(super) fn taken(edits: &mut Vec<Edit>, file: &str) -> Vec<Value> {
    let is_of = |edit: &Edit| edit.file == file || file.ends_with(&format!("/{}", edit.file));
    let (of_file, others) = std::mem::take(edits).into_iter().partition(is_of);
    *edits = others;
    let of_file: Vec<Edit> = of_file;
    of_file.into_iter().map(|edit| edit.change).collect()
}

/// True for `<<<<<<< SEARCH` and the like, with 5 to 9 letters.
fn is_mark(line: &str, letter: char, word: &str) -> bool {
    let rest = line.trim_end().trim_start_matches(letter);
    let count = line.trim_end().len() - rest.len();
    (5..=9).contains(&count) && rest.trim_start() == word
}

/// The file's name on a line before a block; `None` for a bare fence.
fn file_name(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") {
        return None;
    }
    let name = line.trim_matches(|letter: char| matches!(letter, '*' | '`' | '#' | ':' | ' '));
    (!name.is_empty() && !is_mark(line, '>', "REPLACE")).then(|| name.to_owned())
}
