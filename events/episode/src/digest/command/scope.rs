//! What part of the work a step is about, and whether the success of another covers it.

use std::borrow::Cow;

use super::vocabulary::INTERPRETERS;
use super::words::{self, Word};
use super::{Command, Family, Step};

/// Parts of options with which a check fails for more.
const STRICT: [&str; 6] = ["race", "strict", "Werror", "pedantic", "sanitize", "max-warnings"];

impl Command<'_> {
    /// Returns the directory that the line changes to first; empty if it does not.
    pub(in crate::digest) fn directory(&self) -> &str {
        self.steps.first().map_or("", |step| step.directory)
    }
}

impl Step<'_> {
    /// Returns true if the success of `self` shows that `failed`, whose error is `failure`, does not fail any more: it is
    /// the same check or program, and covers the same or more.
    ///
    /// - It is as strict: `go test` says nothing of `go test -race`. git works in the same directory.
    /// - For an interpreter, the script is the same.
    /// - A check names no part, or one that contains a part that failed: a narrower check says nothing of the wider one.
    /// - For any other program with subcommands, the arguments overlap or one side has none; without subcommands they
    ///   overlap or both have none. The message of `git commit` is not an argument.
    pub(in crate::digest) fn resolves(&self, failed: &Step<'_>, failure: &str) -> bool {
        let is_elsewhere = self.program == "git" && self.git_directory() != failed.git_directory();
        if !self.is_same_check(failed) || is_elsewhere || self.is_less_than(failed) || !self.is_as_strict_as(failed) {
            return false;
        }
        let (mine, theirs) = (&self.arguments, &failed.arguments);
        if INTERPRETERS.contains(&&*self.program) {
            return match (mine.first(), theirs.first()) {
                (Some(script), Some(other)) => self.is_same_place(script, failed, other),
                (script, other) => script.is_none() && other.is_none(),
            };
        }
        let is_same = |a: &str, b: &str| self.is_same_place(a, failed, b);
        if self.family() == Family::Commit {
            return true;
        }
        if self.program == "git" && self.family() == Family::Run {
            let files = failed.failing_files(failure);
            if !files.is_empty() && !failure.contains("ignored by") {
                return files.iter().all(|file| self.text.contains(file));
            }
        }
        if self.family().is_check() {
            return mine.is_empty()
                || mine.iter().any(|part| theirs.iter().any(|failed| covers(part, failed) || is_same(part, failed)));
        }
        let overlap = mine.iter().any(|a| theirs.iter().any(|b| covers(a, b) || covers(b, a) || is_same(a, b)));
        let bare = if self.subcommand.is_some() {
            mine.is_empty() || theirs.is_empty()
        } else {
            mine.is_empty() && theirs.is_empty()
        };
        overlap || bare
    }

    /// Returns true if what failed does more: a goal says nothing of what includes it, a check that is switched off in part
    /// nothing of the rest.
    pub(in crate::digest) fn is_less_than(&self, failed: &Step<'_>) -> bool {
        let are_checks = self.family().is_check() && failed.family().is_check();
        let off = |step: &Step<'_>| switched_off(&step.in_its_environment());
        failed.implies(self) && !self.implies(failed)
            || self.skips_tests_of(failed)
            || are_checks && off(self).iter().any(|word| !off(failed).contains(word))
    }

    /// Returns true if it has all options of another that make more of what is found a failure.
    fn is_as_strict_as(&self, other: &Step<'_>) -> bool {
        let is_strict = |word: &&str| word.starts_with('-') && STRICT.iter().any(|option| word.contains(option));
        let mut strict = other.text.split_whitespace().filter(is_strict);
        strict.all(|option| self.text.split_whitespace().any(|own| own == option))
    }

    /// Returns the directory of `git -C`.
    fn git_directory(&self) -> Option<&str> {
        self.text.split_whitespace().skip_while(|word| *word != "-C").nth(1)
    }

    /// True if this check covers only part of what `failed` covered; its success proves nothing about the rest. Files
    /// beside those that failed widen it.
    pub(in crate::digest) fn narrows(&self, failed: &Step<'_>) -> bool {
        let (mine, theirs) = (&self.arguments, &failed.arguments);
        let is_same = |a: &str, b: &str| covers(a, b) || self.is_same_place(a, failed, b);
        let is_left_out = |part: &Cow<'_, str>| !mine.iter().any(|own| is_same(own, part));
        let filters = |own: &Cow<'_, str>| !own.contains(['/', '.']) && !theirs.iter().any(|part| is_same(own, part));
        let is_narrower = theirs.is_empty() || theirs.iter().any(is_left_out) || mine.iter().any(filters);
        self.family().is_check() && !mine.is_empty() && is_narrower
    }

    /// True if both cover only parts of the work, with no part in common.
    pub(in crate::digest) fn is_apart_from(&self, failed: &Step<'_>) -> bool {
        let (mine, theirs) = (&self.arguments, &failed.arguments);
        let is_shared = |part: &Cow<'_, str>| {
            theirs
                .iter()
                .any(|other| covers(part, other) || covers(other, part) || self.is_same_place(part, failed, other))
        };
        self.family().is_check() && !mine.is_empty() && !theirs.is_empty() && !mine.iter().any(is_shared)
    }

    /// Returns true if both words are the same file: `assets/build.js`, and `build.js` after `cd /srv/shop/assets`.
    fn is_same_place(&self, word: &str, other: &Step<'_>, others: &str) -> bool {
        match (self.directory.is_empty(), other.directory.is_empty()) {
            (true, true) => return bare_path(word) == bare_path(others),
            // It is unknown where one of them ran.
            (true, false) | (false, true) if bare_path(word) == bare_path(others) => return true,
            _ => {}
        }
        let place = |step: &Step<'_>, word: &str| match word.starts_with(['/', '~']) {
            true => word.to_owned(),
            false => {
                format!("{}/{}", step.directory.trim_end_matches('/'), bare_path(word)).trim_matches('/').to_owned()
            }
        };
        let (mine, theirs) = (place(self, word), place(other, others));
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        mine.trim_start_matches('/') == theirs.trim_start_matches('/') || ends(&mine, &theirs) || ends(&theirs, &mine)
    }

    /// Returns true if it is told what part of the work it is about.
    pub(in crate::digest) fn names_parts(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// Returns true for tests that are limited to folders at most: `bun test src/`.
    pub(in crate::digest) fn is_of_all_tests(&self) -> bool {
        self.family() == Family::Test && self.arguments.iter().all(|word| word.ends_with('/') || &**word == ".")
    }

    /// Returns true if both name the same file, wherever they ran.
    pub(in crate::digest) fn names_the_same_file(&self, other: &Step<'_>) -> bool {
        self.arguments.iter().any(|word| {
            word.contains('/') && other.arguments.iter().any(|o| covers(word, o) || self.is_same_place(word, other, o))
        })
    }

    /// Returns the files among its own that the error names.
    fn failing_files<'e>(&self, error: &'e str) -> Vec<&'e str> {
        let words = error.split_whitespace().map(|word| word.trim_matches(['\'', '"', ':']));
        words.filter(|word| word.contains('/') && (self.text.contains(word) || self.text.contains('…'))).collect()
    }
}

