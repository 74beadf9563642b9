//! Messages of the answers.

use baton_protocol::answer;
use baton_redaction::redact;

use super::earlier_attempt::EarlierAttempt;
use super::{Done, notes};
use crate::SESSIONS_NAMED;

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") }
}

pub(super) fn dry_run_message(outcome: &answer::Forget) -> String {
    let count = match outcome.sessions.len() + outcome.also.len() {
        0 if outcome.notes == 0 => return "nothing fits: there is nothing to forget".to_owned(),
        0 => notes::counted(outcome.notes),
        several => format!("{}{}", sessions(several), notes::suffix(outcome.notes)),
    };
    let (files, bytes) = (outcome.files, outcome.bytes);
    let noun = if files == 1 { "file" } else { "files" };
    format!(
        "{count} would be forgotten, with {files} {noun} of conversations and notes ({bytes} bytes as they are now) and what \
         searches find; nothing was changed"
    )
}

/// Message of an undo's dry run. `back`: number of forgotten sessions among them.
pub(super) fn undo_dry_run_message(outcome: &answer::Forget, back: usize) -> String {
    match restored_parts(back, outcome.found_again, "would be no longer forgotten", "would be found again") {
        text if text.is_empty() => "nothing fits: nothing such is forgotten, deleted or cleared".to_owned(),
        text => format!("{text}; nothing was changed"),
    }
}

fn restored_parts(back: usize, found_again: u64, forgotten: &str, hidden: &str) -> String {
    let back = (back > 0).then(|| format!("{} {forgotten}", sessions(back)));
    let again = (found_again > 0).then(|| {
        let noun =
            if found_again == 1 { "thing that was deleted or cleared" } else { "things that were deleted or cleared" };
        format!("{found_again} {noun} {hidden}")
    });
    back.into_iter().chain(again).collect::<Vec<_>>().join("; ")
}

pub(super) fn forgotten_message(outcome: &answer::Forget, done: &Done) -> String {
    if !done.problems.is_empty() {
        let problems = join_first(&done.problems);
        let message = format!("not finished: {problems}; run it again, otherwise the next daemon start completes it");
        return redact(&message).into_owned();
    }
    if outcome.sessions.is_empty() && outcome.notes == 0 {
        return dry_run_message(outcome);
    }
    if outcome.sessions.is_empty() {
        return format!(
            "{} deleted for good: no file of Baton's home has that text any more",
            notes::counted(outcome.notes)
        );
    }
    let (file, edited) = match done.edited.is_empty() {
        true => ("file", String::new()),
        false => {
            let notes = redact(&join_first(&done.edited)).into_owned();
            let stays = "What people wrote or changed in these notes stays there";
            ("other file", format!(". {stays}, and may still mention it: {notes}"))
        }
    };
    let lasting = if outcome.notes == 0 { "" } else { ", but for what was added, which is gone for good" };
    let count = outcome.sessions.len() + outcome.also.len();
    let already = match done.already {
        0 => String::new(),
        all if all as usize == count => " (as before)".to_owned(),
        some => format!(" ({some} of them as before)"),
    };
    format!(
        "{}{} forgotten{already}: no {file} of Baton's home has that text any more, and no transcript of it is read again; `baton \
         forget --undo` lifts that{lasting}{edited}",
        sessions(count),
        notes::suffix(outcome.notes)
    )
}

/// Message of an undo. `back`: number of sessions that were forgotten.
pub(super) fn restored_message(outcome: &answer::Forget, back: usize, done: &Done, earlier: &EarlierAttempt) -> String {
    if !done.problems.is_empty() {
        return redact(&format!("not finished: {}", join_first(&done.problems))).into_owned();
    }
    if back == 0 && outcome.found_again == 0 && earlier.group {
        return "what was cleared is found again: this call had already done that when the daemon ended".to_owned();
    }
    if back == 0 && outcome.found_again == 0 {
        return undo_dry_run_message(outcome, back);
    }
    let gone = match done.gone {
        0 => "no longer forgotten, to be read again from the start".to_owned(),
        all if all as usize == back => {
            "no longer forgotten, but the transcript no longer exists, so nothing can be restored".to_owned()
        }
        some => format!("no longer forgotten, to be read again; without a transcript left, {some} cannot be restored"),
    };
    let again = if outcome.found_again == 1 { "is found again" } else { "are found again" };
    restored_parts(back, outcome.found_again, &gone, again)
}

/// Joins the first problems, with the number of the others.
fn join_first(problems: &[String]) -> String {
    let more = problems.len().saturating_sub(SESSIONS_NAMED);
    let mut named = problems.iter().take(SESSIONS_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        named.push_str(&format!("; and {more} more"));
    }
    named
}
