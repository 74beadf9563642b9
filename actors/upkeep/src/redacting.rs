//! Redacts with the current rules what earlier versions stored: conversations, notes, answers of models, memos, and
//! what was derived from them in the memory, in vectors and in the vault. Reads no transcript and calls no model.
//!
//! Runs once per version of the filter, in the background, over every session and memo in the order of ids. The id of
//! one whose text changes is appended to a list, then the event that names the new files is recorded, then the old
//! files are removed. After the pass, the old text is removed from the memory's segments, vectors and notes. What could
//! not be redacted yet is retried; once nothing is owed, the list is removed. The progress is stored beside the log,
//! with those that cannot be redacted, which the next daemon tries again. After a kill the pass resumes there;
//! repeating a step changes nothing.
//!
//! # Hazards
//!
//! - What cannot be redacted (it is damaged, has events of a newer version, or changes with each redaction) is left and
//!   named by `status`.

mod scan;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_conversation::filter::FILTER_VERSION;
use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, Rejection};
use baton_protocol::answer;
use baton_redaction::redact;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::scan::{owed, waiting};
use self::traces::has_secrets;
use baton_base::actor_address::CallError;
use baton_base::durable;
use baton_base::limits;
use baton_base::throttle::Throttle;
use baton_base::transcript_file;
use baton_journal::session_table::TableReader;
use baton_memos::Memos;
use baton_store::text_keeper::TextKeepers;
use baton_tracking::indexer;
use baton_tracking::indexer::redacting::{Again, Error};
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;
use tokio::sync::watch;

/// File of the progress, in the folder of the log.
const MARK: &str = "redacted.json";
/// File of the sessions and memos whose text has changed, in the folder of the log: one id per line, as JSON.
const LIST: &str = "redacted.list";
/// Largest list that is read, in bytes: more than a million sessions.
const LIST_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Format of the progress file.
const FORMAT: u32 = 1;
/// Delay before the first retry; doubles up to [`RETRY_MOST`].
const RETRY: Duration = Duration::from_secs(1);
/// Redactions of one session until its text no longer changes, in addition to one for each event that its notes need.
const PASSES: usize = 2;
/// Attempts to record one redaction before other sessions have their turn.
const ASKED: u32 = 3;
/// Most sessions named in one message.
const NAMED_MAX: usize = 5;
/// See [`RETRY`].
const RETRY_MOST: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MarkV1 {
    format: u32,
    filter_version: u32,
    /// The last id that was checked.
    after: Option<String>,
    done: bool,
    /// Sessions that cannot be redacted, with the reason.
    #[serde(default)]
    left: BTreeMap<String, String>,
    /// Notes in which an edited block keeps text that would be redacted.
    #[serde(default)]
    edited: BTreeSet<String>,
}

/// State of the redaction, shared by the task and by `status`.
#[derive(Debug)]
pub struct Redacting {
    log: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    mark: MarkV1,
    done: u64,
    total: u64,
    changed: BTreeSet<SessionId>,
    /// True if derived data still holds the old text of a changed session.
    has_traces: bool,
    problem: Option<String>,
}

/// The components that store text.
pub struct TextStores {
    /// Names the conversations and memos.
    pub table: TableReader,
    /// Redacts conversations, and what the memory has of them.
    pub indexer: indexer::Handle,
    /// Redacts memos.
    pub memos: Memos,
    /// Records what was redacted.
    pub supervisor: supervisor::Handle,
    /// Removes what was derived from the old text.
    pub keepers: TextKeepers,
    /// Delays the work while queries run.
    pub throttle: Throttle,
}

impl Redacting {
    /// Reads the progress stored beside the log; starts from the beginning if it cannot be read. Blocks for short
    /// reads.
    pub fn open(log: &Path, table: &SessionTable) -> Self {
        let begun = MarkV1 { format: FORMAT, filter_version: FILTER_VERSION, ..MarkV1::default() };
        let mark = durable::read_json::<MarkV1>(&log.join(MARK), LIST_MAX_BYTES).ok().flatten();
        let mark = mark.filter(|mark| mark.format == FORMAT && mark.filter_version == FILTER_VERSION);
        let mut mark = mark.unwrap_or(begun);
        // A person may have removed the text since.
        mark.edited.retain(|note| has_secrets(note));
        // What could not be redacted then may be possible now.
        mark.done &= mark.left.is_empty();
        let total = if mark.done { 0 } else { owed(table, None).len() as u64 };
        let done = total.saturating_sub(waiting(&mark, table).len() as u64);
        let state = State { mark, done, total, ..State::default() };
        Self { log: log.to_owned(), state: Mutex::new(state) }
    }

    /// The progress, or `None` once everything is done.
    pub fn progress(&self) -> Option<answer::Redacting> {
        let state = self.state();
        (!state.mark.done).then(|| answer::Redacting {
            done: state.done,
            total: state.total,
            changed: state.changed.len() as u64,
            problem: state.problem.clone(),
        })
    }

