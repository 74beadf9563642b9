//! Divides a conversation into parts, and plans how their answers are joined until one is left.
//!
//! There are as few parts as the context allows. As many answers as one request can hold are joined at a time, the
//! results are joined again, and so on. All answers except the last are limited to a shorter length, so that several
//! fit together.
//!
//! # Hazards
//!
//! - Parts beyond `MAX_PARTS` (parts and the steps that join their answers cost up to twice as many calls) are
//!   `Plan::left_out`: the requests around the gap tell the model, `unseen` keeps the count, and people see it. What
//!   `Abridged` does not hold of a giant (`Plan::not_held`) is counted separately: a larger context does not help, so
//!   it is part of no comparison. A request to ask again ends with `enrichment_given_up` and `no_more_to_send` if no
//!   more would be sent. The shape of parts and steps depends only on items and limits.

use super::form;
use super::rendering::RenderedItem;
use baton_conversation::tokens;

/// Tokens of the context that are kept free for what the endpoint adds, and for errors of the estimate.
const MARGIN_TOKENS: u64 = 500;
/// Percentage of a context that the estimate, a high one, may fill: tokenizers differ.
const FILL_PERCENT: u64 = 95;
/// Minimum room for the conversation in one request, in tokens, however small the context.
const MIN_ROOM_TOKENS: u64 = 1_000;
/// An answer to a full request takes at most one part in this many of the usable context.
const ANSWER_SHARE: u64 = 3;
/// Minimum length of requested answers, in tokens, as long as two of them fit into one request.
const SHORT_TOKENS: u64 = 600;
/// Number of answers that should fit into the request that joins them.
const JOINED: u64 = 4;
/// Maximum number of parts of one conversation; with the steps that join them they cost at most twice as many calls.
pub(super) const MAX_PARTS: usize = 64;
/// Tokens of the frame around one part's answer in the request that joins answers.
const FRAME_TOKENS: u64 = 64;

/// Limits of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum tokens of request and answer together.
    pub context_tokens: u64,
    /// Maximum tokens of the answer; less if the context has no room for it.
    pub max_output_tokens: u64,
}

impl Limits {
    /// If the context has no room for an answer of `max_output_tokens` beside even a short conversation, returns the
    /// longest answer that fits, in tokens; answers are then limited to that. `None` if it fits.
    pub fn longest_answer(&self) -> Option<u64> {
        let longest = Sizes::new(self).usable.saturating_sub(MIN_ROOM_TOKENS).max(1);
        (self.max_output_tokens > longest).then_some(longest)
    }
}

/// Sizes that follow from the limits, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// What accompanies each request.
    pub(super) overhead: u64,
    /// Conversation and answer together.
    usable: u64,
    /// Configured maximum of the answer.
    wanted: u64,
    /// Maximum answer to a full request.
    pub(super) answer: u64,
    /// Maximum answer that is joined with others.
    pub(super) short_answer: u64,
    /// Conversation in a request for an answer of full length.
    pub(super) whole: u64,
    /// Conversation in a request for a short answer.
    pub(super) part: u64,
}

/// The answers that a step joins, by index: first the parts, then the earlier steps.
pub(super) type Joins = Vec<usize>;

impl Sizes {
    pub(super) fn new(limits: &Limits) -> Self {
        let overhead = overhead_tokens();
        let usable = (limits.context_tokens.saturating_mul(FILL_PERCENT) / 100).saturating_sub(overhead);
        let room = |answer: u64| usable.saturating_sub(answer).max(MIN_ROOM_TOKENS);
        let wanted = limits.max_output_tokens.max(1);
        let answer = wanted.min((usable / ANSWER_SHARE).max(SHORT_TOKENS));
        let whole = room(answer);
        let short = (whole / JOINED).saturating_sub(FRAME_TOKENS).max(SHORT_TOKENS);
        let short_answer = answer.min(short).min(whole / 2 - FRAME_TOKENS);
        Self { overhead, usable, wanted, answer, short_answer, whole, part: room(short_answer) }
    }

    /// Returns the maximum answer to a request with a whole conversation of `tokens` tokens.
    pub(super) fn answer_to(&self, tokens: u64) -> u64 {
        self.wanted.min(self.usable.saturating_sub(tokens).max(self.answer))
    }

    /// Returns the room for conversation in a request, for a conversation of `tokens` tokens.
    pub(super) fn for_length(&self, tokens: u64) -> u64 {
        // With the shorter answer it would fit, and then it is not a part.
        if tokens <= self.part { self.whole } else { self.part }
    }

    /// Returns the tokens of one answer in the request that joins it with others.
    pub(super) fn joined(&self) -> u64 {
        self.short_answer + FRAME_TOKENS
    }

    /// Returns the tokens of the frame around such an answer.
    pub(super) fn frame(&self) -> u64 {
        FRAME_TOKENS
    }

    /// Returns the steps that join the answers to `parts` parts; the last step covers all of them. Empty for one part.
    pub(super) fn steps(&self, parts: usize) -> Vec<Joins> {
        let fit = |room: u64| usize::try_from(room / self.joined()).unwrap_or(usize::MAX).max(2);
        let (at_last, before) = (fit(self.whole), fit(self.part));
        let (mut level, mut steps): (Joins, Vec<Joins>) = ((0..parts).collect(), Vec::new());
        while level.len() > at_last {
            // At least two groups of almost equal size; an answer alone in its group is joined later.
            let groups = level.len().div_ceil(before).max(2);
            let (size, longer) = (level.len() / groups, level.len() % groups);
            let mut rest = level.as_slice();
            let mut next = Vec::with_capacity(groups);
            for group in 0..groups {
                let (joins, others) = rest.split_at(size + usize::from(group < longer));
                rest = others;
                match joins {
                    [alone] => next.push(*alone),
                    _ => {
                        next.push(parts + steps.len());
                        steps.push(joins.to_vec());
                    }
                }
            }
            level = next;
        }
        if parts > 1 {
            steps.push(level);
        }
        steps
    }
}

