//! Parts of answers in words, for printing.

use baton_protocol::answer::{RelayRemoved, RelayWriter};

/// Describes who has removed a session, and who has not.
pub fn describe_removal(removed: &RelayRemoved) -> String {
    match (removed.removed_by.join(", "), removed.waiting_for.join(", ")) {
        (by, waiting) if waiting.is_empty() => format!("removed by all: {by}"),
        (by, waiting) if by.is_empty() => format!("not removed yet by {waiting}"),
        (by, waiting) => format!("removed by {by}; not yet by {waiting}"),
    }
}

/// The suffix of a writer's name: whether they began the team, left it or were removed.
pub fn describe_writer(writer: &RelayWriter) -> &'static str {
    match (writer.removed, writer.left, writer.admin) {
        (true, ..) => ", was removed",
        (false, true, _) => ", has left",
        (false, false, true) => ", began the team",
        (false, false, false) => "",
    }
}
