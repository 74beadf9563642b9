//! Which sessions are worked on.

use baton_conversation::record::SessionId;

use super::Enricher;

/// Marks a session as being worked on until dropped.
pub(super) struct UnderWay<'a> {
    pub(super) enricher: &'a Enricher,
    pub(super) session: SessionId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.enricher.known().under_way.remove(&self.session);
        self.enricher.over.notify_waiters();
    }
}
