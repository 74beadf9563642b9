//! Events of a session.

use crate::envelope::StoredRecord;
use crate::session::Event;

pub use crate::codec::{Encoded, Error};
pub use crate::session::event::{KINDS, decode, encode};

/// Replaces the group of a forgotten session, whose name may reveal what the session was about.
const HIDDEN_GROUP: &str = "[forgotten]";

/// Replaces the group's name in a record of a forgotten session that is to be shown. Returns true if the record has
/// one. The result is read and folded like any other record.
pub fn hide_group(record: &mut StoredRecord) -> bool {
    let hidden = encode(&Event::GroupAssigned { group: HIDDEN_GROUP.to_owned() });
    let names_group = record.kind == hidden.kind;
    if names_group {
        record.data = hidden.data;
    }
    names_group
}

#[cfg(test)]
mod tests;
