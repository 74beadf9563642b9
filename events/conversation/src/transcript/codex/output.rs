//! Results of Codex's tools: the text itself, and the exit code, time or refusal around it.

use std::borrow::Cow;

use crate::filter::result::{Output, ResultFacts};
use crate::item::Outcome;
use baton_redaction::raw_json::{Fields, Found, Text, Value, first_object};
use baton_words::WordList;

use super::{number, pick, text};

/// Bytes of an output that are searched for statements about the output itself.
const HEAD_BYTES: usize = 600;
/// Most lines of a heading.
const MAX_HEAD_LINES: usize = 10;
/// Separates an output's heading from the output, as written in JSON.
const OUTPUT: &[u8] = b"Output:\\n";
const OUTPUT_AT_END: &[u8] = b"Output:";
const WALL_TIME: &str = "Wall time: ";
/// Beginnings of results of calls that a person, or a rule on a person's behalf, refused.
static REFUSALS: WordList = WordList::new(crate::WORDS, "codex refusals");
const INTERRUPTIONS: &[&str] = &["aborted by user", "aborted"];
static FAILURES: WordList = WordList::new(crate::WORDS, "codex failures");

/// A result, taken apart.
pub(super) struct Answer<'a> {
    pub(super) outcome: Outcome,
    pub(super) output: Output<'a>,
}

/// Reads a result: a string, often with a heading, or a list of blocks. `runs_commands`: the results of a script are
/// those of commands. `decoded` holds text that must be decoded.
pub(super) fn parse<'a>(content: Option<Value<'a>>, runs_commands: bool, decoded: &'a mut String) -> Answer<'a> {
    let (text, success) = match content {
        Some(Value::Text(text)) => (text, None),
        // `{content, success}`, as some versions write it.
        Some(object @ Value::Object(_)) => {
            let [content, success] = pick(object, [b"content", b"success"]);
            let success = success.map(Value::is_true);
            match content {
                Some(Value::Text(text)) => (text, success),
                other => return judge(ResultFacts::default(), Output::parse(other), success),
            }
        }
        Some(list @ Value::Array(_)) => return parse_list(list, runs_commands, decoded),
        _ => return judge(ResultFacts::default(), Output::default(), None),
    };
    if let Some((ended, printed)) = of_script(text) {
        return parse_script(ended, &[printed], Output::parse(Some(Value::Text(printed))), runs_commands, decoded);
    }
    // An object in a string: `{"output": "...", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}`.
    if text.raw().starts_with(b"{\\\"output\\\"") {
        *decoded = text.decode().into_owned();
        if let Some((facts, output)) = parse_object(decoded) {
            return judge(facts, output, success);
        }
    }
    let (facts, output) = parse_text(text);
    judge(facts, Output::parse(Some(Value::Text(output))), success)
}

/// Blocks: the first may be a heading, the others are the output.
fn parse_list<'a>(list: Value<'a>, runs_commands: bool, decoded: &'a mut String) -> Answer<'a> {
    let texts: Vec<Text<'a>> = list.elements().filter_map(|block| super::text(block.get(b"text"))).collect();
    if let Some((ended, _)) = texts.first().and_then(|first| of_script(*first)) {
        let all = match &texts[1..] {
            [one] => Value::Text(*one),
            _ => list,
        };
        return parse_script(ended, &texts[1..], Output::parse(Some(all)), runs_commands, decoded);
    }
    let facts = texts.first().map(|first| parse_text(*first).0).unwrap_or_default();
    judge(facts, Output::parse(Some(list)), None)
}

/// How a script ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
    NotYet,
}

/// How a script ended and what it printed, if the text begins with `Script completed`, the time and `Output:`.
fn of_script(whole: Text<'_>) -> Option<(Ended, Text<'_>)> {
    let head = whole.head(HEAD_BYTES).decode();
    let (first, time) = head.split_once('\n')?;
    let ended = match first {
        "Script completed" => Ended::Well,
        "Script failed" => Ended::Badly,
        _ if first.starts_with("Script running with cell ID ") => Ended::NotYet,
        _ => return None,
    };
    time.starts_with("Wall time ").then(|| (ended, whole.after(OUTPUT).unwrap_or(Text::new(b""))))
}

