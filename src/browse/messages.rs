//! Messages as lines of the screen.

use std::collections::{BTreeMap, BTreeSet};

use baton_protocol::answer::{Message, MessagePart, ToolUse};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::text;
use super::theme::Theme;
use crate::environment::zone;
use crate::print::Marks;

/// Indent of what is said.
const INDENT: &str = "  ";
/// Most lines of one argument of a tool.
const ARGUMENT_LINES: usize = 12;

/// A line of a conversation.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) line: Line<'static>,
    /// The transcript line with which its message begins.
    pub(super) of: u64,
    /// True for the first line of what a person asked.
    pub(super) is_prompt: bool,
    /// True if it can be folded or unfolded.
    pub(super) is_fold: bool,
    /// True if something in it is marked.
    pub(super) is_match: bool,
}

/// How messages are drawn.
pub(super) struct Drawing<'a> {
    pub(super) width: usize,
    pub(super) theme: Theme,
    pub(super) marks: &'a Marks,
    /// True if calls of tools are shown in full.
    pub(super) is_unfolded: bool,
    /// The messages that are drawn the other way.
    pub(super) turned: &'a BTreeSet<u64>,
}

impl Drawing<'_> {
    /// The lines of messages that follow each other.
    pub(super) fn lines(&self, messages: &[Message]) -> Vec<Drawn> {
        let mut drawn = Vec::new();
        let mut last_role = "";
        for message in messages {
            let is_prompt = is_prompt(message);
            if is_prompt || message.role != last_role {
                if !drawn.is_empty() {
                    drawn.push(self.drawn(message, Line::default()));
                }
                drawn.push(Drawn { is_prompt, ..self.drawn(message, self.head(message)) });
            }
            last_role = &message.role;
            self.parts(message, &mut drawn);
        }
        drawn
    }

    fn drawn(&self, message: &Message, line: Line<'static>) -> Drawn {
        Drawn { line, of: message.line, is_prompt: false, is_fold: false, is_match: false }
    }

    fn head(&self, message: &Message) -> Line<'static> {
        let is_person = message.role == "user";
        let name = if is_person { "you".to_owned() } else { text::one_line(&message.role) };
        let style = if is_person { self.theme.heading() } else { self.theme.strong() };
        let at = message.at.as_deref().map(zone::minute).unwrap_or_default();
        let mut about = format!("{at}  line {}", message.line);
        about += if message.sidechain { "  subagent" } else { "" };
        about += if message.abandoned { "  given up" } else { "" };
        Line::from(vec![Span::styled(name, style), Span::raw("  "), Span::styled(about, self.theme.faint())])
    }

    fn parts(&self, message: &Message, drawn: &mut Vec<Drawn>) {
        let is_unfolded = self.is_unfolded != self.turned.contains(&message.line);
        for parts in message.parts.chunk_by(|one, other| one.tool.is_some() && other.tool.is_some()) {
            let tools: Vec<&ToolUse> = parts.iter().filter_map(|part| part.tool.as_ref()).collect();
            match tools.as_slice() {
                [] => parts.iter().for_each(|part| self.part(message, part, drawn)),
                tools if is_unfolded => tools.iter().for_each(|tool| self.whole_tool(message, tool, drawn)),
                tools => {
                    let room = self.width.saturating_sub(INDENT.len());
                    let line = text::fitted(&format!("▸ {}", folded(tools)), room);
                    self.push(message, &format!("{INDENT}{line}"), self.tools_style(tools), true, drawn);
                }
            }
        }
        if let Some(left_out) = message.parts_left_out {
            self.push(message, &format!("{INDENT}… {left_out} more"), self.theme.faint(), false, drawn);
        }
    }

    fn part(&self, message: &Message, part: &MessagePart, drawn: &mut Vec<Drawn>) {
        let (before, style) = match part.kind.as_str() {
            "prompt" | "text" => ("".to_owned(), self.theme.plain()),
            "thinking" => ("thinking: ".to_owned(), self.theme.faint()),
            kind => (format!("[{}] ", text::one_line(kind)), self.theme.faint()),
        };
        let left_out = part.chars_left_out.map(|count| format!("… {count} more characters")).unwrap_or_default();
        let said = format!("{before}{}{left_out}", text::clean(part.text.as_deref().unwrap_or_default()));
        for line in text::wrapped(&said, self.width.saturating_sub(INDENT.len())) {
            self.push(message, &format!("{INDENT}{line}"), style, false, drawn);
        }
    }

    fn whole_tool(&self, message: &Message, tool: &ToolUse, drawn: &mut Vec<Drawn>) {
        let style = self.tools_style(&[tool]);
        let mut is_first = true;
        for line in text::wrapped(&format!("▾ {}", result(tool)), self.width.saturating_sub(INDENT.len())) {
            self.push(message, &format!("{INDENT}{line}"), style, is_first, drawn);
            is_first = false;
        }
        for (name, value) in &tool.input {
            let value = match value {
                Value::String(value) => value.clone(),
                other => other.to_string(),
            };
            let said = text::clean(&format!("    {name}: {}", value.replace('\n', "\n      ")));
            let lines = text::wrapped(&said, self.width.saturating_sub(INDENT.len()));
            for line in lines.iter().take(ARGUMENT_LINES) {
                self.push(message, &format!("{INDENT}{line}"), self.theme.faint(), false, drawn);
            }
            if lines.len() > ARGUMENT_LINES {
                let more = format!("{INDENT}      … {} more lines", lines.len() - ARGUMENT_LINES);
                self.push(message, &more, self.theme.faint(), false, drawn);
            }
        }
    }

    fn push(&self, message: &Message, line: &str, style: Style, is_fold: bool, drawn: &mut Vec<Drawn>) {
        let is_match = self.marks.is_in(line);
        let line = text::marked(line, self.marks, style, self.theme);
        drawn.push(Drawn { line, is_fold, is_match, ..self.drawn(message, Line::default()) });
    }

    fn tools_style(&self, tools: &[&ToolUse]) -> Style {
        let has_failed = tools.iter().any(|tool| tool.outcome.as_deref() == Some("failed"));
        if has_failed { self.theme.bad() } else { self.theme.tool() }
    }
}

