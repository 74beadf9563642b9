use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::usage::Course;
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Graph;
use tantivy::schema::Value;

use super::*;

/// Body and stop words of each turn from `from` on.
fn turns_from(units: &[Unit], from: usize) -> Vec<[String; 2]> {
    let (session, graph, units) = (SessionId::new("a").unwrap(), Graph::default(), units.to_vec());
    let entry = Entry {
        session: &session,
        generation: 1,
        project: None,
        group_id: "g",
        agent: baton_conversation::item::Agent::ClaudeCode,
        title: "",
        episode_uuid: uuid::Uuid::nil(),
        episode_text: "",
        ended_at: None,
        indexed_at: Timestamp(0),
        parent: None,
        links: &[],
        titles: &super::super::Titles::default(),
        units: &units,
        changed_from: 0,
        graph: &graph,
        outcomes: &Outcomes::default(),
        usage: &Course::default(),
    };
    let fields = schema::build().1;
    let (mut drafter, mut documents) = (Drafter::default(), Vec::new());
    drafter.begin(&entry);
    for unit in &units {
        documents.extend(drafter.unit(&fields, &entry.origin(), "g", unit, from));
    }
    for document in &documents {
        let body = document.get_first(fields.body).and_then(|body| body.as_str()).unwrap_or_default();
        let length = document.get_first(fields.length).and_then(|length| length.as_u64());
        assert_eq!(length, Some(body.lines().filter(|line| !line.is_empty()).count() as u64), "{body}");
    }
    let text = |document: &TantivyDocument, field| {
        document.get_first(field).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    documents.iter().map(|it| [fields.body, fields.stops].map(|field| text(it, field))).collect()
}

#[test]
fn a_turn_of_a_long_session_is_written_as_if_it_were_alone() {
    let units: Vec<Unit> = (0..3_000_u64)
        .map(|line| Unit {
            line,
            part: 0,
            at: Some(Timestamp(1_770_000_000_000 + line as i64 * 3_600_000)),
            role: if line % 3 == 0 { Role::User } else { Role::Assistant },
            record: None,
            text: format!(
                "the turn number{line} {}",
                "sturdy herons wander along quiet rivers ".repeat(line as usize % 40)
            ),
        })
        .collect();
    let all = turns_from(&units, 0);
    assert_eq!(all.len(), units.len());
    for at in (0..units.len()).step_by(97).chain([1, 2, 2_997, 2_998, 2_999]) {
        assert_eq!(turns_from(&units[at..=at], 0), all[at..=at], "turn {at}");
    }
    assert_eq!(turns_from(&units, 2_990), all[2_990..]);
    assert_eq!(turns_from(&units, units.len()).len(), 0);
}
