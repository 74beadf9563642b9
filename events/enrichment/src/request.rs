//! The requests for a conversation: one if it fits, otherwise one per part and those that join the answers.
//!
//! # Hazards
//!
//! - A request is identified by its hash: changing the system prompt repeats the requests for parts of long
//!   conversations in progress, but never for sessions that are enriched. Answers, including superseded ones, are
//!   stored as notes until the session is forgotten.

use sha2::{Digest, Sha256};

use super::answer::{Answer, Complaint, Lost};
use super::division::{Joins, Limits, Sizes, divide};
use super::fence::fenced;
use super::form;
use super::lines::Lines;
use super::rendering::render_items;
use baton_conversation::abandoned_branches::without_abandoned;
use baton_conversation::hash::ContentHash;
use baton_conversation::item::Item;
use baton_conversation::tokens;
use baton_episode::digest::{Abridged, Show};
use baton_events::session::{Ask, EnrichedBy};

/// Maximum number of words asked for per hundred tokens of the answer's limit, as the JSON takes its share.
const WORDS_PER_HUNDRED_TOKENS: u64 = 50;

/// One request; [`form::response_format`] accompanies each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind of the request.
    pub ask: Ask,
    /// For [`Ask::Part`] the part, from 1; for [`Ask::Merge`] the step, from 1, or 0 for the last one; else 0.
    pub part: u32,
    /// Number of parts of the conversation.
    pub parts: u32,
    /// System prompt.
    pub system: String,
    /// The data, fenced.
    pub user: String,
    /// On the second attempt: what was wrong with the first answer, sent as another user message.
    pub correction: Option<String>,
    /// Estimated tokens of the request.
    pub tokens_in: u64,
    /// Maximum tokens of the answer.
    pub tokens_out: u64,
    /// Claims lost from the answers that this request joins.
    pub lost: Lost,
}

impl Request {
    /// `tokens`: what accompanies each request, and the maximum answer.
    fn new(ask: Ask, part: u32, parts: u32, user: String, tokens: (u64, u64)) -> Self {
        let (system, (overhead, tokens_out)) = (form::SYSTEM.to_owned(), tokens);
        let tokens_in = overhead + tokens::max_token_count(&user);
        Self { ask, part, parts, system, user, correction: None, tokens_in, tokens_out, lost: Lost::default() }
    }

    /// Returns true if the answer gives the episode.
    pub fn is_last(&self) -> bool {
        self.ask.is_last(self.part)
    }

    /// Returns the hash of system prompt and data, which a correction does not change.
    pub fn hash(&self) -> ContentHash {
        let digest = Sha256::new().chain_update(&self.system).chain_update([0]).chain_update(&self.user);
        ContentHash(digest.finalize().into())
    }

    /// Returns the request with a correction for the second attempt.
    pub fn with_correction(mut self, complaint: &Complaint) -> Self {
        let correction = format!("{} {complaint}", form::CORRECTION);
        self.tokens_in += tokens::max_token_count(&correction);
        self.correction = Some(correction);
        self
    }
}

/// All requests for one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One for the whole, or one per part in order; none for an empty conversation.
    pub requests: Vec<Request>,
    /// Number of items in no part, because the number of parts is limited.
    pub left_out: u64,
    /// Number of items not passed in, because the memory for a conversation is limited.
    pub not_held: u64,
    /// Hashes of the requests, in their order.
    hashes: Vec<ContentHash>,
    steps: Vec<Joins>,
    sizes: Sizes,
}

/// The remaining requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// The next request.
    pub request: Request,
    /// Estimated input tokens of the next and all later requests.
    pub tokens_in: u64,
    /// Maximum tokens of their answers.
    pub tokens_out: u64,
}

/// Returns the requests for a conversation, deterministic in items, limits and `show`: what a digest must not show is
/// not sent. Linear in the items. Items that a digest does not hold ([`Abridged`](baton_episode::digest::Abridged)) may
/// be missing.
pub fn plan(items: &[Item], limits: &Limits, show: &Show) -> Plan {
    let sizes = Sizes::new(limits);
    let told = render_items(&without_abandoned(items), show, sizes.whole);
    let length = told.iter().map(|told| told.tokens).sum();
    let room = sizes.for_length(length);
    let (parts, left_out) = divide(told, room);
    let count = saturating_u32(parts.len());
    let requests = (1..).zip(parts).map(|(part, text)| match count {
        1 => {
            let user = form::whole_prompt(&fenced("conversation", &text));
            Request::new(Ask::Whole, 0, 1, user, (sizes.overhead, sizes.answer_to(length)))
        }
        _ => {
            let missing = if part <= 2 { left_out } else { 0 };
            let user = form::part_prompt(part, count, missing, sizes.words(), &fenced("conversation", &text));
            Request::new(Ask::Part, part, count, user, (sizes.overhead, sizes.short_answer))
        }
    });
    let requests: Vec<Request> = requests.collect();
    let hashes = requests.iter().map(Request::hash).collect();
    Plan { steps: sizes.steps(requests.len()), hashes, requests, left_out, not_held: 0, sizes }
}

/// Like [`plan`], for a conversation that was passed item by item; also returns the lines to which claims may refer.
pub fn plan_of(abridged: Abridged, limits: &Limits, show: &Show) -> (Plan, Lines) {
    let not_held = abridged.left_out();
    let items = abridged.into_items();
    (Plan { not_held, ..plan(&items, limits, show) }, Lines::new(&items, show))
}

impl Sizes {
    /// Returns the number of words asked for in a short answer.
    fn words(&self) -> u64 {
        (self.short_answer * WORDS_PER_HUNDRED_TOKENS / 100).max(1)
    }
}

