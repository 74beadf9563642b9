//! What a report says is left to do: items under a heading such as "Next steps", and sentences that say so themselves.

use super::excerpt;
use super::sentence::{is_decoration, list_marker, sentences};
use crate::lexicon::{Sign, Signs};
use baton_words::WordList;

/// Maximum length of a reply that is read, in bytes from its end.
const MAX_BYTES: usize = 20_000;
/// Maximum number of entries per reply.
const MAX_LEFT: usize = 12;
/// Marks of what is not done, at the beginning of an item or in a cell.
const PENDING: [char; 5] = ['⏳', '🔲', '⬜', '☐', '🚧'];
/// A longer cell is no state, in words.
const STATE_WORDS: usize = 3;
/// A longer heading is a sentence, in words.
const HEADING_WORDS: usize = 8;

/// Words that alone say that nothing remains.
static NOTHING: WordList = WordList::new(crate::WORDS, "nothing");

/// Something that is left to do or open.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leftover<'a> {
    pub(super) text: &'a str,
    /// True if it is to do, false if it is open.
    pub(super) next: bool,
    /// True if it stands in a list of such matters.
    pub(super) listed: bool,
    /// True if it has a label that says so: `One caveat: it is slow`.
    pub(super) labelled: bool,
}

/// Returns everything that a text says is left, in order; linear.
pub(super) fn leftovers(text: &str) -> Vec<Leftover<'_>> {
    let text = excerpt::tail(text, MAX_BYTES);
    let mut found: Vec<Leftover<'_>> = Vec::new();
    let mut fenced = false;
    // What the heading above announces, and whether items have followed it.
    let mut head: Option<bool> = None;
    let mut points = false;
    // Where the part below the last heading begins.
    let mut section = text.as_ptr();
    // Where the items begin, and whether the one above is only a label of nested ones.
    let (mut depth, mut is_lead) = (0, false);
    let mut in_table = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced || bare.is_empty() {
            continue;
        }
        if bare.starts_with('|') {
            // The first row names the columns.
            let left = in_table && bare.split('|').any(is_pending_state);
            found.extend(left.then(|| Leftover {
                text: bare.trim_matches(['|', ' ']),
                next: false,
                listed: true,
                labelled: false,
            }));
            in_table = true;
            continue;
        }
        in_table = false;
        if let Some(length) = list_marker(bare) {
            points = true;
            // Nested items explain the one above, unless that only leads to them.
            let point = bare[length..].trim();
            let indent = line.len() - line.trim_start().len();
            depth = if is_lead || indent < depth { indent } else { depth };
            let nested = indent > depth;
            is_lead = !nested && is_label(point);
            let unticked = bare[..length].contains("[ ]") || point.starts_with(PENDING);
            let unticked = unticked.then_some(false);
            let listed = head.filter(|_| !nested).or(unticked);
            let is_marked = point.starts_with(['✅', '✓', '☑']) || bare[..length].contains(['x', 'X']);
            let done = is_marked || is_done(point) || says_nothing(point);
            found.extend(
                says_left(point)
                    .or(listed)
                    .filter(|_| !done && !point.is_empty() && !is_label(point))
                    .map(|next| Leftover { text: point, next, listed: listed.is_some(), labelled: false }),
            );
            if head.is_none() && is_label(point) {
                head = announced_kind(point);
            }
            continue;
        }
        if is_decoration(bare) {
            (head, points, section) = (announced_kind(bare), false, bare.as_ptr());
            (depth, is_lead) = (0, false);
            continue;
        }
        (depth, is_lead) = (0, false);
        if points {
            head = None;
        }
        for sentence in sentences(bare) {
            if is_label(sentence.text) && beside(sentence.text).is_some() {
                // Things left unchanged are listed below it.
                let text = with_next_line(text, sentence.text);
                found.push(Leftover { text, next: false, listed: false, labelled: false });
                (head, points) = (None, false);
                continue;
            }
            if is_label(sentence.text) {
                // `You need to set these three variables:` says it itself, with its list or without.
                let is_long = sentence.text.split_whitespace().count() > HEADING_WORDS;
                let text = sentence.text.trim_end_matches([':', '：', '*', '_', ' ']);
                let left = says_left(text).filter(|_| is_long);
                found.extend(left.map(|next| Leftover { text, next, listed: false, labelled: false }));
                let signs = Signs::read(sentence.text);
                // Below a heading of what is recommended the list says it, and not what leads to it.
                let goes_on = head.filter(|_| !points && signs.begins(Sign::Propose));
                if goes_on.is_some() {
                    found.retain(|left| !left.listed || left.text.as_ptr() < section);
                }
                (head, points) = (announced_kind(sentence.text).or(goes_on), false);
                continue;
            }
            let left = says_left(sentence.text).or(head.filter(|_| !is_idle(sentence.text)));
            let left = left.filter(|_| !says_nothing(sentence.text));
            let text = beside(sentence.text).unwrap_or(sentence.text);
            let (listed, labelled) = (head.is_some(), labelled(sentence.text).is_some());
            found.extend(left.map(|next| Leftover { text, next, listed, labelled }));
        }
    }
    let excess = found.len().saturating_sub(MAX_LEFT);
    found.drain(..excess);
    found
}

