//! Errors that a person reports: pasted output, and defects in words whose cause the agent then names and mends.

use super::super::choice::clauses;
use super::super::excerpt::{head, one_line, without_filter_mark};
use super::super::phrase::Phrase;
use super::super::sentence::{plain, sentences};
use super::super::statement::announces;
use super::super::timeline::{Message, Round, Timeline};
use super::super::{ERROR_CHARS, ErrorLine, Pointed, SHORT_CHARS, Show};
use super::Failure;
use super::mend::{best_sentence, words};
use baton_conversation::filter::pasted_line;

/// A longer prompt is a document, in bytes; pasted output may be longer.
const MAX_PROMPT_BYTES: usize = 1_500;
/// A prompt with more headings is a plan or a document.
const MAX_HEADINGS: usize = 1;
/// Fewer words do not name a cause.
const MIN_WORDS: usize = 5;
/// Maximum number of files that are named.
const MAX_FILES: usize = 4;
/// What a person says of something that does not work.
const DEFECTS: [&str; 14] = [
    "doesn't work",
    "does not work",
    "not working",
    "didn't work",
    "still doesn't",
    "bug",
    "broken",
    "fails",
    "failed",
    "failing",
    "crashes",
    "crashed",
    "stuck",
    "regression",
];
/// What an agent says before the cause.
const CAUSES: [&str; 20] = [
    "found the bug",
    "found the issue",
    "found the problem",
    "found the root cause",
    "found the cause",
    "found a real issue",
    "there's the bug",
    "root cause",
    "the issue is",
    "the problem is",
    "the bug is",
    "the cause is",
    "the error is",
    "the failure is",
    "the issue was",
    "the problem was",
    "the bug was",
    "see the issue",
    "see the problem",
    "understand the issue",
];
/// What a person says of something that is not mended yet.
const AGAIN: [&str; 7] = ["still", "again", "same error", "not fixed", "doesn't work", "does not work", "are you sure"];

/// Returns the errors of the prompts; `known` are those that the session's commands showed.
pub(super) fn reports(timeline: &Timeline<'_>, show: &Show, known: &[Failure]) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (at, round) in timeline.rounds.iter().enumerate() {
        let Some(prompt) = round.prompt.filter(|prompt| !is_document(prompt.text)) else { continue };
        let pasted = pasted_line(prompt.text);
        let is_short = prompt.text.len() <= MAX_PROMPT_BYTES;
        let says = is_short && clauses(prompt.text).any(|clause| is_defect(clause));
        let mended = Mended::of(timeline, round);
        let cause = mended.as_ref().and_then(|mended| cause(round, mended.place, known));
        let edits = mended.as_ref().is_some_and(|mended| !mended.files.is_empty());
        if pasted.is_none() && !(edits && (says || cause.is_some())) {
            continue;
        }
        let around = sentences(prompt.text).first().map(|first| one_line(&plain(first.text), SHORT_CHARS));
        let around =
            around.filter(|_| pasted.as_deref().is_none_or(|line| !prompt.text.trim_start().starts_with(line)));
        let line = pasted.map(|line| one_line(&without_filter_mark(&line), show.output_chars(ERROR_CHARS)));
        let parts = [around, line, cause.map(|cause| cause.text)];
        let mut text = String::new();
        for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
            if !text.contains(&part) {
                text = if text.is_empty() { part } else { format!("{}: {part}", text.trim_end_matches(['.', ':'])) };
            }
        }
        let text = one_line(&format!("reported: {text}"), ERROR_CHARS);
        let next = timeline.rounds.iter().skip(at + 1).find_map(|round| round.prompt);
        let is_back = next.is_some_and(|next| complains_again(next.text));
        let resolution = mended
            .filter(|_| !is_back)
            .map(|mended| mended.told(round, &format!("{} {text}", head(prompt.text, MAX_PROMPT_BYTES))));
        let line = ErrorLine { text, line: prompt.line, at: prompt.at, resolution };
        found.push(Failure { line, of_the_work: false, is_open: false });
    }
    found
}

fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['/', '{', '<'])
        || text.lines().filter(|line| line.starts_with('#')).count() > MAX_HEADINGS
}

fn is_defect(clause: &str) -> bool {
    let phrase = Phrase::new(clause);
    let is_case = phrase.begins(&["if", "when", "whenever", "unless"]);
    !is_case && phrase.has_any(&DEFECTS)
}

fn complains_again(text: &str) -> bool {
    text.len() <= MAX_PROMPT_BYTES && Phrase::new(text).has_any(&AGAIN) || pasted_line(text).is_some()
}

/// The last sentence before the last change in which the agent names a cause, with the next one if it is short. None if
/// a command failed before it, whose failure it explains.
fn cause(round: &Round<'_>, until: usize, known: &[Failure]) -> Option<Pointed> {
    let from = round.prompt?.line;
    for reply in round.replies.iter().rev().filter(|reply| reply.place < until) {
        let all = sentences(reply.text);
        let names = |text: &str| {
            let phrase = Phrase::new(text);
            phrase.has_any(&CAUSES) && !phrase.asks()
        };
        let Some(at) = all.iter().position(|sentence| names(sentence.text)) else { continue };
        if known.iter().any(|failure| failure.line.line > from && failure.line.line < reply.line) {
            return None;
        }
        let is_short = words(all[at].text).len() < MIN_WORDS;
        let told = all[at..].iter().take(1 + usize::from(is_short)).filter(|one| !announces(one.text));
        let text = told.map(|one| plain(one.text)).collect::<Vec<_>>().join(" ").trim_end_matches(':').to_owned();
        if words(&text).len() < MIN_WORDS {
            continue;
        }
        return Some(Pointed { text, line: reply.line, at: reply.at });
    }
    None
}

/// What was changed in answer to a prompt.
struct Mended<'a> {
    files: Vec<&'a str>,
    commands: Vec<String>,
    /// Position of the last change.
    place: usize,
    /// Line and time of the first change.
    line: u64,
    at: Option<baton_conversation::record::Timestamp>,
}

impl<'a> Mended<'a> {
    fn of(timeline: &Timeline<'a>, round: &Round<'_>) -> Option<Self> {
        let mut mended: Option<Self> = None;
        for deed in timeline.deeds.get(round.deeds.clone()).unwrap_or_default() {
            let command = deed.parsed_command();
            let steps = command.as_ref().map(|command| command.steps()).unwrap_or_default();
            let changing = steps.iter().find(|step| step.changes() && !step.text().starts_with("git add"));
            if !deed.succeeded() || deed.edit().is_none() && changing.is_none() {
                continue;
            }
            let all = mended.get_or_insert_with(|| Self {
                files: Vec::new(),
                commands: Vec::new(),
                place: 0,
                line: deed.line,
                at: deed.at,
            });
            if let Some((path, ..)) = deed.edit() {
                if all.files.is_empty() {
                    (all.line, all.at) = (deed.line, deed.at);
                }
                let path = timeline.relative_path(path);
                if !all.files.contains(&path) {
                    all.files.push(path);
                }
            } else if let Some(step) = changing {
                all.commands.push(one_line(&without_filter_mark(step.text()), SHORT_CHARS));
            }
            all.place = deed.began;
        }
        mended
    }

    fn told(self, round: &Round<'_>, about: &str) -> Pointed {
        let more = self.files.len().saturating_sub(MAX_FILES);
        let named = self.files.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(", ");
        let what = match (self.files.is_empty(), more) {
            (true, _) => format!("by `{}`", self.commands.last().map_or("", String::as_str)),
            (false, 0) => format!("by edits to {named}"),
            (false, more) => format!("by edits to {named} and {more} more"),
        };
        let last: Vec<&Message<'_>> =
            round.replies.last().into_iter().filter(|reply| reply.place > self.place).collect();
        let said = best_sentence(&last, about, true);
        let (text, line, at) = match said {
            Some(said) => (format!("{what}: \"{}\"", said.text), said.line, said.at),
            None => (what, self.line, self.at),
        };
        Pointed { text: one_line(&text, ERROR_CHARS), line, at }
    }
}
