//! A session in order: rounds (a prompt and the replies to it) and deeds (a call joined with its result).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::command::{Command, Touch};
use super::excerpt::one_line;
use super::{Show, TITLE_CHARS};
use baton_conversation::item::{
    Act, Body, Call, Edit, INTERRUPTED, Item, Meta, Outcome, TitleSource, ToolResult, Verdict,
};
use baton_conversation::record::Timestamp;

/// Beginning of the notice in which the agent says that the service refused a request.
const API_ERROR: &str = "API Error";
/// The same where it is not marked as a notice.
const UNMARKED_API_ERROR: &str = "API Error: ";

/// Returns true for a reply that is such a notice: `API Error: 529 overloaded`.
fn is_refusal(text: &str) -> bool {
    let code = text.strip_prefix(UNMARKED_API_ERROR);
    code.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) && text.trim_end().lines().count() == 1
}

/// A text of the conversation and its position.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) text: &'a str,
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    /// Index in the list of items.
    pub(super) place: usize,
    /// True if the agent goes over from it into the next piece of work: it only comments on the work.
    pub(super) comments: bool,
}

/// What a person said to a tool.
pub(super) struct Answer<'a> {
    pub(super) said: Message<'a>,
    /// The deed that it answers, as an index into [`Timeline::deeds`].
    pub(super) deed: Option<usize>,
}

/// A prompt with everything up to the next one. Everything before the first prompt is a round without one.
pub(super) struct Round<'a> {
    pub(super) prompt: Option<Message<'a>>,
    pub(super) replies: Vec<Message<'a>>,
    /// The error with which the service answered, with nothing after it.
    pub(super) refusal: Option<Message<'a>>,
    /// True if the person stopped the agent to type the prompt.
    pub(super) after_interruption: bool,
    /// Its deeds, as a range of [`Timeline::deeds`].
    pub(super) deeds: Range<usize>,
    /// Index of the reply that [`conclusion`](super::exchange::conclusion) found.
    pub(super) conclusion: OnceCell<Option<usize>>,
}

/// A tool call with its result; either may be missing.
pub(super) struct Deed<'a> {
    pub(super) call: Option<&'a Call>,
    pub(super) result: Option<&'a ToolResult>,
    /// Line and time of the call, or of the result if the call is unknown.
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    /// Line and time of the result, or of the call while there is none.
    pub(super) result_line: u64,
    pub(super) result_at: Option<Timestamp>,
    /// Indices of call and result in the list of items; `usize::MAX` while there is no result.
    pub(super) began: usize,
    pub(super) ended: usize,
    /// True if a subagent did it, beside the main conversation.
    pub(super) aside: bool,
    /// Working directory at the call.
    pub(super) cwd: Option<&'a str>,
    /// True if the line that would show a failure is also printed when the same check passes.
    pub(super) prints_as_when_passing: bool,
    /// How it ended, decided once all calls are known; `None` while it has no result, and if it was never made.
    pub(super) outcome: Option<Outcome>,
    /// The shell command with what its result says, parsed once its result is known.
    pub(super) parsed: Option<Command<'a>>,
    /// The same line without that, if the call keeps less of it than git was told.
    pub(super) kept: Option<Command<'a>>,
    /// The files in the session's directory that the command line touches, relative to it.
    pub(super) touched: Vec<Touch>,
}

/// The branch that the agent records, and the directory that it is of.
pub(super) struct BranchRecord<'a> {
    /// `None` if none is checked out.
    pub(super) branch: Option<&'a str>,
    pub(super) cwd: Option<&'a str>,
    /// Index in the list of items.
    pub(super) place: usize,
}

/// What was taken back.
#[derive(Default)]
pub(super) struct Undone {
    /// Files that are as they were before, relative to the session's directory.
    pub(super) files: BTreeSet<String>,
    /// Indices of the edits that do not stand, and of those that took them back.
    pub(super) edits: BTreeSet<usize>,
    /// Those that were put back after a person had spoken, by the name that a text has for them; with the place of that.
    pub(super) names: BTreeMap<String, usize>,
}

