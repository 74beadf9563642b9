//! What earlier versions stored, redacted by the rules of this one: conversations, notes, answers of models, what was added,
//! and what was made of them in the memory, in vectors and in notes for people. No transcript is read and no model asked.
//!
//! Once for each version of the filter, in the background: every session and memo is looked at in the order of its id. One
//! whose text changes is noted in a list, then the event that names the new files is recorded and the old files go. At the end
//! the memory's old segments, vectors and notes lose what these sessions said before, and only then the list goes. How far it
//! is stands beside the log; after a kill it goes on there, and what is done twice changes nothing.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use baton_events::filter::FILTER_VERSION;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::protocol::answer;
use baton_events::record::SessionId;
use baton_events::session::{Phase, Rejection};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::durable;
use crate::export;
use crate::gateway::Services;
use crate::indexer::redacting::Error;
use crate::limits;
use crate::session::{Switch, Switched};

/// How far it is, in the folder of the log.
const MARK: &str = "redacted.json";
/// Sessions and memos whose text has changed, in the folder of the log: one id on a line, as JSON.
const LIST: &str = "redacted.list";
/// Largest list that is read: more than a million sessions.
const LIST_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The format of the mark.
const FORMAT: u32 = 1;
/// How long sessions are looked at before others of the background have their turn.
const TURN: Duration = Duration::from_millis(100);
/// How often how far it is is written down.
const NOTED: Duration = Duration::from_secs(5);
/// How long it stands back while questions are answered.
const STAND_BACK: Duration = Duration::from_secs(5);
/// Until something that could not be done is tried again; each time twice as long, up to [`RETRY_MOST`].
const RETRY: Duration = Duration::from_secs(1);
/// How often one session is redacted until nothing of it changes: once, but where there are very many notes.
const PASSES: u32 = 100;
/// See [`RETRY`].
const RETRY_MOST: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MarkV1 {
    format: u32,
    filter_version: u32,
    /// The last id that was looked at, in their order.
    after: Option<String>,
    done: bool,
}

/// See the module. Shared by who does it and who tells of it.
#[derive(Debug)]
pub struct Redacting {
    log: PathBuf,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    mark: MarkV1,
    done: u64,
    total: u64,
    changed: BTreeSet<SessionId>,
    problem: Option<String>,
}

impl Redacting {
    /// Of a home, by what stands beside its log. What cannot be read is begun anew. Blocks for short reads.
    pub fn open(log: &Path, table: &SessionTable) -> Self {
        let begun = MarkV1 { format: FORMAT, filter_version: FILTER_VERSION, ..MarkV1::default() };
        let mark = durable::read_json::<MarkV1>(&log.join(MARK), LIST_MAX_BYTES).ok().flatten();
        let mark = mark.filter(|mark| mark.format == FORMAT && mark.filter_version == FILTER_VERSION);
        let mark = mark.unwrap_or(begun);
        let total = if mark.done { 0 } else { owed(table, None).len() as u64 };
        // Of a pass that another version did not end, too.
        let changed = read_list(&log.join(LIST));
        let done = total.saturating_sub(owed(table, mark.after.as_deref()).len() as u64);
        let shown = Shown { mark, done, total, changed, problem: None };
        Self { log: log.to_owned(), shown: Mutex::new(shown) }
    }

    /// How far it is; `None` once it is done.
    pub(crate) fn told(&self) -> Option<answer::Redacting> {
        let shown = self.shown();
        (!shown.mark.done).then(|| answer::Redacting {
            done: shown.done,
            total: shown.total,
            changed: shown.changed.len() as u64,
            problem: shown.problem.clone(),
        })
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes how far it is. What is not written is done again.
    fn note(&self, change: impl FnOnce(&mut MarkV1)) {
        let mark = {
            let mut shown = self.shown();
            change(&mut shown.mark);
            shown.mark.clone()
        };
        let written = serde_json::to_vec(&mark).map_err(io::Error::other);
        if let Err(error) = written.and_then(|bytes| durable::write_file(&self.log.join(MARK), &bytes)) {
            tracing::debug!(%error, "how far redacting again is, is not written down");
        }
    }

    /// Adds one to the list, durably.
    fn list(&self, id: &SessionId) -> io::Result<()> {
        if self.shown().changed.contains(id) {
            return Ok(());
        }
        let file = self.log.join(LIST);
        let is_new = !file.exists();
        // The line break first: a line that was torn before must not swallow this one.
        let line = format!("\n{}", serde_json::to_string(id.as_str())?);
        OpenOptions::new().append(true).create(true).open(&file)?.write_all(line.as_bytes())?;
        durable::sync_file(&file)?;
        if is_new {
            durable::sync_folder(&self.log)?;
        }
        self.shown().changed.insert(id.clone());
        Ok(())
    }

    /// Redacts what is stored, until that is done or the daemon stops.
    pub(crate) async fn run(services: Arc<Services>) {
        if services.redacting.shown().mark.done {
            return;
        }
        let (this, mut stop) = (services.redacting.clone(), services.stop.subscribe());
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = this.work(&services) => {}
        }
    }

