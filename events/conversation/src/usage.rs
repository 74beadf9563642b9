//! Token usage of a conversation by model. Each request counts once, whatever its transcript repeats.
//!
//! # Decisions
//!
//! - A message of the model is counted once by its message id; the request id is used only if there is none. A single
//!   token count is capped at 10^9.

mod course;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::Mark;
use crate::item::{Body, Item, Meta, Usage};
use crate::record::Timestamp;

pub use course::{Course, HALF_HOUR_MS, Part};

/// Model name of messages that no model wrote: errors, limits, the harness' own text.
const SYNTHETIC: &str = "<synthetic>";

/// Highest accepted token count of a request: hundreds of times the largest context.
const COUNT_MAX: u64 = 1_000_000_000;

/// Identity of a model's message: its id, which the service gives once; if a gateway gives none, the id of the request.
/// Not all lines of a message name the request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Message(Box<str>),
    Request(Box<str>),
}

impl Key {
    fn new(item: &Item, usage: &Usage) -> Option<Self> {
        let message = item.message.clone().filter(|id| !id.is_empty()).map(Self::Message);
        message.or_else(|| usage.request.clone().map(Self::Request))
    }
}

/// A request: its largest usage, and when it was first told.
#[derive(Clone, Debug, PartialEq)]
struct Request {
    usage: Usage,
    at: Option<Timestamp>,
}

/// The requests of a conversation, each with its largest usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    known: BTreeMap<Key, Request>,
    /// The fingerprint of the first one.
    first: Option<Mark>,
}

/// Usage of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUsage {
    /// Its name as in the transcript.
    pub model: String,
    /// Number of messages.
    pub messages: u64,
    /// Tokens read that were not cached.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Tokens written.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Tokens read from the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Tokens written to the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation: u64,
    /// Those of them for an hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_1h: u64,
    /// True if `output` is known to be too small.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub output_is_lower_bound: bool,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Key {
    fn mark(&self) -> Mark {
        match self {
            Self::Message(id) => Mark::digest(format!("m{id}").as_bytes()),
            Self::Request(id) => Mark::digest(format!("r{id}").as_bytes()),
        }
    }
}

impl Requests {
    /// The requests of a conversation; linear in the items, times a logarithm. For each message the usage with the
    /// largest output counts, the last one of equals. Messages that no model wrote are left out, and so are those
    /// without message and request id, and those of subagents inside the conversation.
    pub fn from_items(items: &[Item]) -> Self {
        Self::filtered(items, false)
    }

    /// The requests of subagents whose conversations are inside this one, as the first versions wrote them.
    pub fn from_subagents_inside(items: &[Item]) -> Self {
        Self::filtered(items, true)
    }

    fn filtered(items: &[Item], aside: bool) -> Self {
        let mut requests = Self::default();
        items.iter().filter(|item| item.sidechain == aside).for_each(|item| requests.add(item));
        requests
    }

    /// Adds the next item, for the result of [`Requests::from_items`].
    pub fn note(&mut self, item: &Item) {
        if !item.sidechain {
            self.add(item);
        }
    }

    /// Adds the next item, for the result of [`Requests::from_subagents_inside`].
    pub fn note_inside(&mut self, item: &Item) {
        if item.sidechain {
            self.add(item);
        }
    }

    /// Adds the next item, of a subagent or not; `at` is its time as far as known.
    pub fn note_any(&mut self, item: &Item, at: Option<Timestamp>) {
        self.insert(item, at);
    }

    fn add(&mut self, item: &Item) {
        self.insert(item, item.at);
    }

    fn insert(&mut self, item: &Item, at: Option<Timestamp>) {
        let Body::Meta(Meta::Usage(usage)) = &item.body else { return };
        let Some(key) = Key::new(item, usage).filter(|_| usage.model != SYNTHETIC) else { return };
        let usage = bounded(usage.clone());
        match self.known.get_mut(&key) {
            Some(known) if known.usage.output > usage.output => {}
            Some(known) => known.usage = usage,
            None => {
                self.first = self.first.or_else(|| Some(key.mark()));
                self.known.insert(key, Request { usage, at });
            }
        }
    }

