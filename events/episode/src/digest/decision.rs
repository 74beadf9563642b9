//! Decisions: the choices of an approved plan, answers to questions with options, what a person tells about the how, and the
//! choices that the agent states in a conclusion.
//!
//! A later objection, a refusal or another choice of the same matter supersedes a decision; it is kept apart. Pasted text,
//! questions and quotations decide nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::choice::{self, Choice};
use super::excerpt::{head, one_line, without_filter_mark};
use super::exchange;
use super::plan;
use super::question;
use super::repetition::without_repetitions;
use super::sentence::{plain, sentences};
use super::settled::{Settled, settled};
use super::stated::{MIN_WORDS, concludes_choice};
use super::timeline::{Answer, Deed, Message, Round, Timeline};
use super::{DECISION_CHARS, MAX_ENTRIES, Pointed, SHORT_CHARS};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{Act, Outcome};
use baton_conversation::quoted_text::own_words;

/// Maximum length of a question before an answer, in characters.
const QUESTION_CHARS: usize = 200;
/// A longer prompt is a description or pasted text, and does not tell how, in bytes.
const MAX_STEERING_BYTES: usize = 1_500;
/// Only this much of a longer reply, a document, is searched, in bytes.
const MAX_REPLY_BYTES: usize = 20_000;
/// A shorter choice says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 60;
/// Number of last sentences of a reply in which the question that the next prompt answers is looked for.
const LAST_SENTENCES: usize = 3;
/// Maximum number of choices that are taken from one conclusion.
const MAX_OF_CONCLUSION: usize = 3;
/// How an agent says what it is about to do, in lower case.
const LET_ME: &str = "let me ";

/// What was decided.
#[derive(Default)]
pub(super) struct Decisions {
    /// What holds at the end.
    pub(super) in_force: Vec<Pointed>,
    /// What was decided and then overruled.
    pub(super) superseded: Vec<Pointed>,
    /// What overruled it, by its line and text.
    pub(super) overruled_by: BTreeMap<(u64, String), Pointed>,
}

/// A decision and the place of its text among the items.
struct Found {
    place: usize,
    said: Pointed,
    /// A person said it; otherwise the agent did, and a person's objection ends it.
    by_person: bool,
}

/// Returns all decisions in transcript order without repetitions.
pub(super) fn decisions(timeline: &Timeline<'_>) -> Decisions {
    let mut found: Vec<Found> = Vec::new();
    let mut before: Option<&Round<'_>> = None;
    for (index, round) in timeline.rounds.iter().enumerate() {
        if let Some(prompt) = &round.prompt {
            found.extend(of_prompt(timeline, round, prompt, before));
        }
        if !round.replies.is_empty() || !round.deeds.is_empty() {
            before = Some(round);
        }
        found.extend(of_agent(timeline, round, timeline.rounds.get(index + 1)));
    }
    found.extend(timeline.answers.iter().flat_map(|answer| answered(timeline, answer)));
    for plan in plan::approved(timeline) {
        let said = |text: String| Pointed { text: one_line(&text, DECISION_CHARS), line: plan.line, at: plan.at };
        let found_in = |text| Found { place: plan.place, said: said(text), by_person: true };
        found.extend(plan.choices().into_iter().map(found_in));
    }
    found.sort_by_key(|found| found.place);
    let ended = ended(timeline, &found);
    let (superseded, in_force): (Vec<_>, Vec<_>) =
        found.into_iter().enumerate().partition(|(at, _)| ended.contains_key(at));
    let key = |said: &Pointed| (said.line, said.text.clone());
    let overruled_by =
        superseded.iter().filter_map(|(at, found)| Some((key(&found.said), ended.get(at)?.clone()))).collect();
    let list = |found: Vec<(usize, Found)>| {
        let mut list = without_repetitions(found.into_iter().map(|(_, found)| (found.place, found.said)).collect());
        super::keep(&mut list, MAX_ENTRIES, |_| true);
        list
    };
    Decisions { in_force: list(in_force), superseded: list(superseded), overruled_by }
}

