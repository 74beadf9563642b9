//! `messages`: the messages of a session, in pages.

mod stretch;

use baton_store::conversation::Conversation;

use baton_conversation::filter::open_calls;
use baton_conversation::item::{Call, Outcome, ToolResult};
use baton_conversation::messages;
use baton_conversation::messages::{Content, Message, Part, changed_lines};
use baton_conversation::record::SessionId;
use baton_events::memo::{Memo, key};
use baton_events::session::{EpisodeRef, Phase};
use baton_protocol::{Failure, MessagesParams, answer};
use baton_redaction::redact;
use serde_json::Value;
use uuid::Uuid;

use self::stretch::{Stretch, StretchRequest, Unanswered};
use super::{QueryError, internal};
use crate::resolve::SessionResolver;
use crate::{memo, page, resolve};
use baton_store::chunks::ChunkStore;
use baton_tracking::indexer;

/// Most messages of one answer.
const MESSAGES_MAX: usize = 500;
/// Most parts listed of one message.
const PARTS_MAX: usize = 200;
/// Longest text of one part, in characters: a pasted log need not be complete.
const TEXT_CHARS: usize = 20_000;
/// Most messages on either side of a line.
const CONTEXT_MAX: u32 = 50;

pub(crate) async fn messages(
    asked: &MessagesParams,
    resolver: SessionResolver<'_>,
) -> Result<answer::Messages, QueryError> {
    let conversations = resolver.conversations.clone();
    if let Some((uuid, added)) = memo::find_visible(resolver.catalog(), &asked.session) {
        let read = baton_base::task::spawn_blocking(move || memo_messages(conversations.chunks(), uuid, &added));
        return Ok(read.await.map_err(|error| internal("reading the memo broke", error))??);
    }
    let id = resolver.find_shown(&asked.session).await?;
    let (table, _) = resolver.catalog().including_others();
    let Some(row) = table.get(&id).cloned() else {
        return Err(resolve::unknown_session(&table, id.as_str()).into());
    };
    let limit = asked.limit.map_or(MESSAGES_MAX, |limit| (limit as usize).clamp(1, MESSAGES_MAX));
    let wanted = match asked.around {
        Some(line) => StretchRequest::Around(line, asked.context.min(CONTEXT_MAX) as usize),
        None => StretchRequest::From(asked.from, limit),
    };
    let read = baton_base::task::spawn_blocking(move || {
        let Some(current) = row.state.episode.clone() else {
            let note = match row.state.phase {
                Phase::Forgotten => format!("it is forgotten; `baton forget --undo {id}` lifts that"),
                _ => "it is not indexed yet: `baton close` or any search indexes it".to_owned(),
            };
            return Ok(answer::Messages { session_id: id.to_string(), note: Some(note), ..Default::default() });
        };
        let stretch =
            |episode: &EpisodeRef| Stretch::read(&Conversation::open(conversations.chunks(), &id, episode)?, wanted);
        let (current, stretch) = conversations
            .read(&id, current, stretch)
            .map_err(|error| internal("the conversation cannot be read", error))?;
        let ((messages, next), before, focus, note) = match wanted {
            StretchRequest::From(..) => (page(&stretch, limit), None, None, None),
            StretchRequest::Around(line, _) => {
                let Surroundings { messages, before, next, focus } = surroundings(&stretch);
                ((messages, next), before, focus.map(|focus| focus as u64), outside_note(&stretch, line))
            }
        };
        let total = stretch.total as u64;
        let (session_id, episode_uuid) = (id.to_string(), Some(current.uuid.to_string()));
        Ok::<_, Failure>(answer::Messages { session_id, episode_uuid, total, messages, before, next, focus, note })
    });
    Ok(read.await.map_err(|error| internal("reading the conversation broke", error))??)
}

/// A memo as a conversation. Blocks for a disk read.
fn memo_messages(chunks: &ChunkStore, uuid: Uuid, added: &Memo) -> Result<answer::Messages, Failure> {
    let words = memo::words(chunks, uuid, added);
    let words = words.map_err(|error| internal("the memo cannot be read", error))?;
    let items = indexer::memo_items(&words, added);
    let all = messages::messages(&items);
    let mut messages: Vec<answer::Message> =
        all.iter().take(MESSAGES_MAX).map(|it| message(it, &Unanswered::default())).collect();
    page::truncate_to_page(&mut messages);
    Ok(answer::Messages {
        session_id: key(uuid).to_string(),
        episode_uuid: Some(uuid.to_string()),
        total: all.len() as u64,
        messages,
        ..Default::default()
    })
}

