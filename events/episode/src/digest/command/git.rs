//! What a command line tells git to do with a work tree.

use super::joined;
use super::words::{self, Joint};
use super::wrapper::unwrapped;

/// A use of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::digest) struct GitStep {
    /// Where it runs, from where the line runs; `None` if the line does not say so literally.
    pub(in crate::digest) directory: Option<String>,
    pub(in crate::digest) act: GitAct,
    /// True if it succeeded, given that the line did.
    pub(in crate::digest) is_proven: bool,
}

/// What git is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::digest) enum GitAct {
    /// The next commit takes these files.
    Stage(Paths),
    /// The next commit does not take these files.
    Unstage(Paths),
    /// Commits what is staged, and these files; `amends` replaces the last commit.
    Commit { also: Option<Paths>, amends: bool },
    /// Pushes these branches, or the current one if there are none; `None` if the line does not name them literally.
    Push {
        branches: Option<Vec<String>>,
        /// True if the remote has had none of that name.
        is_first: bool,
    },
    /// Takes back changes of these files.
    Restore(Paths),
    /// Puts changes away, or brings them back.
    Stash { back: bool },
    /// Switches to this branch, if the line names a new one.
    Switch(Option<String>),
    /// Brings the commits of this branch into the current one.
    Merge(String),
    /// Moves the branch to another commit: by so many back, if the line says that.
    Reset(Option<usize>),
    /// Takes back this commit by another one.
    Revert(String),
    /// Replaces or adds commits, so that it is unknown how many are not pushed.
    Rewrite,
    /// Lists changed files: all of them if `is_whole`.
    Status {
        is_whole: bool,
        /// True if its paths start at the root of the tree.
        from_root: bool,
    },
    /// Anything else.
    Other,
}

/// Files and directories as the line names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::digest) enum Paths {
    /// All of them, or those of a pattern.
    All,
    Named(Vec<String>),
}

/// Returns the uses of git on a command line, in order.
pub(in crate::digest) fn git_steps(line: &str) -> Vec<GitStep> {
    let mut directory = Some(String::new());
    let mut steps: Vec<GitStep> = Vec::new();
    let passes_on = line.contains("pipefail");
    let mut before = Joint::Sequence;
    for part in words::parts(line) {
        let joint = part.joint;
        let hides = |joint| joint == Joint::Or || joint == Joint::Pipe && !passes_on;
        let is_proven = !hides(joint) && before != Joint::Or;
        let is_shown = part.joint != Joint::Pipe;
        let (words, _) = unwrapped(part.words);
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        match words.split_first() {
            Some((&"cd", [to])) => directory = directory.filter(|_| is_literal(to)).map(|at| joined(&at, to)),
            Some((&("cd" | "pushd" | "popd"), _)) => directory = None,
            Some((program, rest)) if program.rsplit('/').next() == Some("git") => {
                let (own, rest) = without_options(rest);
                let at = match own {
                    Some(to) => directory.clone().filter(|_| is_literal(to)).map(|at| joined(&at, to)),
                    None => directory.clone(),
                };
                steps.extend(acts(rest, is_shown).into_iter().map(|act| GitStep {
                    directory: at.clone(),
                    act,
                    is_proven,
                }));
            }
            _ => {}
        }
        if matches!(joint, Joint::Sequence | Joint::Or) {
            // The line may end like what follows.
            steps.iter_mut().for_each(|step| step.is_proven = false);
        }
        before = joint;
    }
    if line.trim_end().ends_with('&') {
        steps.iter_mut().for_each(|step| step.is_proven = false);
    }
    steps
}

/// Returns the flag by which git is told to go on where it would refuse, and what it is told with it: `git add -f`.
pub(in crate::digest) fn overriding_option(line: &str) -> Option<&'static str> {
    words::parts(line).into_iter().find_map(|part| {
        let (words, _) = unwrapped(part.words);
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let (program, rest) = words.split_first()?;
        let (subcommand, rest) = without_options(rest).1.split_first().filter(|_| *program == "git")?;
        match *subcommand {
            "add" if rest.iter().any(|word| matches!(*word, "-f" | "--force")) => Some("git add -f"),
            "commit" if rest.contains(&"--no-verify") => Some("git commit --no-verify"),
            "push" if rest.contains(&"--no-verify") => Some("git push --no-verify"),
            _ => None,
        }
    })
}

/// Skips the options of git itself, and returns the directory among them.
fn without_options<'w>(mut words: &'w [&'w str]) -> (Option<&'w str>, &'w [&'w str]) {
    let mut directory = None;
    while let [option, rest @ ..] = words
        && option.starts_with('-')
    {
        let has_value = matches!(*option, "-C" | "-c" | "--git-dir" | "--work-tree");
        if *option == "-C" {
            directory = rest.first().copied();
        }
        words = rest.get(usize::from(has_value)..).unwrap_or_default();
    }
    (directory, words)
}

