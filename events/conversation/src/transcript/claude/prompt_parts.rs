//! Texts of a record that a person may have typed, and the evidence for that.

use crate::filter::media::Media;
use crate::filter::without_recall;
use crate::transcript::item_writer::{ItemWriter, Stamp};
use baton_redaction::raw_json::{Text, Value};

use super::prompt_text::{self, TextPart};
use super::{Block, Record};

/// Command by which a person names the session; the name follows.
const RENAME: &str = "/rename ";

/// Author of a record, as far as it says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transcript) enum Author {
    Person,
    Harness,
    Unknown,
}

impl Author {
    pub(super) fn from_record(record: &Record<'_>) -> Self {
        let origin = record.origin.and_then(|origin| origin.get(b"kind")).and_then(Value::text).map(Text::raw);
        match (origin, record.prompt_source.map(Text::raw)) {
            (Some(b"human"), _) | (None, Some(b"typed" | b"queued")) => Self::Person,
            (Some(_), _) | (None, Some(b"system")) => Self::Harness,
            _ => Self::Unknown,
        }
    }
}

/// How a text reached the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transcript) enum Delivery {
    /// As a turn of its own.
    Typed,
    /// While the agent was working.
    Between,
    /// Not yet: it is in the queue.
    Queued,
}

/// Texts and attachments of one record that a person may have given.
#[derive(Default)]
pub(in crate::transcript) struct PromptParts<'r> {
    parts: Vec<String>,
    media: Vec<Value<'r>>,
}

impl<'r> PromptParts<'r> {
    /// Reads a string, or an array of blocks.
    pub(super) fn parse(content: Option<Value<'r>>) -> Self {
        let mut typed = Self::default();
        match content {
            Some(Value::Text(text)) => typed.text(text),
            Some(array) => array.elements().for_each(|value| typed.block(value, &Block::read(value))),
            None => {}
        }
        typed
    }

    /// Adds a block of an array, if it can be a person's; some tools write just a text in its place.
    pub(in crate::transcript) fn block(&mut self, value: Value<'r>, block: &Block<'r>) {
        match (value, block.kind) {
            (Value::Text(bare), _) => self.text(bare),
            (_, b"image" | b"document") => self.media.push(value),
            _ => block.text.into_iter().for_each(|text| self.text(text)),
        }
    }

    pub(in crate::transcript) fn text(&mut self, text: Text<'_>) {
        if !text.is_blank() {
            self.parts.push(without_recall(&text.decode()).into_owned());
        }
    }

    /// Emits the texts as the harness' summary.
    pub(super) fn emit_summary(&self, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        self.parts.iter().for_each(|text| writer.summary(stamp, text));
    }

    /// Emits the texts and attachments.
    pub(in crate::transcript) fn emit(
        &self,
        author: Author,
        delivery: Delivery,
        stamp: &Stamp<'_>,
        writer: &mut ItemWriter<'_>,
    ) {
        if !writer.is_subagent_record(stamp) {
            writer.withdraw_queued(stamp);
        }
        self.parts.iter().for_each(|part| emit_part(part, author, delivery, stamp, writer));
        self.emit_media(author, delivery, stamp, writer);
    }

    /// Emits the prompts of a queue entry. Attachments come with the delivery.
    pub(super) fn emit_queued(&self, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        if self.parts.iter().any(|part| has_prompt(part)) {
            writer.queued(stamp, |writer| {
                self.parts.iter().for_each(|part| emit_part(part, Author::Unknown, Delivery::Queued, stamp, writer));
            });
        }
    }

    /// The text that identifies an entry of the queue: a person's text if there is any, whatever the harness put around
    /// it.
    pub(super) fn words(&self) -> String {
        let typed = |part: &String| {
            prompt_text::split(part, false).into_iter().find_map(|words| match words {
                TextPart::Prompt(text) => Some(text.into_owned()),
                _ => None,
            })
        };
        let typed: Vec<String> = self.parts.iter().filter_map(typed).collect();
        if typed.is_empty() { self.parts.join("\n").trim().to_owned() } else { typed.join("\n") }
    }

    /// Emits the attachments. Without text they are a prompt of their own.
    fn emit_media(&self, author: Author, delivery: Delivery, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
        if self.media.is_empty() || author == Author::Harness && !writer.is_subagent() {
            return;
        }
        if self.parts.is_empty() {
            if delivery == Delivery::Typed {
                writer.abandon_calls(stamp);
            }
            writer.wordless_prompt(stamp);
        }
        if writer.wants_text {
            self.media
                .iter()
                .filter_map(|value| Media::parse(*value))
                .for_each(|media| writer.media(stamp, &media.line()));
        }
    }
}

/// The part of a prompt that a person typed; for the prompt that the harness repeats in its list of sessions.
pub(super) fn prompt_of(text: &str) -> Option<String> {
    prompt_text::split(text, false).into_iter().find_map(|words| match words {
        TextPart::Prompt(text) => Some(text.into_owned()),
        _ => None,
    })
}

fn has_prompt(text: &str) -> bool {
    prompt_text::split(text, false).iter().any(|words| matches!(words, TextPart::Prompt(_)))
}

pub(super) fn emit_part(
    text: &str,
    author: Author,
    delivery: Delivery,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let parts = prompt_text::split(text, author == Author::Person);
    // A subagent's prompts come from other agents; to it they are what a person's prompts are to the main agent.
    let by_harness = author == Author::Harness && parts.len() == 1 && !writer.is_subagent();
    for words in parts {
        match words {
            TextPart::Prompt(text) if by_harness => writer.notice(stamp, &text),
            TextPart::Prompt(text) => {
                if delivery == Delivery::Typed {
                    writer.abandon_calls(stamp);
                }
                writer.prompt(stamp, &text);
                let name = text.strip_prefix(RENAME).filter(|_| delivery != Delivery::Queued);
                name.into_iter().for_each(|name| writer.renamed(stamp, name));
            }
            // These come with the delivery, and would otherwise be repeated.
            _ if delivery == Delivery::Queued => {}
            TextPart::Notice(text) => writer.notice(stamp, &text),
            TextPart::Summary(text) => writer.summary(stamp, text),
            TextPart::Interruption => writer.interruption(stamp),
            TextPart::Command(command) => writer.persons_command(stamp, command),
            TextPart::Output(output) => writer.persons_output(stamp, &output, None),
        }
    }
}
