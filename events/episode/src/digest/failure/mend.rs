//! What differed between the last failure and the success: edits, commands that change something, another form of the
//! command, and what the agent says about it.

use super::super::command::{Command, Family, Step, switched_off};
use super::super::evidence::without_numbers;
use super::super::excerpt::{one_line, without_filter_mark};
use super::super::exchange::conclusion;
use super::super::file::is_document;
use super::super::timeline::{Deed, Message, Round, Timeline};
use super::super::{ERROR_CHARS, INSTEAD_OF, Mend, Mending, NOT_CHECKED, PASSED_LATER, Pointed, SHORT_CHARS};
use super::explanation::{Edited, Explanation, Rival};
use super::open::{Directory, Open, Subject};
use super::{Shown, Walk};
use baton_conversation::record::Timestamp;

/// Maximum number of files that a resolution names.
const MAX_FILES_NAMED: usize = 4;
/// Maximum number of commands that a resolution names.
const MAX_COMMANDS_NAMED: usize = 2;
/// If a person spoke more often in between, the work went elsewhere.
const MAX_PROMPTS_BETWEEN: usize = 1;
/// Maximum number of later failures that may be explained instead.
const MAX_RIVALS: usize = 20;
/// Maximum number of lines of edits that are quoted themselves.
const MAX_LINES_QUOTED: usize = 2;

/// Number of later calls among which the one that makes up for what was left out is looked for.
const MAX_LATER: usize = 20;

/// Something that was changed.
pub(super) struct Change<'a> {
    /// Position, line and time of the call.
    pub(super) place: usize,
    line: u64,
    at: Option<Timestamp>,
    pub(super) made: Made<'a>,
}

pub(super) enum Made<'a> {
    /// An edit of a file, as shown to people, and what it wrote.
    Edit { path: &'a str, new: &'a str },
    /// A command that changes something; `mends` is the family whose findings it mends, `in_part` if it names which.
    Command { text: String, name: String, mends: Option<Family>, in_part: bool, installs: bool },
}

impl<'a> Change<'a> {
    /// Returns what a successful call changed.
    pub(super) fn all(timeline: &Timeline<'a>, deed: &Deed<'a>, command: Option<&Command<'a>>) -> Vec<Self> {
        let change = |made| Self { place: deed.began, line: deed.line, at: deed.at, made };
        if let Some((path, ..)) = deed.edit() {
            return vec![change(Made::Edit { path: timeline.relative_path(path), new: deed.new_text() })];
        }
        let steps = command.map(Command::steps).unwrap_or_default().iter().filter(|step| step.is_mutating());
        steps
            .map(|step| {
                let text = one_line(&without_filter_mark(step.text()), SHORT_CHARS);
                let mends = step.mends().then(|| step.family());
                let (in_part, installs) = (step.names_parts(), step.family() == Family::Install);
                change(Made::Command { text, name: step.name(), mends, in_part, installs })
            })
            .collect()
    }

    fn mend(&self) -> Mend {
        match &self.made {
            Made::Edit { path, .. } => Mend::File((*path).to_owned()),
            Made::Command { text, name, .. } => Mend::Command(as_typed(text, name)),
        }
    }

    fn edited(&self) -> Option<&'a str> {
        if let Made::Edit { path, .. } = self.made { Some(path) } else { None }
    }

    fn wrote(&self) -> Option<Edited<'a>> {
        if let Made::Edit { new, .. } = self.made { Some((self.place, new)) } else { None }
    }
}

/// Returns the changes between two positions; `changes` are in the order of their positions.
pub(super) fn between<'c, 'a>(changes: &'c [Change<'a>], after: usize, before: usize) -> &'c [Change<'a>] {
    let from = changes.partition_point(|change| change.place <= after);
    let until = changes.partition_point(|change| change.place < before);
    changes.get(from..until).unwrap_or_default()
}

