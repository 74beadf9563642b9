//! Tools that say when sessions are over, and which are tracked.

use super::{Effect, Kind, OFF, ON, PROJECT, SESSION, Tool, Which, argument, renamed};

pub(super) const TOOLS: &[Tool] = &[
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
        listed: true,
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
        listed: true,
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
        listed: true,
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
        listed: true,
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
        listed: true,
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
        listed: true,
        arguments: &[argument(
            "session_id",
            Kind::Needed,
            "The session's id, or a beginning of it that fits only one.",
        )],
    },
];
