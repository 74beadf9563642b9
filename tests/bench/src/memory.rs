//! The searchable memory alone, at any size: time to fill and to search it, disk and memory.

mod vectors;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use baton_conversation::item::Agent;
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use baton_memory::{Checkpoint, Entry, Query, Searcher, Store, Titles};
use serde::Serialize;
use uuid::Uuid;

use super::corpus::talk::{Session, Talk};
use super::process::{CpuPerCall, Memory, cpu_seconds, memory};
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Corpus, Error, Spread, Table, io_error};
pub use vectors::WithVectors;

/// Sessions between two commits, as in a backfill.
const GROUP: u64 = 64;
/// Number of queries of each kind.
const QUESTIONS: usize = 300;

/// The size of the memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Approximate number of turns.
    pub documents: u64,
    /// Another seed gives other texts.
    pub seed: u64,
    /// Dimensions of the vectors with which all queries are repeated; `None` for no vectors.
    pub vectors: Option<usize>,
}

/// Cost of a memory of this size.
#[derive(Clone, Debug, Serialize)]
pub struct Scale {
    /// How this was measured.
    pub how: &'static str,
    /// Turns.
    pub turns: u64,
    /// Sessions.
    pub sessions: u64,
    /// Documents put per second, including commits and merges.
    pub documents_per_second: f64,
    /// Processor time of that, in seconds; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filling_cpu_seconds: Option<f64>,
    /// Bytes on disk after all merges.
    pub index_bytes: u64,
    /// From opening it again until it can be searched.
    pub opening_ms: f64,
    /// Its first search, which reads columns.
    pub first_search_ms: f64,
    /// Bytes on disk per 1,000 sessions.
    pub index_bytes_per_1000_sessions: u64,
    /// Times of the whole search on one thread, by kind of query.
    pub queries: BTreeMap<&'static str, QueryTimes>,
    /// Memory of this process after the queries, including the generator and the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The same with vectors, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_vectors: Option<WithVectors>,
}

/// One kind of query.
#[derive(Clone, Debug, Serialize)]
pub struct QueryTimes {
    /// An example.
    pub query: String,
    /// Times of the searches.
    pub times: Spread,
    /// Processor time of one, in milliseconds; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<f64>,
}

/// Fills a memory and searches it. Calls `progress` with each step.
pub fn measure(options: Options, progress: &dyn Fn(&str)) -> Result<Scale, Error> {
    let workspace = Workspace::new()?;
    let folder = workspace.path().join("memory");
    let refused = |error: baton_memory::Error| Error::NothingMeasured(error.to_string());
    let talk = Talk::new(options.seed);
    let sessions = Talk::sessions_of(options.documents);
    let mut store = Store::open(&folder).map_err(refused)?.store;
    let mut words = WordCounts::default();
    let (mut filling, cpu) = (std::time::Duration::ZERO, cpu_seconds(std::process::id()));
    let (mut turns, mut making) = (0, 0.0);
    for number in 0..sessions {
        let (since, before) = (Instant::now(), cpu_seconds(std::process::id()));
        let session = talk.session(number, number == sessions / 2);
        words.count(&session);
        making += cpu_seconds_since(before, since);
        let filled = Instant::now();
        put_session(&mut store, &session)?;
        turns += session.units.len() as u64;
        if number % GROUP == GROUP - 1 || number + 1 == sessions {
            store.commit(checkpoint(number + 1)).map_err(refused)?;
            if number % (GROUP * 8) == GROUP * 8 - 1 {
                progress(&format!("filling: {} of {sessions} sessions", number + 1));
            }
        }
        filling += filled.elapsed();
    }
    let last = Instant::now();
    store.idle().map_err(refused)?;
    filling += last.elapsed();
    let filling_cpu_seconds = cpu_seconds(std::process::id()).zip(cpu).map(|(now, then)| now - then - making);
    progress("asking");
    let searcher = store.searcher();
    let mut queries = BTreeMap::new();
    let kinds = words.kinds();
    for (name, kind) in &kinds {
        queries.insert(*name, ask(&searcher, kind)?);
    }
    let index_bytes = folder_bytes(&folder)?;
    let memory = memory(std::process::id());
    drop((searcher, store));
    progress("opening");
    let opened = Instant::now();
    let store = Store::open(&folder).map_err(refused)?.store;
    let opening_ms = opened.elapsed().as_secs_f64() * 1000.0;
    let searcher = store.searcher();
    let first_search = Instant::now();
    searcher.search(&Query::new(Corpus::RARE_WORD)).map_err(refused)?;
    let first_search_ms = first_search.elapsed().as_secs_f64() * 1000.0;
    let beside = workspace.path().join("vectors");
    let with = |dimensions| vectors::measure(&searcher, &kinds, dimensions, &beside, progress);
    let with_vectors = options.vectors.map(with).transpose()?;
    Ok(Scale {
        how: "Sessions of 66 generated turns, put as a backfill puts them; then each kind of query 300 times, every time \
              other words of its kind, ten sessions asked for. Entities and facts are left out.",
        turns,
        sessions,
        documents_per_second: (turns + sessions) as f64 / filling.as_secs_f64().max(1e-9),
        filling_cpu_seconds,
        index_bytes,
        opening_ms,
        first_search_ms,
        index_bytes_per_1000_sessions: index_bytes * 1000 / sessions,
        queries,
        memory,
        with_vectors,
    })
}

