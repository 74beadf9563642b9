//! Whether the right sessions are found: sessions and questions of a set, through the whole pipeline.

mod figures;
mod generated_set;
mod set;
mod set_transcripts;
mod with_vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use baton_protocol::answer::{Hit, Search};
use baton_protocol::{SearchParams, method};
use serde::Serialize;

pub use figures::Figures;
use figures::Sums;
use set::{Question, Set};
use set_transcripts::SetTranscripts;

use super::workspace::Workspace;
use super::{Error, Table, TestDaemon, io_error};
pub use with_vectors::{Endpoint, RecallWithVectors};

/// How questions are asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the set comes from.
    pub set: SetSource,
    /// Sessions in an answer.
    pub limit: u32,
    /// Turns of each session in an answer.
    pub turns: u32,
    /// The endpoint whose vectors are used to repeat all questions; `None` for no vectors.
    pub vectors: Option<Endpoint>,
}

/// Where a set comes from.
#[derive(Clone, Debug)]
pub enum SetSource {
    /// A file.
    File(PathBuf),
    /// It is generated from this seed.
    Generated(u64),
}

/// How well a set's questions are answered.
#[derive(Clone, Debug, Serialize)]
pub struct Recall {
    /// How this was measured.
    pub how: &'static str,
    /// Sessions of the set.
    pub sessions: usize,
    /// Turns of all sessions.
    pub turns: usize,
    /// Sessions requested.
    pub limit: u32,
    /// Turns requested of each session.
    pub turns_each: u32,
    /// Sessions, in the order of the answer.
    pub session_level: Level,
    /// Turns, in the order of the answer: by session, then by turn.
    pub turn_level: Level,
    /// The answer to each question.
    pub rankings: Vec<Ranking>,
    /// The same with vectors, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_vectors: Option<RecallWithVectors>,
}

/// Figures of one level.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Level {
    /// All questions with known expectations.
    pub total: Figures,
    /// By category.
    pub categories: BTreeMap<String, Figures>,
}

/// The answer to one question.
#[derive(Clone, Debug, Serialize)]
pub struct Ranking {
    /// The question's id.
    pub id: String,
    /// Its category.
    pub category: String,
    /// The sessions found, best first.
    pub sessions: Vec<String>,
    /// Rank of the first expected one, from 1; absent if none is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_place: Option<usize>,
    /// The turns found, in the order of the answer: session and index.
    pub turns: Vec<(String, usize)>,
    /// Rank of the first expected one, from 1; absent if none is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_place: Option<usize>,
}

/// Measures a set. Calls `progress` with each step.
pub fn measure(options: &Options, progress: &dyn Fn(&str)) -> Result<Recall, Error> {
    progress("reading the set");
    let set = match &options.set {
        SetSource::File(path) => Set::read(path)?,
        SetSource::Generated(seed) => Set::generated(*seed),
    };
    let workspace = Workspace::new()?;
    let claude = workspace.path().join("claude");
    progress("writing its sessions as transcripts");
    let written = SetTranscripts::write(&set, &claude)?;
    progress("indexing them");
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.index_all("anything", written.count())?;
    let (tally, _) = ask(&mut daemon, options, &set, &written, progress)?;
    let with_vectors = match &options.vectors {
        None => None,
        Some(endpoint) => {
            let filled = with_vectors::fill(&mut daemon, endpoint, progress)?;
            let (tally, by_words_alone) = ask(&mut daemon, options, &set, &written, progress)?;
            Some(RecallWithVectors {
                model: filled.model.clone(),
                texts: filled.texts,
                filling_seconds: filled.seconds,
                by_words_alone,
                session_level: tally.sessions.level(),
                turn_level: tally.turns.level(),
            })
        }
    };
    Ok(Recall {
        how: "Every session written as a transcript, read, indexed and asked for by a daemon of its own. In percent.",
        sessions: set.sessions.len(),
        turns: set.sessions.iter().map(|session| session.turns.len()).sum(),
        limit: options.limit,
        turns_each: options.turns,
        session_level: tally.sessions.level(),
        turn_level: tally.turns.level(),
        rankings: tally.rankings,
        with_vectors,
    })
}

