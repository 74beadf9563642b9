//! The stored shape of an [`Item`]: one JSON object on one line.
//!
//! `{"line":12,"at":"2026-03-14T09:26:53.589Z","uuid":"…","message":"msg_…","role":"tool","kind":"result",
//! "tool_id":"toolu_…","name":"Bash","outcome":"failed","exit_code":101,"text":"Bash cargo test: exit 101, …"}`
//!
//! Absent fields are left out. `role` is for people and `jq`; it follows from `kind` and is not read. Unknown fields
//! are ignored, so fields may be added; the meaning of an existing field never changes.
//!
//! Version 2 adds `act` to calls and `report` to results. An item of version 1 is read with the act of its tool's name and
//! without a report: it is untyped until its transcript is read again. Version 3 adds `commit` and `plan` to calls and more
//! facts to reports, version 4 `git_line` to calls and `work_tree` to reports; older items are read again as well.

mod report;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::report::StoredReport;
use baton_conversation::item::{
    Act, Body, Call, Compaction, Edit, Item, Link, Meta, Outcome, TitleSource, ToolResult, Usage,
};
use baton_conversation::record::Timestamp;

/// Version of this shape, for the manifest that lists the chunks.
pub const ITEM_VERSION: u32 = 4;

/// Why a stored line is not an item.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not JSON, or not of this shape.
    #[error("stored item is not readable: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A later version of the program wrote it.
    #[error("stored item at transcript line {line} has an unknown {field}; a newer version of Baton wrote it")]
    Unknown {
        /// Transcript line of the item.
        line: u64,
        /// The field with the unknown value.
        field: &'static str,
    },
}

#[derive(Default, Serialize, Deserialize)]
struct ItemV1<'a> {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sidechain: bool,
    #[serde(default)]
    role: Cow<'a, str>,
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Cow<'a, BTreeMap<String, Value>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<Cow<'a, Edit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_line: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Cow<'a, Usage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<Cow<'a, Compaction>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<StoredReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
}

/// Appends the item as one line with its line break.
pub fn encode(item: &Item, out: &mut Vec<u8>) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, &ItemV1::from(item))?;
    out.push(b'\n');
    Ok(())
}

/// Reads one line, with or without its line break.
pub fn decode(line: &[u8]) -> Result<Item, Error> {
    serde_json::from_slice::<ItemV1<'_>>(line)?.into_item()
}

/// Reads the lines of a chunk in order.
pub fn decode_all(chunk: &[u8]) -> impl Iterator<Item = Result<Item, Error>> + '_ {
    chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(decode)
}

impl<'a> From<&'a Item> for ItemV1<'a> {
    fn from(item: &'a Item) -> Self {
        let mut stored = Self {
            line: item.line,
            at: item.at.map(|at| at.to_string().into()),
            uuid: item.uuid.as_deref().map(Cow::Borrowed),
            message: item.message.as_deref().map(Cow::Borrowed),
            sidechain: item.sidechain,
            role: item.role().as_str().into(),
            ..Self::default()
        };
        let (kind, text) = match &item.body {
            Body::Prompt { text } => ("prompt", text),
            Body::Answer { text } => ("answer", text),
            Body::Reply { text } => ("reply", text),
            Body::Thinking { text } => ("thinking", text),
            Body::Summary { text } => ("summary", text),
            Body::Notice { text } => ("notice", text),
            Body::Media { text } => ("media", text),
            Body::Meta(Meta::Branch(text)) => ("branch", text),
            Body::Meta(Meta::Cwd(text)) => ("cwd", text),
            Body::Meta(Meta::Below(parent)) => {
                stored.kind = Cow::Borrowed("below");
                stored.text = Some(Cow::Borrowed(parent));
                return stored;
            }
            Body::Meta(Meta::Usage(usage)) => {
                stored.kind = Cow::Borrowed("usage");
                stored.usage = Some(Cow::Borrowed(usage));
                return stored;
            }
            Body::Meta(Meta::Compaction(compaction)) => {
                stored.kind = Cow::Borrowed("compaction");
                stored.compaction = Some(Cow::Borrowed(compaction));
                return stored;
            }
            Body::Meta(Meta::Withdrawn(line)) => {
                stored.kind = Cow::Borrowed("withdrawn");
                stored.withdrawn = Some(*line);
                return stored;
            }
            Body::Meta(Meta::Link { link, session }) => {
                stored.kind = Cow::Borrowed("link");
                stored.link = Some(Cow::Borrowed(link.as_str()));
                stored.text = Some(Cow::Borrowed(session));
                return stored;
            }
            Body::Meta(Meta::Title { source, text }) => {
                stored.source = Some(Cow::Borrowed(source.as_str()));
                ("title", text)
            }
            Body::Result(result) => {
                stored.tool_id = Some(Cow::Borrowed(&result.id));
                stored.name = result.name.as_deref().map(Cow::Borrowed);
                stored.outcome = Some(Cow::Borrowed(result.outcome.as_str()));
                stored.exit_code = result.exit_code;
                stored.error = result.error.as_deref().map(Cow::Borrowed);
                stored.duration_ms = result.duration_ms;
                stored.agent = result.agent.as_deref().map(Cow::Borrowed);
                stored.report = result.report.as_deref().map(StoredReport::from);
                ("result", &result.text)
            }
            Body::Call(call) => {
                stored.tool_id = Some(Cow::Borrowed(&call.id));
                stored.input = Some(Cow::Borrowed(&call.input));
                stored.edit = call.edit.as_ref().map(Cow::Borrowed);
                stored.commit = call.commit.as_deref().map(Cow::Borrowed);
                stored.plan = call.plan.as_deref().map(Cow::Borrowed);
                stored.git_line = call.git_line.as_deref().map(Cow::Borrowed);
                stored.name = Some(Cow::Borrowed(&call.name));
                stored.act = Some(Cow::Borrowed(call.act.as_str()));
                stored.kind = Cow::Borrowed("call");
                return stored;
            }
        };
        stored.kind = Cow::Borrowed(kind);
        stored.text = Some(Cow::Borrowed(text));
        stored
    }
}

