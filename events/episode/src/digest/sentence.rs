//! Splits an assistant's Markdown into sentences, without code blocks, tables, rules and headings.

use std::rc::Rc;

use crate::lexicon::{Sign, Signs};
use crate::memo;
use baton_conversation::quoted_text as quotation;
use baton_words::WordList;

/// Abbreviations whose full stop does not end a sentence; lower case, without the last stop.
static ABBREVIATIONS: WordList = WordList::new(crate::WORDS, "abbreviations");

/// Maximum number of words of a label before an address.
const LABEL_WORDS: usize = 2;

/// One sentence, as a slice of its text (it may span a soft line break).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sentence<'a> {
    /// The sentence without list marker, trimmed, never empty.
    pub(super) text: &'a str,
    /// The heading, label or line with a colon that it stands below; empty if there is none.
    pub(super) head: &'a str,
    /// True for a list item.
    pub(super) point: bool,
    /// True for someone else's words: after `>`, or inside quotation marks.
    pub(super) quoted: bool,
}

/// Returns true for a question about what holds or was decided, unlike one about something that happened.
pub fn asks_what_holds(text: &str) -> bool {
    let signs = Signs::read(text);
    (signs.asks() || signs.has(Sign::Question))
        && (!signs.has(Sign::PastQuestion) || signs.has_any(&[Sign::Choose, Sign::Replace]))
}

/// Returns the sentences that say that something was replaced or is no longer in use.
pub fn replacements(text: &str) -> impl Iterator<Item = &str> {
    let says_so =
        |sentence: &str| Signs::read(sentence).has_any(&[Sign::Contrast, Sign::Choose, Sign::Replace, Sign::Ended]);
    sentences(text).into_iter().map(|sentence| sentence.text).filter(move |sentence| says_so(sentence))
}

/// Returns the clauses of a person, who may not begin sentences with a capital. Quotations, and what is announced as
/// somebody else's (`here is the log:`), are skipped.
pub fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let sentences = sentences(text).into_iter().filter(|sentence| !sentence.quoted);
    let sentences =
        sentences.flat_map(|sentence| sentence.text.split(". ")).flat_map(|text| text.split_inclusive(":\n"));
    let clauses = sentences.map(str::trim).filter(|clause| clause.chars().any(char::is_alphanumeric));
    let mut is_pasted = false;
    clauses.take_while(move |clause| {
        let was_pasted = is_pasted;
        is_pasted |= clause.ends_with(':') && Signs::read(clause).has(Sign::Quote);
        !was_pasted
    })
}

/// Returns true if any sentence of a text is a question.
pub(super) fn asks(text: &str) -> bool {
    sentences(text).iter().any(|sentence| Signs::read(sentence.text).asks())
}

/// Longest text whose sentences are kept, in bytes: nearly every message.
const KEPT_BYTES: usize = 8 * 1024;

/// Byte ranges of a sentence in its text.
#[derive(Clone, Copy, Debug)]
struct SentenceRange {
    text: (u32, u32),
    head: (u32, u32),
    point: bool,
    quoted: bool,
}

impl SentenceRange {
    fn new(text: &str, sentence: &Sentence<'_>) -> Self {
        let place = |part: &str| match part.is_empty() {
            true => (0, 0),
            false => {
                let at = part.as_ptr().addr() - text.as_ptr().addr();
                (at as u32, (at + part.len()) as u32)
            }
        };
        let Sentence { text: said, head, point, quoted } = *sentence;
        Self { text: place(said), head: place(head), point, quoted }
    }

    fn sentence(self, text: &str) -> Sentence<'_> {
        let part = |(from, to): (u32, u32)| &text[from as usize..to as usize];
        Sentence { text: part(self.text), head: part(self.head), point: self.point, quoted: self.quoted }
    }
}

/// Returns all sentences in order. Linear in the length of `text`.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    if text.len() > KEPT_BYTES {
        return split_text(text);
    }
    let places: Rc<[SentenceRange]> = memo::remembered(text, |text| {
        split_text(text).iter().map(|sentence| SentenceRange::new(text, sentence)).collect()
    });
    places.iter().map(|place| place.sentence(text)).collect()
}

