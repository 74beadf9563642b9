//! Fingerprints of sessions that are about to be forgotten, which recognise later copies.

use std::sync::Arc;

use baton_conversation::record::SessionId;

use super::targets::Target;
use crate::transcript_peek;
use baton_base::limits;
use baton_journal::session_table::TableReader;
use baton_store::forgotten;
use baton_store::forgotten::{ForgottenSessions, Marks};
use baton_store::transcript_reader;
use baton_tracking::indexer;

/// Stores fingerprints of their records, durably: from the memory, or else from the transcript.
pub(super) async fn keep(
    forgotten_sessions: &Arc<ForgottenSessions>,
    indexer: &indexer::Handle,
    table: &TableReader,
    targets: &[Target],
) -> Result<(), String> {
    let (forgotten_sessions, indexer) = (forgotten_sessions.clone(), indexer.clone());
    let (table, targets) = (table.clone(), targets.to_vec());
    let keeping = baton_base::task::spawn_blocking(move || {
        let kept = targets.iter().map(|target| {
            let marks = marks(&indexer, &table, target);
            (target.id.clone(), forgotten::select_marks(&marks))
        });
        forgotten_sessions.keep(kept.collect())
    });
    keeping.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Removes the fingerprints of sessions that are no longer forgotten.
pub(super) async fn lift(forgotten_sessions: &Arc<ForgottenSessions>, sessions: Vec<SessionId>) -> Result<(), String> {
    let forgotten_sessions = forgotten_sessions.clone();
    let lifting = baton_base::task::spawn_blocking(move || forgotten_sessions.lift(&sessions));
    lifting.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

fn marks(indexer: &indexer::Handle, table: &TableReader, target: &Target) -> Vec<u64> {
    let known = indexer.searcher().ok().and_then(|searcher| searcher.record_marks(&target.id).ok());
    if let Some(marks) = known.filter(|marks| !marks.is_empty()) {
        return marks;
    }
    let row = table.now().get(&target.id).cloned();
    let file = target.file.clone().or_else(|| transcript_peek::file_of(&target.id, &row?.state));
    let mut records = Marks::default();
    if let Some(file) = file {
        transcript_reader::look(&transcript_peek::beginning(&file), limits::COPY_HEAD_BYTES, &mut records);
    }
    records.0
}
