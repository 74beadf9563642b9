//! Speed of indexing and of queries: `cargo bench -p baton-memory --bench memory`.
//!
//! The text is generated: words of a Zipf vocabulary with some paths and identifiers, the same on every run.

use std::collections::HashSet;
use std::sync::OnceLock;

use baton_conversation::hash::Mark;
use baton_conversation::item::{Agent, Role};
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_conversation::usage::Course;
use baton_endpoint::words;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::{Assertion, Graph, Label, Mention, Relation, fact_uuid, node_uuid};
use baton_memory::vectors::{Meaning, Model, Vectors};
use baton_memory::{Checkpoint, Entry, GraphQuery, Query, Searcher, Sieve, Store, Titles};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use tempfile::TempDir;
use uuid::Uuid;

const UNITS_PER_SESSION: usize = 60;
const VOCABULARY: usize = 30_000;

fn main() {
    divan::main();
}

/// A random number generator with the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A rank by Zipf's law with exponent 1: low ranks often, high ones rarely.
    fn rank(&mut self) -> usize {
        let share = (self.roll() >> 11) as f64 / (1_u64 << 53) as f64;
        ((VOCABULARY as f64).powf(share) as usize).min(VOCABULARY) - 1
    }
}

/// The word of a rank, made of syllables, so that stems and grams resemble those of a language.
fn word(rank: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["re", "fre", "sh", "to", "ken", "ing", "au", "th", "par", "ser", "ed", "lo", "gin", "ca", "che", "s"];
    let mut rest = rank + 16;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[rest % 16]);
        rest /= 16;
    }
    word
}

/// Two words of five in English prose are function words.
const FUNCTION: [&str; 12] = ["the", "to", "and", "of", "is", "in", "that", "it", "for", "was", "with", "this"];

/// One of a few thousand paths, some much more often than others.
fn path(dice: &mut Dice) -> String {
    let number = dice.rank() / 10;
    format!("src/{}/{}.rs", word(number % 40 + 30), word(number + 100))
}

fn text(dice: &mut Dice, tool: bool) -> String {
    let mut text = String::new();
    if tool {
        return format!("Read {}: {} lines", path(dice), dice.roll() % 900);
    }
    let words = 8 + dice.roll() % 90;
    for _ in 0..words {
        match dice.roll() % 40 {
            24.. => text.push_str(FUNCTION[dice.rank() % FUNCTION.len()]),
            0 => text.push_str(&format!("{}_{}", word(dice.rank() / 100), word(dice.rank() / 10))),
            1 => text.push_str(&format!("{}:{}", path(dice), dice.roll() % 900)),
            2 => text.push_str("`E0308`, "),
            _ => text.push_str(&word(dice.rank())),
        }
        text.push(' ');
    }
    text
}

struct Made {
    id: SessionId,
    title: String,
    episode: String,
    units: Vec<Unit>,
    graph: Graph,
    outcomes: Outcomes,
    titles: Titles,
    usage: Course,
}

/// Entities and facts of one session, about as many as a session of that length has.
fn graph(session: &SessionId, dice: &mut Dice) -> Graph {
    const GROUP: &str = "/home/me/project";
    let mut graph = Graph::default();
    let at = Some(Timestamp(1_760_000_000_000));
    let mention = |label: Label, name: String, line: u64| {
        let uuid = node_uuid(GROUP, label, &name);
        Mention { uuid, label, name, detail: String::new(), line, at, count: 1, by_model: false }
    };
    let own = mention(Label::Session, format!("session_{}", session.short()), 1);
    let source = own.uuid;
    graph.mentions.push(own);
    for line in 1..30 {
        let mention = match line % 5 {
            0 => mention(Label::Command, format!("cargo {}", word(dice.rank() / 1_000)), line),
            1 => mention(Label::Error, text(dice, false).chars().take(80).collect(), line),
            _ => mention(Label::File, path(dice), line),
        };
        if graph.mentions.iter().all(|known| known.uuid != mention.uuid) {
            graph.assertions.push(Assertion {
                uuid: fact_uuid(GROUP, Relation::Modified, source, mention.uuid),
                relation: Relation::Modified,
                name: None,
                source,
                target: mention.uuid,
                fact: format!("session {} modified {} (+12 -3)", session.short(), mention.name),
                value: String::new(),
                valid_at: at,
                last_at: at,
                line,
                rests: Vec::new(),
                settles: Vec::new(),
                by_model: false,
            });
            graph.mentions.push(mention);
        }
    }
    graph
}

