//! Registers Baton's MCP server: in the agent's file for servers, or through `claude` where running sessions rewrite that
//! file.
//!
//! # Hazards
//!
//! - `claude mcp get` starts the server it is asked about: it gets 30 s, and is run only if `.claude.json` does not
//!   name our server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, Serializer};
use serde_json::Value;

use super::agents::Host;
use super::document::{Document, Error, Step};
use super::entry_form::EntryForm;
use super::hook_command::quoted;
use super::locations::{self, Programs};
use baton_base::program;
use baton_home::environment::Environment;
use baton_protocol::Agent;

/// The name under which it is registered.
pub(crate) const NAME: &str = "baton";
/// Time limit of an agent's command: Claude Code starts the server it is asked about.
const WAIT: Duration = Duration::from_secs(30);
/// The variable that names Baton's own directory.
pub(super) const HOME: &str = "BATON_HOME";
/// The argument with which Baton serves MCP.
pub(super) const ARGUMENT: &str = "mcp";

/// The server as written in an agent's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    host: Host,
    form: EntryForm,
    pub(super) command: String,
    pub(super) env: BTreeMap<&'static str, String>,
}

impl Serialize for Server {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_map(None)?;
        if let Some(kind) = self.form.kind {
            entry.serialize_entry("type", kind)?;
        }
        if self.form.is_list {
            entry.serialize_entry("command", &[&self.command, ARGUMENT])?;
        } else {
            entry.serialize_entry("command", &self.command)?;
            entry.serialize_entry("args", &[ARGUMENT])?;
        }
        if !self.env.is_empty() {
            entry.serialize_entry(self.form.env(), &self.env)?;
        }
        if let Some((name, json)) = self.form.more {
            entry.serialize_entry(name, &serde_json::from_str::<Value>(json).map_err(S::Error::custom)?)?;
        }
        entry.end()
    }
}

/// The server registered under our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// Nothing.
    Nothing,
    /// Exactly this server.
    This,
    /// Baton, with another command or environment; holds its command.
    Otherwise(String),
    /// Baton, with another BATON_HOME; holds its command.
    OtherHome(String),
    /// Not Baton; holds its command.
    Foreign(String),
}

impl Server {
    /// The server as it would be registered now.
    pub fn new(host: Host, programs: &Programs, environment: &Environment) -> Self {
        // Codex does not pass these variables to its servers.
        let named = Agent::ALL.iter().filter(|agent| host == Host::Codex && environment.is_named(**agent));
        let named = named.filter_map(|agent| Some((agent.home().variable?, environment.directory(*agent))));
        let moved = environment.all_moved().filter(|_| host == Host::Codex);
        let home = locations::other_home(environment).map(|home| (HOME, home));
        let env = home.into_iter().chain(named).chain(moved).map(|(name, path)| (name, path.display().to_string()));
        let command = programs.baton.display().to_string();
        Self { host, form: host.setup().entry, command, env: env.collect() }
    }

    /// The server for a plugin that is not made for one machine: by its name on the path.
    #[cfg(test)]
    pub(crate) fn on_path(host: Host) -> Self {
        Self { host, form: host.setup().entry, command: NAME.to_owned(), env: BTreeMap::new() }
    }

    /// The agent in which it is registered.
    pub fn host(&self) -> Host {
        self.host
    }

    /// Looks the server up in a file of the agent.
    pub fn in_file(&self, file: &Value) -> Registered {
        let entry = file.get(self.form.key).and_then(|servers| servers.get(NAME));
        entry.map_or(Registered::Nothing, |entry| self.compare(entry))
    }

    /// True if a file of the agent disables the entry under our name.
    pub fn is_off(&self, file: &Value) -> bool {
        let entry = &file[self.form.key][NAME];
        entry["enabled"] == false || entry["disabled"] == true
    }

    /// Compares an entry under our name with this server.
    fn compare(&self, entry: &Value) -> Registered {
        let (command, argument) = self.form.command(entry);
        let is_ours = is_baton(&command) && argument == Some(ARGUMENT);
        let env = &entry[self.form.env()];
        let says = |name: &str| env.get(name).and_then(Value::as_str) == self.env.get(name).map(String::as_str);
        let matters = self.env.keys().copied().chain([HOME]);
        match is_ours {
            true if command == self.command && matters.into_iter().all(says) => Registered::This,
            true if !says(HOME) => Registered::OtherHome(command),
            true => Registered::Otherwise(command),
            false => Registered::Foreign(command),
        }
    }

    /// Looks the server up in a file of Claude Code among those of the project that contains `directory`, where `claude
    /// mcp add` registers it without a scope.
    pub fn in_project(&self, file: &Value, directory: &Path) -> Registered {
        let of_folder = |folder: &Path| Some(self.in_file(file.get("projects")?.get(folder.to_str()?)?));
        let mut found = directory.ancestors().filter_map(of_folder);
        found.find(|registered| *registered != Registered::Nothing).unwrap_or(Registered::Nothing)
    }

