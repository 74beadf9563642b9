//! The documents: their length, and that the paths they name exist.

use super::tree::{check, lines};

/// Prefixes by which a path of this tree is recognised.
const FOLDERS: &[&str] = &["actors/", "events/", "replay-fixtures/", "src/", "tests/"];

/// Most lines of the README, which is read in one go.
pub(crate) const README_LINES: usize = 250;

/// Most words of ARCHITECTURE.md, for the same reason.
pub(crate) const ARCHITECTURE_WORDS: usize = 3_000;

/// Paths in backticks that do not exist.
pub(crate) fn missing_paths(name: &str, text: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in lines(text) {
        for word in line.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| word.starts_with(folder))
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
            if is_path && !is_there(word) {
                found.push(format!("{name}:{number}: {word} is not there"));
            }
        }
    }
    found
}

/// Reports a document that is too long.
pub(crate) fn too_long(name: &str, count: usize, most: usize, what: &str) -> Option<String> {
    (count > most).then(|| format!("{name}: {count} {what}, at most {most}; move what not everybody needs"))
}

#[test]
fn paths_that_lead_nowhere_are_found() {
    let text = "`src/a.rs` and `src/b.rs`\n`events/` `src/<command>.rs` `other/b.rs` `cargo test -p src/b.rs`";
    check(missing_paths("x.md", text, |path| path == "src/a.rs" || path == "events/"), &["x.md:1: src/b.rs"]);
    check(too_long("x.md", 3, 3, "lines").into_iter().collect(), &[]);
    check(too_long("x.md", 4, 3, "lines").into_iter().collect(), &["x.md: 4 lines, at most 3"]);
}
