//! The text files of the tree, without ignored files, build output and fixtures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Endings of the files that are read; others are data.
const TEXT: &[&str] = &["rs", "toml", "md", "lock", "run", "gitignore", "LICENSE"];

const MAX_DEPTH: usize = 16;

/// A text file of the tree.
pub(crate) struct File {
    /// Path relative to the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_test(&self) -> bool {
        let of_tests = |part: &str| matches!(part, "tests" | "tests.rs" | "benches" | "conformance.rs");
        self.path.split('/').any(of_tests)
    }

    /// The numbered lines before the module of tests at the end; none for a test file.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = self.text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        let end = if self.is_test() { 0 } else { end };
        lines(&self.text[..end])
    }
}

/// Lines with their numbers, from 1.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// The root of the tree.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The entries of `.gitignore`.
pub(crate) fn ignored() -> BTreeSet<String> {
    let list = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    list.lines().map(|line| line.trim_matches('/').to_owned()).collect()
}

/// All text files except fixtures, in the order of their paths.
pub(crate) fn tree() -> Vec<File> {
    fn gather(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<File>) {
        assert!(depth < MAX_DEPTH, "{prefix} is too deep");
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{prefix}: {error}"));
        let mut entries: Vec<_> = entries.map(|entry| entry.expect("an entry")).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        let ignored = if depth == 0 { ignored() } else { BTreeSet::new() };
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.path().is_dir() {
                let skipped = depth == 0 && (ignored.contains(&name) || name == ".git" || name == "replay-fixtures");
                if !skipped {
                    gather(&entry.path(), &format!("{path}/"), depth + 1, files);
                }
            } else if name.rsplit('.').next().is_some_and(|ending| TEXT.contains(&ending)) {
                let text = fs::read_to_string(entry.path()).unwrap_or_else(|error| panic!("{path}: {error}"));
                files.push(File { path, text });
            }
        }
    }
    let mut files = Vec::new();
    gather(root(), "", 0, &mut files);
    files
}

/// True if `word` occurs in the line as a whole word.
pub(crate) fn contains_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (opens, ends) = (part(word.chars().next()), part(word.chars().next_back()));
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !(opens && part(before.chars().next_back()) || ends && part(after.chars().next()))
    })
}

/// Checks that each finding contains the expected text.
#[track_caller]
pub(crate) fn check(found: Vec<String>, expected: &[&str]) {
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found:?} lacks {expected:?}");
    }
}
