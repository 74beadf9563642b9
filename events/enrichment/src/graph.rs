//! Adds a model's entities and facts to the graph: marked as the model's, and removed with its episode.

use std::collections::BTreeSet;

use baton_graph::{
    Assertion, Graph, Label, MAX_ASSERTIONS, MAX_TEXT_CHARS, Mention, Relation, Surroundings, entity_name, node_uuid,
    one_line, valued_fact_uuid,
};
use uuid::Uuid;

use crate::{Answer, Lines};

/// Maximum number of entities that a model adds to one session.
const MAX_MENTIONS: usize = 150;

/// Returns the graph with the model's entities and facts added. Entities and facts found by rules are not changed.
pub fn with_model(mut graph: Graph, answer: &Answer, at: &Surroundings<'_>, cwd: Option<&str>, lines: &Lines) -> Graph {
    let mut known: BTreeSet<Uuid> = graph.mentions.iter().map(|mention| mention.uuid).collect();
    let mut facts: BTreeSet<Uuid> = graph.assertions.iter().map(|assertion| assertion.uuid).collect();
    let mut added = 0;
    let mut mention = |graph: &mut Graph, label: Label, name: &str, detail: &str, line: u64| {
        let name = entity_name(label, name, at, cwd);
        let uuid = node_uuid(at.group, label, &name);
        if name.is_empty() || known.contains(&uuid) {
            return (!name.is_empty()).then_some(uuid);
        }
        if added >= MAX_MENTIONS {
            graph.left_out = graph.left_out.saturating_add(1);
            return None;
        }
        added += 1;
        known.insert(uuid);
        let detail = one_line(detail, MAX_TEXT_CHARS);
        graph.mentions.push(Mention { uuid, label, name, detail, line, at: lines.at(line), count: 1, by_model: true });
        Some(uuid)
    };
    for entity in &answer.entities {
        mention(&mut graph, entity.label, &entity.name, &entity.summary, entity.line);
    }
    for fact in &answer.facts {
        let source = mention(&mut graph, fact.source.0, &fact.source.1, "", fact.line);
        let target = mention(&mut graph, fact.target.0, &fact.target.1, "", fact.line);
        let (Some(source), Some(target)) = (source, target) else { continue };
        let uuid = valued_fact_uuid(at.group, &fact.relation, source, target, "");
        if source == target || !facts.insert(uuid) {
            continue;
        }
        if graph.assertions.len() >= MAX_ASSERTIONS {
            graph.left_out = graph.left_out.saturating_add(1);
            continue;
        }
        graph.assertions.push(Assertion {
            uuid,
            relation: Relation::Custom,
            name: Some(fact.relation.as_str().into()),
            source,
            target,
            fact: one_line(&fact.fact, MAX_TEXT_CHARS),
            value: String::new(),
            valid_at: lines.at(fact.line),
            last_at: lines.at(fact.line),
            line: fact.line,
            rests: Vec::new(),
            settles: Vec::new(),
            by_model: true,
        });
    }
    graph
}
