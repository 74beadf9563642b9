//! What a sentence settles: what is chosen, what is rejected, and for which purpose.
//!
//! There are few patterns, and each is specific: missing that a decision was reversed costs less than claiming a
//! reversal that did not happen. Conditional sentences (`if`, `would`, `might`) and questions settle nothing, nor do
//! options under consideration (`considered`, `was about to`), other people's questions, and quotations. A sentence
//! with a `but` is read in parts, and what a later part takes back was never settled.

mod vocabulary;

use self::vocabulary::{
    BARE, CASES, CHANGING, CHOOSING, EVERYWHERE, NEGATING, RIVALS, SCOPES, TAKING_BACK, TELLING, TURNING, WEIGHING,
};
use super::claim::Claim;
use super::wording::{Thing, Word, clauses, match_words, parse_thing, singular, word_at};
use baton_conversation::quoted_text::own_words;

/// Maximum number of stances taken from a text.
const MAX_STANCES: usize = 4;
/// Maximum distance of a negation before its verb, in words.
const NEGATION_REACH: usize = 3;
/// Maximum distance of a choice's verb, and of its `instead of`, from the thing, in words.
const VERB_REACH: usize = 9;

/// What one sentence settles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stance {
    /// What is chosen.
    pub(super) chosen: Option<Thing>,
    /// What is rejected.
    pub(super) rejected: Option<Thing>,
    /// The purpose or location, as far as the sentence gives one: `log`, `in tests`. Elsewhere the choice may differ.
    pub(super) scope: Option<String>,
    /// True if the scope is a purpose.
    purpose: bool,
    /// True if the sentence is about something that exists (`keep the mutex`), not a choice among several.
    being: bool,
    /// True if no other subject is named: `we use port 80`, not `the debugger uses port 80`.
    bare: bool,
}

/// The claims of an assertion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) rests: Vec<Claim>,
    pub(super) settles: Vec<Claim>,
}

/// Returns what the sentences of a text settle, in order.
pub(super) fn stances(text: &str) -> Vec<Stance> {
    let mut found = Vec::new();
    for clause in clauses(&own_words(text)) {
        if clause.last().is_some_and(|word| word.low == "?") {
            continue;
        }
        for part in parts(&clause) {
            if has_any(part, &TAKING_BACK) {
                found.clear();
            }
            found.extend(stance(part));
        }
    }
    found.truncate(MAX_STANCES);
    found
}

/// Splits a clause at its turns; each part is returned without its reason.
fn parts(clause: &[Word]) -> impl Iterator<Item = &[Word]> {
    let turns = |place: usize| match word_at(clause, place) {
        "so" | "then" | "and" => place > 0 && word_at(clause, place - 1) == "," && word_at(clause, place + 1) != "not",
        word => TURNING.contains(&word),
    };
    let cuts: Vec<usize> = (1..clause.len()).filter(|place| turns(*place)).chain([clause.len()]).collect();
    cuts.into_iter().scan(0, |begin, cut| {
        let part = &clause[*begin..cut];
        *begin = cut;
        Some(without_reason(part))
    })
}

fn has_any(words: &[Word], patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| (0..words.len()).any(|place| match_words(words, place, pattern).is_some()))
}

/// Returns what one part of a clause settles.
fn stance(words: &[Word]) -> Option<Stance> {
    if words.iter().any(|word| CASES.contains(&&*word.low)) || has_any(words, &WEIGHING) || has_any(words, &TELLING) {
        return None;
    }
    let (place, mut found) = (0..words.len()).find_map(|place| {
        let found = match_alternative(words, place)
            .or_else(|| match_change(words, place))
            .or_else(|| match_removal(words, place))
            .or_else(|| match_choice(words, place))?;
        Some((place, found))
    })?;
    found.bare = words[..place].iter().all(|word| BARE.contains(&&*word.low));
    let scoped = |place: usize| {
        SCOPES.contains(&word_at(words, place))
            && !EVERYWHERE.iter().any(|phrase| {
                (place.saturating_sub(2)..=place)
                    .any(|begin| match_words(words, begin, phrase).is_some_and(|end| end > place))
            })
    };
    if found.scope.is_none() && (0..words.len()).any(scoped) {
        // It is limited to some unnamed scope.
        found.scope = Some(String::new());
    }
    let telling = found.chosen != found.rejected;
    telling.then_some(found)
}

