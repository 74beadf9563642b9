//! Issues, tickets and pull requests that a text mentions.

use std::borrow::Cow;

/// Capital words before a hyphen and a number that are standards and not issue trackers; sorted.
const STANDARDS: [&str; 34] = [
    "AES", "ANSI", "ASCII", "CVE", "CWE", "ECMA", "EN", "ES", "FIPS", "GPT", "H", "HTTP", "IEEE", "IPV", "ISO",
    "LATIN", "MD", "MIT", "MP", "MPEG", "PEP", "POSIX", "PR", "RFC", "RSA", "SHA", "SSE", "TLS", "UCS", "UTC", "UTF",
    "UUID", "X", "XP",
];

/// An issue, ticket or pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Issue<'a> {
    /// `#123`, `ABC-123`.
    pub(super) name: Cow<'a, str>,
    /// True if it is a pull request.
    pub(super) merges: bool,
}

/// Returns `#123` and `ABC-123` in the order of the text, repetitions included.
pub(super) fn issues(text: &str) -> Vec<Issue<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let opens = at == 0 || may_precede(bytes[at - 1]);
        let end = match bytes[at] {
            b'#' if opens => numbered(bytes, at + 1).filter(|end| !is_colour(bytes, at, *end)),
            b'A'..=b'Z' if opens => ticket(text, at),
            _ => None,
        };
        match end {
            Some(end) => {
                let merges = bytes[at] == b'#' && merges(&text[..at]);
                found.push(Issue { name: text[at..end].into(), merges });
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Returns true for a colour: three or six digits in quotes, or before the semicolon of a style.
fn is_colour(bytes: &[u8], at: usize, end: usize) -> bool {
    let is_quote = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let is_quoted = is_quote(at.checked_sub(1).and_then(|at| bytes.get(at))) && is_quote(bytes.get(end));
    matches!(end - at, 4 | 7) && (is_quoted || bytes.get(end) == Some(&b';'))
}

/// Returns true if the words before a number call it a pull or merge request.
fn merges(before: &str) -> bool {
    let mut words = before.split_ascii_whitespace().rev();
    let last = words.next().unwrap_or_default().trim_start_matches('(');
    let is = |word: &str, wanted: &[&str]| wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted));
    is(last, &["pr", "prs", "mr"])
        || (is(last, &["request", "requests"]) && is(words.next().unwrap_or_default(), &["pull", "merge"]))
}

/// Returns the issue or pull request that a forge's page shows: `github.com/o/r/pull/12`.
pub(super) fn issue_of_page(page: &str) -> Option<Issue<'static>> {
    let mut parts = page.split('/').skip(1);
    let kind = parts.find(|part| matches!(*part, "issues" | "pull" | "pulls" | "merge_requests"))?;
    let number = parts.next().filter(|number| numbered(number.as_bytes(), 0) == Some(number.len()))?;
    Some(Issue { name: format!("#{number}").into(), merges: kind != "issues" })
}

/// Returns true if an issue's name may begin after this byte.
fn may_precede(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b'[' | b',' | b':' | b';' | b'/' | b'"' | b'\'' | b'`')
}

/// Returns the end of the one to six digits from `at` if the name may end there and the number does not begin with a
/// zero.
fn numbered(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + digits;
    let closes = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_'));
    // In `1.5` the number continues.
    let goes_on = bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    ((1..=6).contains(&digits) && bytes[at] != b'0' && closes && !goes_on).then_some(end)
}

fn ticket(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
    let dash = at + letters;
    let key = &text[at..dash];
    if !(2..=10).contains(&letters) || bytes.get(dash) != Some(&b'-') || STANDARDS.binary_search(&key).is_ok() {
        return None;
    }
    numbered(bytes, dash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_told_from_what_looks_like_them() {
        let check = |text: &str, found: &[&str]| {
            let names: Vec<String> = issues(text)
                .into_iter()
                .map(|issue| format!("{}{}", if issue.merges { "PR " } else { "" }, issue.name))
                .collect();
            assert_eq!(names, found, "{text:?}");
        };
        check("fix #12, (#7) and see SHOP-431: done", &["#12", "#7", "SHOP-431"]);
        check("colour #123abc, # 5, a#5, #0, #1234567, ##3", &[]);
        check("UTF-8 SHA-256 ISO-8601 RFC-3339 CVE-2024-1234 GPT-4", &[]);
        check("feature/ABC-9 and abc-9, A-1, ABC-1x, ABC-12.5, AB-12.", &["ABC-9", "AB-12"]);
        check("ünder #4 ✓ #5", &["#4", "#5"]);
        check("#", &[]);
        check("color: #333; fill=\"#124578\" and #333, `#12`", &["#333", "#12"]);
        check("see PR #12, pull request #13, merge request #14 and #15", &["PR #12", "PR #13", "PR #14", "#15"]);
    }

    #[test]
    fn a_page_of_a_forge_is_an_issue_or_a_pull_request() {
        let check = |page: &str, expected: Option<(&str, bool)>| {
            let found = issue_of_page(page);
            assert_eq!(found.as_ref().map(|issue| (&*issue.name, issue.merges)), expected, "{page:?}");
        };
        check("github.com/o/r/pull/12", Some(("#12", true)));
        check("github.com/o/r/pull/12/files", Some(("#12", true)));
        check("github.com/o/r/issues/7", Some(("#7", false)));
        check("gitlab.com/o/r/-/merge_requests/3", Some(("#3", true)));
        check("github.com/o/r/pulls", None);
        check("docs.rs/issues/abc", None);
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(STANDARDS.is_sorted());
    }
}
