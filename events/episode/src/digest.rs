//! Turns a conversation into an episode: its purpose, the work, the failures and how they ended.
//!
//! Deterministic and offline. Every line of an [`Episode`] refers to the transcript line that supports it. [`digest`]
//! is a pure function of the items, linear in their length, with a bounded result.

mod abridged;
mod agent_choice;
mod attempt;
mod check;
mod clause;
mod command;
mod commit_choice;
mod conclusion;
mod content;
mod continuation;
mod correction;
mod courtesy;
mod decision;
mod evidence;
mod excerpt;
mod exchange;
mod failure;
mod fallen;
mod file;
mod filed_issue;
mod knowledge;
mod label;
mod last_request;
mod leftovers;
mod metadata;
mod model_marks;
mod objective;
mod open_end;
mod outcome;
mod plan;
mod question;
mod repetition;
mod request;
mod research;
mod retraction;
mod rule;
mod sentence;
mod setback;
mod settled;
mod show;
mod stated;
mod steering;
mod substitution;
mod task;
mod timeline;
mod title;
mod todo;
mod unchecked;
mod undone;
mod work;
mod work_tree;

pub use self::abridged::{Abridged, WHOLE_BYTES};
pub use self::commit_choice::is_commit_scope;
pub use self::correction::{Correctable, Corrected, PERSON_MARK, verdicts};
pub use self::exchange::{Exchange, Run, carrying_sentences, gives_reason};
pub use self::metadata::{Metadata, MetadataBuilder, seconds_between};
pub use self::model_marks::{MODEL_BEGINS, MODEL_ENDS};
pub use self::show::Show;

use std::collections::{BTreeMap, BTreeSet};

pub use self::attempt::{Action, Attempt, attempts};
use self::command::Command;
pub use self::command::{Check, Part, Ran, check_kind, check_words, checks, failing_line, failing_program, programs};
pub(crate) use self::continuation::{last_asked, last_commit, unapproved_plan};
pub(crate) use self::courtesy::{is_courtesy, is_greeting};
pub(crate) use self::excerpt::contains_title;
pub use self::excerpt::{head, one_line, sentences_within, without_filter_mark};
pub(crate) use self::label::MAX_WORDS as MAX_TITLE_WORDS;
pub use self::question::questions_with_answers;
pub(crate) use self::repetition::is_told_in;
pub use self::rule::{is_standing_rule, standing_rules, tells_how};
pub use self::sentence::{asks_what_holds, clauses, replacements};
pub use self::settled::{Settled, settled};
pub use self::stated::{is_choice, is_left_to_the_reader};
use self::timeline::Timeline;
use crate::memo::Memo;
use baton_conversation::abandoned_branches::without_abandoned;
use baton_conversation::item::Item;
use baton_conversation::record::Timestamp;
use baton_words::WordList;

/// Maximum number of entries of any list of an episode.
pub const MAX_ENTRIES: usize = 200;
/// Maximum length of an objective, in characters.
const OBJECTIVE_CHARS: usize = 600;
/// Maximum length of a title, in characters.
const TITLE_CHARS: usize = 120;
/// Maximum length of a prompt in a list, in characters.
const PROMPT_CHARS: usize = 240;
/// Maximum length of a decision, in characters.
const DECISION_CHARS: usize = 400;
/// Maximum length of a failure with its command, and of a resolution, in characters.
const ERROR_CHARS: usize = 400;
/// Maximum length of a command or changed file in a list, in characters.
const LINE_CHARS: usize = 300;
/// Maximum length of a command or file inside a sentence, in characters.
const SHORT_CHARS: usize = 120;
/// Slash commands that configure the harness, whatever their arguments; sorted.
static HARNESS_COMMANDS: WordList = WordList::new(crate::WORDS, "harness commands");

