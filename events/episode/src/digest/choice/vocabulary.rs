//! Words by which choices are recognised. The lists are heuristic: a missing word misses a choice, a superfluous one
//! invents one.

/// Phrases before an alternative.
pub(super) const AGAINST: [&str; 4] = ["instead of", "rather than", "instead", "as opposed to"];
/// Words before a reason.
pub(super) const REASONS: [&str; 5] = ["because", "since", "so that", "as otherwise", "otherwise"];
/// Subjects of the speaker.
pub(super) const SUBJECTS: [&str; 12] =
    ["i", "we", "i'd", "we'd", "i'll", "we'll", "i've", "we've", "i'm", "we're", "let's", "lets"];
/// Minimum number of words of an explanation.
pub(super) const EXPLAINING_WORDS: usize = 4;
/// Words that may stand between the subject and its verb.
pub(super) const BETWEEN: [&str; 19] = [
    "again",
    "also",
    "been",
    "deliberately",
    "first",
    "had",
    "have",
    "instead",
    "just",
    "now",
    "only",
    "rather",
    "should",
    "simply",
    "still",
    "then",
    "therefore",
    "will",
    "would",
];
/// Verbs that only express a choice; sorted.
pub(super) const CHOOSING: [&str; 16] = [
    "choose",
    "chose",
    "chosen",
    "decide",
    "decided",
    "favor",
    "favour",
    "opt",
    "opted",
    "pick",
    "picked",
    "prefer",
    "preferred",
    "rejected",
    "settled",
    "stick",
];
/// Verbs of a commitment: something is done this way and not otherwise. Sorted.
pub(super) const COMMITTING: [&str; 63] = [
    "add",
    "added",
    "adding",
    "allow",
    "avoid",
    "avoided",
    "build",
    "built",
    "cache",
    "call",
    "convert",
    "copy",
    "do",
    "drop",
    "dropped",
    "extract",
    "go",
    "going",
    "implement",
    "keep",
    "keeping",
    "kept",
    "leave",
    "leaving",
    "left",
    "limit",
    "made",
    "make",
    "making",
    "move",
    "moved",
    "moving",
    "pass",
    "pin",
    "pinned",
    "put",
    "putting",
    "read",
    "replace",
    "replaced",
    "return",
    "reuse",
    "set",
    "skip",
    "skipped",
    "split",
    "stay",
    "store",
    "stored",
    "stub",
    "switch",
    "switched",
    "take",
    "taking",
    "took",
    "treat",
    "use",
    "used",
    "using",
    "went",
    "wrap",
    "write",
    "wrote",
];
/// Verbs among them after which a colon introduces the reason.
pub(super) const HOLDING: [&str; 14] = [
    "avoid", "do", "drop", "dropped", "go", "keep", "kept", "leave", "left", "skip", "skipped", "stay", "take", "took",
];
/// Past forms among them that do not end in `ed`.
pub(super) const PAST: [&str; 7] = ["built", "kept", "left", "made", "took", "went", "wrote"];
/// Refusals by the speaker.
pub(super) const REFUSING: [&str; 8] =
    ["won't", "don't want", "wouldn't", "didn't want", "will not", "do not want", "would not", "didn't use"];
/// Phrases that report trouble, where `instead of` contrasts what happens with what should.
pub(super) const TROUBLE: [&str; 20] = [
    "blocked",
    "broken",
    "bug",
    "crash",
    "crashes",
    "error",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "issue",
    "maybe",
    "might",
    "problem",
    "seem",
    "seems",
    "unexpected",
    "wrong",
    "wrongly",
];
/// Beginnings of conditions and of sentences to the reader.
pub(super) const CASES: [&str; 11] =
    ["next", "if", "when", "you", "your", "option", "or", "would you", "do you", "should i", "shall i"];
/// Beginnings of sentences about the next step of the work.
pub(super) const STEPS: [&str; 7] =
    ["let me", "now let me", "first let me", "first , let me", "next , let me", "let's check", "let's see"];
