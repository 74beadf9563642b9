//! What the next agent of a project is told of the session before it: an episode in, plain statements of fact out.
//!
//! Pure and deterministic. Whatever was said in a session may have been said to mislead whoever reads it later, so
//! everything that is quoted passes [`quote`]: redacted once more, on one line, without anything that looks like a mark of
//! the harness or of Baton. The text that an agent is told stands between [`RECALL_OPEN`] and [`RECALL_CLOSE`] and gives no
//! orders; the [`filter`](baton_conversation::filter) drops it when it comes back in a transcript.

mod change;
mod quote;
mod relevance;
#[cfg(test)]
mod tests;
mod text;

pub use change::{Changed, Stat, changed};
pub use quote::is_unseen;
pub use relevance::is_relevant;

use uuid::Uuid;

use crate::digest::{Episode, MODEL_MARK, Pointed};
use baton_conversation::filter::{RECALL_CLOSE, RECALL_OPEN};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::CloseReason;
use baton_protocol::answer;
use quote::{path, quoted};

/// Largest text that an agent is told, in bytes, if nothing else is configured.
pub const MAX_BYTES: usize = 2_048;
/// Most entries of any list of a handoff; of more, the oldest are dropped.
const MAX_ENTRIES: usize = 20;
/// Longest entry of a list, in characters.
const ENTRY_CHARS: usize = 280;
/// Longest objective and last statement, in characters.
const PURPOSE_CHARS: usize = 400;
/// Files of an episode whose changes are told, the latest: looking at one takes microseconds.
const MAX_FILES: usize = 64;
/// Words of commands by which files disappear.
const REMOVERS: [&str; 5] = ["del", "mv", "rm", "rmdir", "unlink"];
/// Words of commands by which any file of a work tree may disappear.
const SWEEPERS: [&str; 6] = ["checkout", "clean", "reset", "restore", "stash", "switch"];

/// What a handoff takes of an episode: small, bounded, and all that is kept of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Whether there is anything to tell: see [`is_relevant`].
    pub relevant: bool,
    /// Its files of which one may look whether they have changed.
    pub files: Vec<File>,
    objective: String,
    said: Option<String>,
    decisions: Vec<String>,
    errors: Vec<(String, Option<String>)>,
    modified: Vec<String>,
    unresolved: Vec<String>,
    next_steps: Vec<String>,
    cwd: Option<String>,
}

/// A file that the session has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, absolute where the session's directory is known.
    pub path: String,
    /// Whether the session itself may have taken it away: then its absence says nothing.
    pub may_be_gone: bool,
}

impl Facts {
    /// What is to be told of an episode.
    pub fn of(episode: &Episode) -> Self {
        let said = episode.work_completed.get("answers").and_then(|answers| answers.last());
        let marked = |line: u64, text: &str, max_chars: usize| {
            let told = quoted(text, max_chars);
            if episode.is_of_model(line, text) && !told.is_empty() { told + MODEL_MARK } else { told }
        };
        let entries = |list: &[Pointed]| -> Vec<String> {
            let told = last(list).map(|entry| marked(entry.line, &entry.text, ENTRY_CHARS));
            told.filter(|text| !text.is_empty()).collect()
        };
        let errors = last(&episode.errors).map(|error| {
            let resolution = error.resolution.as_ref();
            let resolution = resolution.map(|resolution| marked(resolution.line, &resolution.text, ENTRY_CHARS));
            (marked(error.line, &error.text, ENTRY_CHARS), resolution)
        });
        Self {
            relevant: is_relevant(episode),
            files: files(episode),
            objective: marked(0, &episode.objective, PURPOSE_CHARS),
            said: said.map(|said| quoted(&said.text, PURPOSE_CHARS)).filter(|said| !said.is_empty()),
            decisions: entries(&episode.decisions),
            errors: errors.filter(|(text, _)| !text.is_empty()).collect(),
            modified: last(&episode.files_modified).map(|file| path(&file.path)).collect(),
            unresolved: entries(&episode.unresolved),
            next_steps: entries(&episode.next_steps),
            cwd: episode.cwd.clone(),
        }
    }
}

