//! `graph`: entities and facts around one, as of a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_ask::query::{AskedAt, parse_moment};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::Row;
use baton_graph::session_uuid;
use baton_protocol::{Failure, GraphParams, Zone, answer, code};
use uuid::Uuid;

use super::projects::number;
use super::{QueryError, internal, timeline, zone_day};
use crate::client::{ClientRef, failure};
use crate::lazy::{FreshMemory, FreshSearcher};
use crate::related_sessions::facts::FactLookup;
use crate::{graph, lazy, resolve};
use baton_memory::{Fact, FactsAt, GraphQuery, Sieve};
use baton_views::conversation::Conversations;

/// Most entities.
const NODES: usize = 60;
/// Most of them that share a fact with the middle.
const NEAR: usize = 30;
/// Most entities whose own facts are read, and most of these facts.
const VISITED: usize = 10;
const VISITED_FACTS: usize = 40;
/// Most facts read of the middle.
const CENTER_FACTS: usize = 300;
/// Most facts read if there is no middle.
const LISTED_FACTS: usize = 150;
/// Most facts of an answer.
const FACTS: usize = 200;
/// Most search results among which the middle is chosen.
const FOUND: usize = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The entities and facts around the requested one, else the best-supported ones.
pub(crate) async fn graph(
    asked: GraphParams,
    memory: FreshMemory<'_>,
    conversations: &Arc<Conversations>,
    client: &ClientRef,
) -> Result<answer::Graph, QueryError> {
    let zone = asked.caller.zone();
    let now = AskedAt { now: memory.coverage.clock.now(), zone };
    let as_of = as_of(asked.as_of.as_deref(), now)?;
    let project = || {
        let (table, settings) = memory.catalog().now();
        asked.project.as_deref().map(|name| resolve::project(&table, &settings, name))
    };
    let known = project().and_then(Result::ok);
    let asking = resolve::asking_session(&memory.catalog().table.now(), &asked.caller, &asked.about);
    let ask = lazy::Request { project: known.as_deref(), all: asked.wait, asking: asking.as_ref() };
    let FreshSearcher { searcher, freshness } = memory.searcher(client, ask).await?;
    let groups: Vec<String> = project().transpose()?.into_iter().collect();
    let (about, lookup) = (asked.about.trim().to_owned(), FactLookup::new(conversations, searcher));
    let reading = baton_base::task::spawn_blocking(move || {
        let exclude = |id: &str| graph::is_hidden(&lookup.table, &lookup.settings, &groups, id);
        let around = Around { lookup: &lookup, exclude: &exclude, as_of, zone };
        around.answer(&about).map_err(|error| internal("the graph cannot be read", error))
    });
    let graph = reading.await.map_err(|error| internal("reading the graph broke", error))??;
    Ok(answer::Graph { freshness, ..graph })
}

/// The time for which facts are requested; for a day its end.
fn as_of(text: Option<&str>, now: AskedAt) -> Result<Timestamp, Failure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(now.now) };
    let at = timeline::moment(text, now)?;
    let is_day = matches!(text, "today" | "yesterday")
        || text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !is_day {
        return Ok(at);
    }
    // A day may have 23 or 25 hours.
    let next = parse_moment(&zone_day(at.plus_ms(DAY_MS + DAY_MS / 2), now.zone), now);
    next.map(|next| next.plus_ms(-1)).ok_or_else(|| failure(code::INVALID_PARAMS, format!("{text:?} is not a day")))
}

/// True if a fact holds at a time. One without a beginning has always held.
fn holds(fact: &Fact, at: Timestamp) -> bool {
    fact.valid_at.is_none_or(|valid| valid <= at) && fact.invalid_at.is_none_or(|invalid| invalid > at)
}

struct Around<'a> {
    lookup: &'a FactLookup,
    exclude: &'a dyn Fn(&str) -> bool,
    as_of: Timestamp,
    zone: Zone,
}

/// The result: entities by uuid with their steps from the middle, and facts that hold.
#[derive(Default)]
struct Found {
    hops: BTreeMap<Uuid, u32>,
    facts: BTreeMap<Uuid, Fact>,
    days: BTreeSet<String>,
    cut: bool,
    /// The session in the middle, if any: then only facts that it supports are wanted.
    session: Option<(Uuid, SessionId)>,
}

