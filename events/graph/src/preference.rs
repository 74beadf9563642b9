//! What a person always or never wants: sentences of their prompts that lay down a rule, as opposed to a task.
//!
//! # Hazards
//!
//! - Preferences are recognised by English patterns; a new pattern needs a test sentence that must not match. Ended
//!   facts rank like others.

use super::claim::Claim;
use super::stance::{self, Claims};
use super::wording::{Word, clauses, match_words, word_at};
use baton_conversation::quoted_text::{own_words, without_blocks};

/// A longer prompt contains pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 6_000;
/// A longer sentence is not a rule, in bytes.
const MAX_SENTENCE_BYTES: usize = 280;
/// A longer prompt describes a task, in bytes.
const MAX_ORDER_BYTES: usize = 400;
/// Maximum number of rules of one prompt.
const MAX_RULES: usize = 12;
/// Maximum number of words of an act that `always` and `never` rules are compared by.
const MAX_ACT_WORDS: usize = 10;
/// Maximum number of words of a rule given when refusing a command.
const MAX_REFUSING_WORDS: usize = 8;
/// Words that may follow such a rule.
const AFTERWARDS: [&str; 5] = ["here", "instead", "please", "thanks", "!"];
/// Words that name nothing by themselves.
const VAGUE: [&str; 10] =
    ["another", "other", "one", "something", "else", "what", "whatever", "different", "same", "both"];
/// Maximum number of words of a rule without a word that marks it as lasting.
const SHORT_WORDS: usize = 9;

/// Words that may precede a rule and are not part of it.
const ASSENT: [&str; 25] = [
    "ok", "okay", "yes", "yeah", "right", "good", "great", "also", "and", "but", "please", "then", "so", "sure",
    "fine", "no", "nope", "just", "oh", "well", "hey", "again", "note", "remember", "btw",
];
/// Words that point at something present; a rule applies to everything.
const POINTING: [&str; 17] = [
    "it", "this", "that", "these", "those", "them", "the", "my", "your", "his", "their", "here", "now", "yet", "today",
    "first", "there",
];
/// Phrases that mark a rule as permanent.
const LASTING: [&str; 10] = [
    "from now on",
    "going forward",
    "in future",
    "in the future",
    "as a rule",
    "from here on",
    "every time",
    "whenever you",
    "from here on out",
    "for all future",
];
/// Verbs of repeated acts; sorted.
const HABITS: [&str; 34] = [
    "add",
    "answer",
    "ask",
    "avoid",
    "build",
    "call",
    "check",
    "comment",
    "commit",
    "create",
    "document",
    "explain",
    "follow",
    "format",
    "include",
    "install",
    "keep",
    "make",
    "mix",
    "mock",
    "name",
    "prefer",
    "push",
    "put",
    "read",
    "reply",
    "respond",
    "run",
    "squash",
    "stick",
    "summarize",
    "test",
    "use",
    "write",
];
/// More such verbs for oneself: `we always rebase`.
const OWN: [&str; 14] = [
    "deploy",
    "lint",
    "merge",
    "rebase",
    "release",
    "review",
    "sign",
    "start",
    "tag",
    "translate",
    "update",
    "want",
    "wrap",
    "log",
];
/// Phrases that attribute a statement to someone else.
const SAYING: [&str; 5] = [
    "says|say|said|states|reads|writes|wrote",
    "according to",
    "readme|docs|documentation|article|linter|manual|guide|blog :",
    "here is|are",
    "they|he|she told|tells",
];
/// Subjects whose wishes a note states.
const WHO: [&str; 8] = ["the user", "user", "the team", "our team", "everybody", "everyone", "the owner", "they"];
/// Phrases about asking before an act.
const ASKING: [&str; 3] =
    ["without asking|permission|approval|confirmation", "without being asked|told", "unless asked|told"];
/// Groups of synonymous adjectives; neighbouring pairs exclude each other, as in `short answers` and `long answers`.
const OPPOSITES: [&[&str]; 6] = [
    &["short", "shorter", "brief", "concise", "terse", "compact"],
    &["long", "longer", "detailed", "verbose", "thorough", "elaborate"],
    &["small", "smaller", "tiny", "little"],
    &["large", "larger", "big", "bigger"],
    &["strict", "stricter"],
    &["loose", "lenient"],
];

/// A rule of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    /// Their sentence, without a leading `please` and the final stop.
    pub(super) text: String,
    pub(super) claims: Claims,
}

