//! The directories that transcripts are read from: the daemon's own and those that clients have named, or the
//! configured ones instead of both.
//!
//! A client names the directory where its agent writes. A repository's settings can make it do so, therefore a
//! directory is admitted only if it belongs to and is writable by this user alone and lies in no git work tree, in no
//! tracked project and not where the client works. At most [`ROOTS_MAX`] are admitted. Each is recorded, so that a
//! restart knows it, and shown with the kind of client that named it. A project tracked later counts as well:
//! directories in it are no longer read.

mod admission;
mod agent_detection;
mod inspection;
mod project_stores;
mod swept;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use baton_conversation::item::Agent;
use baton_conversation::record::{Metadata, SequenceNumber, StreamId};
use baton_conversation::transcript::layout;
use baton_events::envelope::NewRecord;
use baton_events::home::{self, NamedRoot, ROOTS_MAX};
use baton_events::schema;
use baton_redaction::redact;
use tokio::sync::watch;

use self::admission::{Admitted, Grounds};
pub use self::inspection::{Look, Looked};
use self::inspection::{Named, RootInspector};
use self::project_stores::Stores;
pub use self::{admission::why_unfit_folder, project_stores::why_unread_in, swept::Swept};
use baton_base::clock::Clock;
use baton_base::transcript_root::Root;
use baton_config::settings::SettingsReader;
use baton_journal::Journal;
use baton_journal::session_table::TableReader;

/// Limit of remembered refusals.
const REFUSED_MAX: usize = 16;
/// Longest path accepted, in bytes.
const PATH_BYTES: usize = 4096;
/// Limit of working directories considered per client.
const PLACES_MAX: usize = 4;
/// Time limit for examining a named directory, because its file system may not answer.
const LOOK: Duration = Duration::from_secs(2);

/// A directory that was not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The path as named.
    pub config_dir: String,
    /// What kind of client named it.
    pub named_by: String,
    /// The reason, and what to do.
    pub why: String,
}

/// The transcript roots; see the module documentation.
pub struct Roots {
    own: Vec<Root>,
    /// The directories of `own` and the agents' default directories, as written and with links above them resolved.
    homes: Vec<PathBuf>,
    settings: SettingsReader,
    table: TableReader,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    known: Arc<Mutex<Known>>,
    /// Serialises additions. Events that others append to the stream are seen through the table's version.
    adding: tokio::sync::Mutex<()>,
    stores: Arc<Mutex<Stores>>,
    changed: watch::Sender<u64>,
    inspector: RootInspector,
}

#[derive(Default)]
struct Known {
    state: home::State,
    version: SequenceNumber,
    /// Recorded directories that are no longer admissible.
    lapsed: Vec<String>,
    /// The agent of each recorded directory, judged by its content.
    agents: BTreeMap<String, Agent>,
    /// The canonical transcript folder of each recorded directory.
    transcripts: BTreeMap<String, PathBuf>,
    /// Named directories whose examination has not returned.
    under_way: BTreeSet<String>,
    refused: BTreeMap<String, Refused>,
}