/// Returns the words before a reason or a subordinate clause, which settle nothing.
fn without_reason(words: &[Word]) -> &[Word] {
    let begins = |place: usize| {
        matches!(word_at(words, place), "because" | "since" | "which" | "otherwise")
            || (word_at(words, place) == "so" && word_at(words, place - 1) == ",")
    };
    let end = (2..words.len()).find(|place| begins(*place)).unwrap_or(words.len());
    &words[..end]
}

/// Matches `use X instead of Y`, `X over Y`, `X, not Y`, `instead of Y use X`.
fn match_alternative(words: &[Word], place: usize) -> Option<Stance> {
    let mark = |from: usize| {
        match_words(words, from, "instead of")
            .or_else(|| match_words(words, from, "rather than"))
            .or_else(|| match_words(words, from, ", not"))
            .or_else(|| match_words(words, from, "and not"))
    };
    let verb_end = choice_verb_end(words, place);
    if let Some(verb_end) = verb_end.filter(|_| !is_negated(words, place)) {
        let (chosen, after) = parse_thing(words, verb_end)?;
        let (scope, purpose, after) = parse_scope(words, after);
        let preferring =
            matches!(word_at(words, place), "prefer" | "prefers" | "preferred" | "chose" | "choose" | "chosen");
        let near = |place: usize| mark(place).or_else(|| match_words(words, place, "over").filter(|_| preferring));
        let behind = (after..words.len().min(after + VERB_REACH)).find_map(near)?;
        let (rejected, end) = parse_thing(words, behind)?;
        let (scope, purpose) = match scope {
            Some(_) => (scope, purpose),
            None => {
                let (scope, purpose, _) = self::parse_scope(words, end);
                (scope, purpose)
            }
        };
        return Some(Stance { chosen: Some(chosen), rejected: Some(rejected), scope, purpose, ..Stance::default() });
    }
    // `Instead of Y, we use X`.
    let behind = match_words(words, place, "instead of")
        .or_else(|| match_words(words, place, "rather than"))
        .filter(|_| place == 0)?;
    let (rejected, after) = parse_thing(words, behind)?;
    let verb = (after..words.len().min(after + VERB_REACH)).find_map(|place| choice_verb_end(words, place))?;
    let (chosen, after) = parse_thing(words, verb)?;
    let (scope, purpose, _) = parse_scope(words, after);
    Some(Stance { chosen: Some(chosen), rejected: Some(rejected), scope, purpose, ..Stance::default() })
}

/// Matches `switched from Y to X`, `replaced Y with X`, `no longer use Y`, `decided against Y`, `back to X`.
fn match_change(words: &[Word], place: usize) -> Option<Stance> {
    let word = word_at(words, place);
    if match_words(words, place, "back to").is_some() && place > 0 && CHANGING.contains(&word_at(words, place - 1)) {
        let (chosen, after) = parse_thing(words, place + 2)?;
        let (scope, purpose, _) = parse_scope(words, after);
        return Some(Stance { chosen: Some(chosen), scope, purpose, ..Stance::default() });
    }
    if CHANGING.contains(&word) && !is_negated(words, place) {
        // `switched the log from Y to X`: the thing switched is the purpose.
        let (of, from) = match match_words(words, place + 1, "from") {
            Some(from) => (None, from),
            None => {
                let (of, end) = parse_thing(words, place + 1)
                    .or_else(|| parse_thing(words, place + 2).filter(|_| word_at(words, place + 1) == "over"))?;
                (Some(of), match_words(words, end, "from")?)
            }
        };
        let (rejected, end) = parse_thing(words, from)?;
        let (chosen, after) = parse_thing(words, match_words(words, end, "to")?)?;
        let (scope, purpose, _) = parse_scope(words, after);
        let (scope, purpose) = match of {
            Some(of) => (Some(purposeful(&of.name)), true),
            None => (scope, purpose),
        };
        return Some(Stance { chosen: Some(chosen), rejected: Some(rejected), scope, purpose, ..Stance::default() });
    }
    if matches!(word, "replace" | "replaced" | "replacing" | "replaces" | "swap" | "swapped" | "drop" | "dropped")
        && !is_negated(words, place)
    {
        let (rejected, end) = parse_thing(words, place + 1)?;
        let behind = match_words(words, end, "with|by")
            .or_else(|| match_words(words, end, "in favour|favor of"))
            .or_else(|| match_words(words, end, "for").filter(|_| word != "replace" && word != "replaced"))?;
        let (chosen, after) = parse_thing(words, behind)?;
        let (scope, purpose, _) = parse_scope(words, after);
        return Some(Stance { chosen: Some(chosen), rejected: Some(rejected), scope, purpose, ..Stance::default() });
    }
    let behind = match_words(words, place, "no longer use|uses|using|need|want")
        .or_else(|| {
            match_words(words, place, "not use|using")
                .filter(|_| words.iter().any(|word| matches!(&*word.low, "anymore" | "longer")))
        })
        .or_else(|| {
            match_words(words, place, "don't use")
                .filter(|_| words.iter().any(|word| matches!(&*word.low, "anymore" | "longer")))
        })
        .or_else(|| match_words(words, place, "stop|stopped using"))
        .or_else(|| match_words(words, place, "decided against"))
        .or_else(|| match_words(words, place, "got|get rid of"))
        .or_else(|| match_words(words, place, "rejected|reject"))?;
    let (rejected, after) = parse_thing(words, behind)?;
    let (scope, purpose, _) = parse_scope(words, after);
    Some(Stance { rejected: Some(rejected), scope, purpose, ..Stance::default() })
}

