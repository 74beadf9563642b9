//! Finds the words of a failure in a conversation, and what was said and done about it.
//!
//! An account quotes. It claims no cause and no fix: the agent's words are given as the agent's words.

use std::collections::{BTreeMap, BTreeSet};

use super::fix::FixQuery;
use super::mends::only_checks;
use super::rate::format_time;
use super::{MAX_TRIED, SHORT_CHARS};
use baton_conversation::item::{Act, Body, Call, Item, Outcome, Verdict};
use baton_episode::digest::{check_kind, one_line, programs, sentences_within};
use baton_events::schema::outcomes::millis;
use baton_protocol::answer::{FixAccount, Quote};

/// Minimum share of the failure's words in a line that is about it.
const MIN_SHARE: f32 = 0.6;
/// Maximum length of the line that has the words, in characters.
const LINE_CHARS: usize = 300;
/// Maximum length of quoted words of the agent, in characters.
const SAID_CHARS: usize = 1_000;
/// The same of a report that says again what an earlier one said.
const AGAIN_SHARE: f32 = 0.8;
/// Minimum share of the failure's words in words of the agent that do not follow closely.
const SAID_SHARE: f32 = 0.25;
/// This many replies after a failure count as about it, whatever their words.
const CLOSE_REPLIES: usize = 2;
/// Maximum number of edits that are quoted, and of the lines of one.
const MAX_EDITS: usize = 3;
const ADDED_LINES: usize = 4;
/// Programs that print what git keeps, or nothing.
const KEPT: [&str; 6] = ["git add", "git blame", "git commit", "git diff", "git log", "git show"];
/// Maximum number of calls without a result that are held.
const MAX_OPEN: usize = 256;

/// Finds the best account of a failure in the items of one conversation, in bounded memory.
pub struct AccountReader<'q> {
    asked: &'q FixQuery,
    /// Transcript lines whose text is known to have the failure's line.
    lines: BTreeSet<u64>,
    calls: BTreeMap<Box<str>, OpenCall>,
    best: Option<FixAccount>,
    share: f32,
    /// True while the exchange of the best account goes on.
    is_open: bool,
    /// The call that failed: running its programs again changes nothing.
    failed: Option<OpenCall>,
    /// The agent's last words since the failure.
    reply: Option<Quote>,
    /// Number of replies since the failure.
    replies: usize,
    /// Share of the failure's words in the quoted words of the agent.
    fit: f32,
    /// Command lines that only checked: they are no attempts to mend it.
    checked: BTreeSet<String>,
}

/// A call whose result has not come.
#[derive(Clone)]
struct OpenCall {
    act: Act,
    /// The changed file or the command line.
    target: String,
    /// The first lines that an edit added.
    added: String,
    programs: Vec<String>,
    /// True if every program only looks.
    looks: bool,
    /// True if a program is a check.
    checks: bool,
    /// True if every program is one that mends nothing, or looks.
    only_checks: bool,
    /// True if it only prints what git keeps.
    repeats: bool,
}

impl<'q> AccountReader<'q> {
    /// `lines` are transcript lines that are known to have the failure's line, beyond those whose items show it.
    pub fn new(asked: &'q FixQuery, lines: impl IntoIterator<Item = u64>) -> Self {
        Self {
            asked,
            lines: lines.into_iter().collect(),
            calls: BTreeMap::new(),
            best: None,
            share: 0.0,
            is_open: false,
            failed: None,
            reply: None,
            replies: 0,
            fit: 0.0,
            checked: BTreeSet::new(),
        }
    }

    /// Reads the next item.
    pub fn push(&mut self, item: &Item) {
        if item.sidechain {
            return;
        }
        match &item.body {
            Body::Prompt { text } => {
                self.is_open = false;
                self.note(item, text, "prompt", None);
            }
            Body::Reply { text } => {
                // The agent's words about a failure are no further occurrence of it.
                if self.best.is_none() {
                    self.note(item, text, "reply", None);
                }
                self.hear(item, text);
            }
            // Output of a person's own command; its beginning is kept.
            Body::Notice { text } if self.lines.contains(&item.line) => {
                self.note(item, text, "output", None);
            }
            // A summary repeats what was said: it is no further occurrence.
            Body::Summary { text } if self.share < 1.0 && self.lines.contains(&item.line) => {
                self.note(item, text, "summary", None);
            }
            Body::Call(call) if self.calls.len() < MAX_OPEN => {
                self.calls.insert(call.id.clone(), OpenCall::read(call));
            }
            Body::Result(result) => {
                let Some(call) = self.calls.remove(&result.id) else { return };
                let text = result.error.as_deref().or(result.failing()).unwrap_or(&result.text);
                // A file that is read may have the words of any failure, and so may what git keeps: the message of the
                // commit that mends it is no further occurrence.
                let repeats = call.repeats || matches!(call.act, Act::Edit | Act::Read | Act::Search);
                let fails = result.outcome == Outcome::Failed || matches!(result.verdict(), Some(Verdict::Failed(_)));
                let is_output = fails || !repeats;
                let is_found = is_output && self.note(item, text, "output", Some(&call));
                if !is_found && self.is_open && result.outcome == Outcome::Ok {
                    self.change(call);
                }
            }
            _ => {}
        }
    }

    /// Returns the account and the share of the failure's words that its line has: 1 for the line itself.
    pub fn finish(self) -> Option<(f32, FixAccount)> {
        let mut best = self.best?;
        [&mut best.commands, &mut best.tried].into_iter().for_each(|list| list.retain(|it| !self.checked.contains(it)));
        Some((self.share, best))
    }

