//! Tools that end sessions and control which are tracked.

use super::{Effect, Kind, OFF, ON, PROJECT, SESSION, Tool, ToolId, argument, renamed};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        id: ToolId::Close,
        name: "session_tracking_close",
        aliases: &[],
        title: "Close a session",
        description: "Closes a session and indexes it at once. Call it when a task is done, before /clear, before \
                      handing over, at the end.",
        effect: Effect::Adds,
        listed: true,
        arguments: &[
            argument("session_id", Kind::Text, SESSION),
            argument("reason", Kind::Text, "Why, in a few words."),
        ],
    },
    Tool {
        id: ToolId::ListUnindexed,
        name: "session_tracking_list_unindexed",
        aliases: &[],
        title: "List unindexed",
        description: "Sessions whose latest content is not indexed yet; any search does that.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            renamed("project_namespace", &["project"], Kind::Text, PROJECT),
            argument("include_inactive", ON, "Also inactive ones."),
        ],
    },
    Tool {
        id: ToolId::SyncHistory,
        name: "session_tracking_sync_history",
        aliases: &[],
        title: "Index history",
        description: "Indexes past sessions now; with dry_run, the default, only counts them and the cost.",
        effect: Effect::Adds,
        listed: true,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            argument("days", Kind::Count { default: 7, least: 0, most: 36_500 }, "Days back; 0: all."),
            argument(
                "max_sessions",
                Kind::Count { default: 100, least: 0, most: 1_000_000 },
                "Most, newest first; 0: all.",
            ),
            argument("dry_run", ON, "Only count."),
        ],
    },
    Tool {
        id: ToolId::Status,
        name: "session_tracking_status",
        aliases: &["get_session_tracking_status"],
        title: "Tracking status",
        description: "Whether sessions are tracked and which are open; with an id, all of that session.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[argument("session_id", Kind::Text, "Default: all open ones.")],
    },
    Tool {
        id: ToolId::Track,
        name: "track_session",
        aliases: &[],
        title: "Track a session",
        description: "Lifts stop_tracking_session, or puts a session into a group. Sessions are tracked without it.",
        effect: Effect::Adds,
        listed: true,
        arguments: &[
            argument("session_id", Kind::Text, SESSION),
            argument("group_id", Kind::Text, "The group to put it into."),
            argument("force", OFF, "Against the settings."),
        ],
    },
    Tool {
        id: ToolId::StopTracking,
        name: "stop_tracking_session",
        aliases: &[],
        title: "Stop tracking",
        description: "Leaves a session alone until track_session. Call it when a person asks for it.",
        effect: Effect::TakesAway,
        listed: true,
        arguments: &[argument("session_id", Kind::Needed, "The session's id.")],
    },
    Tool {
        id: ToolId::Explain,
        name: "explain",
        aliases: &[],
        title: "Explain a session's state",
        description: "Why a session is in its state: what happened and when, what effect it had, and what is still to be done.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[argument("session_id", Kind::Text, SESSION)],
    },
];
