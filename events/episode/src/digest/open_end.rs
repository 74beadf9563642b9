//! What is open at the end, and the next steps: only what the latest evidence shows.

use std::collections::BTreeMap;

use super::command::Command;
use super::excerpt::{one_line, without_filter_mark};
use super::exchange;
use super::failure::Failure;
use super::file;
use super::filed_issue;
use super::label::capitalised;
use super::leftovers;
use super::question;
use super::repetition::SeenTexts;
use super::request::{has_substance, without_politeness};
use super::sentence::{clauses, plain, sentences};
use super::stated::without_announcement;
use super::timeline::{Deed, Message, Round, Timeline};
use super::undone::parts;
use super::work_tree::TreeState;
use super::{
    ERROR_CHARS, ErrorLine, LINE_CHARS, MAX_ENTRIES, PROMPT_CHARS, Pointed, SHORT_CHARS, is_courtesy, plan, todo,
    unchecked, work,
};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, Outcome};

/// Number of last rounds in which something said to be open counts as still open.
const LAST_ROUNDS: usize = 2;
/// Number of last rounds in which a list of what remains is looked for.
const LISTED_ROUNDS: usize = 5;
/// A question in fewer words does not name its matter: the sentence before is added.
const TELLING_WORDS: usize = 7;
/// An offer of help in fewer words names no matter.
const TELLING_HELP: usize = 4;
/// Number of last sentences in which a closing question is looked for.
const LAST_SENTENCES: usize = 3;
/// Number of closing questions in a row.
const MAX_QUESTIONS: usize = 4;
/// Most words in which a person only says that all is well.
const MAX_CONFIRMING: usize = 10;
/// A shorter word says little about the matter, in bytes.
const TELLING_BYTES: usize = 4;
/// What git does with work that is ready.
const DELIVERING: [&str; 3] = ["commit", "merge", "push"];
/// What comes before that.
const REVIEW: &str = "review";
/// Words before a step that the agent leaves to the person.
const READY: [&str; 2] = ["Ready to ", "Ready for "];
/// A longer prompt is a description or pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 1_500;

/// What a session leaves open.
#[derive(Default)]
pub(super) struct OpenEnds {
    /// Checks that fail, questions without an answer, work that was started and not finished.
    pub(super) unresolved: Vec<Pointed>,
    /// What remains to be done, from the list of tasks or the last words of the agent and the person.
    pub(super) next_steps: Vec<Pointed>,
}

/// Returns what is open at the end, each list in transcript order, without repetitions; `tree` is what the work tree
/// shows, whose open matters are taken.
pub(super) fn open_ends(timeline: &Timeline<'_>, failures: &[Failure], tree: &mut TreeState) -> OpenEnds {
    let mut ends = OpenEnds::default();
    let stands = |failure: &&Failure| {
        let is_suite = failure.is_of_all_tests && !is_hook_content(timeline, failure.line.line);
        failure.is_open && (is_suite || !got_around(timeline, &failure.line))
    };
    ends.unresolved.extend(failures.iter().filter(stands).map(|failure| {
        let line = &failure.line;
        Pointed { text: one_line(&line.text, ERROR_CHARS), line: line.line, at: line.at }
    }));
    ends.unresolved.extend(without_end(timeline));
    ends.unresolved.extend(not_permitted(timeline));
    ends.unresolved.extend(filed_issue::left_open(timeline));
    ends.unresolved.extend(questions(timeline));
    ends.unresolved.extend(plan::unapproved(timeline).map(|plan| plan.told));
    ends.unresolved.extend(unchecked::by_hand(timeline));
    for todo in todo::open(timeline) {
        let text = one_line(&plain(&without_filter_mark(todo.text)), LINE_CHARS);
        let pointed = Pointed { text, line: todo.line, at: todo.at };
        if todo.begun { ends.unresolved.push(pointed) } else { ends.next_steps.push(pointed) }
    }
    ends.unresolved.append(&mut tree.open);
    // A commit that was asked for will lack them.
    ends.unresolved.extend(tree.unlisted.take().filter(|_| is_left_uncommitted(timeline)));
    ends.next_steps.extend(put_off(timeline));
    ends.next_steps.extend(announced(timeline));
    add_stated(timeline, &mut ends, tree.also_modified.is_some());
    let delivered = delivered(timeline);
    ends.next_steps.retain(|step| !is_delivered(step, &delivered));
    let mut told = SeenTexts::default();
    for list in [&mut ends.unresolved, &mut ends.next_steps] {
        list.retain(|entry| !entry.text.is_empty() && told.is_new(&entry.text));
        list.sort_by_key(|entry| entry.line);
        super::keep(list, MAX_ENTRIES, |_| true);
    }
    ends
}

