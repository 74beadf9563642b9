//! The settings as the actors use them: one immutable value that is replaced as a whole when the configuration changes.

pub mod pattern;
mod switches;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton_enrichment::Limits;
use baton_episode::digest::Show;
use baton_events::prices::Prices;
use baton_events::session::{Phase, Place, Policy, State, UnindexedReason};

use crate::endpoint::{BaseUrl, Endpoint};
use crate::import_boundary::ImportBoundary;
use baton_base::latest::Latest;

pub use switches::{Stop, Switches};

/// Reads the current settings, and can wait for the next ones.
pub type SettingsReader = Latest<Arc<Settings>>;

/// Everything that may be configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Timeouts, bounds and the global switch.
    pub policy: Policy,
    /// How long a query may read what is beyond [`baton_base::limits::LAZY_BYTES`], unless it waits for all history.
    pub lazy_budget: Duration,
    /// Switches of single projects, and excluded projects.
    pub switches: Switches,
    /// The directories whose transcripts are read, each with a folder per project. `None`: those that the daemon was
    /// started with and those that clients register.
    pub watch_directories: Option<Vec<PathBuf>>,
    /// Projects named by a person, in which an agent's file with sessions is read.
    pub project_stores: Vec<PathBuf>,
    /// How hooks are handled.
    pub hooks: Hooks,
    /// Longest handoff in bytes.
    pub handoff_bytes: usize,
    /// True if sessions of others are handed over as well.
    pub handoff_of_team: bool,
    /// What a digest includes.
    pub filtering: Show,
    /// The models' prices.
    pub prices: Prices,
    /// The model that makes vectors of texts. `None`: no vectors are made, and no connection is opened.
    pub embedding: Option<Embedding>,
    /// The model that enriches episodes. `None`: no model does, and no connection is opened.
    pub llm: Option<Llm>,
    /// The configured model while enrichment is off, for the prices of a dry run. `None`: the default model at the
    /// default address.
    pub llm_off: Option<Llm>,
    /// Settings of the notes for people.
    pub vault: Vault,
    /// Where to ask for newer versions, and whether to do so daily.
    pub update: Update,
    /// What is shared with other machines, and where.
    pub relay: Relay,
    /// The sessions that came from another home.
    pub imported: ImportBoundary,
    /// The home, with links resolved: Baton's own work in it is no session.
    pub home: Option<PathBuf>,
}

/// Where newer versions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// True to ask once a day.
    pub check: bool,
    /// The address; `None`: the one built in.
    pub url: Option<BaseUrl>,
    /// The minisign key that answers are signed with; `None`: the one built in.
    pub key: Option<String>,
}

/// A model that makes vectors of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedding {
    /// Its address.
    pub endpoint: Endpoint,
    /// The number of dimensions to request; `None`: the model's own.
    pub dimensions: Option<usize>,
}

/// A model that enriches episodes, with its limits and budgets.
#[derive(Clone, Debug, PartialEq)]
pub struct Llm {
    /// Its address.
    pub endpoint: Endpoint,
    /// Most tokens of a request and its answer together.
    pub context_tokens: u64,
    /// Most tokens of an answer.
    pub max_output_tokens: u64,
    /// Timeout of one call.
    pub timeout: Duration,
    /// Concurrent calls.
    pub max_concurrency: usize,
    /// Most US dollars per session; `None`: no limit.
    pub session_budget_usd: Option<f64>,
    /// Most US dollars per day; `None`: no limit.
    pub daily_budget_usd: Option<f64>,
}

impl Llm {
    /// The model's token limits.
    pub fn limits(&self) -> Limits {
        Limits { context_tokens: self.context_tokens, max_output_tokens: self.max_output_tokens }
    }

    /// A warning and its remedy if the longest answer leaves no room for a conversation.
    pub fn answer_room_warning(&self) -> Option<(String, String)> {
        let longest = self.limits().longest_answer()?;
        let (wanted, context) = (self.max_output_tokens, self.context_tokens);
        let what = format!(
            "llm.max_output_tokens is {wanted}, but llm.context_tokens ({context}) has room for {longest} beside a \
             short conversation, so shorter answers are requested"
        );
        let fix = format!(
            "set llm.context_tokens to what the model takes at once, request and answer together, or llm.max_output_tokens \
             to {longest} at most"
        );
        Some((what, fix))
    }
}

/// How hooks are handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// If false, hooks are accepted and ignored.
    pub enabled: bool,
    /// The daemon's socket, if not in its home; applied when the daemon starts.
    pub socket_path: Option<PathBuf>,
    /// How long a hook waits for its answer, in milliseconds; `None`: the default of its event.
    pub timeout_ms: Option<u64>,
}

/// Notes for people, in an Obsidian vault or a folder like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vault {
    /// True if notes are written.
    pub enabled: bool,
    /// The vault; `None`: the home's own.
    pub path: Option<PathBuf>,
    /// The folder in the vault that holds all notes.
    pub root: String,
    /// Lines from which a note is compacted.
    pub compact_lines: u64,
    /// Days after which a note is compacted.
    pub compact_days: u64,
    /// Number of other projects that must have recalled an entity before all projects share its note.
    pub promote_recalls: u64,
}

/// Sharing with other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relay {
    /// True if anything is published or received.
    pub enabled: bool,
    /// The relay's address.
    pub url: Option<String>,
    /// The person's name in the team; `None`: their user name.
    pub name: Option<String>,
    /// Projects whose sessions are published.
    pub share: Vec<String>,
    /// The file of the keys; `None`: in the home.
    pub key_file: Option<PathBuf>,
    /// The file with the credentials for a server.
    pub credentials_file: Option<PathBuf>,
}

