//! Words that carry meaning, by language: one matcher over data files, one pass over a sentence.
//!
//! A file of `lexicon/` has sections such as `[contrast]`; each line below is a phrase. A phrase that begins with `^` counts
//! only at the beginning of a sentence. Phrases match whole words, except those in scripts without spaces. `(a|b)` stands
//! for either.
//!
//! Most of what an episode says is carried by structure (acts, outcomes, who spoke last). The lexicon decides only what
//! structure leaves open, so a phrase is worth its line only if it is right nearly always where it fires.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

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
/// Stands for a code span, whose words are not the speaker's.
const CODE: char = '`';

/// What a phrase tells about the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// One thing is taken over another: `instead of`.
    Contrast,
    /// Something stays as it is, or is taken back: `kept`, `reverted`.
    Keep,
    /// A choice by its own word: `decided`, `switched to`.
    Choose,
    /// A reason: `because`.
    Reason,
    /// What follows from a fact: `so I`.
    Consequence,
    /// A person tells how: `use`, `let's`, `don't`.
    Direct,
    /// A person proposes how, perhaps as a question: `could we`.
    Suggest,
    /// A person objects: `no,`, `actually`.
    Object,
    /// A person takes everything back: `undo`.
    Revert,
    /// Something does not work: `fails`, `still broken`.
    Trouble,
    /// An order that says nothing about how: `commit`, `continue`.
    Order,
    /// The agent says what it is about to do: `let me`.
    Announce,
    /// The agent offers something: `would you like`.
    Offer,
    /// Something is put off: `later`, `for now`.
    Later,
    /// Something is not done: `not tested`, `still open`.
    Remaining,
    /// Changes that the session leaves aside are not committed: `remain unstaged`.
    Beside,
    /// A next step: `you'll need to`.
    Next,
    /// A heading or label of things that are not done.
    RemainingHead,
    /// A heading or label of next steps.
    NextHead,
    /// Not meant as a fact: a condition, an example, somebody's option.
    Hedge,
    /// A person confirms: `it works now`.
    Works,
    /// A person agrees: `yes`, `ok`.
    Assent,
    /// A person says that something does not work, in words that are said of nothing else: `is broken`.
    Defect,
    /// The agent names what is behind a trouble: `the issue is`.
    Cause,
    /// A cause that was named is taken back: `was not the problem`.
    Denial,
    /// Something lacks or is not as it should be: `missing`, `should`.
    Lack,
    /// Something was changed: `fixed`, `replaced`.
    Change,
    /// How checks went, or what goes on: `passing`, `I'm`.
    Result,
    /// A check is to fail: `should fail`.
    Expected,
    /// An attempt came to nothing: `a dead end`.
    Setback,
    /// Not of this session's making: `pre-existing`.
    Foreign,
    /// A rule for the time to come: `always`, `from now on`.
    Standing,
    /// Something is in use no more: `no longer`, `was removed`.
    Ended,
    /// A heading of decisions.
    DecisionHead,
    /// A heading of how something is going to be done.
    ApproachHead,
    /// A question begins so: `which`.
    Question,
    /// A question about something that happened, not about what holds: `did`, `when`.
    PastQuestion,
    /// A word that stands for something said or shown elsewhere: `these`.
    Pointer,
    /// Something was put in the place of something else: `replaced`.
    Replace,
    /// A person tells which way, and not what to do: `use`, `never`.
    Steer,
    /// Something new is asked for: `add`.
    Request,
    /// A clause of the speaker about themselves: `I'll`.
    Speaker,
    /// What the speaker does is only looking: `check`.
    Look,
    /// A limit: `only`.
    Restrict,
    /// Options to choose from: `or`.
    Either,
    /// Somebody else's words follow: `here is`, `the log says`.
    Quote,
    /// Everything is meant: `all`.
    Quantity,
    /// A fault was mended: `fixed`.
    Repair,
    /// A heading of tests or benefits, below which nothing is decided.
    AsideHead,
    /// A heading of how the work is to be checked.
    CheckHead,
    /// A person looks at what runs: `manually`, `in the browser`.
    ByHand,
    /// The speaker proposes: `I'd`.
    Propose,
    /// A label before a choice: `decision`.
    Verdict,
    /// About how the work goes on, not about what is made: `worry`, `until it is`.
    Idle,
}

