//! One paragraph for the next person or agent: the purpose, what was last done, and the state at the end.

use super::command::Command;
use super::excerpt::{one_line, sentences_within, without_filter_mark};
use super::failure::Failure;
use super::statement;
use super::timeline::{Deed, Timeline};
use super::work;
use super::{Episode, SHORT_CHARS};
use baton_conversation::item::Outcome;

/// Maximum length of the paragraph, in characters.
pub(super) const MAX_CHARS: usize = 1_400;
/// Maximum length of quotations of objective, last request and last statement, in characters.
const QUOTED_CHARS: usize = 220;
/// Maximum length of a prompt that may be a mere courtesy, in bytes.
const MAX_COURTESY_BYTES: usize = 80;
/// Words of thanks, praise and agreement.
const COURTESIES: [&str; 24] = [
    "all",
    "amazing",
    "awesome",
    "cheers",
    "cool",
    "excellent",
    "for",
    "good",
    "great",
    "it",
    "job",
    "love",
    "much",
    "nice",
    "ok",
    "perfect",
    "so",
    "thank",
    "thanks",
    "that",
    "very",
    "well",
    "work",
    "you",
];
/// Maximum number of files and failures that are named.
const MAX_NAMED: usize = 4;

/// Composes the paragraph from the other fields of the episode and the end of the timeline. Empty only if nothing was
/// said or done.
pub(super) fn paragraph(timeline: &Timeline<'_>, failures: &[Failure], episode: &Episode) -> String {
    let sentences = [
        objective(episode),
        last_request(timeline),
        last_answer(timeline, episode),
        decided(episode),
        next(episode),
        left_off(timeline),
        still_failing(timeline, failures),
        last_check(timeline),
        files(timeline, episode),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    sentences_within(&text, MAX_CHARS)
}

/// Returns the first sentence of the paragraph.
pub(super) fn objective(episode: &Episode) -> Option<String> {
    let first = sentences_within(&episode.objective, QUOTED_CHARS);
    (!first.is_empty()).then(|| format!("Objective: {}", closed(first)))
}

/// Returns the last request, skipping courtesies. A single request is the objective.
fn last_request(timeline: &Timeline<'_>) -> Option<String> {
    let mut requests: Vec<&str> = work::requests(timeline).map(|said| said.text).collect();
    requests.dedup();
    let last = requests.iter().skip(1).rfind(|text| !is_courtesy(text))?;
    Some(format!("Last of {} requests: {}", requests.len(), closed(sentences_within(last, QUOTED_CHARS * 2 / 3))))
}

/// Returns true if a prompt only thanks, praises or agrees.
pub(crate) fn is_courtesy(text: &str) -> bool {
    text.len() <= MAX_COURTESY_BYTES
        && text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .all(|word| COURTESIES.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns the agent's last statement if it answers the last request, otherwise the last answer.
fn last_answer(timeline: &Timeline<'_>, episode: &Episode) -> Option<String> {
    let fresh = timeline.rounds.last().and_then(|round| statement::answer(&round.replies));
    if let Some(answer) = fresh {
        return Some(format!("Last said: {}", closed(sentences_within(&answer.text, QUOTED_CHARS))));
    }
    let answer = episode.work_completed.get("answers")?.last()?;
    let unanswered = if timeline.rounds.len() > 1 { " The last request got no answer." } else { "" };
    Some(format!("Last said: {}{unanswered}", closed(sentences_within(&answer.text, QUOTED_CHARS))))
}

/// Returns the last decision.
fn decided(episode: &Episode) -> Option<String> {
    let last = episode.decisions.last()?;
    Some(format!("Last decided: {}", closed(sentences_within(&last.text, QUOTED_CHARS * 2 / 3))))
}

/// Returns the next steps, the latest first, as it was stated with the most knowledge.
fn next(episode: &Episode) -> Option<String> {
    let steps = &episode.next_steps;
    let named: Vec<_> = steps
        .iter()
        .rev()
        .take(MAX_NAMED / 2)
        .map(|step| one_line(step.text.trim_end_matches('.'), SHORT_CHARS))
        .collect();
    let more = steps.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("To do: {}{more}.", named.join("; ")))
}

fn files(timeline: &Timeline<'_>, episode: &Episode) -> Option<String> {
    let files = &episode.files_modified;
    if files.is_empty() {
        return None;
    }
    let (added, removed) = files.iter().fold((0_u64, 0_u64), |(added, removed), file| {
        (added + u64::from(file.added), removed + u64::from(file.removed))
    });
    let named: Vec<_> = files
        .iter()
        .rev()
        .take(MAX_NAMED)
        .map(|file| one_line(timeline.relative_path(&file.path), SHORT_CHARS))
        .collect();
    let more = files.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let noun = if files.len() == 1 { "file" } else { "files" };
    let last_edit = timeline.deeds.iter().rposition(|deed| deed.succeeded() && deed.edit().is_some());
    let commits =
        |deed: &Deed<'_>| deed.succeeded() && deed.command().is_some_and(|text| Command::read(text).commits());
    let last_commit = timeline.deeds.iter().rposition(commits);
    let state = match (last_edit, last_commit) {
        (Some(edit), Some(commit)) if commit > edit => "; committed since",
        (_, Some(_)) => "; edited since the last commit",
        _ => "",
    };
    let sums = if added + removed == 0 { String::new() } else { format!(" (+{added} -{removed})") };
    Some(format!("Changed {} {noun}{sums}: {}{more}{state}.", files.len(), named.join(", ")))
}

/// Returns how the last test, build or lint went.
fn last_check(timeline: &Timeline<'_>) -> Option<String> {
    let finished = timeline.finished.iter().rev().filter_map(|&index| timeline.deeds.get(index));
    let (deed, command) = finished
        .filter(|deed| !deed.in_background())
        .filter_map(|deed| Some((deed, deed.parsed_command()?)))
        .find(|(_, command)| command.checks() && !command.only_looks())?;
    let outcome = match deed.outcome()? {
        Outcome::Ok if command.passed() => "passed",
        Outcome::Ok => "ran, and how it went was not told",
        Outcome::Failed => return None,
        Outcome::Denied => "was denied",
        Outcome::Interrupted => "was interrupted",
    };
    Some(format!("Last check: `{}` {outcome}.", one_line(&without_filter_mark(command.normal()), SHORT_CHARS)))
}

fn still_failing(timeline: &Timeline<'_>, failures: &[Failure]) -> Option<String> {
    let of_the_work = || failures.iter().filter(|failure| failure.of_the_work).map(|failure| &failure.line);
    let open: Vec<_> = of_the_work().rev().filter(|error| error.resolution.is_none()).collect();
    if open.is_empty() {
        return match of_the_work().count() {
            0 => None,
            1 => Some("The one failure was resolved.".to_owned()),
            2 => Some("Both failures were resolved.".to_owned()),
            count => Some(format!("All {count} failures were resolved.")),
        };
    }
    let named: Vec<_> = open.iter().take(MAX_NAMED / 2).map(|error| one_line(&error.text, SHORT_CHARS)).collect();
    let more = open.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let last = timeline.finished.last().and_then(|&index| timeline.deeds.get(index));
    let ended_so = last.is_some_and(|deed| open.iter().any(|error| error.line == deed.result_line));
    let head = if ended_so { "It ended on a failure" } else { "Never seen to succeed" };
    Some(format!("{head}: {}{more}.", named.join("; ").trim_end_matches('.')))
}

/// Returns what was in progress at the end of the transcript.
fn left_off(timeline: &Timeline<'_>) -> Option<String> {
    let last = timeline.deeds.last()?;
    let what = || {
        let command = last.command().map(|text| Command::read(text).shown().into_owned());
        let target = last.target().map(|target| timeline.relative_path(target));
        let what = command.unwrap_or_else(|| format!("{} {}", last.tool(), target.unwrap_or_default()));
        one_line(&without_filter_mark(&what), SHORT_CHARS)
    };
    match last.outcome() {
        None => Some(format!("`{}` was still running.", what())),
        Some(Outcome::Interrupted) => Some(format!("`{}` was interrupted.", what())),
        Some(Outcome::Denied) => Some(format!("`{}` was denied.", what())),
        _ => None,
    }
}

/// Adds a full stop unless the text ends with punctuation.
fn closed(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', '…', '。', '！', '？', ':']) {
        text.push('.');
    }
    text
}
