//! A path as it is asked for: a file, a directory or a pattern; and whether a known file matches it.

use std::collections::BTreeSet;

use super::last_part;

/// How well a file matches; better matches compare as smaller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The absolute path.
    Whole,
    /// The path in the project.
    InProject,
    /// The end of the path.
    End,
    /// Lies in the directory, or matches the pattern, relative to the project.
    Below,
    /// Lies in a directory whose path ends so, or its end matches the pattern.
    BelowSome,
}

impl Fit {
    /// Returns true if the question is about several files.
    pub(super) fn is_many(self) -> bool {
        matches!(self, Self::Below | Self::BelowSome)
    }
}

/// A path, a directory or a pattern.
pub(super) struct FileQuery {
    text: String,
    is_pattern: bool,
}

impl FileQuery {
    pub(super) fn read(asked: &str) -> Self {
        let text = normalise(asked);
        Self { is_pattern: text.contains(['*', '?']), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a pattern, or of a directory with a trailing slash.
    pub(super) fn shown(&self) -> String {
        if self.is_pattern { self.text.clone() } else { format!("{}/", self.text) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.chars().all(|c| matches!(c, '/' | '.'))
    }

    /// Returns the keys of the sessions that may know it; `None` if any may.
    pub(super) fn keys(&self) -> Option<Vec<String>> {
        if !self.is_pattern {
            let last = last_part(&self.text).to_lowercase();
            return Some(vec![super::file_key(&self.text), format!("d:{last}")]);
        }
        let literal = |part: &&str| !part.is_empty() && !part.contains(['*', '?']);
        let (folders, last) = self.text.rsplit_once('/').unwrap_or(("", &self.text));
        let ending = last.rsplit_once('.').map(|(_, ending)| ending).filter(literal);
        let folder = folders.rsplit('/').find(literal);
        let key = folder.map(|folder| format!("d:{}", folder.to_lowercase()));
        key.or_else(|| ending.map(|ending| format!("x:{}", ending.to_lowercase()))).map(|key| vec![key])
    }

    /// Returns whether a file of a project matches, and how well.
    pub(super) fn fit_of(&self, project: Option<&str>, path: &str) -> Option<Fit> {
        let asked = self.text.as_str();
        let project = project.map(|project| project.trim_end_matches(['/', '\\']));
        // The part of an absolute path below its project.
        let below = match is_absolute(asked) && !is_absolute(path) {
            true => match asked.strip_prefix(project?)? {
                "" => return Some(Fit::Below),
                rest => rest.strip_prefix('/')?,
            },
            false => asked,
        };
        if self.is_pattern {
            return self.matches(below, path);
        }
        if is_absolute(asked) {
            return if is_same_path(below, path) {
                Some(Fit::Whole)
            } else {
                is_inside(path, below).then_some(Fit::Below)
            };
        }
        let named = project.map(last_part).and_then(|name| asked.strip_prefix(name)?.strip_prefix('/'));
        if is_same_path(asked, path) || named.is_some_and(|rest| is_same_path(rest, path)) {
            return Some(Fit::InProject);
        }
        if ends_with_path(path, asked) {
            return Some(Fit::End);
        }
        if is_inside(path, asked) || named.is_some_and(|rest| is_inside(path, rest)) {
            return Some(Fit::Below);
        }
        let inside = |at: usize| at > 0 && path.as_bytes()[at - 1] == b'/' && is_inside(&path[at..], asked);
        path.char_indices().any(|(at, _)| inside(at)).then_some(Fit::BelowSome)
    }

    fn matches(&self, pattern: &str, path: &str) -> Option<Fit> {
        let parts = |text: &str| text.to_lowercase().split('/').map(str::to_owned).collect::<Vec<_>>();
        let (wanted, have) = (parts(pattern), parts(path));
        if fits_parts(&wanted, &have, &mut MAX_STEPS.clone()) {
            return Some(Fit::Below);
        }
        let ends = !is_absolute(&self.text)
            && (1..have.len()).any(|at| fits_parts(&wanted, &have[at..], &mut MAX_STEPS.clone()));
        ends.then_some(Fit::BelowSome)
    }
}

/// Maximum number of steps for matching a pattern against a path.
const MAX_STEPS: u32 = 2_000;

/// Matches the components of a path against a pattern, where `**` stands for any number of components.
fn fits_parts(wanted: &[String], have: &[String], steps: &mut u32) -> bool {
    *steps = steps.saturating_sub(1);
    match (wanted.split_first(), have.split_first()) {
        _ if *steps == 0 => false,
        (None, rest) => rest.is_none(),
        (Some((first, rest)), _) if first == "**" => {
            fits_parts(rest, have, steps) || have.split_first().is_some_and(|(_, more)| fits_parts(wanted, more, steps))
        }
        (Some((first, rest)), Some((part, more))) => fits_part(first, part) && fits_parts(rest, more, steps),
        (Some(_), None) => false,
    }
}

/// Matches one component, where `*` stands for any characters and `?` for one. Backtracks to the last `*` only.
fn fits_part(wanted: &str, part: &str) -> bool {
    let (wanted, part): (Vec<char>, Vec<char>) = (wanted.chars().collect(), part.chars().collect());
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < part.len() {
        match wanted.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == part[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((back, from)) = star else { return false };
                star = Some((back, from + 1));
                (at, read) = (back + 1, from + 1);
            }
        }
    }
    wanted[at..].iter().all(|c| *c == '*')
}

/// Returns the keys of a file's directories and extension.
pub(super) fn folder_keys(path: &str) -> BTreeSet<String> {
    let path = normalise(path).to_lowercase();
    let (folders, last) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut keys: BTreeSet<String> =
        folders.split('/').filter(|part| !part.is_empty()).map(|part| format!("d:{part}")).collect();
    keys.extend(last.rsplit_once('.').map(|(_, ending)| format!("x:{ending}")));
    keys
}

/// Normalises to forward slashes, without a leading `./` or a trailing line number.
pub(super) fn normalise(asked: &str) -> String {
    let asked = asked.trim().replace('\\', "/");
    let asked = asked.trim_matches('`').trim_start_matches("./").trim_end_matches('/');
    let mut rest = asked;
    while let Some((before, digits)) = rest.rsplit_once(':') {
        if before.len() < 2 || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rest = before;
    }
    rest.to_owned()
}

pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')
}

pub(super) fn is_same_path(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns true if the path lies in the directory.
fn is_inside(path: &str, folder: &str) -> bool {
    let head = path.get(..folder.len()).filter(|_| !folder.is_empty());
    head.is_some_and(|head| is_same_path(head, folder) && path[head.len()..].starts_with('/'))
}

/// Returns true if the path ends with these components.
fn ends_with_path(path: &str, end: &str) -> bool {
    let at = path.len().checked_sub(end.len()).filter(|at| path.is_char_boundary(*at) && !end.is_empty());
    at.is_some_and(|at| is_same_path(&path[at..], end) && (at == 0 || path[..at].ends_with('/')))
}

/// Returns true if a word in a text means the file.
pub(super) fn means_file(word: &str, path: &str) -> bool {
    let word = word.trim_start_matches("./");
    ends_with_path(path, word) || (word.len() > path.len() && ends_with_path(word, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_any_part_that_says_which() {
        let check = |asked: &str, expected: &str| {
            let found = match FileQuery::read(asked).fit_of(Some("/srv/shop"), "src/auth/token.rs") {
                None => "no",
                Some(Fit::Whole) => "whole",
                Some(Fit::InProject) => "in project",
                Some(Fit::End) => "end",
                Some(Fit::Below) => "below",
                Some(Fit::BelowSome) => "below some",
            };
            assert_eq!(found, expected, "{asked}");
        };
        for (asked, expected) in [
            ("/srv/shop/src/auth/token.rs:12", "whole"),
            ("./src/auth/token.rs", "in project"),
            ("shop/src/auth/token.rs", "in project"),
            ("Token.rs", "end"),
            ("auth/token.rs", "end"),
            ("oken.rs", "no"),
            ("src", "below"),
            ("src/auth/", "below"),
            ("shop/src", "below"),
            ("/srv/shop", "below"),
            ("/srv/shop/src/auth", "below"),
            ("/srv/harbor/src/auth", "no"),
            ("auth", "below some"),
            ("uth", "no"),
            ("src/auth/*.rs", "below"),
            ("src/**", "below"),
            ("src/*.rs", "no"),
            ("**/token.*", "below"),
            ("*.rs", "below some"),
            ("auth/t?ken.rs", "below some"),
            ("/srv/shop/src/*/token.rs", "below"),
            ("*.ts", "no"),
        ] {
            check(asked, expected);
        }
        let long = format!("{}x", "*/".repeat(300));
        assert!(FileQuery::read(&long).fit_of(None, &"a/".repeat(300)).is_none());
        assert!(fits_part("*a*a*a*b", &"a".repeat(60)) || !fits_part("*a*b", "aaaa"));
    }

    #[test]
    fn what_is_asked_for_is_looked_up_by_what_it_says() {
        let check = |asked: &str, expected: Option<&[&str]>| {
            let found = FileQuery::read(asked).keys();
            let known = folder_keys("src/Auth/token.rs");
            assert!(found.iter().flatten().any(|key| key.starts_with("f:") || known.contains(key)) || found.is_none());
            assert_eq!(
                found.as_deref(),
                expected.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>()).as_deref()
            );
        };
        check("src/Auth", Some(&["f:auth", "d:auth"]));
        check("src/auth/*.rs", Some(&["d:auth"]));
        check("**/*.rs", Some(&["x:rs"]));
        check("*", None);
    }
}
