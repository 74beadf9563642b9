//! The part of the configuration that clients need: whether hooks are enabled, where the daemon listens, and how long a
//! hook may take. Every client reads it itself, because a daemon need not run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_protocol::HOOK_MS;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::configured_path::{expand, is_text};
use crate::file;

/// The configuration, and the last good one, which is used while the first cannot be read.
const FILES: [&str; 2] = ["config.json", "config.last-good.json"];
/// Largest configuration file that is read, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;

/// The keys `hooks.*`, and whether directories are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// True unless hooks are disabled.
    pub enabled: bool,
    /// The socket, if it is not in the home.
    pub socket_path: Option<PathBuf>,
    /// Time limit of a hook, for all events.
    pub timeout: Option<Duration>,
    /// True if `session_tracking.watch_directories` is set, which overrides the variables.
    pub names_directories: bool,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { enabled: true, socket_path: None, timeout: None, names_directories: false }
    }
}

#[derive(Default, Deserialize)]
struct Document {
    #[serde(default)]
    hooks: Option<Box<RawValue>>,
    #[serde(default)]
    session_tracking: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tracking {
    watch_directories: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Keys {
    enabled: Option<Box<RawValue>>,
    socket_path: Option<Box<RawValue>>,
    timeout_ms: Option<Box<RawValue>>,
}

impl Hooks {
    /// Reads a home's configuration. Missing and invalid values get their defaults.
    pub fn read(home: &Path) -> Self {
        FILES.iter().find_map(|name| document(&home.join(name))).unwrap_or_default()
    }

    fn parse(hooks: &RawValue) -> Self {
        let keys: Keys = serde_json::from_str(hooks.get()).unwrap_or_default();
        let text: Option<String> = value(keys.socket_path);
        Self {
            enabled: value(keys.enabled).unwrap_or(true),
            socket_path: text.as_deref().and_then(socket_path),
            timeout: value(keys.timeout_ms).filter(|ms| (1..=HOOK_MS).contains(ms)).map(Duration::from_millis),
            names_directories: false,
        }
    }
}

/// The socket that `hooks.socket_path` names; `None` if the key does not accept this text.
fn socket_path(text: &str) -> Option<PathBuf> {
    let user = || std::env::home_dir().and_then(|path| path.to_str().map(str::to_owned));
    is_text(text).then(|| expand(text, user).ok())?.map(PathBuf::from)
}

/// `None` if the file cannot be read or parsed.
fn document(path: &Path) -> Option<Hooks> {
    let text = file::read(path, BYTES_MAX).ok()?;
    let document: Document = serde_json::from_slice(&text).ok()?;
    let tracking: Option<Tracking> = value(document.session_tracking);
    let directories: Option<Vec<String>> = tracking.and_then(|tracking| value(tracking.watch_directories));
    let hooks = document.hooks.as_deref().map(Hooks::parse).unwrap_or_default();
    Some(Hooks { names_directories: directories.is_some(), ..hooks })
}

fn value<T: for<'de> Deserialize<'de>>(raw: Option<Box<RawValue>>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn check(config: Option<&str>, last_good: Option<&str>, expected: (bool, Option<&str>, Option<u64>)) {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in FILES.into_iter().zip([config, last_good]) {
            if let Some(text) = text {
                std::fs::write(temp.path().join(name), text).unwrap();
            }
        }
        let hooks = Hooks::read(temp.path());
        let ms = hooks.timeout.map(|timeout| timeout.as_millis() as u64);
        assert_eq!((hooks.enabled, hooks.socket_path.as_deref().and_then(Path::to_str), ms), expected, "{config:?}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_configured_counts_and_a_mistake_is_as_nothing() {
        let usual = (true, None, None);
        check(None, None, usual);
        check(Some("{}"), None, usual);
        check(Some(r#"{"hooks": {"enabled": false}}"#), None, (false, None, None));
        check(
            Some(
                r#"{"_note": [1], "hooks": {"_a": {}, "socket_path": "/run/b.sock", "timeout_ms": 40}, "x": {"y": 1}}"#,
            ),
            None,
            (true, Some("/run/b.sock"), Some(40)),
        );
        check(
            Some(r#"{"hooks": {"enabled": "no", "socket_path": "b.sock", "timeout_ms": 40}}"#),
            None,
            (true, None, Some(40)),
        );
        let home = std::env::home_dir().unwrap();
        let below = home.join("run/b.sock");
        check(Some(r#"{"hooks": {"socket_path": "~/run/b.sock"}}"#), None, (true, below.to_str(), None));
        for relative in ["~run/b.sock", "$HOME/b.sock", "./b.sock", " ", "/b\\u0000.sock"] {
            check(Some(&format!(r#"{{"hooks": {{"socket_path": "{relative}"}}}}"#)), None, usual);
        }
        for wrong in [
            r#"{"hooks": []}"#,
            r#"{"hooks": null}"#,
            r#"{"hooks": {"timeout_ms": -1, "socket_path": 7}}"#,
            r#"{"hooks": {"timeout_ms": 3001}}"#,
        ] {
            check(Some(wrong), None, usual);
        }
        let names = |text: &str| {
            let temp = tempfile::tempdir().unwrap();
            std::fs::write(temp.path().join(FILES[0]), text).unwrap();
            Hooks::read(temp.path()).names_directories
        };
        assert!(names(r#"{"session_tracking": {"watch_directories": ["~/t"], "enabled": true}}"#));
        for none in ["{}", r#"{"session_tracking": 3}"#, r#"{"session_tracking": {"watch_directories": null}}"#] {
            assert!(!names(none), "{none}");
        }
        // The last good configuration is used while the current one cannot be read.
        let good = Some(r#"{"hooks": {"enabled": false}}"#);
        check(None, good, (false, None, None));
        check(Some("{oops"), good, (false, None, None));
        check(Some(&" ".repeat(2 * 1024 * 1024)), good, (false, None, None));
        check(Some("{}"), good, usual);
    }
}