fn split_text(text: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut block: Option<Block<'_>> = None;
    let mut heads = Heads::default();
    for (from, line, is_code) in lines(text) {
        let end = from + line.len();
        let bare = line.trim();
        if is_code || is_decoration(bare) {
            heads.flush(text, &mut block, &mut found);
            if !is_code && bare.starts_with(['#', '*']) && bare.contains(char::is_alphanumeric) {
                heads = Heads { heading: bare, label: bare };
            }
            continue;
        }
        if let Some(marker) = list_marker(bare) {
            heads.flush(text, &mut block, &mut found);
            let indent = line.len() - line.trim_start().len();
            let quoted = bare.starts_with('>');
            block = Some(Block { begin: from + indent + marker, end, head: heads.label, point: true, quoted });
            continue;
        }
        let ends_quote = block.as_ref().is_some_and(|block| block.quoted) && !bare.starts_with('>');
        if ends_quote || is_bold_item(bare) {
            heads.flush(text, &mut block, &mut found);
        }
        block = Some(match block {
            Some(block) => Block { end, ..block },
            None => {
                let quoted = bare.starts_with('>') || bare.starts_with("//");
                Block { begin: from, end, head: heads.heading, point: false, quoted }
            }
        });
    }
    heads.flush(text, &mut block, &mut found);
    mark_quoted(text, &mut found);
    found
}

/// Returns the lines of a text with their places, and whether they belong to a block of code.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fence: Option<&str> = None;
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let from = start;
        start += line.len();
        let bare = line.trim();
        let was_code = fence.is_some();
        match fence {
            Some(mark) if bare.starts_with(mark) => fence = None,
            Some(_) => {}
            None => fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)),
        }
        (from, line, was_code || fence.is_some())
    })
}

/// Consecutive lines of one paragraph or item, in bytes.
struct Block<'a> {
    begin: usize,
    end: usize,
    head: &'a str,
    point: bool,
    quoted: bool,
}

/// Marks sentences that are entirely inside quotation marks.
fn mark_quoted(text: &str, found: &mut [Sentence<'_>]) {
    let passages = quotation::passages(text);
    let mut passages = passages.iter().peekable();
    for sentence in found {
        let begin = sentence.text.as_ptr().addr() - text.as_ptr().addr();
        while passages.next_if(|passage| passage.end <= begin).is_some() {}
        // The closing stop may follow the quotation mark.
        let last = begin + sentence.text.trim_end_matches(['.', '!', '?', ' ']).len();
        sentence.quoted |= passages.peek().is_some_and(|passage| passage.start <= begin && last <= passage.end);
    }
}

/// Returns true for a sentence of addresses with at most a label.
pub(super) fn is_of_links(text: &str) -> bool {
    let is_address = |word: &&str| word.contains("://");
    text.contains("://") && text.split_whitespace().filter(|word| !is_address(word)).count() <= LABEL_WORDS
}

/// Strips marks of emphasis outside of code, and the targets of links. A single word between two underscores is a name:
/// `__init__`.
pub(super) fn plain(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => without_underscores(&part.replace("**", "")),
        _ => part.to_owned(),
    });
    let text = parts.collect::<Vec<_>>().join("`");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, label, after)) = link(rest) {
        out.push_str(before);
        out.push_str(label);
        rest = after;
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// Strips double underscores around several words.
fn without_underscores(text: &str) -> String {
    let parts: Vec<&str> = text.split("__").collect();
    let mut out = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        let joins = |at: usize| at % 2 == 1 && at + 1 < parts.len() && parts[at].trim().contains(' ');
        if at > 0 && !joins(at) && !joins(at - 1) {
            out.push_str("__");
        }
        out.push_str(part);
    }
    out
}

/// Returns the number of words outside of code spans.
pub(super) fn words_of_prose(text: &str) -> usize {
    let prose = text.split('`').step_by(2).flat_map(str::split_whitespace);
    prose.filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Splits a text at its first link: what stands before it, its label, what follows.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let middle = text.find("](")?;
    let begin = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    let target = &text[middle + 2..end];
    (!target.contains(char::is_whitespace)).then(|| (&text[..begin], &text[begin + 1..middle], &text[end + 1..]))
}

/// Returns true for a line without a sentence: blank, heading, table row, rule, a lone quote mark, a bold label.
pub(super) fn is_decoration(line: &str) -> bool {
    let heading = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let rule = line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '>' | ' ' | '─' | '━'));
    let label = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    // The stop in `a.rs` ends no sentence.
    let leads = line.trim_end_matches('*').ends_with(':');
    let prose = |inner: &str| inner.split('`').step_by(2).collect::<String>();
    let says = |inner: &str| match leads || !prose(inner).contains(char::is_alphanumeric) {
        true => prose(inner),
        false => inner.to_owned(),
    };
    let label = label.is_some_and(|inner| !inner.contains("**") && !says(inner).contains(['.', '!', '。']));
    heading || rule || line.starts_with('|') || label
}

