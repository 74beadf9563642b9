//! The clauses of a prompt, and which of them says what is wanted.

use std::ops::Range;

use super::excerpt::head;
use super::label::{MIN_WORDS, count, is_loose};
use super::sentence::{is_abbreviation, sentences};
use super::{is_courtesy, is_greeting, without_salutation};
use crate::lexicon::{Sign, Signs};
use baton_conversation::filter::pasted_line;
use baton_words::WordList;

/// Maximum number of words of a prompt that only gives an order (`commit all`).
const ORDER_WORDS: usize = 4;

/// Number of first sentences of a prompt in which the request is looked for.
const MAX_SENTENCES: usize = 8;
/// Only this much of a sentence is read, in bytes.
const MAX_SENTENCE_BYTES: usize = 2_000;
/// More content words make no clause better.
const MAX_CONTENT: usize = 5;
/// Number of places of a line where output may begin.
const MAX_TAGS: usize = 64;
/// Number of first words in which a word that only points counts.
const POINTING_WORDS: usize = 4;
/// Separators of clauses.
const SEPARATORS: [&str; 9] = [" and ", ", but ", " but ", ", ", " so ", " - ", " — ", ": ", "; "];
/// Beginnings of a clause that says of something else how it should be, and of an offer.
const SUBJECTLESS: [&str; 5] = ["you can", "should ", "must ", "need to ", "needs to "];
/// Beginnings of a clause that says what is not to be done.
pub(super) const NEGATIONS: [&str; 4] = ["don't ", "don’t ", "do not ", "never "];
/// Words that lead to a request wherever they stand.
static REQUESTS: WordList = WordList::new(crate::WORDS, "requests");
/// Words before a request that say nothing.
static LEADS: WordList = WordList::new(crate::WORDS, "request leads");
/// Words before a report that say nothing.
static REPORTS: WordList = WordList::new(crate::WORDS, "reports");
/// Words that name no matter.
static GENERAL: WordList = WordList::new(crate::WORDS, "general verbs");

/// A clause of a prompt without its lead.
pub(super) struct Clause<'a> {
    pub(super) text: &'a str,
    /// The same up to the end of its sentence.
    pub(super) rest: &'a str,
    /// True if it asks for something in words of its own.
    pub(super) asks: bool,
    /// True if it begins with an order such as `look`, `fix`.
    pub(super) orders: bool,
    pub(super) troubles: bool,
    /// True if it says what is not to be done.
    negates: bool,
    /// True if it points to something that stands elsewhere: `fix these`.
    points: bool,
    /// Number of words of substance.
    pub(super) content: usize,
}

impl Clause<'_> {
    /// Returns true if it wants something that stands elsewhere.
    pub(super) fn asks_for_pointed(&self) -> bool {
        self.points && (self.asks || self.orders)
    }
}

/// Returns the first sentences of a prompt that are its author's, each on one line. In a prompt a sentence may begin with a small
/// letter.
pub(super) fn own_sentences(text: &str) -> Vec<String> {
    let own = sentences(before_log(text)).into_iter().filter(|sentence| !sentence.quoted);
    let own = own.flat_map(|sentence| {
        let mut rest = Some(head(sentence.text, MAX_SENTENCE_BYTES));
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let stops = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
            let end = stops.filter(|end| text[*end..].starts_with(' ')).find(|end| {
                let word = text[..end - 1].rsplit(' ').next().unwrap_or_default();
                word.chars().count() > 2 && word.chars().all(char::is_alphabetic) && !is_abbreviation(&text[..end - 1])
            });
            rest = end.map(|end| &text[end..]);
            Some(&text[..end.unwrap_or(text.len())])
        })
    });
    // A backslash before a line end is how a terminal encodes a line break.
    let words = |sentence: &str| sentence.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
    own.take(MAX_SENTENCES).map(|sentence| words(sentence).trim_end_matches('\\').to_owned()).collect()
}

/// Returns true if a prompt asks for something, orders or reports trouble.
pub(super) fn wants(text: &str) -> bool {
    let wants = |clause: Clause<'_>| clause.asks || clause.orders || clause.troubles;
    own_sentences(text).iter().any(|own| clauses(own).into_iter().any(wants))
}

/// Returns true if a prompt has a question.
pub(super) fn questions(text: &str) -> bool {
    own_sentences(text).iter().any(|own| Signs::read(own).asks())
}

