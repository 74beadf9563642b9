//! Tools that say when sessions are over, and which are tracked.

use super::{Effect, Kind, OFF, ON, PROJECT, SESSION, Tool, Which, argument, renamed};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        which: Which::Close,
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
        which: Which::ListUnindexed,
        name: "session_tracking_list_unindexed",
        aliases: &[],
        title: "List unindexed",
        description: "Sessions whose latest content is not indexed yet; any search does that.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[
            renamed("project_namespace", &["project"], Kind::Text, PROJECT),
            argument("include_inactive", ON, "Also those that nobody works in."),
        ],
    },
    Tool {
        which: Which::SyncHistory,
        name: "session_tracking_sync_history",
        aliases: &[],
        title: "Index history",
        description: "Indexes past sessions now; with dry_run, the default, only counts them and the cost.",
        effect: Effect::Adds,
        listed: true,
        arguments: &[
            argument("project", Kind::Text, PROJECT),
            argument("days", Kind::Count { default: 7, least: 0, most: 36_500 }, "At work in so many days; 0: all."),
            argument(
                "max_sessions",
                Kind::Count { default: 100, least: 0, most: 1_000_000 },
                "So many, the newest; 0: all.",
            ),
            argument("dry_run", ON, "Only look and count."),
        ],
    },
    Tool {
        which: Which::Status,
        name: "session_tracking_status",
        aliases: &["get_session_tracking_status"],
        title: "Tracking status",
        description: "Whether sessions are tracked and which are open; with an id, all of that session.",
        effect: Effect::Reads,
        listed: true,
        arguments: &[argument("session_id", Kind::Text, "Without it all open ones.")],
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
        listed: false,
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
        listed: false,
        arguments: &[argument(
            "session_id",
            Kind::Needed,
            "The session's id, or a beginning of it that fits only one.",
        )],
    },
    Tool {
        which: Which::Explain,
        name: "explain",
        aliases: &[],
        title: "Explain a session's state",
        description: "Why a session is as it is: what was noticed or asked for and when, what it made of the session, what is \
                      owed to it.",
        effect: Effect::Reads,
        listed: false,
        arguments: &[argument("session_id", Kind::Text, SESSION)],
    },
];