/// Returns true if git did later all that a step says: `Review and merge the pull request`.
fn is_delivered(step: &Pointed, delivered: &BTreeMap<&'static str, u64>) -> bool {
    let text = step.text.to_lowercase();
    let text = text.rsplit_once(": ").map_or(text.as_str(), |(_, text)| text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let leads = |at: &usize| *at == 0 || words[at - 1].ends_with([',', ';']) || matches!(words[at - 1], "and" | "then");
    let verbs = (0..words.len()).filter(leads).map(|at| words[at]).filter(|verb| *verb != REVIEW);
    let mut done = verbs.map(|verb| delivered.get(verb).is_some_and(|line| *line > step.line)).peekable();
    done.peek().is_some() && done.all(|done| done)
}

/// Returns the line of the last call by which git did what is named so.
fn delivered(timeline: &Timeline<'_>) -> BTreeMap<&'static str, u64> {
    let mut lines = BTreeMap::new();
    for deed in timeline.deeds.iter().filter(|deed| deed.succeeded() && !deed.aside) {
        let steps = deed.parsed_command().map(Command::steps).unwrap_or_default();
        let does = |verb: &str| {
            let is_verb = |text: &str| {
                text.strip_prefix("gh pr ")
                    .or(text.strip_prefix("git "))
                    .is_some_and(|rest| rest.split(' ').next() == Some(verb))
            };
            steps.iter().any(|step| is_verb(step.text()))
        };
        lines.extend(DELIVERING.iter().filter(|verb| does(verb)).map(|verb| (*verb, deed.line)));
    }
    lines
}

/// Returns true if a commit went through that had failed after a line: what its hook checks passed, or is not checked.
fn is_hook_content(timeline: &Timeline<'_>, line: u64) -> bool {
    let mut commits = timeline.deeds.iter().filter(|deed| deed.line > line && deed.commits());
    commits.any(|deed| deed.outcome() == Some(Outcome::Failed)) && commits.any(Deed::succeeded)
}

/// Returns true if the agent closed the round of a failure with success, without saying that anything still fails.
fn got_around(timeline: &Timeline<'_>, failure: &ErrorLine) -> bool {
    let fails = |deed: &&Deed<'_>| !deed.aside && (deed.line == failure.line || deed.result_line == failure.line);
    let Some(index) = timeline.deeds.iter().position(|deed| fails(&deed)) else { return false };
    let Some(round) = timeline.rounds.iter().find(|round| round.deeds.contains(&index)) else { return false };
    let Some(said) = exchange::conclusion(timeline, round) else { return false };
    let check = failure.text.split(':').next().unwrap_or_default().to_lowercase();
    let delivers = timeline.deeds[index].kept_command().is_some_and(|line| line.commits() || line.pushes());
    // A test's name, say: a sentence about it that claims no success says that it still fails.
    let names = || failure.text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| name.contains('_'));
    let mut ends_well = false;
    for sentence in sentences(said.text) {
        let signs = Signs::read(sentence.text);
        let none = sentence.text.split_whitespace().any(|word| matches!(word, "0" | "no" | "zero"));
        let lower = sentence.text.to_lowercase();
        let fails = telling_words(&lower).any(|word| word == "failures");
        let is_fine = none || signs.has(Sign::Needless) && !lower.contains(" but ");
        let wrong = (fails || signs.has_any(&[Sign::Trouble, Sign::Defect, Sign::Setback])) && !is_fine;
        let names_check = telling_words(&check).any(|word| lower.contains(word));
        let succeeds = signs.has_any(&[Sign::Result, Sign::Works, Sign::Change]);
        let doubts = !signs.has_any(&[Sign::Works, Sign::Change]) && names().any(|name| sentence.text.contains(name));
        if doubts
            || signs.has(Sign::Remaining)
            || signs.asks()
            || wrong && !signs.has(Sign::Change) && (signs.has(Sign::Result) || names_check)
        {
            return false;
        }
        ends_well |= !wrong && (succeeds || delivers && names_check);
    }
    ends_well && said.place > timeline.deeds[index].began
}

/// Returns commands and changes that have no result, or were interrupted, with nothing after them in the last round of work.
fn without_end(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let works = |round: &Round<'_>| {
        let is_work = |deed: &Deed<'_>| matches!(deed.act(), Act::Shell | Act::Edit) && !deed.aside;
        timeline.deeds[round.deeds.clone()].iter().any(is_work)
    };
    // A question may stand behind it, unless that says that all is well.
    let last = match &timeline.rounds[..] {
        [.., before, last] if !works(last) && works(before) && !last.prompt.is_some_and(|said| is_fine(said.text)) => {
            before
        }
        [.., last] => last,
        [] => return Vec::new(),
    };
    let replied = last.replies.last().map_or(0, |reply| reply.place);
    let deeds = timeline.deeds[last.deeds.clone()].iter();
    let cut = deeds.filter(|deed| {
        let is_work = matches!(deed.act(), Act::Shell | Act::Edit | Act::Spawn);
        let looks = deed.kept_command().is_some_and(Command::only_looks);
        is_work && !looks && !deed.aside && !deed.is_persons() && deed.began > replied
    });
    let told = cut.filter_map(|deed| {
        let how = match deed.outcome() {
            None if !deed.in_background() => "has no result",
            Some(Outcome::Interrupted) => "was interrupted",
            _ => return None,
        };
        let what = shown_call(timeline, deed)?;
        Some(Pointed { text: one_line(&format!("{what} {how}"), LINE_CHARS), line: deed.line, at: deed.at })
    });
    told.collect()
}

