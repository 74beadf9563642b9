//! Events: what a person and the screen saw. Most repeat a response item; some have facts of their own.

use crate::filter::result::Output;
use crate::item::{Outcome, TitleSource, Usage};
use crate::transcript::item_writer::{ItemWriter, Stamp};
use baton_redaction::raw_json::{Text, Value};
use baton_words::WordList;

use super::output::Answer;
use super::{Channel, Repeated, call, is_first, item, number, pick, response, text};

/// Events that only repeat others, or have no conversation.
static SILENT: WordList = WordList::new(crate::WORDS, "codex events");

/// Reads one event.
pub(super) fn read(payload: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 6] = [b"type", b"message", b"text", b"call_id", b"item", b"info"];
    let [kind, message, words, call_id, item, info] = pick(payload, names);
    let (message, words, call_id) = (text(message), text(words), text(call_id));
    match text(kind).map_or(&b""[..], Text::raw) {
        b"user_message" => {
            if let Some(message) = message.map(Text::decode) {
                response::shown(&message, Channel::Event, stamp, writer);
            }
        }
        b"agent_message" => {
            let ends_turn = text(payload.get(b"phase")).is_none_or(|phase| phase.raw() != b"commentary");
            message.into_iter().for_each(|it| response::reply(it, Channel::Event, ends_turn, stamp, writer));
        }
        b"agent_reasoning" | b"agent_reasoning_raw_content" => {
            words.into_iter().for_each(|it| response::thinking(it, Channel::Event, stamp, writer));
        }
        b"token_count" => info.into_iter().for_each(|info| tokens(info, stamp, writer)),
        b"task_started" | b"turn_started" => writer.cursor.working = true,
        b"task_complete" | b"turn_complete" => {
            writer.abandon_calls(stamp);
            writer.cursor.working = false;
        }
        b"turn_aborted" => match text(payload.get(b"reason")).map(Text::raw) {
            // Another prompt replaced it, or a review ended.
            Some(b"replaced" | b"review_ended") => writer.abandon_calls(stamp),
            _ => writer.interruption(stamp),
        },
        b"exec_command_end" => call::command(call_id, payload, stamp, writer),
        b"patch_apply_end" => patch_end(call_id, payload, stamp, writer),
        b"mcp_tool_call_end" => {
            // Some files have no other record of the call.
            payload
                .get(b"invocation")
                .into_iter()
                .for_each(|invocation| call::server_call(call_id, invocation, stamp, writer));
            call::server_end(call_id, payload, stamp, writer);
        }
        b"item_completed" => item.into_iter().for_each(|it| item::read(it, stamp, writer)),
        b"error" | b"stream_error" => {
            message
                .filter(|_| writer.wants_text)
                .into_iter()
                .for_each(|it| writer.notice(stamp, &format!("error: {}", it.decode())));
        }
        b"thread_rolled_back" => {
            let turns = number(payload.get(b"num_turns")).unwrap_or(1);
            writer.notice(stamp, &format!("the user went back by {turns} turns"));
        }
        b"thread_name_updated" | b"session_name_updated" => {
            let [thread, name, title] = pick(payload, [b"thread_name", b"name", b"title"]);
            let name = text(thread).or(text(name)).or(text(title));
            name.into_iter().for_each(|name| writer.title(stamp, TitleSource::Person, &name.decode()));
        }
        silent if SILENT.has_bytes(silent) => {}
        other => {
            let name = format!("event_msg:{}", String::from_utf8_lossy(other));
            writer.seen.count_unknown(name.trim_end_matches(':'), 1);
        }
    }
}

/// Token counts of the last request. They are repeated if no request was made since, which the session's sum shows.
fn tokens(info: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    let names: [&[u8]; 5] =
        [b"input_tokens", b"cached_input_tokens", b"output_tokens", b"cache_write_input_tokens", b"total_tokens"];
    let [total, last] = pick(info, [b"total_token_usage", b"last_token_usage"]);
    let numbers = |usage: Value<'_>| pick(usage, names).map(|value| number(value).unwrap_or(0));
    let Some([input, cached, output, written, sum]) = last.or(total).map(numbers) else {
        return;
    };
    let so_far = total.map_or([input, cached, output, written, sum], numbers);
    let key = so_far.map(|count| count.to_string()).join("-");
    if !is_first(Repeated::Tokens, key.as_bytes(), writer) || !writer.wants_text || (input == 0 && output == 0) {
        return;
    }
    let usage = Usage {
        model: writer.model().to_owned(),
        // Here the input includes tokens read from the cache.
        input: input.saturating_sub(cached).saturating_sub(written),
        output,
        cache_read: cached,
        cache_creation: written,
        ..Usage::default()
    };
    // The request has no id: the session's token sums identify it.
    let message = format!("tokens-{key}");
    writer.usage(&Stamp { message: Some(Text::new(message.as_bytes())), ..*stamp }, None, || usage);
}

/// The end of a patch.
fn patch_end(id: Option<Text<'_>>, end: Value<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    // Of a patch in a script there is no other record.
    item::changes(id, end, stamp, writer);
    if !call::is_new_result(id, writer) || !writer.wants_text {
        return;
    }
    let [success, stdout, stderr, status] = pick(end, [b"success", b"stdout", b"stderr", b"status"]);
    let outcome = match text(status).map(Text::raw) {
        Some(b"declined") => Outcome::Denied,
        Some(b"failed") => Outcome::Failed,
        _ => call::outcome(success.is_none_or(Value::is_true)),
    };
    let output = Output::parse(if outcome == Outcome::Failed { stderr.or(stdout) } else { stdout });
    call::emit_result(id, Answer { outcome, output }, stamp, writer);
}
