//! The lazy step: before a search, whatever it would otherwise miss is read and indexed.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_events::protocol::{Progress, code};
use baton_events::record::{CommandId, Position, SessionId};
use baton_events::session::{CloseReason, Phase, State, Why};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::Services;
use super::calls::Ended;
use super::connection::{Out, failure};
use super::resolve;
use crate::files::FileSeen;
use crate::limits;
use crate::session::{CloseCall, Outcome};
use crate::slot::CallError;

/// How often a waiting client is told how far things are.
const TELL: std::time::Duration = std::time::Duration::from_millis(100);

/// What the step came to.
pub(super) struct Step {
    /// Sessions whose episode is new.
    pub(super) indexed: u64,
    /// Sessions that the answer may miss.
    pub(super) pending: u64,
    /// The answer must cover the log up to here.
    pub(super) position: Position,
}

/// Has every transcript looked at once. When it returns, sessions that had not been read before have been, as far as
/// there are not too many of them.
pub(super) async fn look(services: &Services) {
    if let Ok(grown) = services.watcher.refresh().await {
        let (unread, rest) = new_ones(services, grown);
        services.supervisor.seen(rest);
        take_in(services, unread).await;
    }
}

/// The newest files of sessions of which nothing was read, and the others.
fn new_ones(services: &Services, files: Vec<FileSeen>) -> (Vec<FileSeen>, Vec<FileSeen>) {
    let table = services.table.borrow().clone();
    let is_new = |file: &FileSeen| table.get(&file.session).is_none_or(|row| row.state.read.offset == 0);
    let (mut new, mut rest): (Vec<_>, Vec<_>) = files.into_iter().partition(is_new);
    rest.extend(new.split_off(new.len().min(limits::DISCOVERED_AT_ONCE)));
    (new, rest)
}

/// Has sessions read these files before the backlog comes to them, and waits until they have, at most
/// [`limits::DISCOVERY`]: who asks for a session that has just begun must not be told that there is none.
pub(super) async fn take_in(services: &Services, files: Vec<FileSeen>) {
    let taking = async {
        let mut asked = Vec::new();
        for file in files {
            if let Ok(session) = services.supervisor.resolve(file.session.clone()).await {
                session.seen(file);
                asked.push(session);
            }
        }
        for session in asked {
            // One that has failed is restarted, and reads its file in its own time.
            let _ = session.taken_in(limits::DISCOVERY).await;
        }
    };
    let _ = tokio::time::timeout(limits::DISCOVERY, taking).await;
}

/// Waits until the history that was found is read, telling the client how far it is.
pub(super) async fn wait_for_history(services: &Services, out: &Out) -> Result<(), Ended> {
    // The watcher answers after its first look at everything, whose finds it has by then given to the supervisor; and
    // the supervisor answers after it has taken them in.
    let _ = services.watcher.overview().await;
    services.supervisor.settle().await.map_err(|error| failure(code::INTERNAL, error.to_string()))?;
    let mut progress = services.progress.clone();
    // What comes later is the lazy step's: busy agents must not keep a person waiting for ever.
    let enough = progress.borrow().accepted;
    let mut stopping = services.stop.subscribe();
    loop {
        let now = *progress.borrow_and_update();
        if now.pending() == 0 || now.finished >= enough {
            return Ok(());
        }
        if out.is_closed() {
            return Err(Ended::ClientGone);
        }
        out.progress(&Progress { what: "reading sessions".to_owned(), done: now.done, total: now.total });
        tokio::select! {
            () = tokio::time::sleep(TELL) => {}
            _ = stopping.wait_for(|stop| *stop) => {
                return Err(failure(code::STOPPING, "the daemon is stopping; call again").into());
            }
        }
    }
}

