//! Usage of the agents' own models over sessions, from the usage that the memory holds of each.
//!
//! # Decisions
//!
//! - Sessions with the same first request are a family of forks and copies. Only for these, conversations are read, and
//!   each request counts for the oldest session that has it. Results are cached by the sessions' manifests.
//! - A subagent counts for the session that started it, if rows are sessions; its agent and project are its own.

mod sums;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::usage::{Course, Requests};
use baton_enrichment::ledger::By;
use baton_events::prices::Prices;
use baton_events::projection::table::{Row, SessionTable};
use baton_protocol::{Agent, Caller, Zone, answer, code};
use baton_views::conversation::Conversations;
use baton_views::visibility;

use crate::client::{ClientRef, QueryError, failure};
use crate::lazy::{self, FreshMemory};
use crate::{graph, related_sessions, resolve, usage};
use baton_config::settings::Settings;
use baton_memory::{Searcher, SessionCourse};

pub(crate) use self::sums::local_day;

/// Most families whose shares are kept.
const FAMILIES_KEPT: usize = 512;
/// Most generations of subagents between a session and the one that it counts for.
const ANCESTORS: usize = 8;

/// Cached usage of forks without what they copied, by the manifests of their family.
#[derive(Debug, Default)]
pub struct ForkUsage(Mutex<BTreeMap<String, Shares>>);

/// The own part of each session of a family; `None` if it cannot be known.
type Shares = Arc<Vec<(SessionId, Option<Arc<Course>>)>>;

/// What is needed to add up the agents' usage.
pub(crate) struct AgentUsage<'a> {
    pub(crate) memory: FreshMemory<'a>,
    pub(crate) conversations: &'a Arc<Conversations>,
    pub(crate) forks: &'a Arc<ForkUsage>,
}

/// The sessions whose usage is added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageQuery {
    pub(crate) project: Option<String>,
    pub(crate) agent: Option<Agent>,
    pub(crate) wait: bool,
}

/// The usage of sessions, each request once.
pub(crate) struct Usages {
    pub(crate) counted: Vec<Counted>,
    /// Sessions that are not read yet or cannot be read, and when they were last active.
    not_counted: Vec<Timestamp>,
    /// Sessions without usage, and when they were last active.
    without: Vec<Timestamp>,
    prices: Prices,
}

/// The usage of a session.
pub(crate) struct Counted {
    /// The session that it counts for.
    root: SessionId,
    /// True if that is a subagent whose own session is not known.
    is_root_subagent: bool,
    /// Its own id, if it is a subagent's.
    subagent: Option<SessionId>,
    project: String,
    agent: &'static str,
    /// When it was last active, for requests without a time.
    last: Timestamp,
    course: Arc<Course>,
}

impl AgentUsage<'_> {
    /// The usage of the requested sessions, from a memory that covers running sessions, and that memory.
    pub(crate) async fn collect(
        &self,
        asked: &UsageQuery,
        caller: &Caller,
        client: &ClientRef,
    ) -> Result<(Usages, Searcher), QueryError> {
        let (table, settings) = self.memory.catalog().now();
        let project = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name)).transpose()?;
        let asking = resolve::asking_session(&table, caller, "");
        let ask = lazy::Request { project: project.as_deref(), all: asked.wait, asking: asking.as_ref() };
        let searcher = self.memory.searcher(client, ask).await?.searcher;
        Ok((self.read(searcher.clone(), project, asked.agent).await?, searcher))
    }

    /// The usage of a project or of all, in a memory that is up to date.
    pub(crate) async fn read(
        &self,
        searcher: Searcher,
        project: Option<String>,
        agent: Option<Agent>,
    ) -> Result<Usages, QueryError> {
        let (table, settings) = self.memory.catalog().now();
        let (conversations, forks) = (self.conversations.clone(), self.forks.clone());
        let groups: Vec<String> = project.into_iter().collect();
        let read = baton_base::task::spawn_blocking(move || {
            let mut courses = searcher
                .courses()
                .map_err(|error| failure(code::INTERNAL, format!("the memory cannot be read: {error}")))?;
            courses.retain(|known| !graph::is_hidden(&table, &settings, &[], known.session.as_str()));
            let known: BTreeMap<SessionId, Option<Arc<Course>>> = forks.without_copies(&conversations, &table, courses);
            Ok::<_, QueryError>(usages(&table, &settings, &groups, agent, &known))
        });
        read.await.map_err(|error| failure(code::INTERNAL, format!("adding up usage broke: {error}")))?
    }
}

