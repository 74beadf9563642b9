//! The agents that Baton can be set up in: one row per agent.

use std::path::{Path, PathBuf};

use baton_protocol::Agent;

use super::entry_form::{self, EntryForm};
use super::hooks::{self, HookForm};
use baton_base::bounded_fs::in_time;
use baton_base::program;
use baton_home::environment::Environment;

/// An agent that Baton can be set up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Host {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// GitHub Copilot CLI
    Copilot,
    /// Cursor
    Cursor,
    /// Qwen Code
    Qwen,
    /// Factory Droid
    Droid,
    /// OpenCode
    #[value(name = "opencode")]
    OpenCode,
    /// Pi
    Pi,
    /// Aider, of which only the history in a project is read
    Aider,
    /// Crush, of which only the database in a project is read
    Crush,
}

/// How Baton is set up in an agent.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The agent's name for display.
    pub(crate) title: &'static str,
    /// Names of its program; the first is the one with the command `mcp`, if that changes its servers.
    pub(crate) programs: &'static [&'static str],
    /// The folder with its files.
    pub(crate) folder: Folder,
    /// The file for hooks, below the folder.
    pub(crate) settings: &'static str,
    /// The hooks in it. `None` if the agent does not reliably call hooks.
    pub hooks: Option<&'static HookForm>,
    /// Files beside it that replace it for hooks while they exist, in an uncertain form.
    pub(crate) elsewhere: &'static [&'static str],
    /// Baton's own file that calls the hooks, if `hooks` cannot be entries in a file.
    pub(crate) script: Option<Script>,
    /// The file with the user's instructions for all projects, if the agent reliably reads it.
    pub(crate) guidance: Option<Instructions>,
    /// The location of its MCP servers.
    pub(crate) servers: Servers,
    /// The server's entry in it.
    pub(crate) entry: EntryForm,
}

/// A file with instructions for the agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instructions {
    /// Its name, below the folder.
    pub(crate) name: &'static str,
    /// The file beside it that is read in its place while it exists.
    first: Option<&'static str>,
    /// The file below the user's home that is read in its place while this one does not exist.
    otherwise: Option<&'static str>,
}

impl Instructions {
    const fn named(name: &'static str) -> Self {
        Self { name, first: None, otherwise: None }
    }

    /// The remark that a block in this file is not read, or keeps another file from being read.
    pub(crate) fn remark(self, path: &Path, is_new: bool) -> Option<String> {
        let first = self.first.map(|name| path.with_file_name(name)).filter(|first| first.exists());
        let otherwise = || Some(std::env::home_dir()?.join(self.otherwise?)).filter(|other| is_new && other.exists());
        let shown = path.display();
        match first {
            Some(first) => Some(format!(
                "{} is read in place of {shown}, so the block counts only once it is in there too",
                first.display()
            )),
            None => otherwise().map(|other| {
                let other = other.display();
                format!("{other} is read only while there is no {shown}: copy from it what is to count here too")
            }),
        }
    }
}

/// The folder with an agent's files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Folder {
    /// The directory in which this agent's transcripts are read.
    Of(Agent),
    /// A folder below the directory that a variable names, or if it names none, below the user's home.
    Below { variable: Option<(&'static str, &'static str)>, home: &'static str },
}

/// A file owned by Baton alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// Its name below the agent's folder.
    pub(crate) name: &'static str,
    /// What reports the agent's events.
    pub(crate) events: &'static str,
}

/// The location of an agent's MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// It has none.
    Nowhere,
    /// In a file that running sessions rewrite: only the agent's own command may change it.
    Command,
    /// In a file below the folder; of several names the first that exists.
    Files(&'static [&'static str]),
}

const CLAUDE: Setup = Setup {
    title: "Claude Code",
    programs: &["claude"],
    folder: Folder::Of(Agent::ClaudeCode),
    settings: "settings.json",
    hooks: Some(&hooks::CLAUDE_AND_CODEX),
    elsewhere: &[],
    script: None,
    guidance: Some(Instructions::named("CLAUDE.md")),
    servers: Servers::Command,
    entry: entry_form::STDIO,
};

