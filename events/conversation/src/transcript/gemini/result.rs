//! Results of the tools of Gemini CLI and of programs made from it.

use crate::filter::result::{Output, ResultFacts};
use crate::item::Outcome;
use baton_redaction::raw_json::{Text, Value};

use super::{number, pick, text};

/// Bytes of an output that are searched for statements about the output itself.
const HEAD_BYTES: usize = 400;
/// Most lines around the output of a command.
const MAX_FRAME_LINES: usize = 12;
/// Lines before the output of a command.
const BEFORE: &[&[u8]] = &[b"Command: ", b"Directory: "];
/// Lines after it.
const BEHIND: &[&[u8]] =
    &[b"Stderr: (empty)", b"Error: (none)", b"Exit Code: ", b"Signal: ", b"Background PIDs: ", b"Process Group PGID: "];
/// Element around what came from outside.
const FOREIGN: (&[u8], &[u8]) = (b"<untrusted_context>\\n", b"\\n</untrusted_context>");
/// What begins the output: the second in the versions of 2025, which had the two streams one after the other.
const OUTPUT: [&[u8]; 2] = [b"Output: ", b"Stdout: "];
/// Between an empty first stream and the second one.
const ONLY_ERRORS: &[u8] = b"(empty)\\nStderr: ";
const EXIT_CODE: &[u8] = b"Exit Code: ";
/// Statements in the result of a call that a person, or a rule on a person's behalf, refused.
const REFUSALS: &[&str] = &["denied", "did not allow", "declined", "rejected"];
/// The same, in results that are errors.
const REFUSED: &[&str] = &["Tool execution denied", "denied by policy", "Tool execution blocked"];
const CANCELLED: &str = "[Operation Cancelled]";
const INTERRUPTED: &str = "Command was cancelled by user";
const TIMED_OUT: &[&str] = &["Command was automatically cancelled", "Command timed out after "];
/// Beginnings of results of commands that go on, and what ends their name.
const BACKGROUND: &[(&str, char)] =
    &[("Command moved to background (PID: ", ')'), ("Background shell started.\nid: ", '\n')];
/// Bytes of the end of an output that may have advice of the program behind the lines around it.
const ADVICE_BYTES: usize = 2_000;
/// End of the display name of an MCP tool: `search (github MCP Server)`.
const OF_SERVER: &str = " MCP Server)";

/// A result, taken apart.
pub(crate) struct Answer<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) output: Output<'a>,
}

/// Reads a `functionResponse`, with the state of the call and what the screen showed, if they are recorded.
pub(crate) fn answer<'a>(response: Option<Value<'a>>, status: Option<&[u8]>, display: Option<Value<'_>>) -> Answer<'a> {
    let response = response.and_then(|response| response.get(b"response")).unwrap_or(Value::Null);
    let [output, error] = pick(response, [b"output", b"error"]);
    let content = error.or(output).unwrap_or(response);
    let mut facts = ResultFacts { changed: changed(display), ..ResultFacts::default() };
    let content = match content {
        Value::Text(whole) => {
            let (said, exit_code) = without_frame(whole);
            facts.exit_code = exit_code;
            Value::Text(said)
        }
        other => other,
    };
    let mut output = Output::parse(Some(content));
    let head = output.head(HEAD_BYTES);
    let has = |words: &[&str]| words.iter().any(|word| head.contains(word));
    let background =
        |(start, end): &(&str, char)| head.strip_prefix(start)?.split_once(*end).map(|(name, _)| name.to_owned());
    facts.background = BACKGROUND.iter().find_map(background);
    let outcome = match status {
        Some(b"cancelled") if has(REFUSALS) => Outcome::Denied,
        Some(b"cancelled") => Outcome::Interrupted,
        _ if head.starts_with(CANCELLED) && has(REFUSALS) => Outcome::Denied,
        _ if head.starts_with(CANCELLED) || head.starts_with(INTERRUPTED) => Outcome::Interrupted,
        _ if error.is_some() || status == Some(b"error") => match has(REFUSED) {
            true => Outcome::Denied,
            false => Outcome::Failed,
        },
        _ if TIMED_OUT.iter().any(|start| head.starts_with(start)) => Outcome::Failed,
        _ => Outcome::Ok,
    };
    output.facts = facts;
    Answer { outcome, output }
}

/// Takes the lines around the output of a command away; among them is the exit code. Other texts stay as they are.
fn without_frame(whole: Text<'_>) -> (Text<'_>, Option<i32>) {
    let inside = whole.raw().strip_prefix(FOREIGN.0).and_then(|rest| rest.strip_suffix(FOREIGN.1));
    let whole = inside.map_or(whole, Text::new);
    let mut rest = whole.raw();
    for _ in 0..MAX_FRAME_LINES {
        if !BEFORE.iter().any(|start| rest.starts_with(start)) {
            break;
        }
        let Some(end) = memchr::memmem::find(rest, b"\\n") else { return (whole, None) };
        rest = &rest[end + 2..];
    }
    let says_code = rest.len() < whole.raw().len();
    let output = OUTPUT.iter().find_map(|start| rest.strip_prefix(*start));
    let Some(mut rest) = output else { return (whole, None) };
    if says_code && let Some(at) = memchr::memmem::rfind(rest, b"\\nExit Code: ") {
        // Advice of the program follows.
        let end = memchr::memmem::find(&rest[at + 2..], b"\\n").map_or(rest.len(), |end| at + 2 + end);
        rest = if rest.len() - end <= ADVICE_BYTES { &rest[..end] } else { rest };
    }
    let mut exit_code = None;
    for _ in 0..MAX_FRAME_LINES {
        let start = memchr::memmem::rfind(rest, b"\\n").unwrap_or(0);
        let line = rest[start..].strip_prefix(b"\\n").unwrap_or(&rest[start..]);
        if start == 0 || !(line.is_empty() || BEHIND.iter().any(|begin| line.starts_with(begin))) {
            break;
        }
        if let Some(digits) = line.strip_prefix(EXIT_CODE) {
            exit_code = std::str::from_utf8(digits).ok().and_then(|digits| digits.trim().parse().ok());
        }
        rest = &rest[..start];
    }
    rest = rest.strip_prefix(ONLY_ERRORS).unwrap_or(rest);
    if matches!(rest, b"(empty)" | b"(none)") {
        rest = b"";
    }
    (Text::new(rest), exit_code)
}

