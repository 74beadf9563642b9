//! The telling line of a failed output: the one that says what went wrong, not a tool's preamble or a runner's echo.
//!
//! Lines are ranked by kind, and the first of the best rank is taken. A reason found inside a test gets the test's name
//! before it, because `assertion failed` alone does not say where.
//!
//! # Decisions
//!
//! - [`telling_line`] is part of the hashed line of an item, so its choice never changes.
//!   [`reason`](super::reason) chooses better and is only for what is not hashed.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memchr_iter;

use super::one_line;
use baton_words::WordList;

/// Beginning of the line by which a wrapper says that its command failed: `FAILED: git commit`.
pub(super) const WRAPPER_FAILED: &str = "FAILED: ";
/// Longest result, in characters.
pub(super) const MAX_CHARS: usize = 300;
/// Longest name of a test before a reason, in characters.
const MAX_NAME_CHARS: usize = 160;
/// Longest value of a comparison, in characters.
const MAX_VALUE_CHARS: usize = 80;
/// Most words of a line that is only a place.
const MAX_PLACE_WORDS: usize = 4;
/// Most lines of an output that are searched.
pub(super) const MAX_LINES: usize = 4_000;
/// Most lines between a heading and its reason.
const MAX_AHEAD: usize = 12;

/// Kind of a line; earlier ones tell more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    /// The cause: a compiler's error, a panic's message, an exception, a failed assertion.
    Cause,
    /// A place, or something that is missing.
    Hint,
    /// A statement that something failed.
    Failure,
    /// Some other mention of errors.
    Mention,
    /// A repetition of an earlier failure: `make: *** Error 2`, `npm ERR! code ELIFECYCLE`.
    Echo,
    /// Anything else.
    Other,
    /// Output of a tool before it works.
    Preamble,
}

/// Returns the telling line, with at most 300 characters; `None` if the output has no words. The text must be redacted
/// already.
pub fn telling_line(text: &str) -> Option<String> {
    best_line(text).map(|(_, line)| line)
}

fn best_line(text: &str) -> Option<(Rank, String)> {
    best_of(&text.lines().take(MAX_LINES).map(bare).collect::<Vec<_>>(), rank)
}

pub(super) fn best_of(lines: &[&str], rank: fn(&str) -> Rank) -> Option<(Rank, String)> {
    let mut ranked = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.chars().any(char::is_alphanumeric) && !line.starts_with("Exit code "))
        .map(|(at, line)| (rank(line), at));
    // Nothing ranks above a cause.
    let best = ranked.try_fold(None, |best: Option<(Rank, usize)>, line| match line {
        (Rank::Cause, _) => Err(line),
        _ => Ok(Some(best.map_or(line, |best| best.min(line)))),
    });
    let (rank, at) = best.unwrap_or_else(Some)?;
    let reason = reason(lines, at);
    let name = test_of(lines, at).filter(|name| !reason.contains(&**name));
    let text = match name {
        Some(name) => format!("{}: {reason}", one_line(&name, MAX_NAME_CHARS)),
        None => reason,
    };
    Some((rank, one_line(&text, MAX_CHARS)))
}

/// The line without the tags around it.
pub(super) fn bare(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(rest) = line.strip_prefix("<tool_use_error>") {
        line = rest;
    }
    while let Some(rest) = line.strip_suffix("</tool_use_error>") {
        line = rest;
    }
    line.trim()
}

pub(super) fn rank(line: &str) -> Rank {
    // Few lines have any of these parts.
    let may_have = PARTS.is_match(line);
    let has = |parts: &[&str]| may_have && parts.iter().any(|part| line.contains(part));
    if PREAMBLES.begins(line) || has(SESSION_STARTS) {
        return Rank::Preamble;
    }
    if PASSED_STARTS.begins(line) || line.ends_with(" ok") || has(&[PASSED]) {
        return Rank::Other;
    }
    if ECHO_STARTS.begins(line) || has(ECHOES) {
        return Rank::Echo;
    }
    if CAUSE_STARTS.begins(line) || has(CAUSES) || pytest_reason(line).is_some() || is_exception(line) {
        return Rank::Cause;
    }
    if has(&HINTS) || is_located(line) {
        return Rank::Hint;
    }
    let failed = || failed_test(line).is_some() || has(FAILURES) && !line.contains(" 0 failed");
    if FAILURE_STARTS.begins(line) || may_have && failed() {
        return Rank::Failure;
    }
    if MENTION_STARTS.begins(line) || has(MENTIONS) {
        return Rank::Mention;
    }
    Rank::Other
}

