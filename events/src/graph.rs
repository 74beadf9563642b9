//! Entities and facts: what a session touched, and how one thing bears on another.
//!
//! [`graph`] is a pure function of a session's items, their digest and where the session works. It gives **mentions**
//! (an entity as one session has it) and **assertions** (a fact as one session supports it). An entity is the group of
//! its mentions, a fact the group of its assertions: what one session says is added and taken away without knowing the
//! others. Uuids are made of names alone, so the same entity of the same group has the same uuid in every session.

mod error;
mod extract;
mod gather;
mod issue;
mod package;
mod path;
mod program;
#[cfg(test)]
mod tests;

pub(crate) use error::normal as error_name;
pub(crate) use package::is_manifest;
pub(crate) use path::file as file_name;
pub(crate) use program::is_name as is_program;

use uuid::Uuid;

use crate::conversation::Item;
use crate::digest::Episode;
use crate::record::{SessionId, Timestamp};
use crate::session::NAMESPACE;
use crate::withdrawn::standing;

/// Longest name of an entity, in characters; a longer one is cut and ends in `…`.
pub const MAX_NAME_CHARS: usize = 160;
/// Longest detail of an entity and longest fact, in characters.
pub const MAX_TEXT_CHARS: usize = 400;
/// Most assertions of one session.
pub const MAX_ASSERTIONS: usize = 400;

/// Where a session works and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The group: entities of two groups are two entities.
    pub group: &'a str,
    /// The project's directory: paths below it are told without it.
    pub project: Option<&'a str>,
}

/// What an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// A session, by the first eight characters of its id.
    Session,
    /// A project, by the last part of its directory.
    Project,
    /// A file, by its path in the project.
    File,
    /// A command, by program and subcommand: `cargo test`.
    Command,
    /// A tool of the agent, those of MCP servers included.
    Tool,
    /// A failure, by its first telling line without what differs between two runs.
    Error,
    /// A package that was added.
    Package,
    /// A branch.
    Branch,
    /// A page, by host and path.
    Url,
    /// An issue or a ticket: `#123`, `ABC-123`.
    Issue,
}

/// How the source of a fact bears on its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// A session works in a project.
    InProject,
    /// A session changed a file.
    Modified,
    /// A session read a file.
    Read,
    /// A session ran a command.
    Ran,
    /// A session used a tool.
    Used,
    /// A command, or a session, ended in an error.
    FailedWith,
    /// An error was gone after a file was changed, or a command ran.
    ResolvedBy,
    /// A session added a package.
    AddedPackage,
    /// A session worked on a branch.
    OnBranch,
    /// A session fetched a page.
    Fetched,
    /// A person named it in a session.
    Mentioned,
}

/// An entity as one session has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Of the entity: [`node_uuid`].
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
}

/// A fact as one session supports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// Of the fact: [`fact_uuid`].
    pub uuid: Uuid,
    /// How source and target bear on each other.
    pub relation: Relation,
    /// An entity that is among the mentions.
    pub source: Uuid,
    /// An entity that is among the mentions.
    pub target: Uuid,
    /// The fact in a sentence, on one line, at most [`MAX_TEXT_CHARS`].
    pub fact: String,
    /// Since when it holds, as far as this session tells.
    pub valid_at: Option<Timestamp>,
    /// The transcript line that says it.
    pub line: u64,
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
    extract::extract(&standing(items), episode, at)
}

/// The uuid of an entity.
pub fn node_uuid(group: &str, label: Label, name: &str) -> Uuid {
    named(&["node", group, label.as_str(), name])
}

/// The uuid of a fact.
pub fn fact_uuid(group: &str, relation: Relation, source: Uuid, target: Uuid) -> Uuid {
    named(&["fact", group, relation.as_str(), &source.to_string(), &target.to_string()])
}

/// Lengths stand before the parts, so that no two lists of parts are one text.
fn named(parts: &[&str]) -> Uuid {
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Uuid::new_v5(&NAMESPACE, text.as_bytes())
}

impl Label {
    /// Every label; its place here is its number in the memory, so new ones come last.
    pub const ALL: [Self; 10] = [
        Self::Session,
        Self::Project,
        Self::File,
        Self::Command,
        Self::Tool,
        Self::Error,
        Self::Package,
        Self::Branch,
        Self::Url,
        Self::Issue,
    ];

    /// The name in answers: `File`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "Session",
            Self::Project => "Project",
            Self::File => "File",
            Self::Command => "Command",
            Self::Tool => "Tool",
            Self::Error => "Error",
            Self::Package => "Package",
            Self::Branch => "Branch",
            Self::Url => "Url",
            Self::Issue => "Issue",
        }
    }

    /// The label of a name, whatever its case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.as_str().eq_ignore_ascii_case(name))
    }

    /// Most entities of it in one session.
    fn bound(self) -> usize {
        match self {
            Self::Session | Self::Project => 1,
            Self::File => 120,
            Self::Command | Self::Error | Self::Package => 60,
            Self::Tool | Self::Url | Self::Issue => 40,
            Self::Branch => 20,
        }
    }
}

impl Relation {
    /// Every relation.
    pub const ALL: [Self; 11] = [
        Self::InProject,
        Self::Modified,
        Self::Read,
        Self::Ran,
        Self::Used,
        Self::FailedWith,
        Self::ResolvedBy,
        Self::AddedPackage,
        Self::OnBranch,
        Self::Fetched,
        Self::Mentioned,
    ];

    /// The relation of a name in answers.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.as_str() == name)
    }

    /// The name in answers: `FAILED_WITH`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProject => "IN_PROJECT",
            Self::Modified => "MODIFIED",
            Self::Read => "READ",
            Self::Ran => "RAN",
            Self::Used => "USED",
            Self::FailedWith => "FAILED_WITH",
            Self::ResolvedBy => "RESOLVED_BY",
            Self::AddedPackage => "ADDED_PACKAGE",
            Self::OnBranch => "ON_BRANCH",
            Self::Fetched => "FETCHED",
            Self::Mentioned => "MENTIONED",
        }
    }
}
