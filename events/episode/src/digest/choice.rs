//! Recognises sentences that state a choice.
//!
//! A choice shows in its alternative (`instead of`), its subject (`I take …`) and its reason (`because`). One of these
//! alone is usually something else: a description, a step of the work, an explanation. So two are required, or a word
//! that can only express a choice.
//!
//! # Hazards
//!
//! - Choices are recognised by English patterns (and a few Chinese and Japanese phrases); in other languages a
//!   session mostly gives answers, errors and files. A new pattern needs a test sentence that must not match.

mod vocabulary;

pub(super) use self::vocabulary::LATER;
use self::vocabulary::{
    AGAINST, ALTERNATIVES, ANNOUNCING, ASSENT, BETWEEN, CASES, CHOOSING, COMMITTING, CORRECTING, DEMANDS, DOCUMENTS,
    EXPLAINING_WORDS, FOUND, GIVING_UP, GOING, HOLDING, IDLE, INSTRUCTING, LABELS, LABELS_PROPOSING, LOOKING, NOT_THAT,
    OWN_WORDS, PAST, POLITE, PROPOSING, REASONS, REFUSING, STEPS, SUBJECTS, TAGS, TELLING, TROUBLE, TURNING_DOWN,
    UNSURE, WEIGHING, WIDE, WIDE_ORDERS,
};
use super::phrase::Phrase;
use super::sentence::sentences;
use baton_conversation::quoted_text::own_words;

/// Certainty of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Made,
    /// `I'd keep …`: a choice unless someone objects.
    Proposed,
}

/// Returns the choice that a sentence of the agent states, if any.
pub(super) fn agent_choice(sentence: &str) -> Option<Choice> {
    let own = own_words(sentence);
    let (sentence, phrase) = (&*own, Phrase::new(&own));
    if phrase.asks() || phrase.begins(&CASES) || phrase.begins(&STEPS) || phrase.has_any(&TELLING) {
        return None;
    }
    if goes_looking(&phrase) || orders_work(&phrase) {
        return None;
    }
    if weighs(&phrase) {
        return weighed(&phrase).then_some(Choice::Made);
    }
    let choice = outright(sentence, &phrase)?;
    Some(if phrase.begins(&PROPOSING) { Choice::Proposed } else { choice })
}

/// Returns true if someone says that they are going to look, which is a step of the work, whatever its reason. A choice
/// made before that in the sentence still counts.
fn goes_looking(phrase: &Phrase) -> bool {
    let going = GOING.iter().filter(|going| phrase.has(going));
    let looks = going.flat_map(|going| LOOKING.iter().filter_map(move |look| phrase.find(&format!("{going} {look}"))));
    looks.min().is_some_and(|at| !is_chosen_before(phrase, at))
}

/// Returns true if `first` and `then` order the work.
fn orders_work(phrase: &Phrase) -> bool {
    let then = ["then i'll", "then i will", "then we'll"].iter().filter_map(|words| phrase.find(words)).min();
    phrase.has("first") && then.is_some_and(|at| !is_chosen_before(phrase, at))
}

/// Returns true if a choice precedes position `at`: a commitment with an alternative or a reason, or a word that can
/// only express a choice.
fn is_chosen_before(phrase: &Phrase, at: usize) -> bool {
    let stands = |list: &[&str]| list.iter().any(|words| phrase.find(words).is_some_and(|there| there < at));
    commitment(phrase).is_some_and(|commitment| {
        commitment.at < at && (commitment.choosing || stands(&AGAINST) || stands(&REASONS[..2]))
    })
}

/// Returns true if something is only considered, or was tried, before the reason begins.
fn weighs(phrase: &Phrase) -> bool {
    let reason = REASONS[..2].iter().filter_map(|words| phrase.find(words)).min().unwrap_or(usize::MAX);
    WEIGHING.iter().any(|words| phrase.find(words).is_some_and(|at| at < reason))
}

/// Returns true if a sentence that weighs options also states the result in another part.
fn weighed(phrase: &Phrase) -> bool {
    if phrase.has_any(&TURNING_DOWN) {
        return true;
    }
    let words: Vec<&str> = phrase.words().collect();
    let cuts = (0..words.len()).filter(|at| match words[*at] {
        "but" | "however" | ";" | "—" | "–" | "." => true,
        "so" | "then" | "and" | "finally" => *at > 0 && words[at - 1] == ",",
        _ => false,
    });
    let mut begin = 0;
    let mut parts = Vec::new();
    for cut in cuts.chain([words.len()]) {
        parts.push(words[begin..cut].join(" "));
        begin = cut + 1;
    }
    parts
        .iter()
        .map(|part| Phrase::new(part))
        .any(|part| !weighs(&part) && commitment(&part).is_some_and(|commitment| !commitment.conditional))
}

