//! The sentence of an assistant's text that says what was done, not what it announces or offers.

use super::excerpt::{self, one_line};
use super::sentence::{Sentence, plain, sentences};
use super::timeline::Message;
use super::{ANSWER_CHARS, Pointed};

/// A shorter sentence says too little alone ("All tests pass."): a neighbour is added.
const TELLING_CHARS: usize = 60;
/// Weight of a statement about one's own work.
const MAX_WEIGHT: u8 = 4;
/// Maximum number of a reply's sentences that are weighed, from its end.
const MAX_WEIGHED: usize = 200;
/// Maximum length of a reply that is read, in bytes from its end.
const MAX_BYTES: usize = 40_000;

/// Beginnings of announcements; lower case.
const ANNOUNCING: [&str; 25] = [
    "i see",
    "i can see",
    "now i see",
    "now i can see",
    "i understand",
    "i'm now",
    "let me",
    "now let me",
    "let's",
    "now let's",
    "i'll",
    "i will",
    "now i'll",
    "now i will",
    "next, i",
    "i need to",
    "now i need",
    "i'm going to",
    "first, let",
    "first, i",
    "next, let",
    "i should",
    "we need to",
    "time to",
    "wait",
];
/// Beginnings of, and phrases in, offers; lower case.
const OFFERING: [&str; 18] = [
    "ready to",
    "ready for",
    "you're ready",
    "your changes are",
    "let me know",
    "would you like",
    "do you want",
    "want me to",
    "shall i",
    "should i",
    "if you",
    "feel free",
    "you can now",
    "you can also",
    "happy to",
    "i can also",
    "just let",
    "please let",
];
/// Verbs for what someone did; lower case, sorted.
const DOING: [&str; 25] = [
    "added",
    "changed",
    "committed",
    "completed",
    "configured",
    "created",
    "deployed",
    "extracted",
    "fixed",
    "found",
    "implemented",
    "installed",
    "merged",
    "moved",
    "pushed",
    "refactored",
    "released",
    "removed",
    "renamed",
    "replaced",
    "resolved",
    "reverted",
    "updated",
    "verified",
    "wrote",
];
/// Words for the result or its reason; lower case, sorted.
const DONE: [&str; 21] = [
    "because",
    "cause",
    "caused",
    "complete",
    "done",
    "failed",
    "fails",
    "handles",
    "issue",
    "now",
    "pass",
    "passed",
    "passes",
    "passing",
    "problem",
    "ready",
    "succeeded",
    "successfully",
    "supports",
    "working",
    "works",
];

/// Returns the statement of the last reply that has one; replies that only announce are skipped.
pub(super) fn answer(replies: &[Message<'_>]) -> Option<Pointed> {
    replies.iter().rev().find_map(|reply| {
        let text = statement(reply.text)?;
        Some(Pointed { text, line: reply.line, at: reply.at })
    })
}

/// Returns what a text states: the last of its weightiest sentences, with a neighbour if it is short. `None` if it only
/// announces, offers or asks.
pub(super) fn statement(text: &str) -> Option<String> {
    let found = sentences(tail(text));
    let from = found.len().saturating_sub(MAX_WEIGHED);
    let found: Vec<_> = found[from..].iter().filter(|sentence| states(sentence)).collect();
    let chosen = weightiest(&found)?;
    let mut text = plain(found[chosen].text);
    // A short sentence gets the one after it, else the one before.
    let short = |text: &str| text.chars().count() < TELLING_CHARS && !found[chosen].point;
    let prose = |at: usize| found.get(at).filter(|sentence| !sentence.point).map(|sentence| plain(sentence.text));
    if let Some(after) = prose(chosen + 1).filter(|_| short(&text)) {
        text = format!("{text} {after}");
    }
    if let Some(before) = chosen.checked_sub(1).and_then(prose).filter(|_| short(&text)) {
        text = format!("{before} {text}");
    }
    Some(text).filter(|text| !text.is_empty()).map(|text| one_line(&text, ANSWER_CHARS))
}

/// Returns the last of the weightiest. Searches from the end and stops at the maximum weight.
fn weightiest(found: &[&Sentence<'_>]) -> Option<usize> {
    let mut best: Option<(u8, usize)> = None;
    for (at, sentence) in found.iter().enumerate().rev() {
        let weight = weight(sentence);
        if best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, at));
        }
        if weight == MAX_WEIGHT {
            break;
        }
    }
    best.map(|(_, at)| at)
}

