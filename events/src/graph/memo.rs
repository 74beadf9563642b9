//! Entities that a memo names: files, pages, issues. It is no session that did something, so it supports no facts of its own
//! but those that it states.

use super::gather::{Gather, Moment, one_line};
use super::{Assertion, Graph, Label, MAX_TEXT_CHARS, Relation, issue, path, valued_fact_uuid};
use crate::memo::{Triplet, Words};
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
    if let Some(triplet) = &words.triplet {
        return stated(triplet, &words.body, group, at);
    }
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

/// A triplet: its two ends, and the one fact that it states by a name of its own.
fn stated(triplet: &Triplet, fact: &str, group: &str, at: Timestamp) -> Graph {
    let mut gather = Gather::new(group);
    let of = Moment { line: 1, at: Some(at) };
    let mut end = |name: &str| {
        let (label, name) = named(name, group);
        gather.mention(label, name, "", of, 1)
    };
    let (Some(source), Some(target)) = (end(&triplet.source), end(&triplet.target)) else { return Graph::default() };
    let mut graph = gather.finish();
    graph.assertions.push(Assertion {
        uuid: valued_fact_uuid(group, &triplet.edge, source, target, ""),
        relation: Relation::Told,
        name: Some(triplet.edge.as_str().into()),
        source,
        target,
        fact: one_line(fact, MAX_TEXT_CHARS),
        value: String::new(),
        valid_at: Some(at),
        last_at: Some(at),
        line: 1,
        rests: Vec::new(),
        settles: Vec::new(),
    });
    graph
}

/// What a name that somebody gave stands for, as far as it shows; else a topic.
fn named<'a>(name: &'a str, group: &str) -> (Label, &'a str) {
    if let Some(file) = file(name, group) {
        return (Label::File, file);
    }
    match issue::issues(name).as_slice() {
        [one] if one.name == name => (Label::Issue, name),
        _ => (Label::Topic, name),
    }
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
    fn a_triplet_is_two_nodes_and_one_fact() {
        let words =
            Words::triplet("payments team", "PREFERS", "The payments team prefers sled.", "src/log.rs").unwrap();
        let graph = memo(&words, "g", Timestamp(5));
        let nodes: Vec<_> = graph.mentions.iter().map(|it| (it.label, it.name.as_str())).collect();
        assert_eq!(nodes, [(Label::Topic, "payments team"), (Label::File, "src/log.rs")]);
        let [said] = graph.assertions.as_slice() else { panic!("{:?}", graph.assertions) };
        assert_eq!((said.source, said.target), (graph.mentions[0].uuid, graph.mentions[1].uuid));
        assert_eq!((said.name.as_deref(), said.fact.as_str()), (Some("PREFERS"), "The payments team prefers sled."));
        let again = Words::triplet("payments team", "AVOIDS", "", "src/log.rs").unwrap();
        assert_ne!(memo(&again, "g", Timestamp(5)).assertions[0].uuid, said.uuid);
        assert_ne!(memo(&words, "h", Timestamp(5)).assertions[0].uuid, said.uuid, "another group's");
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
