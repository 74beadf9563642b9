//! A service definition: its file, its text, and the service manager's commands for it.

use std::path::{Path, PathBuf};

use baton_home::daemon_command::ALLOCATOR;

use super::Error;
use crate::environment::Environment;
use crate::install::locations;

/// Marks a definition as ours.
pub(super) const MARK: &str = "baton service install";
const UNIT: &str = "baton.service";
const LABEL: &str = "baton.daemon";
/// Seconds until a restart after a failure: meanwhile a client may have started a daemon, which then serves.
const PAUSE_S: u32 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Systemd,
    Launchd,
}

/// A service definition.
#[derive(Debug)]
pub(super) struct Definition {
    kind: Kind,
    file: PathBuf,
    program: String,
    variables: Vec<(&'static str, String)>,
}

impl Definition {
    /// The definition for a system, by its name, and a program, by its path.
    pub(super) fn of(system: &str, environment: &Environment, program: &Path) -> Result<Self, Error> {
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or(Error::NoHome)?;
        let (kind, file) = match system {
            "linux" => {
                let folder =
                    std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
                let folder = folder.unwrap_or_else(|| home.join(".config"));
                (Kind::Systemd, folder.join("systemd/user").join(UNIT))
            }
            "macos" => (Kind::Launchd, home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"))),
            _ => return Err(Error::Unknown),
        };
        let mut variables = Vec::new();
        if let Some(other) = locations::other_home(environment) {
            variables.push(("BATON_HOME", other.display().to_string()));
        }
        if environment.claude_config_dir != home.join(".claude") {
            variables.push(("CLAUDE_CONFIG_DIR", environment.claude_config_dir.display().to_string()));
        }
        if environment.codex_home != home.join(".codex") {
            variables.push(("CODEX_HOME", environment.codex_home.display().to_string()));
        }
        if kind == Kind::Systemd {
            variables.extend(ALLOCATOR.map(|(name, value)| (name, value.to_owned())));
        }
        Ok(Self { kind, file, program: program.display().to_string(), variables })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The service manager's program.
    pub(super) fn manager(&self) -> &'static str {
        match self.kind {
            Kind::Systemd => "systemctl",
            Kind::Launchd => "launchctl",
        }
    }

    pub(super) fn text(&self) -> String {
        match self.kind {
            Kind::Systemd => self.unit(),
            Kind::Launchd => self.agent(),
        }
    }

    /// Commands that start it now and at each login.
    pub(super) fn start(&self) -> Vec<Vec<String>> {
        match self.kind {
            Kind::Systemd => vec![words(&["--user", "daemon-reload"]), words(&["--user", "enable", "--now", UNIT])],
            Kind::Launchd => vec![words(&["load", "-w", &self.file.display().to_string()])],
        }
    }

    pub(super) fn stop(&self) -> Vec<Vec<String>> {
        match self.kind {
            Kind::Systemd => vec![words(&["--user", "disable", "--now", UNIT])],
            Kind::Launchd => vec![words(&["unload", "-w", &self.file.display().to_string()])],
        }
    }

    /// Commands to run after its file was removed.
    pub(super) fn forget(&self) -> Vec<Vec<String>> {
        match self.kind {
            Kind::Systemd => vec![words(&["--user", "daemon-reload"])],
            Kind::Launchd => Vec::new(),
        }
    }

    pub(super) fn is_running(&self) -> Option<Vec<String>> {
        Some(match self.kind {
            Kind::Systemd => words(&["--user", "is-active", "--quiet", UNIT]),
            Kind::Launchd => words(&["list", LABEL]),
        })
    }

    /// `None` for launchd, which reports only loaded services.
    pub(super) fn is_enabled(&self) -> Option<Vec<String>> {
        (self.kind == Kind::Systemd).then(|| words(&["--user", "is-enabled", "--quiet", UNIT]))
    }

    fn unit(&self) -> String {
        let variables: String = self
            .variables
            .iter()
            .map(|(name, value)| format!("Environment={}\n", in_unit(&format!("{name}={value}"), false)))
            .collect();
        format!(
            "# Written by `{MARK}`, taken away by `baton service uninstall`.\n\
             [Unit]\n\
             Description=Baton: session memory for coding agents\n\
             \n\
             [Service]\n\
             ExecStart={} daemon --foreground\n\
             {variables}\
             Restart=on-failure\n\
             RestartSec={PAUSE_S}\n\
             \n\
             [Install]\n\
             WantedBy=default.target\n",
            in_unit(&self.program, true)
        )
    }

    fn agent(&self) -> String {
        let variables: String = self
            .variables
            .iter()
            .map(|(name, value)| format!("    <key>{name}</key>\n    <string>{}</string>\n", in_xml(value)))
            .collect();
        let variables = match variables.is_empty() {
            true => String::new(),
            false => format!("  <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n"),
        };
        let program = in_xml(&self.program);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <!-- Written by `{MARK}`, taken away by `baton service uninstall`. -->\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n  \
             <key>ProgramArguments</key>\n  <array>\n    <string>{program}</string>\n    <string>daemon</string>\n    \
             <string>--foreground</string>\n  </array>\n{variables}  <key>RunAtLoad</key>\n  <true/>\n  \
             <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  \
             <key>ThrottleInterval</key>\n  <integer>{PAUSE_S}</integer>\n</dict>\n</plist>\n"
        )
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Quotes a word for a unit file, where `%` and, in commands, `$` have a meaning.
fn in_unit(word: &str, is_command: bool) -> String {
    let mut text = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    if is_command {
        text = text.replace('$', "$$");
    }
    format!("\"{text}\"")
}

fn in_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(system: &str) -> Definition {
        let environment = Environment::apart(PathBuf::from("/h 100%/b"), PathBuf::from("/c<&>"));
        Definition::of(system, &environment, Path::new("/opt/$x/ba\"ton")).unwrap()
    }

    #[test]
    fn a_unit_says_what_is_run_with_which_variables() {
        let text = definition("linux").text();
        assert!(text.contains("\nExecStart=\"/opt/$$x/ba\\\"ton\" daemon --foreground\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"BATON_HOME=/h 100%%/b\"\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"CLAUDE_CONFIG_DIR=/c<&>\"\n") && text.contains(MARK), "{text}");
        assert!(text.contains("\nEnvironment=\"MALLOC_ARENA_MAX=2\"\n"), "{text}");
        assert!(text.ends_with("[Install]\nWantedBy=default.target\n"));
    }

    #[test]
    fn an_agent_is_a_property_list() {
        let text = definition("macos").text();
        for part in [
            "<string>/opt/$x/ba\"ton</string>",
            "<string>/c&lt;&amp;&gt;</string>",
            "<string>--foreground</string>",
            MARK,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("<dict>").count(), text.matches("</dict>").count());
        assert!(matches!(
            Definition::of("windows", &Environment::read().unwrap(), Path::new("/b")),
            Err(Error::Unknown)
        ));
    }
}
