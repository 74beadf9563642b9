//! The agent's queue: prompts typed while it was working, and messages of the harness.
//!
//! An entry is added (`enqueue`) and leaves again (`dequeue`, `remove`, `popAll`); versions differ in which of these
//! they record, and a killed agent records none. A delivered prompt mostly has a record of its own, so a queued prompt
//! is emitted and withdrawn at once: searches find it as queued until a later record delivers it, and it counts only
//! there. Older versions write no such record for a prompt that the agent takes between two calls: they only remove it
//! while the agent works. A person who takes a prompt back empties the queue (`popAll`).

use baton_redaction::raw_json::Text;

use super::Record;
use super::prompt_parts::PromptParts;
use crate::transcript::item_writer::{ItemWriter, Stamp};

/// Reads an operation of the queue.
pub(super) fn operation(record: &Record<'_>, stamp: &Stamp<'_>, writer: &mut ItemWriter<'_>) {
    writer.withdraw_queued(stamp);
    match record.operation.map(Text::raw) {
        Some(b"enqueue") => {}
        // Versions that write down what is removed also write where it is delivered.
        Some(b"remove") if record.content.is_none() => return writer.take_queued(stamp),
        Some(b"popAll") => return writer.empty_queue(stamp),
        _ => return,
    }
    let content = PromptParts::parse(record.content);
    let words = content.words();
    // A bare command is not a person's text; when it runs, it becomes a notice.
    let is_bare = words.starts_with('/') && !words.contains(char::is_whitespace);
    if !is_bare {
        content.emit_queued(stamp, writer);
    }
}
