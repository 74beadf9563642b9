//! Progress in MCP's form: numbers that only grow, whatever phase the daemon is in.

use baton_protocol::Progress;
use rmcp::model::{ProgressNotificationParam, ProgressToken};

/// Progress that one call has reported so far.
pub(super) struct Reporter {
    token: ProgressToken,
    /// The daemon's current phase.
    what: String,
    /// Sum over the earlier phases.
    before: u64,
    /// Last number reported.
    last: Option<u64>,
}

impl Reporter {
    pub(super) fn new(token: ProgressToken) -> Self {
        Self { token, what: String::new(), before: 0, last: None }
    }

    /// Returns the notification for the daemon's progress. `None` if it is no advance on the last one.
    pub(super) fn next(&mut self, now: Progress) -> Option<ProgressNotificationParam> {
        if now.what != self.what {
            self.what.clone_from(&now.what);
            self.before = self.last.unwrap_or(0);
        }
        let (done, total) = (self.before.saturating_add(now.done), self.before.saturating_add(now.total));
        if self.last.is_some_and(|last| done <= last) {
            return None;
        }
        self.last = Some(done);
        let mut notification = ProgressNotificationParam::new(self.token.clone(), number(done)).with_message(now.what);
        if now.total >= now.done && now.total > 0 {
            notification = notification.with_total(number(total));
        }
        Some(notification)
    }
}

/// Exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of sessions and events; nobody has 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn numbers_only_grow() {
        let mut told = Reporter::new(ProgressToken(NumberOrString::Number(1)));
        let mut shown = Vec::new();
        let daemon = [
            ("reading", 0, 10),
            ("reading", 0, 10),
            ("reading", 4, 10),
            ("reading", 3, 12),
            ("reading", 12, 12),
            ("indexing", 0, 5),
            ("indexing", 2, 5),
            ("indexing", 5, 0),
        ];
        for (what, done, total) in daemon {
            if let Some(told) = told.next(Progress { what: what.to_owned(), done, total }) {
                shown.push((told.message.unwrap(), told.progress, told.total));
            }
        }
        let told = |what: &str, done: f64, total| (what.to_owned(), done, total);
        let expected = [
            told("reading", 0.0, Some(10.0)),
            told("reading", 4.0, Some(10.0)),
            told("reading", 12.0, Some(12.0)),
            told("indexing", 14.0, Some(17.0)),
            told("indexing", 17.0, None),
        ];
        assert_eq!(shown, expected);
    }
}
