//! Long help by topic: Markdown files compiled into the program, shown with `baton help TOPIC`.
//!
//! A topic is one file in `src/help/`. Its first line is its heading, `# name: what it is about`. A line that holds
//! only a marker such as `{{keys}}` is replaced by a list generated from the program's own tables, so that it cannot go
//! stale.

use baton_config::configuration::{former_keys, keys};
use baton_conversation::transcript::layout;
use baton_protocol::{Agent, Moved, tool};

/// Width of generated text; the files keep to 80.
const WIDTH: usize = 78;

/// Other words for a topic.
const SYNONYMS: &[(&str, &str)] = &[
    ("backup", "files"),
    ("bugs", "recovery"),
    ("checksums", "security"),
    ("claude", "agents"),
    ("clients", "mcp"),
    ("codex", "agents"),
    ("configure", "configuration"),
    ("directories", "files"),
    ("embeddings", "vectors"),
    ("environment", "files"),
    ("exit", "json"),
    ("export", "log"),
    ("graphiti", "migration"),
    ("keys", "configuration"),
    ("llm", "models"),
    ("notes", "vault"),
    ("obsidian", "vault"),
    ("pages", "ui"),
    ("performance", "benchmarks"),
    ("plugin", "agents"),
    ("query", "search"),
    ("redaction", "privacy"),
    ("scripts", "json"),
    ("secrets", "privacy"),
    ("settings", "configuration"),
    ("sharing", "relay"),
    ("team", "relay"),
    ("terminal", "browse"),
    ("timeout", "sessions"),
    ("tools", "mcp"),
    ("tracking", "sessions"),
    ("trouble", "recovery"),
    ("troubleshooting", "recovery"),
    ("vulnerability", "security"),
    ("web", "ui"),
];

macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        /// Every topic, in the order in which they are listed.
        pub const TOPICS: &[Topic] =
            &[$(Topic { name: $name, source: include_str!(concat!("help/", $name, ".md")) }),*];
    };
}

topics! {
    "browse",
    "ui",
    "search",
    "recall",
    "sessions",
    "agents",
    "hooks",
    "handoff",
    "mcp",
    "configuration",
    "models",
    "vectors",
    "vault",
    "relay",
    "privacy",
    "security",
    "forget",
    "files",
    "log",
    "recovery",
    "json",
    "migration",
    "benchmarks",
}

/// A topic of the long help.
#[derive(Debug)]
pub struct Topic {
    /// The name, as typed after `baton help`.
    pub name: &'static str,
    source: &'static str,
}

impl Topic {
    /// Finds a topic by its name or by another word for it.
    pub fn find(name: &str) -> Option<&'static Topic> {
        let name = name.to_lowercase();
        let meant = SYNONYMS.iter().find(|(word, _)| *word == name).map_or(name.as_str(), |(_, topic)| topic);
        Self::named(meant)
    }

    /// Finds a topic by its exact name.
    pub fn named(name: &str) -> Option<&'static Topic> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// What the topic is about, in one line.
    pub fn about(&self) -> &'static str {
        let heading = self.source.lines().next().unwrap_or_default();
        heading.split_once(": ").map_or(heading, |(_, about)| about)
    }

    /// The whole text, as Markdown.
    pub fn text(&self) -> String {
        let line = |line: &str| generated(line).unwrap_or_else(|| format!("{line}\n"));
        self.source.lines().map(line).collect()
    }
}

/// All names and other words of topics.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name).chain(SYNONYMS.iter().map(|(word, _)| *word))
}

/// The text that replaces a marker line.
fn generated(line: &str) -> Option<String> {
    match line {
        "{{keys}}" => Some(key_list()),
        "{{former keys}}" => Some(former_key_list()),
        "{{agents}}" => Some(agent_list()),
        "{{tools}}" => Some(tool_list()),
        _ => None,
    }
}

fn key_list() -> String {
    let entry = |key: baton_config::configuration::KeyHelp| {
        let default = match key.default {
            "null" => String::new(),
            default => format!(" Default: `{default}`."),
        };
        format!("- `{}`\n{}", key.name, wrapped(&format!("{}{default} Takes {}.", key.meaning, key.allowed), "  "))
    };
    keys().map(entry).collect()
}

fn former_key_list() -> String {
    former_keys().map(|(name, successor)| wrapped_item(&format!("`{name}`: {successor}"))).collect()
}

fn agent_list() -> String {
    let entry = |agent: &Agent| {
        let home = agent.home();
        let below = if home.directory.is_empty() { "~".to_owned() } else { format!("~/{}", home.directory) };
        let folders = layout(*agent).folders;
        let path = |folder: &&str| format!("`{}`", format!("{below}/{folder}").trim_end_matches('/'));
        let also = home.also.iter().map(|folder| format!("`~/{folder}`"));
        let paths: Vec<String> = folders.iter().map(path).chain(also).collect();
        let in_projects = layout(*agent).in_project.map(|file| format!("`{file}` in projects"));
        let folders = match paths.as_slice() {
            [first, _, _, ..] => format!("{first} and in {} other editors", paths.len() - 1),
            paths => paths.iter().cloned().chain(in_projects).collect::<Vec<_>>().join(" and "),
        };
        let variable = home.variable.map(|name| format!("; `{name}` names another `{below}`")).unwrap_or_default();
        let part = |part: &Moved| format!("; `{}` names another `{below}/{}`", part.variable, part.part);
        let moved: String = home.moved.iter().map(part).collect();
        let resume =
            agent.resume_command("ID").map(|line| format!("; `{}` goes on", line.join(" "))).unwrap_or_default();
        wrapped_item(&format!("{}: {folders}{variable}{moved}{resume}", agent.title()))
    };
    Agent::ALL.iter().map(entry).collect()
}

fn tool_list() -> String {
    let entry = |tool: &tool::Tool| {
        let arguments: Vec<&str> = tool.arguments.iter().map(|argument| argument.name).collect();
        let listed = if tool.listed { "" } else { " (not listed)" };
        let aliases = match tool.aliases {
            [] => String::new(),
            aliases => format!(" Also accepted as `{}`.", aliases.join("`, `")),
        };
        let head = wrapped_item(&format!("`{}`({}){listed}", tool.name, arguments.join(", ")));
        head + &wrapped(&format!("{}{aliases}", tool.description), "  ")
    };
    tool::all().map(entry).collect()
}

/// Wraps a list item, with its further lines indented.
fn wrapped_item(text: &str) -> String {
    let lines = wrapped(text, "  ");
    format!("-{}", lines.strip_prefix(' ').unwrap_or(&lines))
}

/// Wraps a paragraph to [`WIDTH`] columns; a longer word gets a line of its own.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&format!("{indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push_str(&format!("{indent}{line}\n"));
    }
    lines
}

#[cfg(test)]
mod tests;
