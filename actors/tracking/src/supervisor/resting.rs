//! Sessions that owe nothing at the moment: a few of their actors are kept, the others are stopped.

use baton_conversation::record::SessionId;
use ractor::ActorId;

use super::State;
use super::failures::BudgetKey;
use baton_base::limits;

impl State {
    pub(super) fn settled(&mut self, id: &SessionId, incarnation: ActorId, rest: bool) {
        self.backlog.done(id);
        self.settled_count += 1;
        let count = self.settled_count;
        if let Some(child) = self.children.get_mut(id)
            && child.session.incarnation() == incarnation
        {
            child.resting_since = rest.then_some(count);
            let (name, now) = (BudgetKey::Session(id.clone()), self.options.sessions.clock.now());
            if self.budget.given_up_until(&name, now).is_some() {
                self.budget.clear(&name);
                self.publish_degraded(now);
            }
        }
        self.passivate();
    }

    /// Drains the longest-resting sessions beyond [`limits::IDLE_SESSIONS`]. A drained actor still handles its mailbox;
    /// later callers get a new incarnation.
    fn passivate(&mut self) {
        let resting = self.children.values().filter(|child| child.resting_since.is_some()).count();
        for _ in limits::IDLE_SESSIONS..resting {
            let longest = self
                .children
                .iter()
                .filter_map(|(id, child)| child.resting_since.map(|since| (since, id.clone())))
                .min();
            let Some((_, id)) = longest else { return };
            if let Some(child) = self.children.remove(&id) {
                child.session.drain();
            }
        }
    }
}
