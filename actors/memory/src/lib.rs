//! The searchable memory: what was said in all sessions, found in milliseconds.
//!
//! A projection of the journal and the conversations on tantivy: disposable, rebuilt from zero whenever its version
//! differs or its files cannot be read. One index holds a document for each turn and one for each session, for each
//! entity that a session mentions, for each fact that it asserts and for what it tried and how that went. A
//! [`Store`] writes it, one owner at a time; a [`Searcher`] asks it, from any thread.
//!
//! Promises: a session's entry is replaced in one commit, never half; what is committed is found by every query that
//! starts afterwards; a memory that was maintained through any history holds the same documents and fields as one
//! filled afresh (scores may differ until deleted documents are merged away). Nothing is read from the clock, and no
//! query text can be a syntax error.
//!
//! Layers, each of which uses only those before it:
//!
//! 1. `limits`, `schema`, `pretokenized`, and text without an index: `analyzer`, `irregular`, `sequence`, `dates`,
//!    `pair_count`, `plain_words`
//! 2. `snapshot`: a committed state, its segments and their columns; `searcher`: the handle that queries are methods of
//! 3. `vectors`: the files of vectors, and a question's vector
//! 4. pieces of a query over a snapshot: `prefix`, `proximity`, `required_terms`, `texts`; then `query`
//! 5. ranking: `turns`, `copies`, `authors`, `nearest`, `session_bm25`, `score_weights`; presentation: `snippet`, `matched`
//! 6. the questions: `search`, `graph`, `outcomes`, `entity_filter`, `phrase_sessions`, `forks`, `titles`, `dump`
//! 7. writing: `document`, `activity_fields`, `queue`, and `store`, which owns the index; `graph` and `outcomes` make
//!    their own documents with `document`
//!
//! # Hazards
//!
//! - Raise `PROJECTION_VERSION` with any change of extraction, of an episode's text or of the analyzer. An
//!   append rewrites all entities and facts of its session, because they name the episode: in a session of
//!   thousands of lines that is most of what an append costs.

mod activity_fields;
mod analyzer;
mod authors;
mod copies;
mod dates;
mod document;
mod dump;
mod entity_filter;
mod forks;
mod graph;
mod irregular;
mod limits;
mod matched;
mod nearest;
mod outcomes;
mod pair_count;
mod phrase_sessions;
mod plain_words;
mod prefix;
mod pretokenized;
mod proximity;
mod query;
mod queue;
mod required_terms;
mod schema;
mod score_weights;
mod search;
mod searcher;
mod sequence;
mod session_bm25;
mod snapshot;
mod snippet;
mod store;
#[cfg(test)]
mod tests;
mod texts;
mod titles;
mod turns;
pub mod vectors;

use baton_conversation::item::{Agent, Link};
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::turns::Unit;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use uuid::Uuid;

pub use dump::Print;
pub use entity_filter::{Having, Sessions};
pub use forks::{Kin, links};
pub use graph::{Fact, GraphQuery, Node, Page, SaidBy, Sieve, Window};
pub use matched::Reason;
pub use outcomes::{By, WitnessQuery, Witnesses};
pub use query::Query;
pub use required_terms::Demands;
pub use search::{Hit, Kind, Searched};
pub use searcher::Searcher;
pub use store::{Checkpoint, Opened, Store};
pub use titles::Titles;

/// What a memory on disk must have been written by to be used. To be raised with every change of the analyzer, the
/// fields, the cutting into units, entities and facts, the filter or the redaction; or when what it wrote may be wrong.
pub const PROJECTION_VERSION: u32 = 14;

/// Sessions named by one transcript that the memory keeps: agents write one, or a few.
pub const MAX_LINKS: usize = 16;

/// All that the memory holds of one session.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Which generation of the transcript the units are of.
    pub generation: u32,
    /// The project's directory, if there is one.
    pub project: Option<&'a str>,
    /// The group: the project, unless another was given.
    pub group_id: &'a str,
    /// Whose transcript it is.
    pub agent: Agent,
    /// The session's title; may be empty.
    pub title: &'a str,
    /// The current episode.
    pub episode_uuid: Uuid,
    /// The episode as text, [told apart](baton_episode::digest::Episode::content_with_marks) in it what only a model says.
    pub episode_text: &'a str,
    /// When the session ended, or was last heard of.
    pub ended_at: Option<Timestamp>,
    /// When the current episode was recorded.
    pub indexed_at: Timestamp,
    /// The session that started this one.
    pub parent: Option<&'a SessionId>,
    /// The sessions that its transcript names, with what they are to it; the first [`MAX_LINKS`] are kept.
    pub links: &'a [(Link, SessionId)],
    /// What it has to do with titles beside its own.
    pub titles: &'a Titles,
    /// All units of the session.
    pub units: &'a dyn Units,
    /// The first unit that may differ from what the memory holds, in itself or in one of the two units on either side
    /// of it; those before are not written again. 0 replaces all. All are also replaced, whatever this says, when the
    /// memory holds another generation, project or group of the session, or fewer units.
    pub changed_from: usize,
    /// Entities and facts of the session; they replace those that the memory holds of it.
    pub graph: &'a Graph,
    /// What the session tried and how it went; it replaces what the memory holds of that.
    pub outcomes: &'a Outcomes,
}

/// The units of a session, in order.
pub trait Units: std::fmt::Debug {
    /// How many they are.
    fn count(&self) -> usize;

    /// Gives each to `take`, until that fails.
    ///
    /// # Errors
    ///
    /// What `take` fails with, or [`Error::Units`] when they cannot be read.
    fn each(&self, take: &mut dyn FnMut(Unit) -> Result<(), Error>) -> Result<(), Error>;
}

impl Units for Vec<Unit> {
    fn count(&self) -> usize {
        self.len()
    }

    fn each(&self, take: &mut dyn FnMut(Unit) -> Result<(), Error>) -> Result<(), Error> {
        self.iter().cloned().try_for_each(take)
    }
}

/// Why the memory could not do something. A memory that cannot follow is lag; opening it anew is the cure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index refused.
    #[error("the memory's index: {0}")]
    Index(#[from] tantivy::TantivyError),
    /// The disk refused.
    #[error("the memory's files: {0}")]
    Disk(#[from] std::io::Error),
    /// The units of an entry could not be read to their end.
    #[error("a conversation cannot be read: {0}")]
    Units(String),
    /// It was given up for something else that somebody waits for.
    #[error("a conversation was put off")]
    GaveWay,
    /// What lies on disk is not what was written there.
    #[error("the memory is not usable: {0}")]
    Broken(String),
}
