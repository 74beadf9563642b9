//! The watcher: knows which transcripts exist and which have changed since a session read them.
//!
//! It reads no content, but the lists of sessions in files with many. Where change notification is reliable
//! ([`changes`]), a query looks only at the paths announced since the last look and at folders whose modification time
//! has changed. Otherwise, and in any case every [`limits::SWEEP`] (less often where a scan takes long), everything is
//! scanned. Roots that could not be watched are tried again after a while. A restarted watcher knows nothing and
//! compares with the session table.

mod changes;
mod look;
mod marker;
mod read_before;
mod read_states;
mod scan;
mod session_search;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_base::task::Task;
use baton_events::session::Place;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr};

use crate::transcript_roots::{Look as RootsSeen, Roots, Swept};
use baton_base::actor_address::{ActorAddress, CallError};
use baton_base::limits;
use baton_base::supervised_task::TaskSupervisor;
use baton_base::transcript_file::FileSeen;
use baton_base::transcript_root::Root;
use baton_config::settings::{Settings, SettingsReader};
use baton_journal::session_table::TableReader;

use changes::Changes;
use look::Look;
use read_before::ReadBefore;
use read_states::{KnownTranscripts, Until};
use scan::Scan;
pub use scan::Unusable;
use session_search::SessionSearch;
use walk::{Walk, Walked, Walks};

/// What the watcher is started with.
#[derive(Clone)]
pub struct Options {
    /// Where transcripts lie.
    pub roots: Arc<Roots>,
    /// Files skipped because of the settings are looked at again when these change.
    pub settings: SettingsReader,
    /// How far each session's file was read.
    pub table: TableReader,
    /// Receives the unread transcripts.
    pub backlog: Arc<dyn Backlog>,
    /// A folder in the home for marker files, whose own change events show that notification works, and for
    /// [`ReadBefore`].
    pub markers: PathBuf,
    /// Supervises the loop that follows settings and roots.
    pub tasks: TaskSupervisor,
}

/// Receives the transcripts that no session has read to their end.
pub trait Backlog: Send + Sync {
    /// Adds transcripts that are new or have changed, in the order in which to read them.
    fn add(&self, files: Vec<FileSeen>);

    /// Adds a page of unread transcripts. Its counts replace those of the previous page.
    fn add_page(&self, page: Page);
}

/// One page of the transcripts that no session has read to their current end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order in which to read them.
    pub files: Vec<FileSeen>,
    /// Number of transcripts beyond this page; [`Handle::request_page`] requests the next.
    pub beyond: u64,
    /// Total size of those in bytes.
    pub bytes: u64,
}

/// Longest wait for an answer, sized for a full scan on a slow disk.
pub const LOOK: Duration = Duration::from_secs(60);

/// Reaches the watcher.
#[derive(Clone, Default)]
pub struct Handle(ActorAddress<Msg>, Arc<AtomicU64>);

