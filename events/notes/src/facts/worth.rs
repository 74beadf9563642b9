//! Which entities of a session are worth a note, and the person's lasting preferences.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Entity, MAX_ENTITIES, MAX_ENTRIES, Statement};
use baton_graph::{Graph, Label, Relation, node_uuid};

/// Maximum number of words of a topic that gets a note: a longer one is a sentence.
const TOPIC_WORDS: usize = 4;
/// The same in bytes: some scripts have no spaces between words.
const TOPIC_BYTES: usize = 40;
/// Maximum number of entities of one kind, so that many changed files leave room for decisions.
const MOST_OF_A_KIND: usize = 6;

/// Returns the project, then entities that were decided, added, changed, fixed and failed, the most frequent first
/// within each kind; at most [`MAX_ENTITIES`] in all.
pub(super) fn entities(project: &str, graph: &Graph) -> Vec<Entity> {
    let deeds = deeds(graph);
    let own = graph.mentions.iter().find(|mention| mention.label == Label::Project);
    let uuid = own.map_or_else(|| node_uuid(project, Label::Project, project), |mention| mention.uuid);
    let mut found = vec![entity(uuid, Label::Project, project, "worked on")];
    let mut worth: Vec<_> = graph
        .mentions
        .iter()
        .filter(|mention| is_worth(mention.label, &mention.name))
        .filter_map(|mention| Some((deeds.get(&mention.uuid)?, mention)))
        .collect();
    worth.sort_by_key(|((rank, _), mention)| (*rank, std::cmp::Reverse(mention.count), mention.line));
    let mut of_kind: BTreeMap<u8, usize> = BTreeMap::new();
    for ((rank, deed), mention) in worth {
        let count = of_kind.entry(*rank).or_default();
        if found.len() < MAX_ENTITIES && *count < MOST_OF_A_KIND {
            *count += 1;
            found.push(entity(mention.uuid, mention.label, &mention.name, deed));
        }
    }
    found
}

fn entity(uuid: Uuid, label: Label, name: &str, deed: &'static str) -> Entity {
    Entity {
        uuid,
        label,
        name: name.to_owned(),
        deed,
        file: super::name::safe_file_name(name),
        is_subject: false,
        is_noted: false,
        earlier: Vec::new(),
    }
}

/// Returns what the session did with each entity, with its rank.
fn deeds(graph: &Graph) -> BTreeMap<Uuid, (u8, &'static str)> {
    let mut deeds: BTreeMap<Uuid, (u8, &'static str)> = BTreeMap::new();
    for fact in &graph.assertions {
        let (of, deed) = match fact.relation {
            Relation::Decided => (fact.target, (0, "decided")),
            Relation::AddedPackage => (fact.target, (1, "added")),
            Relation::RemovedPackage => (fact.target, (1, "removed")),
            Relation::Modified => (fact.target, (2, "changed")),
            Relation::ResolvedBy => (fact.target, (3, "part of a fix")),
            Relation::FailedWith => (fact.source, (4, "failed")),
            _ => continue,
        };
        let known = deeds.entry(of).or_insert(deed);
        *known = deed.min(*known);
    }
    deeds
}

fn is_worth(label: Label, name: &str) -> bool {
    match label {
        Label::Topic => {
            let is_short = name.len() <= TOPIC_BYTES && name.split_whitespace().count() <= TOPIC_WORDS;
            is_short && !name.contains([',', '…', '?', '、', '，', '。'])
        }
        Label::File | Label::Package | Label::Command => true,
        _ => false,
    }
}

/// Returns what the person always or never wants, in transcript order.
pub(super) fn preferences(graph: &Graph) -> Vec<Statement> {
    let rule = |uuid| graph.mentions.iter().find(|mention| mention.uuid == uuid && mention.label == Label::Preference);
    let wishes = graph.assertions.iter().filter(|fact| fact.relation == Relation::Prefers);
    let mut wishes: Vec<_> = wishes.filter_map(|fact| Some((fact.line, fact.valid_at, rule(fact.target)?))).collect();
    wishes.sort_by_key(|(line, ..)| *line);
    let said = |(_, at, rule): (u64, _, &baton_graph::Mention)| Statement {
        text: rule.name.clone(),
        resolution: None,
        at,
        about: Vec::new(),
    };
    wishes.into_iter().map(said).take(MAX_ENTRIES).collect()
}
