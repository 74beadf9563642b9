//! The watcher: knows which transcripts exist and which of them have changed since a session read them.
//!
//! It reads no content. Change notification is a hint that a path is worth a look; a periodic sweep over everything
//! covers what notification misses (files in directories made a moment ago above all), and every query looks for itself
//! with [`Handle::refresh`]. After a restart it knows nothing and compares with the session table.

mod changes;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton_events::conversation::Agent;
use baton_events::session::{Phase, State as SessionState, Why};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::files::{FileSeen, FileStat};
use crate::limits;
use crate::roots::Roots;
use crate::settings::{Settings, SettingsReader};
use crate::slot::{CallError, Slot};
use crate::supervisor;
use crate::table::TableReader;

use changes::Changes;
use scan::Scan;

/// A directory whose transcripts are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Which agent writes there.
    pub agent: Agent,
    /// The directory with one folder per project, absolute.
    pub projects: PathBuf,
}

impl Root {
    /// The root that Claude Code writes below its directory (`~/.claude`).
    pub fn claude_code(config_dir: &Path) -> Self {
        Self { agent: Agent::ClaudeCode, projects: config_dir.join("projects") }
    }
}

/// What the watcher needs.
#[derive(Clone)]
pub struct Options {
    /// Where to look.
    pub roots: Arc<Roots>,
    /// What is passed over is looked at again when they change.
    pub settings: SettingsReader,
    /// How far each session's file was read.
    pub table: TableReader,
    /// Is told of changes.
    pub supervisor: supervisor::Handle,
}

/// Reaches the watcher.
#[derive(Clone, Default)]
pub struct Handle(pub(crate) Slot<Msg>);

impl Handle {
    /// Looks at every transcript now, and answers those that no session has read to their present end, newest first.
    /// Sessions are not told: the caller does what it wants done.
    pub async fn refresh(&self) -> Result<Vec<FileSeen>, CallError> {
        self.0.call(Msg::Refresh, Duration::from_secs(60)).await
    }

    /// A session has read a file as far as it went when it was seen like this.
    pub fn checked(&self, file: FileSeen) {
        self.0.cast(Msg::Checked(file));
    }

    /// A session has not read a file, because these settings say so: others may say otherwise.
    pub fn passed_over(&self, file: FileSeen, under: Arc<Settings>) {
        self.0.cast(Msg::PassedOver(file, under));
    }

    /// Every transcript whose session's id begins with this text, whether read or not.
    pub async fn find(&self, id: &str) -> Result<Vec<FileSeen>, CallError> {
        self.0.call(|reply| Msg::Find(id.to_owned(), reply), Duration::from_secs(60)).await
    }

    /// A file claims a session that is read from another one.
    pub fn second_file(&self, file: &FileSeen) {
        self.0.cast(Msg::SecondFile(file.clone()));
    }

    /// What is watched, and how.
    pub async fn overview(&self) -> Result<Overview, CallError> {
        self.0.call(Msg::Overview, Duration::from_secs(60)).await
    }
}

/// What is watched, and how.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Each root, whether it is there, and whether change notification works for it.
    pub roots: Vec<(PathBuf, bool, bool)>,
    /// Transcripts found.
    pub transcripts: u64,
    /// Files of one session beside the one that is read, by path.
    pub second_files: Vec<String>,
    /// What could not be looked at, with the reason.
    pub unreachable: Vec<String>,
    /// Transcripts beyond the bound, not looked at.
    pub left_out: u64,
}

pub(crate) enum Msg {
    /// Look at everything and tell the supervisor.
    Sweep,
    /// Change notification has something.
    Changed,
    /// It has had time to gather what belongs together.
    Gathered,
    Refresh(RpcReplyPort<Vec<FileSeen>>),
    /// Settings or roots have changed.
    Reconfigured,
    Find(String, RpcReplyPort<Vec<FileSeen>>),
    Checked(FileSeen),
    PassedOver(FileSeen, Arc<Settings>),
    SecondFile(FileSeen),
    Overview(RpcReplyPort<Overview>),
}

pub(crate) struct WatcherActor;

pub(crate) struct State {
    options: Options,
    changes: Changes,
    /// Each transcript by path, as it was when a session had last read it to its end.
    checked: BTreeMap<String, FileStat>,
    /// Files that claim another file's session, as they were when that was found out.
    second: BTreeMap<String, FileStat>,
    /// Transcripts that were not read because of the settings, by path; checked as well.
    passed_over: BTreeSet<String>,
    last: Scan,
}

