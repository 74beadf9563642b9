//! The meaning of a question: its kinds, its subject, its projects and its time.

mod naming;
mod phrasing;
mod plain;
mod signs;
mod span;
mod synonyms;
mod words;

pub use naming::Named;
pub use span::Span;

use std::collections::BTreeMap;

use self::phrasing::Phrasing;
use self::plain::is_plain;
use self::signs::{KINDS, TIMED, WEAK};
use self::words::{each_word, name_parts};
pub(super) use self::words::{is_same_stem, words};
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;
use baton_words::language::{self, Language, Question};

baton_protocol::named! {
    /// A kind of question that is recognised by plain words.
    Kind {
        /// The latest work: the last sessions and where they stopped.
        Latest = "latest",
        /// What is still open: loose ends and next steps that no later session has settled.
        Open = "open",
        /// What the user prefers.
        Preferences = "preferences",
        /// Why something was chosen.
        Decisions = "decisions",
        /// Which approach failed.
        Failed = "failed",
        /// How an error was solved.
        Solved = "solved",
        /// Which files belong to some work.
        Files = "files",
    }
}

/// A word of a question's subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The word in lower case.
    pub word: String,
    /// Words that mean about the same.
    pub synonyms: Vec<&'static str>,
    /// How much the word tells: the rarer among what was said, the more; 0 if neither it nor a synonym was ever said.
    pub weight: f32,
    /// True if only synonyms of the word were ever said.
    pub is_foreign: bool,
}

impl Term {
    fn new(word: &str) -> Self {
        Self { word: word.to_owned(), synonyms: synonyms::synonyms_of(word), weight: 1.0, is_foreign: false }
    }

    /// Returns the parts of a compound that means more than they do: `sign-on`. Other words have none.
    fn parts(&self) -> Option<Vec<&str>> {
        self.word.contains('-').then(|| self.word.split('-').collect())
    }

    /// Returns what the best occurrence in some words, in their order, counts for; see [`likeness`](Self::likeness).
    fn best_of(&self, words: &[String]) -> f32 {
        let Some(parts) = self.parts() else { return words.iter().map(|it| self.likeness(it)).fold(0.0, f32::max) };
        let joined = parts.concat();
        let is_there = words.contains(&joined) || words.windows(parts.len()).any(|part| part == parts);
        f32::from(u8::from(is_there))
    }

    /// Returns what an occurrence of a word counts for: 1 for the term itself in any form, a part for a synonym.
    fn likeness(&self, word: &str) -> f32 {
        if self.word.contains('-') {
            return 0.0;
        }
        if is_same_stem(word, &self.word) {
            return 1.0;
        }
        let is_synonym = self.synonyms.iter().any(|synonym| is_same_stem(word, synonym));
        if is_synonym { if self.is_foreign { 1.0 } else { SYNONYM } } else { 0.0 }
    }
}

/// The meaning of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// Its kinds, in the order of [`Kind`]; if empty, it is answered by search alone.
    pub kinds: Vec<Kind>,
    /// Its subject: the words without those that only mark its kind.
    pub about: Vec<Term>,
    /// The subject as it was written, for searching; the whole question if nothing else is left.
    pub search: String,
    /// The projects that it names.
    pub named: Named,
    /// The time that it is asked of.
    pub span: Option<Span>,
    /// The time that it only mentions: what is of that time is preferred.
    pub mentioned: Option<Span>,
    /// The word in the place of a project's name, if no known project is named.
    pub place: Option<String>,
    /// True if its language writes every noun with a capital.
    pub has_capital_nouns: bool,
}

impl Intent {
    /// Returns the words of the subject with their synonyms, for searching.
    pub fn synonyms(&self) -> Vec<(String, &'static str)> {
        let pairs = |term: &Term| -> Vec<_> { term.synonyms.iter().map(|it| (term.word.clone(), *it)).collect() };
        self.about.iter().flat_map(pairs).collect()
    }

    /// Returns true if the question is of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Returns true if it is asked what is open, and not why.
    pub fn seeks_open(&self) -> bool {
        self.is(Kind::Open) && !self.is(Kind::Decisions)
    }

    /// Returns true if the question is of a known kind and has no particular subject.
    pub fn is_general(&self) -> bool {
        self.about.is_empty() && !self.kinds.is_empty()
    }

    /// Returns true if a word of the question is one of its subject: not a month, say.
    pub fn is_about(&self, word: &str) -> bool {
        let parts = words(word);
        self.about.iter().any(|term| parts.iter().any(|part| term.word.contains(&**part)))
    }