/// Returns the clause to be shown: of those that ask the one that says most, else one that reports trouble, else the first.
/// None if what is asked only points, or if `is_pasted` output says more than the words before it.
pub(super) fn choose<'c, 'a>(clauses: &'c [Clause<'a>], is_pasted: bool) -> Option<&'c Clause<'a>> {
    let telling =
        || clauses.iter().filter(|clause| !clause.points && count(clause.text) >= MIN_WORDS && clause.content > 0);
    let most = |of: &dyn Fn(&&Clause<'_>) -> bool| {
        let found = telling().filter(|clause| of(clause));
        found.rev().max_by_key(|clause| clause.content.min(MAX_CONTENT))
    };
    // What is not to be done limits what is to be done.
    let asked = most(&|clause| clause.asks && !clause.negates && clause.content > 1)
        .or_else(|| most(&|clause| clause.asks && !clause.negates));
    let ordered = |fewest: usize| most(&|clause| clause.orders && clause.content >= fewest);
    let points = || is_pasted || clauses.iter().any(Clause::asks_for_pointed);
    let begins = |clause: &&Clause<'_>| !clause.text.split_whitespace().next().is_some_and(is_loose);
    let told = || telling().filter(|clause| !clause.orders);
    let first = || if points() { None } else { told().find(begins).or_else(|| told().next()) };
    asked
        .or_else(|| telling().find(|clause| clause.troubles))
        .or_else(|| ordered(2))
        .or_else(first)
        .or_else(|| ordered(1))
        .or_else(|| most(&|clause| clause.asks))
}

/// Splits a sentence into clauses.
pub(super) fn clauses(sentence: &str) -> Vec<Clause<'_>> {
    let sentence = without_salutation(sentence);
    let mut ends: Vec<(usize, usize)> = SEPARATORS
        .iter()
        .flat_map(|mark| sentence.match_indices(mark))
        .map(|(at, mark)| (at, at + mark.len()))
        .filter(|(_, next)| !sentence[*next..].starts_with("that "))
        .filter(|(at, _)| sentence[..*at].matches(['"', '`']).count().is_multiple_of(2))
        .collect();
    ends.sort_unstable();
    ends.push((sentence.len(), sentence.len()));
    let mut found = Vec::new();
    let mut from = 0;
    for (end, next) in ends.into_iter().filter(|(end, next)| end < next || *end == sentence.len()) {
        if end < from {
            continue;
        }
        let (text, kind) = split_lead(&sentence[from..end]);
        let begins = end - text.len();
        let signs = Signs::read(text);
        let reports = kind == Lead::Report;
        // What is to be told stands in another clause.
        let is_for_words = ["give me ", "tell me "].iter().any(|start| text.starts_with(start));
        found.push(Clause {
            text,
            rest: &sentence[begins..],
            asks: !is_for_words && kind == Lead::Request
                || signs.begins(Sign::Direct) && !reports && !SUBJECTLESS.iter().any(|start| text.starts_with(start)),
            orders: (signs.begins(Sign::Order) || begins_with_a_pointer(text)) && !reports,
            negates: NEGATIONS.iter().any(|word| text.to_lowercase().starts_with(word)),
            troubles: signs.has(Sign::Trouble),
            points: points(text),
            content: content(text),
        });
        from = next;
    }
    // `Don't use the winch, use the crane` tells only how.
    for at in 1..found.len() {
        let alternates = found[at - 1].negates && Signs::read(found[at].text).begins(Sign::Direct);
        found[at].asks &= !alternates;
        found[at].points |= alternates;
    }
    // What is not to be done is no matter where the rest is.
    for at in 1..found.len() {
        let before = sentence[..sentence.len() - found[at].rest.len()].trim_end();
        let own = found[at].text.strip_prefix("but ");
        let is_joined = own.is_some() || before.ends_with(", but");
        let own = own.unwrap_or(found[at].text);
        let signs = Signs::read(own);
        let asks = [Sign::Direct, Sign::Order, Sign::Request].iter().any(|sign| signs.begins(*sign));
        if is_joined && asks && found[at].content > 0 && found[at - 1].negates {
            found[at].rest = &found[at].rest[found[at].text.len() - own.len()..];
            (found[at].text, found[at].asks) = (own, true);
            (found[at - 1].asks, found[at - 1].content) = (false, 0);
        }
    }
    // A lead with few words of its own stands for what follows it.
    for at in 1..found.len() {
        let is_lead = sentence[..sentence.len() - found[at].rest.len()].trim_end().ends_with(':');
        let (asks, content) = (found[at - 1].asks || found[at - 1].orders, found[at - 1].content);
        if is_lead && content <= 2 && found[at].content > content {
            found[at].asks |= asks;
            found[at - 1].content = 0;
        }
    }
    found
}