/// Returns what a prompt decides.
fn of_prompt(
    timeline: &Timeline<'_>,
    round: &Round<'_>,
    prompt: &Message<'_>,
    before: Option<&Round<'_>>,
) -> Vec<Found> {
    let found = |text: String| Found { place: prompt.place, said: pointed(&text, prompt), by_person: true };
    if prompt.text.len() > MAX_STEERING_BYTES
        || plan::pasted(prompt.text).is_some()
        || super::is_for_the_harness(prompt.text.trim())
    {
        return Vec::new();
    }
    let Some(before) = before else {
        // Everything else in the first prompt is the purpose of the session.
        let reasoned = choice::clauses(prompt.text).filter(|clause| choice::is_reasoned(clause));
        return reasoned.map(|clause| found(format!("User: {}", plain(clause)))).collect();
    };
    if let Some(chosen) = chosen(prompt, before) {
        return vec![found(chosen)];
    }
    let worked = has_changed(timeline, round);
    let clauses: Vec<&str> = choice::clauses(prompt.text).collect();
    let steering: Vec<&str> = clauses.iter().copied().filter(|clause| steers(clause, worked)).collect();
    let objects = |clause: &&str| Signs::read(clause).begins(Sign::Object);
    if steering.is_empty() && round.after_interruption && clauses.first().is_some_and(objects) {
        let short = prompt.text.len() <= DECISION_CHARS
            && !choice::asks(prompt.text)
            && clauses.iter().any(|clause| words(clause).len() >= 2);
        return if short { vec![found(format!("User: {}", prompt.text))] } else { Vec::new() };
    }
    steering.into_iter().map(|clause| found(format!("User: {}", plain(clause)))).collect()
}

/// Returns true if a clause of a person tells how something shall be done. A question does if it proposes something and
/// files were changed for it (`worked`).
fn steers(clause: &str, worked: bool) -> bool {
    let own = own_words(clause);
    let signs = Signs::read(&own);
    let rest = without_assent(&own);
    let rest_signs = Signs::read(rest);
    let says_little = rest.split_whitespace().count() < MIN_WORDS && rest.is_ascii();
    if says_little || signs.has(Sign::Later) || rest_signs.begins(Sign::Order) && !signs.has(Sign::Contrast) {
        return false;
    }
    let tells = signs.has_any(&[Sign::Direct, Sign::Contrast]) || rest_signs.begins(Sign::Direct);
    if signs.asks() {
        return worked && signs.has_any(&[Sign::Suggest, Sign::Contrast]) && !signs.has(Sign::Trouble);
    }
    if signs.has(Sign::Trouble) && !rest_signs.begins(Sign::Direct) {
        return false;
    }
    tells && (worked || signs.has(Sign::Contrast) || rest_signs.begins(Sign::Direct))
        || choice::is_person_choice(clause)
}

/// Strips agreement before the clause: `yes please, and let's make it simple`.
pub(super) fn without_assent(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..4 {
        let word = rest.split([' ', ',']).next().unwrap_or_default();
        let lower = word.to_lowercase();
        if word.is_empty()
            || !(matches!(lower.as_str(), "please" | "and" | "but" | "so" | "then" | "fine" | "also")
                || Signs::read(&lower).begins(Sign::Assent))
        {
            break;
        }
        rest = rest[word.len()..].trim_start_matches([' ', ',', '.', '!']);
    }
    rest
}

/// Returns the choice that a short prompt makes between the options of the agent's last question.
fn chosen(prompt: &Message<'_>, before: &Round<'_>) -> Option<String> {
    if prompt.text.len() > DECISION_CHARS || choice::asks(prompt.text) {
        return None;
    }
    let reply = before.replies.last()?;
    let all = sentences(reply.text);
    let mut last = all.iter().rev().take(LAST_SENTENCES).map(|sentence| sentence.text);
    let question = last.find(|sentence| choice::is_left_to_the_reader(sentence)).map(plain)?;
    Some(format!("{} User: {}", one_line(&question, QUESTION_CHARS), prompt.text))
}