/// The summary of one session, as `show` prints it. The order of the fields is part of the contract.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Episode {
    /// The title, at most eight words: what was done, and to what.
    pub title: String,
    /// True if it was given: by a person, a plan, a commit, the agent. Otherwise it is the beginning of a prompt.
    pub is_titled: bool,
    /// True if a person gave it by a correction.
    pub is_titled_by_person: bool,
    /// The purpose: the first prompt.
    pub objective: String,
    /// The last request, if it is another one and nothing was changed for it.
    pub last_request: Option<Pointed>,
    /// What a person typed, in transcript order, one line each: prompts, and what they said to a tool (the reason of a
    /// refusal, the answer to a question).
    pub prompts: Vec<Pointed>,
    /// The exchanges in order, see [`Exchange`].
    pub exchanges: Vec<Exchange>,
    /// Work that was done, by category (`changes`, `commands`, `answers`), in transcript order.
    pub work_completed: BTreeMap<String, Vec<Pointed>>,
    /// Decisions, with who made them and why, in transcript order.
    pub decisions: Vec<Pointed>,
    /// Decisions that were overruled later, in transcript order.
    pub superseded: Vec<Pointed>,
    /// What overruled those that no person's correction did, by their line and text.
    pub overruled_by: BTreeMap<(u64, String), Pointed>,
    /// Failed approaches, in transcript order; used by recall only.
    pub setbacks: Vec<Pointed>,
    /// Failures, with the later success that resolved them.
    pub errors: Vec<ErrorLine>,
    /// The ends of the failures of these lines, for those that are over.
    pub mendings: BTreeMap<u64, Mending>,
    /// Files read, by first read.
    pub files_read: Vec<FileRead>,
    /// Files written or edited, by first change.
    pub files_modified: Vec<FileModified>,
    /// Commands run, by first run; equal ones are counted together.
    pub commands: Vec<CommandLine>,
    /// External research and its results.
    pub external_research: Vec<Pointed>,
    /// Information stored elsewhere, by the full name of the tool that stored it.
    pub knowledge_stored: BTreeMap<String, Vec<Pointed>>,
    /// Open matters: failures without a later success, unanswered questions, work that was started and not finished.
    pub unresolved: Vec<Pointed>,
    /// Next steps: from the todo list, and from the last words of the agent and the person.
    pub next_steps: Vec<Pointed>,
    /// The work tree at the end.
    pub state: WorkState,
    /// Gist of what the agent concluded last, for the continuation.
    pub concluded: Option<String>,
    /// What was in progress at the end, as a sentence of the continuation.
    pub in_progress: Option<String>,
    /// One paragraph for the next person or agent.
    pub continuation_context: String,
    /// The first working directory, if known; [`Episode::content`] shows paths below it as relative.
    pub cwd: Option<String>,
    /// Time span of the session, see [`Metadata::start_time`].
    pub span: Option<(Timestamp, Timestamp)>,
    /// Texts that only a model says, each with its line, or 0 if it has none. Empty for an extractive episode.
    pub said_by_model: BTreeSet<(u64, String)>,
    /// Entries that a person has corrected and those lists no longer have.
    pub corrected: Vec<Corrected>,
    /// Number of items that were left out, or used only in part, because the conversation is longer than
    /// [`WHOLE_BYTES`]; almost always 0.
    pub left_out: u64,
}

/// Facts about the work tree at the end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WorkState {
    /// The git branch.
    pub branch: Option<String>,
    /// Pull requests that were opened, as addresses without a scheme.
    pub pull_requests: Vec<String>,
    /// The last commit, as `hash subject`, or its subject if git did not print the hash.
    pub commit: Option<String>,
    /// True if it was pushed.
    pub pushed: bool,
    /// Number of commits up to it that were not pushed; 0 if it is unknown.
    pub unpushed: u32,
    /// Files that were edited and not committed, in a session that commits or looks after it.
    pub uncommitted: Vec<String>,
    /// Names the modified files that the session neither edited nor committed, if it commits.
    pub also_modified: Option<Pointed>,
    /// The test, build or lint that passed.
    pub check: Option<String>,
    /// True if nothing is known to have passed after the last change.
    pub is_check_old: bool,
    /// The open matters that say the same.
    pub told: Vec<Pointed>,
}

