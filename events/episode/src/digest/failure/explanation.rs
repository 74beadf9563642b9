//! What the agent says about a failure: why it failed, and what mended it.
//!
//! A sentence is about a failure if it shares words with the failing line, and about a mend if it shares words with what
//! the edits wrote. Words that the agent uses all the time say nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::Pointed;
use super::super::excerpt::one_line;
use super::super::sentence::{Sentence, plain, sentences};
use super::super::timeline::{Deed, Message, Timeline};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Act;
use baton_words::WordList;

/// Maximum length of a quoted sentence, in characters.
const MAX_QUOTED_CHARS: usize = 240;
/// Minimum length of a word that may be shared, in bytes.
const TELLING_BYTES: usize = 4;
/// Maximum number of words of a failing line, and of the edits.
const MAX_WORDS: usize = 300;
/// Number of last replies in which an explanation is looked for.
const MAX_REPLIES_READ: usize = 40;
/// Fewest words of a sentence that explains something.
const MIN_WORDS: usize = 7;
/// Number of last edits whose words count.
const MAX_EDITS_READ: usize = 40;
/// Maximum number of calls that are searched for one that does more than look.
const MAX_LOOKS: usize = 100;
/// In fewer replies no word is known to be frequent.
const MIN_REPLIES: usize = 12;
/// A word in more than one of so many replies is frequent.
const FREQUENT: usize = 5;
/// Weight of a name such as `max_age` or `maxAge`, and of two other words.
const STRONG: usize = 2;
/// Code of so many bytes that is in the failing line is that line.
const REPEATED_BYTES: usize = 24;
/// Beginnings of sentences about the speaker.
const FIRST_PERSON: [&str; 8] = ["I ", "I'", "Ich ", "Je ", "J'", "Я ", "我", "私"];
/// Words between the speaker and the verb of what they are about to do.
const LEADING: [&str; 21] = [
    "i", "i'll", "i'm", "we", "let", "let's", "me", "now", "need", "to", "should", "will", "going", "first", "just",
    "then", "also", "so", "next", "try", "using",
];
/// Words of failing lines that say nothing about the failure.
static GENERAL: WordList = WordList::new(crate::WORDS, "general words of errors");

/// An edit between a failure and its end: its position, and what it wrote.
pub(super) type Edited<'a> = (usize, &'a str);

/// Another failure between a failure and its end: what is said after it is about the one whose line it shares more with.
pub(super) struct Rival<'a> {
    pub(super) place: usize,
    pub(super) complaint: &'a str,
}

/// What is said about a failure.
#[derive(Default)]
pub(super) struct Explanation {
    pub(super) cause: Option<Pointed>,
    pub(super) mend: Option<Pointed>,
}

/// What the agent said in a session.
pub(super) struct Speech<'t, 'a> {
    timeline: &'t Timeline<'a>,
    replies: Vec<&'t Message<'a>>,
    /// Its words, once something asks for them.
    words: OnceCell<BTreeMap<String, Use>>,
}

/// How the agent uses a word.
struct Use {
    /// Position of the first reply with it.
    first: usize,
    count: usize,
}

impl<'t, 'a> Speech<'t, 'a> {
    pub(super) fn new(timeline: &'t Timeline<'a>) -> Self {
        let replies: Vec<&Message<'_>> = timeline.rounds.iter().flat_map(|round| &round.replies).collect();
        Self { timeline, replies, words: OnceCell::new() }
    }

    /// Returns how the agent uses a word, if it does.
    fn use_of(&self, word: &str) -> Option<&Use> {
        let words = self.words.get_or_init(|| {
            let mut words: BTreeMap<String, Use> = BTreeMap::new();
            for reply in &self.replies {
                for word in Words::of(reply.text).0 {
                    words.entry(word.text).or_insert(Use { first: reply.place, count: 0 }).count += 1;
                }
            }
            words
        });
        words.get(word)
    }

    /// Returns true for a word that the agent uses all the time.
    fn is_frequent(&self, word: &str) -> bool {
        let replies = self.replies.len();
        replies >= MIN_REPLIES && self.use_of(word).is_some_and(|used| used.count * FREQUENT > replies)
    }