/// The positions between which a failure was mended; `is_sure` unless it was between some other runs in there.
struct Window {
    from: usize,
    end: usize,
    is_sure: bool,
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
        if let Some(off) = Self::how_switched_off(failed, deed.zip(by)) {
            return (told(&off, line, at), Vec::new());
        }
        let place = deed.and_then(Directory::of_call).filter(|place| *place != open.directory);
        let entered = place.and_then(|place| place.below(open.directory)).map(|below| format!("cd {below} && "));
        let form = by.zip(failed).and_then(|(by, failed)| {
            self.absolute_form(failed, by).or_else(|| other_form(failed, by, &entered.unwrap_or_default()))
        });
        if open.is_usage {
            let place = || place?.name().map(|name| format!("by running it in `{name}`"));
            if let Some(form) = form.clone().or_else(place) {
                return (told(&form, line, at), by_name());
            }
        }
        let families: Vec<Family> = all.iter().map(Step::family).collect();
        let Some(Window { from, end, is_sure }) = self.window(open, deed) else { return unknown };
        let rivals = self.rivals(open, (from, end));
        // Changes after another failed check are for that check, unless nothing changed before.
        let changed = |end: usize| between(&self.changes, from, end);
        let until = rivals.iter().map(|rival| rival.place).find(|place| !changed(*place).is_empty()).unwrap_or(end);
        let until = self.until_another_wish(from, until);
        let since: Vec<&Change<'a>> = changed(until).iter().collect();
        let prompts = self.timeline.rounds.iter().filter_map(|round| round.prompt.map(|prompt| prompt.place));
        if prompts.filter(|place| *place > from && *place < end).count() > MAX_PROMPTS_BETWEEN {
            return match form.filter(|_| families.contains(&Family::Run)) {
                Some(form) => (told(&form, line, at), by_name()),
                None => unknown,
            };
        }
        let is_edited = families.iter().any(|family| !matches!(family, Family::Push | Family::Install));
        // A command that was called wrongly is mended by an edit only of what it names, and a text mends only itself.
        let may_mend = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            is_edited && (!open.is_usage && !is_document(path) || open.complaint.contains(name))
        };
        let edits: Vec<&Change<'a>> =
            since.iter().copied().filter(|change| change.edited().is_some_and(may_mend)).collect();
        let commands = commands(&since, all, &open.complaint, edits.is_empty());
        let named = commands.iter().map(|(command, _)| format!("`{command}`")).collect::<Vec<_>>().join(" and ");
        let mends = edits.iter().copied().chain(commands.iter().map(|(_, change)| *change)).map(Change::mend);
        let mends: Vec<Mend> = mends.fold(Vec::new(), |mut all, mend| {
            all.extend(Some(mend).filter(|mend| !all.contains(mend)));
            all
        });
        let wrote: Vec<Edited<'_>> = edits.iter().filter_map(|edit| edit.wrote()).collect();
        let said =
            is_sure.then(|| self.speech.explain((from, end), (&open.complaint, &rivals), &wrote, self.concluded(end)));
        let (said, wrote) = said.map_or_else(Default::default, |said| (said, wrote));
        if let Some(first) = edits.first() {
            let mut text = format!("by edits to {}", files(&edits));
            let first =
                edits.iter().find(|edit| edit.edited().is_some_and(|path| text.contains(path))).unwrap_or(first);
            if !named.is_empty() {
                text = format!("{text} and {named}");
            }
            let passed = by.filter(|_| is_success).map(|step| match step.family() {
                Family::Commit => step.name(),
                _ => shown(step.text()),
            });
            let text = with_words(text, &said, &wrote, passed.as_deref());
            return (told(&text, first.line, first.at), mends);
        }
        if let Some(step) = by.filter(|step| step.mends()) {
            return (told(&format!("by `{}`", shown(step.text())), line, at), by_name());
        }
        if let Some((_, change)) = commands.last() {
            return (told(&format!("by {named}"), change.line, change.at), mends);
        }
        // A check that passes in another form may check less.
        let is_telling = |step: &Step<'_>| !step.family().is_check() || step.in_its_environment() != step.text();
        if let Some(form) = form.filter(|_| by.is_some_and(is_telling)) {
            let rest = deed.zip(failed).zip(by).and_then(|((deed, failed), by)| self.made_up_for(deed, failed, by));
            let form = rest.map_or(form.clone(), |rest| format!("{form}, then by `{rest}`"));
            return (told(&form, line, at), by_name());
        }
        // If the lines are cut, the agent may say what differs.
        let is_cut = by.is_some_and(|step| step.text().contains('…'));
        let described = deed.and_then(|deed| deed.input("description")).filter(|_| is_cut);
        match described.filter(|text| self.speech.is_about(text, &open.complaint)) {
            Some(text) => {
                (told(&format!("by `{}`: \"{text}\"", by.map(Step::name).unwrap_or_default()), line, at), by_name())
            }
            None => unknown,
        }
    }

    /// Returns the place up to which changes are for the failure: a prompt that comes while the agent works has another
    /// wish. If nothing was changed before it, what the agent changes next, without a word in between, is for the failure.
    fn until_another_wish(&self, from: usize, end: usize) -> usize {
        let comes_in = |(before, round): (&Round<'a>, &Round<'a>)| {
            let prompt = round.prompt.filter(|_| !round.after_interruption)?.place;
            let worked = self.timeline.deeds[before.deeds.clone()].iter().rfind(|deed| !deed.is_persons())?.began;
            let spoke = before.replies.last().is_some_and(|reply| reply.place > worked);
            (!spoke && prompt > from && prompt < end).then_some(prompt)
        };
        let rounds = &self.timeline.rounds;
        let later = || rounds.iter().skip(1);
        let Some(prompt) = rounds.iter().zip(later()).find_map(comes_in) else { return end };
        if !between(&self.changes, from, prompt).is_empty() {
            return prompt;
        }
        let Some(first) = between(&self.changes, prompt, end).first() else { return end };
        let replies = later().flat_map(|round| &round.replies).map(|reply| reply.place);
        replies.into_iter().find(|place| *place > first.place).map_or(end, |place| place.min(end))
    }

    /// Returns that a command passed with absolute paths if nothing else differs: as paths are shown, both lines are equal.
    fn absolute_form(&self, failed: &Step<'a>, passed: &Step<'a>) -> Option<String> {
        let (before, now) = (failed.in_its_environment(), passed.in_its_environment());
        let shown = |text: &str| text.split(' ').map(|word| self.timeline.relative_path(word).to_owned()).collect();
        let (shown_before, shown_now): (Vec<String>, Vec<String>) = (shown(&before), shown(&now));
        let is_absolute = now.split(' ').any(|word| word.starts_with('/') && !before.contains(word));
        (shown_before == shown_now && is_absolute).then(|| format!("by `{}` with absolute paths", passed.name()))
    }

    /// Returns the command that did what `passed` left out of what failed, in another form.
    fn made_up_for(&self, deed: &Deed<'a>, failed: &Step<'a>, passed: &Step<'a>) -> Option<String> {
        let words = |step: &Step<'a>| step.in_its_environment().split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (before, now) = (words(failed), words(passed));
        let left: Vec<&String> = before.iter().filter(|word| !now.contains(word)).collect();
        if left.is_empty() || now.iter().any(|word| !before.contains(word)) {
            return None;
        }
        let later = self.timeline.deeds.iter().filter(|later| later.began > deed.began).take(MAX_LATER);
        let steps = later.filter(|later| later.succeeded()).filter_map(Deed::parsed_command).flat_map(Command::proven);
        let makes_up = |step: &&Step<'a>| {
            let own = words(step);
            let is_other = own.iter().any(|word| word.starts_with('-') && !before.contains(word));
            step.name() == failed.name() && is_other && left.iter().all(|word| own.contains(word))
        };
        steps.into_iter().find(makes_up).map(|step| shown(step.text()))
    }

    /// Returns how the command that passed switched off the check, if the one that failed did not.
    fn how_switched_off(failed: Option<&Step<'a>>, passed: Option<(&Deed<'a>, &Step<'a>)>) -> Option<String> {
        let (deed, by) = passed?;
        if !by.family().is_check() && !matches!(by.family(), Family::Commit | Family::Push) {
            return None;
        }
        let before = |word: &String| failed.is_some_and(|failed| failed.text().split(' ').any(|own| own == word));
        let lines = deed.command().into_iter().chain(deed.git_line());
        let mut off: Vec<String> = lines.flat_map(switched_off).collect();
        off.dedup();
        off.retain(|word| !before(word));
        (!off.is_empty()).then(|| format!("with `{}`, {NOT_CHECKED}", shown(&off.join(" "))))
    }

    /// Returns between which positions a failure was mended. If runs failed otherwise in between, it is the window between
    /// two of them with all changes, or with those that wrote most of what the failure names; otherwise all of them if they
    /// changed one file, else `None`.
    fn window(&self, open: &Open<'a>, deed: Option<&Deed<'a>>) -> Option<Window> {
        let end = open.gone.or(deed.map(|deed| deed.began)).unwrap_or(usize::MAX);
        let bounds = open.otherwise.iter().copied().filter(|place| *place < end).chain([end]);
        let windows = bounds.scan(open.ended, |from, to| Some((std::mem::replace(from, to), to)));
        let windows: Vec<(usize, usize)> =
            windows.filter(|(from, to)| !between(&self.changes, *from, *to).is_empty()).collect();
        let sure = |(from, end): (usize, usize)| Window { from, end, is_sure: true };
        if let [] | [_] = windows[..] {
            return Some(sure(windows.first().copied().unwrap_or((open.ended, end))));
        }
        let named = |(from, to): &(usize, usize)| {
            let wrote = between(&self.changes, *from, *to).iter().filter_map(Change::wrote);
            self.speech.names_written(&open.complaint, &wrote.collect::<Vec<_>>())
        };
        let named: Vec<usize> = windows.iter().map(named).collect();
        let most = *named.iter().max()?;
        let mut best = windows.iter().zip(&named).filter(|(_, named)| most > 0 && **named == most);
        if let (Some((window, _)), None) = (best.next(), best.next()) {
            return Some(sure(*window));
        }
        let all = between(&self.changes, open.ended, end);
        let is_one = all.windows(2).all(|two| two[0].edited().is_some() && two[0].edited() == two[1].edited());
        is_one.then_some(Window { from: open.ended, end, is_sure: false })
    }

    /// Returns the failures of other checks between two positions. A hook that failed otherwise later runs other checks.
    fn rivals(&self, open: &Open<'a>, (from, to): (usize, usize)) -> Vec<Rival<'_>> {
        let Subject::Command { all, .. } = &open.subject else { return Vec::new() };
        let first = self.shown.partition_point(|shown| shown.place <= from);
        let is_rival = |shown: &&Shown<'a>| {
            let is_same = |step: &Step<'a>| all.iter().any(|failed| step.is_same_check(failed));
            without_numbers(&shown.complaint) != without_numbers(&open.complaint) && !shown.steps.iter().any(is_same)
        };
        let later = self.shown[first..].iter().take_while(|shown| shown.place < to).take(MAX_RIVALS);
        let hook = all.iter().any(|step| matches!(step.family(), Family::Commit | Family::Push));
        let hook = (hook && open.fails_otherwise).then_some(Rival { place: from, complaint: "" });
        let later = later.filter(is_rival).map(|shown| Rival { place: shown.place, complaint: &shown.complaint });
        hook.into_iter().chain(later).collect()
    }

    /// Returns what the agent concluded after a position, in its round.
    fn concluded(&self, end: usize) -> Option<&Message<'a>> {
        let rounds = &self.timeline.rounds;
        let next = rounds.partition_point(|round| round.prompt.is_none_or(|prompt| prompt.place < end));
        let round = rounds.get(next.checked_sub(1)?)?;
        conclusion(self.timeline, round).filter(|said| said.place > end)
    }
}

