//! One paragraph for the next person or agent: the goal, the state, what was decided, what is open, and how to check.

use super::command::Command;
use super::excerpt::{one_line, sentences_within, without_filter_mark};
use super::exchange::{conclusion, gist};
use super::sentence::{plain, sentences};
use super::timeline::{Deed, Timeline};
use super::{Episode, Pointed, SHORT_CHARS, WorkState};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{GitOutput, Outcome};

/// Maximum length of the paragraph, in characters.
pub(super) const MAX_CHARS: usize = 1_600;
/// Maximum length of the goal and the state, in characters.
const QUOTED_CHARS: usize = 260;
/// A shorter state ("Committed.") is preceded by that of the exchange before, in characters.
const TELLING_CHARS: usize = 120;
/// Maximum number of decisions, open matters and files that are named.
const MAX_NAMED: usize = 3;
/// Maximum number of pull requests.
const MAX_PULLS: usize = 4;
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

/// Composes the paragraph from the other fields of the episode. Empty only if nothing was said or done.
pub(super) fn paragraph(episode: &Episode) -> String {
    let state = &episode.state;
    let sentences = [
        objective(episode),
        episode.concluded.as_ref().map(|said| format!("State: {}", closed(said.clone()))),
        episode.in_progress.clone(),
        listed("Decided", &episode.decisions),
        listed("Open", &episode.unresolved),
        listed("Next", &episode.next_steps),
        state.branch.as_ref().map(|branch| format!("Branch: {branch}.")),
        last_commit(episode).map(|commit| closed(format!("Last commit: {}", one_line(commit, SHORT_CHARS)))),
        (!state.pull_requests.is_empty()).then(|| format!("Pull requests: {}.", state.pull_requests.join(", "))),
        files(episode),
        state.check.as_ref().map(|check| format!("To check: `{}` passed last.", one_line(check, SHORT_CHARS))),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    sentences_within(&text, MAX_CHARS)
}

/// Returns the first sentence of the paragraph.
pub(super) fn objective(episode: &Episode) -> Option<String> {
    let first = sentences_within(&episode.objective, QUOTED_CHARS);
    let shows_title = first.to_lowercase().contains(&episode.title.to_lowercase());
    let title = if episode.is_titled && !shows_title { format!("{}: ", episode.title) } else { String::new() };
    (!first.is_empty()).then(|| format!("Goal: {title}{}", closed(first)))
}

/// Returns the last commit, as `hash subject`.
pub(crate) fn last_commit(episode: &Episode) -> Option<&str> {
    episode.exchanges.iter().flat_map(|exchange| &exchange.commits).last().map(String::as_str)
}

/// Returns the gist of the last conclusion; of the last two if that is short.
pub(super) fn concluded(timeline: &Timeline<'_>) -> Option<String> {
    let conclusions = timeline.rounds.iter().rev().filter_map(|round| conclusion(timeline, round));
    let mut gists = conclusions.map(|said| outcome(said.text)).filter(|gist| !gist.is_empty());
    let last = gists.next()?;
    let before = if last.chars().count() < TELLING_CHARS { gists.next() } else { None };
    Some(before.map_or_else(|| last.clone(), |before| format!("{} {last}", closed(before))))
}

/// Returns the gist of a conclusion, with the sentence that says what was changed if the gist only describes.
fn outcome(text: &str) -> String {
    let changes = |text: &str| Signs::read(text).has_any(&[Sign::Change, Sign::Works, Sign::Result]);
    let gist = gist(text, QUOTED_CHARS);
    if gist.is_empty() || changes(&gist) {
        return gist;
    }
    let sentences = sentences(text);
    let tells = |text: &str| Signs::read(text).has(Sign::Change) && !text.ends_with([':', '：', '?', '？']);
    let changed = sentences.iter().find(|sentence| tells(sentence.text) && !sentence.quoted);
    let changed = changed.map(|sentence| sentences_within(&plain(sentence.text), QUOTED_CHARS));
    changed.map_or_else(|| gist.clone(), |changed| format!("{} {changed}", closed(gist.clone())))
}

/// Returns the facts about the work tree at the end.
pub(super) fn work_state(timeline: &Timeline<'_>, uncommitted: Vec<String>) -> WorkState {
    let mut pull_requests: Vec<String> = Vec::new();
    for made in timeline.deeds.iter().flat_map(|deed| deed.result.map_or(&[][..], |result| result.made())) {
        if let GitOutput::PullRequest(address) = made
            && !pull_requests.contains(address)
        {
            pull_requests.push(address.clone());
        }
    }
    let excess = pull_requests.len().saturating_sub(MAX_PULLS);
    pull_requests.drain(..excess);
    let branch = timeline.branch.map(|branch| one_line(branch, SHORT_CHARS)).filter(|branch| !branch.is_empty());
    WorkState { branch, pull_requests, uncommitted, check: last_check(timeline) }
}

/// Returns true if a prompt only thanks, praises or agrees.
pub(crate) fn is_courtesy(text: &str) -> bool {
    text.len() <= MAX_COURTESY_BYTES
        && text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .all(|word| COURTESIES.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns the last entries of a list, as one sentence.
fn listed(name: &str, list: &[Pointed]) -> Option<String> {
    let named = list.iter().rev().take(MAX_NAMED).rev();
    let named: Vec<_> = named.map(|entry| one_line(entry.text.trim_end_matches('.'), SHORT_CHARS * 3 / 2)).collect();
    let more = list.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| closed(format!("{name}: {}{more}", named.join("; "))))
}

fn files(episode: &Episode) -> Option<String> {
    let (files, state) = match episode.state.uncommitted.as_slice() {
        [] => {
            (episode.files_modified.iter().map(|file| episode.relative_path(&file.path)).collect::<Vec<_>>(), "Changed")
        }
        uncommitted => (uncommitted.iter().map(String::as_str).collect(), "Not committed"),
    };
    let named: Vec<_> = files.iter().rev().take(MAX_NAMED).map(|path| one_line(path, SHORT_CHARS)).collect();
    let more = files.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{state}: {}{more}.", named.join(", ")))
}

/// Returns the last test, build or lint of which it is known that it passed.
fn last_check(timeline: &Timeline<'_>) -> Option<String> {
    let finished = timeline.finished.iter().rev().filter_map(|&index| timeline.deeds.get(index));
    let checks = finished.filter(|deed| !deed.in_background()).filter_map(|deed| Some((deed, deed.parsed_command()?)));
    let mut checks = checks.filter(|(_, command)| command.checks() && !command.only_looks());
    let (_, command) = checks.find(|(deed, command)| deed.outcome() == Some(Outcome::Ok) && command.passed())?;
    Some(one_line(&without_filter_mark(command.normal()), SHORT_CHARS * 2))
}

/// Returns what was in progress at the end of the transcript.
pub(super) fn in_progress(timeline: &Timeline<'_>) -> Option<String> {
    let last = timeline.deeds.last()?;
    if last.only_looks() || last.command().is_some_and(|text| Command::read(text).only_looks()) {
        return None;
    }
    let what = || {
        let command = last.command().map(|text| Command::read(text).shown().into_owned());
        let target = last.target().map(|target| timeline.relative_path(target));
        let what = command.unwrap_or_else(|| format!("{} {}", last.tool(), target.unwrap_or_default()));
        one_line(&without_filter_mark(&what), SHORT_CHARS)
    };
    match last.outcome() {
        None if !Deed::in_background(last) => Some(format!("`{}` was still running.", what())),
        Some(Outcome::Interrupted) => Some(format!("`{}` was interrupted.", what())),
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
