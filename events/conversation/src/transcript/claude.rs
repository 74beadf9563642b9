//! Transcripts of Claude Code: JSON Lines, one content block per line, different in almost every version.
//!
//! The format is not published, so every field is optional, records of unknown kinds are counted, and only what is
//! understood is read. Each record is read field by field, without building it.

mod block;
mod copy;
mod ignored_names;
mod prompt_parts;
mod prompt_text;
mod queue;
mod usage;
mod verdict;

use crate::filter::result::Output;
use crate::item::{Link, Outcome, TitleSource};
use crate::record::Timestamp;

use memchr::memmem;

use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp, bounded_id};
use super::location::{self, Located};
use baton_redaction::raw_json::{Fields, Found, Text, Value, first_object};
use baton_words::WordList;

pub(super) use block::Block;
use prompt_parts::emit_part;
pub(super) use prompt_parts::{Author, Delivery, PromptParts};
use usage::Counts;
pub(super) use verdict::{Hint, QUESTION_TOOL, judge};

/// Versions in which a person's reason for a refusal is a result's whole text, like any error.
const BARE_REASONS_IN: &[u8] = b"2.0.";
/// A version that tells how the permission of each call was decided, as all later ones do.
const TELLS_DECISIONS: [u32; 3] = [2, 1, 330];
/// Model name of text that no model wrote: errors of the service, and fillers.
const SYNTHETIC: &[u8] = b"<synthetic>";
/// The harness' reply when there was nothing to say.
const FILLER: &str = "No response requested.";

/// The format of Claude Code.
pub(super) enum ClaudeCode {}

impl Format for ClaudeCode {
    const LAYOUT: Layout = Layout {
        folders: &["projects"],
        // `<slug>/<session>/subagents/workflows/<run>/`
        depth: 6,
        passed_over: &["tool-results", "memory"],
        ..Layout::LINES
    };

    fn classify(rel_path: &str) -> Option<Located> {
        location::claude(rel_path)
    }

    fn record(fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        record(fields, writer)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        kind_of(head)
    }
}

/// The relevant fields of a record.
#[derive(Clone, Copy, Default)]
struct Record<'r> {
    kind: Option<Text<'r>>,
    subtype: Option<Text<'r>>,
    at: Option<Text<'r>>,
    uuid: Option<Text<'r>>,
    session: Option<Text<'r>>,
    cwd: Option<Text<'r>>,
    branch: Option<Text<'r>>,
    version: Option<Text<'r>>,
    parent: Option<Text<'r>>,
    request: Option<Text<'r>>,
    sidechain: bool,
    meta: bool,
    compact_summary: bool,
    api_error: bool,
    message: Option<Value<'r>>,
    content: Option<Value<'r>>,
    attachment: Option<Value<'r>>,
    origin: Option<Value<'r>>,
    prompt_source: Option<Text<'r>>,
    operation: Option<Text<'r>>,
    title: Option<Text<'r>>,
    leaf: Option<Text<'r>>,
    denial: Option<Text<'r>>,
    /// True if it tells how the call's permission was decided.
    decided: bool,
    feedback: Option<Text<'r>>,
    copy: Option<Value<'r>>,
    data: Option<Value<'r>>,
    compaction: Option<Value<'r>>,
    forked_from: Option<Value<'r>>,
    other_session: Option<Text<'r>>,
}