/// Adds to what was edited how the agent says it, or a short edit itself, then the cause and what passed, as far as they
/// fit; the cause is the first to be left out.
pub(super) fn with_words(edited: String, said: &Explanation, wrote: &[Edited<'_>], passed: Option<&str>) -> String {
    let mend = match &said.mend {
        Some(mend) => Some(format!(": \"{}\"", mend.text)),
        None => short(wrote).map(|code| format!(": `{code}`")),
    };
    let cause = said.cause.as_ref().map(|cause| format!("; cause: \"{}\"", cause.text));
    let passed = passed.map(|passed| format!("; `{passed}` passed"));
    let mut left = ERROR_CHARS.saturating_sub(edited.chars().count());
    let mut fitting = |part: Option<String>| {
        let part = part.filter(|part| part.chars().count() <= left).unwrap_or_default();
        left -= part.chars().count();
        part
    };
    let (mend, passed, cause) = (fitting(mend), fitting(passed), fitting(cause));
    edited + &mend + &cause + &passed
}

/// Returns what the edits wrote on one line, if that is short.
fn short(wrote: &[Edited<'_>]) -> Option<String> {
    let lines: Vec<&str> = wrote.iter().flat_map(|(_, text)| text.lines()).map(str::trim).collect();
    let mut each: Vec<&str> = Vec::new();
    for line in lines.iter().copied().filter(|line| !line.is_empty()) {
        if !each.contains(&line) {
            each.push(line);
        }
    }
    let code = each.join(" ");
    let is_short = lines.len() <= MAX_LINES_QUOTED && code.chars().count() <= SHORT_CHARS;
    let is_whole = !code.is_empty() && !code.contains(['`', '…']);
    (is_short && is_whole).then_some(code)
}

/// Returns the commands in between that may have mended a failure; `any` if there is nothing else.
fn commands<'c, 'a>(
    since: &[&'c Change<'a>],
    failed: &[Step<'a>],
    complaint: &str,
    any: bool,
) -> Vec<(&'c str, &'c Change<'a>)> {
    let lacks = ["not found", "annot find", "o module named", "nresolved import", "ould not resolve"];
    let lacks = lacks.iter().any(|words| complaint.contains(words));
    let families: Vec<Family> = failed.iter().map(Step::family).collect();
    let is_hook = families.iter().any(|family| matches!(family, Family::Commit | Family::Push));
    // A git command may mend what a check finds, or another git command.
    let is_git = failed.iter().any(|step| step.name().starts_with("git "));
    let may_be_git = is_git || families.iter().all(|family| family.is_check());
    let mut found: Vec<(&str, &Change<'_>)> = Vec::new();
    for change in since.iter().copied() {
        let Made::Command { text, name, mends, installs, .. } = &change.made else { continue };
        let fits = match mends {
            Some(Family::Format) if families.contains(&Family::Lint) => complaint.contains("ormat"),
            Some(family) => is_hook || families.contains(family),
            None => {
                *installs && lacks || any && (!name.starts_with("git ") || may_be_git && (is_git || name != "git add"))
            }
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

/// Returns a command as the mend of something: a name that needs an object stands with it, unless that is cut.
fn as_typed(text: &str, name: &str) -> String {
    let is_name = name.contains(' ') && (!name.starts_with("git ") || text.contains('…'));
    if is_name { name } else { text }.to_owned()
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

/// Returns how a command that passed differs from the one that failed: another flag, another program or path. Where long
/// lines look alike, only the words that differ are told. `entered` is the `cd` before the one that passed, or empty.
fn other_form(failed: &Step<'_>, passed: &Step<'_>, entered: &str) -> Option<String> {
    // `npm run test` is `npm test`.
    let split = |step: &Step<'_>| -> Vec<String> {
        step.in_its_environment().split(' ').filter(|word| *word != "run").map(str::to_owned).collect()
    };
    let (before, now) = (split(failed), split(passed));
    let missing = |of: &[String], in_: &[String]| {
        of.iter().filter(|word| !in_.contains(word) && !word.contains('…')).cloned().collect::<Vec<_>>()
    };
    let (added, removed) = (missing(&now, &before), missing(&before, &now));
    if passed.family() == Family::Commit {
        let flags = added.into_iter().filter(|word| word.starts_with("--")).collect::<Vec<_>>();
        return (!flags.is_empty()).then(|| format!("by `git commit` with `{}`", shown(&flags.join(" "))));
    }
    let is_cut = [failed, passed].iter().any(|step| step.text().contains('…'));
    let (now_shown, before_shown) =
        (shown(&format!("{entered}{}", passed.in_its_environment())), shown(&failed.in_its_environment()));
    let is_whole = ![&now_shown, &before_shown].iter().any(|text| text.ends_with('…'));
    // If something was only left out, the rest of a long line says nothing.
    let is_long = added.is_empty() && !removed.is_empty() && now_shown.len() > SHORT_CHARS / 3;
    if is_whole && !is_long {
        // A wrapper may repeat a word: `run bun test`, `run test bun test`.
        let differs = !added.is_empty() || !removed.is_empty() || before.len() != now.len();
        return (differs && now_shown != before_shown).then(|| format!("by `{now_shown}{INSTEAD_OF}{before_shown}`"));
    }
    if is_cut {
        // Only what stands before the first argument that both have is known to differ.
        let head = |of: &[String], other: &[String]| {
            let shared = |word: &&String| word.contains(['/', '.']) && other.contains(word);
            of.iter().take_while(|word| !shared(word)).cloned().collect::<Vec<_>>().join(" ")
        };
        let (now, before) = (head(&now, &before), head(&before, &now));
        let is_known = now != before && ![&now, &before].iter().any(|text| text.contains('…'));
        return is_known.then(|| format!("by `{} …{INSTEAD_OF}{} …`", shown(&now), shown(&before)));
    }
    let words = |of: &[String]| shown(&of.join(" "));
    match (added.is_empty(), removed.is_empty()) {
        (true, true) => None,
        (false, is_all) if is_all || added.iter().all(|word| word.starts_with('-') && word.len() > 1) => {
            Some(format!("by `{}` with `{}`", passed.name(), words(&added)))
        }
        (true, false) => Some(format!("by `{}` without `{}`", passed.name(), words(&removed))),
        (false, _) => Some(format!("by `{}` with `{}` instead of `{}`", passed.name(), words(&added), words(&removed))),
    }
}

fn shown(text: &str) -> String {
    one_line(&without_filter_mark(text), SHORT_CHARS)
}