/// Returns the choice in a sentence that does not weigh options.
fn outright(sentence: &str, phrase: &Phrase) -> Option<Choice> {
    if WIDE.iter().any(|mark| sentence.contains(mark)) {
        return Some(Choice::Made);
    }
    if is_labelled(phrase, &LABELS) {
        return Some(Choice::Made);
    }
    if is_labelled(phrase, &LABELS_PROPOSING) {
        return Some(Choice::Proposed);
    }
    let against = phrase.has_any(&AGAINST);
    if let Some(commitment) = commitment(phrase) {
        let reason = REASONS[..2].iter().any(|words| phrase.find(words).is_some_and(|reason| reason > commitment.at));
        let made = commitment.choosing || against || commitment.after_so || reason || phrase.has_any(&GIVING_UP);
        if made || (commitment.holding && explains(phrase, &[":"])) {
            return Some(if commitment.conditional { Choice::Proposed } else { Choice::Made });
        }
        return commitment.conditional.then_some(Choice::Proposed);
    }
    let made = if against && phrase.has_any(&REASONS) {
        !phrase.has_any(&TROUBLE)
    } else if refuses(phrase) {
        phrase.has_any(&REASONS) || phrase.has("would") || explains(phrase, &[":", ";"])
    } else {
        demands(phrase)
    };
    made.then_some(Choice::Made)
}

/// Returns true for an impersonal demand, as a conclusion or against an alternative.
fn demands(phrase: &Phrase) -> bool {
    let concludes = phrase.begins(&["so"]) || phrase.has_any(&NOT_THAT);
    concludes
        && phrase.has_any(&DEMANDS)
        && !phrase.words().any(|word| SUBJECTS.contains(&word))
        && !phrase.has_any(&TROUBLE)
}

/// Returns true if enough words for an explanation follow one of these marks.
fn explains(phrase: &Phrase, marks: &[&str]) -> bool {
    phrase.words().skip_while(|word| !marks.contains(word)).count() > EXPLAINING_WORDS
}

/// Returns the clauses of a person, who may not begin sentences with a capital. Quotations, and what is announced as
/// pasted, are skipped.
pub fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let sentences = sentences(text).into_iter().filter(|sentence| !sentence.quoted);
    let sentences =
        sentences.flat_map(|sentence| sentence.text.split(". ")).flat_map(|text| text.split_inclusive(":\n"));
    let clauses = sentences.map(str::trim).filter(|clause| clause.chars().any(char::is_alphanumeric));
    let mut is_pasted = false;
    clauses.take_while(move |clause| {
        let was_pasted = is_pasted;
        is_pasted |= announces(clause);
        !was_pasted
    })
}

/// Returns true if a sentence by an unknown author states a choice.
pub fn is_choice(sentence: &str) -> bool {
    agent_choice(sentence) == Some(Choice::Made) || is_person_choice(sentence)
}

/// Returns true if a person announces text that is not theirs: `here is a README I found:`.
fn announces(clause: &str) -> bool {
    if !clause.ends_with(':') {
        return false;
    }
    let phrase = Phrase::new(clause);
    let shows = phrase.begins(&ANNOUNCING) || phrase.has_any(&FOUND);
    shows && phrase.has_any(&DOCUMENTS) && !phrase.has_any(&OWN_WORDS)
}

/// Returns true if a sentence of a person corrects or instructs, and does not only postpone.
pub(super) fn is_person_choice(sentence: &str) -> bool {
    let own = own_words(sentence);
    let (sentence, phrase) = (&*own, Phrase::new(&own));
    let tagged = phrase.words().filter(|word| word.starts_with(char::is_alphanumeric)).last();
    let unsure = phrase.has_any(&UNSURE) || tagged.is_some_and(|word| TAGS.contains(&word));
    let is_idle = unsure || phrase.has_any(&LATER) || phrase.has_any(&IDLE) || phrase.begins(&POLITE);
    if phrase.asks() || is_idle || phrase.has_any(&TELLING) || (weighs(&phrase) && !weighed(&phrase)) {
        return false;
    }
    if WIDE_ORDERS.iter().any(|mark| sentence.contains(mark)) || phrase.has_any(&CORRECTING) {
        return true;
    }
    // A conditional rule: `if it is empty, refuse it`.
    if phrase.begins(&["if"]) && !phrase.begins(&["if you", "if possible", "if so", "if not"]) {
        return phrase.has(",");
    }
    if phrase.has_any(&REASONS[..2]) && !phrase.has_any(&TROUBLE) && phrase.words().count() > EXPLAINING_WORDS * 2 {
        return true;
    }
    let rest: Vec<&str> = phrase.words().skip_while(|word| ASSENT.contains(word)).collect();
    // An instruction has an object.
    let words = rest.iter().filter(|word| word.starts_with(char::is_alphanumeric)).count();
    words > 2 && Phrase::new(&rest.join(" ")).begins(&INSTRUCTING)
}

