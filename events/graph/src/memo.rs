//! Entities and facts of a memo: a topic for the memo itself, the entities that it mentions, its preferences and
//! decisions as for sessions, and `NOTED` facts for the rest, so that a search for facts finds it.
//!
//! # Hazards
//!
//! - `NOTED` facts cut from one note differ in `value` (`part 2`), which is part of their uuid.

use super::builder::{FactDraft, GraphBuilder, Moment};
use super::claim::Claims;
use super::extract::decisions::{NAME, WHO};
use super::one_line::one_line;
use super::{
    Assertion, Graph, Label, MAX_NAME_CHARS, MAX_TEXT_CHARS, Relation, issue, path, preference, valued_fact_uuid,
};
use baton_conversation::quoted_text::without_blocks;
use baton_conversation::record::Timestamp;
use baton_events::memo::{Source, Triplet, Turn, Words, turns};

/// Extensions by which a word without a slash is taken for a file; sorted.
const ENDINGS: [&str; 40] = [
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "ex", "go", "h", "hpp", "html", "ini", "java", "js",
    "json", "jsonl", "jsx", "kt", "lock", "lua", "md", "php", "proto", "py", "rb", "rs", "scala", "scss", "sh", "sql",
    "swift", "toml", "ts", "tsx", "vue", "yaml", "yml",
];
/// Maximum length of a word that is inspected, in bytes.
const WORD_BYTES: usize = 300;
/// Maximum number of sentences that are searched for preferences and decisions.
const MAX_SENTENCES: usize = 200;
/// Maximum number of `NOTED` facts: this much of a long note is found among facts.
const MAX_NOTED: usize = 8;
/// Relation name of such a fact.
const NOTED: &str = "NOTED";
/// Lines of a memo's text before its body: its name and a blank line.
const HEAD_LINES: u64 = 2;

/// Returns the entities and facts of a memo; lines count in the memo's text.
pub fn memo(words: &Words, source: Source, group: &str, at: Timestamp) -> Graph {
    if let Some(triplet) = &words.triplet {
        return triplet_graph(triplet, &words.body, group, at);
    }
    let mut builder = GraphBuilder::new(group);
    let first = Moment { line: 1, at: Some(at) };
    let note = builder.mention(Label::Topic, &words.name, &words.body, first, 1);
    let project = project_name(group).and_then(|name| builder.mention(Label::Project, name, group, first, 1));
    let text = words.text();
    for (line, text) in (1..).zip(text.lines()) {
        let of = Moment { line, at: Some(at) };
        for page in path::page_names(text) {
            builder.mention(Label::Url, &page, "", of, 1);
        }
        for issue in issue::issues(text) {
            let label = if issue.merges { Label::PullRequest } else { Label::Issue };
            builder.mention(label, &issue.name, "", of, 1);
        }
        for word in text.split_whitespace().filter(|word| word.len() <= WORD_BYTES) {
            if let Some(name) = file_in_word(word, group) {
                builder.mention(Label::File, name, "", of, 1);
            }
        }
    }
    let Some(note) = note else { return builder.finish() };
    let place = project.map_or("", |_| self::project_name(group).unwrap_or_default());
    let mut noted = Vec::new();
    let of_json = [Turn { speaker: None, line: 1, text: &words.body }];
    let said = if source == Source::Message { turns(&words.body) } else { of_json.to_vec() };
    let mut left = MAX_SENTENCES;
    for turn in said {
        let lines = turn.line + HEAD_LINES;
        // JSON has no sentences, and an agent's words are no preference of the user.
        let wishes = source != Source::Json && !turn.is_of_an_agent();
        let blank = without_blocks(turn.text);
        let (mut seen, begun, mut is_told) = (0, noted.len(), false);
        let mut line = lines;
        for sentence in baton_episode::digest::clauses(&blank).take(left) {
            let begin = sentence.as_ptr().addr() - blank.as_ptr().addr();
            line += blank.get(seen..begin).map_or(0, |passed| passed.matches('\n').count()) as u64;
            (seen, left) = (begin, left - 1);
            let of = Moment { line, at: Some(at) };
            let settled = baton_episode::digest::settled(sentence);
            let topic = settled.topic().or_else(|| project.map(|_| words.name.clone()));
            let topic = topic.filter(|_| wishes && baton_episode::digest::is_choice(sentence));
            if let Some(rule) = preference::rule_in_note(group, sentence).filter(|_| wishes) {
                let person = builder.mention(Label::Person, NAME, WHO, of, 1);
                let wanted = builder.mention(Label::Preference, &rule.text, "", of, 1);
                if let (Some(person), Some(wanted)) = (person, wanted) {
                    let fact = match rule.text.starts_with("the user ") {
                        true => rule.text.clone(),
                        false => format!("the user prefers: {}", rule.text),
                    };
                    builder.add(FactDraft::new(Relation::Prefers, person, wanted).with_claims(rule.claims), &fact, of);
                }
            } else if let Some(topic) = topic {
                let Some(topic) = builder.mention(Label::Topic, &topic, "", of, 1) else { continue };
                let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
                let claims = Claims::of(&settled, group, "use", true);
                let value =
                    settled.chosen.filter(|_| settled.rejected.is_some()).unwrap_or_else(|| sentence.to_owned());
                let said = FactDraft::new(Relation::Decided, project.unwrap_or(note), topic);
                let said = said.with_value(value).with_claims(claims);
                builder.add(said, &format!("decided{place}: {sentence}"), of);
            } else {
                noted.push((line, sentence.to_owned()));
                continue;
            }
            is_told = true;
        }
        if !is_told {
            // No fact was taken from this turn: it is noted as written.
            noted.truncate(begun);
            noted.extend((lines..).zip(turn.text.lines().map(str::to_owned)));
        }
    }
    // A fact needs a target: the project, or the group of the note.
    let group_name = one_line(group, MAX_NAME_CHARS);
    let target = project.or_else(|| builder.mention(Label::Topic, &group_name, "", first, 1)).unwrap_or(note);
    let mut graph = builder.finish();
    for (number, (line, text)) in noted_texts(&words.name, &noted).into_iter().enumerate() {
        // Facts between the same two entities are distinguished by their value.
        let value = if number == 0 { String::new() } else { format!("part {}", number + 1) };
        graph.assertions.push(Assertion {
            uuid: valued_fact_uuid(group, NOTED, note, target, &value),
            relation: Relation::Custom,
            name: Some(NOTED.into()),
            source: note,
            target,
            fact: text,
            value,
            valid_at: Some(at),
            last_at: Some(at),
            line,
            rests: Vec::new(),
            settles: Vec::new(),
            by_model: false,
        });
    }
    graph
}