fn made(units: usize) -> Vec<Made> {
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    (0..units / UNITS_PER_SESSION)
        .map(|number| {
            let at = 1_760_000_000_000 + number as i64 * 7_200_000;
            let units: Vec<Unit> = (0..UNITS_PER_SESSION)
                .map(|line| Unit {
                    line: line as u64 * 7 + 1,
                    part: 0,
                    at: Some(Timestamp(at + line as i64 * 30_000)),
                    role: [Role::User, Role::Tool, Role::Tool, Role::Assistant][line % 4],
                    record: Some(Mark((number * UNITS_PER_SESSION + line) as u64)),
                    text: text(&mut dice, line % 4 == 1 || line % 4 == 2),
                })
                .collect();
            let id = SessionId::new(&format!("{:032x}", dice.roll())).expect("hex digits are an id");
            Made {
                graph: graph(&id, &mut dice),
                outcomes: Outcomes::default(),
                titles: Titles::default(),
                usage: Course::default(),
                id,
                title: text(&mut dice, false).chars().take(60).collect(),
                episode: units.iter().step_by(10).map(|unit| unit.text.as_str()).collect::<Vec<_>>().join("\n"),
                units,
            }
        })
        .collect()
}

fn entry(made: &Made, changed_from: usize) -> Entry<'_> {
    Entry {
        session: &made.id,
        generation: 1,
        project: Some("/home/me/project"),
        group_id: "/home/me/project",
        agent: Agent::ClaudeCode,
        title: &made.title,
        episode_uuid: Uuid::nil(),
        episode_text: &made.episode,
        ended_at: made.units.last().and_then(|unit| unit.at),
        indexed_at: Timestamp(1_770_000_000_000),
        graph: &made.graph,
        outcomes: &made.outcomes,
        usage: &made.usage,
        parent: None,
        links: &[],
        titles: &made.titles,
        units: &made.units,
        changed_from,
    }
}

fn bytes(sessions: &[Made]) -> usize {
    sessions.iter().flat_map(|made| &made.units).map(|unit| unit.text.len()).sum()
}

fn checkpoint(position: u64) -> Checkpoint {
    Checkpoint { position: Position(position), chain: [0; 16] }
}

fn fill(store: &mut Store, sessions: &[Made]) {
    for made in sessions {
        store.put(&entry(made, 0)).expect("the index can be written");
    }
    store.commit(checkpoint(1)).expect("the index can be committed");
}

fn fresh() -> (TempDir, Store) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(dir.path()).expect("a new memory").store;
    (dir, store)
}

/// A filled memory for queries, created once for each size.
fn filled(units: usize) -> &'static Searcher {
    static SMALL: OnceLock<(TempDir, Searcher)> = OnceLock::new();
    static LARGE: OnceLock<(TempDir, Searcher)> = OnceLock::new();
    let slot = if units == 20_000 { &SMALL } else { &LARGE };
    let (_, searcher) = slot.get_or_init(|| {
        let (dir, mut store) = fresh();
        fill(&mut store, &made(units));
        store.idle().expect("merges end");
        (dir, store.searcher())
    });
    searcher
}