impl Actor for WatcherActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Options;

    async fn pre_start(&self, myself: ActorRef<Msg>, options: Options) -> Result<State, ActorProcessingErr> {
        let changes = Changes::new(myself.clone());
        myself.send_message(Msg::Sweep)?;
        myself.send_interval(limits::SWEEP, || Msg::Sweep);
        tokio::spawn(follow(myself, options.settings.clone(), options.roots.changes()));
        Ok(State {
            options,
            changes,
            checked: BTreeMap::new(),
            second: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            last: Scan::default(),
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Sweep | Msg::Reconfigured => {
                state.changes.watch(&state.options.roots.now());
                let unread = state.scan().await;
                state.options.supervisor.seen(unread);
            }
            // Not slept away here: a search that comes meanwhile asks for a look of its own, and must not wait.
            Msg::Changed => drop(myself.send_after(limits::GATHER, || Msg::Gathered)),
            Msg::Gathered => {
                let unread = match state.changes.take() {
                    Some(paths) => state.look_at(paths).await,
                    None => state.scan().await,
                };
                state.options.supervisor.seen(unread);
            }
            Msg::Refresh(reply) => {
                let _ = reply.send(state.scan().await);
            }
            Msg::Find(id, reply) => {
                let _ = reply.send(state.find(&id).await);
            }
            Msg::PassedOver(file, under) => {
                if Arc::ptr_eq(&under, &state.options.settings.borrow())
                    && !state.options.settings.has_changed().unwrap_or(false)
                {
                    state.passed_over.insert(file.path.clone());
                    state.checked.insert(file.path, file.stat);
                }
            }
            Msg::Checked(file) => {
                state.second.remove(&file.path);
                state.checked.insert(file.path, file.stat);
            }
            Msg::SecondFile(file) => {
                state.second.insert(file.path.clone(), file.stat);
                state.checked.insert(file.path, file.stat);
            }
            Msg::Overview(reply) => {
                let _ = reply.send(state.overview());
            }
        }
        Ok(())
    }
}

impl State {
    /// Looks at everything. Answers what is unread, newest first.
    async fn scan(&mut self) -> Vec<FileSeen> {
        self.reconsider();
        let roots = self.options.roots.now();
        let Ok(scan) = tokio::task::spawn_blocking(move || scan::everything(&roots)).await else {
            tracing::error!("looking for transcripts broke");
            return Vec::new();
        };
        self.last = scan;
        let files = std::mem::take(&mut self.last.files);
        let present: std::collections::BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        self.checked.retain(|path, _| present.contains(path.as_str()));
        self.second.retain(|path, _| present.contains(path.as_str()));
        self.passed_over.retain(|path| present.contains(path.as_str()));
        self.last.transcripts = files.len() as u64;
        self.unread(files)
    }

    /// Looks at some paths.
    async fn look_at(&mut self, paths: Vec<PathBuf>) -> Vec<FileSeen> {
        self.reconsider();
        let roots = self.options.roots.now();
        let files = tokio::task::spawn_blocking(move || scan::some(&roots, &paths)).await.unwrap_or_default();
        self.unread(files)
    }

    /// Transcripts of sessions whose id begins so.
    async fn find(&self, id: &str) -> Vec<FileSeen> {
        let (roots, id) = (self.options.roots.now(), id.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            let files = scan::everything(&roots).files.into_iter();
            files.filter(|file| file.session.as_str().starts_with(&id)).collect()
        });
        found.await.unwrap_or_default()
    }

    /// What the settings had passed over is new again when they are others.
    fn reconsider(&mut self) {
        if self.options.settings.has_changed().unwrap_or(false) {
            self.options.settings.mark_unchanged();
            for path in std::mem::take(&mut self.passed_over) {
                self.checked.remove(&path);
            }
        }
    }

    fn unread(&mut self, files: Vec<FileSeen>) -> Vec<FileSeen> {
        let table = self.options.table.borrow().clone();
        let mut unread: Vec<FileSeen> = files
            .into_iter()
            .filter(|file| match self.checked.get(&file.path) {
                Some(stat) => *stat != file.stat,
                None => {
                    let read = table.get(&file.session).is_some_and(|row| is_read(&row.state, file));
                    if read {
                        self.checked.insert(file.path.clone(), file.stat);
                    }
                    !read
                }
            })
            .collect();
        unread.sort_by(|a, b| (b.stat, &b.path).cmp(&(a.stat, &a.path)));
        unread
    }

    fn overview(&self) -> Overview {
        Overview {
            roots: self
                .options
                .roots
                .now()
                .iter()
                .map(|root| (root.projects.clone(), root.projects.is_dir(), self.changes.watches(&root.projects)))
                .collect(),
            transcripts: self.last.transcripts,
            second_files: self.second.keys().cloned().collect(),
            unreachable: self.last.unreachable.clone(),
            left_out: self.last.left_out,
        }
    }
}

/// Whether the session has read this very file to its present end, as far as size and identity tell. Only asked of
/// files that this process has not seen read.
fn is_read(state: &SessionState, file: &FileSeen) -> bool {
    // One that was gone was not read when it went, whatever its size says.
    state.phase != Phase::Unindexed(Why::Gone)
        && state.transcript.as_ref().is_some_and(|known| {
            known.path == file.path && known.identity == file.identity && state.read.offset == file.stat.size
        })
}

/// Tells the watcher when something that it goes by is another than before, as long as it lives.
async fn follow(watcher: ActorRef<Msg>, mut settings: SettingsReader, mut roots: tokio::sync::watch::Receiver<u64>) {
    loop {
        tokio::select! {
            changed = settings.changed() => if changed.is_err() { return },
            changed = roots.changed() => if changed.is_err() { return },
        }
        if watcher.send_message(Msg::Reconfigured).is_err() {
            return;
        }
    }
}

/// The notification thread's way to say that something is there.
type Nudge = Arc<dyn Fn() + Send + Sync>;