/// Resolution of a failure that went away without a known reason: it claims nothing.
pub const PASSED_LATER: &str = "passed later";
/// Ends the resolution of a failure whose check then failed for another reason.
pub const FAILED_OTHERWISE: &str = "then it failed otherwise";
/// Ends the resolution of a failure whose check was then switched off: nothing is known to be mended.
pub const NOT_CHECKED: &str = "not checked";
/// Stands in the resolution of a failure that another command got around: the first one still fails.
pub const INSTEAD_OF: &str = "` instead of `";

/// Follows a text that only a model says.
pub const MODEL_MARK: &str = " · model";

/// A text and the transcript line that supports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// The text, bounded.
    pub text: String,
    /// Transcript line, from 1.
    pub line: u64,
    /// Time of that line.
    pub at: Option<Timestamp>,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLine {
    /// What failed, and the most informative line of its output.
    pub text: String,
    /// Transcript line of the failed result.
    pub line: u64,
    /// Time of that line.
    pub at: Option<Timestamp>,
    /// What mended it, or only that it passed later, at the line where that began.
    pub resolution: Option<Pointed>,
}

/// What mended a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// An edit of this file, below the working directory if it is.
    File(String),
    /// A run of this program, with its subcommand: `cargo add`.
    Command(String),
}

/// What is known about the end of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mending {
    /// What mended it; empty if it only passed later.
    pub by: Vec<Mend>,
    /// Transcript line of the result that shows that it is over.
    pub line: u64,
    /// Time of that line.
    pub at: Option<Timestamp>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// Path as given.
    pub path: String,
    /// Transcript line of the first read.
    pub line: u64,
    /// Number of reads.
    pub count: u32,
}

/// A file that was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileModified {
    /// Path as given.
    pub path: String,
    /// Transcript line of the first change.
    pub line: u64,
    /// Total lines added; 0 like the other if they are unknown.
    pub added: u32,
    /// Total lines removed.
    pub removed: u32,
    /// True if it was deleted last.
    pub deleted: bool,
}

/// A command that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The command on one line, without a leading `cd`, bounded.
    pub text: String,
    /// Transcript line of the last run.
    pub line: u64,
    /// Outcome of the last run: `ok`, `failed`, `denied`, `interrupted`, `unknown`.
    pub outcome: &'static str,
    /// Exit code of the last run, if known.
    pub exit_code: Option<i32>,
    /// Number of runs.
    pub count: u32,
    /// Number of successful runs.
    pub ok: u32,
    /// Number of failed runs.
    pub failed: u32,
    /// Number of runs with the same outcome as the last one.
    pub alike: u32,
}

/// Summarises a session. Pure, total, deterministic and linear in the items.
///
/// Every list has at most [`MAX_ENTRIES`] entries (read-only entries are dropped before others, old before new), every
/// text is bounded and on one line, and every `line` is the line of one of the items. `show` excludes what a person
/// does not want to see. A conversation of more than [`WHOLE_BYTES`] is abridged by [`Abridged`] first.
pub fn digest(items: &[Item], show: &Show) -> Episode {
    abridged::digest_abridged(items, show).unwrap_or_else(|| digest_whole(items, show, 0))
}

/// Returns what a person typed, one line each, in order, at most the last `most`; an episode keeps fewer.
pub fn typed_by_person(items: &[Item], show: &Show, most: usize) -> Vec<Pointed> {
    let items = retraction::without_retracted(without_abandoned(items));
    work::typed(&Timeline::new(&items, show), most)
}

