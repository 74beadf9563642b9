//! The agents whose transcripts are read, and where each keeps its files.

use crate::named;

named! {
    /// The agent that wrote a transcript.
    Agent {
        /// Claude Code: JSON Lines below `projects/`.
        ClaudeCode = "claude_code",
        /// Codex CLI: JSON Lines below `sessions/`, compressed once they are old.
        Codex = "codex",
        /// Gemini CLI: JSON Lines below `tmp/<project>/chats/`, documents before version 0.40.
        Gemini = "gemini",
        /// Qwen Code: JSON Lines below `projects/<project>/chats/`.
        Qwen = "qwen",
        /// GitHub Copilot CLI: JSON Lines below `session-state/<session>/`.
        Copilot = "copilot",
        /// Pi: JSON Lines below `sessions/<project>/`.
        Pi = "pi",
        /// Factory Droid: JSON Lines below `sessions/`.
        Droid = "droid",
        /// Cursor's agent, in the terminal and the editor: JSON Lines below `projects/<project>/agent-transcripts/`, and
        /// the editor's database.
        Cursor = "cursor",
        /// Kiro CLI: JSON Lines below `sessions/cli/`, or a database.
        Kiro = "kiro",
        /// Mistral Vibe: JSON Lines below `logs/session/`.
        Vibe = "vibe",
        /// Antigravity CLI: JSON Lines below `brain/<session>/`.
        Antigravity = "antigravity",
        /// Kimi Code: JSON Lines below `sessions/<directory>/<session>/agents/`.
        Kimi = "kimi",
        /// Amp: documents in `amp/threads/`.
        Amp = "amp",
        /// Cline: documents in an editor's storage, one folder per task, or in `.cline/`, one per session.
        Cline = "cline",
        /// Roo Code: as Cline.
        Roo = "roo",
        /// Kilo Code, before it was written anew: as Cline.
        Kilo = "kilo",
        /// OpenCode: a database in `opencode/`.
        OpenCode = "opencode",
        /// OpenHands CLI: a document for each event below `conversations/<conversation>/events/`.
        OpenHands = "openhands",
        /// Aider: Markdown with all sessions of a repository, in its root.
        Aider = "aider",
        /// Goose: a database in `goose/sessions/`.
        Goose = "goose",
        /// Hermes: the database `state.db`, and one for each profile.
        Hermes = "hermes",
        /// Crush: a database in the folder `.crush` of each project.
        Crush = "crush",
    }
}

/// Where an agent keeps its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentHome {
    /// The agent's name for display.
    pub title: &'static str,
    /// The environment variable that names the agent's directory, if it has one.
    pub variable: Option<&'static str>,
    /// Variables that move only a part of the agent's files. They are read in addition.
    pub moved: &'static [Moved],
    /// The directory below the user's home, if the variable is not set; empty for the user's home itself.
    pub directory: &'static str,
    /// Further folders with databases below the user's home, whatever the variable says.
    pub also: &'static [&'static str],
    /// The command line that goes on with a session, the program first; [`ID`] stands for the session's id. Empty if the
    /// agent has none.
    pub resume: &'static [&'static str],
}

/// Where Cursor's editor keeps its database.
const CURSOR_EDITOR: &[&str] = &[if cfg!(target_os = "macos") {
    "Library/Application Support/Cursor/User/globalStorage"
} else if cfg!(windows) {
    "AppData/Roaming/Cursor/User/globalStorage"
} else {
    ".config/Cursor/User/globalStorage"
}];
/// Where Kiro keeps its database, in versions that have one.
const KIRO_DATA: &[&str] =
    &[if cfg!(target_os = "macos") { "Library/Application Support/kiro-cli" } else { ".local/share/kiro-cli" }];

/// A variable that names a place for a part of an agent's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The variable.
    pub variable: &'static str,
    /// The part of the agent's directory whose place it names.
    pub part: &'static str,
    /// Where that part is below the named place; empty for the place itself.
    pub below: &'static str,
}

