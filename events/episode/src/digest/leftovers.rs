//! What a report says is left to do: items under a heading such as "Next steps", and sentences that say so themselves.

use super::excerpt;
use super::phrase::Phrase;
use super::sentence::{is_decoration, list_marker, sentences};
use super::statement::{announces, offers};

/// Maximum length of a reply that is read, in bytes from its end.
const MAX_BYTES: usize = 20_000;
/// Maximum number of entries per reply.
const MAX_LEFT: usize = 20;

/// Beginnings of headings of next steps.
const HEADS_NEXT: [&str; 17] = [
    "next",
    "next step",
    "next steps",
    "recommended next steps",
    "suggested next steps",
    "follow up",
    "follow-up",
    "follow-ups",
    "todo",
    "todos",
    "to do",
    "left for later",
    "for later",
    "later",
    "left to do",
    "what's next",
    "future work",
];
/// Beginnings of headings of open matters.
const HEADS_OPEN: [&str; 20] = [
    "still open",
    "open",
    "open questions",
    "open question",
    "open points",
    "open issues",
    "open ends",
    "one thing is still open",
    "remaining",
    "what remains",
    "what's left",
    "not done",
    "not yet done",
    "not started",
    "still to do",
    "pending",
    "unresolved",
    "outstanding",
    "known issues",
    "known limitations",
];
/// Beginnings of sentences about next steps.
const BEGINS_NEXT: [&str; 15] = [
    "please",
    "next i would",
    "next i'd",
    "next we",
    "next would",
    "next :",
    "next step :",
    "next steps :",
    "next step",
    "next steps",
    "follow-up",
    "follow up",
    "todo :",
    "later :",
    "left for later",
];
/// Phrases anywhere in such a sentence.
const SAYS_NEXT: [&str; 16] = [
    "next step",
    "next steps",
    "for later",
    "tomorrow",
    "you may want to",
    "you might want to",
    "you'll need to",
    "you will need to",
    "you'll still need",
    "you still need to",
    "remains to be",
    "left to do",
    "follow-up",
    "as a follow up",
    "still to do",
    ". please",
];
/// Beginnings of sentences about open matters.
const BEGINS_OPEN: [&str; 12] = [
    "open :",
    "still open",
    "not done",
    "not started",
    "not tested",
    "not verified",
    "failing :",
    "to decide :",
    "unresolved :",
    "remaining :",
    "known issue",
    "known limitation",
];
/// Phrases anywhere in such a sentence.
const SAYS_OPEN: [&str; 17] = [
    "still open",
    "not done",
    "not started",
    "not tested",
    "untested",
    "not verified",
    "still fail",
    "still fails",
    "still failing",
    "still missing",
    "still needs",
    "still need",
    "did not look",
    "did not test",
    "did not check",
    "didn't look",
    "didn't test",
];
/// First words of a label, which may have more words: `Open as before: …`.
const LABELS_OPEN: [&str; 5] = ["open", "remaining", "unresolved", "pending", "outstanding"];
/// Maximum number of words of such a label.
const LABEL_WORDS: usize = 4;
/// Phrases anywhere in a heading of open matters.
const HEADS_SAY: [&str; 8] =
    ["is left", "are left", "remain", "remains", "still open", "not done", "not done yet", "left to do"];
/// Phrases for open matters in languages without spaces.
const WIDE: [&str; 7] = ["まだ決め", "未対応", "未完了", "还没", "尚未", "未完成", "下一步"];
/// Beginnings of sentences that leave nothing: conditions, denials, requests for input.
const NOTHING: [&str; 8] =
    ["if", "no", "please let", "please tell", "please provide", "please share", "please specify", "please describe"];
/// Together with `yet`, these say that something is still to come.
const NOT: [&str; 9] = ["not", "isn't", "doesn't", "don't", "haven't", "hasn't", "aren't", "wasn't", "can't"];

/// Something that is left to do or open.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leftover<'a> {
    pub(super) text: &'a str,
    /// True if it is to do, false if it is open.
    pub(super) next: bool,
}

/// Returns everything that a text says is left, in order; linear.
pub(super) fn leftovers(text: &str) -> Vec<Leftover<'_>> {
    let text = excerpt::end(text, MAX_BYTES);
    let mut found: Vec<Leftover<'_>> = Vec::new();
    let mut fenced = false;
    // What the heading above announces, and whether items have followed it.
    let mut head: Option<bool> = None;
    let mut points = false;
    // The same for an item with nested items.
    let mut inner: Option<bool> = None;
    let mut prose: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (begin, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            fenced = !fenced;
        }
        let marker = list_marker(bare);
        let is_prose = !fenced && !bare.is_empty() && marker.is_none() && !is_decoration(bare);
        if is_prose {
            prose = Some(prose.map_or((begin, end), |(begin, _)| (begin, end)));
            continue;
        }
        if let Some((begin, end)) = prose.take() {
            head = paragraph(&text[begin..end], head.filter(|_| !points), &mut found);
            points = false;
        }
        if fenced || bare.is_empty() {
            continue;
        }
        match marker {
            Some(length) => {
                points = true;
                let (text, set_in) = (bare[length..].trim(), line.starts_with([' ', '\t']));
                inner = inner.filter(|_| set_in);
                if announces_list(text) {
                    inner = announced_kind(text);
                } else {
                    let said = says_left(text).or(if set_in { inner } else { head });
                    found.extend(said.filter(|_| !text.is_empty()).map(|next| Leftover { text, next }));
                }
            }
            None => (head, inner, points) = (announced_kind(bare), None, false),
        }
    }
    if let Some((begin, end)) = prose {
        paragraph(&text[begin..end], head.filter(|_| !points), &mut found);
    }
    let excess = found.len().saturating_sub(MAX_LEFT);
    found.drain(..excess);
    found
}

