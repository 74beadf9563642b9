//! The programs of a command line: the commands that it runs, and what they create, rename and delete.

use baton_conversation::item::GitOutput;
use baton_episode::digest::{programs, without_filter_mark};

/// Programs that say nothing about the work; sorted.
const UTILITIES: [&str; 30] = [
    "awk", "bash", "chmod", "chown", "cp", "cut", "kill", "killall", "ln", "mkdir", "mktemp", "mv", "node", "perl",
    "pkill", "python", "python3", "rm", "rmdir", "ruby", "sed", "sh", "sort", "tee", "touch", "tr", "uniq", "wait",
    "xargs", "zsh",
];
/// Commands that every session with a commit runs; the commit says more.
pub(super) const ROUTINE: [&str; 2] = ["git add", "git commit"];
/// Maximum length of a commit's body, in characters.
const BODY_CHARS: usize = 260;
/// Maximum number of files of one command line.
const MAX_FILES: usize = 20;

/// Returns the commands that a line runs, each once, in order, as program and subcommand. Commands that only look, and
/// words that cannot be program names, are left out.
pub(super) fn commands(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for program in programs(line).into_iter().filter(|program| !program.looks) {
        if is_telling(&program.name) && !names.contains(&program.name) {
            names.push(program.name);
        }
    }
    names
}

/// Returns true for the name of a program that says something about the work.
pub(super) fn is_telling(name: &str) -> bool {
    is_program(name) && !is_utility(name)
}

/// Returns true for a program that every session uses, so that its name says nothing about the work.
pub(super) fn is_utility(name: &str) -> bool {
    UTILITIES.binary_search(&name).is_ok()
}

/// Returns true for a program's name, false for a fragment of shell syntax.
pub fn is_program(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or(name);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | ':' | ' ' | '@');
    first.starts_with(|c: char| c.is_alphabetic() || c == '.') && first.len() > 1 && name.chars().all(plain)
}

/// What a command line leaves in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepositoryChange {
    Commit {
        /// The first line of its message.
        subject: String,
        /// The remaining lines joined into one, cut.
        body: String,
    },
    PullRequest {
        title: String,
    },
    /// A deleted branch.
    BranchGone(String),
}

/// Returns what a command line creates or deletes if all of it succeeds, in order.
pub(super) fn repository_changes(line: &str) -> Vec<RepositoryChange> {
    let mut all = Vec::new();
    for program in programs(line) {
        let words: Vec<&str> = program.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["git", rest @ ..] if program.name == "git commit" => all.extend(commit_with_message(rest, line)),
            ["git", "branch", "-d" | "-D" | "--delete", branches @ ..] => {
                let branches = branches.iter().filter(|branch| is_plain(branch));
                all.extend(branches.map(|branch| RepositoryChange::BranchGone((*branch).to_owned())));
            }
            ["gh", "pr", "create", rest @ ..] => {
                let title = flag_value(rest, &["--title", "-t"])
                    .map(|title| super::one_line::one_line(title, super::MAX_NAME_CHARS));
                all.extend(
                    title.filter(|title| !title.is_empty()).map(|title| RepositoryChange::PullRequest { title }),
                );
            }
            _ => {}
        }
    }
    all
}

/// Git subcommands that create commits and so may print one.
const COMMITTING: [&str; 7] = ["commit", "merge", "cherry-pick", "revert", "rebase", "am", "pull"];

/// Returns what a line created according to its output: every printed commit, with the body from the command line. What
/// the output does not mention is taken from the command line (`told`).
pub(super) fn with_output(mut told: Vec<RepositoryChange>, line: &str, printed: &[GitOutput]) -> Vec<RepositoryChange> {
    let is_git = programs(line)
        .iter()
        .any(|program| program.name.strip_prefix("git ").is_some_and(|name| COMMITTING.contains(&name)));
    let mut found = Vec::new();
    for printed in printed {
        match printed {
            GitOutput::Commit { subject, .. } if is_git => {
                let subject = super::one_line::one_line(subject, super::MAX_NAME_CHARS);
                let body = told.iter().find_map(|made| match made {
                    RepositoryChange::Commit { subject: told, body } if *told == subject => Some(body.clone()),
                    _ => None,
                });
                found.push(RepositoryChange::Commit { subject, body: body.unwrap_or_default() });
            }
            GitOutput::PullRequest(page) if line.contains("gh pr create") => {
                let named = told.iter().any(|made| matches!(made, RepositoryChange::PullRequest { .. }));
                let number = super::issue::issue_of_page(page).filter(|_| !named);
                found.extend(number.map(|issue| RepositoryChange::PullRequest { title: issue.name.into_owned() }));
            }
            _ => {}
        }
    }
    if found.iter().any(|made| matches!(made, RepositoryChange::Commit { .. })) {
        told.retain(|made| !matches!(made, RepositoryChange::Commit { .. }));
    }
    found.append(&mut told);
    found
}

