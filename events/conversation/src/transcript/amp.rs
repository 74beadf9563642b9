//! Transcripts of Amp ("threads"): documents of whole messages with content blocks like Claude's.
//!
//! A result has the whole run of its call; a run that is not over has no result yet, and the message is written again
//! when it is. Newer versions keep their threads on the server.

use std::borrow::Cow;

use crate::filter::result::Output;
use crate::filter::{MAX_NAME_CHARS, one_line};
use crate::item::{Act, Agent, Outcome, TitleSource, Usage};
use crate::record::Timestamp;

use super::claude::{Author, Block, Delivery, Hint, PromptParts, judge};
use super::codex::{number, pick, text};
use super::document::{Document, Messages};
use super::format::{Format, Layout, field_of};
use super::item_writer::{ItemWriter, Stamp};
use super::location::{self, Kind, Located};
use super::tools::Tools;
use baton_redaction::raw_json::{Fields, Text, Value};

/// Prefix of the names of threads.
const THREAD: &str = "T-";
/// Scheme of the addresses of directories.
const FILE: &str = "file://";
/// Fields of a run's result that hold its output, if it is no text itself.
const OUTPUTS: [&[u8]; 4] = [b"output", b"content", b"diff", b"message"];
/// States of a run that is not over.
const UNDER_WAY: &[&[u8]] = &[b"", b"queued", b"in-progress", b"blocked-on-user"];
/// Blocks that are no conversation.
const SILENT_BLOCKS: &[&[u8]] = &[b"image", b"redacted_thinking"];

/// The format of Amp.
pub(super) enum Amp {}

impl Format for Amp {
    const LAYOUT: Layout = Layout {
        // The variable stands for the directory of all programs' data.
        folders: &["amp/threads"],
        endings: &[".json"],
        depth: 1,
        ..Layout::LINES
    };
    const TOOLS: Tools = Tools {
        acts: &[
            (Act::Edit, "create_file edit_file undo_edit"),
            (Act::Read, "look_at"),
            (Act::Search, "glob finder"),
            (Act::Fetch, "read_web_page"),
            (Act::Spawn, "oracle"),
            (Act::Todo, "todo_write todo_read"),
        ],
        parameters: &[("cmd", "command"), ("old_str", "old_string"), ("new_str", "new_string")],
    };
    const DOCUMENT: Option<Document> = Some(Document {
        endings: &[".json"],
        replaced_by: None,
        messages: Messages::Field("messages"),
        header: &["id", "created", "title", "env"],
    });

    fn classify(rel_path: &str) -> Option<Located> {
        let stem = rel_path.strip_suffix(".json").filter(|stem| stem.starts_with(THREAD) && !stem.contains('/'))?;
        Some(Located { agent: Agent::Amp, session: location::session_of(stem)?, kind: Kind::Main })
    }

    fn record(mut fields: Fields<'_>, writer: &mut ItemWriter<'_>) -> Option<usize> {
        fields.by_ref().for_each(drop);
        let end = fields.end()?;
        let whole = fields.object().unwrap_or(Value::Null);
        let [role, content, meta, state, usage, created] =
            pick(whole, [b"role", b"content", b"meta", b"state", b"usage", b"created"]);
        let millis = number(field(meta, b"sentAt").or(created)).and_then(|at| i64::try_from(at).ok());
        let written = || text(field(usage, b"timestamp")).and_then(|at| Timestamp::parse(&at.decode()));
        let stamp = Stamp { at: millis.map(Timestamp).or_else(written), ..Stamp::default() };
        let content = content.unwrap_or(Value::Null);
        writer.begin(&stamp);
        match text(role).map(Text::raw) {
            None => header(whole, &stamp, writer),
            Some(role) => {
                writer.seen.count_type(role);
                match role {
                    b"user" => user(content, &stamp, writer),
                    b"assistant" => assistant(content, usage, &stamp, writer),
                    b"system" => {}
                    unknown => writer.seen.count_unknown(&format!("role:{}", String::from_utf8_lossy(unknown)), 1),
                }
                if text(field(state, b"type")).is_some_and(|state| state.raw() == b"cancelled") {
                    writer.interruption(&stamp);
                }
            }
        }
        writer.end(&stamp);
        Some(end)
    }

