//! Numbers about a session: how long, how much, at what price.

use std::collections::BTreeSet;

use super::excerpt::one_line;
use super::knowledge::MCP;
use super::{LINE_CHARS, MAX_ENTRIES};
use crate::conversation::{Body, Item};
use crate::record::Timestamp;
use crate::tokens;

/// Numbers about a session. Pure facts of its items, but for the size of its transcript.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Metadata {
    /// Tools of MCP servers that were called, by their full names, sorted; at most 200.
    pub mcp_tools_used: Vec<String>,
    /// The earliest and the latest time that an item of the conversation bears.
    pub start_time: Option<Timestamp>,
    /// See `start_time`.
    pub end_time: Option<Timestamp>,
    /// Whole seconds between the two.
    pub duration_seconds: u64,
    /// Typed prompts, and messages of the agent that carry text.
    pub message_count: u64,
    /// About how many tokens the transcript is as it lies on disk.
    pub token_count: u64,
    /// About how many tokens are left of it after the filter.
    pub filtered_token_count: u64,
    /// About what one summary of that by the default model would cost, in US dollars.
    pub llm_cost_estimate: f64,
}

impl Metadata {
    /// The numbers of a conversation whose transcript has so many bytes; linear in the items.
    pub fn of(items: &[Item], transcript_bytes: u64) -> Self {
        let mut tools: BTreeSet<&str> = BTreeSet::new();
        let mut messages: BTreeSet<&str> = BTreeSet::new();
        let mut message_count = 0;
        let mut prompted = None;
        let mut times: Option<(Timestamp, Timestamp)> = None;
        for item in items {
            match &item.body {
                Body::Call(call) if call.name.starts_with(MCP) => drop(tools.insert(&call.name)),
                // All of one record is one prompt, of words, of a picture or of both.
                Body::Prompt { .. } | Body::Media { .. } if !item.sidechain => {
                    message_count += u64::from(prompted.replace(item.line) != Some(item.line));
                }
                Body::Reply { .. } if !item.sidechain => match item.message.as_deref() {
                    Some(id) => message_count += u64::from(messages.insert(id)),
                    None => message_count += 1,
                },
                _ => {}
            }
            if let Some(at) = item.at.filter(|_| !matches!(item.body, Body::Meta(_))) {
                let (first, last) = times.unwrap_or((at, at));
                times = Some((first.min(at), last.max(at)));
            }
        }
        let filtered = tokens::of_items(items);
        Self {
            mcp_tools_used: tools.into_iter().take(MAX_ENTRIES).map(|name| one_line(name, LINE_CHARS)).collect(),
            start_time: times.map(|(first, _)| first),
            end_time: times.map(|(_, last)| last),
            duration_seconds: times.map_or(0, |(first, last)| last.0.abs_diff(first.0) / 1_000),
            message_count,
            token_count: tokens::of_bytes(transcript_bytes),
            filtered_token_count: filtered,
            llm_cost_estimate: tokens::summary_usd(filtered),
        }
    }
}
