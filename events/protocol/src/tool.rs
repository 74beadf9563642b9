//! The tools that agents call: one table, from which come what they are told of each tool and how their arguments are
//! checked.
//!
//! # Decisions
//!
//! - No output schemas are listed, and schemas of listed tools state no bounds of numbers: the list stays under
//!   8 KB.

mod arguments;
mod coding;
mod graph;
mod near;
mod schema;
mod search;
mod selection;
#[cfg(test)]
mod tests;
mod tracking;
mod vault;

pub use arguments::Arguments;
pub use near::nearest;
pub use selection::selected;

/// A tool: what it is called, what an agent is told of it, what it takes.
#[derive(Debug)]
pub struct Tool {
    /// Which.
    pub which: Which,
    /// The name that is listed.
    pub name: &'static str,
    /// Names that are accepted too, and not listed.
    pub aliases: &'static [&'static str],
    /// For people.
    pub title: &'static str,
    /// For agents: what it does, and when to call it.
    pub description: &'static str,
    /// What calling it may change.
    pub effect: Effect,
    /// Whether it is listed unless a client asks for others; what is not listed can be called all the same.
    pub listed: bool,
    /// What it takes, in the order in which it is listed.
    pub arguments: &'static [Argument],
}

/// The tools, for a `match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// What is known of a question.
    Recall,
    /// Sessions in the order of time.
    Timeline,
    /// Why a session is as it is.
    Explain,
    /// Entities of the memory.
    SearchNodes,
    /// Facts of the memory.
    SearchFacts,
    /// Episodes, newest first.
    GetEpisodes,
    /// What stands around a line of a session.
    GetPassage,
    /// What the last session of a project hands over.
    GetHandoff,
    /// How a command is run.
    How,
    /// What made an error go away.
    Fix,
    /// Which sessions had to do with a file.
    Blame,
    /// What is done again and again.
    Patterns,
    /// Explicit close.
    Close,
    /// What a query would index.
    ListUnindexed,
    /// A range of history.
    SyncHistory,
    /// The switch and the open sessions, or one session.
    Status,
    /// Tracks a session again, or into a group.
    Track,
    /// Stops tracking a session.
    StopTracking,
    /// A note that no session tells.
    AddMemory,
    /// A fact that somebody states.
    AddTriplet,
    /// What episodes support.
    GetEpisodeEntities,
    /// One fact.
    GetEntityEdge,
    /// A fact found no more.
    DeleteEntityEdge,
    /// An episode found no more.
    DeleteEpisode,
    /// Groups found no more.
    ClearGraph,
    /// Whether the memory is well.
    GetStatus,
    /// How the notes for people are.
    VaultStatus,
    /// One of these notes.
    VaultRead,
}

/// What calling a tool may change. None of them reaches beyond this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that anybody asked to keep: indexing what was already written counts as reading.
    Reads,
    /// It adds or replaces by something newer; calling it again changes nothing more.
    Adds,
    /// It takes something away until that is asked for again; calling it again changes nothing more.
    TakesAway,
}

/// An argument of a tool.
#[derive(Debug)]
pub struct Argument {
    /// The name that is listed.
    pub name: &'static str,
    /// Names that are accepted too, and not listed.
    pub aliases: &'static [&'static str],
    /// What it may be.
    pub kind: Kind,
    /// What it means.
    pub description: &'static str,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string that must be there and must say something.
    Needed,
    /// A string that must be there; an empty one stands for all there is.
    Words,
    /// A text that must be there, and may be longer than others; an object or a list counts as its JSON.
    Long {
        /// Most bytes that are taken.
        most_bytes: usize,
    },
    /// A string; an empty one counts as none.
    Text,
    /// A string, or a list of strings; empty ones count as none.
    Texts,
    /// The same, and there must be one.
    TextsNeeded,
    /// Anything; it is neither listed nor looked at.
    Ignored,
    /// A whole number from `least` to `most`.
    Count {
        /// When it is not given.
        default: u32,
        /// Smallest that is accepted.
        least: u32,
        /// Largest that is accepted.
        most: u32,
    },
    /// How many entries, from 1; more than [`MOST_ENTRIES`] are as many.
    Entries {
        /// When it is not given.
        default: u32,
    },
    /// A whole number; what is beyond `most` counts as that. 0, and where it is not given: what is usual.
    AtMost {
        /// Largest that is told apart.
        most: u32,
    },
    /// True or false.
    Flag {
        /// When it is not given.
        default: bool,
    },
}

/// Most entries that a search answers with.
pub const MOST_ENTRIES: u32 = 100;

/// Most tokens that an answer of episodes may take: what one page holds.
pub const EPISODES_TOKENS_MOST: u32 = 15_000;

const TEN: Kind = Kind::Entries { default: 10 };
const OFF: Kind = Kind::Flag { default: false };
const ON: Kind = Kind::Flag { default: true };

const fn argument(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, aliases: &[], kind, description }
}

const fn renamed(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    description: &'static str,
) -> Argument {
    Argument { name, aliases, kind, description }
}

const GROUPS: &str = "Projects or groups.";
const WAIT: Argument = argument("wait", OFF, "Until all history is read.");
const CURSOR: Argument = argument("cursor", Kind::Text, "An answer's next_cursor.");
const CENTER: &str = "Near it ranks first.";
const SESSION: &str = "Without it your own.";
const OF_PROJECT: &str = "Directory or name; without it your own.";
const PROJECT: &str = "Directory or name.";

/// The tools by family, in the order in which they are listed.
const FAMILIES: [&[Tool]; 5] = [search::TOOLS, coding::TOOLS, graph::TOOLS, tracking::TOOLS, vault::TOOLS];

/// All tools, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Tool> + Clone {
    FAMILIES.into_iter().flatten()
}

/// The tool of this name or alias.
pub fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name || tool.aliases.contains(&name))
}

impl Tool {
    /// Whether the structured content of an answer stands in `{"result": …}`, as Graphiti's server (FastMCP) writes it for
    /// tools that answer with one of several types: all of its tools but `get_status`.
    pub fn wraps_result(&self) -> bool {
        self.which != Which::GetStatus && selection::GRAPHITI.contains(&self.name)
    }
}

/// The sentence for a tool that there is not.
pub fn unknown(name: &str) -> String {
    let names = || all().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases)).copied();
    let shown: String = name.chars().take(80).collect();
    let all = all().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
    match nearest(name, names()).and_then(named) {
        Some(tool) => format!("no tool {shown:?}; did you mean {}? There are {all}", tool.name),
        None => format!("no tool {shown:?}; there are {all}"),
    }
}