fn usages(
    table: &SessionTable,
    settings: &Settings,
    groups: &[String],
    agent: Option<Agent>,
    known: &BTreeMap<SessionId, Option<Arc<Course>>>,
) -> Usages {
    let mut usages =
        Usages { counted: Vec::new(), not_counted: Vec::new(), without: Vec::new(), prices: settings.prices.clone() };
    for (id, row) in table.iter() {
        let state = &row.state;
        if state.counts.messages == 0 || !visibility::is_from_agent(state, agent) {
            continue;
        }
        let (root, root_row) = root(table, id, row);
        let is_in = visibility::is_in_any(state, groups) || visibility::is_in_any(&root_row.state, groups);
        if !is_in || graph::is_hidden(table, settings, &[], id.as_str()) {
            continue;
        }
        let last = state.last_activity();
        match known.get(id) {
            Some(Some(course)) if !course.is_empty() => {
                let place = state.place.as_ref().or(root_row.state.place.as_ref());
                usages.counted.push(Counted {
                    root: root.clone(),
                    is_root_subagent: root_row.state.is_subagent(),
                    subagent: state.is_subagent().then(|| id.clone()),
                    project: place.map_or_else(|| "-".to_owned(), |place| place.project.clone()),
                    agent: state.transcript.as_ref().map_or("-", |transcript| transcript.agent.as_str()),
                    last,
                    course: course.clone(),
                });
            }
            Some(Some(_)) if !state.is_subagent() => usages.without.push(last),
            Some(Some(_)) => {}
            Some(None) | None => usages.not_counted.push(last),
        }
    }
    usages
}

/// The session that started this one, or the one that started that, as far as known.
fn root<'a>(table: &'a SessionTable, id: &'a SessionId, row: &'a Row) -> (&'a SessionId, &'a Row) {
    let mut root = (id, row);
    for _ in 0..ANCESTORS {
        let Some(parent) = root.1.state.parent() else { break };
        let Some(above) = table.get(parent) else { break };
        root = (parent, above);
    }
    root
}

impl ForkUsage {
    /// The usage of each session without what it has copied from an older one. Blocks for reads of conversations.
    fn without_copies(
        &self,
        conversations: &Conversations,
        table: &SessionTable,
        courses: Vec<SessionCourse>,
    ) -> BTreeMap<SessionId, Option<Arc<Course>>> {
        let mut families: BTreeMap<u64, Vec<SessionId>> = BTreeMap::new();
        for known in &courses {
            if let Some(first) = known.course.first {
                families.entry(first).or_default().push(known.session.clone());
            }
        }
        let mut own: BTreeMap<SessionId, Option<Arc<Course>>> =
            courses.into_iter().map(|known| (known.session, Some(known.course))).collect();
        for mut family in families.into_values().filter(|family| family.len() > 1) {
            family.sort_by(|one, other| related_sessions::compare_age(table, one.as_str(), other.as_str()));
            let shares = self.shares(conversations, table, &family);
            // The oldest session's usage is stored already.
            own.extend(shares.iter().skip(1).cloned());
        }
        own
    }

    fn shares(&self, conversations: &Conversations, table: &SessionTable, family: &[SessionId]) -> Shares {
        let manifest = |id: &SessionId| {
            let episode = table.get(id).and_then(|row| row.state.episode.as_ref());
            format!("{id} {:?};", episode.map(|episode| episode.manifest))
        };
        let key: String = family.iter().map(manifest).collect();
        if let Some(shares) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return shares.clone();
        }
        let mut elders = Some(Requests::default());
        let mut shares = Vec::with_capacity(family.len());
        for id in family {
            let read =
                usage::read_requests(conversations, table, id, |requests, item| requests.note_any(item, item.at));
            let own = read.as_ref().zip(elders.as_ref()).map(|(own, elders)| own.clone().without(elders));
            shares.push((id.clone(), own.map(|own| Arc::new(own.course()))));
            // If an elder cannot be read, it is unknown what a younger one copied from it.
            elders = elders.zip(read).map(|(mut elders, own)| {
                elders.join(own);
                elders
            });
        }
        let is_whole = shares.iter().all(|(_, own)| own.is_some());
        let shares = Arc::new(shares);
        if is_whole {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= FAMILIES_KEPT {
                kept.clear();
            }
            kept.insert(key, shares.clone());
        }
        shares
    }
}

impl Usages {
    /// Adds up by a key, on days of the zone.
    pub(crate) fn add_up(&self, by: By, zone: Zone, days: &RangeInclusive<i64>) -> answer::AgentCosts {
        sums::add_up(self, by, zone, days)
    }
}