/// A session as the digest reads it.
#[derive(Default)]
pub(super) struct Timeline<'a> {
    pub(super) title: Option<String>,
    /// Its source.
    pub(super) title_source: Option<TitleSource>,
    pub(super) rounds: Vec<Round<'a>>,
    /// In the order of the calls.
    pub(super) deeds: Vec<Deed<'a>>,
    /// Indices of deeds with a result, in the order of the results.
    pub(super) finished: Vec<usize>,
    /// What a person said to a tool: with a refusal, or to a question.
    pub(super) answers: Vec<Answer<'a>>,
    /// The first working directory, without a trailing slash.
    pub(super) cwd: Option<&'a str>,
    /// The branches that the agent records, from each place on.
    pub(super) branches: Vec<BranchRecord<'a>>,
    /// What the session took back, read once the outcomes are known.
    pub(super) undone: Undone,
    /// True if the person stopped the agent and typed nothing afterwards.
    pub(super) ends_interrupted: bool,
}

impl<'a> Timeline<'a> {
    /// Reads the items once. In a session with a main conversation, a subagent's prompts and replies are ignored, but
    /// its calls count; a subagent's own file is a conversation of its own.
    ///
    /// What must not be shown is not read: such a prompt begins its round without a text.
    pub(super) fn undecided(items: &'a [Item], show: &Show) -> Self {
        let main = items.iter().any(|item| !item.sidechain && is_talk(&item.body));
        let mut timeline = Self::default();
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        let mut known: Option<BTreeSet<&str>> = None;
        let mut early: BTreeMap<&str, usize> = BTreeMap::new();
        // Commands that went on and were not polled yet, and the others by the id under which they are polled.
        let mut running: Vec<usize> = Vec::new();
        let mut polled: BTreeMap<u64, usize> = BTreeMap::new();
        let mut interrupted = false;
        let mut prompted = None;
        let mut cwd = None;
        let mut speaks = false;
        for (place, item) in items.iter().enumerate() {
            let said = |text: &'a str| Message { text, line: item.line, at: item.at, place, comments: false };
            let aside = main && item.sidechain;
            let goes_on = match &item.body {
                Body::Reply { .. } => !aside,
                Body::Call(call) => !aside && !call.is_persons(),
                _ => false,
            };
            if let Some(round) = timeline.rounds.last_mut().filter(|_| goes_on) {
                round.refusal = None;
            }
            match &item.body {
                Body::Call(call) if !aside && !call.is_persons() && std::mem::take(&mut speaks) => {
                    timeline.go_on(call.act);
                }
                Body::Prompt { .. } | Body::Notice { .. } | Body::Reply { .. } if !aside => {
                    speaks = matches!(item.body, Body::Reply { .. }) && show.keep_agent_responses;
                }
                _ => {}
            }
            match &item.body {
                Body::Prompt { text } if !aside => {
                    prompted = Some(item.line);
                    timeline.begin(show.keep_user_messages.then(|| said(text)), std::mem::take(&mut interrupted));
                }
                // A picture without text is the prompt.
                Body::Media { .. } if !aside && prompted != Some(item.line) => {
                    prompted = Some(item.line);
                    timeline.begin(None, std::mem::take(&mut interrupted));
                }
                Body::Notice { text } if !aside && text == INTERRUPTED => interrupted = true,
                Body::Answer { .. } if !show.keep_user_messages => {}
                Body::Reply { .. } if !show.keep_agent_responses => {}
                Body::Call(_) | Body::Result(_) if !show.keep_tool_structure => {}
                // Older versions of the agent do not mark it.
                Body::Reply { text } if !aside && is_refusal(text) => {
                    timeline.round().refusal = Some(said(text));
                }
                Body::Reply { text } if !aside => {
                    timeline.round().replies.push(said(text));
                }
                Body::Notice { text } if !aside && text.trim_start_matches('[').starts_with(API_ERROR) => {
                    timeline.round().refusal = Some(said(text));
                }
                Body::Call(call) if early.contains_key(&*call.id) => {
                    let known = early.remove(&*call.id).and_then(|index| timeline.deeds.get_mut(index));
                    known.into_iter().for_each(|deed| deed.announce(call, item));
                }
                Body::Call(call) => {
                    let index = polled_id(call).and_then(|id| match (polled.get(&id), &running[..]) {
                        (Some(index), _) => Some(*index),
                        // Nothing says which one of several it is.
                        (None, [index]) => {
                            polled.insert(id, *index);
                            running.pop()
                        }
                        _ => None,
                    });
                    if let Some(index) = index.filter(|index| timeline.deeds[*index].in_background()) {
                        open.insert(&call.id, index);
                        continue;
                    }
                    timeline.push(Deed { aside, cwd, ..Deed::new(Some(call), None, item, place) });
                    if !call.id.is_empty() {
                        open.insert(&call.id, timeline.deeds.len() - 1);
                    }
                }
                Body::Result(result) => match open.remove(&*result.id) {
                    Some(index) if timeline.deeds[index].result.is_some() && result.is_in_background() => {}
                    Some(index) => {
                        let goes_on = result.is_in_background() && timeline.deeds[index].act() == Act::Shell;
                        running.extend(goes_on.then_some(index));
                        timeline.finish(index, result, item, place);
                    }
                    None => {
                        timeline.push(Deed { aside, cwd, ..Deed::new(None, Some(result), item, place) });
                        timeline.finished.push(timeline.deeds.len() - 1);
                        if !result.id.is_empty() {
                            early.insert(&result.id, timeline.deeds.len() - 1);
                        }
                    }
                },
                Body::Answer { text } if !aside => {
                    let deed = timeline.finished.last().copied();
                    let deed = deed.filter(|&index| timeline.deeds[index].result_line == item.line);
                    timeline.answers.push(Answer { said: said(text), deed });
                }
                // A summary title names the record that it was made from, which is usually another session's.
                Body::Meta(Meta::Title { source: TitleSource::Summary, .. })
                    if !item
                        .uuid
                        .as_deref()
                        .is_some_and(|id| known.get_or_insert_with(|| record_ids(items)).contains(id)) => {}
                Body::Meta(Meta::Title { source, text }) => timeline.retitle(*source, text),
                Body::Meta(Meta::Branch(branch)) => {
                    let branch = Some(branch.as_str()).filter(|branch| *branch != "HEAD");
                    timeline.branches.push(BranchRecord { branch, cwd, place });
                }
                Body::Meta(Meta::Cwd(directory)) => {
                    cwd = Some(directory.trim_end_matches(['/', '\\'])).filter(|cwd| !cwd.is_empty());
                    timeline.cwd = timeline.cwd.or(cwd);
                }
                _ => {}
            }
        }
        timeline.ends_interrupted = interrupted;
        // The last result of a command that was polled is how it ended.
        let mut later = BTreeSet::new();
        let last: Vec<usize> = timeline.finished.iter().rev().copied().filter(|index| later.insert(*index)).collect();
        timeline.finished = last.into_iter().rev().collect();
        timeline
    }

