//! Fingerprints of sessions that are about to be forgotten, which recognise later copies.

use std::sync::Arc;

use baton_conversation::record::SessionId;

use super::targets::Target;
use crate::{Services, transcript_peek};
use baton_base::limits;
use baton_store::forgotten;
use baton_store::forgotten::Marks;
use baton_store::transcript_reader;

/// Stores fingerprints of their records, durably: from the memory, or else from the transcript.
pub(super) async fn keep(services: &Arc<Services>, targets: &[Target]) -> Result<(), String> {
    let (services, targets) = (services.clone(), targets.to_vec());
    let keeping = tokio::task::spawn_blocking(move || {
        let kept = targets.iter().map(|target| (target.id.clone(), forgotten::select_marks(&marks(&services, target))));
        services.forgotten_sessions.keep(kept.collect())
    });
    keeping.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Removes the fingerprints of sessions that are no longer forgotten.
pub(super) async fn lift(services: &Arc<Services>, sessions: Vec<SessionId>) -> Result<(), String> {
    let services = services.clone();
    let lifting = tokio::task::spawn_blocking(move || services.forgotten_sessions.lift(&sessions));
    lifting.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

fn marks(services: &Services, target: &Target) -> Vec<u64> {
    let known = services.indexer.searcher().ok().and_then(|searcher| searcher.record_marks(&target.id).ok());
    if let Some(marks) = known.filter(|marks| !marks.is_empty()) {
        return marks;
    }
    let row = services.catalog.table.now().get(&target.id).cloned();
    let file = target.file.clone().or_else(|| transcript_peek::file_of(&target.id, &row?.state));
    let mut records = Marks::default();
    if let Some(file) = file {
        transcript_reader::look(&transcript_peek::beginning(&file), limits::COPY_HEAD_BYTES, &mut records);
    }
    records.0
}
