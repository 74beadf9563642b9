//! The common part of all agents' readers: counts, remembers, filters and emits items.
//!
//! A format's reader knows the structure of its records; everything that must be the same for all agents is here.
//! Without a sink that wants texts, nothing is decoded unnecessarily.

use std::borrow::Cow;
mod persons_shell;
mod queue;
mod trail;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::filter::open_calls::OpenCalls;
use crate::filter::result::{Output, summarise};
use crate::filter::{
    MAX_NAME_CHARS, MAX_NOTICE_CHARS, MAX_VALUE_CHARS, edit, git_output, input, is_own_tool, one_line, stored_head,
    stored_text, without_colours,
};
use crate::hash::Mark;
use crate::item::{Act, Body, Call, Compaction, Edit, INTERRUPTED, Item, Link, Meta, Outcome, TitleSource, Usage};
use crate::record::Timestamp;
use baton_redaction::redact_owned;

use super::cursor::Cursor;
use super::observation::Observation;
use super::spilled::Spilled;
use super::tools::Tools;
use super::{Sink, Source};
use baton_redaction::raw_json::{Text, Value};

/// Longest plan, in characters.
const MAX_PLAN_CHARS: usize = 20_000;
/// Longest command line that runs git, in characters.
const MAX_GIT_LINE_CHARS: usize = 2_000;
/// Longest title, branch or path in an item, in characters.
const MAX_META_CHARS: usize = 1_000;
/// Longest path and id in an observation, in bytes; a longer one is ignored.
const MAX_FACT_BYTES: usize = 4_096;
/// Longest record, message and call id in an item, in bytes; a longer one is replaced by its fingerprint.
const MAX_ID_BYTES: usize = 128;
/// Longest trigger of a compaction, in characters.
const MAX_TRIGGER_CHARS: usize = 40;
/// Item text for a line on which the reader panicked.
pub(super) const UNREAD: &str = "[baton: this record could not be read]";
/// Name under which such lines are counted.
pub(super) const UNREAD_KIND: &str = "unread";

/// Common properties of all items of a record.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stamp<'r> {
    pub(crate) at: Option<Timestamp>,
    pub(crate) uuid: Option<Text<'r>>,
    pub(crate) message: Option<Text<'r>>,
    /// Parent record of the record's prompt; blank if it has none.
    pub(crate) below: Option<Text<'r>>,
    /// True if the record is marked as a subagent's.
    pub(crate) sidechain: bool,
}

/// What the current record contains.
#[derive(Default)]
struct RecordContents {
    conversation: bool,
    prompt: bool,
    text: bool,
}

pub(crate) struct ItemWriter<'a> {
    pub(crate) cursor: Cursor,
    pub(crate) seen: Observation,
    open: OpenCalls,
    /// Cursor and calls before the current line.
    before: (Cursor, OpenCalls),
    /// Items of the current line so far.
    said: Vec<Item>,
    sink: &'a mut dyn Sink,
    /// True if the sink wants items; if not, only the text needed for counting is decoded.
    pub(crate) wants_text: bool,
    /// Reads outputs that are too large for the transcript.
    pub(crate) spilled: Option<&'a dyn Spilled>,
    subagent: bool,
    tools: &'static Tools,
    contents: RecordContents,
    /// The last working directory and branch as written, because nearly every record repeats them.
    last_cwd: Vec<u8>,
    last_branch: Vec<u8>,
}

impl<'a> ItemWriter<'a> {
    pub(crate) fn new(cursor: Cursor, open: OpenCalls, source: Source, sink: &'a mut dyn Sink) -> Self {
        Self {
            cursor,
            seen: Observation::default(),
            open,
            before: Default::default(),
            said: Vec::new(),
            wants_text: sink.wants_text(),
            sink,
            spilled: None,
            subagent: source.subagent,
            tools: super::tools(source.agent),
            contents: RecordContents::default(),
            last_cwd: Vec::new(),
            last_branch: Vec::new(),
        }
    }