impl<'r> Record<'r> {
    /// Reads the fields; `None` if the object is torn.
    fn read(fields: &mut Fields<'r>) -> Option<(Self, usize)> {
        let mut record = Self::default();
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"type" => record.kind = value.text(),
                b"subtype" => record.subtype = value.text(),
                b"timestamp" => record.at = value.text(),
                b"uuid" => record.uuid = value.text(),
                b"sessionId" => record.session = value.text(),
                b"cwd" => record.cwd = value.text(),
                b"gitBranch" => record.branch = value.text(),
                b"version" => record.version = value.text(),
                b"isSidechain" => record.sidechain = value.is_true(),
                b"isMeta" => record.meta = value.is_true(),
                b"isCompactSummary" => record.compact_summary = value.is_true(),
                b"isApiErrorMessage" => record.api_error = value.is_true(),
                b"message" => record.message = Some(value),
                b"content" => record.content = Some(value),
                b"attachment" => record.attachment = Some(value),
                b"origin" => record.origin = Some(value),
                b"promptSource" => record.prompt_source = value.text(),
                b"operation" => record.operation = value.text(),
                b"customTitle" | b"aiTitle" | b"summary" | b"lastPrompt" => record.title = value.text(),
                b"parentUuid" => record.parent = parent(value),
                b"requestId" => record.request = value.text(),
                b"toolUseResult" => record.copy = Some(value),
                b"data" => record.data = Some(value),
                b"compactMetadata" | b"microcompactMetadata" => record.compaction = Some(value),
                b"forkedFrom" => record.forked_from = Some(value),
                b"continuedInSessionId" | b"parentSessionId" => record.other_session = value.text(),
                b"leafUuid" => record.leaf = value.text(),
                b"toolDenialKind" => record.denial = value.text(),
                b"permissionDecision" => record.decided = true,
                b"userFeedback" => record.feedback = value.text(),
                _ => {}
            }
        }
        fields.end().map(|end| (record, end))
    }

    /// True if a person stopped a call that ran: to refuse one is a decision, which newer versions record.
    fn is_stopped(&self) -> bool {
        let is_decided = self.decided || self.feedback.is_some_and(|text| !text.is_blank());
        !is_decided && self.version.is_some_and(|version| version_of(version.raw()) >= TELLS_DECISIONS)
    }

    /// What the record says about a tool's result besides its text.
    fn hint(&self) -> Hint {
        match self.denial.map(Text::raw) {
            Some(kind) if kind.starts_with(b"user") && !self.is_stopped() => Hint::RefusedByPerson,
            Some(kind) if kind.starts_with(b"user") => Hint::CalledOff,
            Some(b"cancelled" | b"interrupted") => Hint::CalledOff,
            Some(kind) if !kind.is_empty() => Hint::RefusedByRule,
            _ if self.version.is_some_and(|version| version.raw().starts_with(BARE_REASONS_IN)) => {
                Hint::MayBeBareReason
            }
            _ => Hint::None,
        }
    }

    fn stamp(&self) -> Stamp<'r> {
        let at = self.at.and_then(|text| Timestamp::parse(&text.decode()));
        // A copy with an id of its own counts as the record that it was copied from.
        let copied = self.forked_from.and_then(|fork| fork.get(b"messageUuid")).and_then(Value::text);
        Stamp {
            at,
            uuid: copied.filter(|uuid| !uuid.is_blank()).or(self.uuid),
            message: None,
            below: None,
            sidechain: self.sidechain,
        }
    }
}

/// Reads one record. Returns the offset of its end; `None` if it is torn, in which case nothing is emitted.
fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
    let (record, end) = Record::read(&mut fields)?;
    let mut stamp = record.stamp();
    writer.begin(&stamp);
    record.session.into_iter().for_each(|id| writer.session(id));
    record.version.into_iter().for_each(|version| writer.seen.see_version(version.raw()));
    let kind = record.kind.map_or(&b""[..], Text::raw);
    writer.seen.count_type(kind);
    let forked_from = record.forked_from.and_then(|fork| fork.get(b"sessionId")).and_then(Value::text);
    forked_from.into_iter().for_each(|session| writer.link(&stamp, Link::ForkedFrom, session));
    match kind {
        b"user" => {
            location(&record, &stamp, writer);
            // Without an id of its own, a record without a parent says nothing about branches.
            stamp.below = record.parent.filter(|parent| !parent.is_blank() || record.uuid.is_some());
            user(&record, &stamp, writer);
        }
        b"assistant" => {
            location(&record, &stamp, writer);
            stamp.message = record.message.and_then(|message| message.get(b"id")).and_then(Value::text);
            assistant(&record, &stamp, writer);
        }
        b"attachment" => {
            location(&record, &stamp, writer);
            attachment(&record, &stamp, writer);
        }
        b"system" => {
            location(&record, &stamp, writer);
            system(&record, &stamp, writer);
        }
        b"queue-operation" => queue::operation(&record, &stamp, writer),
        b"custom-title" => title(&record, &stamp, TitleSource::Person, writer),
        b"ai-title" => title(&record, &stamp, TitleSource::Model, writer),
        b"last-prompt" => {
            let prompt = record.title.and_then(|text| prompt_parts::prompt_of(&text.decode()));
            prompt.into_iter().for_each(|prompt| writer.title(&stamp, TitleSource::LastPrompt, &prompt));
        }
        b"summary" => {
            // An old title, mostly of another session: the one with the record of this id.
            stamp.uuid = record.leaf;
            title(&record, &stamp, TitleSource::Summary, writer);
        }
        b"continued-in" => {
            record.other_session.into_iter().for_each(|id| writer.link(&stamp, Link::ContinuedIn, id));
        }
        // A subagent that began as a copy of its parent's context.
        b"fork-context-ref" if writer.is_subagent() => {
            record.other_session.into_iter().for_each(|id| writer.link(&stamp, Link::ForkedFrom, id));
        }
        b"fork-context-ref" => {}
        b"progress" => {
            let facts = record.data.and_then(|data| data.fields().find(|(key, _)| key.raw() == b"type"));
            count_if_unknown(b"progress", facts.and_then(|(_, kind)| kind.text()), &ignored_names::PROGRESS, writer);
        }
        silent if ignored_names::RECORDS.has_bytes(silent) => {}
        // For tests through the binary: a record on which the reader panics, always or only if it reads texts.
        #[cfg(debug_assertions)]
        b"baton:stumble" if writer.wants_text || record.subtype.is_none() => unreachable!("a test asked for it"),
        unknown => writer.seen.count_unknown(&String::from_utf8_lossy(unknown), 1),
    }
    writer.end(&stamp);
    Some(end)
}