/// Returns true if a person chooses something over an alternative, with a reason.
pub(super) fn is_reasoned(sentence: &str) -> bool {
    let phrase = Phrase::new(sentence);
    phrase.has_any(&AGAINST) && phrase.has_any(&REASONS[..2]) && is_person_choice(sentence)
}

/// Returns true if a sentence leaves a choice to the reader.
pub fn is_left_to_the_reader(sentence: &str) -> bool {
    let phrase = Phrase::new(sentence);
    phrase.asks() && phrase.has_any(&ALTERNATIVES)
}

/// Returns true if any sentence of a text is a question.
pub(super) fn asks(text: &str) -> bool {
    sentences(text).iter().any(|sentence| Phrase::new(sentence.text).asks())
}

struct Commitment {
    /// Position of the verb, in bytes.
    at: usize,
    /// The verb can only express a choice.
    choosing: bool,
    /// The verb keeps something as it is.
    holding: bool,
    /// `I'd keep …`: a proposal.
    conditional: bool,
    /// `…, so I keep …`: a conclusion.
    after_so: bool,
}

/// Returns the first commitment of the speaker.
fn commitment(phrase: &Phrase) -> Option<Commitment> {
    let words: Vec<&str> = phrase.words().collect();
    let mut begins = Vec::with_capacity(words.len());
    let mut at = 1;
    for word in &words {
        begins.push(at);
        at += word.len() + 1;
    }
    let mut found: Option<Commitment> = None;
    for (index, subject) in words.iter().enumerate() {
        let first = index == 0 || matches!(words[index - 1], "." | ":" | ";");
        let (verb, conditional) = if SUBJECTS.contains(subject) {
            let skipped = words[index + 1..].iter().take_while(|word| BETWEEN.contains(word)).count();
            let between = &words[index + 1..index + 1 + skipped];
            let would = subject.ends_with("'d") || between.contains(&"would");
            // What comes first is a step, not a choice.
            (index + 1 + skipped, would && !between.contains(&"first"))
        } else if first {
            // `Decided against it.`
            (index, false)
        } else {
            continue;
        };
        let Some(word) = words.get(verb) else { continue };
        let going_with = matches!(*word, "go" | "going" | "went") && words.get(verb + 1) == Some(&"with");
        let chosen = CHOOSING.binary_search(word).is_ok() && (verb != index || word.ends_with('d'));
        let choosing = chosen || (going_with && verb != index);
        let committing = verb != index && COMMITTING.binary_search(word).is_ok();
        if !choosing && !committing {
            continue;
        }
        // `…, so I moved it` reports what was done; it is not a choice.
        let past = word.ends_with("ed") || PAST.contains(word);
        let after_so = !past && index > 0 && matches!(words[index - 1], "so" | "therefore" | "hence");
        let commitment =
            Commitment { at: begins[verb], choosing, holding: HOLDING.contains(word), conditional, after_so };
        if choosing {
            return Some(commitment);
        }
        found = match found {
            Some(earlier) => Some(Commitment {
                conditional: earlier.conditional || conditional,
                after_so: earlier.after_so || after_so,
                ..earlier
            }),
            None => Some(commitment),
        };
    }
    found
}

fn refuses(phrase: &Phrase) -> bool {
    ["i", "we"].iter().any(|who| REFUSING.iter().any(|words| phrase.has(&format!("{who} {words}"))))
}

