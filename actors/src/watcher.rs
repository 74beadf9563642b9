//! The watcher: knows which transcripts exist and which of them have changed since a session read them.
//!
//! It reads no content. Where change notification can be relied upon ([`changes`]), a query looks only at what was told
//! since, and at the folders' times of change; else, and every [`limits::SWEEP`] in any case (less often where a look takes
//! long), at everything. What could not be watched is tried again after a while. After a restart it knows nothing and compares
//! with the session table.

mod changes;
mod known;
mod marker;
mod scan;
mod swept;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_events::conversation::Agent;
use baton_events::session::Place;
use baton_events::transcript;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::files::FileSeen;
use crate::limits;
use crate::roots::Roots;
use crate::settings::{Settings, SettingsReader};
use crate::slot::{CallError, Slot};
use crate::supervisor;
use crate::table::TableReader;

pub use swept::Swept;

use changes::{Changes, Taken};
use known::{Known, Until};
use scan::{Scan, Stamps};

/// A directory whose transcripts are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Which agent writes there.
    pub agent: Agent,
    /// The directory below which its transcripts lie, absolute: with one folder per project, or per year.
    pub projects: PathBuf,
}

impl Root {
    /// The root that Claude Code writes below its directory (`~/.claude`).
    pub fn claude_code(config_dir: &Path) -> Self {
        Self { agent: Agent::ClaudeCode, projects: config_dir.join("projects") }
    }

    /// The roots that an agent writes below its directory: Codex has an archive beside its sessions.
    pub fn of(agent: Agent, directory: &Path) -> Vec<Self> {
        let folders = transcript::layout(agent).folders.iter();
        folders.map(|folder| Self { agent, projects: directory.join(folder) }).collect()
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
    /// A folder of the home in which files may be made to see their own change come by.
    pub markers: PathBuf,
}

/// Longest wait for an answer: a look at everything on a slow disk.
const LOOK: Duration = Duration::from_secs(60);

/// Reaches the watcher.
#[derive(Clone, Default)]
pub struct Handle(pub(crate) Slot<Msg>);

impl Handle {
    /// Looks at every transcript that may have changed, and answers those that no session has read to their present end,
    /// newest first.
    /// Sessions are not told: the caller does what it wants done.
    pub async fn refresh(&self) -> Result<Vec<FileSeen>, CallError> {
        self.0.ask(Msg::Refresh, LOOK).await
    }

    /// A session has read a file as far as it went when it was seen like this.
    pub fn checked(&self, file: FileSeen) {
        self.0.cast(Msg::Checked(file));
    }

    /// A session that works there, as far as is known, has not read a file, because these settings say so: others may say
    /// otherwise.
    pub fn passed_over(&self, file: FileSeen, under: Arc<Settings>, place: Option<Place>) {
        self.0.cast(Msg::PassedOver(file, under, place));
    }

    /// Every transcript whose session's id begins with this text, whether read or not.
    pub async fn find(&self, id: &str) -> Result<Vec<FileSeen>, CallError> {
        self.0.ask(|reply| Msg::Find(id.to_owned(), reply), LOOK).await
    }

    /// Somebody says that a transcript was written to: it is looked at soon, as if change notification had said so.
    pub fn look(&self, path: PathBuf) {
        self.0.cast(Msg::Look(path));
    }

    /// A file claims a session that is read from another one.
    pub fn second_file(&self, file: &FileSeen) {
        self.0.cast(Msg::SecondFile(file.clone()));
    }

    /// What is watched, and how.
    pub async fn overview(&self) -> Result<Overview, CallError> {
        self.0.ask(Msg::Overview, LOOK).await
    }
}

/// What is watched, and how.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Each root.
    pub roots: Vec<RootSeen>,
    /// How often everything is looked at, whatever is announced.
    pub swept_every: Duration,
    /// Transcripts found.
    pub transcripts: u64,
    /// Files of one session beside the one that is read, by path.
    pub second_files: Vec<String>,
    /// What could not be looked at, with the reason.
    pub unreachable: Vec<String>,
    /// Transcripts beyond the bound, not looked at.
    pub left_out: u64,
    /// Folders and transcripts whose name is no UTF-8, which are passed over: the first ones, as far as they can be shown.
    pub nameless: Vec<String>,
    /// How many those are.
    pub nameless_count: u64,
    /// Whether everything was looked at at least once.
    pub looked: bool,
}

