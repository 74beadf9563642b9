//! Transcripts of Codex CLI ("rollouts"): JSON Lines of `{timestamp, type, payload}`, in which most things are said
//! twice.
//!
//! What model and tools said is a `response_item`; what a person and the screen saw is an `event_msg`, or in newer
//! files an `item_completed` event. The first of the two is read, whichever it is; the second is recognised by a
//! fingerprint in [`Cursor::said`](super::Cursor::said). Files from before September 2025 have bare lines, which are
//! response items without an envelope. Everything is optional, and only what is understood is read.

mod call;
mod event;
mod item;
mod output;
mod patch;
mod response;
mod script;
mod user_text;

use std::borrow::Cow;

use crate::filter::one_line;
use crate::hash::Mark;
use crate::item::{Link, Usage};
use crate::record::Timestamp;

use super::cursor::Queued;
use super::format::{Format, Layout};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Located};
use baton_redaction::raw_json::{Fields, Found, Text, Value, first_object};

pub(super) use call::{apply_patch, patch_of};

/// Longest name of a model, in characters.
const MAX_MODEL_CHARS: usize = 100;
/// Records without conversation.
const SILENT: &[&[u8]] =
    &[b"world_state", b"inter_agent_communication_metadata", b"state", b"ghost_snapshot", b"token_usage_record"];

/// The format of Codex.
pub(super) enum Codex {}

impl Format for Codex {
    const LAYOUT: Layout = Layout {
        folders: &["sessions", "archived_sessions"],
        endings: &[".jsonl", ".jsonl.zst"],
        // `<year>/<month>/<day>/`
        depth: 4,
        compressed: Some(".zst"),
        ..Layout::LINES
    };

    fn classify(rel_path: &str) -> Option<Located> {
        location::codex(rel_path)
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        let (mut kind, mut at, mut payload, mut is_state) = (None, None, None, false);
        for (key, value) in fields.by_ref() {
            match key.raw() {
                b"type" => kind = value.text(),
                b"timestamp" => at = value.text(),
                b"payload" => payload = Some(value),
                b"record_type" => is_state = value.text().is_some_and(|kind| kind.raw() == b"state"),
                _ => {}
            }
        }
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let at = at.and_then(|text| Timestamp::parse(&text.decode()));
        let stamp = Stamp { at, ..Stamp::default() };
        let kind = match kind {
            Some(kind) => kind.raw(),
            None if is_state => b"state",
            // The first line of a bare file.
            None if payload.is_none() && whole.get(b"id").is_some() => b"session_meta",
            None => b"",
        };
        writer.begin(&stamp);
        writer.seen.count_type(kind);
        match payload {
            Some(payload) => enveloped(kind, payload, &stamp, writer),
            None => bare(kind, whole, &stamp, writer),
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        let Found::Object(mut fields) = first_object(head) else {
            return None;
        };
        let kind = fields.find_map(|(key, value)| (key.raw() == b"type").then(|| value.text())?)?;
        Some(kind.decode().into_owned())
    }
}

fn enveloped(kind: &[u8], payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match kind {
        b"session_meta" => session_meta(payload, stamp, writer),
        b"turn_context" => turn_context(payload, stamp, writer),
        b"response_item" => response::read(payload, stamp, writer),
        b"event_msg" => event::read(payload, stamp, writer),
        b"compacted" => compacted(payload, stamp, writer),
        b"inter_agent_communication" => from_agent(payload, stamp, writer),
        silent if SILENT.contains(&silent) => {}
        other => writer.seen.count_unknown(&String::from_utf8_lossy(other), 1),
    }
}

/// A line without an envelope, as old versions wrote it.
fn bare(kind: &[u8], whole: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    match kind {
        b"session_meta" => session_meta(whole, stamp, writer),
        silent if SILENT.contains(&silent) => {}
        _ if response::knows(kind) => response::read(whole, stamp, writer),
        other => writer.seen.count_unknown(&String::from_utf8_lossy(other), 1),
    }
}

/// Identity of the session. It is repeated when the session is resumed, and a copy of another session contains that
/// one's too, so only the first line counts.
fn session_meta(meta: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 7] =
        [b"cwd", b"git", b"forked_from_id", b"parent_thread_id", b"source", b"thread_source", b"cli_version"];
    let [cwd, git, forked_from, parent, source, thread_source, version] = pick(meta, names);
    let remote = git.and_then(|git| text(git.get(b"repository_url")));
    remote.filter(|_| writer.seen.cwd.is_none()).into_iter().for_each(|remote| writer.remote(&remote));
    text(version).into_iter().for_each(|version| writer.seen.see_version(version.raw()));
    text(cwd).into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    git.and_then(|git| text(git.get(b"branch"))).into_iter().for_each(|branch| writer.branch(stamp, branch));
    if writer.cursor.line != 1 {
        return;
    }
    let subagent = source.and_then(|source| source.get(b"subagent"));
    let spawned_by = subagent.and_then(|how| text(how.get(b"thread_spawn")?.get(b"parent_thread_id")));
    let is_subagent = subagent.is_some() || text(thread_source).is_some_and(|source| source.raw() == b"subagent");
    let (parent, forked_from) = (spawned_by.or(text(parent)), text(forked_from));
    match parent.or(forked_from) {
        Some(parent) if is_subagent => writer.session(parent),
        _ => {}
    }
    forked_from.filter(|_| !is_subagent).into_iter().for_each(|id| writer.link(stamp, Link::ForkedFrom, id));
}

