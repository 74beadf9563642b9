//! Giving back what a home does not need: conversations that no event names any more, and what the index of the log has grown to
//! beyond what it holds.
//!
//! Somebody asks for it, or the index has grown out of proportion: then at most once an hour, when nothing else goes on, and
//! given up when something does. An index that was lost is built anew at once, for until then every read of a session reads
//! the whole log.

use std::time::{Duration, Instant};

use baton_protocol::answer::{Compact, CompactedConversations, CompactedIndex, Part};
use tokio::task::JoinHandle;

use crate::Services;
use crate::disk_usage;
use baton_base::actor_address::CallError;
use baton_base::limits;
use baton_journal::{CompactError, Rewritten};

/// Why nothing, or not everything, was given back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Conversations.
    #[error("conversations were not looked through: {0}")]
    Conversations(#[from] CallError),
    /// The index of the log.
    #[error(transparent)]
    Index(#[from] CompactError),
    /// It broke.
    #[error("upkeep broke; `daemon.log` tells where")]
    Broken,
}

/// Gives back what nothing needs, when nobody verifies. `go_on` is asked now and then with how far the index is.
pub async fn compact(
    services: &Services,
    mut go_on: impl FnMut(u64, u64) -> bool + Send + 'static,
) -> Result<Compact, Error> {
    let begun = Instant::now();
    // Rewriting takes the index away for a moment, which verifying would tell as a difference: one of them at a time.
    let turn = services.verifying.clone().acquire_owned().await.map_err(|_| Error::Broken)?;
    let (position, state_hash) = {
        let table = services.table.now();
        (table.position(), table.state_hash())
    };
    let swept = services.indexer.sweep().await?;
    let journal = services.journal.clone();
    let rewriting = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        journal.compact(&mut go_on)
    });
    let Rewritten { records, bytes_before, bytes_after, pause } = rewriting.await.map_err(|_| Error::Broken)??;
    services.scale.forget();
    let conversations = CompactedConversations {
        sessions: swept.sessions,
        files: swept.removed.files,
        bytes: swept.removed.bytes,
        busy: swept.busy,
        unreadable: swept.unreadable,
    };
    let pause_ms = (pause.as_secs_f64() * 1e4).round() / 10.0;
    let index = CompactedIndex { events: records, bytes_before, bytes_after, pause_ms };
    let freed_bytes = conversations.bytes + bytes_before.saturating_sub(bytes_after);
    tracing::info!(
        freed_bytes,
        files = conversations.files,
        index_before = bytes_before,
        index_after = bytes_after,
        pause_ms,
        "storage compacted"
    );
    let seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let state_hash = state_hash.to_string();
    Ok(Compact { position: position.0, state_hash, freed_bytes, index, conversations, seconds })
}

/// Looks after a home as long as its daemon runs; ends by [`Upkeep::end`].
pub struct Upkeep(JoinHandle<()>);

impl Upkeep {
    /// Starts looking after the home.
    pub fn start(services: Services) -> Self {
        Self(services.tasks.clone().spawn("upkeep", move || watch(services.clone())))
    }

    /// What is being rewritten notices by itself that the daemon stops.
    pub fn end(self) {
        self.0.abort();
    }
}

async fn watch(services: Services) {
    let (mut judge, mut looked) = (Judge::default(), Instant::now());
    let mut wait = limits::INDEX_LOST;
    loop {
        tokio::time::sleep(wait).await;
        let journal = services.journal.clone();
        let lost = tokio::task::spawn_blocking(move || journal.stats().index_lost).await.unwrap_or(false);
        let rebuilt = !lost || rebuild(&services).await;
        wait = if rebuilt { limits::INDEX_LOST } else { (2 * wait).min(limits::UPKEEP) };
        if looked.elapsed() < limits::UPKEEP {
            continue;
        }
        looked = Instant::now();
        let (home, journal) = (services.home.clone(), services.journal.clone());
        let looking = tokio::task::spawn_blocking(move || disk_usage::index(&home.join("log"), &*journal));
        let Ok(index) = looking.await else { continue };
        let is_idle = !services.throttle.is_answering() && services.progress.borrow().pending() == 0;
        if !is_idle || !judge.wants(index, Instant::now()) {
            continue;
        }
        let (throttle, stop) = (services.throttle.clone(), services.stop.subscribe());
        let compacted = compact(&services, move |_, _| {
            let begun = Instant::now();
            while throttle.is_answering() && !*stop.borrow() && begun.elapsed() < limits::UPKEEP_WAIT {
                std::thread::sleep(Duration::from_millis(20));
            }
            !throttle.is_answering() && !*stop.borrow()
        });
        match compacted.await {
            Ok(done) => judge.done(done.index.bytes_after),
            Err(error) => tracing::warn!(%error, "storage not compacted"),
        }
    }
}

/// Builds the index of the log that was lost, from its segments. Whether it is there again.
async fn rebuild(services: &Services) -> bool {
    let Ok(turn) = services.verifying.clone().acquire_owned().await else { return false };
    let (journal, stop) = (services.journal.clone(), services.stop.subscribe());
    let rebuilding = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        journal.compact(&mut |_, _| !*stop.borrow())
    });
    match rebuilding.await {
        Ok(Ok(Rewritten { records, .. })) => {
            tracing::info!(records, "index of the log built anew");
            true
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "index of the log not built anew, trying again");
            false
        }
        Err(_) => false,
    }
}

/// When the index of the log is worth rewriting.
#[derive(Debug, Default)]
struct Judge {
    /// When that was last tried.
    tried: Option<Instant>,
    /// How large it was then, if it was done: sled takes more than it holds even so.
    after: u64,
}

impl Judge {
    /// Whether to try now.
    fn wants(&mut self, index: Part, now: Instant) -> bool {
        // An index that was begun without counting is counted by rewriting it.
        let live = index.live_bytes.unwrap_or(0);
        let is_due = self.tried.is_none_or(|tried| now.duration_since(tried) >= limits::UPKEEP_PAUSE);
        let is_worth_it = index.bytes > limits::UPKEEP_BYTES
            && index.bytes > live.saturating_mul(3)
            && index.bytes > self.after.saturating_mul(3) / 2;
        if is_due && is_worth_it {
            self.tried = Some(now);
        }
        is_due && is_worth_it
    }

    fn done(&mut self, after: u64) {
        self.after = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_rewritten_when_it_has_grown_out_of_proportion_and_not_too_often() {
        const MB: u64 = 1024 * 1024;
        let start = Instant::now();
        let after = |minutes: u64| start + Duration::from_secs(minutes * 60);
        let part = |bytes, live| Part { bytes: bytes * MB, live_bytes: live };
        let mut judge = Judge::default();
        for (bytes, live, minutes, wanted, why) in [
            (32, Some(MB), 0, false, "small"),
            (100, Some(34 * MB), 0, false, "in proportion"),
            (100, Some(33 * MB), 0, true, "out of proportion"),
            (200, Some(33 * MB), 59, false, "tried a moment ago"),
            (200, Some(33 * MB), 60, true, "tried an hour ago"),
            (100, None, 120, true, "nobody has counted"),
        ] {
            assert_eq!(judge.wants(part(bytes, live), after(minutes)), wanted, "{why}");
        }
        judge.done(90 * MB);
        assert!(!judge.wants(part(134, Some(20 * MB)), after(200)), "sled makes no less of it");
        assert!(judge.wants(part(136, Some(20 * MB)), after(200)), "it has grown by half since");
    }
}
