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
mod fingerprints;
mod forks;
mod hidden;
mod messages;
mod notes;
mod selection;
mod set_aside;
mod targets;
mod wiper;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::{ForgetParams, Progress, answer};
use baton_redaction::redact;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::transcript_scan::with_kinds_of_progress;
use super::{QueryError, internal};
use crate::handoff::Handoffs;
use crate::session_states_file::SessionStatesFile;
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_journal::Journal;
use baton_memos::Memos;
use baton_store::chunks::Removed;
use baton_store::forgotten::ForgottenSessions;
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;
use baton_vault::NoteWriter;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;
use earlier_attempt::EarlierAttempt;
use hidden::Hidden;
use messages::{dry_run_message, forgotten_message, restored_message, undo_dry_run_message};
pub(crate) use selection::Selector;
use targets::{Selection, Target};
pub(crate) use wiper::Wiper;

/// Most transcripts that an answer names.
const TRANSCRIPTS: usize = 100;

const ELSEWHERE: &str = "the agent's own transcripts, exports (`baton log export`) and backups that were made before: they are \
                         outside of Baton's home and are not touched";

/// Forgets and restores sessions.
pub(crate) struct Forget {
    pub(crate) supervisor: supervisor::Handle,
    pub(crate) memos: Memos,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) handoffs: Arc<Handoffs>,
    pub(crate) note_writer: Arc<NoteWriter>,
    pub(crate) forgotten_sessions: Arc<ForgottenSessions>,
    pub(crate) states_file: Arc<SessionStatesFile>,
    pub(crate) wiper: Wiper,
}

impl Forget {
    pub(crate) async fn answer(
        self,
        asked: ForgetParams,
        selector: Selector<'_>,
        journal: &Arc<dyn Journal>,
    ) -> Result<answer::Forget, QueryError> {
        let mut asked = asked;
        let earlier = Arc::new(EarlierAttempt::find(&asked, journal).await?);
        let (mut hidden, mut notes) = (Hidden::default(), Vec::new());
        let mut note_ids = Vec::new();
        let is_named = !asked.sessions.is_empty();
        let mut selection = match asked.undo {
            true => {
                (hidden, asked.sessions) = hidden::select(&asked, self.conversations.catalog(), &earlier)?;
                match is_named && asked.sessions.is_empty() {
                    true => Selection::default(),
                    false => selector.select_to_restore(&asked, &earlier).await?,
                }
            }
            false => {
                (notes, asked.sessions) = notes::named(&self.conversations.catalog().table.now(), &asked, &earlier);
                note_ids = notes.iter().map(|uuid| memo::key(*uuid).to_string()).collect();
                match is_named && asked.sessions.is_empty() {
                    true => Selection::default(),
                    false => selector.select_to_forget(&asked).await?,
                }
            }
        };
        notes.extend(notes::of_project(self.conversations.catalog(), &asked));
        if !asked.undo {
            // What was deleted but not yet wiped is wiped before the call answers again.
            notes.extend(earlier.notes.difference(&notes.iter().copied().collect()));
            let more = earlier.sessions.iter().filter(|id| !selection.contains(id)).cloned();
            let more: Vec<Target> =
                more.map(|id| Target { why: "forgotten with it".to_owned(), ..Target::new(id) }).collect();
            selection.also.extend(more);
        }
        let back = selection.sessions.len();
        let shown = Selection {
            sessions: selection
                .sessions
                .iter()
                .cloned()
                .chain(hidden.sessions.iter().cloned().map(Target::new))
                .collect(),
            ..selection.clone()
        };
        let mut outcome = answer_for(&self.conversations.catalog().table.now(), &shown).await;
        outcome.notes = notes.len() as u64;
        outcome.note_ids = note_ids;
        outcome.found_again = hidden.count() as u64;
        outcome.dry_run = asked.dry_run;
        outcome.later = later_sessions_note(self.conversations.catalog(), &asked, &outcome);
        if asked.dry_run {
            if !asked.undo {
                let stored = measure_stored(&self.conversations, &selection).await?;
                (outcome.files, outcome.bytes, outcome.estimated) = (stored.files, stored.bytes, true);
            }
            outcome.message = if asked.undo { undo_dry_run_message(&outcome, back) } else { dry_run_message(&outcome) };
            return Ok(outcome);
        }
        let work = Arc::new(Work::default());
        let (working, before) = (work.clone(), earlier.clone());
        let targets: Vec<Target> = selection.sessions.into_iter().chain(selection.also).collect();
        // A task of its own, so that it does not stop half-way when the client disconnects.
        let carried_out = baton_base::task::spawn(async move {
            match asked.undo {
                true => {
                    let mut done = self.restore(targets, hidden.count(), &before, &working).await;
                    hidden::restore(&self, hidden, &before, &working, &mut done).await;
                    done
                }
                false => {
                    let unkept = if asked.only { None } else { self.keep_fingerprints(&targets).await.err() };
                    let mut done = self.carry_out(targets, notes, &before, &working).await;
                    done.problems.extend(
                        unkept.map(|why| format!("copies that are made later will not be known as such: {why}")),
                    );
                    done
                }
            }
        });
        let done = with_kinds_of_progress(selector.client, || work.progress(), carried_out).await?;
        let done = done.map_err(|error| internal("forgetting broke; call again and it goes on", error))?;
        outcome.files = done.removed.files;
        outcome.bytes = done.removed.bytes;
        outcome.status = if done.problems.is_empty() { "success" } else { "error" }.to_owned();
        outcome.message = match asked.undo {
            true => restored_message(&outcome, back, &done, &earlier),
            false => forgotten_message(&outcome, &done),
        };
        Ok(outcome)
    }

