//! Commits and pull requests that git and gh report in their output: reliable, however the message was given.

use std::borrow::Cow;

use super::one_line;
use crate::item::GitOutput;

/// Most commits and pull requests kept of one result.
const MAX_MADE: usize = 4;
/// Most entries of a log that are kept.
const MAX_LOGGED: usize = 10;
/// Most echoed commands that are kept.
const MAX_ECHOED: usize = 8;
/// Most places of a command line where git may be run.
const MAX_GITS: usize = 64;
/// Longest first line of a commit message, in characters.
const SUBJECT_CHARS: usize = 120;
/// Number of digits of a hash.
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;
/// Longest address of a pull request, in bytes.
const MAX_ADDRESS_BYTES: usize = 200;
/// Marks in the stored line of a result.
const COMMITTED: &str = ", committed ";
const OPENED: &str = ", opened ";

/// Changes text that only looks like such a mark.
pub(super) fn unmarked(text: &str) -> Cow<'_, str> {
    match [COMMITTED, OPENED].iter().any(|mark| text.contains(mark)) {
        true => Cow::Owned(text.replace(COMMITTED, ",  committed ").replace(OPENED, ",  opened ")),
        false => Cow::Borrowed(text),
    }
}

impl GitOutput {
    /// Finds them in an output that is redacted and without colours; the first [`MAX_MADE`].
    pub(crate) fn find_all(output: &str) -> Vec<Self> {
        let lines = output.lines().map(str::trim);
        lines.filter_map(|line| commit(line).or_else(|| pull_request(line))).take(MAX_MADE).collect()
    }

    /// The form in the stored line of a result.
    pub(crate) fn suffix(&self) -> String {
        match self {
            Self::Commit { hash, subject } => format!("{COMMITTED}{hash} {subject}"),
            Self::PullRequest(address) => format!("{OPENED}{address}"),
        }
    }
}

/// The commits that a log lists on one line each: `1a2b3c4 (HEAD -> main) Fix the login`; the first [`MAX_LOGGED`].
pub(super) fn logged(output: &str) -> Vec<(String, String)> {
    let entry = |line: &str| {
        let (hash, subject) = line.trim().trim_start_matches(['*', '|', ' ']).split_once(' ')?;
        let subject = match subject.strip_prefix('(') {
            Some(names) => names.split_once(") ")?.1,
            None => subject,
        };
        (is_hash(hash) && !subject.is_empty()).then(|| (hash.to_owned(), one_line(subject, SUBJECT_CHARS)))
    };
    output.lines().filter_map(entry).take(MAX_LOGGED).collect()
}

/// The commands that a runner echoes before it runs them, as bun and yarn do: `$ tsc --noEmit`; the first [`MAX_ECHOED`].
pub(super) fn echoed(output: &str) -> Vec<String> {
    let echo = |line: &str| line.strip_prefix("$ ").map(|command| one_line(command, SUBJECT_CHARS));
    output.lines().filter_map(echo).filter(|command| !command.is_empty()).take(MAX_ECHOED).collect()
}

/// First line of the message of the `git commit` on a command line: `-m "Fix it"`, or in a here-document.
pub(crate) fn subject(command: &str) -> Option<String> {
    let parts = |text: &str| text.contains(['&', '|', ';', '\n']);
    let options = command.match_indices("git ").take(MAX_GITS).find_map(|(at, git)| {
        let (before, options) = command[at + git.len()..].split_once("commit ")?;
        // Options of git itself may stand in between: `-C x`.
        (before.is_empty() || before.starts_with('-') && !parts(before)).then_some(options)
    })?;
    let flags = ["-m", "-am", "--message", "-F -"].iter();
    let found = flags.filter_map(|flag| {
        options.match_indices(flag).find(|(at, _)| options[..*at].ends_with([' ', '\t']) || *at == 0)
    });
    let (at, flag) = found.min()?;
    let message = options[at + flag.len()..].trim_start_matches([' ', '=']);
    let quote = message.chars().next().filter(|c| matches!(c, '"' | '\''));
    let text = quote.map_or(message, |_| &message[1..]).trim_start();
    let text = text.strip_prefix("$(cat").map_or(text, str::trim_start);
    let first = match text.strip_prefix("<<") {
        Some(document) => document.lines().skip(1).find(|line| !line.trim().is_empty())?,
        None => {
            let line = text.lines().next().unwrap_or_default();
            let ends = |at: usize, c: char| match quote {
                Some(quote) => c == quote && !line[..at].ends_with('\\'),
                None => c.is_whitespace() || parts(c.encode_utf8(&mut [0; 4])),
            };
            line.char_indices().find(|(at, c)| ends(*at, *c)).map_or(line, |(at, _)| &line[..at])
        }
    };
    let subject = one_line(&first.replace("\\\"", "\"").replace("\\`", "`"), SUBJECT_CHARS);
    (!parts(&options[..at]) && !subject.is_empty() && !subject.starts_with(['$', '`'])).then_some(subject)
}

