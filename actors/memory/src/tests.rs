//! The memory from the point of view of its owner and its callers.

mod facts;
mod flips;
mod forks;
mod graph;
mod outcomes;
mod ranking;
mod requirements;
mod titles;
mod turn_scores;
mod upkeep;
mod usage;
mod vectors;

use baton_conversation::item::{Agent, Link, Role};
use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_conversation::usage::Course;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::{Assertion, Graph, Label, Mention, Relation, fact_uuid, node_uuid};
use tempfile::TempDir;
use uuid::Uuid;

use super::{Checkpoint, Entry, Hit, Query, Searcher, Store, Titles};

/// A session as written by a test.
#[derive(Clone, Debug)]
struct Session {
    id: SessionId,
    generation: u32,
    project: String,
    title: String,
    episode: String,
    units: Vec<Unit>,
    graph: Graph,
    outcomes: Outcomes,
    usage: Course,
    links: Vec<(Link, SessionId)>,
    titles: Titles,
}

impl Session {
    fn new(id: &str, texts: &[&str]) -> Self {
        Self {
            id: SessionId::new(id).unwrap(),
            generation: 1,
            project: "/srv/shop".to_owned(),
            title: format!("title of {id}"),
            episode: String::new(),
            units: texts.iter().zip(1..).map(|(text, line)| unit(line, text)).collect(),
            graph: Graph::default(),
            outcomes: Outcomes::default(),
            usage: Course::default(),
            links: Vec::new(),
            titles: Titles::default(),
        }
    }

    fn in_project(mut self, project: &str) -> Self {
        self.project = project.to_owned();
        self
    }

    /// Adds changes of these files.
    fn touching(mut self, files: &[&str]) -> Self {
        self.graph = graph(&self.project, &self.id, files);
        self
    }

    fn entry(&self, changed_from: usize) -> Entry<'_> {
        Entry {
            session: &self.id,
            generation: self.generation,
            project: Some(&self.project),
            group_id: &self.project,
            agent: Agent::ClaudeCode,
            title: &self.title,
            episode_uuid: Uuid::from_u128(self.units.len() as u128 + 1),
            episode_text: &self.episode,
            ended_at: self.units.last().and_then(|unit| unit.at),
            indexed_at: Timestamp(1_773_480_500_000 + self.units.len() as i64),
            parent: None,
            links: &self.links,
            titles: &self.titles,
            units: &self.units,
            changed_from,
            graph: &self.graph,
            outcomes: &self.outcomes,
            usage: &self.usage,
        }
    }
}

/// The graph of a session that changed these files.
fn graph(group: &str, session: &SessionId, files: &[&str]) -> Graph {
    let mut graph = Graph::default();
    let mut mention = |label: Label, name: &str, line: u64| {
        let uuid = node_uuid(group, label, name);
        let at = Some(Timestamp(1_773_480_000_000 + line as i64));
        graph.mentions.push(Mention {
            uuid,
            label,
            name: name.to_owned(),
            detail: String::new(),
            line,
            at,
            count: 2,
            by_model: false,
        });
        uuid
    };
    let source = mention(Label::Session, session.as_str(), 1);
    let targets: Vec<Uuid> = files.iter().zip(2..).map(|(file, line)| mention(Label::File, file, line)).collect();
    for ((target, file), line) in targets.into_iter().zip(files).zip(2..) {
        graph.assertions.push(Assertion {
            uuid: fact_uuid(group, Relation::Modified, source, target),
            relation: Relation::Modified,
            name: None,
            source,
            target,
            fact: format!("session {session} modified {file}"),
            value: String::new(),
            valid_at: Some(Timestamp(1_773_480_000_000 + line as i64)),
            last_at: Some(Timestamp(1_773_480_000_000 + line as i64)),
            line,
            rests: Vec::new(),
            settles: Vec::new(),
            by_model: false,
        });
    }
    graph
}

fn unit(line: u64, text: &str) -> Unit {
    let role = if line % 2 == 1 { Role::User } else { Role::Assistant };
    Unit { line, part: 0, at: Timestamp::parse("2026-03-14T09:26:53.589Z"), role, record: None, text: text.to_owned() }
}

fn checkpoint(position: u64) -> Checkpoint {
    Checkpoint { position: Position(position), chain: [position as u8; 16] }
}

/// A memory in a temporary directory.
struct Memory {
    dir: TempDir,
    store: Store,
    searcher: Searcher,
}

impl Memory {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opened = Store::open(dir.path()).unwrap();
        assert_eq!((opened.checkpoint, opened.wiped), (None, None));
        Self { searcher: opened.store.searcher(), store: opened.store, dir }
    }

    /// A memory with these sessions, committed.
    fn of(sessions: &[Session]) -> Self {
        let mut memory = Self::new();
        for session in sessions {
            memory.store.put(&session.entry(0)).unwrap();
        }
        memory.store.commit(checkpoint(1)).unwrap();
        memory
    }

    fn ask(&self, text: &str) -> Vec<Hit> {
        self.searcher.search(&Query::new(text)).unwrap()
    }

    /// The ids of the sessions found, in order.
    fn sessions(&self, text: &str) -> Vec<String> {
        ids(&self.ask(text))
    }
}

fn ids(hits: &[Hit]) -> Vec<String> {
    let mut ids: Vec<String> = hits.iter().map(|hit| hit.session_id.to_string()).collect();
    ids.dedup();
    ids
}