    /// Sessions and notes that could not be redacted, with the reasons.
    pub fn failures(&self, table: &SessionTable) -> Option<String> {
        let is_there = |id: &str| SessionId::new(id).and_then(|id| table.get(&id).cloned());
        let state = self.state();
        let left = state.mark.left.iter();
        let stays = |id: &str| is_there(id).is_none_or(|row| row.state.phase != Phase::Forgotten);
        let edited = state.mark.edited.iter();
        let edited = edited.map(|note| format!("{} keeps it in a block that you have changed", redact(note)));
        join_first(left.filter(|(id, _)| stays(id)).map(|(id, why)| format!("session {id}: {why}")).chain(edited))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the progress and stores it. If storing fails, the work is repeated.
    fn update_mark(&self, change: impl FnOnce(&mut MarkV1)) {
        let mark = {
            let mut state = self.state();
            change(&mut state.mark);
            state.mark.clone()
        };
        let written = serde_json::to_vec(&mark).map_err(io::Error::other);
        if let Err(error) = written.and_then(|bytes| durable::write_file(&self.log.join(MARK), &bytes)) {
            tracing::debug!(%error, "progress of the redaction not stored");
        }
    }

    /// Appends an id to the list, durably.
    fn add_to_list(&self, id: &SessionId) -> io::Result<()> {
        self.state().has_traces = true;
        if self.state().changed.contains(id) {
            return Ok(());
        }
        let file = self.log.join(LIST);
        let is_new = !file.exists();
        // The line break comes first, so that a torn line does not swallow this one.
        let line = format!("\n{}", serde_json::to_string(id.as_str())?);
        OpenOptions::new().append(true).create(true).open(&file)?.write_all(line.as_bytes())?;
        durable::sync_file(&file)?;
        if is_new {
            durable::sync_folder(&self.log)?;
        }
        self.state().changed.insert(id.clone());
        Ok(())
    }

    /// Redacts what is stored, until that is done or the daemon stops.
    pub async fn run(self: Arc<Self>, stored: Arc<TextStores>, mut stop: watch::Receiver<bool>) {
        if self.progress().is_none() {
            return;
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.work(&stored) => {}
        }
    }

    async fn work(&self, stored: &TextStores) {
        let mut pause = RETRY;
        while let Err(error) = self.read_list().await {
            self.wait(format!("{}: {error}", self.log.join(LIST).display()), &mut pause).await;
        }
        self.state().problem = None;
        let (mut later, last) = self.check_all(stored).await;
        pause = RETRY;
        loop {
            // Traces are removed at once, even if some sessions take long.
            let traces = self.remove_traces(stored).await.err();
            let waiting =
                later.iter().map(|later| format!("session {} is not redacted again yet: {}", later.id, later.why));
            let Some(problem) = join_first(traces.into_iter().chain(waiting)) else { break };
            self.wait(problem, &mut pause).await;
            let mut left = Vec::new();
            for waiting in later {
                left.extend(self.attempt(stored, waiting).await);
            }
            later = left;
        }
        let changed = std::mem::take(&mut self.state().changed).len();
        let this = self.log.clone();
        let removed = baton_base::task::spawn_blocking(move || match fs::remove_file(this.join(LIST)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
        drop(removed.await);
        self.update_mark(|mark| (mark.done, mark.after) = (true, last));
        let left = self.state().mark.left.len();
        tracing::info!(
            changed,
            left,
            filter_version = FILTER_VERSION,
            "all stored text is redacted with the current rules"
        );
    }

    /// Publishes the problem and waits; doubles the pause.
    async fn wait(&self, problem: String, pause: &mut Duration) {
        tracing::warn!(%problem, "stored text not redacted everywhere yet, trying again");
        self.state().problem = Some(problem);
        sleep(*pause).await;
        *pause = (2 * *pause).min(RETRY_MOST);
    }

    /// Reads the list of an interrupted pass, of this version or an earlier one.
    async fn read_list(&self) -> io::Result<()> {
        let file = self.log.join(LIST);
        let read = baton_base::task::spawn_blocking(move || read_list(&file)).await.map_err(io::Error::other)??;
        let mut state = self.state();
        state.has_traces |= !read.is_empty();
        state.changed.extend(read);
        Ok(())
    }

    /// Redacts one session or memo. Returns it if it must be retried.
    async fn attempt(&self, stored: &TextStores, mut later: Retry) -> Option<Retry> {
        let redacted = self.redact(stored, &later.id, &mut later.asked).await;
        self.record_outcome(later, redacted)
    }

    fn record_outcome(&self, mut later: Retry, redacted: Result<(), Error>) -> Option<Retry> {
        let key = later.id.as_str();
        match redacted {
            Ok(()) => drop(self.state().mark.left.remove(key)),
            Err(Error::Lasting(why)) => self.give_up(&later.id, why),
            Err(error) => {
                later.why = error.to_string();
                return Some(later);
            }
        }
        None
    }

    /// Records that a session cannot be redacted; `status` names it.
    fn give_up(&self, id: &SessionId, why: String) {
        tracing::warn!(session = %id, why, "session not redacted");
        self.state().mark.left.insert(id.to_string(), why);
    }

    /// Redacts one session or memo and records it. `asked` holds a redaction that may be recorded already.
    async fn redact(&self, stored: &TextStores, id: &SessionId, asked: &mut Option<Again>) -> Result<(), Error> {
        if let Some(uuid) = memo::uuid_of_key(id.as_str()) {
            self.add_to_list(id).map_err(refused)?;
            return stored.memos.redact_again(uuid).await.map_err(refused);
        }
        let (mut passes, mut most) = (0, PASSES);
        while passes < most {
            let again = match asked.take() {
                Some(again) => again,
                None => {
                    let (indexer, of) = (stored.indexer.clone(), id.clone());
                    let redacting = baton_base::task::spawn_blocking(move || indexer.redact_again(&of));
                    let Some(again) = redacting.await.map_err(refused)?? else { return Ok(()) };
                    again
                }
            };
            if passes == 0 {
                most += again.beyond;
            }
            self.replace(stored, id, again, asked).await?;
            passes += 1;
        }
        let (indexer, of) = (stored.indexer.clone(), id.clone());
        match baton_base::task::spawn_blocking(move || indexer.holds_more_to_redact(&of)).await.map_err(refused)?? {
            true => Err(Error::Lasting("its text is another one each time that it is redacted".to_owned())),
            false => Ok(()),
        }
    }

    /// Records a redaction, then removes what it replaces.
    async fn replace(
        &self,
        stored: &TextStores,
        id: &SessionId,
        mut again: Again,
        asked: &mut Option<Again>,
    ) -> Result<(), Error> {
        self.add_to_list(id).map_err(refused)?;
        let recorded = match self.record(stored, id, &again.redact).await {
            Ok(recorded) => recorded,
            // The written files must stay until the outcome is known.
            Err(error) => {
                *asked = Some(again);
                return Err(refused(format!("unknown whether it is recorded: {error}")));
            }
        };
        let (rest, is_recorded) = (again.rest.take(), recorded.is_ok());
        let (indexer, of) = (stored.indexer.clone(), id.clone());
        let removing = baton_base::task::spawn_blocking(move || indexer.replaced(&of, again, is_recorded));
        let removed = removing.await.map_err(refused)?;
        recorded?;
        removed?;
        rest.map_or(Ok(()), Err)
    }

    /// Records a redaction; a repeated request does no harm. An `Err` means that it is not known whether it was
    /// recorded.
    async fn record(
        &self,
        stored: &TextStores,
        id: &SessionId,
        redact: &baton_events::session::Redact,
    ) -> Result<Result<(), Error>, CallError> {
        let mut asked = 1;
        let answer = loop {
            let switch = Switch::Redact(Box::new(redact.clone()));
            match stored.supervisor.switch(id, switch, limits::SESSION_CALL).await {
                Err(error) if asked < ASKED => {
                    tracing::warn!(session = %id, %error, "unknown whether its redaction is recorded, asking again");
                    asked += 1;
                    sleep(RETRY).await;
                }
                answer => break answer?,
            }
        };
        Ok(match answer {
            // A session that was forgotten meanwhile has nothing left to redact.
            Switched::Done { .. } | Switched::Refused(Rejection::Forgotten | Rejection::NotDiscovered) => Ok(()),
            Switched::Failed { reason } => Err(Error::Refused(reason)),
            Switched::Refused(_) | Switched::Stopped(_) => Err(Error::Busy),
        })
    }
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Refused(error.to_string())
}

/// Joins the first problems into one line.
fn join_first(mut all: impl Iterator<Item = String>) -> Option<String> {
    let first: Vec<String> = all.by_ref().take(NAMED_MAX).collect();
    let rest = match all.count() {
        0 => String::new(),
        rest => format!("; and {rest} more"),
    };
    (!first.is_empty()).then(|| first.join("; ") + &rest)
}

/// A session or memo that could not be redacted yet.
struct Retry {
    id: SessionId,
    why: String,
    /// The redaction that was requested and may be recorded.
    asked: Option<Again>,
}

/// Reads the list; a torn line is skipped.
fn read_list(file: &Path) -> io::Result<BTreeSet<SessionId>> {
    let bytes = match transcript_file::read(file, LIST_MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        read => read?,
    };
    let ids = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<String>(line).ok());
    Ok(ids.filter_map(|id| SessionId::new(&id)).collect())
}
