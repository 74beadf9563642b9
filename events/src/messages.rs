//! A conversation as somebody reads it: who said what, the parts of one message together, each call with its result.
//!
//! A transcript has each block of a message on a line of its own, and other records between them. Here they stand
//! together by the message's id, in the order in which messages first appear.

use std::collections::BTreeMap;

use crate::branches::Abandoned;
use crate::conversation::{Body, Call, Compaction, Item, Meta, Outcome, ToolResult};
use crate::filter::result::changed_lines;
use crate::record::Timestamp;
use crate::withdrawn::Withdrawn;

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
        /// `prompt`, `answer`, `media`, `text`, `thinking`, `summary`, `notice`.
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
/// message. Facts about the session are in none, but for compactions, and neither are prompts that were withdrawn.
pub fn messages(items: &[Item]) -> Vec<Message<'_>> {
    let abandoned = Abandoned::of(items);
    let mut messages: Vec<Message<'_>> = Vec::new();
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut last_record: Option<(u64, Option<&str>)> = None;
    let withdrawn = Withdrawn::of(items);
    for item in items.iter().filter(|item| !withdrawn.holds(item)) {
        let content = match &item.body {
            Body::Prompt { text } => Content::Text { kind: "prompt", text },
            Body::Answer { text } => Content::Text { kind: "answer", text },
            Body::Media { text } => Content::Text { kind: "media", text },
            Body::Reply { text } => Content::Text { kind: "text", text },
            Body::Thinking { text } => Content::Text { kind: "thinking", text },
            Body::Summary { text } => Content::Text { kind: "summary", text },
            Body::Notice { text } => Content::Text { kind: "notice", text },
            Body::Call(call) => Content::Tool { call: Some(call), result: None },
            Body::Result(result) => {
                if let Some((message, part)) = open.remove(&*result.id)
                    && let Some(part) = messages.get_mut(message).and_then(|message| message.parts.get_mut(part))
                    && let Content::Tool { result: slot, .. } = &mut part.content
                {
                    *slot = Some((result, item.line));
                    continue;
                }
                Content::Tool { call: None, result: Some((result, item.line)) }
            }
            Body::Meta(Meta::Compaction(compaction)) => Content::Compaction(compaction),
            Body::Meta(_) => continue,
        };
        let speaker = match &item.body {
            Body::Prompt { .. } | Body::Answer { .. } | Body::Media { .. } => Speaker::User,
            Body::Reply { .. } | Body::Thinking { .. } | Body::Call(_) => Speaker::Assistant,
            Body::Result(_) => Speaker::Tool,
            Body::Summary { .. } | Body::Notice { .. } | Body::Meta(_) => Speaker::Harness,
        };
        let record = (item.line, item.uuid.as_deref());
        let known = match speaker {
            Speaker::Assistant => item.message.as_deref().and_then(|id| by_id.get(id).copied()),
            Speaker::User if last_record == Some(record) => messages.len().checked_sub(1),
            _ => None,
        };
        last_record = (speaker == Speaker::User).then_some(record);
        let at = match known {
            Some(at) => at,
            None => {
                let id = item.message.as_deref().filter(|_| speaker == Speaker::Assistant);
                by_id.extend(id.map(|id| (id, messages.len())));
                messages.push(Message {
                    speaker,
                    id,
                    line: item.line,
                    at: item.at,
                    sidechain: item.sidechain,
                    abandoned: abandoned.contains(item.line),
                    parts: Vec::new(),
                });
                messages.len() - 1
            }
        };
        let Some(message) = messages.get_mut(at) else { continue };
        if let Content::Tool { call: Some(call), .. } = &content
            && !call.id.is_empty()
        {
            open.insert(&call.id, (at, message.parts.len()));
        }
        message.parts.push(Part { line: item.line, content });
    }
    messages
}

#[cfg(test)]
mod tests;
