//! The watcher: knows which transcripts exist and which of them have changed since a session read them.
//!
//! It reads no content. Where change notification can be relied upon ([`changes`]), a query looks only at what was told
//! since, and at the folders' times of change; else, and every [`limits::SWEEP`] in any case (less often where a look takes
//! long), at everything. What could not be watched is tried again after a while. After a restart it knows nothing and compares
//! with the session table.

mod changes;
mod finding;
mod known;
mod look;
mod marker;
mod scan;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_events::session::Place;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};
use tokio::task::JoinHandle;

use crate::transcript_roots::{Look as RootsSeen, Roots, Swept};
use baton_base::actor_address::{ActorAddress, CallError};
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::transcript_file::FileSeen;
use baton_base::transcript_root::Root;
use baton_config::settings::{Settings, SettingsReader};
use baton_journal::session_table::TableReader;

use changes::Changes;
use finding::Finding;
use known::{Known, Until};
use look::Look;
use scan::Scan;
use walk::{Walk, Walked, Walks};

/// What the watcher needs.
#[derive(Clone)]
pub struct Options {
    /// Where to look.
    pub roots: Arc<Roots>,
    /// What is passed over is looked at again when they change.
    pub settings: SettingsReader,
    /// How far each session's file was read.
    pub table: TableReader,
    /// Receives what is unread.
    pub backlog: Arc<dyn Backlog>,
    /// A folder of the home in which files may be made to see their own change come by.
    pub markers: PathBuf,
    /// Sees how the loop that follows the settings ends.
    pub tasks: TaskSupervisor,
}

/// Where the watcher sends the transcripts that no session has read to their end.
pub trait Backlog: Send + Sync {
    /// Adds transcripts that are new or have changed, in the order in which to read them.
    fn add(&self, files: Vec<FileSeen>);

    /// Adds a page of unread transcripts; its counts replace those of the page before.
    fn add_page(&self, page: Page);
}

/// Some of the transcripts that no session has read to their present end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order in which to read them.
    pub files: Vec<FileSeen>,
    /// How many there are behind these: [`Handle::more`] tells of them.
    pub beyond: u64,
    /// How many bytes those have.
    pub bytes: u64,
}

/// Longest wait for an answer: a look at everything on a slow disk.
pub(crate) const LOOK: Duration = Duration::from_secs(60);

/// Reaches the watcher.
#[derive(Clone, Default)]
pub struct Handle(Slot<Msg>, Arc<AtomicU64>);

