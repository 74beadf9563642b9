//! Open ends: failures, questions, calls without a result, todo items; and the next steps.

use super::choice;
use super::command::Command;
use super::excerpt::{one_line, without_filter_mark};
use super::failure::Failure;
use super::leftovers;
use super::phrase::Phrase;
use super::question;
use super::repetition::SeenTexts;
use super::sentence::{plain, sentences};
use super::statement::announces;
use super::timeline::{Deed, Message, Round, Timeline};
use super::{ERROR_CHARS, LINE_CHARS, MAX_ENTRIES, PROMPT_CHARS, Pointed, SHORT_CHARS, continuation, todo, work};
use baton_conversation::item::{Act, Outcome};

/// Number of last rounds in which something said to be open counts as still open.
const LAST_ROUNDS: usize = 3;
/// Pronouns: if only they say what is postponed, the sentence before is added.
const POINTING: [&str; 5] = ["it", "that", "this", "them", "these"];
/// A postponement in fewer words says too little alone.
const TELLING_WORDS: usize = 4;
/// A longer prompt is a description or pasted text, in bytes.
const MAX_PROMPT_BYTES: usize = 1_500;

/// What a session leaves open.
#[derive(Default)]
pub(super) struct OpenEnds {
    /// Failures without a later success, unanswered questions, work that was started and not finished.
    pub(super) unresolved: Vec<Pointed>,
    /// What remains to be done, from the todo list or the last words of the agent and the person.
    pub(super) next_steps: Vec<Pointed>,
}

/// Returns what is open at the end, each list in transcript order, without repetitions.
pub(super) fn open_ends(timeline: &Timeline<'_>, failures: &[Failure]) -> OpenEnds {
    let mut ends = OpenEnds::default();
    ends.unresolved.extend(failures.iter().filter(|failure| failure.is_open).map(|failure| {
        let line = &failure.line;
        Pointed { text: one_line(&line.text, ERROR_CHARS), line: line.line, at: line.at }
    }));
    ends.unresolved.extend(without_end(timeline));
    ends.unresolved.extend(questions(timeline));
    for todo in todo::open(timeline) {
        let pointed = Pointed {
            text: one_line(&plain(&without_filter_mark(todo.text)), LINE_CHARS),
            line: todo.line,
            at: todo.at,
        };
        if todo.begun { ends.unresolved.push(pointed) } else { ends.next_steps.push(pointed) }
    }
    ends.next_steps.extend(put_off(timeline));
    add_stated(timeline, &mut ends);
    ends.next_steps.extend(announced(timeline));
    let mut told = SeenTexts::default();
    for list in [&mut ends.unresolved, &mut ends.next_steps] {
        list.retain(|entry| !entry.text.is_empty() && told.is_new(&entry.text));
        list.sort_by_key(|entry| entry.line);
        super::keep(list, MAX_ENTRIES, |_| true);
    }
    ends
}

