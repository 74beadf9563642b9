//! Into how many parts a conversation goes, and how the answers to them are joined until one is left.
//!
//! As few parts as its context lets them be. Their answers are joined as many at a time as one request holds: the answers to
//! that are joined again, and so on. All but the last are shorter than an answer may be, so that some fit together.
//!
//! # Hazards
//!
//! - Parts beyond `MAX_PARTS` (parts and the steps that join their answers cost up to twice as many calls) are
//!   `Plan::left_out`: the requests around the gap tell the model, `unseen` keeps the count, and people see it.
//!   What `Abridged` does not hold of a giant (`Plan::not_held`) is kept beside it: no context helps against
//!   that, so it counts in no comparison. A wish to ask again ends by `enrichment_given_up` with
//!   `no_more_to_send` where no more would be sent. The shape of parts and steps follows from items and limits
//!   alone.

use super::form;
use super::telling::Told;
use baton_conversation::tokens;

/// Tokens that are left free in a context: what the endpoint adds by itself, and what an estimate is wrong by.
const MARGIN_TOKENS: u64 = 500;
/// Share of a context, in percent, that the estimate may take, which is a high one: tokenizers differ.
const FILL_PERCENT: u64 = 95;
/// Least room for the conversation in one request, in tokens, however small the context.
const MIN_ROOM_TOKENS: u64 = 1_000;
/// An answer beside a full request takes one part in so many of what there is, at most.
const ANSWER_SHARE: u64 = 3;
/// Answers are asked no shorter than this, in tokens, as long as two of them fit into one request.
const SHORT_TOKENS: u64 = 600;
/// How many answers shall fit into the request that joins them.
const JOINED: u64 = 4;
/// Most parts of one conversation: they and the steps that join them cost twice as many calls at most.
pub(super) const MAX_PARTS: usize = 64;
/// Tokens of the frame of one part's answer in the request that joins.
const FRAME_TOKENS: u64 = 64;

/// What a model can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of request and answer together.
    pub context_tokens: u64,
    /// Tokens of the answer; fewer where the context has no room for so many.
    pub max_output_tokens: u64,
}

impl Limits {
    /// The longest answer, in tokens, that the context has room for beside a conversation, however short, where the wanted one
    /// is longer: answers are asked no longer than fits. None where it fits.
    pub fn longest_answer(&self) -> Option<u64> {
        let longest = Rooms::of(self).usable.saturating_sub(MIN_ROOM_TOKENS).max(1);
        (self.max_output_tokens > longest).then_some(longest)
    }
}

/// What follows of the limits, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rooms {
    /// What goes with each request.
    pub(super) overhead: u64,
    /// What telling and answer may take together.
    usable: u64,
    /// Longest answer that is wanted.
    wanted: u64,
    /// Longest answer beside a full request.
    pub(super) answer: u64,
    /// Longest answer that is joined with others.
    pub(super) short_answer: u64,
    /// What is told in a request for an answer.
    pub(super) whole: u64,
    /// What is told in a request for a short one.
    pub(super) part: u64,
}

/// What a step joins: the answers to parts, counted from 0, and, counted on behind them, to the steps before.
pub(super) type Joins = Vec<usize>;

