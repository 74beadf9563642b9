//! The program's own copy of a tool's result for its screen (`toolUseResult`).
//!
//! It makes up more than a third of all bytes and mostly repeats the result. Only the copy has a call's duration, its
//! subagent, the meaning of an exit code, and the lines that a write changed. It is searched only for tools with such
//! facts, without reading anything in between.
//!
//! # Decisions
//!
//! - The copy is searched only for facts that the result lacks: duration, subagent, background task, meaning of an exit
//!   code, lines changed.

use crate::filter::one_line;
use crate::filter::result::ResultFacts;
use baton_redaction::raw_json::{Text, Value};

use super::usage::number;

/// Largest copy that is searched, in bytes: a single call may write a file of that size.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Longest meaning of an exit code, in characters.
const MAX_MEANING_CHARS: usize = 80;
/// Longest id of an agent or of a task, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Facts in the copy of a result. `tool` is the name of the tool, if its call is known.
pub(super) fn facts(copy: Value<'_>, tool: Option<&str>) -> ResultFacts {
    let Value::Object(raw) = copy else {
        return ResultFacts::default();
    };
    if raw.len() > MAX_BYTES || matches!(tool, Some("Read" | "NotebookRead" | "TodoWrite" | "LS")) {
        return ResultFacts::default();
    }
    let writes = matches!(tool, Some("Edit" | "MultiEdit" | "Write"));
    let (mut facts, mut created, mut launched) = (ResultFacts::default(), false, false);
    for (key, value) in copy.fields() {
        match key.raw() {
            b"durationMs" | b"totalDurationMs" => facts.duration_ms = Some(number(value)).filter(|_| counts(value)),
            b"durationSeconds" => facts.duration_ms = milliseconds(value),
            b"agentId" => facts.agent = value.text().and_then(|id| plain_id(id.raw())).map(Into::into),
            b"status" => launched = value.text().is_some_and(|status| status.raw() == b"async_launched"),
            b"interrupted" => facts.interrupted = value.is_true(),
            b"backgroundTaskId" => facts.background = value.text().and_then(|id| plain_id(id.raw())).map(str::to_owned),
            b"returnCodeInterpretation" => {
                let meaning = value.text().map(|text| one_line(&text.decode(), MAX_MEANING_CHARS));
                facts.meaning = meaning.filter(|text| !text.is_empty());
            }
            b"exitCode" if counts(value) => facts.exit_code = signed(value),
            b"type" => created = value.text().is_some_and(|kind| kind.raw() == b"create"),
            b"structuredPatch" if writes => facts.changed = Some(changed(value)),
            // The whole original file, which comes before the patch in some tools and last in others.
            b"originalFile" if facts.changed.is_some() => break,
            _ => {}
        }
    }
    if created {
        // A new file has no patch.
        facts.changed = None;
    }
    if launched {
        facts.background = facts.background.or_else(|| facts.agent.as_deref().map(str::to_owned));
    }
    facts
}

fn counts(value: Value<'_>) -> bool {
    matches!(value, Value::Number(_) | Value::Text(_))
}

fn milliseconds(seconds: Value<'_>) -> Option<u64> {
    let Value::Number(digits) = seconds else { return None };
    let seconds: f64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float saturates, below zero to zero"
    )]
    seconds.is_finite().then(|| (seconds * 1_000.0).round() as u64)
}

