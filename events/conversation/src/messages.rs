//! A conversation as somebody reads it: who said what, the parts of one message together, each call with its result.
//!
//! A transcript has each block of a message on a line of its own, and other records between them. Here they stand
//! together by the message's id, in the order in which messages first appear.

mod count;

pub use count::{MessageCount, message_count};

use std::collections::BTreeMap;

use crate::abandoned_branches::Abandoned;
use crate::filter::result::changed_lines;
use crate::hash::Mark;
use crate::item::{Body, Call, Compaction, Item, Meta, Outcome, ToolResult};
use crate::queued_prompts::Withdrawn;
use crate::record::Timestamp;

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A person.
    User,
    /// The agent.
    Assistant,
    /// A tool that answers no call of this transcript.
    Tool,
    /// The harness.
    Harness,
}

impl Speaker {
    /// `user`, `assistant`, `tool`, `harness`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Harness => "harness",
        }
    }
}

/// What somebody said at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Message<'a> {
    /// Who.
    pub speaker: Speaker,
    /// The id of the model's message, where it has one.
    pub id: Option<&'a str>,
    /// Where it begins.
    pub line: u64,
    /// When it began, where the transcript says so.
    pub at: Option<Timestamp>,
    /// Whether it is a subagent's, inside the main file.
    pub sidechain: bool,
    /// Whether it is on a branch that was given up.
    pub abandoned: bool,
    /// What it says, in the order of the transcript; never empty.
    pub parts: Vec<Part<'a>>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<'a> {
    /// Where it stands.
    pub line: u64,
    /// What it is.
    pub content: Content<'a>,
}

/// Lines that a call has added and removed, as far as that is known: as its result counts them where it does, for what a call
/// shows is not the whole file; else as the call does. Never a call's own count when its result says that it failed.
pub fn changed(call: Option<&Call>, result: Option<&ToolResult>) -> Option<(u32, u32)> {
    let edit = call?.edit.as_ref()?;
    match result {
        Some(result) => {
            let counted = changed_lines(&result.text);
            counted.or_else(|| (result.outcome == Outcome::Ok).then_some((edit.added, edit.removed)))
        }
        None => Some((edit.added, edit.removed)),
    }
}

/// What a part is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// Words.
    Text {
        /// `prompt`, `queued` (and never delivered), `answer`, `media`, `text`, `thinking`, `summary`, `notice`.
        kind: &'static str,
        /// The words.
        text: &'a str,
    },
    /// A tool was used: the call, the result, or both.
    Tool {
        /// The call. None for a result that answers no call of this transcript.
        call: Option<&'a Call>,
        /// The result with its line, wherever it is. None as long as the call runs, and for ever when it was cut off.
        result: Option<(&'a ToolResult, u64)>,
    },
    /// The conversation was cut down here.
    Compaction(&'a Compaction),
}

/// The messages of a conversation, in the order in which they begin. Linear in the items, but for logarithms.
///
/// A message of the agent is all that carries its id, over the whole file. What a person gave on one record is one
/// message. Facts about the session are in none, but for compactions; a prompt that was withdrawn is only where it stands.
pub fn messages(items: &[Item]) -> Vec<Message<'_>> {
    let mut places = Places::without(Withdrawn::of(items));
    gathered(items.iter().map(|item| (places.next(item), item)), 0, &Abandoned::of(items))
}

/// To which message an item belongs; messages are counted from 0 in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To none.
    Nowhere,
    /// It begins one.
    Begins(usize),
    /// It is one by itself: a prompt that was queued and never reached the agent.
    Queued(usize),
    /// It goes on with one.
    In(usize),
    /// It is the result of a call of one.
    Answers(usize),
}

impl Place {
    /// Whether a message begins here.
    pub fn begins(self) -> bool {
        matches!(self, Self::Begins(_) | Self::Queued(_))
    }

    /// The message.
    pub fn message(self) -> Option<usize> {
        match self {
            Self::Nowhere => None,
            Self::Begins(message) | Self::Queued(message) | Self::In(message) | Self::Answers(message) => Some(message),
        }
    }
}

/// Tells of a conversation that is gone through item by item which message each belongs to. Holds a few bytes of each message.
#[derive(Debug, Default)]
pub struct Places {
    withdrawn: Withdrawn,
    count: usize,
    by_id: BTreeMap<Mark, usize>,
    /// Calls without a result.
    open: BTreeMap<Mark, usize>,
    /// The record of the last item, if a person gave it.
    last_record: Option<(u64, Option<Mark>)>,
}

impl Places {
    /// Of a conversation of which these prompts are withdrawn.
    pub fn without(withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..Self::default() }
    }

    /// How many messages have begun.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The place of the next item.
    pub fn next(&mut self, item: &Item) -> Place {
        let mark = |id: &str| Mark::of(id.as_bytes());
        if self.withdrawn.holds(item) {
            if !self.withdrawn.is_undelivered(item) {
                return Place::Nowhere;
            }
            self.last_record = None;
            self.count += 1;
            return Place::Queued(self.count - 1);
        }
        let Some(speaker) = speaker(&item.body) else { return Place::Nowhere };
        if let Body::Result(result) = &item.body
            && !self.open.is_empty()
            && let Some(message) = self.open.remove(&mark(&result.id))
        {
            return Place::Answers(message);
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
        if known.is_none() { Place::Begins(message) } else { Place::In(message) }
    }
}

/// The messages of items in their places, of all from the message `first` on; what belongs to those before is passed over.
pub fn gathered<'a>(
    placed: impl IntoIterator<Item = (Place, &'a Item)>,
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
            (Place::Answers(_), Body::Result(result)) => {
                let waits = |part: &&mut Part<'_>| match &part.content {
                    Content::Tool { call: Some(call), result: None } => call.id == result.id,
                    _ => false,
                };
                // Of two calls of one id the second is answered.
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

fn content(item: &Item, place: Place) -> Option<Content<'_>> {
    Some(match &item.body {
        Body::Prompt { text } if matches!(place, Place::Queued(_)) => Content::Text { kind: "queued", text },
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

/// Whose words an item is; nobody's, if it is no part of a message.
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