/// Returns the project's name if the group is a directory.
fn project_name(group: &str) -> Option<&str> {
    let name = group.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next()?;
    (group.contains(['/', '\\']) && !name.is_empty()).then_some(name)
}

/// Cuts the noted lines into facts of bounded length; the first begins with the name of the note.
fn noted_texts(name: &str, noted: &[(u64, String)]) -> Vec<(u64, String)> {
    let mut pieces: Vec<(u64, String)> = Vec::new();
    let mut chars = 0;
    let words = noted.iter().flat_map(|(line, text)| text.split_whitespace().map(|word| (*line, word)));
    for (line, word) in words {
        let room = chars + 1 + word.chars().count() <= MAX_TEXT_CHARS;
        let is_full = pieces.len() == MAX_NOTED;
        match pieces.last_mut() {
            Some((_, piece)) if room => {
                piece.push(' ');
                piece.push_str(word);
                chars += 1 + word.chars().count();
                continue;
            }
            Some(_) if is_full => break,
            Some(_) => pieces.push((line, one_line(word, MAX_TEXT_CHARS))),
            None => pieces.push((line, one_line(&format!("{name}: {word}"), MAX_TEXT_CHARS))),
        }
        chars = pieces.last().map_or(0, |(_, piece)| piece.chars().count());
    }
    pieces
}

/// Returns the two entities of a triplet and the single fact that it states, with the relation name given there.
fn triplet_graph(triplet: &Triplet, fact: &str, group: &str, at: Timestamp) -> Graph {
    let mut builder = GraphBuilder::new(group);
    let of = Moment { line: 1, at: Some(at) };
    let mut end = |name: &str| {
        let (label, name) = label_of(name, group);
        builder.mention(label, name, "", of, 1)
    };
    let (Some(source), Some(target)) = (end(&triplet.source), end(&triplet.target)) else { return Graph::default() };
    let mut graph = builder.finish();
    graph.assertions.push(Assertion {
        uuid: valued_fact_uuid(group, &triplet.edge, source, target, ""),
        relation: Relation::Custom,
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
        by_model: false,
    });
    graph
}

/// Returns the label of a name: a file or an issue if it looks like one, otherwise a topic.
fn label_of<'a>(name: &'a str, group: &str) -> (Label, &'a str) {
    if let Some(file) = file_in_word(name, group) {
        return (Label::File, file);
    }
    match issue::issues(name).as_slice() {
        [one] if one.name == name => (Label::Issue, name),
        _ => (Label::Topic, name),
    }
}

