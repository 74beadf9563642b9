//! A person's part in a tool's result: whether they refused, interrupted or answered, and their text.

use crate::filter::result::Output;
use crate::item::Outcome;
use baton_words::WordList;

/// Bytes of a result that are searched for a person's part.
const LEAD_BYTES: usize = 160;
/// Longest text of a result that may be a person's alone, in bytes.
const MAX_BARE_BYTES: usize = 2_000;
/// Most lines of such a text.
const MAX_BARE_LINES: usize = 12;

/// Beginnings of results of refused calls.
static REFUSALS: WordList = WordList::new(crate::WORDS, "claude refusals");
/// A question that was answered with a question.
const CLARIFICATION: &str = "The user wants to clarify";
/// Beginnings of results of calls that were not refused but not completed.
static INTERRUPTIONS: WordList = WordList::new(crate::WORDS, "claude interruptions");
/// End of the output of an aborted command.
const ABORTED: &str = "<error>Command was aborted before completion</error>";
/// Longest output whose end is checked for it, in bytes.
const MAX_ABORTED_BYTES: usize = 40_000;
const ANSWERS: &[&str] =
    &["User has answered your question", "Your questions have been answered", "The user answered:"];
pub(in crate::transcript) const QUESTION_TOOL: &str = "AskUserQuestion";
/// Text before the reason of a refusal.
static REASONS: WordList = WordList::new(crate::WORDS, "claude reasons");
/// Text that the harness puts after the reason, for the model.
const AFTER_REASON: &str = "\n\nNote: The user's next message may contain";
/// Text before the questions that a person wants to clarify, and beginnings of what they typed about one.
const QUESTIONS_ASKED: &str = "Questions asked:";
const TYPED_ABOUT: &[&str] = &["Answer: ", "User notes: "];

/// Tools that ask a person first, and whose own errors have a distinct form.
const ASKING_TOOLS: &[&str] = &["Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "ExitPlanMode"];
/// Beginnings of the harness' texts where a person's text may be.
static HARNESS: WordList = WordList::new(crate::WORDS, "claude harness");

/// What a record says about a result besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transcript) enum Hint {
    /// Nothing.
    None,
    /// A person refused the call (`toolDenialKind` in newer versions).
    RefusedByPerson,
    /// A rule or the harness refused the call.
    RefusedByRule,
    /// The call was cancelled without a refusal.
    CalledOff,
    /// In this version a person's reason may be the whole text.
    MayBeBareReason,
}

/// How a call ended, and what a person typed about it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::transcript) struct Verdict {
    pub(in crate::transcript) outcome: Outcome,
    pub(in crate::transcript) answer: Option<String>,
}

/// Determines the verdict of a result.
pub(in crate::transcript) fn judge(tool: Option<&str>, is_error: bool, output: &Output<'_>, hint: Hint) -> Verdict {
    let lead = output.head(LEAD_BYTES);
    let lead = lead.trim_start().trim_start_matches("<tool_use_error>");
    let begins = |starts: &[&str]| starts.iter().any(|start| lead.starts_with(start));
    let asked = tool == Some(QUESTION_TOOL);
    let refused = is_error || asked || matches!(hint, Hint::RefusedByPerson | Hint::RefusedByRule);
    if refused && begins(&REFUSALS) && hint != Hint::CalledOff {
        let text = output.whole();
        let answer = if lead.starts_with(CLARIFICATION) { clarification(&text) } else { reason(&text) };
        return Verdict { outcome: Outcome::Denied, answer };
    }
    let aborted = || output.head(MAX_ABORTED_BYTES).trim_end().ends_with(ABORTED);
    if is_error && (begins(&INTERRUPTIONS) || hint == Hint::CalledOff || aborted()) {
        return Verdict { outcome: Outcome::Interrupted, answer: None };
    }
    match hint {
        Hint::RefusedByPerson => return Verdict { outcome: Outcome::Denied, answer: bare(output) },
        Hint::RefusedByRule => return Verdict { outcome: Outcome::Denied, answer: None },
        Hint::MayBeBareReason if is_error && tool.is_some_and(|tool| ASKING_TOOLS.contains(&tool)) => {
            if let Some(answer) = bare(output) {
                return Verdict { outcome: Outcome::Denied, answer: Some(answer) };
            }
        }
        Hint::MayBeBareReason | Hint::CalledOff | Hint::None => {}
    }
    if begins(ANSWERS) || (asked && !is_error) {
        let answer = Some(output.whole()).filter(|text| !text.trim().is_empty());
        return Verdict { outcome: Outcome::Ok, answer };
    }
    Verdict { outcome: if is_error { Outcome::Failed } else { Outcome::Ok }, answer: None }
}

