//! Names of the methods that a client may call.

/// Greeting; must be the first request. Frozen.
pub const HELLO: &str = "hello";
/// Asks the daemon to finish its work and exit. Frozen.
pub const STOP: &str = "stop";
/// Indexes lazily, then searches.
pub const SEARCH: &str = "search";
/// Lists sessions.
pub const SESSIONS: &str = "sessions";
/// Returns the shortest ids of sessions and notes that may be shown to a user.
pub const SHORT_IDS: &str = "ids/short";
/// Returns one session and its episode.
pub const SHOW: &str = "show";
/// Returns the messages of a session.
pub const MESSAGES: &str = "session/messages";
/// Returns the messages around a line of a session, within a budget of tokens.
pub const PASSAGE: &str = "session/passage";
/// Returns a session's events, each with its effect and its reason.
pub const EXPLAIN: &str = "session/explain";
/// Corrects what is told of a session, or lists what can be corrected.
pub const CORRECT: &str = "correct";
/// Closes a session.
pub const CLOSE: &str = "close";
/// Returns the state of the daemon, log, memory and roots, counts and problems.
pub const STATUS: &str = "status";
/// Lists the sessions that a query would index.
pub const UNINDEXED: &str = "unindexed";
/// Indexes or counts a range of history.
pub const SYNC: &str = "sync";
/// Returns or sets the tracking switch.
pub const TRACKING: &str = "tracking";
/// Returns the tracking switch and the open sessions, or one session.
pub const TRACKING_STATUS: &str = "tracking/status";
/// Tracks a session again, or puts it into a group.
pub const TRACK: &str = "track";
/// Stops tracking a session.
pub const UNTRACK: &str = "untrack";
/// Forgets sessions, or restores them.
pub const FORGET: &str = "forget";
/// Rebuilds what is stored.
pub const REINDEX: &str = "reindex";
/// Enriches episodes by a model now.
pub const ENRICH: &str = "enrich";
/// Returns the costs of model calls.
pub const COSTS: &str = "costs";
/// Returns the configuration with the origin of each value.
pub const CONFIG: &str = "config";
/// Searches entities.
pub const NODES: &str = "nodes";
/// Searches facts.
pub const FACTS: &str = "facts";
/// Answers a question from the memory, within a budget of tokens.
pub const RECALL: &str = "recall";
/// Lists sessions by day, latest first.
pub const TIMELINE: &str = "timeline";
/// Lists episodes, newest first.
pub const EPISODES: &str = "episodes";
/// Returns the entities and facts that episodes support.
pub const EPISODE_ENTITIES: &str = "episodes/entities";
/// Deletes an episode.
pub const EPISODE_DELETE: &str = "episodes/delete";
/// Returns one fact.
pub const FACT: &str = "facts/one";
/// Adds a fact.
pub const FACT_ADD: &str = "facts/add";
/// Deletes a fact.
pub const FACT_DELETE: &str = "facts/delete";
/// Adds a note to the memory.
pub const MEMORY_ADD: &str = "memory/add";
/// Clears groups.
pub const MEMORY_CLEAR: &str = "memory/clear";
/// Returns the state of the memory.
pub const MEMORY_STATUS: &str = "memory/status";
/// Returns sizes and hashes of the log.
pub const LOG_STATS: &str = "log/stats";
/// Returns records of the log as stored; may wait for the next one.
pub const LOG_READ: &str = "log/read";
/// Verifies everything that is stored.
pub const LOG_VERIFY: &str = "log/verify";
/// Frees disk space that nothing needs.
pub const LOG_COMPACT: &str = "log/compact";
/// Reports an agent's event from its hook.
pub const HOOK: &str = "hook";
/// Notification with the duration of a hook call; a hook's last message.
pub const HOOK_TOOK: &str = "hook/took";
/// Returns the latency of hook calls, and failures.
pub const HOOK_STATS: &str = "hook/stats";
/// Marks an agent's MCP server as present while the connection is open.
pub const PRESENCE: &str = "presence";
/// Returns what the next agent of a project is told.
pub const HANDOFF: &str = "handoff";
/// Returns how a command is run, and its outcomes.
pub const HOW: &str = "how";
/// Returns what made an error go away.
pub const FIX: &str = "fix";
/// Returns the sessions that touched a file.
pub const BLAME: &str = "blame";
/// Returns recurring sequences, failures and retry loops.
pub const PATTERNS: &str = "patterns";
/// Returns the state of the vault.
pub const VAULT_STATUS: &str = "vault/status";
/// Writes every session end into its note now.
pub const VAULT_SYNC: &str = "vault/sync";
/// Compacts notes over a threshold, or counts them.
pub const VAULT_COMPACT: &str = "vault/compact";
/// Reads and checks every note.
pub const VAULT_VERIFY: &str = "vault/verify";
/// Returns one note.
pub const VAULT_READ: &str = "vault/read";
/// Calls a tool as MCP does.
pub const TOOL: &str = "tools/call";
/// Notification sent during a long request; carries no id.
pub const PROGRESS: &str = "progress";
