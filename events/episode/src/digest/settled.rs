//! What a choice takes and what it turns down, by name, and for what: `sled instead of SQLite for the log`. By that, a
//! later choice replaces an earlier one, of the same session or of another.
//!
//! # Decisions
//!
//! - Only single names count, because `a queue` may be one thing here and another there, and a choice for something
//!   replaces only one for the same thing or for everything. Missing that a choice was replaced costs less than claiming
//!   a replacement that did not happen.

use baton_words::WordList;

/// Phrases before and after what is replaced.
const REPLACING: [(&str, &str); 4] =
    [(" from ", " to "), (" replaced ", " with "), (" replace ", " with "), (" dropped ", " for ")];
/// Phrases before what is turned down, with nothing in its place.
static AGAINST: WordList = WordList::new(crate::WORDS, "against");
/// Phrases before what is taken.
static TAKING: WordList = WordList::new(crate::WORDS, "taking");
/// Words before what a choice is for.
const FOR: [&str; 4] = ["for", "as", "in", "within"];
/// Words that go on after a name or what a choice is for, and name nothing.
static REST: WordList = WordList::new(crate::WORDS, "words after a name");
/// Words before a choice that name nothing for which it is made.
static BARE: WordList = WordList::new(crate::WORDS, "bare words");
/// Articles.
const ARTICLES: [&str; 7] = ["a", "an", "the", "der", "die", "das", "our"];
/// Words that name nothing.
pub(super) const PRONOUNS: [&str; 8] = ["it", "that", "this", "them", "these", "those", "one", "all"];
/// Longest name, in bytes.
const NAME_BYTES: usize = 60;
/// Most words of what a choice is for.
const FOR_WORDS: usize = 4;

/// What a choice settles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// What is taken, in lower case.
    pub chosen: Option<String>,
    /// What is turned down, in lower case.
    pub rejected: Option<String>,
    /// What it is for, as far as the text says so.
    scope: Option<String>,
    /// True if one of both is a name by its form.
    is_named: bool,
}

/// Returns what a text settles.
pub fn settled(text: &str) -> Settled {
    let refused = text.strip_prefix("User refused ");
    let said = refused.and_then(|rest| rest.split_once("`: ").or_else(|| rest.split_once(": ")));
    let said = said.or_else(|| text.rsplit_once("User: ")).map_or(text, |(_, said)| said);
    let text = &*format!(" {} ", without_reason(said));
    if let Some((before, after)) = contrasted(text).or_else(|| over(text)) {
        let taken = last_of(before, &TAKING).or_else(|| last_of(before, &[": "]));
        let alone = if first_name(before).is_some() { ("", before) } else { (before, "") };
        let (lead, taken) = taken.unwrap_or(alone);
        return between(lead, taken, after);
    }
    for (from, to) in REPLACING {
        let Some((lead, rest)) = last_of(text, &[from]) else { continue };
        let Some((rejected, chosen)) = rest.split_once(to) else { continue };
        if !rejected.contains(' ') {
            return between(lead, chosen, rejected);
        }
    }
    if let Some((lead, refused)) = last_of(text, &AGAINST) {
        return between(lead, "", refused);
    }
    last_of(text, &TAKING).map(|(lead, taken)| between(lead, taken, "")).unwrap_or_default()
}

/// Returns what a choice between two things settles. Each begins its text; `lead` stands before both, and what it names
/// is what the choice is for, unless that follows one of them.
fn between(lead: &str, taken: &str, refused: &str) -> Settled {
    let after_name = |text: &str| {
        let mut words = text.split_whitespace().skip(1);
        words.next().filter(|word| is_preposition(word)).and_then(|_| scope(words))
    };
    let lead = lead.rsplit_once(". ").map_or(lead, |(_, last)| last);
    let subject = lead.split_whitespace().filter(|word| !BARE.has(&bare(word)) && !is_preposition(word));
    let is_named = [taken, refused].into_iter().filter_map(|text| text.split_whitespace().next()).any(is_telling);
    Settled {
        chosen: first_name(taken),
        rejected: first_name(refused),
        scope: after_name(taken).or_else(|| after_name(refused)).or_else(|| scope(subject)),
        is_named,
    }
}

