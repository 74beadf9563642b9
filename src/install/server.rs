//! Baton's MCP server in Claude Code: registered through its own command for a user, in `.mcp.json` for a project.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::call::quoted;
use super::document::{Document, Error, Step};
use super::place::Programs;
use crate::program;

/// The name it is registered under.
pub(crate) const NAME: &str = "baton";
/// How long `claude` may take: it starts each server that it is asked about.
const WAIT: Duration = Duration::from_secs(30);
const SERVERS: Step = Step::Key("mcpServers");

/// The server as Claude Code's files name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Server {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    args: [&'static str; 1],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'static str, String>,
}

/// What is registered under our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Nothing.
    Nothing,
    /// Exactly this server.
    This,
    /// Baton, otherwise: this command.
    Otherwise(String),
    /// Something that is not Baton: this command.
    Foreign(String),
}

impl Server {
    pub(crate) fn new(programs: &Programs, home: Option<&Path>) -> Self {
        let env = home.map(|home| ("BATON_HOME", home.display().to_string()));
        let command = programs.baton.display().to_string();
        Self { kind: "stdio", command, args: ["mcp"], env: env.into_iter().collect() }
    }

    /// What is registered in a file of Claude Code.
    pub(crate) fn in_file(&self, file: &Value) -> Registered {
        let Some(entry) = file.get("mcpServers").and_then(|servers| servers.get(NAME)) else {
            return Registered::Nothing;
        };
        let command = entry.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_ours = is_baton(&command) && entry["args"].get(0).and_then(Value::as_str) == Some("mcp");
        let home = entry["env"].get("BATON_HOME").and_then(Value::as_str);
        match is_ours {
            true if command == self.command && home == self.env.get("BATON_HOME").map(String::as_str) => {
                Registered::This
            }
            true => Registered::Otherwise(command),
            false => Registered::Foreign(command),
        }
    }

    /// What is registered in a file of Claude Code for one project only, in which a directory lies: so `claude mcp add` does
    /// where no scope is said.
    pub(crate) fn in_project(&self, file: &Value, directory: &Path) -> Registered {
        let of_folder = |folder: &Path| Some(self.in_file(file.get("projects")?.get(folder.to_str()?)?));
        let mut found = directory.ancestors().filter_map(of_folder);
        found.find(|registered| *registered != Registered::Nothing).unwrap_or(Registered::Nothing)
    }

    /// Puts it into a project's `.mcp.json`, in the place of an older one of ours.
    pub(crate) fn put_in(&self, document: &mut Document) -> Result<(), Error> {
        let path = [SERVERS, Step::Key(NAME)];
        if !document.has(&[SERVERS]) {
            return document.insert(&[], "mcpServers", &BTreeMap::from([(NAME, self)]));
        }
        document.must_be_object(&[SERVERS])?;
        match self.in_file(&document.value()?) {
            Registered::Nothing => document.insert(&[SERVERS], NAME, self),
            Registered::This | Registered::Foreign(_) => Ok(()),
            Registered::Otherwise(_) => document.replace(&path, self),
        }
    }

    /// Takes it out of a project's `.mcp.json`.
    pub(crate) fn take_out(&self, document: &mut Document) -> Result<(), Error> {
        match self.in_file(&document.value()?) {
            Registered::Nothing | Registered::Foreign(_) => return Ok(()),
            Registered::This | Registered::Otherwise(_) => document.remove(&[SERVERS, Step::Key(NAME)])?,
        }
        if document.value()?["mcpServers"].as_object().is_some_and(serde_json::Map::is_empty) {
            document.remove(&[SERVERS])?;
        }
        Ok(())
    }

