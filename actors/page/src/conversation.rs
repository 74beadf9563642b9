//! A window of a conversation as HTML: its messages with tool calls folded, and links to the windows beside it.

use baton_conversation::printable::plain;
use baton_protocol::answer::{Message, MessagePart, Messages, ToolUse};
use maud::{Markup, html};
use serde_json::Value;

use crate::layout::{Clock, address};

/// Most lines shown of a parameter or a change.
const LINES: usize = 400;

/// A line after the end of any transcript.
const END: u64 = u32::MAX as u64;

/// The ends of a window that have a link to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Both,
    Earlier,
    Later,
}

/// The messages, with links to those before and after. `line` is marked if it is among them.
pub(crate) fn window(messages: &Messages, line: Option<u64>, ends: Ends, clock: Clock) -> Markup {
    let id = &messages.session_id;
    let part = |name: &str, line: u64| address(&format!("/session/{id}/window"), &[(name, &line.to_string())]);
    let whole = |line: u64| address(&format!("/session/{id}"), &[("line", &line.to_string())]);
    let hit = line.and(messages.focus);
    html! {
        @if let Some(before) = messages.before.filter(|_| ends != Ends::Later) {
            p.more { a data-part=(part("before", before)) data-end="earlier" href=(whole(before)) { "Earlier messages" } }
        }
        section.window {
            @for (index, message) in messages.messages.iter().enumerate() {
                (message_markup(id, message, line.filter(|_| hit == Some(index as u64)), clock))
            }
        }
        @match messages.next {
            _ if ends == Ends::Earlier => {},
            Some(next) => {
                p.more { a data-part=(part("from", next)) href=(whole(next)) { "Later messages" } }
                @if ends == Ends::Both {
                    p.more { a href=(address(&format!("/session/{id}"), &[("line", &END.to_string())])) { "The end of the conversation" } }
                }
            },
            // Where the conversation may continue: after its end, or with the result of a call.
            None => div data-grow=(part("from", grows_from(&messages.messages))) {},
        }
    }
}

/// The first line that may still change.
fn grows_from(messages: &[Message]) -> u64 {
    let is_waiting =
        |message: &&Message| message.parts.iter().any(|part| part.tool.as_ref().is_some_and(|tool| tool.in_flight));
    let waiting = messages.iter().find(is_waiting).map(|message| message.line);
    waiting.unwrap_or_else(|| messages.last().map_or(0, last_line) + 1)
}

/// The last line of a message.
fn last_line(message: &Message) -> u64 {
    let parts = message
        .parts
        .iter()
        .flat_map(|part| [Some(part.line), part.tool.as_ref().and_then(|tool| tool.result_line)].into_iter().flatten());
    parts.chain([message.line]).max().unwrap_or(message.line)
}

/// A message; `hit` is the line to mark in it.
fn message_markup(id: &str, message: &Message, hit: Option<u64>, clock: Clock) -> Markup {
    // Mark the part with the line, else the message.
    let is_at = |part: &MessagePart| {
        hit.is_some_and(|line| {
            part.line == line || part.tool.as_ref().is_some_and(|tool| tool.result_line == Some(line))
        })
    };
    let place = message.parts.iter().position(is_at).filter(|_| message.parts.len() > 1 || hit != Some(message.line));
    let is_hit = hit.is_some() && place.is_none();
    let who = match message.role.as_str() {
        "user" => "You",
        "assistant" => "Agent",
        "tool" => "Tool",
        _ => "Program",
    };
    let own = address(&format!("/session/{id}"), &[("line", &message.line.to_string())]);
    html! {
        article.message .(message.role) .abandoned[message.abandoned] .hit[is_hit] id=(format!("line-{}", message.line)) {
            div.who {
                b { (who) }
                a href=(own) { "line " (message.line) }
                (clock.time(message.at.as_deref()))
                @if message.sidechain { span { "subagent" } }
                @if message.abandoned { span { "rewound" } }
            }
            @for (index, part) in message.parts.iter().enumerate() {
                @if place == Some(index) { div.hit { (part_markup(part, true)) } } @else { (part_markup(part, false)) }
            }
            @if let Some(count) = message.parts_left_out { p.faint { (count) " more parts are not shown." } }
        }
    }
}

/// A part of a message; folded content is open if `is_open`.
fn part_markup(part: &MessagePart, is_open: bool) -> Markup {
    let text = html! {
        @if let Some(text) = &part.text { pre { (plain(text)) } }
        @if let Some(count) = part.chars_left_out { p.faint { "… " (count) " more characters." } }
    };
    match (&part.tool, part.kind.as_str()) {
        (Some(tool), _) => call_markup(tool, is_open),
        (None, "prompt" | "text" | "answer") => text,
        (None, kind) => html! { details.tool open[is_open] { summary.faint { (kind) } (text) } },
    }
}

