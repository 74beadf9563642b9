//! Questions that the agent asked with its tool, and the person's answers.

use serde_json::Value;

use super::timeline::Deed;
use baton_conversation::item::Act;

/// Text of the harness around the answers.
const STARTS: [&str; 3] =
    ["User has answered your questions:", "User has answered your question:", "Your questions have been answered:"];
const END: &str = "You can now continue with the user's answers in mind.";
/// Separators between question and answer, and between two answers.
const EQUALS: &str = "\"=\"";
const NEXT: &str = "\", \"";
/// What the harness adds to an answer in the person's own words: their note, which repeats it.
const NOTES: &str = "\" user notes:";

/// Strips the text of the harness from what a person said.
pub(super) fn without_frame(text: &str) -> &str {
    let text = STARTS.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text);
    text.trim_end().trim_end_matches(END).trim()
}

/// Returns each question with its answer; empty if the text has another form.
pub fn answered(text: &str) -> Vec<(&str, &str)> {
    let text = without_frame(text);
    let mut found: Vec<(&str, &str)> = Vec::new();
    let Some(mut rest) = text.strip_prefix('"') else { return found };
    while let Some((question, after)) = rest.split_once(EQUALS) {
        let until = after.find(EQUALS).unwrap_or(after.len());
        let without_notes = |answer: &'_ str| answer.find(NOTES).unwrap_or(answer.len());
        match after[..until].rfind(NEXT).filter(|_| until < after.len()) {
            Some(border) => {
                found.push((question.trim(), after[..without_notes(&after[..border])].trim()));
                rest = &after[border + NEXT.len()..];
            }
            None => {
                let answer = &after[..without_notes(after)];
                found.push((question.trim(), answer.trim_end_matches(['.', ' ']).trim_end_matches('"').trim()));
                break;
            }
        }
    }
    found
}

/// Returns the questions of a call, as far as its parameters are kept.
pub(super) fn asked<'a>(deed: &Deed<'a>) -> Vec<&'a str> {
    if deed.act() != Act::Ask {
        return Vec::new();
    }
    let list = deed.call.and_then(|call| call.input.get("questions")).and_then(Value::as_array);
    let several = list.into_iter().flatten().filter_map(|question| question.get("question")).filter_map(Value::as_str);
    deed.input("question").into_iter().chain(several).filter(|text| !text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        assert_eq!(answered(text), expected, "{text}");
    }

    #[test]
    fn each_question_has_its_answer() {
        check(
            "User has answered your questions: \"Where?\"=\"Postgres\". You can now continue with the user's answers in mind.",
            &[("Where?", "Postgres")],
        );
        check("\"Where?\"=\"Here, now\", \"And \"how\"?\"=\"So\"", &[("Where?", "Here, now"), ("And \"how\"?", "So")]);
        check("\"a\"=\"one\", \"two\", \"b\"=\"\"", &[("a", "one\", \"two"), ("b", "")]);
        check("\"Which?\"=\"None of them. \" user notes: None of them.", &[("Which?", "None of them")]);
        check("no pairs at all", &[]);
        check("\"never closed", &[]);
        check("", &[]);
        assert_eq!(without_frame("Just do it."), "Just do it.");
    }
}