/// Returns the value of a flag: `-m x`, `--message=x`, `-am x`.
fn flag_value<'w>(words: &[&'w str], flags: &[&str]) -> Option<&'w str> {
    flag_values(words, flags).next()
}

/// Returns all values of a flag, in order.
fn flag_values<'w>(words: &[&'w str], flags: &[&str]) -> impl Iterator<Item = &'w str> {
    words.iter().enumerate().filter_map(|(at, word)| {
        let long = flags.iter().find_map(|flag| word.strip_prefix(flag)?.strip_prefix('='));
        let short = |flag: &&str| {
            let letter = flag.strip_prefix('-').filter(|letter| letter.len() == 1);
            word == flag
                || letter.is_some_and(|letter| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with(letter) && word.len() <= 4
                })
        };
        long.or_else(|| flags.iter().any(short).then(|| words.get(at + 1).copied()).flatten())
    })
}

/// Returns the commit whose message the command line contains; several messages are joined as paragraphs.
fn commit_with_message(words: &[&str], line: &str) -> Option<RepositoryChange> {
    let messages: Vec<String> = flag_values(words, &["-m", "--message"]).filter_map(message_text).collect();
    let message = match messages.is_empty() {
        false => messages.join("\n\n"),
        true => flag_value(words, &["-F", "--file"]).filter(|file| *file == "-").and_then(|_| stdin_document(line))?,
    };
    let message = without_filter_mark(&message);
    let signed = |line: &&str| {
        !(line.starts_with("Co-Authored-By:") || line.starts_with("Signed-off-by:") || line.contains("Generated with"))
    };
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty()).filter(signed);
    let subject = super::one_line::one_line(lines.next()?, super::MAX_NAME_CHARS);
    let body = super::one_line::one_line(&lines.collect::<Vec<_>>().join(" "), BODY_CHARS);
    (!subject.is_empty() && !subject.starts_with(['$', '`'])).then_some(RepositoryChange::Commit { subject, body })
}

/// Returns the message of an argument: literal text, or a here-document.
fn message_text(given: &str) -> Option<String> {
    match given.strip_prefix("$(cat <<") {
        Some(document) => here_document(document),
        None => Some(given.to_owned()),
    }
}

/// Returns the here-document given to the standard input of `git commit`.
fn stdin_document(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("git commit")?;
    let (before, document) = rest.split_once("<<")?;
    (!before.contains('\n')).then(|| here_document(document)).flatten()
}

/// Returns the text of a here-document, given what follows its `<<`: the lines up to the delimiter. `<<<` is not one.
fn here_document(document: &str) -> Option<String> {
    if document.starts_with('<') {
        return None;
    }
    let (first, text) = document.split_once('\n')?;
    let mark = first.split([' ', ';', '&', '|', '>', ')']).find(|word| !word.is_empty())?;
    let mark = mark.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    Some(text.lines().take_while(|line| line.trim() != mark).collect::<Vec<_>>().join("\n"))
}

/// A file that was renamed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Renamed(String, String),
    Deleted(String),
}