    /// Records all tombstones, then purges the sessions together.
    async fn carry_out(&self, targets: Vec<Target>, notes: Vec<Uuid>, earlier: &EarlierAttempt, work: &Work) -> Done {
        let mut done = Done::default();
        work.begin(2 * targets.len());
        let ids: Vec<SessionId> = targets.iter().map(|target| target.id.clone()).collect();
        let mut forgotten = Vec::with_capacity(ids.len());
        let mut waiting = targets.into_iter();
        let mut at_work = JoinSet::new();
        loop {
            while at_work.len() < limits::LAZY_AT_ONCE
                && let Some(target) = waiting.next()
            {
                let (supervisor, cause) = (self.supervisor.clone(), earlier.cause.clone());
                at_work.spawn(async move {
                    let switch = Switch::Forget { seen: target.file, cause };
                    let switched = supervisor.switch(&target.id, switch, limits::SESSION_CALL).await;
                    (target.id, switched)
                });
            }
            let Some(next) = at_work.join_next().await else { break };
            work.step();
            match next {
                Ok((id, Ok(Switched::Done { already }))) => {
                    done.already += u64::from(already);
                    // This call had forgotten it before; another one may have restored it since.
                    forgotten.extend(is_forgotten(&self.conversations.catalog().table.now(), &id).then_some(id));
                }
                Ok((id, switched)) => done.problems.push(not_done(&id, switched)),
                Err(error) => done.problems.push(format!("a session was not forgotten: {error}")),
            }
        }
        forgotten.extend(
            notes::delete(&self.memos, &self.conversations.catalog().table, notes, earlier, &mut done.problems).await,
        );
        // The table is published before an event is announced.
        let position = self.conversations.catalog().table.now().position();
        self.handoffs.clear();
        match self.wiper.indexer.purge(&forgotten, position, || work.step()).await {
            Ok(removed) => done.removed = removed,
            Err(problem) => done.problems.push(format!("{problem}; it is done by the next start, or call again")),
        }
        match self.note_writer.forget(&forgotten).await {
            Ok(theirs) => done.theirs = theirs,
            Err(problem) => done.problems.push(problem),
        }
        match self.wiper.wipe_aside(&forgotten).await {
            Ok(removed) => done.removed += removed,
            Err(problem) => done.problems.push(format!("what was put aside was not deleted: {problem}; call again")),
        }
        // Preparing a handoff that had begun may have stored what it read.
        self.handoffs.clear();
        if let Err(problem) = self.states_file.write_now().await {
            done.problems.push(format!("session_states.json was not written again: {problem}"));
        }
        tracing::info!(
            sessions = forgotten.len(),
            files = done.removed.files,
            bytes = done.removed.bytes,
            "sessions forgotten"
        );
        done
    }

    async fn restore(&self, targets: Vec<Target>, more: usize, earlier: &EarlierAttempt, work: &Work) -> Done {
        let mut done = Done::default();
        work.begin(targets.len() + more);
        if targets.is_empty() {
            return done;
        }
        let mut restored = Vec::with_capacity(targets.len());
        // Parents before subagents, which would otherwise be forgotten with them again.
        for target in targets {
            done.gone += u64::from(target.file.is_none());
            let switch = Switch::Restore { seen: target.file, cause: earlier.cause.clone() };
            match self.supervisor.switch(&target.id, switch, limits::SESSION_CALL).await {
                Ok(Switched::Done { .. }) => restored.push(target.id),
                switched => done.problems.push(not_done(&target.id, switched)),
            }
            work.step();
        }
        if let Err(problem) = fingerprints::lift(&self.forgotten_sessions, restored).await {
            done.problems.push(format!(
                "copies of it are forgotten when they are found, until the daemon is started again: {problem}"
            ));
        }
        if let Err(problem) = self.states_file.write_now().await {
            tracing::warn!(%problem, "session table not exported");
        }
        done
    }

    /// Stores fingerprints that recognise later copies of these sessions.
    async fn keep_fingerprints(&self, targets: &[Target]) -> Result<(), String> {
        fingerprints::keep(&self.forgotten_sessions, &self.wiper.indexer, &self.conversations.catalog().table, targets)
            .await
    }
}

/// Progress of the call.
#[derive(Default)]
struct Work {
    done: AtomicU64,
    total: AtomicU64,
}

impl Work {
    fn begin(&self, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
    }

    fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn progress(&self) -> Progress {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        Progress { what: "forgetting sessions".to_owned(), done, total }
    }
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
    theirs: Vec<String>,
}

fn is_forgotten(table: &SessionTable, id: &SessionId) -> bool {
    table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten)
}

fn not_done(id: &SessionId, switched: Result<Switched, baton_base::actor_address::CallError>) -> String {
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
        paths.into_iter().filter(|path| std::path::Path::new(path).exists()).collect()
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

/// What is stored in conversations and notes.
async fn measure_stored(conversations: &Arc<Conversations>, selection: &Selection) -> Result<Removed, QueryError> {
    let ids: Vec<SessionId> =
        selection.sessions.iter().chain(&selection.also).map(|target| target.id.clone()).collect();
    let conversations = conversations.clone();
    let weighing = baton_base::task::spawn_blocking(move || {
        ids.iter().try_fold(Removed::default(), |mut all, id| {
            all += conversations.chunks().stored(id)?;
            Ok::<_, baton_store::chunks::Error>(all)
        })
    });
    let stored = weighing.await.map_err(|error| internal("conversations cannot be measured", error))?;
    Ok(stored.map_err(|error| internal("conversations cannot be measured", error))?)
}
