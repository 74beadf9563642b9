//! Names of sessions' notes that lines lead to although no note is called so and no register knows whose they were: a person
//! has renamed or removed the note, and the register was lost, or is another home's.
//!
//! Such a name tells what its session was about. It begins with the day on which the session did; by that it goes with every
//! session of that day that is forgotten. A line of another session that goes with it leads nowhere, too; where that one has a
//! note, lines that lead there stand beside it, or come when it is brought in.
//!
//! # Hazards
//!
//! - A name that another session's note has as well means its own in the project's folder alone; in notes of
//!   all projects only where the register knows the other session, which puts back what is its own
//!   (`Entry::lacks`).

use std::collections::BTreeMap;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::Day;

use super::scan::Scan;
use crate::index::stem;
use crate::open_vault::Open;
use crate::register::Entry;

/// The days on which sessions began, of those that may have notes.
pub(super) fn days(table: &SessionTable, sessions: &[SessionId]) -> BTreeMap<SessionId, Day> {
    let of = |id: &SessionId| {
        let state = &table.get(id).filter(|row| !row.state.is_subagent())?.state;
        Some((id.clone(), Day::from_timestamp(state.first_at.unwrap_or(state.discovered_at))))
    };
    sessions.iter().filter_map(of).collect()
}

/// Names of notes of one day that lead nowhere, and are not known for a session.
pub(super) fn names<'a>(open: &Open, scan: &'a Scan, day: Day) -> impl Iterator<Item = String> + use<'a> {
    let mut names: Vec<&str> = scan.leading_nowhere(&format!("{day}-")).collect();
    if !names.is_empty() {
        let known: Vec<&str> =
            open.register.entries().filter_map(|(_, entry)| Entry::named(entry)).filter_map(stem).collect();
        names.retain(|name| !known.contains(name));
    }
    names.into_iter().map(str::to_owned)
}

/// Whether there is any.
pub(super) fn has_any(open: &Open, scan: &Scan, day: Day) -> bool {
    names(open, scan, day).next().is_some()
}
