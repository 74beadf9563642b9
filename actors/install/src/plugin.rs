//! Baton as a Claude Code plugin, with its marketplace: a folder that is added by its path.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document;
use super::foreign_file::{self, Error, Target};
use super::hook_command::HookCommand;
use super::hooks::{AllHooks, CLAUDE};
use super::server::{NAME, Server};

/// The marketplace's name, as in `baton@baton-local`.
pub(crate) const MARKETPLACE: &str = "baton-local";
/// The file by which we recognise our own folder.
const MARKET_FILE: &str = ".claude-plugin/marketplace.json";

/// Plugins of Baton that the settings enable.
pub fn enabled(settings: &Value) -> Vec<String> {
    let plugins = settings.get("enabledPlugins").and_then(Value::as_object);
    let is_on = |value: &Value| !matches!(value, Value::Bool(false) | Value::Null);
    let own = |name: &str| name.split('@').next() == Some(NAME);
    plugins
        .into_iter()
        .flatten()
        .filter(|(name, value)| own(name) && is_on(value))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Remarks on plugins that these settings enable: they have their own hooks and server, and only Claude Code can remove
/// them.
pub(crate) fn remarks(settings: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let remark = |plugin: &String, path: &Path| {
        format!(
            "the plugin {plugin} is enabled in {} and has its own hooks and MCP server; to remove it run: \
             claude plugin uninstall {plugin}",
            path.display()
        )
    };
    let of = |path: PathBuf| {
        let plugins = document::value_of(&path).map(|value| enabled(&value)).unwrap_or_default();
        plugins.iter().map(|plugin| remark(plugin, &path)).collect::<Vec<_>>()
    };
    settings.flat_map(of).collect()
}

/// Writes the folder, except files that are up to date. Refuses a folder that contains something else.
pub(crate) fn write(folder: &Path, command: &HookCommand, server: &Server) -> Result<Vec<PathBuf>, Error> {
    let unfit = |why: &str| Error::Unfit { path: folder.to_owned(), why: why.to_owned() };
    let io = |source| Error::Io { what: "read", path: folder.to_owned(), source };
    let is_used = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(io(error)),
    };
    if is_used && !is_ours(folder) {
        return Err(unfit("holds something else: name a new or an empty folder"));
    }
    let mut written = Vec::new();
    for (name, value) in files(command, server) {
        let path = folder.join(name);
        let target = Target::read(&path)?;
        let text = serde_json::to_string_pretty(&value).map_err(|error| unfit(&error.to_string()))? + "\n";
        if target.text.as_deref() != Some(&text) {
            target.replace(&text)?;
            written.push(path);
        }
    }
    Ok(written)
}

fn is_ours(folder: &Path) -> bool {
    foreign_file::json(&folder.join(MARKET_FILE)).is_some_and(|market| market["name"] == MARKETPLACE)
}

fn files(command: &HookCommand, server: &Server) -> [(&'static str, Value); 4] {
    let description = "Session memory: every session becomes one episode, and the next one is told what concerns it";
    let hooks = serde_json::to_value(AllHooks { form: &CLAUDE, command }).unwrap_or_default();
    [
        (
            MARKET_FILE,
            json!({
                "name": MARKETPLACE,
                "owner": {"name": "Baton"},
                "plugins": [{"name": NAME, "source": "./baton", "description": description}],
            }),
        ),
        (
            "baton/.claude-plugin/plugin.json",
            json!({
                "name": NAME,
                "version": env!("CARGO_PKG_VERSION"),
                "description": description,
                "author": {"name": "Baton"},
            }),
        ),
        ("baton/hooks/hooks.json", json!({"description": "What Baton is told of a session", "hooks": hooks})),
        ("baton/.mcp.json", json!({"mcpServers": {NAME: server}})),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plugin_of_baton_that_is_on_counts() {
        for (settings, expected) in [
            (json!({}), &[][..]),
            (json!({"enabledPlugins": []}), &[]),
            (json!({"enabledPlugins": {"baton@x": true, "other@baton": true}}), &["baton@x"]),
            (json!({"enabledPlugins": {"baton@x": false, "batons@x": true}}), &[]),
            (json!({"enabledPlugins": {"baton@a": ["1.0"], "baton": true}}), &["baton", "baton@a"]),
        ] {
            assert_eq!(enabled(&settings), expected, "{settings}");
        }
    }
}