/// Returns calls of the last round that have no result, or were interrupted.
fn without_end(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let Some(last) = timeline.rounds.last() else { return Vec::new() };
    let deeds = timeline.deeds[last.deeds.clone()].iter().filter(|deed| !deed.aside && !deed.only_looks());
    let told = deeds.filter_map(|deed| {
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

fn shown_call(timeline: &Timeline<'_>, deed: &Deed<'_>) -> Option<String> {
    if let Some(text) = deed.command() {
        let command = Command::read(text);
        return (!command.only_looks())
            .then(|| format!("`{}`", one_line(&without_filter_mark(&command.shown()), SHORT_CHARS)));
    }
    let target = deed.target().map(|target| timeline.relative_path(target)).unwrap_or_default();
    let what = one_line(&without_filter_mark(&format!("{} {target}", deed.tool())), SHORT_CHARS);
    (!what.is_empty() && deed.act() != Act::Ask).then_some(what)
}

/// Returns unanswered questions: of the agent's tool, of its last words, and the person's last request.
fn questions(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found = Vec::new();
    let mut prompts = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
    let last_prompt = prompts.next_back().map(|prompt| prompt.place);
    for (index, deed) in timeline.deeds.iter().enumerate() {
        let unanswered = !deed.succeeded() && last_prompt.is_none_or(|place| place < deed.began);
        if deed.aside || !unanswered || timeline.answers.iter().any(|answer| answer.deed == Some(index)) {
            continue;
        }
        let asked = question::asked(deed).into_iter();
        found.extend(asked.map(|text| Pointed { text: one_line(text, LINE_CHARS), line: deed.line, at: deed.at }));
    }
    let Some(last) = timeline.rounds.last() else { return found };
    if let Some(reply) = last.replies.last().filter(|reply| timeline.deeds.iter().all(|deed| deed.began < reply.place))
    {
        let sentences = sentences(reply.text);
        let asked = sentences.iter().rev().take(3).filter(|sentence| Phrase::new(sentence.text).asks());
        let real = asked.filter(|sentence| !is_courtesy(sentence.text));
        let mut asked: Vec<Pointed> = real.map(|sentence| pointed(sentence.text, reply)).collect();
        asked.reverse();
        found.append(&mut asked);
    }
    found.extend(unanswered_request(timeline, last));
    found
}

/// Returns true for an offer of further help, which is not a real question.
fn is_courtesy(question: &str) -> bool {
    let phrase = Phrase::new(question);
    phrase.has_any(&["anything else", "any questions", "something else", "help you", "how can i help"])
        || phrase.begins(&["what would you", "what are you", "what do you want", "what aspect", "what can i"])
}

/// Returns the last request if nothing was said or done after it.
fn unanswered_request(timeline: &Timeline<'_>, last: &Round<'_>) -> Option<Pointed> {
    let request = work::requests(timeline).last()?;
    let heard = last.prompt.as_ref().is_none_or(|prompt| prompt.place != request.place)
        || !last.replies.is_empty()
        || timeline.deeds[last.deeds.clone()].iter().any(|deed| deed.succeeded());
    let alone = timeline.rounds.len() == 1;
    (!heard && !alone && !continuation::is_courtesy(request.text)).then(|| Pointed {
        text: format!("No answer to: {}", one_line(request.text, PROMPT_CHARS)),
        line: request.line,
        at: request.at,
    })
}

/// Returns what a person postponed in their last prompts, with the sentence before if it says too little alone.
fn put_off(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut found = Vec::new();
    let last = timeline.rounds.len().saturating_sub(LAST_ROUNDS).max(1);
    for prompt in timeline.rounds.iter().skip(last).filter_map(|round| round.prompt.as_ref()) {
        if prompt.text.len() > MAX_PROMPT_BYTES {
            continue;
        }
        let clauses: Vec<&str> = choice::clauses(prompt.text).collect();
        for (at, clause) in clauses.iter().enumerate() {
            let phrase = Phrase::new(clause);
            if !phrase.has_any(&choice::LATER) || phrase.asks() {
                continue;
            }
            // `not today though` alone does not say what is postponed.
            let before = at.checked_sub(1).and_then(|before| clauses.get(before));
            let says_little =
                phrase.words().count() < TELLING_WORDS || phrase.words().any(|word| POINTING.contains(&word));
            let told = match before.filter(|_| says_little) {
                Some(before) if before.ends_with(['.', '!', '?', ',', ';', ':']) => format!("User: {before} {clause}"),
                Some(before) => format!("User: {before}. {clause}"),
                None => format!("User: {clause}"),
            };
            found.push(pointed(&told, prompt));
        }
    }
    found
}

/// Adds what the agent said is open or next after the last change of a file; anything earlier may have been done since.
fn add_stated(timeline: &Timeline<'_>, ends: &mut OpenEnds) {
    let changes = timeline.deeds.iter().filter(|deed| deed.succeeded() && deed.edit().is_some());
    let changed = changes.map(|deed| deed.began).max().unwrap_or(0);
    let rounds = timeline.rounds.iter().skip(timeline.rounds.len().saturating_sub(LAST_ROUNDS));
    for reply in rounds.flat_map(|round| &round.replies).filter(|reply| reply.place > changed) {
        for left in leftovers::leftovers(reply.text) {
            let pointed = pointed(left.text, reply);
            if left.next { ends.next_steps.push(pointed) } else { ends.unresolved.push(pointed) }
        }
    }
}

/// Returns what the agent was about to do at the end of the transcript.
fn announced(timeline: &Timeline<'_>) -> Option<Pointed> {
    let reply = timeline.rounds.last()?.replies.last()?;
    let done = timeline.deeds.iter().any(|deed| deed.began > reply.place && deed.result.is_some());
    let last = *sentences(reply.text).last().filter(|_| !done)?;
    announces(last.text).then(|| pointed(last.text.trim_end_matches([':', ' ']), reply))
}

fn pointed(text: &str, said: &Message<'_>) -> Pointed {
    Pointed { text: one_line(&plain(text), LINE_CHARS), line: said.line, at: said.at }
}
