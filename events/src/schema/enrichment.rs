//! Stored shape of the enrichment in a session's row. It changes with the row: see [`super::state`].

use serde::{Deserialize, Serialize};

use super::session::shape::ModelCalledV1;
use super::{is_zero, read_optional};
use crate::session::{CallOutcome, Cost, EnrichedBy, Enrichment, GaveUp, Owed};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

#[derive(Serialize, Deserialize)]
pub(super) struct EnrichmentV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<ModelCalledV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    complaint: Option<String>,
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given_up: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<CurrentV1>,
    calls: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    costs: Vec<CostV1>,
}

#[derive(Serialize, Deserialize)]
struct CurrentV1 {
    answer: String,
    model: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    unseen: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    not_held: u64,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct CostV1 {
    day: i64,
    model: String,
    calls: u64,
    unknown: u64,
    tokens_in: u64,
    tokens_out: u64,
    tokens_cached: u64,
    nanos: u64,
    unknown_nanos: u64,
}

impl From<&Enrichment> for EnrichmentV1 {
    fn from(known: &Enrichment) -> Self {
        let cost = |cost: &Cost| CostV1 {
            day: cost.day,
            model: cost.model.clone(),
            calls: cost.calls,
            unknown: cost.unknown,
            tokens_in: cost.tokens_in,
            tokens_out: cost.tokens_out,
            tokens_cached: cost.tokens_cached,
            nanos: cost.nanos,
            unknown_nanos: cost.unknown_nanos,
        };
        let current = |by: &EnrichedBy| CurrentV1 {
            answer: by.answer.to_string(),
            model: by.model.clone(),
            unseen: by.unseen,
            not_held: by.not_held,
            at: by.at.0,
        };
        Self {
            owed_at: known.owed.map(|owed| owed.at.0),
            asked: known.owed.is_some_and(|owed| owed.asked),
            content: known.content.map(|hash| hash.to_string()),
            call: known.call.as_ref().map(ModelCalledV1::from),
            answers: known.answers.iter().map(|(asked, answer)| (asked.to_string(), answer.to_string())).collect(),
            complaint: known.complaint.map(|outcome| outcome.to_string()),
            failures: known.failures,
            failed: known.failed.map(|outcome| outcome.to_string()),
            retry_at: known.retry_at.map(|at| at.0),
            given_up: known.given_up.map(|(content, why)| (content.to_string(), why.to_string())),
            current: known.current.as_ref().map(current),
            calls: known.calls,
            costs: known.costs.iter().map(cost).collect(),
        }
    }
}

impl EnrichmentV1 {
    /// `None` if a text is not a value of its field.
    pub(super) fn read(self) -> Option<Enrichment> {
        let asked = self.asked;
        let outcome = |text: Option<String>| read_optional(text, |text| CallOutcome::parse(&text));
        let answers = self.answers.into_iter();
        let answers = answers.map(|(asked, answer)| Some((ContentHash::parse(&asked)?, ContentHash::parse(&answer)?)));
        let cost = |cost: CostV1| Cost {
            day: cost.day,
            model: cost.model,
            calls: cost.calls,
            unknown: cost.unknown,
            tokens_in: cost.tokens_in,
            tokens_out: cost.tokens_out,
            tokens_cached: cost.tokens_cached,
            nanos: cost.nanos,
            unknown_nanos: cost.unknown_nanos,
        };
        Some(Enrichment {
            owed: self.owed_at.map(|at| Owed { at: Timestamp(at), asked }),
            content: read_optional(self.content, |hash| ContentHash::parse(&hash))?,
            call: read_optional(self.call, ModelCalledV1::read)?,
            answers: answers.collect::<Option<_>>()?,
            complaint: outcome(self.complaint)?,
            failures: self.failures,
            failed: outcome(self.failed)?,
            retry_at: self.retry_at.map(Timestamp),
            given_up: read_optional(self.given_up, |(hash, why)| {
                Some((ContentHash::parse(&hash)?, GaveUp::parse(&why)?))
            })?,
            current: read_optional(self.current, |by| {
                let CurrentV1 { answer, model, unseen, not_held, at } = by;
                Some(EnrichedBy { answer: ContentHash::parse(&answer)?, model, unseen, not_held, at: Timestamp(at) })
            })?,
            calls: self.calls,
            costs: self.costs.into_iter().map(cost).collect(),
        })
    }
}
