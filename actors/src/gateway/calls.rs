//! What each method does: find out which session or project is meant, ask the actors, answer in the contract's words.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use baton_events::protocol::{
    self, CloseParams, Failure, SearchParams, SessionsParams, ShowParams, answer, code, method,
};
use baton_events::record::{CommandId, SessionId};
use baton_events::redact::redact;
use baton_events::session::{CloseReason, Phase};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::connection::{Out, failure, params};
use super::{Services, answers, lazy, resolve};
use crate::limits;
use crate::memory::Query;
use crate::session::{CloseCall, Closed, Outcome};
use crate::slot::CallError;

/// Most sessions that a search answers with.
const SEARCH_LIMIT: u32 = 100;
/// Longest id of a command, in bytes.
const COMMAND_ID_BYTES: usize = 128;

/// Why a call has no result.
pub(super) enum Ended {
    Failure(Failure),
    /// Nobody waits for the answer any more.
    ClientGone,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

pub(super) fn internal(what: &str, error: impl std::fmt::Display) -> Failure {
    failure(code::INTERNAL, format!("{what}: {error}"))
}

fn result(value: &impl serde::Serialize) -> Result<Box<RawValue>, Ended> {
    serde_json::value::to_raw_value(value).map_err(|error| internal("answer not written", error).into())
}

pub(super) async fn call(
    name: &str,
    raw: Option<&RawValue>,
    services: &Arc<Services>,
    out: &Out,
) -> Result<Box<RawValue>, Ended> {
    if *services.stop.borrow() {
        return Err(stopping().into());
    }
    let called = dispatch(name, raw, services, out).await;
    match called {
        // Whatever it was, this is why: actors end one after another.
        Err(Ended::Failure(failure)) if failure.code == code::INTERNAL && *services.stop.borrow() => {
            Err(stopping().into())
        }
        called => called,
    }
}

fn stopping() -> Failure {
    failure(code::STOPPING, "the daemon is stopping; call again and a new one is started")
}

async fn dispatch(
    name: &str,
    raw: Option<&RawValue>,
    services: &Arc<Services>,
    out: &Out,
) -> Result<Box<RawValue>, Ended> {
    match name {
        method::SEARCH => result(&search(params(raw)?, services, out).await?),
        method::SESSIONS => result(&sessions(&params(raw)?, services).await?),
        method::SHOW => result(&show(&params(raw)?, services).await?),
        method::CLOSE => result(&close(params(raw)?, services).await?),
        method::STATUS => result(&status(services).await?),
        method::STOP => {
            tracing::info!("asked to stop");
            services.stop.send_replace(true);
            result(&BTreeMap::from([("stopping", true)]))
        }
        other => {
            let known = "close, search, sessions, show, status, stop";
            Err(failure(code::METHOD_NOT_FOUND, format!("no method {other:?}; there are {known}")).into())
        }
    }
}

async fn search(asked: SearchParams, services: &Arc<Services>, out: &Out) -> Result<answer::Search, Ended> {
    if asked.query.trim().is_empty() {
        return Err(failure(code::INVALID_PARAMS, "the query is empty; say what to look for").into());
    }
    if asked.wait {
        lazy::wait_for_history(services, out).await?;
    }
    let project = || asked.project.as_deref().map(|name| resolve::project(&services.table.borrow().clone(), name));
    // A project whose first session began a moment ago is known only after the step.
    let known = project().and_then(Result::ok);
    let step = lazy::step(services, out, known.as_deref(), asked.wait).await?;
    let project = project().transpose()?;
    let position = lazy::catch_up(services, out, step.position, asked.wait).await?;
    let searcher = services.indexer.searcher().map_err(|error| internal("the memory is not open", error))?;
    let table = services.table.borrow().clone();
    let failed = table.iter().filter(|(_, row)| row.state.phase == Phase::Failed);
    let failed = failed.map(|(id, _)| id.to_string()).take(resolve::NAMED).collect();
    let (query, limit) = (asked.query, asked.limit.min(SEARCH_LIMIT) as usize);
    let found = tokio::task::spawn_blocking(move || {
        let hidden = |id: &str| {
            let row = SessionId::new(id).and_then(|id| table.get(&id).cloned());
            row.is_none_or(|row| row.state.phase == Phase::Forgotten)
        };
        let query = Query { project: project.as_deref(), sessions: limit, exclude: &hidden, ..Query::new(&query) };
        let hits = searcher.search(&query).map_err(|error| internal("the search failed", error))?;
        Ok::<_, Failure>(hits.into_iter().map(|hit| answers::hit(&table, hit)).collect())
    });
    let hits = found.await.map_err(|error| internal("the search broke", error))??;
    let freshness = answer::Freshness {
        indexed_now: step.indexed,
        pending: step.pending + u64::from(position < step.position),
        position: position.0,
        failed,
    };
    Ok(answer::Search { hits, freshness })
}

async fn sessions(asked: &SessionsParams, services: &Arc<Services>) -> Result<answer::Sessions, Ended> {
    const STATES: [&str; 7] = ["active", "inactive", "unindexed", "indexing", "indexed", "failed", "forgotten"];
    if let Some(state) = &asked.state
        && !STATES.contains(&state.as_str())
    {
        let known = STATES.join(", ");
        return Err(failure(code::INVALID_PARAMS, format!("no state {state:?}; there are {known}")).into());
    }
    lazy::look(services).await;
    let table = services.table.borrow().clone();
    let project = asked.project.as_deref().map(|name| resolve::project(&table, name)).transpose()?;
    let mut rows: Vec<_> = table
        .iter()
        .filter(|(_, row)| asked.subagents || !row.state.is_subagent())
        .filter(|(_, row)| asked.state.as_deref().is_none_or(|state| row.state.phase.as_str() == state))
        .filter(|(_, row)| project.as_deref().is_none_or(|project| resolve::is_in(&row.state, project)))
        .collect();
    rows.sort_by_key(|(id, row)| (std::cmp::Reverse(row.state.last_activity()), (*id).clone()));
    let policy = services.policy.borrow().clone();
    Ok(answer::Sessions {
        sessions: rows.into_iter().map(|(id, row)| answers::row(services, &policy, id, &row.state)).collect(),
    })
}

async fn show(asked: &ShowParams, services: &Arc<Services>) -> Result<answer::Show, Ended> {
    let id = resolve::session(services, &asked.session).await?;
    let Some(row) = services.table.borrow().get(&id).cloned() else {
        return Err(resolve::unknown(&services.table.borrow().clone(), id.as_str()).into());
    };
    let policy = services.policy.borrow().clone();
    let shown = answers::row(services, &policy, &id, &row.state);
    let Some(current) = row.state.episode.clone() else { return Ok(answer::Show { row: shown, episode: None }) };
    let services = services.clone();
    let read = tokio::task::spawn_blocking(move || {
        match services.indexer.conversation(&id, &current) {
            Ok(items) => Ok(answers::episode(&id, &current, &items)),
            // It may have been replaced, and its chunks collected, since the table was read.
            Err(error) => {
                let newer = services.table.borrow().get(&id).and_then(|row| row.state.episode.clone());
                match newer {
                    Some(newer) if newer.manifest != current.manifest => services
                        .indexer
                        .conversation(&id, &newer)
                        .map(|items| answers::episode(&id, &newer, &items))
                        .map_err(|error| internal("the episode cannot be read", error)),
                    _ => Err(internal("the episode cannot be read", error)),
                }
            }
        }
    });
    let episode = read.await.map_err(|error| internal("reading the episode broke", error))??;
    Ok(answer::Show { row: shown, episode: Some(episode) })
}

async fn close(asked: CloseParams, services: &Arc<Services>) -> Result<answer::Close, Ended> {
    let id = match resolve::meant(services, &asked).await {
        Ok(id) => id,
        Err(failure) if failure.code == code::NOT_FOUND => {
            let message = failure.message;
            return Ok(answer::Close { status: "error".to_owned(), message, ..answer::Close::default() });
        }
        Err(failure) => return Err(failure.into()),
    };
    let command = match &asked.command_id {
        Some(text) if text.len() > COMMAND_ID_BYTES => {
            let message = format!("a command id may have {COMMAND_ID_BYTES} bytes");
            return Err(failure(code::INVALID_PARAMS, message).into());
        }
        Some(text) => text.clone(),
        None => Uuid::new_v4().to_string(),
    };
    let note = asked.reason.as_deref().map(bounded_note).filter(|note| !note.is_empty());
    // An agent that closes its own session still writes the answer of this call and its last words.
    let by_self = asked.agent_session.as_deref() == Some(id.as_str());
    let call = CloseCall { reason: CloseReason::Explicit, note, by_self, command: CommandId::new(&command) };
    let deadline = Duration::from_millis(asked.deadline_ms).min(limits::CLOSE_DEADLINE);
    let closing = {
        let (services, id) = (services.clone(), id.clone());
        async move {
            let closed = services.supervisor.close(&id, None, call, deadline).await?;
            if matches!(closed.outcome, Outcome::Stored | Outcome::Replaced(_) | Outcome::Unchanged) {
                services.indexer.caught_up(closed.position, deadline).await?;
            }
            Ok::<Closed, CallError>(closed)
        }
    };
    // A task of its own: whoever no longer waits for the close has asked for it all the same.
    let closed = match tokio::time::timeout(deadline, tokio::spawn(closing)).await {
        Ok(closed) => closed.unwrap_or(Err(CallError::Gone)),
        Err(_) => Err(CallError::TimedOut),
    };
    Ok(answers::close(&id, closed))
}

/// Free text: redacted, one line, bounded.
fn bounded_note(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    redact(&line.join(" ")).chars().take(limits::NOTE_CHARS).collect()
}

async fn status(services: &Arc<Services>) -> Result<answer::Status, Ended> {
    let overview = services.watcher.overview().await.unwrap_or_default();
    let table = services.table.borrow().clone();
    let mut sessions = BTreeMap::new();
    for (_, row) in table.iter() {
        *sessions.entry(row.state.phase.as_str().to_owned()).or_default() += 1;
    }
    let (memory_position, memory_problem) = services.indexer.memory();
    let documents = services.indexer.searcher().map_or(0, |searcher| {
        let (turns, sessions) = searcher.counts();
        turns + sessions
    });
    let tail = services.journal.tail().position;
    let log = services.journal.stats();
    let progress = *services.progress.borrow();
    let degraded = services.degraded.borrow().clone();
    let mut problems = answers::problems(&overview, &table, &degraded);
    problems.extend(services.log_problem.iter().chain(&log.problem).map(|what| answer::Problem {
        what: what.clone(),
        fix: "see `daemon.log`; nothing that was acknowledged is lost".to_owned(),
    }));
    problems.extend(services.indexer.left_out().iter().map(|session| answer::Problem {
        what: format!("session {session} cannot be taken into the searchable memory: searches do not find it"),
        fix: "`baton show` still reads it; please report it with the lines of `daemon.log`".to_owned(),
    }));
    problems.extend(memory_problem.map(|what| answer::Problem {
        what: format!("the searchable memory does not follow the log: {what}"),
        fix: "free disk space or fix the permissions of `memory/`; it is tried again every few seconds".to_owned(),
    }));
    Ok(answer::Status {
        pid: std::process::id(),
        version: services.version.clone(),
        protocol: protocol::VERSION,
        home: services.home.display().to_string(),
        started_at: services.started_at.to_string(),
        roots: overview
            .roots
            .iter()
            .map(|(path, exists, notified)| answer::Root {
                path: path.display().to_string(),
                exists: *exists,
                watched_by: if *notified { "notify" } else { "sweep" }.to_owned(),
            })
            .collect(),
        transcripts: overview.transcripts,
        sessions,
        backlog: answer::Progress { done: progress.done, pending: progress.pending() },
        log: answer::Log { position: tail.0, segments: log.segments, bytes: log.bytes, unreadable: table.skipped() },
        memory: answer::Memory {
            position: memory_position.0,
            lag: tail.0.saturating_sub(memory_position.0),
            documents,
        },
        problems,
    })
}