    fn kind_of(head: &[u8]) -> Option<String> {
        field_of(head, b"role")
    }
}

fn field<'r>(object: Option<Value<'r>>, name: &[u8]) -> Option<Value<'r>> {
    object.and_then(|object| object.get(name))
}

/// What the document says of itself.
fn header(header: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    writer.seen.count_type(b"header");
    let [title, env] = pick(header, [b"title", b"env"]);
    let initial = env.and_then(|env| env.get(b"initial")).unwrap_or(Value::Null);
    let [trees, cwd] = pick(initial, [b"trees", b"cwd"]);
    let tree = || trees?.elements().find_map(|tree| tree.get(b"uri")?.text());
    if let Some(place) = text(cwd).or_else(tree) {
        // As it would be written, because the writer takes texts so.
        let written = serde_json::Value::from(&*path_of(&place.decode())).to_string();
        writer.cwd(stamp, Text::new(&written.as_bytes()[1..written.len() - 1]));
    }
    text(title).into_iter().for_each(|title| writer.title(stamp, TitleSource::Model, &title.decode()));
}

/// The path of a file's address; a path is returned as it is.
fn path_of(address: &str) -> Cow<'_, str> {
    let Some(path) = address.strip_prefix(FILE) else { return Cow::Borrowed(address) };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        let decoded = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn user(content: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut typed = PromptParts::default();
    Block::each(content, |value, block| match block.kind {
        b"text" | b"image" => typed.block(value, block),
        b"tool_result" => result(value, stamp, writer),
        kind => other_block(kind, writer),
    });
    typed.emit(Author::Unknown, Delivery::Typed, stamp, writer);
}

fn assistant(content: Value<'_>, usage: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    Block::each(content, |value, block| match block.kind {
        b"text" => block.text.into_iter().for_each(|text| writer.reply(stamp, text, true)),
        b"thinking" => writer.thinking(stamp, block.thinking),
        b"tool_use" => writer.call(stamp, block.id, block.name, block.input.unwrap_or(Value::Null)),
        b"tool_result" => result(value, stamp, writer),
        kind => other_block(kind, writer),
    });
    let Some(usage) = usage else { return };
    let [model, input, output, created, read] =
        pick(usage, [b"model", b"inputTokens", b"outputTokens", b"cacheCreationInputTokens", b"cacheReadInputTokens"]);
    writer.usage(stamp, None, || Usage {
        model: text(model).map_or_else(String::new, |model| one_line(&model.decode(), MAX_NAME_CHARS)),
        input: number(input).unwrap_or(0),
        output: number(output).unwrap_or(0),
        cache_read: number(read).unwrap_or(0),
        cache_creation: number(created).unwrap_or(0),
        ..Usage::default()
    });
}

/// The result of a call: the run of its tool.
fn result(block: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [id, run] = pick(block, [b"toolUseID", b"run"]);
    let [status, result, error] = pick(run.unwrap_or(Value::Null), [b"status", b"result", b"error"]);
    let (id, status) = (text(id), text(status).map_or(&b""[..], Text::raw));
    if UNDER_WAY.contains(&status) || !writer.note_result(id) || !writer.wants_text {
        return;
    }
    let said = match result {
        Some(object @ Value::Object(_)) => OUTPUTS.iter().find_map(|name| object.get(name)).or(result),
        other => other,
    };
    let message = error.map(|error| error.get(b"message").unwrap_or(error));
    let mut output = Output::parse(said.or(message));
    let code = number(field(result, b"exitCode"));
    output.facts.exit_code = code.and_then(|code| i32::try_from(code).ok());
    let has_failed = status == b"error" || output.facts.exit_code.is_some_and(|code| code != 0);
    let verdict = judge(writer.tool_of(id), has_failed, &output, Hint::None);
    let outcome = match status {
        b"cancelled" => Outcome::Interrupted,
        b"rejected-by-user" => Outcome::Denied,
        _ => verdict.outcome,
    };
    writer.result(stamp, id, outcome, &output);
}