/// Returns true if the last prompt orders a commit and the agent did not say what came of it: a hook may have made one.
fn is_left_uncommitted(timeline: &Timeline<'_>) -> bool {
    let last = timeline.rounds.last().filter(|round| exchange::conclusion(timeline, round).is_none());
    let orders = |text: &str| text.to_lowercase().contains("commit") && Signs::read(text).begins(Sign::Order);
    last.and_then(|round| round.prompt).is_some_and(|said| orders(said.text))
}

/// Returns the calls of the last round that nobody allowed, as one entry, unless the tool was used with success later,
/// which may have been the way around.
fn not_permitted(timeline: &Timeline<'_>) -> Option<Pointed> {
    let round = timeline.rounds.last()?;
    let mut refused: BTreeMap<&str, &Deed<'_>> = BTreeMap::new();
    for deed in timeline.deeds[round.deeds.clone()].iter().filter(|deed| !deed.aside) {
        if deed.lacked_permission() {
            refused.entry(deed.tool()).or_insert(deed);
        } else if deed.succeeded() {
            refused.remove(deed.tool());
        }
    }
    let mut refused: Vec<&Deed<'_>> = refused.into_values().collect();
    refused.sort_by_key(|deed| deed.began);
    let first = refused.first()?;
    let shown: Vec<String> = refused.iter().filter_map(|deed| shown_call(timeline, deed)).collect();
    let text = one_line(&format!("Not permitted: {}", shown.join("; ")), LINE_CHARS);
    Some(Pointed { text, line: first.line, at: first.at })
}

/// Returns what the agent said last that it would do, if the session breaks off in the calls that begin it.
fn announced(timeline: &Timeline<'_>) -> Option<Pointed> {
    let reply = timeline.rounds.last()?.replies.last()?;
    let mut later = timeline.deeds.iter().filter(|deed| deed.began > reply.place).peekable();
    let begins = |deed: &Deed<'_>| match deed.act() {
        Act::Shell | Act::Edit if deed.result.is_none() => true,
        act => deed.succeeded() && (act != Act::Shell || breaks_off(deed)) && deed.edit().is_none(),
    };
    if later.peek().is_none() || !later.all(begins) {
        return None;
    }
    let sentences = sentences(reply.text).into_iter().filter(|sentence| !sentence.point && !sentence.quoted);
    let clauses: Vec<&str> = sentences.flat_map(|sentence| sentence.text.split(", ")).collect();
    // Looking comes before the work and announces none.
    let announces = |clause: &&&str| Signs::read(clause).begins(Sign::Begin);
    let clause = clauses.iter().rfind(announces)?.trim_start_matches("then ").trim_end_matches([':', '：']);
    let looks = Signs::read(clause).has(Sign::Look) || Signs::read(&without_announcement(clause)).begins(Sign::Look);
    if looks {
        return None;
    }
    Some(pointed(&without_announcement(clause), reply))
}

