//! What a session is for, in the person's words.

use super::agent_choice;
use super::clause::shortened;
use super::excerpt::{one_line, sentences_within, with_end_mark, without_filter_mark};
use super::failure::shown_line;
use super::label::{count, without_plan_label};
use super::outcome;
use super::plan;
use super::request::{
    Clause, before_log, clauses, has_question, has_substance, only_looks, own_sentences, wants, without_command,
    without_politeness,
};
use super::sentence::{plain, sentences};
use super::task::{Task, main_task};
use super::timeline::{Timeline, Undone};
use super::{OBJECTIVE_CHARS, is_for_the_harness, is_greeting, without_pictures};
use crate::lexicon::{Sign, Signs};

/// Maximum length of the main task in an objective that names others, in characters.
const MAIN_TASK_CHARS: usize = 280;
/// Another task is named if so many times its lines, or its calls, are as many as those of the main task.
const OTHER_TASK: u64 = 4;
/// Another task that takes more characters is not named.
const OTHER_TASK_CHARS: usize = 200;
/// Maximum number of words of a prompt that only points to what stands before it.
const POINTING_WORDS: usize = 5;
/// Maximum number of other tasks.
const MAX_OTHER_TASKS: usize = 2;
/// Most words of a section of a plan that say nothing behind its heading.
const LABEL_WORDS: usize = 2;
/// A first prompt of fewer characters ("hi", "continue") does not state the purpose: the next one is added.
const TELLING_PROMPT_CHARS: usize = 12;

/// Returns what the main task is, in the person's words, and what other tasks of weight ask for; in a conversation without
/// work, what the last one asks for. What a terminal draws is left out.
pub(super) fn objective(timeline: &Timeline<'_>, tasks: &[Task]) -> String {
    let told = objective_text(timeline, tasks);
    if told.contains(is_drawn) { one_line(&told.replace(is_drawn, " "), OBJECTIVE_CHARS) } else { told }
}

fn is_drawn(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}')
}

fn objective_text(timeline: &Timeline<'_>, tasks: &[Task]) -> String {
    let Some(at) = main_task(timeline, tasks) else { return String::new() };
    let main = &tasks[at];
    let typed = |task: &Task| {
        let rounds = task.rounds.iter().filter_map(|at| timeline.rounds[*at].prompt);
        let mut prompts: Vec<&str> = rounds.map(|said| without_command(without_pictures(said.text.trim()))).collect();
        // Talk begins with what is asked, work with what asks for it.
        let asks = |text: &&str| has_substance(text) && (wants(text) || has_question(text));
        let is_talk = task.lines == 0 && prompts.first().is_some_and(|first| has_substance(first));
        let works = |text: &&str| has_substance(text) && !only_looks(text);
        let first = task.rounds.first().map(|at| &timeline.rounds[*at]);
        let edits = first.is_some_and(|first| agent_choice::has_changed(timeline, first));
        let looks = !edits && prompts.first().is_some_and(|first| only_looks(first));
        let talk =
            if is_talk { prompts.iter().position(asks) } else { prompts.iter().position(works).filter(|_| looks) };
        prompts.drain(..talk.unwrap_or(0));
        if prompts.iter().any(|text| !is_greeting(text)) {
            prompts.retain(|text| !is_greeting(text));
        }
        prompts
    };
    let weight = |task: &Task| (task.lines, task.rounds.iter().map(|at| timeline.rounds[*at].deeds.len() as u64).sum());
    let (lines, calls): (u64, u64) = weight(main);
    let weighs = |(at, task): &(usize, &Task)| {
        let (own_lines, own_calls): (u64, u64) = weight(task);
        let is_last = lines == 0 && calls == 0 && at + 1 == tasks.len();
        is_last || own_lines > 0 && own_lines * OTHER_TASK >= lines || own_calls > 0 && own_calls * OTHER_TASK >= calls
    };
    let mut others: Vec<(usize, &Task)> = tasks.iter().enumerate().filter(|one| one.0 != at && weighs(one)).collect();
    others.sort_by_key(|(_, task)| std::cmp::Reverse(weight(task)));
    others.truncate(MAX_OTHER_TASKS);
    others.sort_by_key(|(other, _)| *other);
    let others = others.into_iter().filter_map(|(other, task)| {
        let told = as_sentence(&purpose(&typed(task), &timeline.undone, OTHER_TASK_CHARS));
        told.contains(char::is_alphanumeric).then_some((other, told))
    });
    let mut all: Vec<(usize, String)> = others.collect();
    if all.is_empty() {
        let told = purpose(&typed(main), &timeline.undone, OBJECTIVE_CHARS);
        return match ran_before(timeline, main).filter(|_| told.split_whitespace().count() <= POINTING_WORDS) {
            Some(ran) if clauses(&told).iter().any(Clause::asks_for_pointed) => {
                one_line(&format!("{}: `{ran}`", told.trim_end_matches(['.', ':', ' '])), OBJECTIVE_CHARS)
            }
            _ => told,
        };
    }
    let told = purpose(&typed(main), &timeline.undone, MAIN_TASK_CHARS);
    all.push((at, as_sentence(&told)));
    all.sort_unstable();
    let all: Vec<String> = all.into_iter().map(|(_, told)| told).collect();
    sentences_within(&all.join(" Then: "), OBJECTIVE_CHARS)
}