/// Returns the rules that a prompt lays down, in order.
pub(super) fn rules(group: &str, prompt: &str) -> Vec<Rule> {
    if prompt.len() > MAX_PROMPT_BYTES {
        return Vec::new();
    }
    let prompt = without_blocks(prompt);
    // In a long task description, an order belongs to the task.
    let is_task = prompt.len() > MAX_ORDER_BYTES;
    let sentences = baton_episode::digest::clauses(&prompt);
    let sentences = sentences.filter(|sentence| if is_task { is_lasting_rule(sentence) } else { is_rule(sentence) });
    sentences
        .take(MAX_RULES)
        .map(|sentence| Rule { text: rule_text(sentence), claims: claims(group, sentence) })
        .collect()
}

/// Returns the rule in a sentence of a note, which may be about its author or about the user: `The user prefers tabs`.
pub(super) fn rule_in_note(group: &str, sentence: &str) -> Option<Rule> {
    let said = predicate_about_user(sentence).unwrap_or(sentence);
    let is_stated = sentence.len() <= MAX_SENTENCE_BYTES && (is_rule(said) || (said != sentence && is_wish(said)));
    is_stated.then(|| Rule { text: rule_text(sentence), claims: claims(group, said) })
}

/// Returns the rule in a person's answer on refusing a command, which says what to use instead. An answer that names a
/// file or a location says nothing about the next time.
pub(super) fn rule_in_refusal(group: &str, answer: &str, program: Option<&str>) -> Option<Rule> {
    let answer = answer.trim();
    if answer.len() > MAX_SENTENCE_BYTES || is_rule(answer) {
        return None;
    }
    let clauses = clauses(&own_words(answer));
    let mut clauses = clauses.iter().filter(|clause| !clause.is_empty());
    let (Some(clause), None) = (clauses.next(), clauses.next()) else { return None };
    let (part, what) = parts(clause).map(without_assent).find_map(|part| Some((part, used_thing(part)?)))?;
    let polite = part.iter().rev().take_while(|word| AFTERWARDS.contains(&&*word.low)).count();
    let words = part.get(what..part.len() - polite)?;
    let plain = |word: &Word| {
        let pointing = POINTING.contains(&&*word.low) || VAGUE.contains(&&*word.low);
        !pointing && !word.low.contains(['/', '.', '\\', '$']) && word.low.chars().any(char::is_alphanumeric)
    };
    let fits = clause.len() <= MAX_REFUSING_WORDS && !words.is_empty() && words.iter().all(plain);
    let text = rule_text(answer);
    let against = program.filter(|_| words.len() == 1 && !part.iter().any(|word| word.low.contains('\'')));
    let settled = against.map_or_else(|| answer.to_owned(), |program| format!("{text} instead of {program}"));
    fits.then(|| Rule { text, claims: claims(group, &settled) })
}

/// Returns the index of the thing used in phrases such as `we use pnpm`.
fn used_thing(part: &[Word]) -> Option<usize> {
    match_words(part, 0, "use")
        .or_else(|| match_words(part, 0, "only use"))
        .or_else(|| match_words(part, 0, "we|i always|only use"))
        .or_else(|| match_words(part, 0, "we|i use"))
        .or_else(|| match_words(part, 0, "don't|dont|never use"))
        .or_else(|| match_words(part, 0, "do not use"))
}

/// Returns the predicate of a sentence about the user or the team.
fn predicate_about_user(sentence: &str) -> Option<&str> {
    let rest = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let low = rest.to_lowercase();
    let who = WHO.iter().find(|who| low.strip_prefix(**who).is_some_and(|rest| rest.starts_with(' ')))?;
    rest.get(who.len()..).map(str::trim_start)
}

/// Returns true for a wish: `prefers tabs`, `always runs the tests`.
fn is_wish(said: &str) -> bool {
    clauses(&own_words(said)).first().is_some_and(|clause| {
        let marked = ["prefers|prefer|likes|like|hates|hate|dislikes|dislike|wants|want", "always|never"];
        let verb = marked.iter().find_map(|pattern| match_words(clause, 0, pattern));
        verb.is_some_and(|what| !matches!(word_at(clause, what), "" | "it" | "this" | "that" | "." | "to"))
            && !clause.iter().any(|word| word.low == "?")
    })
}

/// Returns true if the sentence lays down a rule.
pub(super) fn is_rule(sentence: &str) -> bool {
    has_part(sentence, |part| lays_down(part) || is_order(part))
}

/// Returns true if the sentence lays down a rule in words that go beyond the task at hand.
fn is_lasting_rule(sentence: &str) -> bool {
    has_part(sentence, lays_down)
}

