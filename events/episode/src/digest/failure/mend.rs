//! What differed between the last failure and the success: edits, commands that change something, another form of the
//! command, and the agent's sentence about it.

use super::super::command::{Command, Family, Step};
use super::super::excerpt::{one_line, without_filter_mark};
use super::super::sentence::{plain, sentences};
use super::super::timeline::{Deed, Message, Timeline};
use super::super::{ERROR_CHARS, Mend, Mending, PASSED_LATER, Pointed, SHORT_CHARS};
use super::Walk;
use super::open::{Open, Subject};
use crate::lexicon::{Sign, Signs};
use baton_conversation::record::Timestamp;

/// Maximum number of files that a resolution names.
const MAX_FILES_NAMED: usize = 4;
/// Maximum number of commands that a resolution names.
const MAX_COMMANDS_NAMED: usize = 2;
/// If a person spoke more often in between, the work went elsewhere.
const MAX_PROMPTS_BETWEEN: usize = 1;
/// Maximum length of a quoted sentence, in characters.
const MAX_QUOTED_CHARS: usize = 240;
/// Minimum length of a word that a sentence shares with what it explains, in bytes.
const TELLING_BYTES: usize = 4;
/// Number of last replies in which an explanation is looked for.
const MAX_REPLIES_READ: usize = 40;

/// Something that was changed.
pub(super) struct Change<'a> {
    /// Position, line and time of the call.
    pub(super) place: usize,
    line: u64,
    at: Option<Timestamp>,
    pub(super) made: Made<'a>,
}

pub(super) enum Made<'a> {
    /// An edit of a file, as shown to people.
    Edit(&'a str),
    /// A command that changes something; `mends` is the family whose findings it mends.
    Command { text: String, name: String, mends: Option<Family>, installs: bool },
}

impl<'a> Change<'a> {
    /// Returns what a successful call changed.
    pub(super) fn all(timeline: &Timeline<'a>, deed: &Deed<'a>, command: Option<&Command<'a>>) -> Vec<Self> {
        let change = |made| Self { place: deed.began, line: deed.line, at: deed.at, made };
        if let Some((path, ..)) = deed.edit() {
            return vec![change(Made::Edit(timeline.relative_path(path)))];
        }
        let steps = command.map(Command::steps).unwrap_or_default().iter().filter(|step| step.changes());
        steps
            .map(|step| {
                let text = one_line(&without_filter_mark(step.text()), SHORT_CHARS);
                let mends = step.mends().then(|| step.family());
                change(Made::Command { text, name: step.name(), mends, installs: step.family() == Family::Install })
            })
            .collect()
    }

    fn mend(&self) -> Mend {
        match &self.made {
            Made::Edit(path) => Mend::File((*path).to_owned()),
            Made::Command { text, name, .. } => Mend::Command(as_typed(text, name)),
        }
    }

    fn edited(&self) -> Option<&'a str> {
        if let Made::Edit(path) = self.made { Some(path) } else { None }
    }
}

/// Returns the changes between two positions; `changes` are in the order of their positions.
pub(super) fn between<'c, 'a>(changes: &'c [Change<'a>], after: usize, before: usize) -> &'c [Change<'a>] {
    let from = changes.partition_point(|change| change.place <= after);
    let until = changes.partition_point(|change| change.place < before);
    changes.get(from..until).unwrap_or_default()
}