/// As many messages of a stretch as are wanted and fit, and the line of the next one. Messages of one line stay
/// together, because a page begins with a line.
fn page(stretch: &Stretch, limit: usize) -> (Vec<answer::Message>, Option<u64>) {
    let all = stretch.messages();
    let mut listed: Vec<answer::Message> = all.iter().take(limit).map(|it| message(it, &stretch.unanswered)).collect();
    page::truncate_to_page(&mut listed);
    let line = |at: usize| all.get(at).map(|message| message.line).or(stretch.behind.filter(|_| at == all.len()));
    let is_between = |at: usize| line(at) != at.checked_sub(1).and_then(line);
    let mut end = listed.len();
    while end > 0 && !is_between(end) {
        end -= 1;
    }
    if end == 0 {
        end = listed.len();
        while end < all.len() && !is_between(end) {
            end += 1;
        }
        listed.extend(all[listed.len()..end].iter().map(|it| message(it, &stretch.unanswered)));
    }
    listed.truncate(end);
    (listed, line(end))
}

/// A message with its neighbours.
#[derive(Default)]
struct Surroundings {
    messages: Vec<answer::Message>,
    /// Lines of the messages before the first and after the last one.
    before: Option<u64>,
    next: Option<u64>,
    /// Index of the requested message.
    focus: Option<usize>,
}

/// The message at a line with as many neighbours on either side as fit, the nearest first.
fn surroundings(stretch: &Stretch) -> Surroundings {
    let all = stretch.messages();
    let Some(at) = stretch.focus.filter(|at| *at < all.len()) else { return Surroundings::default() };
    let (mut start, mut end) = (0, all.len());
    let mut listed: Vec<answer::Message> = all.iter().map(|it| message(it, &stretch.unanswered)).collect();
    let bytes: Vec<usize> = listed.iter().map(|it| serde_json::to_vec(it).map_or(0, |json| json.len())).collect();
    let mut sum = bytes.iter().sum::<usize>();
    while sum > page::PAGE_BYTES && end - start > 1 {
        if at - start > end - 1 - at {
            sum -= bytes[start];
            start += 1;
        } else {
            end -= 1;
            sum -= bytes[end];
        }
    }
    listed.truncate(end);
    listed.drain(..start);
    let before = start.checked_sub(1).map_or(stretch.ahead, |last| all.get(last).map(|message| message.line));
    let next = all.get(end).map_or(stretch.behind, |next| Some(next.line));
    Surroundings { messages: listed, before, next, focus: Some(at - start) }
}

/// The note for a line outside of the conversation.
fn outside_note(stretch: &Stretch, line: u64) -> Option<String> {
    let (first, last) = stretch.lines?;
    match line {
        _ if line < first => Some(format!("nothing is said before line {first}")),
        _ if line > last => Some(format!("the session ends at line {last}")),
        _ => None,
    }
}

fn message(message: &Message<'_>, unanswered: &Unanswered) -> answer::Message {
    let left_out = message.parts.len().saturating_sub(PARTS_MAX);
    answer::Message {
        role: message.speaker.as_str().to_owned(),
        line: message.line,
        at: message.at.map(|at| at.to_string()),
        message_id: message.id.map(redact_plain),
        abandoned: message.abandoned,
        sidechain: message.sidechain,
        parts: message.parts.iter().take(PARTS_MAX).map(|it| part(it, unanswered)).collect(),
        parts_left_out: (left_out > 0).then_some(left_out as u64),
    }
}

fn part(part: &Part<'_>, unanswered: &Unanswered) -> answer::MessagePart {
    let mut listed = answer::MessagePart { line: part.line, ..Default::default() };
    match &part.content {
        Content::Text { kind, text } => {
            listed.kind = (*kind).to_owned();
            // Redacted before the cut, because a secret may cross it.
            let mut text = redact_plain(text);
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS) {
                listed.chars_left_out = Some(text[end..].chars().count() as u64);
                text.truncate(end);
            }
            listed.text = Some(text);
        }
        Content::Tool { call, result } => {
            listed.kind = "tool".to_owned();
            listed.tool = Some(tool(*call, *result, call.is_some_and(|call| unanswered.is_cut_off(call, part.line))));
        }
        Content::Compaction(compaction) => {
            listed.kind = "compaction".to_owned();
            let tokens = match (compaction.tokens_before, compaction.tokens_after) {
                (Some(before), Some(after)) => format!("{before} tokens to {after}"),
                (Some(before), None) => format!("{before} tokens before"),
                (None, _) => String::new(),
            };
            // Some agents do not record the trigger.
            let known: Vec<&str> = [&*compaction.trigger, &tokens].into_iter().filter(|it| !it.is_empty()).collect();
            let about = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
            listed.text = Some(redact_plain(&format!("conversation compacted{about}")));
        }
    }
    listed
}

