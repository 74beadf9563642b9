//! Tools that find what past sessions hold.

use super::{CENTER, CURSOR, Effect, GROUPS, Kind, OF_PROJECT, TEN, Tool, WAIT, Which, argument, renamed};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        which: Which::SearchNodes,
        name: "search_memory_nodes",
        aliases: &["search_nodes"],
        title: "Search what past sessions dealt with",
        description: "Finds what past coding sessions dealt with (files, commands, errors, packages, commits, topics of \
                      decisions, preferences of the user), best match first, each with a one-line summary and the sessions it comes from. Call it before you change \
                      something you do not know, and when an error or a name looks familiar. Everything written until \
                      this moment is searched, also by agents at work right now. Follow a node with search_memory_facts \
                      and its uuid as center_node_uuid.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            argument("query", Kind::Needed, "Words, names, paths or error codes to look for."),
            argument("group_ids", Kind::Texts, GROUPS),
            argument("max_nodes", TEN, "How many nodes to answer with."),
            argument("center_node_uuid", Kind::Text, CENTER),
            argument(
                "entity_types",
                Kind::Texts,
                "Only nodes with one of these labels, such as File, Error, Topic or Preference.",
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
        description: "Finds facts from past coding sessions: what was decided and why, what the user prefers, which session \
                      modified a file, which error was resolved by what. valid_at says since when it is so, invalid_at \
                      since when not any more, because it was decided otherwise, renamed or removed. Call it \
                      at the start of work, before a decision that may have been made already, and when an error comes up \
                      that may have been mended before.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            argument("query", Kind::Needed, "Words, names, paths or error codes to look for."),
            argument("group_ids", Kind::Texts, GROUPS),
            argument("max_facts", TEN, "How many facts to answer with."),
            argument("center_node_uuid", Kind::Text, CENTER),
            argument("edge_types", Kind::Texts, "Only these relations: DECIDED, PREFERS, MODIFIED, RESOLVED_BY, …"),
            argument("valid_at_after", Kind::Text, "Only what began to be so at this ISO 8601 time or later."),
            argument("valid_at_before", Kind::Text, "… or earlier."),
            argument("invalid_at_after", Kind::Text, "Only what ceased to be so at this ISO 8601 time or later."),
            argument("invalid_at_before", Kind::Text, "… or earlier."),
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
        listed: true,
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
        listed: true,
        arguments: &[argument("project", Kind::Text, OF_PROJECT)],
    },
];