/// Counts the kind if it is unknown within records of a type.
fn count_if_unknown(within: &[u8], kind: Option<Text<'_>>, known: &WordList, writer: &mut ItemWriter<'_>) {
    let kind = kind.map_or(&b""[..], Text::raw);
    if !known.has_bytes(kind) {
        let name = [within, kind].join(&b':');
        writer.seen.count_unknown(&String::from_utf8_lossy(&name), 1);
    }
}

/// Type of a record of which only the beginning is known, for lines too long to be read.
fn kind_of(head: &[u8]) -> Option<String> {
    let Found::Object(mut fields) = first_object(head) else {
        return None;
    };
    if let Some(kind) = fields.find_map(|(key, value)| (key.raw() == b"type").then(|| value.text())?) {
        return Some(kind.decode().into_owned());
    }
    // The type may come after the message, but the role comes before its long parts. A quoted role is escaped.
    let speaks = |role: &str| memmem::find(head, format!("\"role\":\"{role}\"").as_bytes());
    let roles = ["assistant", "user"].into_iter().filter_map(|role| Some((speaks(role)?, role)));
    roles.min().map(|(_, role)| role.to_owned())
}

/// Working directory and branch, which every record of the chain repeats.
fn location(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    record.cwd.into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    record.branch.into_iter().for_each(|branch| writer.branch(stamp, branch));
}

fn version_of(text: &[u8]) -> [u32; 3] {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).map(|digits| {
        let digits = digits.iter().take(9);
        digits.fold(0_u32, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    });
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

fn title(record: &Record<'_>, stamp: &Stamp<'_>, source: TitleSource, writer: &mut ItemWriter<'_>) {
    record.title.into_iter().for_each(|title| writer.title(stamp, source, &title.decode()));
}

/// Id of the parent record; empty if the record states that it has none.
fn parent(value: Value<'_>) -> Option<Text<'_>> {
    match value {
        Value::Null => Some(Text::new(b"")),
        other => other.text().filter(|text| !text.is_blank()),
    }
}

/// Content of a message; some tools write it in place of the message.
fn content_of(message: Value<'_>) -> Option<Value<'_>> {
    match message {
        Value::Object(_) => message.get(b"content"),
        bare => Some(bare),
    }
}

fn assistant(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(message) = record.message else {
        return;
    };
    let (mut model, mut stop, mut usage) = (None, None, None);
    let content = content_of(message);
    for (key, value) in message.fields() {
        match key.raw() {
            b"model" => model = value.text(),
            b"stop_reason" => stop = value.text(),
            b"usage" => usage = Some(value),
            _ => {}
        }
    }
    let synthetic = record.api_error || model.is_some_and(|model| model.raw() == SYNTHETIC);
    let ends_turn = stop.is_none_or(|stop| stop.raw() != b"tool_use");
    let text = |text: Text<'_>, writer: &mut ItemWriter<'_>| {
        if !synthetic {
            writer.reply(stamp, text, ends_turn);
        } else if writer.wants_text && text.decode() != FILLER {
            writer.notice(stamp, &text.decode());
        }
    };
    match content {
        Some(Value::Text(whole)) => text(whole, writer),
        Some(array) => {
            for value in array.elements() {
                let block = Block::read(value);
                match (value, block.kind) {
                    (Value::Text(bare), _) => text(bare, writer),
                    (_, b"text") => block.text.into_iter().for_each(|part| text(part, writer)),
                    _ => assistant_block(record, &block, stamp, writer),
                }
            }
        }
        None => {}
    }
    if !synthetic && let Some(counts) = usage.and_then(Counts::parse) {
        // A message without an id is identified by its record.
        let message = stamp.message.or(stamp.uuid);
        let mark = message.map(|message| counts.mark(message, record.request));
        let version = record.version.map(|version| version_of(version.raw()));
        writer.usage(stamp, mark, || counts.usage(model, record.request.map(bounded_id), version));
    }
}

fn assistant_block(record: &Record<'_>, block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match block.kind {
        b"thinking" => writer.thinking(stamp, block.thinking),
        b"redacted_thinking" => writer.thinking(stamp, None),
        b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => {
            writer.call(stamp, block.id, block.name, block.input.unwrap_or(Value::Null));
        }
        kind if kind.ends_with(b"_tool_result") => result(record, block, stamp, writer),
        kind => other_block(kind, writer),
    }
}

fn other_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    if !ignored_names::BLOCKS.has_bytes(kind) {
        writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
    }
}

fn user(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(content) = record.message.and_then(content_of) else {
        return;
    };
    let mut typed = PromptParts::default();
    match content {
        Value::Text(text) => typed.text(text),
        array => {
            for value in array.elements() {
                let block = Block::read(value);
                match (value, block.kind) {
                    (Value::Text(_), _) | (_, b"text" | b"image" | b"document") => typed.block(value, &block),
                    (_, kind) if kind.ends_with(b"tool_result") => result(record, &block, stamp, writer),
                    (_, kind) => other_block(kind, writer),
                }
            }
        }
    }
    if record.compact_summary {
        typed.emit_summary(stamp, writer);
    } else if !record.meta {
        typed.emit(Author::from_record(record), Delivery::Typed, stamp, writer);
    }
}

/// A tool's result, with what a person typed into it.
fn result(record: &Record<'_>, block: &Block<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !writer.note_result(block.answers) || !writer.wants_text {
        return;
    }
    let tool = writer.tool_of(block.answers);
    let mut output = Output::parse(block.content);
    let mut facts = record.copy.map(|copy| copy::facts(copy, tool)).unwrap_or_default();
    copy::add_from_text(&mut facts, tool, output.last_text());
    facts.exit_code = facts.exit_code.or(output.facts.exit_code);
    output.facts = facts;
    let failed = block.is_error || block.content.is_some_and(|content| content.get(b"error_code").is_some());
    let mut verdict = judge(tool, failed, &output, record.hint());
    if output.facts.interrupted && matches!(verdict.outcome, Outcome::Ok | Outcome::Failed) {
        verdict.outcome = Outcome::Interrupted;
    }
    output.spilled = writer.spilled.and_then(|spilled| spilled.text(&output.spilled_to()?));
    writer.result(stamp, block.answers, verdict.outcome, &output);
    // If the typed text also has a field of its own, that is more reliable.
    let feedback = record.feedback.filter(|text| !text.is_blank()).map(|text| text.decode().into_owned());
    feedback.or(verdict.answer).into_iter().for_each(|answer| writer.answer(stamp, &answer));
}