impl Handle {
    /// Starts a watcher linked to its supervisor, replacing the previous incarnation.
    pub(crate) async fn start(&self, options: Options, supervisor: ActorCell) -> Result<ActorId, SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, WatcherActor, (options, self.1.clone()), supervisor).await?;
        self.0.put(actor.clone());
        Ok(actor.get_id())
    }

    /// The current incarnation.
    #[cfg(feature = "faults")]
    pub fn actor(&self) -> Option<ActorCell> {
        self.0.get().map(|actor| actor.get_cell())
    }

    /// Looks at all transcripts that may have changed, and returns those not read to their current end, newest first.
    /// Does not notify their sessions.
    pub async fn refresh(&self) -> Result<Vec<FileSeen>, CallError> {
        Ok(self.newest(usize::MAX, LOOK).await?.files)
    }

    /// Like [`Self::refresh`], but returns at most `most` files and waits at most `within`. On an error it is unknown
    /// what has changed.
    pub async fn newest(&self, most: usize, within: Duration) -> Result<Unread, CallError> {
        self.0.ask(|reply| Msg::Refresh(most, reply), within).await
    }

    /// True if there are so many transcripts that a full scan takes a while, as far as the last scan has counted.
    pub fn is_large(&self) -> bool {
        self.transcript_count() > limits::LOOKED_AT_ONCE
    }

    /// Number of transcripts, read or not, counted by the last or running full scan.
    pub fn transcript_count(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    /// Returns what was unread at the last look, without a new one.
    pub async fn unread(&self, most: usize, within: Duration) -> Result<Unread, CallError> {
        self.0.ask(|reply| Msg::Unread(most, reply), within).await
    }

    /// Records that a session has read the file as far as it went in this state.
    pub fn checked(&self, file: FileSeen) {
        self.0.cast(Msg::Checked(file));
    }

    /// Records that a session has skipped the file because of these settings. `place` is where the session works, if
    /// known.
    pub fn passed_over(&self, file: FileSeen, under: Arc<Settings>, place: Option<Place>) {
        self.0.cast(Msg::PassedOver(file, under, place));
    }

    /// Returns every transcript, read or not, whose session id starts with this text.
    ///
    /// # Errors
    ///
    /// [`CallError::TimedOut`] also if nothing was found and some root could not be scanned.
    pub async fn find(&self, id: &str) -> Result<Vec<FileSeen>, CallError> {
        self.0.ask(|reply| Msg::Find(id.to_owned(), reply), LOOK).await?.ok_or(CallError::TimedOut)
    }

    /// Treats a transcript as changed, as if notification had announced it.
    pub fn look(&self, path: PathBuf) {
        self.0.cast(Msg::Look(path));
    }

    /// Records that a file claims a session that is read from another file.
    pub fn second_file(&self, file: &FileSeen) {
        self.0.cast(Msg::SecondFile(file.clone()));
    }

    /// Sends the next page of unread transcripts to the backlog.
    pub fn request_page(&self) {
        self.0.cast(Msg::More);
    }

    /// Saves what the next daemon need not read again.
    pub async fn save(&self) {
        let _ = self.0.ask(Msg::Save, limits::ROOT).await;
    }

    /// Returns what is watched, and how.
    pub async fn overview(&self) -> Result<Overview, CallError> {
        self.0.ask(Msg::Overview, LOOK).await
    }
}

/// Transcripts that no session has read to their current end.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// At most as many as requested, newest first.
    pub files: Vec<FileSeen>,
    /// Number of further ones.
    pub beyond: u64,
    /// Roots that do not answer, whose changes are unknown.
    pub hung: Vec<PathBuf>,
}

/// The state of the watcher.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The roots.
    pub roots: Vec<RootSeen>,
    /// Interval of full scans.
    pub swept_every: Duration,
    /// Number of transcripts found.
    pub transcripts: u64,
    /// Files that claim a session that is read from another file.
    pub second_files: Vec<FileSeen>,
    /// Paths that could not be scanned, with the reason.
    pub unreachable: Vec<String>,
    /// Transcripts beyond the limit, which are ignored.
    pub left_out: u64,
    /// Folders and transcripts that no session can be read from: the first ones.
    pub unusable: Vec<Unusable>,
    /// Total number of those.
    pub unusable_count: u64,
    /// True if a full scan has completed while the roots were watched.
    pub looked: bool,
}

/// A watched root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSeen {
    /// The root directory.
    pub path: PathBuf,
    /// True if the directory exists.
    pub exists: bool,
    /// Why changes below it are not announced; `None` if they are or if it does not exist.
    pub swept: Option<Swept>,
}

enum Msg {
    /// Scan everything and report to the backlog.
    Sweep,
    /// Change notification has something.
    Changed,
    /// Related changes had time to arrive: look at them.
    Gathered,
    Refresh(usize, RpcReplyPort<Unread>),
    /// Answer all callers that have asked for a look since the last one.
    Answer,
    Unread(usize, RpcReplyPort<Unread>),
    /// The backlog has room for another page.
    More,
    /// A full scan has ended.
    Walked(Box<Walked>),
    /// Settings or roots have changed.
    Reconfigured,
    Find(String, RpcReplyPort<Option<Vec<FileSeen>>>),
    Checked(FileSeen),
    PassedOver(FileSeen, Arc<Settings>, Option<Place>),
    SecondFile(FileSeen),
    /// This file may have changed.
    Look(PathBuf),
    /// A session works in a project that was not named before.
    Project,
    Save(RpcReplyPort<()>),
    Overview(RpcReplyPort<Overview>),
}

