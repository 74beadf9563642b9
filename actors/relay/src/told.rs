//! Parts of answers in words, for whoever prints them.

use baton_protocol::answer::{RelayRemoved, RelayWriter};

/// Who has removed a session, and who has not.
pub fn removed(removed: &RelayRemoved) -> String {
    match (removed.removed_by.join(", "), removed.waiting_for.join(", ")) {
        (by, waiting) if waiting.is_empty() => format!("removed by all: {by}"),
        (by, waiting) if by.is_empty() => format!("not removed yet by {waiting}"),
        (by, waiting) => format!("removed by {by}; not yet by {waiting}"),
    }
}

/// What is to be added about a writer: whether they lead the team, or belong to it no more.
pub fn about(writer: &RelayWriter) -> &'static str {
    match (writer.removed, writer.left, writer.admin) {
        (true, ..) => ", was removed",
        (false, true, _) => ", has left",
        (false, false, true) => ", began the team",
        (false, false, false) => "",
    }
}
