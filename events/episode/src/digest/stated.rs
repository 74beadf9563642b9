//! Sentences that state a choice: what is taken, kept or turned down, and why.

use super::settled::contrasted;
use crate::lexicon::{Sign, Signs};
use baton_conversation::quoted_text::own_words;
use baton_words::WordList;

/// Fewest words of a choice.
pub(super) const MIN_WORDS: usize = 4;
/// Signs that something else could have been done.
const CHOICE: [Sign; 3] = [Sign::Contrast, Sign::Keep, Sign::Choose];
/// How an agent says what it is about to do.
const LET_ME: &str = "let me ";
/// Words before the verb of what was chosen.
const CHOOSING: [&str; 2] = ["decided to ", "chose to "];
/// Verbs of what was only looked into.
static CHECKING: WordList = WordList::new(crate::WORDS, "verbs of looking into");
/// Words before the subject of a clause.
const JOINING: [&str; 7] = ["so", "and", "but", "then", "therefore", "thus", "here"];
/// Words between the subject of a clause and its verb.
const BETWEEN: [&str; 12] =
    ["also", "am", "are", "first", "going", "just", "me", "now", "quickly", "then", "to", "will"];

/// The speaker's own words of a sentence with their signs, read once.
pub(super) struct Statement {
    own: String,
    signs: Signs,
}

impl Statement {
    /// Reads a sentence, unless it only introduces, asks, offers, puts off, claims that all is done, or reports a repair.
    pub(super) fn read(sentence: &str) -> Option<Self> {
        let (own, signs) = telling(sentence)?;
        Some(Self { own, signs })
    }

    /// Returns how much a sentence of a conclusion or a plan says about a choice; 0 if it states none.
    pub(super) fn concludes_choice(&self) -> usize {
        let (own, signs) = (&self.own, self.signs);
        let replaces = || signs.has(Sign::Replace) && commits(own) == Some(true);
        if signs.begins(Sign::Announce)
            || signs.has_any(&[Sign::Trouble, Sign::Hedge, Sign::Cause])
            || !(signs.has_any(&CHOICE) || replaces())
            || is_measurement(own)
        {
            return 0;
        }
        1 + [Sign::Contrast, Sign::Keep, Sign::Reason].into_iter().filter(|sign| signs.has(*sign)).count()
    }

    /// Returns true if it says by its words that something was changed or chosen, or what the speaker does.
    pub(super) fn is_of_a_change(&self) -> bool {
        self.signs.has_any(&[Sign::Change, Sign::Replace, Sign::Choose]) || commits(&self.own).is_some()
    }

    /// Returns true if it may say of a change that one thing took the place of another.
    pub(super) fn may_replace(&self) -> bool {
        !self.signs.begins(Sign::Announce)
            && !self.signs.has_any(&[Sign::Hedge, Sign::Cause])
            && self.signs.has_any(&[Sign::Replace, Sign::Change])
    }

    /// Returns true if it says of a result when or for what alone something happens, or what else happens or is avoided:
    /// `shown only while it runs`, `a list, a table otherwise`.
    pub(super) fn limits_result(&self) -> bool {
        // A short label in quotation marks stays in the own words.
        let unquoted = Signs::read(&self.own.split('"').step_by(2).collect::<String>());
        let limits = unquoted.has(Sign::Restrict) && !self.signs.has(Sign::Reason);
        (limits || unquoted.has(Sign::Avoid))
            && ![Sign::Restrict, Sign::Avoid, Sign::Announce].iter().any(|sign| self.signs.begins(*sign))
            && !self.signs.has_any(&[Sign::Trouble, Sign::Cause, Sign::Hedge])
    }

    /// True if the speaker commits to a choice and names the alternative or the reason.
    pub(super) fn commits_to_choice(&self) -> bool {
        let (own, signs) = (&self.own, self.signs);
        let is_of_others = [Sign::Quote, Sign::Hedge, Sign::Propose].iter().any(|sign| signs.begins(*sign));
        let only_looks = || CHOOSING.iter().any(|chosen| own.contains(chosen)) && commits(own) == Some(false);
        if signs.has(Sign::Cause) || is_of_others || only_looks() {
            return false;
        }
        let chooses = signs.has_any(&[Sign::Contrast, Sign::Choose]);
        let announces = signs.begins(Sign::Announce);
        // An explicit choice may have a problem as its reason.
        let is_mend = signs.has(Sign::Trouble) && !signs.has(Sign::Choose);
        if chooses && signs.has(Sign::Reason) && !is_mend && !signs.has(Sign::Hedge) {
            return !announces || commits(own) != Some(false);
        }
        let kept = signs.has_any(&[Sign::Keep, Sign::Setback]);
        signs.begins(Sign::Verdict) || !announces && (chooses || kept) && commits(own) == Some(true)
    }

