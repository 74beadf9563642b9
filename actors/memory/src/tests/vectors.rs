//! Hits found by vectors, in addition to those found by words.

use std::collections::HashSet;
use std::sync::Arc;

use baton_ask::query::Without;

use super::*;
use crate::vectors::{Meaning, Model, Table, Vectors, passage};
use crate::{Reason, Requirements};

/// Groups of words with the same meaning.
const SAME: [&[&str]; 4] =
    [&["car", "vehicle", "automobile"], &["quick", "fast", "speedy"], &["repair", "mend", "fix"], &["login", "signin"]];

/// A vector in which words with the same meaning point in the same direction.
fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01_f32; 512];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
        let word = SAME.iter().find(|same| same.contains(&word)).map_or(word, |same| same[0]);
        let hash = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(131) + usize::from(byte));
        vector[hash % 512] += 1.0;
    }
    vector
}

/// A memory whose texts have vectors.
struct Meant {
    memory: Memory,
    folder: TempDir,
    vectors: Vectors,
    table: Arc<Table>,
}

impl Meant {
    fn of(sessions: &[Session]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let vectors = Vectors::new(folder.path());
        let table = vectors.select(Some(&Model { name: "made".to_owned(), dimensions: None })).unwrap().unwrap();
        let meant = Self { memory: Memory::of(sessions), folder, vectors, table };
        meant.fill(usize::MAX);
        meant
    }

    /// Adds at most `most` vectors; returns their number.
    fn fill(&self, most: usize) -> usize {
        let mut missing = self.memory.searcher.missing(&self.table, &|_| false, &HashSet::new());
        let texts = missing.next_batch(most.min(1_000), usize::MAX).unwrap();
        let made: Vec<_> = texts.iter().map(|text| (text.key, embed(&text.text))).collect();
        assert!(self.table.add(&made, self.table.removals()).unwrap());
        made.len()
    }

    fn meaning(&self, text: &str) -> Meaning {
        Meaning::new(self.table.clone(), &embed(text)).unwrap()
    }

    fn ask(&self, query: Query<'_>) -> Vec<Hit> {
        let meaning = self.meaning(query.text);
        self.memory.searcher.search(&Query { meaning: Some(&meaning), ..query }).unwrap()
    }

    fn sessions(&self, text: &str) -> Vec<String> {
        ids(&self.ask(Query::new(text)))
    }
}

fn garage() -> Vec<Session> {
    vec![
        Session::new("garage", &["How do I mend the automobile?", "Take the wheels off first", "the brakes squeak"]),
        Session::new("kitchen", &["A soup of leeks", "stir it slowly and add salt"]),
        Session::new("web", &["The signin page is slow", "cached the session lookup"]).in_project("/srv/blog"),
        Session::new("exact", &["the vehicle depot opens at nine", "bring papers"]),
    ]
}

#[test]
fn a_paraphrase_is_found_with_vectors_alone() {
    let meant = Meant::of(&garage());
    let hits = |text: &str, with: bool| {
        let hits = if with { meant.ask(Query::new(text)) } else { meant.memory.ask(text) };
        ids(&hits).first().cloned()
    };
    for (text, first) in [("fix car", "garage"), ("login", "web")] {
        assert_ne!(hits(text, false).as_deref(), Some(first), "{text}");
        assert_eq!(hits(text, true).as_deref(), Some(first), "{text}");
    }
    let best = &meant.ask(Query::new("fix car"))[0];
    assert_eq!((best.snippet.as_str(), best.line), ("How do I mend the automobile?", Some(1)));
    assert_eq!(best.matched, [Reason::Vector].into());
    // A hit found by words and by vector reports both.
    let both = &meant.ask(Query::new("leeks soup"))[0];
    assert_eq!((both.session_id.as_str(), &both.matched), ("kitchen", &[Reason::Text, Reason::Vector].into()));
}

#[test]
fn what_is_left_out_is_not_found_by_its_meaning_either() {
    let meant = Meant::of(&garage());
    let check = |query: Query<'_>, expected: &[&str]| {
        let hits = meant.ask(query);
        let mut found: Vec<String> = ids(&hits);
        found.sort();
        assert_eq!(found, expected);
    };
    let hidden = |id: &str| id != "kitchen";
    check(Query { exclude: &hidden, ..Query::new("fix car") }, &["kitchen"]);
    check(Query { project: Some("/srv/blog"), ..Query::new("fix car") }, &["web"]);
    let phrases = ["mend the automobile".to_owned()];
    check(
        Query { requirements: Requirements { phrases: &phrases, ..Requirements::default() }, ..Query::new("fix car") },
        &["garage"],
    );
    let without = [Without::Word("automobile".to_owned()), Without::Phrase("wheels off".to_owned())];
    let requirements = Requirements { without: &without, ..Requirements::default() };
    let query = Query { requirements, ..Query::new("fix car") };
    assert!(meant.ask(query).iter().all(|hit| !hit.snippet.contains("automobile") && !hit.snippet.contains("wheels")));
    let after = Requirements { after: Some(Timestamp(4_000_000_000_000)), ..Requirements::default() };
    check(Query { requirements: after, ..Query::new("fix car") }, &[]);
    check(Query { sessions: 0, ..Query::new("fix car") }, &[]);
    assert_eq!(ids(&meant.ask(Query { sessions: 1, ..Query::new("fix car") })), ["garage"]);
}

