//! A conversation as messages: the parts of a message together, each call with its result.
//!
//! In a transcript each block of a message has a line of its own, with other records in between. Here blocks are
//! grouped by the message's id, in the order in which messages first appear.

mod count;

pub use count::{MessageCount, message_count};

use std::collections::BTreeMap;

use crate::abandoned_branches::Abandoned;
use crate::hash::Mark;
use crate::item::{Body, Call, Compaction, Item, Meta, Outcome, ToolResult};
use crate::queued_prompts::Withdrawn;
use crate::record::Timestamp;

baton_protocol::named! {
    /// Speaker of a message.
    Speaker {
        /// A person.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// A tool whose result answers no call of this transcript.
        Tool = "tool",
        /// The harness.
        Harness = "harness",
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message<'a> {
    /// The speaker.
    pub speaker: Speaker,
    /// Id of the model's message, if it has one.
    pub id: Option<&'a str>,
    /// Transcript line on which it begins.
    pub line: u64,
    /// Time of its beginning, if recorded.
    pub at: Option<Timestamp>,
    /// True if it is a subagent's, inside the main transcript.
    pub sidechain: bool,
    /// True if it is on an abandoned branch.
    pub abandoned: bool,
    /// Its parts, in transcript order; never empty.
    pub parts: Vec<Part<'a>>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<'a> {
    /// Transcript line.
    pub line: u64,
    /// The content.
    pub content: Content<'a>,
}

/// Lines added and removed by a call, if known. The result's count is preferred, because the call does not show the
/// whole file; the call's own count is used unless the result says that it failed.
pub fn changed_lines(call: Option<&Call>, result: Option<&ToolResult>) -> Option<(u32, u32)> {
    let edit = call?.edit.as_ref()?;
    match result {
        Some(result) => {
            let counted = result.changed();
            counted.or_else(|| (result.outcome == Outcome::Ok).then_some((edit.added, edit.removed)))
        }
        None => Some((edit.added, edit.removed)),
    }
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// Text.
    Text {
        /// `prompt`, `queued` (and never delivered), `answer`, `media`, `text`, `thinking`, `summary`, `notice`.
        kind: &'static str,
        /// The text itself.
        text: &'a str,
    },
    /// A tool call, a result, or both.
    Tool {
        /// The call; `None` if the result answers no call of this transcript.
        call: Option<&'a Call>,
        /// The result and its line; `None` while the call runs, and permanently if it was cut off.
        result: Option<(&'a ToolResult, u64)>,
    },
    /// The conversation was compacted here.
    Compaction(&'a Compaction),
}

/// The messages of a conversation, in the order in which they begin. Linear in the items, times a logarithm.
///
/// A message of the agent consists of everything with its id, across the whole file; everything a person sent in one
/// record is one message. Facts about the session are in no message, except compactions. A withdrawn prompt that was
/// delivered appears only where it was delivered.
pub fn messages(items: &[Item]) -> Vec<Message<'_>> {
    let mut places = MessagePlaces::without(Withdrawn::from_items(items));
    build_messages(items.iter().map(|item| (places.next(item), item)), 0, &Abandoned::from_items(items))
}

/// The message that an item belongs to; messages are numbered from 0 in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePlace {
    /// The item is in no message.
    Nowhere,
    /// The item begins this message.
    Begins(usize),
    /// The item is this whole message: a queued prompt that never reached the agent.
    Queued(usize),
    /// The item continues this message.
    In(usize),
    /// The item is the result of a call in this message.
    Answers(usize),
}

impl MessagePlace {
    /// True if a message begins here.
    pub fn begins(self) -> bool {
        matches!(self, Self::Begins(_) | Self::Queued(_))
    }

    /// Number of the message.
    pub fn message(self) -> Option<usize> {
        match self {
            Self::Nowhere => None,
            Self::Begins(message) | Self::Queued(message) | Self::In(message) | Self::Answers(message) => Some(message),
        }
    }
}

/// Determines the message of each item, item by item. Holds a few bytes per message.
#[derive(Debug, Default)]
pub struct MessagePlaces {
    withdrawn: Withdrawn,
    count: usize,
    by_id: BTreeMap<Mark, usize>,
    /// Calls without a result, with their messages.
    open: BTreeMap<Mark, usize>,
    /// The record of the last item, if it is a person's.
    last_record: Option<(u64, Option<Mark>)>,
}

impl MessagePlaces {
    /// For a conversation with these withdrawn prompts.
    pub fn without(withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..Self::default() }
    }

    /// Number of messages so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Determines the place of the next item.
    pub fn next(&mut self, item: &Item) -> MessagePlace {
        let mark = |id: &str| Mark::digest(id.as_bytes());
        if self.withdrawn.is_withdrawn(item) {
            let is_taken = self.withdrawn.is_taken(item);
            if !is_taken && !self.withdrawn.is_undelivered(item) {
                return MessagePlace::Nowhere;
            }
            self.last_record = None;
            self.count += 1;
            let message = self.count - 1;
            return if is_taken { MessagePlace::Begins(message) } else { MessagePlace::Queued(message) };
        }
        let Some(speaker) = speaker(&item.body) else { return MessagePlace::Nowhere };
        if let Body::Result(result) = &item.body
            && !self.open.is_empty()
            && let Some(message) = self.open.remove(&mark(&result.id))
        {
            return MessagePlace::Answers(message);
        }
        let id = item.message.as_deref().filter(|_| speaker == Speaker::Assistant).map(mark);
        let record = (speaker == Speaker::User).then(|| (item.line, item.uuid.as_deref().map(mark)));
        let known = match speaker {
            Speaker::Assistant => id.and_then(|id| self.by_id.get(&id).copied()),
            Speaker::User if self.last_record == record => self.count.checked_sub(1),
            _ => None,
        };
        self.last_record = record;
        let message = known.unwrap_or(self.count);
        if known.is_none() {
            self.by_id.extend(id.map(|id| (id, message)));
            self.count += 1;
        }
        if let Body::Call(call) = &item.body
            && !call.id.is_empty()
        {
            self.open.insert(mark(&call.id), message);
        }
        if known.is_none() { MessagePlace::Begins(message) } else { MessagePlace::In(message) }
    }
}

/// Builds the messages from number `first` on out of items with their places; items of earlier messages are skipped.
pub fn build_messages<'a>(
    placed: impl IntoIterator<Item = (MessagePlace, &'a Item)>,
    first: usize,
    abandoned: &Abandoned,
) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for (place, item) in placed {
        let (Some(speaker), Some(content)) = (speaker(&item.body), content(item, place)) else { continue };
        let Some(at) = place.message().and_then(|message| message.checked_sub(first)) else { continue };
        if place.begins() {
            messages.push(Message {
                speaker,
                id: item.message.as_deref().filter(|_| speaker == Speaker::Assistant),
                line: item.line,
                at: item.at,
                sidechain: item.sidechain,
                abandoned: abandoned.contains(item.line),
                parts: Vec::new(),
            });
        }
        let Some(message) = messages.get_mut(at) else { continue };
        match (place, &item.body) {
            (MessagePlace::Answers(_), Body::Result(result)) => {
                let waits = |part: &&mut Part<'_>| match &part.content {
                    Content::Tool { call: Some(call), result: None } => call.id == result.id,
                    _ => false,
                };
                // If two calls have the same id, the second one is answered.
                if let Some(part) = message.parts.iter_mut().rev().find(waits)
                    && let Content::Tool { result: slot, .. } = &mut part.content
                {
                    *slot = Some((result, item.line));
                }
            }
            _ => message.parts.push(Part { line: item.line, content }),
        }
    }
    messages
}