fn shown_call(timeline: &Timeline<'_>, deed: &Deed<'_>) -> Option<String> {
    if let Some(command) = deed.kept_command() {
        return Some(format!("`{}`", one_line(&without_filter_mark(command.shown()), SHORT_CHARS)));
    }
    let target = deed.target().map(|target| timeline.relative_path(target)).unwrap_or_default();
    let what = one_line(&without_filter_mark(&format!("{} {target}", deed.tool())), SHORT_CHARS);
    (!what.is_empty()).then_some(what)
}

/// Returns unanswered questions: of the agent's tool, of its last words, and the person's last request.
fn questions(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found = Vec::new();
    let mut prompts = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
    let last_prompt = prompts.next_back().map(|prompt| prompt.place);
    for (index, deed) in timeline.deeds.iter().enumerate() {
        let unanswered = !matches!(deed.outcome(), Some(Outcome::Ok | Outcome::Failed))
            && last_prompt.is_none_or(|place| place < deed.began);
        if deed.aside || !unanswered || timeline.answers.iter().any(|answer| answer.deed == Some(index)) {
            continue;
        }
        let asked = question::asked(deed).into_iter();
        found.extend(asked.map(|text| Pointed {
            text: one_line(&without_filter_mark(&format!("Not answered: {text}")), LINE_CHARS),
            line: deed.line,
            at: deed.at,
        }));
    }
    let Some(last) = timeline.rounds.last() else { return found };
    found.extend(closing_questions(timeline, last));
    found.extend(unanswered_request(timeline, last));
    found
}

/// Returns the questions and offers with which the agent's last message ends, each with the sentence before it if it does
/// not name its matter.
fn closing_questions(timeline: &Timeline<'_>, last: &Round<'_>) -> Vec<Pointed> {
    let Some(reply) = last.replies.last() else { return Vec::new() };
    // Without a request, the reply asks what the person wants.
    let wanted = || timeline.rounds.iter().any(|round| round.prompt.is_none_or(|said| has_substance(said.text)));
    if timeline.deeds.iter().any(|deed| deed.began > reply.place) || timeline.deeds.is_empty() && !wanted() {
        return Vec::new();
    }
    let sentences = sentences(reply.text);
    // `(why?)` at the end of an item is a remark.
    let asks = |text: &str| Signs::read(text).asks() && !text.ends_with(')') || offers_work(text);
    let quiet = sentences.iter().rev().take_while(|sentence| !asks(sentence.text)).count();
    if quiet >= LAST_SENTENCES {
        return Vec::new();
    }
    let until = sentences.len() - quiet;
    let asked = sentences[..until].iter().rev().take_while(|sentence| asks(sentence.text)).count().min(MAX_QUESTIONS);
    let mut found = Vec::new();
    for (at, asked) in sentences.iter().enumerate().take(until).skip(until - asked) {
        if is_mere_help(asked.text) {
            continue;
        }
        let says_little = asked.text.split_whitespace().count() < TELLING_WORDS && asked.text.is_ascii();
        let before = at.checked_sub(1).and_then(|before| sentences.get(before));
        let before = before.filter(|before| says_little && !before.point && found.is_empty());
        let before = before.map_or_else(String::new, |before| format!("{} ", plain(before.text)));
        found.push(pointed(&format!("Not answered: {before}{}", plain(asked.text)), reply));
    }
    found
}

/// Returns true for an offer that names what would be done, or a choice: `if you'd like me to split it, let me know`, `if
/// you want, I can split it`, `let me know which you prefer`.
fn offers_work(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let signs = Signs::read(sentence);
    let asks = ["like me to ", "want me to ", "let me know which ", "let me know what ", "let me know how "];
    signs.has(Sign::Offer) && asks.iter().any(|phrase| lower.contains(phrase))
        || signs.begins(Sign::Offer) && [" i can ", " i could "].iter().any(|phrase| lower.contains(phrase))
}

