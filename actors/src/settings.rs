//! What may be configured, as the actors use it: one immutable value, replaced as a whole when the configuration changes.

pub mod pattern;
mod switches;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use baton_events::digest::Show;
use baton_events::session::{Phase, Policy, State, Why};
use tokio::sync::watch;

use crate::imported::Imported;

pub use switches::{Stop, Switches};

/// Reads the settings as they are now, and can wait for the next ones.
pub type SettingsReader = watch::Receiver<Arc<Settings>>;

/// Everything that may be configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Timeouts, bounds and the global switch.
    pub policy: Policy,
    /// How long a query that does not wait for history reads what is beyond [`crate::limits::LAZY_BYTES`].
    pub lazy_budget: Duration,
    /// Switches of single projects, and projects that are never read.
    pub switches: Switches,
    /// The directories whose transcripts are read, with a folder for each project; `None`: those that the daemon was
    /// started with, and those that clients name.
    pub watch_directories: Option<Vec<PathBuf>>,
    /// What is done with what hooks say.
    pub hooks: Hooks,
    /// Most of a handoff, in bytes.
    pub handoff_bytes: usize,
    /// What a digest and an export show.
    pub filtering: Show,
    /// Which sessions came from another home.
    pub imported: Imported,
}

/// What is done with what hooks say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// Whether anything comes of it.
    pub enabled: bool,
    /// Where the daemon listens instead of in its home; taken in when it starts.
    pub socket_path: Option<PathBuf>,
    /// How long a hook waits for its answer; `None`: as long as is usual for its event.
    pub timeout_ms: Option<u64>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { enabled: true, socket_path: None, timeout_ms: None }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            lazy_budget: Duration::from_millis(300),
            switches: Switches::default(),
            watch_directories: None,
            hooks: Hooks::default(),
            handoff_bytes: 2048,
            filtering: Show::default(),
            imported: Imported::default(),
        }
    }
}

impl Settings {
    /// The policy for one session.
    pub fn policy_for(&self, state: &State) -> Policy {
        let tracked = self.stop_of(state).is_none();
        Policy { tracked, ..self.policy.clone() }
    }

    /// What to tell whoever expects more than there is, when the global switch is off.
    pub fn note(&self) -> Option<String> {
        let but = if self.switches.projects().any(|(_, enabled)| enabled) {
            " but for projects that are switched on"
        } else {
            ""
        };
        (!self.policy.tracked).then(|| {
            format!(
                "session tracking is off{but}: nothing new is read; `baton config` says why, `baton session-tracking \
                 enable` switches it on"
            )
        })
    }

    /// Whether a session must be neither read nor shown, because its project is excluded.
    pub fn excludes(&self, state: &State) -> bool {
        state.place.as_ref().is_some_and(|place| self.switches.excludes(place).is_some())
    }

    /// What of the configuration stops a session, if anything does. A session that was forced is stopped by an
    /// exclusion only, or because it is another home's: what its file's path says here is not of it.
    pub fn stop_of(&self, state: &State) -> Option<Stop> {
        let is_elsewhere = |path: &str| self.imported.is_elsewhere(path, self.watch_directories.as_deref());
        if let Some(transcript) = state.transcript.as_ref().filter(|transcript| is_elsewhere(&transcript.path)) {
            return Some(Stop::Elsewhere { transcript: transcript.path.clone() });
        }
        let stop = self.switches.stop_of(state.place.as_ref(), self.policy.tracked);
        stop.filter(|stop| !state.forced || matches!(stop, Stop::Excluded { .. }))
    }

    /// Whether a session may be read and indexed at all: by what is configured, and by what was said of itself.
    pub fn reads(&self, state: &State) -> bool {
        let at_rest = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(Why::Untracked));
        // Where a project decides, one of which it is not known yet finds out when it is read.
        let is_open = state.place.is_none() && self.switches.depend_on_project();
        !at_rest && (is_open || (self.policy_for(state).tracked && !self.excludes(state)))
    }
}

#[cfg(test)]
mod tests {
    use baton_events::conversation::Agent;
    use baton_events::envelope::Tail;
    use baton_events::session::{FileIdentity, Kind, Place, Transcript};

    use super::*;

    #[test]
    fn a_forced_session_passes_every_switch_but_no_exclusion() {
        let place = Place { cwd: "/p/one".to_owned(), project: "/p/one".to_owned() };
        let mut state = State { place: Some(place), ..State::default() };
        let mut settings = Settings::default();
        assert!(settings.policy_for(&state).tracked && !settings.excludes(&state));
        settings.policy.tracked = false;
        assert_eq!(settings.stop_of(&state), Some(Stop::Global));
        assert!(!settings.policy_for(&state).tracked);
        state.forced = true;
        assert!(settings.policy_for(&state).tracked);
        settings.switches = Switches::new(Vec::new(), vec![pattern::Pattern::new("/p/*").unwrap()]);
        assert!(settings.excludes(&state) && !settings.policy_for(&state).tracked);
        state.place = None;
        assert!(!settings.excludes(&state), "nobody knows yet where it works");
    }

    #[test]
    fn a_session_of_another_home_is_left_alone_where_its_transcript_is_not_read() {
        let path = "/old/projects/a/s.jsonl".to_owned();
        let transcript = Transcript {
            agent: Agent::ClaudeCode,
            path: path.clone(),
            identity: FileIdentity::default(),
            kind: Kind::Main,
        };
        let state = State { transcript: Some(transcript), forced: true, ..State::default() };
        let imported = Imported::new(Tail::default(), [path].into());
        let mut settings = Settings { imported, ..Settings::default() };
        assert!(matches!(settings.stop_of(&state), Some(Stop::Elsewhere { .. })));
        assert!(!settings.policy_for(&state).tracked && !settings.reads(&state) && !settings.excludes(&state));
        settings.watch_directories = Some(vec!["/old/projects".into()]);
        assert!(settings.policy_for(&state).tracked && settings.reads(&state));
    }
}