fn content(item: &Item, place: MessagePlace) -> Option<Content<'_>> {
    Some(match &item.body {
        Body::Prompt { text } if matches!(place, MessagePlace::Queued(_)) => Content::Text { kind: "queued", text },
        Body::Prompt { text } => Content::Text { kind: "prompt", text },
        Body::Answer { text } => Content::Text { kind: "answer", text },
        Body::Media { text } => Content::Text { kind: "media", text },
        Body::Reply { text } => Content::Text { kind: "text", text },
        Body::Thinking { text } => Content::Text { kind: "thinking", text },
        Body::Summary { text } => Content::Text { kind: "summary", text },
        Body::Notice { text } => Content::Text { kind: "notice", text },
        Body::Call(call) => Content::Tool { call: Some(call), result: None },
        Body::Result(result) => Content::Tool { call: None, result: Some((result, item.line)) },
        Body::Meta(Meta::Compaction(compaction)) => Content::Compaction(compaction),
        Body::Meta(_) => return None,
    })
}

/// The speaker of an item; `None` if it is not part of a message.
fn speaker(body: &Body) -> Option<Speaker> {
    match body {
        Body::Prompt { .. } | Body::Answer { .. } | Body::Media { .. } => Some(Speaker::User),
        Body::Reply { .. } | Body::Thinking { .. } | Body::Call(_) => Some(Speaker::Assistant),
        Body::Result(_) => Some(Speaker::Tool),
        Body::Summary { .. } | Body::Notice { .. } | Body::Meta(Meta::Compaction(_)) => Some(Speaker::Harness),
        Body::Meta(_) => None,
    }
}

#[cfg(test)]
mod tests;
