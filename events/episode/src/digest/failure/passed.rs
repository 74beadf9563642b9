//! What a call proves to have passed, and which failures are over with that.

use super::super::command::{Command, Family, Step};
use super::super::excerpt::one_line;
use super::super::sentence::{Sentence, plain, sentences};
use super::super::timeline::Deed;
use super::super::{ERROR_CHARS, PASSED_LATER};
use super::open::{Directory, Subject};
use super::report::is_negated;
use super::{OPINION, Walk};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::{GitOutput, Verdict};

/// Number of sentences after a run that may say that something of it did not pass.
const MAX_SAID: usize = 3;
/// What a sentence calls a check, without a final s, and the kind of check that it is.
const CHECKS: [(&str, &str); 7] = [
    ("test", "test"),
    ("suite", "test"),
    ("build", "build"),
    ("lint", "lint"),
    ("type", "types"),
    ("format", "format"),
    ("check", "check"),
];
/// Words that limit what passed, or put it off.
const LIMITS: [&str; 14] =
    ["only", "of", "except", "but", "most", "almost", "nearly", "far", "until", "once", "when", "will", "still", "i'm"];

impl<'a> Walk<'a, '_> {
    pub(super) fn succeed(&mut self, deed: &Deed<'a>, command: Option<&Command<'a>>) {
        let mut proven = command.map(Command::proven).unwrap_or_default();
        proven.extend(command.into_iter().flat_map(Command::asking));
        let made = deed.result.map_or(&[][..], |result| result.made());
        if made.iter().any(|made| matches!(made, GitOutput::Commit { .. })) {
            let steps = command.map(Command::steps).unwrap_or_default();
            proven.extend(steps.iter().filter(|step| step.family() == Family::Commit));
        }
        let is_unknown = matches!(deed.verdict(), Some(Verdict::Failed(_)));
        let line = deed.command().unwrap_or_default();
        // The checks of a hook passed if what they guard succeeded.
        let guarded = proven.iter().any(|step| matches!(step.family(), Family::Commit | Family::Push));
        let echoed = deed.result.filter(|_| guarded).map_or(&[][..], |result| result.echoed());
        let echoed: Vec<Command<'a>> = echoed.iter().map(|command| Command::read(command)).collect();
        let echoed: Vec<&Step<'a>> =
            echoed.iter().flat_map(Command::steps).filter(|step| step.family().is_check()).collect();
        let hidden: Vec<&Step<'a>> =
            command.filter(|_| !is_unknown).map(|command| command.hidden().collect()).unwrap_or_default();
        let mut said: Vec<&Step<'a>> = hidden.iter().copied().filter(|step| step.family().is_check()).collect();
        if !said.is_empty() {
            let kinds = said_to_pass(&self.said_of(deed));
            let is_named = |kind: &str| {
                kinds.as_ref().is_some_and(|kinds| kinds.iter().all(|it| *it == "check") || kinds.contains(&kind))
            };
            said.retain(|step| step.family().check_kind().is_some_and(is_named));
        }
        self.end(deed, command, line, [&proven, &hidden, &echoed, &said]);
    }

    /// Returns what the agent says about a run right after it.
    fn said_of(&self, deed: &Deed<'a>) -> Vec<Sentence<'a>> {
        let deeds = &self.timeline.deeds;
        let next = deeds.get(deeds.partition_point(|other| other.began <= deed.began));
        let reply = self.speech.first_after(deed.ended);
        let is_first = |place: usize| next.is_none_or(|next| next.began > place);
        reply.filter(|reply| is_first(reply.place)).map_or_else(Vec::new, |reply| sentences(reply.text))
    }

    /// Returns what the agent says right after a failed run about why it failed.
    pub(super) fn named_after(&self, deed: &Deed<'a>) -> Option<String> {
        let names = |sentence: &&Sentence<'_>| {
            let signs = Signs::read(sentence.text);
            let is_plan = signs.asks() || signs.begins(Sign::Announce) || signs.begins(Sign::Begin);
            let is_no_cause = signs.has_any(&[Sign::Denial, Sign::Result, Sign::Works]);
            let names = signs.has_any(&[Sign::Trouble, Sign::Defect, Sign::Cause]) && !is_no_cause;
            names && !is_plan && !sentence.quoted
        };
        self.said_of(deed).iter().find(names).map(|said| plain(said.text))
    }

    /// Notes the steps that a call proves to have passed.
    pub(super) fn prove(&mut self, deed: &Deed<'a>, command: Option<&Command<'a>>, proven: &[&Step<'a>]) {
        if !proven.is_empty() {
            self.end(deed, command, "", [proven, &[], &[], &[]]);
        }
    }

    /// Ends the failures that a call shows to be over: `proven` are steps that passed, `hidden` those of `line` with a
    /// hidden exit code, `echoed` those that a hook ran, `said` those that passed as the agent says.
    fn end(
        &mut self,
        deed: &Deed<'a>,
        command: Option<&Command<'a>>,
        line: &str,
        [proven, hidden, echoed, said]: [&[&Step<'a>]; 4],
    ) {
        let edited = deed.edit().map(|(path, ..)| self.timeline.relative_path(path));
        let directory = command.map_or(Directory { cwd: deed.cwd, below: "" }, |line| Directory::of(deed, line));
        let mut over = Vec::new();
        for (at, open) in self.open.iter_mut().enumerate() {
            // Only calls that began after the failure can have fixed it.
            if deed.began <= open.ended {
                continue;
            }
            let quiet: Vec<&Step<'a>> = hidden
                .iter()
                .copied()
                .filter(|step| open.seen.would_show(line, step) || open.is_usage && !step.is_searched())
                .collect();
            let passed: Vec<&Step<'a>> = proven.iter().chain(&quiet).chain(echoed).chain(said).copied().collect();
            open.note_pass(deed, directory, passed.iter().copied());
            match &mut open.subject {
                Subject::Command { steps, .. } => {
                    let is_near = |step: &Step<'a>, failed: &Step<'a>| {
                        directory.contains(open.directory) || open.is_usage || step.names_the_same_file(failed)
                    };
                    // A hook's checks do not answer what the error names.
                    let complaint = |step: &Step<'a>| {
                        if echoed.iter().any(|own| std::ptr::eq(*own, step)) { "" } else { &*open.complaint }
                    };
                    let before = steps.len();
                    let mut by: Option<&Step<'a>> = None;
                    steps.retain(|failed| {
                        let found = passed
                            .iter()
                            .copied()
                            .find(|step| step.resolves(failed, complaint(step)) && is_near(step, failed));
                        by = found.or(by);
                        found.is_none()
                    });
                    if before > 0 && steps.is_empty() {
                        let is_said = |by: &Step<'a>| {
                            let is_it = |step: &&&Step<'a>| std::ptr::eq(**step, by);
                            said.iter().any(|step| is_it(&step))
                                && !proven.iter().chain(&quiet).any(|step| is_it(&step))
                        };
                        over.push((at, by.cloned(), by.is_some_and(is_said)));
                    }
                }
                Subject::File(path) if edited == Some(*path) => over.push((at, None, false)),
                Subject::Tool(tool, target) if *tool == deed.tool() && *target == deed.target() => {
                    over.push((at, None, false));
                }
                _ => {}
            }
        }
        let passed: Vec<Step<'a>> = over.iter().filter_map(|(_, by, _)| by.clone()).collect();
        for open in &mut self.open {
            open.note_pass(deed, directory, passed.iter());
        }
        for (at, by, is_said) in over.into_iter().rev() {
            let mut open = self.open.remove(at);
            if matches!(open.subject, Subject::File(_)) {
                self.errors[open.error] = None;
                continue;
            }
            if let Some((resolution, mending)) = open.mended.take() {
                self.resolve(&open, resolution, mending);
                continue;
            }
            let (mut resolution, mending) = self.mend(&open, Some(deed), by.as_ref(), true);
            if is_said {
                resolution.text = one_line(&format!("{}{OPINION}", resolution.text), ERROR_CHARS);
            }
            // A check that fixes its own findings shows what remains only in a later run.
            if by.as_ref().is_some_and(Step::mends) {
                if let Subject::Command { steps, all } = &mut open.subject {
                    steps.clone_from(all);
                }
                open.mended = Some((resolution, mending));
                self.open.insert(at, open);
                continue;
            }
            // Something else of the same kind that runs through says nothing of what failed, nor does another script.
            let is_script = || command.is_some_and(Command::runs_inline_script);
            if resolution.text != PASSED_LATER || by.is_none_or(|by| open.is_of(&by)) && !is_script() {
                self.resolve(&open, resolution, mending);
            }
        }
    }
}