/// Returns the tokens that accompany each request: instructions, schema and margin.
fn overhead_tokens() -> u64 {
    tokens::max_token_count(form::SYSTEM)
        + tokens::max_token_count(&form::response_format().to_string())
        + MARGIN_TOKENS
}

/// Divides a conversation into parts that fit, between exchanges if those fit whole. If there are too many parts, the
/// first and the last ones are kept. Returns the parts and the number of items omitted after the first part.
pub(super) fn divide(told: Vec<RenderedItem>, room: u64) -> (Vec<String>, u64) {
    let mut parts: Vec<(String, u64, u64)> = Vec::new();
    let mut exchange: Vec<RenderedItem> = Vec::new();
    let mut told = told.into_iter().peekable();
    while let Some(next) = told.next() {
        exchange.push(next);
        if told.peek().is_none_or(|after| after.begins) {
            add_exchange(&mut parts, std::mem::take(&mut exchange), room);
        }
    }
    let mut left_out = 0;
    if parts.len() > MAX_PARTS {
        let end = parts.len() - (MAX_PARTS - 1);
        left_out = parts.drain(1..end).map(|(_, _, count)| count).sum();
    }
    (parts.into_iter().map(|(text, ..)| text).collect(), left_out)
}

/// Adds an exchange to the last part or to a new one; an exchange that is longer than a part is split.
fn add_exchange(parts: &mut Vec<(String, u64, u64)>, exchange: Vec<RenderedItem>, room: u64) {
    let whole: u64 = exchange.iter().map(|told| told.tokens).sum();
    let fits = |parts: &[(String, u64, u64)], tokens| parts.last().is_some_and(|(_, used, _)| used + tokens <= room);
    if whole <= room && !fits(parts, whole) {
        parts.push((String::new(), 0, 0));
    }
    for told in exchange {
        if !fits(parts, told.tokens) {
            parts.push((String::new(), 0, 0));
        }
        if let Some((text, used, count)) = parts.last_mut() {
            text.push_str(&told.text);
            *used += told.tokens;
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_events::session::MAX_ANSWERS;

    #[test]
    fn an_answer_that_leaves_no_room_for_a_conversation_is_known_for_one() {
        let limits = |context_tokens, max_output_tokens| Limits { context_tokens, max_output_tokens };
        for (context_tokens, max_output_tokens, fits) in [
            (128_000, 2_000, true),
            (8_192, 2_000, true),
            (8_192, 8_192, false),
            (4_096, 2_000, false),
            (4_096, 300, true),
            (128_000, 200_000, false),
            (0, 1, true),
            (0, 2, false),
        ] {
            let of = limits(context_tokens, max_output_tokens);
            let longest = of.longest_answer();
            assert_eq!(longest.is_none(), fits, "{of:?}: {longest:?}");
            // With the reported limit nothing more is reported, and answers may have exactly that length.
            let Some(longest) = longest.filter(|_| context_tokens > 0) else { continue };
            let of = limits(context_tokens, longest);
            assert_eq!((of.longest_answer(), Sizes::new(&of).answer_to(MIN_ROOM_TOKENS)), (None, longest), "{of:?}");
        }
    }

    #[test]
    fn what_joins_fits_and_every_answer_is_joined_once() {
        for (context_tokens, max_output_tokens) in
            [(0, u64::MAX), (4_000, 1), (4_000, 500), (4_000, 2_000), (8_192, 500), (8_192, 2_000), (128_000, 2_000)]
        {
            let sizes = Sizes::new(&Limits { context_tokens, max_output_tokens });
            assert!(
                sizes.answer_to(1) <= max_output_tokens
                    && sizes.answer <= sizes.answer_to(sizes.whole)
                    && sizes.short_answer <= sizes.answer
                    && sizes.short_answer > 0
            );
            if context_tokens > 0 {
                let most = overhead_tokens() + (sizes.whole + sizes.answer).max(sizes.part + sizes.short_answer);
                assert!(most <= context_tokens, "{context_tokens} {max_output_tokens}: {most}");
            }
            // Every answer is kept until the last step has joined them.
            assert!(MAX_PARTS + sizes.steps(MAX_PARTS).len() - 1 <= MAX_ANSWERS, "{context_tokens}");
            for parts in 2..=MAX_PARTS {
                let steps = sizes.steps(parts);
                let mut joined: Vec<usize> = steps.concat();
                joined.sort_unstable();
                assert_eq!(joined, (0..parts + steps.len() - 1).collect::<Vec<_>>(), "{context_tokens} {parts}");
                for (at, step) in steps.iter().enumerate() {
                    let room = if at + 1 == steps.len() { sizes.whole } else { sizes.part };
                    assert!(step.len() >= 2 && step.len() as u64 * sizes.joined() <= room, "{context_tokens} {step:?}");
                    assert!(step.iter().all(|joins| *joins < parts + at), "only what is there: {step:?}");
                }
            }
            assert!(sizes.steps(1).is_empty() && sizes.steps(0).is_empty());
        }
        let of_local = Sizes::new(&Limits { context_tokens: 8_192, max_output_tokens: 2_000 });
        assert!((1..8).contains(&of_local.steps(20).len()), "some at a time: {:?}", of_local.steps(20));
    }
}