impl Around<'_> {
    fn answer(&self, about: &str) -> Result<answer::Graph, baton_memory::Error> {
        let center = match about {
            "" => None,
            about => match self.center(about)? {
                None => {
                    let shown: String = graph::redact_plain(about).chars().take(80).collect();
                    let message = format!("nothing is known of {shown}");
                    return Ok(answer::Graph { message, as_of: self.as_of.to_string(), ..answer::Graph::default() });
                }
                found => found,
            },
        };
        let mut found = Found { session: center.and_then(|it| Some((it, self.session_of(it)?))), ..Found::default() };
        match center {
            Some(center) => self.look_around(center, &mut found)?,
            None => self.best_supported(&mut found)?,
        }
        self.to_answer(center, found)
    }

    /// The entity that a text means: its uuid, a session by its id, or the best match, one of this very name before others.
    fn center(&self, about: &str) -> Result<Option<Uuid>, baton_memory::Error> {
        let searcher = &self.lookup.searcher;
        if let Ok(uuid) = about.parse()
            && searcher.has_node(uuid, self.exclude)?
        {
            return Ok(Some(uuid));
        }
        let session = SessionId::new(about).and_then(|id| Some((self.lookup.table.get(&id)?.clone(), id)));
        if let Some((row, id)) = session {
            let uuid = session_uuid(row.state.group_id().unwrap_or_default(), &id);
            if searcher.has_node(uuid, self.exclude)? {
                return Ok(Some(uuid));
            }
        }
        let query = GraphQuery {
            text: about,
            exclude: self.exclude,
            labels: &[],
            sieve: Sieve::default(),
            center: None,
            limit: FOUND,
            offset: 0,
        };
        let found = searcher.nodes(&query)?.found;
        let wanted = about.to_lowercase();
        let is_named = |name: &str| name == wanted || name.rsplit('/').next() == Some(&wanted);
        let best = found.iter().find(|node| is_named(&node.name.to_lowercase())).or(found.first());
        Ok(best.map(|node| node.uuid))
    }

    /// The session that an entity stands for.
    fn session_of(&self, node: Uuid) -> Option<SessionId> {
        let is_it =
            |(id, row): &(&SessionId, &Arc<Row>)| session_uuid(row.state.group_id().unwrap_or_default(), id) == node;
        self.lookup.table.iter().find(is_it).map(|(id, _)| id.clone())
    }

    fn facts_at(&self, node: Uuid, most: usize) -> Result<FactsAt, baton_memory::Error> {
        self.lookup.searcher.facts_at(node, self.as_of, self.exclude, most)
    }

    fn look_around(&self, center: Uuid, found: &mut Found) -> Result<(), baton_memory::Error> {
        found.hops.insert(center, 0);
        let of_center = self.facts_at(center, CENTER_FACTS)?;
        found.cut = of_center.more > 0;
        found.days.extend(of_center.began.iter().map(|at| zone_day(*at, self.zone)));
        self.add(of_center.facts, found);
        let near = found.new_ends();
        found.hops.extend(near.iter().take(NEAR).map(|node| (*node, 1)));
        for node in near.iter().take(VISITED) {
            let further = self.facts_at(*node, VISITED_FACTS)?;
            found.cut |= further.more > 0;
            let days = found.days.clone();
            self.add(further.facts, found);
            // The days are those of the middle.
            found.days = days;
        }
        let room = NODES - found.hops.len();
        let far: Vec<Uuid> = found.new_ends().into_iter().filter(|node| !near.contains(node)).take(room).collect();
        found.hops.extend(far.into_iter().map(|node| (node, 2)));
        Ok(())
    }

    fn best_supported(&self, found: &mut Found) -> Result<(), baton_memory::Error> {
        let query = GraphQuery {
            text: "",
            exclude: self.exclude,
            labels: &[],
            sieve: Sieve::default(),
            center: None,
            limit: LISTED_FACTS,
            offset: 0,
        };
        let page = self.lookup.searcher.facts(&query)?;
        found.cut = page.more;
        found.days.extend(page.found.iter().filter_map(|fact| fact.valid_at).map(|at| zone_day(at, self.zone)));
        self.add(page.found, found);
        found.hops.extend(found.new_ends().into_iter().take(NODES).map(|node| (node, 1)));
        Ok(())
    }

    /// Adds the facts that hold, and the days on which any fact ended.
    fn add(&self, facts: Vec<Fact>, found: &mut Found) {
        let is_its = |fact: &Fact, (node, session): &(Uuid, SessionId)| {
            [fact.source, fact.target].contains(node) || fact.latest.iter().any(|(supporting, _)| supporting == session)
        };
        for fact in facts {
            if found.session.as_ref().is_some_and(|session| !is_its(&fact, session)) {
                continue;
            }
            found.days.extend(fact.invalid_at.map(|at| zone_day(at, self.zone)));
            if holds(&fact, self.as_of) {
                found.facts.insert(fact.uuid, fact);
            }
        }
    }

    fn to_answer(&self, center: Option<Uuid>, found: Found) -> Result<answer::Graph, baton_memory::Error> {
        let ends: BTreeSet<Uuid> = found.facts.values().flat_map(|fact| [fact.source, fact.target]).collect();
        let is_shown = |node: &Uuid| found.hops.contains_key(node);
        let mut shown: Vec<&Fact> =
            found.facts.values().filter(|fact| is_shown(&fact.source) && is_shown(&fact.target)).collect();
        let hops = |fact: &Fact| found.hops[&fact.source] + found.hops[&fact.target];
        shown.sort_by_key(|fact| (hops(fact), Reverse(fact.valid_at), fact.uuid));
        let more_facts = found.facts.len() - shown.len().min(FACTS);
        shown.truncate(FACTS);
        let mut names: BTreeMap<Uuid, (&str, u32)> = BTreeMap::new();
        for fact in &shown {
            for (node, name) in [(fact.source, &fact.source_name), (fact.target, &fact.target_name)] {
                names.entry(node).or_insert((name, 0)).1 += 1;
            }
        }
        let center_node = center.map(|center| self.lookup.searcher.node(center, self.exclude)).transpose()?.flatten();
        if let Some(node) = &center_node {
            names.entry(node.uuid).or_insert((&node.name, 0));
        }
        let mut nodes = Vec::new();
        for (uuid, (name, facts)) in &names {
            let label = self.lookup.searcher.label(*uuid, self.exclude)?;
            nodes.push(answer::GraphNode {
                uuid: uuid.to_string(),
                name: graph::redact_plain(name),
                label: label.map(|label| label.as_str().to_owned()).unwrap_or_default(),
                hops: found.hops.get(uuid).copied().unwrap_or_default(),
                facts: *facts,
            });
        }
        nodes.sort_by(|a, b| {
            (a.hops, Reverse(a.facts), &a.name, &a.uuid).cmp(&(b.hops, Reverse(b.facts), &b.name, &b.uuid))
        });
        let more_nodes = ends.iter().filter(|node| !names.contains_key(node)).count();
        let around = center_node.map(|node| format!(" around {}", graph::redact_plain(&node.name))).unwrap_or_default();
        let day = zone_day(self.as_of, self.zone);
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let message =
            format!("{} between {}{around}, as of {day}", counted(shown.len(), "fact"), counted(nodes.len(), "thing"));
        Ok(answer::Graph {
            message,
            center: center.map(|center| center.to_string()),
            as_of: self.as_of.to_string(),
            nodes,
            more_nodes: number(more_nodes),
            facts: shown.into_iter().map(fact_answer).collect(),
            more_facts: number(more_facts),
            cut: found.cut,
            days: found.days.into_iter().collect(),
            ..answer::Graph::default()
        })
    }
}

