//! A query, and the plan of what to search for.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use baton_conversation::record::SessionId;
use baton_protocol::Zone;
use tantivy::Term;
use tantivy::schema::Field;

use super::Error;
use super::analyzer::{Analyzer, Listener, NAME_PREFIX};
use super::dates::{self, Date};
use super::limits::{
    ENTITY_NAMES, PAIR_WORDS, PREFIX_TERMS, QUERY_BYTES, QUERY_GRAMS, QUERY_TERMS, QUERY_TOKENS, SNIPPET_CHARS,
    SYNONYMS,
};
use super::prefix::Prefix;
use super::pretokenized::{END, NEAR_WORDS, Packed};
use super::proximity::Pair;
use super::required_terms::Requirements;
use super::searcher::Searcher;
use super::snapshot::Snapshot;
use super::term_postings::TermPostings;
use super::vectors::Meaning;

/// A search query.
#[derive(Clone)]
pub struct Query<'a> {
    /// Any text; its first 16 KB and 400 words are read.
    pub text: &'a str,
    /// The question that the text was taken from: it says whether it is asked what holds.
    pub question: &'a str,
    /// Restricts the search to this group, this project, or projects below this directory. The caller resolves names.
    pub project: Option<&'a str>,
    /// Number of sessions to return, at most 200.
    pub sessions: usize,
    /// Number of turns to return of each session, at most 20.
    pub turns_per_session: usize,
    /// True for ids of sessions not to be found: forgotten, hidden, excluded. Called once per session that would count.
    pub exclude: &'a dyn Fn(&str) -> bool,
    /// Compares two sessions by age, given their ids. Of a record that both hold only the elder's is found. Must be a
    /// total order.
    pub elder: &'a dyn Fn(&str, &str) -> Ordering,
    /// What turns must and must not contain.
    pub requirements: Requirements<'a>,
    /// Prefixes of words and names to search for in addition to the text.
    pub prefixes: &'a [String],
    /// Words of the text, each with one that means about the same. Turns with the latter are found too, and score less.
    pub synonyms: &'a [(&'a str, &'a str)],
    /// The asking session, which ranks last.
    pub last: Option<&'a SessionId>,
    /// A group, project or directory whose sessions rank slightly higher.
    pub favour: Option<&'a str>,
    /// The query's vector; `None` to rank by words alone.
    pub meaning: Option<&'a Meaning>,
    /// The time zone of the days that the text names.
    pub zone: Zone,
    /// Most characters of a hit's passage.
    pub passage_chars: usize,
}

impl<'a> Query<'a> {
    /// A query over everything with the usual limits: 10 sessions, 3 turns each.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            question: text,
            project: None,
            sessions: 10,
            turns_per_session: 3,
            exclude: &|_| false,
            elder: &|one, other| one.cmp(other),
            requirements: Requirements::default(),
            prefixes: &[],
            synonyms: &[],
            last: None,
            favour: None,
            meaning: None,
            zone: Zone::UTC,
            passage_chars: SNIPPET_CHARS,
        }
    }
}

/// Bytes of a text that are searched for the words of a query.
const SHARE_BYTES: usize = 32 * 1024;
/// Most that a synonym counts for, relative to the word of the query.
const SYNONYM: f32 = 0.5;

/// A token to search for in turns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// A stem, a name with its prefix, or a stop word.
    pub(super) token: String,
    pub(super) postings: TermPostings,
    /// Inverse document frequency.
    pub(super) weight: f32,
    /// Factor on its score; below 1 for a synonym of a word of the query.
    pub(super) boost: f32,
}

#[cfg(test)]
impl Wanted {
    /// A token that no index was asked for.
    pub(super) fn unsought(token: &str) -> Self {
        Self { token: token.to_owned(), postings: TermPostings::default(), weight: 1.0, boost: 1.0 }
    }
}

/// What a query searches for.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Tokens to find in turns; at most [`QUERY_TERMS`], all different.
    pub(super) wanted: Vec<Wanted>,
    /// True if `wanted` holds stop words, because the query has nothing else.
    pub(super) stops_only: bool,
    /// Sum of the weights of the query's words, including those that no turn has.
    pub(super) weight: f32,
    /// Tokens to find in titles and episode texts.
    pub(super) episode: Vec<Wanted>,
    /// Names, whether turns contain them or not, to look up among the entities of sessions.
    pub(super) names: Vec<String>,
    /// Words and names to find in commit messages and changed files; the first [`QUERY_TERMS`].
    pub(super) activity: Vec<String>,
    /// Pairs of consecutive words, to find in whole sessions.
    pub(super) bigrams: Vec<Pair>,
    /// 4-grams of words, to find in whole sessions.
    pub(super) grams: Vec<String>,
    /// Pairs of words near each other in any order, to find in whole sessions.
    pub(super) near: Vec<Pair>,
    /// Dates that the query names.
    pub(super) dates: Vec<Date>,
    /// Their time zone.
    pub(super) zone: Zone,
    /// Words and names of the query that occur as names of files in tool lines.
    pub(super) files: Vec<String>,
}