/// How a root is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSeen {
    /// The directory.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Why changes in it are not announced, if they are not; `None` for one that is not there.
    pub swept: Option<Swept>,
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
    PassedOver(FileSeen, Arc<Settings>, Option<Place>),
    SecondFile(FileSeen),
    /// A file may have changed.
    Look(PathBuf),
    Overview(RpcReplyPort<Overview>),
}

pub(crate) struct WatcherActor;

pub(crate) struct State {
    options: Options,
    /// The roots as they were when everything was last looked at.
    roots: Vec<Root>,
    changes: Changes,
    known: Known,
    last: Scan,
    /// How long the last look at everything took.
    took: Duration,
    /// Whether everything was looked at while it was watched: then what was told since is all there is.
    covered: bool,
    looked: bool,
}

impl Actor for WatcherActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Options;

    async fn pre_start(&self, myself: ActorRef<Msg>, options: Options) -> Result<State, ActorProcessingErr> {
        let watcher = myself.clone();
        let nudge: Nudge = Arc::new(move || drop(watcher.send_message(Msg::Changed)));
        let changes = Changes::new(nudge, &options.markers, changes::of_the_system());
        myself.send_message(Msg::Sweep)?;
        tokio::spawn(follow(myself, options.settings.clone(), options.roots.changes()));
        let known = Known::new(options.table.clone());
        let roots = Vec::new();
        Ok(State {
            options,
            roots,
            changes,
            known,
            last: Scan::default(),
            took: Duration::ZERO,
            covered: false,
            looked: false,
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Sweep => {
                state.sweep().await;
                drop(myself.send_after(pause_after(state.took), || Msg::Sweep));
            }
            Msg::Reconfigured => state.sweep().await,
            // Not slept away here: a search that comes meanwhile asks for a look of its own, and must not wait.
            Msg::Changed => drop(myself.send_after(limits::GATHER, || Msg::Gathered)),
            Msg::Gathered => match state.changes.take() {
                Some(taken) if state.covered => {
                    let unread = state.look_at(taken).await;
                    state.options.supervisor.seen(unread);
                }
                _ => {
                    state.scan().await;
                    state.tell();
                }
            },
            Msg::Refresh(reply) => {
                state.look().await;
                let _ = reply.send(state.known.unread());
            }
            Msg::Find(id, reply) => {
                let _ = reply.send(find(state.options.roots.now(), id).await);
            }
            Msg::PassedOver(file, under, place) => {
                if Arc::ptr_eq(&under, &state.options.settings.now()) && !state.is_reconfigured() {
                    // Where projects decide, one that does not say yet where it works may still say so.
                    let is_settled = place.is_some() || !under.switches.depend_on_project();
                    state.known.passed_over(file, if is_settled { Until::OtherSettings } else { Until::Change });
                }
            }
            Msg::Checked(file) => state.known.checked(file),
            Msg::SecondFile(file) => state.known.second(file),
            Msg::Look(path) => state.changes.tell(path),
            Msg::Overview(reply) => {
                let _ = reply.send(state.overview());
            }
        }
        Ok(())
    }
}

impl State {
    async fn sweep(&mut self) {
        self.changes.mend(&self.options.roots.now());
        self.scan().await;
        self.tell();
    }

    fn tell(&mut self) {
        self.options.supervisor.seen(self.known.unread());
    }

    /// Whether something was passed over under settings that are others now.
    fn is_reconfigured(&self) -> bool {
        self.options.settings.has_changed()
    }

    /// Whether what was told since the last look at everything is all there is.
    fn is_covered(&self) -> bool {
        self.covered
            && !self.is_reconfigured()
            && self.changes.trusts(&self.roots)
            && self.roots == self.options.roots.now()
    }

    /// Looks at whatever may have changed.
    async fn look(&mut self) {
        if self.is_covered() && self.changes.barrier().await {
            match self.changes.take() {
                Some(taken) => drop(self.look_at(taken).await),
                None => self.scan().await,
            }
        } else {
            self.scan().await;
        }
    }

    /// Looks at everything.
    async fn scan(&mut self) {
        if self.is_reconfigured() {
            // What the settings had passed over is new again when they are others.
            self.options.settings.mark_seen();
            self.known.reconsider();
        }
        self.roots = self.options.roots.now();
        self.changes.watch(&self.roots);
        let is_watched = self.changes.trusts(&self.roots);
        // What was told so far is seen now; what is told from now on may not be.
        let _ = self.changes.take();
        let (roots, began) = (self.roots.clone(), Instant::now());
        let Ok(mut scan) = tokio::task::spawn_blocking(move || scan::everything(&roots)).await else {
            tracing::error!("looking for transcripts broke");
            self.covered = false;
            return;
        };
        self.took = began.elapsed();
        self.known.replace(std::mem::take(&mut scan.files));
        self.covered = is_watched && !scan.linked && scan.unreachable.is_empty() && scan.left_out == 0;
        self.last = scan;
        self.looked = true;
    }

