//! Scores of turns, compared with a scorer that has nothing but the texts.

use std::collections::BTreeMap;

use baton_conversation::turns;
use tantivy::{DocAddress, Index, TantivyDocument};

use super::*;
use crate::analyzer::{Analyzer, Listener};
use crate::query::Plan;
use crate::required_terms::TurnFilter;
use crate::schema;
use crate::snapshot::Snapshot;
use crate::turn_scores::TurnScores;

const WORDS: [&str; 12] = [
    "heron", "river", "lantern", "copper", "meadow", "violin", "harbour", "saffron", "glacier", "walnut", "pepper",
    "anchor",
];

/// A random number generator with the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn text(&mut self) -> String {
        // One turn in five is longer than what counts of a neighbour.
        let words = if self.below(5) == 0 { 30 + self.below(60) } else { 1 + self.below(12) };
        (0..words).map(|_| WORDS[self.below(12).min(self.below(12)) as usize]).collect::<Vec<_>>().join(" ")
    }
}

/// All tokens of a turn's body.
#[derive(Default)]
struct All(Vec<String>);

impl Listener for All {
    fn word(&mut self, _plain: &str, stem: &str, _at: std::ops::Range<usize>) {
        self.0.push(stem.to_owned());
    }

    fn name(&mut self, token: &str, _at: std::ops::Range<usize>) {
        self.0.push(token.to_owned());
    }
}

fn tokens(unit: &Unit) -> Vec<String> {
    let (mut text, mut all) = (String::new(), All::default());
    turns::write_body(unit, &mut text);
    Analyzer::default().analyze(&text, &mut all);
    all.0
}

/// A body or a context: how often it has each token, and its length.
struct Text {
    key: (String, usize),
    counts: BTreeMap<String, f64>,
    length: f64,
}

impl Text {
    /// The sum of bodies, each scaled to at most so many tokens.
    fn new<'a>(key: (String, usize), bodies: impl Iterator<Item = (&'a Vec<String>, f64)>) -> Self {
        let (mut counts, mut length) = (BTreeMap::new(), 0.0);
        for (body, most) in bodies {
            let scale = (most / body.len() as f64).min(1.0);
            length += scale * body.len() as f64;
            body.iter().for_each(|token| *counts.entry(token.clone()).or_insert(0.0) += scale);
        }
        Self { key, counts, length }
    }
}

/// BM25 over all bodies plus BM25 over all contexts, by session and ordinal.
fn expected(sessions: &BTreeMap<String, Session>, query: &[&str]) -> BTreeMap<(String, usize), f64> {
    let (mut bodies, mut contexts) = (Vec::new(), Vec::new());
    for (id, session) in sessions {
        let all: Vec<Vec<String>> = session.units.iter().map(tokens).collect();
        for (at, body) in all.iter().enumerate() {
            let near = all.iter().enumerate().filter(|(other, _)| other.abs_diff(at) <= 2);
            let most = |other: usize| if other == at { f64::INFINITY } else { 45.0 };
            bodies.push(Text::new((id.clone(), at), [(body, f64::INFINITY)].into_iter()));
            contexts.push(Text::new((id.clone(), at), near.map(|(other, body)| (body, most(other)))));
        }
    }
    let mut scores = BTreeMap::new();
    for texts in [bodies, contexts] {
        let all = texts.len() as f64;
        let average = texts.iter().map(|text| text.length).sum::<f64>() / all;
        for word in query {
            let mut stem = All::default();
            Analyzer::default().analyze(word, &mut stem);
            let frequency = texts.iter().filter(|text| text.counts.contains_key(&stem.0[0])).count() as f64;
            let idf = (1.0 + (all - frequency + 0.5) / (frequency + 0.5)).ln();
            for Text { key, counts, length } in &texts {
                let count = counts.get(&stem.0[0]).copied().unwrap_or(0.0);
                let norm = 1.2 * (0.25 + 0.75 * length / average);
                *scores.entry(key.clone()).or_insert(0.0) += idf * 2.2 * count / (count + norm);
            }
        }
    }
    scores
}