/// Returns the files that a command line moves or deletes if all of it succeeds, in order. Paths are relative to the
/// directory in which it runs. Only literal paths that look like files count.
pub(super) fn file_changes(line: &str, cwd: Option<&str>) -> Vec<FileChange> {
    let base = working_directory(line, cwd);
    let mut all = Vec::new();
    for program in programs(line) {
        let words: Vec<&str> = program.words.iter().map(String::as_str).collect();
        let (verb, words) = match words.as_slice() {
            ["git", verb @ ("mv" | "rm"), rest @ ..] => (*verb, rest),
            [verb @ ("mv" | "rm"), rest @ ..] => (*verb, rest),
            _ => continue,
        };
        let cached = words.contains(&"--cached");
        let paths: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        if cached || !paths.iter().all(|path| is_plain(path)) {
            continue;
        }
        let place = |path: &str| joined(base.as_deref(), path);
        match (verb, paths.as_slice()) {
            ("mv", [from @ .., to]) if !from.is_empty() => {
                let into = from.len() > 1 || to.ends_with('/') || (is_file(from[0]) && !is_file(to)) || *to == ".";
                all.extend(from.iter().filter(|from| is_file(from)).map(|from| {
                    let last = from.rsplit('/').next().unwrap_or(from);
                    let to = if into { format!("{}/{last}", to.trim_end_matches('/')) } else { (*to).to_owned() };
                    FileChange::Renamed(place(from), place(&to))
                }));
            }
            ("rm", paths) => {
                all.extend(paths.iter().filter(|path| is_file(path)).map(|path| FileChange::Deleted(place(path))));
            }
            _ => {}
        }
    }
    all.truncate(MAX_FILES);
    all
}

/// Returns true if a word is literal, not a pattern or an expansion.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.contains(['*', '?', '$', '{', '`', '[', '\n']) && !word.starts_with('-')
}

/// Returns true if the last component of a path has an extension or is a well-known file name without one.
fn is_file(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    let ending = last.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    ending || matches!(last, "Makefile" | "Dockerfile" | "Justfile" | "LICENSE" | "README" | "Procfile" | "Gemfile")
}

/// Returns the directory in which a command line runs: the target of its leading `cd`, otherwise the session's
/// directory.
fn working_directory(line: &str, cwd: Option<&str>) -> Option<String> {
    let cd = line.trim_start().strip_prefix("cd ").and_then(|rest| rest.split(['&', ';', '\n']).next());
    let cd = cd.map(|directory| directory.trim().trim_matches(['"', '\''])).filter(|directory| is_plain(directory));
    match cd {
        Some(directory) => Some(joined(cwd, directory)),
        None => cwd.map(str::to_owned),
    }
}

