//! The handoff: plain facts about a session for the next agent of the project, made from its episode.
//!
//! Pure and deterministic. Anything said in a session may have been said to mislead a later reader, so every quotation
//! passes [`quote`]: redacted again, on one line, without anything that looks like a mark of the harness or of Baton.
//! The text for the agent is enclosed in [`RECALL_OPEN`] and [`RECALL_CLOSE`] and gives no orders; the
//! [`filter`](baton_conversation::filter) drops it when it comes back in a transcript.

mod change;
mod quote;
mod relevance;
#[cfg(test)]
mod tests;
mod text;

pub use change::{Changed, Stat, files_changed};
pub use quote::is_unseen;
pub use relevance::is_relevant;

use uuid::Uuid;

use crate::digest::{
    Episode, ErrorLine, MAX_TITLE_WORDS, MODEL_MARK, Pointed, check_kind, contains_title, is_commit_scope, is_told_in,
    last_asked, last_commit, unapproved_plan,
};
use baton_conversation::filter::{RECALL_CLOSE, RECALL_OPEN};
use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::CloseReason;
use baton_protocol::answer;
use quote::{path, quoted};

/// Default maximum length of the text for an agent, in bytes.
pub const MAX_BYTES: usize = 2_048;
/// Maximum number of entries of any list of a handoff; the last ones are kept.
const MAX_ENTRIES: usize = 20;
/// Maximum length of a list's entry, in characters.
const ENTRY_CHARS: usize = 280;
/// Maximum length of objective and last statement, in characters.
const PURPOSE_CHARS: usize = 450;
/// Maximum length of the state, in characters.
const STATE_CHARS: usize = 800;
/// Maximum number of an episode's files whose changes are reported, the latest: checking one takes microseconds.
const MAX_FILES: usize = 64;
/// Words of commands that remove files.
const REMOVERS: [&str; 5] = ["del", "mv", "rm", "rmdir", "unlink"];
/// Words of commands that may remove any file of a work tree.
const SWEEPERS: [&str; 6] = ["checkout", "clean", "reset", "restore", "stash", "switch"];

/// What a handoff takes from an episode: small, bounded, and all that is kept of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// True if there is anything to report: see [`is_relevant`].
    pub relevant: bool,
    /// Files whose changes since then may be checked.
    pub files: Vec<File>,
    objective: String,
    /// What the work came to.
    state: String,
    decisions: Vec<String>,
    /// Number of the last decisions, which only say what goes into a commit.
    commit_scopes: usize,
    errors: Vec<(String, Option<String>)>,
    modified: Vec<String>,
    /// True if it made no commit in a repository.
    without_commit: bool,
    unresolved: Vec<String>,
    next_steps: Vec<String>,
    /// Branch, pull requests and last commit, on one line.
    branch: String,
    uncommitted: Vec<String>,
    check: String,
    cwd: Option<String>,
}

/// A file that the session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, absolute if the session's directory is known.
    pub path: String,
    /// True if the session itself may have removed it: then its absence means nothing.
    pub may_be_gone: bool,
}