/// Indexes what has grown. With `all` everything, else at least [`limits::LAZY_BYTES`] of it, newest first.
pub(super) async fn step(services: &Arc<Services>, out: &Out, project: Option<&str>, all: bool) -> Result<Step, Ended> {
    let grown = services.watcher.refresh().await;
    let grown = grown.map_err(|error| failure(code::INTERNAL, format!("transcripts not looked at: {error}")))?;
    let (wanted, left) = choose(services, grown, project, all);
    let pending = left.len() as u64;
    services.supervisor.seen(left);
    let total = wanted.len() as u64;
    let permits = Arc::new(Semaphore::new(limits::LAZY_AT_ONCE));
    let mut closing = JoinSet::new();
    for (id, seen) in wanted {
        let (services, permits) = (services.clone(), permits.clone());
        closing.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let call = CloseCall {
                reason: CloseReason::LazyQuery,
                note: None,
                by_self: false,
                command: CommandId::new(&Uuid::new_v4().to_string()),
            };
            services.supervisor.close(&id, seen, call, limits::SESSION_CALL).await
        });
    }
    // Who waits for everything is answered from everything; who does not, from what was read for this answer.
    let position = if all { services.journal.tail().position } else { Position(0) };
    let mut step = Step { indexed: 0, pending, position };
    let mut done = 0;
    while let Some(closed) = closing.join_next().await {
        done += 1;
        match closed {
            Ok(Ok(closed)) => {
                step.position = step.position.max(closed.position);
                step.indexed += u64::from(matches!(closed.outcome, Outcome::Stored | Outcome::Replaced(_)));
            }
            // It could not be read in time, or its actor is down: the answer says that it may be missing.
            _ => step.pending += 1,
        }
        if done % 16 == 0 {
            out.progress(&Progress { what: "reading sessions".to_owned(), done, total });
        }
    }
    Ok(step)
}

/// Waits until searches cover the log up to `position`: [`limits::CATCH_UP`] at most, counted anew whenever the memory
/// moves for a person who waits for all history. How far searches cover the log then.
pub(super) async fn catch_up(services: &Services, out: &Out, position: Position, all: bool) -> Result<Position, Ended> {
    let begun = services.indexer.memory().0;
    let (mut reached, since) = (begun, tokio::time::Instant::now());
    let mut moved = since;
    loop {
        match services.indexer.caught_up(position, TELL).await {
            Ok(covered) => return Ok(covered),
            Err(CallError::Gone) => {
                let message = "the searchable memory is being rebuilt; search again in a moment";
                return Err(failure(code::INTERNAL, message).into());
            }
            Err(CallError::TimedOut) => {}
        }
        let now = services.indexer.memory().0;
        if now > reached {
            (reached, moved) = (now, tokio::time::Instant::now());
        }
        if out.is_closed() {
            return Err(Ended::ClientGone);
        }
        let waited = if all { moved.elapsed() } else { since.elapsed() };
        if waited > limits::CATCH_UP {
            // What searches cover is the answer, and it says so.
            return Ok(reached);
        }
        let (done, total) = (reached.0.saturating_sub(begun.0), position.0.saturating_sub(begun.0));
        out.progress(&Progress { what: "indexing".to_owned(), done, total });
    }
}

/// Which sessions a search needs closed: files that have grown, and sessions that were read and not indexed.
fn choose(
    services: &Services,
    grown: Vec<FileSeen>,
    project: Option<&str>,
    all: bool,
) -> (BTreeMap<SessionId, Option<FileSeen>>, Vec<FileSeen>) {
    let table = services.table.borrow().clone();
    let (settings, now) = (services.settings.borrow().clone(), services.clock.now());
    let (mut wanted, mut left, mut bytes) = (BTreeMap::new(), Vec::new(), 0);
    // The asked project comes first; the order is stable, so within each the newest still do.
    let asked = |file: &FileSeen| {
        project.is_some_and(|project| table.get(&file.session).is_some_and(|row| resolve::is_in(&row.state, project)))
    };
    let (first, then): (Vec<_>, Vec<_>) = grown.into_iter().partition(asked);
    for file in first.into_iter().chain(then) {
        let read = table.get(&file.session).map_or(0, |row| row.state.read.offset);
        let unread = file.stat.size.saturating_sub(read);
        if all || bytes == 0 || bytes + unread <= limits::LAZY_BYTES {
            bytes += unread;
            wanted.insert(file.session.clone(), Some(file));
        } else {
            left.push(file);
        }
    }
    for (id, row) in table.iter() {
        if is_owed(&row.state, now) && !wanted.contains_key(id) && settings.policy_for(&row.state).tracked {
            wanted.insert(id.clone(), None);
        }
    }
    (wanted, left)
}

/// Whether a session was read further than it is indexed. One whose index has failed waits for its time.
fn is_owed(state: &State, now: baton_events::record::Timestamp) -> bool {
    match state.phase {
        Phase::Active | Phase::Inactive | Phase::Unindexed(Why::TimeoutDisabled) => state.counts.messages > 0,
        Phase::Indexing => true,
        Phase::Indexed => state.unindexed > 0,
        Phase::Failed => state.failure.is_none_or(|failure| failure.retry_at <= now),
        // Its file has grown or come back, or it would not be looked at: the grown ones are wanted in any case.
        Phase::New | Phase::Unindexed(_) | Phase::Forgotten => false,
    }
}
