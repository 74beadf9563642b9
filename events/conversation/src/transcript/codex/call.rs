//! Calls of Codex's tools, with names and parameters in the common form of all agents.
//!
//! A command is a call of `shell` with `command`; each file of a patch is a call of `apply_patch`; a tool of an MCP
//! server is `mcp__<server>__<tool>`.

use std::borrow::Cow;

use serde_json::json;

use crate::filter::edit::lines_of_patch;
use crate::filter::open_calls::PART;
use crate::filter::result::{Output, ResultFacts};
use crate::hash::Mark;
use crate::item::{Act, Edit, Outcome};
use crate::transcript::item_writer::{ItemWriter, Stamp};
use baton_redaction::raw_json::{Text, Value};
use baton_redaction::redact_owned;

use super::output::exit_code;
use super::patch::{self, Change};
use super::{Repeated, duration_ms, is_first, output, pick, script, text, was_said};

/// Common name of the tools that run a command.
pub(super) const SHELL: &str = "shell";
const PATCH: &str = "apply_patch";
/// Their names in the versions of Codex.
const SHELLS: &[&str] =
    &["exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec", "bash"];
/// Shells, and their flags for a script.
const PROGRAMS: &[&str] =
    &["bash", "sh", "zsh", "fish", "dash", "powershell", "pwsh", "powershell.exe", "pwsh.exe", "cmd", "cmd.exe"];
const SCRIPT_FLAGS: &[&str] = &["-lc", "-c", "-ic", "-Command", "-command", "/c", "/C"];

/// A tool call; its parameters are JSON, or a string of JSON as the model wrote it.
pub(super) fn function(
    id: Option<Text<'_>>,
    namespace: Option<Text<'_>>,
    name: Option<Text<'_>>,
    arguments: Option<Value<'_>>,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let written = name.map_or(Cow::Borrowed(""), Text::decode);
    let name = full_name(namespace.map(Text::decode).as_deref(), &written);
    if !writer.note_call(id, &name) || !writer.wants_text {
        return;
    }
    let decoded;
    let parameters = match arguments {
        Some(Value::Text(text)) => {
            decoded = text.decode();
            match decoded.trim_start().starts_with('{') {
                true => Value::Object(decoded.trim().as_bytes().into()),
                false => Value::Text(text),
            }
        }
        other => other.unwrap_or(Value::Null),
    };
    let told = was_said(Repeated::Scripts, b"", writer);
    let source = text(parameters.get(b"input")).filter(|_| name == script::EXEC && !told).map(Text::decode);
    if let Some((commands, place)) = source.as_deref().and_then(script::commands) {
        shell(id, &commands, place.as_deref(), stamp, writer);
    } else if SHELLS.contains(&&*name) {
        let field = |names: [&[u8]; 3]| names.into_iter().find_map(|name| parameters.get(name));
        let command = field([b"command", b"cmd", b"input"]).map(command_of);
        let place = text(field([b"workdir", b"working_directory", b"cwd"])).map(Text::decode);
        // Some versions apply patches with the shell.
        match command {
            Some(command) => shell(id, &command, place.as_deref(), stamp, writer),
            None => writer.emit_call(Act::Shell, stamp, id, SHELL, parameters, None),
        }
    } else if name == PATCH {
        apply_patch(id, patch_of(parameters).as_deref().unwrap_or(""), stamp, writer);
    } else {
        writer.emit_call(Act::of_tool(&name), stamp, id, &name, parameters, None);
    }
}

/// The patch in a call's parameters.
pub(in crate::transcript) fn patch_of(parameters: Value<'_>) -> Option<Cow<'_, str>> {
    match parameters {
        Value::Text(text) => Some(text.decode()),
        object => text(object.get(b"input").or_else(|| object.get(b"patch"))).map(Text::decode),
    }
}

/// Emits a command, and the files of a patch in it.
pub(super) fn shell(
    id: Option<Text<'_>>,
    command: &str,
    place: Option<&str>,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let parameters = match place {
        Some(place) => json!({ "command": command, "workdir": place }),
        None => json!({ "command": command }),
    };
    writer.emit_call(Act::Shell, stamp, id, SHELL, Value::Object(parameters.to_string().as_bytes().into()), None);
    if let Some(patch) = patch::find(command) {
        for (at, change) in patch::changes(patch).iter().enumerate() {
            emit_change(part(id, at + 1).as_deref(), change, stamp, writer);
        }
    }
}

/// Emits a patch: the first of its files is the call itself.
pub(in crate::transcript) fn apply_patch(
    id: Option<Text<'_>>,
    patch: &str,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let changes = patch::find(patch).map(patch::changes).unwrap_or_default();
    if changes.is_empty() {
        let parameters = json!({ "patch": patch });
        writer.emit_call(Act::Edit, stamp, id, PATCH, Value::Object(parameters.to_string().as_bytes().into()), None);
    }
    changed(id, &changes, stamp, writer);
}

/// Emits the changes of files.
pub(super) fn changed(id: Option<Text<'_>>, changes: &[Change<'_>], stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    for (at, change) in changes.iter().enumerate() {
        let part = if at == 0 { id.map(|id| id.decode().into_owned()) } else { part(id, at) };
        emit_change(part.as_deref(), change, stamp, writer);
    }
}

