//! Decisions, with who made them and why: the agent's reasoned choices, answers to its questions, a person's
//! corrections and refusals, approved plans.

use super::choice::{self, Choice};
use super::excerpt::{head, one_line, without_filter_mark};
use super::question;
use super::repetition::without_repetitions;
use super::sentence::{plain, sentences};
use super::timeline::{Answer, Deed, Message, Round, Timeline};
use super::{DECISION_CHARS, MAX_ENTRIES, Pointed, SHORT_CHARS};
use baton_conversation::item::{Act, Outcome};

/// Maximum length of a question before an answer, in characters.
const QUESTION_CHARS: usize = 160;
/// A longer prompt is a description or pasted text, and not a correction, in bytes.
const MAX_CORRECTION_BYTES: usize = 1_500;
/// Only this much of a longer reply, a document, is searched, in bytes.
const MAX_REPLY_BYTES: usize = 20_000;
/// A shorter choice says too little alone: the sentence before is added, in characters.
const TELLING_CHARS: usize = 60;
/// Number of last sentences of a reply in which the question that the next prompt answers is looked for.
const LAST_SENTENCES: usize = 3;

/// Returns all decisions in transcript order without repetitions. A decision that differs only in numbers replaces the
/// earlier one.
pub(super) fn decisions(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found: Vec<(usize, Pointed)> = Vec::new();
    let mut before: Option<&Round<'_>> = None;
    for (index, round) in timeline.rounds.iter().enumerate() {
        match round.prompt.as_ref().zip(before) {
            Some((prompt, before)) => {
                found.extend(corrections(prompt, round.after_interruption, before.replies.last()));
            }
            None => found.extend(round.prompt.iter().flat_map(reasoned)),
        }
        if !round.replies.is_empty() || !round.deeds.is_empty() {
            before = Some(round);
        }
        let next = timeline.rounds.get(index + 1).and_then(|next| next.prompt.as_ref());
        found.extend(choices(round, next.is_some_and(|prompt| choice::objects(prompt.text))));
    }
    found.extend(timeline.answers.iter().flat_map(|answer| answered(timeline, answer)));
    found.extend(timeline.deeds.iter().filter_map(plan));
    let mut decisions = without_repetitions(found);
    super::keep(&mut decisions, MAX_ENTRIES, |_| true);
    decisions
}

/// Returns the agent's choices in a round. A proposal at its end does not count if the person objects.
fn choices(round: &Round<'_>, objected: bool) -> Vec<(usize, Pointed)> {
    let mut found = Vec::new();
    let last = round.replies.last().map(|reply| reply.place);
    for reply in &round.replies {
        let objected = objected && last == Some(reply.place);
        let sentences = sentences(head(reply.text, MAX_REPLY_BYTES));
        for (at, sentence) in sentences.iter().enumerate() {
            let own = Some(sentence.text).filter(|_| !sentence.quoted);
            let Some(choice) = own.and_then(choice::agent_choice) else { continue };
            if choice == Choice::Proposed && objected {
                continue;
            }
            let mut text = plain(sentence.text);
            let before = at.checked_sub(1).and_then(|before| sentences.get(before));
            if let Some(before) = before.filter(|before| !before.point && !sentence.point)
                && text.chars().count() < TELLING_CHARS
            {
                text = format!("{} {text}", plain(before.text));
            }
            found.push((reply.place, pointed(&text, reply)));
        }
    }
    found
}

/// Returns what a person corrected or laid down in a prompt; the whole prompt if they stopped the agent to say it, or
/// answered its question.
fn corrections(prompt: &Message<'_>, after_interruption: bool, before: Option<&Message<'_>>) -> Vec<(usize, Pointed)> {
    if prompt.text.len() > MAX_CORRECTION_BYTES {
        return Vec::new();
    }
    let told = |text: &str| (prompt.place, pointed(text, prompt));
    let laid_down: Vec<_> = choice::clauses(prompt.text)
        .filter(|clause| choice::is_person_choice(clause))
        .map(|clause| told(&format!("User: {}", plain(clause))))
        .collect();
    let short = prompt.text.len() <= DECISION_CHARS && !choice::asks(prompt.text);
    if !laid_down.is_empty() || !short {
        return laid_down;
    }
    let question = before.and_then(|reply| {
        let sentences = sentences(reply.text);
        let last = sentences.iter().rev().take(LAST_SENTENCES);
        last.map(|sentence| sentence.text).find(|sentence| choice::is_left_to_the_reader(sentence)).map(plain)
    });
    match question {
        Some(question) => vec![told(&format!("{} User: {}", one_line(&question, QUESTION_CHARS), prompt.text))],
        None if after_interruption => vec![told(&format!("User: {}", prompt.text))],
        None => Vec::new(),
    }
}

/// Returns a person's reasoned choices in the first prompt; everything else in it is the purpose of the session.
fn reasoned(prompt: &Message<'_>) -> Vec<(usize, Pointed)> {
    if prompt.text.len() > MAX_CORRECTION_BYTES {
        return Vec::new();
    }
    let told = |clause: &str| (prompt.place, pointed(&format!("User: {}", plain(clause)), prompt));
    choice::clauses(prompt.text).filter(|clause| choice::is_reasoned(clause)).map(told).collect()
}

/// Returns what a person said to a tool: answers with their questions, a refusal with its reason.
fn answered(timeline: &Timeline<'_>, answer: &Answer<'_>) -> Vec<(usize, Pointed)> {
    let said = &answer.said;
    let deed = answer.deed.and_then(|index| timeline.deeds.get(index));
    let whole = |before: &str| {
        let text = question::without_frame(said.text);
        if text.is_empty() { Vec::new() } else { vec![(said.place, pointed(&format!("{before}{text}"), said))] }
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
    let told = |(question, answer): (&str, &str)| {
        let text = format!("{} User: {answer}", one_line(question, QUESTION_CHARS));
        (said.place, pointed(&text, said))
    };
    pairs.into_iter().filter(|(_, answer)| !answer.is_empty()).map(told).collect()
}

/// Returns what a person refused.
fn refused(timeline: &Timeline<'_>, deed: &Deed<'_>) -> String {
    if presents_plan(deed) {
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

/// Returns an approved plan, as far as the call records it, at the line of the approval.
fn plan(deed: &Deed<'_>) -> Option<(usize, Pointed)> {
    if !presents_plan(deed) || !deed.succeeded() || deed.aside {
        return None;
    }
    let plan = without_filter_mark(deed.input("plan")?);
    let lines = plan.lines().map(|line| line.trim_start_matches(['#', ' ']));
    let text = plain(&lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" · "));
    let text = one_line(&format!("Plan approved: {}", text.trim_start_matches("Plan: ")), DECISION_CHARS);
    Some((deed.ended, Pointed { text, line: deed.result_line, at: deed.result_at }))
}

fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(text, DECISION_CHARS), line: said.line, at: said.at }
}

/// Returns true if it presents a plan, unlike a call that only begins planning.
fn presents_plan(deed: &Deed<'_>) -> bool {
    deed.act() == Act::Plan && deed.input("plan").is_some()
}
