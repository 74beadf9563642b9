//! Tools that search past sessions.

use super::{
    AGENT, CALLER, CENTER, CURSOR, EPISODES_TOKENS_MOST, Effect, GROUPS, Kind, OF_PROJECT, PROJECT, TEN, Tool, WAIT,
    argument, renamed,
};
use crate::method;
use crate::{RECALL_SESSIONS, RECALL_TOKENS};

const QUESTION: &str = "A question or words; \"phrase\", pre*, -word, file:, tool:, branch:, after:7d narrow it.";
const WORDS: &str = "Words, names, error codes.";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        method: method::RECALL,
        name: "recall",
        aliases: &[],
        title: "Recall",
        description: "What past sessions know about a question, with session and line. Call it first: what was done last, why, \
                      how an error was solved, what is open.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[
            argument("query", Kind::Needed, QUESTION),
            argument("project", Kind::Text, PROJECT),
            argument("limit", Kind::Count { default: RECALL_SESSIONS, least: 1, most: 20 }, "Sessions to use."),
            argument(
                "budget_tokens",
                Kind::Count { default: RECALL_TOKENS, least: 200, most: 20_000 },
                "Length of the answer.",
            ),
        ],
    },
    Tool {
        method: method::NODES,
        name: "search_nodes",
        aliases: &["search_memory_nodes"],
        title: "Search entities",
        description: "Files, commands, errors, packages, commits, topics and preferences of past sessions, with \
                      summaries.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[
            argument("query", Kind::Words, WORDS),
            argument("group_ids", Kind::Texts, GROUPS).field("groups"),
            argument("max_nodes", TEN, "How many.").field("limit"),
            argument("center_node_uuid", Kind::Text, CENTER).field("center"),
            argument("entity_types", Kind::Texts, "File, Error, Topic, Preference, …").field("labels"),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        method: method::FACTS,
        name: "search_memory_facts",
        aliases: &[],
        title: "Search facts",
        description: "Facts of past sessions: decisions, preferences, what changed a file or resolved an error, and \
                      since when.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[
            argument("query", Kind::Words, WORDS),
            argument("group_ids", Kind::Texts, GROUPS).field("groups"),
            argument("max_facts", TEN, "How many.").field("limit"),
            argument("center_node_uuid", Kind::Text, CENTER).field("center"),
            argument("edge_types", Kind::Texts, "DECIDED, PREFERS, MODIFIED, …").field("relations"),
            argument("valid_at_after", Kind::Text, "True only from then on: 2026-03-14.").field("valid.after"),
            argument("valid_at_before", Kind::Text, "True by then.").field("valid.before"),
            argument("invalid_at_after", Kind::Text, "Ceased to be true after it.").field("invalid.after"),
            argument("invalid_at_before", Kind::Text, "Ceased by then.").field("invalid.before"),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        method: method::EPISODES,
        name: "get_episodes",
        aliases: &[],
        title: "Latest sessions",
        description: "The latest sessions, newest first: purpose, work, decisions, errors, what is open.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[
            renamed("group_ids", &["group_id"], Kind::Texts, GROUPS).field("groups"),
            argument("episode_uuids", Kind::Texts, "Only these, or sessions' ids.").field("uuids"),
            renamed("max_episodes", &["last_n"], TEN, "How many.").field("limit"),
            argument("budget_tokens", Kind::AtMost { most: EPISODES_TOKENS_MOST }, "Length of the answer."),
            WAIT,
            CURSOR,
        ],
    },
    Tool {
        method: method::PASSAGE,
        name: "get_passage",
        aliases: &[],
        title: "Open a place",
        description: "What was said around a line of a session, as recall names it.",
        effect: Effect::Reads,
        listed: true,
        context: &[],
        arguments: &[
            argument("session_id", Kind::Needed, "Or an episode's uuid.").field("session"),
            argument("line", Kind::Count { default: 1, least: 1, most: u32::MAX }, "Of its transcript."),
            argument("context", Kind::Count { default: 20, least: 0, most: 50 }, "Messages on either side."),
            argument(
                "budget_tokens",
                Kind::Count { default: 1_200, least: 200, most: 20_000 },
                "Length of the answer.",
            ),
        ],
    },
    Tool {
        method: method::HANDOFF,
        name: "get_handoff",
        aliases: &[],
        title: "Take over",
        description: "What the last finished session of a project leaves to the next. Call it when you take over \
                      work.",
        effect: Effect::Reads,
        listed: true,
        context: CALLER,
        arguments: &[argument("project", Kind::Text, OF_PROJECT)],
    },
    Tool {
        method: method::TIMELINE,
        name: "timeline",
        aliases: &[],
        title: "Timeline",
        description: "Sessions by day, latest first, one line each: time, duration, goal, outcome, files, commits, open work.",
        effect: Effect::Reads,
        listed: false,
        context: CALLER,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            argument("since", Kind::Text, "A date such as 2026-03-14 or 2026-03, or 7d, or yesterday."),
            argument("until", Kind::Text, "Likewise: last active before it."),
            AGENT,
            argument("limit", Kind::Count { default: 20, least: 1, most: 100 }, "How many sessions."),
            CURSOR,
        ],
    },
];