fn other_block(kind: &[u8], writer: &mut ItemWriter<'_>) {
    if !SILENT_BLOCKS.contains(&kind) {
        writer.seen.count_unknown(&format!("block:{}", String::from_utf8_lossy(kind)), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_every_way;
    use super::super::{Source, classify, document};
    use super::*;

    const MAIN: Source = Source { agent: Agent::Amp, subagent: false };
    const NAME: &str = "T-0a1b2c3d-0000-4000-8000-00000000000a.json";

    /// Reads a thread of these messages.
    fn check(messages: &str, expected: &[&str]) {
        let thread = format!(
            r#"{{"v":9,"id":"T-0a","created":1781205335513,"title":"Tidy up","messages":[{messages}],
                "env":{{"initial":{{"trees":[{{"uri":"file:///w/a%20b","displayName":"a b"}}],"platform":{{}}}}}}}}"#
        );
        let lines = document(Agent::Amp, NAME).unwrap().lines(thread.as_bytes()).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        let (items, _, seen) = read_every_way(MAIN, &lines.lines().collect::<Vec<_>>());
        let (header, items) = items.split_at(2);
        assert_eq!(header, ["1 cwd /w/a b", "1 title Model Tidy up"]);
        assert_eq!(items, expected, "{messages}");
        assert_eq!(seen.unknown.len(), 0, "{:?}", seen.unknown);
    }

    #[test]
    fn threads_are_known_by_their_names() {
        for (path, expected) in [
            (NAME, true),
            ("0a1b2c3d.json", false),
            ("x/T-0a1b2c3d.json", false),
            ("T-0a1b2c3d.jsonl", false),
            ("T-0a1b2c3d.json.tmp", false),
            ("", false),
        ] {
            assert_eq!(classify(Agent::Amp, path).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn a_thread_is_read_message_by_message() {
        check(
            r#"{"role":"user","messageId":0,"content":[{"type":"text","text":"look around"}],"meta":{"sentAt":1781205335600}},
               {"role":"assistant","messageId":1,"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},
                 {"type":"tool_use","id":"c1","name":"Bash","input":{"cmd":"ls","cwd":"/w"}}],
                "state":{"type":"complete","stopReason":"tool_use"},
                "usage":{"model":"m-1","inputTokens":5,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":1}},
               {"role":"user","messageId":2,"content":[{"type":"tool_result","toolUseID":"c1",
                 "run":{"status":"done","result":{"output":"a.txt","exitCode":2}}}]},
               {"role":"system","messageId":3,"content":[{"type":"text","text":"injected"}]},
               {"role":"assistant","messageId":4,"content":[{"type":"text","text":"It fai"}],"state":{"type":"cancelled"}}"#,
            &[
                "2 prompt look around",
                "3 thinking hm",
                "3 reply I look.",
                r#"3 call Bash {"command":"ls","cwd":"/w"}"#,
                "3 usage m-1 None [5, 2, 3, 1, 0]",
                "4 result Failed Bash ls: exit 2, a.txt",
                "6 reply It fai",
                "6 notice interrupted by the user",
            ],
        );
    }

    #[test]
    fn a_run_ends_as_its_status_says() {
        for (run, expected) in [
            (r#"{"status":"done","result":"fine"}"#, "3 result Ok edit_file /w/a: +1 -1"),
            (
                r#"{"status":"error","error":{"message":"no such file"}}"#,
                "3 result Failed edit_file /w/a: failed, no such file",
            ),
            (r#"{"status":"cancelled"}"#, "3 result Interrupted edit_file /w/a: interrupted"),
            (r#"{"status":"rejected-by-user"}"#, "3 result Denied edit_file /w/a: denied"),
            (r#"{"status":"in-progress","progress":{}}"#, ""),
        ] {
            let messages = format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c1","name":"edit_file","input":{{"path":"/w/a","old_str":"x","new_str":"y"}}}}]}},
                   {{"role":"user","content":[{{"type":"tool_result","toolUseID":"c1","run":{run}}}]}}"#
            );
            let call = r#"2 call edit_file {"new_string":"y","old_string":"x","path":"/w/a"}"#;
            let items: Vec<&str> = [call, expected].into_iter().filter(|item| !item.is_empty()).collect();
            check(&messages, &items);
        }
    }
}