/// Returns a task without politeness, as a sentence or with the mark that it was cut.
fn as_sentence(told: &str) -> String {
    with_end_mark(without_politeness(told.trim_end_matches([' ', '…'])), told)
}

/// Returns the command that the person ran right before a task.
fn ran_before(timeline: &Timeline<'_>, task: &Task) -> Option<String> {
    let prompt = timeline.rounds.get(*task.rounds.first()?)?.prompt.as_ref()?;
    let before = timeline.deeds.iter().take_while(|deed| deed.began < prompt.place).last()?;
    let ran = before.kept_command().filter(|_| before.is_persons())?;
    Some(without_filter_mark(ran.shown()))
}

/// Returns a prompt, or of one that is too long the sentences that ask, and as many of the others as fit.
pub(super) fn requested(text: &str, chars: usize) -> String {
    // A backslash before a line end is how a terminal encodes a line break.
    let text = text.replace("\\\n", "\n");
    if text.chars().count() <= chars {
        return one_line(&text, chars);
    }
    let asks = |own: &str| {
        let tells = |clause: &Clause<'_>| (clause.asks || clause.orders || clause.troubles) && clause.content > 0;
        own.ends_with('?') || clauses(own).iter().any(tells)
    };
    let own = own_sentences(&text);
    let front = shortened(&text, chars.saturating_sub(2));
    let mut asking = own.iter().filter(|own| asks(own)).peekable();
    if asking.peek().is_none() || asking.any(|own| front.contains(own.as_str())) {
        return if front.ends_with('…') { front } else { format!("{front} …") };
    }
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.sort_by_key(|at| !asks(&own[*at]));
    let mut left = chars;
    let fits = order.iter().take_while(|at| {
        let length = own[**at].chars().count() + 3;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    });
    let mut told: Vec<usize> = fits.copied().collect();
    told.sort_unstable();
    if told.is_empty() {
        return shortened(&own[order[0]], chars);
    }
    format!("{} …", told.into_iter().map(|at| own[at].as_str()).collect::<Vec<_>>().join(" "))
}

/// Returns the first prompt that asks for something, with the next one if it is short; of a pasted plan, its heading and
/// what its first section says is wanted, without sentences about what was taken back. Line breaks are removed, and what a program printed.
fn purpose(prompts: &[&str], undone: &Undone, chars: usize) -> String {
    let mut telling = prompts.iter().copied().filter(|text| !text.is_empty() && !is_for_the_harness(text));
    let Some(mut first) = telling.next() else {
        return prompts.first().map(|text| sentences_within(text, chars)).unwrap_or_default();
    };
    // A prompt repeated with more words replaces the shorter one.
    if let Some(again) = telling.clone().next().filter(|next| next.len() > first.len() && next.starts_with(first)) {
        (first, _) = (again, telling.next());
    }
    if let Some(plan) = plan::pasted_plan(first) {
        let heading = plain(plan.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']));
        let whole = format!("{}. {}", without_plan_label(&heading), outcome::purpose(plan, chars));
        // The way that was given up later is not what it is for.
        let stands = |text: &&str| undone.place_of_named(text, 0).is_none();
        let told: Vec<&str> = sentences(&whole).iter().map(|sentence| sentence.text).filter(stands).collect();
        let is_told = told.is_empty() || stands(&whole.as_str());
        let told = shortened(&if is_told { whole } else { told.join(" ") }, chars);
        // After truncation, only the section's label may be left: `Problem 1`.
        let rest = told.strip_prefix(without_plan_label(&heading)).unwrap_or(&told);
        let says_little = rest.len() < told.len() && (1..=LABEL_WORDS).contains(&count(rest));
        return if says_little { without_plan_label(&heading).to_owned() } else { told };
    }
    let short = |text: &str| text.chars().take(TELLING_PROMPT_CHARS).count() < TELLING_PROMPT_CHARS && text.is_ascii();
    if let Some(next) = telling.next().filter(|_| short(first)) {
        return sentences_within(&format!("{first} … {}", before_log(next)), chars);
    }
    if let Some(heading) = task_heading(first).filter(|_| first.chars().count() > chars) {
        let reason = outcome::purpose(first, chars);
        let begins = |own: &str| [Sign::Order, Sign::Look].iter().any(|sign| Signs::read(own).begins(*sign));
        let reason: Vec<&str> = sentences(&reason).iter().map(|own| own.text).filter(|own| !begins(own)).collect();
        return shortened(&format!("{heading}. {}", reason.join(" ")), chars);
    }
    let own = before_log(first);
    let line = shown_line(first).filter(|_| own.len() < first.len());
    match line.map(|line| without_filter_mark(&line)) {
        Some(line) => sentences_within(&format!("{}: {line}", own.trim_end_matches([':', '.', '\\'])), chars),
        None => requested(own.trim_end_matches(['\\', ' ']), chars),
    }
}

/// Returns the heading with which a prompt begins, if it says what the task is, without a label such as `Task:`. What is
/// to be read or fetched first is told below it.
fn task_heading(prompt: &str) -> Option<String> {
    let heading = prompt.trim_start().lines().next().filter(|line| line.starts_with('#'))?;
    let heading = plain(heading.trim_start_matches(['#', ' ']));
    let (label, rest) = heading.split_once([':', '：']).unwrap_or(("", &heading));
    let told = if label.split_whitespace().count() == 1 { rest.trim() } else { &heading };
    has_substance(told).then(|| told.trim_end_matches(['.', ':']).to_owned())
}