/// The last entries of a list.
fn last<T>(list: &[T]) -> impl Iterator<Item = &T> {
    list.iter().skip(list.len().saturating_sub(MAX_ENTRIES))
}

fn files(episode: &Episode) -> Vec<File> {
    let commands = || episode.commands.iter().map(|command| command.text.as_str());
    let says = |text: &str, words: &[&str]| {
        text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(')).any(|word| words.contains(&word))
    };
    let any_may_be_gone = commands().any(|text| says(text, &SWEEPERS));
    let removers: Vec<&str> = commands().filter(|text| says(text, &REMOVERS)).collect();
    let of = |file: &crate::digest::FileModified| {
        let parts = || file.path.split(['/', '\\']).rev().filter(|part| part.len() > 1);
        let named = |text: &&str| text.contains(['*', '$', '…']) || parts().any(|part| text.contains(part));
        File {
            path: absolute(&file.path, episode.cwd.as_deref()),
            may_be_gone: any_may_be_gone || removers.iter().any(named),
        }
    };
    episode.files_modified.iter().rev().take(MAX_FILES).rev().map(of).collect()
}

fn absolute(path: &str, cwd: Option<&str>) -> String {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    match cwd {
        Some(cwd) if !is_absolute => format!("{}/{path}", cwd.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

/// Whose facts they are, and what is known around them.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Why they are told.
    pub occasion: Occasion,
    /// Their session.
    pub session: &'a SessionId,
    /// As much of its id as names it alone.
    pub short: &'a str,
    /// Their episode.
    pub episode: Uuid,
    /// The session's project.
    pub project: Option<&'a str>,
    /// When it ended, or was last at work.
    pub ended_at: Option<Timestamp>,
    /// What ended it.
    pub ended_by: Option<CloseReason>,
    /// The session that has taken it over.
    pub claimed_by: Option<&'a SessionId>,
    /// What has become of its files since.
    pub changed: &'a [Changed],
    /// Largest text, in bytes, marks included.
    pub max_bytes: usize,
}

/// Why facts are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Another session begins, or somebody asks: they are the last session's.
    Handoff,
    /// The session itself goes on after its conversation was compacted: they are its own.
    Compaction,
}

/// The handoff of these facts. Its text is empty when not even the objective fits into `max_bytes`; otherwise it is valid
/// UTF-8 within them, begins with [`RECALL_OPEN`], ends with [`RECALL_CLOSE`], and holds neither anywhere else.
pub fn handoff(facts: &Facts, about: &About<'_>) -> answer::Handoff {
    let changed: Vec<String> = about
        .changed
        .iter()
        .map(|change| {
            let shown = path(below(&change.path, about.project, facts.cwd.as_deref()));
            if change.gone { format!("{shown} (gone)") } else { shown }
        })
        .collect();
    let errors = facts.errors.iter().map(|(text, resolution)| answer::HandoffError {
        text: text.clone(),
        resolution: resolution.clone().filter(|text| !text.is_empty()),
    });
    let ended_at = about.ended_at.map(|at| at.to_string());
    let when = ended_at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    answer::Handoff {
        message: format!("Handoff of session {}{when}", about.session),
        project: about.project.map(path),
        session_id: Some(about.session.to_string()),
        episode_uuid: Some(about.episode.to_string()),
        ended_at,
        claimed_by: about.claimed_by.map(ToString::to_string),
        objective: Some(facts.objective.clone()).filter(|objective| !objective.is_empty()),
        decisions: facts.decisions.clone(),
        errors: errors.collect(),
        unresolved: facts.unresolved.clone(),
        next_steps: facts.next_steps.clone(),
        text: text::text(facts, about, &changed),
        changed_since: changed,
    }
}

/// A path as it is told: without the project or the directory it lies in.
fn below<'p>(path: &'p str, project: Option<&str>, cwd: Option<&str>) -> &'p str {
    let inside = |directory: &str| path.strip_prefix(directory.trim_end_matches('/'))?.strip_prefix('/');
    project.and_then(inside).or_else(|| cwd.and_then(inside)).unwrap_or(path)
}