/// Matches `drop X`, `decided to remove X`, `we don't need X`: an existing thing is to be removed.
fn match_removal(words: &[Word], place: usize) -> Option<Stance> {
    let decided = || words[..place].iter().any(|word| matches!(&*word.low, "decide" | "decided"));
    let behind = match_words(words, place, "drop|dropped")
        .or_else(|| match_words(words, place, "remove|delete").filter(|_| decided()))
        .or_else(|| match_words(words, place, "don't|won't need").filter(|_| decided()))?;
    if is_negated(words, place) {
        return None;
    }
    let (rejected, after) = parse_thing(words, behind)?;
    let (scope, purpose, _) = parse_scope(words, after);
    Some(Stance { rejected: Some(rejected), scope, purpose, being: true, ..Stance::default() })
}

/// Matches `use X for Z`, `go with X`; after a negation X is rejected.
fn match_choice(words: &[Word], place: usize) -> Option<Stance> {
    let behind = choice_verb_end(words, place)?;
    let (found, after) = parse_thing(words, behind)?;
    let (scope, purpose, _) = parse_scope(words, after);
    let being = match_words(words, place, "keep|kept|keeping|keeps").is_some();
    let stance = Stance { scope, purpose, being, ..Stance::default() };
    Some(match is_negated(words, place) {
        true => Stance { rejected: Some(found), ..stance },
        false => Stance { chosen: Some(found), ..stance },
    })
}

/// Returns the end of a verb of choice that begins at `place`.
fn choice_verb_end(words: &[Word], place: usize) -> Option<usize> {
    CHOOSING.iter().find_map(|pattern| match_words(words, place, pattern))
}

fn is_negated(words: &[Word], place: usize) -> bool {
    words[place.saturating_sub(NEGATION_REACH)..place].iter().any(|word| NEGATING.contains(&&*word.low))
}

/// Returns the scope that follows a thing, whether it is a purpose, and where it ends.
fn parse_scope(words: &[Word], from: usize) -> (Option<String>, bool, usize) {
    let word = word_at(words, from);
    let purpose = matches!(word, "for" | "as");
    let is_last = || match_words(words, from, "in the end").is_some();
    if (!purpose && !matches!(word, "in" | "on" | "within" | "inside")) || is_last() {
        return (None, false, from);
    }
    match parse_thing(words, from + 1) {
        Some((thing, end)) if purpose => (Some(purposeful(&thing.name)), true, end),
        Some((thing, end)) => (Some(format!("{word} {}", purposeful(&thing.name))), false, end),
        None => (Some(String::new()), false, from),
    }
}