/// Asks all questions; also counts those whose vector did not come in time.
fn ask(
    daemon: &mut TestDaemon,
    options: &Options,
    set: &Set,
    written: &SetTranscripts,
    progress: &dyn Fn(&str),
) -> Result<(Tally, usize), Error> {
    let (mut tally, mut by_words_alone) = (Tally::default(), 0);
    for (number, question) in set.questions.iter().enumerate() {
        if number % 100 == 0 {
            progress(&format!("asking: {number} of {} questions", set.questions.len()));
        }
        let params = SearchParams {
            query: question.text.clone(),
            limit: options.limit,
            turns: Some(options.turns),
            ..SearchParams::default()
        };
        let found: Search = daemon.client.call(method::SEARCH, &params, |_| {})?;
        by_words_alone += usize::from(found.freshness.vectors.is_some_and(|told| told != "used"));
        tally.add(set, written, question, &found.hits);
    }
    Ok((tally, by_words_alone))
}

/// Results so far.
#[derive(Default)]
struct Tally {
    sessions: Categories,
    turns: Categories,
    rankings: Vec<Ranking>,
}

#[derive(Default)]
struct Categories {
    total: Sums,
    each: BTreeMap<String, Sums>,
}

impl Tally {
    fn add(&mut self, set: &Set, written: &SetTranscripts, question: &Question, hits: &[Hit]) {
        let (mut sessions, mut turns) = (Vec::new(), Vec::new());
        for hit in hits {
            let Some(session) = written.session(&hit.session_id).and_then(|number| set.sessions.get(number)) else {
                continue;
            };
            push_once(&mut sessions, session.id.clone());
            if let Some(turn) = hit.line.and_then(|line| written.turn(&hit.session_id, line)) {
                push_once(&mut turns, (session.id.clone(), turn));
            }
        }
        let expected: BTreeSet<String> = question.expected_sessions.iter().cloned().collect();
        let session_place = self.sessions.add(&question.category, &sessions, &expected);
        let expected = question.expected_turns.iter().map(|(name, index)| (name.text(), *index)).collect();
        let turn_place = self.turns.add(&question.category, &turns, &expected);
        let (id, category) = (question.id.clone(), question.category.clone());
        self.rankings.push(Ranking { id, category, sessions, session_place, turns, turn_place });
    }
}

/// Adds each value once: a long turn is found in parts.
fn push_once<T: PartialEq>(ranking: &mut Vec<T>, one: T) {
    if !ranking.contains(&one) {
        ranking.push(one);
    }
}

impl Categories {
    /// Adds a ranking; questions without expectations are not counted.
    fn add<T: Ord>(&mut self, category: &str, ranking: &[T], expected: &BTreeSet<T>) -> Option<usize> {
        if expected.is_empty() {
            return None;
        }
        self.each.entry(category.to_owned()).or_default().add(ranking, expected);
        self.total.add(ranking, expected)
    }

    fn level(&self) -> Level {
        let categories = self.each.iter().map(|(name, sums)| (name.clone(), sums.figures())).collect();
        Level { total: self.total.figures(), categories }
    }
}

impl Recall {
    /// The figures as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut set = Table::new("Recall", self.how);
        set.row("sessions, turns, questions", format!("{}, {}, {}", self.sessions, self.turns, self.rankings.len()));
        set.row("asked for", format!("{} sessions, {} turns of each", self.limit, self.turns_each));
        let level = |title, level: &Level| {
            let mut table = Table::new(title, "hit@1, hit@5, hit@10, MRR, nDCG@10; in all, and by category");
            table.row("all", level.total.text());
            for (name, figures) in &level.categories {
                table.row(name, figures.text());
            }
            table
        };
        let mut tables = vec![set, level("Sessions", &self.session_level), level("Turns", &self.turn_level)];
        if let Some(meant) = &self.with_vectors {
            let how = format!(
                "{} texts in {:.1} s; {} questions by words alone",
                meant.texts, meant.filling_seconds, meant.by_words_alone
            );
            tables.push(Table::new(&format!("With vectors of {}", meant.model), &how));
            tables.push(level("Sessions, with vectors", &meant.session_level));
            tables.push(level("Turns, with vectors", &meant.turn_level));
        }
        tables
    }
}