/// Returns the kinds of checks that the first sentence after a run names, if it says that all of it passed: `122/122 tests
/// passing`.
fn said_to_pass(said: &[Sentence<'_>]) -> Option<Vec<&'static str>> {
    let first = said.first()?.text;
    let signs = Signs::read(first);
    let lower = plain(first).to_lowercase().replace('’', "'");
    let words = || lower.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%'));
    let number = |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
    let counts =
        || words().filter_map(|word| word.split_once('/')).filter_map(|(n, all)| Some((number(n)?, number(all)?)));
    let is_whole = counts().all(|(some, all)| some == all);
    let is_all = counts().next().is_some() || words().any(|word| word == "all") || signs.begins(Sign::Quantity);
    let kinds = words().filter_map(|word| CHECKS.iter().find(|(name, _)| *name == word.trim_end_matches('s')));
    let kinds: Vec<&str> = kinds.map(|(_, kind)| *kind).collect();
    let is_limited = words().any(|word| LIMITS.contains(&word) || word.ends_with('%')) || is_negated(first);
    let is_idle = signs.asks() || signs.begins(Sign::Begin) || signs.has_any(&[Sign::Expected, Sign::Hedge]);
    let is_bad = said.iter().take(MAX_SAID).any(|sentence| {
        let bad = [Sign::Trouble, Sign::Defect, Sign::Setback, Sign::Remaining, Sign::Lack];
        Signs::read(sentence.text).has_any(&bad)
    });
    let passes = signs.has(Sign::Result) && is_all || signs.has(Sign::Works) && !kinds.is_empty();
    (passes && is_whole && !(is_limited || is_idle || is_bad)).then_some(kinds)
}
