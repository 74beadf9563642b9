//! Facts of the memory.

use std::sync::Arc;

use baton_events::graph::Relation;
use baton_events::protocol::{During, FactsParams, Failure, NodesParams, answer, code, method};
use baton_events::record::Timestamp;

use super::Ended;
use super::found::{Found, Wanted, found};
use crate::gateway::connection::{Out, failure};
use crate::gateway::{Services, graph};
use crate::memory::{Searcher, Window};

/// Longest name of a relation that somebody may have given, in characters.
const NAME_CHARS: usize = 100;

/// Facts that fit the words, best first; without words all, the most supported first.
pub(in crate::gateway) async fn facts(
    asked: FactsParams,
    services: &Arc<Services>,
    out: &Out,
) -> Result<answer::Facts, Ended> {
    let wanted = wanted(&asked)?;
    let FactsParams { query, groups, limit, center, relations, wait, cursor, caller, .. } = asked;
    // As texts they bind a cursor to its question.
    let asked = NodesParams { query, groups, limit, center, labels: relations, wait, cursor, caller };
    let found = found(method::FACTS, asked, wanted, services, out, Searcher::facts, graph::fact).await?;
    let Found { entries: facts, freshness, next_cursor } = found;
    let message = if facts.is_empty() { "No relevant facts found" } else { "Facts retrieved successfully" };
    Ok(answer::Facts { message: message.to_owned(), facts, freshness, next_cursor })
}

/// What the filters leave.
fn wanted(asked: &FactsParams) -> Result<Wanted, Failure> {
    let mut wanted = Wanted {
        valid: window("valid_at", &asked.valid)?,
        invalid: window("invalid_at", &asked.invalid)?,
        ..Wanted::default()
    };
    for name in asked.relations.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        match Relation::parse(name) {
            Some(relation) => wanted.relations.push(relation),
            // An agent may have given facts names of its own.
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

fn window(name: &str, during: &During) -> Result<Window, Failure> {
    let read = |end: &str, text: &Option<String>| {
        let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
        time(text).map(Some).ok_or_else(|| {
            let message = format!(
                "{name}_{end}: {text:?} is no time; give one like 2026-03-14T09:26:53Z, or a date like 2026-03-14"
            );
            failure(code::INVALID_PARAMS, message)
        })
    };
    Ok(Window { after: read("after", &during.after)?, before: read("before", &during.before)? })
}

/// A time of ISO 8601: without a zone it is UTC, a date is its midnight.
fn time(text: &str) -> Option<Timestamp> {
    let date = text.len() == 10;
    let text = text.replacen(' ', "T", 1);
    Timestamp::parse(&text)
        .or_else(|| Timestamp::parse(&format!("{text}Z")).filter(|_| !date))
        .or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")).filter(|_| date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_people_write_it() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(time(text).map(|at| at.to_string()).as_deref(), expected, "{text:?}");
        };
        check("2026-03-14T09:26:53Z", Some("2026-03-14T09:26:53.000Z"));
        check("2026-03-14T10:26:53+01:00", Some("2026-03-14T09:26:53.000Z"));
        check("2026-03-14T09:26:53", Some("2026-03-14T09:26:53.000Z"));
        check("2026-03-14 09:26:53", Some("2026-03-14T09:26:53.000Z"));
        check("2026-03-14", Some("2026-03-14T00:00:00.000Z"));
        check("14.3.2026", None);
        check("yesterday", None);
    }

    #[test]
    fn filters_are_understood_or_refused() {
        let asked = |relations: &[&str], after: &str| FactsParams {
            relations: relations.iter().map(|name| (*name).to_owned()).collect(),
            invalid: During { after: Some(after.to_owned()), before: None },
            ..FactsParams::default()
        };
        let found = wanted(&asked(&["decided", "MY_OWN"], "2026-03-14")).unwrap();
        assert_eq!(
            (found.relations.as_slice(), found.names.as_slice()),
            (&[Relation::Decided][..], &["MY_OWN".to_owned()][..])
        );
        assert!(found.valid.is_open() && found.invalid.after.is_some());
        let refused = wanted(&asked(&[], "soon")).unwrap_err();
        assert!(
            refused.message.contains("invalid_at_after") && refused.message.contains("soon"),
            "{}",
            refused.message
        );
        assert_eq!(wanted(&asked(&["a\nb"], "")).unwrap_err().code, code::INVALID_PARAMS);
    }
}
