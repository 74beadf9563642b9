//! Whether the log accepts writes, as observed by those that write to it. One outage is one line in `daemon.log`,
//! however many sessions meet it, and one entry in `status`.
//!
//! The log itself is not queried. The first refused write begins an outage and the first stored one ends it; meanwhile
//! the supervisor lets one session at a time try (see [`limits::OUTAGE_PROBE`](crate::limits::OUTAGE_PROBE)).
//!
//! # Hazards
//!
//! - On a full or read-only disk background jobs wait in place, and requests are answered with the reason. A memory or
//!   index lost in an outage is rebuilt while the daemon runs.

use std::sync::Arc;

use baton_conversation::record::Timestamp;
use tokio::sync::watch;

/// Shared by all writers, the supervisor and `status`.
#[derive(Clone, Debug)]
pub struct JournalHealth(Arc<watch::Sender<Option<Refusal>>>);

/// An outage in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The first error of the log.
    pub reason: String,
    /// When it occurred.
    pub since: Timestamp,
}

impl Default for JournalHealth {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl JournalHealth {
    /// Records that the log refused a write.
    pub fn record_failure(&self, reason: &str, now: Timestamp) {
        let begun = self.0.send_if_modified(|lasting| {
            let begins = lasting.is_none();
            lasting.get_or_insert_with(|| Refusal { reason: reason.to_owned(), since: now });
            begins
        });
        if begun {
            tracing::error!(%reason, "log refuses writes, sessions wait");
        }
    }

    /// Records that the log stored a write.
    pub fn record_success(&self, now: Timestamp) {
        if self.0.borrow().is_none() {
            return;
        }
        let mut over = None;
        self.0.send_if_modified(|lasting| {
            over = lasting.take();
            over.is_some()
        });
        if let Some(refusal) = over {
            tracing::info!(after_ms = now.since_ms(refusal.since), "log accepts writes again, sessions continue");
        }
    }

    /// The outage in progress, if any.
    pub fn lasting(&self) -> Option<Refusal> {
        self.0.borrow().clone()
    }

    /// True during an outage.
    pub fn lasts(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Notifies when an outage begins or ends.
    pub fn changes(&self) -> watch::Receiver<Option<Refusal>> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_once_and_ends_with_the_first_write() {
        let outage = JournalHealth::default();
        let mut changes = outage.changes();
        let mut has_changed = || {
            let changed = changes.has_changed().unwrap();
            changes.mark_unchanged();
            changed
        };
        outage.record_success(Timestamp(1));
        assert!(!has_changed() && !outage.lasts());
        outage.record_failure("no room", Timestamp(2));
        assert!(has_changed());
        outage.record_failure("no room at all", Timestamp(3));
        assert!(!has_changed(), "the second session that meets it is no news");
        assert_eq!(outage.lasting(), Some(Refusal { reason: "no room".to_owned(), since: Timestamp(2) }));
        outage.record_success(Timestamp(4));
        assert!(has_changed() && !outage.lasts());
    }
}