/// Returns the length of a list marker with the blanks after it: `- `, `* `, `• `, `12. `, `3) `, `> `, with a task
/// box.
pub(super) fn list_marker(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if (1..=3).contains(&digits) {
        line[digits..].strip_prefix(['.', ')'])?
    } else {
        line.strip_prefix(['-', '*', '+', '•', '>'])?
    };
    let body = rest.trim_start();
    if body.len() == rest.len() {
        return None;
    }
    let body = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| body.strip_prefix(mark)).unwrap_or(body);
    Some(line.len() - body.len())
}

/// Returns true for `**2. Jib** is new`, a paragraph of its own.
fn is_bold_item(line: &str) -> bool {
    let bold = line.strip_prefix("**").filter(|bold| bold.starts_with(|c: char| c.is_ascii_digit()));
    bold.is_some_and(|bold| list_marker(bold).is_some())
}

/// The text above the next block.
#[derive(Default)]
struct Heads<'a> {
    heading: &'a str,
    /// The heading, or the paragraph after it that introduces a list.
    label: &'a str,
}

impl<'a> Heads<'a> {
    fn flush(&mut self, text: &'a str, block: &mut Option<Block<'a>>, found: &mut Vec<Sentence<'a>>) {
        let Some(block) = block.take() else { return };
        let told = &text[block.begin..block.end];
        if !block.point {
            let introduces = told.trim_end().trim_end_matches('*').ends_with([':', '：']);
            self.label = if introduces { told.trim() } else { self.heading };
        }
        split(told, &block, found);
    }
}

/// Splits one paragraph or item.
fn split<'a>(block: &'a str, of: &Block<'a>, found: &mut Vec<Sentence<'a>>) {
    let mut push = |text: &'a str| {
        let text = text.trim();
        if text.chars().any(char::is_alphanumeric) {
            found.push(Sentence { text, head: of.head, point: of.point, quoted: of.quoted });
        }
    };
    let mut start = 0;
    let mut code_until = 0;
    let mut chars = block.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if at < code_until {
            continue;
        }
        if c == '`' {
            // A backtick without a partner in the next few hundred bytes is ordinary text.
            let window = &block.as_bytes()[at + 1..block.len().min(at + 400)];
            code_until = memchr::memchr(b'`', window).map_or(0, |partner| at + 1 + partner + 1);
            continue;
        }
        let wide = matches!(c, '。' | '！' | '？');
        if !wide && !matches!(c, '.' | '!' | '?') {
            continue;
        }
        // Further stops and closing marks belong to the sentence.
        let mut end = at + c.len_utf8();
        while let Some(&(next, c)) = chars.peek() {
            if !matches!(
                c,
                '.' | '!' | '?' | '。' | '！' | '？' | '"' | '\'' | ')' | ']' | '*' | '”' | '’' | '」' | '』'
            ) {
                break;
            }
            end = next + c.len_utf8();
            chars.next();
        }
        if wide || (followed_by_a_start(&block[end..]) && !(c == '.' && is_abbreviation(&block[start..at]))) {
            push(&block[start..end]);
            start = end;
        }
    }
    push(&block[start..]);
}

/// Returns true if a stop is followed by the end, or by white space and anything but a lower-case letter.
fn followed_by_a_start(rest: &str) -> bool {
    let next = rest.trim_start();
    next.is_empty() || (next.len() < rest.len() && !next.starts_with(char::is_lowercase))
}