impl Plan {
    /// Returns the number of items that no model is sent.
    pub fn unseen(&self) -> u64 {
        self.left_out.saturating_add(self.not_held)
    }

    /// Returns true if the plan sends more of the conversation than the model that enriched it received.
    pub fn tells_more_than(&self, before: &EnrichedBy) -> bool {
        // Older records count what was not held as part of `unseen`.
        let is_same = before.not_held == 0 && before.unseen == self.unseen();
        self.left_out < before.beyond_context() && !is_same
    }

    /// Returns true if answers have to be joined.
    pub fn merges(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the next request: the first part without an answer, then the first step that joins. `answer_to` returns
    /// the stored answer to the request with a hash. `None` if nothing was said in the conversation; the last step
    /// never counts as answered.
    ///
    /// # Errors
    ///
    /// Those of `answer_to`.
    pub fn next<E>(
        &self,
        mut answer_to: impl FnMut(&ContentHash) -> Result<Option<Answer>, E>,
    ) -> Result<Option<Remaining>, E> {
        let mut left: Option<Remaining> = None;
        let mut answers: Vec<Option<Answer>> = Vec::with_capacity(self.requests.len() + self.steps.len());
        for (request, hash) in self.requests.iter().zip(&self.hashes) {
            let answer = if self.merges() { answer_to(hash)? } else { None };
            if answer.is_none() {
                add_remaining(&mut left, request.tokens_in, request.tokens_out, || request.clone());
            }
            answers.push(answer);
        }
        for (at, joins) in self.steps.iter().enumerate() {
            let joined: Option<Vec<&Answer>> =
                joins.iter().map(|joined| answers.get(*joined).and_then(Option::as_ref)).collect();
            let request = joined.map(|joined| self.step(at, &joined));
            let answer = match &request {
                Some(request) if !request.is_last() => answer_to(&request.hash())?,
                _ => None,
            };
            match request {
                _ if answer.is_some() => {}
                Some(request) => add_remaining(&mut left, request.tokens_in, request.tokens_out, || request.clone()),
                // An earlier request is missing, so this one is only counted.
                None => {
                    let read = self.sizes.overhead.saturating_add(joins.len() as u64 * self.sizes.joined());
                    add_tokens(&mut left, read, self.longest(at));
                }
            }
            answers.push(answer);
        }
        Ok(left)
    }

    /// Returns the estimated input tokens of all requests and the maximum tokens of all answers.
    pub fn tokens(&self) -> (u64, u64) {
        let all: Result<_, std::convert::Infallible> = self.next(|_| Ok(None));
        all.ok().flatten().map_or((0, 0), |left| (left.tokens_in, left.tokens_out))
    }

    /// Returns the maximum answer to a step, in tokens.
    fn longest(&self, at: usize) -> u64 {
        if at + 1 == self.steps.len() { self.sizes.answer } else { self.sizes.short_answer }
    }

    /// Returns the request that joins these answers.
    fn step(&self, at: usize, answers: &[&Answer]) -> Request {
        let (parts, is_last) = (saturating_u32(self.requests.len()), at + 1 == self.steps.len());
        let room = if is_last { self.sizes.whole } else { self.sizes.part };
        let each = (room / answers.len().max(1) as u64).max(self.sizes.joined()) - self.sizes.frame();
        let mut lost = Lost::default();
        let mut text = String::new();
        let joins = self.steps.get(at).map(Vec::as_slice).unwrap_or_default();
        for (joined, answer) in joins.iter().zip(answers) {
            let mut answer = Answer::clone(answer).shortened_to(each);
            lost.dropped = lost.dropped.saturating_add(std::mem::take(&mut answer.dropped));
            lost.left_out = lost.left_out.saturating_add(std::mem::take(&mut answer.left_out));
            let name = match self.covers(*joined) {
                (first, last) if first == last => format!("part {first}"),
                (first, last) => format!("parts {first} to {last}"),
            };
            text.push_str(&format!("{name}: {}\n", answer.to_json()));
        }
        let data = fenced("parts", &text);
        let (first, last) = self.covers(self.requests.len() + at);
        let missing = if first == 1 { self.left_out } else { 0 };
        let (part, user) = match is_last {
            true => (0, form::merge_prompt(parts, missing, &data)),
            false => {
                (saturating_u32(at + 1), form::step_prompt(first, last, parts, missing, self.sizes.words(), &data))
            }
        };
        Request { lost, ..Request::new(Ask::Merge, part, parts, user, (self.sizes.overhead, self.longest(at))) }
    }

    /// Returns the first and the last part that an answer covers.
    fn covers(&self, joined: usize) -> (u32, u32) {
        let Some(step) = joined.checked_sub(self.requests.len()) else {
            return (saturating_u32(joined + 1), saturating_u32(joined + 1));
        };
        // A step joins only earlier answers.
        let joins = self.steps.get(step).map(Vec::as_slice).unwrap_or_default();
        let first = joins.first().map_or(1, |first| self.covers(*first).0);
        (first, joins.last().map_or(first, |last| self.covers(*last).1))
    }
}

fn saturating_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Counts a remaining request; the first one is the next to send.
fn add_remaining(left: &mut Option<Remaining>, tokens_in: u64, tokens_out: u64, request: impl FnOnce() -> Request) {
    match left {
        Some(_) => add_tokens(left, tokens_in, tokens_out),
        None => *left = Some(Remaining { request: request(), tokens_in, tokens_out }),
    }
}

fn add_tokens(left: &mut Option<Remaining>, tokens_in: u64, tokens_out: u64) {
    if let Some(left) = left {
        left.tokens_in = left.tokens_in.saturating_add(tokens_in);
        left.tokens_out = left.tokens_out.saturating_add(tokens_out);
    }
}
