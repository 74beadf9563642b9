//! The table of tools that agents call. Tool descriptions, schemas and argument checks come from it.
//!
//! # Decisions
//!
//! - No output schemas are listed, and schemas of listed tools state no numeric bounds: the list stays under 8 KB.

mod arguments;
mod coding;
mod graph;
mod nearest;
mod schema;
mod search;
mod selection;
#[cfg(test)]
mod tests;
mod tracking;
mod vault;

pub use arguments::Arguments;
pub use nearest::nearest;
pub use selection::selected;

/// A tool: its name, description and arguments.
#[derive(Debug)]
pub struct Tool {
    /// The method that answers.
    pub method: &'static str,
    /// The name that is listed.
    pub name: &'static str,
    /// Further accepted names, not listed.
    pub aliases: &'static [&'static str],
    /// Its title, for users.
    pub title: &'static str,
    /// For agents: what it does, and when to call it.
    pub description: &'static str,
    /// What a call may change.
    pub effect: Effect,
    /// True if the tool is listed by default. Unlisted tools can be called all the same.
    pub listed: bool,
    /// The fields of the method's arguments that the call itself fills in.
    pub context: &'static [Context],
    /// Its arguments, in listed order.
    pub arguments: &'static [Argument],
}

/// What a call may change. No tool affects anything beyond this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that is meant to be kept. Indexing what was already written counts as reading.
    Reads,
    /// Adds data, or replaces it by newer. Idempotent.
    Adds,
    /// Removes data until it is asked for again. Idempotent.
    TakesAway,
}

/// What a call brings along, besides the arguments of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Who calls, as `caller`.
    Caller,
    /// The key of a repeated call, as `command_id`.
    CommandId,
}

const CALLER: &[Context] = &[Context::Caller];
const COMMAND: &[Context] = &[Context::CommandId];
const CALLER_AND_COMMAND: &[Context] = &[Context::Caller, Context::CommandId];

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name that is listed.
    pub name: &'static str,
    /// Further accepted names, not listed.
    pub aliases: &'static [&'static str],
    /// The field of the method's arguments that it fills; `valid.after` is a field of a field.
    pub field: &'static str,
    /// The accepted values.
    pub kind: Kind,
    /// Its description.
    pub description: &'static str,
}

/// The accepted values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A required string, not empty.
    Needed,
    /// A required string; an empty one matches everything.
    Words,
    /// A required text that may be longer than others. An object or a list is taken as its JSON.
    Long {
        /// Longest text accepted, in bytes.
        most_bytes: usize,
    },
    /// A string; an empty one counts as absent.
    Text,
    /// The name of an agent; an empty one counts as absent.
    Agent,
    /// A string or a list of strings; empty ones count as absent.
    Texts,
    /// The same, with at least one required.
    TextsNeeded,
    /// Anything; neither listed nor used.
    Ignored,
    /// A whole number from `least` to `most`.
    Count {
        /// The default.
        default: u32,
        /// Smallest accepted.
        least: u32,
        /// Largest accepted.
        most: u32,
    },
    /// A number of entries, from 1. More than [`MOST_ENTRIES`] is reduced to that.
    Entries {
        /// The default.
        default: u32,
    },
    /// A whole number, reduced to `most` if larger. 0 or absent for the usual number.
    AtMost {
        /// Largest effective value.
        most: u32,
    },
    /// True or false.
    Flag {
        /// The default.
        default: bool,
    },
}

/// Most entries in the answer to a search.
pub const MOST_ENTRIES: u32 = 100;

/// Most tokens in an answer with episodes: the capacity of one page.
pub const EPISODES_TOKENS_MOST: u32 = 15_000;

const TEN: Kind = Kind::Entries { default: 10 };
const OFF: Kind = Kind::Flag { default: false };
const ON: Kind = Kind::Flag { default: true };

const fn argument(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    renamed(name, &[], kind, description)
}

const fn renamed(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    description: &'static str,
) -> Argument {
    Argument { name, aliases, field: name, kind, description }
}

impl Argument {
    const fn field(self, field: &'static str) -> Self {
        Self { field, ..self }
    }
}

const GROUPS: &str = "Projects or groups.";
const WAIT: Argument = argument("wait", OFF, "Wait until all history is read.");
const CURSOR: Argument = argument("cursor", Kind::Text, "An answer's next_cursor.");
const AGENT: Argument = argument("agent", Kind::Agent, "Such as codex.");
const CENTER: &str = "Rank near it first.";
const SESSION: &str = "Default: your own.";
const OF_PROJECT: &str = "Directory or name; default: your own.";
const PROJECT: &str = "Directory or name.";

/// The tools by family, in listed order.
const FAMILIES: [&[Tool]; 5] = [search::TOOLS, coding::TOOLS, graph::TOOLS, tracking::TOOLS, vault::TOOLS];

/// Returns all tools, in listed order.
pub fn all() -> impl Iterator<Item = &'static Tool> + Clone {
    FAMILIES.into_iter().flatten()
}

/// Returns the tool with this name or alias.
pub fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name || tool.aliases.contains(&name))
}

impl Tool {
    /// True if the structured content of an answer is wrapped in `{"result": …}`, as Graphiti's server (FastMCP) does
    /// for tools with several result types: all of its tools but `get_status`.
    pub fn wraps_result(&self) -> bool {
        self.name != "get_status" && selection::GRAPHITI.contains(&self.name)
    }
}

/// Returns the error message for an unknown tool, with the nearest known name.
pub fn unknown_tool_message(name: &str) -> String {
    let names = || all().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases)).copied();
    let shown: String = name.chars().take(80).collect();
    let all = all().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
    match nearest(name, names()).and_then(named) {
        Some(tool) => format!("no tool {shown:?}; did you mean {}? There are {all}", tool.name),
        None => format!("no tool {shown:?}; there are {all}"),
    }
}
