//! The result that a test, build or linter reports in its output, for when a pipe hides its exit code.

use super::reason::reason_line;
use super::summary::{counts_checks, ends_badly, stored_summary, summary, tests};
use super::telling::WRAPPER_FAILED;
use super::telling::telling_line;
use crate::item::Verdict;

/// Most lines at the end of an output that are searched: a run's summary is there.
const MAX_LINES: usize = 60;
/// Most lines at the end of an output that a runner, a hook or a wrapper adds.
const MAX_LAST_LINES: usize = 3;
/// Longest name of a script, in bytes.
const MAX_SCRIPT_BYTES: usize = 60;
/// Beginnings of lines in which a runner names a script that failed, up to its name.
const SCRIPT_FAILED: [&str; 4] =
    ["error: script \"", "error: recipe `", "npm error Lifecycle script `", "npm ERR! Lifecycle script `"];
/// Most lines at the beginning of an output among which a wrapper says that what it ran failed.
const MAX_FIRST_LINES: usize = 5;
/// Marks in the stored line of a result.
const PASSED: &str = ", says passed";
const FAILED: &str = ", says failed";

impl Verdict {
    /// Searches an output, redacted and without colours. `None` unless a known summary is near its end; if one summary
    /// reports a failure and another a success, it failed. It also failed if its first or last lines say so.
    pub(crate) fn find(output: &str) -> Option<Self> {
        let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
        let fails = lines().take(MAX_FIRST_LINES).any(|line| line.starts_with(WRAPPER_FAILED))
            || lines().rev().take(MAX_LAST_LINES).any(ends_badly);
        match fails {
            true => Some(Self::Failed(reason_line(output).unwrap_or_default())),
            false => {
                Self::by(output, |line| summary(line).or_else(|| counts_checks(line).then_some(true)), reason_line)
            }
        }
    }

