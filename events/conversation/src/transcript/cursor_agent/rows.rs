//! The chats of Cursor's editor as lines: a chat is a row, and so is each of its messages, which Cursor calls bubbles. A
//! call and its result are one message.
//!
//! Not checked on a file that Cursor wrote: the form is known from what other readers of it say.
//!
//! # Decisions
//!
//! - Only rows of chats and their messages are selected, by ranges of keys: other rows of the same table hold contents
//!   of files, and other tables logins.
//! - The chat lists its messages in order; those that it does not list were taken back, and are not shown.
//! - A chat changes whenever one of its rows is replaced, which gives that a higher row id. With thousands of messages
//!   only the chat's own row is asked, which is replaced with each message.
//! - A chat that also has a transcript is read from that: its form is the one that was checked on real files.
//! - The model that is chosen for the next prompt is not told, only that of a message.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::record::Timestamp;
use crate::transcript::codex::{number, pick, text};
use crate::transcript::table::{Cell, DatabaseSchema, Lines, Render, Table, raw};
use crate::transcript::table_lines::{DENIED, INTERRUPTED, Message};
use baton_redaction::raw_json::{Text, Value};

/// Authors of messages.
const PERSON: u64 = 1;
const AGENT: u64 = 2;
/// How a call ended, in its status; everything else means that it has not.
const ENDED: &[&str] = &["completed", "error", "cancelled"];
/// Arguments that the editor adds for itself.
const OWN_ARGUMENTS: &[&str] =
    &["parsingResult", "repositoryInfo", "requestedSandboxPolicy", "effectiveUri", "charsLimit", "options"];
/// Fields of a result that hold what the model was told.
const SAID: &[&str] = &["output", "contents", "stdout", "text", "result"];
/// Milliseconds since 1970 below which a time is a duration.
const YEAR_2000: u64 = 946_684_800_000;
/// The model that Cursor chooses.
const CHOSEN: &[u8] = b"default";

const ROWS: (&str, &[&str]) = ("cursorDiskKV", &["key", "value"]);
const MESSAGES: &str = "
    SELECT b.key, CASE WHEN octet_length(b.value) <= 16777216 THEN b.value ELSE octet_length(b.value) END
    FROM cursorDiskKV b WHERE b.key > max('bubbleId:' || ?1 || ':', ?2) AND b.key < 'bubbleId:' || ?1 || ';'
    ORDER BY b.key";

/// A schema that gives a chat's parent, the time of its last change, and its columns so.
macro_rules! schema {
    ($tables:expr, $parent:literal, $changed:literal, $head:literal) => {
        DatabaseSchema {
            tables: $tables,
            sessions: concat!(
                "SELECT c.key, substr(c.key, 14), ",
                $parent,
                ", 1048576 * max(c.rowid, CASE WHEN octet_length(c.value) <= 400000 THEN coalesce((SELECT max(b.rowid)
                     FROM cursorDiskKV b WHERE b.key > 'bubbleId:' || substr(c.key, 14) || ':'
                     AND b.key < 'bubbleId:' || substr(c.key, 14) || ';'), 0) ELSE 0 END) + octet_length(c.value), ",
                $changed,
                " FROM cursorDiskKV c WHERE c.key > max('composerData:', ?1) AND c.key < 'composerData;'
                  AND octet_length(c.value) > 0 ORDER BY c.key"
            ),
            session: concat!(
                "SELECT CASE WHEN octet_length(c.value) <= 33554432 THEN c.value ELSE octet_length(c.value) END, ",
                $head,
                " FROM cursorDiskKV c WHERE c.key = 'composerData:' || ?1"
            ),
            rows: MESSAGES,
            before_first: &[Cell::Integer(i64::MIN)],
        }
    };
}

