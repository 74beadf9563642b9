//! Errors that a person reports: pasted output, and defects in words that the agent then mends.

use super::super::command::Command;
use super::super::excerpt::{one_line, without_filter_mark};
use super::super::exchange::conclusion;
use super::super::request::{before_log, without_politeness};
use super::super::sentence::{clauses, plain, sentences};
use super::super::timeline::{Message, Round, Timeline};
use super::super::{ERROR_CHARS, ErrorLine, Mend, Mending, Pointed, SHORT_CHARS, Show, without_salutation};
use super::Failure;
use super::explanation::{Edited, Speech};
use super::mend::with_words;
use crate::lexicon::{Sign, Signs};
use baton_conversation::filter::pasted_line;
use baton_conversation::record::Timestamp;

/// A longer prompt describes work rather than a defect, in bytes; pasted output may be longer.
const MAX_PROMPT_BYTES: usize = 600;
/// A prompt with more headings is a plan or a document.
const MAX_HEADINGS: usize = 1;
/// Maximum number of labelled items of a conclusion.
const MAX_LABELLED: usize = 3;
/// Maximum number of files that are named.
const MAX_FILES: usize = 4;
/// Labels of what mended an error, in lower case.
const MENDED: [&str; 4] = ["fix", "fixed", "changed", "fixed by"];

/// Returns the errors of the prompts: those that show a line of an error, and those that say that something does not work,
/// or state something of which the agent names the cause, where the agent then changed something and said so.
pub(super) fn reports(timeline: &Timeline<'_>, speech: &Speech<'_, '_>, show: &Show) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (at, round) in timeline.rounds.iter().enumerate() {
        let Some(prompt) = round.prompt else { continue };
        let mended = Mended::of(timeline, round);
        let mends = mended.as_ref().filter(|mended| !mended.files.is_empty() && says_mended(timeline, round));
        let said = shown_line(prompt.text).or_else(|| {
            let change = mends?.edits.last()?.0;
            let is_trouble = |said: &String| {
                Signs::read(said).has_any(&[Sign::Trouble, Sign::Object])
                    || speech.names_cause((prompt.place, change), said)
            };
            defect(prompt.text).or_else(|| complaint(prompt.text).filter(is_trouble))
        });
        let Some(said) = said else { continue };
        let text = one_line(&without_filter_mark(&said), show.output_chars(ERROR_CHARS));
        let text = one_line(&format!("reported: {text}"), ERROR_CHARS);
        let next = timeline.rounds.iter().skip(at + 1).find_map(|round| round.prompt);
        // Another error shows that this one is gone.
        let is_back = next.is_some_and(|next| {
            speech.shows_again(&said, next.text) || shown_line(next.text).is_none() && complains_again(next.text)
        });
        let resolution =
            mended.filter(|_| !is_back).map(|mended| mended.told(timeline, speech, round, (prompt, &said)));
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

/// Returns the line of an error in what a prompt shows: pasted output, or a block behind words that say that it fails.
pub(in crate::digest) fn shown_line(text: &str) -> Option<String> {
    let (own, output) = text.split_at(before_log(text).len());
    if is_document(own) {
        return failing_block(text);
    }
    let bare: Vec<&str> = output.lines().map(without_tag).collect();
    let ends = |line: &&&str| line.contains(" exited with code ") || line.contains(" failed: ");
    let line = pasted_line(text).or_else(|| pasted_line(&bare.join("\n")));
    let line = line.or_else(|| bare.iter().find(ends).map(|line| (*line).to_owned()))?;
    Some(without_tag(&line).to_owned())
}

/// Returns the telling line of the first block that follows a line such as `it fails with:`.
fn failing_block(text: &str) -> Option<String> {
    let (before, block) = text.split_once("```")?;
    let lead = before.trim_end().lines().next_back().filter(|line| line.ends_with(':'))?;
    // A block with a language is code.
    let (_, block) = block.split_once('\n').filter(|(language, _)| language.trim().is_empty())?;
    let block = block.split("```").next()?;
    let first = || block.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).map(str::to_owned);
    Signs::read(lead).has(Sign::Defect).then(|| pasted_line(block).or_else(first)).flatten()
}

/// Strips the tags before a line: `[server] [12:00] …`.
fn without_tag(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        rest = after.trim_start();
    }
    rest
}

/// Returns the sentence of a short prompt that says that something does not work; one that only asks for it to be mended
/// gives the sentence before it.
fn defect(text: &str) -> Option<String> {
    if is_document(text) || text.len() > MAX_PROMPT_BYTES {
        return None;
    }
    let all = sentences(text);
    let at = all.iter().position(|sentence| clauses(sentence.text).any(is_defect))?;
    let asks =
        clauses(all[at].text).filter(|clause| is_defect(clause)).all(|clause| Signs::read(clause).begins(Sign::Order));
    Some(plain(all[at - usize::from(asks && at > 0)].text))
}

/// Returns true if a clause says that something does not work, and neither asks nor tells what to do.
fn is_defect(clause: &str) -> bool {
    let signs = Signs::read(clause);
    signs.has(Sign::Defect) && ![Sign::Direct, Sign::Hedge].iter().any(|sign| signs.begins(*sign))
}

/// Returns the first sentence of a short prompt that only states something: it asks for nothing.
fn complaint(text: &str) -> Option<String> {
    let asks = |clause: &str| {
        let signs = Signs::read(clause);
        signs.asks() || signs.has_any(&[Sign::Direct, Sign::Suggest]) || signs.begins(Sign::Order)
    };
    let is_short = !is_document(text) && text.len() <= MAX_PROMPT_BYTES;
    let all = sentences(text);
    let states = is_short && without_politeness(text) == without_salutation(text) && !clauses(text).any(asks);
    all.first().filter(|_| states).map(|first| plain(first.text))
}

