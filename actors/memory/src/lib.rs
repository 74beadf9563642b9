//! The search index over everything said in all sessions; queries take milliseconds.
//!
//! It is a projection of the journal and the stored conversations on tantivy: disposable, and rebuilt from zero
//! whenever its version differs or its files cannot be read. One index holds a document for each turn, each session,
//! each entity that a session mentions, each fact that it asserts, and one for what it tried and how that went. A
//! [`Store`] writes the index, one owner at a time; a [`Searcher`] queries it from any thread.
//!
//! Guarantees: a session's entry is replaced in one commit, never half. A query that starts after a commit sees it. An
//! index maintained through any history holds the same documents and fields as one filled from scratch (scores may
//! differ until deleted documents are merged away). Nothing reads the clock, and no query text is a syntax error.
//!
//! Layers, each of which uses only those before it:
//!
//! 1. `limits`, `schema`, `pretokenized`, and text without an index: `analyzer`, `irregular`, `phrase`, `dates`,
//!    `plain_words`; `turn_table`: turns by session; `scratch`: arrays for their scores
//! 2. `snapshot`: a committed state, its segments and their columns; `searcher`: the handle whose methods are the
//!    queries
//! 3. `vectors`: the files of vectors, and the vector of a query
//! 4. parts of a query over a snapshot: `term_postings`, `prefix`, `proximity`, `required_terms`, `texts`; then `query`
//! 5. ranking: `turn_scores`, `turns`, `copied_records`, `later_first`, `named_files`, `nearest`, `session_bm25`, `score_weights`; presentation: `snippet`,
//!    `reasons`
//! 6. the queries: `search`, `graph`, `outcomes`, `entity_filter`, `phrase_sessions`, `forks`, `titles_of_others`, `usage`, `dump`
//! 7. writing: `document`, `queue`, and `store`, which owns the index; `graph` and `outcomes` make
//!    their own documents with `document`
//!
//! # Hazards
//!
//! - Raise `PROJECTION_VERSION` with any change of extraction, of an episode's text or of the analyzer. An append
//!   rewrites all entities and facts of its session, because they name the episode; in a session of thousands of lines
//!   that is most of the cost of an append.

mod analyzer;
mod copied_records;
mod dates;
mod document;
mod dump;
mod entity_filter;
mod forks;
mod graph;
mod irregular;
mod later_first;
mod limits;
mod named_files;
mod nearest;
mod outcomes;
mod phrase;
mod phrase_sessions;
mod plain_words;
mod prefix;
mod pretokenized;
mod proximity;
mod query;
mod queue;
mod reasons;
mod required_terms;
mod schema;
mod score_weights;
mod scratch;
mod search;
mod searcher;
mod session_bm25;
mod snapshot;
mod snippet;
mod store;
mod term_postings;
#[cfg(test)]
mod tests;
mod texts;
mod titles_of_others;
mod turn_scores;
mod turn_table;
mod turns;
mod usage;
pub mod vectors;

use baton_conversation::item::{Agent, Link};
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_conversation::usage::Course;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use uuid::Uuid;

pub use dump::SessionDigest;
pub use entity_filter::{SessionIds, SessionMatches};
pub use forks::{RelatedSession, links};
pub use graph::{Fact, FactsAt, GraphQuery, Node, Page, SessionGraph, Sieve, Window};
pub use outcomes::{Selector, WitnessQuery, Witnesses};
pub use query::Query;
pub use reasons::Reason;
pub use required_terms::Requirements;
pub use search::{Hit, Kind, SearchResult, Unread};
pub use searcher::Searcher;
pub use snapshot::SessionCourse;
pub use store::{Checkpoint, Opened, Store};
pub use titles_of_others::Titles;

/// Version of everything that determines what the index holds. Raise it with every change of the analyzer, the fields,
/// the cutting into units, entities and facts, the filter or the redaction, or when an earlier version may have written
/// something wrong. An index of another version is rebuilt.
pub const PROJECTION_VERSION: u32 = 34;

/// Links to other sessions that are kept per session; agents write one, or a few.
pub const MAX_LINKS: usize = 16;

