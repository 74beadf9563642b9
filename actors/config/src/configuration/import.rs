//! Imports the original's `graphiti.config.json` key by key: keys with a successor are taken over, and for every other
//! key the outcome is reported.

use serde_json::Value;

use super::document::Node;
use super::edit::{self, Changes};
use super::key::{Key, PROJECTS, Takes, Use};
use super::parse::{self, Lookup};
use crate::settings::pattern::escaped;

/// Keys that one import reports; a file with more is not a configuration.
const KEYS_MAX: usize = 2_000;

/// Longest existing value that is quoted in a message.
const SHOWN_BYTES: usize = 200;

/// What became of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedKey {
    /// The key in the imported file.
    pub key: String,
    /// The key of its successor here.
    pub became: Option<String>,
    /// The converted value, if any.
    pub value: Option<Value>,
    /// What became of it.
    pub outcome: Outcome,
    /// The reason, or the effect.
    pub message: String,
}

/// The outcome of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was set, or would be in a dry run.
    Taken,
    /// It is already set to another value, which was kept.
    Kept,
    /// It has no effect here.
    Dropped,
    /// Its value is not valid.
    Wrong,
}

impl Outcome {
    /// The name used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Kept => "kept",
            Self::Dropped => "dropped",
            Self::Wrong => "wrong",
        }
    }
}

/// Keys of the original and their successors under another name.
const RENAMED: &[(&str, &str)] = &[
    ("session_tracking.summarization.model", "llm.model"),
    ("session_tracking.summarization.max_summary_tokens", "llm.max_output_tokens"),
    ("session_tracking.hooks.enabled", "hooks.enabled"),
    ("session_tracking.hooks.hook_timeout", "hooks.timeout_ms"),
    ("hooks.hook_timeout", "hooks.timeout_ms"),
    ("global.track_session_logs", "session_tracking.enabled"),
    ("session_tracking.keep_user_messages", "session_tracking.filtering.keep_user_messages"),
    ("session_tracking.keep_agent_responses", "session_tracking.filtering.keep_agent_responses"),
    ("session_tracking.keep_tool_structure", "session_tracking.filtering.keep_tool_structure"),
];

/// Edits `text` so that it has the settings of `original`, and reports the outcome of each key in `outcomes`. Fails if
/// `original` cannot be read at all.
pub(super) fn import(
    original: &str,
    text: &str,
    force: bool,
    lookup: Lookup<'_>,
    outcomes: &mut Vec<ImportedKey>,
) -> Result<String, String> {
    let original = original.strip_prefix('\u{feff}').unwrap_or(original);
    let root = Node::parse(original)
        .map_err(|error| format!("the file to import is not JSON, line {}: {}", error.line, error.reason))?;
    if root.members().is_none() {
        return Err("the file to import is not an object {…}".to_owned());
    }
    let now = serde_json::from_str(text).unwrap_or_default();
    let mut importer = Importer { now, changes: Changes::default(), force, lookup, outcomes };
    importer.object(&root, "");
    if importer.changes.is_empty() {
        return Ok(text.to_owned());
    }
    let edited = edit::apply(text, &importer.changes)?;
    match parse::parse(&edited, lookup).mistakes.into_iter().next() {
        Some(mistake) => Err(mistake.what),
        None => Ok(edited),
    }
}

/// Collects the changes, so that the text is edited and parsed once instead of per key.
struct Importer<'a> {
    /// The configuration before the import.
    now: Value,
    changes: Changes,
    force: bool,
    lookup: Lookup<'a>,
    outcomes: &'a mut Vec<ImportedKey>,
}