    async fn work(&self, services: &Arc<Services>) {
        self.look_at_all(services).await;
        let mut pause = RETRY;
        while let Err(problem) = self.remove_traces(services).await {
            tracing::warn!(%problem, "what was redacted again is not gone everywhere yet, trying again");
            self.shown().problem = Some(problem);
            sleep(pause).await;
            pause = (2 * pause).min(RETRY_MOST);
        }
        let changed = std::mem::take(&mut self.shown().changed).len();
        let this = self.log.clone();
        let removed = tokio::task::spawn_blocking(move || match fs::remove_file(this.join(LIST)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
        drop(removed.await);
        self.note(|mark| mark.done = true);
        tracing::info!(
            changed,
            filter_version = FILTER_VERSION,
            "everything stored is redacted by the rules of this version"
        );
    }

    /// Looks at every session and memo, and redacts those again whose text changes.
    async fn look_at_all(&self, services: &Arc<Services>) {
        let after = self.shown().mark.after.clone();
        let mut waiting: VecDeque<SessionId> = owed(&services.table.now(), after.as_deref()).into();
        let (mut later, mut noted, mut last) = (Vec::new(), Instant::now(), after);
        while !waiting.is_empty() {
            let looked = self.look_at_some(services, waiting).await;
            waiting = looked.rest;
            for id in looked.changing {
                if let Err(error) = self.redact(services, &id).await {
                    tracing::debug!(session = %id, %error, "not redacted again yet");
                    later.push(id);
                }
            }
            later.extend(looked.busy);
            let mut shown = self.shown();
            shown.done = shown.total.saturating_sub((waiting.len() + later.len()) as u64);
            drop(shown);
            last = looked.last.map(|id| id.to_string()).or(last);
            // What waits to be tried again must not be passed over after a kill.
            if later.is_empty() && noted.elapsed() >= NOTED {
                noted = Instant::now();
                self.note(|mark| mark.after.clone_from(&last));
            }
        }
        let mut pause = RETRY;
        while !later.is_empty() {
            sleep(pause).await;
            pause = (2 * pause).min(RETRY_MOST);
            let mut left = Vec::new();
            for id in later {
                match self.redact(services, &id).await {
                    Ok(()) => {}
                    // `status` tells of it, and nothing can be done about what cannot be read.
                    Err(error @ Error::Unreadable(_)) => tracing::warn!(session = %id, %error, "not redacted again"),
                    Err(error) => {
                        self.shown().problem = Some(format!("session {id} is not redacted again yet: {error}"));
                        left.push(id);
                    }
                }
            }
            later = left;
        }
        self.note(|mark| mark.after = last);
        self.shown().problem = None;
    }

    /// Looks at as many as there is time for in one turn.
    async fn look_at_some(&self, services: &Arc<Services>, waiting: VecDeque<SessionId>) -> Looked {
        let mut asked = services.pace.asked();
        let _ = timeout(STAND_BACK, asked.wait_for(|questions| *questions == 0)).await;
        let room = services.pace.background().await;
        let (indexer, memos, table) = (services.indexer.clone(), services.memos.clone(), services.table.clone());
        let first = waiting.front().cloned();
        let looking = tokio::task::spawn_blocking(move || {
            let _room = room;
            let begun = Instant::now();
            let mut looked = Looked { rest: waiting, ..Looked::default() };
            while begun.elapsed() < TURN
                && let Some(id) = looked.rest.pop_front()
            {
                let look = || match memo::of_key(id.as_str()) {
                    Some(uuid) => Ok(memos.holds_more_to_redact(uuid)),
                    None => indexer.holds_more_to_redact(&table, &id),
                };
                let broke = |_| Err(Error::Unreadable("looking at it broke".to_owned()));
                let more = catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(broke);
                match more {
                    Ok(true) => looked.changing.push(id.clone()),
                    Ok(false) => {}
                    Err(Error::Busy | Error::NotStored(_)) => looked.busy.push(id.clone()),
                    Err(error @ Error::Unreadable(_)) => {
                        tracing::warn!(session = %id, %error, "not redacted again");
                    }
                }
                looked.last = Some(id);
            }
            looked
        });
        // Where looking at one breaks, the others still have their turn.
        looking.await.unwrap_or_else(|_| {
            let rest = owed(&services.table.now(), first.as_ref().map(SessionId::as_str)).into();
            Looked { rest, last: first, ..Looked::default() }
        })
    }

    /// Redacts what is stored of one session or memo again, and has that recorded.
    async fn redact(&self, services: &Arc<Services>, id: &SessionId) -> Result<(), Error> {
        let not_stored = |error: &dyn std::fmt::Display| Error::NotStored(error.to_string());
        if let Some(uuid) = memo::of_key(id.as_str()) {
            self.list(id).map_err(|error| not_stored(&error))?;
            return services.memos.redact_again(uuid).await.map_err(|error| not_stored(&error));
        }
        for _ in 0..PASSES {
            let (indexer, table, of) = (services.indexer.clone(), services.table.clone(), id.clone());
            let redacting = tokio::task::spawn_blocking(move || indexer.redact_again(&table, &of));
            let Some(again) = redacting.await.map_err(|error| not_stored(&error))?? else { return Ok(()) };
            let recorded = match self.list(id) {
                Ok(()) => self.record(services, id, &again.redact).await,
                Err(error) => Err(not_stored(&error)),
            };
            let (indexer, of, is_recorded) = (services.indexer.clone(), id.clone(), recorded.is_ok());
            let removing = tokio::task::spawn_blocking(move || indexer.replaced(&of, again, is_recorded));
            let removed = removing.await.map_err(|error| not_stored(&error))?;
            recorded?;
            removed?;
        }
        Err(Error::Unreadable("its text is another one each time that it is redacted".to_owned()))
    }

    async fn record(
        &self,
        services: &Arc<Services>,
        id: &SessionId,
        redact: &baton_events::session::Redact,
    ) -> Result<(), Error> {
        let asked = loop {
            let switch = Switch::Redact(Box::new(redact.clone()));
            match services.supervisor.switch(id, switch, limits::SESSION_CALL).await {
                // It may be recorded yet, and what was written must stay until that is known. Asked twice it does no harm.
                Err(error) if !*services.stop.borrow() => {
                    tracing::warn!(session = %id, %error, "not known whether its redaction is recorded; asked again");
                    tokio::time::sleep(RETRY).await;
                }
                asked => break asked,
            }
        };
        match asked {
            Ok(Switched::Done { .. }) => Ok(()),
            // Forgotten meanwhile: there is nothing left to be redacted.
            Ok(Switched::Refused(Rejection::Forgotten | Rejection::NotDiscovered)) => Ok(()),
            Ok(Switched::Failed { reason }) => Err(Error::NotStored(reason)),
            Ok(Switched::Refused(_) | Switched::Stopped(_)) => Err(Error::Busy),
            Err(error) => Err(Error::NotStored(error.to_string())),
        }
    }

    /// Takes what the changed ones said before out of everything that was made of it. To do so twice does no harm.
    async fn remove_traces(&self, services: &Arc<Services>) -> Result<(), String> {
        let (table, changed) = (services.table.now(), self.shown().changed.clone());
        if changed.is_empty() {
            return Ok(());
        }
        let changed: Vec<SessionId> = changed.into_iter().collect();
        services.indexer.purge_changed(&changed, table.position()).await?;
        let is_there = |id: &&SessionId| table.get(id).is_some_and(|row| row.state.phase != Phase::Forgotten);
        let sessions: Vec<SessionId> = changed.iter().filter(is_there).cloned().collect();
        let (indexer, reader, of) = (services.indexer.clone(), services.table.clone(), sessions.clone());
        let collecting = tokio::task::spawn_blocking(move || {
            of.iter().try_for_each(|id| match indexer.collect_now(&reader, id) {
                // One whose new conversation is damaged is told of elsewhere.
                Err(Error::Unreadable(_)) => Ok(()),
                Err(error) => Err(format!("superseded chunks of session {id} are still there: {error}")),
                Ok(()) => Ok(()),
            })
        });
        collecting.await.map_err(|error| error.to_string())??;
        let states = services.clone();
        let written = tokio::task::spawn_blocking(move || export::write(&states)).await;
        written.map_err(|error| error.to_string())?.map_err(|error| format!("session_states.json: {error}"))?;
        // Their notes are made anew of what is stored now; what people wrote in them stays.
        if !sessions.is_empty() {
            services.scribe.forget(services, &sessions).await?;
        }
        Ok(())
    }
}

/// What one turn came to.
#[derive(Default)]
struct Looked {
    rest: VecDeque<SessionId>,
    changing: Vec<SessionId>,
    busy: Vec<SessionId>,
    last: Option<SessionId>,
}

/// Every session and memo behind an id, in the order of their ids.
fn owed(table: &SessionTable, after: Option<&str>) -> Vec<SessionId> {
    let sessions = table.iter().filter(|(_, row)| row.state.phase != Phase::Forgotten).map(|(id, _)| id.clone());
    let memos = table.memos().filter(|(_, row)| row.state.memo.is_some()).map(|(uuid, _)| memo::key(uuid));
    let all: BTreeSet<SessionId> = sessions.chain(memos).collect();
    all.into_iter().filter(|id| after.is_none_or(|after| id.as_str() > after)).collect()
}

/// A list that cannot be read, or a line of it that is torn, names nothing.
fn read_list(file: &Path) -> BTreeSet<SessionId> {
    let is_small = fs::metadata(file).is_ok_and(|found| found.len() <= LIST_MAX_BYTES);
    let text = if is_small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let ids = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
    ids.filter_map(|id| SessionId::new(&id)).collect()
}