    /// Reads one line by `step` and then emits its items. A step that panics leaves the state as before, and one item
    /// that marks the line.
    pub(crate) fn line<T: Default>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        self.before.0.clone_from(&self.cursor);
        self.before.1.clone_from(&self.open);
        let read = catch_unwind(AssertUnwindSafe(|| step(self))).unwrap_or_else(|_| {
            (self.cursor, self.open) = std::mem::take(&mut self.before);
            self.said.clear();
            self.last_cwd.clear();
            self.last_branch.clear();
            self.seen.count_unknown(UNREAD_KIND, 1);
            self.emit(&Stamp::default(), || Some(Body::Notice { text: UNREAD.to_owned() }));
            T::default()
        });
        self.said.drain(..).for_each(|item| self.sink.item(item));
        read
    }

    pub(crate) fn open_calls(&self) -> OpenCalls {
        self.open.clone()
    }

    /// Begins a record.
    pub(crate) fn begin(&mut self, stamp: &Stamp<'_>) {
        self.contents = RecordContents::default();
        self.seen.records += 1;
        self.seen.see(stamp.at);
    }

    /// Ends the record and counts its contents, each prompt and message once.
    pub(crate) fn end(&mut self, stamp: &Stamp<'_>) {
        if self.contents.conversation {
            self.seen.conversation += 1;
            self.seen.last_conversation_at = self.seen.last_conversation_at.max(stamp.at);
        }
        if self.is_subagent_record(stamp) {
            return;
        }
        if self.contents.prompt {
            self.seen.prompts += 1;
            self.count_message();
        }
        if self.contents.text {
            let mark = stamp.message.map(|id| Mark::digest(id.raw()));
            if mark.is_none_or(|mark| !self.cursor.recent_messages.contains(mark)) {
                self.count_message();
            }
            mark.into_iter().for_each(|mark| self.cursor.recent_messages.push(mark));
        }
    }

    /// Counts cannot be taken back, so a message is left out for each withdrawn one.
    fn count_message(&mut self) {
        match self.cursor.overcounted.checked_sub(1) {
            Some(left) => self.cursor.overcounted = left,
            None => self.seen.messages += 1,
        }
    }

    /// True if the whole file is a subagent's.
    pub(crate) fn is_subagent(&self) -> bool {
        self.subagent
    }

    /// True if the record belongs to a subagent's conversation inside another's file.
    pub(crate) fn is_subagent_record(&self, stamp: &Stamp<'_>) -> bool {
        stamp.sidechain && !self.subagent
    }

    /// The working directory of the record.
    pub(crate) fn cwd(&mut self, stamp: &Stamp<'_>, cwd: Text<'_>) {
        if self.last_cwd == cwd.raw() {
            return;
        }
        let written = cwd.raw();
        let cwd = cwd.decode();
        if self.seen.cwd.is_none() && !cwd.is_empty() && cwd.len() <= MAX_FACT_BYTES {
            self.seen.cwd = Some(cwd.clone().into_owned());
        }
        if !cwd.is_empty() && !self.is_subagent_record(stamp) {
            self.last_cwd = written.to_owned();
            if self.cursor.enter_cwd(&cwd) {
                self.meta(stamp, &cwd, Meta::Cwd);
            }
        }
    }

    /// The address of the repository in which the session begins.
    pub(crate) fn remote(&mut self, remote: &Text<'_>) {
        let remote = remote.decode();
        if !remote.is_empty() && remote.len() <= MAX_FACT_BYTES {
            self.seen.remote = Some(remote.into_owned());
        }
    }

    /// The git branch of the record.
    pub(crate) fn branch(&mut self, stamp: &Stamp<'_>, branch: Text<'_>) {
        if self.last_branch == branch.raw() || self.is_subagent_record(stamp) {
            return;
        }
        self.last_branch = branch.raw().to_owned();
        let branch = branch.decode();
        if !branch.is_empty() && self.cursor.enter_branch(&branch) {
            self.meta(stamp, &branch, Meta::Branch);
        }
    }

    /// A title of the session.
    pub(crate) fn title(&mut self, stamp: &Stamp<'_>, source: TitleSource, title: &str) {
        if !title.trim().is_empty() && self.cursor.enter_title(source, title) {
            self.meta(stamp, title, |text| Meta::Title { source, text });
        }
    }

    /// A name that a person gave to the session by a command.
    pub(crate) fn renamed(&mut self, stamp: &Stamp<'_>, name: &str) {
        if !self.is_subagent_record(stamp) {
            self.title(stamp, TitleSource::Person, name.trim());
        }
    }

    /// The session named in the record.
    pub(crate) fn session(&mut self, id: Text<'_>) {
        if self.seen.agent_session.is_none() && !id.is_blank() && id.raw().len() <= MAX_ID_BYTES {
            self.seen.agent_session = Some(id.decode().into_owned());
        }
    }

    /// A typed prompt.
    pub(crate) fn prompt(&mut self, stamp: &Stamp<'_>, text: &str) {
        self.wordless_prompt(stamp);
        self.emit(stamp, || stored_text(text).map(|text| Body::Prompt { text }));
    }

    /// A prompt without text so far; it may consist of a picture only.
    pub(crate) fn wordless_prompt(&mut self, stamp: &Stamp<'_>) {
        let first = !std::mem::replace(&mut self.contents.prompt, true);
        self.contents.conversation = true;
        self.cursor.working = true;
        if let Some(parent) = stamp.below.filter(|_| first && !self.is_subagent_record(stamp)) {
            self.continue_below(stamp, parent);
        }
    }

    /// The conversation goes on below a record: what came since the last prompt below it is abandoned.
    pub(crate) fn continue_below(&mut self, stamp: &Stamp<'_>, parent: Text<'_>) {
        self.emit(stamp, || Some(Body::Meta(Meta::Below(bounded_id(parent)))));
    }

    /// An attachment of a prompt.
    pub(crate) fn media(&mut self, stamp: &Stamp<'_>, line: &str) {
        self.emit(stamp, || Some(Body::Media { text: line.to_owned() }));
    }

    /// Token counts of the message; `mark`, if known, identifies counts that were seen before.
    pub(crate) fn usage(&mut self, stamp: &Stamp<'_>, mark: Option<Mark>, usage: impl FnOnce() -> Usage) {
        if mark.is_none_or(|mark| self.cursor.remember_said(mark)) {
            self.emit(stamp, || Some(Body::Meta(Meta::Usage(usage()))));
        }
    }

    /// The model that the next messages are of, unless it was named before.
    pub(crate) fn named_model(&mut self, stamp: &Stamp<'_>, model: Text<'_>) {
        if self.wants_text && !model.is_blank() {
            let model = one_line(&model.decode(), MAX_NAME_CHARS);
            if model != self.model() {
                self.usage(stamp, None, || Usage { model, ..Usage::default() });
            }
        }
    }

    /// A compaction of the conversation.
    pub(crate) fn compaction(&mut self, stamp: &Stamp<'_>, trigger: &str, before: Option<u64>, after: Option<u64>) {
        self.emit(stamp, || {
            let trigger = one_line(trigger, MAX_TRIGGER_CHARS);
            Some(Body::Meta(Meta::Compaction(Compaction { trigger, tokens_before: before, tokens_after: after })))
        });
    }

    /// A reference to another session, which every line may repeat.
    pub(crate) fn link(&mut self, stamp: &Stamp<'_>, link: Link, session: Text<'_>) {
        let name = [link.as_str().as_bytes(), session.raw()].join(&0);
        if !session.is_blank() && self.cursor.remember_said(Mark::digest(&name)) {
            self.emit(stamp, || Some(Body::Meta(Meta::Link { link, session: bounded_id(session) })));
        }
    }

    /// A new turn begins: calls without a result will not get one.
    pub(crate) fn abandon_calls(&mut self, stamp: &Stamp<'_>) {
        if !self.is_subagent_record(stamp) {
            self.cursor.open_calls.clear();
        }
    }

    /// A person interrupted the agent.
    pub(crate) fn interruption(&mut self, stamp: &Stamp<'_>) {
        self.abandon_calls(stamp);
        self.cursor.working = false;
        self.notice(stamp, INTERRUPTED);
    }

    /// Text that a person typed into a tool's result.
    pub(crate) fn answer(&mut self, stamp: &Stamp<'_>, text: &str) {
        self.contents.conversation = true;
        self.emit(stamp, || stored_text(text).map(|text| Body::Answer { text }));
    }

    /// Text of the agent. `ends_turn`: the agent now waits for a person.
    pub(crate) fn reply(&mut self, stamp: &Stamp<'_>, text: Text<'_>, ends_turn: bool) {
        self.contents.conversation = true;
        self.cursor.working = !ends_turn || !self.cursor.open_calls.is_empty();
        if !text.is_blank() {
            self.contents.text = true;
            self.emit(stamp, || stored_text(&text.decode()).map(|text| Body::Reply { text }));
        }
    }

    /// Thinking of the agent; its text may be hidden.
    pub(crate) fn thinking(&mut self, stamp: &Stamp<'_>, text: Option<Text<'_>>) {
        self.contents.conversation = true;
        self.cursor.working = true;
        if let Some(text) = text.filter(|text| !text.is_blank()) {
            self.emit(stamp, || stored_text(&text.decode()).map(|text| Body::Thinking { text }));
        }
    }

    /// A tool call.
    pub(crate) fn call(
        &mut self,
        stamp: &Stamp<'_>,
        id: Option<Text<'_>>,
        name: Option<Text<'_>>,
        parameters: Value<'_>,
    ) {
        let name = name.map_or(Cow::Borrowed(""), Text::decode);
        self.call_as(self.tools.act(&name), stamp, id, &name, parameters);
    }

    /// A tool call whose act is known otherwise than by the tool's name.
    pub(crate) fn call_as(
        &mut self,
        act: Act,
        stamp: &Stamp<'_>,
        id: Option<Text<'_>>,
        name: &str,
        parameters: Value<'_>,
    ) {
        if !self.note_call(id, name) || !self.wants_text {
            return;
        }
        let renamed = if matches!(act, Act::Mcp | Act::Other) { None } else { self.tools.renamed(parameters) };
        let parameters = renamed.as_deref().map_or(parameters, |json| Value::Object(json.as_bytes().into()));
        let edit = if act == Act::Edit { edit::effect_of(parameters) } else { None };
        self.emit_call(act, stamp, id, name, parameters, edit);
    }

    /// Notes a call of a tool. Returns true if the call becomes an item, which Baton's own tools do not.
    pub(crate) fn note_call(&mut self, id: Option<Text<'_>>, name: &str) -> bool {
        let mark = id.map(|id| Mark::digest(id.raw()));
        self.cursor.working = true;
        if is_own_tool(name) {
            mark.into_iter().for_each(|mark| self.cursor.own_calls.push(mark));
            return false;
        }
        self.contents.conversation = true;
        // With two writers the result may come before the call, which then is not in flight.
        if let Some(mark) = mark.filter(|mark| !self.cursor.said.contains(early(*mark))) {
            self.cursor.open_calls.push(mark);
        }
        true
    }

    /// Emits a call with its parameters and its effect on a file.
    pub(crate) fn emit_call(
        &mut self,
        act: Act,
        stamp: &Stamp<'_>,
        id: Option<Text<'_>>,
        name: &str,
        parameters: Value<'_>,
        edit: Option<Edit>,
    ) {
        self.emit(stamp, || {
            let (id, input) = (id.map(bounded_id).unwrap_or_default(), input::parameters(parameters));
            let command = parameters.get(b"command").and_then(Value::text).filter(|_| act == Act::Shell);
            let command = command.map(Text::decode);
            let commit = command.as_deref().and_then(git_output::subject);
            let is_cut = |line: &&str| line.chars().nth(MAX_VALUE_CHARS).is_some();
            let git_line = command.as_deref().filter(is_cut).filter(|line| line.contains("git "));
            let git_line = git_line.and_then(|line| stored_head(line, MAX_GIT_LINE_CHARS));
            let plan = parameters.get(b"plan").and_then(Value::text).filter(|_| act == Act::Plan);
            let plan = plan.and_then(|plan| stored_head(&plan.decode(), MAX_PLAN_CHARS));
            let name = one_line(name, MAX_NAME_CHARS);
            Some(Body::Call(Call { act, id, name, input, edit, commit, plan, git_line }))
        });
    }

    /// Ids of the unanswered further parts of a call.
    pub(crate) fn parts_of(&self, id: Text<'_>) -> Vec<Box<str>> {
        self.open.parts(&bounded_id(id))
    }

    /// The last model named; empty if none was, or if no items are emitted.
    pub(crate) fn model(&self) -> &str {
        self.open.model()
    }

    /// Notes the result of a call. Returns true if the result becomes an item, which those of Baton's own tools do not.
    pub(crate) fn note_result(&mut self, id: Option<Text<'_>>) -> bool {
        let mark = id.map(|id| Mark::digest(id.raw()));
        self.cursor.working = true;
        if mark.is_some_and(|mark| self.cursor.own_calls.take(mark)) {
            return false;
        }
        if let Some(mark) = mark
            && !self.cursor.open_calls.take(mark)
        {
            self.cursor.remember_said(early(mark));
        }
        self.contents.conversation = true;
        true
    }

    /// Name of the tool that a result belongs to, if the call is known.
    pub(crate) fn tool_of(&self, id: Option<Text<'_>>) -> Option<&str> {
        self.open.get(&bounded_id(id?)).map(|call| call.name.as_str())
    }

    /// Emits a tool's result as one line.
    pub(crate) fn result(&mut self, stamp: &Stamp<'_>, id: Option<Text<'_>>, outcome: Outcome, output: &Output<'_>) {
        if self.wants_text {
            let id = id.map(bounded_id).unwrap_or_default();
            let result = summarise(&id, self.open.get(&id), outcome, output);
            self.emit(stamp, || Some(Body::Result(result)));
        }
    }

    /// The harness' summary of what it compacted away.
    pub(crate) fn summary(&mut self, stamp: &Stamp<'_>, text: &str) {
        self.emit(stamp, || stored_text(text).map(|text| Body::Summary { text }));
    }

    /// A message of the harness.
    pub(crate) fn notice(&mut self, stamp: &Stamp<'_>, text: &str) {
        self.emit(stamp, || stored_head(&without_colours(text), MAX_NOTICE_CHARS).map(|text| Body::Notice { text }));
    }

    fn meta(&mut self, stamp: &Stamp<'_>, text: &str, meta: impl FnOnce(String) -> Meta) {
        self.emit(stamp, || stored_head(text, MAX_META_CHARS).map(|text| Body::Meta(meta(text))));
    }

    fn emit(&mut self, stamp: &Stamp<'_>, body: impl FnOnce() -> Option<Body>) {
        if !self.wants_text {
            return;
        }
        if let Some(body) = body() {
            let item = Item {
                line: self.cursor.line,
                at: stamp.at,
                uuid: stamp.uuid.map(bounded_id),
                message: stamp.message.map(bounded_id),
                sidechain: self.is_subagent_record(stamp),
                body,
            };
            self.open.note(&item);
            self.said.push(item);
        }
    }
}

/// Fingerprint of a result whose call was not in flight.
fn early(call: Mark) -> Mark {
    Mark(!call.0)
}

/// An id as it is stored: redacted and bounded.
pub(crate) fn bounded_id(id: Text<'_>) -> Box<str> {
    if id.raw().len() > MAX_ID_BYTES {
        return Mark::digest(id.raw()).to_string().into();
    }
    redact_owned(id.decode().into_owned()).into()
}