impl<'a> Walk<'a, '_> {
    /// Returns what mended a failure: `by` is the step of `deed` that showed that it is over.
    pub(super) fn mend(
        &self,
        open: &Open<'a>,
        deed: Option<&Deed<'a>>,
        by: Option<&Step<'a>>,
        is_success: bool,
    ) -> (Pointed, Mending) {
        let (resolution, by_what) = self.difference(open, deed, by, is_success);
        let shown = deed.map_or((resolution.line, resolution.at), |deed| (deed.result_line, deed.result_at));
        (resolution, Mending { by: by_what, line: shown.0, at: shown.1 })
    }

    fn difference(
        &self,
        open: &Open<'a>,
        deed: Option<&Deed<'a>>,
        by: Option<&Step<'a>>,
        is_success: bool,
    ) -> (Pointed, Vec<Mend>) {
        let end = deed.map_or(usize::MAX, |deed| deed.began);
        let since: Vec<&Change<'a>> = between(&self.changes, open.ended, end).iter().collect();
        let last = self.timeline.deeds.iter().rfind(|deed| deed.result.is_some());
        let (line, at) = deed.or(last).map_or((0, None), |deed| (deed.line, deed.at));
        let told =
            |text: &str, line: u64, at: Option<Timestamp>| Pointed { text: one_line(text, ERROR_CHARS), line, at };
        let unknown = (told(PASSED_LATER, deed.map_or(line, |deed| deed.result_line), at), Vec::new());
        let Subject::Command { all, .. } = &open.subject else { return unknown };
        // That a commit passes in the end mends nothing.
        let by_name = || {
            let mends = by.filter(|step| step.family() != Family::Commit);
            mends.map(|step| Mend::Command(as_typed(&shown(step.text()), &step.name()))).into_iter().collect::<Vec<_>>()
        };
        let failed = by.and_then(|step| all.iter().find(|failed| step.is_same_check(failed))).or_else(|| all.first());
        let form = by.zip(failed).and_then(|(by, failed)| other_form(failed, by));
        if let Some(form) = form.as_ref().filter(|_| open.is_usage) {
            return (told(form, line, at), by_name());
        }
        let families: Vec<Family> = all.iter().map(Step::family).collect();
        let prompts = self.timeline.rounds.iter().filter_map(|round| round.prompt.map(|prompt| prompt.place));
        if prompts.filter(|place| *place > open.ended && *place < end).count() > MAX_PROMPTS_BETWEEN {
            return match form.filter(|_| families.contains(&Family::Run)) {
                Some(form) => (told(&form, line, at), by_name()),
                None => unknown,
            };
        }
        let is_edited = families.iter().any(|family| !matches!(family, Family::Push | Family::Install));
        let edits: Vec<&Change<'a>> =
            since.iter().copied().filter(|change| is_edited && change.edited().is_some()).collect();
        let commands = commands(&since, &families, &open.complaint, edits.is_empty());
        let named = commands.iter().map(|(command, _)| format!("`{command}`")).collect::<Vec<_>>().join(" and ");
        let mends = edits.iter().copied().chain(commands.iter().map(|(_, change)| *change)).map(Change::mend);
        let mends: Vec<Mend> = mends.fold(Vec::new(), |mut all, mend| {
            all.extend(Some(mend).filter(|mend| !all.contains(mend)));
            all
        });
        let until = edits.last().map_or(end, |edit| edit.place);
        let explained = explanation(self.timeline, open.ended, until, &open.complaint);
        if let Some(first) = edits.first() {
            let mut text = format!("by edits to {}", files(&edits));
            let first =
                edits.iter().find(|edit| edit.edited().is_some_and(|path| text.contains(path))).unwrap_or(first);
            if !named.is_empty() {
                text = format!("{text} and {named}");
            }
            if let Some(explained) = &explained {
                text = format!("{text}: \"{}\"", explained.text);
            }
            if let Some(step) = by.filter(|_| is_success) {
                let is_commit = step.family() == Family::Commit;
                text = format!("{text}; `{}` passed", if is_commit { step.name() } else { shown(step.text()) });
            }
            let (line, at) = explained.map_or((first.line, first.at), |explained| (explained.line, explained.at));
            return (told(&text, line, at), mends);
        }
        if let Some(step) = by.filter(|step| step.mends()) {
            return (told(&format!("by `{}`", shown(step.text())), line, at), by_name());
        }
        if let Some((_, change)) = commands.last() {
            return (told(&format!("by {named}"), change.line, change.at), mends);
        }
        match (form, explained) {
            (Some(form), _) => (told(&form, line, at), by_name()),
            (None, Some(explained)) => {
                (told(&format!("\"{}\"", explained.text), explained.line, explained.at), Vec::new())
            }
            (None, None) => unknown,
        }
    }
}

