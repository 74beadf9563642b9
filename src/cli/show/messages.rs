//! `baton show --messages`: the messages of a session, for a person.

use std::process::ExitCode;

use baton_protocol::answer::{Message, MessagePart, Messages, ToolUse};
use baton_protocol::{MessagesParams, method};

use super::{Args, Error};
use crate::environment::Environment;
use crate::print::{self, Output, Style};

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let session = super::super::session(&args.session);
    let params = MessagesParams {
        session,
        from: args.from.unwrap_or(0),
        limit: args.limit,
        around: args.line,
        context: args.context,
        ..MessagesParams::default()
    };
    let result = super::super::ask(environment, |client| client.call_raw(method::MESSAGES, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Messages = super::super::parse_result(&result)?;
    if let (Some(note), true) = (&shown.note, shown.messages.is_empty()) {
        output.line(&format!("No messages: {}", print::plain(note)));
        return Ok(ExitCode::SUCCESS);
    }
    for (number, message) in (0..).zip(&shown.messages) {
        let mark = if shown.focus == Some(number) { "> " } else { "" };
        output.line(&output.styled(Style::Strong, &format!("{mark}{}", head(message))));
        for part in &message.parts {
            output.line(&print::plain(&part_text(part)));
        }
        if let Some(left_out) = message.parts_left_out {
            output.line(&format!("  … {left_out} more"));
        }
        output.line("");
    }
    if let Some(note) = &shown.note {
        print::note(&format!("{}.", print::plain(note)));
    }
    match shown.next {
        Some(line) if shown.focus.is_some() => {
            let next = format!("--messages --from {line} continues");
            output.line(&output.styled(Style::Faint, &next));
        }
        Some(line) => {
            let (shown_now, total) = (shown.messages.len(), shown.total);
            let next = format!("{shown_now} of {total} messages; --from {line} continues");
            output.line(&output.styled(Style::Faint, &next));
        }
        None if shown.messages.is_empty() => output.line("No messages from there on."),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// `12 assistant 2026-03-04T05:06:07.000Z`, with remarks.
fn head(message: &Message) -> String {
    let mut head = format!("{} {}", message.line, message.role);
    if let Some(at) = &message.at {
        head += &format!(" {at}");
    }
    if message.sidechain {
        head += " (subagent)";
    }
    if message.abandoned {
        head += " (given up)";
    }
    head
}

fn part_text(part: &MessagePart) -> String {
    let mut text = match &part.tool {
        Some(tool) => tool_line(tool),
        None => part.text.clone().unwrap_or_default(),
    };
    if let Some(left_out) = part.chars_left_out {
        text += &format!("… {left_out} more characters");
    }
    match part.kind.as_str() {
        "prompt" | "text" | "tool" => indented(&text),
        kind => indented(&format!("[{kind}] {text}")),
    }
}

/// `> Bash cargo test: exit 101 (1.2 s)`.
fn tool_line(tool: &ToolUse) -> String {
    let mut line = match (&tool.result, tool.in_flight) {
        (Some(result), _) if !result.is_empty() => format!("> {result}"),
        (_, true) => format!("> {}: no result", tool.name),
        _ => format!("> {}: {}", tool.name, tool.outcome.as_deref().unwrap_or("ok")),
    };
    if let Some(ms) = tool.duration_ms {
        line += &format!(" ({:.1} s)", ms as f64 / 1e3);
    }
    if let Some(subagent) = &tool.subagent {
        line += &format!(" [{subagent}]");
    }
    line
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_part_is_printed_in_its_form() {
        let part = |kind: &str, text: &str| MessagePart {
            kind: kind.to_owned(),
            text: Some(text.to_owned()),
            ..MessagePart::default()
        };
        let tool = |tool| MessagePart { kind: "tool".to_owned(), tool: Some(tool), ..MessagePart::default() };
        let bash = || ToolUse { name: "Bash".to_owned(), ..ToolUse::default() };
        for (part, expected) in [
            (part("text", "one\ntwo"), "  one\n  two"),
            (part("thinking", "hm"), "  [thinking] hm"),
            (MessagePart { chars_left_out: Some(7), ..part("prompt", "long") }, "  long… 7 more characters"),
            (tool(ToolUse { in_flight: true, ..bash() }), "  > Bash: no result"),
            (
                tool(ToolUse { result: Some("Bash ls: ok".to_owned()), duration_ms: Some(1_234), ..bash() }),
                "  > Bash ls: ok (1.2 s)",
            ),
            (tool(ToolUse { outcome: Some("denied".to_owned()), ..bash() }), "  > Bash: denied"),
        ] {
            assert_eq!(part_text(&part), expected);
        }
    }
}
