//! Errors that a person reports: pasted output, and defects in words whose cause the agent then names and mends.

use super::super::choice::clauses;
use super::super::excerpt::{head, one_line, without_filter_mark};
use super::super::exchange::conclusion;
use super::super::sentence::{plain, sentences};
use super::super::timeline::{Message, Round, Timeline};
use super::super::{ERROR_CHARS, ErrorLine, Mend, Mending, Pointed, SHORT_CHARS, Show};
use super::Failure;
use super::mend::{best_sentence, words};
use crate::lexicon::{Sign, Signs};
use baton_conversation::filter::pasted_line;

/// A longer prompt describes work rather than a defect, in bytes; pasted output may be longer.
const MAX_PROMPT_BYTES: usize = 600;
/// A prompt with more headings is a plan or a document.
const MAX_HEADINGS: usize = 1;
/// Fewer words do not name a cause.
const MIN_WORDS: usize = 5;
/// Maximum number of files that are named.
const MAX_FILES: usize = 4;
/// Returns the errors of the prompts; `known` are those that the session's commands showed.
pub(super) fn reports(timeline: &Timeline<'_>, show: &Show, known: &[Failure]) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (at, round) in timeline.rounds.iter().enumerate() {
        let Some(prompt) = round.prompt.filter(|prompt| !is_document(prompt.text)) else { continue };
        let pasted = pasted_line(prompt.text);
        let is_short = prompt.text.len() <= MAX_PROMPT_BYTES;
        let says = is_short && clauses(prompt.text).any(is_defect);
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
            .map(|mended| mended.told(timeline, round, &format!("{} {text}", head(prompt.text, MAX_PROMPT_BYTES))));
        let (resolution, mending) = resolution.unzip();
        let line = ErrorLine { text, line: prompt.line, at: prompt.at, resolution };
        found.push(Failure { line, mending, of_the_work: false, is_open: false });
    }
    found
}

fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['/', '{', '<'])
        || text.lines().filter(|line| line.starts_with('#')).count() > MAX_HEADINGS
}

/// Returns true if a clause says that something does not work, and neither asks nor tells what to do.
fn is_defect(clause: &str) -> bool {
    let signs = Signs::read(clause);
    signs.has(Sign::Defect) && ![Sign::Direct, Sign::Hedge].iter().any(|sign| signs.begins(*sign))
}

fn complains_again(text: &str) -> bool {
    text.len() <= MAX_PROMPT_BYTES && Signs::read(text).has_any(&[Sign::Trouble, Sign::Object])
        || pasted_line(text).is_some()
}

/// The last sentence before the last change in which the agent names a cause, with the next one if it is short. None if
/// a command failed before it, whose failure it explains.
fn cause(round: &Round<'_>, until: usize, known: &[Failure]) -> Option<Pointed> {
    let from = round.prompt?.line;
    for reply in round.replies.iter().rev().filter(|reply| reply.place < until) {
        let all = sentences(reply.text);
        let names = |signs: Signs| signs.has(Sign::Cause) && !signs.asks();
        let Some(at) = all.iter().position(|sentence| names(Signs::read(sentence.text))) else { continue };
        if known.iter().any(|failure| failure.line.line > from && failure.line.line < reply.line) {
            return None;
        }
        let is_short = words(all[at].text).len() < MIN_WORDS;
        let told = all[at..]
            .iter()
            .take(1 + usize::from(is_short))
            .filter(|one| !Signs::read(one.text).begins(Sign::Announce) || names(Signs::read(one.text)));
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

    fn told(self, timeline: &Timeline<'a>, round: &Round<'a>, about: &str) -> (Pointed, Mending) {
        let more = self.files.len().saturating_sub(MAX_FILES);
        let named = self.files.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(", ");
        let what = match (self.files.is_empty(), more) {
            (true, _) => format!("by `{}`", self.commands.last().map_or("", String::as_str)),
            (false, 0) => format!("by edits to {named}"),
            (false, more) => format!("by edits to {named} and {more} more"),
        };
        let last: Vec<&Message<'_>> =
            conclusion(timeline, round).into_iter().filter(|reply| reply.place > self.place).collect();
        let said = best_sentence(&last, about, true);
        let (text, line, at) = match said {
            Some(said) => (format!("{what}: \"{}\"", said.text), said.line, said.at),
            None => (what, self.line, self.at),
        };
        let by = self.files.iter().take(MAX_FILES).map(|file| Mend::File((*file).to_owned())).collect();
        (Pointed { text: one_line(&text, ERROR_CHARS), line, at }, Mending { by, line, at })
    }
}
