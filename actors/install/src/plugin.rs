//! Baton as a Claude Code plugin, with its marketplace: a folder that is added by its path.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document;
use super::foreign_file::{self, Error, Target};
use super::hook_command::HookCommand;
use super::hooks::{AllHooks, CLAUDE_AND_CODEX};
use super::server::{NAME, Server};

/// The marketplace's name, as in `baton@baton-local`.
pub(crate) const MARKETPLACE: &str = "baton-local";
/// The file that identifies our own folder.
const MARKET_FILE: &str = ".claude-plugin/marketplace.json";

const DESCRIPTION: &str =
    "Session memory: every session becomes one episode, and the next one is told what concerns it";
/// Describes its hooks.
const TOLD: &str = "What Baton is told of a session";

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
    let hooks = serde_json::to_value(AllHooks { form: &CLAUDE_AND_CODEX, command }).unwrap_or_default();
    [
        (
            MARKET_FILE,
            json!({
                "name": MARKETPLACE,
                "owner": {"name": "Baton"},
                "plugins": [{"name": NAME, "source": "./baton", "description": DESCRIPTION}],
            }),
        ),
        (
            "baton/.claude-plugin/plugin.json",
            json!({
                "name": NAME,
                "version": env!("CARGO_PKG_VERSION"),
                "description": DESCRIPTION,
                "author": {"name": "Baton"},
            }),
        ),
        ("baton/hooks/hooks.json", json!({"description": TOLD, "hooks": hooks})),
        ("baton/.mcp.json", json!({"mcpServers": {NAME: server}})),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::agents::Host;
    use super::super::hooks::{CURSOR, GEMINI, HookForm};
    use super::*;

    const LICENSE: &str = "MIT OR Apache-2.0";

    /// The plugins below `src/plugins/`, and what announces them: for everybody who has the programs on the path.
    fn shipped() -> Vec<(&'static str, Value)> {
        let command = HookCommand::new(Some(Path::new("baton-hook")), Path::new("baton"), None);
        let hooks = |form: &'static HookForm| json!(AllHooks { form, command: &command });
        let servers = |host| json!({"mcpServers": {NAME: Server::on_path(host)}});
        let (version, author) = (env!("CARGO_PKG_VERSION"), json!({"name": "Baton"}));
        let manifest = json!({
            "name": NAME, "version": version, "description": DESCRIPTION, "author": author, "license": LICENSE,
            "keywords": ["memory", "sessions", "search", "handoff"],
        });
        let with = |mut value: Value, more: Value| {
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            value
        };
        let market = |source: Value| {
            let plugin = json!({"name": NAME, "source": source, "description": DESCRIPTION});
            json!({"name": NAME, "description": "Session memory for coding agents", "owner": author, "plugins": [plugin]})
        };
        vec![
            (".claude-plugin/marketplace.json", market(json!("./src/plugins/claude"))),
            (".agents/plugins/marketplace.json", market(json!({"source": "local", "path": "./src/plugins/codex"}))),
            ("src/plugins/claude/.claude-plugin/plugin.json", manifest.clone()),
            ("src/plugins/claude/hooks/hooks.json", json!({"description": TOLD, "hooks": hooks(&CLAUDE_AND_CODEX)})),
            ("src/plugins/claude/.mcp.json", servers(Host::Claude)),
            (
                "src/plugins/codex/.codex-plugin/plugin.json",
                with(manifest.clone(), json!({"mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"})),
            ),
            ("src/plugins/codex/hooks/hooks.json", json!({"hooks": hooks(&CLAUDE_AND_CODEX)})),
            ("src/plugins/codex/.mcp.json", json!({"mcpServers": {NAME: {"command": NAME, "args": ["mcp"]}}})),
            (
                "src/plugins/gemini/gemini-extension.json",
                with(json!({"name": NAME, "version": version, "description": DESCRIPTION}), servers(Host::Gemini)),
            ),
            ("src/plugins/gemini/hooks/hooks.json", json!({"hooks": hooks(&GEMINI)})),
            ("src/plugins/cursor/.cursor-plugin/plugin.json", manifest),
            ("src/plugins/cursor/hooks/hooks.json", json!({"version": 1, "hooks": hooks(&CURSOR)})),
            ("src/plugins/cursor/mcp.json", servers(Host::Cursor)),
        ]
    }

    /// `BATON_UPDATE_FIXTURES=1` writes them.
    #[test]
    fn the_plugins_of_the_tree_are_what_install_would_write() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (name, value) in shipped() {
            let path = root.join(name);
            let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
            if std::env::var_os("BATON_UPDATE_FIXTURES").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name}");
        }
    }

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