pub(super) const TABLE: Table = Table {
    prefix: "state.vscdb",
    schemas: &[
        schema!(
            &[ROWS, ("composerHeaders", &["composerId", "lastUpdatedAt", "isSubagent", "value"])],
            "(SELECT CASE WHEN h.isSubagent = 1 THEN '-' END FROM composerHeaders h
                WHERE h.composerId = substr(c.key, 14))",
            "coalesce((SELECT h.lastUpdatedAt FROM composerHeaders h WHERE h.composerId = substr(c.key, 14)), 0)",
            "(SELECT CASE WHEN octet_length(h.value) <= 1048576 THEN h.value END FROM composerHeaders h
                WHERE h.composerId = ?1)"
        ),
        schema!(&[ROWS], "NULL", "0", "NULL"),
    ],
    render: || Box::<Rows>::default(),
    tree: None,
    yields_to_files: true,
};

/// The state between rows.
#[derive(Default)]
struct Rows {
    /// The place of each message; the first is 1.
    places: BTreeMap<Vec<u8>, usize>,
    /// Behind this place, a call without an end may still get one.
    under_way: Option<usize>,
    /// True if the chat names its directory.
    has_directory: bool,
}

impl Render for Rows {
    fn session(&mut self, columns: &[Cell<'_>], lines: &mut Lines) {
        let [chat, head] = columns else { return };
        if let Cell::Integer(_) = chat {
            return Message::new(Cell::Null, Cell::Null, lines).push("oversize", &json!({}));
        }
        let (chat, head) = (raw(chat.bytes()), raw(head.bytes()));
        let names: [&[u8]; 4] = [b"name", b"workspaceIdentifier", b"subagentInfo", b"trackedGitRepos"];
        let [name, workspace, subagent, _] = pick(head, names);
        let [own_name, own_workspace, own_subagent, repositories] = pick(chat, names);
        let names: [&[u8]; 4] = [b"fullConversationHeadersOnly", b"conversation", b"status", b"generatingBubbleIds"];
        let [headers, inline, status, generating] = pick(chat, names);
        let headers = headers.filter(|headers| headers.elements().next().is_some());
        if let Some(name) = [own_name, name].into_iter().filter_map(text).find(|name| !name.is_blank()) {
            lines.title(name.decode().into_owned());
        }
        let all: Vec<Value<'_>> = headers.or(inline).unwrap_or(Value::Null).elements().collect();
        if all.is_empty() {
            return;
        }
        let parent = within(subagent, b"parentComposerId").or(within(own_subagent, b"parentComposerId"));
        let repository = repositories.and_then(|all| all.elements().next());
        let directory = workspace.and_then(directory).or_else(|| own_workspace.and_then(directory));
        let directory = directory.or_else(|| Some(within(repository, b"repoPath")?.decode().into_owned()));
        self.has_directory = directory.is_some();
        let mut about = Message::new(Cell::Null, Cell::Null, lines);
        about.say("parent", parent.map(Text::decode).as_deref());
        directory.into_iter().for_each(|path| about.push("directory", &json!({ "directory": path })));

        let is_persons = |message: &Value<'_>| number(message.get(b"type")) == Some(PERSON);
        let is_generating = text(status).is_some_and(|status| status.raw() == b"generating")
            || generating.is_some_and(|ids| ids.elements().next().is_some());
        self.under_way = is_generating.then(|| all.iter().rposition(is_persons).map_or(0, |at| at + 1));
        let is_listed = headers.is_some();
        for (at, message) in all.iter().enumerate() {
            let place = at + 1;
            lines.at(place);
            if is_generating && place == all.len() && !is_persons(message) {
                lines.open();
            }
            match is_listed {
                true => {
                    if let Some(id) = text(message.get(b"bubbleId")) {
                        self.places.entry(id.raw().to_owned()).or_insert(place);
                    }
                }
                false => self.message(*message, text(message.get(b"bubbleId")), place, lines),
            }
        }
    }

    fn row(&mut self, columns: &[Cell<'_>], lines: &mut Lines) -> bool {
        let [key, value] = columns else { return false };
        let id = key.bytes().rsplit(|byte| *byte == b':').next().unwrap_or_default();
        let Some(place) = self.places.get(id).copied() else { return true };
        lines.at(place);
        match value {
            Cell::Integer(_) => Message::new(Cell::Text(id), Cell::Null, lines).push("oversize", &json!({})),
            Cell::Null => {}
            value => self.message(raw(value.bytes()), Some(Text::new(id)), place, lines),
        }
        true
    }
}

impl Rows {
    /// Adds the lines of a message.
    fn message(&self, message: Value<'_>, id: Option<Text<'_>>, place: usize, lines: &mut Lines) {
        let names: [&[u8]; 10] = [
            b"type",
            b"text",
            b"createdAt",
            b"timingInfo",
            b"thinking",
            b"toolFormerData",
            b"modelInfo",
            b"tokenCount",
            b"images",
            b"workspaceUris",
        ];
        let [kind, said, at, timing, thought, tool, model, tokens, images, folders] = pick(message, names);
        let id = id.map(Text::decode).unwrap_or_default();
        let at = time(at, timing).map_or(Cell::Null, |at| Cell::Integer(at.0));
        let mut is_open = false;
        let mut lines_of = Message::new(Cell::Text(id.as_bytes()), at, lines);
        let said = text(said).map(Text::decode);
        match number(kind) {
            Some(PERSON) => {
                let folder = folders.and_then(|folders| folders.elements().next()).and_then(directory);
                if let Some(folder) = folder.filter(|_| !self.has_directory) {
                    lines_of.push("directory", &json!({ "directory": folder }));
                }
                lines_of.say("prompt", said.as_deref());
                let is_alone = said.is_none_or(|said| said.trim().is_empty());
                let images = images.unwrap_or(Value::Null).elements();
                images.for_each(|_| lines_of.image(&Json::Null, is_alone));
            }
            Some(AGENT) => {
                let model = within(model, b"modelName").filter(|model| model.raw() != CHOSEN).map(Text::decode);
                lines_of.say("model", model.as_deref());
                let thought = thought.and_then(|thought| thought.text().or_else(|| text(thought.get(b"text"))));
                lines_of.say("thinking", thought.map(Text::decode).as_deref());
                lines_of.say("reply", said.as_deref());
                if let Some(Value::Object(tool)) = tool {
                    let may_end = self.under_way.is_some_and(|from| place > from);
                    match serde_json::from_slice::<Json>(&tool) {
                        Ok(tool) => is_open = call(&tool, &id, may_end, &mut lines_of),
                        Err(_) => lines_of.push("unreadable", &json!({})),
                    }
                }
                let count = |name: &[u8]| number(tokens.and_then(|tokens| tokens.get(name))).unwrap_or(0);
                let (input, output) = (count(b"inputTokens"), count(b"outputTokens"));
                if input > 0 || output > 0 {
                    lines_of.push("usage", &json!({ "input": input, "output": output }));
                }
            }
            Some(other) => lines_of.push(&format!("bubble:{other}"), &json!({})),
            None => lines_of.push("unreadable", &json!({})),
        }
        if is_open {
            lines.open();
        }
    }
}

/// Adds a call and its result. Returns true if it has not ended, but may.
fn call(tool: &Json, message_id: &str, may_end: bool, lines: &mut Message<'_>) -> bool {
    let told = |name: &str| tool[name].as_str().unwrap_or_default();
    let (name, status) = (told("name"), told("status"));
    // A person's message, and one before a call, may have an empty one.
    if name.is_empty() && told("toolCallId").is_empty() {
        return false;
    }
    let (result, data) = (decoded(&tool["result"]), &tool["additionalData"]);
    let has_ended = ENDED.contains(&status) || !result.is_null();
    if !has_ended && may_end {
        return true;
    }
    let id = if told("toolCallId").is_empty() { message_id } else { told("toolCallId") };
    let mut arguments = arguments(tool);
    if let Some(chunks) = result["diff"]["chunks"].as_array().filter(|_| !tells_change(&arguments)) {
        arguments["edits"] = chunks.iter().filter_map(|chunk| Some(change(chunk["diffString"].as_str()?))).collect();
    }
    lines.call(&json!(id), &json!(name), &arguments);
    if !has_ended {
        return false;
    }
    let exit = ["exitCodeV2", "exitCode"].iter().find_map(|name| result[name].as_i64());
    let has_begun = exit.is_some() || data["startedAtMs"].as_i64().is_some_and(|at| at > 0);
    let is_rejected = [&tool["userDecision"], &data["userDecision"]].into_iter().any(|said| said == "rejected");
    let is_cut = result["notInterrupted"] == false
        || result["endedReason"].as_str().is_some_and(|reason| reason.ends_with("ABORTED"));
    let outcome = match () {
        () if result["rejected"] == true || is_rejected && !has_begun => json!(DENIED),
        () if is_cut || status == "cancelled" => json!(INTERRUPTED),
        () => Json::Null,
    };
    let output = error(&decoded(&tool["error"])).map_or_else(|| output(&result), Json::from);
    let fields = json!({ "id": id, "output": output, "failed": status == "error", "exit": exit, "outcome": outcome });
    lines.push("result", &fields);
    false
}

/// True if a call's arguments say what becomes of the file.
fn tells_change(arguments: &Json) -> bool {
    ["new_string", "content", "contents", "edits"].iter().any(|name| arguments.get(name).is_some())
}

/// A part of a difference as what is replaced by what.
fn change(difference: &str) -> Json {
    let of = |sign: char| difference.lines().filter_map(|line| line.strip_prefix(sign)).collect::<Vec<_>>().join("\n");
    json!({ "old_string": of('-'), "new_string": of('+') })
}

/// What the model passed to a tool, or else what the editor made of it.
fn arguments(tool: &Json) -> Json {
    let (raw, made) = (decoded(&tool["rawArgs"]), decoded(&tool["params"]));
    match (raw, made) {
        (Json::Object(raw), _) if !raw.is_empty() => Json::Object(raw),
        (_, Json::Object(mut made)) => {
            made.retain(|name, _| !OWN_ARGUMENTS.contains(&name.as_str()));
            Json::Object(made)
        }
        (Json::String(raw), _) => json!({ "input": raw }),
        _ => Json::Object(Map::new()),
    }
}

/// A value that may be JSON in a text.
fn decoded(value: &Json) -> Json {
    let written = value.as_str().filter(|text| text.trim_start().starts_with(['{', '[']));
    written.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

fn error(error: &Json) -> Option<&str> {
    let fields = ["modelVisibleErrorMessage", "clientVisibleErrorMessage", "error", "message"];
    error.as_str().or_else(|| fields.iter().find_map(|name| error[name].as_str())).filter(|text| !text.is_empty())
}

/// What a tool said: its text, or the parts of an MCP server's answer, or else the result as it is.
fn output(result: &Json) -> Json {
    let said = SAID.iter().find_map(|name| result[name].as_str());
    match (said, result["content"].as_array(), result) {
        (Some(said), ..) => json!(said),
        (None, Some(parts), _) => json!(parts),
        (None, None, Json::Null) => json!(""),
        (None, None, Json::String(said)) => json!(said),
        (None, None, other) => json!(other.to_string()),
    }
}

fn within<'r>(object: Option<Value<'r>>, name: &[u8]) -> Option<Text<'r>> {
    text(object?.get(name))
}

/// The time of a message.
fn time(at: Option<Value<'_>>, timing: Option<Value<'_>>) -> Option<Timestamp> {
    let written = || Timestamp::parse(&text(at)?.decode());
    let began = || number(timing?.get(b"clientStartTime")).filter(|at| *at > YEAR_2000);
    let counted = || i64::try_from(number(at).or_else(began)?).ok().map(Timestamp);
    written().or_else(counted)
}

/// The directory of a workspace, or that an address names: `file:///srv/a%20b`.
fn directory(workspace: Value<'_>) -> Option<String> {
    let address = match workspace {
        Value::Object(_) => {
            let uri = workspace.get(b"uri").unwrap_or(workspace);
            match text(uri.get(b"fsPath")) {
                Some(path) => return Some(path.decode().into_owned()).filter(|path| !path.is_empty()),
                None => text(uri.get(b"external"))?,
            }
        }
        address => address.text()?,
    };
    let address = address.decode();
    let path = address.strip_prefix("file://").filter(|path| path.starts_with('/'))?;
    let path = plain(path)?;
    // `/C:/srv`
    let is_drive = path.as_bytes().get(2) == Some(&b':');
    Some(if is_drive { path[1..].to_owned() } else { path })
}

/// A path without the escapes of an address.
fn plain(path: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let escaped = behind.get(..2).filter(|hex| *first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
