//! Forgets and restores sessions: records tombstones, then deletes everything stored. For people only; no tool of an
//! agent calls it.
//!
//! Once begun it continues without the client. After a kill the next start continues: the table shows what is owed,
//! because a forgotten session has neither files nor documents.
//!
//! # Hazards
//!
//! - It waits for a running `log verify`, 10 minutes at most.

mod earlier_attempt;
mod forks;
mod hidden;
mod keepers;
mod messages;
mod notes;
mod selection;
mod targets;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::{ForgetParams, answer};
use baton_redaction::redact;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::transcript_scan::with_progress;
use super::{QueryError, internal};
use crate::session_states_file::SessionStatesFile;
use crate::transcript_peek;
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::transcript_file::{self, FileSeen};
use baton_journal::Journal;
use baton_memos::Memos;
use baton_store::chunks::Removed;
use baton_store::fingerprints::{self, ForgottenSessions, Marks};
use baton_store::text_keeper::{self, Erasure, TextKeepers};
use baton_store::transcript_reader;
use baton_tracking::session::{Switch, Switched};
use baton_tracking::{indexer, supervisor};
use baton_views::catalog::Catalog;
use earlier_attempt::EarlierAttempt;
use hidden::Hidden;
pub(crate) use keepers::{ExportedTable, SetAside, VaultNotes, Wiper};
use messages::{dry_run_message, forgotten_message, restored_message, undo_dry_run_message};
pub(crate) use selection::Selector;
use targets::{Selection, Target};

/// Most transcripts that an answer names.
const TRANSCRIPTS: usize = 100;

const ELSEWHERE: &str = "the agent's own transcripts, exports (`baton log export`) and backups that were made before: they are \
                         outside of Baton's home and are not touched";

/// Forgets and restores sessions.
pub(crate) struct Forget {
    pub(crate) catalog: Catalog,
    pub(crate) supervisor: supervisor::Handle,
    pub(crate) memos: Memos,
    pub(crate) indexer: indexer::Handle,
    pub(crate) forgotten_sessions: Arc<ForgottenSessions>,
    pub(crate) states_file: Arc<SessionStatesFile>,
    pub(crate) keepers: TextKeepers,
}

impl Forget {
    pub(crate) async fn answer(
        self,
        mut asked: ForgetParams,
        selector: Selector<'_>,
        journal: &Arc<dyn Journal>,
    ) -> Result<answer::Forget, QueryError> {
        let earlier = EarlierAttempt::find(&asked, journal).await?;
        let (mut hidden, mut notes) = (Hidden::default(), Vec::new());
        let is_named = !asked.sessions.is_empty();
        if asked.undo {
            (hidden, asked.sessions) = hidden::select(&asked, &self.catalog, &earlier)?;
        } else {
            (notes, asked.sessions) = notes::named(&self.catalog.table.now(), &asked, &earlier);
        }
        let note_ids = notes.iter().map(|uuid| baton_events::memo::key(*uuid).to_string()).collect();
        // Nothing but notes, or what is hidden, was named.
        let mut selection = if is_named && asked.sessions.is_empty() {
            Selection::default()
        } else if asked.undo {
            selector.select_to_restore(&asked, &earlier).await?
        } else {
            selector.select_to_forget(&asked).await?
        };
        if !asked.undo {
            notes.extend(notes::of_project(&self.catalog, &asked));
            // What was deleted but not yet wiped is wiped before the call answers again.
            notes.extend(earlier.notes.difference(&notes.iter().copied().collect()));
            for id in earlier.sessions.iter().filter(|id| !selection.contains(id)).cloned().collect::<Vec<_>>() {
                selection.also.push(Target { why: "forgotten with it".to_owned(), ..Target::new(id) });
            }
        }
        let back = selection.sessions.len();
        let mut shown = selection.clone();
        shown.sessions.extend(hidden.sessions.iter().cloned().map(Target::new));
        let mut outcome = answer_for(&self.catalog.table.now(), &shown).await;
        outcome.notes = notes.len() as u64;
        outcome.note_ids = note_ids;
        outcome.found_again = hidden.count() as u64;
        outcome.dry_run = asked.dry_run;
        outcome.later = later_sessions_note(&self.catalog, &asked, &outcome);
        let targets: Vec<Target> = selection.sessions.into_iter().chain(selection.also).collect();
        if asked.dry_run {
            if asked.undo {
                outcome.message = undo_dry_run_message(&outcome, back);
            } else {
                let stored = measure(self.keepers, targets).await.map_err(|error| not_measured(&error))?;
                (outcome.files, outcome.bytes, outcome.estimated) = (stored.files, stored.bytes, true);
                outcome.message = dry_run_message(&outcome);
            }
            return Ok(outcome);
        }
        let total = if asked.undo { targets.len() + hidden.count() } else { 2 * targets.len() } as u64;
        let steps = Arc::new(AtomicU64::new(0));
        let mut run = Run { forget: self, earlier, steps: steps.clone(), done: Done::default() };
        // A task of its own, so that it does not stop half-way when the client disconnects.
        let carried_out = baton_base::task::spawn(async move {
            if asked.undo {
                run.restore(targets).await;
                run.restore_hidden(hidden).await;
            } else {
                run.forget(targets, notes, asked.only).await;
            }
            run
        });
        let progress = || (steps.load(Ordering::Relaxed).min(total), total);
        let run = with_progress(selector.client, "forgetting sessions", progress, carried_out).await?;
        let Run { done, earlier, .. } =
            run.map_err(|error| internal("forgetting broke; call again and it goes on", error))?;
        outcome.files = done.removed.files;
        outcome.bytes = done.removed.bytes;
        outcome.status = if done.problems.is_empty() { "success" } else { "error" }.to_owned();
        outcome.message = if asked.undo {
            restored_message(&outcome, back, &done, &earlier)
        } else {
            forgotten_message(&outcome, &done)
        };
        Ok(outcome)
    }
}