fn acts(words: &[&str], is_shown: bool) -> Vec<GitAct> {
    let Some((subcommand, rest)) = words.split_first() else { return Vec::new() };
    let has = |flags: &[&str]| rest.iter().any(|word| flags.contains(word));
    let plain = || rest.iter().copied().filter(|word| !word.starts_with('-'));
    let act = match *subcommand {
        _ if has(&["--dry-run", "--help", "--abort", "-h"]) => GitAct::Other,
        "add" | "stage" | "rm" | "mv" => GitAct::Stage(paths(plain())),
        "commit" => commit(rest),
        "push" if has(&["-n", "-d", "--delete", "--tags"]) || plain().any(|word| word.starts_with(':')) => {
            GitAct::Other
        }
        "push" => GitAct::Push { branches: pushed(rest), is_first: has(&["-u", "--set-upstream"]) },
        "stash" => match rest.first() {
            None | Some(&("push" | "save")) => GitAct::Stash { back: false },
            Some(&("pop" | "apply")) => GitAct::Stash { back: true },
            Some(word) if word.starts_with('-') => GitAct::Stash { back: false },
            _ => GitAct::Other,
        },
        "switch" | "checkout" => {
            let at = rest.iter().position(|word| matches!(*word, "-b" | "-B" | "-c" | "-C" | "--create" | "--orphan"));
            let new = at.and_then(|at| rest.get(at + 1)).filter(|name| is_literal(name));
            let named = rest.iter().position(|word| *word == "--").map_or(rest, |at| &rest[at + 1..]);
            let switch = GitAct::Switch(new.map(|name| (*name).to_owned()));
            if at.is_some() || *subcommand == "switch" {
                switch
            } else {
                // A word alone is a branch or a file.
                let files = named.iter().copied().filter(|word| !word.starts_with('-'));
                return vec![GitAct::Restore(paths(files)), switch];
            }
        }
        "restore" if has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) => GitAct::Unstage(paths(plain())),
        "restore" => GitAct::Restore(paths(plain())),
        "reset" if has(&["--hard"]) => {
            let moves = plain().next().filter(|to| *to != "HEAD").map(|to| GitAct::Reset(steps_back(to)));
            return [GitAct::Restore(Paths::All)].into_iter().chain(moves).collect();
        }
        "reset" if has(&["--soft", "--mixed", "--keep"]) || plain().any(is_revision) => {
            GitAct::Reset(plain().next().and_then(steps_back))
        }
        "revert" => plain().next_back().map_or(GitAct::Other, |commit| GitAct::Revert(commit.to_owned())),
        "reset" => GitAct::Unstage(paths(plain().filter(|word| *word != "HEAD"))),
        "merge" => plain().next_back().map_or(GitAct::Other, |branch| GitAct::Merge(branch.to_owned())),
        "rebase" | "pull" | "am" | "filter-branch" => GitAct::Rewrite,
        "status" => GitAct::Status {
            is_whole: is_shown && plain().next().is_none(),
            from_root: rest.iter().any(|word| word.starts_with("--porcelain")),
        },
        _ => GitAct::Other,
    };
    vec![act]
}

/// Returns the branches that a push names after the remote.
fn pushed(words: &[&str]) -> Option<Vec<String>> {
    let mut named = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-o" | "--push-option" | "--receive-pack" | "--repo" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            word => named.push(word),
        }
    }
    let branches = named.into_iter().skip(1).map(|branch| branch.trim_start_matches('+'));
    let source = |branch: &str| {
        let source = branch.split(':').next().unwrap_or_default();
        is_literal(source).then(|| source.trim_start_matches("refs/heads/").to_owned())
    };
    branches.map(source).collect()
}

/// Returns how far a revision lies before the last commit: 2 for `HEAD~2`.
pub(in crate::digest) fn steps_back(revision: &str) -> Option<usize> {
    match revision.strip_prefix("HEAD").or_else(|| revision.strip_prefix('@'))?.strip_prefix(['~', '^'])? {
        "" => Some(1),
        rest if rest.bytes().all(|mark| matches!(mark, b'~' | b'^')) => Some(1 + rest.len()),
        count => count.parse().ok().filter(|_| revision.contains('~')),
    }
}

fn commit(words: &[&str]) -> GitAct {
    let (mut all, mut amends) = (false, false);
    let mut named = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let short = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        all |= *word == "--all" || short.is_some_and(|flags| flags.starts_with('a') || flags.starts_with("qa"));
        amends |= *word == "--amend";
        let has_value = short.is_some_and(|flags| flags.ends_with(['m', 'F', 'C', 'c', 't']))
            || matches!(*word, "--message" | "--file" | "--author" | "--date" | "--fixup" | "--trailer");
        if has_value {
            words.next();
        } else if !word.starts_with('-') {
            named.push(*word);
        }
    }
    let also = if all { Some(Paths::All) } else { (!named.is_empty()).then(|| paths(named.into_iter())) };
    GitAct::Commit { also, amends }
}

fn paths<'w>(words: impl Iterator<Item = &'w str>) -> Paths {
    let named: Vec<&str> = words.collect();
    match named.is_empty() || !named.iter().all(|word| is_literal(word)) {
        true => Paths::All,
        false => Paths::Named(named.into_iter().map(str::to_owned).collect()),
    }
}