impl Roots {
    /// Opens the daemon's own roots and those recorded in the log. Blocks for short disk reads; roots that do not
    /// answer are left out.
    pub fn open(
        own: Vec<Root>,
        settings: SettingsReader,
        table: TableReader,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut known = Known::default();
        let imported = settings.now().imported.clone();
        loop {
            let records = journal.read_stream(&StreamId::home(), known.version, 256).unwrap_or_else(|error| {
                tracing::error!(%error, "recorded roots not read");
                Vec::new()
            });
            let Some(last) = records.last() else { break };
            known.version = last.sequence;
            // Ignore directories named by clients of another home.
            for record in records.iter().filter(|record| record.position > imported.position()) {
                match schema::home::decode(&record.kind, record.v, &record.data) {
                    Ok(event) => known.state = home::evolve(std::mem::take(&mut known.state), event),
                    Err(error) => tracing::warn!(%error, "event of the home skipped"),
                }
            }
        }
        let homes = homes_of(own.iter().cloned().chain(usual_roots()));
        // Tracked projects are checked on each query of the roots, because they change.
        let grounds = Grounds { own: homes.clone(), ..Grounds::default() };
        for root in known.state.roots.clone() {
            let (directory, grounds) = (PathBuf::from(&root.config_dir), grounds.clone());
            let checked = run_with_timeout(move || {
                let agent = agent_detection::agent_with(&directory);
                (agent, admission::check(agent, &directory, &grounds))
            });
            let (agent, checked) = checked.unwrap_or_else(|| (Agent::ClaudeCode, Err(silent())));
            known.agents.insert(root.config_dir.clone(), agent);
            match checked {
                Ok(admitted) => drop(known.transcripts.insert(root.config_dir, admitted.transcripts)),
                Err(why) => {
                    known.lapsed.push(root.config_dir.clone());
                    known.refuse(Refused { config_dir: root.config_dir, named_by: root.named_by, why });
                }
            }
        }
        let (known, adding, changed) =
            (Arc::new(Mutex::new(known)), tokio::sync::Mutex::default(), watch::Sender::new(0));
        let inspector = RootInspector::default();
        let stores = Arc::default();
        let roots = Self { own, homes, settings, table, journal, clock, known, adding, stores, changed, inspector };
        roots.inspector.look_first(&roots.named());
        roots.publish_roots();
        roots
    }

    /// Tells the settings which roots are read, because sessions imported from another home are skipped unless their
    /// transcripts lie here.
    fn publish_roots(&self) {
        let known = self.lock();
        let standing = known.state.roots.iter().filter(|root| !known.lapsed.contains(&root.config_dir));
        let named = standing.flat_map(|root| roots_of(&known, root));
        let roots = self.own.iter().cloned().chain(named).map(|root| root.projects).collect();
        self.settings.now().imported.set_roots(roots);
    }

    /// Returns the current roots, as of the last [look](Self::look). Does not access the disk.
    pub fn now(&self) -> Vec<Root> {
        self.with_origin().into_iter().map(|(root, _)| root).collect()
    }

    /// Returns the current roots, each with its origin: `default`, `config.json`, or a kind of client. Does not access
    /// the disk.
    pub fn with_origin(&self) -> Vec<(Root, String)> {
        // A missing default root of an agent other than Claude Code means that the agent is not installed.
        let is_configured = self.settings.now().watch_directories.is_some();
        let is_had = |root: &Root| root.agent == Agent::ClaudeCode || self.inspector.is_there(&root.projects);
        self.all().filter(|(root, _)| is_configured || is_had(root)).collect()
    }

    /// Returns the current roots and those of agents of which nothing is there yet: an agent's first session starts
    /// before its folder exists. Does not access the disk.
    pub fn possible(&self) -> Vec<Root> {
        self.all().map(|(root, _)| root).collect()
    }

    fn all(&self) -> impl Iterator<Item = (Root, String)> {
        self.listed().into_iter().map(|((projects, agent), by)| {
            let agent = agent.unwrap_or_else(|| self.inspector.agent_of(&projects));
            (Root { agent, projects }, by)
        })
    }

    /// Examines every root, within [`limits::ROOT`] whatever their file systems do.
    pub async fn look(&self) -> Look {
        let is_configured = self.settings.now().watch_directories.is_some();
        let mut look = self.inspector.look(self.named()).await;
        let is_had = |looked: &Looked| looked.root.agent == Agent::ClaudeCode || looked.identity.is_some();
        look.answered.retain(|looked| is_configured || is_had(looked));
        look
    }

    /// True if a path lies in a root whose file system does not answer, where reads may block for ever. Does not access
    /// the disk.
    pub fn is_hung(&self, path: &Path) -> bool {
        self.inspector.is_hung(path)
    }

    fn named(&self) -> Vec<Named> {
        self.listed().into_iter().map(|(named, _)| named).collect()
    }

