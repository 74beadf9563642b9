//! Tracks one session, or stops tracking it.

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State, UnindexedReason};
use baton_protocol::{Caller, Failure, TrackParams, UntrackParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, internal};
use crate::client::failure;
use crate::resolve;
use crate::resolve::SessionResolver;
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::Settings;
use baton_tracking::session::{Switch, Switched};
use baton_tracking::supervisor;

/// Longest name of a group, in bytes.
const GROUP_CHARS: usize = 64;

pub(crate) async fn track(asked: TrackParams, resolver: SessionResolver<'_>) -> Result<answer::Track, QueryError> {
    let (id, seen) = match requested_session(resolver, asked.session.as_deref(), &asked.caller).await {
        Ok(meant) => meant,
        Err(failure) => return unknown(failure),
    };
    let group = match &asked.group {
        None => None,
        Some(text) => match group(&resolver.catalog().table.now(), &resolver.catalog().settings.now(), text) {
            Ok(group) => Some(group),
            Err(failure) => return Ok(error(Some(&id), failure.message)),
        },
    };
    let in_group = group.as_ref().map(|group| format!(" in group {}", redact(group))).unwrap_or_default();
    let was_stopped = resolver.catalog().table.now().get(&id).is_some_and(|row| is_stopped(&row.state));
    let lifted = if was_stopped { "; `stop_tracking_session` is lifted" } else { "" };
    let switch = Switch::Track { seen, force: asked.force, group };
    Ok(match ask(resolver.discovery.supervisor, &id, switch).await? {
        Switched::Done { already: true } => success(&id, format!("session is tracked{in_group}, as before")),
        Switched::Done { already: false } if asked.force => success(
            &id,
            format!("session is tracked{in_group}, whatever the switches say, until `stop_tracking_session`{lifted}"),
        ),
        Switched::Done { already: false } => success(&id, format!("session is tracked{in_group}{lifted}")),
        switched => not_done(&id, "tracked", switched),
    })
}

pub(crate) async fn untrack(asked: UntrackParams, resolver: SessionResolver<'_>) -> Result<answer::Track, QueryError> {
    let (id, seen) = match requested_session(resolver, Some(&asked.session), &Caller::default()).await {
        Ok(meant) => meant,
        Err(failure) => return unknown(failure),
    };
    Ok(match ask(resolver.discovery.supervisor, &id, Switch::Untrack { seen }).await? {
        Switched::Done { already: true } => success(&id, "session is not tracked, as before".to_owned()),
        Switched::Done { already: false } => {
            let message = "session is not tracked any more: its last episode stays searchable, and nothing of it is read \
                           until `track_session`";
            success(&id, message.to_owned())
        }
        switched => not_done(&id, "changed", switched),
    })
}

/// The requested session, with its transcript if it was never discovered.
async fn requested_session(
    resolver: SessionResolver<'_>,
    named: Option<&str>,
    caller: &Caller,
) -> Result<(SessionId, Option<FileSeen>), Failure> {
    let found = resolver.requested_session(named, caller).await;
    let text = named.or(caller.agent_session.as_deref());
    match (found, text) {
        (Ok(id), _) => Ok((id, None)),
        // A switch may keep it from being read.
        (Err(failure), Some(text)) if failure.code == code::NOT_FOUND => {
            match resolver.find_undiscovered(text).await? {
                Some(file) if resolver.catalog().table.now().get(&file.session).is_none() => {
                    Ok((file.session.clone(), Some(file)))
                }
                _ => Err(failure),
            }
        }
        (Err(failure), _) => Err(failure),
    }
}

async fn ask(supervisor: &supervisor::Handle, id: &SessionId, switch: Switch) -> Result<Switched, QueryError> {
    let switched = supervisor.switch(id, switch, limits::SESSION_CALL).await;
    switched.map_err(|error| match error {
        CallError::Gone => failure(
            code::INTERNAL,
            "the session failed twice over this call; `baton status` tells what to do, then try again",
        )
        .into(),
        CallError::TimedOut => internal("the session did not answer", error).into(),
    })
}

/// The group that a text names: a known project, else a new name.
pub(super) fn group(table: &SessionTable, settings: &Settings, text: &str) -> Result<String, Failure> {
    let refuse = |why: String| failure(code::INVALID_PARAMS, why);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_name = !text.is_empty() && text.len() <= GROUP_CHARS && text.chars().all(fits);
    match resolve::project(table, settings, text) {
        Ok(project) => Ok(project),
        // A bare name that fits several projects is refused: the next query would take it for one of them.
        Err(several) if several.message.contains("give the directory") => Err(refuse(several.message)),
        Err(_) if is_name && redact(text) == text => Ok(text.to_owned()),
        Err(_) if is_name => Err(refuse("that group looks like a secret; give a name".to_owned())),
        Err(_) => Err(refuse(format!(
            "{:?} is no known project, and no name for a group: that has 1 to {GROUP_CHARS} of A-Z a-z 0-9 . _ -",
            redact(text).chars().take(GROUP_CHARS).collect::<String>()
        ))),
    }
}

/// Returns true if the session itself was untracked, not its project.
fn is_stopped(state: &State) -> bool {
    state.phase == Phase::Unindexed(UnindexedReason::Untracked)
}

fn unknown(failure: Failure) -> Result<answer::Track, QueryError> {
    if failure.code == code::NOT_FOUND { Ok(error(None, failure.message)) } else { Err(failure.into()) }
}

fn success(id: &SessionId, message: String) -> answer::Track {
    answer::Track { status: "success".to_owned(), session_id: Some(id.to_string()), message }
}

fn error(id: Option<&SessionId>, message: String) -> answer::Track {
    answer::Track { status: "error".to_owned(), session_id: id.map(ToString::to_string), message }
}

fn not_done(id: &SessionId, what: &str, switched: Switched) -> answer::Track {
    let why = match switched {
        Switched::Stopped(stop) if !stop.is_lifted_by_force() => {
            format!("{stop}; `force` does not change that")
        }
        Switched::Stopped(stop) => stop.to_string(),
        Switched::Refused(rejection) => rejection.to_string(),
        Switched::Failed { reason } => format!("{reason}; mend that and ask again"),
        Switched::Done { .. } => String::new(),
    };
    error(Some(id), format!("session {id} not {what}: {why}"))
}