fn commit(line: &str) -> Option<GitOutput> {
    let (_, hash, subject) = commit_parts(line)?;
    let subject = one_line(subject, SUBJECT_CHARS);
    (!subject.is_empty()).then(|| GitOutput::Commit { hash: hash.to_owned(), subject })
}

/// Where a line says that a commit was made: `main` of `[main 1a2b3c4] Fix the login`.
pub(super) fn commit_place(line: &str) -> Option<&str> {
    commit_parts(line).map(|(place, ..)| place)
}

fn commit_parts(line: &str) -> Option<(&str, &str, &str)> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (place, hash) = place.rsplit_once(' ')?;
    (is_hash(hash) && !place.contains(['[', ']'])).then_some((place, hash, subject))
}

pub(super) fn is_hash(word: &str) -> bool {
    HASH_DIGITS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn pull_request(line: &str) -> Option<GitOutput> {
    let address = line.strip_prefix("https://")?;
    is_pull_request(address).then(|| GitOutput::PullRequest(address.to_owned()))
}

/// `github.com/o/r/pull/12`, `gitlab.com/o/r/-/merge_requests/12`
fn is_pull_request(address: &str) -> bool {
    let mut parts = address.rsplit('/');
    let number = parts.next().unwrap_or_default();
    let kind = parts.next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':');
    address.len() <= MAX_ADDRESS_BYTES
        && address.chars().all(plain)
        && matches!(kind, "pull" | "merge_requests")
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_read_of_the_output() {
        let check = |output: &str, expected: &[&str]| {
            let suffix: Vec<String> = GitOutput::find_all(output).iter().map(GitOutput::suffix).collect();
            assert_eq!(suffix, expected, "{output:?}");
        };
        check("[main 1a2b3c4] Fix the login\n 1 file changed, 1 insertion(+)", &[", committed 1a2b3c4 Fix the login"]);
        check("lint-staged ok\n[main (root-commit) 1a2b3c4d] Begin", &[", committed 1a2b3c4d Begin"]);
        check("[detached HEAD 1a2b3c4] x: y", &[", committed 1a2b3c4 x: y"]);
        check("[a/b-c 1a2b3c4] one\n[a/b-c 2a2b3c4] two", &[", committed 1a2b3c4 one", ", committed 2a2b3c4 two"]);
        check(
            "Creating pull request for x into main in o/r\n\nhttps://github.com/o/r/pull/12\n",
            &[", opened github.com/o/r/pull/12"],
        );
        check("[main] 1a2b3c4 x\n[INFO 2026-01-01] y\n[main 1A2B3C4] z\n[1a2b3c4] w\n[main 1a2b3c4]", &[]);
        check("see https://github.com/o/r/pull/12\nhttps://github.com/o/r/pull/new/x\nhttps://x.org/pull/1?a=b", &[]);
        check("", &[]);
    }

    #[test]
    fn a_commit_on_a_command_line_has_a_subject() {
        let check =
            |command: &str, expected: Option<&str>| assert_eq!(subject(command).as_deref(), expected, "{command}");
        let document = "run git add a.rs && run git commit -m \"$(cat <<'EOF'\nPay orders (all of them) twice\n\nWhy: a.\nEOF\n)\"";
        check(document, Some("Pay orders (all of them) twice"));
        check("git -C /srv/shop commit -am 'Pay twice'", Some("Pay twice"));
        check("git commit --amend --message=Pay", Some("Pay"));
        check("git commit -m \"Say \\\"hello\\\" twice\n\nbody\"", Some("Say \"hello\" twice"));
        check("git commit -F - <<EOF\n\nPay twice\nEOF", Some("Pay twice"));
        check("git commit -m \"$SUBJECT\"", None);
        check("git commit --amend --no-edit && git tag -m x", None);
        check("git log --grep commit", None);
        check("git commit", None);
    }

    #[test]
    fn a_log_lists_commits_and_a_runner_echoes_commands() {
        let listed = logged("1a2b3c4 (HEAD -> main, tag: v1) Pay twice\n* 2a2b3c4 Begin\ncommit 3a2b3c4\n");
        assert_eq!(listed, [("1a2b3c4", "Pay twice"), ("2a2b3c4", "Begin")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(echoed("$ bun test src/\n 3 pass\n$ \n  $ no\n$ tsc"), ["bun test src/", "tsc"]);
    }
}
