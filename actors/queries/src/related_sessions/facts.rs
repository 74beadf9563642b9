//! Facts of the graph about sessions that continue or follow each other. The memory holds what a session's own
//! transcript and hooks state; the rest depends on other sessions, so it is computed from the table on demand.
//!
//! # Decisions
//!
//! - Relations of a session are computed when it is shown; the memory has what its own records and signals state. Forks
//!   found by shared records, and sessions that follow each other in a directory, depend on other sessions. They are
//!   computed from the table when a fact of that session is requested by its node, its id, its episode or the fact's
//!   uuid. Other words do not find them.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::{Row, SessionTable};
use baton_graph::{Label, Relation, fact_uuid, session_name, session_uuid};
use baton_redaction::redact;
use uuid::Uuid;

use super::succession::Succession;
use super::{Kinship, RelatedSessions};
use crate::conversation_summary::summarise;
use crate::resolve;
use baton_config::settings::Settings;
use baton_memory::{Error, Fact, GraphQuery, Page, Searcher};
use baton_views::conversation::Conversations;

/// Shortest word of a query that may be the prefix of a session's id.
const ID_CHARS: usize = 8;
/// Most sessions that one query may name.
const NAMED_MAX: usize = 8;

/// Looks up facts in a memory and in what facts are computed from.
pub(crate) struct FactLookup {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) table: SessionTable,
    pub(crate) settings: Arc<Settings>,
    pub(crate) searcher: Searcher,
}

impl FactLookup {
    /// The current table and settings.
    pub(crate) fn new(conversations: &Arc<Conversations>, searcher: Searcher) -> Self {
        let (table, settings) = conversations.catalog().now();
        Self { conversations: conversations.clone(), table, settings, searcher }
    }

    /// Facts that fit a query: first those of the sessions that it names or that are its center, then the memory's.
    pub(crate) fn facts(&self, query: &GraphQuery<'_>) -> Result<Page<Fact>, Error> {
        let mut computed: Vec<Fact> = Vec::new();
        for id in self.named(query)? {
            let facts = self.facts_of_session(&id, query.exclude)?.into_iter();
            computed.extend(facts.filter(|fact| query.sieve.keeps(fact)));
        }
        let mut seen = BTreeSet::new();
        computed.retain(|fact| seen.insert(fact.uuid));
        let before = computed.len();
        let mut found: Vec<Fact> = computed.into_iter().skip(query.offset).take(query.limit).collect();
        let (offset, limit) = (query.offset.saturating_sub(before), query.limit - found.len());
        let rest = self.searcher.facts(&GraphQuery { offset, limit, ..*query })?;
        found.extend(rest.found);
        Ok(Page { found, more: rest.more || before > query.offset.saturating_add(query.limit) })
    }