/// Everything that the index holds of one session.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Id of the session.
    pub session: &'a SessionId,
    /// The generation of the transcript that the units belong to.
    pub generation: u32,
    /// The project's directory, if there is one.
    pub project: Option<&'a str>,
    /// The group: the project, unless another was configured.
    pub group_id: &'a str,
    /// The agent that wrote the transcript.
    pub agent: Agent,
    /// The session's title; may be empty.
    pub title: &'a str,
    /// Uuid of the current episode.
    pub episode_uuid: Uuid,
    /// The episode as text, in which words known only from a model are
    /// [marked](baton_episode::digest::Episode::content_with_marks).
    pub episode_text: &'a str,
    /// When the session ended; while it runs, the time of its last record.
    pub ended_at: Option<Timestamp>,
    /// When the current episode was recorded.
    pub indexed_at: Timestamp,
    /// The session that started this one, if any.
    pub parent: Option<&'a SessionId>,
    /// Sessions that its transcript names, each with its relation to this one; the first [`MAX_LINKS`] are kept.
    pub links: &'a [(Link, SessionId)],
    /// Titles that its transcript gives to other sessions, and records by which others may title it.
    pub titles: &'a Titles,
    /// All units of the session.
    pub units: &'a dyn Units,
    /// The first unit that may differ from what the index holds; earlier units are not written again. 0 replaces all. All units are also replaced, whatever this says, when
    /// the index holds another generation, project or group of the session, or fewer units.
    pub changed_from: usize,
    /// Entities and facts of the session; they replace those that the index holds of it.
    pub graph: &'a Graph,
    /// What the session tried and how it went; replaces what the index holds of it.
    pub outcomes: &'a Outcomes,
    /// Usage of models over the session's course.
    pub usage: &'a Course,
}

/// The session that a unit belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Id of the session.
    pub session: &'a SessionId,
    /// The generation of the transcript that the units belong to.
    pub generation: u32,
    /// The project's directory, if there is one.
    pub project: Option<&'a str>,
    /// The group: the project, unless another was configured.
    pub group_id: &'a str,
}

/// Units to be added to a session whose other documents are put off.
#[derive(Clone, Copy, Debug)]
pub struct Added<'a> {
    /// The session, which the index holds, of the same generation, project and group.
    pub origin: Origin<'a>,
    /// Ordinal of the first unit; it and those after it are replaced.
    pub from: usize,
    /// Number of units that the index holds.
    pub known: usize,
    /// The units.
    pub units: &'a [Unit],
}

impl<'a> Entry<'a> {
    fn origin(&self) -> Origin<'a> {
        let Self { session, generation, project, group_id, .. } = *self;
        Origin { session, generation, project, group_id }
    }
}

/// The units of a session, in order.
pub trait Units: std::fmt::Debug {
    /// Number of units.
    fn count(&self) -> usize;

    /// Calls `take` with each unit, and stops at its first error.
    ///
    /// # Errors
    ///
    /// The error of `take`, or [`Error::Units`] when the units cannot be read.
    fn each(&self, take: &mut dyn FnMut(&Unit) -> Result<(), Error>) -> Result<(), Error>;
}

impl Units for Vec<Unit> {
    fn count(&self) -> usize {
        self.len()
    }

    fn each(&self, take: &mut dyn FnMut(&Unit) -> Result<(), Error>) -> Result<(), Error> {
        self.iter().try_for_each(take)
    }
}

/// Errors of the index. After one the index merely lags; opening it again recovers.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of tantivy.
    #[error("the memory's index: {0}")]
    Index(#[from] tantivy::TantivyError),
    /// An I/O error.
    #[error("the memory's files: {0}")]
    Disk(#[from] std::io::Error),
    /// The units of an entry could not be read to the end.
    #[error("a conversation cannot be read: {0}")]
    Units(String),
    /// The entry was put off because something with priority is waiting.
    #[error("a conversation was put off")]
    GaveWay,
    /// The files on disk are not what was written.
    #[error("the memory is not usable: {0}")]
    Broken(String),
}