/// Returns true if an item says of itself that it is done; one may also speak of `what already works`.
fn is_done(point: &str) -> bool {
    let own = [" what ", " that ", " which ", " who ", " where "].iter().filter_map(|word| point.find(word)).min();
    Signs::read(&point[..own.unwrap_or(point.len())]).has(Sign::Needless)
}

/// Returns true if a text only says that nothing remains, perhaps behind a label: `None.`
fn says_nothing(text: &str) -> bool {
    let text = short_label(text).map_or(text, |(_, rest)| rest).to_lowercase();
    NOTHING.has(text.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Returns whether a heading or label announces next steps (`true`) or open matters (`false`).
fn announced_kind(line: &str) -> Option<bool> {
    // `Next steps (what you can do now)`
    let line = line.split_once(['(', '（']).map_or(line, |(line, _)| line);
    let short = line.split_whitespace().count() <= HEADING_WORDS;
    let signs = Signs::read(line.trim_start_matches(|c: char| !c.is_alphabetic()));
    // `Notes / next steps`
    let last = line.rsplit(['/', '&']).next().unwrap_or(line).trim_start();
    let next = signs.begins(Sign::NextHead) || Signs::read(last).begins(Sign::NextHead);
    (short && (next || signs.begins(Sign::RemainingHead) || signs.has(Sign::Remaining))).then_some(next)
}

/// Returns true for a cell such as `⏳ Pending`.
fn is_pending_state(cell: &str) -> bool {
    let cell = cell.trim();
    let short = cell.split_whitespace().count() <= STATE_WORDS && !cell.contains([',', '，', '。']);
    short && !cell.is_empty() && (cell.starts_with(PENDING) || announced_kind(cell) == Some(false))
}

/// Returns true if items are to follow.
fn is_label(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// Returns whether a sentence itself says that something is next (`true`) or open (`false`).
fn says_left(sentence: &str) -> Option<bool> {
    let signs = Signs::read(sentence);
    // `Nothing is left to do`.
    let denies = |word: &str| matches!(word.to_lowercase().as_str(), "no" | "nothing" | "none");
    if signs.has(Sign::Next) && sentence.split_whitespace().any(denies) {
        return None;
    }
    if signs.begins(Sign::Next) && !signs.asks() {
        return Some(true);
    }
    // `Here is what you need to set` tells of what stands below.
    if signs.has(Sign::Next) && presents(sentence) {
        return None;
    }
    // `If it was set before, you need to remove it`.
    let main = sentence.split_once(", ").map_or("", |(_, main)| main);
    if Signs::read(main).begins(Sign::Next) && !signs.asks() {
        return Some(true);
    }
    if beside(sentence).is_some() {
        return Some(false);
    }
    if signs.has(Sign::Foreign) || is_idle(sentence) || signs.has(Sign::Hedge) && !signs.has(Sign::Remaining) {
        return None;
    }
    if let Some(kind) = labelled(sentence) {
        return Some(kind);
    }
    let label = short_label(sentence);
    // `Force it: `make -B` - when you need to` says how a command is used.
    if label.is_some_and(|(_, rest)| rest.trim_start().starts_with('`')) {
        return None;
    }
    // A remark may mention what is to be done: `Note: it works once the key is set`.
    let is_remark =
        label.is_some_and(|(_, rest)| !Signs::read(rest.trim_start_matches(['*', '_', ' '])).begins(Sign::Next));
    if signs.has(Sign::Next) {
        return (!is_remark).then_some(true);
    }
    signs.has(Sign::Remaining).then_some(false)
}

/// Returns a part of a text up to the end of the next line with words.
fn with_next_line<'a>(text: &'a str, part: &'a str) -> &'a str {
    let begin = part.as_ptr().addr() - text.as_ptr().addr();
    let rest = &text[begin + part.len()..];
    let next = rest.len() - rest.trim_start().len();
    let end = rest[next..].find('\n').map_or(rest.len(), |end| next + end);
    &text[begin..begin + part.len() + end]
}

/// Returns what the label of a sentence announces: `One caveat: the cache is cold`.
fn labelled(sentence: &str) -> Option<bool> {
    short_label(sentence).and_then(|(label, _)| announced_kind(label))
}

/// Returns true if a clause of a sentence presents what follows.
fn presents(sentence: &str) -> bool {
    let mut clauses = sentence.split([',', ';', '—', '–', '-', '.']).map(|clause| clause.trim().to_lowercase());
    clauses.any(|clause| {
        ["below ", "here's ", "here’s ", "here is ", "here are "].iter().any(|lead| clause.starts_with(lead))
    })
}

fn short_label(sentence: &str) -> Option<(&str, &str)> {
    sentence.split_once([':', '：']).filter(|(label, _)| label.split_whitespace().count() <= 3)
}

/// Returns the clause by which changes that do not belong to the work are left as they are.
fn beside(sentence: &str) -> Option<&str> {
    let says = |clause: &str| Signs::read(clause).has(Sign::Beside) && !is_idle(clause);
    let after =
        ["; ", " — ", " – ", ", and ", ", but "].iter().filter_map(|joint| Some(sentence.rsplit_once(joint)?.1));
    after.chain([sentence]).find(|clause| says(clause))
}

/// Returns true for a question, an offer, an announcement, a condition.
fn is_idle(sentence: &str) -> bool {
    let signs = Signs::read(sentence);
    signs.asks() || signs.begins(Sign::Offer) || signs.begins(Sign::Announce) || signs.begins(Sign::Hedge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, bool)]) {
        let found: Vec<_> = leftovers(text).iter().map(|left| (left.text, left.next)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn points_under_a_head_are_what_it_says() {
        check(
            "Done.\n\n## Next steps\n\n1. Tag it\n2. Ship it\n\n## Files\n- a.rs\n",
            &[("Tag it", true), ("Ship it", true)],
        );
        check("**Still open:**\n- the cache\n  - how big\n\nThat is all.\n- no\n", &[("the cache", false)]);
        check("## Next steps\nTag the release and push it.\n", &[("Tag the release and push it.", true)]);
        check("## Remaining\n- [x] one\n- [ ] two\n", &[("two", false)]);
        check("```\n## Next steps\n- no\n```\n", &[]);
        check("## Nächste Schritte\n- Ausliefern\n", &[("Ausliefern", true)]);
        check("## 下一步\n- 发布\n", &[("发布", true)]);
        let docs = "## Next steps\n- Add docs for what already works\n- Parser: already done\n";
        check(docs, &[("Add docs for what already works", true)]);
        for none in ["## Next steps\n- None.\n", "## Next steps\nNone.\n", "Next steps: keine", "## 下一步\n- なし。\n"]
        {
            check(none, &[]);
        }
    }

    #[test]
    fn boxes_marks_and_cells_show_what_is_not_done() {
        check("- [ ] release\n- [x] tests\n- ⏳ docs\n", &[("release", false), ("⏳ docs", false)]);
        check(
            "| Step | Pending |\n|---|---|\n| Parser | ✅ Done |\n| Docs | ⏳ Pending |\n| Release | Not started |\n",
            &[("Docs | ⏳ Pending", false), ("Release | Not started", false)],
        );
        check("### 3. Remaining work\n- the cache\n", &[("the cache", false)]);
        check("## Caveats\n- slow on Windows\n", &[("slow on Windows", false)]);
    }

    #[test]
    fn items_may_be_nested_below_a_label() {
        check(
            "## Notes / next steps\n- It works. A few follow-ups:\n  1. Add a build file\n     - with types\n  2. Drop the flag\n- Tag it\n",
            &[("Add a build file", true), ("Drop the flag", true), ("Tag it", true)],
        );
        check(
            "## 5. Immediate next steps (what you can do now)\n- Run the test - already passes\n- Open the issues\n",
            &[("Open the issues", true)],
        );
    }

    #[test]
    fn a_sentence_may_say_so_itself() {
        check("The upload is not tested on Windows yet.", &[("The upload is not tested on Windows yet.", false)]);
        check("You'll need to rotate the key.", &[("You'll need to rotate the key.", true)]);
        check(
            "If a key was set before, you'll need to remove it.",
            &[("If a key was set before, you'll need to remove it.", true)],
        );
        let lead = "It builds. For a release you need to set these two variables:\n- `KEY`\n- `USER`";
        check(lead, &[("For a release you need to set these two variables", true)]);
        check("Ready to push and deploy!", &[("Ready to push and deploy!", true)]);
        for open in ["I have not run the suite.", "It hasn't been pushed.", "The build could not be verified here."] {
            check(open, &[(open, false)]);
        }
        for (text, open) in [
            ("The jib is committed; the other two files remain unstaged.", "the other two files remain unstaged."),
            ("The remaining files are pre-existing changes.", "The remaining files are pre-existing changes."),
            (
                "Only the mast is in, and the unrelated change was left unstaged.",
                "the unrelated change was left unstaged.",
            ),
        ] {
            check(text, &[(open, false)]);
        }
        check(
            "Done.\n\nStill untracked, untouched:\n\n`jib.log`\nBye.",
            &[("Still untracked, untouched:\n\n`jib.log`", false)],
        );
        for next in ["You'll want to restart the editor.", "It takes effect after you restart the daemon."] {
            check(next, &[(next, true)]);
        }
        for nothing in [
            "Let me know if anything is not done.",
            "Would you like me to do that tomorrow?",
            "If it is not there yet, wait.",
            "The page still works.",
            "All tests pass.",
            "The unrelated file was not committed.",
            "The failures are pre-existing and unrelated.",
            "Shall the other files remain unstaged?",
            "All tests pass and nothing is left to do.",
            "The hook did not run on Windows, so the file was missing.",
            "The guard makes sure that jobs are not started twice.",
            "Let me know if anything is missing.",
            "Next, I'll run the tests.",
            "Redis runs - here's what you need to start elsewhere:\n- `up`",
            "Below is a summary and next steps you may want to take.",
            "Note: the report works once the plugin is installed.",
            "",
        ] {
            check(nothing, &[]);
        }
    }
}
