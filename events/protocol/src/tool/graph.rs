//! Tools that read, add and delete single episodes, entities and facts.

use crate::MEMO_BODY_MAX_BYTES;

use super::{CALLER_AND_COMMAND, COMMAND, Effect, Kind, OFF, Tool, argument};
use crate::method;

const UUID_OF_EPISODE: &str = "The episode's uuid, as returned by a search, get_episodes or add_memory.";
const UUID_OF_EDGE: &str = "The fact's uuid, as returned by search_memory_facts.";
const INTO: &str = "The group it goes into: a project's directory, the last part of one, or a name of up to 64 letters, digits, dots, \
                    dashes and underscores. Default: your project.";
const IGNORED: &str = "Accepted for compatibility and ignored: no model extracts anything here.";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        method: method::MEMORY_ADD,
        name: "add_memory",
        aliases: &["add_episode"],
        title: "Remember",
        description: "Stores a note that is in no session: a rule, a decision made elsewhere. Found at once; a uuid \
                      replaces that note.",
        effect: Effect::Adds,
        listed: true,
        context: CALLER_AND_COMMAND,
        arguments: &[
            argument("name", Kind::Needed, "In a few words."),
            argument("episode_body", Kind::Long { most_bytes: MEMO_BODY_MAX_BYTES }, "What to remember."),
            argument("group_id", Kind::Text, "Project or group; default: yours."),
            argument("source", Kind::Text, "text, json or message."),
            argument("source_description", Kind::Text, "Where it comes from."),
            argument("uuid", Kind::Text, "To replace a note, or your own."),
            argument("reference_time", Kind::Text, "Default: now."),
            argument("excluded_entity_types", Kind::Ignored, IGNORED),
            argument("custom_extraction_instructions", Kind::Ignored, IGNORED),
            argument("previous_episode_uuids", Kind::Ignored, IGNORED),
            argument("update_communities", Kind::Ignored, IGNORED),
            argument("saga", Kind::Ignored, IGNORED),
            argument("saga_previous_episode_uuid", Kind::Ignored, IGNORED),
        ],
    },
    Tool {
        method: method::FACT_ADD,
        name: "add_triplet",
        aliases: &[],
        title: "Remember a fact",
        description: "Stores a fact: two names and their relation, with a sentence that states it. It is durable when the \
                      answer comes, and search_memory_facts finds it. Adding the same fact again changes nothing; one \
                      that was deleted with delete_entity_edge is restored.",
        effect: Effect::Adds,
        listed: false,
        context: CALLER_AND_COMMAND,
        arguments: &[
            argument("source_node_name", Kind::Needed, "Who or what, such as `payments team`."),
            argument("edge_name", Kind::Needed, "Their relation, such as PREFERS."),
            argument("fact", Kind::Needed, "The fact in a sentence."),
            argument("target_node_name", Kind::Needed, "Whom or what, such as `sled`."),
            argument("group_id", Kind::Text, INTO),
            argument(
                "source_node_uuid",
                Kind::Ignored,
                "Taken and ignored: a name of a group always has the same uuid.",
            ),
            argument(
                "target_node_uuid",
                Kind::Ignored,
                "Taken and ignored: a name of a group always has the same uuid.",
            ),
        ],
    },
    Tool {
        method: method::EPISODE_ENTITIES,
        name: "get_episode_entities",
        aliases: &[],
        title: "Read what an episode is about",
        description: "The nodes and edges that these episodes support: what a session dealt with and found out, or what a \
                      note names. Call it to get from an episode to files, errors and decisions.",
        effect: Effect::Reads,
        listed: false,
        context: &[],
        arguments: &[argument("episode_uuids", Kind::TextsNeeded, "The episodes' uuids.")],
    },
    Tool {
        method: method::FACT,
        name: "get_entity_edge",
        aliases: &[],
        title: "Read one fact",
        description: "One fact by its uuid, with the nodes at its ends, the time from which it holds, and the episodes that \
                      support it. Call it to look again at a fact from an earlier search.",
        effect: Effect::Reads,
        listed: false,
        context: COMMAND,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EDGE)],
    },
    Tool {
        method: method::EPISODE_DELETE,
        name: "delete_episode",
        aliases: &[],
        title: "Delete an episode",
        description: "Hides an episode and the facts that only it supported. A session's episode stays hidden until the session \
                      has new content; its conversation stays stored, and only a person can have that forgotten. The text \
                      of an added note is deleted. Call it when a person asks for it.",
        effect: Effect::TakesAway,
        listed: false,
        context: COMMAND,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EPISODE)],
    },
    Tool {
        method: method::FACT_DELETE,
        name: "delete_entity_edge",
        aliases: &[],
        title: "Delete a fact",
        description: "Hides a fact, whichever sessions support it, now or later, until add_triplet adds it again. Call it when a \
                      person asks for it, or when a fact is wrong.",
        effect: Effect::TakesAway,
        listed: false,
        context: COMMAND,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EDGE)],
    },
    Tool {
        method: method::MEMORY_CLEAR,
        name: "clear_graph",
        aliases: &[],
        title: "Clear groups",
        description: "Hides everything that groups hold now: episodes of sessions, notes and facts. Later content of sessions is \
                      found again. Without confirm=true nothing is done, and the answer says what would be hidden. Call it \
                      only when a person asks for it.",
        effect: Effect::TakesAway,
        listed: false,
        context: COMMAND,
        arguments: &[
            argument("group_ids", Kind::Texts, "Which groups. Default: all.").field("groups"),
            argument("confirm", OFF, "Really do it."),
        ],
    },
    Tool {
        method: method::MEMORY_STATUS,
        name: "get_status",
        aliases: &[],
        title: "Check the memory",
        description: "Says whether the memory is up to date, how much it holds, and what is wrong with it, if anything. Call it \
                      when searches find less than they should.",
        effect: Effect::Reads,
        listed: false,
        context: &[],
        arguments: &[],
    },
];
