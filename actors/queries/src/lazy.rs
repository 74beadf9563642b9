//! The lazy step: reads and indexes what a search would otherwise miss.

mod closing;
mod coverage;
mod searcher;
pub(super) mod stale;

use std::path::PathBuf;

use baton_conversation::record::{Position, SessionId};
use baton_protocol::{Failure, Progress, code};
use baton_redaction::redact;
use tokio::sync::watch;
use tokio::time::{Instant, Interval};

use self::closing::QueryCloses;
pub(super) use self::coverage::Coverage;
pub(super) use self::searcher::FreshSearcher;
use self::stale::StaleSession;
use super::SESSIONS_NAMED;
use super::client::{ClientRef, QueryError, failure};
use super::discovery::Discovery;
use baton_base::actor_address::CallError;
use baton_base::io_remedy::IoCause;
use baton_base::journal_health::JournalHealth;
use baton_base::limits;
use baton_base::throttle::Throttle;
use baton_base::transcript_file::FileSeen;
use baton_journal::Journal;
use baton_tracking::indexer;
use baton_tracking::supervisor::Progress as Backlog;
use baton_tracking::watcher;
use baton_tracking::watcher::Unread;
use baton_views::catalog::Catalog;

/// Interval of progress reports to a waiting client.
const PROGRESS_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// Note in an answer if the transcripts could not be checked for changes.
const NOT_CHECKED: &str =
    "transcripts could not be looked at, and what has changed is missing; `baton status` tells why";
/// Note in an answer if the check for changes was still running.
const STILL_CHECKING: &str = "transcripts are still being looked through, and what has changed may be missing";
/// Note in an answer if the log accepts no writes.
const NOT_RECORDED: &str = "nothing new can be recorded, and what has changed is missing; `baton status` tells why";

/// The outcome of the step.
pub(super) struct Step {
    /// Sessions with a new episode.
    pub(super) indexed: u64,
    /// Sessions that the answer may miss.
    pub(super) pending: u64,
    /// The first few of these.
    pub(super) pending_sessions: Vec<String>,
    /// True if the asking session has something new, which was left out.
    pub(super) left_out_asking: bool,
    /// The answer must cover the log up to this position.
    pub(super) position: Position,
    /// The log's position when it was decided what is to be read: what had been indexed by then counts as known, although
    /// the memory may not have it yet.
    pub(super) as_of: Position,
    /// Why changes were not looked for, or where.
    pub(super) not_checked: Option<String>,
    /// End of the time budget.
    pub(super) until: Instant,
    /// True if the query waits no longer than the budget, because history is being read for the first time.
    pub(super) is_backfill: bool,
}

impl Step {
    fn new(left_out_asking: bool, as_of: Position, not_checked: Option<String>, until: Instant) -> Self {
        let (pending_sessions, position, is_backfill) = (Vec::new(), Position(0), false);
        Self {
            indexed: 0,
            pending: 0,
            pending_sessions,
            left_out_asking,
            position,
            as_of,
            not_checked,
            until,
            is_backfill,
        }
    }

    /// Notes that the answer may miss something of a session.
    pub(super) fn note_pending(&mut self, id: &SessionId) {
        let id = id.to_string();
        if self.pending_sessions.contains(&id) {
            return;
        }
        self.pending += 1;
        if self.pending_sessions.len() < SESSIONS_NAMED {
            self.pending_sessions.push(id);
        }
    }
}

/// The memory, brought up to date before it is searched.
#[derive(Clone, Copy)]
pub(super) struct FreshMemory<'a> {
    pub(super) discovery: Discovery<'a>,
    pub(super) coverage: Coverage<'a>,
    pub(super) journal: &'a dyn Journal,
    pub(super) outage: &'a JournalHealth,
    pub(super) progress: &'a watch::Receiver<Backlog>,
    pub(super) throttle: &'a Throttle,
}

