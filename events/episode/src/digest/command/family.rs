//! What a program of a command line checks or brings about, so that different commands for the same thing compare.

use super::vocabulary::{
    CHANGERS, CHANGING, FAMILIES, FIXING, Family, GIT_CHANGING, GOALS, IMPLIED, REPORTING, RUNNERS, SKIPPING,
    TOOLCHAINS, VIEWING, lists,
};
use super::{Pipe, Step, words};

impl Family {
    /// Returns true for a test, build or lint.
    pub(in crate::digest) fn is_check(self) -> bool {
        matches!(self, Self::Build | Self::Test | Self::Lint | Self::Types | Self::Format | Self::Check)
    }

    pub(in crate::digest) fn check_kind(self) -> Option<&'static str> {
        match self {
            Self::Test => Some("test"),
            Self::Build => Some("build"),
            Self::Lint => Some("lint"),
            Self::Types => Some("types"),
            Self::Format => Some("format"),
            Self::Check => Some("check"),
            Self::Install | Self::Commit | Self::Merge | Self::Push | Self::Run => None,
        }
    }

    /// Returns true if its programs print nothing that matters unless something is wrong.
    pub(in crate::digest) fn is_silent(self) -> bool {
        matches!(self, Self::Build | Self::Format)
    }
}

/// What a program of a command line checks.
pub struct Check {
    /// `test`, `build`, `lint`, `types`, `format` or `check`.
    pub kind: &'static str,
    /// True if it mends what it finds.
    pub mends: bool,
    /// True if it is told what part of the work to check.
    pub names_parts: bool,
}

/// Returns what the programs of a command line check.
pub fn checks(line: &str) -> Vec<Check> {
    let steps = words::parts(line).into_iter().filter_map(|part| Step::read(part.words, Pipe::None, part.joint));
    let check = |step: Step<'_>| {
        Some(Check { kind: step.family().check_kind()?, mends: step.mends(), names_parts: step.names_parts() })
    };
    steps.filter_map(check).collect()
}

/// Returns what a program checks, by its name and subcommand (`cargo test`); `None` if it is no check.
pub fn check_kind(name: &str) -> Option<&'static str> {
    let part = words::parts(name).into_iter().next()?;
    Step::read(part.words, Pipe::None, part.joint)?.family().check_kind()
}

/// Returns words by which programs that check this kind are known.
pub fn check_words(kind: &str) -> impl Iterator<Item = &'static str> {
    let of_kind = FAMILIES.iter().filter(move |(family, ..)| family.check_kind() == Some(kind));
    of_kind.flat_map(|(_, endings, programs)| endings.split(' ').chain(programs.split(' '))).filter(|it| !it.is_empty())
}

