//! Numbers about a session: duration, size, cost.
//!
//! # Decisions
//!
//! - Start and end of a session ignore times before 2020 and times more than five years from the median.

use std::collections::BTreeSet;

use super::excerpt::one_line;
use super::knowledge::MCP;
use super::{LINE_CHARS, MAX_ENTRIES};
use baton_conversation::item::{Body, Item};
use baton_conversation::messages::MessageCount;
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::Timestamp;
use baton_conversation::tokens;

/// Numbers about a session. Pure functions of its items, except for the size of its transcript.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Metadata {
    /// Full names of the MCP tools that were called, sorted; at most 200.
    pub mcp_tools_used: Vec<String>,
    /// The earliest time of the conversation's items. Implausible times are ignored: those before 2020, when no
    /// supported agent existed, unless all are; and those more than five years from the median of the rest.
    pub start_time: Option<Timestamp>,
    /// The latest time of the conversation's items, as for `start_time`.
    pub end_time: Option<Timestamp>,
    /// Whole seconds between the two.
    pub duration_seconds: u64,
    /// Number of prompts, and of the agent's messages with text.
    pub message_count: u64,
    /// Estimated tokens of the transcript as it is on disk.
    pub token_count: u64,
    /// Estimated tokens that remain after the filter.
    pub filtered_token_count: u64,
    /// Estimated minimum cost of a summary of that by the default model, in US dollars.
    pub llm_cost_estimate: f64,
}

/// 2020-01-01 in milliseconds: no supported agent is older.
const EARLIEST: Timestamp = Timestamp(1_577_836_800_000);
/// Five years: no session is resumed after a longer time.
const APART_MAX_MS: u64 = 5 * 366 * 86_400_000;

/// The times of a conversation's items, to be added once each. Eight bytes per item.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Vec<Timestamp>);

impl Times {
    pub(super) fn note(&mut self, item: &Item) {
        self.0.extend(item.at.filter(|_| !matches!(item.body, Body::Meta(_))));
    }

    /// Returns the first and the last plausible time, see [`Metadata::start_time`]; linear.
    pub(super) fn span(&self) -> Option<(Timestamp, Timestamp)> {
        span(self.0.clone())
    }
}

/// Returns the whole seconds between two times.
pub fn seconds_between((first, last): (Timestamp, Timestamp)) -> u64 {
    last.0.abs_diff(first.0) / 1_000
}

fn span(mut times: Vec<Timestamp>) -> Option<(Timestamp, Timestamp)> {
    if times.iter().any(|at| *at >= EARLIEST) {
        times.retain(|at| *at >= EARLIEST);
    }
    // The lower median: a wrong clock is slow, and excluded already, or fast.
    let middle = times.len().checked_sub(1)? / 2;
    let median = *times.select_nth_unstable(middle).1;
    times.retain(|at| at.0.abs_diff(median.0) <= APART_MAX_MS);
    Some((*times.iter().min()?, *times.iter().max()?))
}

impl Metadata {
    /// Computes the numbers of a conversation whose transcript has `transcript_bytes` bytes; linear in the items.
    pub fn new(items: &[Item], transcript_bytes: u64) -> Self {
        let mut numbers = MetadataBuilder::excluding(Withdrawn::from_items(items));
        items.iter().for_each(|item| numbers.note(item));
        numbers.metadata(transcript_bytes)
    }
}

/// Computes the numbers of a conversation item by item. A few bytes per item.
#[derive(Debug, Default)]
pub struct MetadataBuilder {
    withdrawn: Withdrawn,
    tools: BTreeSet<String>,
    messages: MessageCount,
    times: Times,
    filtered: u64,
}

impl MetadataBuilder {
    /// For a conversation with these withdrawn prompts.
    pub fn excluding(withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..Self::default() }
    }

    /// Adds the next item.
    pub fn note(&mut self, item: &Item) {
        // A withdrawn prompt still counts for the time span.
        self.times.note(item);
        if self.withdrawn.is_withdrawn(item) {
            return;
        }
        self.messages.note(item);
        if let Body::Call(call) = &item.body
            && call.name.starts_with(MCP)
            && !self.tools.contains(&*call.name)
        {
            self.tools.insert(call.name.clone());
            // Only the first names in sorted order are kept.
            if self.tools.len() > MAX_ENTRIES {
                self.tools.pop_last();
            }
        }
        self.filtered += tokens::of_items(std::slice::from_ref(item));
    }

    /// Returns the numbers, for a transcript of `transcript_bytes` bytes.
    pub fn metadata(self, transcript_bytes: u64) -> Metadata {
        let times = self.times.span();
        Metadata {
            mcp_tools_used: self.tools.into_iter().map(|name| one_line(&name, LINE_CHARS)).collect(),
            start_time: times.map(|(first, _)| first),
            end_time: times.map(|(_, last)| last),
            duration_seconds: times.map_or(0, seconds_between),
            message_count: self.messages.get(),
            token_count: tokens::of_bytes(transcript_bytes),
            filtered_token_count: self.filtered,
            llm_cost_estimate: tokens::summary_usd(self.filtered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_wrong_is_not_believed() {
        let check = |times: &[&str], expected: Option<(&str, &str)>| {
            let at = |day: &str| Timestamp::parse(&format!("{day}T00:00:00.000Z")).unwrap();
            let found = span(times.iter().map(|day| at(day)).collect());
            assert_eq!(found, expected.map(|(first, last)| (at(first), at(last))), "{times:?}");
        };
        check(&[], None);
        check(&["2026-03-02"], Some(("2026-03-02", "2026-03-02")));
        check(&["2026-03-02", "2024-03-01", "2026-03-03"], Some(("2024-03-01", "2026-03-03")));
        check(&["1970-01-01", "2026-03-02"], Some(("2026-03-02", "2026-03-02")));
        check(&["2099-01-01", "2026-03-02"], Some(("2026-03-02", "2026-03-02")));
        check(&["1970-01-01", "2026-03-02", "2026-03-03", "2099-01-01"], Some(("2026-03-02", "2026-03-03")));
        check(&["1970-01-01", "1970-01-03"], Some(("1970-01-01", "1970-01-03")));
    }
}