impl Facts {
    /// Extracts the facts from an episode.
    pub fn new(episode: &Episode) -> Self {
        let marked = |line: u64, text: &str, max_chars: usize| {
            let told = quoted(text, max_chars);
            if episode.is_of_model(line, text) && !told.is_empty() { told + MODEL_MARK } else { told }
        };
        let entries = |list: &[Pointed]| -> Vec<String> {
            let told = last_entries(list).map(|entry| marked(entry.line, &entry.text, ENTRY_CHARS));
            told.filter(|text| !text.is_empty()).collect()
        };
        // A failed check says more of the work than another command, and what is not mended most of all.
        let mut errors: Vec<&ErrorLine> = last_entries(&episode.errors).collect();
        errors.sort_by_key(|error| {
            (check_kind(error.text.split(": ").next().unwrap_or_default()).is_some(), error.resolution.is_none())
        });
        // Unresolved failures are listed as open; the state of the others is unknown.
        let is_known = |error: &&ErrorLine| error.resolution.is_some() || !episode.not_a_fix(error).is_empty();
        let errors = errors.into_iter().filter(is_known).map(|error| {
            let resolution = error.resolution.as_ref();
            let resolution = resolution.map(|resolution| marked(resolution.line, &resolution.text, ENTRY_CHARS));
            let text = marked(error.line, &error.text, ENTRY_CHARS);
            match quoted(&episode.not_a_fix(error), ENTRY_CHARS) {
                note if note.is_empty() => (text, resolution),
                note => (format!("{text} {note}"), resolution),
            }
        });
        // Those that no longer hold come first, as the last ones matter most.
        let decisions: Vec<Pointed> = episode.superseded_by_person().chain(episode.decisions_elsewhere()).collect();
        // The scope of a commit matters less than the design.
        let (scopes, designs): (Vec<_>, Vec<_>) = decisions.into_iter().partition(|said| is_commit_scope(&said.text));
        let (mut decisions, scopes) = (entries(&designs), entries(&scopes));
        let commit_scopes = scopes.len().min(MAX_ENTRIES.saturating_sub(decisions.len()));
        let older = scopes.len() - commit_scopes;
        decisions.extend(scopes.into_iter().skip(older));
        let open = episode.unresolved_elsewhere();
        // The agent's words about the same files say more.
        let is_told = |path: &str| open.iter().any(|one| one.text.contains(path.rsplit('/').next().unwrap_or(path)));
        let adds = |also: &&Pointed| !also.text.split([':', ',']).skip(1).all(|path| is_told(path.trim()));
        let also_modified: Vec<Pointed> = episode.state.also_modified.iter().filter(adds).cloned().collect();
        // Files that the session did not change are dropped first.
        let mut unresolved = entries(&[also_modified, open].concat());
        unresolved.extend(unapproved_plan(episode).map(|text| quoted(text, ENTRY_CHARS)));
        Self {
            relevant: is_relevant(episode),
            files: files(episode),
            objective: with_last_request(purpose(episode, marked(0, &episode.objective, PURPOSE_CHARS)), episode),
            state: episode.concluded.as_deref().map(|state| quoted(state, STATE_CHARS)).unwrap_or_default(),
            decisions,
            commit_scopes,
            errors: errors.filter(|(text, _)| !text.is_empty()).collect(),
            modified: last_entries(&episode.changed_files()).map(|file| path(file)).collect(),
            without_commit: episode.is_without_commit(),
            unresolved,
            next_steps: entries(&episode.next_steps),
            branch: branch(episode),
            uncommitted: last_entries(&episode.state.uncommitted).map(|file| path(file)).collect(),
            check: episode.state.check.as_deref().map(|check| quoted(check, ENTRY_CHARS)).unwrap_or_default()
                + episode.state.check_age(),
            cwd: episode.cwd.clone(),
        }
    }
}

/// Puts the title before the objective, unless the objective contains it or begins with the same in other words.
fn purpose(episode: &Episode, objective: String) -> String {
    let title = quoted(&episode.title, PURPOSE_CHARS);
    match (episode.is_titled && !title.is_empty(), objective.is_empty()) {
        (true, true) => title,
        (true, false) if !contains_title(&objective, &title) && !is_told_in(&title, &first_words(&objective)) => {
            format!("{title}: {objective}")
        }
        _ => objective,
    }
}

/// Returns the first words of an objective, about as many as a title may have.
fn first_words(objective: &str) -> String {
    objective.split_whitespace().take(MAX_TITLE_WORDS * 2).collect::<Vec<_>>().join(" ")
}

/// Puts the last request behind the objective, if it is another one.
fn with_last_request(objective: String, episode: &Episode) -> String {
    let asked = last_asked(episode).map(|asked| quoted(&asked.text, ENTRY_CHARS)).filter(|text| !text.is_empty());
    match asked {
        Some(asked) => format!("{}. Asked last: {asked}", objective.trim_end_matches(['.', ':', ' '])),
        None => objective,
    }
}

