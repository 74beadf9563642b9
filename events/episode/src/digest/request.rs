//! The clauses of a prompt, and which of them says what is wanted.

mod pasted;

pub(super) use self::pasted::before_log;

use super::excerpt::head;
use super::label::{MIN_WORDS, count, is_article, is_conjunction, is_joint, is_loose};
use super::sentence::{Sentence, is_abbreviation, list_marker, sentences};
use super::{is_courtesy, is_greeting, without_salutation};
use crate::lexicon::{Sign, Signs, is_wide};
use baton_words::WordList;

/// Maximum number of words of a prompt that only gives an order (`commit all`).
const ORDER_WORDS: usize = 4;

/// Number of first sentences of a prompt in which the request is looked for.
const MAX_SENTENCES: usize = 12;
/// Most words of a line that is a statement by itself.
const SHORT_LINE_WORDS: usize = 6;
/// Only this much of a sentence is read, in bytes.
const MAX_SENTENCE_BYTES: usize = 2_000;
/// More content words make no clause better.
const MAX_CONTENT: usize = 5;
/// Number of first words in which a word that only points counts.
const POINTING_WORDS: usize = 4;
/// Separators of clauses.
static SEPARATORS: WordList = WordList::new(crate::WORDS, "clause separators");
/// Beginnings of a clause that says of something else how it should be, and of an offer.
const SUBJECTLESS: [&str; 5] = ["you can", "should ", "must ", "need to ", "needs to "];
/// Second words of a purpose behind `so`.
const PURPOSES: [&str; 5] = ["can", "could", "will", "don't", "doesn't"];
/// Beginnings of a clause that says what is not to be done.
pub(super) const NEGATIONS: [&str; 4] = ["don't ", "don’t ", "do not ", "never "];
/// Words that lead to a request wherever they stand.
static REQUESTS: WordList = WordList::new(crate::WORDS, "requests");
/// Words before a request that say nothing.
static LEADS: WordList = WordList::new(crate::WORDS, "request leads");
/// Words before a report that say nothing.
static REPORTS: WordList = WordList::new(crate::WORDS, "reports");
/// Words that give the agent a role.
static ROLES: WordList = WordList::new(crate::WORDS, "roles");
/// Words that lead to what is said, wished or known.
pub(super) static THAT: WordList = WordList::new(crate::WORDS, "that words");
/// Verbs with which work is asked for.
static TASKS: WordList = WordList::new(crate::WORDS, "task verbs");
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
    /// True if it begins with a verb of work: `compare`, `build`.
    pub(super) works: bool,
    /// True if it tells which way to go, and is no request by words of its own.
    steers: bool,
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
/// letter, or end with a short line.
pub(super) fn own_sentences(text: &str) -> Vec<String> {
    own(text, |_| true)
}

/// Returns those of them that are no items of a list.
pub(super) fn leading_sentences(text: &str) -> Vec<String> {
    own(text, |sentence| !sentence.point)
}

fn own(text: &str, is_told: impl Fn(&Sentence<'_>) -> bool) -> Vec<String> {
    let own = sentences(before_log(text)).into_iter().filter(|sentence| !sentence.quoted && is_told(sentence));
    let own = own.flat_map(|sentence| {
        let mut rest = Some(head(sentence.text, MAX_SENTENCE_BYTES));
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let end = sentence_end(text);
            rest = end.map(|end| &text[end..]);
            Some(&text[..end.unwrap_or(text.len())])
        })
    });
    // A backslash before a line end is how a terminal encodes a line break.
    let words = |sentence: &str| sentence.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
    own.take(MAX_SENTENCES).map(|sentence| words(sentence).trim_end_matches('\\').to_owned()).collect()
}

/// Returns where the first of several sentences ends.
fn sentence_end(text: &str) -> Option<usize> {
    let stops = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let ends = |end: &usize| {
        let before = &text[..end - 1];
        let word = before.rsplit(' ').next().unwrap_or_default();
        let is_word = word.chars().count() > 2 && word.chars().all(char::is_alphabetic) && !is_abbreviation(before);
        text[*end..].starts_with(' ') && (is_word || before.ends_with(") "))
    };
    let mut from = 0;
    // Lines that were broken to fit a width are longer.
    let mut lines = text.match_indices('\n').map(|(at, _)| (std::mem::replace(&mut from, at + 1), at));
    let is_short = |(from, at): &(usize, usize)| {
        let (line, next) = (text[*from..*at].trim(), text[at + 1..].trim_start());
        let joins = line.ends_with([',', ':', '\\']) || line.rsplit(' ').next().is_some_and(is_loose);
        let first = next.split_whitespace().next().unwrap_or_default();
        (MIN_WORDS..=SHORT_LINE_WORDS).contains(&count(line)) && !joins && !is_joint(first)
    };
    let line = lines.find(is_short).map(|(_, at)| at);
    stops.filter(ends).min().into_iter().chain(line).min()
}