impl Settled {
    /// Returns the topic if both options are known, and one is a name by its form: `sled or sqlite`.
    pub fn topic(&self) -> Option<String> {
        let (a, b) = self.chosen.as_ref().zip(self.rejected.as_ref()).filter(|(a, b)| self.is_named && a != b)?;
        Some(format!("{} or {}", a.min(b), a.max(b)))
    }

    /// Returns the questions on whose answers the choice rests, each with its answer: of everything, and of what it is for.
    pub fn rests(&self) -> Vec<(String, &'static str)> {
        let mut rests = self.answers("");
        rests.extend(self.scope.iter().flat_map(|scope| self.answers(scope)));
        rests
    }

    /// Returns the questions that the choice answers. One for something answers nothing of the rest.
    pub fn settles(&self) -> Vec<(String, &'static str)> {
        self.answers(self.scope.as_deref().unwrap_or_default())
    }

    /// Returns true if this choice, made later, replaces `earlier`.
    pub fn replaces(&self, earlier: &Self) -> bool {
        let rests = earlier.rests();
        self.settles().iter().any(|(asked, new)| rests.iter().any(|(of, old)| asked == of && new != old))
    }

    fn answers(&self, scope: &str) -> Vec<(String, &'static str)> {
        let names = [(&self.chosen, "yes"), (&self.rejected, "no")].into_iter();
        names.filter_map(|(name, answer)| Some((format!("{} {scope}", key(name.as_ref()?)), answer))).collect()
    }
}

/// Returns the text before its reason.
fn without_reason(text: &str) -> &str {
    let marks = [" because ", ", since ", ", so ", " so that ", " weil "];
    marks.iter().filter_map(|mark| text.find(mark)).min().map_or(text, |end| &text[..end])
}

/// Returns what stands before and after the words for a rejected alternative: `X instead of Y`.
pub(super) fn contrasted(text: &str) -> Option<(&str, &str)> {
    let marks = [
        "instead of ",
        "rather than ",
        ", not ",
        " and not ",
        " statt ",
        "en lugar de ",
        "au lieu de ",
        "вместо ",
        "而不是",
    ];
    marks.iter().find_map(|mark| text.split_once(mark))
}

/// Returns what a text says to be replaced and by what, each to the end of its clause: `Replaced X with Y`, `Y instead of X`.
/// What is only one of several things that it lists is left out.
pub(super) fn replacement(text: &str) -> Option<(String, String)> {
    let text = &*format!(" {} ", text.trim());
    let until_mark = |text: &str| text[..text.find([',', ';', '—', '。', '，']).unwrap_or(text.len())].to_owned();
    for (from, to) in REPLACING {
        let Some((_, rest)) = last_of(text, &[from]).filter(|(lead, _)| !lead.contains(", ")) else { continue };
        let is_whole = |old: &str| old.matches('(').count() == old.matches(')').count();
        if let Some((old, new)) = rest.split_once(to).filter(|(old, _)| is_whole(old)) {
            return Some((until_mark(old), until_mark(new)));
        }
    }
    contrasted(text).map(|(new, old)| (until_mark(old), new.to_owned()))
}

/// Returns what stands before and after `over`, which contrasts only after a verb of choice.
fn over(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(" over ")?;
    [" prefer", " chose", " choose"].iter().any(|verb| before.contains(verb)).then_some((before, after))
}

/// Returns what stands before and after the last of some phrases in lower case.
fn last_of<'a>(text: &'a str, phrases: &[&str]) -> Option<(&'a str, &'a str)> {
    let lower = text.to_ascii_lowercase();
    let found = phrases.iter().filter_map(|phrase| lower.rfind(phrase).map(|at| (at + phrase.len(), at)));
    found.max().map(|(end, at)| (&text[..at], &text[end..]))
}