#[derive(Default)]
struct QueryTokens {
    tokens: Vec<String>,
    stems: Vec<String>,
    plain: Vec<String>,
    stops: Vec<String>,
    read: usize,
}

impl QueryTokens {
    /// Counts a token; true while it is within [`QUERY_TOKENS`].
    fn has_room(&mut self) -> bool {
        self.read += 1;
        self.read <= QUERY_TOKENS
    }
}

impl Listener for QueryTokens {
    fn word(&mut self, plain: &str, stem: &str, _at: Range<usize>) {
        if self.has_room() {
            self.tokens.push(stem.to_owned());
            self.stems.push(stem.to_owned());
            self.plain.push(plain.to_owned());
        }
    }

    fn stop(&mut self, word: &str, _at: Range<usize>) {
        if self.has_room() {
            self.stops.push(word.to_owned());
        }
    }

    fn name(&mut self, token: &str, _at: Range<usize>) {
        if self.has_room() {
            self.tokens.push(token.to_owned());
        }
    }
}

impl Plan {
    /// True if no word or name of the query is in the index.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.episode.is_empty()
    }

    /// Parses a query text. Tokens that the index does not contain are dropped.
    pub(super) fn parse(text: &str, snapshot: &Snapshot) -> Result<Self, Error> {
        let mut found = QueryTokens::default();
        Analyzer::default().analyze(head(text, QUERY_BYTES), &mut found);
        let stops_only = found.tokens.is_empty();
        let (tokens, field) = match stops_only {
            true => (found.stops, snapshot.fields.stops),
            false => (found.tokens, snapshot.fields.body),
        };
        let tokens = distinct(tokens);
        let names = tokens.iter().filter(|token| token.starts_with(NAME_PREFIX)).take(ENTITY_NAMES).cloned().collect();
        let wanted = rarest(&tokens, field, snapshot.turns, snapshot)?;
        let episode = rarest(&tokens, snapshot.fields.episode, snapshot.sessions, snapshot)?;

        let is_unknown = |token: &&String| is_word(token) && wanted.iter().all(|it| it.token != **token);
        let unknown = tokens.iter().filter(is_unknown).count() as f32 * weight_of(0, snapshot.turns);
        let known = wanted.iter().filter(|it| is_word(&it.token)).map(|it| it.weight);
        let weight = unknown + known.sum::<f32>();
        let stems = &found.stems[..found.stems.len().min(PAIR_WORDS)];
        let mut grams = Vec::new();
        Packed::Grams.for_each(&packed(&distinct(found.plain)), |token| grams.push(token.to_owned()));
        let mut grams = distinct(grams);
        grams.truncate(QUERY_GRAMS);
        Ok(Self {
            wanted,
            weight,
            episode,
            stops_only,
            names,
            bigrams: bigrams(stems),
            grams,
            near: near_pairs(stems),
            dates: dates::find(head(text, QUERY_BYTES)),
            zone: Zone::UTC,
            files: if stops_only { Vec::new() } else { named_files(&tokens, snapshot)? },
            activity: tokens.into_iter().take(QUERY_TERMS).collect(),
        })
    }
}

impl Plan {
    /// The postings of a word of the query in bodies.
    pub(super) fn postings(&self, stem: &str, snapshot: &Snapshot) -> Result<TermPostings, Error> {
        match self.wanted.iter().find(|wanted| !self.stops_only && wanted.token == stem) {
            Some(wanted) => Ok(wanted.postings.clone()),
            // Beyond the rarest ones.
            None => TermPostings::find(snapshot, snapshot.fields.body, stem),
        }
    }

