//! What a tool's result says about a person: that they refused, interrupted, or answered, and in which words.

use crate::conversation::Outcome;
use crate::filter::result::Output;

/// How much of a result is read to tell whether a person had a hand in it, in bytes.
const LEAD_BYTES: usize = 160;

const REFUSALS: &[&str] = &[
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission for this tool use was denied.",
    "User declined to answer",
];
const INTERRUPTIONS: &[&str] = &["[Request interrupted by user", "Command was aborted", "Interrupted by user"];
const ANSWERS: &[&str] =
    &["User has answered your question", "Your questions have been answered", "The user answered:"];
const QUESTION_TOOL: &str = "AskUserQuestion";
/// What stands before the reason of a refusal.
const REASON: &str = "user said:";
/// What the harness puts behind the reason, for the model.
const AFTER_REASON: &str = "\n\nNote: The user's next message may contain";

/// How a call went, and what a person typed about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) answer: Option<String>,
}

/// Reads a result.
pub(super) fn of(tool: Option<&str>, is_error: bool, output: &Output<'_>) -> Verdict {
    let lead = output.head(LEAD_BYTES);
    let lead = lead.trim_start();
    let begins = |starts: &[&str]| starts.iter().any(|start| lead.starts_with(start));
    if begins(REFUSALS) {
        return Verdict { outcome: Outcome::Denied, answer: reason(&output.whole()) };
    }
    if begins(INTERRUPTIONS) && is_error {
        return Verdict { outcome: Outcome::Interrupted, answer: None };
    }
    if begins(ANSWERS) || (tool == Some(QUESTION_TOOL) && !is_error) {
        let answer = Some(output.whole()).filter(|text| !text.trim().is_empty());
        return Verdict { outcome: Outcome::Ok, answer };
    }
    Verdict { outcome: if is_error { Outcome::Failed } else { Outcome::Ok }, answer: None }
}

/// The reason that a person gave for a refusal.
fn reason(text: &str) -> Option<String> {
    let said = text.split_once(REASON)?.1;
    let said = said.split_once(AFTER_REASON).map_or(said, |(said, _)| said).trim();
    (!said.is_empty()).then(|| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::json::Value;

    fn check(tool: Option<&str>, is_error: bool, text: &str, outcome: Outcome, answer: Option<&str>) {
        let raw = serde_json::to_vec(&serde_json::json!({ "c": text })).unwrap();
        let output = Output::of(Value::Object(&raw).get(b"c"));
        assert_eq!(of(tool, is_error, &output), Verdict { outcome, answer: answer.map(str::to_owned) }, "{text}");
    }

    #[test]
    fn what_a_person_had_to_do_with_a_result_is_told() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. …).";
        check(Some("Edit"), true, refused, Outcome::Denied, None);
        let reason = "keep the name.\nIt is public.";
        let with_reason = format!("{refused} To tell you how to proceed, the user said:\n{reason}");
        check(Some("Edit"), true, &with_reason, Outcome::Denied, Some(reason));
        check(
            None,
            true,
            &format!("{with_reason}\n\nNote: The user's next message may contain a correction."),
            Outcome::Denied,
            Some(reason),
        );
        check(Some("Bash"), true, "[Request interrupted by user for tool use]", Outcome::Interrupted, None);
        let answered = "User has answered your questions: \"Which?\"=\"The second\". You can now continue.";
        check(None, false, answered, Outcome::Ok, Some(answered));
        check(Some(QUESTION_TOOL), false, "\"Which?\"=\"The second\"", Outcome::Ok, Some("\"Which?\"=\"The second\""));
        check(Some(QUESTION_TOOL), true, "No such tool", Outcome::Failed, None);
        check(Some("Bash"), true, "Exit code 1", Outcome::Failed, None);
        check(Some("Read"), false, "the user said: nothing", Outcome::Ok, None);
    }
}