    /// Returns what the agent says between two positions about a failure and the edits that ended it, or in the
    /// `conclusion` about those edits.
    pub(super) fn explain(
        &self,
        (from, to): (usize, usize),
        (complaint, rivals): (&str, &[Rival<'_>]),
        edits: &[Edited<'_>],
        conclusion: Option<&Message<'_>>,
    ) -> Explanation {
        let repeats = |text: &str| {
            text.split('`').skip(1).step_by(2).any(|code| code.len() >= REPEATED_BYTES && complaint.contains(code))
        };
        let complaint = self.rare(complaint);
        let written = self.written(edits);
        let rivals: Vec<(usize, Words)> =
            rivals.iter().map(|rival| (rival.place, self.rare(rival.complaint))).collect();
        let (mut mends, mut causes) = (Vec::new(), Vec::new());
        for reply in self.between(from, to) {
            let (leads, is_direct) = self.leads_to(reply, edits);
            let follows = self.next_done(from).is_none_or(|next| next > reply.place);
            for said in statements(reply) {
                let (shared, about) = (said.words.shared(&written), said.words.shared(&complaint));
                let before = rivals.iter().take_while(|(place, _)| *place < reply.place);
                if before.map(|(_, words)| said.words.shared(words)).max().is_some_and(|theirs| about <= theirs) {
                    continue;
                }
                let points = usize::from(said.changes) + usize::from(!said.announces);
                let speaks = match (said.announces, is_direct) {
                    (_, true) => shared + about > 0,
                    (true, false) => false,
                    (false, false) => shared >= STRONG && said.changes,
                };
                let is_telling = said.explains && (about > 0 || is_direct && shared > 0)
                    || follows
                        && leads
                        && (said.names_cause || said.lacks || said.shows_code() && (about > 0 || said.is_first));
                // One that only repeats the failing line explains nothing.
                let is_more = said.is_long && 3 * about <= 2 * said.words.weight() || is_direct && said.lacks;
                let is_own_act = said.announces || said.is_of_the_agent();
                if is_telling && is_more && (!is_own_act || said.names_cause) && !repeats(said.sentence.text) {
                    causes.push((2 * about + usize::from(leads) + usize::from(follows), said.clone()));
                }
                if speaks && said.acts {
                    mends.push((2 * shared + 2 * about + 4 * usize::from(is_direct) + points, said));
                }
            }
        }
        // Words already used before the failure are about something else.
        let fresh = self.fresh(written, from);
        let is_report = |said: &Said<'_>| {
            said.changes && !said.announces && !said.lacks && !self.names_other_file(said.sentence.text, edits)
        };
        let concluded = conclusion.into_iter().flat_map(statements).filter(is_report);
        let concluded = concluded.filter_map(|said| {
            let (shared, about) = (said.words.shared(&fresh), said.words.shared(&complaint));
            (shared > 0 && about > 0 && shared + about > STRONG).then_some((shared + 2 * about, said))
        });
        let mend = best(mends.into_iter()).or_else(|| best(concluded));
        // The explanation before the last edit comes last, unless it is taken back.
        let last = edits.last().map_or(to, |(place, _)| *place);
        let taken_back: Vec<(usize, Words)> = self.between(from, to).iter().flat_map(|reply| denials(reply)).collect();
        let holds = |(_, said): &(usize, Said<'_>)| {
            let is_of = |(place, words): &(usize, Words)| *place > said.place && words.shared(&said.words) > 0;
            said.place < last && !taken_back.iter().any(is_of)
        };
        let is_mend = |said: &Said<'_>| mend.as_ref().is_some_and(|mend| *mend == said.clone().pointed());
        causes.retain(holds);
        let most = causes.iter().map(|(score, _)| *score).max();
        let cause = best(causes.into_iter().filter(|(score, said)| Some(*score) == most && !is_mend(said)));
        Explanation { cause, mend }
    }

    /// Returns the sentence of a conclusion that says most about what was changed since a request at a position: `about` is
    /// what it asks.
    pub(super) fn best_change(
        &self,
        said: &Message<'_>,
        (from, about): (usize, &str),
        edits: &[Edited<'_>],
    ) -> Option<Pointed> {
        let (about, written) = (self.rare(about), self.fresh(self.written(edits), from));
        best(statements(said).filter(|said| said.changes && !said.announces).filter_map(|said| {
            let shared = said.words.shared(&about) + said.words.shared(&written);
            (shared > 0).then_some((shared + usize::from(said.is_of_the_agent()), said))
        }))
    }

    /// Returns the weight of the names in a complaint that edits wrote.
    pub(super) fn names_written(&self, complaint: &str, edits: &[Edited<'_>]) -> usize {
        let mut names = self.rare(complaint);
        names.0.retain(|word| word.is_name);
        names.shared(&self.written(edits))
    }

    /// Returns the rare words of what edits wrote.
    fn written(&self, edits: &[Edited<'_>]) -> Words {
        let last = &edits[edits.len().saturating_sub(MAX_EDITS_READ)..];
        self.rare(&last.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n"))
    }

    /// Returns true if a sentence begins with a file that none of the edits changed.
    fn names_other_file(&self, sentence: &str, edits: &[Edited<'_>]) -> bool {
        let bare = sentence.trim_start_matches(['*', ' ']);
        let Some((named, _)) = bare.strip_prefix('`').and_then(|rest| rest.split_once('`')) else { return false };
        let name = named.split([':', ' ']).next().unwrap_or_default();
        let deeds = &self.timeline.deeds;
        let edited = edits
            .iter()
            .filter_map(|(place, _)| deeds.get(deeds.partition_point(|deed| deed.began < *place)).and_then(Deed::edit));
        name.rsplit('/').next().is_some_and(|last| last.contains('.') && !last.ends_with(')'))
            && !edited.into_iter().any(|(path, ..)| path.ends_with(name))
    }

    /// Returns the words that the agent did not say up to a position.
    fn fresh(&self, mut words: Words, from: usize) -> Words {
        words.0.retain(|word| self.use_of(&word.text).is_none_or(|used| used.first > from));
        words
    }

    /// Returns true if the agent names a cause between two positions, in words that a complaint has as well.
    pub(super) fn names_cause(&self, (from, to): (usize, usize), complaint: &str) -> bool {
        let complaint = self.rare(complaint);
        self.between(from, to)
            .iter()
            .flat_map(|reply| statements(reply))
            .any(|said| said.names_cause && said.words.shared(&complaint) > 0)
    }

    /// Returns true if a text speaks of what a complaint names.
    pub(super) fn is_about(&self, text: &str, complaint: &str) -> bool {
        Words::of(text).shared(&self.rare(complaint)) > 0
    }

    /// Returns true if a later text shows an error again, whatever else it says.
    pub(super) fn shows_again(&self, error: &str, text: &str) -> bool {
        let (error, text) = (self.rare(error), Words::of(text));
        let has = |word: &&Word| text.0.binary_search_by(|other| other.text.cmp(&word.text)).is_ok();
        error.0.len() > STRONG && 2 * error.0.iter().filter(has).count() > error.0.len()
    }

    /// Returns the first reply after a position.
    pub(super) fn first_after(&self, place: usize) -> Option<&'t Message<'a>> {
        self.replies.get(self.replies.partition_point(|reply| reply.place <= place)).copied()
    }

    /// Returns the last reply before a position.
    pub(super) fn last_before(&self, place: usize) -> Option<&'t Message<'a>> {
        let before = self.replies.partition_point(|reply| reply.place < place);
        self.replies.get(before.checked_sub(1)?).copied()
    }

    /// Returns the last replies between two positions.
    fn between(&self, from: usize, to: usize) -> &[&'t Message<'a>] {
        let first = self.replies.partition_point(|reply| reply.place <= from);
        let last = self.replies.partition_point(|reply| reply.place < to).max(first);
        &self.replies[first.max(last.saturating_sub(MAX_REPLIES_READ))..last]
    }

    fn rare(&self, text: &str) -> Words {
        let mut words = Words::of(text);
        words.0.retain(|word| !self.is_frequent(&word.text));
        words.0.truncate(MAX_WORDS);
        words
    }

    /// Returns whether the next thing that is done after a reply is one of the edits, and whether nothing comes between.
    fn leads_to(&self, reply: &Message<'_>, edits: &[Edited<'_>]) -> (bool, bool) {
        let is_one = |began: Option<usize>| {
            began.is_some_and(|began| edits.binary_search_by_key(&began, |(place, _)| *place).is_ok())
        };
        let later = self.timeline.deeds.partition_point(|deed| deed.began <= reply.place);
        let direct = self.timeline.deeds.get(later).map(|deed| deed.began);
        (is_one(self.next_done(reply.place)), is_one(direct))
    }

    /// Returns the position of the first call after a position that does more than look.
    pub(super) fn next_done(&self, place: usize) -> Option<usize> {
        let later = self.timeline.deeds.partition_point(|deed| deed.began <= place);
        let does = |deed: &&Deed<'_>| {
            let is_slip = deed.edit().is_some() && !deed.succeeded();
            !deed.act().only_looks() && deed.act() != Act::Todo && !is_slip
        };
        self.timeline.deeds.get(later..)?.iter().take(MAX_LOOKS).find(does).map(|deed| deed.began)
    }
}

/// A sentence that may be quoted.
#[derive(Clone)]
struct Said<'a> {
    sentence: Sentence<'a>,
    line: u64,
    at: Option<baton_conversation::record::Timestamp>,
    /// Position of the message.
    place: usize,
    words: Words,
    /// It begins the message.
    is_first: bool,
    /// It says what is going to be done.
    announces: bool,
    /// One of its clauses says what is going to be done or was done, and that is more than looking.
    acts: bool,
    /// It speaks of a change.
    changes: bool,
    /// It says that something lacks or should be otherwise.
    lacks: bool,
    /// It names a cause.
    names_cause: bool,
    /// It gives a reason.
    explains: bool,
    /// It is more than a label.
    is_long: bool,
}

impl Said<'_> {
    /// Returns true if it says what the agent does, which is no cause.
    fn is_of_the_agent(&self) -> bool {
        FIRST_PERSON.iter().any(|word| self.sentence.text.starts_with(word))
    }

    fn shows_code(&self) -> bool {
        self.sentence.text.contains('`')
    }

    fn pointed(self) -> Pointed {
        let text = plain(self.sentence.text);
        Pointed { text: one_line(text.trim_end_matches([':', '：']), MAX_QUOTED_CHARS), line: self.line, at: self.at }
    }
}

/// Returns the sentences of a message that may be quoted.
fn statements<'m>(reply: &'m Message<'_>) -> impl Iterator<Item = Said<'m>> {
    let (line, at) = (reply.line, reply.at);
    sentences(reply.text).into_iter().enumerate().filter_map(move |(index, sentence)| {
        let signs = Signs::read(sentence.text);
        // Work still to be done has mended nothing.
        let is_due = [Sign::NextHead, Sign::RemainingHead].iter().any(|head| Signs::read(sentence.head).begins(*head));
        let is_aside = signs.has_any(&[Sign::Result, Sign::Denial]) || signs.asks() || sentence.quoted || is_due;
        if is_aside || sentence.text.chars().count() > MAX_QUOTED_CHARS {
            return None;
        }
        let changes = signs.has_any(&[Sign::Change, Sign::Contrast]);
        Some(Said {
            line,
            at,
            place: reply.place,
            words: Words::of(sentence.text),
            announces: signs.begins(Sign::Announce) || sentence.text.ends_with([':', '：']),
            acts: acts(sentence.text),
            is_first: index == 0,
            changes,
            lacks: signs.has(Sign::Lack),
            names_cause: signs.has(Sign::Cause),
            explains: signs.has_any(&[Sign::Contrast, Sign::Reason, Sign::Lack, Sign::Cause]),
            is_long: !sentence.text.is_ascii() || sentence.text.split_whitespace().count() >= MIN_WORDS,
            sentence,
        })
    })
}

/// Returns true if a clause says what the speaker is about to change, or begins with what was changed: a sentence about
/// how things are tells at most the cause.
fn acts(sentence: &str) -> bool {
    let whole = Signs::read(sentence);
    let does_more_than_look = |clause: &str| {
        let is_leading = |word: &&str| LEADING.contains(&&*word.to_lowercase());
        let verb = clause.split_whitespace().skip_while(is_leading).collect::<Vec<_>>().join(" ");
        !Signs::read(&verb).begins(Sign::Look)
    };
    // An earlier change is reported in the past tense: `I added the drum, but do not use it yet`.
    let contrasts = whole.has_any(&[Sign::Contrast, Sign::Change]);
    let takes = |clause: &str| {
        let signs = Signs::read(clause);
        contrasts && signs.begins(Sign::Speaker) && !signs.has(Sign::Change) && does_more_than_look(clause)
    };
    let clauses = sentence.split([',', ';', '—', '–', '，', '。']).flat_map(|part| part.split(" - "));
    let mut clauses = clauses.map(|clause| clause.trim().trim_start_matches("so ").trim_start_matches("and "));
    let is_act = |clause: &str| {
        let signs = Signs::read(clause);
        let announces = signs.begins(Sign::Announce) || clause.starts_with("Need to ");
        announces && !signs.has(Sign::Cause) && does_more_than_look(clause)
            || signs.begins(Sign::Change)
            || signs.begins(Sign::Direct) && !signs.has(Sign::Restrict)
    };
    whole.has(Sign::Consequence)
        || clauses.any(|clause| is_act(clause) || takes(clause))
        || sentence.split(": ").skip(1).any(takes)
}

/// Returns the words of the sentences of a message that take a cause back, with its position: without what follows
/// a comma, which may be the right cause.
fn denials(reply: &Message<'_>) -> Vec<(usize, Words)> {
    let denies = |sentence: &Sentence<'_>| !sentence.quoted && Signs::read(sentence.text).has(Sign::Denial);
    let parts = |text: &str| {
        text.split([',', ';']).filter(|part| Signs::read(part).has(Sign::Denial)).map(Words::of).collect::<Vec<_>>()
    };
    let denied = sentences(reply.text).into_iter().filter(denies).flat_map(|sentence| parts(sentence.text));
    denied.map(|words| (reply.place, words)).collect()
}

/// Returns the last sentence with the highest score.
fn best<'m>(scored: impl Iterator<Item = (usize, Said<'m>)>) -> Option<Pointed> {
    let best = scored.fold(None, |best: Option<(usize, Said<'_>)>, one| match best {
        Some(best) if best.0 > one.0 => Some(best),
        _ => Some(one),
    });
    best.map(|(_, said)| said.pointed())
}

/// The words of a text, each once.
#[derive(Clone)]
struct Words(Vec<Word>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    /// In lower case.
    text: String,
    /// True for a name of code: `max_age`, `maxAge`, `utf8`.
    is_name: bool,
}

impl Words {
    fn of(text: &str) -> Self {
        let is_telling = |word: &&str| word.len() >= TELLING_BYTES && !word.bytes().all(|byte| byte.is_ascii_digit());
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_telling).map(|word| {
            let is_name = word.contains('_')
                || word.contains(|c: char| c.is_ascii_digit())
                || word.chars().skip(1).any(char::is_uppercase) && word.contains(char::is_lowercase);
            Word { text: word.to_lowercase(), is_name }
        });
        let words: BTreeSet<Word> = words.filter(|word| !GENERAL.has(&word.text)).collect();
        Self(words.into_iter().collect())
    }

