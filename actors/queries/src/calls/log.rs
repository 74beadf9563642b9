//! The log itself: sizes, hashes, and stored records.

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{Position, SequenceNumber, SessionId, StreamId};
use baton_events::envelope::Tail;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::answer::{LogRead, LogRecord, LogStats};
use baton_protocol::{Failure, LogReadParams};
use serde_json::value::RawValue;

use super::{QueryError, internal};
use crate::client::ClientRef;
use crate::daemon_info::DaemonInfo;
use crate::resolve::SessionResolver;
use baton_journal::session_table::TableReader;
use baton_journal::{Exact, Journal, ReadError};
use baton_upkeep::archive;
use baton_upkeep::disk_usage::DiskUsage;
use tokio::sync::watch;

/// Most records of one answer.
const RECORDS_MAX: usize = 4096;
/// Most foreign records that are read along between two records of a session.
const NEAR: u64 = 16;
/// Longest wait for a record; then a disconnected client is noticed.
const WAIT_MAX: Duration = Duration::from_secs(30);

pub(crate) async fn stats(
    daemon: &Arc<DaemonInfo>,
    journal: &Arc<dyn Journal>,
    table: &TableReader,
    disk_usage: &Arc<DiskUsage>,
) -> Result<LogStats, QueryError> {
    let (daemon, journal) = (daemon.clone(), journal.clone());
    let (table, disk_usage) = (table.clone(), disk_usage.clone());
    let reading = baton_base::task::spawn_blocking(move || {
        // All values are as of the table's position.
        let table = table.now();
        let position = table.position();
        let chain = journal.chain_at(position)?.unwrap_or_default();
        let known = journal.stats();
        let disk = baton_store::disk_usage::add_up(&daemon.home);
        let live_bytes = Some(disk_usage.measure().live_bytes());
        let problem = daemon.log_problem.iter().chain(&known.problem).next().cloned();
        let (segments, bytes) = (known.segments, known.bytes);
        let mut stats = LogStats { segments, bytes, live_bytes, disk, problem, ..LogStats::default() };
        archive::fill_from_table(&mut stats, Tail { position, chain }, &table);
        Ok::<_, ReadError>(stats)
    });
    let stats = reading.await.map_err(|error| internal("reading the log broke", error))?;
    Ok(stats.map_err(|error| internal("the log cannot be read", error))?)
}

pub(crate) async fn read(
    asked: LogReadParams,
    resolver: SessionResolver<'_>,
    journal: &Arc<dyn Journal>,
    client: &ClientRef,
) -> Result<LogRead, QueryError> {
    let session = match &asked.session {
        Some(text) => Some(resolver.find_session(text).await?),
        None => None,
    };
    let table = &resolver.catalog().table;
    let end = end_of(&table.now(), session.as_ref());
    let from = match asked.last {
        Some(last) => end.saturating_sub(u64::from(last)) + 1,
        None => asked.from.max(1),
    };
    if from > end && asked.wait_ms > 0 {
        wait(
            table.clone(),
            client.stopping(),
            session.as_ref(),
            from,
            Duration::from_millis(asked.wait_ms).min(WAIT_MAX),
        )
        .await;
    }
    let limit = usize::try_from(asked.limit).unwrap_or(RECORDS_MAX).clamp(1, RECORDS_MAX);
    let (journal, table) = (journal.clone(), table.clone());
    let read = baton_base::task::spawn_blocking(move || {
        let journal = &*journal;
        let tail = journal.tail();
        let records = match &session {
            None => journal.read_exact(Position(from), limit),
            Some(session) => read_session(journal, session, SequenceNumber(from - 1), limit),
        };
        let records = records.map_err(|error| internal("the log cannot be read", error))?;
        let next = from + records.len() as u64;
        let records = records.into_iter().map(to_log_record).collect::<Result<_, _>>()?;
        let forgotten = if asked.forgotten { forgotten(&table.now()) } else { Vec::new() };
        Ok::<_, Failure>(LogRead { position: tail.position.0, chain: tail.chain.to_string(), next, records, forgotten })
    });
    Ok(read.await.map_err(|error| internal("reading the log broke", error))??)
}

/// The forgotten sessions that were in a group of their own.
fn forgotten(table: &SessionTable) -> Vec<String> {
    let is_meant = |state: &State| state.phase == Phase::Forgotten && state.group.is_some();
    table.iter().filter(|(_, row)| is_meant(&row.state)).map(|(id, _)| id.to_string()).collect()
}

/// Position of the last record in the log, or sequence of a session's last event.
fn end_of(table: &SessionTable, session: Option<&SessionId>) -> u64 {
    match session {
        None => table.position().0,
        Some(session) => table.get(session).map_or(0, |row| row.version.0),
    }
}

/// Waits for a record at `from`, until the timeout or until the daemon stops.
async fn wait(
    mut table: TableReader,
    mut stop: watch::Receiver<bool>,
    session: Option<&SessionId>,
    from: u64,
    so_long: Duration,
) {
    let comes = async {
        while end_of(&table.now(), session) < from {
            if table.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = comes => {}
        () = tokio::time::sleep(so_long) => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

fn read_session(
    journal: &dyn Journal,
    session: &SessionId,
    after: SequenceNumber,
    limit: usize,
) -> Result<Vec<Exact>, ReadError> {
    let places = journal.read_stream(&StreamId::session(session), after, limit)?;
    let mut positions = places.iter().map(|place| place.position).peekable();
    let mut records = Vec::with_capacity(places.len());
    while let Some(first) = positions.next() {
        let mut run = vec![first];
        while let Some(next) = positions.next_if(|next| next.0 <= run.last().map_or(0, |last| last.0) + NEAR) {
            run.push(next);
        }
        // Records close together are read at once: without an index each read scans a whole segment.
        while let (Some(from), Some(to)) = (run.first().copied(), run.last().copied()) {
            let span = usize::try_from(to.0 - from.0 + 1).unwrap_or(RECORDS_MAX);
            let read = journal.read_exact(from, span)?;
            let Some(read_to) = read.last().map(|last| last.position) else { break };
            records.extend(read.into_iter().filter(|exact| run.binary_search(&exact.position).is_ok()));
            run.retain(|position| *position > read_to);
        }
    }
    Ok(records)
}

fn to_log_record(exact: Exact) -> Result<LogRecord, Failure> {
    let unreadable =
        |what: &dyn std::fmt::Display| internal(&format!("position {} cannot be read", exact.position), what);
    let (format, json) = exact.bytes.split_first().ok_or_else(|| unreadable(&"it is empty"))?;
    let json = std::str::from_utf8(json).map_err(|error| unreadable(&error))?;
    // A valid record is one JSON object without line breaks.
    let record = RawValue::from_string(json.to_owned()).map_err(|error| unreadable(&error))?;
    Ok(LogRecord { chain: exact.chain.to_string(), format: *format, record })
}
