//! The configuration of a home: read and watched, written by the daemon alone, and reported with the origin of each
//! value.
//!
//! A file with a mistake is ignored and stops nothing: the previous configuration stays in force, across restarts too,
//! because the last good text is kept in a copy. The same holds if the file vanishes, as it does for a moment while
//! editors save it, until that copy is deleted too. If there is no good copy, it is unknown what a mistaken file was
//! meant to exclude, so tracking is off until the file is fixed. Every request to the daemon checks the file first, so
//! an edit holds for the very next command; the daemon also checks it every few seconds.

mod document;
mod edit;
mod file;
mod import;
mod in_force;
mod key;
mod parse;
mod vault;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;

pub use import::{ImportedKey, Outcome};
pub use in_force::{Shown, ShownValue};
pub use key::{KeyHelp, describe_keys, former_keys, keys};
pub use parse::Remark;

use crate::settings::{Settings, SettingsReader};
use baton_base::bounded_fs::BoundedFs;
use baton_base::limits;
use baton_base::project::is_directory;
use file::{ConfigFiles, Found, Stamp};
use in_force::OwnDirectories;
use parse::Parsed;

/// How often the file is checked without a request: one `stat` each time.
pub const LOOK: Duration = Duration::from_secs(2);

/// The source of the values in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// There is no file.
    Defaults,
    File,
    LastGoodCopy,
    /// The file has a mistake and there is no good copy, so tracking is off.
    Stopped,
}

/// How often an import starts over because the file was edited meanwhile.
const IMPORT_TRIES: usize = 3;

type OwnedLookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// See the module.
pub struct Configuration {
    files: ConfigFiles,
    /// Values of keys that the file does not set.
    base: Settings,
    own: OwnDirectories,
    lookup: OwnedLookup,
    held: Mutex<Held>,
    published: watch::Sender<Arc<Settings>>,
    looks: BoundedFs,
}

struct Held {
    stamp: Option<Stamp>,
    source: Source,
    /// The configuration in force.
    parsed: Parsed,
    /// Mistakes in the current file; if there are any, the file is not in force.
    mistakes: Vec<Remark>,
}

/// Why the configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file has a mistake and is not overwritten.
    #[error("config.json was not changed, because it has a mistake: {0}; fix that first")]
    Mistaken(Remark),
    /// The result would not be a valid configuration.
    #[error("config.json was not changed: {0}")]
    Refused(String),
    /// The file could not be written.
    #[error("config.json cannot be written: {0}; free space or fix the permissions of BATON_HOME")]
    Io(#[from] std::io::Error),
}

/// A variable of this process's environment; empty ones count as unset.
fn variable(name: &str) -> Option<String> {
    match name {
        "HOME" => std::env::home_dir().and_then(|path| path.to_str().map(str::to_owned)),
        name => std::env::var(name).ok().filter(|value| !value.is_empty()),
    }
}

impl Configuration {
    /// Reads the configuration of a home. `base` holds the values of keys that the file does not set, and `roots` the
    /// directories read by default; their parents are what `$CLAUDE_CONFIG_DIR` and `$CODEX_HOME` expand to. Blocks for
    /// a short read.
    pub fn open(home: &Path, base: Settings, roots: Vec<PathBuf>) -> Self {
        let above = |folder: &str| {
            let root = roots.iter().find(|root| root.file_name().is_some_and(|name| name == folder));
            root.and_then(|root| root.parent()?.to_str()).map(str::to_owned)
        };
        let (config_dir, codex_home) = (above("projects"), above("sessions"));
        let usual = |name: &str| Some(Path::new(&variable("HOME")?).join(name).to_str()?.to_owned());
        let is_there = |root: &PathBuf| root.to_str().is_some_and(is_directory);
        let roots: Vec<PathBuf> = roots
            .iter()
            .enumerate()
            .filter(|(at, root)| *at == 0 || is_there(root))
            .map(|(_, root)| root.clone())
            .collect();
        let lookup = move |name: &str| match name {
            "CLAUDE_CONFIG_DIR" => config_dir.clone().or_else(|| usual(".claude")),
            "CODEX_HOME" => codex_home.clone().or_else(|| usual(".codex")),
            name => variable(name),
        };
        Self::with_lookup(home, base, roots, Box::new(lookup))
    }

    fn with_lookup(home: &Path, base: Settings, roots: Vec<PathBuf>, lookup: OwnedLookup) -> Self {
        let usual = lookup("HOME").map(|home| Path::new(&home).join(".claude").join("projects"));
        let own = OwnDirectories { usual: roots.first() == usual.as_ref(), directories: roots };
        let held = Held { stamp: None, source: Source::Defaults, parsed: Parsed::default(), mistakes: Vec::new() };
        let configuration = Self {
            files: ConfigFiles::new(home),
            published: watch::Sender::new(Arc::new(base.clone())),
            base,
            own,
            lookup,
            held: Mutex::new(held),
            looks: BoundedFs::default(),
        };
        configuration.reload(&mut configuration.lock());
        configuration
    }

    /// Returns a reader of the current settings, which can also wait for the next ones.
    pub fn settings(&self) -> SettingsReader {
        self.published.subscribe().into()
    }