fn found(memory: &Memory, query: &[&str]) -> BTreeMap<(String, usize), f64> {
    let snapshot = memory.searcher.snapshot();
    let plan = Plan::parse(&query.join(" "), &snapshot).unwrap();
    let scores = TurnScores::new(&snapshot, &plan, &TurnFilter::default()).unwrap();
    let mut found = BTreeMap::new();
    for (number, (reader, segment)) in (0..).zip(snapshot.searcher.segment_readers().iter().zip(&snapshot.segments)) {
        for doc in reader.doc_ids_alive().filter(|doc| segment.length_of(*doc).is_some()) {
            let key = (segment.id_of(doc).unwrap().to_owned(), segment.ordinal.first(doc).unwrap() as usize);
            found.insert(key, f64::from(scores.of(DocAddress::new(number, doc))));
        }
    }
    found
}

#[test]
fn turns_are_scored_as_if_all_contexts_were_indexed() {
    for seed in 1..=6 {
        let mut dice = Dice(seed | 0x9e37_79b9_0000_0000);
        let (mut memory, mut sessions) = (Memory::new(), BTreeMap::new());
        for step in 1..40 {
            let id = format!("s{}", dice.below(6));
            match dice.below(8) {
                0 => {
                    sessions.remove(&id);
                    memory.store.remove(&SessionId::new(&id).unwrap()).unwrap();
                }
                1 => {
                    let texts: Vec<String> = (0..dice.below(9)).map(|_| dice.text()).collect();
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    let session = Session { generation: step, ..Session::new(&id, &texts) };
                    memory.store.put(&session.entry(0)).unwrap();
                    sessions.insert(id, session);
                }
                2 => memory.store.idle().unwrap(),
                _ => {
                    let session = sessions.entry(id.clone()).or_insert_with(|| Session::new(&id, &[]));
                    let known = session.units.len();
                    for _ in 0..=dice.below(3) {
                        let line = session.units.len() as u64 + 1;
                        session.units.push(unit(line, &dice.text()));
                    }
                    memory.store.put(&session.entry(known)).unwrap();
                }
            }
            if dice.below(3) == 0 {
                memory.store.commit(checkpoint(u64::from(step))).unwrap();
                let query = [WORDS[dice.below(12) as usize], WORDS[dice.below(4) as usize], "march"];
                if query[0] == query[1] {
                    // Searched for once, and expected twice.
                    continue;
                }
                let (expected, found) = (expected(&sessions, &query), found(&memory, &query));
                assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>(), "{seed} {step}");
                for (key, score) in expected {
                    assert!(
                        (score - found[&key]).abs() < 1e-4,
                        "seed {seed}, step {step}, {key:?}: {score} {}",
                        found[&key]
                    );
                }
            }
        }
    }
}

#[test]
fn ordinals_of_a_damaged_index_make_no_larger_table() {
    let (schema, fields) = schema::build();
    let index = Index::create_in_ram(schema);
    schema::register(&index);
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    let ordinals = [0, 1, 9, 1 << 31, (1 << 32) + 1, u64::MAX - 1, u64::MAX, u64::MAX];
    for ordinal in ordinals {
        let mut document = TantivyDocument::new();
        document.add_text(fields.session, "s");
        document.add_text(fields.place, "/srv/shop");
        document.add_u64(fields.generation, 1);
        document.add_u64(fields.ordinal, ordinal);
        document.add_text(fields.body, "heron\n");
        document.add_u64(fields.length, 1);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    let snapshot = Snapshot::open(index.reader().unwrap().searcher(), fields, None).unwrap();
    let table = snapshot.turn_table();
    assert!(table.turns == 8 && table.lengths.len() < 64, "{}", table.lengths.len());
    let plan = Plan::parse("heron", &snapshot).unwrap();
    let scores = TurnScores::new(&snapshot, &plan, &TurnFilter::default()).unwrap();
    let of = |doc| scores.of(DocAddress::new(0, doc));
    assert!((0..8).all(|doc| of(doc) > 0.0));
    assert!(of(0) != of(2) && of(2) == of(3), "only turns that follow each other are neighbours");
}