    /// Returns the path relative to the working directory if it is below.
    pub(super) fn relative_path<'p>(&self, path: &'p str) -> &'p str {
        let below = self.cwd.and_then(|cwd| path.strip_prefix(cwd)).and_then(|rest| rest.strip_prefix(['/', '\\']));
        below.filter(|rest| !rest.is_empty()).unwrap_or_else(|| path.strip_prefix("./").unwrap_or(path))
    }

    fn begin(&mut self, prompt: Option<Message<'a>>, after_interruption: bool) {
        let next = self.deeds.len();
        self.rounds.push(Round {
            prompt,
            replies: Vec::new(),
            refusal: None,
            after_interruption,
            deeds: next..next,
            conclusion: OnceCell::new(),
        });
    }

    fn round(&mut self) -> &mut Round<'a> {
        if self.rounds.is_empty() {
            self.begin(None, false);
        }
        let last = self.rounds.len() - 1;
        &mut self.rounds[last]
    }

    /// Notes that the last reply goes over into a call. A plan, a list of tasks or a question may follow a conclusion.
    fn go_on(&mut self, act: Act) {
        let last = self.rounds.last_mut().and_then(|round| round.replies.last_mut());
        last.into_iter().for_each(|reply| reply.comments = !matches!(act, Act::Plan | Act::Todo | Act::Ask));
    }

    fn push(&mut self, deed: Deed<'a>) {
        // A round that begins here begins with this deed.
        self.round();
        self.deeds.push(deed);
        let end = self.deeds.len();
        self.round().deeds.end = end;
    }

    fn finish(&mut self, index: usize, result: &'a ToolResult, item: &Item, place: usize) {
        if let Some(deed) = self.deeds.get_mut(index) {
            deed.result = Some(result);
            deed.result_line = item.line;
            deed.result_at = item.at;
            deed.ended = place;
            self.finished.push(index);
        }
    }

    fn retitle(&mut self, source: TitleSource, text: &str) {
        let text = one_line(text, TITLE_CHARS);
        if !text.is_empty() && self.title_source.is_none_or(|current| source >= current) {
            (self.title, self.title_source) = (Some(text), Some(source));
        }
    }
}

