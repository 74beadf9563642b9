//! The tools that agents call: one table, from which come what they are told of each tool and how their arguments are
//! checked.

mod arguments;
mod near;
mod schema;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use near::nearest;

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
    /// What it takes, in the order in which it is listed.
    pub arguments: &'static [Argument],
}

/// The tools, for a `match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Entities of the memory.
    SearchNodes,
    /// Facts of the memory.
    SearchFacts,
    /// Episodes, newest first.
    GetEpisodes,
    /// What the last session of a project hands over.
    GetHandoff,
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
    /// A string; an empty one counts as none.
    Text,
    /// A string, or a list of strings; empty ones count as none.
    Texts,
    /// A whole number from `least` to `most`.
    Count {
        /// When it is not given.
        default: u32,
        /// Smallest that is accepted.
        least: u32,
        /// Largest that is accepted.
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

const TEN: Kind = Kind::Count { default: 10, least: 1, most: MOST_ENTRIES };
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

const GROUPS: &str = "Only what sessions of these groups say: a project's directory, the last part of one, or a group given \
                      by track_session. Without it everything is searched, your own project first.";
const WAIT: Argument = argument(
    "wait",
    OFF,
    "Wait until all history has been read. Only worth it when freshness.pending of an answer was not 0.",
);
const CURSOR: Argument =
    argument("cursor", Kind::Text, "Where to go on: next_cursor of the answer before, with the same other arguments.");
const CENTER: &str = "The uuid of a node, from search_memory_nodes: what is near it ranks first.";
const SESSION: &str = "The session's id, or a beginning of it that fits only one. Without it: your own session.";
const OF_PROJECT: &str =
    "Whose: a project's directory, or the last part of it where that fits one project. Without it: your own.";
const PROJECT: &str =
    "Only sessions of this project: its directory, or the last part of it where that fits one project.";

/// All tools, in the order in which they are listed.
pub const TOOLS: &[Tool] = &[
    Tool {
        which: Which::SearchNodes,
        name: "search_memory_nodes",
        aliases: &["search_nodes"],
        title: "Search what past sessions dealt with",
        description: "Finds the files, commands, tools, errors and packages that past coding sessions dealt with, best \
                      match first, each with a one-line summary and the sessions it comes from. Call it before you change \
                      something you do not know, and when an error or a name looks familiar. Everything written until \
                      this moment is searched, also by agents at work right now. Follow a node with search_memory_facts \
                      and its uuid as center_node_uuid.",
        effect: Effect::Reads,
        arguments: &[
            argument("query", Kind::Needed, "Words, names, paths or error codes to look for."),
            argument("group_ids", Kind::Texts, GROUPS),
            argument("max_nodes", TEN, "How many nodes to answer with."),
            argument("center_node_uuid", Kind::Text, CENTER),
            argument(
                "entity_types",
                Kind::Texts,
                "Only nodes with one of these labels, such as File, Command or Error.",
            ),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        which: Which::SearchFacts,
        name: "search_memory_facts",
        aliases: &[],
        title: "Search what past sessions found out",
        description: "Finds facts from past coding sessions: which session modified a file, which command failed with \
                      which error and what resolved it; valid_at says since when it is so. Call it \
                      at the start of work, before a decision that may have been made already, and when an error comes up \
                      that may have been mended before.",
        effect: Effect::Reads,
        arguments: &[
            argument("query", Kind::Needed, "Words, names, paths or error codes to look for."),
            argument("group_ids", Kind::Texts, GROUPS),
            argument("max_facts", TEN, "How many facts to answer with."),
            argument("center_node_uuid", Kind::Text, CENTER),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        which: Which::GetEpisodes,
        name: "get_episodes",
        aliases: &[],
        title: "Read what the latest sessions came to",
        description: "The latest sessions, newest first, each as one episode: what it was for, what was done and decided, \
                      what failed and what mended it, what is left to do. Call it when you take over work, to learn where \
                      the last session stopped.",
        effect: Effect::Reads,
        arguments: &[
            renamed("group_ids", &["group_id"], Kind::Texts, GROUPS),
            renamed("max_episodes", &["last_n"], TEN, "How many episodes to answer with."),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        which: Which::GetHandoff,
        name: "get_handoff",
        aliases: &[],
        title: "Read what the last session left",
        description: "What the last session of a project that is over leaves to the next: what it was for, what was decided, \
                      what failed and what mended it, what is open and comes next, and which of its files have changed \
                      since. Call it when you take over work and were told nothing of it at the start. Sessions that still \
                      run, and those in which nothing happened, are passed over. Reading it changes nothing.",
        effect: Effect::Reads,
        arguments: &[argument("project", Kind::Text, OF_PROJECT)],
    },
    Tool {
        which: Which::Close,
        name: "session_tracking_close",
        aliases: &[],
        title: "Close a session now",
        description: "Closes a session and indexes it at once, so that the next agent finds it in full. Call it when a \
                      story or task is done and the next begins, before /clear, before handing over to another agent, and \
                      at the end of work. An unchanged session keeps its episode; a session that goes on is simply open \
                      again. The answer comes when the episode can be found: its uuid, or why there is none.",
        effect: Effect::Adds,
        arguments: &[
            argument("session_id", Kind::Text, SESSION),
            argument("reason", Kind::Text, "Why, in a few words, for whoever reads the session's history later."),
        ],
    },
    Tool {
        which: Which::ListUnindexed,
        name: "session_tracking_list_unindexed",
        aliases: &[],
        title: "List what is not indexed yet",
        description: "Lists the sessions whose latest content is not in the memory yet, which the next search would index \
                      first. Rarely needed: searches index what they would miss by themselves. Call it to find out why a \
                      session is missing, or which sessions are open beside yours.",
        effect: Effect::Reads,
        arguments: &[
            renamed("project_namespace", &["project"], Kind::Text, PROJECT),
            argument("include_inactive", ON, "Also sessions that nobody works in any more."),
        ],
    },
    Tool {
        which: Which::SyncHistory,
        name: "session_tracking_sync_history",
        aliases: &[],
        title: "Index past sessions",
        description: "Indexes a range of past sessions now instead of when they are asked for. With dry_run, the default, \
                      it only counts: how many sessions, how many tokens before and after the filter, and what a model \
                      would cost. Look first, then call it with dry_run=false. It can be interrupted and called again.",
        effect: Effect::Adds,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            argument(
                "days",
                Kind::Count { default: 7, least: 0, most: 36_500 },
                "Only sessions with activity in so many days; 0: all.",
            ),
            argument(
                "max_sessions",
                Kind::Count { default: 100, least: 0, most: 1_000_000 },
                "At most so many, the newest; 0: all.",
            ),
            argument("dry_run", ON, "Only look and count."),
        ],
    },
    Tool {
        which: Which::Status,
        name: "session_tracking_status",
        aliases: &["get_session_tracking_status"],
        title: "Show what is tracked",
        description: "Says whether sessions are tracked and which are open; with a session's id, everything known of that \
                      session: its state, its episode, its last activity, and why it was closed.",
        effect: Effect::Reads,
        arguments: &[argument(
            "session_id",
            Kind::Text,
            "The session's id, or a beginning of it that fits only one. Without it: the switch and all open sessions.",
        )],
    },
    Tool {
        which: Which::Track,
        name: "track_session",
        aliases: &[],
        title: "Track a session",
        description: "Has a session tracked: lifts stop_tracking_session, and puts the session into a group when one is \
                      given, so that sessions of several directories can be searched together. Sessions are tracked \
                      without it; call it only to undo a stop or to choose a group.",
        effect: Effect::Adds,
        arguments: &[
            argument("session_id", Kind::Text, SESSION),
            argument(
                "group_id",
                Kind::Text,
                "The group it belongs to from now on: a known project, or 1 to 64 letters, digits, dots, dashes and \
                 underscores.",
            ),
            argument("force", OFF, "Track it although the configuration says no."),
        ],
    },
    Tool {
        which: Which::StopTracking,
        name: "stop_tracking_session",
        aliases: &[],
        title: "Stop tracking a session",
        description: "Has a session left alone from now on: it is neither read nor indexed any more, by nothing and also \
                      after a restart, until track_session is called for it. Call it when a person asks for it.",
        effect: Effect::TakesAway,
        arguments: &[argument(
            "session_id",
            Kind::Needed,
            "The session's id, or a beginning of it that fits only one.",
        )],
    },
];

/// The tool of this name or alias.
pub fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name || tool.aliases.contains(&name))
}

/// The sentence for a tool that there is not.
pub fn unknown(name: &str) -> String {
    let names = || TOOLS.iter().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases)).copied();
    let shown: String = name.chars().take(80).collect();
    let all = TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
    match nearest(name, names()).and_then(named) {
        Some(tool) => format!("no tool {shown:?}; did you mean {}? There are {all}", tool.name),
        None => format!("no tool {shown:?}; there are {all}"),
    }
}