    /// Returns every directory that may be read, with its origin, whether it exists or not.
    fn listed(&self) -> Vec<(Named, String)> {
        let stores = self.stores().read.clone();
        let stores = stores.into_iter().map(|(root, by)| ((root.projects, Some(root.agent)), by.to_owned()));
        if let Some(directories) = &self.settings.now().watch_directories {
            let configured = directories.iter().map(|projects| ((projects.clone(), None), "config.json".to_owned()));
            return configured.chain(stores).collect();
        }
        let named = |root: Root, by: &str| ((root.projects, Some(root.agent)), by.to_owned());
        let own = self.own.iter().map(|root| named(root.clone(), "default"));
        let overtaken = self.roots_in_tracked_projects();
        let known = self.lock();
        let is_read = |root: &&NamedRoot| {
            !known.lapsed.contains(&root.config_dir) && overtaken.iter().all(|gone| gone.config_dir != root.config_dir)
        };
        let others = known.state.roots.iter().filter(is_read);
        let others = others.flat_map(|root| roots_of(&known, root).into_iter().map(|it| named(it, &root.named_by)));
        own.chain(others).chain(stores).collect()
    }

    /// Changes whenever a client has added a root.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns the directories that were not admitted.
    pub fn refused(&self) -> Vec<Refused> {
        let overtaken = self.roots_in_tracked_projects();
        let mut refused = self.lock().refused.clone();
        refused.extend(self.stores().refused.iter().map(|store| (store.config_dir.clone(), store.clone())));
        refused.extend(overtaken.into_iter().map(|gone| (gone.config_dir.clone(), gone)));
        refused.into_values().collect()
    }

    /// Returns the recorded directories that lie in a project tracked since: the project may have brought them.
    fn roots_in_tracked_projects(&self) -> Vec<Refused> {
        let named: Vec<(NamedRoot, Option<PathBuf>)> = {
            let known = self.lock();
            let standing = known.state.roots.iter().filter(|root| !known.lapsed.contains(&root.config_dir));
            standing.map(|root| (root.clone(), known.transcripts.get(&root.config_dir).cloned())).collect()
        };
        if named.is_empty() {
            return Vec::new();
        }
        let may_hold = |project: &str| {
            let within = |path: &str| path.starts_with(project);
            let there = |(root, transcripts): &(NamedRoot, Option<PathBuf>)| {
                within(&root.config_dir) || transcripts.as_deref().and_then(Path::to_str).is_some_and(within)
            };
            named.iter().any(there)
        };
        let grounds = Grounds { projects: self.tracked(may_hold), works_in: Vec::new(), own: self.homes.clone() };
        let overtaken = named.iter().filter_map(|(root, transcripts)| {
            let config_dir = Path::new(&root.config_dir);
            let project = grounds.project_of(config_dir).or_else(|| grounds.project_of(transcripts.as_deref()?))?;
            let (config_dir, named_by) = (root.config_dir.clone(), root.named_by.clone());
            Some(Refused { config_dir, named_by, why: admission::in_project(project) })
        });
        overtaken.collect()
    }

    /// Returns the projects of tracked sessions that satisfy `wanted`.
    fn tracked(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let (settings, table) = (self.settings.now(), self.table.now());
        let placed = table.iter().filter_map(|(_, row)| Some((&row.state, row.state.place.as_ref()?.project.as_str())));
        let tracked = placed.filter(|(state, project)| wanted(project) && settings.policy_for(state).tracked);
        let mut projects: Vec<String> = tracked.map(|(_, project)| project.to_owned()).collect();
        projects.sort_unstable();
        projects.dedup();
        projects
    }

    /// Adds Claude Code's directory as named by a client that works in `works_in`. Returns why if it is not read.
    pub async fn admit_claude_code(&self, config_dir: &str, named_by: &str, works_in: &[String]) -> Result<(), String> {
        self.admit(Agent::ClaudeCode, config_dir, named_by, works_in).await
    }

    /// Like [`Self::admit_claude_code`] for any agent.
    pub async fn admit(
        &self,
        agent: Agent,
        config_dir: &str,
        named_by: &str,
        works_in: &[String],
    ) -> Result<(), String> {
        if self.is_read(agent, Path::new(config_dir)) {
            return Ok(());
        }
        let _one = self.adding.lock().await;
        let added = self.add(agent, config_dir, named_by, works_in).await;
        let mut known = self.lock();
        match &added {
            Ok(()) => drop(known.refused.remove(config_dir)),
            Err(unread) if unread.is_nothing => {}
            Err(unread) => known.refuse(Refused {
                config_dir: config_dir.chars().take(PATH_BYTES).collect(),
                named_by: named_by.to_owned(),
                why: unread.why.clone(),
            }),
        }
        added.map_err(|unread| unread.why)
    }