    /// Returns the words of the subject in lower case.
    pub fn subject(&self) -> String {
        self.about.iter().map(|term| term.word.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Sets the weights of the subject's words, which are equal before. `weigh` returns the weights of given words, 0 for
    /// one that was never said.
    pub fn weigh(&mut self, weigh: impl Fn(&[&str]) -> Option<Vec<f32>>) {
        for term in &mut self.about {
            // Of a compound the longest part is looked up.
            let own = term.word.split('-').max_by_key(|part| part.len()).unwrap_or_default().to_owned();
            let words: Vec<&str> = [own.as_str()].into_iter().chain(term.synonyms.iter().copied()).collect();
            let Some(weights) = weigh(&words) else { continue };
            let Some((own, others)) = weights.split_first() else { continue };
            let (own, others) = (*own, others.iter().copied().fold(0.0, f32::max));
            term.is_foreign = own <= 0.0 && others > 0.0;
            term.weight = if term.is_foreign { others * SYNONYM } else { own };
        }
    }

    /// Returns the share of the subject's words that a text has, by weight, in any form or, for a part, as a synonym; 1 if
    /// there is no subject.
    pub fn fit_of(&self, text: &str) -> f32 {
        if self.about.is_empty() {
            return 1.0;
        }
        let there = words(text);
        let share = |term: &Term| term.best_of(&there);
        let all: f32 = self.about.iter().map(|term| term.weight).sum();
        let found: f32 = self.about.iter().map(|term| term.weight * share(term)).sum();
        if all > 0.0 { found / all } else { 0.0 }
    }
}

impl Intent {
    /// Returns the words of the subject that none of the texts has, not even as a synonym.
    pub fn missing<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<String> {
        let (mut said, mut known) = (self.tally("", &mut BTreeMap::new()), BTreeMap::new());
        texts.for_each(|text| said.add(&self.tally(text, &mut known)));
        let missing = self.about.iter().zip(&said.best).filter(|(_, best)| **best <= 0.0);
        missing.map(|(term, _)| term.word.clone()).collect()
    }

    /// Returns the share of the subject that a text has, as it counts for a claim: a synonym for most of its word.
    pub fn coverage(&self, text: &str) -> f32 {
        self.share_counting(&self.tally(text, &mut BTreeMap::new()), COVERS)
    }

    /// Returns true if a text has enough of the subject for an answer to be claimed: most of its words by weight, or fewer
    /// with the rarest; of a short question, half, if both its words were ever said. Words that were never said count as
    /// rare ones.
    pub fn is_answered_by(&self, text: &str) -> bool {
        let Some(rarest) = self.rarest() else { return true };
        let share = self.coverage(text);
        // A synonym of the rarest word may mean something else.
        let has_rarest = || rarest.best_of(&words(text)) >= 1.0;
        let is_all_said = self.about.iter().all(|term| term.weight > 0.0);
        // Of two words, what is said instead of one may be something else.
        if self.about.len() == SHORT && self.about.iter().any(|term| term.is_foreign) {
            return false;
        }
        let least = match self.about.len() <= SHORT {
            true if is_all_said => ONE_OF_TWO,
            // A decision about something near does not say why.
            false if is_all_said && !self.is(Kind::Decisions) => HALF_OF_IT,
            _ => MOST_OF_IT,
        };
        share >= MOST_OF_IT || share >= least && has_rarest()
    }

    fn rarest(&self) -> Option<&Term> {
        self.about.iter().max_by(|a, b| a.weight.total_cmp(&b.weight))
    }

    /// Returns how much a text says about the subject, see [`relevance_of`](Self::relevance_of).
    pub fn relevance(&self, text: &str) -> f32 {
        self.relevance_of(&self.tally(text, &mut BTreeMap::new()))
    }

    /// Returns how much the text of a tally says about the subject: BM25 with the weights of the words.
    pub fn relevance_of(&self, tally: &Tally) -> f32 {
        let length = 1.0 - LENGTH_SHARE + LENGTH_SHARE * tally.words as f32 / USUAL_WORDS;
        let score = |(term, times): (&Term, &f32)| term.weight * times / (times + SATURATION * length);
        self.about.iter().zip(&tally.times).map(score).sum()
    }

    /// Returns the share of the subject that the text of a tally has, by weight. Unlike in [`fit_of`](Self::fit_of), words that
    /// were never said count as missing, each like the rarest.
    pub fn share_of(&self, tally: &Tally) -> f32 {
        self.share_counting(tally, SYNONYM)
    }

    fn share_counting(&self, tally: &Tally, synonym: f32) -> f32 {
        let rarest = self.rarest().map_or(0.0, |term| term.weight);
        let whole = |term: &Term| match (term.weight > 0.0, term.is_foreign) {
            (true, true) => term.weight / SYNONYM,
            (true, false) => term.weight,
            (false, _) => rarest,
        };
        let all: f32 = self.about.iter().map(whole).sum();
        let covered = |(term, best): (&Term, &f32)| match *best {
            _ if term.weight <= 0.0 => 0.0,
            best if best <= 0.0 => 0.0,
            best if best < 1.0 || term.is_foreign => whole(term) * synonym,
            _ => term.weight,
        };
        let found: f32 = self.about.iter().zip(&tally.best).map(covered).sum();
        if all > 0.0 { found / all } else { 0.0 }
    }

    /// Counts the subject's words in a text, also as parts of compound names. `known` holds what the words of earlier
    /// texts count for.
    pub fn tally(&self, text: &str, known: &mut BTreeMap<String, Vec<(usize, f32)>>) -> Tally {
        let of_subject = self.about.len();
        let mut tally = Tally { times: vec![0.0; of_subject], best: vec![0.0; of_subject], words: 0 };
        let forms =
            self.about.iter().flat_map(|term| std::iter::once(term.word.as_str()).chain(term.synonyms.iter().copied()));
        // Words that are alike begin alike, so most words of a text need no closer look.
        let initials: Vec<char> = forms.filter_map(|form| form.chars().next()).collect();
        let mut count = |word: &str| {
            tally.words += 1;
            if !word.chars().next().is_some_and(|initial| initials.contains(&initial)) {
                return;
            }
            let mut add = |counts: &[(usize, f32)]| {
                for (at, likeness) in counts {
                    tally.times[*at] += *likeness;
                    tally.best[*at] = tally.best[*at].max(*likeness);
                }
            };
            match known.get(word) {
                Some(counts) => add(counts),
                None => {
                    let likeness = self.about.iter().map(|term| term.likeness(word)).enumerate();
                    let counts: Vec<_> = likeness.filter(|(_, likeness)| *likeness > 0.0).collect();
                    add(&counts);
                    known.insert(word.to_owned(), counts);
                }
            }
        };
        each_word(text, &mut count);
        name_parts(text).iter().for_each(|part| count(part));
        for (at, term) in self.about.iter().enumerate().filter(|(_, term)| term.parts().is_some()) {
            tally.best[at] = term.best_of(&words(text));
            tally.times[at] = tally.best[at];
        }
        tally
    }
}

/// How often a text has each word of a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Occurrences by word, a synonym as a part of one.
    times: Vec<f32>,
    /// The best of them.
    best: Vec<f32>,
    /// Number of words of the text.
    words: usize,
}

impl Tally {
    /// Returns true if the text has nothing of the subject.
    pub fn is_empty(&self) -> bool {
        self.times.iter().all(|times| *times == 0.0)
    }