    /// Applies changes of the file: one `stat`, and a read of a small file if it has changed.
    pub fn look(&self) {
        let mut held = self.lock();
        if self.files.stamp() != held.stamp {
            self.reload(&mut held);
        }
    }

    /// True if [`Self::look`] would read the file or wait for another caller: one `stat`, and never blocks on the lock.
    pub fn is_stale(&self) -> bool {
        self.held.try_lock().map_or(true, |held| self.files.stamp() != held.stamp)
    }

    /// Like [`Self::look`], bounded by [`limits::ROOT`]: the file may be a link into a file system that does not
    /// answer.
    pub async fn look_in_time(self: &Arc<Self>) {
        let (configuration, until) = (self.clone(), tokio::time::Instant::now() + limits::ROOT);
        let look = move || {
            if configuration.is_stale() {
                configuration.look();
            }
        };
        let _ = self.looks.run(until, look).await;
    }

    /// Each key with its value and origin, the warnings and the mistakes.
    pub fn for_display(&self) -> Shown {
        let held = self.lock();
        in_force::shown(&self.files.path, &held.parsed, held.source, &held.mistakes, &self.own)
    }

    /// Mistakes in the current file, each with its line. If there are any, the last good configuration is in force.
    pub fn mistakes(&self) -> Vec<Remark> {
        self.lock().mistakes.clone()
    }

    /// A warning if embedding is configured but lacks a required key.
    pub fn embedding_warning(&self) -> Option<Remark> {
        in_force::embedding_warning(&self.lock().parsed)
    }

