//! The name of a failure: its most informative line without what differs between two runs.

use baton_conversation::filter::is_echo;

/// Placeholder for a number.
const NUMBER: &str = "N";

/// Normalises the line: paths are cut to their last component, numbers and hexadecimal strings are replaced, codes
/// (`E0382`) are kept. Two runs that fail the same way have the same name.
pub fn normalise(line: &str) -> String {
    normalise_with(line, last_component)
}

/// Returns the name to show: as [`normalise`], but a path is only cut if it is absolute, and so another one elsewhere.
pub(super) fn name(line: &str) -> String {
    let is_absolute = |path: &str| path.starts_with(['/', '~', '\\']) || path.get(1..2) == Some(":");
    normalise_with(line, |path| if is_absolute(path) { last_component(path) } else { path })
}

/// Returns true if a line says only that something failed.
pub(super) fn is_general(line: &str) -> bool {
    let is_word = |word: &&str| *word != NUMBER && word.chars().any(char::is_alphabetic);
    is_echo(line) || line.is_ascii() && normalise(line).split(' ').filter(is_word).count() < 2
}

fn last_component(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

fn normalise_with(line: &str, shorten: impl Fn(&str) -> &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        normalise_word(word, &shorten, &mut out);
    }
    out
}

/// Normalises one word between spaces; the punctuation around and between its pieces is kept.
fn normalise_word(word: &str, shorten: &impl Fn(&str) -> &str, out: &mut String) {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '\\' | '~' | ':');
    let mut rest = word;
    while !rest.is_empty() {
        let marks = rest.find(inner).unwrap_or(rest.len());
        out.push_str(&rest[..marks]);
        rest = &rest[marks..];
        let end = rest.find(|c| !inner(c)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        let bare = piece.trim_end_matches([':', '.']);
        normalise_piece(bare, shorten, out);
        out.push_str(&piece[bare.len()..]);
        rest = after;
    }
}

/// Replaces a number, shortens a path, and copies anything else.
fn normalise_piece(piece: &str, shorten: &impl Fn(&str) -> &str, out: &mut String) {
    if piece.contains(['/', '\\']) && !piece.contains("//") {
        return out.push_str(without_position(shorten(piece)));
    }
    let piece = without_position(piece);
    let hex = piece.strip_prefix("0x").unwrap_or(piece);
    let address = hex.len() >= 7
        && hex.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && hex.bytes().any(|byte| byte.is_ascii_digit());
    if address || piece.strip_prefix('-').unwrap_or(piece).starts_with(|c: char| c.is_ascii_digit()) {
        return out.push_str(NUMBER);
    }
    out.push_str(piece);
}

/// Strips a trailing `:line` or `:line:column`.
fn without_position(name: &str) -> &str {
    let mut rest = name;
    while let Some((before, digits)) = rest.rsplit_once(':') {
        if before.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rest = before;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_two_runs_is_cut() {
        let check = |line: &str, name: &str| assert_eq!(normalise(line), name, "{line:?}");
        check("error[E0382]: borrow of moved value: `token`", "error[E0382]: borrow of moved value: `token`");
        check("thread 'main' panicked at /srv/shop/src/auth.rs:42:5:", "thread 'main' panicked at auth.rs:");
        check("thread 'main' panicked at src/auth.rs:7:12:", "thread 'main' panicked at auth.rs:");
        check("took 12ms, 3 failed; 0.5s at 0x7ffee4c0", "took N, N failed; N at N");
        check("commit 1a2b3c4d not found (port=8080)", "commit N not found (port=N)");
        check("2026-03-14T09:26:53Z ERROR x", "N ERROR x");
        check("std::io::Error: No such file", "std::io::Error: No such file");
        check("assertion `left == right` failed: -1 != 2", "assertion `left == right` failed: N != N");
        check("deadbeef is a word, defaced too", "deadbeef is a word, defaced too");
        check("", "");
    }

    #[test]
    fn a_name_keeps_relative_paths() {
        assert_eq!(
            name("Could not resolve \"js/app.js\" in /srv/shop/web:3"),
            "Could not resolve \"js/app.js\" in web"
        );
        assert_eq!(name("src/auth.rs:42:5: no token"), "src/auth.rs: no token");
    }

    #[test]
    fn what_names_no_failure_is_general() {
        for line in ["FAIL", "exit 1", "24 fail", "Process completed with exit code 1", ""] {
            assert!(is_general(line), "{line}");
        }
        for line in ["error: no rope", "undefined reference to `f1`", "路径不存在"] {
            assert!(!is_general(line), "{line}");
        }
    }
}
