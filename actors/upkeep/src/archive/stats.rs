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
pub fn read_stats(home: &Path) -> (LogStats, Option<Error>) {
    let mut stats = LogStats { disk: disk_usage::add_up(home), ..LogStats::default() };
    stats.bytes = stats.disk.segments;
    let mut reader = match OfflineReader::open(&home.join("log")) {
        Ok(reader) => reader,
        Err(error) => return (LogStats { problem: Some(error.to_string()), ..stats }, Some(error)),
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
    stats.segments = reader.segments();
    stats.problem = match (&broken, reader.end()) {
        (Some(error), _) => Some(error.to_string()),
        (None, Some(End::Torn { segment, offset, bytes })) => Some(format!(
            "{bytes} bytes at the end of {} (from byte {offset}) are no whole record; the next start of the daemon cuts them off \
             and keeps them",
            segment.display()
        )),
        (None, _) => None,
    };
    fill_from_table(&mut stats, reader.tail(), &table.now());
    (stats, broken)
}

/// Fills in the statistics of a table that has folded everything up to `tail`.
pub fn fill_from_table(stats: &mut LogStats, tail: Tail, table: &SessionTable) {
    stats.position = tail.position.0;
    stats.events = tail.position.0;
    stats.chain = tail.chain.to_string();
    stats.state_hash = table.state_hash().to_string();
    stats.sessions = table.len() as u64;
    stats.unreadable = table.skipped();
}