    /// Share of the query's words that the texts together have, by weight: from 0 to 1. Names do not count; their words do.
    pub(super) fn share<'a>(&self, analyzer: &mut Analyzer, texts: impl IntoIterator<Item = &'a str>) -> f32 {
        let mut has = vec![false; self.wanted.len()];
        for text in texts {
            find(analyzer, head(text, SHARE_BYTES), &self.wanted).iter().for_each(|found| has[found.wanted] = true);
        }
        let is_counted = |wanted: &Wanted| is_word(&wanted.token) && wanted.boost == 1.0;
        let there = self.wanted.iter().zip(has).filter(|(wanted, has)| *has && is_counted(wanted));
        if self.weight > 0.0 { there.map(|(wanted, _)| wanted.weight).sum::<f32>() / self.weight } else { 0.0 }
    }

    /// Adds the synonyms that turns contain, none of them with more weight than a part of that of its word.
    pub(super) fn add_synonyms(&mut self, synonyms: &[(&str, &str)], snapshot: &Snapshot) -> Result<(), Error> {
        if self.stops_only {
            return Ok(());
        }
        let unknown = weight_of(0, snapshot.turns);
        let mut added: Vec<Wanted> = Vec::new();
        for (word, synonym) in synonyms.iter().take(SYNONYMS) {
            let own = stems(word).iter().find_map(|stem| self.wanted.iter().find(|it| it.token == *stem));
            let own = own.map_or(unknown, |it| it.weight);
            for found in weighted(&stems(synonym), snapshot.fields.body, snapshot.turns, snapshot)? {
                if self.wanted.iter().chain(&added).all(|it| it.token != found.token) {
                    let boost = SYNONYM * (own / found.weight).min(1.0);
                    added.push(Wanted { weight: found.weight * boost, boost, ..found });
                }
            }
        }
        self.wanted.append(&mut added);
        Ok(())
    }

    /// Adds the words and names that begin with one of `prefixes`; all prefixes together add at most twice
    /// [`PREFIX_TERMS`].
    pub(super) fn expand(&mut self, prefixes: &[String], snapshot: &Snapshot) -> Result<(), Error> {
        if prefixes.is_empty() {
            return Ok(());
        }
        if self.stops_only {
            (self.wanted, self.stops_only) = (Vec::new(), false);
        }
        let prefixes: Vec<Prefix> = prefixes.iter().map(|prefix| Prefix::parse(prefix)).collect();
        let fields = &snapshot.fields;
        for (field, documents, wanted) in
            [(fields.body, snapshot.turns, &mut self.wanted), (fields.episode, snapshot.sessions, &mut self.episode)]
        {
            let most = wanted.len() + 2 * PREFIX_TERMS;
            for prefix in &prefixes {
                let tokens = prefix.expand(field, snapshot)?;
                let new: Vec<String> =
                    tokens.into_iter().filter(|token| wanted.iter().all(|it| it.token != *token)).collect();
                wanted.append(&mut weighted(&new, field, documents, snapshot)?);
            }
            wanted.truncate(most);
        }
        Ok(())
    }
}

/// An occurrence of a wanted token.
pub(super) struct Found {
    /// Its index among the wanted tokens.
    pub(super) wanted: usize,
    /// Its bytes in the text.
    pub(super) at: Range<usize>,
}

/// Collects the occurrences of wanted tokens.
struct Finder<'a> {
    wanted: &'a [Wanted],
    found: Vec<Found>,
}

impl Finder<'_> {
    fn look(&mut self, token: &str, at: Range<usize>) {
        if let Some(wanted) = self.wanted.iter().position(|wanted| wanted.token == token) {
            self.found.push(Found { wanted, at });
        }
    }
}

impl Listener for Finder<'_> {
    fn word(&mut self, _plain: &str, stem: &str, at: Range<usize>) {
        self.look(stem, at);
    }

    fn single(&mut self, character: &str, at: Range<usize>) {
        self.look(character, at);
    }

    fn stop(&mut self, word: &str, at: Range<usize>) {
        self.look(word, at);
    }

    fn name(&mut self, token: &str, at: Range<usize>) {
        self.look(token, at);
    }
}

/// Finds the wanted tokens in a text, in the order in which the analyzer reports them.
pub(super) fn find(analyzer: &mut Analyzer, text: &str, wanted: &[Wanted]) -> Vec<Found> {
    let mut finder = Finder { wanted, found: Vec::new() };
    analyzer.analyze(text, &mut finder);
    finder.found
}

/// Those of `tokens` that tool lines have as names of files.
fn named_files(tokens: &[String], snapshot: &Snapshot) -> Result<Vec<String>, Error> {
    let mut files = Vec::new();
    for token in tokens.iter().take(QUERY_TERMS) {
        if snapshot.searcher.doc_freq(&Term::from_field_text(snapshot.fields.file_names, token))? > 0 {
            files.push(token.clone());
        }
    }
    Ok(files)
}

