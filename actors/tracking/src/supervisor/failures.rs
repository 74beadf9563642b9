//! Handles a failed child: it is rebuilt from the log, or suspended for a while and listed in `status`.
//!
//! # Hazards
//!
//! - ractor: mailboxes are unbounded, so the gateway's permits, the backlog and the restart budget are the bounds. The
//!   default supervisor dies with any child, so `handle_supervisor_evt` is overridden. A failed actor loses its
//!   mailbox: index jobs are handed out again (`session::Handle::hand_out_again`). Two incarnations of a session may
//!   overlap for a moment; the journal's expected version decides, and the loser is rebuilt.
//! - ractor's end event carries the actor's state: drop it before the successor starts. Threads of a killed actor
//!   outlive it: the indexer closes the former memory before it opens its own.
//!
//! # Decisions
//!
//! - Only a failed gateway or supervisor ends the daemon. Any other child that keeps failing is suspended for a pause
//!   that doubles (1 to 64 minutes) and listed in `status`. A restart writes two log lines: that the actor failed, and
//!   that it was restarted.

use baton_conversation::record::{SessionId, Timestamp};
use ractor::{ActorId, ActorRef};

use super::children::Singleton;
use super::degraded::Degraded;
use super::{Asker, Msg, State};
use baton_base::restart_budget::Verdict;

/// Key of the restart budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BudgetKey {
    Singleton(Singleton),
    Session(SessionId),
}

impl State {
    /// Suspends a session whose history is unreadable at once, as if its budget were used up.
    pub(super) fn unreadable(&mut self, id: SessionId, incarnation: ActorId, reason: String) {
        self.backlog.done(&id);
        if self.children.get(&id).is_none_or(|child| child.session.incarnation() != incarnation) {
            return;
        }
        if let Some(child) = self.children.remove(&id) {
            child.session.drain();
        }
        let (name, now) = (BudgetKey::Session(id.clone()), self.now());
        if self.budget.given_up_until(&name, now).is_none() {
            tracing::error!(session = %id, %reason, "session not started: its history cannot be read");
        }
        self.budget.give_up(&name, now);
        self.unreadable.insert(id, reason);
        self.publish_degraded(now);
    }

    pub(super) async fn failed(&mut self, myself: &ActorRef<Msg>, actor: ActorId) {
        if let Some(child) = self.only.remove(&actor.pid()) {
            return self.restart(myself, child).await;
        }
        let Some(id) = self.by_actor.remove(&actor.pid()) else { return };
        // A drained incarnation may fail while its successor already works.
        self.children.retain(|child, entry| *child != id || entry.session.incarnation() != actor);
        let now = self.now();
        match self.budget.failed(&BudgetKey::Session(id.clone()), now) {
            Verdict::Restart => {
                tracing::warn!(session = %id, "session actor failed");
                tracing::info!(session = %id, reason = %"actor_failed", "session actor restarted from the log");
                self.backlog.again(&id, now);
                // What it owed is still owed; the first message of the new incarnation finds it.
                if let Ok(session) = self.resolve(myself, &id, Asker::Anything).await {
                    session.wake();
                }
            }
            Verdict::GiveUp => {
                self.backlog.done(&id);
                tracing::error!(session = %id, "session actor keeps failing and is suspended");
                self.unreadable.remove(&id);
            }
        }
        self.publish_degraded(now);
    }

    /// Restarts an actor that exists once after a failure, unless it keeps failing.
    pub(super) async fn restart(&mut self, myself: &ActorRef<Msg>, child: Singleton) {
        let now = self.now();
        if self.draining {
            return;
        }
        tracing::warn!(actor = child.name(), "actor failed");
        if child == Singleton::Watcher {
            // The successor sends a first page of its own.
            self.backlog.paged(0, 0);
        }
        match self.budget.failed(&BudgetKey::Singleton(child), now) {
            Verdict::Restart => self.start(myself, child).await,
            Verdict::GiveUp => self.give_up(child, now),
        }
    }

    pub(super) async fn start(&mut self, myself: &ActorRef<Msg>, child: Singleton) {
        let now = self.now();
        loop {
            match self.options.children.start(child, &self.options.tasks, myself.get_cell()).await {
                Ok(actor) => {
                    tracing::info!(actor = child.name(), reason = %"actor_failed", "actor restarted");
                    self.only.insert(actor.pid(), child);
                    if child == Singleton::Indexer {
                        // Jobs queued in the failed indexer are lost.
                        self.children.values().for_each(|child| child.session.hand_out_again());
                    }
                    return self.publish_degraded(now);
                }
                Err(error) => tracing::error!(actor = child.name(), %error, "actor not started"),
            }
            if self.budget.failed(&BudgetKey::Singleton(child), now) == Verdict::GiveUp {
                return self.give_up(child, now);
            }
        }
    }

    fn give_up(&mut self, child: Singleton, now: Timestamp) {
        match child {
            Singleton::Gateway => {
                tracing::error!(
                    actor = child.name(),
                    "actor keeps failing and no client can connect, so the daemon ends"
                );
                self.options.stop.send_replace(true);
            }
            Singleton::Indexer | Singleton::Watcher => {
                tracing::error!(actor = child.name(), "actor keeps failing and is suspended");
            }
        }
        self.publish_degraded(now);
    }

    /// Publishes which children are suspended, and schedules their next try.
    pub(super) fn publish_degraded(&mut self, now: Timestamp) {
        if let Some(due) = self.budget.next_due(now) {
            self.wheel.send_if_modified(|next| {
                let sooner = next.is_none_or(|next| due < next);
                if sooner {
                    *next = Some(due);
                }
                sooner
            });
        }
        let given_up = self.budget.all_given_up(now);
        self.unreadable.retain(|id, _| given_up.iter().any(|(name, _)| **name == BudgetKey::Session(id.clone())));
        let told = |(name, until): &(&BudgetKey, Timestamp)| match name {
            BudgetKey::Singleton(child) => Degraded::Actor { name: child.name(), until: *until },
            BudgetKey::Session(id) => match self.unreadable.get(id) {
                Some(reason) => Degraded::Unreadable { id: id.clone(), reason: reason.clone(), until: *until },
                None => Degraded::Session { id: id.clone(), until: *until },
            },
        };
        let now_degraded: Vec<Degraded> = given_up.iter().map(told).collect();
        self.options.degraded.send_if_modified(|shown| {
            let changed = *shown != now_degraded;
            *shown = now_degraded;
            changed
        });
    }

    pub(super) async fn ended(&mut self, myself: &ActorRef<Msg>, actor: ActorId) {
        if let Some(child) = self.only.remove(&actor.pid()) {
            // None of them ends by itself.
            return self.restart(myself, child).await;
        }
        if let Some(id) = self.by_actor.remove(&actor.pid()) {
            self.children.retain(|child, entry| *child != id || entry.session.incarnation() != actor);
            self.backlog.done(&id);
        }
    }
}