/// Labels before a choice.
pub(super) const LABELS: [&str; 4] = ["decision", "decided", "conclusion", "verdict"];
/// Labels before a proposal.
pub(super) const LABELS_PROPOSING: [&str; 5] = ["proposal", "plan", "the plan", "approach", "recommendation"];
/// Phrases that end an attempt.
pub(super) const GIVING_UP: [&str; 5] = ["dead end", "out again", "back out", "not worth it", "not worth the"];
/// Demands of a conclusion, in a sentence that begins with `so`.
pub(super) const DEMANDS: [&str; 7] = ["needed", "need a", "need an", "needs", "must", "has to", "have to"];
/// Phrases that reject an alternative to the demand.
pub(super) const NOT_THAT: [&str; 4] = [", not", "and not", "instead of", "rather than"];
/// Words of a question that offers a choice.
pub(super) const ALTERNATIVES: [&str; 5] = ["or", "which", "prefer", "rather", "how should"];
/// Negations that lay nothing down.
pub(super) const IDLE: [&str; 13] = [
    "no problem",
    "no worries",
    "no idea",
    "no hurry",
    "no errors",
    "no luck",
    "not sure",
    "not only",
    "not yet",
    "or not",
    "not bad",
    "not too bad",
    "why not",
];
/// Phrases for a choice in languages without spaces.
pub(super) const WIDE: [&str; 9] =
    ["ではなく", "代わりに", "に決め", "而不是", "我决定", "我們決定", "我们决定", "改用", "选择了"];
/// The same for a person, who forbids or lays down.
pub(super) const WIDE_ORDERS: [&str; 6] = ["不要", "别用", "ないでください", "にしてください", "ではなく", "而不是"];

/// Beginnings of a person's correction or instruction, after assent and `please`.
pub(super) const INSTRUCTING: [&str; 21] = [
    "no",
    "nope",
    "not",
    "don't",
    "do not",
    "dont",
    "never",
    "always",
    "use",
    "keep",
    "leave",
    "set",
    "prefer",
    "go with",
    "stick",
    "stay",
    "let's keep",
    "let's use",
    "let's go with",
    "let's not",
    "only",
];
/// Phrases anywhere in such a sentence.
pub(super) const CORRECTING: [&str; 18] = [
    "and not",
    ", no",
    "instead of",
    "rather than",
    "instead",
    ", not",
    "must not",
    "should not",
    "shouldn't",
    "mustn't",
    "i'd prefer",
    "i prefer",
    "i'd rather",
    "is enough",
    ", do not",
    ", don't",
    "and don't",
    "but don't",
];
/// Words that may precede an instruction.
pub(super) const ASSENT: [&str; 20] = [
    "ok", "okay", "yes", "yeah", "right", "good", "great", "also", "and", "but", "please", "then", "so", "agreed",
    "sure", "fine", "go", ",", ".", "!",
];
/// Phrases that postpone instead of deciding.
pub(in crate::digest) const LATER: [&str; 12] = [
    "not today",
    "tomorrow",
    "later",
    "follow up",
    "follow-up",
    "followup",
    "another time",
    "next time",
    "next session",
    "not now",
    "do it now",
    "in its own session",
];

