//! Completed items, which newer files have in place of some events.

use serde_json::json;

use crate::filter::result::Output;
use crate::item::Outcome;
use crate::transcript::item_writer::{ItemWriter, Stamp};
use baton_redaction::raw_json::{Text, Value};
use baton_words::WordList;

use super::output::Answer;
use super::patch::{self, Change};
use super::{Channel, Repeated, call, is_first, only, pick, response, text};

/// Items that only repeat others, in lower case.
static SILENT: WordList = WordList::new(crate::WORDS, "codex items");

/// Kinds of extensions without conversation.
const EXTENSIONS: &[&[u8]] = &[b"clock.sleep", b"image_gen.generation"];

/// Reads one item.
pub(super) fn read(item: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 7] = [b"type", b"id", b"content", b"text", b"summary_text", b"raw_content", b"action"];
    let [kind, id, content, whole, summary, raw, action] = pick(item, names);
    let id = text(id).filter(|id| !id.is_blank());
    let own = Stamp { uuid: id, ..*stamp };
    let stamp = &own;
    let kind = text(kind).map(|kind| kind.decode().replace('_', "").to_ascii_lowercase()).unwrap_or_default();
    if matches!(kind.as_str(), "usermessage" | "commandexecution" | "filechange") {
        // Noted each time again, so that it is not forgotten.
        writer.cursor.said.take(only(Repeated::Scripts, b""));
        is_first(Repeated::Scripts, b"", writer);
    }
    match kind.as_str() {
        "usermessage" => {
            let mut typed = Vec::new();
            response::texts(content, |part| typed.push(part.decode().into_owned()));
            response::shown(&typed.concat(), Channel::Item, stamp, writer);
        }
        "agentmessage" => {
            let ends_turn = text(item.get(b"phase")).is_none_or(|phase| phase.raw() != b"commentary");
            let stamp = Stamp { message: id, ..*stamp };
            response::texts(content.or(whole), |part| {
                response::reply(part, Channel::Item, ends_turn, &stamp, writer);
            });
        }
        "plan" => whole.and_then(Value::text).into_iter().for_each(|plan| {
            response::reply(plan, Channel::Item, true, stamp, writer);
        }),
        "reasoning" => {
            let parts = [summary, raw].into_iter().flatten().flat_map(Value::elements).filter_map(Value::text);
            parts.for_each(|part| response::thinking(part, Channel::Item, stamp, writer));
        }
        "commandexecution" => call::command(id, item, stamp, writer),
        "filechange" => file_change(id, item, stamp, writer),
        "mcptoolcall" | "dynamictoolcall" => {
            call::server_call(id, item, stamp, writer);
            call::server_end(id, item, stamp, writer);
        }
        "websearch" => web_search(item, action, stamp, writer),
        "extension" => match text(item.get(b"kind")).map_or(&b""[..], Text::raw) {
            b"web.search" => web_search(item, action, stamp, writer),
            known if EXTENSIONS.contains(&known) => {}
            other => writer.seen.count_unknown(&format!("item_completed:{}", String::from_utf8_lossy(other)), 1),
        },
        silent if SILENT.has(silent) => {}
        other => writer.seen.count_unknown(&format!("item_completed:{other}"), 1),
    }
}

/// A search in the web: what was searched for is in the action, or beside it.
fn web_search(item: Value<'_>, action: Option<Value<'_>>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let named;
    let says = |action: &Value<'_>| pick(*action, [b"query", b"queries", b"url"]).iter().any(Option::is_some);
    let action = match action.filter(says) {
        Some(action) => action,
        None => {
            let query = text(item.get(b"query")).map(Text::decode).unwrap_or_default();
            named = json!({ "type": "search", "query": query }).to_string();
            Value::Object(named.as_bytes().into())
        }
    };
    response::web_search(Some(action), Channel::Item, stamp, writer);
}

fn file_change(id: Option<Text<'_>>, item: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    changes(id, item, stamp, writer);
    let [status, stderr] = pick(item, [b"status", b"stderr"]);
    if call::is_new_result(id, writer) && writer.wants_text {
        let outcome = match text(status).map(Text::raw) {
            Some(b"failed") => Outcome::Failed,
            Some(b"declined") => Outcome::Denied,
            _ => Outcome::Ok,
        };
        call::emit_result(id, Answer { outcome, output: Output::parse(stderr) }, stamp, writer);
    }
}

/// The call that changed files, unless it was read before: each with its diff, or its whole content.
pub(super) fn changes(id: Option<Text<'_>>, record: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let changes = record.get(b"changes").filter(|changes| changes.fields().next().is_some());
    if changes.is_some() && call::is_new_call(id, "apply_patch", writer) && writer.wants_text {
        let files: Vec<_> = changes
            .into_iter()
            .flat_map(Value::fields)
            .take(patch::MAX_FILES)
            .map(|(path, change)| {
                let [how, content, diff, to] = pick(change, [b"type", b"content", b"unified_diff", b"move_path"]);
                let decoded = |value| text(value).map(|text| text.decode().into_owned());
                (path.decode().into_owned(), decoded(how), decoded(content), decoded(diff), decoded(to))
            })
            .collect();
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, how, content, diff, to)| {
                let lines = |text: &Option<String>| {
                    u32::try_from(text.as_deref().map_or(0, |text| text.lines().count())).unwrap_or(u32::MAX)
                };
                let (how, (added, removed), text) = match how.as_deref() {
                    Some("add") => ("add", (lines(content), 0), content),
                    Some("delete") => ("delete", (0, lines(content)), content),
                    _ => ("update", patch::count(diff.as_deref().unwrap_or("")), diff),
                };
                Change { path, how, to: to.as_deref(), added, removed, text: text.clone().unwrap_or_default() }
            })
            .collect();
        call::changed(id, &changes, stamp, writer);
    }
}