    /// What to do about [`Self::mistakes`], and what holds until then.
    pub fn fix(&self) -> &'static str {
        match self.lock().source {
            Source::Stopped => {
                "fix it; until then session tracking is off, because there is no good configuration to fall back to"
            }
            _ => "fix it; until then the last good configuration stays in force (`baton config` shows it)",
        }
    }

    /// Sets the global tracking switch.
    pub fn enable(&self, enabled: bool) -> Result<(), WriteError> {
        self.edit(|_, text| edit::set(text, &["session_tracking", "enabled"], &enabled.into()))
    }

    /// Sets the tracking switch of a project, given as a path or glob. An existing entry that means the same under
    /// another spelling is changed instead of adding one.
    pub fn enable_project(&self, project: &str, enabled: bool) -> Result<(), WriteError> {
        self.edit(|held, text| {
            let pattern = parse::pattern(project, &self.lookup)
                .map_err(|why| format!("{project:?} is not a path or glob: {why}"))?;
            let written = held.parsed.projects.iter().rev().find(|known| known.pattern.is_same(&pattern));
            let name = written.map_or(project, |known| &known.written);
            edit::set(text, &["session_tracking", "projects", name, "enabled"], &enabled.into())
        })
    }

    /// Adds a project to those in which an agent's session file is read, or removes it.
    pub fn read_stores_in(&self, project: &str, is_read: bool) -> Result<(), WriteError> {
        const KEY: [&str; 2] = ["session_tracking", "project_stores"];
        self.edit(|held, text| {
            let written = held.parsed.values.get(KEY.join(".").as_str()).and_then(|(value, _)| value.as_array());
            let others = written.into_iter().flatten().filter(|other| other.as_str() != Some(project));
            let named = is_read.then(|| project.into());
            let projects: Vec<serde_json::Value> = others.cloned().chain(named).collect();
            edit::set(text, &KEY, &projects.into())
        })
    }

    /// Sets keys, each given by its path.
    pub fn set(&self, values: &[(&[&str], serde_json::Value)]) -> Result<(), WriteError> {
        self.edit(|_, text| {
            values.iter().try_fold(text.to_owned(), |text, (path, value)| edit::set(&text, path, value))
        })
    }

    /// Imports the settings of an original configuration file that have a successor here. Keys that are already set are
    /// kept unless `force`; with `dry_run` nothing is written.
    pub fn import(&self, original: &str, force: bool, dry_run: bool) -> Result<Vec<ImportedKey>, WriteError> {
        for _ in 0..IMPORT_TRIES {
            let text = self.text_to_edit(&mut self.lock())?;
            // Without the lock, so that other callers can proceed meanwhile.
            let mut report = Vec::new();
            let edited =
                import::import(original, &text, force, &self.lookup, &mut report).map_err(WriteError::Refused)?;
            if dry_run || edited == text {
                return Ok(report);
            }
            let mut held = self.lock();
            if self.text_to_edit(&mut held)? == text {
                self.write(&mut held, &edited)?;
                return Ok(report);
            }
        }
        Err(WriteError::Refused("it keeps changing; try again".to_owned()))
    }

    fn edit(&self, change: impl FnOnce(&Held, &str) -> Result<String, String>) -> Result<(), WriteError> {
        let mut held = self.lock();
        let text = self.text_to_edit(&mut held)?;
        let edited = change(&held, &text).map_err(WriteError::Refused)?;
        // The only mistake that can get here is that the file is gone.
        if edited == text && held.mistakes.is_empty() { Ok(()) } else { self.write(&mut held, &edited) }
    }

    /// The text on disk, unless it has a mistake, because an edit could add another one.
    fn text_to_edit(&self, held: &mut Held) -> Result<String, WriteError> {
        if self.files.stamp() != held.stamp {
            self.reload(held);
        }
        let found = self.files.read();
        if found == Found::Nothing {
            // A file that has vanished starts again from the configuration in force.
            return match (self.good_copy(), held.mistakes.first()) {
                (Some((text, _)), _) => Ok(text),
                (None, Some(mistake)) => Err(WriteError::Mistaken(mistake.clone())),
                (None, None) => Ok(String::new()),
            };
        }
        if let Some(mistake) = held.mistakes.first() {
            return Err(WriteError::Mistaken(mistake.clone()));
        }
        match found {
            Found::Text(text) => Ok(text),
            Found::Nothing => Ok(String::new()),
            Found::Unusable { line, why } => Err(WriteError::Mistaken(Remark { line, what: why })),
        }
    }

    /// Parses a text and adds the checks that depend on this home.
    fn parse(&self, text: &str) -> Parsed {
        let mut parsed = parse::parse(text, &self.lookup);
        let refused = vault::why_refused(&parsed, self.files.path.parent(), &self.own.directories);
        parsed.mistakes.extend(refused);
        parsed
    }

    fn write(&self, held: &mut Held, text: &str) -> Result<(), WriteError> {
        if text.len() as u64 > file::BYTES_MAX {
            return Err(WriteError::Refused("it would exceed the size limit of a configuration".to_owned()));
        }
        if let Some(mistake) = self.parse(text).mistakes.into_iter().next() {
            return Err(WriteError::Refused(mistake.what));
        }
        self.files.write(text)?;
        self.reload(held);
        Ok(())
    }

    /// The copy of the last good text, if it parses without mistakes.
    fn good_copy(&self) -> Option<(String, Parsed)> {
        let Found::Text(text) = self.files.read_copy() else { return None };
        let parsed = self.parse(&text);
        parsed.mistakes.is_empty().then_some((text, parsed))
    }

    /// Ignores the file: keeps the configuration in force, else uses the last good copy, else turns tracking off.
    fn fall_back(&self, held: &mut Held, mistakes: Vec<Remark>) {
        for mistake in &mistakes {
            tracing::warn!(
                line = mistake.line,
                "configuration has a mistake, the last good one stays in force if there is one"
            );
        }
        let line = mistakes.iter().find_map(|mistake| mistake.line).unwrap_or(1);
        held.mistakes = mistakes;
        if matches!(held.source, Source::File | Source::LastGoodCopy) {
            held.source = Source::LastGoodCopy;
            return;
        }
        (held.parsed, held.source) = match self.good_copy() {
            Some((_, parsed)) => (parsed, Source::LastGoodCopy),
            None => {
                let off = ("session_tracking.enabled", (false.into(), line));
                (Parsed { values: [off].into(), ..Parsed::default() }, Source::Stopped)
            }
        };
        self.publish(held);
    }

    fn reload(&self, held: &mut Held) {
        // Stamped before reading, so that a change in between is found by the next look.
        held.stamp = self.files.stamp();
        let (parsed, text) = match self.files.read() {
            Found::Text(text) => (self.parse(&text), Some(text)),
            Found::Nothing if self.files.read_copy() != Found::Nothing => {
                let what = "it is missing, and its last content stays in force; restore it, or delete \
                            config.last-good.json too to get the defaults; setting a switch writes it again";
                (Parsed { mistakes: vec![Remark { line: None, what: what.to_owned() }], ..Parsed::default() }, None)
            }
            Found::Nothing => (Parsed::default(), None),
            Found::Unusable { line, why } => {
                let mistakes = vec![Remark { line, what: format!("it {why}") }];
                (Parsed { mistakes, ..Parsed::default() }, None)
            }
        };
        if !parsed.mistakes.is_empty() {
            return self.fall_back(held, parsed.mistakes);
        }
        (held.parsed, held.mistakes) = (parsed, Vec::new());
        let kept = match &text {
            Some(text) => {
                held.source = Source::File;
                match self.files.read_copy() {
                    Found::Text(copy) if copy == *text => Ok(()),
                    _ => self.files.write_copy(text),
                }
            }
            None => {
                held.source = Source::Defaults;
                Ok(())
            }
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "copy of the last good configuration not written");
        }
        self.publish(held);
    }

    fn publish(&self, held: &Held) {
        let settings = Arc::new(in_force::settings(&held.parsed, &self.base));
        let changed = self.published.send_if_modified(|now| {
            let changed = *now != settings;
            now.clone_from(&settings);
            changed
        });
        if changed {
            tracing::info!(keys = held.parsed.values.len(), "configuration applied");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Looks at the file every [`LOOK`] while the configuration is in use.
pub async fn watch(configuration: std::sync::Weak<Configuration>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(configuration) = configuration.upgrade() else { return };
        // A hanging disk must not block an async worker thread.
        let _ = baton_base::task::spawn_blocking(move || configuration.look()).await;
    }
}

#[cfg(test)]
mod tests;
