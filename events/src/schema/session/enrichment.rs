//! Conversions between calls of models and their stored shapes.

use super::shape::{ModelAnsweredV1, ModelCalledV1, TokensV1};
use crate::session::{Ask, CallOutcome, CallTokens, ModelAnswer, ModelCall};
use baton_conversation::hash::ContentHash;
use baton_conversation::record::Timestamp;

impl From<&ModelCall> for ModelCalledV1 {
    fn from(call: &ModelCall) -> Self {
        Self {
            id: call.id,
            model: call.model.clone(),
            content: call.content.to_string(),
            request: call.request.to_string(),
            ask: call.ask.to_string(),
            part: call.part,
            parts: call.parts,
            again: call.again,
            tokens_in: call.tokens_in,
            tokens_out: call.tokens_out,
            nanos: call.nanos,
            at: call.at.0,
        }
    }
}

impl ModelCalledV1 {
    /// `None` if a text is not a value of its field.
    pub(in crate::schema) fn read(self) -> Option<ModelCall> {
        Some(ModelCall {
            id: self.id,
            model: self.model,
            content: ContentHash::parse(&self.content)?,
            request: ContentHash::parse(&self.request)?,
            ask: Ask::parse(&self.ask)?,
            part: self.part,
            parts: self.parts,
            again: self.again,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            nanos: self.nanos,
            at: Timestamp(self.at),
        })
    }
}

impl From<&ModelAnswer> for ModelAnsweredV1 {
    fn from(answer: &ModelAnswer) -> Self {
        let tokens =
            |tokens: CallTokens| TokensV1 { input: tokens.input, output: tokens.output, cached: tokens.cached };
        Self {
            id: answer.id,
            outcome: answer.outcome.to_string(),
            tokens: answer.tokens.map(tokens),
            nanos: answer.nanos,
            duration_ms: answer.duration_ms,
            answer: answer.answer.map(|hash| hash.to_string()),
            retry_at: answer.retry_at.map(|at| at.0),
            at: answer.at.0,
        }
    }
}

impl ModelAnsweredV1 {
    /// `None` if a text is not a value of its field.
    pub(super) fn read(self) -> Option<ModelAnswer> {
        let tokens =
            |tokens: TokensV1| CallTokens { input: tokens.input, output: tokens.output, cached: tokens.cached };
        let answer = match self.answer {
            Some(hash) => Some(ContentHash::parse(&hash)?),
            None => None,
        };
        Some(ModelAnswer {
            id: self.id,
            outcome: CallOutcome::parse(&self.outcome)?,
            tokens: self.tokens.map(tokens),
            nanos: self.nanos,
            duration_ms: self.duration_ms,
            answer,
            retry_at: self.retry_at.map(Timestamp),
            at: Timestamp(self.at),
        })
    }
}
