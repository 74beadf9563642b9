//! Questions that the agent asked with its tool, and the person's answers.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::sentence::sentences;
use super::timeline::Deed;
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Act;
use baton_words::WordList;

/// Text of the harness around the answers.
const STARTS: [&str; 3] =
    ["User has answered your questions:", "User has answered your question:", "Your questions have been answered:"];
const ENDS: [&str; 2] = ["You can now continue with the user's answers in mind.", "Read the answers carefully"];
/// Separators between question and answer, and between two answers.
const EQUALS: &str = "\"=\"";
const NEXT: &str = "\", \"";
/// Mark before a person's note, which repeats their answer.
const NOTES: &str = "\" user notes:";

/// Word before the label of an option.
const OPTION: &str = "option";
/// The same in all languages.
static OPTIONS: WordList = WordList::new(crate::WORDS, "options");
/// Words by which an option is turned down.
static DENYING: WordList = WordList::new(crate::WORDS, "denials");
/// Words before the number of an option.
const LABELLING: [&str; 2] = [OPTION, "number"];
/// More words say more than which option is meant.
const MAX_NAMING_WORDS: usize = 5;

/// Number of last sentences of a reply that count as its questions.
const CLOSING: usize = 6;
/// Number of words before what a question proposes: `Should I`, `Would you like me to`.
const LEAD_WORDS: RangeInclusive<usize> = 2..=5;

/// Strips the text of the harness from what a person said.
pub(super) fn without_frame(text: &str) -> &str {
    let text = STARTS.iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text);
    let end = ENDS.iter().filter_map(|end| text.rfind(end)).min().unwrap_or(text.len());
    text[..end].trim()
}

/// Returns each question with its answer; empty if the text has another form.
pub fn questions_with_answers(text: &str) -> Vec<(&str, &str)> {
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

/// Returns the option of the agent's list that a few words name by its number or letter: `2`, `option b please`, `方案 B`.
/// `is_earlier` for a list of an earlier reply, where a bare number says nothing.
pub(super) fn named_option<'a>(reply: &'a str, answer: &str, is_earlier: bool) -> Option<&'a str> {
    let words: Vec<String> = answer.split_whitespace().take(MAX_NAMING_WORDS + 1).flat_map(label_apart).collect();
    let is_label = |(at, word): &(usize, &String)| {
        let is_letter = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_lowercase());
        let is_number = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_digit());
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        // A number after an agreement may count something: `yes, 2 of them`.
        let agreed = || words[..*at].iter().all(|word| is_agreement(word));
        let ends = || words[at + 1..].iter().all(|word| is_agreement(word));
        let is_led = before.is_some_and(|word| LABELLING.contains(&word) || OPTIONS.has(word));
        (is_number || is_letter) && is_led
            || !is_earlier && (is_number && agreed() && ends() || is_letter && words.len() == 1)
    };
    if words.iter().any(|word| DENYING.has(word)) {
        return None;
    }
    let mut labels = words.iter().enumerate().filter(is_label);
    let (at, label) = labels.next().filter(|_| words.len() <= MAX_NAMING_WORDS && labels.next().is_none())?;
    let lead = at.checked_sub(1).map_or(OPTION, |at| words[at].as_str());
    let option = |line: &'a str| labelled(line, lead, label).or_else(|| labelled(line, OPTION, label));
    reply.lines().rev().find_map(option).filter(|text| !text.is_empty())
}

/// Returns the bare word in lower case, apart from the letter behind it in a script without spaces: `方案B`.
fn label_apart(word: &str) -> Vec<String> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let lead = bare.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
    match bare.split_at(lead.len()) {
        (lead, label) if !lead.is_empty() && label.len() == 1 => vec![lead.to_owned(), label.to_owned()],
        _ => vec![bare],
    }
}

/// Returns what stands behind the label with which a line begins, with or without the word that leads to labels.
fn labelled<'a>(line: &'a str, lead: &str, label: &str) -> Option<&'a str> {
    let line = bare_line(line);
    let line = starts_with(line, lead).map_or(line, str::trim_start);
    let rest = starts_with(line, label)?;
    let text = rest.trim_start_matches([' ', '*']);
    // `2-phase commit` is no second item.
    let dashed = || text.strip_prefix(['—', '–', '-']).filter(|_| text.len() < rest.len());
    text.strip_prefix(['.', ')', ':', '：']).or_else(dashed).map(str::trim)
}

fn bare_line(line: &str) -> &str {
    line.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Strips a beginning in either case.
fn starts_with<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    let head = text.get(..begin.len()).filter(|head| head.to_lowercase() == begin)?;
    Some(&text[head.len()..])
}

/// Returns true if a question of the agent's proposes how something is to be done: `Should I keep the table?`, unlike
/// `Should I commit?`.
pub(super) fn proposes_way(question: &str) -> bool {
    let rest = |at: usize| question.split_whitespace().skip(at).collect::<Vec<_>>().join(" ");
    let signs = Signs::read(question);
    let tells = LEAD_WORDS.into_iter().any(|at| Signs::read(&rest(at)).begins(Sign::Direct));
    signs.asks() && signs.begins(Sign::Offer) && (tells || signs.has(Sign::Contrast))
}

