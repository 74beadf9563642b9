//! Calls, as blocks or as elements in the text of the agent.

use memchr::memmem;

use crate::item::Act;
use baton_redaction::raw_json::{Text, Value};

use super::super::codex::apply_patch;
use super::super::item_writer::{ItemWriter, Stamp};
use super::cli;

pub(super) const SHELL: &str = "execute_command";
pub(super) const ASK: &str = "ask_followup_question";
/// The tool that changes files by a patch.
const PATCH: &str = "apply_patch";
/// Tools by which the agent speaks to the person, and the parameter with what it says.
const SPEECH: &[(&str, &str)] =
    &[("attempt_completion", "result"), ("plan_mode_respond", "response"), ("plan_mode_response", "response")];
/// The tool that calls one of a server.
const SERVER_TOOL: &str = "use_mcp_tool";
/// Beginning of the names of servers' tools in Roo Code, and what stands between server and tool.
const SERVER: [&str; 2] = ["mcp--", "--"];
/// Tools that are called by elements, besides those that speak.
const BY_ELEMENT: &[&str] = &[
    SHELL,
    ASK,
    SERVER_TOOL,
    "read_file",
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "insert_content",
    "search_and_replace",
    "search_files",
    "list_files",
    "list_code_definition_names",
    "codebase_search",
    "browser_action",
    "access_mcp_resource",
    "new_task",
    "switch_mode",
    "update_todo_list",
    "fetch_instructions",
];
/// Parameters of such calls.
const PARAMETERS: &[&str] = &[
    "command",
    "path",
    "content",
    "diff",
    "regex",
    "query",
    "question",
    "server_name",
    "tool_name",
    "arguments",
    "uri",
    "url",
    "action",
    "message",
    "mode",
    "todos",
    "search",
    "replace",
    "result",
    "response",
];

/// Beginning of what the program adds to a text that it ended: for a person, a call or an error.
const STOPPED: &[u8] = b"[Response interrupted by ";

/// Emits a call by what its tool does.
pub(super) fn emit(id: Option<Text<'_>>, name: &str, input: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let field = |name: &str| input.get(name.as_bytes()).and_then(Value::text);
    if let Some((_, parameter)) = SPEECH.iter().find(|(tool, _)| *tool == name) {
        return field(parameter).into_iter().for_each(|said| writer.reply(stamp, said, true));
    }
    if name == SERVER_TOOL {
        let [server, tool] = ["server_name", "tool_name"].map(|name| field(name).map(Text::decode).unwrap_or_default());
        let arguments = input.get(b"arguments").unwrap_or(Value::Null);
        return writer.call_as(Act::Mcp, stamp, id, &format!("mcp__{server}__{tool}"), arguments);
    }
    if let Some((server, tool)) = name.strip_prefix(SERVER[0]).and_then(|rest| rest.split_once(SERVER[1])) {
        return writer.call_as(Act::Mcp, stamp, id, &format!("mcp__{server}__{tool}"), input);
    }
    if name == PATCH {
        if writer.note_call(id, name) && writer.wants_text {
            apply_patch(id, &field("input").map(Text::decode).unwrap_or_default(), stamp, writer);
        }
        return;
    }
    let only = cli::only_element(name, input);
    let input = only.as_deref().map_or(input, |json| Value::Object(json.as_bytes().into()));
    let written = serde_json::Value::from(name).to_string();
    writer.call(stamp, id, Some(Text::new(&written.as_bytes()[1..written.len() - 1])), input);
}

/// Emits a text of the agent, and what it thought in it.
fn reply(text: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    const THINKING: [&[u8]; 2] = [b"<thinking>", b"</thinking>"];
    let said = match text.after(THINKING[0]) {
        Some(thought) if text.before(THINKING[0]).is_blank() => {
            writer.thinking(stamp, Some(thought.before(THINKING[1])));
            thought.after(THINKING[1]).unwrap_or(Text::new(b""))
        }
        _ => text,
    };
    if !said.is_blank() {
        writer.reply(stamp, said, true);
    }
}

/// Emits a text of the agent that the program may have ended.
pub(super) fn said(text: Text<'_>, may_call: bool, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let end = memmem::rfind(text.raw(), STOPPED).filter(|_| text.trim_end().raw().ends_with(b"]"));
    let said = Text::new(&text.raw()[..end.unwrap_or(text.raw().len())]);
    if may_call {
        with_elements(said, stamp, writer);
    } else {
        reply(said, stamp, writer);
    }
    match end.map(|end| Text::new(&text.raw()[end..])) {
        Some(note) if note.after(STOPPED).is_some_and(|by| by.raw().starts_with(b"user")) => writer.interruption(stamp),
        Some(note) => writer.notice(stamp, &note.decode()),
        None => {}
    }
}

/// Emits a text of the agent with the call that may stand in it. The call has no id: its line stands for it.
fn with_elements(text: Text<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let tools = SPEECH.iter().map(|(tool, _)| tool).chain(BY_ELEMENT);
    let found = tools.filter_map(|tool| Some((memmem::find(text.raw(), format!("<{tool}>").as_bytes())?, *tool)));
    let Some((at, tool)) = found.min() else { return reply(text, stamp, writer) };
    reply(Text::new(&text.raw()[..at]), stamp, writer);
    let begun = Text::new(&text.raw()[at + tool.len() + 2..]);
    let close = format!("</{tool}>");
    let inside = begun.before(close.as_bytes());
    let mut input = Vec::new();
    for name in PARAMETERS {
        let Some(value) = inside.after(format!("<{name}>").as_bytes()) else { continue };
        // The last end, because a file's content may have elements too.
        let end = memmem::rfind(value.raw(), format!("</{name}>").as_bytes()).unwrap_or(value.raw().len());
        let written = &value.raw()[..end];
        input.push([b"\"", name.as_bytes(), b"\":\"", written, b"\""].concat());
    }
    let input = [b"{", &*input.join(&b","[..]), b"}"].concat();
    let id = id_of(writer.cursor.line);
    emit(Some(Text::new(id.as_bytes())), tool, Value::Object((&input).into()), stamp, writer);
    begun.after(close.as_bytes()).into_iter().for_each(|rest| reply(rest, stamp, writer));
}

/// The id of the call that stands in the text of a line.
pub(super) fn id_of(line: u64) -> String {
    format!("line {line}")
}