impl Host {
    /// All agents with something to set up, in the order of setup.
    pub(crate) fn all() -> &'static [Self] {
        let all = <Self as clap::ValueEnum>::value_variants();
        let end = all.iter().position(|host| host.is_in_projects()).unwrap_or(all.len());
        &all[..end]
    }

    /// True for an agent in which nothing is set up: only its sessions in projects are read.
    pub fn is_in_projects(self) -> bool {
        matches!(self, Self::Aider | Self::Crush)
    }

    /// The agent whose sessions are read.
    pub fn agent(self) -> Agent {
        match self {
            Self::Claude => Agent::ClaudeCode,
            Self::Codex => Agent::Codex,
            Self::Gemini => Agent::Gemini,
            Self::Copilot => Agent::Copilot,
            Self::Cursor => Agent::Cursor,
            Self::Qwen => Agent::Qwen,
            Self::Droid => Agent::Droid,
            Self::OpenCode => Agent::OpenCode,
            Self::Pi => Agent::Pi,
            Self::Aider => Agent::Aider,
            Self::Crush => Agent::Crush,
        }
    }

    /// The host of an agent, if there is anything to set up for it.
    pub fn for_agent(agent: Agent) -> Option<Self> {
        <Self as clap::ValueEnum>::value_variants().iter().copied().find(|host| host.agent() == agent)
    }

    /// How Baton is set up in it.
    pub fn setup(self) -> Setup {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => Setup {
                title: "Codex",
                programs: &["codex"],
                folder: Folder::Of(Agent::Codex),
                settings: hooks::CODEX_HOOKS,
                guidance: Some(Instructions { first: Some("AGENTS.override.md"), ..Instructions::named("AGENTS.md") }),
                servers: Servers::Files(&[entry_form::CODEX_FILE]),
                entry: EntryForm { key: "mcp_servers", ..entry_form::STDIO },
                ..CLAUDE
            },
            Self::Gemini => Setup {
                title: "Gemini CLI",
                programs: &["gemini"],
                folder: Folder::Below { variable: Some(("GEMINI_CLI_HOME", ".gemini")), home: ".gemini" },
                settings: "settings.json",
                hooks: Some(&hooks::GEMINI),
                elsewhere: &[],
                script: None,
                guidance: Some(Instructions::named("GEMINI.md")),
                servers: Servers::Files(&["settings.json"]),
                entry: entry_form::PLAIN,
            },
            Self::Copilot => Setup {
                title: "Copilot CLI",
                programs: &["copilot"],
                folder: Folder::Below { variable: Some(("COPILOT_HOME", "")), home: ".copilot" },
                settings: "hooks/baton.json",
                hooks: Some(&hooks::COPILOT),
                elsewhere: &[],
                script: None,
                guidance: Some(Instructions::named("copilot-instructions.md")),
                servers: Servers::Files(&["mcp-config.json"]),
                entry: EntryForm { kind: Some("local"), more: Some(("tools", "[\"*\"]")), ..entry_form::STDIO },
            },
            Self::Cursor => Setup {
                title: "Cursor",
                programs: &["cursor", "cursor-agent"],
                folder: Folder::Below { variable: None, home: ".cursor" },
                settings: "hooks.json",
                hooks: Some(&hooks::CURSOR),
                elsewhere: &[],
                script: None,
                guidance: None,
                servers: Servers::Files(&["mcp.json"]),
                entry: entry_form::PLAIN,
            },
            Self::Qwen => Setup {
                title: "Qwen Code",
                programs: &["qwen"],
                folder: Folder::Below { variable: Some(("QWEN_HOME", "")), home: ".qwen" },
                settings: "settings.json",
                hooks: Some(&hooks::QWEN),
                elsewhere: &[],
                script: None,
                guidance: Some(Instructions::named("QWEN.md")),
                servers: Servers::Files(&["settings.json"]),
                entry: entry_form::PLAIN,
            },
            Self::Droid => Setup {
                title: "Factory Droid",
                programs: &["droid"],
                folder: Folder::Below { variable: None, home: ".factory" },
                settings: "settings.json",
                hooks: Some(&hooks::DROID),
                // Cursor's versions differ: with the events in an object `hooks`, or without.
                elsewhere: &["hooks.json", "hooks/hooks.json"],
                script: None,
                guidance: Some(Instructions::named("AGENTS.md")),
                servers: Servers::Files(&["mcp.json"]),
                entry: entry_form::STDIO,
            },
            Self::OpenCode => Setup {
                title: "OpenCode",
                programs: &["opencode"],
                folder: Folder::Below { variable: Some(("XDG_CONFIG_HOME", "opencode")), home: ".config/opencode" },
                settings: "opencode.json",
                hooks: None,
                elsewhere: &[],
                script: Some(Script { name: "plugin/baton.js", events: include_str!("opencode.js") }),
                guidance: Some(Instructions {
                    otherwise: Some(".claude/CLAUDE.md"),
                    ..Instructions::named("AGENTS.md")
                }),
                servers: Servers::Files(&["opencode.json", "opencode.jsonc"]),
                entry: entry_form::OPENCODE,
            },
            Self::Pi => Setup {
                title: "Pi",
                programs: &["pi"],
                folder: Folder::Of(Agent::Pi),
                hooks: None,
                // Plain JavaScript is TypeScript too.
                script: Some(Script { name: "extensions/baton.ts", events: include_str!("pi.js") }),
                guidance: None,
                servers: Servers::Nowhere,
                ..CLAUDE
            },
            Self::Aider => Setup { title: "Aider", programs: &["aider"], hooks: None, guidance: None, ..CLAUDE },
            Self::Crush => Setup { title: "Crush", programs: &["crush"], hooks: None, guidance: None, ..CLAUDE },
        }
    }

    /// True if it can have MCP servers.
    pub fn has_servers(self) -> bool {
        self.setup().servers != Servers::Nowhere
    }

    /// The name of its program.
    pub fn program(self) -> &'static str {
        self.setup().programs[0]
    }

    /// Its display name.
    pub fn title(self) -> &'static str {
        self.setup().title
    }

    /// Its name on a command line.
    pub fn cli_name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The folder with its files.
    pub(crate) fn folder(self, environment: &Environment) -> PathBuf {
        let (variable, home) = match self.setup().folder {
            Folder::Of(agent) => return environment.directory(agent).to_owned(),
            Folder::Below { variable, home } => (variable, home),
        };
        let named = variable.and_then(|(variable, below)| {
            let directory = PathBuf::from(std::env::var_os(variable)?);
            directory.is_absolute().then(|| directory.join(below))
        });
        named.unwrap_or_else(|| std::env::home_dir().unwrap_or_default().join(home))
    }

    /// The agents on this machine: those with a program on the path or whose folder exists. If there is none, Claude
    /// Code, which may be installed later.
    pub fn detect(environment: &Environment) -> Vec<Self> {
        // A folder that does not answer counts as existing; reading it will report the problem.
        let has_folder = |folder: PathBuf| in_time(move || folder.is_dir()).unwrap_or(true);
        let has_program = |host: &Self| host.setup().programs.iter().any(|name| program::find(name).is_some());
        let is_there = |host: &&Self| has_folder(host.folder(environment)) || has_program(host);
        let found: Vec<Self> = Self::all().iter().filter(is_there).copied().collect();
        if found.is_empty() { vec![Self::Claude] } else { found }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use baton_events::session::SignalKind;

    use super::*;

    #[test]
    fn the_rows_are_complete_and_do_not_meet() {
        let environment = Environment::isolated("/h".into(), "/c".into());
        let (mut words, mut files) = (BTreeSet::new(), BTreeSet::new());
        for host in Host::all() {
            let (setup, word) = (host.setup(), host.cli_name());
            assert_eq!(Host::for_agent(host.agent()), Some(*host));
            assert!(words.insert(word.clone()) && setup.programs.contains(&word.as_str()), "{word}");
            let file = setup.script.map_or(setup.settings, |script| script.name);
            assert!(files.insert(host.folder(&environment).join(file)), "{word}");
            assert_eq!(setup.hooks.is_none(), setup.script.is_some(), "{word}");
            assert!(serde_json::from_str::<serde_json::Value>(setup.entry.more.map_or("1", |(_, json)| json)).is_ok());
            let Some(form) = setup.hooks else { continue };
            assert!(form.agent.is_none_or(|agent| agent == word), "{word}");
            assert_eq!(form.agent.is_none(), matches!(host, Host::Claude | Host::Codex), "{word}");
            for (event, _) in form.events {
                assert_ne!(SignalKind::from_hook_name(event), SignalKind::Other, "{word} {event}");
            }
            // A session that is offered something at its start claims it with a prompt.
            let kinds: Vec<_> = form.events.iter().map(|(event, _)| SignalKind::from_hook_name(event)).collect();
            assert!([SignalKind::SessionStart, SignalKind::UserPromptSubmit].iter().all(|kind| kinds.contains(kind)));
        }
    }
}