    /// The requests that `other` has too, which a fork has copied.
    pub fn shared_with(&self, other: &Self) -> Self {
        let shared = self.known.iter().filter(|(key, _)| other.known.contains_key(*key));
        Self { known: shared.map(|(key, request)| (key.clone(), request.clone())).collect(), first: self.first }
    }

    /// The requests that `other` does not have.
    pub fn without(mut self, other: &Self) -> Self {
        self.known.retain(|key, _| !other.known.contains_key(key));
        self
    }

    /// Adds the requests of another conversation; common ones count once.
    pub fn join(&mut self, other: Self) {
        self.first = self.first.or(other.first);
        for (key, request) in other.known {
            match self.known.get(&key) {
                Some(known) if known.usage.output >= request.usage.output => {}
                _ => drop(self.known.insert(key, request)),
            }
        }
    }

    /// True if there are no requests.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Sums by model, ordered by name.
    pub fn by_model(&self) -> Vec<ModelUsage> {
        by_model(self.known.values())
    }

    /// The requests with a time, in order of time, in at most `most` parts of the same size: when each begins, and its
    /// sums by model.
    pub fn in_parts(&self, most: usize) -> Vec<(Timestamp, Vec<ModelUsage>)> {
        let timed = self.known.values().filter_map(|request| Some((request.at?, request)));
        let mut timed: Vec<(Timestamp, &Request)> = timed.collect();
        timed.sort_by_key(|(at, _)| *at);
        let parts = timed.chunks(timed.len().div_ceil(most.max(1)).max(1));
        parts.map(|part| (part[0].0, by_model(part.iter().map(|(_, request)| *request)))).collect()
    }
}

fn by_model<'a>(requests: impl Iterator<Item = &'a Request>) -> Vec<ModelUsage> {
    let mut models: BTreeMap<&str, ModelUsage> = BTreeMap::new();
    for request in requests {
        let model = request.usage.model.as_str();
        models.entry(model).or_insert_with(|| ModelUsage::named(model)).note(&request.usage);
    }
    models.into_values().collect()
}

/// Caps counts that no request can have.
fn bounded(mut usage: Usage) -> Usage {
    // The key has it.
    usage.request = None;
    let Usage { input, output, cache_read, cache_creation, cache_creation_1h, .. } = &mut usage;
    for count in [input, output, cache_read, cache_creation, cache_creation_1h] {
        *count = (*count).min(COUNT_MAX);
    }
    usage
}

impl ModelUsage {
    fn named(model: &str) -> Self {
        Self { model: model.to_owned(), ..Self::default() }
    }

    /// Adds a request of this model.
    fn note(&mut self, usage: &Usage) {
        self.add(&Self {
            model: String::new(),
            messages: 1,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_creation: usage.cache_creation,
            cache_creation_1h: usage.cache_creation_1h,
            output_is_lower_bound: usage.output_is_lower_bound,
        });
    }

