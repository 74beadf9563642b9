//! Words that show what a sentence settles.

/// A clause with one of these is conditional, a question, or uncertain.
pub(super) const CASES: [&str; 22] = [
    "?",
    "if",
    "whether",
    "would",
    "could",
    "might",
    "may",
    "maybe",
    "perhaps",
    "probably",
    "unless",
    "either",
    "should've",
    "wouldn't",
    "couldn't",
    "i'd",
    "we'd",
    "tried",
    "try",
    "trying",
    "what",
    "which",
];
/// Verbs of choice, with their particles.
pub(super) const CHOOSING: [&str; 12] = [
    "use|uses|using|used",
    "choose|chose|chosen|chooses",
    "pick|picked|picks",
    "prefer|prefers|preferred",
    "adopt|adopted|adopting",
    "keep|kept|keeping|keeps",
    "take|took|taking",
    "go|going|went|goes with",
    "stick|stuck|stay|stayed|stays with|to",
    "decided|settled|settle|decide on|for",
    "opt|opted for",
    "standardise|standardize|standardised|standardized on",
];
/// Verbs of a change from one thing to another.
pub(super) const CHANGING: [&str; 23] = [
    "switch",
    "switched",
    "switching",
    "switches",
    "migrate",
    "migrated",
    "migrating",
    "move",
    "moved",
    "moving",
    "change",
    "changed",
    "changing",
    "convert",
    "converted",
    "go",
    "going",
    "went",
    "revert",
    "reverted",
    "came",
    "port",
    "ported",
];
/// Words that negate a verb of choice.
pub(super) const NEGATING: [&str; 15] = [
    "not",
    "don't",
    "doesn't",
    "didn't",
    "won't",
    "never",
    "no",
    "cannot",
    "can't",
    "isn't",
    "mustn't",
    "shouldn't",
    "avoid",
    "dont",
    "without",
];
/// Words that limit a statement to some place or time.
pub(super) const SCOPES: [&str; 14] = [
    "in", "for", "on", "when", "here", "there", "during", "while", "within", "inside", "where", "locally", "only",
    "until",
];
/// Phrases with such a word that limit nothing.
pub(super) const EVERYWHERE: [&str; 9] = [
    "from now on",
    "from here on",
    "in favour|favor of",
    "in general|future",
    "in the future",
    "in the end",
    "depends on",
    "decided|decide|opted|opt|settled|settle for|on",
    "for good",
];
/// Sets of things of which a project uses one.
pub(super) const RIVALS: [(&str, &[&str]); 8] = [
    ("indentation", &["tabs", "spaces"]),
    ("quotes", &["single quotes", "double quotes"]),
    ("package manager of javascript", &["npm", "pnpm", "yarn", "bun"]),
    ("package manager of python", &["poetry", "uv", "pipenv", "conda"]),
    ("test runner of javascript", &["jest", "vitest", "mocha"]),
    ("test runner of python", &["pytest", "unittest"]),
    ("spelling", &["british english", "american english", "british spelling", "american spelling"]),
    ("line endings", &["lf", "crlf"]),
];
/// Phrases for options that are only considered, proposed or tried, or that held before.
pub(super) const WEIGHING: [&str; 16] = [
    "consider|considers|considered|considering",
    "think|thinking|thought about|of",
    "was|were about|going|tempted to",
    "first used|tried|took|went|chose|had",
    "at first",
    "initially|originally|previously|formerly",
    "the previous|former|old team",
    "look|looked|looking at|into",
    "evaluate|evaluated|evaluating",
    "toyed|played|experimented|experimenting with",
    "propose|proposed|proposing|suggest|suggested|suggesting",
    "recommend|recommends|recommended|recommending",
    "was|were considered",
    "an|one|another option",
    "used to",
    "planned|planning to",
];
/// Phrases that attribute a statement or a question to someone else.
pub(super) const TELLING: [&str; 6] = [
    "ask|asks|asked|asking|wonder|wonders|wondered|wondering why|whether|if|how|about",
    "want|wants|wanted to know",
    "according to",
    "docs|documentation|readme|article|manual|guide|blog|linter|spec say|says|said|states|recommend|recommends",
    "they|he|she said|says|say|wrote",
    "for example",
];
/// Words at which a clause turns.
pub(super) const TURNING: [&str; 6] = ["but", "however", "yet", "although", "though", "finally"];
/// Phrases that take back an earlier statement.
pub(super) const TAKING_BACK: [&str; 8] = [
    "revert|reverted|reverting that|this|it|them|everything",
    "undid|undo that|this|it",
    "roll|rolled it|that|this back",
    "rolled back",
    "back out|back it out",
    "took|take it|that out",
    "rejected it|that|this",
    "abandoned it|that|this",
];
/// Words that may precede the verb if no other subject is named.
pub(super) const BARE: [&str; 20] = [
    "i", "we", "let's", "to", "decided", "decide", "will", "we'll", "i'll", "now", "always", "please", "also", "just",
    "should", "must", "have", "and", "but", "so",
];
