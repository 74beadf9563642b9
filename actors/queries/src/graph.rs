//! Converts entities and facts to the wire types, with helpers that their calls share.

use baton_views::visibility;
use std::collections::BTreeMap;

use baton_conversation::printable::plain;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_graph::Label;
use baton_protocol::{Failure, answer, code};
use baton_redaction::redact;
use serde_json::Value;
use uuid::Uuid;

use super::client::failure;
use baton_config::settings::Settings;
use baton_memory::{Fact, Node};

/// Returns true if a session must not support an answer: it is forgotten, excluded, unknown, or in another group.
pub(super) fn is_hidden(table: &SessionTable, settings: &Settings, groups: &[String], id: &str) -> bool {
    visibility::is_hidden(table, settings, groups, id)
}

/// Parses the uuid of a center node.
pub(super) fn parse_center(text: Option<&str>) -> Result<Option<Uuid>, Failure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || format!("{text:?} is not a uuid; take one from `nodes[].uuid` of search_nodes");
    text.parse().map(Some).map_err(|_| failure(code::INVALID_PARAMS, wrong()))
}

/// The refusal of a center that is not known.
pub(super) fn no_center(uuid: Uuid) -> Failure {
    let message = format!("no node {uuid} is known; search_nodes finds nodes by name");
    failure(code::NOT_FOUND, message)
}

/// Redacts a text and removes control characters, because an agent may show it to a person.
pub(super) fn redact_plain(text: &str) -> String {
    plain(&redact(text))
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// Sessions with the line that states the fact.
fn lines(latest: &[(SessionId, u64)]) -> BTreeMap<String, u64> {
    latest.iter().map(|(session, line)| (session.to_string(), *line)).collect()
}

fn attributes<const N: usize>(values: [(&str, Value); N]) -> BTreeMap<String, Value> {
    values.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// `model` if only a model stated it, otherwise null.
fn said_by(by_model: bool) -> Value {
    if by_model { "model".into() } else { Value::Null }
}

fn ids(latest: &[(SessionId, u64)]) -> Value {
    latest.iter().map(|(session, _)| Value::from(session.as_str())).collect()
}

/// Converts an entity.
pub(super) fn node(node: Node) -> answer::Node {
    let label = node.label.as_str();
    let summary = summary(&node);
    answer::Node {
        uuid: node.uuid.to_string(),
        name: redact_plain(&node.name),
        labels: vec!["Entity".to_owned(), label.to_owned()],
        created_at: time(node.created_at),
        summary: Some(summary),
        group_id: redact(&node.group_id).into_owned(),
        attributes: attributes([
            ("sessions", node.sessions.into()),
            ("count", node.count.into()),
            ("first_seen", time(node.first_seen).into()),
            ("last_seen", time(node.last_seen).into()),
            ("session_ids", ids(&node.latest)),
            ("lines", serde_json::to_value(lines(&node.latest)).unwrap_or_default()),
            ("said_by", said_by(node.by_model)),
        ]),
    }
}

/// One line: how well the entity is known, what its latest session says, and its most telling recent fact.
fn summary(node: &Node) -> String {
    let day = |at: Option<Timestamp>| at.map(|at| at.to_string().chars().take(10).collect::<String>());
    let mut known = match (node.sessions, day(node.last_seen)) {
        (1, Some(day)) => format!("in one session, {day}"),
        (1, None) => "in one session".to_owned(),
        (sessions, Some(day)) => format!("in {sessions} sessions, last {day}"),
        (sessions, None) => format!("in {sessions} sessions"),
    };
    if node.count > node.sessions {
        known = format!("{known}, {} times", node.count);
    }
    let detail = if node.detail == node.name { "" } else { node.detail.as_str() };
    let mut summary_text = match (node.label, detail.is_empty()) {
        (Label::Session, true) => known,
        (Label::Session, false) => detail.to_owned(),
        (label, true) => format!("{} {known}", label.as_str()),
        (label, false) => format!("{} {known}: {detail}", label.as_str()),
    };
    if let Some(fact) = node.telling.as_deref().filter(|fact| node.label != Label::Session && !fact.is_empty()) {
        summary_text = format!("{summary_text}. Latest: {fact}");
    }
    redact_plain(&summary_text)
}

/// Converts a fact.
pub(super) fn fact(fact: Fact) -> answer::Fact {
    let text = |text: &str| if text.is_empty() { Value::Null } else { Value::from(redact_plain(text)) };
    answer::Fact {
        uuid: fact.uuid.to_string(),
        group_id: redact(&fact.group_id).into_owned(),
        source_node_uuid: fact.source.to_string(),
        target_node_uuid: fact.target.to_string(),
        created_at: time(fact.created_at),
        fact: redact_plain(&fact.fact),
        episodes: fact.episodes.iter().map(ToString::to_string).collect(),
        expired_at: time(fact.expired_at),
        valid_at: time(fact.valid_at),
        invalid_at: time(fact.invalid_at),
        reference_time: time(fact.reference_time),
        attributes: attributes([
            ("source_node_name", text(&fact.source_name)),
            ("target_node_name", text(&fact.target_name)),
            ("value", text(&fact.value)),
            ("invalidated_by", fact.ended_by.map(|uuid| uuid.to_string()).into()),
            ("sessions", fact.sessions.into()),
            ("session_ids", ids(&fact.latest)),
            ("lines", serde_json::to_value(lines(&fact.latest)).unwrap_or_default()),
            ("at", time(fact.at).into()),
            ("said_by", said_by(fact.by_model)),
        ]),
        name: redact_plain(&fact.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_it_is_and_how_well_known() {
        let check = |label: Label, sessions: u64, detail: &str, telling: bool, expected: &str| {
            let node = Node {
                uuid: Uuid::nil(),
                label,
                name: "x".to_owned(),
                detail: detail.to_owned(),
                group_id: String::new(),
                created_at: None,
                first_seen: None,
                last_seen: Timestamp::parse("2026-03-14T09:26:53Z"),
                count: 1,
                sessions,
                latest: Vec::new(),
                telling: telling.then(|| "session a modified x".to_owned()),
                by_model: false,
            };
            assert_eq!(summary(&node), expected);
        };
        check(Label::File, 1, "", false, "File in one session, 2026-03-14");
        check(Label::File, 3, "x", false, "File in 3 sessions, last 2026-03-14");
        check(Label::Error, 3, "cargo test: exit 1", false, "Error in 3 sessions, last 2026-03-14: cargo test: exit 1");
        check(Label::Session, 1, "Fix the login", false, "Fix the login");
        check(Label::File, 1, "", true, "File in one session, 2026-03-14. Latest: session a modified x");
        check(Label::Session, 1, "", false, "in one session, 2026-03-14");
    }

    #[test]
    fn a_center_is_a_uuid_or_nothing() {
        assert_eq!(parse_center(None).unwrap(), None);
        assert_eq!(parse_center(Some("  ")).unwrap(), None);
        let uuid = Uuid::from_u128(7);
        assert_eq!(parse_center(Some(&uuid.to_string())).unwrap(), Some(uuid));
        assert_eq!(parse_center(Some("auth.rs")).unwrap_err().code, code::INVALID_PARAMS);
    }
}