/// The rarest [`QUERY_TERMS`] stems and names of a text that `field` contains, weighted among `documents` documents.
/// `None` if the text has neither stems nor names.
pub(super) fn words(
    text: &str,
    field: Field,
    documents: u64,
    snapshot: &Snapshot,
) -> Result<Option<Vec<Wanted>>, Error> {
    let mut found = QueryTokens::default();
    Analyzer::default().analyze(head(text, QUERY_BYTES), &mut found);
    let tokens = distinct(found.tokens);
    if tokens.is_empty() {
        return Ok(None);
    }
    rarest(&tokens, field, documents, snapshot).map(Some)
}

/// Those of `tokens` that `field` contains, weighted among `documents` documents: the rarest [`QUERY_TERMS`].
fn rarest(tokens: &[String], field: Field, documents: u64, snapshot: &Snapshot) -> Result<Vec<Wanted>, Error> {
    let mut wanted = weighted(tokens, field, documents, snapshot)?;
    wanted.sort_by(|a, b| a.postings.frequency().cmp(&b.postings.frequency()).then_with(|| a.token.cmp(&b.token)));
    wanted.truncate(QUERY_TERMS);
    Ok(wanted)
}

/// Those of `tokens` that `field` contains, weighted among `documents` documents.
fn weighted(tokens: &[String], field: Field, documents: u64, snapshot: &Snapshot) -> Result<Vec<Wanted>, Error> {
    let mut wanted = Vec::with_capacity(tokens.len());
    for token in tokens {
        let postings = TermPostings::find(snapshot, field, token)?;
        let frequency = postings.frequency();
        if frequency > 0 {
            let weight = weight_of(frequency, documents);
            wanted.push(Wanted { token: token.clone(), postings, weight, boost: 1.0 });
        }
    }
    Ok(wanted)
}

/// Inverse document frequency of a token in `frequency` of `documents` documents.
fn weight_of(frequency: u64, documents: u64) -> f32 {
    let others = documents.saturating_sub(frequency) as f32;
    (1.0 + (others + 0.5) / (frequency as f32 + 0.5)).ln()
}

/// Stems of the words of a short text.
fn stems(text: &str) -> Vec<String> {
    let mut found = QueryTokens::default();
    Analyzer::default().analyze(text, &mut found);
    found.stems
}

impl Searcher {
    /// How much each of the words tells, by its rarest stem: the rarer it is among the turns, the more; 0 for a word that
    /// none has.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn word_weights<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<Vec<f32>, Error> {
        let snapshot = self.snapshot();
        let weight = |word: &str| -> Result<f32, Error> {
            let known = weighted(&stems(word), snapshot.fields.body, snapshot.turns, &snapshot)?;
            Ok(known.iter().map(|it| it.weight).fold(0.0, f32::max))
        };
        words.into_iter().map(weight).collect()
    }
}

fn is_word(token: &str) -> bool {
    !token.starts_with(NAME_PREFIX)
}

/// The start of a text: at most `bytes` bytes, cut at a character boundary.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Removes duplicates; keeps the order of first occurrence.
fn distinct(tokens: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    tokens.into_iter().filter(|token| seen.insert(token.clone())).collect()
}

fn packed(tokens: &[String]) -> String {
    tokens.iter().flat_map(|token| [token.as_str(), "\n"]).collect::<String>().trim_start_matches(END).to_owned()
}

/// All pairs of consecutive stems, without duplicates.
fn bigrams(stems: &[String]) -> Vec<Pair> {
    let pairs: BTreeSet<Pair> =
        stems.windows(2).map(|pair| Pair { one: pair[0].clone(), other: pair[1].clone() }).collect();
    pairs.into_iter().collect()
}

/// Unordered pairs of different stems within [`NEAR_WORDS`] of each other, each once, the smaller first.
fn near_pairs(stems: &[String]) -> Vec<Pair> {
    let mut pairs = BTreeSet::new();
    for (at, one) in stems.iter().enumerate() {
        for other in stems[at + 1..].iter().take(NEAR_WORDS).filter(|other| *other != one) {
            pairs.insert(Pair { one: one.min(other).clone(), other: one.max(other).clone() });
        }
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: fn(&[String]) -> Vec<Pair>, words: &str, expected: &str) {
        let stems: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let found: Vec<String> = pairs(&stems).iter().map(|pair| format!("{}{}", pair.one, pair.other)).collect();
        assert_eq!(found.join(" "), expected, "{words}");
    }

    #[test]
    fn pairs_are_counted_once() {
        check(near_pairs, "", "");
        check(near_pairs, "a", "");
        check(near_pairs, "b a", "ab");
        check(near_pairs, "a b a", "ab");
        check(near_pairs, "a b b b b b b b c d", "ab ac bc bd cd");
        check(bigrams, "a", "");
        check(bigrams, "b a b a a", "aa ab ba");
    }
}