const SECTIONS: [(&str, Sign); 54] = [
    ("contrast", Sign::Contrast),
    ("keep", Sign::Keep),
    ("choose", Sign::Choose),
    ("reason", Sign::Reason),
    ("direct", Sign::Direct),
    ("suggest", Sign::Suggest),
    ("object", Sign::Object),
    ("trouble", Sign::Trouble),
    ("order", Sign::Order),
    ("announce", Sign::Announce),
    ("offer", Sign::Offer),
    ("later", Sign::Later),
    ("remaining", Sign::Remaining),
    ("beside", Sign::Beside),
    ("next", Sign::Next),
    ("remaining head", Sign::RemainingHead),
    ("next head", Sign::NextHead),
    ("hedge", Sign::Hedge),
    ("works", Sign::Works),
    ("assent", Sign::Assent),
    ("defect", Sign::Defect),
    ("cause", Sign::Cause),
    ("denial", Sign::Denial),
    ("lack", Sign::Lack),
    ("change", Sign::Change),
    ("result", Sign::Result),
    ("expected", Sign::Expected),
    ("setback", Sign::Setback),
    ("foreign", Sign::Foreign),
    ("standing", Sign::Standing),
    ("ended", Sign::Ended),
    ("decision head", Sign::DecisionHead),
    ("approach head", Sign::ApproachHead),
    ("question", Sign::Question),
    ("past question", Sign::PastQuestion),
    ("pointer", Sign::Pointer),
    ("replace", Sign::Replace),
    ("steer", Sign::Steer),
    ("request", Sign::Request),
    ("revert", Sign::Revert),
    ("consequence", Sign::Consequence),
    ("speaker", Sign::Speaker),
    ("look", Sign::Look),
    ("restrict", Sign::Restrict),
    ("either", Sign::Either),
    ("quote", Sign::Quote),
    ("quantity", Sign::Quantity),
    ("repair", Sign::Repair),
    ("aside head", Sign::AsideHead),
    ("check head", Sign::CheckHead),
    ("by hand", Sign::ByHand),
    ("verdict", Sign::Verdict),
    ("idle", Sign::Idle),
    ("propose", Sign::Propose),
];

struct Lexicon {
    matcher: AhoCorasick,
    phrases: Vec<Phrase>,
}

struct Phrase {
    sign: Sign,
    /// Counts only at the beginning of a sentence.
    begins: bool,
    /// Matches whole words only.
    whole: bool,
    /// Begins with a mark: `, not`.
    marked: bool,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let (mut texts, mut phrases) = (Vec::new(), Vec::new());
    for file in FILES {
        let mut sign = None;
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                sign = SECTIONS.iter().find(|(known, _)| *known == name).map(|(_, sign)| *sign);
                continue;
            }
            let Some(sign) = sign else { continue };
            let (begins, text) = line.strip_prefix('^').map_or((false, line), |text| (true, text));
            for text in spelled_out(text) {
                let marked = !text.starts_with(char::is_alphanumeric);
                phrases.push(Phrase { sign, begins, whole: !text.chars().any(is_wide), marked });
                texts.push(text);
            }
        }
    }
    let matcher = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts);
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
        let text = normalised(sentence);
        let first = text.find(|c: char| c.is_alphanumeric() || c == CODE).unwrap_or(text.len());
        let bare = text.trim_end_matches([')', '"', '*', '_', '”', ' ']);
        let mut signs = Self { asks: bare.ends_with(['?', '？']), ..Self::default() };
        let lexicon = &*LEXICON;
        for found in lexicon.matcher.find_overlapping_iter(&text) {
            let phrase = &lexicon.phrases[found.pattern().as_usize()];
            let before = text[..found.start()].chars().next_back();
            let mut after = text[found.end()..].chars();
            let (next, second) = (after.next(), after.next());
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            // `next` is no word of `Next.js`.
            let goes_on = is_word(next) || next == Some('.') && is_word(second);
            if phrase.whole && (is_word(before) && !phrase.marked || goes_on) {
                continue;
            }
            let bit = 1_u64 << phrase.sign as u64;
            if found.start() == first {
                signs.beginning |= bit;
            } else if phrase.begins {
                continue;
            }
            signs.set |= bit;
        }
        if signs.begins(Sign::Offer) {
            // `Let me know` announces nothing.
            let announce = 1_u64 << Sign::Announce as u64;
            (signs.set, signs.beginning) = (signs.set & !announce, signs.beginning & !announce);
        }
        signs
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
            c => text.extend(c.to_lowercase()),
        }
    }
    text
}

/// True for scripts that are written without spaces.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_file_is_a_phrase_of_a_known_section() {
        for file in FILES {
            let mut known = false;
            for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
                match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                    Some(name) => known = SECTIONS.iter().any(|(section, _)| *section == name),
                    None => assert_eq!(normalised(line), line, "phrases are lower case with single spaces"),
                }
                assert!(known, "{line} is in no known section");
            }
        }
    }

    #[test]
    fn whole_words_tell_in_every_language() {
        for (sentence, sign, expected) in [
            ("We use **Postgres instead of Redis**.", Sign::Contrast, true),
            ("The insteadoffer is here.", Sign::Contrast, false),
            ("`instead of` is a phrase.", Sign::Contrast, false),
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
    }
}