/// Returns the agent's choices in a round: in any reply if it states one outright, or proposes one that the next round
/// carries out, and the choices of its conclusion if it
/// changed something.
fn of_agent(timeline: &Timeline<'_>, round: &Round<'_>, next: Option<&Round<'_>>) -> Vec<Found> {
    let is_carried_out = next.is_some_and(|next| {
        let objects = |said: &Message<'_>| {
            choice::clauses(said.text).next().is_some_and(|first| Signs::read(first).begins(Sign::Object))
        };
        has_changed(timeline, next) && !next.prompt.as_ref().is_some_and(objects)
    });
    let conclusion = exchange::conclusion(timeline, round).map(|said| said.place);
    let worked = timeline.deeds[round.deeds.clone()].iter().any(is_change);
    let mut found = Vec::new();
    for reply in &round.replies {
        let concludes = worked && conclusion == Some(reply.place);
        let leads_to_change = next_deed(timeline, round, reply).is_some_and(acts);
        let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
        let mut of_conclusion = 0;
        for (at, sentence) in sentences.iter().enumerate() {
            if sentence.quoted {
                continue;
            }
            let outright = match choice::agent_choice(sentence.text) {
                Some(Choice::Made) => true,
                Some(Choice::Proposed) => is_carried_out,
                None => false,
            };
            let concluded = concludes && of_conclusion < MAX_OF_CONCLUSION && concludes_choice(sentence.text);
            let reasoned = leads_to_change && is_reasoned_action(sentence.text);
            if !outright && !concluded && !reasoned {
                continue;
            }
            of_conclusion += usize::from(concluded && !outright);
            let mut text = plain(sentence.text);
            let before = at.checked_sub(1).and_then(|before| sentences.get(before));
            if let Some(before) = before.filter(|before| !before.point && !sentence.point)
                && text.chars().count() < TELLING_CHARS
            {
                text = format!("{} {text}", plain(before.text));
            }
            found.push(Found { place: reply.place, said: pointed(&text, reply), by_person: false });
        }
    }
    found
}

/// Returns the first call after a reply of the same round.
fn next_deed<'t, 'a>(timeline: &'t Timeline<'a>, round: &Round<'a>, reply: &Message<'a>) -> Option<&'t Deed<'a>> {
    let deeds = &timeline.deeds[round.deeds.clone()];
    let from = deeds.partition_point(|deed| deed.began <= reply.place);
    deeds[from..].iter().find(|deed| !deed.aside)
}

/// Returns true for a change or a command that does something.
fn acts(deed: &Deed<'_>) -> bool {
    is_change(deed) || deed.succeeded() && deed.parsed_command().is_some_and(|command| !command.only_looks())
}

fn is_change(deed: &Deed<'_>) -> bool {
    deed.succeeded() && (deed.edit().is_some() || deed.commits())
}

/// Returns true if a sentence says why something is going to be done as it is: `since that is shared, it needs to move`.
fn is_reasoned_action(sentence: &str) -> bool {
    let own = own_words(sentence);
    let signs = Signs::read(&own);
    let announces = |clause: &str| {
        let clause = clause.trim_start();
        let begins = clause.get(..LET_ME.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(LET_ME));
        let what = clause.get(LET_ME.len()..).filter(|_| begins);
        // `Let me check` and the like choose nothing.
        Signs::read(clause).begins(Sign::Announce) && !what.is_some_and(|what| Signs::read(what).begins(Sign::Order))
    };
    // `instead` alone may tell of the trouble.
    let acts = Signs::read(&own.replace("instead", "")).has_any(&[Sign::Direct, Sign::Choose]);
    (acts || own.split(", ").any(announces))
        && signs.has_any(&[Sign::Reason, Sign::Contrast])
        && !signs.has_any(&[Sign::Trouble, Sign::Hedge])
        && !signs.begins(Sign::Result)
        && !own.starts_with("Now ")
        && !signs.asks()
        && (own.split_whitespace().count() >= MIN_WORDS || !own.is_ascii())
}