/// Returns true for an order about what stands elsewhere: `update them`.
fn begins_with_a_pointer(clause: &str) -> bool {
    let mut words = clause.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    !is_loose(first) && is_pointer(second)
}

/// Returns true for a word that stands for what was said or shown elsewhere.
pub(super) fn is_pointer(word: &str) -> bool {
    word.trim_end_matches(|c: char| c.is_ascii_punctuation()).eq_ignore_ascii_case("it")
        || Signs::read(word).has(Sign::Pointer)
}

/// Returns true if a clause names its matter by a word that points elsewhere.
fn points(clause: &str) -> bool {
    let words: Vec<&str> = clause.split_whitespace().take(POINTING_WORDS).collect();
    words.iter().skip(1).take(2).any(|word| is_pointer(word)) || Signs::read(&words.join(" ")).has(Sign::Pointer)
}

/// Returns the number of words that name something.
pub(super) fn content(clause: &str) -> usize {
    let words = clause.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let wide = clause.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).count() / 2;
    let named = words.filter(|word| word.len() > 3 && word.is_ascii() && !GENERAL.has(&word.to_lowercase()));
    named.count() + wide + clause.matches(['"', '`']).count() / 2
}

/// Strips the command before a request that says by itself what is wanted: `/plan mend the winch`.
pub(super) fn without_command(text: &str) -> &str {
    let command = text.strip_prefix('/').and_then(|rest| rest.split_once(char::is_whitespace));
    let begins = |rest: &str| clauses(rest).first().is_some_and(|first| first.asks || first.orders);
    let tells = |(name, rest): &(&str, &str)| *name == "plan" || !name.contains(['/', '.']) && begins(rest);
    let request = command.filter(tells).map(|(_, rest)| rest.trim_start());
    request.filter(|rest| count(rest) >= MIN_WORDS).unwrap_or(text)
}

/// Returns true if a prompt asks for something to be made or changed, and asks no question.
pub(super) fn asks_for_work(text: &str) -> bool {
    let asks = |clause: Clause<'_>| clause.asks && !clause.negates && !Signs::read(clause.text).begins(Sign::Look);
    !questions(text) && own_sentences(text).iter().any(|own| clauses(own).into_iter().any(asks))
}

/// Returns true if a prompt only has something looked at: `read the plan`, `inspect the winch, do not edit yet`.
pub(super) fn only_looks(text: &str) -> bool {
    let own = own_sentences(text);
    let all: Vec<Clause<'_>> = own.iter().flat_map(|own| clauses(own)).collect();
    let looks = |clause: &Clause<'_>| Signs::read(clause.text).begins(Sign::Look);
    let wants = |clause: &Clause<'_>| clause.asks || clause.orders || clause.troubles;
    let is_idle = |clause: &Clause<'_>| looks(clause) || clause.negates || !wants(clause);
    all.first().is_some_and(looks) && all.iter().all(is_idle) && !questions(text)
}

/// Returns what stands before the first line that looks like output, or what is said behind a block that stands first.
pub(super) fn before_log(text: &str) -> &str {
    let text = without_leading_block(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let prints = at > 0 && (is_output(bare) || bare.starts_with("```") && text[..at].trim_end().ends_with(':'));
        if prints {
            let before = &text[..at];
            // The output may begin on the line of the words.
            let line = before.trim_end().rfind('\n').map_or(0, |end| end + 1);
            let begun = before[line..]
                .match_indices(" [")
                .take(MAX_TAGS)
                .find(|(place, _)| is_output(&before[line + place + 1..]));
            let end = if line == 0 { begun.map_or(at, |(place, _)| place) } else { at };
            let own = text[..end].trim_end();
            return if count(own) > 1 { own } else { text };
        }
        at += line.len();
    }
    text
}

