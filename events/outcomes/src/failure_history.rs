//! Failures, attempts that did not fix them, and the change that did.
//!
//! The digest decides which later success resolves a failure, and what of what was changed in between mended it
//! ([`Episode::errors`], [`Episode::mendings`]); failed attempts are read from the calls in between.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_FAILURES, MAX_TRIED, SHORT_CHARS, run};
use baton_conversation::record::Timestamp;
use baton_episode::digest::{Action, Attempt, Episode, ErrorLine, Mend, Pointed, one_line};
use baton_events::schema::outcomes::{Ended, FailureHistory, Fix, Tried, millis};
use baton_graph::{Surroundings, error_name, file_name};

/// Maximum number of calls after a failure that are inspected.
const MAX_FOLLOWED: usize = 2_000;
/// Maximum number of repetitions whose lines a failure keeps.
const MAX_AGAIN: usize = 40;

/// Returns the failures of a session in transcript order.
pub(super) fn failure_histories(
    attempts: &[Attempt<'_>],
    episode: &Episode,
    at: &Surroundings<'_>,
    left_out: &mut impl FnMut(usize),
) -> Vec<FailureHistory> {
    let mut by_result: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, attempt) in attempts.iter().enumerate() {
        by_result.entry(attempt.result_line).or_default().push(index);
    }
    let first = episode.errors.len().saturating_sub(MAX_FAILURES);
    left_out(first);
    let reader = Reader { attempts, episode, by_result, cwd: episode.cwd.as_deref(), at };
    // Several error lines of one result are one failure.
    let mut counted: BTreeSet<(String, u64)> = BTreeSet::new();
    episode.errors[first..].iter().map(|error| reader.read(error, &mut counted)).collect()
}

struct Reader<'r> {
    attempts: &'r [Attempt<'r>],
    episode: &'r Episode,
    /// Indices of attempts by the line of their result.
    by_result: BTreeMap<u64, Vec<usize>>,
    cwd: Option<&'r str>,
    at: &'r Surroundings<'r>,
}

/// Changes since an earlier attempt.
#[derive(Clone, Default)]
struct Changed {
    files: Vec<String>,
    commands: Vec<String>,
}

impl Changed {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty()
    }

    /// Keeps the last entries, in order.
    fn keep_last(mut list: Vec<String>) -> Vec<String> {
        list.split_off(list.len().saturating_sub(MAX_TRIED))
    }
}

/// Moves a repeated entry to the end: the last change is nearest to the result.
fn move_to_end(list: &mut Vec<String>, text: String) {
    list.retain(|known| *known != text);
    list.push(text);
}