/// Returns true if the text before a stop ends in an abbreviation, an initial, or the number of a list item (`: 1.`).
pub(super) fn is_abbreviation(before: &str) -> bool {
    let split = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"');
    let (rest, word) = match before.rfind(split) {
        Some(at) => (before[..at].trim_end(), before[at..].trim_start_matches(split)),
        None => ("", before),
    };
    let word = word.trim_start_matches('*');
    let mut chars = word.chars();
    let initial = matches!((chars.next(), chars.next()), (Some(c), None) if c.is_uppercase() && c != 'I');
    let number = (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    let point = number && (rest.is_empty() || rest.ends_with([':', ';', ',', '.', '!', '?', ')', '-']));
    initial || point || (word.len() <= 6 && ABBREVIATIONS.has(&word.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = sentences(text).iter().map(|s| s.text).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn sentences_are_the_same_however_often_they_are_asked_for() {
        let text = "## Jib\n\nIt turns. It lifts:\n- one\n- two\n\n> Said he. \"Quite so.\"\n".to_owned();
        let again = text.clone();
        let _memo = crate::memo::Memo::new(4);
        for text in [&text, &again, &text, &format!("{text}And more."), &again] {
            let found = sentences(text);
            assert_eq!(found, split_text(text));
            let within = text.as_bytes().as_ptr_range();
            assert!(found.iter().all(|one| within.contains(&one.text.as_ptr())), "slices of the text that was given");
        }
    }

    #[test]
    fn a_stop_ends_a_sentence_only_where_a_reader_says_so() {
        check("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]);
        check("Use serde 1.2.3 in src/lib.rs. Then run it.", &["Use serde 1.2.3 in src/lib.rs.", "Then run it."]);
        check("Tools, e.g. Cargo, i.e. It. Done.", &["Tools, e.g. Cargo, i.e. It.", "Done."]);
        check("See Fig. 2 by J. Doe et al. for it.", &["See Fig. 2 by J. Doe et al. for it."]);
        check("Wait... what? Yes.", &["Wait... what?", "Yes."]);
        check("Call `a. B. c` now. End.", &["Call `a. B. c` now.", "End."]);
        check("A stray ` tick. Then more.", &["A stray ` tick.", "Then more."]);
        check("He said \"done.\" Then left.", &["He said \"done.\"", "Then left."]);
        check("**All green.** Next step.", &["**All green.**", "Next step."]);
        check("修正しました。テストは通ります！本当？", &["修正しました。", "テストは通ります！", "本当？"]);
        check(
            "Explain: 1. How it works, 2. Why. Go to step 3. Then",
            &["Explain: 1. How it works, 2. Why.", "Go to step 3.", "Then"],
        );
        check("and I. Then", &["and I.", "Then"]);
        check("**1. `a.rs`** is new.", &["**1. `a.rs`** is new."]);
        check("...", &[]);
        check("", &[]);
    }

    #[test]
    fn markdown_that_is_no_sentence_is_left_out() {
        check("# Title\n\nText one\ngoes on. And two.\n\n---\n", &["Text one\ngoes on.", "And two."]);
        check("Before:\n```rust\nlet a = 1. Then;\n```\nAfter.", &["Before:", "After."]);
        check("Never closed:\n```\ncode. Code.", &["Never closed:"]);
        check("| a | b |\n|---|---|\n| c. D | e |\nText.", &["Text."]);
        check("**Summary:**\nText.", &["Text."]);
        check("- one. Two\n- [x] three\n1. four\n12) five", &["one.", "Two", "three", "four", "five"]);
        check("-not a list. 2.5 is a number", &["-not a list.", "2.5 is a number"]);
    }

    #[test]
    fn what_is_quoted_is_marked() {
        let text = "It says: \"We use a. We keep b. We drop c.\" I do.\n> Theirs. Too.\nstill\n\nMine.\n\"All of it is theirs.\"";
        let marks: Vec<_> = sentences(text).iter().map(|s| (s.text, s.quoted)).collect();
        assert_eq!(
            marks,
            [
                ("It says: \"We use a.", false),
                ("We keep b.", true),
                ("We drop c.\"", true),
                ("I do.", false),
                ("Theirs.", true),
                ("Too.", true),
                ("still", false),
                ("Mine.", false),
                ("\"All of it is theirs.\"", true),
            ]
        );
    }

    #[test]
    fn a_sentence_knows_what_it_stands_below() {
        let text = "One.\n## Head\nTwo. Three:\n- four\n- five\n\nSix.\n- seven\n**Label:**\n- eight";
        let heads: Vec<_> = sentences(text).iter().map(|s| (s.text, s.head)).collect();
        let introduced = "Two. Three:";
        assert_eq!(
            heads,
            [
                ("One.", ""),
                ("Two.", "## Head"),
                ("Three:", "## Head"),
                ("four", introduced),
                ("five", introduced),
                ("Six.", "## Head"),
                ("seven", "## Head"),
                ("eight", "**Label:**"),
            ]
        );
    }

    #[test]
    fn what_a_person_has_from_elsewhere_is_not_theirs() {
        let check = |text: &str, expected: &[&str]| assert_eq!(clauses(text).collect::<Vec<_>>(), expected, "{text:?}");
        check("Do it.\n> Always use Docker.\nWhy?", &["Do it.", "Why?"]);
        check("Here is a README I found:\nAlways use Docker.\n\nNever mind.", &["Here is a README I found:"]);
        check("Look. The log says:\n\nuse x instead", &["Look.", "The log says:"]);
        check("Note:\nkeep it", &["Note:", "keep it"]);
    }

    #[test]
    fn points_of_lists_are_marked() {
        let marks: Vec<_> = sentences("Did it:\n- a\n  more\n\nEnd.").iter().map(|s| (s.text, s.point)).collect();
        assert_eq!(marks, [("Did it:", false), ("a\n  more", true), ("End.", false)]);
    }
}