fn tool(call: Option<&Call>, result: Option<(&ToolResult, u64)>, is_cut_off: bool) -> answer::ToolUse {
    let answered = result.map(|(result, _)| result);
    let id = call.map(|call| &call.id).or(answered.map(|result| &result.id)).filter(|id| !id.is_empty());
    let name = call.map(|call| call.name.as_str()).or(answered.and_then(|result| result.name.as_deref()));
    let changed = changed_lines(call, answered);
    let cut_off = call.filter(|_| is_cut_off && result.is_none());
    let cut_off_line = || cut_off.map(|call| format!("{}: interrupted", open_calls::subject(call)));
    answer::ToolUse {
        id: id.map(|id| redact_plain(id)),
        name: redact_plain(name.unwrap_or_default()),
        input: call.map_or_else(Default::default, |call| {
            call.input.iter().map(|(key, value)| (redact_plain(key), redacted(value))).collect()
        }),
        in_flight: result.is_none() && !is_cut_off,
        outcome: answered.map(|result| result.outcome).or(cut_off.map(|_| Outcome::Interrupted)).map(outcome_name),
        exit_code: answered.and_then(|result| result.exit_code),
        duration_ms: answered.and_then(|result| result.duration_ms),
        result: answered.map(|result| result.text.clone()).or_else(cut_off_line).map(|line| redact_plain(&line)),
        result_line: result.map(|(_, line)| line),
        added: changed.map(|(added, _)| added),
        removed: changed.map(|(_, removed)| removed),
        subagent: answered
            .and_then(|result| SessionId::new(&format!("agent-{}", result.agent.as_deref()?)))
            .map(|session| redact_plain(session.as_str())),
    }
}

fn outcome_name(outcome: Outcome) -> String {
    outcome.as_str().to_owned()
}

fn redact_plain(text: &str) -> String {
    redact(text).into_owned()
}