/// Returns what a choice is for, from the words that say so to the end of their clause.
fn scope<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut scope: Vec<String> = Vec::new();
    for word in words {
        let bare = bare(word);
        if REST.has(&bare) || is_preposition(word) {
            break;
        }
        if !bare.is_empty() && !ARTICLES.contains(&&*bare) && scope.len() < FOR_WORDS {
            scope.push(key(&bare));
        }
        if word.ends_with(['.', ',', ';', ')', '!']) {
            break;
        }
    }
    (!scope.is_empty()).then(|| scope.join(" "))
}

/// Returns the name at the beginning of a text: the first word, if no noun follows it.
fn first_name(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let goes_on = |next: &str| is_preposition(next) || REST.has(&bare(next));
    let is_bare = first.ends_with(['.', ';', ':', ')', '!']) || words.next().is_none_or(goes_on);
    if is_bare || first.starts_with('`') { name(first) } else { None }
}

fn is_preposition(word: &str) -> bool {
    FOR.contains(&&*word.to_lowercase())
}

/// Returns true for a word that is a name by its form: `` `sled` ``, `SQLite`, `engine.ts`.
fn is_telling(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    (word.starts_with('`') && word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '`').ends_with('`'))
        || bare.chars().skip(1).any(|c| c.is_uppercase() || matches!(c, '_' | '.' | '/'))
}

/// Returns the word as a name, in lower case.
fn name(word: &str) -> Option<String> {
    let bare = bare(word);
    let is_name = bare.len() > 1 && bare.len() <= NAME_BYTES;
    let is_other = PRONOUNS.contains(&&*bare) || ARTICLES.contains(&&*bare) || REST.has(&bare);
    let is_plain = bare.chars().all(|c| c.is_alphanumeric() || "_-./:@#+".contains(c));
    (is_name && !is_other && is_plain && bare.chars().any(char::is_alphabetic)).then_some(bare)
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '@' | '#' | '+')).to_lowercase()
}