fn has_part(sentence: &str, is_rule: impl Fn(&[Word]) -> bool) -> bool {
    if sentence.len() > MAX_SENTENCE_BYTES {
        return false;
    }
    let clauses = clauses(&own_words(sentence));
    let asks = clauses.iter().flatten().any(|word| word.low == "?");
    let tells = |clause: &[Word]| {
        (0..clause.len()).any(|place| SAYING.iter().any(|it| match_words(clause, place, it).is_some()))
    };
    // What follows `the docs say:` is not the person's rule.
    let own = clauses.iter().take_while(|clause| !tells(clause));
    !asks && own.into_iter().any(|clause| is_lasting(clause) || parts(clause).any(&is_rule))
}

/// Returns true if the clause demands something from now on.
fn is_lasting(clause: &[Word]) -> bool {
    let marked = LASTING.iter().any(|mark| (0..clause.len()).any(|place| match_words(clause, place, mark).is_some()));
    marked && clause.iter().any(|word| HABITS.binary_search(&&*word.low).is_ok()) && !is_description(clause)
}

/// Splits a clause at its punctuation.
fn parts(clause: &[Word]) -> impl Iterator<Item = &[Word]> {
    clause.split(|word| matches!(word.low.as_str(), "," | "(" | ")" | "—" | "–" | "\n" | "." | "!" | ":" | ";"))
}

/// Strips leading words of assent.
fn without_assent(part: &[Word]) -> &[Word] {
    let from = part.iter().take_while(|word| ASSENT.contains(&&*word.low)).count();
    &part[from..]
}

fn lays_down(part: &[Word]) -> bool {
    let begin = without_assent(part);
    if begin.len() < 2 {
        return false;
    }
    let starts = |pattern: &str| match_words(begin, 0, pattern);
    // In the first person not everything is a rule: `I always forget this`.
    if let Some(verb) = starts("i|we always|never") {
        return is_act(begin, verb)
            && (HABITS.binary_search(&word_at(begin, verb)).is_ok() || OWN.contains(&word_at(begin, verb)));
    }
    if let Some(verb) = starts("always|never")
        .or_else(|| starts("you|we should|must always|never"))
        .or_else(|| starts("i want you to always|never"))
        .or_else(|| starts("make sure to|you always|never"))
        .or_else(|| starts("remember to always|never"))
    {
        return is_act(begin, verb);
    }
    let likes = starts("i|we prefer|hate|dislike")
        .or_else(|| starts("i|we strongly|much|really|generally|usually prefer"))
        .or_else(|| starts("i'd|we'd prefer"))
        .or_else(|| starts("i would prefer"))
        .or_else(|| starts("my preference is"))
        .or_else(|| starts("i don't like|want you to"));
    if let Some(what) = likes {
        let pointing =
            matches!(word_at(begin, what), "it" | "this" | "that" | "these" | "those" | "them" | "your" | "the" | "");
        return !pointing;
    }
    false
}

/// Returns true if the part forbids or demands something in so few words that it is not about one particular thing.
fn is_order(part: &[Word]) -> bool {
    let begin = without_assent(part);
    let pleads = part[..part.len() - begin.len()].iter().any(|word| word.low == "please");
    if begin.len() < 2 {
        return false;
    }
    let starts = |pattern: &str| match_words(begin, 0, pattern);
    let forbids = starts("don't|dont|never").or_else(|| starts("do not"));
    let short = begin.len() <= SHORT_WORDS && !begin.iter().any(|word| POINTING.contains(&&*word.low));
    if let Some(verb) = forbids {
        return short && HABITS.contains(&word_at(begin, verb)) && begin.len() > verb;
    }
    let used = starts("use only").or_else(|| starts("only use")).or_else(|| starts("use").filter(|_| pleads));
    used.is_some_and(|what| begin.len() > what) && short && !begin.iter().any(|word| word.low == "instead")
}

/// Returns true if an act follows `always` or `never`, and not a description: `always run the tests`, not `always
/// fails`.
fn is_act(words: &[Word], from: usize) -> bool {
    let verb = word_at(words, from);
    let third = verb.ends_with('s') && !verb.ends_with("ss") && HABITS.binary_search(&verb).is_err();
    let told = matches!(
        verb,
        "" | "mind"
            | "been"
            | "had"
            | "got"
            | "was"
            | "were"
            | "is"
            | "are"
            | "has"
            | "have"
            | "seen"
            | "the"
            | "a"
            | "to"
            | "heard"
            | "saw"
            | "did"
            | "worked"
            | "again"
            | "know"
            | "knew"
            | "could"
            | "can"
            | "would"
            | "will"
            | "it"
            | "wrong"
            | "return"
            | "true"
            | "false"
            | "null"
    );
    !third && !told && !verb.ends_with("ed") && !verb.ends_with("ing") && verb.starts_with(char::is_alphabetic)
}