impl Rooms {
    pub(super) fn of(limits: &Limits) -> Self {
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

    /// Longest answer to a request that tells a whole conversation of so many tokens.
    pub(super) fn answer_to(&self, tokens: u64) -> u64 {
        self.wanted.min(self.usable.saturating_sub(tokens).max(self.answer))
    }

    /// What a request tells of a conversation of so many tokens.
    pub(super) fn for_length(&self, tokens: u64) -> u64 {
        // With the shorter answer it would fit, and then it is no part.
        if tokens <= self.part { self.whole } else { self.part }
    }

    /// Tokens of one answer in the request that joins it with others.
    pub(super) fn joined(&self) -> u64 {
        self.short_answer + FRAME_TOKENS
    }

    /// Tokens of the frame of such an answer.
    pub(super) fn frame(&self) -> u64 {
        FRAME_TOKENS
    }

    /// How the answers to so many parts are joined, step by step; the last step gives the answer to all. None for one.
    pub(super) fn steps(&self, parts: usize) -> Vec<Joins> {
        let fit = |room: u64| usize::try_from(room / self.joined()).unwrap_or(usize::MAX).max(2);
        let (at_last, before) = (fit(self.whole), fit(self.part));
        let (mut level, mut steps): (Joins, Vec<Joins>) = ((0..parts).collect(), Vec::new());
        while level.len() > at_last {
            // More than one, and as even as can be: what stays alone is joined later.
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

/// Tokens of what goes with each request: what to do, and the form of the answer.
fn overhead_tokens() -> u64 {
    tokens::at_most(form::SYSTEM) + tokens::at_most(&form::response_format().to_string()) + MARGIN_TOKENS
}

/// A conversation in parts that fit, cut between exchanges where they fit whole. Of too many the first and the last ones stay,
/// and how much is in none of them, behind the first, is counted.
pub(super) fn divided(told: Vec<Told>, room: u64) -> (Vec<String>, u64) {
    let mut parts: Vec<(String, u64, u64)> = Vec::new();
    let mut exchange: Vec<Told> = Vec::new();
    let mut told = told.into_iter().peekable();
    while let Some(next) = told.next() {
        exchange.push(next);
        if told.peek().is_none_or(|after| after.begins) {
            add(&mut parts, std::mem::take(&mut exchange), room);
        }
    }
    let mut left_out = 0;
    if parts.len() > MAX_PARTS {
        let end = parts.len() - (MAX_PARTS - 1);
        left_out = parts.drain(1..end).map(|(_, _, count)| count).sum();
    }
    (parts.into_iter().map(|(text, ..)| text).collect(), left_out)
}

/// Adds an exchange to the last part, or to a new one; one that is too long for a part is cut where it must be.
fn add(parts: &mut Vec<(String, u64, u64)>, exchange: Vec<Told>, room: u64) {
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
            // Whoever does as he is told is told no more, and has his answers as long as he says.
            let Some(longest) = longest.filter(|_| context_tokens > 0) else { continue };
            let of = limits(context_tokens, longest);
            assert_eq!((of.longest_answer(), Rooms::of(&of).answer_to(MIN_ROOM_TOKENS)), (None, longest), "{of:?}");
        }
    }

    #[test]
    fn what_joins_fits_and_every_answer_is_joined_once() {
        for (context_tokens, max_output_tokens) in
            [(0, u64::MAX), (4_000, 1), (4_000, 500), (4_000, 2_000), (8_192, 500), (8_192, 2_000), (128_000, 2_000)]
        {
            let rooms = Rooms::of(&Limits { context_tokens, max_output_tokens });
            assert!(
                rooms.answer_to(1) <= max_output_tokens
                    && rooms.answer <= rooms.answer_to(rooms.whole)
                    && rooms.short_answer <= rooms.answer
                    && rooms.short_answer > 0
            );
            if context_tokens > 0 {
                let most = overhead_tokens() + (rooms.whole + rooms.answer).max(rooms.part + rooms.short_answer);
                assert!(most <= context_tokens, "{context_tokens} {max_output_tokens}: {most}");
            }
            // Each is kept until the last step has joined them.
            assert!(MAX_PARTS + rooms.steps(MAX_PARTS).len() - 1 <= MAX_ANSWERS, "{context_tokens}");
            for parts in 2..=MAX_PARTS {
                let steps = rooms.steps(parts);
                let mut joined: Vec<usize> = steps.concat();
                joined.sort_unstable();
                assert_eq!(joined, (0..parts + steps.len() - 1).collect::<Vec<_>>(), "{context_tokens} {parts}");
                for (at, step) in steps.iter().enumerate() {
                    let room = if at + 1 == steps.len() { rooms.whole } else { rooms.part };
                    assert!(step.len() >= 2 && step.len() as u64 * rooms.joined() <= room, "{context_tokens} {step:?}");
                    assert!(step.iter().all(|joins| *joins < parts + at), "only what is there: {step:?}");
                }
            }
            assert!(rooms.steps(1).is_empty() && rooms.steps(0).is_empty());
        }
        let of_local = Rooms::of(&Limits { context_tokens: 8_192, max_output_tokens: 2_000 });
        assert!((1..8).contains(&of_local.steps(20).len()), "some at a time: {:?}", of_local.steps(20));
    }
}
