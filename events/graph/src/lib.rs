//! Entities and facts: what a session touched, and how those things relate.
//!
//! [`graph`] is a pure function of a session's items, their digest and the session's surroundings. It returns
//! **mentions** (an entity as one session has it) and **assertions** (a fact as one session supports it). An entity is
//! the group of its mentions, a fact the group of its assertions, so the contribution of one session can be added or
//! removed without reading the others. Uuids are derived from names alone: the same entity of the same group has the
//! same uuid in every session.
//!
//! # Hazards
//!
//! - Changing how names are made splits every entity; a test pins one uuid.
//!
//! # Decisions
//!
//! - The digest of an episode is the input here, so `episode` is the lower crate.

mod builder;
mod claim;
mod error;
mod extract;
mod issue;
mod label;
mod memo;
mod one_line;
mod package;
mod path;
mod preference;
mod program;
mod session;
#[cfg(test)]
mod tests;

pub use claim::{Claim, End, Settled, claim_end};
pub use error::normalise as error_name;
pub use extract::renames;
pub use label::{Label, Relation};
pub use memo::memo;
pub use one_line::one_line;
pub use path::{entity_name, file_name};
pub use program::is_program;
pub use session::{session_name, session_uuid};

use uuid::Uuid;

use baton_conversation::abandoned_branches::without_abandoned;
use baton_conversation::item::Item;
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::Episode;
use baton_events::session::NAMESPACE;
use baton_redaction::redact;

/// Maximum length of an entity's name, in characters; a longer one is cut and ends in `…`.
pub const MAX_NAME_CHARS: usize = 160;
/// Maximum length of an entity's detail, and of a fact, in characters.
pub const MAX_TEXT_CHARS: usize = 400;
/// Maximum number of assertions per session.
pub const MAX_ASSERTIONS: usize = 500;
/// Maximum number of claims that an assertion rests on, and that it settles.
pub const MAX_CLAIMS: usize = 12;

/// Where a session works, and its relations to other sessions.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The session itself.
    pub session: &'a SessionId,
    /// The group; entities of different groups are different entities.
    pub group: &'a str,
    /// The project's directory; paths below it are stored relative to it.
    pub project: Option<&'a str>,
    /// The session that started this one as its subagent; the prompts of a subagent are not a person's.
    pub parent: Option<&'a SessionId>,
    /// The session that this one replaced.
    pub follows: Option<&'a SessionId>,
}

/// An entity as one session has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Uuid of the entity: [`node_uuid`], or [`session_uuid`].
    pub uuid: Uuid,
    /// Kind of the entity.
    pub label: Label,
    /// Name, on one line, at most [`MAX_NAME_CHARS`].
    pub name: String,
    /// One more line about the entity, at most [`MAX_TEXT_CHARS`]; may be empty.
    pub detail: String,
    /// First transcript line that mentions the entity.
    pub line: u64,
    /// Time of that line.
    pub at: Option<Timestamp>,
    /// Number of mentions in the session.
    pub count: u32,
    /// True if only a model says that the session has the entity.
    pub by_model: bool,
}

/// A fact as one session supports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// Uuid of the fact: [`fact_uuid`], or [`valued_fact_uuid`] if it has a value.
    pub uuid: Uuid,
    /// How source and target are related.
    pub relation: Relation,
    /// For [`Relation::Custom`]: the name that the relation was given.
    pub name: Option<Box<str>>,
    /// Uuid of one of the mentions.
    pub source: Uuid,
    /// Uuid of one of the mentions.
    pub target: Uuid,
    /// The fact as a sentence, on one line, at most [`MAX_TEXT_CHARS`].
    pub fact: String,
    /// How the target is settled, if it could be settled otherwise: `sled`; mostly empty.
    pub value: String,
    /// Since when the fact holds, as far as this session shows.
    pub valid_at: Option<Timestamp>,
    /// When this session last states the fact.
    pub last_at: Option<Timestamp>,
    /// Transcript line that states the fact.
    pub line: u64,
    /// Claims that must be true for the fact to hold, at most [`MAX_CLAIMS`].
    pub rests: Vec<Claim>,
    /// Claims that the fact settles, which ends facts that rest on other values; at most [`MAX_CLAIMS`].
    pub settles: Vec<Claim>,
    /// True if a model states the fact, and not a rule.
    pub by_model: bool,
}

/// All entities and facts of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Each entity once, the session itself first.
    pub mentions: Vec<Mention>,
    /// Each fact once.
    pub assertions: Vec<Assertion>,
    /// Number of entities and facts beyond the limits.
    pub left_out: u32,
}

/// Returns the entities and facts of a session. Total, deterministic and linear in the items. The result is bounded:
/// changes and failures are kept in preference to reads, frequent entries in preference to rare ones.
pub fn graph(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Graph {
    extract::extract(&without_abandoned(items), episode, at)
}

/// Returns the uuid of an entity.
pub fn node_uuid(group: &str, label: Label, name: &str) -> Uuid {
    uuid_of_names(&["node", &redact(group), label.as_str(), name])
}

/// Returns the uuid of a fact without a value.
pub fn fact_uuid(group: &str, relation: Relation, source: Uuid, target: Uuid) -> Uuid {
    valued_fact_uuid(group, relation.as_str(), source, target, "")
}

/// Returns the uuid of a fact from the name of its relation, which need not be one of [`Relation`], and its value.
pub fn valued_fact_uuid(group: &str, name: &str, source: Uuid, target: Uuid, value: &str) -> Uuid {
    claim::valued_uuid(uuid_of_names(&["fact", &redact(group), name, &source.to_string(), &target.to_string()]), value)
}

/// Returns the uuid of a list of names. Each part is preceded by its length, so different lists never give the same
/// text.
pub fn uuid_of_names(parts: &[&str]) -> Uuid {
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Uuid::new_v5(&NAMESPACE, text.as_bytes())
}