impl<'a> Deed<'a> {
    fn new(call: Option<&'a Call>, result: Option<&'a ToolResult>, item: &Item, place: usize) -> Self {
        Self {
            call,
            result,
            line: item.line,
            at: item.at,
            result_line: item.line,
            result_at: item.at,
            began: place,
            ended: if result.is_some() { place } else { usize::MAX },
            aside: false,
            cwd: None,
            prints_as_when_passing: false,
            outcome: None,
            parsed: None,
            kept: None,
            touched: Vec::new(),
        }
    }

    /// Adds the call of a result that preceded it.
    fn announce(&mut self, call: &'a Call, item: &Item) {
        self.call = Some(call);
        (self.line, self.at) = (item.line, item.at);
    }

    /// Returns the tool's name as written; empty if neither call nor result has it.
    pub(super) fn tool(&self) -> &'a str {
        let named = self.call.map(|call| call.name.as_str());
        named.or_else(|| self.result.and_then(|result| result.name.as_deref())).unwrap_or_default()
    }

    /// Returns the kind of work.
    pub(super) fn act(&self) -> Act {
        match (self.call, self.result) {
            (Some(call), _) => call.act,
            (None, Some(result)) => result.name.as_deref().map_or(Act::Other, Act::of_tool),
            (None, None) => Act::Other,
        }
    }

    /// Returns a text parameter of the call.
    pub(super) fn input(&self, key: &str) -> Option<&'a str> {
        self.call?.input.get(key).and_then(Value::as_str)
    }

    /// Returns what the output says about the result.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let result = self.result.filter(|result| result.outcome == Outcome::Ok)?;
        result.verdict().cloned()
    }

    /// Returns the parsed shell command with what its result says.
    pub(super) fn parsed_command(&self) -> Option<&Command<'a>> {
        self.parsed.as_ref()
    }

    /// Returns the parsed shell command as far as the call keeps it.
    pub(super) fn kept_command(&self) -> Option<&Command<'a>> {
        self.kept.as_ref().or(self.parsed.as_ref())
    }

    /// Returns true if a person ran it and no exit code is known.
    pub(super) fn hides_exit(&self) -> bool {
        self.call.is_some_and(Call::is_persons) && self.result.is_some_and(|result| result.exit_code.is_none())
    }

    /// Returns true if it is known to have succeeded.
    pub(super) fn succeeded(&self) -> bool {
        self.outcome() == Some(Outcome::Ok)
    }

    /// Returns the shell command, if the tool runs one.
    pub(super) fn command(&self) -> Option<&'a str> {
        self.input("command").filter(|command| self.act() == Act::Shell && !command.trim().is_empty())
    }

    /// Returns the command line as far as git is told something by it.
    pub(super) fn git_line(&self) -> Option<&'a str> {
        self.call.and_then(|call| call.git_line.as_deref()).or_else(|| self.command())
    }

    /// Returns true if the command was only started, so that its result says nothing about how it ended.
    pub(super) fn in_background(&self) -> bool {
        let flag = self.call.and_then(|call| call.input.get("run_in_background"));
        let asked = flag.and_then(Value::as_bool).unwrap_or(false);
        asked || self.result.is_some_and(ToolResult::is_in_background)
    }

    /// Returns the file that the tool changes, with lines added and removed if known.
    pub(super) fn edit(&self) -> Option<(&'a str, u32, u32)> {
        if let Some(edit) = self.call.and_then(|call| call.edit.as_ref()) {
            let counted = self.result.and_then(ToolResult::changed);
            let (added, removed) = counted.unwrap_or((edit.added, edit.removed));
            return Some((edit.path.as_str(), added, removed)).filter(|(path, ..)| !path.is_empty());
        }
        self.path().filter(|_| self.act() == Act::Edit).map(|path| (path, 0, 0))
    }

    /// Returns the edit that it makes.
    pub(super) fn effect(&self) -> Option<&'a Edit> {
        self.call.and_then(|call| call.edit.as_ref()).filter(|edit| !edit.path.is_empty())
    }

    /// Returns the lines that an edit adds, as far as they are kept.
    pub(super) fn new_text(&self) -> &'a str {
        self.call.and_then(|call| call.edit.as_ref()).map_or("", |edit| &edit.new_text)
    }

    /// Returns the file that the tool reads.
    pub(super) fn reading(&self) -> Option<&'a str> {
        self.path().filter(|_| self.act() == Act::Read)
    }

    /// Returns true if a person ran it, which is neither work of the agent nor waited for.
    pub(super) fn is_persons(&self) -> bool {
        self.call.is_some_and(Call::is_persons)
    }

    /// Returns true if it runs a command that commits. Of a long line the call may only keep the subject.
    pub(super) fn commits(&self) -> bool {
        self.kept_command().is_some_and(Command::commits) || self.call.is_some_and(|call| call.commit.is_some())
    }

    /// Returns true if the tool only looks: finding nothing is not a failure of the work.
    pub(super) fn only_looks(&self) -> bool {
        self.act().only_looks()
    }

    /// Returns the target of the call: a path, a URL, a pattern.
    pub(super) fn target(&self) -> Option<&'a str> {
        let other =
            || ["url", "query", "pattern", "description", "subject", "skill"].iter().find_map(|key| self.input(key));
        self.path().or_else(other).filter(|target| !target.trim().is_empty())
    }

    fn path(&self) -> Option<&'a str> {
        let path = ["file_path", "notebook_path", "path"].iter().find_map(|key| self.input(key));
        path.filter(|path| !path.trim().is_empty())
    }
}

/// Returns the id of the command whose end a call only awaits, as Codex does by empty input.
fn polled_id(call: &Call) -> Option<u64> {
    let is_empty = call.input.get("chars").is_none_or(|typed| typed.as_str().is_some_and(str::is_empty));
    call.input.get("session_id").and_then(Value::as_u64).filter(|_| call.name == "write_stdin" && is_empty)
}

/// Returns the ids of the session's own records.
fn record_ids(items: &[Item]) -> BTreeSet<&str> {
    let own = items.iter().filter(|item| !matches!(item.body, Body::Meta(Meta::Title { .. })));
    own.filter_map(|item| item.uuid.as_deref()).collect()
}

fn is_talk(body: &Body) -> bool {
    matches!(body, Body::Prompt { .. } | Body::Reply { .. })
}