/// Returns true if the agent concluded that it changed something.
fn says_mended(timeline: &Timeline<'_>, round: &Round<'_>) -> bool {
    let said = conclusion(timeline, round).map(|said| sentences(said.text)).unwrap_or_default();
    said.iter().any(|sentence| !sentence.quoted && Signs::read(sentence.text).has_any(&[Sign::Change, Sign::Works]))
}

fn complains_again(text: &str) -> bool {
    text.len() <= MAX_PROMPT_BYTES && Signs::read(text).has_any(&[Sign::Trouble, Sign::Object])
}

/// Returns what stands behind a label such as `Fix:` or `Fixed by`, in all items that have one.
fn labelled(reply: &Message<'_>) -> Option<Pointed> {
    let told = sentences(reply.text).into_iter().filter(|sentence| !sentence.quoted).filter_map(|sentence| {
        let text = plain(sentence.text);
        let lower = text.to_lowercase();
        let label = lower.split_once(':').map(|(label, _)| label.trim_start_matches("the ").trim());
        let is_labelled = label.is_some_and(|label| MENDED.contains(&label));
        let by = lower.find("fixed by ").or_else(|| lower.starts_with("changed to ").then_some(0));
        let whole = is_labelled || by.is_some_and(|at| at == 0 || lower[..at].ends_with([' ', '(']));
        whole.then(|| text.trim_end_matches('.').to_owned())
    });
    let told: Vec<String> = told.take(MAX_LABELLED).collect();
    (!told.is_empty()).then(|| Pointed { text: told.join("; "), line: reply.line, at: reply.at })
}

/// What was changed in answer to a prompt.
struct Mended<'a> {
    files: Vec<&'a str>,
    edits: Vec<Edited<'a>>,
    commands: Vec<String>,
    /// Line and time of the first change.
    line: u64,
    at: Option<Timestamp>,
    /// The first check that passed after the last change, with the line and time of its result.
    passed: Option<(String, u64, Option<Timestamp>)>,
}

impl<'a> Mended<'a> {
    fn of(timeline: &Timeline<'a>, round: &Round<'_>) -> Option<Self> {
        let mut mended: Option<Self> = None;
        for deed in timeline.deeds.get(round.deeds.clone()).unwrap_or_default() {
            let command = deed.parsed_command();
            let steps = command.as_ref().map(|command| command.steps()).unwrap_or_default();
            let changing = steps.iter().find(|step| step.changes() && !step.text().starts_with("git add"));
            if !deed.succeeded() {
                continue;
            }
            if deed.edit().is_none() && changing.is_none() {
                let proven = command.as_ref().map(Command::proven).unwrap_or_default();
                if let (Some(all), Some(check)) = (&mut mended, proven.iter().find(|step| step.family().is_check())) {
                    let check = one_line(&without_filter_mark(check.text()), SHORT_CHARS);
                    all.passed.get_or_insert((check, deed.result_line, deed.result_at));
                }
                continue;
            }
            let all = mended.get_or_insert_with(|| Self {
                files: Vec::new(),
                edits: Vec::new(),
                commands: Vec::new(),
                line: deed.line,
                at: deed.at,
                passed: None,
            });
            all.passed = None;
            if let Some((path, ..)) = deed.edit() {
                if all.files.is_empty() {
                    (all.line, all.at) = (deed.line, deed.at);
                }
                all.edits.push((deed.began, deed.new_text()));
                let path = timeline.relative_path(path);
                if !all.files.contains(&path) {
                    all.files.push(path);
                }
            } else if let Some(step) = changing {
                all.commands.push(one_line(&without_filter_mark(step.text()), SHORT_CHARS));
            }
        }
        mended
    }

    fn told(
        self,
        timeline: &Timeline<'a>,
        speech: &Speech<'_, 'a>,
        round: &Round<'a>,
        (prompt, error): (Message<'_>, &str),
    ) -> (Pointed, Mending) {
        let more = self.files.len().saturating_sub(MAX_FILES);
        let named = self.files.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(", ");
        let what = match (self.files.is_empty(), more) {
            (true, _) => format!("by `{}`", self.commands.last().map_or("", String::as_str)),
            (false, 0) => format!("by edits to {named}"),
            (false, more) => format!("by edits to {named} and {more} more"),
        };
        let last = self.edits.last().map_or(prompt.place, |(place, _)| *place);
        let said = conclusion(timeline, round).filter(|reply| reply.place > last);
        let about = format!("{} {error}", before_log(prompt.text));
        let mut told = speech.explain((prompt.place, last), error, &self.edits, None);
        let concluded = said
            .and_then(|said| labelled(said).or_else(|| speech.best_change(said, (prompt.place, &about), &self.edits)));
        told.mend = concluded.or(told.mend);
        let (line, at) = told.mend.as_ref().map_or((self.line, self.at), |said| (said.line, said.at));
        let passed = self.passed.as_ref().map(|(check, ..)| check.as_str());
        let text = with_words(what, &told, &self.edits, passed);
        let by = self.files.iter().take(MAX_FILES).map(|file| Mend::File((*file).to_owned()));
        let by = by.chain(self.commands.last().filter(|_| self.files.is_empty()).cloned().map(Mend::Command)).collect();
        let end = self.passed.as_ref().map_or((line, at), |(_, line, at)| (*line, *at));
        (Pointed { text, line, at }, Mending { by, line: end.0, at: end.1 })
    }
}
