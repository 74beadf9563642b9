//! The files of a session, and the decisions that name one.

use std::collections::BTreeMap;

use super::{MAX_DECISIONS, MAX_FILES};
use crate::digest::{Attempt, Episode, What};
use crate::graph::{Surroundings, file_name};
use crate::schema::outcomes::{File, Said, millis};

/// Longest word that may be a file, in bytes.
const MAX_WORD_BYTES: usize = 200;
/// Longest ending of a file's name, in bytes.
const MAX_ENDING_BYTES: usize = 10;

/// Files by path: what was changed before what was read. What a shell command showed was read as well.
pub(super) fn files(
    episode: &Episode,
    attempts: &[Attempt<'_>],
    at: &Surroundings<'_>,
    left_out: &mut impl FnMut(usize),
) -> Vec<File> {
    let cwd = episode.cwd.as_deref();
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for change in &episode.files_modified {
        let file = files.entry(file_name(&change.path, cwd, at)).or_default();
        file.line = if file.changed { file.line.min(change.line) } else { change.line };
        file.changed = true;
        file.added = file.added.saturating_add(change.added);
        file.removed = file.removed.saturating_add(change.removed);
    }
    let read = episode.files_read.iter().map(|reading| (reading.path.as_str(), reading.count, reading.line));
    let shown = attempts.iter().flat_map(|attempt| match &attempt.what {
        What::Command { shows, .. } => shows.iter().map(|path| (path.as_str(), 1, attempt.line)).collect(),
        _ => Vec::new(),
    });
    for (path, count, line) in read.chain(shown.filter(|(path, ..)| path.contains('/') || is_file(path))) {
        let file = files.entry(file_name(path, cwd, at)).or_default();
        file.read = file.read.saturating_add(count);
        if !file.changed && (file.line == 0 || line < file.line) {
            file.line = line;
        }
    }
    let mut files: Vec<File> =
        files.into_iter().filter(|(path, _)| !path.is_empty()).map(|(path, file)| File { path, ..file }).collect();
    files.sort_by_key(|file| (!file.changed, std::cmp::Reverse(file.read)));
    left_out(files.len().saturating_sub(MAX_FILES));
    files.truncate(MAX_FILES);
    files
}

/// The decisions that name a file.
pub(super) fn decisions(episode: &Episode, left_out: &mut impl FnMut(usize)) -> Vec<Said> {
    let named = episode.decisions.iter().filter(|decision| file_words(&decision.text).next().is_some());
    let said = |text: &str, line, at| Said { text: text.to_owned(), line, at: millis(at) };
    let mut decisions: Vec<Said> = named.map(|one| said(&one.text, one.line, one.at)).collect();
    let excess = decisions.len().saturating_sub(MAX_DECISIONS);
    left_out(excess);
    decisions.drain(..excess);
    decisions
}

/// The words of a text that are called like a file: `src/auth.rs`, `Cargo.toml`, without the marks around them and a line
/// number behind.
pub(super) fn file_words(text: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '_' | '-' | '~');
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '`' | '"' | '\''))
        .map(move |word| word.trim_matches(marks).trim_end_matches(['.', ':', '/']))
        .map(|word| word.split_once(':').map_or(word, |(file, _)| file))
        .filter(|word| is_file(word))
}

/// Whether a word has a name and an ending of letters and digits.
fn is_file(word: &str) -> bool {
    let name = super::last_part(word);
    let ending = |ending: &str| {
        (1..=MAX_ENDING_BYTES).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    word.len() <= MAX_WORD_BYTES
        && !word.contains("//")
        && name.rsplit_once('.').is_some_and(|(stem, end)| {
            ending(end) && stem.chars().any(char::is_alphanumeric) && !(stem.len() == 1 && end.len() == 1)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_called_like_files_are_found() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(file_words(text).collect::<Vec<_>>(), expected, "{text:?}");
        check(
            "Keep `src/auth.rs` (and Cargo.toml), not ./a/b.test.ts:42.",
            &["src/auth.rs", "Cargo.toml", "./a/b.test.ts"],
        );
        check("i.e. 0.5 s, e.g. version 1.2.3, see https://a.org/x.html", &[]);
        check("", &[]);
        check(".gitignore and ..", &[]);
    }
}