/// Redacts every text in a value, whose depth the filter has bounded.
fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact_plain(text)),
        Value::Array(values) => values.iter().map(redacted).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (redact_plain(key), redacted(value))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_conversation::item::{Act, Body, INTERRUPTED, Item};

    use super::*;

    fn stretch(items: &[Item], wanted: StretchRequest) -> Stretch {
        Stretch::read(&Conversation::Held(Arc::new(items.to_vec())), wanted).unwrap()
    }

    fn items(lines: &[(u64, usize)]) -> Vec<Item> {
        let item = |(line, chars): &(u64, usize)| Item {
            line: *line,
            at: None,
            uuid: None,
            message: None,
            sidechain: false,
            body: Body::Reply { text: "x".repeat(*chars) },
        };
        lines.iter().map(item).collect()
    }

    #[test]
    fn pages_end_between_lines_and_together_are_everything() {
        for (lines, limit, expected) in [
            (&[][..], 10, ""),
            (&[(1, 5), (2, 5), (3, 5)], 10, "1 2 3"),
            (&[(1, 5), (2, 5), (3, 5)], 2, "1 2|3"),
            (&[(1, 5), (2, 5), (2, 5), (3, 5)], 2, "1|2 2|3"),
            (&[(7, 5), (7, 5), (7, 5), (9, 5)], 1, "7 7 7|9"),
            (&[(1, 19_000), (2, 19_000), (3, 19_000), (4, 19_000)], 10, "1 2 3|4"),
            (&[(1, 90_000), (2, 5)], 10, "1 2"),
        ] {
            let items = items(lines);
            let (mut pages, mut from) = (Vec::new(), Some(0));
            while let Some(line) = from {
                let (page, next) = page(&stretch(&items, StretchRequest::From(line, limit)), limit);
                pages.push(page.iter().map(|message| message.line.to_string()).collect::<Vec<_>>().join(" "));
                assert!(next.is_none_or(|next| next > line), "{lines:?}: it goes on");
                from = next;
            }
            assert_eq!(pages.join("|"), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_line_is_shown_with_what_stands_around_it() {
        for (lines, line, context, expected, before, next) in [
            (&[][..], 3, 1, "", None, None),
            (&[(2, 5), (4, 5), (6, 5), (8, 5)], 4, 1, "2 >4 6", None, Some(8)),
            (&[(2, 5), (4, 5), (6, 5), (8, 5)], 5, 1, "2 >4 6", None, Some(8)),
            (&[(2, 5), (4, 5), (6, 5), (8, 5)], 1, 1, ">2 4", None, Some(6)),
            (&[(2, 5), (4, 5), (6, 5), (8, 5)], 99, 2, "4 6 >8", Some(2), None),
            (&[(2, 5), (4, 5)], 4, 0, ">4", Some(2), None),
            (&[(1, 19_000), (2, 19_000), (3, 19_000), (4, 19_000), (5, 19_000)], 3, 2, "2 >3 4", Some(1), Some(5)),
            (&[(1, 90_000), (2, 90_000), (3, 90_000), (4, 5)], 3, 2, "2 >3 4", Some(1), None),
        ] {
            let items = items(lines);
            let listed = surroundings(&stretch(&items, StretchRequest::Around(line, context)));
            let (around, focus) = ((listed.before, listed.next), listed.focus);
            let listed: Vec<String> = listed
                .messages
                .iter()
                .enumerate()
                .map(|(at, message)| format!("{}{}", if focus == Some(at) { ">" } else { "" }, message.line))
                .collect();
            assert_eq!((listed.join(" ").as_str(), around), (expected, (before, next)), "{lines:?} {line}");
        }
        let items = items(&[(2, 5), (4, 5)]);
        let all = stretch(&items, StretchRequest::Around(1, 1));
        assert_eq!(outside_note(&all, 1).as_deref(), Some("nothing is said before line 2"));
        assert_eq!(outside_note(&all, 3), None);
        assert_eq!(outside_note(&all, 9).as_deref(), Some("the session ends at line 4"));
    }

    #[test]
    fn a_call_without_a_result_is_interrupted_once_a_person_goes_on() {
        let result = |name: &str| {
            Body::Result(ToolResult {
                id: "0".into(),
                name: Some(name.to_owned()),
                outcome: Outcome::Ok,
                exit_code: None,
                text: "done".to_owned(),
                error: None,
                duration_ms: None,
                agent: None,
                report: None,
            })
        };
        let input = [("command".to_owned(), Value::from("make"))].into();
        let (act, id, name) = (Act::Shell, "1".into(), "sh".to_owned());
        let call = Call { act, id, name, input, edit: None, commit: None, plan: None, git_line: None };
        let item = |line, body| Item { line, body, ..items(&[(1, 1)]).remove(0) };
        let asked = |text: &str| item(3, Body::Prompt { text: text.to_owned() });
        let stopped = item(3, Body::Notice { text: INTERRUPTED.to_owned() });
        let reply = item(3, Body::Reply { text: "I wait.".to_owned() });
        for (before, last, is_over) in [
            ("sh", asked("Go on"), true),
            ("sh", stopped, true),
            ("sh", reply, false),
            // Of this tool no results are recorded.
            ("search", asked("Go on"), false),
        ] {
            let items = [item(1, result(before)), item(2, Body::Call(call.clone())), last];
            let (listed, _) = page(&stretch(&items, StretchRequest::From(2, 1)), 1);
            let tool = listed[0].parts[0].tool.clone().unwrap();
            assert_eq!(tool.in_flight, !is_over);
            assert_eq!(tool.outcome.as_deref(), is_over.then_some("interrupted"));
            assert_eq!(tool.result.as_deref(), is_over.then_some("sh make: interrupted"));
        }
    }

    #[test]
    fn a_very_long_text_is_cut_and_says_so() {
        let items = items(&[(1, TEXT_CHARS + 7)]);
        let (listed, _) = page(&stretch(&items, StretchRequest::From(0, 1)), 1);
        let part = &listed[0].parts[0];
        assert_eq!((part.text.as_ref().map(String::len), part.chars_left_out), (Some(TEXT_CHARS), Some(7)));
    }
}