/// Returns the file that a word names, relative to the group if the group is its project: `src/auth.rs`, ``
/// `auth.rs:12` ``.
fn file_in_word<'a>(word: &'a str, group: &str) -> Option<&'a str> {
    let word = word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')));
    let word = word.trim_end_matches(['.', '/', '-']);
    // `auth.rs:12:3` is a position in a file.
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
        let graph = memo(&words, Source::Text, "/home/dev/ledger", Timestamp(5));
        let told: Vec<String> =
            graph.mentions.iter().map(|it| format!("{} {} {}", it.label.as_str(), it.name, it.line)).collect();
        assert_eq!(
            told,
            [
                "Topic Notes on PAY-7 1",
                "Project ledger 1",
                "Issue PAY-7 1",
                "Url docs.rs/sled/0.34 3",
                "Issue #42 3",
                "File src/auth.rs 4",
                "File Cargo.toml 4",
                "File node.js 4"
            ]
        );
        let facts: Vec<_> = graph.assertions.iter().map(|it| (it.line, it.name.as_deref(), it.fact.as_str())).collect();
        assert_eq!(
            facts,
            [(
                3,
                Some("NOTED"),
                "Notes on PAY-7: See https://docs.rs/sled/0.34 and #42. `src/auth.rs:12` broke, (Cargo.toml) too; not e.g. \
                 this, v1.2 or node.js?"
            )]
        );
    }

    /// Returns `LINE RELATION fact = value` for each fact of a note.
    fn told_facts(source: Source, group: &str, name: &str, body: &str) -> Vec<String> {
        let graph = memo(&Words::note(name, body, "", false).unwrap(), source, group, Timestamp(5));
        let nodes: Vec<_> = graph.mentions.iter().map(|mention| mention.uuid).collect();
        assert!(graph.assertions.iter().all(|it| nodes.contains(&it.source) && nodes.contains(&it.target)));
        let name = |it: &Assertion| it.name.as_deref().unwrap_or(it.relation.as_str()).to_owned();
        let value = |it: &Assertion| if it.value.is_empty() { String::new() } else { format!(" = {}", it.value) };
        graph.assertions.iter().map(|it| format!("{} {} {}{}", it.line, name(it), it.fact, value(it))).collect()
    }

    #[test]
    fn a_note_gives_preferences_and_decisions_as_sessions_do() {
        assert_eq!(
            told_facts(
                Source::Text,
                "g",
                "pref",
                "The user prefers tabs over spaces. We decided to use sled instead of SQLite because of the license."
            ),
            [
                "3 PREFERS the user prefers tabs over spaces",
                "3 DECIDED decided: We decided to use sled instead of SQLite because of the license. = sled",
            ]
        );
        assert_eq!(
            told_facts(
                Source::Text,
                "/srv/zoo",
                "Deploy rule",
                "We deploy the flamingo service only on Tuesdays\n\nNever use npm."
            ),
            [
                "5 PREFERS the user prefers: never use npm",
                "3 NOTED Deploy rule: We deploy the flamingo service only on Tuesdays",
            ]
        );
        assert_eq!(
            told_facts(Source::Message, "g", "chat", "user: always use pnpm\nassistant: I prefer npm.\nuser: ok"),
            ["3 PREFERS the user prefers: always use pnpm", "4 NOTED chat: I prefer npm. ok"]
        );
        assert_eq!(
            told_facts(Source::Text, "g", "README", "It says:\n> Always use Docker.\n```\nnever use npm\n```"),
            ["3 NOTED README: It says: > Always use Docker. ``` never use npm ```"]
        );
        assert_eq!(
            told_facts(Source::Json, "g", "j", "{\"a\":\"always use npm\"}"),
            ["3 NOTED j: {\"a\":\"always use npm\"}"]
        );
    }

    #[test]
    fn a_long_note_is_found_among_facts_as_far_as_it_is_bounded() {
        let body = "This is one sentence of many words that says little. ".repeat(200);
        let facts = told_facts(Source::Text, "g", "long", &body);
        assert!(facts.len() == MAX_NOTED && facts[7].ends_with(" = part 8"), "{facts:?}");
        assert!(facts.iter().all(|fact| fact.chars().count() < MAX_TEXT_CHARS + 30));
    }

    #[test]
    fn a_triplet_is_two_nodes_and_one_fact() {
        let words =
            Words::triplet("payments team", "PREFERS", "The payments team prefers sled.", "src/log.rs").unwrap();
        let graph = memo(&words, Source::Triplet, "g", Timestamp(5));
        let nodes: Vec<_> = graph.mentions.iter().map(|it| (it.label, it.name.as_str())).collect();
        assert_eq!(nodes, [(Label::Topic, "payments team"), (Label::File, "src/log.rs")]);
        let [said] = graph.assertions.as_slice() else { panic!("{:?}", graph.assertions) };
        assert_eq!((said.source, said.target), (graph.mentions[0].uuid, graph.mentions[1].uuid));
        assert_eq!((said.name.as_deref(), said.fact.as_str()), (Some("PREFERS"), "The payments team prefers sled."));
        let again = Words::triplet("payments team", "AVOIDS", "", "src/log.rs").unwrap();
        assert_ne!(memo(&again, Source::Triplet, "g", Timestamp(5)).assertions[0].uuid, said.uuid);
        assert_ne!(memo(&words, Source::Triplet, "h", Timestamp(5)).assertions[0].uuid, said.uuid, "another group's");
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
            assert_eq!(file_in_word(word, "/home/dev/ledger"), name, "{word}");
        }
        assert!(ENDINGS.is_sorted());
    }
}
