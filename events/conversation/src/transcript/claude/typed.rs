//! The texts of a record in which a person may have typed, and who is to be believed to have done so.

use crate::filter::media::Media;
use crate::filter::without_recall;
use crate::transcript::Sink;
use crate::transcript::scribe::{Scribe, Stamp};
use baton_redaction::raw_json::{Text, Value};

use super::words::{self, Words};
use super::{Block, Record};

/// A person's command that gives the session a name; what follows is the name.
const RENAME: &str = "/rename ";

/// Who a record says has written it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Person,
    Harness,
    Unknown,
}

impl Author {
    pub(super) fn of(record: &Record<'_>) -> Self {
        let origin = record.origin.and_then(|origin| origin.get(b"kind")).and_then(Value::text).map(Text::raw);
        match (origin, record.prompt_source.map(Text::raw)) {
            (Some(b"human"), _) | (None, Some(b"typed" | b"queued")) => Self::Person,
            (Some(_), _) | (None, Some(b"system")) => Self::Harness,
            _ => Self::Unknown,
        }
    }
}

/// How a text came to the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As a turn of its own.
    Typed,
    /// While the agent was at work.
    Between,
    /// Not yet: it waits in the queue.
    Queued,
}

/// What somebody may have typed, pasted and dropped into one record.
#[derive(Default)]
pub(super) struct Typed<'r> {
    parts: Vec<String>,
    media: Vec<Value<'r>>,
}

impl<'r> Typed<'r> {
    /// A string, or an array of blocks.
    pub(super) fn of(content: Option<Value<'r>>) -> Self {
        let mut typed = Self::default();
        match content {
            Some(Value::Text(text)) => typed.text(text),
            Some(array) => array.elements().for_each(|value| typed.block(value, &Block::read(value))),
            None => {}
        }
        typed
    }

    /// Takes a block of an array, if it can be a person's; some tools write nothing but a text in its place.
    pub(super) fn block(&mut self, value: Value<'r>, block: &Block<'r>) {
        match (value, block.kind) {
            (Value::Text(bare), _) => self.text(bare),
            (_, b"image" | b"document") => self.media.push(value),
            _ => block.text.into_iter().for_each(|text| self.text(text)),
        }
    }

    pub(super) fn text(&mut self, text: Text<'_>) {
        if !text.is_blank() {
            self.parts.push(without_recall(&text.decode()).into_owned());
        }
    }

    /// Says what the harness repeats in short.
    pub(super) fn say_summary<S: Sink>(&self, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
        self.parts.iter().for_each(|text| scribe.summary(stamp, text));
    }

    /// Says what a person and what the harness said.
    pub(super) fn say<S: Sink>(
        &self,
        author: Author,
        delivery: Delivery,
        stamp: &Stamp<'_>,
        scribe: &mut Scribe<'_, S>,
    ) {
        if !scribe.aside(stamp) {
            scribe.withdraw_queued(stamp);
        }
        self.parts.iter().for_each(|part| say_part(part, author, delivery, stamp, scribe));
        self.say_media(author, delivery, stamp, scribe);
    }

    /// Says the prompts of what is put into the queue. What is not text comes with the delivery.
    pub(super) fn say_queued<S: Sink>(&self, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
        if self.parts.iter().any(|part| has_prompt(part)) {
            scribe.queued(stamp, |scribe| {
                self.parts.iter().for_each(|part| say_part(part, Author::Unknown, Delivery::Queued, stamp, scribe));
            });
        }
    }

    /// What it is known by in the queue: a person's words, where there are any, however the harness wraps them.
    pub(super) fn words(&self) -> String {
        let typed = |part: &String| {
            words::take_apart(part, false).into_iter().find_map(|words| match words {
                Words::Prompt(text) => Some(text.into_owned()),
                _ => None,
            })
        };
        let typed: Vec<String> = self.parts.iter().filter_map(typed).collect();
        if typed.is_empty() { self.parts.join("\n").trim().to_owned() } else { typed.join("\n") }
    }

    /// Says what was given beside words. Alone it is a prompt of its own.
    fn say_media<S: Sink>(&self, author: Author, delivery: Delivery, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
        if self.media.is_empty() || author == Author::Harness && !scribe.is_subagent() {
            return;
        }
        if self.parts.is_empty() {
            if delivery == Delivery::Typed {
                scribe.abandon_calls(stamp);
            }
            scribe.wordless_prompt(stamp);
        }
        if S::TEXT {
            self.media
                .iter()
                .filter_map(|value| Media::of(*value))
                .for_each(|media| scribe.media(stamp, &media.line()));
        }
    }
}

/// The name that a harness' list of sessions repeats of a prompt: what a person typed of it.
pub(super) fn prompt_of(text: &str) -> Option<String> {
    words::take_apart(text, false).into_iter().find_map(|words| match words {
        Words::Prompt(text) => Some(text.into_owned()),
        _ => None,
    })
}

fn has_prompt(text: &str) -> bool {
    words::take_apart(text, false).iter().any(|words| matches!(words, Words::Prompt(_)))
}

pub(super) fn say_part<S: Sink>(
    text: &str,
    author: Author,
    delivery: Delivery,
    stamp: &Stamp<'_>,
    scribe: &mut Scribe<'_, S>,
) {
    let parts = words::take_apart(text, author == Author::Person);
    // A subagent's prompts come from other agents: to it they are what a person's are to the main one.
    let by_harness = author == Author::Harness && parts.len() == 1 && !scribe.is_subagent();
    for words in parts {
        match words {
            Words::Prompt(text) if by_harness => scribe.notice(stamp, &text),
            Words::Prompt(text) => {
                if delivery == Delivery::Typed {
                    scribe.abandon_calls(stamp);
                }
                scribe.prompt(stamp, &text);
                let name = text.strip_prefix(RENAME).filter(|_| delivery != Delivery::Queued);
                name.into_iter().for_each(|name| scribe.renamed(stamp, name));
            }
            // They come with the delivery, and would stand twice.
            _ if delivery == Delivery::Queued => {}
            Words::Notice(text) => scribe.notice(stamp, &text),
            Words::Summary(text) => scribe.summary(stamp, text),
            Words::Interruption => scribe.interruption(stamp),
        }
    }
}