impl Handle {
    /// Starts a watcher, linked to its supervisor, in place of the one before.
    pub(crate) async fn start(&self, options: Options, supervisor: ActorCell) -> Result<ActorId, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, WatcherActor, (options, self.1.clone()), supervisor).await?;
        self.0.put(actor.clone());
        Ok(actor.get_id())
    }

    /// The current incarnation.
    #[cfg(test)]
    pub(crate) fn actor(&self) -> Option<ActorCell> {
        self.0.get().map(|actor| actor.get_cell())
    }

    /// Looks at every transcript that may have changed, and answers those that no session has read to their present end,
    /// newest first.
    /// Sessions are not told: the caller does what it wants done.
    pub async fn refresh(&self) -> Result<Vec<FileSeen>, CallError> {
        Ok(self.newest(usize::MAX, LOOK).await?.files)
    }

    /// The same within so long and of so many, for whoever cannot wait. An error: nobody knows what has changed by now.
    pub async fn newest(&self, most: usize, within: Duration) -> Result<Unread, CallError> {
        self.0.ask(|reply| Msg::Refresh(most, reply), within).await
    }

    /// Whether there are so many transcripts, read or not, as far as somebody has looked, that a look at all of them takes its
    /// time.
    pub fn is_large(&self) -> bool {
        self.come_by() > limits::LOOKED_AT_ONCE
    }

    /// How many transcripts, read or not, the last look at everything has come by so far.
    pub fn come_by(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    /// What was unread when somebody last looked. Nothing is looked at.
    pub async fn unread(&self, most: usize, within: Duration) -> Result<Unread, CallError> {
        self.0.ask(|reply| Msg::Unread(most, reply), within).await
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
    ///
    /// # Errors
    ///
    /// [`CallError::TimedOut`] also where none was found and not every root could be looked at.
    pub async fn find(&self, id: &str) -> Result<Vec<FileSeen>, CallError> {
        self.0.ask(|reply| Msg::Find(id.to_owned(), reply), LOOK).await?.ok_or(CallError::TimedOut)
    }

    /// Somebody says that a transcript was written to: it is looked at soon, as if change notification had said so.
    pub fn look(&self, path: PathBuf) {
        self.0.cast(Msg::Look(path));
    }

    /// A file claims a session that is read from another one.
    pub fn second_file(&self, file: &FileSeen) {
        self.0.cast(Msg::SecondFile(file.clone()));
    }

    /// Has the supervisor told of the next of what is unread.
    pub fn more(&self) {
        self.0.cast(Msg::More);
    }

    /// What is watched, and how.
    pub async fn overview(&self) -> Result<Overview, CallError> {
        self.0.ask(Msg::Overview, LOOK).await
    }
}

/// Transcripts that no session has read to their present end.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// As many of them as were asked for, newest first.
    pub files: Vec<FileSeen>,
    /// How many more there are.
    pub beyond: u64,
    /// Roots of which that is not known, because they do not answer.
    pub hung: Vec<PathBuf>,
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

enum Msg {
    /// Look at everything and tell the supervisor.
    Sweep,
    /// Change notification has something.
    Changed,
    /// It has had time to gather what belongs together.
    Gathered,
    Refresh(usize, RpcReplyPort<Unread>),
    Unread(usize, RpcReplyPort<Unread>),
    /// The supervisor has room for more.
    More,
    /// A look at everything has come to its end.
    Walked(Box<Walked>),
    /// Settings or roots have changed.
    Reconfigured,
    Find(String, RpcReplyPort<Option<Vec<FileSeen>>>),
    Checked(FileSeen),
    PassedOver(FileSeen, Arc<Settings>, Option<Place>),
    SecondFile(FileSeen),
    /// A file may have changed.
    Look(PathBuf),
    Overview(RpcReplyPort<Overview>),
}

struct WatcherActor;

struct State {
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
    /// Whether everything was looked at once, watched or not.
    glanced: bool,
    walks: Walks,
    /// The look at everything that is under way.
    walk: Option<Walk>,
    /// Roots that did not answer.
    hung: Vec<Root>,
    /// A look at what has changed that has not come back.
    looking: Option<JoinHandle<Look>>,
    finding: Finding,
    /// Who waits for the first look at everything.
    early: Vec<RpcReplyPort<Overview>>,
}

impl Actor for WatcherActor {
    type Msg = Msg;
    type State = State;
    /// With the count that its [`Handle`] shows.
    type Arguments = (Options, Arc<AtomicU64>);

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        (options, counted): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        let watcher = myself.clone();
        let nudge: Nudge = Arc::new(move || drop(watcher.send_message(Msg::Changed)));
        let changes = Changes::new(nudge, &options.markers, changes::of_the_system());
        myself.send_message(Msg::Sweep)?;
        let (settings, roots) = (options.settings.clone(), options.roots.clone());
        options.tasks.spawn("roots", move || follow(myself.clone(), settings.clone(), roots.changes()));
        let (known, walks) = (Known::new(options.table.clone()), Walks::counting(counted));
        Ok(State {
            options,
            roots: Vec::new(),
            changes,
            known,
            last: Scan::default(),
            took: Duration::ZERO,
            covered: false,
            looked: false,
            glanced: false,
            walks,
            walk: None,
            hung: Vec::new(),
            looking: None,
            finding: Finding::default(),
            early: Vec::new(),
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Sweep => {
                let seen = state.options.roots.look().await;
                state.changes.mend(&seen.answered).await;
                state.walk(&myself, seen, |walk| walk.is_sweep = true).await;
            }
            Msg::Reconfigured => {
                let seen = state.options.roots.look().await;
                state.changes.mend(&seen.answered).await;
                state.walk(&myself, seen, |walk| walk.tells = true).await;
            }
            Msg::Walked(walked) => state.walked(&myself, *walked).await,
            // Not slept away here: a search that comes meanwhile asks for a look of its own, and must not wait.
            Msg::Changed => drop(myself.send_after(limits::GATHER, || Msg::Gathered)),
            Msg::Gathered => state.gathered(&myself).await,
            Msg::Refresh(most, reply) => state.refresh(&myself, most, reply).await,
            Msg::Unread(most, reply) => drop(reply.send(state.unread(most))),
            Msg::More => state.options.backlog.add_page(state.known.next_page(limits::BACKLOG_PAGE)),
            Msg::Find(id, reply) => state.find(id, reply).await,
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
            Msg::Overview(reply) if !state.looked => state.early.push(reply),
            Msg::Overview(reply) => {
                let _ = reply.send(state.overview().await);
            }
        }
        Ok(())
    }
}

impl State {
    /// Whether something was passed over under settings that are others now.
    fn is_reconfigured(&self) -> bool {
        self.options.settings.has_changed()
    }

    /// Whether what was told since the last look at everything is all there is.
    fn is_covered(&self, seen: &RootsSeen) -> bool {
        self.covered
            && !self.is_reconfigured()
            && self.changes.trusts(&seen.answered)
            && seen.answered.iter().map(|looked| &looked.root).eq(&self.roots)
    }

    /// Looks at whatever may have changed, and answers when that is done.
    async fn refresh(&mut self, myself: &ActorRef<Msg>, most: usize, reply: RpcReplyPort<Unread>) {
        let seen = self.options.roots.look().await;
        if self.is_covered(&seen)
            && self.changes.barrier().await
            && let Some(taken) = self.changes.take()
            && let Some(changed) = self.look_at(taken).await
        {
            let unread = self.unread(most);
            if unread.beyond > 0 {
                // Whoever asks is told of the newest alone.
                self.options.backlog.add(changed);
            }
            let _ = reply.send(unread);
            return;
        }
        self.walk(myself, seen, |walk| walk.waiting.push((most, reply))).await;
    }

    /// Change notification has gathered something.
    async fn gathered(&mut self, myself: &ActorRef<Msg>) {
        match (self.changes.take(), &mut self.walk) {
            (Some(taken), _) if self.covered => {
                let unread = self.look_at(taken).await;
                self.options.backlog.add(unread.unwrap_or_default());
            }
            (Some(taken), Some(walk)) => walk.missed(taken),
            _ => {
                let seen = self.options.roots.look().await;
                self.walk(myself, seen, |walk| walk.tells = true).await;
            }
        }
    }

    /// What is unread, and where that is not known.
    fn unread(&mut self, most: usize) -> Unread {
        let hung = self.hung.iter().map(|root| root.projects.clone()).collect();
        Unread { hung, ..self.known.unread(most) }
    }

    /// Has the transcripts of a session looked for, in every root that answers.
    async fn find(&mut self, id: String, reply: RpcReplyPort<Option<Vec<FileSeen>>>) {
        let seen = self.options.roots.look().await;
        let all = seen.answered.len() + seen.hung.len();
        let answers = |root: &Root| self.hung.iter().all(|hung| hung.projects != root.projects);
        let roots: Vec<Root> = seen.answered.into_iter().map(|looked| looked.root).filter(answers).collect();
        let is_every_root = roots.len() == all;
        let finding = self.finding.find(roots, id);
        tokio::spawn(async move {
            let (found, is_all) = finding.await;
            drop(reply.send(Some(found).filter(|found| !found.is_empty() || (is_all && is_every_root))));
        });
    }

    async fn overview(&mut self) -> Overview {
        let seen = self.options.roots.look().await;
        let answered = seen.answered.iter().map(|looked| {
            let is_silent = self.hung.iter().any(|hung| hung.projects == looked.root.projects);
            let exists = looked.identity.is_some();
            let swept = || if is_silent { Some(Swept::Hung) } else { self.changes.swept(looked) };
            RootSeen { path: looked.root.projects.clone(), exists, swept: exists.then(swept).flatten() }
        });
        let hung = seen.hung.iter().map(|root| root.projects.clone());
        let hung = hung.map(|path| RootSeen { path, exists: true, swept: Some(Swept::Hung) });
        Overview {
            roots: answered.chain(hung).collect(),
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

/// When everything is looked at again after a look that took so long: looking may not become what the machine is busy with.
fn pause_after(took: Duration) -> Duration {
    (took * limits::SWEEP_SHARE).clamp(limits::SWEEP, limits::SWEEP_MAX)
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