/// Phrases for what is only considered, proposed or tried. They settle nothing by themselves.
pub(super) const WEIGHING: [&str; 39] = [
    "consider",
    "considered",
    "considering",
    "thought about",
    "thought of",
    "think about",
    "thinking about",
    "thinking of",
    "was about to",
    "were about to",
    "was going to",
    "were going to",
    "was tempted",
    "were tempted",
    "at first",
    "first used",
    "first tried",
    "first took",
    "first went",
    "initially",
    "originally",
    "previously",
    "previous team",
    "tried",
    "trying",
    "looked at",
    "looked into",
    "looking at",
    "looking into",
    "evaluated",
    "evaluating",
    "experimented",
    "toyed with",
    "played with",
    "we could",
    "i could",
    "you could",
    "one could",
    "could also",
];
/// Phrases that end the weighing with a rejection.
pub(super) const TURNING_DOWN: [&str; 10] = [
    "and rejected",
    "but rejected",
    "decided against",
    "ruled out",
    "turned down",
    "discarded",
    "reverted that",
    "reverted it",
    "undid that",
    "rolled it back",
];
/// Beginnings of proposals.
pub(super) const PROPOSING: [&str; 8] = [
    "i propose",
    "i suggest",
    "i'd suggest",
    "i recommend",
    "i'd recommend",
    "i would suggest",
    "i would recommend",
    "my suggestion",
];
/// Phrases that attribute a statement or a question to someone else.
pub(super) const TELLING: [&str; 20] = [
    "asked why",
    "asked whether",
    "asked if",
    "asked how",
    "asks why",
    "asks whether",
    "asks if",
    "asking why",
    "asking whether",
    "wondered why",
    "wondered whether",
    "wonder why",
    "wonder whether",
    "wants to know",
    "wanted to know",
    "according to",
    "docs say",
    "documentation says",
    "readme says",
    "article says",
];
/// Beginnings of a person's sentence that presents pasted text.
pub(super) const ANNOUNCING: [&str; 14] = [
    "here is",
    "here's",
    "here are",
    "this is",
    "these are",
    "below is",
    "below are",
    "the following",
    "look at this",
    "see this",
    "i found",
    "i got",
    "from the",
    "quote",
];
/// Phrases anywhere in such a sentence.
pub(super) const FOUND: [&str; 12] = [
    "i found",
    "found this",
    "says",
    "say",
    "said",
    "reads",
    "wrote",
    "writes",
    "pasted",
    "copied",
    "prints",
    "printed",
];
/// Kinds of pasted documents.
pub(super) const DOCUMENTS: [&str; 36] = [
    "readme",
    "docs",
    "doc",
    "documentation",
    "article",
    "page",
    "blog",
    "post",
    "site",
    "website",
    "log",
    "logs",
    "output",
    "error",
    "message",
    "trace",
    "stacktrace",
    "traceback",
    "snippet",
    "file",
    "email",
    "mail",
    "issue",
    "comment",
    "review",
    "ticket",
    "thread",
    "answer",
    "spec",
    "manual",
    "guide",
    "linter",
    "compiler",
    "chat",
    "text",
    "readme.md",
];
/// Phrases for a person's own words.
pub(super) const OWN_WORDS: [&str; 14] = [
    "rule",
    "rules",
    "requirement",
    "requirements",
    "convention",
    "conventions",
    "preference",
    "preferences",
    "guidelines",
    "i want",
    "we want",
    "i need",
    "my",
    "our",
];
/// Beginnings of requests that are not rules.
pub(super) const POLITE: [&str; 6] = ["can you", "could you", "would you", "can we", "could we", "you can"];
/// Phrases for going to do something …
pub(super) const GOING: [&str; 9] = [
    "i'll",
    "i will",
    "i'm going to",
    "i am going to",
    "we'll",
    "we will",
    "we're going to",
    "i'll quickly",
    "i'll now",
];
/// … that is only looking.
pub(super) const LOOKING: [&str; 20] = [
    "check",
    "confirm",
    "examine",
    "explore",
    "figure",
    "find",
    "inspect",
    "investigate",
    "look",
    "query",
    "read",
    "research",
    "review",
    "search",
    "see how",
    "see if",
    "see what",
    "see whether",
    "see why",
    "verify",
];
/// Phrases that show that a person is unsure.
pub(super) const UNSURE: [&str; 5] = ["perhaps", "maybe", "i guess", "i wonder", "i suppose"];
/// Last words that turn a sentence into a question.
pub(super) const TAGS: [&str; 5] = ["right", "correct", "no", "huh", "yes"];