impl Importer<'_> {
    fn report(&mut self, key: &str, became: Option<&str>, value: Option<Value>, outcome: Outcome, message: &str) {
        if self.outcomes.len() < KEYS_MAX {
            self.outcomes.push(ImportedKey {
                key: key.to_owned(),
                became: became.map(str::to_owned),
                value,
                outcome,
                message: message.to_owned(),
            });
        }
    }

    fn object(&mut self, node: &Node<'_>, name: &str) {
        for member in node.members().unwrap_or_default() {
            if member.name.starts_with('_') {
                continue;
            }
            let full = if name.is_empty() { member.name.clone() } else { format!("{name}.{}", member.name) };
            match (full.as_str(), member.value.members()) {
                (PROJECTS, Some(projects)) => {
                    for project in projects.iter().filter(|project| !project.name.starts_with('_')) {
                        self.project(&format!("{full}.{}", project.name), &project.name, &project.value);
                    }
                }
                ("projects", Some(projects)) => {
                    for project in projects.iter().filter(|project| !project.name.starts_with('_')) {
                        self.original_project(&format!("{full}.{}", project.name), &project.value);
                    }
                }
                (_, Some(members)) if !members.is_empty() && self.is_known_object(&full) => {
                    self.object(&member.value, &full);
                }
                _ => self.leaf(&full, &member.value),
            }
        }
    }

    /// Objects whose members are reported one by one; the others are reported as a whole.
    fn is_known_object(&self, name: &str) -> bool {
        super::key::is_object(name)
            || matches!(name, "global" | "session_tracking.summarization" | "session_tracking.hooks")
    }

    fn leaf(&mut self, name: &str, node: &Node<'_>) {
        let renamed = RENAMED.iter().find(|(original, _)| *original == name).map(|(_, now)| *now);
        let key = Key::find(renamed.unwrap_or(name));
        match key {
            Some(Key { used: Use::Former(why), .. }) => self.report(name, None, None, Outcome::Dropped, why),
            Some(key) => match self.value(key, node) {
                Ok(Value::Null) => {
                    self.report(name, Some(key.name), None, Outcome::Dropped, "null: the default applies");
                }
                Ok(value) => {
                    let path: Vec<&str> = key.name.split('.').collect();
                    self.set(name, key.name, &path, value, note(key));
                }
                Err(why) => self.report(name, Some(key.name), None, Outcome::Wrong, &why),
            },
            None => self.unknown(name),
        }
    }

    fn unknown(&mut self, name: &str) {
        let whole = name.rsplit_once('.').map(|(object, _)| object).and_then(Key::find);
        let why = match (name, whole.map(|key| key.used)) {
            (_, Some(Use::Former(why))) => why,
            ("global.session_log_sources", _) => "set session_tracking.watch_directories if they lie elsewhere",
            _ => "belongs to a part that Baton does not have",
        };
        self.report(name, None, None, Outcome::Dropped, why);
    }

    fn value(&self, key: &Key, node: &Node<'_>) -> Result<Value, String> {
        let value = parse::check(key, node)?;
        if let (Takes::Directories, Some(texts)) = (key.takes, value.as_array()) {
            for text in texts.iter().filter_map(Value::as_str) {
                let path = parse::expand(text, self.lookup).map_err(|why| format!("{text:?} {why}"))?;
                if !std::path::Path::new(&path).is_absolute() {
                    return Err(format!("{text:?} is not absolute"));
                }
            }
        }
        Ok(value)
    }

    /// Imports `{"enabled": true}` under a path.
    fn project(&mut self, key: &str, path: &str, node: &Node<'_>) {
        let enabled = node.members().unwrap_or_default().into_iter().find(|member| member.name == "enabled");
        match enabled.and_then(|member| member.value.value()) {
            Some(Value::Bool(enabled)) => self.set_project(key, path, enabled),
            _ => self.report(key, None, None, Outcome::Wrong, "has no `enabled` that is true or false"),
        }
    }

    /// Imports `{"project_root": …, "session_tracking_enabled": true}` under an id that the original made up.
    fn original_project(&mut self, key: &str, node: &Node<'_>) {
        let members = node.members().unwrap_or_default();
        let find = |name: &str| members.iter().find(|member| member.name == name).map(|member| member.value);
        let root = find("project_root").and_then(|node| node.value()).and_then(|root| root.as_str().map(str::to_owned));
        let nested = find("session_tracking").and_then(|node| {
            node.members()?.into_iter().find(|member| member.name == "enabled").map(|member| member.value)
        });
        let enabled = find("session_tracking_enabled").or(nested).and_then(|node| node.value()?.as_bool());
        match (root, enabled) {
            (Some(root), Some(enabled)) => self.set_project(key, &escaped(&root), enabled),
            (None, _) => {
                self.report(key, None, None, Outcome::Dropped, "has no project_root, so its project is unknown");
            }
            (Some(_), None) => {
                self.report(key, None, None, Outcome::Dropped, "sets nothing: the global switch applies");
            }
        }
    }

    fn set_project(&mut self, key: &str, root: &str, enabled: bool) {
        let became = format!("{PROJECTS}.{root}.enabled");
        let path = ["session_tracking", "projects", root, "enabled"];
        self.set(key, &became, &path, enabled.into(), "");
    }

    fn set(&mut self, key: &str, became: &str, path: &[&str], value: Value, note: &str) {
        let before = || path.iter().try_fold(&self.now, |now, name| now.get(name));
        let set = self.changes.get(path).or_else(before);
        if let Some(set) = set.filter(|set| !self.force && **set != value) {
            let set =
                Some(set.to_string()).filter(|set| set.len() <= SHOWN_BYTES).unwrap_or("something else".to_owned());
            let message = format!("config.json already has {set}; --force overwrites it");
            return self.report(key, Some(became), Some(value), Outcome::Kept, &message);
        }
        // A value that would make the whole file invalid is not imported.
        let alone = edit::set("", path, &value).unwrap_or_default();
        if let Some(mistake) = parse::parse(&alone, self.lookup).mistakes.into_iter().next() {
            return self.report(key, Some(became), None, Outcome::Wrong, &mistake.what);
        }
        self.changes.set(path, value.clone());
        self.report(key, Some(became), Some(value), Outcome::Taken, note);
    }
}

