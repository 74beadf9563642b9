//! A service definition: its file, its text, and the service manager's commands for it.

use std::path::{Path, PathBuf};

use baton_home::daemon_command::ALLOCATOR;

use super::Error;
use crate::environment::Environment;
use baton_install::locations;
use baton_protocol::{Agent, AgentHome};

/// Marks a definition as ours.
pub(super) const MARK: &str = "baton service install";
const UNIT: &str = "baton.service";
const LABEL: &str = "baton.daemon";
/// Seconds until a restart after a failure: meanwhile a client may have started a daemon, which then serves.
const PAUSE_S: u32 = 30;

/// A service definition, with the service manager and its commands.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// The service manager's program.
    pub(super) manager: &'static str,
    /// Commands that start it now and at each login.
    pub(super) start: Vec<Vec<String>>,
    /// Commands that stop it, now and for good.
    pub(super) stop: Vec<Vec<String>>,
    /// Commands to run after its file was removed.
    pub(super) forget: Vec<Vec<String>>,
    /// A command that succeeds if it runs.
    pub(super) is_running: Vec<String>,
    /// A command that succeeds if it starts at login. `None` for launchd, which reports only loaded services.
    pub(super) is_enabled: Option<Vec<String>>,
}

impl Definition {
    /// The definition for a system, by its name, and a program, by its path.
    pub(super) fn of(system: &str, environment: &Environment, program: &Path) -> Result<Self, Error> {
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or(Error::NoHome)?;
        let program = program.display().to_string();
        let mut variables = Vec::new();
        if let Some(other) = locations::other_home(environment) {
            variables.push(("BATON_HOME", other.display().to_string()));
        }
        for &agent in Agent::ALL {
            let (AgentHome { variable, directory: usual, .. }, directory) =
                (agent.home(), environment.directory(agent));
            if let Some(variable) = variable.filter(|_| directory != home.join(usual)) {
                variables.push((variable, directory.display().to_string()));
            }
        }
        variables.extend(environment.all_moved().map(|(variable, place)| (variable, place.display().to_string())));
        match system {
            "linux" => Ok(Self::systemd(&home, &program, variables)),
            "macos" => Ok(Self::launchd(&home, &program, &variables)),
            _ => Err(Error::Unknown),
        }
    }

    fn systemd(home: &Path, program: &str, mut variables: Vec<(&str, String)>) -> Self {
        let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let folder = folder.unwrap_or_else(|| home.join(".config"));
        variables.extend(ALLOCATOR.map(|(name, value)| (name, value.to_owned())));
        let call = |words: &[&str]| [&["--user"], words].concat().into_iter().map(str::to_owned).collect();
        Self {
            file: folder.join("systemd/user").join(UNIT),
            text: unit(program, &variables),
            manager: "systemctl",
            start: vec![call(&["daemon-reload"]), call(&["enable", "--now", UNIT])],
            stop: vec![call(&["disable", "--now", UNIT])],
            forget: vec![call(&["daemon-reload"])],
            is_running: call(&["is-active", "--quiet", UNIT]),
            is_enabled: Some(call(&["is-enabled", "--quiet", UNIT])),
        }
    }

    fn launchd(home: &Path, program: &str, variables: &[(&str, String)]) -> Self {
        let file = home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
        let call = |name: &str| vec![name.to_owned(), "-w".to_owned(), file.display().to_string()];
        Self {
            text: agent(program, variables),
            manager: "launchctl",
            start: vec![call("load")],
            stop: vec![call("unload")],
            forget: Vec::new(),
            is_running: vec!["list".to_owned(), LABEL.to_owned()],
            is_enabled: None,
            file,
        }
    }
}

fn unit(program: &str, variables: &[(&str, String)]) -> String {
    let variables: String = variables
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
        in_unit(program, true)
    )
}

fn agent(program: &str, variables: &[(&str, String)]) -> String {
    let variables: String = variables
        .iter()
        .map(|(name, value)| format!("    <key>{name}</key>\n    <string>{}</string>\n", in_xml(value)))
        .collect();
    let variables = if variables.is_empty() {
        String::new()
    } else {
        format!("  <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n")
    };
    let program = in_xml(program);
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
        let environment = Environment::isolated(PathBuf::from("/h 100%/b"), PathBuf::from("/c<&>"));
        Definition::of(system, &environment, Path::new("/opt/$x/ba\"ton")).unwrap()
    }

    #[test]
    fn a_unit_says_what_is_run_with_which_variables() {
        let text = definition("linux").text;
        assert!(text.contains("\nExecStart=\"/opt/$$x/ba\\\"ton\" daemon --foreground\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"BATON_HOME=/h 100%%/b\"\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"CLAUDE_CONFIG_DIR=/c<&>\"\n") && text.contains(MARK), "{text}");
        assert!(text.contains("\nEnvironment=\"MALLOC_ARENA_MAX=2\"\n"), "{text}");
        assert!(text.ends_with("[Install]\nWantedBy=default.target\n"));
    }

    #[test]
    fn an_agent_is_a_property_list() {
        let text = definition("macos").text;
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