/// The result of a script: what it printed may be the results of commands as objects, of which the worst counts.
fn parse_script<'a>(
    ended: Ended,
    printed: &[Text<'a>],
    all: Output<'a>,
    runs_commands: bool,
    decoded: &'a mut String,
) -> Answer<'a> {
    let background = (ended == Ended::NotYet).then(String::new);
    let mut facts = ResultFacts { background, ..ResultFacts::default() };
    let mut output = all;
    let objects = printed.iter().filter(|block| runs_commands && block.raw().starts_with(b"{"));
    let mut results: Vec<String> = objects.map(|block| block.decode().into_owned()).collect();
    results.retain(|json| parse_object(json).is_some_and(|(facts, _)| facts.exit_code.is_some()));
    let code = |json: &String| parse_object(json).and_then(|(facts, _)| facts.exit_code);
    if let Some(worst) = results.iter().position(|json| code(json) != Some(0)).or((!results.is_empty()).then_some(0)) {
        *decoded = results.swap_remove(worst);
        if let Some((own, of_command)) = parse_object(decoded) {
            facts.exit_code = own.exit_code;
            // Of several commands all that was printed counts.
            output = if printed.len() == 1 { of_command } else { output };
        }
    }
    judge(facts, output, (ended == Ended::Badly).then_some(false))
}

fn parse_object(json: &str) -> Option<(ResultFacts, Output<'_>)> {
    let Found::Object(mut fields) = first_object(json.as_bytes()) else {
        return None;
    };
    let (mut output, mut metadata, mut code) = (None, None, None);
    for (key, value) in Fields::by_ref(&mut fields) {
        match key.raw() {
            b"output" => output = Some(value),
            b"metadata" => metadata = Some(value),
            b"exit_code" => code = Some(value),
            _ => {}
        }
    }
    fields.end()?;
    let [exit_code, duration] =
        metadata.map_or([None, None], |object| pick(object, [b"exit_code", b"duration_seconds"]));
    let duration_ms = match duration {
        Some(Value::Number(digits)) => std::str::from_utf8(digits).ok().and_then(seconds),
        _ => None,
    };
    let facts = ResultFacts { exit_code: self::exit_code(exit_code.or(code)), duration_ms, ..ResultFacts::default() };
    Some((facts, Output::parse(Some(Value::Text(text(output)?)))))
}

/// An output after a heading of lines such as `Wall time: 0.2 seconds`, or without one.
fn parse_text(whole: Text<'_>) -> (ResultFacts, Text<'_>) {
    let head = whole.head(HEAD_BYTES).decode();
    let mut facts = ResultFacts::default();
    let mut any = false;
    for line in head.lines().take(MAX_HEAD_LINES) {
        let line = line.trim();
        if let Some(time) = line.strip_prefix(WALL_TIME) {
            facts.duration_ms = seconds(time.trim_end_matches(" seconds"));
        } else if let Some(code) = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: ")) {
            facts.exit_code = code.trim().parse().ok();
        } else if line.starts_with("Process running with session ID ") {
            facts.background = Some(String::new());
        } else if line == "Output:" && any {
            let output = whole.after(OUTPUT).or_else(|| whole.after(OUTPUT_AT_END));
            return (facts, output.unwrap_or(whole));
        } else if !["Chunk ID: ", "Original token count: ", "Total output lines: ", "Warning: "]
            .iter()
            .any(|known| line.starts_with(known))
        {
            break;
        }
        any = true;
    }
    // Without `Output:` the lines are the tool's own.
    (ResultFacts::default(), whole)
}