fn call_markup(tool: &ToolUse, is_open: bool) -> Markup {
    let (outcome, class) = match tool.outcome.as_deref() {
        None => ("no result", "faint"),
        Some("ok") => ("ok", "good"),
        Some(other) => (other, "bad"),
    };
    let main = ["command", "file_path", "path", "pattern", "query", "url", "description", "prompt"];
    let main = main.iter().find_map(|name| tool.input.get(*name)?.as_str());
    html! {
        details.tool open[is_open] {
            summary {
                code { (plain(&tool.name)) }
                @if let Some(main) = main { " " code.faint { (plain(main.lines().next().unwrap_or_default())) } }
                " " span class=(class) { (outcome) }
                @if let Some(code) = tool.exit_code.filter(|code| *code != 0) { span.bad { " exit " (code) } }
                @if let (Some(added), Some(removed)) = (tool.added, tool.removed) {
                    " " span.good { "+" (added) } " " span.bad { "−" (removed) }
                }
                @if let Some(ms) = tool.duration_ms { span.faint { (format!(" {:.1} s", ms as f64 / 1e3)) } }
            }
            (edit_markup(tool))
            @for (name, value) in tool.input.iter().filter(|(name, _)| !is_change(name)) {
                p.faint { (plain(name)) }
                pre { (plain(&first_lines(&text_of(value)))) }
            }
            @if let Some(result) = &tool.result { p.faint { "Result" } pre { (plain(result)) } }
            @if let Some(subagent) = &tool.subagent { p { a href=(format!("/session/{subagent}")) { "The subagent's session" } } }
        }
    }
}

fn is_change(name: &str) -> bool {
    matches!(name, "old_string" | "new_string" | "content" | "patch")
}

/// What an edit removed and added.
fn edit_markup(tool: &ToolUse) -> Markup {
    let text = |name: &str| tool.input.get(name).and_then(Value::as_str);
    let (removed, added) = (text("old_string"), text("new_string").or_else(|| text("content")));
    let numbered = |text: Option<&str>| text.map(first_lines).unwrap_or_default();
    html! {
        @if let Some(patch) = text("patch") {
            pre.diff { @for line in first_lines(patch).lines() {
                @match line.as_bytes().first() {
                    Some(b'+') => span.add { (plain(line)) },
                    Some(b'-') => span.del { (plain(line)) },
                    _ => { (plain(line)) "\n" },
                }
            } }
        }
        @if removed.is_some() || added.is_some() {
            pre.diff {
                @for line in numbered(removed).lines() { span.del { "− " (plain(line)) } }
                @for line in numbered(added).lines() { span.add { "+ " (plain(line)) } }
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn first_lines(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown: Vec<&str> = lines.by_ref().take(LINES).collect();
    let more = format!("… {} more lines", lines.clone().count());
    if lines.next().is_some() {
        shown.push(&more);
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use baton_conversation::record::Timestamp;
    use baton_protocol::Zone;

    use super::*;

    fn drawn(message: Message, next: Option<u64>) -> String {
        let messages = Messages { session_id: "s".to_owned(), messages: vec![message], next, ..Messages::default() };
        window(&messages, None, Ends::Both, Clock { zone: Zone::UTC, now: Timestamp(0) }).into_string()
    }

    #[test]
    fn an_edit_is_drawn_as_a_difference_and_hostile_text_as_text() {
        let input = [("file_path", "a<b>.rs"), ("old_string", "one\ntwo"), ("new_string", "</pre><script>")];
        let input: BTreeMap<String, Value> =
            input.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        let tool = ToolUse { name: "Edit".to_owned(), input, outcome: Some("ok".to_owned()), ..ToolUse::default() };
        let part = MessagePart { kind: "tool".to_owned(), line: 7, tool: Some(tool), ..MessagePart::default() };
        let message = Message { role: "assistant".to_owned(), line: 7, parts: vec![part], ..Message::default() };
        let drawn = drawn(message, Some(9));
        assert!(drawn.contains("<span class=\"del\">− one</span><span class=\"del\">− two</span>"), "{drawn}");
        assert!(drawn.contains("+ &lt;/pre&gt;&lt;script&gt;") && !drawn.contains("<script"), "{drawn}");
        assert!(drawn.contains("/session/s/window?from=9") && !drawn.contains("data-grow"), "{drawn}");
    }

    #[test]
    fn a_conversation_may_go_on_behind_its_last_line_or_with_a_result() {
        for (result_line, in_flight, from) in [(Some(12), false, 13), (None, true, 9)] {
            let tool = ToolUse { name: "Bash".to_owned(), result_line, in_flight, ..ToolUse::default() };
            let part = MessagePart { kind: "tool".to_owned(), line: 10, tool: Some(tool), ..MessagePart::default() };
            let drawn = drawn(Message { line: 9, parts: vec![part], ..Message::default() }, None);
            assert!(drawn.contains(&format!("data-grow=\"/session/s/window?from={from}\"")), "{drawn}");
        }
    }

    #[test]
    fn a_long_text_says_what_it_lacks() {
        let long = "x\n".repeat(LINES + 3);
        assert!(first_lines(&long).ends_with("x\n… 3 more lines"));
        assert_eq!(first_lines("a\nb"), "a\nb");
    }
}