#[divan::bench(args = [20_000, 100_000], sample_count = 3, sample_size = 1)]
fn fill_from_zero(bencher: Bencher<'_, '_>, units: usize) {
    let sessions = made(units);
    bencher
        .counter(ItemsCount::new(units))
        .counter(BytesCount::new(bytes(&sessions)))
        .with_inputs(fresh)
        .bench_local_values(|(dir, mut store)| {
            fill(&mut store, &sessions);
            (dir, store)
        });
}

/// Puts one more unit into a session and commits it.
#[divan::bench(args = [20_000, 100_000], sample_count = 50, sample_size = 1)]
fn append_one_unit(bencher: Bencher<'_, '_>, units: usize) {
    let (_dir, mut store) = fresh();
    let mut sessions = made(units);
    fill(&mut store, &sessions);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        let number = turn * 37 % sessions.len();
        let made = &mut sessions[number];
        let last = made.units.len();
        made.units.push(Unit { line: 1_000_000, ..made.units[last - 1].clone() });
        store.put(&entry(made, last.saturating_sub(2))).expect("the index can be written");
        store.commit(checkpoint(2)).expect("the index can be committed");
    });
}

fn rare() -> String {
    word(VOCABULARY - 100)
}

fn common() -> String {
    format!("{} {}", word(1), word(3))
}

fn five_words() -> String {
    [40, 300, 2_000, 7, 9_000].map(word).join(" ")
}

fn sentence() -> String {
    format!(
        "why did the {} of {} fail with E0308 in src/{}.rs when I was {} the {}",
        word(50),
        word(700),
        word(900),
        word(11),
        word(5_000)
    )
}

macro_rules! searches {
    ($($name:ident),*) => {
        mod search {
            $(
                #[divan::bench(args = [20_000, 100_000])]
                fn $name(bencher: divan::Bencher<'_, '_>, units: usize) {
                    let searcher = super::filled(units);
                    let query = super::$name();
                    bencher.bench_local(|| searcher.search(&super::Query::new(&query)).expect("the index can be read"));
                }
            )*
        }
    };
}

searches!(rare, common, five_words, sentence);

/// The same sentence, compared with a vector of 384 numbers for each text.
#[divan::bench(args = [20_000, 100_000])]
fn search_with_vectors(bencher: Bencher<'_, '_>, units: usize) {
    const DIMENSIONS: usize = 384;
    let searcher = filled(units);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let model = Model { name: "words".to_owned(), dimensions: Some(DIMENSIONS) };
    let table = Vectors::new(folder.path()).select(Some(&model)).expect("a new file").expect("a table");
    let mut missing = searcher.missing(&table, &|_| false, &HashSet::new());
    while missing.count() > 0 {
        let texts = missing.next_batch(1_000, usize::MAX).expect("the memory can be read");
        let made: Vec<_> = texts.iter().map(|text| (text.key, words::vector(&text.text, DIMENSIONS))).collect();
        assert!(table.add(&made, table.removals()).expect("the file can be written"));
    }
    let query = sentence();
    let meaning = Meaning::new(table, &words::vector(&query, DIMENSIONS));
    let query = Query { meaning: meaning.as_ref(), ..Query::new(&query) };
    bencher.bench_local(|| searcher.search(&query).expect("the index can be read"));
}

/// Ranks every entity, and reads one page.
#[divan::bench(args = [20_000, 100_000])]
fn list_nodes(bencher: Bencher<'_, '_>, units: usize) {
    let searcher = filled(units);
    bencher.bench_local(|| searcher.nodes(&graph_query("*")).expect("the index can be read"));
}

#[divan::bench(args = [20_000, 100_000])]
fn find_facts(bencher: Bencher<'_, '_>, units: usize) {
    let searcher = filled(units);
    let query = format!("modified {}", word(40));
    bencher.bench_local(|| searcher.facts(&graph_query(&query)).expect("the index can be read"));
}

fn graph_query(text: &str) -> GraphQuery<'_> {
    GraphQuery { text, exclude: &|_| false, labels: &[], sieve: Sieve::default(), center: None, limit: 10, offset: 0 }
}