    /// Returns true if it says by what something was done, or why.
    pub(super) fn tells_means(&self) -> bool {
        let is_idle = [Sign::Trouble, Sign::Hedge, Sign::Cause, Sign::Lack].iter().any(|sign| self.signs.has(*sign));
        // Ways of testing or finding are no part of the work.
        let bare = self.own.strip_prefix("I ").or_else(|| self.own.strip_prefix("We ")).unwrap_or(&self.own);
        let verb = bare.split_whitespace().next().unwrap_or_default().to_lowercase();
        let looks = CHECKING.has(&verb) || Signs::read(bare).begins(Sign::Look);
        let explains = self.signs.has(Sign::Reason) && !self.signs.begins(Sign::Reason) && self.is_of_a_change();
        (self.signs.has(Sign::Means) || explains) && !is_idle && !looks && !self.signs.begins(Sign::Announce)
    }

    /// Returns true if it only states how something is, or takes one way to look over another: what it says may be no
    /// choice, unless it is about what is being changed.
    pub(super) fn may_only_tell(&self) -> bool {
        let lower = self.own.to_lowercase();
        let looks = || contrasted(&lower).is_some_and(|(_, after)| Signs::read(after.trim()).begins(Sign::Look));
        let states = !self.signs.begins(Sign::Verdict) && !self.signs.has(Sign::Choose) && commits(&self.own).is_none();
        states || self.signs.begins(Sign::Announce) && looks()
    }

    /// Returns true if it proposes something in the speaker's own name.
    pub(super) fn proposes(&self) -> bool {
        self.signs.begins(Sign::Propose) && !self.signs.has(Sign::Hedge)
    }

    /// Returns true if it says before an act why it is done so, or how far it goes.
    pub(super) fn limits_or_explains(&self) -> bool {
        let narrates = self.own.get(..LET_ME.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(LET_ME));
        let limits = self.signs.has(Sign::Restrict) && self.own.contains('`');
        let tells = limits || self.signs.has(Sign::Reason) || !narrates && self.signs.has_any(&CHOICE);
        tells && self.acts()
    }

    /// Returns true if it says before an edit what is best.
    pub(super) fn prefers(&self) -> bool {
        self.signs.has(Sign::Choose)
            && !self.signs.has_any(&[Sign::Trouble, Sign::Cause, Sign::Hedge])
            && !self.signs.begins(Sign::Announce)
            && commits(&self.own) != Some(false)
    }

    /// Returns true if a clause of it announces which way the speaker is about to go.
    pub(super) fn announces_way(&self) -> bool {
        self.own.split([',', ':', '—']).any(|clause| Signs::read(clause.trim()).begins(Sign::Announce))
    }

    /// Returns true if it says that something is better, or that the speaker is about to do that.
    pub(super) fn reconsiders(&self) -> bool {
        self.signs.has(Sign::Choose) && (self.signs.begins(Sign::Announce) || self.prefers())
    }

    /// Returns true if it says before an act what it is done instead of.
    pub(super) fn contrasts(&self) -> bool {
        self.acts() && contrasted(&self.own.to_lowercase()).is_some()
    }

    /// Returns true if a speaker says that they are about to do only a part, or which part alone counts.
    pub(super) fn limits_what_is_done(sentence: &str) -> bool {
        let signs = Signs::read(&own_words(sentence));
        let limits = signs.begins(Sign::Announce) && signs.has(Sign::Restrict) || signs.begins(Sign::Restrict);
        limits && !signs.has_any(&[Sign::Trouble, Sign::Hedge])
    }

    /// Returns true if it says before an edit from what that follows: `it is read elsewhere, so I leave it`.
    pub(super) fn draws_consequence(&self) -> bool {
        self.signs.has(Sign::Consequence) && self.acts()
    }

    /// Returns true if the speaker says what they do.
    fn acts(&self) -> bool {
        !self.signs.has_any(&[Sign::Trouble, Sign::Cause])
            && !self.signs.begins(Sign::Hedge)
            && commits(&self.own) == Some(true)
    }
}

