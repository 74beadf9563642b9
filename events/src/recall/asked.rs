//! A question as it is meant: which kinds of question it is, and what it is about.

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
    /// What failed.
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
}

impl Asked {
    /// Whether it is a question of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
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

/// What makes a question one of a kind: words that stand in it one right after the other. A star at the end of a word stands
/// for any ending.
const SIGNS: &[(Kind, &[&str])] = &[
    (
        Kind::Latest,
        &[
            "last time",
            "last session*",
            "latest session*",
            "most recent session*",
            "previous session*",
            "working on last",
            "been working on",
            "were working on",
            "was working on",
            "work on last",
            "worked on last",
            "did we do last",
            "did i do last",
            "happened last",
            "left off",
            "leave off",
            "were we",
            "did we stop",
            "pick up where",
            "catch me up",
            "recently",
        ],
    ),
    (
        Kind::Open,
        &[
            "still open",
            "open end*",
            "open question*",
            "open item*",
            "open issue*",
            "is open",
            "unfinished",
            "not finished",
            "not done",
            "unresolved",
            "still to do",
            "left to do",
            "todo*",
            "to do",
            "remain*",
            "pending",
            "next step*",
            "comes next",
            "do next",
            "what next",
            "what is left",
            "whats left",
            "outstanding",
        ],
    ),
    (
        Kind::Preferences,
        &[
            "prefer*",
            "does the user like",
            "user like*",
            "user want*",
            "users style",
            "coding style",
            "conventions",
            "habits",
            "how does the user",
            "how do i like",
        ],
    ),
    (
        Kind::Decisions,
        &[
            "why did",
            "why do",
            "why does",
            "why is",
            "why are",
            "why was",
            "why were",
            "why not",
            "chose",
            "chosen",
            "choose",
            "choice",
            "decid*",
            "decision*",
            "rationale",
            "reason*",
            "instead of",
            "trade off*",
            "tradeoff*",
        ],
    ),
    (
        Kind::Failed,
        &[
            "failed",
            "fail",
            "fails",
            "failing",
            "failure*",
            "did not work",
            "didnt work",
            "doesnt work",
            "does not work",
            "went wrong",
            "in vain",
            "dead end*",
            "not to try",
            "tried before",
            "already tried",
        ],
    ),
    (
        Kind::Solved,
        &[
            "solve*",
            "solution*",
            "fix",
            "fixed",
            "fixes",
            "resolve*",
            "this error",
            "that error",
            "same error",
            "error before",
            "get rid of",
            "mend*",
            "workaround*",
        ],
    ),
    (
        Kind::Files,
        &[
            "which file*",
            "what file*",
            "files belong*",
            "files were",
            "files did",
            "files are",
            "list of files",
            "modified file*",
            "changed file*",
            "files changed",
            "files modified",
            "files touched",
        ],
    ),
];

/// Words that say what kind of question it is, or nothing at all: they are not what it is about.
const ASIDE: &[&str] = &[
    "a",
    "about",
    "after",
    "again",
    "all",
    "already",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "approach",
    "approaches",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "belong",
    "belongs",
    "but",
    "by",
    "can",
    "cant",
    "catch",
    "change",
    "changed",
    "choice",
    "choose",
    "chose",
    "chosen",
    "come",
    "comes",
    "could",
    "decide",
    "decided",
    "decision",
    "decisions",
    "did",
    "didnt",
    "do",
    "does",
    "doesn",
    "doesnt",
    "doing",
    "don",
    "done",
    "dont",
    "end",
    "ends",
    "error",
    "errors",
    "ever",
    "everything",
    "exactly",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "file",
    "files",
    "finished",
    "fix",
    "fixed",
    "for",
    "from",
    "get",
    "go",
    "got",
    "had",
    "happened",
    "has",
    "have",
    "how",
    "i",
    "if",
    "in",
    "instead",
    "into",
    "is",
    "isnt",
    "issue",
    "issues",
    "it",
    "item",
    "items",
    "its",
    "know",
    "last",
    "latest",
    "leave",
    "left",
    "let",
    "like",
    "likes",
    "list",
    "me",
    "modified",
    "most",
    "my",
    "need",
    "needs",
    "next",
    "no",
    "not",
    "of",
    "off",
    "on",
    "open",
    "or",
    "our",
    "outstanding",
    "over",
    "pending",
    "pick",
    "please",
    "prefer",
    "preference",
    "preferences",
    "preferred",
    "prefers",
    "previous",
    "previously",
    "problem",
    "project",
    "question",
    "questions",
    "rationale",
    "reason",
    "reasons",
    "recent",
    "recently",
    "remain",
    "remaining",
    "remains",
    "repo",
    "resolve",
    "resolved",
    "s",
    "same",
    "session",
    "sessions",
    "should",
    "show",
    "so",
    "solution",
    "solve",
    "solved",
    "some",
    "something",
    "step",
    "steps",
    "still",
    "stop",
    "stopped",
    "t",
    "tell",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "time",
    "to",
    "todo",
    "todos",
    "touched",
    "tried",
    "try",
    "unfinished",
    "unresolved",
    "up",
    "us",
    "use",
    "used",
    "user",
    "users",
    "using",
    "vain",
    "want",
    "wants",
    "was",
    "wasnt",
    "we",
    "went",
    "were",
    "what",
    "whats",
    "when",
    "where",
    "which",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "wont",
    "work",
    "worked",
    "working",
    "works",
    "would",
    "wrong",
    "yet",
    "you",
    "your",
];

/// Longest question that is looked at, in words.
const MAX_WORDS: usize = 200;
/// Letters that two words have in common at their beginning to be forms of one.
const STEM_CHARS: usize = 5;

/// Reads a question. Total; linear in its words.
pub fn read(text: &str) -> Asked {
    let plain: Vec<String> = words(&text.replace(['\'', '’'], "")).into_iter().take(MAX_WORDS).collect();
    let has = |sign: &&&str| {
        let parts: Vec<&str> = sign.split(' ').collect();
        plain.windows(parts.len()).any(|window| window.iter().zip(&parts).all(|(word, part)| is_sign(word, part)))
    };
    let kinds = SIGNS.iter().filter(|(_, signs)| signs.iter().any(|sign| has(&sign))).map(|(kind, _)| *kind);
    let mut about: Vec<String> = Vec::new();
    for word in plain.iter().filter(|word| !ASIDE.contains(&word.as_str())) {
        if !about.contains(word) {
            about.push(word.clone());
        }
    }
    Asked { kinds: kinds.collect(), about }
}

fn is_sign(word: &str, part: &str) -> bool {
    part.strip_suffix('*').map_or(word == part, |start| word.starts_with(start))
}

/// Runs of letters and digits, in small letters.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
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