/// Returns true if files were changed in a round.
fn has_changed(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    timeline.deeds[round.deeds.clone()].iter().any(|deed| deed.succeeded() && deed.edit().is_some())
}

/// Returns what a person said to a tool: answers with their questions, a refusal with its reason.
fn answered(timeline: &Timeline<'_>, answer: &Answer<'_>) -> Vec<Found> {
    let said = &answer.said;
    let found = |text: &str| Found { place: said.place, said: pointed(text, said), by_person: true };
    let deed = answer.deed.and_then(|index| timeline.deeds.get(index));
    let whole = |before: &str| {
        let text = question::without_frame(said.text);
        if text.is_empty() { Vec::new() } else { vec![found(&format!("{before}{text}"))] }
    };
    if deed.is_some_and(|deed| deed.outcome() == Some(Outcome::Denied) && deed.act() != Act::Ask) {
        if choice::asks(said.text) {
            return Vec::new();
        }
        let what = deed.map(|deed| refused(timeline, deed)).unwrap_or_default();
        return whole(&format!("User refused {what}: "));
    }
    let pairs = question::answered(said.text);
    if pairs.is_empty() {
        return whole("User: ");
    }
    let pairs = pairs.into_iter().filter(|(_, answer)| !answer.is_empty());
    pairs.map(|(question, answer)| found(&format!("{} User: {answer}", one_line(question, QUESTION_CHARS)))).collect()
}

/// Returns what a person refused.
fn refused(timeline: &Timeline<'_>, deed: &Deed<'_>) -> String {
    if plan::is_presented(deed) {
        return "the plan".to_owned();
    }
    let what = deed.command().or_else(|| deed.target().map(|target| timeline.relative_path(target)));
    let what = what.map(|what| one_line(&without_filter_mark(what), SHORT_CHARS));
    match what {
        Some(what) if deed.command().is_some() => format!("`{what}`"),
        Some(what) => format!("{} {what}", deed.tool()),
        None => deed.tool().to_owned(),
    }
}

/// Returns the indices of decisions that something later ended, each with what did: a person's objection to what the agent
/// decided for the prompt before, or a choice that replaces the earlier one.
fn ended(timeline: &Timeline<'_>, found: &[Found]) -> BTreeMap<usize, Pointed> {
    let matter: Vec<BTreeSet<String>> = found.iter().map(|found| words(&found.said.text)).collect();
    let mut ended = BTreeMap::new();
    for pair in timeline.rounds.windows(2) {
        let [before, after] = pair else { continue };
        let Some(prompt) = &after.prompt else { continue };
        let Some(first) = choice::clauses(prompt.text).next() else { continue };
        if prompt.text.len() > MAX_STEERING_BYTES || !Signs::read(first).begins(Sign::Object) {
            continue;
        }
        let begins = before.prompt.as_ref().map_or(0, |prompt| prompt.place);
        let objection = words(prompt.text);
        let from = found.partition_point(|earlier| earlier.place < begins);
        let until = found.partition_point(|earlier| earlier.place < prompt.place);
        let is_overruled = |at: &usize| !found[*at].by_person && matter[*at].intersection(&objection).count() >= 2;
        let by = pointed(&format!("User: {}", prompt.text), prompt);
        ended.extend((from..until).filter(is_overruled).map(|at| (at, by.clone())));
    }
    let settled: Vec<Settled> = found.iter().map(|found| settled(&found.said.text)).collect();
    for (at, later) in settled.iter().enumerate() {
        // Only so many are kept in the end.
        let from = at.saturating_sub(MAX_ENTRIES);
        let is_replaced = |before: &usize| found[*before].place < found[at].place && later.replaces(&settled[*before]);
        ended.extend((from..at).filter(is_replaced).map(|before| (before, found[at].said.clone())));
    }
    ended
}

/// Returns the content words of a text.
fn words(text: &str) -> BTreeSet<String> {
    super::repetition::significant_words(text)
}

fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(text, DECISION_CHARS), line: said.line, at: said.at }
}
