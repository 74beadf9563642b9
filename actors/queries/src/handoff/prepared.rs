//! Facts of episodes, prepared before they are needed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use baton_conversation::hash::Mark;
use baton_conversation::record::{SessionId, Timestamp};
use baton_episode::digest::Show;
use baton_episode::handoff::Facts;
use baton_events::session::{EpisodeRef, Tier};
use tokio::time::Instant;
use uuid::Uuid;

use super::candidate::{ended_at, is_over, is_under_way};
use baton_base::bounded_fs::BoundedFs;
use baton_base::clock::Clock;
use baton_base::throttle::Throttle;
use baton_journal::Journal;
use baton_tracking::hooks::Hooks;
use baton_tracking::supervisor;
use baton_tracking::supervisor::Progress;
use baton_views::catalog::Catalog;
use baton_views::conversation::Conversations;
use tokio::sync::watch;

/// Most facts that are kept, at some KB each.
const KEPT: usize = 64;
/// Most projects whose last session is prepared, the last active first.
const PROJECTS: usize = 16;
/// Time for which changes of the table are gathered.
const GATHER: Duration = Duration::from_millis(250);

/// Hands sessions over. Keeps prepared facts, and the access to files.
pub struct Handoffs {
    conversations: Arc<Conversations>,
    pub(super) hooks: Arc<Hooks>,
    pub(super) supervisor: supervisor::Handle,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
    /// Bounded access to the files that a session worked on.
    pub(super) looks: BoundedFs,
}

/// The most recently used facts, the newest last.
#[derive(Default)]
struct Kept(VecDeque<(Key, Arc<Facts>)>);

/// Episode, its tier, what is shown of it, the title that another session gives it, and what a person has corrected.
type Key = (Uuid, Tier, Show, Option<String>, Option<Mark>);

impl Handoffs {
    /// Nothing is prepared yet.
    pub fn new(
        conversations: Arc<Conversations>,
        hooks: Arc<Hooks>,
        supervisor: supervisor::Handle,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (kept, looks) = (Mutex::default(), BoundedFs::default());
        Self { conversations, hooks, supervisor, journal, clock, kept, looks }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        self.conversations.catalog()
    }

    /// Drops all facts, because some are of forgotten sessions.
    pub(crate) fn clear(&self) {
        self.kept().0.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The key of an episode's facts. Blocks for reads of the index, if any session gives titles.
    fn key(&self, id: &SessionId, current: &EpisodeRef) -> Key {
        let (table, settings) = self.catalog().now();
        let corrected = table.get(id).and_then(|row| row.state.corrections.mark());
        (current.uuid, current.tier, settings.filtering, self.conversations.given_title(id), corrected)
    }

    /// The facts of a session's episode, or of its replacement. `None` if they are not available before `until`; late ones
    /// are kept for the next call.
    pub(super) async fn facts(
        self: &Arc<Self>,
        id: &SessionId,
        current: EpisodeRef,
        until: Instant,
    ) -> Option<(EpisodeRef, Arc<Facts>)> {
        if let Some(facts) = self.kept().get(&self.key(id, &current)) {
            return Some((current, facts));
        }
        let (this, id) = (self.clone(), id.clone());
        let reading = baton_base::task::spawn_blocking(move || this.read(&id, current));
        tokio::time::timeout_at(until, reading).await.ok()?.ok()?
    }

    /// Reads and digests an episode, and keeps the facts. Blocks for disk reads.
    fn read(&self, id: &SessionId, current: EpisodeRef) -> Option<(EpisodeRef, Arc<Facts>)> {
        let show = self.catalog().settings.now().filtering;
        match self.conversations.digest(id, current, &show) {
            Ok((current, episode)) => {
                let facts = Arc::new(Facts::new(&episode));
                self.kept().put(self.key(id, &current), facts.clone());
                Some((current, facts))
            }
            Err(error) => {
                tracing::warn!(session = %id, %error, "episode not readable, not handed over");
                None
            }
        }
    }

    /// Prepares the facts of the last ended session of each recent project, so that the next agent there does not wait for
    /// the disk. Ends with the daemon.
    pub async fn prepare(
        self: Arc<Self>,
        throttle: Throttle,
        mut progress: watch::Receiver<Progress>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let mut table = self.catalog().table.clone();
        let working = async {
            loop {
                // During a backfill facts are read on demand only.
                if progress.wait_for(|progress| progress.pending() == 0).await.is_err() {
                    return;
                }
                table.newest();
                let (this, room) = (self.clone(), throttle.wait_for_background().await);
                let prepared = baton_base::task::spawn_blocking(move || {
                    let _room = room;
                    for (id, current) in this.last_of_projects() {
                        let key = this.key(&id, &current);
                        if this.kept().get(&key).is_none() {
                            this.read(&id, current);
                        }
                    }
                });
                if prepared.await.is_err() || table.changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(GATHER).await;
            }
        };
        tokio::select! {
            () = working => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }

    fn last_of_projects(&self) -> Vec<(SessionId, EpisodeRef)> {
        let (table, settings) = self.catalog().now();
        let now = self.clock.now();
        let mut last: BTreeMap<&str, (Timestamp, &SessionId, &EpisodeRef)> = BTreeMap::new();
        for (id, row) in table.iter() {
            let state = &row.state;
            let (Some(place), Some(episode)) = (&state.place, table.visible_episode(row)) else { continue };
            let ended = ended_at(state);
            if last.get(place.project.as_str()).is_some_and(|(known, _, _)| *known >= ended) {
                continue;
            }
            if is_over(state, &settings.policy, now)
                && !is_under_way(state)
                && !state.is_subagent()
                && !settings.excludes(state)
            {
                last.insert(&place.project, (ended, id, episode));
            }
        }
        let mut last: Vec<_> = last.into_values().collect();
        last.sort_by_key(|(ended, _, _)| std::cmp::Reverse(*ended));
        last.truncate(PROJECTS);
        last.into_iter().map(|(_, id, episode)| (id.clone(), episode.clone())).collect()
    }
}

impl Kept {
    fn get(&mut self, key: &Key) -> Option<Arc<Facts>> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let found = self.0.remove(at)?;
        let facts = found.1.clone();
        self.0.push_back(found);
        Some(facts)
    }

    fn put(&mut self, key: Key, facts: Arc<Facts>) {
        self.0.retain(|((known, ..), _)| *known != key.0);
        self.0.push_back((key, facts));
        while self.0.len() > KEPT {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Tier = Tier::Extractive;

    #[test]
    fn the_last_ones_that_were_wanted_are_kept() {
        let mut kept = Kept::default();
        let (show, uuid) = (Show::default(), |n: usize| Uuid::from_u128(n as u128));
        for n in 0..KEPT {
            kept.put((uuid(n), RULES, show, None, None), Arc::default());
        }
        assert!(kept.get(&(uuid(0), RULES, show, None, None)).is_some());
        kept.put((uuid(KEPT), RULES, show, None, None), Arc::default());
        assert!(kept.get(&(uuid(1), RULES, show, None, None)).is_none(), "it was wanted longest ago");
        assert!(
            kept.get(&(uuid(0), RULES, show, None, None)).is_some()
                && kept.get(&(uuid(KEPT), RULES, show, None, None)).is_some()
        );
        assert_eq!(kept.0.len(), KEPT);
        let less = Show { keep_agent_responses: false, ..show };
        assert!(kept.get(&(uuid(0), RULES, less, None, None)).is_none(), "shown otherwise it says something else");
        assert!(kept.get(&(uuid(0), Tier::Enriched, show, None, None)).is_none(), "a model tells it otherwise");
    }
}
