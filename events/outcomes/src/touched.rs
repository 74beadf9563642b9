//! The files of a session, and the decisions about them.

use std::collections::BTreeMap;

use baton_episode::digest::{Action, Attempt, Episode};
use baton_events::schema::outcomes::{Decided, Ended, Excerpt, File, Move, millis};
use baton_graph::{Surroundings, file_name, renames};

/// If more files than this changed between two prompts, a decision there is attributed to none of them.
const MAX_OF_TURN: usize = 4;

/// Maximum length of a word that may be a file, in bytes.
const MAX_WORD_BYTES: usize = 200;
/// Maximum length of a file's extension, in bytes.
const MAX_ENDING_BYTES: usize = 10;

/// Adds the files of an episode to `files`, by path.
pub(super) fn note_files(files: &mut BTreeMap<String, File>, episode: &Episode, at: &Surroundings<'_>) {
    let cwd = episode.cwd.as_deref();
    for change in &episode.files_modified {
        let file = files.entry(file_name(&change.path, cwd, at)).or_default();
        file.line = if file.changed { file.line.min(change.line) } else { change.line };
        file.changed = true;
        file.added = file.added.saturating_add(change.added);
        file.removed = file.removed.saturating_add(change.removed);
    }
    for reading in &episode.files_read {
        let file = files.entry(file_name(&reading.path, cwd, at)).or_default();
        file.read = file.read.saturating_add(reading.count);
        if !file.changed && (file.line == 0 || reading.line < file.line) {
            file.line = reading.line;
        }
    }
}

/// Returns at most `most` files: changed ones before those that were only read.
pub(super) fn files(files: BTreeMap<String, File>, most: usize, left_out: &mut impl FnMut(usize)) -> Vec<File> {
    let mut files: Vec<File> =
        files.into_iter().filter(|(path, _)| !path.is_empty()).map(|(path, file)| File { path, ..file }).collect();
    files.sort_by_key(|file| (!file.changed, std::cmp::Reverse(file.read)));
    left_out(files.len().saturating_sub(most));
    files.truncate(most);
    files
}

/// Returns the renamed files, in transcript order.
pub(super) fn moves(attempts: &[Attempt<'_>], episode: &Episode, at: &Surroundings<'_>) -> Vec<Move> {
    let cwd = episode.cwd.as_deref();
    let mut moves: Vec<Move> = Vec::new();
    for attempt in attempts.iter().filter(|attempt| attempt.ended == Ended::Ok) {
        let Some(call) = attempt.call else { continue };
        moves.extend(renames(call, attempt.cwd).into_iter().map(|(from, to)| Move {
            from: file_name(&from, cwd, at),
            to: file_name(&to, cwd, at),
            line: attempt.line,
            at: millis(attempt.at),
        }));
    }
    // Files outside of the project do not matter.
    let outside = |path: &str| path.starts_with(['/', '~']) || path.starts_with("..");
    moves.retain(|one| one.from != one.to && !(outside(&one.from) && outside(&one.to)));
    moves
}

/// Returns the decisions that name a file, or were made between two prompts together with changes to a few files.
pub(super) fn decisions(attempts: &[Attempt<'_>], episode: &Episode, at: &Surroundings<'_>) -> Vec<Decided> {
    let cwd = episode.cwd.as_deref();
    let turn = |line: u64| episode.prompts.partition_point(|prompt| prompt.line <= line);
    let mut of_turn: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for attempt in attempts.iter().filter(|attempt| attempt.ended == Ended::Ok) {
        let Action::Edit(path) = attempt.what else { continue };
        let files = of_turn.entry(turn(attempt.line)).or_default();
        let path = file_name(path, cwd, at);
        if files.len() <= MAX_OF_TURN && !files.contains(&path) {
            files.push(path);
        }
    }
    let mut decisions: Vec<Decided> = Vec::new();
    for decision in &episode.decisions {
        let files = of_turn.get(&turn(decision.line)).filter(|files| files.len() <= MAX_OF_TURN).cloned();
        let names_one = file_words(&decision.text).next().is_some();
        // A decision that names a file is about that file only.
        let files = files.filter(|_| !names_one).unwrap_or_default();
        if names_one || !files.is_empty() {
            let excerpt = Excerpt { text: decision.text.clone(), line: decision.line, at: millis(decision.at) };
            decisions.push(Decided { excerpt, files });
        }
    }
    decisions
}

/// Returns the words of a text that look like files: `src/auth.rs`, `Cargo.toml`, without surrounding punctuation and a
/// trailing line number.
pub(super) fn file_words(text: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '_' | '-' | '~');
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '`' | '"' | '\''))
        .map(move |word| word.trim_matches(marks).trim_end_matches(['.', ':', '/']))
        .map(|word| word.split_once(':').map_or(word, |(file, _)| file))
        .filter(|word| is_file(word))
}

/// Returns true if a word has a stem and an alphanumeric extension.
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
