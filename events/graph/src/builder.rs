//! Collects the entities and facts of a session: each once, within the limits.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::claim::{Claim, Claims};
use super::one_line::one_line;
use super::session::{session_name, session_uuid};
use super::{Assertion, Graph, Label, MAX_ASSERTIONS, MAX_CLAIMS, MAX_NAME_CHARS, MAX_TEXT_CHARS, Mention, Relation};
use baton_conversation::record::{SessionId, Timestamp};

/// A transcript line and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
}

/// Maximum length of a fact's value, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// A fact before it becomes an assertion.
pub(super) struct FactDraft {
    relation: Relation,
    source: Uuid,
    target: Uuid,
    value: String,
    claims: Claims,
}

impl FactDraft {
    pub(super) fn new(relation: Relation, source: Uuid, target: Uuid) -> Self {
        Self { relation, source, target, value: String::new(), claims: Claims::default() }
    }

    /// Sets how the target is settled.
    pub(super) fn with_value(self, value: String) -> Self {
        Self { value, ..self }
    }

    pub(super) fn with_claims(self, claims: Claims) -> Self {
        Self { claims, ..self }
    }

    /// Adds a claim that the fact rests on.
    pub(super) fn resting_on(mut self, claim: Claim) -> Self {
        self.claims.rests.push(claim);
        self
    }

    /// Adds a claim that the fact settles.
    pub(super) fn settling(mut self, claim: Claim) -> Self {
        self.claims.settles.push(claim);
        self
    }
}

/// Collects mentions and assertions; when a limit is reached, the first ones are kept.
pub(super) struct GraphBuilder<'a> {
    group: &'a str,
    graph: Graph,
    nodes: BTreeMap<Uuid, usize>,
    of_label: BTreeMap<Label, usize>,
    facts: BTreeMap<Uuid, usize>,
}

impl<'a> GraphBuilder<'a> {
    pub(super) fn new(group: &'a str) -> Self {
        Self {
            group,
            graph: Graph::default(),
            nodes: BTreeMap::new(),
            of_label: BTreeMap::new(),
            facts: BTreeMap::new(),
        }
    }

    /// Adds an entity of the session and returns its uuid, or `None` if it has no name or its label has reached its
    /// limit. A repeated mention adds to the count; the first detail is kept.
    pub(super) fn mention(&mut self, label: Label, name: &str, detail: &str, of: Moment, count: u32) -> Option<Uuid> {
        let name = one_line(name, MAX_NAME_CHARS);
        let uuid = super::node_uuid(self.group, label, &name);
        self.mention_uuid(uuid, label, name, detail, of, count)
    }

    /// Like [`mention`](Self::mention), for a session, whose short name other sessions may share.
    pub(super) fn mention_session(&mut self, session: &SessionId, detail: &str, of: Moment) -> Option<Uuid> {
        let uuid = session_uuid(self.group, session);
        self.mention_uuid(uuid, Label::Session, session_name(session), detail, of, 1)
    }

    fn mention_uuid(
        &mut self,
        uuid: Uuid,
        label: Label,
        name: String,
        detail: &str,
        of: Moment,
        count: u32,
    ) -> Option<Uuid> {
        // Text redacted before it was recorded names nothing.
        if name.is_empty() || name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "REDACTED") {
            return None;
        }
        if let Some(known) = self.nodes.get(&uuid).and_then(|index| self.graph.mentions.get_mut(*index)) {
            known.count = known.count.saturating_add(count);
            if of.line < known.line {
                (known.line, known.at) = (of.line, of.at);
            }
            return Some(uuid);
        }
        let of_label = self.of_label.entry(label).or_default();
        if *of_label >= label.bound() {
            self.graph.left_out = self.graph.left_out.saturating_add(1);
            return None;
        }
        *of_label += 1;
        self.nodes.insert(uuid, self.graph.mentions.len());
        let detail = one_line(detail, MAX_TEXT_CHARS);
        self.graph.mentions.push(Mention {
            uuid,
            label,
            name,
            detail,
            line: of.line,
            at: of.at,
            count,
            by_model: false,
        });
        Some(uuid)
    }

    /// Adds a fact that holds forever.
    pub(super) fn add_permanent(&mut self, relation: Relation, source: Uuid, target: Uuid, fact: &str, of: Moment) {
        self.add(FactDraft::new(relation, source, target), fact, of);
    }

    /// Adds a fact of the session; if it is known already, only its times are updated.
    pub(super) fn add(&mut self, said: FactDraft, fact: &str, of: Moment) {
        let FactDraft { relation, source, target, value, mut claims } = said;
        let value = one_line(&value, MAX_VALUE_CHARS);
        let uuid = super::valued_fact_uuid(self.group, relation.as_str(), source, target, &value);
        if let Some(known) = self.facts.get(&uuid).and_then(|index| self.graph.assertions.get_mut(*index)) {
            known.last_at = known.last_at.max(of.at);
            if of.at.is_some() && (known.valid_at.is_none() || of.at < known.valid_at) {
                (known.valid_at, known.line) = (of.at, of.line);
            }
            return;
        }
        if self.graph.assertions.len() >= MAX_ASSERTIONS {
            self.graph.left_out = self.graph.left_out.saturating_add(1);
            return;
        }
        self.facts.insert(uuid, self.graph.assertions.len());
        claims.rests.truncate(MAX_CLAIMS);
        claims.settles.truncate(MAX_CLAIMS);
        self.graph.assertions.push(Assertion {
            uuid,
            relation,
            name: None,
            source,
            target,
            fact: one_line(fact, MAX_TEXT_CHARS),
            value,
            valid_at: of.at,
            last_at: of.at,
            line: of.line,
            rests: claims.rests,
            settles: claims.settles,
            by_model: false,
        });
    }

    pub(super) fn group(&self) -> &'a str {
        self.group
    }

    pub(super) fn finish(self) -> Graph {
        self.graph
    }
}