impl Found {
    /// Ends of facts that are not entities of the graph yet, those with the most facts first, then those with the latest.
    fn new_ends(&self) -> Vec<Uuid> {
        let mut counts: BTreeMap<Uuid, (u32, Option<Timestamp>)> = BTreeMap::new();
        for fact in self.facts.values() {
            for end in [fact.source, fact.target] {
                let (count, latest) = counts.entry(end).or_default();
                (*count, *latest) = (*count + 1, (*latest).max(fact.valid_at));
            }
        }
        let mut ends: Vec<(Uuid, (u32, Option<Timestamp>))> =
            counts.into_iter().filter(|(node, _)| !self.hops.contains_key(node)).collect();
        ends.sort_by_key(|(node, (count, latest))| (Reverse(*count), Reverse(*latest), *node));
        ends.into_iter().map(|(node, _)| node).collect()
    }
}

fn fact_answer(fact: &Fact) -> answer::GraphFact {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let place = fact.latest.first();
    answer::GraphFact {
        uuid: fact.uuid.to_string(),
        name: graph::redact_plain(&fact.name),
        fact: graph::redact_plain(&fact.fact),
        source: fact.source.to_string(),
        target: fact.target.to_string(),
        valid_at: time(fact.valid_at),
        invalid_at: time(fact.invalid_at),
        sessions: u32::try_from(fact.sessions).unwrap_or(u32::MAX),
        session_id: place.map(|(session, _)| session.to_string()),
        line: place.map(|(_, line)| *line),
        at: time(fact.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_means_its_end_on_the_persons_clock() {
        let now = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
        let at = |text: Option<&str>, zone: &str| {
            as_of(text, AskedAt { now, zone: Zone::parse(zone).unwrap() }).unwrap().to_string()
        };
        assert_eq!(at(None, "CET-1"), now.to_string());
        assert!(
            at(Some("2026-03-14"), "CET-1").starts_with("2026-03-14T22:59:59.999"),
            "{}",
            at(Some("2026-03-14"), "CET-1")
        );
        assert!(at(Some("2026-03-14T10:00:00Z"), "CET-1").starts_with("2026-03-14T10:00:00"));
        // The day on which summer time begins has 23 hours.
        let zone = "CET-1CEST,M3.5.0,M10.5.0/3";
        assert!(
            at(Some("2026-03-29"), zone).starts_with("2026-03-29T21:59:59.999"),
            "{}",
            at(Some("2026-03-29"), zone)
        );
        assert!(as_of(Some("soon"), now.into()).is_err());
    }
}
