//! Methods a client may call.

/// Greets; must be the first. Frozen.
pub const HELLO: &str = "hello";
/// Asks the daemon to finish what it has begun and exit. Frozen.
pub const STOP: &str = "stop";
/// Lazy index, then search.
pub const SEARCH: &str = "search";
/// The session table.
pub const SESSIONS: &str = "sessions";
/// How short the ids of sessions and notes may be shown to a person.
pub const SHORT_IDS: &str = "ids/short";
/// One session and its episode.
pub const SHOW: &str = "show";
/// What was said in a session, message by message.
pub const MESSAGES: &str = "session/messages";
/// A session's events, with what each did and why.
pub const EXPLAIN: &str = "session/explain";
/// Explicit close.
pub const CLOSE: &str = "close";
/// Daemon, log, memory, roots, counts, problems.
pub const STATUS: &str = "status";
/// What a query would index.
pub const UNINDEXED: &str = "unindexed";
/// A range of history, indexed now or counted.
pub const SYNC: &str = "sync";
/// The tracking switch: shown or set.
pub const TRACKING: &str = "tracking";
/// Tracks a session again, or into a group.
pub const TRACK: &str = "track";
/// Stops tracking a session.
pub const UNTRACK: &str = "untrack";
/// Sessions forgotten, or remembered again.
pub const FORGET: &str = "forget";
/// What is stored, made anew.
pub const REINDEX: &str = "reindex";
/// Episodes, enriched by a model now.
pub const ENRICH: &str = "enrich";
/// What calls of models have cost.
pub const COSTS: &str = "costs";
/// The configuration with the origin of each value.
pub const CONFIG: &str = "config";
/// Entities of the memory.
pub const NODES: &str = "nodes";
/// Facts of the memory.
pub const FACTS: &str = "facts";
/// What is known of a question, within a budget.
pub const RECALL: &str = "recall";
/// Sessions in the order of time.
pub const TIMELINE: &str = "timeline";
/// Episodes, newest first.
pub const EPISODES: &str = "episodes";
/// Something that no session says, remembered.
pub const MEMORY_ADD: &str = "memory/add";
/// Sizes and hashes of the log.
pub const LOG_STATS: &str = "log/stats";
/// Records of the log as they are stored; may wait for the next one.
pub const LOG_READ: &str = "log/read";
/// Everything that is stored, read and compared.
pub const LOG_VERIFY: &str = "log/verify";
/// Room that nothing needs, given back.
pub const LOG_COMPACT: &str = "log/compact";
/// An event of an agent, told by its hook.
pub const HOOK: &str = "hook";
/// How long a hook took; a notification, the last thing it says.
pub const HOOK_TOOK: &str = "hook/took";
/// How fast hooks are answered, and which were not.
pub const HOOK_STATS: &str = "hook/stats";
/// An MCP server of an agent is there as long as the connection is open.
pub const PRESENCE: &str = "presence";
/// What the next agent of a project is told.
pub const HANDOFF: &str = "handoff";
/// How a command is run here, and how that ends.
pub const HOW: &str = "how";
/// What made an error go away.
pub const FIX: &str = "fix";
/// Which sessions had to do with a file.
pub const BLAME: &str = "blame";
/// What is done again and again.
pub const PATTERNS: &str = "patterns";
/// How the notes for people are.
pub const VAULT_STATUS: &str = "vault/status";
/// Every end of a session, brought into its note now.
pub const VAULT_SYNC: &str = "vault/sync";
/// Notes that are over a threshold, compacted now or counted.
pub const VAULT_COMPACT: &str = "vault/compact";
/// Every note, read and checked.
pub const VAULT_VERIFY: &str = "vault/verify";
/// One note.
pub const VAULT_READ: &str = "vault/read";
/// Calls a tool as MCP does.
pub const TOOL: &str = "tools/call";
/// Sent by the daemon while a call takes long; carries no id.
pub const PROGRESS: &str = "progress";