impl Moved {
    /// The place of a folder in the agent's directory, below the one that the variable names. `None` if the variable
    /// does not move it.
    pub fn place(&self, folder: &str) -> Option<String> {
        let rest = folder.strip_prefix(self.part)?;
        let is_part = rest.is_empty() || rest.starts_with('/');
        is_part.then(|| format!("{}{rest}", self.below).trim_start_matches('/').to_owned())
    }
}

/// Where editors keep their settings.
const EDITORS: Moved = Moved { variable: "XDG_CONFIG_HOME", part: ".config", below: "" };

/// Placeholder of a session's id in [`AgentHome::resume`].
const ID: &str = "{id}";
/// Longest id that is passed to an agent, in bytes.
const MAX_RESUMED_ID_BYTES: usize = 128;

impl Agent {
    /// Where the agent keeps its files.
    pub fn home(self) -> AgentHome {
        let (title, variable, directory, resume): (_, _, _, &[&str]) = match self {
            Self::ClaudeCode => ("Claude Code", Some("CLAUDE_CONFIG_DIR"), ".claude", &["claude", "--resume", ID]),
            Self::Codex => ("Codex", Some("CODEX_HOME"), ".codex", &["codex", "resume", ID]),
            Self::Gemini => ("Gemini CLI", Some("GEMINI_CLI_HOME"), "", &["gemini", "--resume", ID]),
            Self::Qwen => ("Qwen Code", Some("QWEN_HOME"), ".qwen", &["qwen", "--resume", ID]),
            Self::Cursor => ("Cursor", Some("CURSOR_CONFIG_DIR"), ".cursor", &["cursor-agent", "--resume", ID]),
            Self::Copilot => ("Copilot CLI", Some("COPILOT_HOME"), ".copilot", &["copilot", "--resume={id}"]),
            Self::Pi => ("Pi", Some("PI_CODING_AGENT_DIR"), ".pi/agent", &["pi", "--session", ID]),
            Self::Kiro => ("Kiro CLI", None, ".kiro", &["kiro-cli", "chat", "--resume-id", ID]),
            Self::Vibe => ("Mistral Vibe", Some("VIBE_HOME"), ".vibe", &["vibe", "--resume", ID]),
            Self::Antigravity => ("Antigravity", None, ".gemini/antigravity-cli", &["agy", "--conversation", ID]),
            Self::Kimi => ("Kimi Code", Some("KIMI_CODE_HOME"), ".kimi-code", &["kimi", "--session", ID]),
            Self::Amp => ("Amp", Some("XDG_DATA_HOME"), ".local/share", &["amp", "threads", "continue", ID]),
            Self::OpenCode => ("OpenCode", Some("XDG_DATA_HOME"), ".local/share", &["opencode", "--session", ID]),
            Self::Cline => ("Cline", None, "", &["cline", "--id", ID]),
            Self::Roo => ("Roo Code", None, "", &[]),
            Self::Kilo => ("Kilo Code", None, "", &[]),
            Self::Droid => ("Droid", None, ".factory", &["droid", "--resume", ID]),
            Self::OpenHands => ("OpenHands", None, ".openhands", &["openhands", "--resume", ID]),
            Self::Aider => ("Aider", None, "", &["aider", "--restore-chat-history"]),
            Self::Goose => {
                let resume = &["goose", "session", "--resume", "--session-id", ID];
                ("Goose", Some("XDG_DATA_HOME"), ".local/share", resume)
            }
            Self::Hermes => ("Hermes", Some("HERMES_HOME"), ".hermes", &["hermes", "--resume", ID]),
            Self::Crush => ("Crush", None, "", &["crush", "--session", ID]),
        };
        let also = match self {
            Self::Cursor => CURSOR_EDITOR,
            Self::Kiro => KIRO_DATA,
            _ => &[],
        };
        let moved: &[Moved] = match self {
            Self::Pi => &[Moved { variable: "PI_CODING_AGENT_SESSION_DIR", part: "sessions", below: "" }],
            Self::Cursor => &[Moved { variable: "XDG_CONFIG_HOME", part: "projects", below: "cursor/projects" }],
            Self::Goose => &[Moved { variable: "GOOSE_PATH_ROOT", part: "goose", below: "data" }],
            Self::Cline => &[
                Moved { variable: "CLINE_SESSION_DATA_DIR", part: ".cline/data/sessions", below: "" },
                Moved { variable: "CLINE_DATA_DIR", part: ".cline/data", below: "" },
                Moved { variable: "CLINE_DIR", part: ".cline", below: "" },
                EDITORS,
            ],
            Self::Roo | Self::Kilo => &[EDITORS],
            _ => &[],
        };
        AgentHome { title, variable, moved, directory, also, resume }
    }