/// Carries out one call.
struct Run {
    forget: Forget,
    earlier: EarlierAttempt,
    /// Steps done so far.
    steps: Arc<AtomicU64>,
    done: Done,
}

impl Run {
    fn table(&self) -> SessionTable {
        self.forget.catalog.table.now()
    }

    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Records all tombstones, then makes all text keepers erase.
    async fn forget(&mut self, targets: Vec<Target>, notes: Vec<Uuid>, only: bool) {
        if !only && let Err(why) = self.keep_fingerprints(&targets).await {
            self.done.problems.push(format!("copies that are made later will not be known as such: {why}"));
        }
        let mut gone = Vec::with_capacity(targets.len());
        let mut waiting = targets.into_iter();
        let mut at_work = JoinSet::new();
        loop {
            while at_work.len() < limits::LAZY_AT_ONCE
                && let Some(target) = waiting.next()
            {
                let (supervisor, cause) = (self.forget.supervisor.clone(), self.earlier.cause.clone());
                at_work.spawn(async move {
                    let switch = Switch::Forget { seen: target.file, cause };
                    let switched = supervisor.switch(&target.id, switch, limits::SESSION_CALL).await;
                    (target.id, switched)
                });
            }
            let Some(next) = at_work.join_next().await else { break };
            self.step();
            match next {
                Ok((id, Ok(Switched::Done { already }))) => {
                    self.done.already += u64::from(already);
                    // This call had forgotten it before; another one may have restored it since.
                    if is_forgotten(&self.table(), &id) {
                        gone.push(id);
                    }
                }
                Ok((id, switched)) => self.done.problems.push(not_done(&id, switched)),
                Err(error) => self.done.problems.push(format!("a session was not forgotten: {error}")),
            }
        }
        gone.extend(self.delete_notes(notes).await);
        // The table is published before an event is announced.
        let (position, steps) = (self.table().position(), self.steps.clone());
        let step = move || {
            steps.fetch_add(1, Ordering::Relaxed);
        };
        let erasure = Erasure { sessions: &gone, position, step: &step };
        let report = text_keeper::erase(&self.forget.keepers, erasure).await;
        (self.done.removed, self.done.edited) = (report.removed, report.edited);
        self.done.problems.extend(report.problems);
        let Removed { files, bytes } = self.done.removed;
        tracing::info!(sessions = gone.len(), files, bytes, "sessions forgotten");
    }

