//! Lines by which a test, build or linter sums up how a run went.

use baton_words::WordList;

/// True if the line is the summary of a successful run, false if of a failed one.
pub(super) fn summary(line: &str) -> Option<bool> {
    if let Some(counts) = labelled(line) {
        return counts;
    }
    match count_of_fails(line) {
        Some(0) => Some(true),
        Some(_) => Some(false),
        None if RUNNERS.iter().any(|start| line.starts_with(start))
            || line.contains(EMITTED)
            || counts_errors(line) =>
        {
            Some(false)
        }
        None => stored_summary(line),
    }
}

/// True if a line of a label and counts has a number of errors first: `Lint: 2 errors, 1 warnings`.
fn counts_errors(line: &str) -> bool {
    let Some((label, counts)) = line.split_once(": ") else { return false };
    let Some((count, what)) = counts.split_once(' ') else { return false };
    let rest = what.strip_prefix("errors").or_else(|| what.strip_prefix("error"));
    label.chars().all(char::is_alphanumeric)
        && count.parse::<u64>().is_ok_and(|count| count > 0)
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", ") || rest.starts_with(" in "))
}

/// The number in ` 3 fail`: bun prints the counts of passed and of failed tests on lines of their own.
pub(super) fn count_of_fails(line: &str) -> Option<u64> {
    line.trim().strip_suffix(" fail")?.trim().parse().ok()
}

/// How a run of tests went whose counts have labels, if the line has them: `[INFO] Tests run: 9, Failures: 0, Errors: 0`. One
/// of a part of the tests that passed says nothing of the whole.
fn labelled(line: &str) -> Option<Option<bool>> {
    let line = line.trim();
    let counts = line.split_once("] ").filter(|_| line.starts_with('[')).map_or(line, |(_, rest)| rest);
    let is_run = counts.starts_with("Tests run: ") || counts.starts_with("Tests: ") && counts.contains("Assertions: ");
    if !is_run {
        return None;
    }
    let count = |label: &str| {
        let (_, rest) = counts.split_once(label)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    if ["Failures: ", "Errors: "].into_iter().any(|label| count(label).is_some_and(|count| count > 0)) {
        return Some(Some(false));
    }
    let ran = count("Tests run: ").or_else(|| count("Tests: ")).is_some_and(|count| count > 0);
    Some((ran && !counts.contains("Time elapsed")).then_some(true))
}

/// How a run of tests went, if the line is its summary.
pub(super) fn tests(line: &str) -> Option<bool> {
    let line = line.trim();
    if let Some(counts) = labelled(line) {
        return counts;
    }
    let result = || line.strip_prefix("test result: ").map(|rest| rest.starts_with("ok"));
    count_of_fails(line).map(|count| count == 0).or_else(result).or_else(|| counted(line))
}

/// True for a line that only counts what passed or was done: `1365 pass`.
pub(super) fn counts_successes(line: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix("Ran ").unwrap_or(line);
    // A number may have a sign.
    if !line.starts_with(|c: char| c.is_ascii_digit() || c == '+') {
        return false;
    }
    let Some((count, what)) = line.split_once(' ') else { return false };
    let counts = ["pass", "passed", "passing", "skip", "todo", "expect() calls"].contains(&what);
    count.parse::<u64>().is_ok_and(|count| counts || what.starts_with("tests across ") || count == 0 && what == "fail")
}

/// True for a line with which a runner, a hook or a wrapper ends after a program that failed: `[vite] exited with code 1`,
/// `husky - pre-commit script failed (code 2)`.
pub(super) fn ends_badly(line: &str) -> bool {
    let code =
        ["exited with code ", "failed (code ", "failed with exit code "].iter().find_map(|how| line.split_once(how));
    code.is_some_and(|(_, code)| code.trim_end_matches(['.', ')', '"']).parse::<i32>().is_ok_and(|code| code != 0))
}

/// Beginnings of lines by which a runner of scripts reports that one failed.
const RUNNERS: &[&str] = &[
    "error: script ",
    "error: recipe ",
    "error Command failed with exit code",
    "husky - pre-",
    "[ERROR] Failed to execute goal",
    "[ERROR] See ",
];

/// Part of the line by which a linter reports that it failed.
const EMITTED: &str = " errors were emitted while ";

/// True for the line in which a linter counts what it looked at: it passed, unless another line counts errors.
pub(super) fn counts_checks(line: &str) -> bool {
    let count = line.strip_prefix("Checked ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    count && [" fixes applied.", " file.", " files."].iter().any(|end| line.ends_with(end))
}

/// As [`summary`] was when the form of a stored line was set.
pub(super) fn stored_summary(line: &str) -> Option<bool> {
    let warns = || line.starts_with("✖ ") && line.contains("(0 errors");
    if (BROKEN.begins(line) && !warns()) || line.contains(": error TS") {
        return Some(false);
    }
    if WHOLE.begins(line) {
        return Some(true);
    }
    if let Some(rest) = line.strip_prefix("test result: ") {
        return Some(rest.starts_with("ok"));
    }
    counted(line)
}

/// Beginnings of lines that report the failure of a whole run.
static BROKEN: WordList = WordList::new(crate::WORDS, "broken summaries");
/// Beginnings of lines that report the success of a whole run.
static WHOLE: WordList = WordList::new(crate::WORDS, "whole summaries");

/// Counts of passed and failed tests in many runners' forms: `Tests: 3 failed, 20 passed`, `=== 3 failed, 10 passed in
/// 0.12s ===`, `Tests  4 passed (4)`, `12 tests, 0 failures`, `Found 3 errors`, `# fail 0`.
fn counted(line: &str) -> Option<bool> {
    let line = line.trim_matches(['=', ' ']);
    let after = |start: &str| {
        let (begin, rest) = line.split_at_checked(start.len())?;
        begin.eq_ignore_ascii_case(start).then_some(rest)
    };
    if let Some(count) = after("# fail ").or_else(|| after("ℹ fail ")) {
        return count.trim().parse::<u64>().ok().map(|count| count == 0);
    }
    let is_summary = line.starts_with(|c: char| c.is_ascii_digit())
        || ["tests:", "tests ", "test suites:", "test files ", "found "].iter().any(|one| after(one).is_some());
    if !is_summary || line.len() > 160 {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | ';' | '(' | ')')).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let (mut good, mut bad, mut known) = (0, 0, 0);
    for pair in words.windows(2) {
        let Ok(count) = pair[0].parse::<u64>() else { continue };
        match pair[1].trim_end_matches(['.', ':']) {
            "passed" | "passing" | "pass" => (good, known) = (good + count, known + 1),
            "failed" | "failing" | "failure" | "failures" | "error" | "errors" => {
                (bad, known) = (bad + count, known + 1);
            }
            "tests" | "test" | "examples" | "runs" | "assertions" => good += count,
            _ => {}
        }
    }
    match known {
        0 => None,
        // Nothing was run, or only a number of zero errors is given.
        _ if bad > 0 => Some(false),
        _ => (good > 0).then_some(true),
    }
}
