//! Statistics of the log of a home that no daemon has open: positions, hashes, sizes.

use std::path::Path;

use baton_events::envelope::Tail;
use baton_events::projection::table::SessionTable;
use baton_protocol::answer::LogStats;

use baton_journal::Fold;
use baton_journal::offline::{End, Error, OfflineReader};
use baton_journal::session_table::TableFold;
use baton_store::disk_usage;

/// Reads the whole log of a home whose lock the caller holds. If the log cannot be read to its end, returns the
/// statistics up to there, and the error.
pub fn stats(home: &Path) -> (LogStats, Option<Error>) {
    let mut told = LogStats { disk: disk_usage::add_up(home), ..LogStats::default() };
    told.bytes = told.disk.segments;
    let mut reader = match OfflineReader::open(&home.join("log")) {
        Ok(reader) => reader,
        Err(error) => return (LogStats { problem: Some(error.to_string()), ..told }, Some(error)),
    };
    let (mut fold, table) = TableFold::new();
    let broken = loop {
        match reader.next() {
            Ok(Some((record, _))) => fold.apply(&record),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    fold.publish(reader.tail());
    told.segments = reader.segments();
    told.problem = match (&broken, reader.end()) {
        (Some(error), _) => Some(error.to_string()),
        (None, Some(End::Torn { segment, offset, bytes })) => Some(format!(
            "{bytes} bytes at the end of {} (from byte {offset}) are no whole record; the next start of the daemon cuts them off \
             and keeps them",
            segment.display()
        )),
        (None, _) => None,
    };
    fill(&mut told, reader.tail(), &table.now());
    (told, broken)
}

/// Fills in the statistics of a table that has folded everything up to `tail`.
pub(crate) fn fill(told: &mut LogStats, tail: Tail, table: &SessionTable) {
    told.position = tail.position.0;
    told.events = tail.position.0;
    told.chain = tail.chain.to_string();
    told.state_hash = table.state_hash().to_string();
    told.sessions = table.len() as u64;
    told.unreadable = table.skipped();
}
