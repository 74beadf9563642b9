//! Finds what a decision or a failure is about: from the graph, else from the names in its text, else the project.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::Entity;
use baton_episode::digest::{ErrorLine, Pointed};
use baton_graph::{Graph, Relation};

/// Maximum number of entities that one statement is about.
const MOST: usize = 3;
/// A shorter name occurs in too many words, in bytes.
const TELLING_BYTES: usize = 3;

/// Index from statements to entities, for one session.
pub(super) struct Subjects {
    names: Vec<Vec<String>>,
    /// By transcript line: topics that were decided.
    decided: BTreeMap<u64, BTreeSet<usize>>,
    /// By transcript line: errors.
    failed: BTreeMap<u64, BTreeSet<Uuid>>,
    /// By error: what fixed it.
    cures: BTreeMap<Uuid, BTreeSet<usize>>,
}

impl Subjects {
    pub(super) fn new(entities: &[Entity], graph: &Graph) -> Self {
        let at = |uuid: Uuid| entities.iter().position(|entity| entity.uuid == uuid);
        let (mut decided, mut failed, mut cures) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for fact in &graph.assertions {
            match fact.relation {
                Relation::Decided => {
                    let known: &mut BTreeSet<usize> = decided.entry(fact.line).or_default();
                    known.extend(at(fact.target));
                }
                Relation::FailedWith => {
                    let known: &mut BTreeSet<Uuid> = failed.entry(fact.line).or_default();
                    known.insert(fact.target);
                }
                Relation::ResolvedBy => {
                    let known: &mut BTreeSet<usize> = cures.entry(fact.source).or_default();
                    known.extend(at(fact.target));
                }
                _ => {}
            }
        }
        // The project's name occurs everywhere.
        let names = entities.iter().enumerate().map(|(at, entity)| if at == 0 { Vec::new() } else { names_of(entity) });
        Self { names: names.collect(), decided, failed, cures }
    }

    pub(super) fn on_decision(&self, decision: &Pointed) -> Vec<usize> {
        let settled = self.decided.get(&decision.line).into_iter().flatten().copied();
        self.or_project(settled.chain(self.named(&decision.text)))
    }

    pub(super) fn on_error(&self, error: &ErrorLine) -> Vec<usize> {
        let errors = self.failed.get(&error.line).into_iter().flatten();
        let cures = errors.filter_map(|error| self.cures.get(error)).flatten().copied();
        let resolution = error.resolution.as_ref().map_or("", |resolution| &resolution.text);
        self.or_project(cures.chain(self.named(&error.text)).chain(self.named(resolution)))
    }

    /// Returns the first few, each once; the project if there are none.
    fn or_project(&self, found: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut about: Vec<usize> = Vec::new();
        for at in found {
            if about.len() < MOST && !about.contains(&at) {
                about.push(at);
            }
        }
        if about.is_empty() { vec![0] } else { about }
    }

    fn named(&self, text: &str) -> Vec<usize> {
        let text = text.to_lowercase();
        let has = |names: &Vec<String>| names.iter().any(|name| has_word(&text, name));
        (0..self.names.len()).filter(|at| has(&self.names[*at])).collect()
    }
}

/// Returns the names of an entity in texts: its name, and the last component of its path.
fn names_of(entity: &Entity) -> Vec<String> {
    let name = entity.name.to_lowercase();
    let last = name.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names = vec![name, last];
    names.retain(|name| name.len() >= TELLING_BYTES);
    names.dedup();
    names
}

/// Returns true if a name occurs in a text as a whole word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}
