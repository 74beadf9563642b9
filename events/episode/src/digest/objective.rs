//! What a session is for, in the person's words.

use super::OBJECTIVE_CHARS;
use super::excerpt::{closed, sentences_within, without_filter_mark};
use super::failure::shown_line;
use super::is_for_the_harness;
use super::outcome;
use super::plan;
use super::request::{before_log, without_politeness};
use super::sentence::plain;
use super::task::{Task, main_task};
use super::timeline::Timeline;
use super::title::without_plan_label;

/// Maximum length of the main task in an objective that names others, in characters.
const MAIN_TASK_CHARS: usize = 220;
/// Another task is named if so many times its lines are as many as those of the main task.
const OTHER_TASK: u64 = 4;
/// Another task that takes more characters is not named.
const OTHER_TASK_CHARS: usize = 200;
/// Maximum number of other tasks.
const MAX_OTHER_TASKS: usize = 2;
/// A first prompt of fewer characters ("hi", "continue") does not state the purpose: the next one is added.
const TELLING_PROMPT_CHARS: usize = 12;

/// Returns what the main task is, in the person's words, and what other tasks of weight ask for.
pub(super) fn objective(timeline: &Timeline<'_>, tasks: &[Task]) -> String {
    let Some(at) = main_task(timeline, tasks) else { return String::new() };
    let main = &tasks[at];
    let typed = |task: &Task| {
        let rounds = task.rounds.iter().filter_map(|at| timeline.rounds[*at].prompt);
        rounds.map(|said| said.text.trim()).collect::<Vec<_>>()
    };
    let weighs = |(_, task): &(usize, &Task)| task.lines * OTHER_TASK >= main.lines.max(1) && task.lines < main.lines;
    let others = tasks.iter().enumerate().filter(weighs).take(MAX_OTHER_TASKS);
    let others = others.filter_map(|(other, task)| {
        let told = purpose(&typed(task), OTHER_TASK_CHARS);
        let told = closed(without_politeness(&told).to_owned());
        let place = if other < at { "Before" } else { "Then" };
        (told.contains(char::is_alphanumeric) && !told.ends_with('…')).then(|| format!("{place}: {told}"))
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return purpose(&typed(main), OBJECTIVE_CHARS);
    }
    let told = closed(purpose(&typed(main), MAIN_TASK_CHARS));
    sentences_within(&format!("{told} {}", others.join(" ")), OBJECTIVE_CHARS)
}

/// Returns the first prompt that asks for something, with the next one if it is short; of a pasted plan, its heading and
/// what its first section says is wanted. Line breaks are removed, and what a program printed.
fn purpose(prompts: &[&str], chars: usize) -> String {
    let mut telling = prompts.iter().copied().filter(|text| !text.is_empty() && !is_for_the_harness(text));
    let Some(first) = telling.next() else {
        return prompts.first().map(|text| sentences_within(text, chars)).unwrap_or_default();
    };
    if let Some(plan) = plan::pasted(first) {
        let heading = plain(plan.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']));
        let reason = outcome::purpose(plan, chars);
        return sentences_within(&format!("{}. {reason}", without_plan_label(&heading)), chars);
    }
    let short = |text: &str| text.chars().take(TELLING_PROMPT_CHARS).count() < TELLING_PROMPT_CHARS && text.is_ascii();
    if let Some(next) = telling.next().filter(|_| short(first)) {
        return sentences_within(&format!("{first} … {}", before_log(next)), chars);
    }
    let own = before_log(first);
    let line = shown_line(first).filter(|_| own.len() < first.len());
    match line.map(|line| without_filter_mark(&line)) {
        Some(line) => sentences_within(&format!("{}: {line}", own.trim_end_matches([':', '.'])), chars),
        None => sentences_within(own, chars),
    }
}
