//! `facts`: facts of the memory.

use baton_ask::query::{self, AskedAt};
use baton_graph::Relation;
use baton_protocol::{During, FactsParams, Failure, NodesParams, answer, code, method};

use super::QueryError;
use super::graph_search::{Criteria, GraphSearch, ResultPage};
use crate::client::failure;
use crate::graph;
use crate::related_sessions::facts::FactLookup;
use baton_base::clock::Clock;
use baton_memory::Window;

/// Longest name of a relation that a caller may use, in characters.
const NAME_CHARS: usize = 100;

/// Facts that fit the words, best first; without words all of them, the best supported first.
pub(crate) async fn facts(
    asked: FactsParams,
    search: GraphSearch<'_>,
    clock: &dyn Clock,
) -> Result<answer::Facts, QueryError> {
    let wanted = criteria(&asked, AskedAt { now: clock.now(), zone: asked.caller.zone() })?;
    let unknown: Vec<String> = wanted.names.iter().filter(|name| Relation::named(name).is_none()).cloned().collect();
    let FactsParams { query, groups, limit, center, relations, wait, cursor, caller, .. } = asked;
    // The texts bind a cursor to its query.
    let asked = NodesParams { query, groups, limit, center, labels: relations, wait, cursor, caller };
    let found = search.search(method::FACTS, asked, wanted, FactLookup::facts, graph::fact).await?;
    let ResultPage { entries: facts, freshness, next_cursor } = found;
    let message = match (facts.is_empty(), unknown.is_empty()) {
        (false, _) => "Facts retrieved successfully".to_owned(),
        (true, true) => "No relevant facts found".to_owned(),
        (true, false) => format!(
            "No relevant facts found: {} is a name that only add_triplet gives; Baton's own are {}",
            unknown.join(", "),
            Relation::names()
        ),
    };
    Ok(answer::Facts { message, facts, freshness, next_cursor })
}

/// Parses the filters.
fn criteria(asked: &FactsParams, now: AskedAt) -> Result<Criteria, Failure> {
    let mut wanted = Criteria {
        valid: window("valid_at", &asked.valid, now)?,
        invalid: window("invalid_at", &asked.invalid, now)?,
        ..Criteria::default()
    };
    for name in asked.relations.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        // An agent may have named its facts freely, even like one of our relations.
        wanted.relations.extend(Relation::named(name));
        match Relation::named(name) {
            Some(relation) => wanted.names.push(relation.as_str().to_owned()),
            None if name.chars().count() <= NAME_CHARS && !name.contains(char::is_control) => {
                wanted.names.push(name.to_owned());
            }
            None => {
                let known: Vec<&str> = Relation::ALL.iter().map(|relation| relation.as_str()).collect();
                let message = format!("{name:?} is no name of a relation; there are {}", known.join(", "));
                return Err(failure(code::INVALID_PARAMS, message));
            }
        }
    }
    Ok(wanted)
}

fn window(name: &str, during: &During, now: AskedAt) -> Result<Window, Failure> {
    let read = |end: &str, text: &Option<String>| {
        let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
        query::parse_moment(text, now).map(Some).ok_or_else(|| {
            let message = format!(
                "{name}_{end}: {text:?} is not a time; give one like 2026-03-14T09:26:53Z, a date like 2026-03-14, or 7d"
            );
            failure(code::INVALID_PARAMS, message)
        })
    };
    Ok(Window { after: read("after", &during.after)?, before: read("before", &during.before)? })
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::Timestamp;

    use super::*;

    #[test]
    fn filters_are_understood_or_refused() {
        let asked = |relations: &[&str], after: &str| FactsParams {
            relations: relations.iter().map(|name| (*name).to_owned()).collect(),
            invalid: During { after: Some(after.to_owned()), before: None },
            ..FactsParams::default()
        };
        let now = Timestamp::parse("2026-03-14T12:00:00Z").unwrap();
        let parse = |asked: &FactsParams| criteria(asked, now.into());
        let found = parse(&asked(&["decided", "MY_OWN"], "2026-03-14")).unwrap();
        assert_eq!(
            (found.relations.as_slice(), found.names.as_slice()),
            (&[Relation::Decided][..], &["DECIDED".to_owned(), "MY_OWN".to_owned()][..])
        );
        assert!(found.valid.is_open() && found.invalid.after.is_some());
        let refused = parse(&asked(&[], "soon")).unwrap_err();
        assert!(
            refused.message.contains("invalid_at_after") && refused.message.contains("soon"),
            "{}",
            refused.message
        );
        assert_eq!(parse(&asked(&["a\nb"], "")).unwrap_err().code, code::INVALID_PARAMS);
    }
}