impl Reader<'_> {
    fn read(&self, error: &ErrorLine, counted: &mut BTreeSet<(String, u64)>) -> FailureHistory {
        let failed = self.result(error.line, Some(&error.text));
        let text = failed.map(|(_, attempt)| attempt.error.as_str()).filter(|text| !text.is_empty());
        let text = text.unwrap_or(&error.text).to_owned();
        let mut failure = FailureHistory {
            error: error_name(&text),
            text,
            line: error.line,
            at: millis(error.at),
            times: 1,
            ..FailureHistory::default()
        };
        failure.times = u32::from(counted.insert((failure.error.clone(), error.line)));
        let Some((index, failed)) = failed else {
            // A person reported it.
            failure.fix = self.fix(error);
            return failure;
        };
        let subject = subject(failed);
        (failure.command, failure.attempt) = (subject.first().cloned().unwrap_or_default(), describe(failed));
        self.follow(index, error, &subject, &mut failure, counted);
        failure
    }

    /// Returns the attempt whose result is at a line; of several, the failed one whose error `text` contains.
    fn result(&self, line: u64, text: Option<&str>) -> Option<(usize, &Attempt<'_>)> {
        let found = self.by_result.get(&line)?;
        let all = || found.iter().filter_map(|index| Some((*index, self.attempts.get(*index)?)));
        let Some(text) = text else { return all().next() };
        let failed = || all().filter(|(_, attempt)| attempt.ended == Ended::Failed);
        let fits = |(_, attempt): &(usize, &Attempt<'_>)| !attempt.error.is_empty() && text.contains(&attempt.error);
        failed().find(fits).or_else(|| failed().next()).or_else(|| all().next())
    }

    /// Follows a failure to its resolution, or to the end.
    fn follow(
        &self,
        index: usize,
        error: &ErrorLine,
        subject: &[String],
        failure: &mut FailureHistory,
        counted: &mut BTreeSet<(String, u64)>,
    ) {
        let resolved_at = error.resolution.as_ref().map(|resolution| self.shown(error, resolution).0);
        let mut since = Changed::default();
        let later = self.attempts[index + 1..].iter().take(MAX_FOLLOWED);
        for attempt in later.filter(|attempt| attempt.line > error.line) {
            if resolved_at.is_some_and(|line| attempt.line > line || attempt.result_line == line) {
                break;
            }
            let again = is_about(attempt, subject);
            match (&attempt.what, attempt.ended) {
                (_, Ended::Failed) if again => {
                    failure.unsure = false;
                    let changed = std::mem::take(&mut since);
                    // With another error it got past this one.
                    if error_name(&attempt.error) != failure.error {
                        continue;
                    }
                    let new = counted.insert((failure.error.clone(), attempt.result_line));
                    failure.times = failure.times.saturating_add(u32::from(new));
                    if new && failure.again.len() < MAX_AGAIN {
                        failure.again.push(attempt.result_line);
                    }
                    (failure.last_line, failure.last_at) = (attempt.result_line, millis(attempt.at));
                    if !changed.is_empty() && failure.tried.len() < MAX_TRIED {
                        failure.tried.push(Tried {
                            files: Changed::keep_last(changed.files),
                            commands: Changed::keep_last(changed.commands),
                            error: attempt.error.clone(),
                            line: attempt.result_line,
                            at: millis(attempt.at),
                        });
                    }
                }
                (_, Ended::Ok | Ended::Unknown) if again => failure.unsure = true,
                (Action::Edit(path), Ended::Ok) => {
                    move_to_end(&mut since.files, file_name(path, self.cwd, self.at));
                }
                (Action::Command { ran, .. }, Ended::Ok) if ran.iter().any(run::is_counted) => {
                    move_to_end(&mut since.commands, describe(attempt));
                }
                _ => {}
            }
        }
        failure.unsure &= error.resolution.is_none();
        failure.fix = self.fix(error);
    }

    /// Returns the end of a failure, with what mended it.
    fn fix(&self, error: &ErrorLine) -> Option<Fix> {
        let resolution = error.resolution.as_ref()?;
        let (line, at) = self.shown(error, resolution);
        let changed = self.mended(error);
        Some(Fix {
            text: resolution.text.clone(),
            files: Changed::keep_last(changed.files),
            commands: Changed::keep_last(changed.commands),
            line,
            at: millis(at),
        })
    }

    /// Returns line and time of what shows that a failure is over.
    fn shown(&self, error: &ErrorLine, resolution: &Pointed) -> (u64, Option<Timestamp>) {
        let mending = self.episode.mendings.get(&error.line);
        mending.map_or((resolution.line, resolution.at), |mending| (mending.line, mending.at))
    }

    /// Returns what the digest names as the mend of a failure.
    fn mended(&self, error: &ErrorLine) -> Changed {
        let mut changed = Changed::default();
        for mend in self.episode.mendings.get(&error.line).into_iter().flat_map(|mending| &mending.by) {
            match mend {
                Mend::File(path) => move_to_end(&mut changed.files, file_name(path, self.cwd, self.at)),
                Mend::Command(name) => move_to_end(&mut changed.commands, name.clone()),
            }
        }
        changed
    }
}

/// Returns what failed: the failing programs, otherwise all programs of the line; for another tool its name.
fn subject(attempt: &Attempt<'_>) -> Vec<String> {
    let Action::Command { ran, .. } = &attempt.what else { return vec![attempt.tool.to_owned()] };
    let failed = ran.iter().filter(|program| program.ended == Some(false)).map(|program| program.name.clone());
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() { ran.iter().map(|program| program.name.clone()).collect() } else { failed }
}

/// Returns true if an attempt runs what failed.
fn is_about(attempt: &Attempt<'_>, subject: &[String]) -> bool {
    match &attempt.what {
        Action::Command { ran, .. } => ran.iter().any(|program| subject.contains(&program.name)),
        _ => subject.iter().any(|name| name == attempt.tool),
    }
}

/// Describes an attempt briefly.
fn describe(attempt: &Attempt<'_>) -> String {
    match &attempt.what {
        Action::Command { text, .. } => one_line(text, SHORT_CHARS),
        Action::Edit(path) | Action::Read(path) => one_line(&format!("{} {path}", attempt.tool), SHORT_CHARS),
        Action::Other(target) => one_line(&format!("{} {target}", attempt.tool), SHORT_CHARS),
    }
}
