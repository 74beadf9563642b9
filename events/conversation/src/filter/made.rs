//! What git and gh say in their output that they made: the surest word on it, however the message was given.

use std::borrow::Cow;

use super::one_line;

/// Most commits and pull requests that are kept of one result.
const MAX_MADE: usize = 4;
/// Longest first line of a commit's message, in characters.
const SUBJECT_CHARS: usize = 120;
/// Digits of a hash, at least and at most.
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;
/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 200;
/// How the line that is kept of a result says so.
const COMMITTED: &str = ", committed ";
const OPENED: &str = ", opened ";
/// What may follow there.
const SAYS: &str = ", says ";

/// Something that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// `[main 1a2b3c4] Fix the login`
    Commit {
        /// As many digits as were printed.
        hash: String,
        /// The first line of its message.
        subject: String,
    },
    /// `https://github.com/o/r/pull/12`, without the scheme.
    PullRequest(String),
}

/// What a line says that only looks like it, as it is kept.
pub(super) fn unmarked(text: &str) -> Cow<'_, str> {
    match [COMMITTED, OPENED].iter().any(|mark| text.contains(mark)) {
        true => Cow::Owned(text.replace(COMMITTED, ",  committed ").replace(OPENED, ",  opened ")),
        false => Cow::Borrowed(text),
    }
}

impl Printed {
    /// Of an output, redacted and without colours: the first ones.
    pub(crate) fn of(output: &str) -> Vec<Self> {
        let lines = output.lines().map(str::trim);
        lines.filter_map(|line| commit(line).or_else(|| pull_request(line))).take(MAX_MADE).collect()
    }

    /// As the line that is kept of a result goes on.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Commit { hash, subject } => format!("{COMMITTED}{hash} {subject}"),
            Self::PullRequest(address) => format!("{OPENED}{address}"),
        }
    }

    /// Out of the line that is kept of a result.
    pub fn read(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut rest = text;
        while let Some(at) = [COMMITTED, OPENED].iter().filter_map(|mark| rest.find(mark)).min() {
            let is_commit = rest[at..].starts_with(COMMITTED);
            let after = &rest[at + if is_commit { COMMITTED.len() } else { OPENED.len() }..];
            let end = [COMMITTED, OPENED, SAYS].iter().filter_map(|mark| after.find(mark)).min().unwrap_or(after.len());
            let said = &after[..end];
            found.extend(match said.split_once(' ') {
                Some((hash, subject)) if is_commit && is_hash(hash) => {
                    Some(Self::Commit { hash: hash.to_owned(), subject: subject.to_owned() })
                }
                None if !is_commit && is_pull_request(said) => Some(Self::PullRequest(said.to_owned())),
                _ => None,
            });
            rest = &after[end..];
        }
        found
    }
}

fn commit(line: &str) -> Option<Printed> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = place.rsplit_once(' ')?;
    let subject = one_line(subject, SUBJECT_CHARS);
    (is_hash(hash) && !branch.contains(['[', ']']) && !subject.is_empty())
        .then(|| Printed::Commit { hash: hash.to_owned(), subject })
}

fn is_hash(word: &str) -> bool {
    HASH_DIGITS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn pull_request(line: &str) -> Option<Printed> {
    let address = line.strip_prefix("https://")?;
    is_pull_request(address).then(|| Printed::PullRequest(address.to_owned()))
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
            let printed = Printed::of(output);
            let told: Vec<String> = printed.iter().map(Printed::told).collect();
            assert_eq!(told, expected, "{output:?}");
            for says in ["", ", says passed", ", says failed: 3 failed, committed nothing"] {
                let kept = format!("Bash cd x && git commit -F -: ok, 2 lines{}{says}", told.concat());
                assert_eq!(Printed::read(&kept), printed, "{kept}");
            }
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
