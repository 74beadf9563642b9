//! Every configuration key with its values, default and meaning. `baton config --help` and `baton help configuration`
//! print this table. Keys of the original design that are no longer needed are listed too, each with its successor or
//! the reason why it has none.

use baton_protocol::HOOK_MS;

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Takes {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Whole { least: u64, most: u64, unit: &'static str },
    /// A number that need not be whole.
    Amount { most: f64, unit: &'static str },
    /// A non-empty text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The address of an endpoint.
    Url,
    /// The name of an environment variable.
    Variable,
    /// An absolute path, or one that begins with `~/`.
    File,
    /// A relative path of a folder.
    Below,
    /// A list of directories.
    Directories,
    /// A list of globs.
    Globs,
    /// An object of prices by model or glob of models.
    Prices,
    /// Anything.
    Anything,
}

/// Whether a key has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It has an effect.
    Now,
    /// It has none, for this reason.
    Former(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// The path of the key, joined with dots.
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// The default as JSON.
    pub(super) default: &'static str,
    pub(super) used: Use,
    /// The reason for its bounds, where that is not obvious; else empty.
    pub(super) why: &'static str,
    /// What the key does: Markdown sentences.
    pub(super) meaning: &'static str,
}

const fn now(name: &'static str, takes: Takes, default: &'static str, meaning: &'static str) -> Key {
    Key { name, takes, default, used: Use::Now, why: "", meaning }
}

const fn former(name: &'static str, why: &'static str) -> Key {
    Key { name, takes: Takes::Anything, default: "null", used: Use::Former(why), why: "", meaning: "" }
}

const fn whole(least: u64, most: u64, unit: &'static str) -> Takes {
    Takes::Whole { least, most, unit }
}

/// The object whose members are the switches of single projects.
pub(super) const PROJECTS: &str = "session_tracking.projects";

/// Keys that have a non-null default and still accept `null`: it means the default, or for budgets no limit.
const NULLABLE: [&str; 7] = [
    "llm.base_url",
    "llm.model",
    "llm.api_key_env",
    "llm.timeout_ms",
    "llm.max_concurrency",
    "llm.session_budget_usd",
    "llm.daily_budget_usd",
];

/// Longest name of an environment variable.
pub(super) const VARIABLE_CHARS: usize = 64;
/// Longest unknown key that is compared with the known ones; longer ones get no suggestion.
const COMPARED_CHARS: usize = 200;

const YEAR_S: u64 = 366 * 24 * 3600;

/// Every key in display order; former keys come last.
pub(super) const KEYS: &[Key] = &[
    now("session_tracking.enabled", Takes::Switch, "true", "Whether sessions are read and indexed at all."),
    now(
        "session_tracking.watch_directories",
        Takes::Directories,
        "[\"$CLAUDE_CONFIG_DIR/projects\"]",
        "Where transcripts lie; `~` and variables are expanded. By default Codex's directories are read too. What \
         a directory holds tells which agent it belongs to.",
    ),
    now(
        "session_tracking.project_stores",
        Takes::Directories,
        "[]",
        "Projects in which the file that an agent keeps there is read, such as Aider's, besides those that the sessions \
         of other agents name. `baton install aider --project DIR` adds one.",
    ),
    now(
        "session_tracking.inactivity_timeout",
        whole(0, YEAR_S, "seconds"),
        "1800",
        "Silence after which a session is over. With 0 silence never ends a session: it waits for a query.",
    ),
    now(
        "session_tracking.check_interval",
        whole(1, 86_400, "seconds"),
        "60",
        "Silence after which a session is `inactive`, and how often its growth is recorded.",
    ),
    now("session_tracking.exclude", Takes::Globs, "[]", "Projects that are never read and never shown."),
    now(
        "session_tracking.filtering.keep_user_messages",
        Takes::Switch,
        "true",
        "Whether your words appear in episodes, handoffs and notes and are sent to a model. The stored \
         conversation, `show --messages`, search, `recall`, titles, `log export` and the content hash are the \
         same whatever the filtering keys say.",
    ),
    now("session_tracking.filtering.keep_agent_responses", Takes::Switch, "true", "The same for what agents say."),
    now("session_tracking.filtering.keep_tool_structure", Takes::Switch, "true", "The same for tool calls."),
    now(
        "session_tracking.filtering.omit_tool_outputs",
        Takes::Switch,
        "true",
        "With true a tool's result takes at most `max_output_summary_chars` characters there; with false all that is \
         stored of it, which is one line, too.",
    ),
    now(
        "session_tracking.filtering.max_output_summary_chars",
        whole(0, 10_000, "characters"),
        "200",
        "Longest line of a tool's result there.",
    ),
    now(
        "session_tracking.lazy_index.budget_ms",
        whole(0, 60_000, "milliseconds"),
        "300",
        "Time a query spends on unread transcripts beyond the first 16 MB. While history is read for the first \
         time (more than 32 unread sessions) it is all the time the query waits.",
    ),
    now("hooks.enabled", Takes::Switch, "true", "With false, hooks are accepted, ignored and counted."),
    now(
        "hooks.socket_path",
        Takes::File,
        "null",
        "Where the daemon listens from its next start on: absolute or `~/…`, in a folder only you can write to. \
         Default: `BATON_HOME/baton.sock`.",
    ),
    Key {
        why: "agents end a hook that takes longer; at a session's end 1000 counts at most",
        ..now(
            "hooks.timeout_ms",
            whole(1, HOOK_MS, "milliseconds"),
            "null",
            "How long a hook waits for the daemon. Default: 150 ms for SessionStart and UserPromptSubmit, else \
             100 ms.",
        )
    },
    now(
        "handoff.from",
        Takes::Word(&["me", "team"]),
        "\"me\"",
        "Whose sessions are handed over: yours alone, or also what a relay brought of others, said to be theirs.",
    ),
    now("handoff.max_bytes", whole(256, 8192, "bytes"), "2048", "Longest handoff."),
    now(
        "memory.embedding.base_url",
        Takes::Url,
        "null",
        "OpenAI-compatible address, with its version, of a model that makes vectors; together with \
         `memory.embedding.model` it switches vectors on. See `baton help vectors`.",
    ),
    now("memory.embedding.model", Takes::Text, "null", "The model that makes vectors."),
    now(
        "memory.embedding.api_key_env",
        Takes::Variable,
        "null",
        "Environment variable of the daemon that holds the key. Local servers need none.",
    ),
    now(
        "memory.embedding.dimensions",
        whole(1, 65_536, "dimensions"),
        "null",
        "Length of a vector; asked for, and the answer must have it. Default: the model's own.",
    ),
    now(
        "llm.enabled",
        Takes::Switch,
        "false",
        "Whether a model enriches episodes; while false nothing is sent. See `baton help models`.",
    ),
    now("llm.base_url", Takes::Url, "\"https://api.openai.com/v1\"", "Any OpenAI-compatible address with its version."),
    now("llm.model", Takes::Text, "\"gpt-4.1-mini\"", "A model that this address knows."),
    now(
        "llm.api_key_env",
        Takes::Variable,
        "\"OPENAI_API_KEY\"",
        "Environment variable of the daemon that holds the key. It is read for each request and stored nowhere. \
         A server on this machine needs none; to an `http://` address elsewhere a key is sent only if this or \
         `llm.api_key_file` is set.",
    ),
    now("llm.api_key_file", Takes::File, "null", "A file that holds the key instead."),
    now(
        "llm.context_tokens",
        whole(4_000, 10_000_000, "tokens"),
        "128000",
        "What the model takes at once, request and answer together. A longer conversation is sent in parts.",
    ),
    now(
        "llm.max_output_tokens",
        whole(1, 1_000_000, "tokens"),
        "2000",
        "Longest answer. `config`, `status`, `doctor` and `enrich` warn if the context leaves no room for it.",
    ),
    now("llm.timeout_ms", whole(1, 3_600_000, "milliseconds"), "120000", "How long one call may take."),
    now("llm.max_concurrency", whole(1, 64, "calls"), "2", "How many calls run at once."),
    now(
        "llm.session_budget_usd",
        Takes::Amount { most: 1e6, unit: "US dollars" },
        "0.50",
        "Most that one session may cost over its life; null means no limit.",
    ),
    now(
        "llm.daily_budget_usd",
        Takes::Amount { most: 1e6, unit: "US dollars" },
        "5.00",
        "Most that a day (UTC) may cost; null means no limit.",
    ),
    now(
        "llm.prices",
        Takes::Prices,
        "null",
        "US dollars per million tokens by model or glob, also for what `show` says a session cost: `{\"gpt-x\": \
         {\"input\": 3, \"output\": 15, \"cache_read\": 0.3, \"cache_write\": 3.75, \"cache_write_1h\": 6}}`. \
         The last three follow from `input` if left out. Known models have built-in prices; for a model without \
         a price the cost is `null`.",
    ),
    now("vault.enabled", Takes::Switch, "false", "Whether notes for people are written. See `baton help vault`."),
    now(
        "vault.path",
        Takes::File,
        "null",
        "An existing Obsidian vault or a folder; not the root of a disk. Default: `BATON_HOME/vault`.",
    ),
    now("vault.root", Takes::Below, "\"claude\"", "Folder below `vault.path` that holds all of Baton's notes."),
    now("vault.compact_lines", whole(1, 1_000_000, "lines"), "500", "A note this long is archived."),
    now("vault.compact_days", whole(1, 36_600, "days"), "3", "A note this old is archived."),
    now(
        "vault.promote_recalls",
        whole(1, 1_000_000, "recalls"),
        "3",
        "In how many other projects an entity must be asked for before all projects share its note. Only \
         projects in which a session has worked count; the last 1,000 such first times are remembered.",
    ),
    now(
        "update.check",
        Takes::Switch,
        "false",
        "Whether the daemon asks once a day for a newer version; while false nothing is asked but by `baton update`.",
    ),
    now("update.url", Takes::Url, "null", "Where versions are asked for. Default: that of the build."),
    now(
        "update.key",
        Takes::Text,
        "null",
        "Public minisign key by which the answer must be signed. Default: that of the build.",
    ),
    now(
        "relay.enabled",
        Takes::Switch,
        "false",
        "Whether shared projects are published and what others share is taken in. See `baton help relay`.",
    ),
    now(
        "relay.url",
        Takes::Text,
        "null",
        "The folder or server of the team's relay; `baton relay init` and `join` set it.",
    ),
    now("relay.name", Takes::Text, "null", "What the team calls you. Default: your user name."),
    now(
        "relay.share",
        Takes::Directories,
        "[]",
        "Projects whose sessions are published to the team; by default none. `baton relay share` adds one.",
    ),
    now("relay.key_file", Takes::File, "null", "Where the keys lie. Default: `BATON_HOME/relay/keys.json`."),
    now(
        "relay.credentials_file",
        Takes::File,
        "null",
        "The file with what this machine signs in to a relay's server with.",
    ),
    former("version", "not needed: there is one format, and new keys are only added"),
    former("mode", "not needed: transcripts are recognised by what they are"),
    former("incremental", "not needed: reading always goes on where it stood"),
    former("auto_summarize_on_close", "every close indexes; whether a model writes more is llm.enabled"),
    former("omit_file_contents", "not needed: a file's content is always one line"),
    former("chunking", "not needed: a session is one episode, and each of its turns is found by itself"),
    former("indexing", "not needed: a query, a close or the timeout indexes what grew"),
    former("summarization", "use llm.model and llm.max_output_tokens"),
    former("session_tracking.mode", "not needed: transcripts are recognised by what they are"),
    former("session_tracking.incremental", "not needed: reading always goes on where it stood"),
    former(
        "session_tracking.chunking",
        "not needed: a session is one episode, and each of its turns is found by itself",
    ),
    former("session_tracking.indexing", "not needed: a query, a close or the timeout indexes what grew"),
    former(
        "session_tracking.auto_summarize_on_close",
        "every close indexes; whether a model writes more is llm.enabled",
    ),
    former("session_tracking.summarization", "use llm.model and llm.max_output_tokens"),
    former("session_tracking.omit_file_contents", "not needed: a file's content is always one line"),
    former("session_tracking.filtering.omit_file_contents", "not needed: a file's content is always one line"),
    former("session_tracking.keep_user_messages", "use session_tracking.filtering.keep_user_messages"),
    former("session_tracking.keep_agent_responses", "use session_tracking.filtering.keep_agent_responses"),
    former("session_tracking.keep_tool_structure", "use session_tracking.filtering.keep_tool_structure"),
    former("session_tracking.filter", "use session_tracking.filtering"),
    former("session_tracking.hooks", "use hooks.enabled, hooks.socket_path and hooks.timeout_ms"),
    former("hooks.socket_enabled", "not needed: the socket is how every client reaches the daemon"),
    former("hooks.async_indexing", "not needed: a hook never waits for an index"),
    former("hooks.hook_timeout", "use hooks.timeout_ms"),
    former("projects", "use session_tracking.projects.{path}.enabled; `baton config import` converts it"),
    former("global", "use session_tracking.enabled and session_tracking.watch_directories"),
];

impl Key {
    /// Finds a key by its full name.
    pub(super) fn find(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// True if `null` is accepted. It means unset, and for a budget no limit.
    pub(super) fn is_nullable(&self) -> bool {
        self.default == "null" || NULLABLE.contains(&self.name)
    }

    /// Describes the accepted values.
    pub(super) fn allowed(&self) -> String {
        let or_null = if self.is_nullable() { ", or null" } else { "" };
        let allowed = match self.takes {
            Takes::Switch => "true or false".to_owned(),
            Takes::Whole { least, most, unit } => format!("a whole number of {unit} from {least} to {most}"),
            Takes::Amount { most, unit } => format!("a number of {unit} from 0 to {most}"),
            Takes::Text => "a text".to_owned(),
            Takes::Word(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or "),
            Takes::Url => "an address that begins with http:// or https://".to_owned(),
            Takes::Variable => {
                format!("the name of an environment variable (letters, digits and _, at most {VARIABLE_CHARS})")
            }
            Takes::File => "an absolute path".to_owned(),
            Takes::Below => "the name of a folder, as \"claude\" or \"notes/claude\"".to_owned(),
            Takes::Directories => "a list of absolute directories".to_owned(),
            Takes::Globs => "a list of paths or globs".to_owned(),
            Takes::Prices => "an object of prices by model".to_owned(),
            Takes::Anything => "anything".to_owned(),
        };
        let why = if self.why.is_empty() { String::new() } else { format!(" ({})", self.why) };
        allowed + or_null + &why
    }
}

/// A current key as help describes it.
#[derive(Clone, Debug)]
pub struct KeyHelp {
    /// The path of the key, joined with dots.
    pub name: &'static str,
    /// The default as JSON.
    pub default: &'static str,
    /// Description of the accepted values.
    pub allowed: String,
    /// What the key does: Markdown.
    pub meaning: &'static str,
}

/// Every current key, in display order.
pub fn keys() -> impl Iterator<Item = KeyHelp> {
    let used = KEYS.iter().filter(|key| key.used == Use::Now);
    used.map(|key| KeyHelp { name: key.name, default: key.default, allowed: key.allowed(), meaning: key.meaning })
}

/// Every former key, with its successor or the reason why it has none.
pub fn former_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().filter_map(|key| match key.used {
        Use::Former(successor) => Some((key.name, successor)),
        Use::Now => None,
    })
}

/// Every current key with its default and accepted values, one line each.
pub fn describe_keys() -> String {
    keys().map(|key| format!("{} [{}]: {}\n", key.name, key.default, key.allowed)).collect()
}

/// True if some key is a member of an object of this name.
pub(super) fn is_object(name: &str) -> bool {
    name == PROJECTS || KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// The known key closest to an unknown one, if any is close enough.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    if unknown.chars().nth(COMPARED_CHARS).is_some() {
        return None;
    }
    let last = |name: &'_ str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let distance = |known: &str| {
        let whole = strsim::damerau_levenshtein(unknown, known);
        // The right name in the wrong object.
        let name = 1 + strsim::damerau_levenshtein(&last(unknown), &last(known));
        // Of two equally close keys, the one that is closer as a whole.
        (whole.min(name), whole)
    };
    let current = KEYS.iter().filter(|key| !matches!(key.used, Use::Former(_))).map(|key| key.name);
    let ((distance, _), best) = current.chain([PROJECTS]).map(|name| (distance(name), name)).min()?;
    let bound = (last(unknown).chars().count() / 2).min(3);
    (distance <= bound).then_some(best)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_has_one_name_and_a_default_that_it_takes_itself() {
        let names: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
        for key in KEYS {
            let value: serde_json::Value = serde_json::from_str(key.default).unwrap();
            assert!(!is_object(key.name) || matches!(key.used, Use::Former(_)), "{}", key.name);
            match key.takes {
                Takes::Switch => assert!(value.is_boolean(), "{}", key.name),
                Takes::Directories | Takes::Globs => assert!(value.is_array(), "{}", key.name),
                Takes::Whole { least, most, .. } => {
                    assert!(value.is_null() || (least..=most).contains(&value.as_u64().unwrap()), "{}", key.name);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_key_is_described_and_says_what_it_is_for() {
        let described = describe_keys();
        for key in KEYS.iter().filter(|key| key.used == Use::Now) {
            assert!(described.contains(&format!("{} [{}]: {}", key.name, key.default, key.allowed())), "{}", key.name);
            assert!(key.meaning.len() > 15 && key.meaning.ends_with('.'), "{}: {:?}", key.name, key.meaning);
            assert!(keys().any(|help| help.name == key.name && help.meaning == key.meaning), "{}", key.name);
        }
        assert_eq!(keys().count() + former_keys().count(), KEYS.len());
    }

    #[test]
    fn an_unknown_key_is_told_the_nearest() {
        for (unknown, known) in [
            ("session_tracking.inactivity_timout", Some("session_tracking.inactivity_timeout")),
            ("inactivity_timeout", Some("session_tracking.inactivity_timeout")),
            ("session_tracking.watch_directory", Some("session_tracking.watch_directories")),
            ("sesion_tracking.enabled", Some("session_tracking.enabled")),
            ("session_tracking.project", Some("session_tracking.projects")),
            ("session_tracking.lazy_index.budget", Some("session_tracking.lazy_index.budget_ms")),
            ("database", None),
            ("x", None),
            (&format!("{}.enabled", "x".repeat(200)), None),
        ] {
            assert_eq!(nearest(unknown), known, "{unknown}");
        }
    }
}