/// Returns true for an offer of further help, which is not a real question.
fn is_mere_help(question: &str) -> bool {
    let lower = question.to_lowercase();
    // `How can I help you today?`, unlike `help you split it`.
    let helps = lower.rsplit_once("help you").is_some_and(|(_, with)| with.split_whitespace().count() < TELLING_HELP);
    helps
        || ["anything else", "something else", "any questions", "can i help", "what would you like", "what do you want"]
            .iter()
            .any(|phrase| lower.contains(phrase))
}

/// Returns the last request if nothing was done or said after it, or the work on it breaks off.
fn unanswered_request(timeline: &Timeline<'_>, last: &Round<'_>) -> Option<Pointed> {
    let request = work::requests(timeline).last().filter(|request| !is_fine(request.text))?;
    if last.prompt.as_ref().is_none_or(|prompt| prompt.place != request.place) {
        return None;
    }
    let mut deeds = timeline.deeds[last.deeds.clone()].iter().filter(|deed| !deed.aside && !deed.is_persons());
    let said = last.replies.last().map_or(0, |reply| reply.place);
    let announces = last.replies.last().is_some_and(|reply| announces_work(reply.text));
    let told = if last.replies.is_empty() && !deeds.clone().any(Deed::succeeded) {
        (timeline.rounds.len() > 1).then_some("No answer to")
    } else {
        let broken_off = deeds.next_back().map_or(announces, |deed| match deed.began > said {
            true => breaks_off(deed),
            false => announces,
        });
        // An interruption by which a person refuses a plan is told as such. One after the conclusion of some work stops
        // nothing; an answer may be cut short by it.
        let concluded = exchange::conclusion(timeline, last).is_some_and(|reply| reply.place == said) && !announces;
        let delivers = |deed: &Deed<'_>| deed.succeeded() && deed.commits() || file::changes(deed);
        let worked = timeline.deeds[last.deeds.clone()].iter().any(delivers);
        let acted = timeline.deeds[last.deeds.clone()].iter().any(|deed| deed.began > said);
        let is_cut = timeline.ends_interrupted && (acted || !concluded || !worked);
        let stopped = || is_cut && plan::unapproved(timeline).is_none();
        (broken_off || stopped()).then_some("Not finished")
    };
    // `continue` says nothing of the matter.
    let says_little = |text: &str| !has_substance(text) && text.split_whitespace().count() == 1;
    let matter = work::requests(timeline).filter(|request| !says_little(request.text)).last().unwrap_or(request);
    // An earlier one is not finished if no round since has ended with a conclusion.
    let place = |round: &Round<'_>| round.prompt.as_ref().map_or(0, |prompt| prompt.place);
    let mut since = timeline.rounds.iter().filter(|round| (matter.place..request.place).contains(&place(round)));
    let is_word = |c: char| c.is_alphabetic() || c.is_whitespace();
    let goes_on = Signs::read(request.text).begins(Sign::Order) && request.text.chars().all(is_word);
    let edits = |round: &Round<'_>| !goes_on && timeline.deeds[round.deeds.clone()].iter().any(file::changes);
    let is_over = since.any(|round| exchange::conclusion(timeline, round).is_some() || edits(round));
    let matter = if is_over { request } else { matter };
    told.map(|told| Pointed {
        text: format!("{told}: {}", one_line(matter.text, PROMPT_CHARS)),
        line: matter.line,
        at: matter.at,
    })
}

/// Returns true for thanks, or a word that all is well.
fn is_fine(text: &str) -> bool {
    is_courtesy(text) || confirms(text)
}

/// Returns true for a short word that all is well, or that nothing is to be done.
fn confirms(text: &str) -> bool {
    let (signs, words) = (Signs::read(text), text.split_whitespace().count());
    let is_well = |part: &str| Signs::read(part).has(Sign::Works);
    let adds_nothing = |part: &str| is_well(part) || is_courtesy(part) || Signs::read(part).begins(Sign::Speaker);
    let is_content = parts(text).any(is_well) && parts(text).all(adds_nothing) && !signs.asks();
    is_content && words <= MAX_CONFIRMING || words == 1 && signs.begins(Sign::Object)
}

/// Returns true if the last sentence says what the agent is about to do.
fn announces_work(reply: &str) -> bool {
    sentences(reply).last().is_some_and(|last| !last.point && exchange::begins_work(last.text))
}