/// Normalises a purpose for comparison: `job queues` becomes `job queue`.
fn purposeful(name: &str) -> String {
    let words: Vec<&str> = name.split(' ').collect();
    let last = words.len().saturating_sub(1);
    words
        .iter()
        .enumerate()
        .map(|(at, word)| if at == last { singular(word) } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

impl Stance {
    /// Returns the topic: the purpose of the choice, else the two options, else the thing chosen or rejected.
    pub(super) fn topic(&self) -> Option<String> {
        if let Some(scope) = self.scope.as_ref().filter(|scope| self.purpose && !scope.is_empty()) {
            return Some(scope.clone());
        }
        match (&self.chosen, &self.rejected) {
            (Some(a), Some(b)) if a.named || b.named => {
                let (first, second) = if a.name <= b.name { (a, b) } else { (b, a) };
                Some(format!("{} or {}", first.name, second.name))
            }
            (Some(one), None) | (None, Some(one)) if one.named => Some(one.name.clone()),
            _ => None,
        }
    }

    /// Returns how the topic is settled: `sled`, `not sqlite`.
    pub(super) fn value(&self) -> String {
        match (&self.chosen, &self.rejected) {
            (Some(chosen), _) => chosen.name.clone(),
            (None, Some(rejected)) => format!("not {}", rejected.name),
            (None, None) => String::new(),
        }
    }

    /// Returns the claims that the stance rests on and settles. Only names count: `a queue` may be one thing here and
    /// another there. A stance with a scope rests on what holds everywhere, but settles only its own scope.
    pub(super) fn claims(&self, group: &str) -> Claims {
        let mut claims = Claims::default();
        let within = self.scope.as_deref();
        let mut claim = |kind: &str, question: &str, value: &str| {
            let everywhere = Claim::new(group, kind, question, value);
            claims.rests.push(everywhere);
            match within {
                None => claims.settles.push(everywhere),
                Some("") => {}
                Some(scope) => {
                    let here = Claim::new(group, kind, &format!("{question} @ {scope}"), value);
                    claims.rests.push(here);
                    claims.settles.push(here);
                }
            }
        };
        let (chosen, rejected) = (self.chosen.as_ref(), self.rejected.as_ref());
        if let (Some(chosen), Some(rejected)) = (chosen, rejected)
            && (chosen.named && rejected.named)
        {
            let pair = [&chosen.name, &rejected.name];
            let question =
                format!("{} or {}", pair.iter().min().unwrap_or(&pair[0]), pair.iter().max().unwrap_or(&pair[0]));
            claim("one of two", &question, &chosen.name);
        }
        if let Some(chosen) = chosen.filter(|thing| thing.named) {
            claim("use", &chosen.name, "yes");
        }
        if let Some(rejected) = rejected.filter(|thing| thing.named) {
            claim("use", &rejected.name, "no");
        }
        if let Some((rivals, name)) = chosen.and_then(|thing| rivals(&thing.name)) {
            claim("one of", rivals, name);
        }
        if self.being
            && let Some(thing) = chosen.or(rejected).filter(|thing| thing.definite && !thing.named)
        {
            claim("be", &thing.name, if chosen.is_some() { "yes" } else { "no" });
        }
        if let Some((of, number)) = chosen.filter(|_| self.bare).and_then(|thing| numbered(&thing.name)) {
            claim("number", of, number);
        }
        if let (Some(chosen), Some(scope), true) = (chosen.filter(|thing| thing.named), within, self.purpose)
            && !scope.is_empty()
        {
            let purpose = Claim::new(group, "what for", scope, &chosen.name);
            claims.rests.push(purpose);
            claims.settles.push(purpose);
        }
        claims.rests.sort_unstable();
        claims.rests.dedup();
        claims.settles.sort_unstable();
        claims.settles.dedup();
        claims
    }
}

/// Returns the set of mutually exclusive things that contains `name`, and its entry.
fn rivals(name: &str) -> Option<(&'static str, &'static str)> {
    RIVALS.iter().find_map(|(set, names)| Some((*set, *names.iter().find(|known| **known == name)?)))
}

/// Splits `port 8080` into the thing and its number.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let (of, number) = name.rsplit_once(' ')?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_'));
    (is_number && of.chars().all(char::is_alphabetic)).then_some((of, number))
}

#[cfg(test)]
mod tests;