impl Step<'_> {
    /// Returns what it checks or brings about.
    pub(in crate::digest) fn family(&self) -> Family {
        self.family
    }

    /// Returns the place of one of its words among the goals of its program.
    fn goal(&self, word: &str) -> Option<usize> {
        let (_, goals) = GOALS.iter().find(|(programs, _)| lists(programs, &self.program))?;
        goals.split(' ').position(|goal| goal == word)
    }

    /// Determines its subcommand, if it has several, and its family.
    pub(super) fn settle(&mut self) {
        self.take_last_goal();
        self.family = self.classify();
    }

    /// Makes the goal that includes the others its subcommand.
    fn take_last_goal(&mut self) {
        let last = self.arguments.iter().filter_map(|word| Some((self.goal(word)?, word.clone()))).max();
        let mine = self.subcommand.as_deref().and_then(|word| self.goal(word));
        let Some((_, word)) = last.filter(|(place, _)| mine.is_none_or(|mine| mine < *place)) else { return };
        self.subcommand = Some(word);
        let arguments = std::mem::take(&mut self.arguments);
        self.arguments = arguments.into_iter().filter(|word| self.goal(word).is_none()).collect();
    }

    /// Determines that from its program and subcommand.
    fn classify(&self) -> Family {
        let subcommand = self.subcommand.as_deref();
        if self.program == "git" {
            return match subcommand {
                Some("commit") => Family::Commit,
                Some("push") => Family::Push,
                Some("merge" | "rebase" | "cherry-pick" | "pull" | "revert" | "am") => Family::Merge,
                _ => Family::Run,
            };
        }
        let tells = |endings: &str| {
            let ends = |word: &str| endings.split(' ').any(|ending| word.trim_end_matches('s').ends_with(ending));
            let ends = |word: &str| ends(word) || lists(endings, word);
            subcommand.is_some_and(|name| ends(name) || name.split(|c: char| !c.is_alphanumeric()).any(ends))
        };
        let family = FAMILIES.iter().find(|(_, endings, programs)| lists(programs, &self.program) || tells(endings));
        match family {
            // `mvn install` installs what it has built and tested.
            Some((Family::Install, ..)) | None if subcommand.is_some_and(|name| self.goal(name).is_some()) => {
                Family::Build
            }
            // `ruff format` formats.
            Some((Family::Lint, ..)) if subcommand == Some("format") => Family::Format,
            // `cargo check` compiles.
            Some((Family::Check, ..)) if self.program == "cargo" => Family::Build,
            Some((family, ..)) => *family,
            None if self.program == "make" && subcommand.is_none_or(|target| target == "all") => Family::Build,
            None if self.installs() => Family::Install,
            None => Family::Run,
        }
    }

    fn installs(&self) -> bool {
        let named = |names: &[&str]| self.subcommand.as_deref().is_some_and(|sub| names.contains(&sub));
        match &*self.program {
            "npm" | "pnpm" | "yarn" | "bun" => named(&["install", "add", "ci"]),
            "cargo" | "uv" | "poetry" | "composer" => named(&["add"]),
            "go" => named(&["get", "mod"]),
            _ => false,
        }
    }

    /// Returns true if it mends what a check of its family finds: `lint:fix`, `biome check --write`, `mix format`.
    pub(in crate::digest) fn mends(&self) -> bool {
        let named =
            self.subcommand.as_deref().is_some_and(|name| name.split([':', '-', '.']).any(|word| word == "fix"));
        let has = |flags: &[&str]| self.flags().any(|flag| flags.contains(&flag));
        match self.family() {
            Family::Format => !has(&REPORTING),
            Family::Lint | Family::Check | Family::Types => named || has(&FIXING),
            _ => named && self.subcommand.is_some(),
        }
    }

    /// Returns true if it may change what a later run finds.
    pub(in crate::digest) fn is_mutating(&self) -> bool {
        let family = self.family();
        if self.asks || family.is_check() {
            return !self.asks && self.mends();
        }
        let ends = |name: &str| name.split([':', '.', '-']).any(|word| CHANGING.has(word));
        match (&*self.program, self.subcommand.as_deref()) {
            ("git", Some(subcommand)) => GIT_CHANGING.has(subcommand),
            ("sed" | "perl", _) => self.flags().any(|flag| flag.starts_with("-i") || flag == "-pi"),
            // Starts an application.
            ("open", _) => self.flags().any(|flag| flag == "-a"),
            (program, subcommand) => {
                let composed = self.arguments.first().filter(|_| subcommand == Some("compose"));
                let named = composed.map(|word| &**word).or(subcommand);
                CHANGERS.contains(&program) || family == Family::Install || named.is_some_and(ends)
            }
        }
    }

    /// Returns true if its subcommand only looks.
    pub(super) fn views(&self) -> bool {
        let last = self.subcommand.as_deref().filter(|name| !VIEWING.contains(name)).and(self.arguments.first());
        let name = last.map(|word| &**word).or(self.subcommand.as_deref());
        matches!(&*self.program, "gh" | "docker" | "kubectl" | "npm" | "bd")
            && name.is_some_and(|name| VIEWING.contains(&name))
    }

    /// Returns true if both check the same thing, apart from the part of it that their arguments name.
    pub(in crate::digest) fn is_same_check(&self, failed: &Step<'_>) -> bool {
        // `git merge --abort` takes back what failed.
        let gives_up = self.program == "git" && self.flags().any(|flag| matches!(flag, "--abort" | "--quit"));
        if self.asks && !failed.asks || gives_up {
            return false;
        }
        let (mine, theirs) = (self.family(), failed.family());
        let goals = || Some((self.goal(self.subcommand.as_deref()?)?, failed.goal(failed.subcommand.as_deref()?)?));
        self.runs_as(failed)
            || self.implies(failed)
            || goals().is_some() && self.same_toolchain(failed)
            || mine.is_check() && mine == theirs && self.same_toolchain(failed)
            || mine == Family::Commit && theirs == Family::Merge && !failed.flags().any(|flag| flag == "--ff-only")
            || theirs == Family::Merge && self.continues_pull(failed)
            || (mine, theirs) == (Family::Test, Family::Build) && self.same_toolchain(failed) && self.is_runner(failed)
    }

    /// Returns true if it does without tests that belong to the goal of `failed`.
    pub(super) fn skips_tests_of(&self, failed: &Step<'_>) -> bool {
        let skips = |step: &Step<'_>| SKIPPING.iter().any(|words| step.text.contains(words));
        let goal = failed.subcommand.as_deref().and_then(|goal| failed.goal(goal));
        goal.is_some_and(|goal| failed.goal("test").is_some_and(|test| goal >= test)) && skips(self) && !skips(failed)
    }

    /// Returns true if it ends the merge or rebase in which a pull stopped: `git rebase --continue`.
    fn continues_pull(&self, failed: &Step<'_>) -> bool {
        failed.subcommand.as_deref() == Some("pull")
            && self.program == "git"
            && matches!(self.subcommand.as_deref(), Some("merge" | "rebase"))
            && self.flags().any(|flag| flag == "--continue")
    }

    fn is_runner(&self, other: &Step<'_>) -> bool {
        [self, other].iter().any(|step| RUNNERS.contains(&&*step.program))
    }

    fn same_toolchain(&self, other: &Step<'_>) -> bool {
        let both = |chain: &&str| lists(chain, &self.program) && lists(chain, &other.program);
        self.program == other.program || TOOLCHAINS.iter().any(both) || self.is_runner(other)
    }

    /// Returns true if it does everything that `failed` does, and then more: a test compiles what it tests.
    pub(super) fn implies(&self, failed: &Step<'_>) -> bool {
        let (Some(mine), Some(theirs)) = (self.subcommand.as_deref(), failed.subcommand.as_deref()) else {
            return false;
        };
        if let (Some(mine), Some(theirs)) = (self.goal(mine), failed.goal(theirs)) {
            return theirs <= mine && self.same_toolchain(failed);
        }
        let known = IMPLIED.iter().find(|(program, inner, _)| *program == self.program && inner.contains(&theirs));
        self.program == failed.program && known.is_some_and(|(.., outer)| outer.contains(&mine))
    }

    /// Returns true if it puts changes away for a while, false if it brings them back.
    pub(in crate::digest) fn stashes(&self) -> Option<bool> {
        let is_stash = self.program == "git" && self.subcommand.as_deref() == Some("stash");
        match self.arguments.first().map(|word| &**word) {
            None | Some("push" | "save") if is_stash => Some(true),
            Some("pop" | "apply") if is_stash => Some(false),
            _ => None,
        }
    }

    fn flags(&self) -> impl Iterator<Item = &str> {
        self.text.split(' ').filter(|word| word.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_told_by_its_name() {
        for (name, kind) in [
            ("cargo test", Some("test")),
            ("npm run lint", Some("lint")),
            ("make", Some("build")),
            ("tsc", Some("types")),
            ("git commit", None),
            ("npm install", None),
            ("", None),
        ] {
            assert_eq!(check_kind(name), kind, "{name}");
        }
    }
}