/// Returns the word by which one and several of a thing are the same.
fn key(word: &str) -> String {
    word.trim_end_matches('s').trim_end_matches('e').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_names_beside_a_contrast_count() {
        let check = |text: &str, chosen: Option<&str>, rejected: Option<&str>| {
            let found = settled(text);
            assert_eq!((found.chosen.as_deref(), found.rejected.as_deref()), (chosen, rejected), "{text}");
        };
        check("We use sled instead of SQLite for the log, because it is small.", Some("sled"), Some("sqlite"));
        check("Use it in tests instead of SQLite", None, Some("sqlite"));
        check("I decided for Postgres instead of Redis because of the key", Some("postgres"), Some("redis"));
        check("Web Locks (`navigator.locks`) instead of a flag in localStorage", None, None);
        check("Show a file drop zone instead of URL input", None, None);
        check("Using existing, tested component instead of new code", None, None);
        check(
            "recorder.js now uses AudioWorklet instead of ScriptProcessor",
            Some("audioworklet"),
            Some("scriptprocessor"),
        );
        check("We switched from SQLite to sled for the log", Some("sled"), Some("sqlite"));
        check("Switched the queue from Redis to Postgres.", Some("postgres"), Some("redis"));
        check("Replaced `load()` with `read()`, including costs", Some("read"), Some("load"));
        check("Replaced `.split(\".\")[0]` with `ids[input]`", None, None);
        check("We use SQLite for the log", Some("sqlite"), None);
        check("Proposal: react-virtual instead of react-window or others", Some("react-virtual"), Some("react-window"));
        check("Which one? User: use Postgres", Some("postgres"), None);
        check("use pnpm, not npm", Some("pnpm"), Some("npm"));
        check("I prefer tabs over spaces", Some("tabs"), Some("spaces"));
        check("never use npm", None, Some("npm"));
        check("Wir nehmen Postgres statt Redis.", None, Some("redis"));
        check("a ring buffer instead of a list", None, None);
        check("Well-tested: an existing, tested component instead of new code", None, None);
        check("Runs on the audio rendering thread instead of main thread", None, None);
        check("Use the new endpoint", None, None);
        check("Keep the queue.", None, None);
        check("", None, None);
    }

    #[test]
    fn a_replacement_names_both_things() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = replacement(text);
            let found = found.as_ref().map(|(old, new)| (old.trim(), new.trim()));
            assert_eq!(found, expected, "{text}");
        };
        check("Replace tallow with grease, which is quiet", Some(("tallow", "grease")));
        check("Switched it from SSH (`git@host`) to HTTPS", Some(("SSH (`git@host`)", "HTTPS")));
        check("grease instead of tallow; quiet", Some(("tallow", "grease")));
        check("Oiled the drum, wound the rope, replaced tallow with grease", None);
        check("Read from the log (and back to the head)", None);
        check("Replaced the drum", None);
        check("", None);
    }

    #[track_caller]
    fn check(replaced: bool, pairs: &[(&str, &str)]) {
        let wrong: Vec<_> =
            pairs.iter().filter(|(earlier, later)| settled(later).replaces(&settled(earlier)) != replaced).collect();
        assert!(wrong.is_empty(), "not {replaced}: {wrong:#?}");
    }

    #[test]
    fn a_later_choice_replaces_an_earlier_one() {
        check(
            true,
            &[
                ("We use sqlite for the log because it is simple.", "We switched from sqlite to sled."),
                ("We decided to use Redis for the job queue.", "We switch from Redis to Postgres for the job queue"),
                ("Use Postgres rather than MySQL.", "We go with MySQL instead of Postgres, since the host has it."),
                ("use sled instead of SQLite", "use SQLite instead of sled"),
                ("We switched from sqlite to sled.", "Let's go back to sqlite."),
                ("We use Redis because it is fast.", "We no longer use Redis, since it might lose jobs."),
                ("always use tabs for indentation", "use spaces instead of tabs"),
                ("We use Redis for the queue.", "Switched the queue from Redis to Postgres."),
                (
                    "We use pydantic.",
                    "User: but no, use a plain frozen dataclass instead of pydantic, because of the cost",
                ),
                ("recorder.js now uses AudioWorklet instead of ScriptProcessor", "Back to ScriptProcessor."),
                ("never use npm", "use npm instead of pnpm"),
                ("We decided to use JWT instead of cookies.", "We switched from JWT to sessions."),
                ("Decided against Kafka.", "We use Kafka now, because the load has grown."),
                ("I decided against using docker because of the size.", "I decided to use docker because CI needs it."),
            ],
        );
    }

    #[test]
    fn choices_of_two_things_leave_each_other_alone() {
        check(
            false,
            &[
                ("We use Postgres because of JSONB.", "In the tests we use SQLite instead of Postgres."),
                ("We use sqlite for the log.", "We use Postgres for the accounts."),
                ("use sled instead of SQLite", "use npm instead of yarn"),
                ("I use a slice instead of a Vec.", "I use a Vec instead of a slice."),
                ("We use serde because it is there.", "We use regex because it is there."),
                ("Use Redis for the cache.", "Use Redis for the queue."),
                ("Use Redis for the cache.", "Don't use Redis for the locks."),
                ("We decided to use a queue.", "We don't use a queue here."),
                ("We use tokio.", "We replaced the loop with a stream."),
                ("use tabs", "use tabs instead of spaces"),
                ("We use port 8080.", "The debugger uses port 9229."),
                ("Use serde for the parser", "Use regex for the parser"),
                (
                    "Make the score larger: `text-sm` instead of `text-xs`",
                    "Show the count as `text-xs` instead of `text-sm`",
                ),
                ("Plan: label it \"Phase\" instead of \"Batch\"", "batches of 5,000 and not 50,000"),
                ("Use Vite instead of webpack. Nothing else.", "The docs now use webpack instead of Vite."),
            ],
        );
    }
}