    fn is_read(&self, agent: Agent, config_dir: &Path) -> bool {
        // One of the daemon's own roots needs no addition, even if it does not exist yet.
        let projects = config_dir.join(main_folder(agent));
        self.listed().iter().any(|((listed, _), _)| *listed == projects)
    }

    async fn add(&self, agent: Agent, config_dir: &str, named_by: &str, works_in: &[String]) -> Result<(), Unread> {
        if config_dir.len() > PATH_BYTES {
            return Err("its path is too long".to_owned().into());
        }
        let works_in = works_in.iter().take(PLACES_MAX).filter(|place| place.len() <= PATH_BYTES).cloned().collect();
        let grounds = Grounds { projects: self.tracked(|_| true), works_in, own: self.homes.clone() };
        let own: Vec<PathBuf> = self.now().into_iter().map(|root| root.projects).collect();
        let configured = self.settings.now().watch_directories.is_some();
        let named = PathBuf::from(config_dir);
        // A hanging examination keeps one thread and is not waited for again.
        if !self.lock().under_way.insert(config_dir.to_owned()) {
            return Err(silent().into());
        }
        let under_way = UnderWay { known: self.known.clone(), config_dir: config_dir.to_owned() };
        let looking = baton_base::task::spawn_blocking(move || {
            let _under_way = under_way;
            // The path may be another spelling of a root that is read already.
            let real = |path: &Path| std::fs::canonicalize(path).ok();
            let there = real(&named.join(main_folder(agent)));
            if there.is_some() && own.iter().any(|root| real(root) == there) {
                return Ok(None);
            }
            if configured {
                let projects = named.join(main_folder(agent));
                return Err(Unread::from(format!(
                    "config.json names the directories that are read; add {:?} to session_tracking.watch_directories",
                    projects.display().to_string()
                )));
            }
            // Not a problem for an agent that is not installed, or for a default directory that does not exist.
            let may_miss =
                agent != Agent::ClaudeCode || usual_roots().iter().any(|root| named.join("projects") == root.projects);
            let unread = |why| Unread { why, is_nothing: may_miss && has_no_transcript_folder(agent, &named) };
            admission::check(agent, &named, &grounds).map(Some).map_err(unread)
        });
        let admitted = tokio::time::timeout(LOOK, looking).await.map_err(|_| silent())?;
        let admitted = admitted.map_err(|error| error.to_string())?;
        let Some(Admitted { config_dir, transcripts }) = admitted? else { return Ok(()) };
        let (state, version) = {
            let known = self.lock();
            // Others append to the stream as well.
            (known.state.clone(), known.version.max(self.table.now().home().version))
        };
        let root = NamedRoot { config_dir, named_by: named_by.to_owned() };
        let events = home::add_root(&state, root.clone()).map_err(|rejection| {
            format!("{rejection}; name the directories that are to be read in session_tracking.watch_directories")
        })?;
        let batch = events.iter().map(|event| {
            let encoded = schema::home::encode(event);
            let (at, metadata) = (self.clock.now(), Metadata::default());
            NewRecord { kind: encoded.kind.to_owned(), v: encoded.v, at, metadata, data: encoded.data }
        });
        let batch: Vec<NewRecord> = batch.collect();
        let mut appended = version;
        if !batch.is_empty() {
            let recorded = self.journal.append(StreamId::home(), version, batch).await;
            appended = recorded.map_err(|error| format!("it could not be recorded: {error}"))?.last_sequence;
            tracing::info!(root = %redact(&root.config_dir), by = %root.named_by, "root added");
        }
        {
            let mut known = self.lock();
            known.version = appended;
            known.state = events.into_iter().fold(state, home::evolve);
            known.agents.insert(root.config_dir.clone(), agent);
            known.transcripts.insert(root.config_dir.clone(), transcripts);
            // The directory may have been inadmissible before.
            known.lapsed.retain(|lapsed| *lapsed != root.config_dir);
        }
        self.look().await;
        self.publish_roots();
        self.changed.send_modify(|count| *count += 1);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Why a directory is not read.
struct Unread {
    why: String,
    /// True if there is simply nothing to read, which is not worth reporting.
    is_nothing: bool,
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self { why, is_nothing: false }
    }
}

/// Marks a directory as being examined until it is dropped.
struct UnderWay {
    known: Arc<Mutex<Known>>,
    config_dir: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).under_way.remove(&self.config_dir);
    }
}