/// Returns what is done, without that the speaker is about to do it: `Commit only two` of `Let me commit only two`.
pub(super) fn without_announcement(sentence: &str) -> String {
    let announced = sentence.split_at_checked(LET_ME.len()).filter(|(begin, _)| begin.eq_ignore_ascii_case(LET_ME));
    let Some((_, rest)) = announced else { return sentence.to_owned() };
    let mut rest = rest.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns how much a sentence says about a choice; see [`Statement::concludes_choice`].
pub(super) fn concludes_choice(sentence: &str) -> usize {
    Statement::read(sentence).map_or(0, |told| told.concludes_choice())
}

/// Returns true if a sentence of a plan says what is taken instead of something else.
pub(super) fn plans_choice(sentence: &str) -> bool {
    Statement::read(sentence).is_some_and(|told| {
        let chooses = told.signs.has_any(&[Sign::Contrast, Sign::Choose]);
        // `Since it is empty, the load stops` only explains.
        let is_reasoned = told.signs.has(Sign::Reason) && !told.signs.begins(Sign::Reason);
        (chooses || is_reasoned)
            && !is_connected(&told.own)
            && !told.signs.has_any(&[Sign::Trouble, Sign::Hedge, Sign::Cause])
            && !is_measurement(&told.own)
    })
}

/// Returns true if a name or a heading has a file of tests.
pub(super) fn names_test(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|part| matches!(part, "test" | "tests" | "spec"))
}

/// Returns true if a sentence proposes something in the speaker's own name.
pub(super) fn proposes(sentence: &str) -> bool {
    Statement::read(sentence).is_some_and(|told| told.proposes())
}

/// Returns true if a sentence says little without the one before: it begins with what follows from that.
pub(super) fn is_connected(sentence: &str) -> bool {
    let joins = |word: &str| {
        matches!(&*word.to_lowercase(), "so" | "then" | "therefore" | "thus" | "this" | "that" | "otherwise")
    };
    sentence.split_whitespace().next().is_some_and(|word| joins(word.trim_end_matches(',')))
}

/// Returns true if a sentence limits what is done: `only on request`.
pub(super) fn limits(sentence: &str) -> bool {
    telling(sentence).is_some_and(|(_, signs)| {
        signs.has(Sign::Restrict) && !signs.has_any(&[Sign::Reason, Sign::Trouble, Sign::Cause, Sign::Hedge])
    })
}

/// Returns true if a sentence by an unknown author states a choice.
pub fn is_choice(sentence: &str) -> bool {
    Statement::read(sentence).is_some_and(|told| told.commits_to_choice() || told.concludes_choice() > 0)
        || Signs::read(sentence).begins(Sign::Steer)
}

/// Returns true if a sentence leaves a choice to the reader.
pub fn is_left_to_the_reader(sentence: &str) -> bool {
    let signs = Signs::read(sentence);
    signs.asks() && signs.has(Sign::Either)
}

/// Returns the speaker's own words with their signs, unless they only introduce, ask, offer, put off, claim that all is
/// done, or report a repair.
fn telling(sentence: &str) -> Option<(String, Signs)> {
    let own = without_brackets(&own_words(sentence));
    let signs = Signs::read(&own);
    let says_enough = own.split_whitespace().count() >= MIN_WORDS || !own.is_ascii();
    let is_idle = signs.asks()
        || [Sign::Offer, Sign::Quantity].iter().any(|sign| signs.begins(*sign))
        || signs.has_any(&[Sign::Repair, Sign::Later, Sign::Remaining, Sign::Next])
        || signs.has(Sign::Foreign) && !signs.has(Sign::Keep)
        || signs.has(Sign::Idle);
    let introduces = own.trim_end_matches(['*', '_', ' ', '\n']).ends_with([':', '：']);
    (says_enough && !is_idle && !introduces).then_some((own, signs))
}

/// Returns true if the speaker says in a clause what they do, and it is more than looking; `None` if they do not speak of
/// themselves.
fn commits(text: &str) -> Option<bool> {
    let is_of = |word: &str, list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
    let clauses = text.split([',', ';', ':', '.', '—', '，', '。']).filter_map(|clause| {
        let words = clause.split_whitespace().skip_while(|word| is_of(word, &JOINING));
        let words: Vec<&str> = words.collect();
        let verb = words.iter().skip(1).skip_while(|word| is_of(word, &BETWEEN)).copied().collect::<Vec<_>>().join(" ");
        let verb = CHOOSING.iter().find_map(|chosen| verb.strip_prefix(chosen)).unwrap_or(&verb);
        let verb = Signs::read(verb);
        let speaks = Signs::read(&words.join(" ")).begins(Sign::Speaker);
        speaks.then_some(!verb.begins(Sign::Look) && !verb.begins(Sign::Order))
    });
    clauses.reduce(|one, other| one || other)
}