/// Returns true if an answer reports how something is, and picks no option by that.
pub(super) fn reports(deed: Option<&Deed<'_>>, answer: &str) -> bool {
    let signs = Signs::read(answer);
    let asked = deed.and_then(|deed| deed.call).and_then(|call| call.input.get("questions")).and_then(Value::as_array);
    let options =
        asked.into_iter().flatten().filter_map(|question| question.get("options")).filter_map(Value::as_array);
    let mut labels = options.flatten().filter_map(|option| option.get("label")).filter_map(Value::as_str);
    let (answer, mut is_option) = (answer.to_lowercase(), false);
    let names_option = labels.any(|label| {
        let label = label.to_lowercase();
        is_option |= label == answer;
        answer.contains(&label)
    });
    // `Yes, it works fine` is the state of a thing; `yes, that works` agrees.
    signs.has(Sign::Works) && is_option || signs.has_any(&[Sign::Defect, Sign::Cause]) && !names_option
}

/// Returns true if a reply asks more than one question: who answers decides.
pub(super) fn asks_several(reply: &str) -> bool {
    let all = sentences(reply);
    all.iter().rev().take(CLOSING).filter(|said| !said.quoted && Signs::read(said.text).asks()).count() > 1
}

/// Returns true if an answer only agrees: `yes`, `ok, do it`.
pub(super) fn only_agrees(answer: &str) -> bool {
    let is_agreeing = |part: &str| {
        let words: Vec<&str> = part.split_whitespace().collect();
        words.len() <= 2 && Signs::read(part.trim()).begins(Sign::Assent) || words.iter().all(|word| is_agreement(word))
    };
    let mut parts = answer.split(['.', ',', '!', '\n']).filter(|part| !part.trim().is_empty()).peekable();
    parts.peek().is_some_and(|first| Signs::read(first.trim()).begins(Sign::Assent)) && parts.all(is_agreeing)
}

/// Returns true for a word that only agrees or is polite.
fn is_agreement(word: &str) -> bool {
    matches!(word, "please" | "then" | "thanks" | "") || Signs::read(word).begins(Sign::Assent)
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
        assert_eq!(questions_with_answers(text), expected, "{text}");
    }

    #[test]
    fn an_option_is_named_by_its_label() {
        let list = "Two ways:\n1. **A table** for all\n2) A list\n\n**Option B: A file**\nWhich one?";
        let check =
            |answer: &str, expected: Option<&str>| assert_eq!(named_option(list, answer, false), expected, "{answer}");
        check("1", Some("**A table** for all"));
        check("let's do option 2.", Some("A list"));
        check("b", Some("A file**"));
        check("Option B please", Some("A file**"));
        check("b it is then", None);
        check("1 or 2", None);
        check("3", None);
        check("ok, 1 please", Some("**A table** for all"));
        check("number 2 then", Some("A list"));
        check("give me 2 minutes", None);
        check("wait 1 sec", None);
        check("yes, 2 of them", None);
        check("take 1 of the tables and put it there", None);
        check("", None);
        check("good. implement option B then", Some("A file**"));
        let list = "**Option A — a table (1 line).** Quick.\n**Option B — a file (2 lines).** Slow.\n\nWant me to?";
        assert_eq!(named_option(list, "do option b", true), Some("a file (2 lines).** Slow."));
        let list = "### 方案 A：默认\n### 方案 B：打印警告\n你倾向哪种？";
        for answer in ["方案 B", "方案B", "用方案B吧"] {
            let expected = Some("打印警告").filter(|_| !answer.ends_with('吧'));
            assert_eq!(named_option(list, answer, false), expected, "{answer}");
        }
        assert_eq!(named_option("Plan b is the winch.", "in b", false), None);
        for (reply, answer) in [
            ("**Issue 2: the rope slips**", "fix issue 2"),
            ("1. rope\n2-phase commit is used here.", "2"),
            ("**Option B: a file**", "not option b"),
            ("Phase 2: the mast", "continue with phase 2"),
        ] {
            assert_eq!(named_option(reply, answer, false), None, "{answer}");
        }
    }

    #[test]
    fn a_question_proposes_a_way_and_an_answer_only_agrees() {
        for (question, proposes) in [
            ("Should I use a table for it?", true),
            ("Would you like me to keep the list as it is?", true),
            ("Shall I build a table instead of the list?", true),
            ("Should I commit?", false),
            ("Shall I run the tests and push?", false),
            ("Use a table?", false),
            ("What should I use?", false),
        ] {
            assert_eq!(proposes_way(question), proposes, "{question}");
        }
        for (answer, agrees) in [
            ("yes", true),
            ("Yes please!", true),
            ("ok, do it", true),
            ("yes, but only the list", false),
            ("yes and commit it", false),
            ("please", false),
            ("no", false),
            ("", false),
        ] {
            assert_eq!(only_agrees(answer), agrees, "{answer}");
        }
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