/// Processor seconds of this process since `before`; wall time since `since` where the system does not report it.
fn cpu_seconds_since(before: Option<f64>, since: Instant) -> f64 {
    before.zip(cpu_seconds(std::process::id())).map_or(since.elapsed().as_secs_f64(), |(then, now)| now - then)
}

fn checkpoint(number: u64) -> Checkpoint {
    Checkpoint { position: Position(number), chain: [7; 16] }
}

fn put_session(store: &mut Store, session: &Session) -> Result<(), Error> {
    let id =
        SessionId::new(&session.id).ok_or_else(|| Error::NothingMeasured("a generated id is refused".to_owned()))?;
    let ended_at = session.units.last().and_then(|unit| unit.at);
    let entry = Entry {
        session: &id,
        generation: 1,
        project: Some(&session.project),
        group_id: &session.project,
        agent: Agent::ClaudeCode,
        title: &session.title,
        episode_uuid: Uuid::new_v5(&Uuid::NAMESPACE_OID, session.id.as_bytes()),
        episode_text: &session.episode,
        ended_at,
        indexed_at: ended_at.unwrap_or(Timestamp(0)),
        parent: None,
        links: &[],
        titles: &Titles::default(),
        units: &session.units,
        changed_from: 0,
        graph: &Graph::default(),
        outcomes: &Outcomes::default(),
        usage: &baton_conversation::usage::Course::default(),
    };
    store.put(&entry).map_err(|error| Error::NothingMeasured(error.to_string()))
}

fn ask(searcher: &Searcher, queries: &[String]) -> Result<QueryTimes, Error> {
    let mut sample = Sample::default();
    let cpu = CpuPerCall::begin(std::process::id());
    for query in queries.iter().cycle().take(QUESTIONS) {
        let found = sample.time(|| searcher.search(&Query::new(query)));
        if found.map_err(|error| Error::NothingMeasured(error.to_string()))?.is_empty() {
            return Err(Error::NothingMeasured(format!("nothing is found for {query:?}")));
        }
    }
    let (query, times, cpu_ms) = (queries.first().cloned().unwrap_or_default(), sample.spread(), cpu.end(QUESTIONS));
    Ok(QueryTimes { query, times, cpu_ms })
}

fn folder_bytes(folder: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        bytes += entry.and_then(|entry| entry.metadata()).map_err(io_error("read", folder))?.len();
    }
    Ok(bytes)
}

/// Word counts of the first sessions.
#[derive(Default)]
struct WordCounts {
    counts: BTreeMap<String, u64>,
    sessions: u64,
}

impl WordCounts {
    fn count(&mut self, session: &Session) {
        if self.sessions == 100 {
            return;
        }
        self.sessions += 1;
        for text in session.units.iter().map(|unit| &unit.text) {
            for word in text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 4) {
                *self.counts.entry(word.to_lowercase()).or_default() += 1;
            }
        }
    }

    /// Queries of each kind.
    fn kinds(&self) -> [(&'static str, Vec<String>); 5] {
        let mut words: Vec<(&String, &u64)> = self.counts.iter().collect();
        words.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let words: Vec<&str> = words.into_iter().map(|(word, _)| word.as_str()).collect();
        let share = |part: usize| words.get(words.len() * part / 100..).unwrap_or_default();
        let several = |from: &[&str], each: usize, apart: usize| -> Vec<String> {
            let starts =
                (0..60.min(from.len().saturating_sub(each * apart)).max(1)).map(|start| start % from.len().max(1));
            starts
                .map(|start| from.iter().skip(start).step_by(apart).take(each).copied().collect::<Vec<_>>().join(" "))
                .collect()
        };
        [
            ("rare_word", vec![Corpus::RARE_WORD.to_owned()]),
            ("common_word", several(&words, 1, 1)),
            ("two_common_words", several(&words, 2, 1)),
            ("five_common_words", several(&words, 5, 1)),
            ("five_words", several(share(2), 5, 37)),
        ]
    }
}

impl Scale {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Memory", self.how);
        table.row("turns, sessions", format!("{}, {}", self.turns, self.sessions));
        table.row("documents put", format!("{:.0} a second", self.documents_per_second));
        if let Some(seconds) = self.filling_cpu_seconds {
            table.row("  processor for that", format!("{seconds:.1} s"));
        }
        table.row("index", megabytes(self.index_bytes));
        table.row("  for 1,000 sessions", megabytes(self.index_bytes_per_1000_sessions));
        let opening = format!("{:.0} ms, and the first search {:.1} ms", self.opening_ms, self.first_search_ms);
        table.row("opened again in", opening);
        for (name, asked) in &self.queries {
            let times = asked.times;
            let text = format!("p50 {:.2} ms, p99 {:.2} ms: {:?}", times.p50_ms, times.p99_ms, asked.query);
            table.row(&name.replace('_', " "), text);
            if let Some(ms) = asked.cpu_ms {
                table.row("  processor for one", format!("{ms:.2} ms"));
            }
        }
        if let Some(memory) = self.memory {
            table.row("memory of this process", memory.text());
        }
        if let Some(with_vectors) = &self.with_vectors {
            with_vectors.rows(&mut table);
        }
        table
    }
}
