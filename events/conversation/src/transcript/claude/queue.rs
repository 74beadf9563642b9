//! The agent's queue: what people typed while it was at work, and the harness' news.
//!
//! An entry is put in (`enqueue`) and leaves again (`dequeue`, `remove`, `popAll`); versions differ in which of these they
//! write, and an agent that is killed writes none. What reached the agent stands in a record of its own, so a queued prompt is
//! said and withdrawn at once: it is found as queued until a later record delivers it, and counts only there.

use baton_redaction::raw_json::Text;

use super::Record;
use super::typed::Typed;
use crate::transcript::Sink;
use crate::transcript::scribe::{Scribe, Stamp};

/// Reads a movement of the queue.
pub(super) fn operation<S: Sink>(record: &Record<'_>, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
    scribe.withdraw_queued(stamp);
    if record.operation.map(Text::raw) != Some(b"enqueue") {
        return;
    }
    let content = Typed::of(record.content);
    let words = content.words();
    // A bare command is no person's words: where it is taken it is news.
    let is_bare = words.starts_with('/') && !words.contains(char::is_whitespace);
    if !is_bare {
        content.say_queued(stamp, scribe);
    }
}