/// Returns the request behind a block of output, code or data that a prompt begins with: of what stands outside of such
/// blocks the first part that asks, or else the first of substance; all of it if there is none.
fn without_leading_block(text: &str) -> &str {
    let begins = text.lines().map(str::trim).find(|line| !line.is_empty()).is_some_and(is_block);
    if !begins {
        return text;
    }
    let error = pasted_line(text).unwrap_or_default();
    let (mut parts, mut at, mut is_fenced, mut is_within): (Vec<Range<usize>>, _, _, _) = (Vec::new(), 0, false, true);
    for line in text.split_inclusive('\n') {
        let (from, bare) = (at, line.trim());
        at += line.len();
        let is_fence = bare.starts_with("```");
        is_fenced ^= is_fence;
        let continues = is_within && !bare.is_empty() && (line.starts_with([' ', '\t']) || error.ends_with(bare));
        if is_fence || is_fenced || is_block(bare) || continues {
            is_within = true;
        } else if !bare.is_empty() && std::mem::take(&mut is_within) {
            parts.push(from..at);
        } else if let Some(part) = parts.last_mut().filter(|_| !is_within) {
            part.end = at;
        }
    }
    let mut parts = parts.into_iter().map(|part| text[part].trim()).filter(|part| count(part) > 1);
    let asks = |part: &&str| wants(part) || questions(part);
    let tells = |part: &&str| has_substance(part) && !is_courtesy(part);
    parts.clone().find(asks).or_else(|| parts.find(tells)).unwrap_or(text)
}

/// Returns true for a line of a block: a fence, output, a line of data, of markup, of a table, of a terminal.
fn is_block(line: &str) -> bool {
    let begins = ["```", "$ ", "> ", "❯", "│", "└", "├", "┌", "|"].iter().any(|start| line.starts_with(start));
    let is_markup = line.starts_with('<') && line.ends_with('>');
    let inner = line.strip_prefix(['{', '[']).map(str::trim_start);
    let is_data = line.starts_with(['}', ']'])
        || inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(['"', '{', '[']));
    begins || is_markup || is_data || is_output(line)
}

/// Returns true for a line that a program prints: `[tag] …`, a time, a frame of a trace, a line of a diff, an error.
fn is_output(line: &str) -> bool {
    let tagged = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_tag = |(tag, rest): (&str, &str)| {
        !tag.trim().is_empty()
            && tag.len() <= 40
            && !rest.starts_with('(')
            && !tag.starts_with("Image #")
            && !tag.starts_with("redacted:")
    };
    let timed = line.len() > 8 && line.bytes().take(8).all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-' | b'.'));
    let begins = ["at ", "diff --git", "@@ ", "Traceback", "error:", "error[", "Error:", "npm ERR", "fatal:"];
    tagged.is_some_and(is_tag)
        || timed
        || line.starts_with(['➜', '❯'])
        || begins.iter().any(|start| line.starts_with(start))
}

/// Returns true if a prompt says what the session is about: it is no mere agreement or order, and no path.
pub(super) fn has_substance(text: &str) -> bool {
    let words = count(text);
    let signs = Signs::read(text);
    let wide = !text.is_ascii() && text.chars().count() >= 6;
    let only_order = words <= ORDER_WORDS && (signs.begins(Sign::Order) || signs.begins(Sign::Assent));
    (words >= MIN_WORDS || wide) && !only_order && !is_courtesy(text) && !is_greeting(text)
}

/// Strips a greeting and the politeness with which a text begins.
pub(super) fn without_politeness(text: &str) -> &str {
    let text = without_salutation(text);
    let lower = text.to_lowercase();
    let begins = REQUESTS.iter().any(|lead| lower.strip_prefix(lead).is_some_and(|rest| rest.starts_with(' ')));
    if begins { split_lead(text).0 } else { text }
}

/// What stands before the words of a clause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    None,
    Request,
    Report,
}

/// Strips everything that says nothing before a request or a report.
pub(super) fn without_lead(text: &str) -> &str {
    split_lead(text).0
}