impl ItemV1<'_> {
    fn into_item(self) -> Result<Item, Error> {
        let line = self.line;
        let unknown = |field| Error::Unknown { line, field };
        let text = self.text.unwrap_or_default().into_owned();
        let body = match &*self.kind {
            "prompt" => Body::Prompt { text },
            "answer" => Body::Answer { text },
            "reply" => Body::Reply { text },
            "thinking" => Body::Thinking { text },
            "summary" => Body::Summary { text },
            "notice" => Body::Notice { text },
            "media" => Body::Media { text },
            "below" => Body::Meta(Meta::Below(text.into())),
            "usage" => Body::Meta(Meta::Usage(self.usage.ok_or_else(|| unknown("usage"))?.into_owned())),
            "compaction" => {
                Body::Meta(Meta::Compaction(self.compaction.ok_or_else(|| unknown("compaction"))?.into_owned()))
            }
            "withdrawn" => Body::Meta(Meta::Withdrawn(self.withdrawn.ok_or_else(|| unknown("withdrawn"))?)),
            "link" => {
                let link = self.link.as_deref().and_then(Link::parse);
                Body::Meta(Meta::Link { link: link.ok_or_else(|| unknown("link"))?, session: text.into() })
            }
            "branch" => Body::Meta(Meta::Branch(text)),
            "cwd" => Body::Meta(Meta::Cwd(text)),
            "title" => {
                let source = self.source.as_deref().and_then(TitleSource::parse).ok_or_else(|| unknown("source"))?;
                Body::Meta(Meta::Title { source, text })
            }
            "result" => Body::Result(ToolResult {
                id: boxed(self.tool_id).unwrap_or_default(),
                name: self.name.map(Cow::into_owned),
                outcome: self.outcome.as_deref().and_then(Outcome::parse).ok_or_else(|| unknown("outcome"))?,
                exit_code: self.exit_code,
                text,
                error: self.error.map(Cow::into_owned),
                duration_ms: self.duration_ms,
                agent: boxed(self.agent),
                report: self.report.map(|report| Box::new(report.into_report())),
            }),
            "call" => Body::Call(Call {
                act: match self.act.as_deref() {
                    Some(act) => Act::parse(act).ok_or_else(|| unknown("act"))?,
                    None => Act::of_tool(self.name.as_deref().unwrap_or_default()),
                },
                id: boxed(self.tool_id).unwrap_or_default(),
                name: self.name.unwrap_or_default().into_owned(),
                input: self.input.unwrap_or_default().into_owned(),
                edit: self.edit.map(Cow::into_owned),
                commit: self.commit.map(Cow::into_owned),
                plan: self.plan.map(Cow::into_owned),
                git_line: self.git_line.map(Cow::into_owned),
            }),
            _ => return Err(unknown("kind")),
        };
        let at = self.at.map(|at| Timestamp::parse(&at).ok_or_else(|| unknown("at"))).transpose()?;
        Ok(Item { line, at, uuid: boxed(self.uuid), message: boxed(self.message), sidechain: self.sidechain, body })
    }
}

fn boxed(text: Option<Cow<'_, str>>) -> Option<Box<str>> {
    text.map(|text| text.into_owned().into())
}

#[cfg(test)]
mod tests;