/// Returns true if a prompt asks for something, orders or reports trouble.
pub(super) fn wants(text: &str) -> bool {
    let wants = |clause: Clause<'_>| clause.asks || clause.orders || clause.troubles;
    own_sentences(text).iter().any(|own| clauses(own).into_iter().any(wants))
}

/// Returns true if a prompt has a question.
pub(super) fn has_question(text: &str) -> bool {
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
    // How it is to be done says less than what.
    let asked = most(&|clause| clause.asks && !clause.negates && !clause.steers && clause.content > 1)
        .or_else(|| most(&|clause| clause.asks && !clause.negates && !clause.steers));
    let ordered = |fewest: usize| telling().find(|clause| (clause.orders || clause.works) && clause.content >= fewest);
    let points = || is_pasted || clauses.iter().any(Clause::asks_for_pointed);
    let leads = |word: &str| is_loose(word) && !is_article(word);
    let begins = |clause: &&Clause<'_>| !clause.text.split_whitespace().next().is_some_and(leads);
    let told = || telling().filter(|clause| !clause.orders && !Signs::read(clause.text).has(Sign::Works));
    let first = || if points() { None } else { told().find(begins).or_else(|| told().next()) };
    // What is run or read to see why something fails says less than that.
    let looks = |clause: &&Clause<'_>| Signs::read(clause.text).begins(Sign::Look);
    let fails = |clause: &&Clause<'_>| !clause.asks && !clause.orders && Signs::read(clause.text).has(Sign::Defect);
    let reported = || telling().find(fails);
    let works = || ordered(2).filter(|clause| !looks(clause));
    asked
        .filter(|clause| !looks(clause) || reported().is_none() && works().is_none())
        .or_else(|| telling().find(|clause| clause.troubles && clause.content > 1))
        .or_else(|| ordered(2))
        .or_else(|| most(&|clause| clause.asks && !clause.negates))
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
        .filter(|(_, next)| !THAT.has(sentence[*next..].split(' ').next().unwrap_or_default()))
        .filter(|(at, next)| !sentence[*at..*next].ends_with(" so ") || !is_degree(&sentence[*next..]))
        .filter(|(at, next)| &sentence[*at..*next] != " y " || !sentence[*next..].starts_with("a "))
        .filter(|(at, _)| sentence[..*at].matches(['"', '`']).count().is_multiple_of(2))
        .filter(|(at, _)| sentence[..*at].matches('(').count() <= sentence[..*at].matches(')').count())
        .filter(|(at, next)| !joins_names(&sentence[..*at], &sentence[*next..]))
        .collect();
    ends.sort_unstable();
    ends.push((sentence.len(), sentence.len()));
    let mut found = Vec::new();
    let mut from = 0;
    for (end, next) in ends.into_iter().filter(|(end, next)| end < next || *end == sentence.len()) {
        if end < from || joins_objects(&sentence[from..end], &sentence[end..]) {
            continue;
        }
        let (text, kind) = split_lead(&sentence[from..end]);
        let begins = end - text.len();
        let signs = Signs::read(text);
        let reports = kind == Lead::Report;
        // Another clause says what to report.
        let is_for_words = ["give me ", "tell me "].iter().any(|start| text.starts_with(start));
        found.push(Clause {
            text,
            rest: &sentence[begins..],
            asks: !is_for_words && kind == Lead::Request
                || signs.begins(Sign::Direct) && !reports && !SUBJECTLESS.iter().any(|start| text.starts_with(start)),
            orders: (signs.begins(Sign::Order) || begins_with_a_pointer(text)) && !reports,
            steers: found.is_empty() && signs.begins(Sign::Steer) && kind != Lead::Request,
            negates: NEGATIONS.iter().any(|word| text.to_lowercase().starts_with(word)),
            troubles: signs.has(Sign::Trouble),
            works: begins_work(text) && !reports,
            points: points(text) || is_role(&text.to_lowercase()),
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
    // A part that is not to be done does not count beside one that is.
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

/// Returns true if what follows `so` is a degree or a purpose, and no consequence: `so slow`, `so we can see`.
fn is_degree(after: &str) -> bool {
    let signs = Signs::read(after);
    let mut words = after.split(' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    PURPOSES.contains(&second) || !is_loose(first) && !signs.begins(Sign::Direct) && !begins_work(after)
}

/// Returns true if a text in lower case says who the agent shall be.
fn is_role(text: &str) -> bool {
    ROLES.iter().any(|role| text.strip_prefix(*role).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
}

/// Returns true if a conjunction stands between two quoted names: "`winch` and `jib`".
fn joins_names(before: &str, after: &str) -> bool {
    before.ends_with(['`', '"']) && after.starts_with(['`', '"'])
}

/// Returns true if a verb and its object are too short for a clause, and what follows goes on with them: another object or
/// what is said of the first: `add ropes and new hooks`.
fn joins_objects(clause: &str, rest: &str) -> bool {
    let is_apposed = rest.starts_with(", ");
    let (conjunction, after) = rest.trim_start_matches(',').trim_start().split_once(' ').unwrap_or_default();
    let signs = Signs::read(after);
    let acts = [Sign::Direct, Sign::Order, Sign::Request, Sign::Look].iter().any(|sign| signs.begins(*sign));
    let adds =
        || is_conjunction(conjunction) && !acts && !begins_work(after) && !after.split(' ').next().is_none_or(is_loose);
    count(clause) < MIN_WORDS
        && (Signs::read(clause).begins(Sign::Request) || begins_work(clause))
        && if is_apposed { is_loose(conjunction) && !is_conjunction(conjunction) } else { adds() }
}

/// Returns true if a clause begins with a verb of work.
pub(super) fn begins_work(clause: &str) -> bool {
    let first = clause.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
    TASKS.has(&first.to_lowercase()) || first.starts_with(is_wide) && TASKS.begins(first)
}

/// Returns true if a prompt asks for work by a verb of it.
pub(super) fn has_work_verb(text: &str) -> bool {
    own_sentences(text).iter().any(|own| clauses(own).iter().any(|clause| clause.works))
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
    let begins =
        |rest: &str| clauses(head(rest, MAX_SENTENCE_BYTES)).first().is_some_and(|first| first.asks || first.orders);
    let tells = |(name, rest): &(&str, &str)| *name == "plan" || !name.contains(['/', '.']) && begins(rest);
    let request = command.filter(tells).map(|(_, rest)| rest.trim_start());
    request.filter(|rest| count(rest) >= MIN_WORDS).unwrap_or(text)
}

/// Returns true if a prompt asks for something to be made or changed, and asks no question.
pub(super) fn asks_for_work(text: &str) -> bool {
    let asks = |clause: Clause<'_>| clause.asks && !clause.negates && !Signs::read(clause.text).begins(Sign::Look);
    !has_question(text) && own_sentences(text).iter().any(|own| clauses(own).into_iter().any(asks))
}

/// Returns true if a prompt only tells which way to go: `use the long rope`.
pub(super) fn only_steers(text: &str) -> bool {
    let own = own_sentences(text);
    let mut all = own.iter().flat_map(|own| clauses(own)).peekable();
    all.peek().is_some() && all.all(|clause| Signs::read(clause.text).begins(Sign::Steer) && !clause.works)
}

/// Returns true if a prompt only has something looked at: `read the plan`, `inspect the winch, do not edit yet`.
pub(super) fn only_looks(text: &str) -> bool {
    let own = own_sentences(text);
    let all: Vec<Clause<'_>> = own.iter().flat_map(|own| clauses(own)).collect();
    let looks = |clause: &Clause<'_>| Signs::read(clause.text).begins(Sign::Look);
    let wants = |clause: &Clause<'_>| clause.asks || clause.orders || clause.troubles;
    let is_idle = |clause: &Clause<'_>| looks(clause) || clause.negates || !wants(clause);
    all.first().is_some_and(looks) && all.iter().all(is_idle) && !has_question(text)
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

/// Returns a text in lower case with all letters in their places.
fn folded(text: &str) -> String {
    let fold = |c: char| c.to_lowercase().next().filter(|lower| lower.len_utf8() == c.len_utf8()).unwrap_or(c);
    text.chars().map(fold).collect()
}

/// Strips a greeting, politeness and everything else before the request.
fn split_lead(text: &str) -> (&str, Lead) {
    let text = without_salutation(text).trim_start();
    let text = &text[list_marker(text).unwrap_or(0)..];
    let praised = text.split_once([',', '!']).filter(|(praise, rest)| is_courtesy(praise) && count(rest) >= MIN_WORDS);
    let text = praised.map_or(text, |(_, rest)| rest.trim_start());
    let lower = folded(text);
    let lower = lower.as_str();
    let is_start = |at: &usize| lower[..*at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    let starts = lower.char_indices().map(|(at, _)| at).filter(is_start);
    let ends = starts.flat_map(|at| {
        REQUESTS.iter().filter(move |lead| lower[at..].starts_with(**lead)).map(move |lead| at + lead.len())
    });
    let follows = |end: &usize| {
        let ends = lower[*end..].starts_with([' ', ',']) || lower[..*end].ends_with(is_wide);
        ends && !lower[*end..].starts_with(" not ") && count(&text[*end..]) >= 2
    };
    let end = ends.filter(follows).min();
    let mut kind = if end.is_some() { Lead::Request } else { Lead::None };
    let mut rest = end.map_or(text, |end| text[end..].trim_start_matches([' ', ',']));
    for _ in 0..4 {
        let lower = folded(rest);
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
        // A clause that only points, or output, is no title.
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
