//! Words by which failed attempts are recognised. The lists are heuristic: a missing word misses an attempt.

/// Phrases that say it in any context, unless denied or explained.
pub(super) const FAILED: [&str; 34] = [
    "dead end",
    "a dead-end",
    "did not work",
    "didn't work",
    "did not help",
    "didn't help",
    "did not pan out",
    "didn't pan out",
    "has not worked",
    "hasn't worked",
    "i gave up",
    "we gave up",
    "gave up on",
    "i give up",
    "giving up on",
    "given up on",
    "i abandoned",
    "we abandoned",
    "abandoned the",
    "abandoned that",
    "abandoned this",
    "abandoned it",
    "abandoning the",
    "abandoning that",
    "abandoning this",
    "was abandoned",
    "were abandoned",
    "in vain",
    "to no avail",
    "without success",
    "failed approach",
    "failed attempt",
    "approach failed",
    "attempt failed",
];
/// Those of them that are also said of things in use.
pub(super) const WORKING: [&str; 4] = ["did not work", "didn't work", "has not worked", "hasn't worked"];
/// First words of a thing in use.
pub(super) const DEFINITE: [&str; 8] = ["the", "my", "your", "our", "their", "his", "her", "its"];
/// Words that mark something built: `the mutex per token`.
pub(super) const MADE: [&str; 7] = ["per", "of", "with", "instead", "second", "first", "new"];
/// Words at which a subject begins.
pub(super) const BORDERS: [&str; 14] =
    [",", ";", ":", ".", "—", "–", "(", "and", "but", "because", "that", "since", "when", "so"];
/// Phrases that reject an attempt, or something pointed at if a reason follows.
pub(super) const WEIGHED: [&str; 12] = [
    "does not work",
    "doesn't work",
    "will not work",
    "won't work",
    "cannot work",
    "can't work",
    "does not help",
    "doesn't help",
    "would not work",
    "wouldn't work",
    "would not help",
    "wouldn't help",
];
/// Words for an attempt.
pub(super) const ATTEMPTS: [&str; 16] = [
    "approach",
    "approaches",
    "attempt",
    "attempts",
    "hack",
    "idea",
    "method",
    "neither",
    "option",
    "solution",
    "strategy",
    "tried",
    "trick",
    "variant",
    "way",
    "workaround",
];
/// Words that point at an attempt.
pub(super) const DEMONSTRATIVES: [&str; 6] = ["that", "this", "which", "both", "alone", "these"];
/// Verbs that undo something.
pub(super) const UNDOING: [&str; 9] =
    ["revert", "reverted", "reverting", "rolled back", "rolling back", "roll back", "backed out", "undid", "withdrew"];
/// Phrases for removing something, after a word of [`TAKING`].
pub(super) const REMOVING: [(&str, &str); 3] = [("out", "again"), ("back", "out"), ("out", "entirely")];
/// See [`REMOVING`].
pub(super) const TAKING: [&str; 9] = ["take", "taking", "took", "taken", "rip", "ripped", "pull", "pulled", "backed"];
/// Words before a reason.
pub(super) const REASONS: [&str; 5] = ["because", "since", "as it", "as they", "so that"];
/// Beginnings of conditions, and of sentences about the next step.
pub(super) const CASES: [&str; 14] = [
    "if",
    "when",
    "whenever",
    "unless",
    "should",
    "whether",
    "in case",
    "let me",
    "let's",
    "check",
    "make sure",
    "tell me",
    "even if",
    "once",
];
/// Headings of lists of what failed; lower case, without their marks.
pub(super) const HEADS: [&str; 16] = [
    "what did not work",
    "what didn't work",
    "what does not work",
    "what doesn't work",
    "did not work",
    "didn't work",
    "what failed",
    "tried and failed",
    "tried without success",
    "tried in vain",
    "failed approaches",
    "failed attempts",
    "approaches that failed",
    "approaches that did not work",
    "dead ends",
    "abandoned",
];