    /// Adds it to a file of the agent, or replaces an older entry of ours.
    pub(crate) fn put_in(&self, document: &mut Document) -> Result<(), Error> {
        let servers = Step::Key(self.form.key);
        if !document.has(&[servers]) {
            return document.insert(&[], self.form.key, &BTreeMap::from([(NAME, self)]));
        }
        document.must_be_object(&[servers])?;
        match self.in_file(&document.value()?) {
            Registered::Nothing => document.insert(&[servers], NAME, self),
            Registered::This | Registered::Foreign(_) => Ok(()),
            Registered::Otherwise(_) | Registered::OtherHome(_) => document.replace(&[servers, Step::Key(NAME)], self),
        }
    }

    /// Removes it from a file of the agent, and the list of servers if that becomes empty.
    pub(crate) fn take_out(&self, document: &mut Document) -> Result<(), Error> {
        let servers = Step::Key(self.form.key);
        match self.in_file(&document.value()?) {
            Registered::Nothing | Registered::Foreign(_) => return Ok(()),
            Registered::This | Registered::Otherwise(_) | Registered::OtherHome(_) => {
                document.remove(&[servers, Step::Key(NAME)])?;
            }
        }
        if document.value()?[self.form.key].as_object().is_some_and(serde_json::Map::is_empty) {
            document.remove(&[servers])?;
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
        words.extend(["--", &self.command, ARGUMENT]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Arguments of `claude` that remove it for a user.
    pub fn remove() -> Vec<String> {
        ["mcp", "remove", "--scope", "user", NAME].map(str::to_owned).into()
    }

    /// The command line that registers it for a user, for a person to run.
    pub fn add_line(&self) -> String {
        command_line(&self.add())
    }

    /// The command line that removes it for a user, for a person to run.
    pub(crate) fn remove_line() -> String {
        command_line(&Self::remove())
    }

    /// Arguments that remove a server registered for one project only, to be run in the project.
    pub fn remove_from_project() -> Vec<String> {
        ["mcp", "remove", "--scope", "local", NAME].map(str::to_owned).into()
    }

    /// Looks the server up through `claude`.
    pub(crate) fn query(&self, cli: &Path) -> Result<Registered, String> {
        let asked = ["mcp", "get", NAME].map(str::to_owned);
        let ran = program::run(cli, &asked, WAIT).map_err(|error| failed(&asked, &error.to_string()))?;
        if !ran.is_ok {
            return Ok(Registered::Nothing);
        }
        let fact = |name: &str| {
            let mut lines = ran.output.lines().map(str::trim);
            lines.find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        let command = fact("Command:").unwrap_or_default();
        let has_home = self.env.get(HOME).is_none_or(|home| ran.output.contains(home.as_str()));
        Ok(match () {
            () if command == self.command && has_home => Registered::This,
            // For output in an unexpected form.
            () if command.is_empty() && ran.output.contains(&self.command) && has_home => Registered::This,
            () if command.is_empty() || is_baton(&command) => Registered::Otherwise(command),
            () => Registered::Foreign(command),
        })
    }

    /// Registers it through `claude`, replacing an older entry of ours.
    pub(crate) fn register(&self, cli: &Path) -> Result<(), String> {
        match self.query(cli)? {
            Registered::This => return Ok(()),
            Registered::Nothing => {}
            Registered::Otherwise(_) | Registered::OtherHome(_) => ask(cli, &Self::remove())?,
            Registered::Foreign(command) => return Err(foreign(&command)),
        }
        ask(cli, &self.add())
    }

    /// Removes it through `claude`, if it is registered.
    pub(crate) fn unregister(&self, cli: &Path) -> Result<(), String> {
        match self.query(cli)? {
            Registered::Nothing | Registered::Foreign(_) => Ok(()),
            Registered::This | Registered::Otherwise(_) | Registered::OtherHome(_) => ask(cli, &Self::remove()),
        }
    }
}

fn ask(cli: &Path, arguments: &[String]) -> Result<(), String> {
    match program::run(cli, arguments, WAIT) {
        Ok(ran) if ran.is_ok => Ok(()),
        Ok(ran) => Err(failed(arguments, ran.reason())),
        Err(error) => Err(failed(arguments, &error.to_string())),
    }
}

fn failed(arguments: &[String], reason: &str) -> String {
    format!("`{}` failed: {reason}; run it yourself", command_line(arguments))
}

/// The message that a server under our name is not Baton.
pub fn foreign(command: &str) -> String {
    let which = if command.is_empty() { "has no command".to_owned() } else { format!("runs {command}") };
    format!(
        "an MCP server named `{NAME}` is registered that is not Baton (it {which}); it was not changed: rename it, and run the \
         command again"
    )
}

/// A command line of Claude Code for a person to run.
pub fn command_line(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| quoted(word));
    std::iter::once(Host::Claude.program().to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn is_baton(command: &str) -> bool {
    let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
    file.strip_suffix(".exe").unwrap_or(file) == "baton"
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::codex_config;

    fn server(home: Option<&str>) -> Server {
        let env = home.map(|home| (HOME, home.to_owned())).into_iter().collect();
        Server { host: Host::Claude, form: crate::entry_form::STDIO, command: "/b b/baton".to_owned(), env }
    }

    #[test]
    fn codex_passes_on_the_directory_variables_that_it_hides() {
        let programs = Programs { baton: PathBuf::from("/b/baton"), hook: None };
        let environment = |claude, codex| {
            Environment::isolated("/h".into(), "/c".into())
                .with_directory(Agent::ClaudeCode, "/c".into(), claude)
                .with_directory(Agent::Codex, "/x".into(), codex)
        };
        for (claude, codex, host, expected) in [
            (false, false, Host::Codex, "--env BATON_HOME=/h"),
            (false, true, Host::Codex, "--env BATON_HOME=/h --env CODEX_HOME=/x"),
            (true, true, Host::Codex, "--env BATON_HOME=/h --env CLAUDE_CONFIG_DIR=/c --env CODEX_HOME=/x"),
            (true, true, Host::Claude, "--env BATON_HOME=/h"),
        ] {
            let server = Server::new(host, &programs, &environment(claude, codex));
            let line = server.add_line();
            assert!(line.contains(&format!("baton {expected} -- ")), "{line}");
            let entry = |env: &BTreeMap<&str, String>| {
                let entry = serde_json::json!({"command": "/b/baton", "args": ["mcp"], "env": env});
                serde_json::json!({server.form.key: {"baton": entry}})
            };
            assert_eq!(server.in_file(&entry(&server.env)), Registered::This, "{expected}");
            let older = BTreeMap::from([(HOME, "/h".to_owned())]);
            let is_same = older == server.env;
            assert_eq!(server.in_file(&entry(&older)) == Registered::This, is_same, "{expected}");
        }
    }

    #[test]
    fn the_command_is_what_a_shell_takes() {
        assert_eq!(server(None).add_line(), "claude mcp add --scope user baton -- \"/b b/baton\" mcp");
        let line = server(Some("/h")).add_line();
        assert_eq!(line, "claude mcp add --scope user baton --env BATON_HOME=/h -- \"/b b/baton\" mcp");
        assert_eq!(Server::remove_line(), "claude mcp remove --scope user baton");
    }

    #[test]
    fn what_codex_has_registered_is_read_from_its_file() {
        let codex = |home| Server { host: Host::Codex, form: Host::Codex.setup().entry, ..server(home) };
        let entry = "model = \"m\"\n[mcp_servers.baton]\ncommand = \"/b b/baton\"\nargs = [\"mcp\"]\n";
        let env = "\n[mcp_servers.baton.env]\nBATON_HOME = \"/h\"\n[other]\ncommand = \"x\"\n";
        let other_home = || Registered::OtherHome("/b b/baton".to_owned());
        let inline =
            "mcp_servers = { baton = { command = '/b b/baton', args = ['mcp'], env = { BATON_HOME = '/h' } } }";
        let dotted = "mcp_servers.\"baton\".command = \"/b b/baton\"\nmcp_servers.baton.args = [ # ours\n  'mcp',\n]\n";
        for (text, home, expected) in [
            (entry.to_owned(), None, Registered::This),
            (format!("{entry}{env}"), Some("/h"), Registered::This),
            (format!("{entry}{env}"), None, other_home()),
            (entry.to_owned(), Some("/h"), other_home()),
            (entry.replace("/b b/baton", "/bin/cat"), None, Registered::Foreign("/bin/cat".to_owned())),
            (entry.replace('"', "'"), None, Registered::This),
            (entry.replace("mcp_servers.baton]", " mcp_servers . \"baton\" ] # ours"), None, Registered::This),
            (entry.replace("\nargs", " # ours\nargs"), None, Registered::This),
            (inline.to_owned(), Some("/h"), Registered::This),
            (dotted.to_owned(), None, Registered::This),
            ("text = \"\"\"\n[mcp_servers.baton]\ncommand = 'cat'\n\"\"\"".to_owned(), None, Registered::Nothing),
            ("[mcp_servers]\nbaton = 7".to_owned(), None, Registered::Foreign(String::new())),
            ("[mcp_servers.batons]\ncommand = \"baton\"\n".to_owned(), None, Registered::Nothing),
            ("command = \"baton\"\n[mcp_servers]\n".to_owned(), None, Registered::Nothing),
            (String::new(), None, Registered::Nothing),
        ] {
            assert_eq!(codex(home).in_file(&codex_config::value(&text).unwrap()), expected, "{text}");
        }
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
    fn other_registrations_are_distinguished() {
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
                Registered::OtherHome("/b b/baton".into()),
            ),
        ] {
            assert_eq!(server(None).in_file(&serde_json::from_str(file).unwrap()), expected, "{file}");
        }
    }
}
