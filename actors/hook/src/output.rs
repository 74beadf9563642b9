//! The output of a hook: the one JSON object that Claude Code takes as context, or nothing.

use std::io::Write;

use serde::Serialize;

use super::event::Event;
use super::file_limit;

#[derive(Serialize)]
struct HookOutput<'a> {
    #[serde(rename = "hookSpecificOutput")]
    output: SpecificOutput<'a>,
}

#[derive(Serialize)]
struct SpecificOutput<'a> {
    #[serde(rename = "hookEventName")]
    event: &'a str,
    #[serde(rename = "additionalContext")]
    context: &'a str,
}

/// Prints context for the agent. Write errors are ignored: the reader has gone.
pub(super) fn print(event: &Event, context: &str) {
    if let Ok(line) = line(event, context)
        && file_limit::allows_output(line.len())
    {
        let mut output = std::io::stdout().lock();
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

fn line(event: &Event, context: &str) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&HookOutput { output: SpecificOutput { event: &event.name, context } })?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_agent_understands() {
        let line = line(&Event::parse("session-start"), "a \"fact\"\nanother").unwrap();
        let expected = "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\
                        \"additionalContext\":\"a \\\"fact\\\"\\nanother\"}}\n";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }
}
