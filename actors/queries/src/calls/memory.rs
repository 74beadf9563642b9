//! Adds notes to the memory, and reports its status.

use std::time::Duration;

use baton_ask::query::{self, AskedAt};
use baton_conversation::record::{Position, Timestamp};
use baton_events::memo::{self, Source, Words};
use baton_protocol::{AddMemoryParams, Caller, Failure, answer, code};
use baton_redaction::redact;
use baton_views::clones;
use uuid::Uuid;

use super::forget::Wiper;
use super::track;
use super::{QueryError, cause, internal};
use baton_tracking::indexer::Want;

use crate::client::failure;
use baton_base::clock::Clock;
use baton_base::io_remedy::IoCause;
use baton_base::journal_health::JournalHealth;
use baton_events::projection::table::SessionTable;
use baton_journal::Journal;
use baton_memos::{Done, Memos, NewMemo};
use baton_store::text_keeper::{self, Erasure};
use baton_tracking::indexer;
use baton_views::catalog::Catalog;

/// Longest wait until a recorded note can be found.
const FINDABLE: Duration = Duration::from_secs(10);
/// Group of a note without a group or a directory, as in Graphiti.
const NO_GROUP: &str = "main";
/// Longest directory of a caller, in bytes: no system allows a longer path.
const DIRECTORY_MAX_BYTES: usize = 4_096;

/// Adds a note. It is durable when this returns, and the next search finds it.
pub(crate) async fn add(
    asked: AddMemoryParams,
    catalog: &Catalog,
    memos: &Memos,
    indexer: &indexer::Handle,
    clock: &dyn Clock,
) -> Result<answer::AddMemory, QueryError> {
    let source = match asked.source.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("text") => Source::Text,
        Some("json") => Source::Json,
        Some("message") => Source::Message,
        Some(other) => {
            let message = format!("no source {:?}; there are text, json and message", redact(other));
            return Err(failure(code::INVALID_PARAMS, message).into());
        }
    };
    let now = clock.now();
    let reference_time = asked
        .reference_time
        .as_deref()
        .map(|text| parse_time(text, AskedAt { now, zone: asked.caller.zone() }))
        .transpose()?;
    let uuid = asked.uuid.as_deref().map(parse_uuid).transpose()?;
    if let Some(session) = uuid.and_then(|uuid| session_of(&catalog.table.now(), uuid)) {
        let message = format!("that uuid is the episode of session {session}; give another one, or none");
        return Err(failure(code::INVALID_PARAMS, message).into());
    }
    let words = Words::note(
        &asked.name,
        &asked.episode_body,
        asked.source_description.as_deref().unwrap_or_default(),
        source == Source::Json,
    );
    let words = words.map_err(|unfit| failure(code::INVALID_PARAMS, unfit.to_string()))?;
    let group = group_of(catalog, asked.group_id.as_deref(), &asked.caller).await?;
    let name = words.name.clone();
    let wanted = NewMemo { uuid, source, group: group.clone(), reference_time, words };
    let kept = memos.record(wanted, cause(asked.command_id.as_deref())).await.map_err(|error| not_recorded(&error))?;
    let findable = wait_findable(indexer, kept.position).await;
    let (status, done) = match kept.done {
        Done::Added => ("added", "added"),
        Done::Replaced => ("replaced", "replaced what stood there"),
        Done::Unchanged => ("unchanged", "was there already, with these words"),
    };
    let ignored = match asked.ignored.as_slice() {
        [] => String::new(),
        names => format!("; ignored: {}", names.join(", ")),
    };
    let (name, group) = (redact(&name).into_owned(), redact(&group).into_owned());
    Ok(answer::AddMemory {
        message: format!("Episode '{name}' {done} in group '{group}'{}{ignored}", findable.unwrap_or_default()),
        episode_uuid: kept.uuid.to_string(),
        name,
        group_id: group,
        status: status.to_owned(),
        ignored: asked.ignored,
    })
}

/// The status of the memory in the format of Graphiti.
pub(crate) fn status(
    table: &SessionTable,
    journal: &dyn Journal,
    indexer: &indexer::Handle,
    outage: &JournalHealth,
) -> answer::MemoryStatus {
    let (position, problem) = indexer.memory_state();
    let problem = problem.or_else(|| outage.lasting().map(|refusal| refusal.reason));
    let tail = journal.tail().position;
    let documents = indexer.searcher().map_or(0, |searcher| {
        let (turns, sessions) = searcher.counts();
        turns + sessions
    });
    let lag = tail.0.saturating_sub(position.0);
    let episodes = table.iter().filter(|(_, row)| table.visible_episode(row).is_some()).count() as u64;
    let notes = table.memos().filter(|(uuid, _)| table.memo(*uuid).is_some()).count() as u64;
    let message = match &problem {
        Some(why) => redact(&format!("Baton's memory is in trouble: {why}; `baton status` tells more")).into_owned(),
        None if lag > 0 => format!("Baton's memory is running, {lag} events behind the log"),
        None => "Baton's memory is running and follows the log".to_owned(),
    };
    let status = if problem.is_some() { "error" } else { "ok" }.to_owned();
    answer::MemoryStatus { status, message, episodes, notes, documents, lag }
}