    /// Adds another text.
    pub fn add(&mut self, other: &Self) {
        let most = self.times.len().max(other.times.len());
        self.times.resize(most, 0.0);
        self.best.resize(most, 0.0);
        self.times.iter_mut().zip(&other.times).for_each(|(times, more)| *times += more);
        self.best.iter_mut().zip(&other.best).for_each(|(best, more)| *best = best.max(*more));
        self.words += other.words;
    }

    /// Returns the tally with a share of what the words count that other texts have too.
    pub fn without_repeated<'a>(&self, others: impl Iterator<Item = &'a Self>, share: f32) -> Self {
        let mut left = self.clone();
        let mut said = vec![false; left.times.len()];
        for other in others {
            said.iter_mut().zip(&other.best).for_each(|(said, best)| *said |= *best > 0.0);
        }
        left.times.iter_mut().zip(said).filter(|(_, said)| *said).for_each(|(times, _)| *times *= share);
        left
    }
}

/// The context in which a question is read.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Names of known projects, as [`Named`] returns them.
    pub projects: &'a [String],
    /// Reference time for `yesterday`.
    pub now: Timestamp,
    /// The asker's time zone.
    pub zone: Zone,
}

/// Maximum number of words of a question that are read.
const MAX_WORDS: usize = 200;
/// Share of a subject with which a text may answer, and the same if the text has the rarest of its words.
const MOST_OF_IT: f32 = 0.8;
const HALF_OF_IT: f32 = 0.65;
/// Number of words of a short question, and the share of them with which a text that has the rarest may answer.
const SHORT: usize = 2;
const ONE_OF_TWO: f32 = 0.5;
/// Words of a usual exchange, how much a longer one loses, and how soon repeated words add little.
const USUAL_WORDS: f32 = 300.0;
const LENGTH_SHARE: f32 = 0.6;
const SATURATION: f32 = 1.2;
/// What a synonym of a word counts for, relative to the word.
const SYNONYM: f32 = 0.5;
/// The same where a text must have most of a subject.
const COVERS: f32 = 0.8;

