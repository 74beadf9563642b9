//! The form of an MCP server's entry in the agents' files.

use serde_json::Value;

/// How an agent's file names an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryForm {
    /// The member of the file that has all servers.
    pub(crate) key: &'static str,
    /// The entry's `type`, if it has one.
    pub(crate) kind: Option<&'static str>,
    /// True if `command` is a list with the arguments in it, and variables are in `environment` instead of `env`.
    pub(crate) is_list: bool,
    /// A further member with its JSON.
    pub(crate) more: Option<(&'static str, &'static str)>,
}

/// The form that most agents share.
pub(crate) const PLAIN: EntryForm = EntryForm { key: "mcpServers", kind: None, is_list: false, more: None };
/// The same with a type.
pub(crate) const STDIO: EntryForm = EntryForm { kind: Some("stdio"), ..PLAIN };
/// OpenCode's form.
pub(crate) const OPENCODE: EntryForm =
    EntryForm { key: "mcp", kind: Some("local"), is_list: true, more: Some(("enabled", "true")) };

/// Codex's file with its servers and trusted hooks.
pub(crate) const CODEX_FILE: &str = "config.toml";

impl EntryForm {
    /// The member with an entry's variables.
    pub(super) fn env(self) -> &'static str {
        if self.is_list { "environment" } else { "env" }
    }

    /// The command of an entry, and its first argument.
    pub(super) fn command(self, entry: &Value) -> (String, Option<&str>) {
        let (command, argument) = match self.is_list {
            true => (&entry["command"][0], &entry["command"][1]),
            false => (&entry["command"], &entry["args"][0]),
        };
        (command.as_str().unwrap_or_default().to_owned(), argument.as_str())
    }
}