    /// The command line that goes on with a session, as words, the program first. `None` if the agent has none, or if
    /// the id could be taken for anything but an id: it comes from a file name.
    pub fn resume_command(self, session: &str) -> Option<Vec<String>> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_id = session.len() <= MAX_RESUMED_ID_BYTES
            && session.starts_with(|first: char| first.is_ascii_alphanumeric())
            && session.bytes().all(is_plain);
        let words = self.home().resume;
        (is_id && !words.is_empty()).then(|| words.iter().map(|word| word.replace(ID, session)).collect())
    }

    /// The agent that a person names: `claude`, `Claude-Code`, `codex`, `Gemini CLI`.
    pub fn named(text: &str) -> Option<Self> {
        let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
        let wanted = plain(text);
        let is_short = |agent: &Self| agent.as_str().split('_').next() == Some(wanted.as_str());
        let fits = |agent: &Self| agent.as_str() == wanted || plain(agent.title()) == wanted || is_short(agent);
        Self::ALL.iter().copied().find(fits)
    }

    /// The agent's name for display.
    pub fn title(self) -> &'static str {
        self.home().title
    }

    /// The name for display of an agent, by its name on the wire. A name that is not known stays as it is.
    pub fn title_of(name: &str) -> &str {
        Self::parse(name).map_or(name, |agent| agent.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_word_and_its_title() {
        for agent in Agent::ALL {
            let title = agent.title().replace(' ', "-");
            let named = [agent.as_str(), agent.title(), &title, &format!(" {title} ")].map(Agent::named);
            assert_eq!(named, [Some(*agent); 4], "{title}");
        }
        assert_eq!(
            (Agent::named("claude"), Agent::named("gemini cli")),
            (Some(Agent::ClaudeCode), Some(Agent::Gemini))
        );
        assert_eq!((Agent::named("cli"), Agent::named("")), (None, None));
    }

    #[test]
    fn a_variable_moves_its_part_and_nothing_that_only_begins_like_it() {
        for (part, below, folder, expected) in [
            ("sessions", "", "sessions", Some("")),
            ("sessions", "", "sessions/old", Some("old")),
            ("goose", "data", "goose/sessions", Some("data/sessions")),
            (".config", "", ".config/Code/User", Some("Code/User")),
            ("sessions", "", "sessions_old", None),
            (".config", "", "Library/Code", None),
        ] {
            let place = Moved { variable: "X", part, below }.place(folder);
            assert_eq!(place.as_deref(), expected, "{part} {folder}");
        }
    }

    #[test]
    fn only_an_id_is_passed_to_an_agent() {
        let line = |agent: Agent, id: &str| agent.resume_command(id).map(|words| words.join(" "));
        assert_eq!(line(Agent::ClaudeCode, "0a1b-2c").as_deref(), Some("claude --resume 0a1b-2c"));
        assert_eq!(line(Agent::Codex, "0a1b").as_deref(), Some("codex resume 0a1b"));
        for refused in ["", "-p", "--dangerously-skip-permissions", "a b", "a;b", "$(a)", "a/b", "../a", "é", "a\n"] {
            assert_eq!(line(Agent::ClaudeCode, refused), None, "{refused}");
        }
        assert_eq!(line(Agent::ClaudeCode, &"a".repeat(MAX_RESUMED_ID_BYTES + 1)), None);
    }
}