/// Lines added and removed by a change to a file.
fn changed(display: Option<Value<'_>>) -> Option<(u32, u32)> {
    let [added, removed] = pick(display?.get(b"diffStat")?, [b"model_added_lines", b"model_removed_lines"]);
    Some((number(added)?.try_into().ok()?, number(removed)?.try_into().ok()?))
}

/// The name of a tool of an MCP server, with that of the server; `None` for other tools.
pub(crate) fn name_of_mcp_tool(name: &str, display: Option<Text<'_>>) -> Option<String> {
    if name.starts_with("mcp_") {
        return Some(name.to_owned());
    }
    let display = text(display.map(Value::Text))?.decode();
    let (_, server) = display.strip_suffix(OF_SERVER)?.rsplit_once('(')?;
    Some(format!("mcp__{server}__{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &str, status: &str, outcome: Outcome, exit_code: Option<i32>, output: &str) {
        let json = format!("{{\"response\":{response}}}");
        let status = Some(status.as_bytes()).filter(|status| !status.is_empty());
        let answer = answer(Some(Value::Object(json.as_bytes().into())), status, None);
        assert_eq!((answer.outcome, answer.output.facts.exit_code), (outcome, exit_code), "{response}");
        assert_eq!(answer.output.whole(), output, "{response}");
    }

    #[test]
    fn what_stands_around_an_output_is_told_from_it() {
        use Outcome::{Denied, Failed, Interrupted, Ok};
        check(r#"{"output":"Output: a\nb\nProcess Group PGID: 7"}"#, "success", Ok, None, "a\nb");
        check(r#"{"output":"Output: a\n\nExit Code: 101\nProcess Group PGID: 7"}"#, "success", Ok, Some(101), "a");
        check(r#"{"output":"Output: (empty)\nExit Code: 0\nSignal: (none)"}"#, "", Ok, Some(0), "");
        let older = |streams: &str| {
            format!(
                r#"{{"output":"Command: make\nDirectory: (root)\n{streams}\nError: (none)\nExit Code: 2\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7"}}"#
            )
        };
        for (streams, output) in [
            (r"Stdout: a\nb\nStderr: (empty)", "a\nb"),
            (r"Stdout: (empty)\nStderr: no rule", "no rule"),
            (r"Stdout: a\nStderr: no rule", "a\nStderr: no rule"),
            (r"Stdout: (empty)\nStderr: (empty)", ""),
        ] {
            check(&older(streams), "success", Ok, Some(2), output);
        }
        check(
            r#"{"output":"Command: ls\nDirectory: (root)\nOutput: x\nError: (none)\nExit Code: 2\nSignal: 0"}"#,
            "success",
            Ok,
            Some(2),
            "x",
        );
        check(
            r#"{"output":"<untrusted_context>\nOutput: x\nExit Code: 1\n</untrusted_context>"}"#,
            "success",
            Ok,
            Some(1),
            "x",
        );
        check(
            r#"{"output":"Command: ls\nDirectory: /w\nOutput: x\nExit Code: 3\nSignal: (none)\nProcess Group PGID: 1\n\nrun it in the background"}"#,
            "success",
            Ok,
            Some(3),
            "x",
        );
        check(r#"{"output":"<untrusted_context>\nfound\n</untrusted_context>"}"#, "success", Ok, None, "found");
        check(r#"{"output":"Exit Code: 3 is my own word"}"#, "success", Ok, None, "Exit Code: 3 is my own word");
        check(r#"{"error":"no such file"}"#, "error", Failed, None, "no such file");
        check(
            r#"{"error":"Tool execution denied by policy."}"#,
            "error",
            Denied,
            None,
            "Tool execution denied by policy.",
        );
        let said = "[Operation Cancelled] Reason: User denied execution.";
        check(&format!(r#"{{"error":"{said}"}}"#), "cancelled", Denied, None, said);
        check(&format!(r#"{{"error":"{said}"}}"#), "", Denied, None, said);
        let said = "[Operation Cancelled] Reason: Operation cancelled.";
        check(&format!(r#"{{"error":"{said}"}}"#), "cancelled", Interrupted, None, said);
        check("7", "success", Ok, None, "");
    }

    #[test]
    fn tools_of_servers_are_known_by_either_name() {
        let name = |name: &str, display: &str| name_of_mcp_tool(name, Some(Text::new(display.as_bytes())));
        assert_eq!(name("find", "find (github MCP Server)").as_deref(), Some("mcp__github__find"));
        assert_eq!(name("mcp_github_find", "find").as_deref(), Some("mcp_github_find"));
        assert_eq!(name("read_file", "ReadFile"), None);
    }
}
