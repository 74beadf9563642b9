//! Facts that answer a question.

use baton_views::visibility;
use std::collections::{BTreeMap, BTreeSet};

use baton_ask::recall::{Entry, Intent, Kind, RankedSession, Sort};
use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::Relation;

use super::{Recall, internal};
use crate::calls::QueryError;
use crate::calls::search::Scope;
use crate::filters::SessionFilter;
use crate::graph;
use baton_memory::{GraphQuery, Sieve, Window};

/// Most facts that are examined.
const LOOKED_AT: usize = 40;
/// Most facts in an answer that asks for their kind, and in one that does not.
const TOLD: usize = 12;
const TOLD_BESIDE: usize = 3;
/// Relations that add something to what the episode says.
const TELLING: [Relation; 6] = [
    Relation::Decided,
    Relation::Prefers,
    Relation::ResolvedBy,
    Relation::AddedPackage,
    Relation::Renamed,
    Relation::Custom,
];

/// Sessions and lines that state something that no longer holds, and since when.
pub(super) type Reversed = BTreeMap<(SessionId, u64), Timestamp>;

impl Recall {
    /// Facts of the requested kind, or without a kind those that fit the words best: current ones first, then former
    /// ones. Also the places that only state what no longer holds. All filters of the question apply.
    pub(super) fn facts(&self, asked: &Intent) -> Result<(Vec<Entry>, Reversed), QueryError> {
        let of_a_kind = [
            (Kind::Preferences, Relation::Prefers),
            (Kind::Decisions, Relation::Decided),
            (Kind::Solved, Relation::ResolvedBy),
        ];
        let wanted: Vec<Relation> =
            of_a_kind.into_iter().filter(|(kind, _)| asked.is(*kind)).map(|(_, relation)| relation).collect();
        let text = asked.subject();
        let is_searched = asked.kinds.is_empty() && !text.is_empty();
        if wanted.is_empty() && !is_searched {
            return Ok((Vec::new(), Reversed::new()));
        }
        let (question, directory) = (&self.question, self.directory.as_deref());
        let broke = |error| internal("the search failed", error);
        let filter =
            SessionFilter::resolve(question, &self.table, &self.settings, &self.searcher, directory).map_err(broke)?;
        let admits = |id: &str| match visibility::memo_as_state(&self.table, id) {
            Some(state) => filter.admits(question, id, Some(&state)),
            None => {
                let row = SessionId::new(id).and_then(|id| self.table.get(&id).cloned());
                filter.admits(question, id, row.as_ref().map(|row| &row.state))
            }
        };
        let is_asking = |id: &str| self.asking.as_ref().is_some_and(|asking| asking.as_str() == id);
        let left_out = |id: &str| is_asking(id) != (self.scope == Scope::Own);
        // Facts are presented as this person's own.
        let is_anothers = |id: &str| SessionId::new(id).is_some_and(|id| self.table.author(&id).is_some());
        let exclude = |id: &str| self.is_hidden(id) || is_anothers(id) || left_out(id) || !admits(id);
        let before = question.before.map(|before| before.plus_ms(-1));
        let sieve = Sieve {
            relations: if is_searched { &TELLING } else { &wanted },
            valid: Window { after: question.after, before },
            ..Sieve::default()
        };
        let query = GraphQuery {
            text: &text,
            exclude: &exclude,
            labels: &[],
            sieve,
            center: None,
            limit: LOOKED_AT,
            offset: 0,
        };
        let page = self.searcher.facts(&query).map_err(broke)?;
        let most = if is_searched { TOLD_BESIDE } else { TOLD };
        let (mut holding, mut past) = (Vec::new(), Vec::new());
        let (mut upheld, mut ended) = (BTreeSet::new(), Reversed::new());
        for fact in page.found {
            let (uuid, at, until) = (fact.uuid, fact.at, fact.invalid_at);
            for place in &fact.latest {
                match until {
                    Some(until) => ended.insert(place.clone(), until).is_none(),
                    None => upheld.insert(place.clone()),
                };
            }
            let latest = fact.latest.first().cloned();
            let by_model = fact.by_model;
            let answer = graph::fact(fact);
            let fit = asked.fit_of(&answer.fact);
            let list = if until.is_some() { &mut past } else { &mut holding };
            let Some((session, line)) = latest.filter(|_| fit > 0.0 && list.len() < most) else { continue };
            let worth = if is_searched { 1.0 } else { 3.2 } - list.len() as f32 * 0.01;
            let ranked = RankedSession { session: &session, rank: 1, at, project: None, fit, found: &[] };
            let entry = ranked.line(Sort::Fact, &answer.fact, Some(line), at, worth).with_fit(fit);
            let mut entry = Entry { uuid: Some(uuid), by_model, ..entry };
            until.into_iter().for_each(|until| entry.end(until));
            list.push(entry);
        }
        ended.retain(|place, _| !upheld.contains(place));
        holding.append(&mut past);
        Ok((holding, ended))
    }
}