/// Returns true if the words describe something and demand nothing.
fn is_description(words: &[Word]) -> bool {
    let of = |word: &Word| matches!(&*word.low, "might" | "may" | "could" | "would" | "will" | "if" | "was" | "were");
    words.iter().any(of)
}

/// Returns the rule's text: the sentence without leading assent and final punctuation, in lower case at its start.
fn rule_text(sentence: &str) -> String {
    let mut rest = sentence.trim();
    loop {
        let (first, after) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
        if after.trim().is_empty() || !ASSENT.contains(&first.to_lowercase().as_str()) {
            break;
        }
        rest = after.trim_start_matches([' ', ',']);
    }
    let rest = rest.trim_end_matches(['.', '!', ',', ' ']);
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(rest.chars().skip(1)).collect()
        }
        _ => rest.to_owned(),
    }
}

/// Returns the claims of a rule: those that exclude it and those that it excludes.
fn claims(group: &str, sentence: &str) -> Claims {
    let mut all = Claims::default();
    let mut add = |claims: Claims| {
        all.rests.extend(claims.rests);
        all.settles.extend(claims.settles);
    };
    for stance in stance::stances(sentence) {
        add(stance.claims(group));
    }
    for clause in clauses(sentence) {
        for part in parts(&clause) {
            let claim = act_claim(group, without_assent(part))
                .into_iter()
                .chain(consent_claim(group, without_assent(part)))
                .chain(taste_claim(group, part));
            add(claim.fold(Claims::default(), |mut claims, claim| {
                claims.rests.push(claim);
                claims.settles.push(claim);
                claims
            }));
        }
    }
    all
}

/// `always` and `never` with the same act exclude each other, as do two different numbers in it.
fn act_claim(group: &str, part: &[Word]) -> Option<Claim> {
    let mut yes = "yes";
    let mut numbers = String::new();
    let mut words = Vec::new();
    for word in part {
        match word.low.as_str() {
            "never" | "don't" | "dont" | "not" | "avoid" => yes = "no",
            "always" | "please" | "do" | "you" | "should" | "must" | "a" | "an" | "the" | "to" | "from" | "now"
            | "on" | "i" | "we" | "want" | "make" | "sure" => {}
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                numbers.push(' ');
                numbers.push_str(number);
                words.push("#");
            }
            other => words.push(other),
        }
    }
    let marked = part.iter().any(|word| matches!(&*word.low, "always" | "never" | "don't" | "dont" | "not" | "avoid"));
    let telling = (2..=MAX_ACT_WORDS).contains(&words.len()) && (marked || !numbers.is_empty());
    telling.then(|| Claim::new(group, "act", &words.join(" "), &format!("{yes}{numbers}")))
}

/// `Never commit without asking` excludes `always commit after each step`.
fn consent_claim(group: &str, part: &[Word]) -> Option<Claim> {
    let verb = word_at(part, 1);
    HABITS.binary_search(&verb).ok()?;
    let claim = |value| Some(Claim::new(group, "leave", verb, value));
    match word_at(part, 0) {
        "always" => claim("unasked"),
        // Only the verb itself: what must not be done to one thing may be done to another.
        "never" if ASKING.iter().any(|how| match_words(part, 2, how).is_some()) => claim("asked"),
        _ => None,
    }
}

/// `I prefer short answers` excludes `I prefer detailed answers`.
fn taste_claim(group: &str, part: &[Word]) -> Option<Claim> {
    let is_wish = |word: &str| matches!(word, "prefer" | "prefers" | "want" | "wants" | "write" | "give" | "keep");
    let from = part.iter().position(|word| is_wish(&word.low))? + 1;
    let (value, of) = part[from..].split_first()?;
    let kind = OPPOSITES.iter().position(|same| same.contains(&&*value.low))?;
    let of: Vec<&str> = of.iter().map(|word| word.low.as_str()).collect();
    let pair = kind / 2;
    (1..=4).contains(&of.len()).then(|| {
        Claim::new(group, "taste", &format!("{pair} {}", of.join(" ")), if kind % 2 == 0 { "less" } else { "more" })
    })
}

#[cfg(test)]
mod tests;