/// Returns true for a statement: not a question, an offer, an announcement or the head of a list.
fn states(sentence: &Sentence<'_>) -> bool {
    let bare = sentence.text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = sentence.text.trim_end_matches(['*', '_', '"', ')', '”', ' ']);
    let telling = bare.split_whitespace().nth(1).is_some() || !bare.is_ascii();
    telling && !end.ends_with(['?', '？', ':', '：']) && !announces(bare) && !offers(bare)
}

/// Returns true if a sentence says what will be done, or is being looked at.
pub(super) fn announces(sentence: &str) -> bool {
    begins(sentence, &ANNOUNCING)
}

/// Returns true if a sentence offers something.
pub(super) fn offers(sentence: &str) -> bool {
    begins(sentence, &OFFERING)
}

fn begins(sentence: &str, list: &[&str]) -> bool {
    let bare = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start: String =
        bare.chars().take(24).flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }).collect();
    list.iter().any(|head| start.starts_with(head))
}

/// Returns how much a statement says about the work: own work done, work done, other statements; list items weigh less.
fn weight(sentence: &Sentence<'_>) -> u8 {
    let own = || {
        let mut words = words(sentence.text);
        let first = words.next().unwrap_or_default();
        is_one_of(&DOING, first) || (first == "I" && words.take(6).any(|word| is_one_of(&DOING, word)))
    };
    match (sentence.point, tells_done(sentence.text)) {
        (false, true) if own() => MAX_WEIGHT,
        (false, true) => 3,
        (true, true) => 2,
        (false, false) => 1,
        (true, false) => 0,
    }
}

fn tells_done(text: &str) -> bool {
    let wide = ["ました", "しました", "完了", "修正", "已", "完成", "通过"];
    words(text).any(|word| is_one_of(&DOING, word) || is_one_of(&DONE, word))
        || (!text.is_ascii() && wide.iter().any(|mark| text.contains(mark)))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns true if a sorted list of lower-case words contains a word in any case.
fn is_one_of(list: &[&str], word: &str) -> bool {
    if word.len() < 3 {
        return false;
    }
    let mut lower = [0; 16];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    list.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok()
}

/// Returns the end of a very long text, from a line start if possible.
fn tail(text: &str) -> &str {
    let cut = excerpt::end(text, MAX_BYTES);
    if cut.len() == text.len() {
        return text;
    }
    cut.split_once('\n').map_or(cut, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(statement(text).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn the_answer_is_what_was_done_not_what_is_announced_or_offered() {
        check("Let me look at the tests.", None);
        check("Would you like me to commit this?", None);
        check("", None);
        check(
            "The token was refreshed too late, so I moved the check into the middleware before the handler. Shall I commit?",
            Some("The token was refreshed too late, so I moved the check into the middleware before the handler."),
        );
        check(
            "I moved the check into `auth.rs`. All tests pass.",
            Some("I moved the check into `auth.rs`. All tests pass."),
        );
        check(
            "Perfect! I've **fixed** the parser to accept a trailing comma in every list.\n\n## Changes\n- `a.rs`: x\n- `b.rs`: y\n\nLet me know if you need more.",
            Some("I've fixed the parser to accept a trailing comma in every list."),
        );
        check("Here is the plan:\n- one thing\n- another thing", Some("another thing"));
        check("修正しました。次に何をしますか？", Some("修正しました。"));
    }

    #[test]
    fn the_lists_are_sorted_and_asked_in_any_case() {
        assert!(DOING.is_sorted() && DONE.is_sorted());
        assert!(is_one_of(&DOING, "Fixed") && is_one_of(&DONE, "NOW"));
        assert!(!is_one_of(&DOING, "fix") && !is_one_of(&DOING, &"x".repeat(99)) && !is_one_of(&DOING, ""));
    }

    #[test]
    fn a_reply_that_only_announces_is_passed_over() {
        let said = |text, line| Message { text, line, at: None, place: 0 };
        let replies =
            [said("The cause was a race in the cache between two writers of one key.", 3), said("Let me check.", 9)];
        assert_eq!(answer(&replies).map(|answer| answer.line), Some(3));
        assert_eq!(answer(&[said("Let me check.", 9)]), None);
        assert_eq!(answer(&[]), None);
    }
}