fn joined(base: Option<&str>, path: &str) -> String {
    match base {
        Some(base) if !path.starts_with(['/', '~']) && !path.contains(":\\") => {
            format!("{}/{path}", base.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_utilities_is_sorted() {
        assert!(UTILITIES.is_sorted());
    }

    #[test]
    fn a_command_is_program_and_subcommand() {
        let check = |line: &str, names: &[&str]| assert_eq!(commands(line), names, "{line:?}");
        check("cd /x && RUST_LOG=debug cargo test -p auth --quiet 2>&1 | tail -5", &["cargo test"]);
        check("npm run test && npm t", &["npm test"]);
        check("git add -A && git commit -m \"x y\"", &["git add", "git commit"]);
        check("ls -la; cat a | grep b", &[]);
        check("python -m pytest tests/test_a.py::test_b", &["pytest"]);
        check("/usr/bin/make all", &["make all"]);
        check("$(evil) \"a b\" x", &[]);
        check("", &[]);
    }

    #[test]
    fn a_commit_is_its_message() {
        let check = |line: &str, expected: &[(&str, &str)]| {
            let found: Vec<(String, String)> = repository_changes(line)
                .into_iter()
                .map(|made| match made {
                    RepositoryChange::Commit { subject, body } => (subject, body),
                    RepositoryChange::PullRequest { title } => (format!("PR {title}"), String::new()),
                    RepositoryChange::BranchGone(branch) => (format!("-{branch}"), String::new()),
                })
                .collect();
            let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            assert_eq!(found, expected, "{line:?}");
        };
        check("git add -A && git commit -m \"Fix the login\"", &[("Fix the login", "")]);
        check("cd /x && git commit -am 'Fix it'", &[("Fix it", "")]);
        check("git commit --message='Fix it' --no-verify", &[("Fix it", "")]);
        check(
            "git commit -m \"$(cat <<'EOF'\nfeat: tar archives\n\nAdd them.\n- one\n\nCo-Authored-By: X\nEOF\n)\"",
            &[("feat: tar archives", "Add them. - one")],
        );
        check("git commit -m \"Fix it\n\nMore of it\" && git branch -D old", &[("Fix it", "More of it"), ("-old", "")]);
        check("gh pr create --title \"Log in again\" --body x", &[("PR Log in again", "")]);
        check("git commit -m 'Fix it\n\nMore…[+92 chars #25d882bc]'", &[("Fix it", "More…")]);
        check(
            "git commit -m 'Fix it' -m 'Because it broke.' -m 'And more.'",
            &[("Fix it", "Because it broke. And more.")],
        );
        check("git commit --amend -m 'Fix all of it'", &[("Fix all of it", "")]);
        check(
            "git add . && git commit -q -F - <<'EOF' && git push\nFix it\n\nMore of it.\nEOF\necho done",
            &[("Fix it", "More of it.")],
        );
        check("git commit --file=- <<MSG\nFix it\nMSG", &[("Fix it", "")]);
        check("git commit --amend --no-edit", &[]);
        check("git commit -F message.txt", &[]);
        check("git commit -F message.txt; cat <<E > x\nfoo\nE", &[]);
        check("git log -m x; git commit -m \"$MSG\"", &[]);
        check("git commit -q -F - <<<\"Fix it\"\necho ready\nls src", &[]);
    }

    #[test]
    fn what_git_says_is_surer_than_what_it_was_told() {
        let check = |line: &str, printed: &[GitOutput], expected: &[&str]| {
            let found: Vec<String> = with_output(repository_changes(line), line, printed)
                .into_iter()
                .map(|made| match made {
                    RepositoryChange::Commit { subject, body } => format!("{subject}|{body}"),
                    RepositoryChange::PullRequest { title } => format!("PR {title}"),
                    RepositoryChange::BranchGone(branch) => format!("-{branch}"),
                })
                .collect();
            assert_eq!(found, expected, "{line:?}");
        };
        let said = &[GitOutput::Commit { hash: "1a2b3c4".to_owned(), subject: "Fix it".to_owned() }];
        let opened = &[GitOutput::PullRequest("github.com/o/r/pull/12".to_owned())];
        check("git commit -F message.txt", said, &["Fix it|"]);
        check("git commit", said, &["Fix it|"]);
        check("git commit -m 'Fix it' -m 'More'", said, &["Fix it|More"]);
        check("git commit -m 'fixit'", said, &["Fix it|"]);
        check("git commit -qm 'Fix it'", &[], &["Fix it|"]);
        check("git cherry-pick abc && git branch -D old", said, &["Fix it|", "-old"]);
        check("cat notes.txt && git push", said, &[]);
        // Someone else's words.
        check("git log -1 && cat out", said, &[]);
        check("gh pr create --fill", opened, &["PR #12"]);
        check("gh pr create -t 'Log in'", opened, &["PR Log in"]);
        check("gh pr view", opened, &[]);
    }

    #[test]
    fn a_command_moves_what_it_names() {
        let check = |line: &str, expected: &[&str]| {
            let found: Vec<String> = file_changes(line, Some("/srv/shop"))
                .into_iter()
                .map(|moved| match moved {
                    FileChange::Renamed(from, to) => format!("{from} > {to}"),
                    FileChange::Deleted(path) => format!("-{path}"),
                })
                .collect();
            assert_eq!(found, expected, "{line:?}");
        };
        check("git mv src/a.rs src/b.rs", &["/srv/shop/src/a.rs > /srv/shop/src/b.rs"]);
        check("cd api && mv a.py lib/", &["/srv/shop/api/a.py > /srv/shop/api/lib/a.py"]);
        check("mv a.rs b.rs core", &["/srv/shop/a.rs > /srv/shop/core/a.rs", "/srv/shop/b.rs > /srv/shop/core/b.rs"]);
        check("mv -f /tmp/x.rs src/x.rs", &["/tmp/x.rs > /srv/shop/src/x.rs"]);
        check("git rm -q src/old.rs && rm -rf target build/", &["-/srv/shop/src/old.rs"]);
        check("rm *.log; mv $A b.rs; git rm --cached a.env", &[]);
        check("mv src/old src/new", &[]);
        check("echo mv a.rs b.rs", &[]);
    }
}
