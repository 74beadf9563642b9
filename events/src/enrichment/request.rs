//! What is sent: one request for a conversation that fits, else one for each part and one that merges their answers.

use sha2::{Digest, Sha256};

use super::answer::{Answer, Complaint};
use super::fence::fenced;
use super::form;
use super::telling::{Told, told};
use crate::conversation::Item;
use crate::hash::ContentHash;
use crate::session::Ask;
use crate::tokens;
use crate::withdrawn::standing;

/// Tokens that are left free in a context: what the endpoint adds by itself, and what an estimate is wrong by.
const MARGIN_TOKENS: u64 = 500;
/// Share of a context, in percent, that the estimate may take: tokenizers differ.
const FILL_PERCENT: u64 = 85;
/// Least room for the conversation in one request, in tokens, however small the context.
const MIN_ROOM_TOKENS: u64 = 1_000;
/// Most parts of one conversation.
const MAX_PARTS: usize = 48;
/// Tokens of the frame of one part's answer in the request that merges.
const FRAME_TOKENS: u64 = 64;

/// What a model can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of request and answer together.
    pub context_tokens: u64,
    /// Tokens of the answer.
    pub max_output_tokens: u64,
}

/// One request. [`form::response_format`] goes with each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which request of the conversation's.
    pub ask: Ask,
    /// With [`Ask::Part`] which part, from 1; else 0.
    pub part: u32,
    /// Into how many parts the conversation is divided.
    pub parts: u32,
    /// What the model is told to do.
    pub system: String,
    /// The data, fenced.
    pub user: String,
    /// What was wrong with the answer before, if it is asked once more: another message of the user's.
    pub correction: Option<String>,
    /// Estimated tokens of all that.
    pub tokens_in: u64,
    /// Most tokens of the answer.
    pub tokens_out: u64,
}

impl Request {
    fn new(ask: Ask, part: u32, parts: u32, user: String, limits: &Limits) -> Self {
        let system = form::SYSTEM.to_owned();
        let tokens_in = overhead_tokens() + tokens::of_text(&user);
        Self { ask, part, parts, system, user, correction: None, tokens_in, tokens_out: limits.max_output_tokens }
    }

    /// Hash of what it asks: the same for one that is asked once more.
    pub fn hash(&self) -> ContentHash {
        let digest = Sha256::new().chain_update(&self.system).chain_update([0]).chain_update(&self.user);
        ContentHash(digest.finalize().into())
    }

    /// The same request, with what was wrong with the answer to it.
    pub fn again(mut self, complaint: &Complaint) -> Self {
        let correction = format!("{} {complaint}", form::CORRECTION);
        self.tokens_in += tokens::of_text(&correction);
        self.correction = Some(correction);
        self
    }
}

/// All requests for one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One for the whole, or one for each part in their order; none for a conversation in which nothing was said.
    pub requests: Vec<Request>,
    /// Things said or done that are in none of them, for there is a bound to the parts.
    pub left_out: u64,
    limits: Limits,
}

/// The requests for a conversation, always the same for the same items and limits. Linear in the items. Items beyond what a
/// digest holds ([`Abridged`](crate::digest::Abridged)) need not be given.
pub fn plan(items: &[Item], limits: &Limits) -> Plan {
    let room = room(limits);
    // A character is at most one token, so each thing said fits.
    let max_chars = usize::try_from(room / 2).unwrap_or(usize::MAX);
    let (parts, left_out) = divided(told(&standing(items), max_chars), room, max_parts(room, limits));
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let requests = (1..).zip(parts).map(|(number, text)| match count {
        1 => Request::new(Ask::Whole, 0, 1, form::whole(&fenced("conversation", &text)), limits),
        _ => {
            let user = form::part(number, count, &fenced("conversation", &text));
            Request::new(Ask::Part, number, count, user, limits)
        }
    });
    Plan { requests: requests.collect(), left_out, limits: *limits }
}

impl Plan {
    /// The request that makes one answer of those to all parts, in their order.
    pub fn merge(&self, answers: &[Answer]) -> Request {
        let text: String =
            (1..).zip(answers).map(|(part, answer): (u32, _)| format!("part {part}: {}\n", answer.json())).collect();
        let parts = u32::try_from(self.requests.len()).unwrap_or(u32::MAX);
        Request::new(Ask::Merge, 0, parts, form::merge(parts, &fenced("parts", &text)), &self.limits)
    }

    /// Whether the answers have to be merged.
    pub fn merges(&self) -> bool {
        self.requests.len() > 1
    }

    /// Estimated tokens of all requests and most tokens of all answers, the merging included.
    pub fn tokens(&self) -> (u64, u64) {
        self.rest(|_| false)
    }

    /// The same of those that are left, where some have an answer.
    pub fn rest(&self, is_answered: impl Fn(&Request) -> bool) -> (u64, u64) {
        let left = self.requests.iter().filter(|request| !is_answered(request));
        let (read, written) = left.fold((0_u64, 0_u64), |(read, written), request| {
            (read.saturating_add(request.tokens_in), written.saturating_add(request.tokens_out))
        });
        if !self.merges() {
            return (read, written);
        }
        // The answers are read again, and one more is written.
        let answers = self.limits.max_output_tokens.saturating_mul(self.requests.len() as u64);
        (
            read.saturating_add(answers).saturating_add(overhead_tokens()),
            written.saturating_add(self.limits.max_output_tokens),
        )
    }
}

/// The same of a conversation of which only the tokens are known: what a dry run tells.
pub fn estimate(conversation_tokens: u64, limits: &Limits) -> (u64, u64) {
    if conversation_tokens == 0 {
        return (0, 0);
    }
    let room = room(limits);
    let parts = conversation_tokens.div_ceil(room).min(max_parts(room, limits) as u64);
    let read = conversation_tokens.min(parts * room).saturating_add(parts * overhead_tokens());
    let written = parts.saturating_mul(limits.max_output_tokens);
    match parts {
        1 => (read, written),
        _ => (
            read.saturating_add(written).saturating_add(overhead_tokens()),
            written.saturating_add(limits.max_output_tokens),
        ),
    }
}

/// Tokens of what goes with each conversation: what to do, and the form of the answer.
fn overhead_tokens() -> u64 {
    tokens::of_text(form::SYSTEM) + tokens::of_text(&form::response_format().to_string()) + MARGIN_TOKENS
}

/// Tokens of conversation that one request holds.
fn room(limits: &Limits) -> u64 {
    let usable = limits.context_tokens.saturating_mul(FILL_PERCENT) / 100;
    usable.saturating_sub(limits.max_output_tokens.saturating_add(overhead_tokens())).max(MIN_ROOM_TOKENS)
}

/// As many as their answers fit into one request.
fn max_parts(room: u64, limits: &Limits) -> usize {
    let fit = room / limits.max_output_tokens.saturating_add(FRAME_TOKENS);
    usize::try_from(fit).unwrap_or(MAX_PARTS).clamp(2, MAX_PARTS)
}

/// Parts that fit, cut between exchanges where they fit whole; of too many the first and the last stay, and what is in no
/// part is counted.
fn divided(told: Vec<Told>, room: u64, max_parts: usize) -> (Vec<String>, u64) {
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
    if parts.len() > max_parts {
        let end = parts.len() - (max_parts - 1);
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