#[test]
fn without_vectors_nothing_is_another_than_it_was() {
    let meant = Meant::of(&garage());
    let empty = Vectors::new(&meant.folder.path().join("other"));
    let table = empty.select(Some(&Model { name: "none".to_owned(), dimensions: None })).unwrap().unwrap();
    assert!(Meaning::new(table.clone(), &embed("car")).is_none(), "there is nothing to compare it with");
    table.add(&[(1, embed("nothing of the memory"))], 0).unwrap();
    let meaning = Meaning::new(table, &embed("car")).unwrap();
    for text in ["car", "vehicle depot", "soup leeks salt", "the", "signin page", "title of garage"] {
        let query = Query { meaning: Some(&meaning), ..Query::new(text) };
        assert_eq!(meant.memory.searcher.search(&query).unwrap(), meant.memory.ask(text), "{text}");
    }
    assert!(Meaning::new(meant.table.clone(), &[1.0; 511]).is_none(), "of another model");
    assert!(Meaning::new(meant.table, &[0.0; 512]).is_none(), "without a direction");
}

#[test]
fn each_text_is_paid_for_once() {
    let mut meant = Meant::of(&garage());
    let texts = meant.table.count();
    assert_eq!(meant.fill(usize::MAX), 0);
    // Repeated words in another session, and a session put again, need no new vectors.
    let mut copy = Session::new("copy", &["How do I mend the automobile?", "Take the wheels off first"]);
    meant.memory.store.put(&copy.entry(0)).unwrap();
    meant.memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(meant.fill(usize::MAX), 0);
    copy.units.push(unit(3, "a new turn"));
    copy.units.push(unit(4, "…"));
    meant.memory.store.put(&copy.entry(0)).unwrap();
    meant.memory.store.commit(checkpoint(3)).unwrap();
    assert_eq!((meant.fill(usize::MAX), meant.table.count()), (1, texts + 1));
    // A memory filled from scratch finds them all.
    meant.memory = Memory::of(&garage());
    assert_eq!(meant.fill(usize::MAX), 0);
    assert_eq!(meant.sessions("fix car")[0], "garage");
    // Texts of an excluded session are not sent.
    meant.memory.store.put(&Session::new("secret", &["never sent"]).entry(0)).unwrap();
    meant.memory.store.commit(checkpoint(2)).unwrap();
    let missing = meant.memory.searcher.missing(&meant.table, &|id| id == "secret", &HashSet::new());
    assert_eq!((missing.count(), missing.is_newest(&meant.memory.searcher)), (0, true));
}

#[test]
fn vectors_go_with_the_last_session_that_says_it() {
    let mut meant = Meant::of(&garage());
    let copy = Session::new("copy", &["How do I mend the automobile?"]);
    meant.memory.store.put(&copy.entry(0)).unwrap();
    meant.memory.store.remove(&SessionId::new("garage").unwrap()).unwrap();
    meant.memory.store.commit(checkpoint(2)).unwrap();
    let key = |text: &str| crate::vectors::key(passage(text).unwrap());
    let live = meant.memory.searcher.live_texts();
    assert_eq!(meant.vectors.retain(|| live.clone()).unwrap(), 2);
    assert!(meant.table.holds(key("How do I mend the automobile?")));
    assert!(!meant.table.holds(key("Take the wheels off first")) && !live.contains(&key("the brakes squeak")));
    assert_eq!(meant.sessions("fix car")[0], "copy");
    assert_eq!(live, meant.memory.searcher.live_texts().into_iter().collect::<HashSet<_>>());
}

#[test]
fn vectors_are_found_wherever_the_index_moves_their_turns() {
    let mut meant = Meant::of(&[]);
    for number in 0..40 {
        let texts = [format!("number{number} of many"), format!("engine{number} oil")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        meant.memory.store.put(&Session::new(&format!("s{number}"), &texts).entry(0)).unwrap();
        meant.memory.store.commit(checkpoint(number + 2)).unwrap();
        // Searched while some vectors are missing, as during a backfill.
        meant.fill(1);
        let nearest = meant.ask(Query::new(&format!("engine{number}")));
        assert_eq!(nearest[0].session_id.as_str(), format!("s{number}"));
    }
    while meant.fill(7) > 0 {}
    meant.memory.store.idle().unwrap();
    meant.memory.store.remove(&SessionId::new("s7").unwrap()).unwrap();
    meant.memory.store.commit(checkpoint(99)).unwrap();
    meant.vectors.retain(|| meant.memory.searcher.live_texts()).unwrap();
    for number in (0..40).filter(|number| *number != 7) {
        let text = format!("engine{number} oil");
        let hit = &meant.ask(Query::new(&text))[0];
        assert_eq!((hit.session_id.as_str(), hit.line), (format!("s{number}").as_str(), Some(2)), "{text}");
        assert!(hit.matched.contains(&Reason::Vector));
    }
}
