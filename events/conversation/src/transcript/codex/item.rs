//! Completed items, which newer files have in place of some events.

use serde_json::json;

use crate::filter::result::Output;
use crate::item::Outcome;
use crate::transcript::Sink;
use crate::transcript::scribe::{Scribe, Stamp};
use baton_redaction::raw_json::{Text, Value};

use super::output::Answer;
use super::patch::{self, Change};
use super::{Channel, call, pick, response, text, words};

/// Items that only repeat others, in lower case.
const SILENT: &[&str] = &[
    "collabagenttoolcall",
    "contextcompaction",
    "enteredreviewmode",
    "exitedreviewmode",
    "hookprompt",
    "imagegeneration",
    "imageview",
    "sleep",
    "subagentactivity",
];

/// Reads one item.
pub(super) fn say<S: Sink>(item: Value<'_>, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
    let names: [&[u8]; 7] = [b"type", b"id", b"content", b"text", b"summary_text", b"raw_content", b"action"];
    let [kind, id, content, whole, summary, raw, action] = pick(item, names);
    let id = text(id).filter(|id| !id.is_blank());
    let own = Stamp { uuid: id, ..*stamp };
    let stamp = &own;
    let kind = text(kind).map(|kind| kind.decode().replace('_', "").to_ascii_lowercase()).unwrap_or_default();
    match kind.as_str() {
        "usermessage" => {
            let mut typed = Vec::new();
            response::texts(content, |part| typed.push(part.decode().into_owned()));
            response::prompt(words::request(&typed.concat()), Channel::Item, stamp, scribe);
        }
        "agentmessage" => {
            let ends_turn = text(item.get(b"phase")).is_none_or(|phase| phase.raw() != b"commentary");
            let stamp = Stamp { message: id, ..*stamp };
            response::texts(content.or(whole), |part| {
                response::reply(part, Channel::Item, ends_turn, &stamp, scribe);
            });
        }
        "plan" => whole.and_then(Value::text).into_iter().for_each(|plan| {
            response::reply(plan, Channel::Item, true, stamp, scribe);
        }),
        "reasoning" => {
            let parts = [summary, raw].into_iter().flatten().flat_map(Value::elements).filter_map(Value::text);
            parts.for_each(|part| response::thinking(part, Channel::Item, stamp, scribe));
        }
        "commandexecution" => {
            if call::is_called(id, call::SHELL, scribe) && S::TEXT {
                let [command, place] = pick(item, [b"command", b"cwd"]);
                let command = command.map(call::command_of).unwrap_or_default();
                // A path, or a file URL.
                let place = text(place).map(Text::decode);
                let place = place.as_deref().map(|place| place.strip_prefix("file://").unwrap_or(place));
                call::shell(id, &command, place, stamp, scribe);
            }
            call::command_end(id, item, stamp, scribe);
        }
        "filechange" => file_change(id, item, stamp, scribe),
        "mcptoolcall" | "dynamictoolcall" => {
            call::server_call(id, item, stamp, scribe);
            call::server_end(id, item, stamp, scribe);
        }
        "websearch" => {
            let named;
            let action = match action {
                Some(action) => action,
                None => {
                    let query = text(item.get(b"query")).map(Text::decode).unwrap_or_default();
                    named = json!({ "type": "search", "query": query }).to_string();
                    Value::Object(named.as_bytes().into())
                }
            };
            response::web_search(Some(action), Channel::Item, stamp, scribe);
        }
        silent if SILENT.contains(&silent) => {}
        other => scribe.seen.count_unknown(&format!("item_completed:{other}"), 1),
    }
}

/// Changed files: each with its diff, or its whole content.
fn file_change<S: Sink>(id: Option<Text<'_>>, item: Value<'_>, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
    let [changes, status, stderr] = pick(item, [b"changes", b"status", b"stderr"]);
    if call::is_called(id, "apply_patch", scribe) && S::TEXT {
        let told: Vec<_> = changes
            .into_iter()
            .flat_map(Value::fields)
            .take(patch::MAX_FILES)
            .map(|(path, change)| {
                let [how, content, diff, to] = pick(change, [b"type", b"content", b"unified_diff", b"move_path"]);
                let decoded = |value| text(value).map(|text| text.decode().into_owned());
                (path.decode().into_owned(), decoded(how), decoded(content), decoded(diff), decoded(to))
            })
            .collect();
        let changes: Vec<Change<'_>> = told
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
        call::changed(id, &changes, stamp, scribe);
    }
    if call::is_answered(id, scribe) && S::TEXT {
        let outcome = match text(status).map(Text::raw) {
            Some(b"failed") => Outcome::Failed,
            Some(b"declined") => Outcome::Denied,
            _ => Outcome::Ok,
        };
        call::say_answer(id, Answer { outcome, output: Output::of(stderr) }, stamp, scribe);
    }
}
