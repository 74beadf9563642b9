//! A question as it is meant: which kinds of question it is, what it is about, where and when.

mod naming;
mod phrasing;
mod plain;
mod signs;
mod span;

pub use naming::Named;
pub use span::Span;

use self::phrasing::Phrasing;
use self::plain::is_plain;
use self::signs::KINDS;
use baton_conversation::record::Timestamp;

/// A kind of question that is known by plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What was worked on last: the latest sessions and where they stopped.
    Latest,
    /// What is still open: unresolved ends and next steps that no later session has settled.
    Open,
    /// What the user prefers.
    Preferences,
    /// Why something was chosen.
    Decisions,
    /// Which approach failed.
    Failed,
    /// How an error was solved.
    Solved,
    /// Which files belong to some work.
    Files,
}

impl Kind {
    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Open => "open",
            Self::Preferences => "preferences",
            Self::Decisions => "decisions",
            Self::Failed => "failed",
            Self::Solved => "solved",
            Self::Files => "files",
        }
    }
}

/// A question that was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The kinds it is, in the order of [`Kind`]; none: it is answered by searching alone.
    pub kinds: Vec<Kind>,
    /// What it is about: its words in small letters, without those that only make it a question of its kind.
    pub about: Vec<String>,
    /// The same as it was written, for searching; the whole question where nothing else is left of it.
    pub search: String,
    /// Which projects its words name.
    pub named: Named,
    /// Which time its words name.
    pub span: Option<Span>,
    /// What stands where a project would be named, where none that is known is.
    pub place: Option<String>,
}

impl Asked {
    /// Whether it is a question of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether it has the form of a known question and is about nothing in particular.
    pub fn is_general(&self) -> bool {
        self.about.is_empty() && !self.kinds.is_empty()
    }

    /// The share of what it is about that a text has, in any form of the words; 1 when it is about nothing in particular.
    pub fn fit(&self, text: &str) -> f32 {
        if self.about.is_empty() {
            return 1.0;
        }
        let there = words(text);
        let has = |wanted: &&String| there.iter().any(|word| is_form(word, wanted));
        self.about.iter().filter(has).count() as f32 / self.about.len() as f32
    }
}

/// What reading a question takes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Names by which projects may be meant, as [`Named`] gives them back.
    pub projects: &'a [String],
    /// What `yesterday` is counted from.
    pub now: Timestamp,
}

/// Longest question that is looked at, in words.
const MAX_WORDS: usize = 200;
/// Letters that two words have in common at their beginning to be forms of one.
const STEM_CHARS: usize = 5;

/// Reads a question. Total; linear in its words.
pub fn read(text: &str, around: &Around<'_>) -> Asked {
    let whole = Phrasing::of(text, MAX_WORDS);
    let mut phrasing = whole.clone();
    let named = naming::take(&mut phrasing, around.projects);
    let mut timeless = phrasing.clone();
    let span = span::take(&mut timeless, around.now).filter(|_| phrasing.asks_when());
    let bare = if span.is_some() { &timeless } else { &phrasing };
    let place = Some(bare).filter(|_| named == Named::None).and_then(naming::unknown);
    let kinds = match span {
        Some(_) => understood(&mut timeless, true),
        None => Vec::new(),
    };
    let (mut phrasing, kinds, span) = match kinds.is_empty() {
        // Where nothing is asked for that has a time, its words are words.
        true => {
            let kinds = understood(&mut phrasing, false);
            (phrasing, kinds, None)
        }
        false => (timeless, kinds, span),
    };
    // A search for words is only narrowed where it plainly says so; elsewhere a name may be one of the words.
    let named = match named {
        Named::Called { loosely: true, .. } if kinds.is_empty() => {
            phrasing = whole;
            Named::None
        }
        named => named,
    };
    phrasing.leave_out(is_plain);
    let search = phrasing.as_written();
    let mut about: Vec<String> = Vec::new();
    for word in phrasing.words() {
        if !about.iter().any(|known| known == word) {
            about.push(word.to_owned());
        }
    }
    Asked { kinds, about, search: if search.is_empty() { text.trim().to_owned() } else { search }, named, span, place }
}

/// The kinds of a question; what makes it one of them is left out of its words.
fn understood(phrasing: &mut Phrasing, has_span: bool) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut taken = Vec::new();
    for known in &KINDS {
        let signs = known.signs.iter().chain(known.timed.iter().filter(|_| has_span));
        let found: Vec<_> = signs.filter_map(|sign| phrasing.find(sign)).collect();
        if !found.is_empty() {
            kinds.push(known.kind);
            taken.extend(found);
        }
    }
    if kinds.is_empty() {
        let latest = &KINDS[0];
        taken.extend(latest.weak.iter().filter_map(|sign| phrasing.find(sign)));
        kinds.extend((!taken.is_empty()).then_some(latest.kind));
    }
    taken.iter().for_each(|places| phrasing.empty(places));
    let beside = KINDS.iter().filter(|known| kinds.contains(&known.kind));
    for known in beside {
        phrasing.leave_out(|word| known.beside.iter().any(|part| phrasing::fits(word, part)));
    }
    kinds
}

/// Runs of letters and digits, in small letters; of scripts without blanks each two neighbours.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let wide = is_wide(first);
            let end = rest.find(|c| is_wide(c) != wide).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            let chars: Vec<char> = run.chars().collect();
            match wide && chars.len() > 2 {
                true => words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>())),
                false => words.push(run.to_lowercase()),
            }
        }
    }
    words
}

/// Whether a character is of a script that is written without blanks.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether two words are the same but for their endings.
pub(super) fn is_form(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let (shorter, longer) =
        (one.chars().count().min(other.chars().count()), one.chars().count().max(other.chars().count()));
    let plural = longer - shorter <= 2 && common == shorter && shorter >= 4;
    plural || common >= STEM_CHARS && common + 2 >= shorter
}

#[cfg(test)]
mod tests;
