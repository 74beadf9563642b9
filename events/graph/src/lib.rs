//! Entities and facts: what a session touched, and how one thing bears on another.
//!
//! [`graph`] is a pure function of a session's items, their digest and where the session works. It gives **mentions**
//! (an entity as one session has it) and **assertions** (a fact as one session supports it). An entity is the group of
//! its mentions, a fact the group of its assertions: what one session says is added and taken away without knowing the
//! others. Uuids are made of names alone, so the same entity of the same group has the same uuid in every session.
//!
//! # Hazards
//!
//! - A change of how names are made splits every entity; a test pins one uuid.

mod claim;
mod error;
mod extract;
mod gather;
mod issue;
mod label;
mod memo;
mod one_line;
mod package;
mod path;
mod preference;
mod program;
mod session;
mod stance;
#[cfg(test)]
mod tests;
mod wording;

pub use claim::{Claim, End, Settled, end};
pub use error::normal as error_name;
pub use extract::renames;
pub use label::{Label, Relation};
pub use memo::memo;
pub use one_line::one_line;
pub use path::{entity_name, file as file_name};
pub use program::is_name as is_program;
pub use session::{session_name, session_uuid};

use uuid::Uuid;

use baton_conversation::item::Item;
use baton_conversation::queued_prompts::without_withdrawn;
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::Episode;
use baton_events::session::NAMESPACE;
use baton_redaction::redact;

/// Longest name of an entity, in characters; a longer one is cut and ends in `…`.
pub const MAX_NAME_CHARS: usize = 160;
/// Longest detail of an entity and longest fact, in characters.
pub const MAX_TEXT_CHARS: usize = 400;
/// Most assertions of one session.
pub const MAX_ASSERTIONS: usize = 500;
/// Most claims that one assertion rests on, and settles.
pub const MAX_CLAIMS: usize = 12;

/// Where a session works and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The group: entities of two groups are two entities.
    pub group: &'a str,
    /// The project's directory: paths below it are told without it.
    pub project: Option<&'a str>,
    /// The session that started this one as its subagent: its prompts are typed by no person.
    pub parent: Option<&'a SessionId>,
    /// The session in whose place this one began.
    pub follows: Option<&'a SessionId>,
}

/// An entity as one session has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Of the entity: [`node_uuid`], or [`session_uuid`].
    pub uuid: Uuid,
    /// What it is.
    pub label: Label,
    /// What it is called, on one line, at most [`MAX_NAME_CHARS`].
    pub name: String,
    /// One more line about it, at most [`MAX_TEXT_CHARS`]; may be empty.
    pub detail: String,
    /// The transcript line that has it first.
    pub line: u64,
    /// When that was.
    pub at: Option<Timestamp>,
    /// How often the session has it.
    pub count: u32,
    /// Whether a model alone says that the session has it.
    pub by_model: bool,
}

/// A fact as one session supports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// Of the fact: [`fact_uuid`], or [`valued_fact_uuid`] where it has a value.
    pub uuid: Uuid,
    /// How source and target bear on each other.
    pub relation: Relation,
    /// The name that somebody gave the relation instead, of [`Relation::Told`].
    pub name: Option<Box<str>>,
    /// An entity that is among the mentions.
    pub source: Uuid,
    /// An entity that is among the mentions.
    pub target: Uuid,
    /// The fact in a sentence, on one line, at most [`MAX_TEXT_CHARS`].
    pub fact: String,
    /// How the target is settled, where it can be otherwise: `sled`; mostly empty.
    pub value: String,
    /// Since when it holds, as far as this session tells.
    pub valid_at: Option<Timestamp>,
    /// When this session says it last.
    pub last_at: Option<Timestamp>,
    /// The transcript line that says it.
    pub line: u64,
    /// What must be so for the fact to hold, at most [`MAX_CLAIMS`].
    pub rests: Vec<Claim>,
    /// What it settles, and so ends what rests on something else, at most [`MAX_CLAIMS`].
    pub settles: Vec<Claim>,
    /// Whether a model says so, and no rule.
    pub by_model: bool,
}

/// What one session says of the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Each entity once; the session itself first.
    pub mentions: Vec<Mention>,
    /// Each fact once.
    pub assertions: Vec<Assertion>,
    /// Entities and facts beyond the bounds.
    pub left_out: u32,
}

/// Entities and facts of a session. Total and deterministic; linear in the items, bounded in what it gives back: of more,
/// what was changed or failed is kept before what was looked at, and what is frequent before what is not.
pub fn graph(items: &[Item], episode: &Episode, at: &Surroundings<'_>) -> Graph {
    extract::extract(&without_withdrawn(items), episode, at)
}

/// The uuid of an entity.
pub fn node_uuid(group: &str, label: Label, name: &str) -> Uuid {
    named(&["node", &redact(group), label.as_str(), name])
}

/// The uuid of a fact.
pub fn fact_uuid(group: &str, relation: Relation, source: Uuid, target: Uuid) -> Uuid {
    valued_fact_uuid(group, relation.as_str(), source, target, "")
}

/// The uuid of a fact by the name of its relation, which may be anybody's, and by its value.
pub fn valued_fact_uuid(group: &str, name: &str, source: Uuid, target: Uuid, value: &str) -> Uuid {
    claim::valued(named(&["fact", &redact(group), name, &source.to_string(), &target.to_string()]), value)
}

/// Lengths stand before the parts, so that no two lists of parts are one text.
pub fn named(parts: &[&str]) -> Uuid {
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Uuid::new_v5(&NAMESPACE, text.as_bytes())
}