/// Reads a question. Total; linear in its words.
pub fn read(text: &str, around: &Context<'_>) -> Intent {
    let Question { text: english, language, is_foreign } = language::read(text, false);
    let whole = Phrasing::new(&english, MAX_WORDS);
    let says_nothing = |word: &str| is_plain(word) || language.is_some_and(|known| known.is_stop(word));
    let mut phrasing = whole.clone();
    let named = naming::take_projects(&mut phrasing, around.projects);
    let mut timeless = phrasing.clone();
    // A time is no word of the subject, whether it is asked of or not.
    let time = span::take_span(&mut timeless, around.now, around.zone);
    // `Why did we change it yesterday?` only mentions the day.
    let explains = ["why ", "how "].iter().any(|word| english.trim_start().starts_with(word));
    let asks_when = time.is_some() && (is_foreign && !explains || phrasing.asks_when());
    let bare = if asks_when { &timeless } else { &phrasing };
    let place = Some(bare).filter(|_| named == Named::None).and_then(naming::unknown_project);
    let kinds = if asks_when { take_kinds(&mut timeless, true) } else { Vec::new() };
    // If no kind that has a time is recognised, the time is only mentioned, and still searched for.
    let (mut searched, kinds, span) = match kinds.is_empty() {
        true => {
            let kinds = take_kinds(&mut timeless, false);
            take_kinds(&mut phrasing, false);
            (phrasing, kinds, None)
        }
        false => (timeless.clone(), kinds, time),
    };
    // A search for words is restricted to a project only if it plainly says so; otherwise the name may be one of the
    // words.
    let named = match named {
        Named::Called { loosely: true, .. } if kinds.is_empty() => {
            (searched, timeless) = (whole.clone(), whole);
            span::take_span(&mut timeless, around.now, around.zone);
            Named::None
        }
        named => named,
    };
    searched.leave_out(says_nothing);
    timeless.leave_out(says_nothing);
    let search = searched.as_written();
    let search = if search.is_empty() { text.trim().to_owned() } else { search };
    let about = terms(&timeless, language.is_some());
    let is_general = about.is_empty() && !kinds.is_empty();
    let (span, mentioned) = if span.is_some() || is_general { (time, None) } else { (None, time) };
    let has_capital_nouns = language.is_some_and(Language::has_capital_nouns);
    Intent { kinds, about, search, named, span, mentioned, place, has_capital_nouns }
}

/// Reads a description that is no question, such as that of a failure: its subject is all of it. Total; linear in its
/// words.
pub fn read_description(text: &str) -> Intent {
    let mut phrasing = Phrasing::new(text, MAX_WORDS);
    phrasing.leave_out(is_plain);
    Intent { about: terms(&phrasing, false), search: phrasing.as_written(), ..Intent::default() }
}

/// Returns the words that are left, each once; those that are written together in other languages apart.
fn terms(phrasing: &Phrasing, is_foreign: bool) -> Vec<Term> {
    let mut about: Vec<Term> = Vec::new();
    let mut add = |word: &str| {
        if !about.iter().any(|known| known.word == word) {
            about.push(Term::new(word));
        }
    };
    for (place, word) in phrasing.words().enumerate() {
        // `utilisons-nous` is no compound.
        let compound = phrasing.compound(place).filter(|_| !is_foreign);
        let word = compound.as_deref().unwrap_or(word);
        match synonyms::parts(word).filter(|_| is_foreign) {
            Some((one, other)) => [one, other].into_iter().for_each(&mut add),
            None => add(word),
        }
    }
    about
}

/// Returns the kinds of a question and removes the words that mark them.
fn take_kinds(phrasing: &mut Phrasing, has_span: bool) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut taken = Vec::new();
    for known in &KINDS {
        let timed = TIMED.iter().filter(|_| has_span && known.kind == Kind::Latest);
        let signs = known.signs.iter().chain(timed);
        let found: Vec<_> = signs.filter_map(|sign| phrasing.find(sign)).collect();
        if !found.is_empty() {
            kinds.push(known.kind);
            taken.extend(found);
        }
    }
    if kinds.is_empty() {
        taken.extend(WEAK.iter().filter_map(|sign| phrasing.find(sign)));
        kinds.extend((!taken.is_empty()).then_some(Kind::Latest));
    }
    taken.iter().for_each(|places| phrasing.clear_words(places));
    let beside = KINDS.iter().filter(|known| kinds.contains(&known.kind));
    for known in beside {
        phrasing.leave_out(|word| known.beside.iter().any(|part| phrasing::matches_part(word, part)));
    }
    kinds
}

#[cfg(test)]
mod tests;