/// Returns whether a heading or label announces next steps (`true`) or open matters (`false`).
fn announced_kind(line: &str) -> Option<bool> {
    let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let phrase = Phrase::new(bare);
    // Long headings are sentences.
    let short = phrase.words().count() <= 8;
    let next = short && phrase.begins(&HEADS_NEXT);
    (next || (short && (phrase.begins(&HEADS_OPEN) || phrase.has_any(&HEADS_SAY)))).then_some(next)
}

/// Adds the sentences of a paragraph. Returns what its end announces for the items that follow.
fn paragraph<'a>(text: &'a str, head: Option<bool>, found: &mut Vec<Leftover<'a>>) -> Option<bool> {
    let mut goes_on = None;
    for sentence in sentences(text) {
        if announces_list(sentence.text) {
            return announced_kind(sentence.text).or_else(|| says_left(sentence.text));
        }
        // "Next: one thing. And another."
        let continues = goes_on.filter(|_| Phrase::new(sentence.text).begins(&["and", "also", "then"]));
        goes_on = says_left(sentence.text).or(continues).or(head.filter(|_| !offers(sentence.text)));
        found.extend(goes_on.map(|next| Leftover { text: sentence.text, next }));
    }
    None
}

/// Returns true if items are to follow.
fn announces_list(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// Returns whether a sentence itself says that something is next (`true`) or open (`false`).
fn says_left(sentence: &str) -> Option<bool> {
    let phrase = Phrase::new(sentence.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`'));
    if phrase.asks() || phrase.has("for example") || offers(sentence) || announces(sentence) || phrase.begins(&NOTHING)
    {
        return None;
    }
    if phrase.begins(&BEGINS_NEXT) || phrase.has_any(&SAYS_NEXT) {
        return Some(true);
    }
    let mut words = phrase.words();
    let labelled = words.next().is_some_and(|first| LABELS_OPEN.contains(&first))
        && words.take(LABEL_WORDS).any(|word| word == ":");
    if labelled || WIDE.iter().any(|mark| sentence.contains(mark)) {
        return Some(false);
    }
    let not_yet = phrase.words().any(|word| word == "yet") && phrase.words().any(|word| NOT.contains(&word));
    (phrase.begins(&BEGINS_OPEN) || phrase.has_any(&SAYS_OPEN) || not_yet).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, bool)]) {
        let found: Vec<_> = leftovers(text).iter().map(|left| (left.text, left.next)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn points_under_a_head_are_what_it_says() {
        check(
            "Done.\n\n## Next steps\n\n1. Tag it\n2. Ship it\n\n## Files\n- a.rs\n",
            &[("Tag it", true), ("Ship it", true)],
        );
        check("**Still open:**\n- the cache\n  - how big\n\nThat is all.\n- no\n", &[("the cache", false)]);
        check("All green. Left for later:\n- docs", &[("docs", true)]);
        check("## Next steps\nTag the release and push it.\n", &[("Tag the release and push it.", true)]);
        check("1. Pending tasks:\n   - one\n2. Files:\n   - a.rs\n", &[("one", false)]);
        check("```\n## Next steps\n- no\n```\n", &[]);
    }

    #[test]
    fn a_sentence_may_say_so_itself() {
        check(
            "It works. Not done: the second page. And the footer.",
            &[("Not done: the second page.", false), ("And the footer.", false)],
        );
        check("The upload is not tested on Windows yet.", &[("The upload is not tested on Windows yet.", false)]);
        check("Please rotate the key.", &[("Please rotate the key.", true)]);
        check("- done: one\n- **failing**: `b` gets 2", &[("**failing**: `b` gets 2", false)]);
        check("Next: the mobile client.", &[("Next: the mobile client.", true)]);
        check("Open as before: the shim.", &[("Open as before: the shim.", false)]);
        check("Two things are left:\n- a\n- b", &[("a", false), ("b", false)]);
        for nothing in [
            "Let me know if anything is not done.",
            "I can help, please tell me what is next:\n- one\n- two",
            "Would you like me to do that tomorrow?",
            "If it is not there yet, wait.",
            "The page still works.",
            "All tests pass.",
            "",
        ] {
            check(nothing, &[]);
        }
    }
}
