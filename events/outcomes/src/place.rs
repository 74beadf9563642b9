//! A path as somebody asks for it: a file, a directory, a pattern; and whether a known file is meant.

use std::collections::BTreeSet;

use super::last_part;

/// How well a file fits what was asked for; the earlier the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Its whole path.
    Whole,
    /// Its path in the project.
    InProject,
    /// The end of it.
    End,
    /// It lies in the directory, or has the pattern, as the project has it.
    Below,
    /// It lies in a directory that is called so, or ends in the pattern.
    BelowSome,
}

impl Fit {
    /// Whether more files than one are asked for.
    pub(super) fn is_many(self) -> bool {
        matches!(self, Self::Below | Self::BelowSome)
    }
}

/// What is asked for.
pub(super) struct Asked {
    text: String,
    is_pattern: bool,
}

impl Asked {
    pub(super) fn read(asked: &str) -> Self {
        let text = normal(asked);
        Self { is_pattern: text.contains(['*', '?']), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is asked for, if it is more than a file: a directory ends in a slash.
    pub(super) fn shown(&self) -> String {
        if self.is_pattern { self.text.clone() } else { format!("{}/", self.text) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.chars().all(|c| matches!(c, '/' | '.'))
    }

    /// The keys of the sessions that may know of it.
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

    /// Whether a file of a project fits, and how well.
    pub(super) fn fit(&self, project: Option<&str>, path: &str) -> Option<Fit> {
        let asked = self.text.as_str();
        let project = project.map(|project| project.trim_end_matches(['/', '\\']));
        // What a whole path is below its project.
        let below = match is_whole(asked) && !is_whole(path) {
            true => match asked.strip_prefix(project?)? {
                "" => return Some(Fit::Below),
                rest => rest.strip_prefix('/')?,
            },
            false => asked,
        };
        if self.is_pattern {
            return self.matches(below, path);
        }
        if is_whole(asked) {
            return if same(below, path) { Some(Fit::Whole) } else { starts_in(path, below).then_some(Fit::Below) };
        }
        let named = project.map(last_part).and_then(|name| asked.strip_prefix(name)?.strip_prefix('/'));
        if same(asked, path) || named.is_some_and(|rest| same(rest, path)) {
            return Some(Fit::InProject);
        }
        if ends_in(path, asked) {
            return Some(Fit::End);
        }
        if starts_in(path, asked) || named.is_some_and(|rest| starts_in(path, rest)) {
            return Some(Fit::Below);
        }
        let inside = |at: usize| at > 0 && path.as_bytes()[at - 1] == b'/' && starts_in(&path[at..], asked);
        path.char_indices().any(|(at, _)| inside(at)).then_some(Fit::BelowSome)
    }

    fn matches(&self, pattern: &str, path: &str) -> Option<Fit> {
        let parts = |text: &str| text.to_lowercase().split('/').map(str::to_owned).collect::<Vec<_>>();
        let (wanted, have) = (parts(pattern), parts(path));
        if fits_parts(&wanted, &have, &mut MAX_STEPS.clone()) {
            return Some(Fit::Below);
        }
        let ends =
            !is_whole(&self.text) && (1..have.len()).any(|at| fits_parts(&wanted, &have[at..], &mut MAX_STEPS.clone()));
        ends.then_some(Fit::BelowSome)
    }
}

/// Most steps of comparing a pattern with a path.
const MAX_STEPS: u32 = 2_000;

/// Whether the parts of a path fit those of a pattern, of which `**` stands for any number.
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

/// Whether a part fits, of which `*` stands for any letters and `?` for one. Linear but for the last `*`.
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

/// The keys of the directories in which a file lies, and of its ending.
pub(super) fn folder_keys(path: &str) -> BTreeSet<String> {
    let path = normal(path).to_lowercase();
    let (folders, last) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut keys: BTreeSet<String> =
        folders.split('/').filter(|part| !part.is_empty()).map(|part| format!("d:{part}")).collect();
    keys.extend(last.rsplit_once('.').map(|(_, ending)| format!("x:{ending}")));
    keys
}

/// Slashes lean forward; no `./` before, no line number behind.
pub(super) fn normal(asked: &str) -> String {
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

fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')
}

pub(super) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Whether a path lies in a directory.
fn starts_in(path: &str, folder: &str) -> bool {
    let head = path.get(..folder.len()).filter(|_| !folder.is_empty());
    head.is_some_and(|head| same(head, folder) && path[head.len()..].starts_with('/'))
}

/// Whether a path ends in these parts.
fn ends_in(path: &str, end: &str) -> bool {
    let at = path.len().checked_sub(end.len()).filter(|at| path.is_char_boundary(*at) && !end.is_empty());
    at.is_some_and(|at| same(&path[at..], end) && (at == 0 || path[..at].ends_with('/')))
}

/// Whether a word in a text means a file.
pub(super) fn is_meant(word: &str, path: &str) -> bool {
    let word = word.trim_start_matches("./");
    ends_in(path, word) || (word.len() > path.len() && ends_in(word, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_any_part_that_says_which() {
        let check = |asked: &str, expected: &str| {
            let found = match Asked::read(asked).fit(Some("/srv/shop"), "src/auth/token.rs") {
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
        assert!(Asked::read(&long).fit(None, &"a/".repeat(300)).is_none());
        assert!(fits_part("*a*a*a*b", &"a".repeat(60)) || !fits_part("*a*b", "aaaa"));
    }

    #[test]
    fn what_is_asked_for_is_looked_up_by_what_it_says() {
        let check = |asked: &str, expected: Option<&[&str]>| {
            let found = Asked::read(asked).keys();
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