fn emit_change(id: Option<&str>, change: &Change<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let mut parameters = json!({ "change": change.how, "path": change.path });
    if let Some(to) = change.to {
        parameters["to"] = json!(to);
    }
    if !change.text.is_empty() {
        parameters["patch"] = json!(change.text);
    }
    let path = redact_owned(change.to.unwrap_or(change.path).to_owned());
    let (old_text, new_text) = if writer.wants_text { lines_of_patch(&change.text) } else { Default::default() };
    let edit = Edit { path, added: change.added, removed: change.removed, new_text, old_text, ..Edit::default() };
    let id = id.map(|id| Text::new(id.as_bytes()));
    writer.emit_call(Act::Edit, stamp, id, PATCH, Value::Object(parameters.to_string().as_bytes().into()), Some(edit));
}

fn part(id: Option<Text<'_>>, number: usize) -> Option<String> {
    id.map(|id| format!("{}{PART}{number}", id.decode()))
}

/// The result of a call; only the first one for an id is used.
pub(super) fn result(id: Option<Text<'_>>, content: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if is_new_result(id, writer) && writer.wants_text {
        let mut decoded = String::new();
        let runs_commands = writer.tool_of(id) != Some(script::EXEC);
        let answer = output::parse(content, runs_commands, &mut decoded);
        emit_result(id, answer, stamp, writer);
    }
}

/// Notes the result of a call. Returns true if it becomes an item.
pub(super) fn is_new_result(id: Option<Text<'_>>, writer: &mut ItemWriter<'_>) -> bool {
    if let Some(id) = id
        && !is_first(Repeated::Result, id.raw(), writer)
    {
        return false;
    }
    writer.note_result(id)
}

/// Emits a result for a call and for its further parts.
pub(super) fn emit_result(
    id: Option<Text<'_>>,
    answer: output::Answer<'_>,
    stamp: &Stamp<'_>,
    writer: &mut ItemWriter<'_>,
) {
    let output::Answer { outcome, output } = answer;
    for part in id.map(|id| writer.parts_of(id)).unwrap_or_default() {
        // A command that fails after a patch may have applied it; a patch that fails applies nothing.
        let part = Some(Text::new(part.as_bytes()));
        writer.result(stamp, part, outcome, &output);
    }
    writer.result(stamp, id, outcome, &output);
}

/// A command with its end. What a person ran is in a message too, and input for a command that runs is no command.
pub(super) fn command(id: Option<Text<'_>>, record: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [command, place, source] = pick(record, [b"command", b"cwd", b"source"]);
    if text(source).is_some_and(|source| matches!(source.raw(), b"user_shell" | b"unified_exec_interaction")) {
        return;
    }
    if command.is_some() && is_new_call(id, SHELL, writer) && writer.wants_text {
        let command = command.map(command_of).unwrap_or_default();
        // A path, or a file URL.
        let place = text(place).map(Text::decode);
        let place = place.as_deref().map(|place| place.strip_prefix("file://").unwrap_or(place));
        shell(id, &command, place, stamp, writer);
    }
    command_end(id, record, stamp, writer);
}

/// The end of a command: it has the exit code and comes before the output.
fn command_end(id: Option<Text<'_>>, end: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !is_new_result(id, writer) || !writer.wants_text {
        return;
    }
    let names: [&[u8]; 6] =
        [b"exit_code", b"duration", b"aggregated_output", b"formatted_output", b"stdout", b"status"];
    let [code, duration, whole, shown, stdout, status] = pick(end, names);
    let facts =
        ResultFacts { exit_code: exit_code(code), duration_ms: duration_ms(duration), ..ResultFacts::default() };
    let outcome = match (facts.exit_code, text(status).map(Text::raw)) {
        (_, Some(b"declined")) => Outcome::Denied,
        (Some(code), _) => outcome(code == 0),
        (None, Some(b"failed")) => Outcome::Failed,
        _ => Outcome::Ok,
    };
    let filled = [whole, shown, stdout].into_iter().find(|it| text(*it).is_some_and(|text| !text.is_blank()));
    let mut output = Output::parse(filled.flatten());
    output.facts = facts;
    emit_result(id, output::Answer { outcome, output }, stamp, writer);
}

/// The result of an MCP server's tool.
pub(super) fn server_end(id: Option<Text<'_>>, end: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    if !is_new_result(id, writer) || !writer.wants_text {
        return;
    }
    let [result, duration, error, status] = pick(end, [b"result", b"duration", b"error", b"status"]);
    // `{"Ok": {content, isError}}` or `{"Err": "..."}`; in items the answer itself.
    let [ok, err] = result.map_or([None, None], |result| pick(result, [b"Ok", b"Err"]));
    let answer = ok.or(result.filter(|_| err.is_none()));
    let [content, is_error] = answer.map_or([None, None], |answer| pick(answer, [b"content", b"isError"]));
    let failure = err.or(error.and_then(|error| error.get(b"message").or(Some(error))));
    let has_failed = failure.is_some()
        || is_error.is_some_and(Value::is_true)
        || text(status).is_some_and(|status| status.raw() == b"failed");
    let facts = ResultFacts { duration_ms: duration_ms(duration), ..ResultFacts::default() };
    let mut output = Output::parse(failure.or(content));
    output.facts = facts;
    let said: Cow<'_, str> = Cow::Owned(output.head(40));
    let outcome = match said.contains("rejected") && failure.is_some() {
        true => Outcome::Denied,
        false => outcome(!has_failed),
    };
    emit_result(id, output::Answer { outcome, output }, stamp, writer);
}