/// Returns what finds whether a line has any of these parts, in one pass.
pub(super) fn finder<'p>(parts: impl IntoIterator<Item = &'p str>) -> AhoCorasick {
    let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(parts);
    finder.expect("parts of bounded number and length always build")
}

/// Finds any of the parts of lines that the rank depends on.
static PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let lists: [&[&str]; 7] = [SESSION_STARTS, &[PASSED], ECHOES, CAUSES, &HINTS, FAILURES, MENTIONS];
    finder(lists.into_iter().flatten().copied())
});

/// The numbers after a file with which a linter's line begins: 1 for `lib/a.ex:12:no_return`, 2 for `at src/a.ts:30:2
/// lint/useKey`.
pub(super) fn finding(line: &str) -> Option<usize> {
    let place = line.strip_prefix("at ").unwrap_or(line).split_whitespace().next()?;
    let mut parts = place.split(':');
    let file = parts.next().filter(|file| file.contains('/') && file.contains('.') && !file.contains("//"))?;
    let numbers = parts.take_while(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())).count();
    (numbers > 0 && !file.starts_with('(')).then_some(numbers)
}

/// Beginnings of lines that name a cause.
static CAUSE_STARTS: WordList = WordList::new(crate::WORDS, "cause starts");
/// Parts of lines that name a cause.
const CAUSES: &[&str] =
    &[" panicked at ", ": error: ", ": fatal error: ", " - error TS", ": error TS", "  error  ", ": Error: "];
/// Parts of lines that name a place or something missing.
static HINTS: WordList = WordList::new(crate::WORDS, "hints");
/// Beginnings of lines that say that something failed.
pub(super) static FAILURE_STARTS: WordList = WordList::new(crate::WORDS, "failure starts");
const FAILURES: &[&str] = &["FAILED", " failed", "Failed to ", " not found"];
/// Beginnings of lines that mention an error otherwise.
static MENTION_STARTS: WordList = WordList::new(crate::WORDS, "mention starts");
const MENTIONS: &[&str] = &["error:", "Error:", "ERROR", "error[", "Exception:", "denied", "nvalid "];
/// Beginnings of lines that only repeat a failure.
static ECHO_STARTS: WordList = WordList::new(crate::WORDS, "echo starts");
const ECHOES: &[&str] = &["ELIFECYCLE", "Command failed with exit code", " aborting due to "];
static PREAMBLES: WordList = WordList::new(crate::WORDS, "preambles");
const SESSION_STARTS: &[&str] = &[" test session starts ", "====="];

/// Beginnings of lines that report a success, and what stands in others that do.
static PASSED_STARTS: WordList = WordList::new(crate::WORDS, "passed starts");
const PASSED: &str = " PASSED";

/// The reason in a pytest line: the text after `E` and at least two spaces.
fn pytest_reason(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("E  ")?.trim_start();
    (!rest.is_empty()).then_some(rest)
}

/// True if the line begins with an exception: `pkg.mod.SomeError: why`, `SomeException`.
pub(super) fn is_exception(line: &str) -> bool {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if !name.ends_with("Error") && !name.ends_with("Exception") {
        return false;
    }
    let class = name.rsplit('.').next().unwrap_or(name);
    class.starts_with(char::is_uppercase)
        && class.len() > "Error".len()
        && (rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" ["))
}

/// True if the line begins with a place: `src/a.rs:12:5: why`.
fn is_located(line: &str) -> bool {
    let mut colons = memchr_iter(b':', line.as_bytes());
    let Some(end) = colons.find(|at| line.as_bytes().get(at + 1) == Some(&b' ')) else { return false };
    let mut parts = line[..end].rsplit(':');
    let number =
        |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let dotted = |part: Option<&str>| part.is_some_and(|part| part.contains('.') && !part.contains(' '));
    number(parts.next()) && number(parts.next()) && dotted(parts.next())
}