/// Of all attachments for the model, only prompts typed while it worked are conversation.
fn attachment(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let Some(attachment) = record.attachment else {
        return;
    };
    let field = |name: &[u8]| attachment.get(name);
    let kind = field(b"type").and_then(Value::text);
    if kind.map(Text::raw) != Some(b"queued_command") {
        return count_if_unknown(b"attachment", kind, &ignored_names::ATTACHMENTS, writer);
    }
    let author = match field(b"commandMode").and_then(Value::text).map(Text::raw) {
        Some(b"task-notification") => Author::Harness,
        _ => Author::from_record(&Record { origin: record.origin.or(field(b"origin")), ..*record }),
    };
    PromptParts::parse(field(b"prompt")).emit(author, Delivery::Between, stamp, writer);
}

/// Notices of the harness: a compaction, its summary for a person who comes back, and the echo of a slash command,
/// whose arguments a person typed.
fn system(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let content = || record.content.and_then(Value::text).map(Text::decode);
    match record.subtype.map(Text::raw) {
        Some(b"local_command") => {
            if let Some(text) = content().filter(|text| text.trim_start().starts_with('<')) {
                emit_part(&text, Author::Unknown, Delivery::Between, stamp, writer);
            }
        }
        Some(b"away_summary") => content().into_iter().for_each(|text| writer.notice(stamp, &text)),
        Some(b"compact_boundary" | b"microcompact_boundary") => compaction(record, stamp, writer),
        _ => count_if_unknown(b"system", record.subtype, &ignored_names::SYSTEM, writer),
    }
}

fn compaction(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let (mut trigger, mut before, mut after, mut saved) = (None, None, None, None);
    for (key, value) in record.compaction.unwrap_or(Value::Null).fields() {
        let count = Some(usage::number(value)).filter(|count| *count > 0);
        match key.raw() {
            b"trigger" => trigger = value.text(),
            b"preTokens" => before = count,
            b"postTokens" => after = count,
            b"tokensSaved" => saved = count,
            _ => {}
        }
    }
    let after = after.or_else(|| Some(before?.saturating_sub(saved?)));
    writer.compaction(stamp, &trigger.map(Text::decode).unwrap_or_default(), before, after);
}
