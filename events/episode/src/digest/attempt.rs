//! Every tool call in order, with its result. A result that cannot be known is unknown.

use super::command::{Command, Ran, switched_off};
use super::evidence::complaint;
use super::excerpt::{one_line, without_filter_mark};
use super::timeline::{Deed, Timeline};
use super::work_tree::{absolute, rest_below};
use super::{SHORT_CHARS, Show};
use baton_conversation::item::{Call, Item, Outcome};
use baton_conversation::record::Timestamp;
use baton_events::schema::outcomes::Ended;

/// Maximum length of a command line, in characters: more than in the lists of an episode, since it may be run again.
const COMMAND_CHARS: usize = 600;

/// A tool call and its result.
pub struct Attempt<'a> {
    /// Name of the tool as written.
    pub tool: &'a str,
    /// What it did.
    pub what: Action<'a>,
    /// How it ended.
    pub ended: Ended,
    /// Exit code of a command, if known.
    pub exit_code: Option<i32>,
    /// Most informative line of a failure; may be empty.
    pub error: String,
    /// Transcript line of the call.
    pub line: u64,
    /// Transcript line of the result.
    pub result_line: u64,
    /// Time of the result.
    pub at: Option<Timestamp>,
    /// Id of the call's record. A copy of the call in another file has the same id and `begun_at`.
    pub uuid: Option<&'a str>,
    /// Time of the call.
    pub begun_at: Option<Timestamp>,
    /// Index of the prompt that it belongs to.
    pub round: usize,
    /// The call.
    pub call: Option<&'a Call>,
    /// Working directory at the call.
    pub cwd: Option<&'a str>,
}

/// What a tool call does.
pub enum Action<'a> {
    /// Runs a command line.
    Command {
        /// The line, bounded.
        text: String,
        /// Its programs.
        ran: Vec<Ran>,
    },
    /// Changes a file.
    Edit(&'a str),
    /// Reads a file.
    Read(&'a str),
    /// Anything else, with its target.
    Other(String),
}

/// Passes all tool calls of a conversation to `each`, in order. Linear in the items.
pub fn attempts<'a>(items: &'a [Item], mut each: impl FnMut(Attempt<'a>)) {
    let timeline = Timeline::new(items, &Show::default());
    for (round, number) in timeline.rounds.iter().zip(0..) {
        for deed in timeline.deeds.get(round.deeds.clone()).unwrap_or_default() {
            let uuid = items.get(deed.began).and_then(|item| item.uuid.as_deref());
            each(Attempt { uuid, ..attempt(deed, number, timeline.cwd) });
        }
    }
}

/// Returns a command line of a call as lists show it: with the directory that it changes to if that lies below `home`, and
/// with what switches off a check if that was cut with the message of a commit.
pub(super) fn shown(deed: &Deed<'_>, command: &Command<'_>, home: Option<&str>) -> String {
    let kept = without_filter_mark(command.shown());
    let whole = deed.call.and_then(|call| call.git_line.as_deref());
    let off = whole.map(switched_off).unwrap_or_default();
    let line = off.iter().fold(kept, |line, word| if line.contains(word) { line } else { format!("{line} {word}") });
    in_its_directory(deed, command, home, &line)
}

/// Puts before a part of a command line what leads to a directory below `home`.
pub(super) fn in_its_directory(deed: &Deed<'_>, command: &Command<'_>, home: Option<&str>, part: &str) -> String {
    let place = home.zip(Some(command.directory()).filter(|directory| !directory.is_empty()));
    let below = place.and_then(|(home, directory)| {
        let place = absolute(deed.cwd.unwrap_or(home), directory);
        rest_below(home, &place).filter(|below| !below.is_empty() && !below.contains(' ')).map(str::to_owned)
    });
    below.map_or_else(|| part.to_owned(), |below| format!("cd {below} && {part}"))
}

fn attempt<'a>(deed: &Deed<'a>, round: usize, home: Option<&str>) -> Attempt<'a> {
    let error = if deed.outcome() == Some(Outcome::Failed) { complaint(deed) } else { String::new() };
    let ended = match deed.outcome() {
        Some(Outcome::Failed) => Ended::Failed,
        Some(Outcome::Denied) => Ended::Denied,
        Some(Outcome::Interrupted) => Ended::Interrupted,
        Some(Outcome::Ok) if !deed.in_background() => Ended::Ok,
        Some(Outcome::Ok) | None => Ended::Unknown,
    };
    let what = match (deed.parsed_command(), deed.edit(), deed.reading()) {
        (Some(command), ..) => {
            let succeeded = match ended {
                Ended::Ok => Some(true),
                Ended::Failed => Some(false),
                Ended::Unknown | Ended::Denied | Ended::Interrupted => None,
            };
            let text = one_line(&shown(deed, command, home), COMMAND_CHARS);
            Action::Command { text, ran: command.ran(succeeded, &error) }
        }
        (None, Some((path, ..)), _) => Action::Edit(path),
        (None, None, Some(path)) => Action::Read(path),
        (None, None, None) => Action::Other(one_line(deed.target().unwrap_or_default(), SHORT_CHARS)),
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