struct WatcherActor;

struct State {
    options: Options,
    /// The roots of the last full scan.
    roots: Vec<Root>,
    changes: Changes,
    known: KnownTranscripts,
    last: Scan,
    /// Duration of the last full scan.
    took: Duration,
    /// True if everything was scanned while it was watched: then only announced changes are unknown.
    covered: bool,
    looked: bool,
    /// True if everything was scanned once, watched or not.
    scanned: bool,
    walks: Walks,
    /// The full scan in progress.
    walk: Option<Walk>,
    /// Roots that do not answer.
    hung: Vec<Root>,
    /// A look at changes that has not returned in time.
    looking: Option<Task<Look>>,
    search: SessionSearch,
    /// Callers that wait for the first watched scan.
    early: Vec<RpcReplyPort<Overview>>,
    /// Callers that wait for the next look, which they share, each with the number of files that it wants.
    waiting: Vec<(usize, RpcReplyPort<Unread>)>,
}

impl Actor for WatcherActor {
    type Msg = Msg;
    type State = State;
    /// The second is the count that [`Handle::transcript_count`] reads.
    type Arguments = (Options, Arc<AtomicU64>);

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        (options, counted): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        let watcher = myself.clone();
        let nudge: Nudge = Arc::new(move || drop(watcher.send_message(Msg::Changed)));
        let changes = Changes::new(nudge, &options.markers, changes::system_notifier());
        myself.send_message(Msg::Sweep)?;
        let (settings, roots) = (options.settings.clone(), options.roots.clone());
        options.tasks.spawn("roots", move || follow(myself.clone(), settings.clone(), roots.changes()));
        let file = read_before::file(&options);
        let read_before = baton_base::task::spawn_blocking(move || ReadBefore::open(&file)).await?;
        let known = KnownTranscripts::new(options.table.clone(), read_before);
        let walks = Walks::counting(counted);
        Ok(State {
            options,
            roots: Vec::new(),
            changes,
            known,
            last: Scan::default(),
            took: Duration::ZERO,
            covered: false,
            looked: false,
            scanned: false,
            walks,
            walk: None,
            hung: Vec::new(),
            looking: None,
            search: SessionSearch::default(),
            early: Vec::new(),
            waiting: Vec::new(),
        })
    }

    async fn handle(&self, myself: ActorRef<Msg>, message: Msg, state: &mut State) -> Result<(), ActorProcessingErr> {
        match message {
            Msg::Sweep => {
                state.options.roots.look_for_stores().await;
                let seen = state.options.roots.look().await;
                state.changes.mend(&seen.answered).await;
                state.walk(&myself, seen, |walk| walk.is_sweep = true).await;
            }
            Msg::Reconfigured => {
                state.options.roots.look_for_stores().await;
                let seen = state.options.roots.look().await;
                state.changes.mend(&seen.answered).await;
                state.walk(&myself, seen, |walk| walk.tells = true).await;
            }
            Msg::Walked(walked) => state.walked(&myself, *walked).await,
            // Delayed by message rather than by sleeping, so that a search in between is not held up.
            Msg::Changed => drop(myself.send_after(limits::GATHER, || Msg::Gathered)),
            Msg::Gathered => state.gathered(&myself).await,
            Msg::Refresh(most, reply) => {
                state.waiting.push((most, reply));
                if state.waiting.len() == 1 {
                    myself.send_message(Msg::Answer)?;
                }
            }
            Msg::Answer => state.refresh(&myself).await,
            Msg::Unread(most, reply) => drop(reply.send(state.unread(most))),
            Msg::More => state.options.backlog.add_page(state.known.next_page(limits::BACKLOG_PAGE)),
            Msg::Find(id, reply) => state.find(id, reply).await,
            Msg::PassedOver(file, under, place) => {
                if Arc::ptr_eq(&under, &state.options.settings.now()) && !state.is_reconfigured() {
                    // Where switches depend on projects, a session that has not named its directory yet may still do
                    // so.
                    let is_settled = place.is_some() || !under.switches.depend_on_project();
                    state.known.passed_over(file, if is_settled { Until::OtherSettings } else { Until::Change });
                }
            }
            Msg::Checked(file) => {
                let table = state.options.table.now();
                let place = table.get(&file.session).and_then(|row| row.state.place.as_ref());
                if place.is_some_and(|place| state.options.roots.is_new_project(&place.project)) {
                    // Several are read at once when the daemon is new.
                    drop(myself.send_after(limits::GATHER, || Msg::Project));
                }
                state.known.checked(file);
            }
            Msg::Project => {
                if state.options.roots.look_for_stores().await {
                    let seen = state.options.roots.look().await;
                    state.walk(&myself, seen, |walk| walk.tells = true).await;
                }
            }
            Msg::SecondFile(file) => state.known.second(file),
            Msg::Look(path) => state.changes.add(path),
            Msg::Save(reply) => {
                state.save().await;
                let _ = reply.send(());
            }
            Msg::Overview(reply) if !state.looked => state.early.push(reply),
            Msg::Overview(reply) => {
                let _ = reply.send(state.overview().await);
            }
        }
        Ok(())
    }
}

