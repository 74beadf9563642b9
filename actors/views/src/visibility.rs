//! Decides which sessions and notes may be shown, from the newest table, and to which project or group they belong.

use std::path::Path;

use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::memo::Memo;
use baton_events::project;
use baton_events::projection::others::MIN_FINGERPRINT;
use baton_events::projection::table::SessionTable;
use baton_events::session::{CloseReason, End, Phase, Place, State};

use baton_config::settings::Settings;

/// True if an entry of the memory must not be found: it is forgotten, deleted, cleared, excluded, unknown, or of none
/// of `groups`. Empty `groups` include all.
pub fn is_hidden(table: &SessionTable, settings: &Settings, groups: &[String], id: &str) -> bool {
    if let Some(uuid) = memo::uuid_of_key(id) {
        return table.memo(uuid).is_none_or(|(_, memo)| is_memo_hidden(settings, groups, memo));
    }
    table.get_by_text(id).is_none_or(|row| {
        row.state.phase == Phase::Forgotten
            || table.is_deleted(row)
            || settings.excludes(&row.state)
            || !is_in_any(&row.state, groups)
    })
}

/// A memo in the form of a session's state, for the session filters: its place and time. `None` if the id is not a
/// memo's.
pub fn memo_as_state(table: &SessionTable, id: &str) -> Option<State> {
    let (_, memo) = table.memo(memo::uuid_of_key(id)?)?;
    let is_directory = memo.group.contains(['/', '\\']);
    let place = is_directory.then(|| Place::new(memo.group.clone(), memo.group.clone()));
    let (group, at) = (Some(memo.group.clone()), Some(memo.time()));
    // A memo is never continued.
    let end = at.map(|at| End { reason: CloseReason::Explicit, at, by_self: true });
    Some(State { phase: Phase::Indexed, place, group, first_at: at, last_conversation_at: at, end, ..State::default() })
}

/// True if a memo must not be shown: it is of none of `groups`, or of an excluded project.
pub fn is_memo_hidden(settings: &Settings, groups: &[String], memo: &Memo) -> bool {
    let own = project::of_path(&memo.group);
    let is_in = |group: &String| own == *group || Path::new(&*own).starts_with(group);
    if !groups.is_empty() && !groups.iter().any(is_in) {
        return true;
    }
    is_group_excluded(settings, &memo.group)
}

/// True if a group is an excluded project.
pub fn is_group_excluded(settings: &Settings, group: &str) -> bool {
    let place = Place::new(group, group);
    group.contains(['/', '\\']) && settings.excludes_place(&place)
}

/// True if a session's transcript is by this agent, or none is named.
pub fn is_from_agent(state: &State, agent: Option<Agent>) -> bool {
    agent.is_none_or(|agent| state.transcript.as_ref().is_some_and(|transcript| transcript.agent == agent))
}

/// True if a session belongs to `who`: `me`, `team` for anybody else, the name of a person or machine, or the beginning
/// of a fingerprint.
pub fn belongs_to(table: &SessionTable, id: &str, who: &str) -> bool {
    let other = SessionId::new(id).and_then(|id| table.author(&id));
    if matches!(who, "me" | "team") {
        return (who == "me") == other.is_none();
    }
    let author = other.unwrap_or(table.own_author());
    let wanted = who.to_lowercase();
    [&author.name, &author.shown, &author.machine]
        .into_iter()
        .any(|name| !who.is_empty() && name.to_lowercase() == wanted)
        || who.len() >= MIN_FINGERPRINT && author.writer.starts_with(who)
}

/// True if a session belongs to one of these projects or groups, or works in a directory below one; true if `groups` is
/// empty.
pub fn is_in_any(state: &State, groups: &[String]) -> bool {
    groups.is_empty() || groups.iter().any(|group| is_in(state, group))
}

/// True if a session belongs to a project or group, or works in a directory below it.
pub fn is_in(state: &State, project: &str) -> bool {
    let of_place = state
        .place
        .as_ref()
        .is_some_and(|place| place.project == project || Path::new(&place.project).starts_with(project));
    state.group_id() == Some(project) || of_place
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::projection::others::{Author, Others};
    use baton_events::projection::table::Row;

    use super::*;

    #[test]
    fn whoever_baton_relay_who_lists_is_found_by_what_it_shows() {
        let author = |digit: &str, name: &str, shown: &str, machine: &str| {
            let [name, shown, machine] = [name, shown, machine].map(str::to_owned);
            Arc::new(Author { writer: digit.repeat(32), name, shown, machine })
        };
        let row = || Arc::new(Row { version: SequenceNumber(1), state: State::default(), since: Position(u64::MAX) });
        let mut others = Others::default();
        others.own = author("a", "Ärn", "Ärn", "desk");
        for (id, by) in [
            ("twin", author("b", "Ärn", "Ärn (bbbbbbbb)", "lap")),
            ("work", author("c", "Ann (work)", "Ann (work)", "lap")),
        ] {
            others.insert(SessionId::new(id).unwrap(), row(), by);
        }
        let table = SessionTable::default().with_others(others);
        for (who, found) in [
            ("me", &["mine"][..]),
            ("team", &["twin", "work"]),
            ("ärn", &["mine", "twin"]),
            ("Ärn (bbbbbbbb)", &["twin"]),
            ("ann", &[]),
            ("ANN (WORK)", &["work"]),
            ("DESK", &["mine"]),
            ("lap", &["twin", "work"]),
            ("aaaaaaaa", &["mine"]),
            ("bbbbbbbb", &["twin"]),
            ("aaaaaaa", &[]),
            ("", &[]),
        ] {
            let is_of = |id: &&&str| belongs_to(&table, id, who);
            assert_eq!(["mine", "twin", "work"].iter().filter(is_of).copied().collect::<Vec<_>>(), found, "{who:?}");
        }
        assert!(!belongs_to(&SessionTable::default(), "mine", ""), "nobody is known");
    }
}