    /// Returns the weight of the words that others have as well, in any form.
    fn shared(&self, others: &Self) -> usize {
        let has = |word: &&Word| others.0.iter().any(|other| word.is_form_of(other));
        self.0.iter().filter(has).map(Word::weight).sum()
    }

    fn weight(&self) -> usize {
        self.0.iter().map(Word::weight).sum()
    }
}

impl Word {
    fn weight(&self) -> usize {
        if self.is_name { STRONG } else { 1 }
    }

    fn is_form_of(&self, other: &Self) -> bool {
        self.text == other.text
            || !self.is_name
                && !other.is_name
                && (self.text.starts_with(&other.text) || other.text.starts_with(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shared_in_any_form_and_names_weigh_more() {
        let shared = |one: &str, other: &str| Words::of(one).shared(&Words::of(other));
        assert_eq!(shared("The winch winds ropes.", "rope of the Winch"), 2);
        assert_eq!(shared("`max_load` of the winch", "assert max_load == 3"), STRONG);
        assert_eq!(shared("`maxLoad`", "maxLoadOfAll"), 0, "a name has one form");
        assert_eq!(shared("The test failed in line 3.", "test failed: line 3"), 0, "they say nothing");
        assert_eq!(shared("", "rope"), 0);
    }

    #[test]
    fn a_sentence_is_told_apart_by_what_it_says() {
        let told = |text: &str| {
            let message = Message { text, line: 1, at: None, place: 0, comments: false };
            let said = statements(&message).next();
            said.map(|said| (said.announces, said.explains, said.is_long, said.is_of_the_agent()))
        };
        assert_eq!(told("Let me mend the rope:"), Some((true, false, false, false)));
        assert_eq!(told("The drum is empty because nobody has wound the rope."), Some((false, true, true, false)));
        assert_eq!(told("I chose the rope, because the chain was too heavy."), Some((false, true, true, true)));
        assert_eq!(told("Shall I wind it?"), None);
        assert_eq!(told("> The rope is too short."), None);
    }
}