/// Working directory and model of a turn; the token counts that follow do not name the model.
fn turn_context(context: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [cwd, model] = pick(context, [b"cwd", b"model"]);
    text(cwd).into_iter().for_each(|cwd| writer.cwd(stamp, cwd));
    if writer.wants_text
        && let Some(model) = text(model).map(|model| one_line(&model.decode(), MAX_MODEL_CHARS))
        && model != writer.model()
    {
        writer.usage(stamp, None, || Usage { model, ..Usage::default() });
    }
}

/// A compaction: its summary repeats what was said, and so does the history beside it. If the model's last message was
/// that summary, it is withdrawn, because it was not a reply.
fn compacted(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    // The trigger is not recorded.
    writer.compaction(stamp, "", None, None);
    let Some(message) = text(payload.get(b"message")).filter(|message| !message.is_blank()) else { return };
    let marks: Vec<Mark> = summaries(message).map(|summary| only(Repeated::LastReply, summary)).collect();
    if let Some(reply) = writer.cursor.queue.take_first(|reply| marks.contains(&reply.mark)) {
        writer.withdraw(stamp, reply);
    }
    if writer.wants_text {
        writer.summary(stamp, &message.decode());
    }
}

/// Texts that the model may have written as the summary: the message, or what follows its introductory line.
fn summaries(message: Text<'_>) -> impl Iterator<Item = &[u8]> {
    let whole = message.trim_end().raw();
    let behind = message.trim_end().after(b"\\n").map(Text::raw).map(|mut rest| {
        while let Some(line) = rest.strip_prefix(b"\\n") {
            rest = line;
        }
        rest
    });
    [Some(whole), behind].into_iter().flatten()
}

/// Remembers the agent's last message, because a compaction may show that it was the summary. This format has no queue,
/// so the cursor's queue is used.
fn remember_reply(reply: Text<'_>, writer: &mut ItemWriter<'_>) {
    let (mark, line) = (only(Repeated::LastReply, reply.trim_end().raw()), writer.cursor.line);
    writer.cursor.queue.clear();
    writer.cursor.queue.push(Queued { mark, line });
}