fn bare_path(word: &str) -> &str {
    word.strip_prefix("./").unwrap_or(word).trim_end_matches('/')
}

/// Returns the words of a command line that switch off a check: `--no-verify`, `SKIP=lint`.
pub(in crate::digest) fn switched_off(line: &str) -> Vec<String> {
    let parts = words::parts(line);
    let off = parts.iter().flat_map(|part| {
        let has = |name: &str| part.words.iter().any(|word| word.as_str() == name);
        let commits = has("git") && has("commit");
        let is_off = move |word: &&str| {
            let starts = ["--skip", "-DskipTests", "SKIP=", "HUSKY=0"].iter().any(|start| word.starts_with(start));
            starts || *word == "--no-verify" || commits && *word == "-n"
        };
        part.words.iter().map(Word::as_str).filter(is_off)
    });
    off.map(str::to_owned).collect()
}

/// Returns true if `part` equals or contains `inner`: `tests` contains `tests/auth.rs`, `test_auth.py` contains
/// `test_auth.py::test_login`, the filter `auth` contains `auth::login` and `session::auth`. An absolute path equals
/// the relative path at its end.
fn covers(part: &str, inner: &str) -> bool {
    let (part, inner) = (bare_path(part), bare_path(inner));
    let file = inner.split("::").next().unwrap_or(inner);
    let absolute = part.strip_prefix('/').and_then(|part| part.strip_suffix(file));
    if !file.is_empty() && absolute.is_some_and(|rest| rest.ends_with('/')) {
        return true;
    }
    let starts = inner.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']));
    let ends = inner.strip_suffix(part).is_some_and(|rest| rest.ends_with("::") || rest.ends_with('/'));
    !part.is_empty() && (starts || ends)
}
