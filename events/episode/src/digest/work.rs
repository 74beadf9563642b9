//! The work, prompt by prompt: the answer, the edited files, the successful commands.

use std::collections::BTreeMap;

use super::attempt::shown;
use super::conclusion::Conclusion;
use super::excerpt::one_line;
use super::question;
use super::timeline::{Message, Round, Timeline};
use super::{CommandLine, LINE_CHARS, MAX_ENTRIES, PROMPT_CHARS, Pointed};
use baton_conversation::item::Outcome;

/// Returns what a person typed, one line each, without input for the harness. Equal prompts in a row count once: an
/// interrupted prompt is often sent again.
pub(super) fn prompts(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let mut prompts = all_prompts(timeline);
    prompts.dedup_by(|later, earlier| later.text == earlier.text);
    super::keep(&mut prompts, MAX_ENTRIES, |_| true);
    prompts
}

/// Returns the last `most` of these. Equal prompts in a row count once if typed within one minute.
pub(super) fn typed(timeline: &Timeline<'_>, most: usize) -> Vec<Pointed> {
    const MINUTE_MS: i64 = 60_000;
    let minute = |prompt: &Pointed| prompt.at.map(|at| at.0.div_euclid(MINUTE_MS));
    let mut prompts = all_prompts(timeline);
    prompts.dedup_by(|later, earlier| later.text == earlier.text && minute(later) == minute(earlier));
    super::keep(&mut prompts, most, |_| true);
    prompts
}

fn all_prompts(timeline: &Timeline<'_>) -> Vec<Pointed> {
    let pointed =
        |text: &str, said: &Message<'_>| Pointed { text: one_line(text, PROMPT_CHARS), line: said.line, at: said.at };
    let mut prompts: Vec<Pointed> = requests(timeline).map(|said| pointed(said.text, said)).collect();
    prompts.extend(timeline.answers.iter().map(|answer| {
        let said = &answer.said;
        pointed(question::without_frame(said.text), said)
    }));
    prompts.sort_by_key(|prompt| prompt.line);
    prompts.retain(|prompt| !prompt.text.is_empty());
    prompts
}

/// Returns the prompts that ask for something.
pub(super) fn requests<'t, 'a>(timeline: &'t Timeline<'a>) -> impl Iterator<Item = &'t Message<'a>> {
    let said = timeline.rounds.iter().filter_map(|round| round.prompt.as_ref());
    said.filter(|said| !super::is_for_the_harness(said.text.trim()) && !said.text.trim().is_empty())
}

/// Returns `answers`, `changes` and `commands`, each in transcript order; empty categories are omitted.
pub(super) fn completed(
    timeline: &Timeline<'_>,
    conclusions: &[Option<Conclusion<'_, '_>>],
) -> BTreeMap<String, Vec<Pointed>> {
    let (mut answers, mut changes, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (round, conclusion) in timeline.rounds.iter().zip(conclusions) {
        answers.extend(conclusion.as_ref().and_then(answer));
        changes.extend(changed(timeline, round));
        commands.extend(ran(timeline, round));
    }
    let categories = [("answers", answers), ("changes", changes), ("commands", commands)];
    let mut completed = BTreeMap::new();
    for (name, mut entries) in categories {
        super::keep(&mut entries, MAX_ENTRIES, |_| true);
        if !entries.is_empty() {
            completed.insert(name.to_owned(), entries);
        }
    }
    completed
}

/// Returns what a conclusion tells.
fn answer(conclusion: &Conclusion<'_, '_>) -> Option<Pointed> {
    let (text, said) = (conclusion.told_or_remark(), conclusion.message);
    (!text.is_empty()).then_some(Pointed { text, line: said.line, at: said.at })
}

/// Returns the commands run, by first run; equal ones are counted together.
pub(super) fn commands(timeline: &Timeline<'_>) -> Vec<CommandLine> {
    let mut lines: Vec<(bool, CommandLine, BTreeMap<&str, u32>)> = Vec::new();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for deed in &timeline.deeds {
        let Some(command) = deed.kept_command().filter(|_| !deed.was_cancelled()) else { continue };
        let text = shown(deed, command, timeline.cwd);
        let index = *known.entry((text.clone(), command.normal_form().to_owned())).or_insert(lines.len());
        if index == lines.len() {
            let text = one_line(&text, LINE_CHARS);
            let line = CommandLine { text, ..CommandLine::default() };
            lines.push((command.only_looks(), line, BTreeMap::new()));
        }
        let (_, line, ended) = &mut lines[index];
        line.line = deed.line;
        line.count = line.count.saturating_add(1);
        line.exit_code = deed.result.and_then(|result| result.exit_code);
        line.outcome = match deed.told_outcome() {
            Some(Outcome::Failed) => "failed",
            Some(Outcome::Denied) => "denied",
            Some(Outcome::Interrupted) => "interrupted",
            Some(Outcome::Ok) if !deed.in_background() => "ok",
            _ => "unknown",
        };
        let alike = ended.entry(line.outcome).or_insert(0);
        *alike = alike.saturating_add(1);
        line.alike = *alike;
        line.ok = ended.get("ok").copied().unwrap_or(0);
        line.failed = ended.get("failed").copied().unwrap_or(0);
    }
    super::keep(&mut lines, MAX_ENTRIES, |(looks, ..)| !looks);
    lines.into_iter().map(|(_, line, _)| line).collect()
}

/// Returns the files edited in a round with their total changes, at the line of the last edit.
fn changed(timeline: &Timeline<'_>, round: &Round<'_>) -> Vec<Pointed> {
    let mut files: Vec<(&str, u32, u32, Pointed)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for deed in timeline.deeds[round.deeds.clone()].iter().filter(|deed| deed.succeeded()) {
        let Some((path, added, removed)) = deed.edit() else { continue };
        let path = timeline.relative_path(path);
        let index = *known.entry(path).or_insert(files.len());
        if index == files.len() {
            files.push((path, 0, 0, Pointed { text: String::new(), line: 0, at: None }));
        }
        let (_, plus, minus, pointed) = &mut files[index];
        *plus = plus.saturating_add(added);
        *minus = minus.saturating_add(removed);
        pointed.line = deed.line;
        pointed.at = deed.at;
    }
    let told = files.into_iter().map(|(path, plus, minus, pointed)| {
        let path = one_line(path, LINE_CHARS);
        Pointed { text: if plus == 0 && minus == 0 { path } else { format!("{path} (+{plus} -{minus})") }, ..pointed }
    });
    told.collect()
}

/// Returns the successful commands of a round that did more than look, equal ones once, at the line of the last run.
fn ran(timeline: &Timeline<'_>, round: &Round<'_>) -> Vec<Pointed> {
    let mut lines: Vec<Pointed> = Vec::new();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for deed in timeline.deeds[round.deeds.clone()].iter().filter(|deed| !deed.in_background()) {
        let Some(command) =
            deed.kept_command().filter(|command| !command.only_looks() && deed.told_outcome() == Some(Outcome::Ok))
        else {
            continue;
        };
        let text = shown(deed, command, timeline.cwd);
        let index = *known.entry((text.clone(), command.normal_form().to_owned())).or_insert(lines.len());
        if index == lines.len() {
            lines.push(Pointed { text: one_line(&text, LINE_CHARS), line: deed.line, at: deed.at });
        } else {
            lines[index].line = deed.line;
            lines[index].at = deed.at;
        }
    }
    lines
}