/// Returns the branch, the pull requests and the last commit.
fn branch(episode: &Episode) -> String {
    let state = &episode.state;
    let mut told: Vec<_> =
        state.branch.iter().chain(&state.pull_requests).map(|text| quoted(text, ENTRY_CHARS)).collect();
    let pushed = match state.unpushed {
        _ if state.pushed => " (pushed)",
        0 => "",
        _ => " (no push seen)",
    };
    told.extend(last_commit(episode).map(|commit| format!("last commit {}{pushed}", quoted(commit, ENTRY_CHARS))));
    told.join(", ")
}

/// Returns the last entries of a list.
fn last_entries<T>(list: &[T]) -> impl Iterator<Item = &T> {
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

/// The context of the facts.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Why they are reported.
    pub occasion: Occasion,
    /// Their session.
    pub session: &'a SessionId,
    /// The agent that it was with.
    pub agent: Option<Agent>,
    /// The part of its id that identifies it.
    pub short: &'a str,
    /// Their episode.
    pub episode: Uuid,
    /// The session's project.
    pub project: Option<&'a str>,
    /// When it ended, or was last active.
    pub ended_at: Option<Timestamp>,
    /// What ended it.
    pub ended_by: Option<CloseReason>,
    /// Who wrote it, if it is another person's or machine's: name and machine.
    pub author: Option<(&'a str, &'a str)>,
    /// The session that has claimed the handoff.
    pub claimed_by: Option<&'a SessionId>,
    /// Its files that have changed since.
    pub changed: &'a [Changed],
    /// Maximum length of the text, in bytes, marks included.
    pub max_bytes: usize,
}

/// Why facts are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Another session begins, or someone asks: the facts are the previous session's.
    Handoff,
    /// The session itself continues after its conversation was compacted: the facts are its own.
    Compaction,
}

/// Returns the handoff of these facts. Its text is empty if not even the objective fits into `max_bytes`; otherwise it
/// is valid UTF-8 of at most that length, begins with [`RECALL_OPEN`], ends with [`RECALL_CLOSE`], and contains neither
/// anywhere else.
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
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let ended_at = about.ended_at.map(|at| at.to_string());
    let when = ended_at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    let from = about.author.map(|(name, machine)| answer::Author { name: path(name), machine: path(machine) });
    answer::Handoff {
        message: match &from {
            Some(from) => format!("Handoff of session {} of {} on {}{when}", about.session, from.name, from.machine),
            None => format!("Handoff of session {}{when}", about.session),
        },
        from,
        project: about.project.map(path),
        session_id: Some(about.session.to_string()),
        agent: about.agent.map(|agent| agent.to_string()),
        episode_uuid: Some(about.episode.to_string()),
        ended_at,
        claimed_by: about.claimed_by.map(ToString::to_string),
        objective: some(&facts.objective),
        state: some(&facts.state),
        branch: some(&facts.branch),
        check: some(&facts.check),
        uncommitted: match facts.without_commit && facts.uncommitted.is_empty() {
            true => {
                facts.modified.iter().map(|path| below(path, about.project, facts.cwd.as_deref()).to_owned()).collect()
            }
            false => facts.uncommitted.clone(),
        },
        decisions: facts.decisions.clone(),
        errors: errors.collect(),
        unresolved: facts.unresolved.clone(),
        next_steps: facts.next_steps.clone(),
        text: text::text(facts, about, &changed),
        changed_since: changed,
    }
}

/// Returns a path relative to the project or to the session's directory.
fn below<'p>(path: &'p str, project: Option<&str>, cwd: Option<&str>) -> &'p str {
    let inside = |directory: &str| path.strip_prefix(directory.trim_end_matches('/'))?.strip_prefix('/');
    project.and_then(inside).or_else(|| cwd.and_then(inside)).unwrap_or(path)
}
