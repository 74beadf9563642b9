//! Entities that a memo names: files, pages, issues. It is no session that did something, so it supports no facts of its own
//! but those that it states.

use super::gather::{Gather, Moment};
use super::{Graph, Label, issue, path};
use crate::memo::Words;
use crate::record::Timestamp;

/// Endings by which a word without a slash is taken for a file; sorted.
const ENDINGS: [&str; 40] = [
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "ex", "go", "h", "hpp", "html", "ini", "java", "js",
    "json", "jsonl", "jsx", "kt", "lock", "lua", "md", "php", "proto", "py", "rb", "rs", "scala", "scss", "sh", "sql",
    "swift", "toml", "ts", "tsx", "vue", "yaml", "yml",
];
/// Longest word that is looked at, in bytes.
const WORD_BYTES: usize = 300;

/// What a memo names, each once, with the line of its text.
pub fn memo(words: &Words, group: &str, at: Timestamp) -> Graph {
    let mut gather = Gather::new(group);
    let text = words.text();
    for (line, text) in (1..).zip(text.lines()) {
        let of = Moment { line, at: Some(at) };
        for page in path::pages(text) {
            gather.mention(Label::Url, &page, "", of, 1);
        }
        for issue in issue::issues(text) {
            let label = if issue.merges { Label::PullRequest } else { Label::Issue };
            gather.mention(label, &issue.name, "", of, 1);
        }
        for word in text.split_whitespace().filter(|word| word.len() <= WORD_BYTES) {
            if let Some(name) = file(word, group) {
                gather.mention(Label::File, name, "", of, 1);
            }
        }
    }
    gather.finish()
}

/// The file that a word names, below the group if that is its project: `src/auth.rs`, `` `auth.rs:12` ``.
fn file<'a>(word: &'a str, group: &str) -> Option<&'a str> {
    let word = word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')));
    let word = word.trim_end_matches(['.', '/', '-']);
    // `auth.rs:12:3` is a place in a file.
    let name = word.split(':').next().unwrap_or_default();
    let below = name.strip_prefix(group).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    let name = below.strip_prefix("./").unwrap_or(below);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@' | '+');
    let (stem, ending) = name.rsplit('/').next()?.rsplit_once('.')?;
    let is_file = !stem.is_empty() && ENDINGS.binary_search(&ending).is_ok() && name.chars().all(plain);
    (is_file && !name.contains("//") && !name.contains("..")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memo_names_is_found() {
        let body = "See https://docs.rs/sled/0.34 and #42.\n`src/auth.rs:12` broke, (Cargo.toml) too; not e.g. this, v1.2 or node.js?";
        let words = Words::note("Notes on PAY-7", body, "", false).unwrap();
        let graph = memo(&words, "/home/dev/ledger", Timestamp(5));
        let told: Vec<String> =
            graph.mentions.iter().map(|it| format!("{} {} {}", it.label.as_str(), it.name, it.line)).collect();
        assert_eq!(
            told,
            [
                "Issue PAY-7 1",
                "Url docs.rs/sled/0.34 3",
                "Issue #42 3",
                "File src/auth.rs 4",
                "File Cargo.toml 4",
                "File node.js 4"
            ]
        );
        assert_eq!(graph.assertions, []);
    }

    #[test]
    fn a_file_is_told_as_sessions_tell_it() {
        for (word, name) in [
            ("/home/dev/ledger/src/a.rs", Some("src/a.rs")),
            ("./src/a.rs,", Some("src/a.rs")),
            ("/etc/app.conf", Some("/etc/app.conf")),
            ("**a_b-c.py**", Some("a_b-c.py")),
            (".rs", None),
            ("src/", None),
            ("../x.rs", None),
            ("https://x.rs/a//b.rs", None),
            ("a.b", None),
        ] {
            assert_eq!(file(word, "/home/dev/ledger"), name, "{word}");
        }
        assert!(ENDINGS.is_sorted());
    }
}