/// The named group, else the caller's project.
pub(super) async fn group_of(catalog: &Catalog, named: Option<&str>, caller: &Caller) -> Result<String, Failure> {
    if let Some(text) = named {
        return track::group(&catalog.table.now(), &catalog.settings.now(), text);
    }
    let Some(directory) = caller.directory.clone() else { return Ok(NO_GROUP.to_owned()) };
    // The caller may send any string, and it becomes a name in the log.
    if !std::path::Path::new(&directory).is_absolute() || directory.len() > DIRECTORY_MAX_BYTES {
        let message = format!(
            "a caller's directory is an absolute path of at most {DIRECTORY_MAX_BYTES} bytes; give group_id to name another group"
        );
        return Err(failure(code::INVALID_PARAMS, message));
    }
    let table = catalog.table.now();
    let resolve = move || Some(clones::joined(&table, baton_base::project::resolve_in_time(&directory)?));
    let place = baton_base::task::spawn_blocking(resolve).await;
    let place = place.map_err(|error| internal("resolving the directory broke", error))?;
    // The note would be in another group than the rest of its project.
    let hung = "the file system of the caller's directory does not answer; give group_id to name the group";
    Ok(place.ok_or_else(|| failure(code::INTERNAL, hung.to_owned()))?.project)
}

/// Waits until searches cover a position. Returns a note for the answer if that takes too long.
pub(super) async fn wait_findable(indexer: &indexer::Handle, position: Position) -> Option<String> {
    if indexer.covers(position, Want::ButLarge, FINDABLE).await.is_ok() {
        return None;
    }
    let why = indexer.memory_state().1.unwrap_or_else(|| "it is busy".to_owned());
    let remedy = IoCause::in_message(&why).remedy();
    Some(
        redact(&format!("; it is stored, but the searchable memory has not taken it in yet: {why}; {remedy}"))
            .into_owned(),
    )
}

/// Waits until no file contains the words of a deleted note. Returns a note for the answer if that takes too long.
pub(super) async fn wipe_and_wait(wiper: &Wiper, note: Uuid, position: Position) -> Option<String> {
    let sessions = [memo::key(note)];
    let wiping = text_keeper::erase(&wiper.keepers, Erasure { sessions: &sessions, position, step: &|| {} });
    let why = match tokio::time::timeout(FINDABLE, wiping).await {
        Ok(report) => report.problems.into_iter().next()?,
        Err(_) => wiper.indexer.memory_state().1.unwrap_or_else(|| "the searchable memory is busy".to_owned()),
    };
    let remedy = IoCause::in_message(&why).remedy();
    Some(redact(&format!("; its words may be in files of Baton's home for a while yet: {why}; {remedy}")).into_owned())
}

/// The session whose current episode has this uuid, visible or not.
pub(super) fn session_of(table: &SessionTable, uuid: Uuid) -> Option<baton_conversation::record::SessionId> {
    let has = |state: &baton_events::session::State| state.episode.as_ref().is_some_and(|episode| episode.uuid == uuid);
    table.iter().find(|(_, row)| has(&row.state)).map(|(id, _)| id.clone())
}

/// Parses a uuid.
pub(super) fn parse_uuid(text: &str) -> Result<Uuid, Failure> {
    let shown = || text.chars().take(60).collect::<String>();
    Uuid::try_parse(text.trim())
        .map_err(|_| failure(code::INVALID_PARAMS, format!("{:?} is not a uuid", redact(&shown()))))
}

/// Parses a time, in the grammar of queries.
fn parse_time(text: &str, now: AskedAt) -> Result<Timestamp, Failure> {
    let shown = || text.trim().chars().take(60).collect::<String>();
    let wrong = || format!("{:?} is not a time; write it as 2026-03-14T09:26:53Z, 2026-03-14 or 7d", redact(&shown()));
    query::parse_moment(text, now).ok_or_else(|| failure(code::INVALID_PARAMS, wrong()))
}

/// Why a note was not recorded, and what to do.
pub(super) fn not_recorded(error: &baton_memos::Error) -> Failure {
    match error {
        baton_memos::Error::Memo(_) => failure(code::NOT_FOUND, format!("{error}; get_episodes lists what there is")),
        baton_memos::Error::Home(_) | baton_memos::Error::Full(_) | baton_memos::Error::Gone => {
            failure(code::INVALID_PARAMS, error.to_string())
        }
        baton_memos::Error::Words(_) | baton_memos::Error::Log(_) | baton_memos::Error::Broken => {
            let remedy = IoCause::in_message(&error.to_string()).remedy();
            let message = format!("nothing was recorded: {error}; {remedy}, then call again");
            failure(code::INTERNAL, redact(&message).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_uuids_are_read_or_refused() {
        let now = Timestamp::parse("2026-03-14T12:00:00Z").unwrap();
        for (text, at) in [
            ("2026-03-14T09:26:53Z", Some("2026-03-14T09:26:53.000Z")),
            (" 2026-03-14T10:26:53+01:00 ", Some("2026-03-14T09:26:53.000Z")),
            ("2026-03-14", Some("2026-03-14T00:00:00.000Z")),
            ("2026-03-14T09:26:53.5", Some("2026-03-14T09:26:53.500Z")),
            ("2026-03-14 09:26", Some("2026-03-14T09:26:00.000Z")),
            ("yesterday", Some("2026-03-13T00:00:00.000Z")),
            ("14.3.2026", None),
            ("", None),
        ] {
            assert_eq!(parse_time(text, now.into()).ok().map(|at| at.to_string()).as_deref(), at, "{text:?}");
        }
        assert!(parse_uuid(" 6ba71b0e-5a1c-4d7e-9b1f-ba704e551011 ").is_ok());
        let refused = parse_uuid(&"x".repeat(9_000)).unwrap_err();
        assert!(refused.code == code::INVALID_PARAMS && refused.message.len() < 200, "{}", refused.message);
    }
}