impl FreshMemory<'_> {
    pub(super) fn catalog(&self) -> &Catalog {
        self.discovery.catalog
    }

    /// Waits until the discovered history is read, and reports progress to the client.
    pub(super) async fn wait_for_history(&self, client: &ClientRef) -> Result<(), QueryError> {
        // The watcher answers after its first full scan, by when it has passed the results to the supervisor; the
        // supervisor answers once it has queued them.
        let _ = self.discovery.watcher.overview().await;
        self.discovery.supervisor.settle().await.map_err(|error| failure(code::INTERNAL, error.to_string()))?;
        let _hurry = self.throttle.hurry();
        let mut progress = self.progress.clone();
        // Later additions are left to the lazy step: busy agents must not keep a person waiting forever.
        let enough = progress.borrow().accepted;
        let (mut stopping, mut growing) = (client.stopping(), 0);
        let (mut interval, mut is_report_due) =
            (tokio::time::interval_at(Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL), true);
        loop {
            let now = *progress.borrow_and_update();
            // The backlog is paused while the log accepts no writes; the answer says so.
            if now.pending() == 0 || now.finished >= enough || self.outage.lasts() {
                return Ok(());
            }
            if self.coverage.indexer.storage_problem().is_some() {
                // It may last for hours; the lazy step determines what is available, and reports the rest.
                return Ok(());
            }
            // Each of the remaining ones may be all that is left.
            let is_little = enough.saturating_sub(now.finished) <= limits::BACKLOG_IN_FLIGHT as u64;
            if is_report_due {
                growing = if is_little && self.only_growing().await { growing + 1 } else { 0 };
                // A session that was read between the two checks is known by the second.
                if growing > 1 {
                    return Ok(());
                }
            }
            if client.is_closed() {
                return Err(QueryError::ClientGone);
            }
            if is_report_due {
                client.progress(&Progress { what: "reading sessions".to_owned(), done: now.done, total: now.total });
            }
            tokio::select! {
                is_due = progress_or_time(&mut progress, &mut interval) => is_report_due = is_due,
                _ = stopping.wait_for(|stop| *stop) => {
                    return Err(failure(code::STOPPING, "the daemon is stopping; call again").into());
                }
            }
        }
    }

    /// Returns true if only large sessions in use are left to be read. One that grows as fast as it is read never ends, and
    /// the lazy step does not wait for them either.
    async fn only_growing(&self) -> bool {
        let Ok(unread) = self.discovery.watcher.unread(limits::BACKLOG_IN_FLIGHT, limits::LAZY_GLANCE).await else {
            return false;
        };
        let (table, settings) = self.catalog().now();
        let now = self.coverage.clock.now();
        let is_growing = |file: &FileSeen| {
            let state = table.get(&file.session).map(|row| &row.state);
            state.is_some_and(|state| stale::is_large_growing(state, file, now) || !settings.may_read(state))
        };
        unread.beyond == 0 && !unread.files.is_empty() && unread.files.iter().all(is_growing)
    }

    /// Indexes what has grown: first sessions of the requested project, then the newest. Up to [`limits::LAZY_BYTES`] of
    /// unread bytes in known sessions, and up to [`limits::LAZY_SESSIONS`] sessions that were never read or have not grown,
    /// are read regardless of time; beyond that as many as the configured time budget allows, with `all` everything. If
    /// more than that are to be read for the first time, nothing is awaited beyond the budget. The rest goes to the front
    /// of the backlog.
    pub(super) async fn step(&self, client: &ClientRef, request: Request<'_>) -> Result<Step, QueryError> {
        let budget = self.catalog().settings.now().lazy_budget;
        let until = Instant::now() + if request.all { limits::LARGE_WAIT.max(budget) } else { budget };
        // Without the watcher the query is answered from what is indexed.
        let (unread, not_checked) = match request.all {
            true => match self.discovery.watcher.newest(usize::MAX, watcher::LOOK).await {
                Ok(unread) => (unread, None),
                Err(_) => (Unread::default(), Some(NOT_CHECKED)),
            },
            false => self.find_changes(until).await,
        };
        let not_checked = not_checked.map(str::to_owned).or_else(|| hung_roots_note(&unread.hung));
        let (table, settings) = self.catalog().now();
        let (now, as_of, project) = (self.coverage.clock.now(), table.position(), request.project.map(str::to_owned));
        let (grown, counted_beyond) = (unread.files, unread.beyond);
        // During a scan of very many files the number of new ones is unknown.
        let is_unknown = not_checked.is_some() && self.discovery.watcher.is_large();
        let choosing = baton_base::task::spawn_blocking(move || {
            let mut chosen = stale::find_all(&table, &settings, now, grown);
            if is_backfill(&chosen) {
                // Sessions that were read before are in use, so they come first.
                chosen.sort_by_key(|wanted| wanted.is_new);
            }
            if let Some(project) = project {
                stale::project_first(&table, &project, &mut chosen);
            }
            chosen
        });
        let mut chosen = choosing.await.map_err(|error| failure(code::INTERNAL, error.to_string()))?;
        let beyond = match is_unknown {
            true => counted_beyond.max(self.estimate_others(&chosen)),
            false => counted_beyond,
        };
        let everything = chosen.len();
        chosen.retain(|wanted| Some(&wanted.id) != request.asking);
        let left_out_asking = chosen.len() < everything;
        let mut step = Step::new(left_out_asking, as_of, not_checked, until);
        if self.outage.lasts() {
            // While the log accepts no writes, reading would be refused.
            chosen.iter().for_each(|wanted| step.note_pending(&wanted.id));
            step.not_checked = step.not_checked.or((step.pending > 0).then(|| NOT_RECORDED.to_owned()));
            return Ok(step);
        }
        if request.all {
            // A query that waits for everything covers the whole log, otherwise what was read for it.
            step.position = self.journal.tail().position;
        } else {
            let let_alone = self.coverage.indexer.left_alone();
            chosen.retain(|wanted| {
                let is_let_alone = let_alone.contains(&wanted.id);
                if is_let_alone {
                    step.note_pending(&wanted.id);
                }
                !is_let_alone
            });
        }
        step.is_backfill = !request.all && (beyond > 0 || is_unknown || is_backfill(&chosen) || self.is_far_behind());
        let (first, rest) = match (request.all, step.is_backfill) {
            (true, _) => split_by_bound(chosen, u64::MAX, usize::MAX),
            (false, false) => split_by_bound(chosen, limits::LAZY_BYTES, limits::LAZY_SESSIONS),
            (false, true) => (Vec::new(), chosen),
        };
        step.pending += beyond;
        QueryCloses::new(self.discovery.supervisor, client, step, first, rest, until).run().await
    }

    /// True while the memory lacks so much that what is new has to wait behind it.
    fn is_far_behind(&self) -> bool {
        let behind = self.journal.tail().position.0.saturating_sub(self.coverage.indexer.covered().but_large.0);
        behind > limits::LAZY_BEHIND
    }

    /// The files that changed, as far as found in time, and a note if the check is not complete.
    async fn find_changes(&self, until: Instant) -> (Unread, Option<&'static str>) {
        let newest = |until: Instant| self.discovery.watcher.newest(limits::LAZY_TOLD, until - Instant::now());
        let known = || self.discovery.watcher.unread(limits::LAZY_TOLD, limits::LAZY_GLANCE);
        match newest(until).await {
            Ok(unread) => return (unread, None),
            Err(CallError::Gone) => return (Unread::default(), Some(NOT_CHECKED)),
            Err(CallError::TimedOut) => {}
        }
        // With few files a longer wait is worth it: the disk or the machine is slow. Only the first scan may find out that
        // there are many.
        let large = async {
            while !self.discovery.watcher.is_large() {
                tokio::time::sleep(limits::LAZY_GLANCE).await;
            }
        };
        let looked = tokio::select! {
            biased;
            () = large => None,
            looked = newest(until.max(Instant::now()) + limits::ROOT) => looked.ok(),
        };
        if let Some(unread) = looked {
            return (unread, None);
        }
        match known().await {
            Ok(unread) => (unread, Some(STILL_CHECKING)),
            Err(CallError::TimedOut) => (Unread::default(), Some(STILL_CHECKING)),
            Err(CallError::Gone) => (Unread::default(), Some(NOT_CHECKED)),
        }
    }

    /// Estimates how many sessions an answer lacks besides `wanted` while a scan of very many files is not finished: those
    /// never read, or those in the backlog, without the wanted ones.
    fn estimate_others(&self, wanted: &[StaleSession]) -> u64 {
        if !self.discovery.watcher.is_large() {
            return 0;
        }
        let read = self.catalog().table.now().iter().filter(|(_, row)| row.state.read.offset > 0).count() as u64;
        count_others(
            self.discovery.watcher.transcript_count().saturating_sub(read),
            self.progress.borrow().pending(),
            wanted,
        )
    }
}

