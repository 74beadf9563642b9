//! The whole conversation, rewritten as single messages within a moment.
//!
//! It begins with the session's context and ends with a list of all messages. Its messages cannot be told from new ones
//! otherwise, so the seconds in which it is written are remembered, as fingerprints.

use crate::hash::Mark;
use crate::record::Timestamp;
use baton_redaction::raw_json::Value;

use super::super::cursor::Queued;
use super::super::item_writer::{ItemWriter, Stamp};
use super::{pick, text};

const SECOND_MS: i64 = 1_000;
/// In the queue if there was a prompt.
const PROMPTED: Queued = Queued { mark: Mark(1), line: 0 };

fn second(at: Timestamp) -> i64 {
    at.0.div_euclid(SECOND_MS)
}

fn mark(second: i64) -> Mark {
    Mark::digest(format!("again {second}").as_bytes())
}

/// Notes a prompt. This must not be forgotten among fingerprints, so the cursor's queue is used.
pub(super) fn prompted(writer: &mut ItemWriter<'_>) {
    writer.cursor.queue.push(PROMPTED);
}

/// Notes the context of a session. Returns true if there was a conversation before, which now follows anew: the first
/// prompt may be part of the same message.
pub(super) fn begins(stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) -> bool {
    let begins = writer.cursor.queue.contains(PROMPTED);
    if let Some(at) = stamp.at.filter(|_| begins) {
        writer.cursor.remember_said(mark(second(at)));
    }
    begins
}

/// True if a message is part of it.
pub(super) fn goes_on(stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) -> bool {
    let Some(now) = stamp.at.map(second) else { return false };
    let is_part = [now, now - 1].into_iter().any(|second| writer.cursor.said.contains(mark(second)));
    if is_part {
        writer.cursor.remember_said(mark(now));
    }
    is_part
}

/// Notes a list of all messages: what follows is new.
pub(super) fn end(messages: Value<'_>, writer: &mut ItemWriter<'_>) {
    for message in messages.elements() {
        let at = text(pick(message, [b"timestamp"])[0]).and_then(|at| Timestamp::parse(&at.decode()));
        if let Some(at) = at {
            writer.cursor.said.take(mark(second(at)));
        }
    }
}