/// True if a person asked something.
pub(super) fn is_prompt(message: &Message) -> bool {
    message.parts.iter().any(|part| part.kind == "prompt")
}

/// True if something that can be drawn of a message is marked.
pub(super) fn is_match(message: &Message, marks: &Marks) -> bool {
    message.parts.iter().any(|part| {
        let said = part.text.as_deref().is_some_and(|said| marks.is_in(&text::one_line(said)));
        said || part.tool.as_ref().is_some_and(|tool| {
            let mut arguments = tool.input.values().filter_map(Value::as_str);
            marks.is_in(&result(tool)) || arguments.any(|text| marks.is_in(&text::one_line(text)))
        })
    })
}

/// What a message says, to be copied.
pub(super) fn copied(message: &Message) -> String {
    let parts = message.parts.iter().map(|part| match &part.tool {
        Some(tool) => result(tool),
        None => text::clean_whole(part.text.as_deref().unwrap_or_default()),
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

/// False if the daemon gave only the beginning of the message.
pub(super) fn is_whole(message: &Message) -> bool {
    message.parts_left_out.is_none() && message.parts.iter().all(|part| part.chars_left_out.is_none())
}

fn folded(tools: &[&ToolUse]) -> String {
    if let [tool] = tools {
        return result(tool);
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    tools.iter().for_each(|tool| *names.entry(&tool.name).or_default() += 1);
    let names: Vec<String> = names.iter().map(|(name, count)| format!("{} {count}", text::one_line(name))).collect();
    let failed = tools.iter().filter(|tool| tool.outcome.as_deref() == Some("failed")).count();
    let failed = if failed > 0 { format!("; {failed} failed") } else { String::new() };
    format!("{} tool calls: {}{failed}", tools.len(), names.join(", "))
}

/// A call in one line: `Bash cargo test: exit 101 (1.2 s)`.
fn result(tool: &ToolUse) -> String {
    let line = match (&tool.result, tool.in_flight) {
        (Some(result), _) if !result.is_empty() => result.clone(),
        (_, true) => format!("{}: no result", tool.name),
        _ => format!("{}: {}", tool.name, tool.outcome.as_deref().unwrap_or("ok")),
    };
    let took = tool.duration_ms.map(|ms| format!(" ({:.1} s)", ms as f64 / 1e3)).unwrap_or_default();
    text::one_line(&format!("{line}{took}"))
}
