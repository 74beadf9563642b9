//! Tools that read, add and delete single episodes, entities and facts.

use crate::MEMO_BODY_MAX_BYTES;

use super::{Effect, Kind, OFF, Tool, ToolId, argument};

const UUID_OF_EPISODE: &str = "The episode's uuid, as a search, get_episodes or add_memory told it.";
const UUID_OF_EDGE: &str = "The fact's uuid, as search_memory_facts told it.";
const INTO: &str = "The group it goes into: a project's directory, the last part of one, or a name of its own of up to 64 \
                    letters, digits, dots, dashes and underscores. Without it: your project.";
const IGNORED: &str = "Taken for the sake of other servers, and ignored: nothing here is extracted by a model.";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        id: ToolId::AddMemory,
        name: "add_memory",
        aliases: &["add_episode"],
        title: "Remember",
        description: "Keeps a note that no session tells: a rule, a decision made elsewhere. Found at once; with a uuid it \
                      replaces that one.",
        effect: Effect::Adds,
        listed: true,
        arguments: &[
            argument("name", Kind::Needed, "In a few words."),
            argument("episode_body", Kind::Long { most_bytes: MEMO_BODY_MAX_BYTES }, "What to remember."),
            argument("group_id", Kind::Text, "Project or group; without it yours."),
            argument("source", Kind::Text, "text, json or message."),
            argument("source_description", Kind::Text, "Where it comes from."),
            argument("uuid", Kind::Text, "To replace a note, or your own."),
            argument("reference_time", Kind::Text, "Without it now."),
            argument("excluded_entity_types", Kind::Ignored, IGNORED),
            argument("custom_extraction_instructions", Kind::Ignored, IGNORED),
            argument("previous_episode_uuids", Kind::Ignored, IGNORED),
            argument("update_communities", Kind::Ignored, IGNORED),
            argument("saga", Kind::Ignored, IGNORED),
            argument("saga_previous_episode_uuid", Kind::Ignored, IGNORED),
        ],
    },
    Tool {
        id: ToolId::AddTriplet,
        name: "add_triplet",
        aliases: &[],
        title: "Remember a fact",
        description: "Keeps a fact: two names and what is between them, with a sentence that says it. It is durable when the \
                      answer comes, and search_memory_facts finds it. The same fact again changes nothing; one that was \
                      deleted with delete_entity_edge is there again.",
        effect: Effect::Adds,
        listed: false,
        arguments: &[
            argument("source_node_name", Kind::Needed, "Who or what, such as `payments team`."),
            argument("edge_name", Kind::Needed, "What is between them, such as PREFERS."),
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
        id: ToolId::GetEpisodeEntities,
        name: "get_episode_entities",
        aliases: &[],
        title: "Read what an episode is about",
        description: "The nodes and edges that these episodes support: what a session dealt with and found out, or what a \
                      note names. Call it to go on from an episode to files, errors and decisions.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[argument("episode_uuids", Kind::TextsNeeded, "The episodes' uuids.")],
    },
    Tool {
        id: ToolId::GetEntityEdge,
        name: "get_entity_edge",
        aliases: &[],
        title: "Read one fact",
        description: "One fact by its uuid, with the nodes at its ends, the time from which it holds, and the episodes that \
                      support it. Call it to look at a fact again that an earlier search told.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EDGE)],
    },
    Tool {
        id: ToolId::DeleteEpisode,
        name: "delete_episode",
        aliases: &[],
        title: "Delete an episode",
        description: "Has an episode found and shown no more, with the facts that only it supported. A session's stays deleted \
                      until the session says something else; its conversation stays stored, and only a person can have \
                      that forgotten. Of a note that was added the words are deleted. Call it when a person asks for it.",
        effect: Effect::TakesAway,
        listed: false,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EPISODE)],
    },
    Tool {
        id: ToolId::DeleteEntityEdge,
        name: "delete_entity_edge",
        aliases: &[],
        title: "Delete a fact",
        description: "Has a fact found no more, whichever sessions support it, now or later, until add_triplet tells it anew. \
                      Call it when a person asks for it, or when a fact is wrong.",
        effect: Effect::TakesAway,
        listed: false,
        arguments: &[argument("uuid", Kind::Needed, UUID_OF_EDGE)],
    },
    Tool {
        id: ToolId::ClearGraph,
        name: "clear_graph",
        aliases: &[],
        title: "Clear groups",
        description: "Has everything that groups hold by now found and shown no more: episodes of sessions, notes and facts. \
                      What sessions say later is found again. Without confirm=true nothing is done, and the answer tells \
                      what would go. Call it only when a person asks for it.",
        effect: Effect::TakesAway,
        listed: false,
        arguments: &[
            argument("group_ids", Kind::Texts, "Which groups. Without it: all of them."),
            argument("confirm", OFF, "Really do it."),
        ],
    },
    Tool {
        id: ToolId::GetStatus,
        name: "get_status",
        aliases: &[],
        title: "Ask whether the memory is well",
        description: "Says whether the memory follows what is written, how much it holds, and what is wrong with it, if \
                      anything is. Call it when searches find less than they should.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[],
    },
];