    /// Deletes memos. Returns the ids under which their words may still be in files. One that this call deleted before and
    /// that was added again since stays.
    async fn delete_notes(&mut self, notes: Vec<Uuid>) -> Vec<SessionId> {
        let mut deleted = Vec::with_capacity(notes.len());
        for uuid in notes {
            let is_there = self.table().memo_row(uuid).is_some_and(|row| row.state.memo.is_some());
            if is_there && self.earlier.notes.contains(&uuid) {
                continue;
            }
            match self.forget.memos.delete(uuid, self.earlier.cause.clone()).await {
                Ok(_) => deleted.push(baton_events::memo::key(uuid)),
                Err(error) => self.done.problems.push(format!("note {uuid}: {error}")),
            }
        }
        deleted
    }

    async fn restore(&mut self, targets: Vec<Target>) {
        if targets.is_empty() {
            return;
        }
        let mut restored = Vec::with_capacity(targets.len());
        // Parents before subagents, which would otherwise be forgotten with them again.
        for target in targets {
            self.done.gone += u64::from(target.file.is_none());
            let switch = Switch::Restore { seen: target.file, cause: self.earlier.cause.clone() };
            match self.forget.supervisor.switch(&target.id, switch, limits::SESSION_CALL).await {
                Ok(Switched::Done { .. }) => restored.push(target.id),
                switched => self.done.problems.push(not_done(&target.id, switched)),
            }
            self.step();
        }
        let forgotten_sessions = self.forget.forgotten_sessions.clone();
        let lifting = baton_base::task::spawn_blocking(move || forgotten_sessions.lift(&restored));
        if let Err(problem) = lifting.await.map_err(std::io::Error::other).flatten() {
            self.done.problems.push(format!(
                "copies of it are forgotten when they are found, until the daemon is started again: {problem}"
            ));
        }
        if let Err(problem) = self.forget.states_file.write_now().await {
            tracing::warn!(%problem, "session table not exported");
        }
    }