/// Returns the commands in between that may have mended a failure; `any` if there is nothing else.
fn commands<'c, 'a>(
    since: &[&'c Change<'a>],
    families: &[Family],
    complaint: &str,
    any: bool,
) -> Vec<(&'c str, &'c Change<'a>)> {
    let lacks = ["not found", "annot find", "o module named", "nresolved import", "ould not resolve"];
    let lacks = lacks.iter().any(|words| complaint.contains(words));
    let is_checked = families.iter().all(|family| family.is_check());
    let is_hook = families.iter().any(|family| matches!(family, Family::Commit | Family::Push));
    let mut found: Vec<(&str, &Change<'_>)> = Vec::new();
    for change in since.iter().copied() {
        let Made::Command { text, name, mends, installs } = &change.made else { continue };
        let fits = match mends {
            Some(Family::Format) if families.contains(&Family::Lint) => complaint.contains("ormat"),
            Some(family) => is_hook || families.contains(family),
            None => *installs && lacks || any && !(is_checked && name == "git add"),
        };
        if fits && found.last().is_none_or(|(last, _)| last != text) {
            found.push((text, change));
        }
    }
    // Those that mend what such a check finds say more than others.
    if found.iter().any(|(_, change)| matches!(change.made, Made::Command { mends: Some(_), .. })) {
        found.retain(|(_, change)| matches!(change.made, Made::Command { mends: Some(_), .. }));
    }
    found.split_off(found.len().saturating_sub(MAX_COMMANDS_NAMED))
}

/// Returns a command as the mend of something: a name that needs an object stands with it.
fn as_typed(text: &str, name: &str) -> String {
    if name.contains(' ') && !name.starts_with("git ") { name } else { text }.to_owned()
}

fn files(edits: &[&Change<'_>]) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for path in edits.iter().rev().filter_map(|change| change.edited()) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let more = paths.len().saturating_sub(MAX_FILES_NAMED);
    paths.truncate(MAX_FILES_NAMED);
    paths.reverse();
    if more == 0 { paths.join(", ") } else { format!("{} and {more} more", paths.join(", ")) }
}

/// Returns how a command that passed differs from the one that failed: another flag, another program or path.
fn other_form(failed: &Step<'_>, passed: &Step<'_>) -> Option<String> {
    // `npm run test` is `npm test`.
    let split = |step: &Step<'_>| -> Vec<String> {
        step.text().split(' ').filter(|word| *word != "run").map(str::to_owned).collect()
    };
    let (before, now) = (split(failed), split(passed));
    let missing =
        |of: &[String], in_: &[String]| of.iter().filter(|word| !in_.contains(word)).cloned().collect::<Vec<_>>();
    let is_flag = |word: &String| word.starts_with('-');
    let (added, removed) = (missing(&now, &before), missing(&before, &now));
    if passed.family() == Family::Commit {
        let flags = added.into_iter().filter(|word| is_flag(word) && word.starts_with("--")).collect::<Vec<_>>();
        return (!flags.is_empty()).then(|| format!("by `git commit` with `{}`", shown(&flags.join(" "))));
    }
    // A wrapper may repeat a word: `run bun test`, `run test bun test`. Where long lines are cut they may look alike.
    let (now_shown, before_shown) = (shown(passed.text()), shown(failed.text()));
    let differs = !added.is_empty() || !removed.is_empty() || before.len() != now.len();
    (differs && now_shown != before_shown).then(|| format!("by `{now_shown}` instead of `{before_shown}`"))
}

fn shown(text: &str) -> String {
    one_line(&without_filter_mark(text), SHORT_CHARS)
}

/// Returns the sentence between two positions in which the agent says why something failed or what it changes.
fn explanation(timeline: &Timeline<'_>, from: usize, to: usize, about: &str) -> Option<Pointed> {
    let replies = timeline.rounds.iter().flat_map(|round| &round.replies);
    let mut between: Vec<&Message<'_>> = replies.filter(|reply| reply.place > from && reply.place < to).collect();
    between.drain(..between.len().saturating_sub(MAX_REPLIES_READ));
    // Before an edit the agent says why; further away it may only tell what it found.
    let leads = |reply: &&Message<'_>| {
        let next = timeline.deeds.iter().find(|deed| deed.began > reply.place);
        next.is_some_and(|next| next.edit().is_some())
    };
    let before_edits: Vec<&Message<'_>> = between.iter().copied().filter(leads).collect();
    best_sentence(&before_edits, about, false).or_else(|| best_sentence(&between, about, false))
}

/// Returns the sentence that shares the most words with `about` and speaks of a change, or also of a cause.
pub(super) fn best_sentence(replies: &[&Message<'_>], about: &str, of_change: bool) -> Option<Pointed> {
    let wanted = words(about);
    let mut best: Option<(usize, Pointed)> = None;
    for reply in replies {
        for sentence in sentences(reply.text) {
            let length = sentence.text.chars().count();
            let signs = Signs::read(sentence.text);
            let is_aside = signs.has(Sign::Result) || signs.begins(Sign::Announce) || sentence.text.ends_with(':');
            if sentence.quoted || length > MAX_QUOTED_CHARS || signs.asks() || is_aside {
                continue;
            }
            let changes = signs.has_any(&[Sign::Change, Sign::Contrast]);
            let reasons = signs.has_any(&[Sign::Reason, Sign::Lack]) && (changes || !of_change);
            let explains = usize::from(changes) + usize::from(reasons);
            let shared = words(sentence.text).iter().filter(|word| wanted.contains(word)).count();
            let score = 2 * shared + explains;
            if explains > 0 && shared > 0 && best.as_ref().is_none_or(|(least, _)| score > *least) {
                let text = plain(sentence.text).trim_end_matches(':').to_owned();
                best =
                    Some((score, Pointed { text: one_line(&text, MAX_QUOTED_CHARS), line: reply.line, at: reply.at }));
            }
        }
    }
    best.map(|(_, pointed)| pointed)
}

/// Returns the words that tell one error from another, in lower case.
fn words(text: &str) -> Vec<String> {
    const COMMON: [&str; 14] = [
        "error", "this", "that", "with", "from", "have", "file", "line", "test", "tests", "found", "failed", "when",
        "which",
    ];
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() >= TELLING_BYTES && !word.bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}
