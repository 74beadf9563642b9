//! The output of a hook: the one JSON object that the agent takes as context, or nothing.

use std::io::Write;

use baton_protocol::SignalKind;
use serde::Serialize;

use super::file_limit;
use super::input::{Field, Input};

/// What an agent reads of a hook's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Claude Code's object, of starts and prompts. Codex, Gemini CLI, Qwen Code, Droid, OpenCode's plugin
    /// and Pi's extension read it too.
    Claude,
    /// Copilot CLI's object, of starts.
    Copilot,
    /// Cursor's object, of starts. It takes whatever it cannot parse as a denial.
    Cursor,
    /// Nothing.
    Nothing,
}

impl Output {
    /// The output for an agent named on the command line. `None` for an unknown name.
    pub(super) fn for_agent(name: &str) -> Option<Self> {
        match name {
            "claude" | "codex" | "gemini" | "qwen" | "droid" | "opencode" | "pi" => Some(Self::Claude),
            "copilot" => Some(Self::Copilot),
            "cursor" => Some(Self::Cursor),
            _ => None,
        }
    }

    /// The output for the agent that wrote this input. Variables say nothing about it: several agents set those of
    /// Claude Code. Cursor also calls the hooks of Claude Code, beside its own, which name it.
    pub(super) fn for_input(input: &Input) -> Self {
        match (input.has(Field::CursorVersion), input.has(Field::CamelSession)) {
            (true, _) => Self::Nothing,
            (_, true) => Self::Copilot,
            _ => Self::Claude,
        }
    }

    /// True if the agent reads the output of events of this kind.
    pub(super) fn is_read(self, kind: SignalKind) -> bool {
        match kind {
            SignalKind::SessionStart => self != Self::Nothing,
            SignalKind::UserPromptSubmit => self == Self::Claude,
            _ => false,
        }
    }
}

#[derive(Serialize)]
struct HookOutput<'a> {
    #[serde(rename = "hookSpecificOutput")]
    output: SpecificOutput<'a>,
}

#[derive(Serialize)]
struct CopilotOutput<'a> {
    #[serde(rename = "additionalContext")]
    context: &'a str,
}

#[derive(Serialize)]
struct CursorOutput<'a> {
    #[serde(rename = "additional_context")]
    context: &'a str,
}

#[derive(Serialize)]
struct SpecificOutput<'a> {
    #[serde(rename = "hookEventName")]
    event: &'a str,
    #[serde(rename = "additionalContext")]
    context: &'a str,
}

/// Prints context for the agent; `event` is its name for the event. Write errors are ignored: the reader has gone.
pub(super) fn print(output: Output, event: &str, context: &str) {
    if let Ok(line) = line(output, event, context)
        && file_limit::allows_output(line.len())
    {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

fn line(output: Output, event: &str, context: &str) -> serde_json::Result<Vec<u8>> {
    let mut line = match output {
        Output::Copilot => serde_json::to_vec(&CopilotOutput { context })?,
        Output::Cursor => serde_json::to_vec(&CursorOutput { context })?,
        Output::Claude | Output::Nothing => {
            serde_json::to_vec(&HookOutput { output: SpecificOutput { event, context } })?
        }
    };
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_agent_understands() {
        let specific = "{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeAgent\",\"additionalContext\":";
        let context = "\"a \\\"fact\\\"\\nanother\"";
        for (output, expected) in [
            (Output::Claude, format!("{specific}{context}}}}}\n")),
            (Output::Copilot, format!("{{\"additionalContext\":{context}}}\n")),
            (Output::Cursor, format!("{{\"additional_context\":{context}}}\n")),
        ] {
            let line = line(output, "BeforeAgent", "a \"fact\"\nanother").unwrap();
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }

    #[test]
    fn the_agent_is_told_by_its_name_or_its_input() {
        for (input, expected, reads) in [
            (r#"{"session_id":"a","hook_event_name":"SessionStart"}"#, Output::Claude, [true, true]),
            (r#"{"sessionId":"a","cwd":"/b"}"#, Output::Copilot, [true, false]),
            (r#"{"session_id":"a","cursor_version":"3.0"}"#, Output::Nothing, [false, false]),
            ("", Output::Claude, [true, true]),
        ] {
            let mut read = Input::default();
            read.push(input.as_bytes());
            assert_eq!(Output::for_input(&read), expected, "{input}");
            let kinds = [SignalKind::SessionStart, SignalKind::UserPromptSubmit];
            assert_eq!(kinds.map(|kind| expected.is_read(kind)), reads, "{input}");
            assert!(!expected.is_read(SignalKind::Stop), "nothing that could hold up a stop");
        }
        assert_eq!(Output::for_agent("cursor"), Some(Output::Cursor));
        assert_eq!(Output::for_agent("someone"), None);
    }
}