    /// Name of the script that a runner says has failed: `error: script "lint" exited with code 1`.
    pub(crate) fn failed_script(output: &str) -> Option<String> {
        let named = |line: &str| {
            let rest = SCRIPT_FAILED.iter().find_map(|start| line.trim().strip_prefix(start))?;
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || "-_:.".contains(*c)).collect();
            (!name.is_empty() && name.len() <= MAX_SCRIPT_BYTES).then_some(name)
        };
        output.lines().rev().take(MAX_LINES).find_map(named)
    }

    /// Failure of a command line whose last part prints the exit code of the one before: `make; echo "exit: $?"`.
    pub(crate) fn printed(line: &str, output: &str) -> Option<Self> {
        let part = line.trim_end().rsplit([';', '&', '|', '\n']).next().unwrap_or_default().trim();
        let shown = part.strip_prefix("echo ")?.trim().trim_matches(['"', '\'']);
        let (before, after) = shown.split_once("$?")?;
        let code = |line: &str| {
            line.trim().strip_prefix(before.trim_start())?.strip_suffix(after.trim_end())?.trim().parse::<u8>().ok()
        };
        let code = output.lines().rev().filter(|line| !line.trim().is_empty()).take(MAX_LAST_LINES).find_map(code)?;
        (code > 0).then(|| Self::Failed(reason_line(output).unwrap_or_default()))
    }

    /// True if a run of tests in the output ended well, and none badly: then another program of the line failed.
    pub(crate) fn tests_passed(output: &str) -> bool {
        let mut counts = output.lines().filter_map(tests).peekable();
        counts.peek().is_some() && counts.all(|passed| passed)
    }

    /// As [`find`](Self::find) was when the form of a result's stored line was set, for that line, which is hashed.
    pub(crate) fn find_for_line(output: &str) -> Option<Self> {
        Self::by(output, stored_summary, telling_line)
    }

    fn by(output: &str, summary: fn(&str) -> Option<bool>, line_of: fn(&str) -> Option<String>) -> Option<Self> {
        let lines = output.lines().rev().take(MAX_LINES).map(str::trim).filter(|line| !line.is_empty());
        let mut passed = false;
        for line in lines {
            match summary(line) {
                Some(false) => return Some(Self::Failed(line_of(output).unwrap_or_default())),
                Some(true) => passed = true,
                None => {}
            }
        }
        passed.then_some(Self::Passed)
    }

    /// The form at the end of the stored line of a result.
    pub(crate) fn suffix(&self) -> String {
        match self {
            Self::Passed => PASSED.to_owned(),
            Self::Failed(line) if line.is_empty() => FAILED.to_owned(),
            Self::Failed(line) => format!("{FAILED}: {line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_that_is_printed_tells_a_failure() {
        let check = |line: &str, output: &str, fails: bool| {
            assert_eq!(Verdict::printed(line, output).is_some(), fails, "{line:?}: {output:?}");
        };
        check("make lift; echo \"exit: $?\"", "winding\nexit: 139\n", true);
        check("make lift; echo EXIT=$?", "EXIT=1", true);
        check("make lift; echo $?", "winding\n1\n\n", true);
        check("make lift\necho 'code '$?", "code 2", false);
        check("make lift; echo \"exit: $?\"", "winding\nexit: 0", false);
        check("make lift; echo \"exit: $?\"", "exit: 2\na\nb\nc\nd", false);
        check("make lift; echo done", "done", false);
        check("make lift; echo $?", "300", false);
        check("", "1", false);
    }

    #[test]
    fn an_output_says_how_it_went() {
        let check = |output: &str, expected: Option<bool>| {
            let found = Verdict::find(output);
            assert_eq!(found.as_ref().map(|verdict| *verdict == Verdict::Passed), expected, "{output:?} {found:?}");
        };
        for passed in [
            "test a ... ok\n\ntest result: ok. 41 passed; 0 failed; 0 ignored",
            "Tests:       20 passed, 20 total\nTime: 3 s",
            " Test Files  1 passed (1)\n      Tests  4 passed (4)\n   Duration  1.2s",
            "============= 10 passed, 2 skipped in 0.12s =============",
            "10 passed in 0.12s",
            "Finished in 0.03 seconds\n12 tests, 0 failures",
            "5 examples, 0 failures, 1 pending",
            "  20 passing (34ms)",
            "# pass 3\n# fail 0",
            "Success: no issues found in 5 source files",
            "All checks passed!",
            "    Finished `dev` profile [unoptimized] target(s) in 0.1s",
            "Ran 3 tests in 0.1s\n\nOK (skipped=1)",
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.B\n[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0",
            "Checked 9 files in 12ms. No fixes applied.",
            "Checked 9 files in 12ms. Fixed 1 file.",
        ] {
            check(passed, Some(true));
        }
        for failed in [
            "test result: FAILED. 3 passed; 1 failed",
            "test result: ok. 3 passed; 0 failed\ntest result: FAILED. 0 passed; 1 failed\nerror: test failed, to rerun",
            "Tests: 3 failed, 4 passed\nTypeError: parse is not iterable",
            "      Tests  1 failed | 4 passed (5)",
            "Tests run: 9, Failures: 0, Errors: 1, Skipped: 0",
            "Tests: 5, Assertions: 6, Failures: 1.",
            "a\n[ERROR] See /a/target/surefire-reports for the individual test results.",
            "=== 3 failed, 10 passed in 0.12s ===",
            "1 failed, 2 errors in 1.1s",
            "12 tests, 3 failures",
            "  2 failing",
            "src/a.ts:3:1 - x\nFound 3 errors in 2 files (checked 9 source files)",
            "error: could not compile `auth`",
            "a.ts(3,1): error TS2345: no",
            "npm ERR! Test failed.",
            "# fail 2",
            "Lint: 2 errors, 1 warnings\n═══",
            "TypeScript: 1 error in 1 files",
            "Checked 9 files in 12ms. No fixes applied.\nFound 1 error.",
            "Checked 9 files in 12ms. Fixed 2 files.\nFound 1 error.\n × Some errors were emitted while applying fixes.",
        ] {
            check(failed, Some(false));
        }
        for nothing in [
            "",
            "done",
            "I passed 3 tests and 2 failed ones",
            "12 tests",
            "Lint: 0 errors, 1 warnings",
            "The log: 2 errors, one old",
            "running 3 tests",
            "0 passed in 0.1s",
            "[INFO] Tests run: 7, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.B",
            "Found 3 files",
            "2026-03-14 errors were seen",
            "FAIL is a word",
        ] {
            check(nothing, None);
        }
        let Some(Verdict::Failed(line)) = Verdict::find("Tests: 3 failed, 4 passed\nTypeError: parse is not iterable")
        else {
            panic!("it failed")
        };
        assert_eq!(line, "TypeError: parse is not iterable");
        for last in [
            "error: recipe `web` failed on line 3 with exit code 2",
            "[web] exited with code 1",
            "hook failed (code 2)",
        ] {
            check(&format!("all fine\n{last}\n"), Some(false));
        }
        check("FAILED: git commit\n$ lint\nok\n", Some(false));
        check("[web] exited with code 0", None);
        check("it exited with code 3\na\nb\nc\nd", None);
        assert_eq!(
            Verdict::failed_script("x\nerror: script \"lint:ci\" exited with code 1").as_deref(),
            Some("lint:ci")
        );
        assert_eq!(Verdict::failed_script("a script failed"), None);
        assert!(
            Verdict::tests_passed(" 3 pass\n 0 fail\nsrc/a.ts: unused")
                && !Verdict::tests_passed("12 passed, 1 failed")
        );
        assert!(!Verdict::tests_passed("no tests"));
        // The form that is hashed does not know bun's.
        let bun = " 1348 pass\n 3 fail\nRan 1351 tests";
        check(bun, Some(false));
        assert_eq!(Verdict::find_for_line(bun), Some(Verdict::Passed));
        check("error: script \"lint\" exited with code 1", Some(false));
    }
}
