//! Names of session notes that lines still link to although no note has the name and no register knows whose it was: a
//! person has renamed or removed the note, and the register was lost or belongs to another home.
//!
//! Such a name tells what its session was about. It begins with the day on which the session began, and is removed with
//! any forgotten session of that day. A line of another session that is removed with it led nowhere either; if that
//! session has a note, correct links stand beside it, or appear when the session is next written.
//!
//! # Hazards
//!
//! - A name that another session's note has as well means its own in the project's folder alone; in notes of all
//!   projects only where the register knows the other session, which puts back what is its own (`Entry::lacks`).

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::Day;
use baton_protocol::Zone;

use super::scan::Scan;
use crate::index::stem;
use crate::open_vault::OpenVault;
use crate::register::Entry;

/// Returns the days on which sessions began, in UTC and in the daemon's time zone, for sessions that may have notes.
pub(super) fn start_days(
    table: &SessionTable,
    sessions: &[SessionId],
    zone: Zone,
) -> BTreeMap<SessionId, BTreeSet<Day>> {
    let of = |id: &SessionId| {
        let state = &table.get(id).filter(|row| !row.state.is_subagent())?.state;
        let began = state.first_at.unwrap_or(state.discovered_at);
        Some((id.clone(), [Zone::UTC, zone].map(|zone| Day::from_timestamp(began, zone)).into()))
    };
    sessions.iter().filter_map(of).collect()
}

/// Returns note names of one day that lead nowhere and belong to no known session.
pub(super) fn names<'a>(open: &OpenVault, scan: &'a Scan, day: Day) -> impl Iterator<Item = String> + use<'a> {
    let mut names: Vec<&str> = scan.dangling_targets(&format!("{day}-")).collect();
    if !names.is_empty() {
        let known: Vec<&str> =
            open.register.entries().filter_map(|(_, entry)| Entry::linked_note(entry)).filter_map(stem).collect();
        names.retain(|name| !known.contains(name));
    }
    names.into_iter().map(str::to_owned)
}

/// True if there are any.
pub(super) fn has_any(open: &OpenVault, scan: &Scan, day: Day) -> bool {
    names(open, scan, day).next().is_some()
}
