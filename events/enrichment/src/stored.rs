//! Stored form of a model's answer: one line of JSON beside the conversation. A new form gets the next version and is
//! read beside the old ones.

use baton_protocol::is_zero;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Answer, Claim, Entity, Fact, Failed};
use baton_graph::Label;

/// Version that is written.
const V: u32 = 1;

#[derive(Serialize, Deserialize)]
struct AnswerV1 {
    v: u32,
    objective: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    work_completed: BTreeMap<String, Vec<ClaimV1>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    external_research: Vec<ClaimV1>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    knowledge_stored: BTreeMap<String, Vec<ClaimV1>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<ClaimV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FailedV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unresolved: Vec<ClaimV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<ClaimV1>,
    continuation_context: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entities: Vec<EntityV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    facts: Vec<FactV1>,
    #[serde(default, skip_serializing_if = "is_zero")]
    dropped: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u32,
}

#[derive(Serialize, Deserialize)]
struct ClaimV1 {
    text: String,
    line: u64,
}

#[derive(Serialize, Deserialize)]
struct FailedV1 {
    #[serde(flatten)]
    error: ClaimV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolution: Option<ClaimV1>,
}

#[derive(Serialize, Deserialize)]
struct EntityV1 {
    name: String,
    #[serde(rename = "type")]
    label: String,
    summary: String,
    line: u64,
}

#[derive(Serialize, Deserialize)]
struct FactV1 {
    source: String,
    source_type: String,
    relation: String,
    target: String,
    target_type: String,
    fact: String,
    line: u64,
}

impl Answer {
    /// Encodes the answer as one line of JSON; deterministic.
    pub fn to_json(&self) -> String {
        let claims = |claims: &[Claim]| claims.iter().map(ClaimV1::from).collect::<Vec<_>>();
        let by_key =
            |map: &BTreeMap<String, Vec<Claim>>| map.iter().map(|(key, it)| (key.clone(), claims(it))).collect();
        let shape = AnswerV1 {
            v: V,
            objective: self.objective.clone(),
            work_completed: by_key(&self.work_completed),
            external_research: claims(&self.external_research),
            knowledge_stored: by_key(&self.knowledge_stored),
            decisions: claims(&self.decisions),
            errors: self
                .errors
                .iter()
                .map(|it| FailedV1 { error: (&it.error).into(), resolution: it.resolution.as_ref().map(ClaimV1::from) })
                .collect(),
            unresolved: claims(&self.unresolved),
            next_steps: claims(&self.next_steps),
            continuation_context: self.continuation_context.clone(),
            entities: self
                .entities
                .iter()
                .map(|it| EntityV1 {
                    name: it.name.clone(),
                    label: it.label.as_str().to_owned(),
                    summary: it.summary.clone(),
                    line: it.line,
                })
                .collect(),
            facts: self
                .facts
                .iter()
                .map(|it| FactV1 {
                    source: it.source.1.clone(),
                    source_type: it.source.0.as_str().to_owned(),
                    relation: it.relation.clone(),
                    target: it.target.1.clone(),
                    target_type: it.target.0.as_str().to_owned(),
                    fact: it.fact.clone(),
                    line: it.line,
                })
                .collect(),
            dropped: self.dropped,
            left_out: self.left_out,
        };
        // A struct of strings and integers can always be serialised.
        serde_json::to_string(&shape).unwrap_or_default()
    }

    /// Decodes such a line; `None` for anything else. The content was bounded and checked before it was stored.
    pub fn from_json(text: &str) -> Option<Self> {
        let shape: AnswerV1 = serde_json::from_str(text).ok()?;
        if shape.v != V {
            return None;
        }
        let claims = |claims: Vec<ClaimV1>| claims.into_iter().map(Claim::from).collect::<Vec<_>>();
        let by_key = |map: BTreeMap<String, Vec<ClaimV1>>| map.into_iter().map(|(key, it)| (key, claims(it))).collect();
        let entities = shape.entities.into_iter().map(|it| {
            Some(Entity { name: it.name, label: Label::named(&it.label)?, summary: it.summary, line: it.line })
        });
        let facts = shape.facts.into_iter().map(|it| {
            Some(Fact {
                source: (Label::named(&it.source_type)?, it.source),
                relation: it.relation,
                target: (Label::named(&it.target_type)?, it.target),
                fact: it.fact,
                line: it.line,
            })
        });
        Some(Self {
            objective: shape.objective,
            work_completed: by_key(shape.work_completed),
            external_research: claims(shape.external_research),
            knowledge_stored: by_key(shape.knowledge_stored),
            decisions: claims(shape.decisions),
            errors: shape
                .errors
                .into_iter()
                .map(|it| Failed { error: it.error.into(), resolution: it.resolution.map(Claim::from) })
                .collect(),
            unresolved: claims(shape.unresolved),
            next_steps: claims(shape.next_steps),
            continuation_context: shape.continuation_context,
            entities: entities.collect::<Option<_>>()?,
            facts: facts.collect::<Option<_>>()?,
            dropped: shape.dropped,
            left_out: shape.left_out,
        })
    }
}

impl From<&Claim> for ClaimV1 {
    fn from(claim: &Claim) -> Self {
        Self { text: claim.text.clone(), line: claim.line }
    }
}

impl From<ClaimV1> for Claim {
    fn from(shape: ClaimV1) -> Self {
        Self { text: shape.text, line: shape.line }
    }
}
