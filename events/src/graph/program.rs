//! The programs of a command line: which entities it is, what it made, and what it moved.

use crate::digest::{programs, without_filter_mark};

/// Longest body of a commit that is kept, in characters.
const BODY_CHARS: usize = 260;
/// Most files of one command line.
const MAX_FILES: usize = 20;

/// The commands that a line runs, each once, in order: program and subcommand. What only looks is left out, and so is
/// what no program is called like.
pub(super) fn commands(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for program in programs(line).into_iter().filter(|program| !program.looks) {
        if is_name(&program.name) && !names.contains(&program.name) {
            names.push(program.name);
        }
    }
    names
}

/// Whether it is a program's name and no rest of shell syntax.
pub(crate) fn is_name(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or(name);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | ':' | ' ' | '@');
    first.starts_with(|c: char| c.is_alphabetic() || c == '.') && first.len() > 1 && name.chars().all(plain)
}

/// What a command line leaves in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Commit {
        /// The first line of its message.
        subject: String,
        /// What follows, on one line, cut.
        body: String,
    },
    PullRequest {
        title: String,
    },
    /// A branch that was deleted.
    BranchGone(String),
}

/// What a command line makes, if all of it succeeds, in order.
pub(super) fn made(line: &str) -> Vec<Made> {
    let mut all = Vec::new();
    for program in programs(line) {
        let words: Vec<&str> = program.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["git", rest @ ..] if program.name == "git commit" => all.extend(commit(rest)),
            ["git", "branch", "-d" | "-D" | "--delete", branches @ ..] => {
                let branches = branches.iter().filter(|branch| is_plain(branch));
                all.extend(branches.map(|branch| Made::BranchGone((*branch).to_owned())));
            }
            ["gh", "pr", "create", rest @ ..] => {
                let title =
                    value(rest, &["--title", "-t"]).map(|title| super::gather::one_line(title, super::MAX_NAME_CHARS));
                all.extend(title.filter(|title| !title.is_empty()).map(|title| Made::PullRequest { title }));
            }
            _ => {}
        }
    }
    all
}

/// The value of a flag: `-m x`, `--message=x`, `-am x`.
fn value<'w>(words: &[&'w str], flags: &[&str]) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| {
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

/// The message of a commit that is told in its command line.
fn commit(words: &[&str]) -> Option<Made> {
    let message = value(words, &["-m", "--message"])?;
    let message = match message.strip_prefix("$(cat <<") {
        // A here-document: between its first line and the word that ends it.
        Some(document) => {
            let (mark, text) = document.split_once('\n')?;
            let mark = mark.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            text.lines().take_while(|line| line.trim() != mark).collect::<Vec<_>>().join("\n")
        }
        None => message.to_owned(),
    };
    let message = without_filter_mark(&message);
    let signed = |line: &&str| {
        !(line.starts_with("Co-Authored-By:") || line.starts_with("Signed-off-by:") || line.contains("Generated with"))
    };
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty()).filter(signed);
    let subject = super::gather::one_line(lines.next()?, super::MAX_NAME_CHARS);
    let body = super::gather::one_line(&lines.collect::<Vec<_>>().join(" "), BODY_CHARS);
    (!subject.is_empty() && !subject.starts_with(['$', '`'])).then_some(Made::Commit { subject, body })
}

/// A file that lies elsewhere, or nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    Renamed(String, String),
    Deleted(String),
}

/// What a command line moves, if all of it succeeds, in order; paths are told from where it runs. Only what is named whole
/// and looks like a file counts.
pub(super) fn moved(line: &str, cwd: Option<&str>) -> Vec<Moved> {
    let base = base(line, cwd);
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
                    Moved::Renamed(place(from), place(&to))
                }));
            }
            ("rm", paths) => {
                all.extend(paths.iter().filter(|path| is_file(path)).map(|path| Moved::Deleted(place(path))));
            }
            _ => {}
        }
    }
    all.truncate(MAX_FILES);
    all
}

/// Whether a word stands for itself, and for no pattern.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.contains(['*', '?', '$', '{', '`', '[', '\n']) && !word.starts_with('-')
}

/// Whether a path is called like a file: its last part has an ending, or is known for one without.
fn is_file(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    let ending = last.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    ending || matches!(last, "Makefile" | "Dockerfile" | "Justfile" | "LICENSE" | "README" | "Procfile" | "Gemfile")
}

/// Where a command line runs: where its leading `cd` goes, else where the session is.
fn base(line: &str, cwd: Option<&str>) -> Option<String> {
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
            let found: Vec<(String, String)> = made(line)
                .into_iter()
                .map(|made| match made {
                    Made::Commit { subject, body } => (subject, body),
                    Made::PullRequest { title } => (format!("PR {title}"), String::new()),
                    Made::BranchGone(branch) => (format!("-{branch}"), String::new()),
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
        check("git commit --amend --no-edit", &[]);
        check("git commit -F message.txt", &[]);
        check("git log -m x; git commit -m \"$MSG\"", &[]);
    }

    #[test]
    fn a_command_moves_what_it_names() {
        let check = |line: &str, expected: &[&str]| {
            let found: Vec<String> = moved(line, Some("/srv/shop"))
                .into_iter()
                .map(|moved| match moved {
                    Moved::Renamed(from, to) => format!("{from} > {to}"),
                    Moved::Deleted(path) => format!("-{path}"),
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