fn digest_whole(items: &[Item], show: &Show, left_out: u64) -> Episode {
    let _memo = Memo::new(items.len());
    let mut times = metadata::Times::default();
    items.iter().for_each(|item| times.note(item));
    let items = retraction::without_retracted(without_abandoned(items));
    let timeline = Timeline::new(&items, show);
    let tasks = task::tasks(&timeline);
    let objective = objective::objective(&timeline, &tasks);
    let failures = failure::failures(&timeline, show);
    let mut tree = work_tree::tree_state(&timeline);
    let open = open_end::open_ends(&timeline, &failures, &mut tree);
    let (title, is_titled) = title::title(&timeline, &tasks, &objective, &tree.gone);
    let title = if is_titled { title } else { title::with_mend(title, &failures) };
    let decisions = decision::decisions(&timeline);
    let exchanges = exchange::exchanges(&timeline);
    let conclusions = conclusion::conclusions(&timeline);
    let state = continuation::work_state(&timeline, &exchanges, tree);
    let mut episode = Episode {
        title,
        is_titled,
        is_titled_by_person: false,
        last_request: last_request::last_request(&timeline, &objective),
        objective,
        prompts: work::prompts(&timeline),
        exchanges,
        work_completed: work::completed(&timeline, &conclusions),
        concluded: continuation::conclusion_text(&timeline, &tasks, &conclusions, &decisions.superseded),
        decisions: decisions.in_force,
        superseded: decisions.superseded,
        overruled_by: decisions.overruled_by,
        setbacks: setback::setbacks(&timeline),
        errors: failures.iter().map(|failure| failure.line.clone()).collect(),
        mendings: failures.iter().filter_map(|one| Some((one.line.line, one.mending.clone()?))).collect(),
        files_read: file::read(&timeline),
        files_modified: file::modified_files(&timeline),
        commands: work::commands(&timeline),
        external_research: research::research(&timeline, show),
        knowledge_stored: knowledge::stored_by_tool(&timeline),
        unresolved: open.unresolved,
        next_steps: open.next_steps,
        state,
        in_progress: continuation::in_progress(&timeline),
        continuation_context: String::new(),
        cwd: timeline.cwd.map(str::to_owned),
        span: times.span(),
        said_by_model: BTreeSet::new(),
        corrected: Vec::new(),
        left_out,
    };
    episode.continuation_context = continuation::paragraph(&episode);
    episode
}

impl WorkState {
    /// Says if the check passed only before the last change.
    pub(crate) fn check_age(&self) -> &'static str {
        if self.is_check_old { " before the last edits" } else { "" }
    }
}

