//! Failed approaches, as the agent and the person describe them.
//!
//! A failed command is not a failed approach: most are fixed a moment later. An approach has failed if someone says so:
//! it was a dead end, it did not work, it was removed again. The same words are used for much else (a button that does
//! not work, what to do if it does not work), so most phrases need a further sign that an attempt is meant. Quotations
//! do not count.

mod vocabulary;

use self::vocabulary::{
    ATTEMPTS, BORDERS, CASES, DEFINITE, DEMONSTRATIVES, FAILED, HEADS, MADE, REASONS, REMOVING, TAKING, UNDOING,
    WEIGHED, WORKING,
};
use super::choice;
use super::excerpt::{head, one_line};
use super::phrase::Phrase;
use super::repetition::without_repetitions;
use super::sentence::{is_decoration, list_marker, plain, sentences};
use super::timeline::{Message, Timeline};
use super::{DECISION_CHARS, MAX_ENTRIES, Pointed};
use baton_conversation::quoted_text::{own_words, without_blocks};

/// Only this much of a longer reply, a document, is searched, in bytes.
const MAX_REPLY_BYTES: usize = 20_000;
/// A longer prompt is a description or pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 1_500;
/// A shorter statement says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 80;
/// Number of words before `does not work` in which its subject is looked for.
const SUBJECT_WORDS: usize = 6;

/// Returns everything that was said to have failed, in transcript order, without repetitions.
pub(super) fn setbacks(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found: Vec<(usize, Pointed)> = Vec::new();
    for round in &timeline.rounds {
        found.extend(round.prompt.iter().flat_map(person_setbacks));
        found.extend(round.replies.iter().flat_map(agent_setbacks));
    }
    let mut setbacks = without_repetitions(found);
    super::keep(&mut setbacks, MAX_ENTRIES, |_| true);
    setbacks
}

fn agent_setbacks(reply: &Message<'_>) -> Vec<(usize, Pointed)> {
    let text = &*without_blocks(head(reply.text, MAX_REPLY_BYTES));
    let mut found: Vec<(usize, Pointed)> =
        listed(text).into_iter().map(|point| (reply.place, pointed(&plain(point), reply))).collect();
    let sentences = sentences(text);
    for (at, sentence) in sentences.iter().enumerate() {
        let next = sentences.get(at + 1).map(|next| next.text);
        if !says_it_failed(sentence.text, next) {
            continue;
        }
        let mut text = plain(sentence.text);
        let before = at.checked_sub(1).and_then(|before| sentences.get(before));
        if let Some(before) = before.filter(|before| !before.point && !sentence.point)
            && text.chars().count() < TELLING_CHARS
        {
            text = format!("{} {text}", plain(before.text));
        }
        found.push((reply.place, pointed(&text, reply)));
    }
    found
}

/// A person reports defects more often than attempts, so only sentences that name an attempt count.
fn person_setbacks(prompt: &Message<'_>) -> Vec<(usize, Pointed)> {
    if prompt.text.len() > MAX_PROMPT_BYTES {
        return Vec::new();
    }
    let tried = |clause: &&str| {
        let phrase = Phrase::new(clause);
        says_it_failed(clause, None) && (phrase.has_any(&["tried", "dead end"]) || phrase.has_any(&ATTEMPTS))
    };
    let told = |clause: &str| (prompt.place, pointed(&format!("User: {}", plain(clause)), prompt));
    choice::clauses(&without_blocks(prompt.text)).filter(tried).map(told).collect()
}

/// Returns the items of lists whose heading says that they failed: `## What did not work`.
fn listed(text: &str) -> Vec<&str> {
    let mut points = Vec::new();
    let mut under = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() {
            continue;
        }
        match list_marker(bare).filter(|_| under) {
            Some(marker) => points.extend(bare.get(marker..).filter(|point| point.chars().any(char::is_alphanumeric))),
            None => under = (is_decoration(bare) || bare.ends_with(':')) && is_head(bare),
        }
    }
    points
}

fn is_head(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
    HEADS.contains(&bare.as_str())
}