/// Text of another agent, as a notice.
fn from_agent(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !writer.wants_text {
        return;
    }
    let [author, content] = pick(payload, [b"author", b"content"]);
    let mut words = String::new();
    match content {
        Some(Value::Text(content)) => words.push_str(&content.decode()),
        Some(blocks) => {
            let texts = blocks.elements().filter_map(|block| text(block.get(b"text")));
            texts.for_each(|part| words.push_str(&part.decode()));
        }
        None => {}
    }
    let author = text(author).map_or(Cow::Borrowed("another agent"), Text::decode);
    if !words.trim().is_empty() {
        writer.notice(stamp, &format!("{author}: {}", words.trim()));
    }
}

/// The fields with these names, in one pass; the last one if a name occurs twice.
pub(super) fn pick<'r, const N: usize>(object: Value<'r>, names: [&[u8]; N]) -> [Option<Value<'r>>; N] {
    let mut found = [None; N];
    for (key, value) in object.fields() {
        if let Some(at) = names.iter().position(|name| *name == key.raw()) {
            found[at] = Some(value).filter(|value| *value != Value::Null);
        }
    }
    found
}

pub(super) fn text(value: Option<Value<'_>>) -> Option<Text<'_>> {
    value.and_then(Value::text)
}

/// A number, or one in a string.
pub(super) fn number(value: Option<Value<'_>>) -> Option<u64> {
    let digits = match value? {
        Value::Number(digits) => digits,
        Value::Text(text) => text.raw(),
        _ => return None,
    };
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}

/// A duration as `{secs, nanos}`, or in seconds.
fn duration_ms(value: Option<Value<'_>>) -> Option<u64> {
    match value? {
        object @ Value::Object(_) => {
            let [secs, nanos] = pick(object, [b"secs", b"nanos"]);
            Some(number(secs)?.checked_mul(1_000)?.saturating_add(number(nanos).unwrap_or(0) / 1_000_000))
        }
        Value::Number(digits) => output::seconds(std::str::from_utf8(digits).ok()?),
        // `1.5s`, as durations are displayed.
        Value::Text(text) => output::seconds(text.decode().trim_end_matches('s')),
        _ => None,
    }
}

/// Records that may contain the same thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    /// A response item.
    Response = b'r' as isize,
    /// An event for the screen.
    Event = b'e' as isize,
    /// A completed item.
    Item = b'i' as isize,
}

/// Things that may be said twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    Prompt = b'p' as isize,
    Reply = b'a' as isize,
    Thinking = b't' as isize,
    /// Identified by what was searched for.
    Search = b's' as isize,
    /// Identified by the call's id.
    Result = b'o' as isize,
    /// Identified by the session's sum of tokens.
    Tokens = b'n' as isize,
    /// The agent's last message.
    LastReply = b'l' as isize,
    /// The session has records of what its scripts do.
    Scripts = b'x' as isize,
}

/// True if this is new. If another channel said it before, this is its repetition; the same channel says it anew.
fn is_news(what: Repeated, channel: Channel, said: &[u8], writer: &mut ItemWriter<'_>) -> bool {
    let mark = |channel: Channel| {
        let mut key = vec![what as u8, channel as u8];
        key.extend_from_slice(said);
        Mark::digest(&key)
    };
    let others = [Channel::Response, Channel::Event, Channel::Item].into_iter().filter(|other| *other != channel);
    for other in others {
        if writer.cursor.said.take(mark(other)) {
            return false;
        }
    }
    writer.cursor.said.push(mark(channel));
    true
}

/// As [`is_news`], for things that are never said anew, whatever the channel.
fn is_first(what: Repeated, said: &[u8], writer: &mut ItemWriter<'_>) -> bool {
    let mark = only(what, said);
    let is_first = !writer.cursor.said.contains(mark);
    writer.cursor.said.push(mark);
    is_first
}

/// True if it was said before, for things that are said once.
fn was_said(what: Repeated, said: &[u8], writer: &ItemWriter<'_>) -> bool {
    writer.cursor.said.contains(only(what, said))
}

fn only(what: Repeated, said: &[u8]) -> Mark {
    let mut key = vec![what as u8];
    key.extend_from_slice(said);
    Mark::digest(&key)
}

/// Normalises white space, so that two versions of a text are equal.
fn plain(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