/// Strips a greeting, politeness and everything else before the request.
fn split_lead(text: &str) -> (&str, Lead) {
    let text = without_salutation(text).trim_start();
    // The leads are ASCII, and so the places are the same in both.
    let lower = text.to_ascii_lowercase();
    let lower = lower.as_str();
    let is_start = |at: &usize| lower[..*at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    let starts = lower.char_indices().map(|(at, _)| at).filter(is_start);
    let ends = starts.flat_map(|at| {
        REQUESTS.iter().filter(move |lead| lower[at..].starts_with(**lead)).map(move |lead| at + lead.len())
    });
    let follows = |end: &usize| {
        lower[*end..].starts_with([' ', ',']) && !lower[*end..].starts_with(" not ") && count(&text[*end..]) >= 2
    };
    let end = ends.filter(follows).min();
    let mut kind = if end.is_some() { Lead::Request } else { Lead::None };
    let mut rest = end.map_or(text, |end| text[end..].trim_start_matches([' ', ',']));
    for _ in 0..4 {
        let lower = rest.to_ascii_lowercase();
        let begins = |lead: &&&str| lower.strip_prefix(**lead).is_some_and(|after| after.starts_with([' ', ',']));
        let report = REPORTS.iter().find(begins);
        let Some(after) = report.or_else(|| LEADS.iter().find(begins)).and_then(|lead| rest.get(lead.len()..)) else {
            break;
        };
        let after = after.trim_start_matches([' ', ',']);
        if after.is_empty() || after.starts_with("not ") {
            break;
        }
        kind = if report.is_some() && kind == Lead::None { Lead::Report } else { kind };
        rest = after;
    }
    (rest, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let own = before_log(text);
        let sentences = sentences(own);
        let clauses: Vec<Clause<'_>> = sentences.iter().flat_map(|sentence| clauses(sentence.text)).collect();
        let chosen = choose(&clauses, own.len() < text.len()).map(|clause| super::super::label::label(clause.rest));
        assert_eq!(chosen.as_deref().unwrap_or_default(), expected, "{text:?}");
    }

    #[test]
    fn the_clause_that_asks_and_names_its_matter_is_chosen() {
        check("Hey Claude, can you please help me to grease the winch of crane 7?", "Grease the winch of crane 7");
        check(
            "Can you use these cranes better, I need to find the right hook by weight",
            "Find the right hook by weight",
        );
        check(
            "We moved the mast. The winch is broken since then. Have a look at the plan.",
            "The winch is broken since then",
        );
        check("We have a plan so we should replace the winch by a jack", "Replace the winch by a jack");
        check(
            "Look at this, I would like to join the logic: lift the longest mast first",
            "Lift the longest mast first",
        );
        check("Someone asks why the mast is bent. Can you give me the reasons?", "Someone asks why the mast is bent");
        check("Align the words - use \"Lift all\" only in that view", "Use \"Lift all\" only in that view");
        check("Don't remove the old winch, but add a new winch next to it", "Add a new winch next to it");
        check("Don't remove the old winch, it is still in use", "Don't remove the old winch");
        // What only points, and output, is no title.
        check("please fix these", "");
        check("Could you replace them with a jack?", "");
        check("Two cranes lift each other. Please repair it:\n- `sh lift.sh` shows it;\n- 4 tons are enough", "");
        check("Got stuck:\n[crane] turning left\n[crane] error: the mast is bent", "");
    }

    #[test]
    fn output_is_no_part_of_what_was_said() {
        for (text, own) in [
            ("It stops with these errors: [Winch] begun: 5\n[Winch] over\n", "It stops with these errors:"),
            ("It stops here:\n```\nlift(3)\n```", "It stops here:"),
            ("Why does it stop?\nerror: no such hook", "Why does it stop?"),
            ("[Image #1] The mast is bent\nand red", "[Image #1] The mast is bent\nand red"),
            ("See [the plan](a.md)\nand [the other](b.md)", "See [the plan](a.md)\nand [the other](b.md)"),
            ("no\n[Winch] over", "no\n[Winch] over"),
            ("[Winch] turning\n[Winch] error: no hook\n\nWhy does it stop?", "Why does it stop?"),
            (
                "Traceback (most recent call last):\n  File \"a.py\"\nValueError: bent\nPlease repair it",
                "Please repair it",
            ),
            ("```\nlift(3)\n```\nMake that faster\nand safer", "Make that faster\nand safer"),
            ("{\n  \"tons\": 3\n}\nRead this from a file", "Read this from a file"),
            ("error: bent\nTurn it left\n```\nturn(1)\n```\nas shown", "Turn it left"),
            ("[the plan](a.md) says so\nand [the other](b.md)", "[the plan](a.md) says so\nand [the other](b.md)"),
            ("error: bent", "error: bent"),
            ("The key is\n[redacted:token], hide it", "The key is\n[redacted:token], hide it"),
        ] {
            assert_eq!(before_log(text), own);
        }
        assert_eq!(without_politeness("Hi Bob, could you please turn it?"), "turn it?");
        assert_eq!(without_politeness("I think you could please us"), "I think you could please us");
    }
}
