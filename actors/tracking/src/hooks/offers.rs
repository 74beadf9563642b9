//! Handoff offers: claims them, and remembers recorded offers that were never delivered.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use baton_conversation::record::SessionId;
use baton_events::session::{Handoff, SignalKind};

use super::{CheckedHook, Hooks};
use crate::session::{HandoffStep, Signalled};
use baton_base::limits;
use baton_views::claim::claimer;

/// Limit of sessions remembered as undelivered; those dropped are not offered anything again.
const UNDELIVERED: usize = 256;

#[derive(Default)]
pub(super) struct Offers {
    turn: tokio::sync::Mutex<()>,
    undelivered: Mutex<BTreeSet<SessionId>>,
}

impl Offers {
    fn undelivered(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.undelivered.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Hooks {
    /// Serialises handoffs.
    pub async fn lock_handoffs(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.offers.turn.lock().await
    }

    /// Notes that a recorded offer may not have been delivered.
    pub fn mark_undelivered(&self, session: &SessionId) {
        let mut undelivered = self.offers.undelivered();
        if undelivered.len() >= UNDELIVERED {
            undelivered.pop_first();
        }
        undelivered.insert(session.clone());
    }

    /// Returns true if an offer was undelivered. The caller delivers it now.
    pub fn take_undelivered(&self, session: &SessionId) -> bool {
        self.offers.undelivered().remove(session)
    }

    /// Records that a session claims what it was offered, unless another session has.
    pub async fn claim(&self, session: &SessionId) {
        let _turn = self.lock_handoffs().await;
        let Some(told) = self.unclaimed(session) else { return };
        if claimer(&self.options.table.now(), &told.from, told.episode, Some(session)).is_some() {
            return;
        }
        match self.options.supervisor.record_handoff_step(session, HandoffStep::Claimed, limits::HAND_OVER).await {
            Ok(Signalled::Recorded) => tracing::info!(%session, from = %told.from, "handoff claimed"),
            Ok(Signalled::Known) => {}
            not_recorded => tracing::debug!(%session, ?not_recorded, "handoff not claimed"),
        }
    }

    /// Handles a hook from the spool, whose answer was lost. A prompt claims what its session was offered; an offer to
    /// a start was not delivered.
    pub(super) async fn take_spooled(&self, checked: &CheckedHook) {
        let Some(handoff) = self.unclaimed(&checked.session) else { return };
        match checked.kind {
            SignalKind::SessionStart if checked.at <= handoff.at => self.mark_undelivered(&checked.session),
            SignalKind::UserPromptSubmit if checked.at >= handoff.at && !self.is_undelivered(&checked.session) => {
                self.claim(&checked.session).await;
            }
            _ => {}
        }
    }

    fn is_undelivered(&self, session: &SessionId) -> bool {
        self.offers.undelivered().contains(session)
    }

    fn unclaimed(&self, session: &SessionId) -> Option<Handoff> {
        let table = self.options.table.now();
        table.get(session)?.state.handoff.clone().filter(|handoff| !handoff.claimed)
    }
}