/// Waits for progress or for the next report, whichever comes first. Returns `true` if a report is due.
async fn progress_or_time<T>(progress: &mut watch::Receiver<T>, interval: &mut Interval) -> bool {
    tokio::select! {
        // If the sender is gone, only the interval remains.
        Ok(()) = progress.changed() => false,
        _ = interval.tick() => true,
    }
}

/// What a query requires of the step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request<'a> {
    /// Sessions of this project come first.
    pub(super) project: Option<&'a str>,
    /// True to wait for everything.
    pub(super) all: bool,
    /// The asking session, which is left out because it knows its own content.
    pub(super) asking: Option<&'a SessionId>,
}

/// The larger of the two counts, each without the wanted sessions, which are counted separately.
fn count_others(never_read: u64, in_backlog: u64, wanted: &[StaleSession]) -> u64 {
    let new = wanted.iter().filter(|wanted| wanted.is_new).count() as u64;
    never_read.saturating_sub(new).max(in_backlog.saturating_sub(wanted.len() as u64))
}

/// Note in an answer that lacks the changes in these roots.
fn hung_roots_note(hung: &[PathBuf]) -> Option<String> {
    let [first, rest @ ..] = hung else { return None };
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let note = format!(
        "{}{more} could not be looked at, because the file system does not answer, and what has changed there is missing",
        first.display()
    );
    Some(redact(&note).into_owned())
}

