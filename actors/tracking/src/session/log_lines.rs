//! Log lines for a session's events.

use baton_events::session::{EpisodeRef, Event, SignalDetail};

use super::State;

impl State {
    /// Logs an event with its session, reason, and the hash and uuid of the episode before and after.
    pub(super) fn log_event(&self, event: &Event, before: Option<&EpisodeRef>, failed: Option<u32>) {
        let session = &self.id;
        let old = before.map_or_else(|| "none".to_owned(), |episode| episode.uuid.to_string());
        let hash_of =
            |episode: Option<&EpisodeRef>| episode.map_or_else(|| "none".to_owned(), |found| found.hash.short());
        let reason =
            || self.aggregate().state().last_close.map_or_else(|| "none".to_owned(), |reason| reason.to_string());
        match event {
            Event::Discovered { .. } => tracing::info!(%session, "session discovered"),
            Event::Rewritten { generation, .. } => {
                tracing::info!(%session, generation, "transcript rewritten, read anew");
            }
            Event::CloseRequested { reason, .. } => {
                tracing::info!(%session, %reason, hash = %hash_of(before), %old, "close requested");
            }
            Event::Signalled { signal } => {
                let detail = signal.detail.map_or("none", SignalDetail::as_str);
                tracing::debug!(%session, kind = %signal.kind, detail, at = %signal.at, "signal");
            }
            Event::Ended { reason, at, .. } => tracing::info!(%session, %reason, %at, "session ended"),
            Event::HandoffOffered { episode, from, .. } => {
                tracing::debug!(%session, %episode, %from, "handoff offered");
            }
            Event::HandoffClaimed { episode } => tracing::debug!(%session, %episode, "handoff claimed"),
            Event::EpisodeDeleted { .. } => {
                tracing::info!(%session, reason = "asked for", hash = %hash_of(before), %old, "episode deleted");
            }
            Event::EpisodeRestored { .. } => {
                tracing::info!(%session, reason = "asked for", hash = %hash_of(before), %old, "episode found again");
            }
            Event::Corrected { .. } => {
                tracing::info!(%session, reason = "asked for", hash = %hash_of(before), %old, "episode corrected");
            }
            Event::IndexingStarted { reason, .. } => {
                if let Some(attempts) = failed {
                    tracing::info!(%session, %reason, attempts, hash = %hash_of(before), %old, "index retried");
                }
            }
            Event::Indexed { episode, .. } => {
                let what = if before.is_some() { "episode replaced" } else { "episode stored" };
                let (reason, hash, new) = (reason(), episode.hash.short(), episode.uuid);
                tracing::info!(%session, %reason, %hash, old_hash = %hash_of(before), %old, %new, "{what}");
            }
            Event::IndexSkipped { episode, .. } => {
                let (reason, hash) = (reason(), hash_of(before));
                tracing::info!(%session, %reason, %hash, %old, new = %episode, "content unchanged, index skipped");
            }
            Event::IndexingFailed { why, attempts, retry_at, .. } => {
                tracing::warn!(%session, %why, attempts, %retry_at, hash = %hash_of(before), %old, "index failed");
            }
            Event::TrackingStopped => tracing::info!(%session, "tracking stopped"),
            Event::TrackingResumed => tracing::info!(%session, "tracking resumed"),
            Event::Forgotten => {
                tracing::info!(%session, reason = "asked for", hash = %hash_of(before), %old, "session forgotten");
            }
            Event::Restored { generation, file_exists } => {
                tracing::info!(%session, generation, file_exists, "session no longer forgotten");
            }
            Event::EnrichmentOwed { asked, .. } => {
                tracing::info!(%session, asked, hash = %hash_of(before), "enrichment owed");
            }
            Event::ModelCalled { call } => {
                tracing::info!(%session, call = call.id, model = %call.model, tokens_in = call.tokens_in, nanos = call.nanos, "model called");
            }
            Event::ModelAnswered { answer } => {
                let (call, outcome, ms) = (answer.id, answer.outcome, answer.duration_ms);
                tracing::info!(%session, call, %outcome, ms, nanos = answer.nanos, "model answered");
            }
            Event::Enriched { facts, dropped, unseen, .. } => {
                tracing::info!(%session, reason = "enriched", hash = %hash_of(before), %old, facts, dropped, unseen, "episode replaced");
            }
            Event::EnrichmentGivenUp { why, .. } => {
                tracing::warn!(%session, %why, hash = %hash_of(before), %old, "enrichment given up, episode kept");
            }
            Event::TrackingForced => tracing::info!(%session, "tracking forced"),
            Event::Abandoned { why } => tracing::info!(%session, %why, "session let go without an index"),
            _ => {}
        }
    }
}