impl Known {
    fn refuse(&mut self, refused: Refused) {
        if self.refused.len() >= REFUSED_MAX && !self.refused.contains_key(&refused.config_dir) {
            self.refused.pop_first();
        }
        tracing::debug!(by = %refused.named_by, why = %redact(&refused.why), "root refused");
        self.refused.insert(refused.config_dir.clone(), refused);
    }
}

fn silent() -> String {
    format!("its file system has not answered for {} s", LOOK.as_secs())
}

/// Runs `look` on a thread. Returns `None` after [`LOOK`]; a hanging call keeps its thread.
fn run_with_timeout<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(tell.send(look())));
    told.recv_timeout(LOOK).ok()
}

/// The folder by which an agent's directory is recognised.
fn main_folder(agent: Agent) -> &'static str {
    layout(agent).folders.first().copied().unwrap_or_default()
}

/// Returns the roots in a directory that a client named: those of all agents whose files the same variable places there.
fn roots_of(known: &Known, root: &NamedRoot) -> Vec<Root> {
    let agent = known.agents.get(&root.config_dir).copied().unwrap_or(Agent::ClaudeCode);
    let variable = |agent: Agent| agent.home().variable;
    let beside = Agent::ALL.iter().filter(|other| variable(**other).is_some() && variable(**other) == variable(agent));
    let others = beside.copied().filter(|other| *other != agent);
    let all = std::iter::once(agent).chain(others);
    all.flat_map(|agent| Root::of_agent(agent, Path::new(&root.config_dir))).collect()
}

/// Returns why a directory named by an environment variable is not read, by the rules of [`Roots::admit_claude_code`] except for
/// tracked projects, which are unknown before a daemon runs. Returns `None` if it is read or cannot hold transcripts
/// yet. Blocks for short disk reads.
pub fn why_unfit(agent: Agent, directory: &Path, works_in: &[String]) -> Option<String> {
    if has_no_transcript_folder(agent, directory) {
        return None;
    }
    let own = homes_of(usual_roots());
    let grounds = Grounds { projects: Vec::new(), works_in: works_in.to_vec(), own };
    admission::check(agent, directory, &grounds).err()
}

/// True if an agent's directory has none of its transcript folders. Blocks for short disk reads.
pub fn has_no_transcript_folder(agent: Agent, directory: &Path) -> bool {
    Root::of_agent(agent, directory).iter().all(|root| matches!(root.projects.try_exists(), Ok(false)))
}

/// Returns the agents' default roots in the user's home directory.
fn usual_roots() -> Vec<Root> {
    let user = std::env::home_dir().filter(|home| home.is_absolute());
    let main = |home: &PathBuf, agent: Agent| Root::of_agent(agent, &home.join(agent.home().directory));
    let all = |home: &PathBuf, agent: Agent| [main(home, agent), Root::additional(agent, home).collect()].concat();
    user.iter().flat_map(|home| Agent::ALL.iter().flat_map(move |agent| all(home, *agent))).collect()
}

/// Returns the directories of roots, both as written and with links above them resolved. Blocks for short disk reads.
fn homes_of(roots: impl IntoIterator<Item = Root>) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    for root in roots {
        let Some(directory) = root.projects.parent().map(Path::to_owned) else { continue };
        if homes.contains(&directory) {
            continue;
        }
        if let (Some(above), Some(name)) = (directory.parent(), directory.file_name())
            && let Ok(above) = std::fs::canonicalize(above)
        {
            homes.push(above.join(name));
        }
        homes.push(directory);
    }
    homes
}

const _: () = assert!(REFUSED_MAX >= ROOTS_MAX);

#[cfg(test)]
mod tests;