impl Default for Vault {
    fn default() -> Self {
        let root = "claude".to_owned();
        Self { enabled: false, path: None, root, compact_lines: 500, compact_days: 3, promote_recalls: 3 }
    }
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
            project_stores: Vec::new(),
            hooks: Hooks::default(),
            handoff_bytes: 2048,
            handoff_of_team: false,
            filtering: Show::default(),
            prices: Prices::default(),
            embedding: None,
            llm: None,
            llm_off: None,
            vault: Vault::default(),
            update: Update::default(),
            relay: Relay::default(),
            imported: ImportBoundary::default(),
            home: None,
        }
    }
}

impl Settings {
    /// The policy for one session.
    pub fn policy_for(&self, state: &State) -> Policy {
        let tracked = self.stop_of(state).is_none();
        Policy { tracked, ..self.policy.clone() }
    }

    /// A note for answers that may be incomplete because the global switch is off.
    pub fn tracking_off_note(&self) -> Option<String> {
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

    /// True if a session must be neither read nor shown, because its project is excluded or is Baton's home.
    pub fn excludes(&self, state: &State) -> bool {
        state.place.as_ref().is_some_and(|place| self.excludes_place(place))
    }

    /// True if sessions that work there are excluded.
    pub fn excludes_place(&self, place: &Place) -> bool {
        self.is_own(place) || self.switches.excludes(place).is_some()
    }

    /// True if the place is in Baton's home, where only Baton itself works.
    pub fn is_own(&self, place: &Place) -> bool {
        let within = |home: &PathBuf| [&place.cwd, &place.project].iter().any(|path| Path::new(path).starts_with(home));
        self.home.as_ref().is_some_and(within)
    }

    /// True if a session's working directory decides whether it is read, so that the head of its transcript must be
    /// read first.
    pub fn depend_on_project(&self, transcript: &str) -> bool {
        // Agents name a project's folder by its path, with a hyphen for most characters.
        let named =
            |text: &str| text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect::<String>();
        let is_ours = |home: &PathBuf| {
            let home = named(&home.to_string_lossy());
            Path::new(transcript).components().any(|part| named(&part.as_os_str().to_string_lossy()).starts_with(&home))
        };
        self.switches.depend_on_project() || self.home.as_ref().is_some_and(is_ours)
    }

    /// The setting that stops a session, if any. A forced session is stopped only by an exclusion, by being Baton's
    /// own, or because it was imported: what its transcript's path names here is not its file.
    pub fn stop_of(&self, state: &State) -> Option<Stop> {
        if state.place.as_ref().is_some_and(|place| self.is_own(place)) {
            return Some(Stop::Own);
        }
        let is_elsewhere = |path: &str| self.imported.is_elsewhere(path, self.watch_directories.as_deref());
        if let Some(transcript) = state.transcript.as_ref().filter(|transcript| is_elsewhere(&transcript.path)) {
            return Some(Stop::Elsewhere { transcript: transcript.path.clone() });
        }
        let stop = self.switches.stop_of(state.place.as_ref(), self.policy.tracked);
        stop.filter(|stop| !state.forced || !stop.is_lifted_by_force())
    }

    /// True if a session may be read and indexed, by the configuration and by the session's own state.
    pub fn may_read(&self, state: &State) -> bool {
        let at_rest = matches!(state.phase, Phase::Forgotten | Phase::Unindexed(UnindexedReason::Untracked));
        // If switches depend on the project, a session without a known project is read to find it out.
        let is_open = state.place.is_none() && self.switches.depend_on_project();
        !at_rest && (is_open || (self.policy_for(state).tracked && !self.excludes(state)))
    }
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::Agent;
    use baton_events::envelope::Tail;
    use baton_events::session::{FileIdentity, Kind, Place, Transcript};

    use super::*;

    #[test]
    fn a_forced_session_passes_every_switch_but_no_exclusion() {
        let place = Place::new("/p/one", "/p/one");
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
    fn what_works_in_the_home_is_no_session() {
        let settings = Settings { home: Some("/home/u/.baton".into()), ..Settings::default() };
        for (cwd, own) in [
            ("/home/u/.baton", true),
            ("/home/u/.baton/llm/run", true),
            ("/home/u/.baton-notes", false),
            ("/home/u", false),
        ] {
            let place = Place::new(cwd, cwd);
            let state = State { place: Some(place), forced: true, ..State::default() };
            assert_eq!(settings.stop_of(&state) == Some(Stop::Own), own, "{cwd}");
            assert_eq!((settings.excludes(&state), settings.may_read(&state)), (own, !own), "{cwd}");
        }
        for (transcript, looked_at) in [
            ("/home/u/.claude/projects/-home-u--baton/s.jsonl", true),
            ("/home/u/.claude/projects/-home-u--baton-llm/s.jsonl", true),
            ("/home/u/.claude/projects/-home-u-work/s.jsonl", false),
        ] {
            assert_eq!(settings.depend_on_project(transcript), looked_at, "{transcript}");
        }
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
        let imported = ImportBoundary::new(Tail::default(), [path].into());
        let mut settings = Settings { imported, ..Settings::default() };
        assert!(matches!(settings.stop_of(&state), Some(Stop::Elsewhere { .. })));
        assert!(!settings.policy_for(&state).tracked && !settings.may_read(&state) && !settings.excludes(&state));
        settings.watch_directories = Some(vec!["/old/projects".into()]);
        assert!(settings.policy_for(&state).tracked && settings.may_read(&state));
    }
}