/// The text of the line at `at`, with the next line if it is only a heading.
pub(super) fn reason(lines: &[&str], at: usize) -> String {
    let line = lines[at];
    let ahead = || lines[at + 1..].iter().take(MAX_AHEAD).filter(|line| line.chars().any(char::is_alphanumeric));
    if let Some(reason) = pytest_reason(line) {
        return reason.to_owned();
    }
    // New panics have the message on the next line, old ones in quotes on the same line.
    if line.contains(" panicked at ") && line.ends_with(':') {
        let message = (at + 1..lines.len().min(at + MAX_AHEAD)).find(|&at| !lines[at].is_empty());
        return message.map_or_else(|| line.to_owned(), |at| with_values(lines, at));
    }
    if let Some(name) = line.strip_prefix("--- FAIL: ") {
        let name = name.split(' ').next().unwrap_or(name);
        let message = ahead().next().filter(|line| !line.starts_with("---") && !line.starts_with("FAIL"));
        return message.map_or_else(|| line.to_owned(), |message| format!("{name}: {message}"));
    }
    if line.ends_with(':') && !line.starts_with("failures:") {
        return ahead().next().map_or_else(|| line.to_owned(), |next| format!("{line} {next}"));
    }
    // A linter's place without a message: the message follows.
    if finding(line).is_some() && !line.contains(": ") && line.split_whitespace().count() <= MAX_PLACE_WORDS {
        return ahead().next().map_or_else(|| line.to_owned(), |next| format!("{line} {next}"));
    }
    with_values(lines, at)
}

/// The line of a failed assertion with the two values below it.
fn with_values(lines: &[&str], at: usize) -> String {
    let mut text = lines[at].to_owned();
    if !["expect(", "assertion ", "Assertion "].iter().any(|start| text.starts_with(start)) {
        return text;
    }
    for sides in VALUES {
        let values = lines[at + 1..].iter().take(MAX_AHEAD);
        let mut values =
            values.filter(|line| sides.iter().any(|side| line.starts_with(side) && line.len() > side.len()));
        if let Some(first) = values.next() {
            let start =
                if text.starts_with("expect(") && first.starts_with("Expected") { String::new() } else { text + ", " };
            text = start + &one_line(first.trim_end_matches(','), MAX_VALUE_CHARS);
            if let Some(second) = values.next() {
                text = format!("{text}, {}", one_line(second.trim_end_matches(','), MAX_VALUE_CHARS));
            }
            return text;
        }
    }
    text
}

/// Beginnings of the two values below an assertion, for Rust and Elixir, and for jest.
const VALUES: &[[&str; 2]] = &[["left:", "right:"], ["Expected", "Received"], ["-   ", "+   "]];

/// The test that the reason at `at` belongs to, if the output names one.
fn test_of<'t>(lines: &[&'t str], at: usize) -> Option<Cow<'t, str>> {
    let line = lines[at];
    if failed_test(line).is_some() || rank(line) > Rank::Hint {
        return None;
    }
    if let Some((thread, _)) = line.split_once(" panicked at ") {
        let name = thread.split('\'').nth(1).unwrap_or_default();
        let own = !matches!(name, "" | "main" | "<unnamed>") && !name.starts_with("tokio");
        let known = || lines[..at].iter().any(|line| failed_test(line) == Some(name));
        if own && known() {
            return Some(Cow::Owned(format!("test {name}")));
        }
    }
    lines[..at].iter().rev().find_map(|line| heading(line)).map(Cow::Borrowed)
}

/// Name of the test whose failure this line introduces: jest's `● suite › test`, ExUnit's `1) test x (Mod)`, pytest's
/// `____ test_x ____`.
fn heading(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("● ") {
        return Some(name.trim()).filter(|name| *name != "Test suite failed to run");
    }
    if let Some((number, name)) = line.split_once(") ")
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && (name.starts_with("test ") || name.starts_with("property "))
    {
        return Some(name);
    }
    let name = line.strip_prefix("___")?.strip_suffix("___")?.trim_matches(['_', ' ']);
    (!name.is_empty()).then_some(name)
}

/// Name of a failed test in a list of results.
pub(super) fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
    name.or_else(|| line.split_once(" FAILED").map(|(name, _)| name).filter(|name| name.contains("::")))
}

#[cfg(test)]
mod tests;
