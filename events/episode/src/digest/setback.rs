//! Failed approaches, as the agent and the person describe them.
//!
//! A failed command is not a failed approach: most are fixed a moment later. An approach has failed if someone says so.
//! Quotations, questions and conditions do not count.

use super::excerpt::{head, one_line};
use super::repetition::{SeenTexts, without_repetitions};
use super::sentence::{Sentence, plain, sentences};
use super::timeline::{Message, Timeline};
use super::{DECISION_CHARS, MAX_ENTRIES, Pointed};
use crate::lexicon::{Sign, Signs};
use baton_conversation::quoted_text::{own_words, without_blocks};

/// Only this much of a longer reply, a document, is searched, in bytes.
const MAX_REPLY_BYTES: usize = 20_000;
/// A longer prompt is a description or pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 1_500;
/// A shorter statement says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 80;

/// Returns everything that was said to have failed, in transcript order, without repetitions.
pub(super) fn setbacks(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found: Vec<(usize, Pointed)> = Vec::new();
    for round in &timeline.rounds {
        found.extend(
            round
                .prompt
                .iter()
                .filter(|said| said.text.len() <= MAX_PROMPT_BYTES)
                .flat_map(|said| setbacks_in(said, "User: ")),
        );
        found.extend(round.replies.iter().flat_map(|said| setbacks_in(said, "")));
    }
    let mut setbacks = without_repetitions(found, SeenTexts::default());
    super::keep(&mut setbacks, MAX_ENTRIES, |_| true);
    setbacks
}

fn setbacks_in(said: &Message<'_>, who: &str) -> Vec<(usize, Pointed)> {
    let text = &*without_blocks(head(said.text, MAX_REPLY_BYTES));
    let sentences = sentences(text);
    let failed = sentences.iter().enumerate().filter(|(_, sentence)| has_failed(sentence.text));
    let pointed = |(at, sentence): (usize, &Sentence<'_>)| {
        let mut text = plain(sentence.text);
        let before = at.checked_sub(1).and_then(|before| sentences.get(before));
        if let Some(before) = before.filter(|before| !before.point && !sentence.point)
            && text.chars().count() < TELLING_CHARS
        {
            text = format!("{} {text}", plain(before.text));
        }
        let text = one_line(&format!("{who}{text}"), DECISION_CHARS);
        (said.place, Pointed { text, line: said.line, at: said.at })
    };
    failed.map(pointed).collect()
}

/// Returns true if a sentence says that an attempt failed.
fn has_failed(sentence: &str) -> bool {
    let signs = Signs::read(&own_words(sentence));
    signs.has(Sign::Setback) && !signs.asks() && !signs.begins(Sign::Hedge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approach_has_failed_when_somebody_says_so() {
        for sentence in [
            "**Dead end, I take the mutex out again.**",
            "Did not work: a mutex per token, and a grace window on `revoked_at`.",
            "The regex approach did not work: it could not nest.",
            "I tried a lock file first, that didn't work.",
            "I gave up on the streaming parser.",
            "I reverted because two writers still saw old rows.",
            "Pinning the clock did not help.",
            "Das war eine Sackgasse.",
        ] {
            assert!(has_failed(sentence), "{sentence}");
        }
        for sentence in [
            "The export button does not work in Safari.",
            "If that does not work, try the other port.",
            "Does the second approach not work?",
            "I found why it did not work.",
            "The login did not work: the cookie was missing.",
            "The docs say \"the regex approach did not work\" there.",
            "It works now.",
            "",
        ] {
            assert!(!has_failed(sentence), "{sentence}");
        }
    }
}