    /// Arguments of `claude` that register it for a user. The name comes before `--env`, which takes several values.
    pub(crate) fn add(&self) -> Vec<String> {
        let mut words = vec!["mcp", "add", "--scope", "user", NAME];
        let env: Vec<String> = self.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for assignment in &env {
            words.extend(["--env", assignment]);
        }
        words.extend(["--", &self.command, "mcp"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Arguments of `claude` that take it away.
    pub(crate) fn remove() -> Vec<String> {
        ["mcp", "remove", "--scope", "user", NAME].map(str::to_owned).into()
    }

    /// The same for what is registered for one project only, to be run in it.
    pub(crate) fn remove_from_project() -> Vec<String> {
        ["mcp", "remove", "--scope", "local", NAME].map(str::to_owned).into()
    }

    /// What is registered, as `claude` tells it.
    pub(crate) fn told(&self, claude: &Path) -> Result<Registered, String> {
        let asked = ["mcp", "get", NAME].map(str::to_owned);
        let ran = program::run(claude, &asked, WAIT).map_err(|error| failed(&asked, &error.to_string()))?;
        if !ran.is_ok {
            return Ok(Registered::Nothing);
        }
        let fact = |name: &str| {
            let mut lines = ran.said.lines().map(str::trim);
            lines.find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        let command = fact("Command:").unwrap_or_default();
        let has_home = self.env.get("BATON_HOME").is_none_or(|home| ran.said.contains(home.as_str()));
        Ok(match () {
            () if command == self.command && has_home => Registered::This,
            // Where it speaks otherwise than expected.
            () if command.is_empty() && ran.said.contains(&self.command) && has_home => Registered::This,
            () if command.is_empty() || is_baton(&command) => Registered::Otherwise(command),
            () => Registered::Foreign(command),
        })
    }

    /// Has `claude` register it, in the place of an older one of ours.
    pub(crate) fn register(&self, claude: &Path) -> Result<(), String> {
        match self.told(claude)? {
            Registered::This => return Ok(()),
            Registered::Nothing => {}
            Registered::Otherwise(_) => ask(claude, &Self::remove())?,
            Registered::Foreign(command) => return Err(foreign(&command)),
        }
        ask(claude, &self.add())
    }

    /// Has `claude` take it away, if it is there.
    pub(crate) fn unregister(&self, claude: &Path) -> Result<(), String> {
        match self.told(claude)? {
            Registered::Nothing | Registered::Foreign(_) => Ok(()),
            Registered::This | Registered::Otherwise(_) => ask(claude, &Self::remove()),
        }
    }
}

/// What a person is told whose server of this name is another.
pub(crate) fn foreign(command: &str) -> String {
    format!(
        "an MCP server named `{NAME}` is registered that is not Baton ({command}); it stays: rename it, and run the \
         command again"
    )
}

/// A command line for a person to run.
pub(crate) fn command_line(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| quoted(word));
    std::iter::once("claude".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn ask(claude: &Path, arguments: &[String]) -> Result<(), String> {
    match program::run(claude, arguments, WAIT) {
        Ok(ran) if ran.is_ok => Ok(()),
        Ok(ran) => Err(failed(arguments, ran.reason())),
        Err(error) => Err(failed(arguments, &error.to_string())),
    }
}

fn failed(arguments: &[String], reason: &str) -> String {
    format!("`{}` failed: {reason}; run it yourself", command_line(arguments))
}

fn is_baton(command: &str) -> bool {
    let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
    file.strip_suffix(".exe").unwrap_or(file) == "baton"
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn server(home: Option<&str>) -> Server {
        Server::new(&Programs { baton: PathBuf::from("/b b/baton"), hook: None }, home.map(Path::new))
    }

    #[test]
    fn the_command_is_what_a_shell_takes() {
        assert_eq!(command_line(&server(None).add()), "claude mcp add --scope user baton -- \"/b b/baton\" mcp");
        let line = command_line(&server(Some("/h")).add());
        assert_eq!(line, "claude mcp add --scope user baton --env BATON_HOME=/h -- \"/b b/baton\" mcp");
    }

    #[test]
    fn it_is_put_in_beside_others_and_taken_out_without_a_trace() {
        let server = server(None);
        for before in [
            "{}\n",
            "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
            "{\"mcpServers\": {\"other\": {}}, \"z\": 1}",
        ] {
            let mut document = Document::read(before).unwrap();
            server.put_in(&mut document).unwrap();
            let after = document.text();
            assert_eq!(server.in_file(&document.value().unwrap()), Registered::This, "{after}");
            server.put_in(&mut document).unwrap();
            assert_eq!(document.text(), after);
            server.take_out(&mut document).unwrap();
            assert_eq!(document.text(), before);
        }
    }

    #[test]
    fn what_is_registered_for_one_project_is_seen_in_it() {
        let file = serde_json::json!({"projects": {
            "/p": {"mcpServers": {"baton": {"command": "/b b/baton", "args": ["mcp"]}}}, "/q": {}, "/r": 7
        }});
        for (directory, expected) in [
            ("/p", Registered::This),
            ("/p/deep/down", Registered::This),
            ("/q", Registered::Nothing),
            ("/r", Registered::Nothing),
            ("/", Registered::Nothing),
        ] {
            assert_eq!(server(None).in_project(&file, Path::new(directory)), expected, "{directory}");
        }
        assert_eq!(server(None).in_project(&serde_json::json!([]), Path::new("/p")), Registered::Nothing);
    }

    #[test]
    fn what_is_registered_otherwise_is_told_apart() {
        for (file, expected) in [
            (
                r#"{"mcpServers":{"baton":{"command":"/o/baton","args":["mcp"]}}}"#,
                Registered::Otherwise("/o/baton".into()),
            ),
            (r#"{"mcpServers":{"baton":{"command":"/o/wand","args":["mcp"]}}}"#, Registered::Foreign("/o/wand".into())),
            (r#"{"mcpServers":{"baton":{"command":"baton","args":["x"]}}}"#, Registered::Foreign("baton".into())),
            (r#"{"mcpServers":{"baton":7}}"#, Registered::Foreign(String::new())),
            (r#"{"mcpServers":[]}"#, Registered::Nothing),
            (
                r#"{"mcpServers":{"baton":{"command":"/b b/baton","args":["mcp"],"env":{"BATON_HOME":"/x"}}}}"#,
                Registered::Otherwise("/b b/baton".into()),
            ),
        ] {
            assert_eq!(server(None).in_file(&serde_json::from_str(file).unwrap()), expected, "{file}");
        }
    }
}