/// Returns true if the shell and git take a word as it stands.
fn is_literal(word: &str) -> bool {
    // `app/[id]/page.tsx` is the name of a route.
    let is_name = |inner: &str| {
        let name = inner.split(']').next().unwrap_or_default().trim_start_matches('.');
        name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    !word.contains(['$', '*', '?', '`', '{', '…', '~', '\n'])
        && word.replace("[[", "[").split('[').skip(1).all(is_name)
        && !word.starts_with([':', '-'])
}

fn is_revision(word: &str) -> bool {
    let is_hash = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash || word.contains(['~', '^', '@']) || word.starts_with("origin/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safeguard_is_overridden_by_a_flag_of_its_own_command() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(overriding_option(line), expected, "{line}");
        check("cd a && git add -f b.css && git commit -m x", Some("git add -f"));
        check("git -C a commit --no-verify -m x", Some("git commit --no-verify"));
        check("git commit -m 'about --no-verify'", None);
        check("rm -f a && git add a", None);
        check("git", None);
        check("", None);
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let paths = |paths: &Paths| match paths {
            Paths::All => "all".to_owned(),
            Paths::Named(named) => named.join(","),
        };
        let told = |step: GitStep| {
            let act = match &step.act {
                GitAct::Stage(files) => format!("stage {}", paths(files)),
                GitAct::Unstage(files) => format!("unstage {}", paths(files)),
                GitAct::Restore(files) => format!("restore {}", paths(files)),
                GitAct::Commit { also, amends } => {
                    let also = also.as_ref().map_or_else(String::new, |also| format!(" {}", paths(also)));
                    format!("commit{}{also}", if *amends { " again" } else { "" })
                }
                other => format!("{other:?}").to_lowercase(),
            };
            format!("{}: {act}", step.directory.as_deref().unwrap_or("?"))
        };
        assert_eq!(git_steps(line).into_iter().map(told).collect::<Vec<_>>(), expected, "{line:?}");
    }

    #[test]
    fn what_git_is_told_is_read_of_the_words() {
        check(
            "git add a.rs src/ && git commit -m \"add b.rs\" && git push",
            &[": stage a.rs,src/", ": commit", ": push { branches: some([]), is_first: false }"],
        );
        check("git add -A; git commit -qam x c.rs", &[": stage all", ": commit all"]);
        check("git commit --amend --no-edit -- a.rs", &[": commit again a.rs"]);
        check("run git add *.rs", &[": stage all"]);
        check("cd api && git -C web -c x=y rm old.rs", &["api/web: stage old.rs"]);
        check(
            "for d in a b; do git -C \"$d\" status --short; done",
            &["?: status { is_whole: true, from_root: false }"],
        );
        check(
            "git status --short | head; git status src",
            &[": status { is_whole: false, from_root: false }", ": status { is_whole: false, from_root: false }"],
        );
        check("git push --dry-run; git push origin :old; git push --tags", &[": other", ": other", ": other"]);
        check(
            "git checkout -b x/y; git switch main; git checkout -- a.rs",
            &[": switch(some(\"x/y\"))", ": switch(none)", ": restore a.rs", ": switch(none)"],
        );
        check(
            "git reset HEAD a.rs; git reset --hard origin/main; git reset HEAD~2",
            &[": unstage a.rs", ": restore all", ": reset(none)", ": reset(some(2))"],
        );
        check(
            "git stash -u; git stash pop; git restore --staged .; git merge --no-ff x",
            &[": stash { back: false }", ": stash { back: true }", ": unstage .", ": merge(\"x\")"],
        );
        check("git reset --hard HEAD; git revert HEAD", &[": restore all", ": revert(\"head\")"]);
        check(
            "git reset --soft HEAD^^; git reset --hard @~",
            &[": reset(some(2))", ": restore all", ": reset(some(1))"],
        );
        check(
            "git push -u origin +a:b HEAD; git push origin $B",
            &[
                ": push { branches: some([\"a\", \"head\"]), is_first: true }",
                ": push { branches: none, is_first: false }",
            ],
        );
        check("grep git add; echo git push", &[]);
        let message = "git commit -m \"$(cat <<'EOF'\nSay \"no\" to a; b\n\nEOF\n)\"";
        check(message, &[": commit"]);
        check(
            &format!("{message} c.rs && git push"),
            &[": commit c.rs", ": push { branches: some([]), is_first: false }"],
        );
        check("git commit -m \"$(cat <<'EOF'\nSay \"no\" to a", &[": commit"]);
    }

    #[test]
    fn the_exit_code_of_a_line_proves_what_nothing_hides() {
        let proven = |line: &str| git_steps(line).iter().map(|step| step.is_proven).collect::<Vec<_>>();
        for line in ["git push", "git push && ls", "ls; git push", "set -o pipefail && git push | tail"] {
            assert_eq!(proven(line), [true], "{line}");
        }
        for line in ["git push | tail", "git push && ls || true", "ls || git push", "git push; ls", "git push &"] {
            assert_eq!(proven(line), [false], "{line}");
        }
    }
}