/// How the effect of an imported key differs from the original's.
fn note(key: &Key) -> &'static str {
    match key.name {
        "session_tracking.enabled" => {
            "without a model tracking costs nothing; false keeps every session from being read"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/u".to_owned())
    }

    fn run(original: &str, text: &str, force: bool) -> (String, Vec<String>) {
        let mut outcomes = Vec::new();
        let edited = import(original, text, force, &lookup, &mut outcomes).unwrap();
        let lines = outcomes.iter().map(|outcome| {
            let became = outcome.became.as_deref().unwrap_or("-");
            format!("{} {} {became}", outcome.outcome.as_str(), outcome.key)
        });
        (edited, lines.collect())
    }

    const ORIGINAL: &str = r#"{
  "version": "2.0",
  "database": {"uri": "bolt://x"},
  "session_tracking": {
    "enabled": true, "auto_summarize_on_close": true, "inactivity_timeout": 300, "_help": "…",
    "watch_directories": ["~/.claude/projects"],
    "chunking": {"strategy": "exchange"},
    "filtering": {"keep_user_messages": true, "omit_file_contents": true, "max_output_summary_chars": 99999},
    "summarization": {"model": "gpt-x", "max_summary_tokens": 900},
    "hooks": {"enabled": false, "socket_enabled": true, "socket_path": null}
  },
  "projects": {
    "host__1": {"project_root": "/srv/app", "session_tracking_enabled": false},
    "host__2": {"jsonl_path": "x"}
  },
  "global": {"track_session_logs": true, "session_log_sources": []}
}"#;

    #[test]
    fn each_key_of_the_original_becomes_something_or_is_told_why_not() {
        let (text, outcomes) = run(ORIGINAL, "", false);
        assert_eq!(
            outcomes,
            [
                "dropped version -",
                "dropped database -",
                "taken session_tracking.enabled session_tracking.enabled",
                "dropped session_tracking.auto_summarize_on_close -",
                "taken session_tracking.inactivity_timeout session_tracking.inactivity_timeout",
                "taken session_tracking.watch_directories session_tracking.watch_directories",
                "dropped session_tracking.chunking -",
                "taken session_tracking.filtering.keep_user_messages session_tracking.filtering.keep_user_messages",
                "dropped session_tracking.filtering.omit_file_contents -",
                "wrong session_tracking.filtering.max_output_summary_chars session_tracking.filtering.max_output_summary_chars",
                "taken session_tracking.summarization.model llm.model",
                "taken session_tracking.summarization.max_summary_tokens llm.max_output_tokens",
                "taken session_tracking.hooks.enabled hooks.enabled",
                "dropped session_tracking.hooks.socket_enabled -",
                "dropped session_tracking.hooks.socket_path -",
                "taken projects.host__1 session_tracking.projects./srv/app.enabled",
                "dropped projects.host__2 -",
                "taken global.track_session_logs session_tracking.enabled",
                "dropped global.session_log_sources -",
            ]
        );
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "session_tracking": {
                    "enabled": true, "inactivity_timeout": 300, "watch_directories": ["~/.claude/projects"],
                    "filtering": {"keep_user_messages": true}, "projects": {"/srv/app": {"enabled": false}},
                },
                "llm": {"model": "gpt-x", "max_output_tokens": 900},
                "hooks": {"enabled": false},
            })
        );
        assert_eq!(parse::parse(&text, &lookup).mistakes, []);
        assert_eq!(run(ORIGINAL, &text, false).0, text, "twice is once");
    }

    #[test]
    fn a_time_that_no_hook_gets_is_refused_with_the_reason() {
        let mut outcomes = Vec::new();
        let original =
            "{\"session_tracking\": {\"hooks\": {\"hook_timeout\": 30000}}, \"hooks\": {\"hook_timeout\": 3000}}";
        let text = import(original, "", false, &lookup, &mut outcomes).unwrap();
        assert_eq!((outcomes[0].outcome, outcomes[1].outcome), (Outcome::Wrong, Outcome::Taken));
        assert!(
            outcomes[0].message.contains("from 1 to 3000") && outcomes[0].message.contains("agents end a hook"),
            "{outcomes:?}"
        );
        assert!(text.contains("\"timeout_ms\": 3000"), "{text}");
    }

    #[test]
    fn what_is_set_stays_unless_forced() {
        let set = "{\n  \"session_tracking\": {\n    \"inactivity_timeout\": 60\n  }\n}\n";
        let original = "{\"session_tracking\": {\"inactivity_timeout\": 300, \"check_interval\": 5}}";
        let (text, outcomes) = run(original, set, false);
        assert!(text.contains("\"inactivity_timeout\": 60") && text.contains("\"check_interval\": 5"), "{text}");
        assert!(outcomes[0].starts_with("kept") && outcomes[1].starts_with("taken"), "{outcomes:?}");
        let (text, outcomes) = run(original, set, true);
        assert!(text.contains("\"inactivity_timeout\": 300") && outcomes[0].starts_with("taken"), "{text}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for (original, why) in [("{", "not JSON, line 1"), ("[]", "not an object")] {
            let error = import(original, "", false, &lookup, &mut Vec::new()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn thousands_of_projects_are_taken_at_once() {
        let members = (0..2_500).map(|n| {
            format!("\"host__{n}\": {{\"project_root\": \"/srv/p{n}\", \"session_tracking_enabled\": false}}")
        });
        let original = format!("{{\"projects\": {{{}}}}}", members.collect::<Vec<_>>().join(",\n"));
        // Parsing the whole file again for each of them would take minutes.
        let (text, outcomes) = run(&original, "{\"_mine\": 1}", false);
        let parsed = parse::parse(&text, &lookup);
        assert_eq!((parsed.projects.len(), outcomes.len(), &parsed.mistakes), (2_500, KEYS_MAX, &vec![]));
        assert!(text.starts_with("{\"_mine\": 1"), "{}", &text[..50]);
    }
}