/// The call of an MCP server's tool, unless it was read before.
pub(super) fn server_call(id: Option<Text<'_>>, facts: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let [server, namespace, tool, arguments] = pick(facts, [b"server", b"namespace", b"tool", b"arguments"]);
    let namespace = match text(server) {
        Some(server) => Some(format!("mcp__{}", server.decode())),
        None => text(namespace).map(|namespace| namespace.decode().into_owned()),
    };
    let tool = text(tool).map(Text::decode).unwrap_or_default();
    let name = full_name(namespace.as_deref(), &tool);
    if is_new_call(id, &name, writer) && writer.wants_text {
        writer.emit_call(Act::of_tool(&name), stamp, id, &name, arguments.unwrap_or(Value::Null), None);
    }
}

/// Notes a call. Returns true if it becomes an item: not if its response item was read before.
pub(super) fn is_new_call(id: Option<Text<'_>>, name: &str, writer: &mut ItemWriter<'_>) -> bool {
    let mark = id.map(|id| Mark::digest(id.raw()));
    let is_known =
        mark.is_some_and(|mark| writer.cursor.open_calls.contains(mark) || writer.cursor.own_calls.contains(mark));
    !is_known && !was_said(Repeated::Result, id.map_or(&b""[..], Text::raw), writer) && writer.note_call(id, name)
}

pub(super) fn outcome(success: bool) -> Outcome {
    if success { Outcome::Ok } else { Outcome::Failed }
}

/// The common name of a tool; for an MCP server's tool it starts with the server's name.
pub(super) fn full_name<'n>(namespace: Option<&str>, name: &'n str) -> Cow<'n, str> {
    match namespace.filter(|namespace| !namespace.is_empty() && !name.starts_with(namespace)) {
        Some(namespace) => {
            let is_joined = namespace.ends_with("__") || name.starts_with('_');
            Cow::Owned(format!("{namespace}{}{name}", if is_joined { "" } else { "__" }))
        }
        // Older versions wrote `server__tool`.
        None if name.contains("__") && !name.starts_with("mcp__") => Cow::Owned(format!("mcp__{name}")),
        None => Cow::Borrowed(name),
    }
}

/// A command as a person would type it; for a shell with a script, the script.
pub(super) fn command_of(command: Value<'_>) -> String {
    match command {
        Value::Text(text) => text.decode().into_owned(),
        list => {
            let words: Vec<String> =
                list.elements().filter_map(|word| Some(word.text()?.decode().into_owned())).collect();
            script_of(&words)
        }
    }
}

fn script_of(words: &[String]) -> String {
    if let [program, .., flag, script] = words {
        let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
        if PROGRAMS.contains(&program) && SCRIPT_FLAGS.contains(&flag.as_str()) {
            return script.clone();
        }
    }
    let quoted = |word: &String| match word.is_empty() || word.contains([' ', '\n', '"', '\'']) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_a_person_would_type_them() {
        let check = |raw: &str, expected: &str| {
            let json = format!("{{\"c\":{raw}}}");
            assert_eq!(command_of(Value::Object(json.as_bytes().into()).get(b"c").unwrap()), expected, "{raw}");
        };
        check(r#"["bash","-lc","cargo test"]"#, "cargo test");
        check(r#"["/bin/zsh","-lc","cd a && ls"]"#, "cd a && ls");
        check(r#"["powershell.exe","-NoProfile","-Command","dir"]"#, "dir");
        check(r#"["git","commit","-m","it's done"]"#, r"git commit -m 'it'\''s done'");
        check(r#"["apply_patch","*** Begin Patch\n*** End Patch"]"#, "apply_patch '*** Begin Patch\n*** End Patch'");
        check(r#""make all""#, "make all");
        check("[]", "");
        check("7", "");
    }

    #[test]
    fn tools_of_servers_have_their_servers_name() {
        let check = |namespace: Option<&str>, name: &str, expected: &str| {
            assert_eq!(full_name(namespace, name), expected);
        };
        check(None, "exec_command", "exec_command");
        check(Some("mcp__codex_apps__github"), "_fetch_pr", "mcp__codex_apps__github_fetch_pr");
        check(Some("mcp__baton__"), "get_episodes", "mcp__baton__get_episodes");
        check(Some("mcp__baton"), "get_episodes", "mcp__baton__get_episodes");
        check(None, "baton__get_episodes", "mcp__baton__get_episodes");
        check(None, "mcp__baton__get_episodes", "mcp__baton__get_episodes");
        check(Some(""), "x", "x");
    }
}