impl State {
    /// True if the settings have changed since files were skipped.
    fn is_reconfigured(&self) -> bool {
        self.options.settings.has_changed()
    }

    /// True if everything but the announced changes is known.
    fn is_covered(&self, seen: &RootsSeen) -> bool {
        self.covered
            && !self.is_reconfigured()
            && self.changes.trusts(&seen.answered)
            && seen.answered.iter().map(|looked| &looked.root).eq(&self.roots)
    }

    /// Handles the changes gathered by notification.
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

    /// Returns the newest unread transcripts and the roots that do not answer.
    fn unread(&mut self, most: usize) -> Unread {
        let hung = self.hung.iter().map(|root| root.projects.clone()).collect();
        Unread { hung, ..self.known.unread(most) }
    }

    /// Searches all roots that answer for the transcripts of a session.
    async fn find(&mut self, id: String, reply: RpcReplyPort<Option<Vec<FileSeen>>>) {
        let seen = self.options.roots.look().await;
        let all = seen.answered.len() + seen.hung.len();
        let answers = |root: &Root| self.hung.iter().all(|hung| hung.projects != root.projects);
        let roots: Vec<Root> = seen.answered.into_iter().map(|looked| looked.root).filter(answers).collect();
        let is_every_root = roots.len() == all;
        let finding = self.search.find(roots, id);
        baton_base::task::spawn(async move {
            let (found, is_all) = finding.await;
            drop(reply.send(Some(found).filter(|found| !found.is_empty() || (is_all && is_every_root))));
        });
    }

    async fn overview(&mut self) -> Overview {
        let seen = self.options.roots.look().await;
        let answered = seen.answered.iter().map(|looked| {
            let is_silent = self.hung.iter().any(|hung| hung.projects == looked.root.projects);
            let exists = looked.identity.is_some();
            let swept = || if is_silent { Some(Swept::Hung) } else { self.changes.sweep_status(looked) };
            RootSeen { path: looked.root.projects.clone(), exists, swept: exists.then(swept).flatten() }
        });
        let hung = seen.hung.iter().map(|root| root.projects.clone());
        let hung = hung.map(|path| RootSeen { path, exists: true, swept: Some(Swept::Hung) });
        Overview {
            roots: answered.chain(hung).collect(),
            swept_every: pause_after(self.took),
            transcripts: self.known.count(),
            second_files: self.known.second_files(),
            unreachable: self.last.unread(),
            left_out: self.last.left_out,
            unusable: self.last.unusable.clone(),
            unusable_count: self.last.unusable_count,
            looked: self.looked,
        }
    }
}

/// Delay before the next full scan: scanning must not take up a large share of the machine's time.
fn pause_after(took: Duration) -> Duration {
    (took * limits::SWEEP_SHARE).clamp(limits::SWEEP, limits::SWEEP_MAX)
}

/// Reports changes of the settings or roots to the watcher, as long as it lives.
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

/// Called by the notification thread when it has changes.
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