/// Strips what stands in brackets, which is said in passing.
fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once('(') {
        let Some((_, after)) = inner.split_once(')') else { break };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// Returns true for `59 fps instead of 9`.
fn is_measurement(text: &str) -> bool {
    contrasted(&text.to_lowercase())
        .is_some_and(|(_, after)| after.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(sentence: &str) -> bool {
        Statement::read(sentence).is_some_and(|told| told.commits_to_choice())
    }

    fn limits_or_explains(sentence: &str) -> bool {
        Statement::read(sentence).is_some_and(|told| told.limits_or_explains())
    }

    #[track_caller]
    fn check(choice: impl Fn(&str) -> bool, expected: bool, sentences: &[&str]) {
        for sentence in sentences {
            assert_eq!(choice(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn who_takes_something_says_what_else_there_was() {
        check(
            takes,
            true,
            &[
                "I decided against a queue.",
                "I won't pin it; the next release mends that anyway.",
                "**SQLite instead of a file per user, because writes must be atomic.**",
                "We keep the old column, since two clients still read it.",
                "We'll go with the second layout for all pages.",
                "Dead end, I take the cache out again.",
                "Decided: one file per tenant, named by its id.",
                "I leave the retry out: it would be one more knob.",
                "So I would not split the module just for this.",
                "The unrelated list is left untouched; I leave that alone.",
                "キューではなくテーブルを使います、理由は単純なので。",
            ],
        );
        check(
            takes,
            false,
            &[
                "I'm going to check the schema before answering, because it should come from the contract rather than a guess.",
                "Let me read the file first, because it is short.",
                "Would you prefer a table instead of a list, because it is shorter?",
                "If you use a table instead of a list, I keep the order.",
                "The issue is that I pass a string instead of a path, because the mock returns one.",
                "The docs say: \"We decided to use MongoDB instead of Postgres because it scales.\"",
                "It runs on the worker thread instead of the main thread.",
                "All tests pass.",
                "",
            ],
        );
    }

    #[test]
    fn a_limit_or_a_reason_counts_where_the_speaker_acts() {
        check(
            limits_or_explains,
            true,
            &[
                "I'm editing only `a.rs` and its test.",
                "The column is read elsewhere, so I'll leave it.",
                "Let me inline it to avoid the extra name.",
            ],
        );
        check(
            limits_or_explains,
            false,
            &[
                "I'll only commit the files of this task.",
                "Let me write the whole file instead.",
                "I'm running only `a.rs` now.",
                "I can read only `a.rs`, since it is short.",
            ],
        );
        check(limits, true, &["Read only what is new", "No index file beside it"]);
        check(limits, false, &["It reads only one, since the other is empty", "Fails only on Mondays"]);
    }

    #[test]
    fn a_result_is_limited_by_what_alone_it_is_for() {
        let limits_result = |text: &str| Statement::read(text).is_some_and(|told| told.limits_result());
        check(
            limits_result,
            true,
            &[
                "Shown only while the winch turns",
                "The lamp is lit, only if `load` is set",
                "A list for one, a table otherwise",
                "Usa una lista para evitar copias",
            ],
        );
        check(
            limits_result,
            false,
            &[
                "Removed the \"Crane only\" mark now",
                "No gaps between the rows",
                "The only change is a comma",
                "It was only read once",
                "All tests pass now",
            ],
        );
    }

    #[test]
    fn a_plan_chooses_by_a_contrast_or_a_reason_behind_it() {
        check(
            plans_choice,
            true,
            &["Keep it in one file because readers map it", "A ring instead of a list for speed"],
        );
        check(plans_choice, false, &["Since all hooks have a latch, the winch only stops when `load` changes"]);
    }

    #[test]
    fn a_question_with_options_leaves_the_choice_to_the_reader() {
        check(is_left_to_the_reader, true, &["A table or a list?", "Which one do you want?"]);
        check(is_left_to_the_reader, false, &["A table or a list.", "Shall I go on?"]);
    }
}
