//! Words that carry meaning, by language: one matcher over data files, one pass over a sentence.
//!
//! A file of `lexicon/` has sections such as `[contrast]`, see [`baton_words`]; its entries are phrases. A phrase that
//! begins with `^` counts only at the beginning of a sentence. Phrases match whole words, except those in scripts without spaces. `(a|b)` stands
//! for either.
//!
//! Most of what an episode says is carried by structure (acts, outcomes, who spoke last). The lexicon decides only what
//! structure leaves open, so a phrase is worth its line only if it is right nearly always where it fires.

use std::sync::LazyLock;

use crate::memo;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use baton_words::entries;

/// The data files, one a language.
const FILES: [&str; 8] = [
    include_str!("lexicon/en.txt"),
    include_str!("lexicon/de.txt"),
    include_str!("lexicon/es.txt"),
    include_str!("lexicon/fr.txt"),
    include_str!("lexicon/pt.txt"),
    include_str!("lexicon/ru.txt"),
    include_str!("lexicon/zh.txt"),
    include_str!("lexicon/ja.txt"),
];
/// Longest sentence that is read, in characters.
const MAX_CHARS: usize = 1_000;
/// Longest sentence whose signs are kept, in bytes; a longer one is rarely asked for again.
const KEPT_BYTES: usize = 400;
/// Stands for a code span, whose words are not the speaker's.
const CODE: char = '`';