    /// Begins an account if the text is more about the failure than what was found before. Returns true if it is about
    /// it.
    fn note(&mut self, item: &Item, text: &str, role: &str, failed: Option<&OpenCall>) -> bool {
        let found = match self.lines.contains(&item.line) {
            true if role == "summary" => {
                text.lines().find(|line| self.asked.is_in_encoded(line)).map(|line| (1.0, line))
            }
            true => Some((1.0, self.asked.line.as_str())),
            false => self.asked.best_line(text).filter(|(share, _)| *share >= MIN_SHARE),
        };
        let Some((share, line)) = found else { return false };
        let reported = self.best.as_ref().filter(|best| role == "prompt" && best.role == "prompt");
        let least = if reported.is_some() { AGAIN_SHARE } else { 1.0 };
        let is_again = share >= least && self.share >= least;
        if !is_again && share <= self.share {
            return true;
        }
        let mut tried = Vec::new();
        let mut times = 1;
        if let Some(before) = self.best.as_mut().filter(|_| is_again) {
            times += before.times;
            if before.files.is_empty() && before.commands.is_empty() {
                (before.times, self.is_open) = (times, true);
                return true;
            }
            // Changes before the line came again did not help.
            for change in before.tried.iter().chain(&before.files).chain(&before.commands) {
                tried.retain(|known| known != change);
                tried.push(change.clone());
            }
            tried.drain(..tried.len().saturating_sub(MAX_TRIED));
        }
        (self.share, self.is_open, self.failed) = (share.max(self.share), true, failed.cloned());
        (self.reply, self.replies, self.fit) = (None, 0, 0.0);
        self.best = Some(FixAccount {
            text: one_line(line, LINE_CHARS),
            role: role.to_owned(),
            same: self.share >= 1.0,
            line: item.line,
            at: format_time(millis(item.at)),
            times,
            tried,
            ..FixAccount::default()
        });
        true
    }

    /// Keeps the agent's last words.
    fn hear(&mut self, item: &Item, text: &str) {
        if self.is_open {
            let text = sentences_within(text, SAID_CHARS);
            let session_id = String::new();
            self.replies += 1;
            self.reply = Some(Quote { text, session_id, line: item.line, at: format_time(millis(item.at)) });
        }
    }

    /// Keeps what was changed, and the agent's words before a change: those that have most of the failure's words, else
    /// those that follow it closely.
    fn change(&mut self, call: OpenCall) {
        let Some(best) = &mut self.best else { return };
        let is_rerun = self.failed.as_ref().is_some_and(|failed| !failed.looks && call.runs_a_program_of(failed));
        let has_changed = !(best.files.is_empty() && best.commands.is_empty());
        let list = match call.act {
            Act::Edit => &mut best.files,
            Act::Shell if !has_changed && self.failed.as_ref().is_some_and(|failed| call.is_instead_of(failed)) => {
                self.is_open = false;
                &mut best.commands
            }
            // Commands after an edit check it.
            Act::Shell if !call.looks && !is_rerun && best.files.is_empty() => &mut best.commands,
            // A check may pass for another part first; anything else that succeeds has done what it should.
            Act::Shell if is_rerun && (has_changed || !call.checks) => {
                self.is_open = false;
                return;
            }
            _ => return,
        };
        if call.only_checks {
            self.checked.insert(call.target.clone());
        }
        let path = call.target.clone();
        if !list.contains(&call.target) && list.len() < MAX_TRIED {
            list.push(call.target);
        }
        if !call.added.is_empty() && best.edits.len() < MAX_EDITS {
            best.edits.push(format!("{path}: {}", call.added));
        }
        let Some(reply) = &self.reply else { return };
        let fit = self.asked.fit_of(&reply.text);
        if fit > self.fit.max(SAID_SHARE) || best.said.is_none() && self.replies <= CLOSE_REPLIES {
            self.fit = fit;
            best.said = Some(reply.clone());
        }
    }
}

impl OpenCall {
    fn runs_a_program_of(&self, other: &Self) -> bool {
        self.programs.iter().any(|name| other.programs.contains(name))
    }

    /// Returns true for another command line that does what a failed one was to do: with one of its programs, or, if both
    /// only look, at the same file. A check may pass for another part.
    fn is_instead_of(&self, failed: &Self) -> bool {
        let files = |line: &str| -> Vec<String> {
            let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', ';']));
            words.filter(|word| word.contains('.') && !word.starts_with(['-', '.'])).map(str::to_owned).collect()
        };
        let failed_files = files(&failed.target);
        let is_same_file = || files(&self.target).iter().any(|file| failed_files.contains(file));
        let does_it = if failed.looks { self.looks && is_same_file() } else { self.runs_a_program_of(failed) };
        does_it && !self.checks && failed.act == Act::Shell && self.target != failed.target
    }

    fn read(call: &Call) -> Self {
        let command = call.input.get("command").filter(|_| call.act == Act::Shell);
        let line = command.and_then(|line| line.as_str()).unwrap_or_default();
        let programs = programs(line);
        let path = call.edit.as_ref().map(|edit| edit.path.as_str());
        let added = call.edit.iter().flat_map(|edit| edit.new_text.lines()).map(str::trim);
        let added: Vec<&str> = added.filter(|line| line.chars().any(char::is_alphanumeric)).take(ADDED_LINES).collect();
        Self {
            act: call.act,
            added: one_line(&added.join(" ⏎ "), SHORT_CHARS),
            target: one_line(path.unwrap_or(line), SHORT_CHARS),
            looks: call.act == Act::Shell && programs.iter().all(|program| program.looks),
            checks: programs.iter().any(|program| check_kind(&program.name).is_some()),
            only_checks: only_checks(line),
            repeats: !programs.is_empty() && programs.iter().all(|program| KEPT.contains(&&*program.name)),
            programs: programs.into_iter().map(|program| program.name).collect(),
        }
    }
}