/// A person's reason for a refusal.
fn reason(text: &str) -> Option<String> {
    let said = REASONS.iter().find_map(|before| text.split_once(before))?.1;
    let said = said.split_once(AFTER_REASON).map_or(said, |(said, _)| said);
    let said = said.trim().trim_end_matches("</tool_use_error>").trim();
    (!said.is_empty()).then(|| said.to_owned())
}

/// A person's text about questions that they did not simply answer, with the questions; `None` if they typed nothing.
fn clarification(text: &str) -> Option<String> {
    let asked = text.split_once(QUESTIONS_ASKED)?.1;
    let typed = asked.lines().any(|line| TYPED_ABOUT.iter().any(|start| line.trim_start().starts_with(start)));
    typed.then(|| asked.trim().to_owned())
}

/// The whole text, if it can only be a person's: a few lines that begin with a word and are neither an exit code nor a
/// program's error (`grep: …`, `EACCES: …`) nor a text of the harness.
fn bare(output: &Output<'_>) -> Option<String> {
    let text = output.head(MAX_BARE_BYTES + 1);
    let text = text.trim();
    let first = text.split_whitespace().next()?;
    let harness = HARNESS.iter().chain(&*REFUSALS).any(|start| text.starts_with(start));
    let program = first.ends_with(':') || first.starts_with(['(', '[', '{', '=', '-', '+', '/', '#', '$', '>']);
    let bounded = text.len() <= MAX_BARE_BYTES && text.lines().take(MAX_BARE_LINES + 1).count() <= MAX_BARE_LINES;
    (bounded && !harness && !program && first.contains(char::is_alphabetic)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_redaction::raw_json::Value;

    fn verdict(tool: Option<&str>, is_error: bool, text: &str, hint: Hint) -> Verdict {
        let raw = serde_json::to_vec(&serde_json::json!({ "c": text })).unwrap();
        judge(tool, is_error, &Output::parse(Value::Object((&raw).into()).get(b"c")), hint)
    }

    fn check(tool: Option<&str>, is_error: bool, text: &str, outcome: Outcome, answer: Option<&str>) {
        let expected = Verdict { outcome, answer: answer.map(str::to_owned) };
        assert_eq!(verdict(tool, is_error, text, Hint::None), expected, "{text}");
    }

    #[test]
    fn what_a_person_had_to_do_with_a_result_is_told() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. …).";
        check(Some("Edit"), true, refused, Outcome::Denied, None);
        let reason = "keep the name.\nIt is public.";
        for before in [
            "The user said:\n",
            "To tell you how to proceed, the user said:\n",
            "The user provided the following reason for the rejection:  ",
        ] {
            let with_reason = format!("{refused} {before}{reason}");
            check(Some("Edit"), true, &with_reason, Outcome::Denied, Some(reason));
            let noted = format!("{with_reason}\n\nNote: The user's next message may contain a correction.");
            check(None, true, &noted, Outcome::Denied, Some(reason));
            check(
                None,
                true,
                &format!("<tool_use_error>{with_reason}</tool_use_error>"),
                Outcome::Denied,
                Some(reason),
            );
        }
        check(Some("Bash"), false, refused, Outcome::Ok, None);
        check(Some("Bash"), true, "Permission to use Bash with command rm has been denied.", Outcome::Denied, None);
        let plan = "The agent proposed a plan that was rejected by the user. The user chose to stay in plan mode.";
        check(Some("ExitPlanMode"), true, &format!("{plan}\n\nRejected plan:\nx"), Outcome::Denied, None);
        check(
            Some("ExitPlanMode"),
            true,
            &format!("{plan}\nUser feedback on this plan: rework step 2"),
            Outcome::Denied,
            Some("rework step 2"),
        );
        for cut_short in [
            "[Request interrupted by user for tool use]",
            "[Tool call skipped: the turn ended to deliver the message that follows before this call ran.",
            "<tool_use_error>Error: Streaming fallback - tool execution discarded</tool_use_error>",
            "one line\n<error>Command was aborted before completion</error>\n",
        ] {
            check(Some("Bash"), true, cut_short, Outcome::Interrupted, None);
        }
        let answered = "User has answered your questions: \"Which?\"=\"The second\". You can now continue.";
        check(None, false, answered, Outcome::Ok, Some(answered));
        check(Some(QUESTION_TOOL), false, "\"Which?\"=\"The second\"", Outcome::Ok, Some("\"Which?\"=\"The second\""));
        check(Some(QUESTION_TOOL), true, "No such tool", Outcome::Failed, None);
        check(Some("Bash"), true, "Exit code 1", Outcome::Failed, None);
        check(Some("Read"), false, "the user said: nothing", Outcome::Ok, None);
    }

    #[test]
    fn a_question_answered_with_a_question_is_no_answer_but_what_was_typed_is_kept() {
        let clarify = |typed: &str| {
            format!(
                "The user wants to clarify these questions.\n    Start by asking them.\n\n    Questions asked:\n- \"Which?\"\n  {typed}"
            )
        };
        check(Some(QUESTION_TOOL), false, &clarify("(No answer provided)"), Outcome::Denied, None);
        check(Some(QUESTION_TOOL), true, &clarify("Answer: B"), Outcome::Denied, Some("- \"Which?\"\n  Answer: B"));
        let notes = "(No answer provided)\n  User notes: neither";
        check(Some(QUESTION_TOOL), true, &clarify(notes), Outcome::Denied, Some(&format!("- \"Which?\"\n  {notes}")));
        check(Some(QUESTION_TOOL), true, "User declined to answer questions", Outcome::Denied, None);
    }

    #[test]
    fn a_reason_without_its_frame_is_told_from_an_error() {
        let bare = |tool, text: &str| verdict(Some(tool), true, text, Hint::MayBeBareReason);
        for text in [
            "please add transformer.js too first",
            "Wait a sec, we need a.svg too",
            "So if I open https://a.b – works?",
            "non",
        ] {
            assert_eq!(bare("Bash", text), Verdict { outcome: Outcome::Denied, answer: Some(text.into()) }, "{text}");
        }
        for text in [
            "Exit code 1\nplease",
            "grep: a.rs: No such file or directory",
            "EACCES: permission denied, open 'a'",
            "<tool_use_error>File has not been read yet.</tool_use_error>",
            "File has not been read yet. Read it first before writing to it.",
            "(eval):cd:1: no such file or directory: test",
            "============ test session starts ============",
            "Command timed out after 2m 0.0s",
            "This command requires approval",
            "error[E0308]: mismatched types",
            "",
        ] {
            assert_eq!(bare("Edit", text), Verdict { outcome: Outcome::Failed, answer: None }, "{text}");
        }
        assert_eq!(bare("Bash", &"a line\n".repeat(40)).outcome, Outcome::Failed);
        assert_eq!(bare("WebFetch", "Request failed with status code 404").outcome, Outcome::Failed);
        assert_eq!(verdict(Some("Bash"), true, "please not", Hint::None).outcome, Outcome::Failed);
        assert_eq!(verdict(Some("Bash"), false, "please not", Hint::MayBeBareReason).outcome, Outcome::Ok);
    }

    #[test]
    fn a_record_that_says_who_refused_is_believed() {
        let denied = |answer: Option<&str>| Verdict { outcome: Outcome::Denied, answer: answer.map(str::to_owned) };
        assert_eq!(verdict(Some("x"), true, "not that one", Hint::RefusedByPerson), denied(Some("not that one")));
        assert_eq!(verdict(Some("x"), true, "User rejected tool use", Hint::RefusedByPerson), denied(None));
        assert_eq!(verdict(Some("x"), true, "Blocked by the classifier", Hint::RefusedByRule), denied(None));
        let unwilling = "The user doesn't want to take this action right now. STOP what you are doing.";
        assert_eq!(verdict(Some("x"), true, unwilling, Hint::None), denied(None));
        let called_off = Verdict { outcome: Outcome::Interrupted, answer: None };
        assert_eq!(verdict(Some("x"), true, unwilling, Hint::CalledOff), called_off);
    }
}