fn signed(value: Value<'_>) -> Option<i32> {
    let Value::Number(digits) = value else { return None };
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Lines added and removed by all hunks of a patch.
fn changed(patch: Value<'_>) -> (u32, u32) {
    let lines = patch.elements().filter_map(|hunk| hunk.get(b"lines")).flat_map(Value::elements);
    let first = |line: Value<'_>| line.text().and_then(|text| text.raw().first().copied());
    lines.filter_map(first).fold((0, 0), |(added, removed), first| match first {
        b'+' => (added + 1, removed),
        b'-' => (added, removed + 1),
        _ => (added, removed),
    })
}

/// Facts about the subagent in a result's text, for results without a copy: `agentId: a1b2c3 (for resuming …)`, and
/// `duration_ms: 42973` among its counts.
pub(super) fn add_from_text(facts: &mut ResultFacts, tool: Option<&str>, text: Option<Text<'_>>) {
    // Models garble names: `Task` may be followed by anything that does not make it another tool's name.
    let agent = |name: &str| {
        ["Task", "Agent"].iter().any(|agent| {
            name.strip_prefix(agent).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
    };
    let Some(text) = text.filter(|_| tool.is_some_and(agent)) else {
        return;
    };
    let after = |mark: &[u8]| memchr::memmem::rfind(text.raw(), mark).map(|at| &text.raw()[at + mark.len()..]);
    if facts.agent.is_none() {
        facts.agent = after(b"agentId: ").and_then(plain_id).map(Into::into);
    }
    if facts.duration_ms.is_none() {
        let digits = after(b"duration_ms: ").map(|rest| rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let digits = digits.and_then(|count| after(b"duration_ms: ")?.get(..count));
        facts.duration_ms = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    }
}

/// The id at the beginning of a text: letters, digits, `-` and `_`.
fn plain_id(text: &[u8]) -> Option<&str> {
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = text.iter().take(MAX_ID_BYTES + 1).take_while(plain).count();
    std::str::from_utf8(&text[..length]).ok().filter(|_| (1..=MAX_ID_BYTES).contains(&length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, copy: &str, expected: ResultFacts) {
        assert_eq!(facts(Value::Object(copy.as_bytes().into()), Some(tool)), expected, "{tool} {copy}");
    }

    #[test]
    fn only_what_the_copy_alone_says_is_taken() {
        let none = ResultFacts::default;
        check("Glob", r#"{"filenames":["a"],"durationMs":12}"#, ResultFacts { duration_ms: Some(12), ..none() });
        check(
            "WebSearch",
            r#"{"results":[],"durationSeconds":15.6092}"#,
            ResultFacts { duration_ms: Some(15_609), ..none() },
        );
        check("WebFetch", r#"{"durationMs":null}"#, none());
        check(
            "Task",
            r#"{"status":"completed","agentId":"a2898e3","content":[{"agentId":"x"}],"totalDurationMs":141871}"#,
            ResultFacts { duration_ms: Some(141_871), agent: Some("a2898e3".into()), ..none() },
        );
        check(
            "Agent",
            r#"{"isAsync":true,"status":"async_launched","agentId":"a1"}"#,
            ResultFacts { agent: Some("a1".into()), background: Some("a1".into()), ..none() },
        );
        check("Task", r#"{"agentId":"../../x"}"#, none());
        check("Bash", r#"{"stdout":"\"interrupted\":true","interrupted":false}"#, none());
        check("Bash", r#"{"stdout":"","interrupted":true}"#, ResultFacts { interrupted: true, ..none() });
        check("Bash", r#"{"backgroundTaskId":"b7"}"#, ResultFacts { background: Some("b7".into()), ..none() });
        check(
            "Bash",
            r#"{"returnCodeInterpretation":"No matches found"}"#,
            ResultFacts { meaning: Some("No matches found".into()), ..none() },
        );
        check("BashOutput", r#"{"exitCode":-1}"#, ResultFacts { exit_code: Some(-1), ..none() });
        check("BashOutput", r#"{"exitCode":null}"#, none());
        check("Read", r#"{"durationMs":1}"#, none());
        let patch =
            r#""structuredPatch":[{"oldStart":1,"lines":[" a","-b","+c","+d","\\ No newline"]},{"lines":["-e"]}]"#;
        let changed = ResultFacts { changed: Some((2, 2)), ..none() };
        check("Edit", &format!(r#"{{"originalFile":"x","structuredPatch":[],{patch}}}"#), changed.clone());
        check("Write", &format!(r#"{{"type":"update",{patch},"originalFile":"x"}}"#), changed);
        check("Write", r#"{"type":"create","structuredPatch":[]}"#, none());
        check("mcp__x__y", &format!("{{{patch}}}"), none());
        assert_eq!(facts(Value::Array(b"[]".into()), Some("Bash")), none());
    }

    #[test]
    fn an_agents_result_names_it_in_its_text() {
        let in_text = |tool: &str, text: &str| {
            let raw = format!("{{\"t\":{}}}", serde_json::Value::from(text));
            let mut facts = ResultFacts::default();
            add_from_text(&mut facts, Some(tool), Value::Object(raw.as_bytes().into()).get(b"t").and_then(Value::text));
            (facts.agent.unwrap_or_default().to_string(), facts.duration_ms)
        };
        let text = "agentId: a2898e3 (for resuming to continue)\n<usage>total_tokens: 7\nduration_ms: 1418</usage>";
        assert_eq!(in_text("Task", text), ("a2898e3".to_owned(), Some(1418)));
        assert_eq!(in_text("Task\" >\n<parameter", text).0, "a2898e3");
        assert_eq!(in_text("TaskUpdate", text), (String::new(), None));
        assert_eq!(in_text("Agent", "agentId: \u{e9}"), (String::new(), None));
    }
}
