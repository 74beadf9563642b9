//! Fits an answer into its budget.

use baton_ask::recall::{Entry, Intent, best_within_budget};
use baton_conversation::tokens;
use baton_protocol::{Zone, answer};
use baton_redaction::redact;

use super::super::zone_day;
use super::{Answer, Recall};
use crate::answers;

/// Lines of a near session that stay as long as there is room for it.
const LEAST_LINES: usize = 2;
/// Tokens for the notice in every answer.
const AROUND_TOKENS: u64 = 40;

impl Recall {
    /// Selects the best entries that fit, each of them whole.
    pub(super) fn within_budget(&self, asked: &Intent, found: Answer) -> answer::Recall {
        let mut answer = answer::Recall {
            took: asked.kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            project: self.project.as_deref().map(|project| redact(project).into_owned()),
            abstained: found.entries.is_empty(),
            nearest: found.nearest,
            notes: found.notes.iter().map(|note| redact(note).into_owned()).collect(),
            // Placeholders of the largest width.
            left_out: 9_999,
            tokens: 99_999,
            freshness: self.freshness.clone(),
            ..answer::Recall::default()
        };
        let zone = self.question.zone;
        while tokens_of(&answer) + AROUND_TOKENS > self.budget && shorten(&mut answer.nearest) {}
        let around = tokens_of(&answer) + AROUND_TOKENS;
        let (entries, left_out) = best_within_budget(found.entries, self.budget.saturating_sub(around), |entry| {
            tokens_of(&self.to_answer(entry, zone)) + 1
        });
        answer.answer = entries.iter().map(|entry| self.to_answer(entry, zone)).collect();
        answer.left_out = left_out as u64;
        if left_out > 0 {
            // The digits of the numbers above were reserved, but not this note.
            answer.notes.push(format!(
                "{left_out} more entries did not fit; a larger budget (`--budget`, `budget_tokens`) has them"
            ));
            if tokens_of(&answer) + AROUND_TOKENS > self.budget {
                answer.notes.pop();
            }
        }
        while tokens_of(&answer) + AROUND_TOKENS > self.budget && answer.notes.pop().is_some() {}
        answer.tokens = tokens_of(&answer) + AROUND_TOKENS;
        answer
    }

    fn to_answer(&self, entry: &Entry, zone: Zone) -> answer::RecallEntry {
        let day = |at| zone_day(at, zone);
        answer::RecallEntry {
            kind: entry.sort.as_str().to_owned(),
            text: redact(&entry.text).into_owned(),
            session_id: entry.session.to_string(),
            line: entry.line,
            at: entry.at.map(|at| at.to_string()),
            day: entry.at.map(day),
            uuid: entry.uuid.map(|uuid| uuid.to_string()),
            ended: entry.ended.map(day),
            later: entry.later.as_ref().map(ToString::to_string),
            said_by: entry.by_model.then(|| "model".to_owned()),
            from: answers::author(&self.table, &entry.session),
        }
    }
}

/// Drops the last line of the session with the most lines, or the last session if none has more than two. Returns false if
/// there is none.
fn shorten(nearest: &mut Vec<answer::NearSession>) -> bool {
    match nearest.iter_mut().rev().max_by_key(|near| near.said.len()).filter(|near| near.said.len() > LEAST_LINES) {
        Some(longest) => longest.said.pop().is_some(),
        None => nearest.pop().is_some(),
    }
}

fn tokens_of(value: &impl serde::Serialize) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |json| tokens::of_text(&json))
}
