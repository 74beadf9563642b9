//! Commits and pull requests that git and gh report in their output: reliable, however the message was given.

use std::borrow::Cow;

use super::one_line;
use crate::item::GitOutput;

/// Most commits and pull requests kept of one result.
const MAX_MADE: usize = 4;
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

fn commit(line: &str) -> Option<GitOutput> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = place.rsplit_once(' ')?;
    let subject = one_line(subject, SUBJECT_CHARS);
    (is_hash(hash) && !branch.contains(['[', ']']) && !subject.is_empty())
        .then(|| GitOutput::Commit { hash: hash.to_owned(), subject })
}

fn is_hash(word: &str) -> bool {
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
}