macro_rules! signs {
    ($($(#[$doc:meta])* $sign:ident = $section:literal,)*) => {
        /// What a phrase tells about the sentence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sign {
            $($(#[$doc])* $sign,)*
        }

        /// The sections of the data files, each with the sign of its phrases.
        const SECTIONS: &[(&str, Sign)] = &[$(($section, Sign::$sign)),*];
    };
}

signs! {
    /// One thing is taken over another: `instead of`.
    Contrast = "contrast",
    /// Something stays as it is, or is taken back: `kept`, `reverted`.
    Keep = "keep",
    /// A choice by its own word: `decided`, `switched to`.
    Choose = "choose",
    /// A reason: `because`.
    Reason = "reason",
    /// What follows from a fact: `so I`.
    Consequence = "consequence",
    /// A person tells how: `use`, `let's`, `don't`.
    Direct = "direct",
    /// A person proposes how, perhaps as a question: `could we`.
    Suggest = "suggest",
    /// A person objects: `no,`, `actually`.
    Object = "object",
    /// A person takes everything back: `undo`.
    Revert = "revert",
    /// Something does not work: `fails`, `still broken`.
    Trouble = "trouble",
    /// An order that says nothing about how: `commit`, `continue`.
    Order = "order",
    /// The agent says what it is about to do: `let me`.
    Announce = "announce",
    /// The agent is about to do something and has not done it: `let me`, unlike `I'll leave it`.
    Begin = "begin",
    /// The agent offers something: `would you like`.
    Offer = "offer",
    /// Something is put off: `later`, `for now`.
    Later = "later",
    /// Something is not done: `not tested`, `still open`.
    Remaining = "remaining",
    /// Changes that the session leaves aside are not committed: `remain unstaged`.
    Beside = "beside",
    /// A next step: `you'll need to`.
    Next = "next",
    /// A heading or label of things that are not done.
    RemainingHead = "remaining head",
    /// A heading or label of next steps.
    NextHead = "next head",
    /// Not meant as a fact: a condition, an example, an option.
    Hedge = "hedge",
    /// A person confirms: `it works now`.
    Works = "works",
    /// A person agrees: `yes`, `ok`.
    Assent = "assent",
    /// A person says that something does not work, in words that are said of nothing else: `is broken`.
    Defect = "defect",
    /// The agent names what is behind a trouble: `the issue is`.
    Cause = "cause",
    /// A cause that was named is taken back: `was not the problem`.
    Denial = "denial",
    /// Nothing has to be done: `no change needed`.
    Needless = "needless",
    /// Something lacks or is not as it should be: `missing`, `should`.
    Lack = "lack",
    /// Something was changed: `fixed`, `replaced`.
    Change = "change",
    /// How checks went, or what goes on: `passing`, `I'm`.
    Result = "result",
    /// A check is to fail: `should fail`.
    Expected = "expected",
    /// An attempt came to nothing: `a dead end`.
    Setback = "setback",
    /// Not of this session's making: `pre-existing`.
    Foreign = "foreign",
    /// A rule for the time to come: `always`, `from now on`.
    Standing = "standing",
    /// Something is no longer in use: `no longer`, `was removed`.
    Ended = "ended",
    /// A heading of decisions.
    DecisionHead = "decision head",
    /// A heading of how something is going to be done.
    ApproachHead = "approach head",
    /// A question begins so: `which`.
    Question = "question",
    /// A question about something that happened, not about what holds: `did`, `when`.
    PastQuestion = "past question",
    /// A word that stands for something said or shown elsewhere: `these`.
    Pointer = "pointer",
    /// Something was put in the place of something else: `replaced`.
    Replace = "replace",
    /// A person tells which way, and not what to do: `use`, `never`.
    Steer = "steer",
    /// Something new is asked for: `add`.
    Request = "request",
    /// A clause of the speaker about themselves: `I'll`.
    Speaker = "speaker",
    /// What the speaker does is only looking: `check`.
    Look = "look",
    /// A limit: `only`.
    Restrict = "restrict",
    /// What is done otherwise, or what is avoided by it: `to avoid`, `otherwise`.
    Avoid = "avoid",
    /// Options to choose from: `or`.
    Either = "either",
    /// Somebody else's words follow: `here is`, `the log says`.
    Quote = "quote",
    /// Everything is meant: `all`.
    Quantity = "quantity",
    /// A fault was mended: `fixed`.
    Repair = "repair",
    /// A heading of tests or benefits, below which nothing is decided.
    AsideHead = "aside head",
    /// A heading of how the work is to be checked.
    CheckHead = "check head",
    /// A person looks at what runs: `manually`, `in the browser`.
    ByHand = "by hand",
    /// The speaker proposes: `I'd`.
    Propose = "propose",
    /// A label before a choice: `decision`.
    Verdict = "verdict",
    /// About how the work goes on, not about what is made: `worry`, `until it is`.
    Idle = "idle",
    /// A person takes back the message before, and names it: `ignore my last message`.
    Retract = "retract",
    /// A person takes back what goes on: `never mind`.
    Dismiss = "dismiss",
    /// A speaker thinks aloud and takes back what they just said: `wait, `, `or better yet`.
    Rethink = "rethink",
    /// A speaker says that nothing was looked at for what follows: `based on my knowledge`.
    Basis = "basis",
    /// A person misses something that was to be there: `I don't see`.
    Absent = "absent",
    /// By what something is done: `using`, `by adding`.
    Means = "means",
}

struct Lexicon {
    matcher: NFA,
    phrases: Vec<Phrase>,
}

struct Phrase {
    sign: Sign,
    /// Counts only at the beginning of a sentence.
    begins: bool,
    /// Matches whole words only.
    whole: bool,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let (mut texts, mut phrases) = (Vec::new(), Vec::new());
    for (section, line) in FILES.into_iter().flat_map(entries) {
        let Some((_, sign)) = SECTIONS.iter().find(|(known, _)| *known == section) else { continue };
        let (begins, text) = line.strip_prefix('^').map_or((false, line), |text| (true, text));
        for text in spelled_out(text) {
            phrases.push(Phrase { sign: *sign, begins, whole: !text.chars().any(is_wide) });
            texts.push(text);
        }
    }
    let matcher = NFA::builder().match_kind(MatchKind::Standard).build(texts);
    Lexicon { matcher: matcher.expect("phrases of bounded number and length always build"), phrases }
});

/// Returns the phrases that a line with alternatives stands for: `not (|yet )done` for `not done` and `not yet done`.
fn spelled_out(line: &str) -> Vec<String> {
    let Some((before, rest)) = line.split_once('(') else { return vec![line.to_owned()] };
    let Some((choices, after)) = rest.split_once(')') else { return vec![line.to_owned()] };
    let ends = spelled_out(after);
    choices.split('|').flat_map(|choice| ends.iter().map(move |end| format!("{before}{choice}{end}"))).collect()
}

/// What the words of a sentence tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    set: u64,
    beginning: u64,
    asks: bool,
}

impl Signs {
    /// Reads a sentence; linear.
    pub(crate) fn read(sentence: &str) -> Self {
        if sentence.len() > KEPT_BYTES {
            return Self::read_anew(sentence);
        }
        memo::remembered(sentence, Self::read_anew)
    }

    fn read_anew(sentence: &str) -> Self {
        let text = normalised(sentence);
        let first = text.find(|c: char| c.is_alphanumeric() || c == CODE).unwrap_or(text.len());
        let bare = text.trim_end_matches([')', '"', '*', '_', '”', ' ']);
        // `four tests (fast?, small?, safe?)` lists questions.
        let lists =
            text.len() > bare.len() && bare.rsplit_once('(').is_some_and(|(_, last)| last.matches('?').count() > 1);
        let mut signs = Self { asks: bare.ends_with(['?', '？']) && !lists, ..Self::default() };
        let (mut follows_word, mut is_joined) = (false, false);
        for (at, c) in text.char_indices() {
            let is_word = c.is_alphanumeric();
            if !follows_word || !is_word || is_wide(c) {
                signs.note_phrases(&text, at, at == first, is_joined);
            }
            is_joined = follows_word && c == '-';
            follows_word = is_word;
        }
        if signs.begins(Sign::Offer) {
            // `Let me know` announces nothing.
            let announce = 1_u64 << Sign::Announce as u64;
            (signs.set, signs.beginning) = (signs.set & !announce, signs.beginning & !announce);
        }
        signs
    }

    /// Notes all phrases that begin at this place, where a word, a mark or a wide character begins. `is_joined` if a hyphen
    /// joins it to the word before.
    fn note_phrases(&mut self, text: &str, at: usize, is_first: bool, is_joined: bool) {
        let Lexicon { matcher, phrases } = &*LEXICON;
        let Ok(mut state) = matcher.start_state(Anchored::Yes) else { return };
        for end in at + 1..=text.len() {
            state = matcher.next_state(Anchored::Yes, state, text.as_bytes()[end - 1]);
            if matcher.is_dead(state) {
                return;
            }
            if !matcher.is_match(state) {
                continue;
            }
            let mut after = text[end..].chars();
            let (next, second) = (after.next(), after.next());
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            // `next` is no word of `Next.js`.
            // `only` tells nothing of a `read-only file`.
            let goes_on = is_word(next) || is_word(second) && (next == Some('.') || is_joined && next == Some(' '));
            for index in 0..matcher.match_len(state) {
                let pattern = matcher.match_pattern(state, index);
                let phrase = &phrases[pattern.as_usize()];
                // Those that begin later are noted there.
                if matcher.pattern_len(pattern) != end - at || phrase.whole && goes_on {
                    continue;
                }
                let bit = 1_u64 << phrase.sign as u64;
                self.beginning |= if is_first { bit } else { 0 };
                self.set |= if is_first || !phrase.begins { bit } else { 0 };
            }
        }
    }

    /// True if a phrase of this kind occurs.
    pub(crate) fn has(self, sign: Sign) -> bool {
        self.set & (1_u64 << sign as u64) != 0
    }

    /// True if any of these occurs.
    pub(crate) fn has_any(self, signs: &[Sign]) -> bool {
        signs.iter().any(|sign| self.has(*sign))
    }

    /// True if the sentence begins with a phrase of this kind.
    pub(crate) fn begins(self, sign: Sign) -> bool {
        self.beginning & (1_u64 << sign as u64) != 0
    }

    /// True for a question.
    pub(crate) fn asks(self) -> bool {
        self.asks
    }
}

/// Lower case, plain apostrophes, no emphasis, single spaces, each code span one mark.
fn normalised(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len().min(4 * MAX_CHARS));
    let mut chars = sentence.chars().take(MAX_CHARS);
    while let Some(c) = chars.next() {
        match c {
            '*' | '_' => {}
            '`' => {
                while chars.next().is_some_and(|c| c != '`') {}
                text.push(CODE);
            }
            '’' => text.push('\''),
            c if c.is_whitespace() || c.is_control() => {
                if !text.ends_with(' ') {
                    text.push(' ');
                }
            }
            c if c.is_ascii() => text.push(c.to_ascii_lowercase()),
            c => text.extend(c.to_lowercase()),
        }
    }
    text
}