/// Returns true if so many sessions are to be read for the first time that no query waits for them.
fn is_backfill(chosen: &[StaleSession]) -> bool {
    chosen.iter().filter(|wanted| wanted.is_new).count() > limits::LAZY_SESSIONS
}

/// Splits off the sessions that are read regardless of time: `fit` bytes in total, `most` that are new or have not
/// grown, and no large one. Keeps the order.
fn split_by_bound(chosen: Vec<StaleSession>, fit: u64, most: usize) -> (Vec<StaleSession>, Vec<StaleSession>) {
    let (mut bytes, mut left) = (0_u64, most);
    chosen.into_iter().partition(|wanted| {
        let takes = usize::from(wanted.file.is_none() || wanted.is_new);
        let fits = !wanted.is_large && left >= takes && bytes.saturating_add(wanted.bytes) <= fit;
        if fits {
            (bytes, left) = (bytes.saturating_add(wanted.bytes), left - takes);
        }
        fits
    })
}

/// The failure while the memory is not available: the reason and the remedy.
pub(super) fn memory_unavailable(indexer: &indexer::Handle) -> Failure {
    let message = match indexer.memory_state().1 {
        Some(why) => format!("the searchable memory cannot be opened: {why}; {}", IoCause::in_message(&why).remedy()),
        None => "the searchable memory is being rebuilt; search again in a moment".to_owned(),
    };
    failure(code::INTERNAL, redact(&message).into_owned())
}

#[cfg(test)]
mod tests;