    /// Looks at what was told, at what is not told, and at folders that something was added to. What of it is unread.
    async fn look_at(&mut self, taken: Taken) -> Vec<FileSeen> {
        if !taken.folders.is_empty() {
            self.changes.settle();
        }
        let roots = self.roots.clone();
        let (stamps, elsewhere) = (std::mem::take(&mut self.last.stamps), self.last.elsewhere.clone());
        let looking = tokio::task::spawn_blocking(move || Look::at(&roots, taken, stamps, elsewhere));
        let Ok(look) = looking.await else {
            tracing::error!("looking for transcripts broke");
            self.covered = false;
            return Vec::new();
        };
        let mut unread = Vec::new();
        for (folder, files) in look.folders {
            unread.extend(self.known.replace_below(&folder, files));
        }
        for (path, file) in look.files {
            unread.extend(self.known.note(&path, file));
        }
        self.last.stamps = look.stamps;
        self.last.elsewhere.extend(look.elsewhere);
        self.covered &= !look.is_odd;
        self.known.moved_first(&mut unread);
        unread
    }

    fn overview(&self) -> Overview {
        let seen = |root: Root| {
            let exists = root.projects.is_dir();
            let swept = if exists { self.changes.swept(&root.projects) } else { None };
            RootSeen { path: root.projects, exists, swept }
        };
        Overview {
            roots: self.options.roots.now().into_iter().map(seen).collect(),
            swept_every: pause_after(self.took),
            transcripts: self.known.count(),
            second_files: self.known.second_files(),
            unreachable: self.last.unreachable.clone(),
            left_out: self.last.left_out,
            nameless: self.last.nameless.clone(),
            nameless_count: self.last.nameless_count,
            looked: self.looked,
        }
    }
}

/// Transcripts of sessions whose id begins so.
async fn find(roots: Vec<Root>, id: String) -> Vec<FileSeen> {
    let found = tokio::task::spawn_blocking(move || {
        let files = scan::everything(&roots).files.into_iter();
        files.filter(|file| file.session.as_str().starts_with(&id)).collect()
    });
    found.await.unwrap_or_default()
}

/// When everything is looked at again after a look that took so long: looking may not become what the machine is busy with.
fn pause_after(took: Duration) -> Duration {
    (took * limits::SWEEP_SHARE).clamp(limits::SWEEP, limits::SWEEP_MAX)
}

/// What a look at a few files and folders has found.
#[derive(Default)]
struct Look {
    files: Vec<(PathBuf, Option<FileSeen>)>,
    folders: Vec<(PathBuf, Vec<FileSeen>)>,
    stamps: Stamps,
    elsewhere: std::collections::BTreeSet<PathBuf>,
    /// Something that is not told of was met: everything has to be looked at from now on.
    is_odd: bool,
}

impl Look {
    fn at(roots: &[Root], taken: Taken, stamps: Stamps, elsewhere: std::collections::BTreeSet<PathBuf>) -> Self {
        let mut look = Self { stamps, ..Self::default() };
        let mut folders = taken.folders;
        folders.extend(scan::changed(&look.stamps));
        for folder in folders {
            // What lies below one that was looked at was looked at with it.
            if look.folders.iter().any(|(above, _)| folder.starts_with(above)) {
                continue;
            }
            look.stamps.retain(|stamped, _| !stamped.starts_with(&folder));
            let found = scan::below(roots, &folder);
            look.is_odd |= found.linked || !found.unreachable.is_empty() || found.left_out > 0;
            look.stamps.extend(found.stamps);
            look.elsewhere.extend(found.elsewhere);
            look.folders.push((folder, found.files));
        }
        let files = taken.files.into_iter().chain(elsewhere);
        look.files = files.map(|path| (path.clone(), scan::one(roots, &path))).collect();
        look
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_less_often() {
        for (took_ms, seconds) in [(0, 30), (300, 30), (1_000, 50), (4_000, 200), (60_000, 600)] {
            assert_eq!(pause_after(Duration::from_millis(took_ms)).as_secs(), seconds, "{took_ms} ms");
        }
    }
}