    /// The fact with this uuid, from the memory or computed.
    pub(crate) fn fact(&self, uuid: Uuid) -> Result<Option<Fact>, Error> {
        let hidden = self.conversations.catalog().hidden_now();
        if let Some(fact) = self.searcher.fact(uuid, &hidden)? {
            return Ok(Some(fact));
        }
        let all = Succession::by_place(&self.table, &self.settings);
        // A fork repeats the first record of its origin.
        let (mut first, mut repeated) = (BTreeSet::new(), BTreeSet::new());
        for (_, row) in self.table.iter() {
            repeated.extend(row.state.first_at.filter(|at| !first.insert(*at)));
        }
        for (id, row) in self.table.iter().filter(|(_, row)| self.table.visible_episode(row).is_some()) {
            let state = &row.state;
            let is_fork = || state.first_at.is_some_and(|at| repeated.contains(&at));
            let before = state.place.as_ref().and_then(|place| all.get(place)?.before(id, state));
            let is_after = || before.is_some_and(|before| self.uuid(Relation::PrecededBy, before, id) == uuid);
            if is_after() || is_fork() {
                let found = self.facts_of_session(id, &hidden)?.into_iter().find(|fact| fact.uuid == uuid);
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// The visible computed facts of one session, without those that the memory holds.
    pub(crate) fn facts_of_session(&self, id: &SessionId, exclude: &dyn Fn(&str) -> bool) -> Result<Vec<Fact>, Error> {
        let Some(row) = self.indexed(id).filter(|_| !exclude(id.as_str())) else { return Ok(Vec::new()) };
        let read = self.table.visible_episode(row).map(|current| summarise(&self.conversations, id, current.clone()));
        let Some(Ok((_, summary))) = read else { return Ok(Vec::new()) };
        let family = RelatedSessions::find(id, summary.links, &self.table, &self.settings, &self.searcher)?;
        let mut facts = Vec::new();
        for (kinship, other) in family.continuations(&row.state, &self.settings, &self.table, &self.searcher)? {
            let (relation, earlier, later) = match kinship {
                Kinship::Continues => (Relation::ContinuedBy, &other, id),
                Kinship::ContinuedBy => (Relation::ContinuedBy, id, &other),
                Kinship::PrecededBy => (Relation::PrecededBy, &other, id),
                Kinship::FollowedBy => (Relation::PrecededBy, id, &other),
            };
            let uuid = self.uuid(relation, earlier, later);
            let is_known = self.table.home().state.deleted_facts.contains(&uuid)
                || exclude(other.as_str())
                || self.searcher.fact(uuid, exclude)?.is_some();
            if !is_known {
                facts.extend(self.session_fact(relation, earlier, later));
            }
        }
        Ok(facts)
    }

    /// The sessions in a query: its center, and those that its words name.
    fn named(&self, query: &GraphQuery<'_>) -> Result<Vec<SessionId>, Error> {
        let center = query.center.map(|center| self.searcher.node(center, query.exclude)).transpose()?.flatten();
        let center = center.filter(|node| node.label == Label::Session).and_then(|node| {
            let is_it = |id: &SessionId, row: &Row| session_uuid(group(row), id) == node.uuid;
            self.table.iter().find(|(id, row)| is_it(id, row)).map(|(id, _)| id.clone())
        });
        let words = query.text.split_whitespace().map(|word| word.strip_prefix("session_").unwrap_or(word));
        let words =
            words.filter(|word| word.len() >= ID_CHARS && word.contains(|letter: char| letter.is_ascii_digit()));
        let named = words.take(NAMED_MAX).filter_map(|word| resolve::known_session(&self.table, word));
        Ok(center.into_iter().chain(named).collect())
    }

    fn indexed(&self, id: &SessionId) -> Option<&Row> {
        self.table.get(id).map(|row| &**row).filter(|row| self.table.visible_episode(row).is_some())
    }

    /// The uuid of the fact between two sessions, as the memory computes it; it belongs to the group of the later
    /// session.
    fn uuid(&self, relation: Relation, earlier: &SessionId, later: &SessionId) -> Uuid {
        let group = self.table.get(later).map(|row| group(row)).unwrap_or_default();
        let (source, target) = ends(group, relation, earlier, later);
        fact_uuid(group, relation, source, target)
    }

    fn session_fact(&self, relation: Relation, earlier: &SessionId, later: &SessionId) -> Option<Fact> {
        let (before, after) = (self.indexed(earlier)?, self.indexed(later)?);
        let group_id = group(after);
        let (source, target) = ends(group_id, relation, earlier, later);
        let name = |id: &SessionId| session_name(id).replace('_', " ");
        let (fact, from, to) = match relation {
            Relation::PrecededBy => (format!("{} began after {}", name(later), name(earlier)), later, earlier),
            _ => (format!("{} goes on in {}", name(earlier), name(later)), earlier, later),
        };
        let episodes = [after, before].into_iter().filter_map(|row| self.table.visible_episode(row));
        let recorded: Option<Timestamp> = self.table.visible_episode(after).map(|episode| episode.at);
        Some(Fact {
            uuid: fact_uuid(group_id, relation, source, target),
            relation,
            name: relation.as_str().to_owned(),
            source,
            source_name: session_name(from),
            target,
            target_name: session_name(to),
            value: String::new(),
            fact,
            group_id: redact(group_id).into_owned(),
            created_at: recorded,
            valid_at: after.state.first_at,
            invalid_at: None,
            expired_at: None,
            ended_by: None,
            reference_time: after.state.last_conversation_at,
            sessions: 2,
            // No line states it, so the first lines are named as its source.
            latest: vec![(later.clone(), 1), (earlier.clone(), 1)],
            at: after.state.first_at,
            episodes: episodes.map(|episode| episode.uuid).collect(),
            by_model: false,
        })
    }
}

fn group(row: &Row) -> &str {
    row.state.group_id().unwrap_or_default()
}

/// Source and target node.
fn ends(group: &str, relation: Relation, earlier: &SessionId, later: &SessionId) -> (Uuid, Uuid) {
    let node = |id| session_uuid(group, id);
    if relation == Relation::PrecededBy { (node(later), node(earlier)) } else { (node(earlier), node(later)) }
}
