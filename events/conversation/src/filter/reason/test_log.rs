//! What tests print while they run, for runners that name a test behind its output, as bun does: tests of error handling
//! print errors and pass.

use super::super::summary::count_of_fails;
use super::super::telling::{Rank, is_exception, rank, reason};

/// Begins the line of a failed test, which stands behind what the test printed.
const FAILED: &str = "(fail) ";
/// Begins an assertion that shows no values.
const BARE: &str = "error: expect(";
/// Maximum number of lines between an exception and the end of its test: the trace and two pieces of code.
const MAX_TRACE: usize = 60;
/// Heading of an error outside any test, which follows.
const UNHANDLED: &str = "# Unhandled error between tests";

/// The error of the first test that failed, with its name.
pub(super) fn failed(lines: &[&str]) -> Option<String> {
    for (at, line) in lines.iter().enumerate() {
        if let Some(test) = line.strip_prefix(FAILED) {
            let name = test.rsplit_once(" [").map_or(test, |(name, _)| name);
            let before = lines[..at].iter().rposition(|line| ends_test(line)).map_or(0, |mark| mark + 1);
            let cause = (before..at).rev().find(|&at| is_cause(lines, at));
            let cause = cause.filter(|&cause| !is_of_another(&lines[cause + 1..at]));
            // That two values differ says less than the exception that the program printed before.
            let near = before.max(at.saturating_sub(MAX_TRACE));
            let thrown = || (near..at).rev().find(|&at| is_exception(lines[at]));
            let cause =
                cause.map(|at| Some(at).filter(|&at| !lines[at].starts_with(BARE)).or_else(thrown).unwrap_or(at));
            return Some(
                cause.map_or_else(|| format!("{FAILED}{name}"), |at| format!("{name}: {}", reason(lines, at))),
            );
        }
        if *line == UNHANDLED {
            let cause = (at + 1..lines.len()).take_while(|&at| !ends_test(lines[at])).find(|&at| is_cause(lines, at));
            if let Some(cause) = cause {
                return Some(reason(lines, cause));
            }
        }
    }
    None
}

/// True if anything else stands behind the trace of an error and before the end of a test: then something else printed it.
fn is_of_another(after: &[&str]) -> bool {
    let is_trace = |line: &&&str| line.trim_start().starts_with("at ");
    let trace = after.iter().position(|line| is_trace(&line));
    trace.is_some_and(|from| !after[from..].iter().all(|line| line.trim().is_empty() || is_trace(&line)))
}

fn is_cause(lines: &[&str], at: usize) -> bool {
    rank(lines[at]) == Rank::Cause
}

/// Blanks everything that tests printed, up to the summary of their run; `is_echo` are the lines of their runners.
pub(super) fn remove(lines: &mut [&str], is_echo: impl Fn(&str) -> bool) {
    let Some(first) = lines.iter().position(|line| ends_test(line)) else { return };
    let begins = lines.iter().position(|line| line.starts_with("bun test v"));
    let last = lines.iter().rposition(|line| count_of_fails(line).is_some());
    let from = begins.unwrap_or(if last.is_some() { 0 } else { first });
    let until = last.unwrap_or(lines.len());
    let printed = lines.get_mut(from..until).into_iter().flatten();
    printed.filter(|line| !is_echo(line)).for_each(|line| *line = "");
}

/// True for the line with which the part of a test or of a file ends or begins: `(pass) adds`, `src/a.test.ts:`.
fn ends_test(line: &str) -> bool {
    let file = || line.strip_suffix(':').is_some_and(|file| is_test_file(file) && !file.contains(' '));
    line.starts_with(FAILED) || line.starts_with("(pass) ") || count_of_fails(line).is_some() || file()
}

fn is_test_file(path: &str) -> bool {
    [".test.", ".spec.", "_test.", "_spec."].iter().any(|part| path.contains(part))
}