/// Returns true if a sentence says that something that was tried, or considered with a reason, does not work; `next`,
/// the sentence after it, may say that it was undone.
fn says_it_failed(sentence: &str, next: Option<&str>) -> bool {
    let phrase = Phrase::new(&own_words(sentence));
    if phrase.asks() || phrase.begins(&CASES) || phrase.has_any(&["if it", "if that", "if this", "in case"]) {
        return false;
    }
    let gives_reason = phrase.has_any(&REASONS) || phrase.words().any(|word| matches!(word, ":" | ";" | "—" | "–"));
    let is_undone = || {
        next.map(|next| Phrase::new(&own_words(next))).is_some_and(|next| {
            let words: Vec<&str> = next.words().collect();
            removes(&words) || undoes(&next, true)
        })
    };
    if FAILED.iter().any(|words| occurs_undenied(&phrase, words, &is_undone)) {
        return true;
    }
    let words: Vec<&str> = phrase.words().collect();
    removes(&words) || undoes(&phrase, gives_reason) || WEIGHED.iter().any(|said| rejects(&phrase, said, gives_reason))
}

/// Returns true if these words occur and are not denied or explained: `no dead end`, `not a dead end`, `why it did not
/// work`.
fn occurs_undenied(phrase: &Phrase, words: &str, is_undone: &dyn Fn() -> bool) -> bool {
    let Some(at) = phrase.find(words) else { return false };
    let before: Vec<&str> = phrase.before(at).collect();
    let near = before.iter().rev().take(3);
    let denied = near.clone().any(|word| matches!(*word, "no" | "not" | "never" | "without" | "isn't" | "wasn't"));
    let explained = near.clone().any(|word| matches!(*word, "why" | "so" | "reason" | "what" | "that's"));
    // `What did not work: …` labels what failed.
    let is_label = before.as_slice() == ["what"] || before.is_empty();
    let is_broken = || {
        let behind: Vec<&str> = phrase.words().skip(before.len() + words.split(' ').count()).collect();
        WORKING.contains(&words) && is_symptom(phrase, &before) && !has_a_flaw(&behind) && !is_undone()
    };
    !denied && (is_label || !explained) && !is_broken()
}

/// Returns true if a thing in use does not work, as in `the login did not work`: a defect, not an attempt.
fn is_symptom(phrase: &Phrase, before: &[&str]) -> bool {
    let subject = before.rsplit(|word| BORDERS.contains(word)).next().unwrap_or_default();
    let made = |word: &&str| ATTEMPTS.contains(word) || MADE.contains(word) || word.ends_with("ing");
    subject.first().is_some_and(|first| DEFINITE.contains(first))
        && !subject.iter().any(made)
        && !phrase.has_any(&["tried", "attempted"])
}

/// Matches `: it hammered the server`, `because it leaks`: the thing itself is flawed. A reason with another subject
/// (`: the cookie was missing`) may explain why a thing in use does not work.
fn has_a_flaw(behind: &[&str]) -> bool {
    let gives = |word: &str| matches!(word, ":" | ";" | "—" | "–" | "because" | "since");
    behind.windows(2).any(|pair| gives(pair[0]) && matches!(pair[1], "it" | "they" | "two" | "both"))
}

/// Matches `I take the mutex out again`, `ripped it out`.
fn removes(words: &[&str]) -> bool {
    let out = words.windows(2).position(|pair| REMOVING.contains(&(pair[0], pair[1])));
    out.is_some_and(|out| words.iter().take(out).any(|word| TAKING.contains(word)))
}

/// Matches `I reverted it because …`, `Rolled back: …`.
fn undoes(phrase: &Phrase, gives_reason: bool) -> bool {
    let own = |verb: &&str| {
        let subjects = [
            "i", "we", "i'm", "we're", "i've", "we've", "i'll", "i have", "we have", "so i", "so we", "had to",
            "i had to",
        ];
        phrase.begins(&[verb])
            || (phrase.has(verb) && subjects.iter().any(|subject| phrase.has(&format!("{subject} {verb}"))))
    };
    gives_reason && UNDOING.iter().any(own)
}

