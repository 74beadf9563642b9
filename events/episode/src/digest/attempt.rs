//! What was tried: every tool call in order, with how it ended. What nobody can know about it is said to be unknown.

use super::LINE_CHARS;
use super::command::{Command, Ran};
use super::excerpt::{one_line, without_filter_mark};
use super::failure::{HARNESS, complaint};
use super::timeline::{Deed, Timeline};
use super::{SHORT_CHARS, Show};
use baton_conversation::item::{Call, Item, Outcome};
use baton_conversation::record::Timestamp;
use baton_events::schema::outcomes::Ended;

/// A tool call and how it ended.
pub struct Attempt<'a> {
    /// The tool's name as it was written.
    pub tool: &'a str,
    /// What it did.
    pub what: What<'a>,
    /// How it ended.
    pub ended: Ended,
    /// The exit code of a command, where it is known.
    pub exit_code: Option<i32>,
    /// Of a failure: its telling line; may be empty.
    pub error: String,
    /// Transcript lines of the call and of its result.
    pub line: u64,
    /// See `line`.
    pub result_line: u64,
    /// When it ended.
    pub at: Option<Timestamp>,
    /// The id of the call's record, and the call's time: a copy in another file has the same.
    pub uuid: Option<&'a str>,
    /// See `uuid`.
    pub begun_at: Option<Timestamp>,
    /// Which typed prompt it belongs to, from 0.
    pub round: usize,
    /// The call, and the working directory then.
    pub call: Option<&'a Call>,
    /// See `call`.
    pub cwd: Option<&'a str>,
}

/// What a tool call does.
pub enum What<'a> {
    /// It runs a command line.
    Command {
        /// The line as it is told, bounded.
        text: String,
        /// Its programs.
        ran: Vec<Ran>,
    },
    /// It changes a file.
    Edit(&'a str),
    /// It reads a file.
    Read(&'a str),
    /// Anything else, with what it is about.
    Other(String),
}

/// Calls `each` with all tool calls of a conversation in their order. Linear in the items.
pub fn attempts<'a>(items: &'a [Item], mut each: impl FnMut(Attempt<'a>)) {
    let timeline = Timeline::of(items, &Show::default());
    for (round, number) in timeline.rounds.iter().zip(0..) {
        for deed in timeline.deeds.get(round.deeds.clone()).unwrap_or_default() {
            let uuid = items.get(deed.began).and_then(|item| item.uuid.as_deref());
            each(Attempt { uuid, ..attempt(deed, number) });
        }
    }
}

fn attempt<'a>(deed: &Deed<'a>, round: usize) -> Attempt<'a> {
    let error = if deed.outcome() == Some(Outcome::Failed) { complaint(deed) } else { String::new() };
    let ended = match deed.outcome() {
        // The harness speaks: the call was never made.
        Some(Outcome::Failed) if HARNESS.iter().any(|words| error.contains(words)) => Ended::Unknown,
        Some(Outcome::Failed) => Ended::Failed,
        Some(Outcome::Denied) => Ended::Denied,
        Some(Outcome::Interrupted) => Ended::Interrupted,
        Some(Outcome::Ok) if !deed.in_background() => Ended::Ok,
        Some(Outcome::Ok) | None => Ended::Unknown,
    };
    let what = match (deed.command(), deed.edit(), deed.reading()) {
        (Some(line), ..) => {
            let command = deed.line().unwrap_or_else(|| Command::read(line));
            let succeeded = match ended {
                Ended::Ok => Some(true),
                Ended::Failed => Some(false),
                Ended::Unknown | Ended::Denied | Ended::Interrupted => None,
            };
            let text = one_line(&without_filter_mark(&command.shown()), LINE_CHARS);
            What::Command { text, ran: command.ran(succeeded, &error) }
        }
        (None, Some((path, ..)), _) => What::Edit(path),
        (None, None, Some(path)) => What::Read(path),
        (None, None, None) => What::Other(one_line(deed.target().unwrap_or_default(), SHORT_CHARS)),
    };
    Attempt {
        tool: deed.tool(),
        what,
        ended,
        exit_code: deed.result.and_then(|result| result.exit_code).filter(|code| (*code == 0) == (ended == Ended::Ok)),
        error,
        line: deed.line,
        result_line: deed.result_line,
        at: deed.result_at,
        uuid: None,
        begun_at: deed.at,
        round,
        call: deed.call,
        cwd: deed.cwd,
    }
}