fn is_labelled(phrase: &Phrase, labels: &[&str]) -> bool {
    labels.iter().any(|label| phrase.begins(&[&format!("{label} :")])) && phrase.words().count() > 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(choice: fn(&str) -> T, expected: T, sentences: &[&str]) {
        for sentence in sentences {
            assert_eq!(choice(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn the_lists_that_are_searched_are_sorted() {
        assert!(CHOOSING.is_sorted() && COMMITTING.is_sorted());
    }

    #[test]
    fn a_choice_of_the_agent_shows_in_its_reason_or_what_it_is_made_against() {
        check(
            agent_choice,
            Some(Choice::Made),
            &[
                "I decided against a queue.",
                "I won't pin it; the next release mends that anyway.",
                "**SQLite instead of a file per user, because writes must be atomic.**",
                "We keep the old column, since two clients still read it.",
                "The parser is recursive, so I limit the depth to 64.",
                "We'll go with the second layout for all pages.",
                "I leave the retry out: the queue does the same for every message.",
                "The key must be the path and not the name.",
                "I won't vendor it: every update would be ours to make.",
                "I convert at the border instead.",
                "Dead end, I take the cache out again.",
                "Decided: one file per tenant.",
                "So a lock per account is needed.",
                "I chose that over polling.",
                "I considered using axum instead of actix because of tower, but decided to keep actix because the team knows it.",
                "I thought about using redis instead of postgres because it is fast, but we stay with postgres.",
                "I was about to use axum instead of actix because of tower; I reverted that because it broke.",
                "I tried vitest instead of jest because it is fast, but it failed, so I went back to jest.",
                "Instead of tokio I first used smol because it is small; decided to use tokio in the end.",
                "Using yarn instead of npm was considered and rejected because CI has npm.",
                "I keep the map, because I tried the tree and it was slower.",
                "キューではなくテーブルを使います。",
                "I decided to use sled instead of SQLite because it is embedded, and I'll check the license.",
                "We'll use tokio instead of async-std, because the tree has it, and we will look at smol later.",
                "I'll see to it that we use rustls instead of openssl, because of musl.",
                "First I chose sled over SQLite, then I'll write the store.",
                "I'm going to use sled instead of SQLite, because it needs no C compiler.",
            ],
        );
        check(
            agent_choice,
            None,
            &[
                "That points to a stale build, so I’m going to inspect the export before judging it.",
                "I'm going to check the schema before answering, because it should come from the contract rather than a guess.",
                "I’ll check the installed CLI and its docs, because that looks like an enum rather than a setting.",
                "`main` is behind, so I’m making a focused commit first, then I’ll rebase and push.",
                "The test fails because the mock returns a string instead of a number.",
                "The server might return a page instead of the file because the route is wrong.",
                "I need to pass a path instead of a string.",
                "Let me read the file first, because it is short.",
                "The import is unused because I haven't written the template.",
                "Now I use the helper.",
                "Would you prefer a table instead of a list, because it is shorter?",
                "If you use a table instead of a list, I keep the order.",
                "It runs on the worker thread instead of the main thread.",
                "So far nothing failed.",
                "Let me check what it does, it must take the path and not the name.",
                "The file must be missing instead of empty, which is a bug.",
                "The time was local, so I moved the check.",
                "All tests pass.",
                "I considered using axum instead of actix because of tower.",
                "We could use axum instead of actix because of tower.",
                "I looked at redis instead of memcached because it persists, but have not measured it.",
                "The user asked why we chose sqlite instead of postgres because it does not scale.",
                "The docs say: \"We decided to use MongoDB instead of Postgres because it scales.\"",
                "According to the docs they chose REST instead of RPC because it is simple.",
                "",
            ],
        );
    }

    #[test]
    fn what_would_be_done_is_proposed() {
        check(
            agent_choice,
            Some(Choice::Proposed),
            &[
                "I'd put the check into the router.",
                "Plan: index the table first, then page by key.",
                "I'd rather keep one table instead of two.",
                "I suggest one table instead of two, because they are always read together.",
            ],
        );
    }

    #[test]
    fn a_correction_of_a_person_says_what_not_or_what_else() {
        check(
            is_person_choice,
            true,
            &[
                "no, keep the name",
                "ok, use tabs there",
                "please don't touch the lock file",
                "an empty list is fine, not null",
                "two days is enough",
                "no new dependency for that",
                "if the name is empty, refuse the row",
                "take the small one, because the box has no memory to spare",
                "不要静默失败",
                "never push from here",
                "I'd rather have it in the config",
                "put it in the header instead of the query",
            ],
        );
        check(
            is_person_choice,
            false,
            &[
                "looks good, commit it",
                "why don't you use tabs?",
                "the tests don't pass",
                "I don't know",
                "leave that for tomorrow",
                "no",
                "Never mind!",
                "not sure which one you need",
                "use it",
                "add a button to the page",
                "the linter says \"never use tabs in this file, not even here\"",
                "I thought about a table instead of a list",
                "he asked why we use tabs instead of spaces",
                "",
            ],
        );
    }

    #[test]
    fn what_a_person_has_from_elsewhere_is_not_theirs() {
        let check = |text: &str, expected: &[&str]| assert_eq!(clauses(text).collect::<Vec<_>>(), expected, "{text:?}");
        check("Do it.\n> Always use Docker.\nWhy?", &["Do it.", "Why?"]);
        check("Here is a README I found:\nAlways use Docker.\n\nNever mind.", &["Here is a README I found:"]);
        check("Look. The log says:\n\nuse x instead", &["Look.", "The log says:"]);
        check("Here are my rules:\n\n- always use tabs", &["Here are my rules:", "always use tabs"]);
        check("Note:\nkeep it", &["Note:", "keep it"]);
    }
}
