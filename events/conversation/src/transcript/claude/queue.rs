//! The agent's queue: what people typed while it was at work, and the harness' news.
//!
//! Each entry is put in (`enqueue`) and leaves in one of three ways: an agent that begins anew takes it (`dequeue`), it is
//! taken while the agent works or given up (`remove`), or people take all prompts back to edit them (`popAll`). Not every version
//! writes all of these, names what has left, or writes what was taken as a record of its own; an agent that ends takes
//! nothing. So a prompt is said when it is queued, and withdrawn when it leaves: what reached the agent stands in its own
//! record. One that is put before an agent that waits is withdrawn at once: it is taken and has its record, or the agent ended
//! before and never had it.

use crate::transcript::Sink;
use crate::transcript::scribe::{Scribe, Stamp};
use baton_redaction::raw_json::Text;

use super::Record;
use super::typed::Typed;

/// Reads a movement of the queue.
pub(super) fn operation<S: Sink>(record: &Record<'_>, stamp: &Stamp<'_>, scribe: &mut Scribe<'_, S>) {
    let content = Typed::of(record.content);
    let words = content.words();
    match record.operation.map(Text::raw) {
        Some(b"enqueue") => {
            let waits = scribe.cursor.working;
            // A bare command is no person's words: where it is taken it is news.
            let is_bare = words.starts_with('/') && !words.contains(char::is_whitespace);
            let said = (waits || !is_bare) && content.say_queued(stamp, scribe);
            if said && !waits {
                scribe.undelivered(stamp);
            }
            if !words.is_empty() {
                scribe.enqueue(&words, said && waits);
            }
        }
        Some(b"dequeue" | b"remove" | b"popAll") if !words.is_empty() => scribe.dequeue_named(stamp, &words),
        Some(b"dequeue") => scribe.dequeue(stamp, true),
        Some(b"remove") => scribe.dequeue(stamp, false),
        // News stay in it: nobody can edit them.
        Some(b"popAll") => scribe.dequeue_prompts(stamp),
        _ => {}
    }
}