/// Returns true for a step that cannot be the last one of a piece of work: it only looks, or it has no good end.
fn breaks_off(deed: &Deed<'_>) -> bool {
    match deed.act() {
        Act::Plan | Act::Todo | Act::Ask => false,
        Act::Read | Act::Search | Act::Fetch => true,
        _ if deed.in_background() => false,
        _ => match (deed.outcome(), deed.kept_command()) {
            (Some(Outcome::Ok), Some(command)) => command.only_looks(),
            (outcome, _) => !matches!(outcome, Some(Outcome::Ok | Outcome::Failed)),
        },
    }
}

/// Returns what a person postponed in their last prompts.
fn put_off(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found = Vec::new();
    let last = timeline.rounds.len().saturating_sub(LAST_ROUNDS).max(1);
    for prompt in timeline.rounds.iter().skip(last).filter_map(|round| round.prompt.as_ref()) {
        if prompt.text.len() > MAX_PROMPT_BYTES {
            continue;
        }
        let clauses: Vec<&str> = clauses(prompt.text).collect();
        for (at, clause) in clauses.iter().enumerate() {
            let signs = Signs::read(clause);
            if !signs.has(Sign::Later) || signs.asks() {
                continue;
            }
            // `not today though` alone does not say what is postponed.
            let says_little = clause.split_whitespace().count() < TELLING_WORDS;
            let before = at.checked_sub(1).and_then(|before| clauses.get(before)).filter(|_| says_little);
            let told = before.map_or_else(|| format!("User: {clause}"), |before| format!("User: {before} {clause}"));
            found.push(pointed(&told, prompt));
        }
    }
    found
}

/// Adds what the agent's last conclusions list as remaining. What was asked for, changed or reported afterwards is done;
/// a later list replaces an earlier one of its kind.
fn add_stated(timeline: &Timeline<'_>, ends: &mut OpenEnds, lists_others: bool) {
    let changes = timeline.deeds.iter().filter(|deed| file::changes(deed));
    let changed = changes.map(|deed| deed.began).max().unwrap_or(0);
    let mut later = String::new();
    // Whether a list of open matters and one of next steps were found.
    let mut listed = [false; 2];
    for (back, round) in timeline.rounds.iter().rev().take(LISTED_ROUNDS).enumerate() {
        let Some(said) = exchange::conclusion(timeline, round) else {
            later.extend(round.prompt.iter().map(|prompt| prompt.text));
            continue;
        };
        let is_last = back < LAST_ROUNDS && said.place > changed;
        let before = listed;
        for left in leftovers::leftovers(said.text) {
            if before[usize::from(left.next)]
                || !is_last && (!left.listed && !left.labelled || covered(left.text, &later))
            {
                continue;
            }
            listed[usize::from(left.next)] |= left.listed;
            // The list of files says more.
            if lists_others && !left.text.contains('`') && Signs::read(left.text).has(Sign::Beside) {
                continue;
            }
            let ready = if left.next { READY.iter().find_map(|ready| left.text.strip_prefix(ready)) } else { None };
            let bare = Some(without_politeness(left.text)).filter(|bare| left.next && bare.len() < left.text.len());
            let pointed = pointed(&ready.or(bare).map_or_else(|| left.text.to_owned(), capitalised), said);
            if left.next { ends.next_steps.push(pointed) } else { ends.unresolved.push(pointed) }
        }
        // The work went on as the agent proposed.
        let agreed = |prompt: &Message<'_>| Signs::read(prompt.text).has_any(&[Sign::Assent, Sign::Order]);
        let worked = timeline.deeds[round.deeds.clone()].iter().any(|deed| file::changes(deed));
        if listed == [true; 2] || worked && round.prompt.as_ref().is_some_and(agreed) {
            break;
        }
        later.extend(round.prompt.iter().map(|prompt| prompt.text).chain([" ", said.text, " "]));
    }
}

/// Returns true if half of the telling words of a matter occur in what was said later.
fn covered(matter: &str, later: &str) -> bool {
    let later = later.to_lowercase();
    let matter = matter.to_lowercase();
    telling_words(&matter).filter(|word| later.contains(word)).count() * 2 >= telling_words(&matter).count()
}

fn telling_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= TELLING_BYTES)
}

fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(&plain(text), LINE_CHARS), line: said.line, at: said.at }
}