fn judge(facts: ResultFacts, mut output: Output<'_>, success: Option<bool>) -> Answer<'_> {
    let head = output.head(HEAD_BYTES);
    // Of a command that was stopped the time stands before the words, without the rest of a heading.
    let timed = head.trim_start().strip_prefix(WALL_TIME).and_then(|rest| rest.split_once('\n'));
    let head = timed.map_or(head.trim_start(), |(_, rest)| rest);
    let begins = |starts: &[&str]| starts.iter().any(|start| head.starts_with(start));
    let outcome = match facts.exit_code {
        Some(0) => Outcome::Ok,
        Some(_) if begins(INTERRUPTIONS) => Outcome::Interrupted,
        Some(_) => Outcome::Failed,
        None if begins(&REFUSALS) => Outcome::Denied,
        None if begins(INTERRUPTIONS) => Outcome::Interrupted,
        None if success == Some(false) || begins(&FAILURES) => Outcome::Failed,
        None => Outcome::Ok,
    };
    output.facts = facts;
    Answer { outcome, output }
}

/// An exit code, which may be negative.
pub(super) fn exit_code(value: Option<Value<'_>>) -> Option<i32> {
    match value? {
        Value::Number(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        other => i32::try_from(number(Some(other))?).ok(),
    }
}

/// Converts seconds with a fraction to milliseconds: `0.2054` is 205.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: Cow<'_, str> = Cow::Owned(format!("{fraction:0<3}"));
    let millis: u64 = digits.get(..3)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, outcome: Outcome, facts: (Option<i32>, Option<u64>, bool), output: &str) {
        let json = format!("{{\"o\":{raw}}}");
        let mut decoded = String::new();
        let answer = parse(Value::Object(json.as_bytes().into()).get(b"o"), true, &mut decoded);
        let ResultFacts { exit_code, duration_ms, background, .. } = answer.output.facts.clone();
        assert_eq!((answer.outcome, (exit_code, duration_ms, background.is_some())), (outcome, facts), "{raw}");
        assert_eq!(answer.output.whole(), output, "{raw}");
    }

    #[test]
    fn what_stands_around_an_output_is_told_from_it() {
        check(
            r#""Chunk ID: 1f\nWall time: 1.2345 seconds\nProcess exited with code 101\nOriginal token count: 7\nOutput:\nerror: no\n""#,
            Outcome::Failed,
            (Some(101), Some(1234), false),
            "error: no\n",
        );
        check(
            r#""Exit code: 0\nWall time: 2 seconds\nOutput:\nSuccess.\n""#,
            Outcome::Ok,
            (Some(0), Some(2000), false),
            "Success.\n",
        );
        check(r#""Chunk ID: 1\nProcess exited with code 1\nOutput:""#, Outcome::Failed, (Some(1), None, false), "");
        check(
            r#""Wall time: 30.0017 seconds\nProcess running with session ID 43225\nOutput:\nstill""#,
            Outcome::Ok,
            (None, Some(30001), true),
            "still",
        );
        check(
            r#""{\"output\":\"no such\\nfile\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}""#,
            Outcome::Failed,
            (Some(2), Some(100), false),
            "no such\nfile",
        );
        let none = (None, None, false);
        check(r#""Plan updated""#, Outcome::Ok, none, "Plan updated");
        check(r#""Wall time: a\nmy own words""#, Outcome::Ok, none, "Wall time: a\nmy own words");
        check(r#""exec command rejected by user""#, Outcome::Denied, none, "exec command rejected by user");
        check(r#""aborted by user after 3.2s""#, Outcome::Interrupted, none, "aborted by user after 3.2s");
        let stopped = "Wall time: 2.1 seconds\naborted by user";
        check(&format!("{stopped:?}"), Outcome::Interrupted, none, stopped);
        check(r#""unsupported call: foo""#, Outcome::Failed, none, "unsupported call: foo");
        check(r#"{"content":"x","success":false}"#, Outcome::Failed, none, "x");
        check(r#"[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]"#, Outcome::Ok, none, "a\nb");
        let script = |head: &str, blocks: &str| {
            format!(r#"[{{"type":"input_text","text":"Script {head}\nWall time 0.2 seconds\nOutput:\n"}}{blocks}]"#)
        };
        let object =
            |code: i32| format!(r#",{{"type":"input_text","text":"{{\"exit_code\":{code},\"output\":\"a\"}}"}}"#);
        check(&script("completed", &object(0)), Outcome::Ok, (Some(0), None, false), "a");
        check(&script("completed", &object(2)), Outcome::Failed, (Some(2), None, false), "a");
        let head = "Script completed\nWall time 0.2 seconds\nOutput:\n";
        let both = format!("{head}\n{{\"exit_code\":0,\"output\":\"a\"}}\n{{\"exit_code\":2,\"output\":\"a\"}}");
        check(&script("completed", &(object(0) + &object(2))), Outcome::Failed, (Some(2), None, false), &both);
        check(&script("completed", ""), Outcome::Ok, none, head);
        check(
            &script("running with cell ID 7", ""),
            Outcome::Ok,
            (None, None, true),
            &head.replace("completed", "running with cell ID 7"),
        );
        check(&script("failed", ""), Outcome::Failed, none, &head.replace("completed", "failed"));
        check(r#""Script failed\nWall time 0.2 seconds\nOutput:\nboom""#, Outcome::Failed, none, "boom");
        check(r#""Script failed\nmy own words""#, Outcome::Ok, none, "Script failed\nmy own words");
        check("null", Outcome::Ok, none, "");
        check("7", Outcome::Ok, none, "");
    }

    #[test]
    fn seconds_become_milliseconds() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1.5", Some(1500)),
            ("0.0004", Some(0)),
            ("2.", Some(2000)),
            ("x", None),
            ("1.x", None),
            ("-1", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
