//! Names of the methods that a client may call.

/// Declares the methods, and `ALL` of them.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        $($(#[$doc])* pub const $name: &str = $text;)+

        /// All methods that are answered after the greeting.
        pub const ALL: &[&str] = &[$($text),+];
    };
}

/// Greeting; must be the first request. Frozen.
pub const HELLO: &str = "hello";
/// Notification sent during a long request; carries no id.
pub const PROGRESS: &str = "progress";

methods! {
    /// Asks the daemon to finish its work and exit. Frozen.
    STOP = "stop";
    /// Indexes lazily, then searches.
    SEARCH = "search";
    /// Lists sessions.
    SESSIONS = "sessions";
    /// Returns the shortest ids of sessions and notes that may be shown to a user.
    SHORT_IDS = "ids/short";
    /// Returns one session and its episode.
    SHOW = "show";
    /// Returns the messages of a session.
    MESSAGES = "session/messages";
    /// Returns the messages around a line of a session, within a budget of tokens.
    PASSAGE = "session/passage";
    /// Returns a session's events, each with its effect and its reason.
    EXPLAIN = "session/explain";
    /// Returns the sessions as of a position of the log, and the event there.
    REPLAY = "replay";
    /// Begins, joins or leaves a team; says what is shared and what is behind.
    RELAY = "relay";
    /// Corrects what is told of a session, or lists what can be corrected.
    CORRECT = "correct";
    /// Closes a session.
    CLOSE = "close";
    /// Returns the state of the daemon, log, memory and roots, counts and problems.
    STATUS = "status";
    /// Lists the sessions that a query would index.
    UNINDEXED = "unindexed";
    /// Indexes or counts a range of history.
    SYNC = "sync";
    /// Returns or sets the tracking switch.
    TRACKING = "tracking";
    /// Returns the tracking switch and the open sessions, or one session.
    TRACKING_STATUS = "tracking/status";
    /// Tracks a session again, or puts it into a group.
    TRACK = "track";
    /// Stops tracking a session.
    UNTRACK = "untrack";
    /// Forgets sessions, or restores them.
    FORGET = "forget";
    /// Rebuilds what is stored.
    REINDEX = "reindex";
    /// Enriches episodes by a model now.
    ENRICH = "enrich";
    /// Returns the costs of model calls.
    COSTS = "costs";
    /// Returns the configuration with the origin of each value.
    CONFIG = "config";
    /// Searches entities.
    NODES = "nodes";
    /// Searches facts.
    FACTS = "facts";
    /// Answers a question from the memory, within a budget of tokens.
    RECALL = "recall";
    /// Lists sessions by day, latest first.
    TIMELINE = "timeline";
    /// Lists episodes, newest first.
    EPISODES = "episodes";
    /// Returns the entities and facts that episodes support.
    EPISODE_ENTITIES = "episodes/entities";
    /// Deletes an episode.
    EPISODE_DELETE = "episodes/delete";
    /// Returns one fact.
    FACT = "facts/one";
    /// Adds a fact.
    FACT_ADD = "facts/add";
    /// Deletes a fact.
    FACT_DELETE = "facts/delete";
    /// Adds a note to the memory.
    MEMORY_ADD = "memory/add";
    /// Clears groups.
    MEMORY_CLEAR = "memory/clear";
    /// Returns the state of the memory.
    MEMORY_STATUS = "memory/status";
    /// Returns sizes and hashes of the log.
    LOG_STATS = "log/stats";
    /// Returns records of the log as stored; may wait for the next one.
    LOG_READ = "log/read";
    /// Verifies everything that is stored.
    LOG_VERIFY = "log/verify";
    /// Frees disk space that nothing needs.
    LOG_COMPACT = "log/compact";
    /// Shortens old conversations to what their episodes need, or counts them.
    KEEP = "keep";
    /// Asks for the newest version of the program.
    UPDATE = "update";
    /// Reports an agent's event from its hook.
    HOOK = "hook";
    /// Notification with the duration of a hook call; a hook's last message.
    HOOK_TOOK = "hook/took";
    /// Returns the latency of hook calls, and failures.
    HOOK_STATS = "hook/stats";
    /// Marks an agent's MCP server as present while the connection is open.
    PRESENCE = "presence";
    /// Returns what the next agent of a project is told.
    HANDOFF = "handoff";
    /// Returns how a command is run, and its outcomes.
    HOW = "how";
    /// Returns what made an error go away.
    FIX = "fix";
    /// Returns the sessions that touched a file.
    BLAME = "blame";
    /// Returns recurring sequences, failures and retry loops.
    PATTERNS = "patterns";
    /// Returns what runs, what was finished today, what is open and what was spent.
    TODAY = "today";
    /// Lists projects, that with the latest activity first.
    PROJECTS = "projects";
    /// Returns sessions, decisions, open work, files and checks of a project.
    PROJECT = "project";
    /// Returns entities and facts around one, as of a time.
    GRAPH = "graph";
    /// Returns the state of the vault.
    VAULT_STATUS = "vault/status";
    /// Writes every session end into its note now.
    VAULT_SYNC = "vault/sync";
    /// Compacts notes over a threshold, or counts them.
    VAULT_COMPACT = "vault/compact";
    /// Reads and checks every note.
    VAULT_VERIFY = "vault/verify";
    /// Returns one note.
    VAULT_READ = "vault/read";
    /// Serves pages for a browser on this machine, and returns their address.
    PAGE = "page";
    /// Calls a tool as MCP does.
    TOOL = "tools/call";
}
