//! What may be shown to whoever asks: of sessions and of what was added, by the newest table.

use std::path::Path;

use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::memo::Memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::{CloseReason, End, Phase, Place, State};

use super::resolve;
use baton_config::settings::Settings;

/// Whether what the memory holds under an id is not to be found: it is forgotten, deleted, cleared, excluded, unknown, or of
/// another group. No groups: of any.
pub(super) fn hidden(table: &SessionTable, settings: &Settings, groups: &[String], id: &str) -> bool {
    if let Some(uuid) = memo::of_key(id) {
        return table.memo(uuid).is_none_or(|(_, memo)| is_memo_hidden(settings, groups, memo));
    }
    let row = SessionId::new(id).and_then(|id| table.get(&id).cloned());
    row.is_none_or(|row| {
        row.state.phase == Phase::Forgotten
            || table.is_deleted(&row)
            || settings.excludes(&row.state)
            || !resolve::is_in_any(&row.state, groups)
    })
}

/// A memo as filters look at sessions: where it belongs, and when it was so. `None` for what is none.
pub(super) fn memo_as_state(table: &SessionTable, id: &str) -> Option<State> {
    let (_, memo) = table.memo(memo::of_key(id)?)?;
    let is_directory = memo.group.contains(['/', '\\']);
    let place = is_directory.then(|| Place { cwd: memo.group.clone(), project: memo.group.clone() });
    let (group, at) = (Some(memo.group.clone()), Some(memo.time()));
    // Nobody goes on in it.
    let end = at.map(|at| End { reason: CloseReason::Explicit, at, by_self: true });
    Some(State { phase: Phase::Indexed, place, group, first_at: at, last_conversation_at: at, end, ..State::default() })
}

/// Whether a memo that stands is not to be shown: it is of another group, or of an excluded project.
pub(super) fn is_memo_hidden(settings: &Settings, groups: &[String], memo: &Memo) -> bool {
    let is_in = |group: &String| memo.group == *group || Path::new(&memo.group).starts_with(group);
    if !groups.is_empty() && !groups.iter().any(is_in) {
        return true;
    }
    is_group_excluded(settings, &memo.group)
}

/// Whether a group is a project that is excluded.
pub(super) fn is_group_excluded(settings: &Settings, group: &str) -> bool {
    let place = Place { cwd: group.to_owned(), project: group.to_owned() };
    group.contains(['/', '\\']) && settings.excludes(&State { place: Some(place), ..State::default() })
}