    /// Stores fingerprints that recognise later copies of these sessions, durably: of their records in the memory, or else
    /// in the transcript.
    async fn keep_fingerprints(&self, targets: &[Target]) -> Result<(), String> {
        let (forgotten_sessions, indexer) = (self.forget.forgotten_sessions.clone(), self.forget.indexer.clone());
        let (table, targets) = (self.table(), targets.to_vec());
        let keeping = baton_base::task::spawn_blocking(move || {
            let searcher = indexer.searcher().ok();
            let kept = targets.iter().map(|target| {
                let known = searcher.as_ref().and_then(|searcher| searcher.record_marks(&target.id).ok());
                let marks = known.filter(|marks| !marks.is_empty()).unwrap_or_else(|| marks_of_file(&table, target));
                (target.id.clone(), fingerprints::select_marks(&marks))
            });
            forgotten_sessions.keep(kept.collect())
        });
        keeping.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

/// The fingerprints of a transcript's first records. Blocks for disk reads.
fn marks_of_file(table: &SessionTable, target: &Target) -> Vec<u64> {
    let known = || transcript_peek::file_of(&target.id, &table.get(&target.id)?.state);
    let mut records = Marks::default();
    if let Some(file) = target.file.clone().or_else(known) {
        transcript_reader::look(&transcript_peek::beginning(&file), limits::COPY_HEAD_BYTES, &mut records);
    }
    records.0
}

/// The result of the work.
#[derive(Default)]
struct Done {
    removed: Removed,
    /// Sessions that were already in the wanted state.
    already: u64,
    /// Restored sessions whose transcript no longer exists.
    gone: u64,
    /// What failed, and why.
    problems: Vec<String>,
    /// Notes that keep text that people wrote.
    edited: Vec<String>,
}

fn is_forgotten(table: &SessionTable, id: &SessionId) -> bool {
    table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten)
}

fn not_done(id: &SessionId, switched: Result<Switched, CallError>) -> String {
    let why = match switched {
        Ok(Switched::Refused(rejection)) => rejection.to_string(),
        Ok(Switched::Failed { reason }) => reason,
        Ok(Switched::Stopped(stop)) => stop.to_string(),
        Ok(Switched::Done { .. }) => String::new(),
        Err(error) => error.to_string(),
    };
    format!("session {id}: {why}")
}

/// The sessions that go or come back, as wire types.
async fn answer_for(table: &SessionTable, selection: &Selection) -> answer::Forget {
    let unknown = State::default();
    let out = |text: &str| redact(text).into_owned();
    let state_of = |target: &Target| table.get(&target.id).map(|row| row.state.clone());
    let path_of = |target: &Target| {
        let known = table.get(&target.id).and_then(|row| row.state.transcript.as_ref().map(|known| known.path.clone()));
        target.file.as_ref().map(|file: &FileSeen| file.path.to_string()).or(known)
    };
    let row = |target: &Target| {
        let known = state_of(target);
        let state = known.as_ref().unwrap_or(&unknown);
        answer::ForgetRow {
            session_id: target.id.to_string(),
            state: if known.is_some() { state.phase.as_str() } else { "not read" }.to_owned(),
            project: state.place.as_ref().map(|place| out(&place.project)).or(target.project.as_deref().map(out)),
            file_path: path_of(target).map(|path| out(&path)),
            last_activity: known
                .as_ref()
                .map(|state| state.last_activity())
                .or(target.last_at)
                .map(|at| at.to_string()),
            message_count: state.counts.messages,
            parent_session_id: state.parent().or(target.parent.as_ref()).map(ToString::to_string),
        }
    };
    let also = |target: &Target| answer::ForgetAlso {
        session_id: target.id.to_string(),
        why: target.why.clone(),
        shared: target.shared,
        project: state_of(target)
            .and_then(|state| state.place.map(|place| out(&place.project)))
            .or(target.project.as_deref().map(out)),
    };
    let paths: Vec<String> =
        selection.sessions.iter().chain(&selection.also).filter_map(path_of).take(TRANSCRIPTS).collect();
    let there = baton_base::task::spawn_blocking(move || -> Vec<String> {
        paths.into_iter().filter(|path| transcript_file::exists(std::path::Path::new(path))).collect()
    });
    answer::Forget {
        status: "success".to_owned(),
        sessions: selection.sessions.iter().map(row).collect(),
        also: selection.also.iter().map(also).collect(),
        left: selection.left.iter().map(also).collect(),
        kept_elsewhere: ELSEWHERE.to_owned(),
        transcripts: there.await.unwrap_or_default().iter().map(|path| out(path)).collect(),
        ..answer::Forget::default()
    }
}

/// The note on future sessions of a project; empty if none of it is read any more.
fn later_sessions_note(catalog: &Catalog, asked: &ForgetParams, outcome: &answer::Forget) -> String {
    let (table, settings) = catalog.now();
    let is_read = |row: &&answer::ForgetRow| {
        let known = SessionId::new(&row.session_id).and_then(|id| table.get(&id));
        known.is_none_or(|known| !settings.excludes(&known.state))
    };
    let read = outcome.sessions.iter().filter(is_read).filter_map(|row| row.project.as_deref());
    let projects: BTreeSet<&str> = read.filter(|_| asked.project.is_some() && !asked.undo).collect();
    let Some(first) = projects.first() else { return String::new() };
    let directories = serde_json::to_string(&projects).unwrap_or_default();
    let whose = if projects.len() == 1 { (*first).to_owned() } else { "these projects".to_owned() };
    format!(
        "sessions of {whose} that begin later are remembered again; to keep them out, put {directories} into \
         session_tracking.exclude of config.json"
    )
}

/// What forgetting these would remove.
async fn measure(keepers: TextKeepers, targets: Vec<Target>) -> Result<Removed, String> {
    let measuring = baton_base::task::spawn_blocking(move || {
        let ids: Vec<SessionId> = targets.into_iter().map(|target| target.id).collect();
        let mut all = Removed::default();
        for keeper in keepers {
            all += keeper.find(&ids)?;
        }
        Ok(all)
    });
    measuring.await.map_err(|error| error.to_string()).flatten()
}

fn not_measured(error: &str) -> QueryError {
    internal("conversations cannot be measured", error).into()
}