impl Episode {
    /// Returns the path relative to the session's first directory if it is below.
    pub fn relative_path<'p>(&self, path: &'p str) -> &'p str {
        let below =
            self.cwd.as_deref().and_then(|cwd| path.strip_prefix(cwd)).and_then(|rest| rest.strip_prefix(['/', '\\']));
        below.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// Returns the open matters that [`Episode::state`] does not tell.
    pub(crate) fn unresolved_elsewhere(&self) -> Vec<Pointed> {
        self.unresolved.iter().filter(|entry| !self.state.told.contains(entry)).cloned().collect()
    }

    /// Returns the decisions that the state does not tell in the same words.
    pub(crate) fn decisions_elsewhere(&self) -> Vec<Pointed> {
        let state = self.concluded.as_deref().unwrap_or_default();
        let is_told = |text: &str| state.contains(text.trim_end_matches(['.', '…', ' ']));
        self.decisions.iter().filter(|decision| !is_told(&decision.text)).cloned().collect()
    }

    /// Returns true if the whole session is known, is in a repository, and made no commit, nor tried to: a hook may make
    /// one in its place.
    pub(crate) fn is_without_commit(&self) -> bool {
        let is_whole = self.left_out == 0 && self.exchanges.len().max(self.commands.len()) < MAX_ENTRIES;
        let tries = self.commands.iter().any(|line| Command::read(&line.text).commits());
        is_whole
            && self.state.branch.is_some()
            && !tries
            && self.exchanges.iter().all(|exchange| exchange.commits.is_empty())
    }

    /// Returns the changed files, relative to the session's directory, without notes that lie elsewhere.
    pub(crate) fn changed_files(&self) -> Vec<&str> {
        let paths = self.files_modified.iter().map(|file| self.relative_path(&file.path));
        paths.filter(|path| !path.starts_with(['/', '~']) || !file::is_document(path)).collect()
    }

    /// Returns true if only a model says this; `line` is 0 for the objective and the continuation.
    pub fn is_of_model(&self, line: u64, text: &str) -> bool {
        !self.said_by_model.is_empty() && self.said_by_model.contains(&(line, text.to_owned()))
    }

    /// Appends [`MODEL_MARK`] to every text that only a model says, for people who read the episode as text.
    pub fn with_model_marks(self) -> Self {
        self.marked_by(|text| text.push_str(MODEL_MARK))
    }

    fn marked_by(mut self, put: impl Fn(&mut String)) -> Self {
        let said = std::mem::take(&mut self.said_by_model);
        if said.is_empty() {
            return self;
        }
        let mark = |line: u64, text: &mut String| {
            if said.contains(&(line, text.clone())) {
                put(text);
            }
        };
        mark(0, &mut self.objective);
        mark(0, &mut self.continuation_context);
        let lists = [&mut self.decisions, &mut self.external_research, &mut self.unresolved, &mut self.next_steps];
        let maps = self.work_completed.values_mut().chain(self.knowledge_stored.values_mut());
        lists.into_iter().chain(maps).flatten().for_each(|entry| mark(entry.line, &mut entry.text));
        for error in &mut self.errors {
            mark(error.line, &mut error.text);
            error.resolution.iter_mut().for_each(|resolution| mark(resolution.line, &mut resolution.text));
        }
        self
    }

    /// Sets a title that was found elsewhere, if the transcript gives none.
    pub fn set_title(&mut self, title: &str) {
        let title = one_line(title, TITLE_CHARS);
        if !self.is_titled && !title.is_empty() {
            (self.title, self.is_titled) = (title, true);
        }
    }
}

/// Returns true if a prompt is not meant for the agent: a slash command without arguments, or one that configures the
/// harness (`/model opus`).
fn is_for_the_harness(text: &str) -> bool {
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.strip_prefix('/').unwrap_or_default();
    let command = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'));
    command && (arguments.trim().is_empty() || HARNESS_COMMANDS.has(name)) || text.starts_with("{\"task_id\":")
}

/// Strips leading pictures.
fn without_pictures(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, after)) = rest.strip_prefix("[Image #").and_then(|image| image.split_once(']')) {
        rest = after.trim_start();
    }
    rest
}

/// Strips leading pictures and a greeting, if anything else is left.
fn without_salutation(text: &str) -> &str {
    let rest = without_pictures(text);
    let (first, after) = rest.split_once([',', '!', '\n']).unwrap_or((rest, ""));
    let mut words = first.split_whitespace();
    let greets = words.next().is_some_and(courtesy::is_greeting_word);
    let rest = if greets && words.count() <= 1 { after.trim_start() } else { rest };
    if rest.is_empty() { text } else { rest }
}

/// Shortens a list to `max` entries: the oldest that are not worth keeping go first, then the oldest. Order is kept.
fn keep<T>(list: &mut Vec<T>, max: usize, worth: impl Fn(&T) -> bool) {
    let mut excess = list.len().saturating_sub(max);
    if excess == 0 {
        return;
    }
    list.retain(|entry| {
        let drop = excess > 0 && !worth(entry);
        excess -= usize::from(drop);
        !drop
    });
    let excess = list.len().saturating_sub(max);
    list.drain(..excess);
}

#[cfg(test)]
mod tests;