/// True for scripts that are written without spaces.
pub(crate) fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_file_is_a_phrase_of_a_known_section() {
        for (section, line) in FILES.into_iter().flat_map(entries) {
            assert!(SECTIONS.iter().any(|(known, _)| *known == section), "{line} is in no known section");
            assert_eq!(normalised(line), line, "phrases are lower case with single spaces");
            let is_found = |text: &String| text.starts_with(is_wide) || !text.contains(is_wide);
            assert!(spelled_out(line.trim_start_matches('^')).iter().all(is_found), "{line} begins no word");
        }
    }

    #[test]
    fn whole_words_tell_in_every_language() {
        for (sentence, sign, expected) in [
            ("We use **Postgres instead of Redis**.", Sign::Contrast, true),
            ("The insteadoffer is here.", Sign::Contrast, false),
            ("`instead of` is a phrase.", Sign::Contrast, false),
            ("A read-only winch.", Sign::Restrict, false),
            ("The winch stays read-only.", Sign::Restrict, true),
            ("Wir nehmen Postgres statt Redis.", Sign::Contrast, true),
            ("Usamos Postgres en lugar de Redis.", Sign::Contrast, true),
            ("On prend Postgres au lieu de Redis.", Sign::Contrast, true),
            ("Используем Postgres вместо Redis.", Sign::Contrast, true),
            ("用Postgres代替Redis", Sign::Contrast, true),
            ("Redisの代わりにPostgresを使う", Sign::Contrast, true),
            ("看看要不要加缓存", Sign::Choose, false),
            ("Let me look.", Sign::Announce, true),
            ("It will let me look.", Sign::Announce, false),
            ("Let me know.", Sign::Announce, false),
            ("It hasn't been tested.", Sign::Remaining, true),
        ] {
            assert_eq!(Signs::read(sentence).has(sign), expected, "{sentence}");
        }
        assert!(Signs::read("Really (now?)").asks() && !Signs::read("Why? So.").asks());
        assert!(!Signs::read("**Tests** — four of them (fast?, small?, safe?)").asks());
    }
}