    /// Adds further usage; the name stays.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.messages, other.messages),
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_creation, other.cache_creation),
            (&mut self.cache_creation_1h, other.cache_creation_1h),
        ] {
            *sum = sum.saturating_add(part);
        }
        self.output_is_lower_bound |= other.output_is_lower_bound;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `message request model output`; `-` is none, `~` before it a subagent's. Input is ten times the output.
    fn item(text: &str) -> Item {
        let (text, sidechain) = text.strip_prefix('~').map_or((text, false), |text| (text, true));
        let words: Vec<&str> = text.split_whitespace().collect();
        let [message, request, model, output] = words[..] else { panic!("{text}") };
        let id = |word: &str| (word != "-").then(|| word.into());
        let output = output.parse().unwrap();
        let usage = Usage {
            model: model.to_owned(),
            request: id(request),
            input: output * 10,
            output,
            output_is_lower_bound: output < 10,
            ..Usage::default()
        };
        let body = Body::Meta(Meta::Usage(usage));
        Item { line: 1, at: None, uuid: None, message: id(message), sidechain, body }
    }

    fn requests(lines: &[&str]) -> Requests {
        Requests::from_items(&lines.iter().map(|line| item(line)).collect::<Vec<_>>())
    }

    fn described(requests: &Requests) -> String {
        let models = requests.by_model().into_iter().map(|usage| {
            let bound = if usage.output_is_lower_bound { "+" } else { "" };
            assert_eq!(usage.input, usage.output * 10);
            format!("{}:{}x{}{bound}", usage.model, usage.messages, usage.output)
        });
        models.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_request_counts_once_with_its_greatest_output() {
        for (lines, expected) in [
            (&[][..], ""),
            (&["m1 r1 opus 10", "m1 r1 opus 10"], "opus:1x10"),
            (&["m1 r1 opus 5", "m2 r2 haiku 10", "m1 r1 opus 631"], "haiku:1x10 opus:1x631"),
            (&["m1 r1 opus 631", "m1 r1 opus 5"], "opus:1x631"),
            (&["m1 r1 opus 10", "m1 r2 opus 10"], "opus:1x10"),
            (&["m1 - opus 10", "m1 r1 opus 10", "m1 - opus 10", "m2 r2 opus 15"], "opus:2x25"),
            (&["~m1 r1 opus 10", "m2 r2 opus 20"], "opus:1x20"),
            (&["m1 - opus 10", "m1 - opus 20"], "opus:1x20"),
            (&["- r1 opus 10", "- r2 opus 20"], "opus:2x30"),
            (&["- - opus 10"], ""),
            (&["m1 r1 <synthetic> 10", "m2 r2 opus 2", "m3 r3 opus 20"], "opus:2x22+"),
        ] {
            assert_eq!(described(&requests(lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_subagents_took_inside_of_a_conversation_is_told_apart() {
        let items = ["~s1 r1 haiku 10", "m2 r2 opus 20", "~s1 r1 haiku 30"].map(item);
        assert_eq!(described(&Requests::from_items(&items)), "opus:1x20");
        assert_eq!(described(&Requests::from_subagents_inside(&items)), "haiku:1x30");
    }

    #[test]
    fn what_a_fork_has_copied_is_told_and_families_count_once() {
        let base = requests(&["m1 r1 opus 10", "m2 r2 opus 20"]);
        let fork = requests(&["m1 r1 opus 10", "m2 r2 opus 20", "m3 r3 opus 30"]);
        assert_eq!(described(&fork.shared_with(&base)), "opus:2x30");
        assert_eq!(described(&base.shared_with(&fork)), "opus:2x30");
        assert!(base.shared_with(&requests(&["m9 r9 opus 10"])).is_empty());
        let mut family = base.clone();
        family.join(fork);
        family.join(base);
        assert_eq!(described(&family), "opus:3x60");
    }

    #[test]
    fn the_course_of_a_conversation_has_parts_of_the_same_size() {
        let mut items =
            ["m1 r1 opus 10", "m4 r4 haiku 40", "m2 r2 opus 20", "m3 r3 opus 30", "m5 r5 opus 50"].map(item);
        for (index, at) in [1, 4, 2, 3].into_iter().enumerate() {
            items[index].at = Some(Timestamp(at));
        }
        let requests = Requests::from_items(&items);
        for (most, expected) in [
            (0, &[(1, 100)][..]),
            (1, &[(1, 100)]),
            (2, &[(1, 30), (3, 70)]),
            (3, &[(1, 30), (3, 70)]),
            (9, &[(1, 10), (2, 20), (3, 30), (4, 40)]),
        ] {
            let parts = requests.in_parts(most);
            let sums = parts.iter().map(|(at, models)| (at.0, models.iter().map(|model| model.output).sum::<u64>()));
            assert_eq!(sums.collect::<Vec<_>>(), expected, "{most}");
        }
        assert_eq!(Requests::default().in_parts(3), []);
    }

    #[test]
    fn a_count_is_believed_up_to_a_bound() {
        let mut item = item("m1 r1 opus 10");
        if let Body::Meta(Meta::Usage(usage)) = &mut item.body {
            usage.cache_read = u64::MAX;
        }
        assert_eq!(Requests::from_items(&[item]).by_model()[0].cache_read, COUNT_MAX);
    }

    #[test]
    fn sums_do_not_overflow() {
        let mut sum = ModelUsage { input: u64::MAX, ..ModelUsage::default() };
        sum.add(&ModelUsage { input: 1, output: 2, ..ModelUsage::default() });
        assert_eq!((sum.input, sum.output), (u64::MAX, 2));
    }
}
