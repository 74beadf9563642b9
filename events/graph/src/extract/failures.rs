//! Failures, what failed with them, and what mended them.

use uuid::Uuid;

use super::{Extractor, FactDraft, text};
use crate::builder::Moment;
use crate::one_line::one_line;
use crate::{Label, Relation, error, program};
use baton_conversation::item::{Act, Call, Outcome, ToolResult};
use baton_episode::digest::{
    Episode, ErrorLine, FAILED_OTHERWISE, INSTEAD_OF, Mend, NOT_CHECKED, failing_line, failing_program,
};

/// Maximum number of files named as the resolution of one error: the last ones edited.
const MAX_FIXES: usize = 5;
/// Maximum length of an error inside another sentence, in characters.
const SHORT_CHARS: usize = 160;

/// Prefix by which the digest marks a failure that a person reported in their own words.
const REPORTED: &str = "reported: ";

impl<'a> Extractor<'a> {
    /// Adds the failures, and what mended them.
    pub(super) fn failures(&mut self, episode: &Episode) {
        for failure in &episode.errors {
            self.failure(failure, episode.mendings.get(&failure.line).map_or(&[], |mending| &mending.by));
        }
    }

    /// Adds a failure: the error, what failed with it, and its resolution.
    fn failure(&mut self, failure: &ErrorLine, mends: &[Mend]) {
        // A person's report is a sentence and no name of an error.
        if failure.text.starts_with(REPORTED) {
            return;
        }
        let of = Moment { line: failure.line, at: failure.at };
        let failed = self.failed_result(failure.line);
        let line = failed
            .and_then(failing_line)
            .filter(|line| !line.trim().is_empty())
            .unwrap_or_else(|| failure.text.split_once(": ").map_or(failure.text.as_str(), |(_, what)| what));
        // What follows a bar is the source line that a checker shows, with its number before it.
        let line = line
            .split_once('│')
            .map_or(line, |(said, _)| said.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' '));
        let call = failed.and_then(|result| self.calls.get(&*result.id)).copied();
        let failed_name = call.and_then(|(call, _)| failing_program(text(call, "command")?, failed?));
        if failure.resolution.is_none() {
            self.unmended.extend(failed_name.clone());
        }
        if error::is_general(line) {
            return;
        }
        let Some(uuid) = self.builder.mention(Label::Error, &error::name(line), &failure.text, of, 1) else { return };
        let (source, who) = self.failed_subject(call, failed_name);
        // If it then failed in another way, this may not have mended it.
        let is_unsure = failure.resolution.as_ref().is_some_and(|told| told.text.ends_with(FAILED_OTHERWISE));
        let mut fixes = if is_unsure { Vec::new() } else { self.fixes(failure, mends) };
        // That the same command passed says nothing of what mended it.
        fixes.retain(|fix| !matches!(fix, Mend::Command(name) if who == format!("`{name}`")));
        // Another command is a way round: the one that failed still does.
        let is_way_round = failure.resolution.as_ref().is_some_and(|told| told.text.contains(INSTEAD_OF));
        let how = if is_way_round { "got around" } else { "resolved" };
        let fix = match fixes.split_last() {
            None => String::new(),
            Some((Mend::File(last), [])) => format!(", {how} by editing {last}"),
            Some((Mend::File(last), more)) => format!(", {how} by editing {last} and {} more", more.len()),
            Some((Mend::Command(command), _)) => format!(", {how} by `{command}`"),
        };
        let told = one_line(line, SHORT_CHARS);
        let fact = format!("{who} failed with {told}{}{fix}", self.place);
        let question = format!("{uuid} of {source}");
        let (open, resolved) = (self.claim("error", &question, "open"), self.claim("error", &question, "resolved"));
        let draft = FactDraft::new(Relation::FailedWith, source, uuid);
        // One that only passed later is not open, although nothing is known to have resolved it. What was not checked is.
        let is_over =
            failure.resolution.as_ref().is_some_and(|told| !told.text.ends_with(NOT_CHECKED)) && fixes.is_empty();
        self.builder.add(if is_over { draft } else { draft.resting_on(open) }, &fact, of);
        let Some(resolution) = &failure.resolution else { return };
        let after = Moment { line: resolution.line, at: resolution.at };
        for fix in fixes {
            let (target, by) = match &fix {
                Mend::File(file) => (self.builder.mention(Label::File, file, "", after, 0), format!("editing {file}")),
                Mend::Command(name) => {
                    (self.builder.mention(Label::Command, name, "", after, 0), format!("running `{name}`"))
                }
            };
            if let Some(target) = target {
                let fact = format!("{told}{} was {how} by {by}", self.place);
                let draft = FactDraft::new(Relation::ResolvedBy, uuid, target);
                self.builder.add(if is_way_round { draft } else { draft.settling(resolved) }, &fact, after);
            }
        }
    }

    /// Returns the failed result at a line, else that of a command whose output shows a failure.
    fn failed_result(&self, line: u64) -> Option<&'a ToolResult> {
        let shown = || self.results.get(&line)?.iter().find(|result| failing_line(result).is_some()).copied();
        self.result(line, Outcome::Failed).or_else(shown)
    }

    /// Returns what failed: a command, a tool, or the session if neither is known.
    fn failed_subject(&mut self, call: Option<(&Call, Moment)>, program: Option<String>) -> (Uuid, String) {
        let named = call.and_then(|(call, of)| match program.filter(|name| program::is_telling(name)) {
            Some(name) => Some((self.builder.mention(Label::Command, &name, "", of, 0)?, format!("`{name}`"))),
            None if !matches!(call.act, Act::Mcp | Act::Other) => None,
            None => Some((self.builder.mention(Label::Tool, &call.name, "", of, 0)?, call.name.clone())),
        });
        named.unwrap_or_else(|| (self.session, self.name.clone()))
    }

    /// Returns the files and commands that mended a failure.
    fn fixes(&self, failure: &ErrorLine, mends: &[Mend]) -> Vec<Mend> {
        let is_telling = |mend: &&Mend| !matches!(mend, Mend::Command(name) if program::is_utility(name));
        let mends = mends.iter().filter(|_| failure.resolution.is_some()).filter(is_telling).rev().take(MAX_FIXES);
        let fixes = mends.map(|mend| match mend {
            Mend::File(path) => Mend::File(self.file_name(path)),
            Mend::Command(_) => mend.clone(),
        });
        let mut fixes: Vec<Mend> = fixes.collect();
        fixes.reverse();
        fixes
    }
}