/// Matches `That approach does not work, because …`: in the present tense it must be an attempt, or have a reason.
fn rejects(phrase: &Phrase, said: &str, gives_reason: bool) -> bool {
    let Some(at) = phrase.find(said) else { return false };
    let before: Vec<&str> = phrase.before(at).collect();
    let explained = before.iter().rev().take(SUBJECT_WORDS).any(|word| matches!(*word, "why" | "reason" | "that's"));
    let near = || before.iter().rev().take(SUBJECT_WORDS);
    let attempt = near().any(|word| ATTEMPTS.contains(word));
    let pointed_at = before.last().is_some_and(|word| DEMONSTRATIVES.contains(word));
    let weighed = said.starts_with("would");
    !explained && (attempt || (pointed_at || weighed) && gives_reason)
}

fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(text, DECISION_CHARS), line: said.line, at: said.at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approach_has_failed_when_somebody_says_so() {
        for sentence in [
            "**Dead end, I take the mutex out again.**",
            "Did not work: a mutex per token, and a grace window on `revoked_at`.",
            "**Did not work**: a mutex per token (only orders the requests).",
            "The regex approach did not work: it could not nest.",
            "What didn't work: polling every second.",
            "I tried a lock file first, that didn't work.",
            "I gave up on the streaming parser.",
            "We abandoned the second schema.",
            "Pooling was abandoned, the box has no memory for it.",
            "I reverted the cache because two writers still saw old rows.",
            "Reverted: the index made every insert slower.",
            "We rolled back the upgrade, since the driver has no such call.",
            "I ripped the retry out again.",
            "Pinning the clock did not help.",
            "I spent an hour on the shim in vain.",
            "This approach doesn't work with two replicas.",
            "That won't work, because the token is already revoked.",
            "A mutex would not work because there are two processes.",
            "The workaround does not work on Windows.",
            "Caching turned out to be a dead end.",
            "The mutex per token did not work: it only orders the requests.",
            "I tried the lock file, and the lock did not work on NFS.",
            "The second attempt didn't work either.",
            "The retry loop in the client didn't work: it hammered the server.",
            "The new cache layer did not work because it leaks.",
        ] {
            assert!(says_it_failed(sentence, None), "{sentence}");
        }
        for sentence in [
            "The export button does not work in Safari.",
            "If that does not work, try the other port.",
            "If the first way didn't work, we would see it in the log.",
            "When this doesn't work, restart the daemon.",
            "Does the second approach not work?",
            "I found why it did not work.",
            "The cookie was missing, so it did not work.",
            "That's why the retry did not help.",
            "It is not a dead end.",
            "There is no dead end in this maze.",
            "Users log out again after an hour.",
            "I reverted the file to its old name.",
            "The abandoned carts are deleted at night.",
            "It works now.",
            "Let me check whether the hook works.",
            "The transaction is rolled back when the handler fails.",
            "This does not work.",
            "The login did not work.",
            "The login did not work: the cookie was missing.",
            "It was reported that the export button didn't work.",
            "The docs say \"the regex approach did not work\" there.",
            "",
        ] {
            assert!(!says_it_failed(sentence, None), "{sentence}");
        }
    }

    #[test]
    fn what_is_undone_next_was_tried() {
        for (next, expected) in [
            (Some("I'm reverting to polling."), true),
            (Some("I took the loop out again."), true),
            (Some("Let me look at the log."), false),
            (None, false),
        ] {
            assert_eq!(says_it_failed("The retry loop didn't work.", next), expected, "{next:?}");
        }
    }

    #[test]
    fn points_below_a_heading_that_says_so_failed() {
        let text = "Fixed.\n\n## What did not work\n\n- a mutex\n- a window on the row\n\n## Tests\n- all pass\n\n\
                    Tried without success:\n1. pinning\n2. waiting\nThen done.\n- not this";
        assert_eq!(listed(text), ["a mutex", "a window on the row", "pinning", "waiting"]);
        assert!(listed("Dead ends are rare\n- a").is_empty());
    }
}
