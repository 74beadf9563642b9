//! Removes sessions from every note that mentions them: their own notes and archive copies, lines that only they
//! supported, links to notes that go as a result, and notes in the outbox. What people wrote stays.

mod backlinks;
mod edit;
mod leftovers;
mod own_notes;
mod scan;
mod stray_names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::Day;
use baton_notes::forget;

use super::index::stem;
use super::open_vault::{Desk, Note, Open};
use super::owed_sessions::to_remove;
use super::register::{Entry, Register};
use super::relocated::{self, Places};
use super::vault_fs::{Place, Refused};
use baton_config::settings;
use edit::change;
use leftovers::Sought;
use own_notes::{Names, Scope, own_notes, take_out};
use scan::{Words, gone_through, sought};

/// Removals that are still to be done.
pub(super) struct Owed {
    /// Forgotten sessions that are still in some known vault.
    pub(super) sessions: Vec<SessionId>,
    /// Note folders that were moved away, as far as is known, and contain forgotten sessions if they return.
    pub(super) away: Vec<PathBuf>,
}

/// Returns the removals owed in all vaults of a home. Blocks for reads.
pub(super) fn owed(desk: &Desk, table: &SessionTable, current: &settings::Vault) -> Owed {
    let places = Places::of(desk.home(), current);
    let waiting = desk
        .pending
        .sessions()
        .filter(|id| table.get(id).is_some_and(|row| row.state.phase == baton_events::session::Phase::Forgotten));
    let of = |register: &Register, is_owed: &dyn Fn(&Entry) -> bool| {
        let mut sessions = to_remove(table, register);
        sessions.retain(|id| register.get(id).is_some_and(is_owed));
        sessions
    };
    // For a folder that is gone, sessions are only remembered, unless the folder is now found elsewhere.
    let ids = places.ids(desk.home(), current);
    let is_found = |entry: &Entry| ids.iter().any(|id| entry.is_lost_from(id));
    let there = places.there.iter().flat_map(|register| {
        let place = relocated::place_of(register, desk.home());
        let (is_gone, id) = (place.is_gone(), place.known_id());
        let is_back = |entry: &Entry| !is_gone && entry.is_for(id.as_deref());
        of(register, &|entry| !entry.is_sealed() || is_back(entry) || is_found(entry))
    });
    let moved = places.moved.iter().flat_map(|register| of(register, &|entry| !entry.is_sealed() || is_found(entry)));
    let all: BTreeSet<SessionId> = there.chain(moved).chain(waiting.cloned()).collect();
    Owed { sessions: all.into_iter().collect(), away: places.awaited(desk.home()) }
}

/// Removes sessions from every vault that a home ever wrote to. Returns the files that still contain text of people. On
/// an error, which says what is still there, call again to continue. `away` receives [`Owed::away`]. Blocks for the
/// disk.
pub(super) fn everywhere(
    desk: &mut Desk,
    current: &settings::Vault,
    table: &SessionTable,
    sessions: &[SessionId],
    away: &mut Vec<PathBuf>,
) -> Result<Vec<String>, String> {
    let days = stray_names::days(table, sessions);
    let (mut problems, mut left) = (Vec::new(), Vec::new());
    let waited: BTreeSet<SessionId> = desk.pending.sessions().cloned().collect();
    let mut names = desk.pending.names(sessions);
    for id in sessions {
        if let Err(error) = desk.pending.remove(id) {
            problems.push(format!("notes of session {id} in vault-pending were not removed: {error}"));
        }
    }
    let home = desk.home().to_owned();
    let mut places = Places::of(&home, current);
    // Notes of other sessions in the outbox may mention these; they are dropped and rendered again.
    let registers = || places.there.iter().chain(&places.moved);
    let entries = sessions.iter().flat_map(|id| registers().filter_map(move |register| register.get(id)));
    names.extend(entries.filter_map(Entry::named).filter_map(stem).map(str::to_owned));
    let words = Words::of(names.iter().map(String::as_str).chain(sessions.iter().map(|id| id.as_str())));
    let tags: Vec<String> = names.iter().map(|name| forget::tag(name)).collect();
    let names_it = |text: &str| {
        let remembered = forget::remembered(text);
        words.are_in(text) || tags.iter().any(|tag| remembered.contains(tag))
    };
    if let Err(error) = desk.pending.remove_naming(&names_it) {
        problems.push(format!("notes in vault-pending may still mention it: {error}"));
    }
    problems.extend(places.unread.drain(..).map(|why| format!("notes may still mention it: {why}")));
    for register in places.never.drain(..) {
        if let Err(error) = register.remove() {
            tracing::debug!(%error, "register of a vault without notes not removed");
        }
    }
    // Even with notes disabled, a folder that was moved to the configured path is searched.
    let id = Place::of(current, &home).known_id();
    let elsewhere = places.elsewhere(sessions);
    let is_moved_here = id.is_some()
        && (places.moved.iter().any(|register| register.id() == id.as_deref())
            || elsewhere.iter().any(|(folder, ..)| Some(folder) == id.as_ref()));
    if (current.enabled || is_moved_here) && !places.there.iter().any(|known| relocated::is_of(known, current)) {
        match Register::open(&home, current) {
            Ok(register) => places.there.push(register),
            Err(error) => problems.push(format!("notes may still mention it: {}: {error}", super::register::FOLDER)),
        }
    }
    let (mut undone, mut done, mut awaited) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for register in std::mem::take(&mut places.there) {
        let settings = settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
        let is_current = relocated::is_of(&register, current);
        let known = desk.known().is_some_and(|open| relocated::is_of(&open.register, &settings));
        let (place, file) = (relocated::place_of(&register, &home), register.file().to_owned());
        let mut out = |open: &mut Open| {
            let id = open.place.known_id();
            for (_, session, entry) in elsewhere.iter().filter(|(folder, ..)| Some(folder) == id.as_ref()) {
                if open.register.get(session).is_none() {
                    open.register.put(session, entry.clone());
                }
            }
            let left = out_of(open, sessions, &waited, &days);
            if open.register.has_sealed() && open.place.is_gone() {
                awaited.push(open.place.notes());
            }
            left
        };
        let removed = if is_current || known {
            desk.at(&settings).and_then(|(open, _)| out(open))
        } else {
            Open::new(settings, &home, register).and_then(|mut open| out(&mut open))
        };
        match removed {
            Ok(theirs) => {
                done.extend(place.known_id());
                left.extend(theirs);
            }
            Err(refused) => {
                undone.extend(place.known_id());
                let fix = refused.fix.clone();
                let gone = match !is_current && place.is_gone() {
                    true => format!("; if that folder is gone for good, remove {}", file.display()),
                    false => String::new(),
                };
                problems.push(format!(
                    "{refused}, so notes there still mention it; {fix}, and it is removed by itself{gone}"
                ));
            }
        }
    }
    for register in places.moved.iter_mut().filter(|register| register.id().is_none_or(|id| !undone.contains(id))) {
        if let Err(error) = register.seal(sessions, false) {
            problems.push(format!("{} still mentions it: {error}", register.file().display()));
        }
    }
    done.retain(|id| elsewhere.iter().any(|(folder, ..)| folder == id));
    for id in done.difference(&undone) {
        for mut register in Register::all(&home).0 {
            let settings =
                settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
            let found = match desk.known().filter(|open| relocated::is_of(&open.register, &settings)) {
                Some(open) => open.register.found(sessions, id),
                None => register.found(sessions, id),
            };
            if let Err(error) = found {
                problems.push(format!("{} still mentions it: {error}", register.file().display()));
            }
        }
    }
    *away = places.awaited(&home).into_iter().chain(awaited).collect();
    if problems.is_empty() { Ok(left) } else { Err(problems.join("; ")) }
}

/// Removes sessions from one vault. Sessions in `waited` are in the outbox and may never have been in the vault; `days`
/// are the days on which sessions began. Returns notes that still contain text of people.
fn out_of(
    open: &mut Open,
    sessions: &[SessionId],
    waited: &BTreeSet<SessionId>,
    days: &BTreeMap<SessionId, Day>,
) -> Result<Vec<String>, Refused> {
    // What is remembered for a folder that used to be here is not looked for in another folder.
    let id = open.place.known_id();
    let is_for = |session: &&SessionId| open.register.get(session).is_none_or(|entry| entry.is_for(id.as_deref()));
    let (mut known, others): (Vec<SessionId>, Vec<SessionId>) =
        sessions.iter().filter(is_for).cloned().partition(|id| open.register.get(id).is_some());
    let mut scan = None;
    // Without a register entry, the heads of notes tell, if they can be read.
    if !others.is_empty() {
        match open.look(false) {
            Ok(()) => {
                if open.known_names().is_none() {
                    let mut found = sought(open, sessions, &BTreeSet::new());
                    open.index_seeing(&mut |path, seen| found.take(path, seen))?;
                    scan = Some(found);
                }
                let found = match scan.take() {
                    Some(found) => found,
                    None => gone_through(open, sessions, &BTreeSet::new())?,
                };
                // A session without a note may still be linked to, if a person has removed the note.
                let has_strays =
                    |id: &SessionId| days.get(id).is_some_and(|day| stray_names::has_any(open, &found, *day));
                let is_told =
                    |id: &SessionId| open.known_names().is_some_and(|index| index.note(id).is_some()) || has_strays(id);
                known.extend(others.into_iter().filter(is_told));
                scan = Some(found);
            }
            // The vault cannot tell, so assume that they are in it.
            Err(_) if !open.register.has_notes() => {
                known.extend(others.into_iter().filter(|id| !waited.contains(id)));
            }
            Err(_) => {}
        }
    }
    if known.is_empty() {
        return Ok(Vec::new());
    }
    // From here on the removal is owed until it is done, even after a kill, and notes of other sessions get no lines of
    // these.
    for id in &known {
        let entry = open.register.get(id).cloned().unwrap_or_default();
        open.register.put(id, Entry { stamp: String::new(), without_note: BTreeMap::new(), ..entry });
    }
    open.register.save().map_err(|error| Refused {
        what: format!("the removal cannot be recorded: {error}"),
        fix: "free space on the disk of BATON_HOME".to_owned(),
    })?;
    if open.place.is_gone() && open.place.is_there() {
        // Somebody has removed all notes from a vault that is there.
        return leftovers::nothing_left(open, &known);
    }
    open.look(false)?;
    // Use current names: a person may have renamed notes.
    let mut scan = match scan {
        Some(scan) => scan,
        None => gone_through(open, &known, &BTreeSet::new())?,
    };
    let _turn = open.place.turn()?;
    // Temporary files of a killed daemon may contain text of these sessions. And fail if part of the vault is
    // unreadable.
    let (_, left) = open.place.whole()?;
    // Links that followed a renamed note are Baton's lines, whichever program has rewritten them.
    let mut has_followed = false;
    for id in &known {
        if let Note::There(path) = open.note_as_known(id)? {
            has_followed |= open.follow(id, &path)?;
        }
    }
    has_followed |= open.follow_entities()?;
    if has_followed {
        scan = gone_through(open, &known, &BTreeSet::new())?;
    }
    let (mut names, own) = own_notes(open, &known, &mut scan)?;
    let ids: Vec<&str> = known.iter().map(SessionId::as_str).collect();
    for path in scan.mentions.iter().filter(|path| !own.contains_key(*path)) {
        change(open, path, &|text| forget::forget_continued(text, &ids))?;
    }
    // A note that no register knows may have been renamed or removed by a person; only its day identifies links to it.
    for day in known.iter().filter_map(|id| days.get(id)).collect::<BTreeSet<_>>() {
        names.extend(stray_names::names(open, &scan, *day).map(|name| (name, Scope::default())));
    }
    backlinks::out(open, &names, &scan, &own)?;
    // Last, because the sessions' own notes tell what else is to be removed: a run after a kill finds the rest by them.
    let mut theirs = take_out(open, own)?;
    owe_namesakes(open, &names)?;
    for file in left {
        std::fs::remove_file(&file)
            .map_err(|error| Refused { what: format!("{}: {error}", file.display()), fix: "remove it".to_owned() })?;
    }
    leftovers::links_to_nothing(open, &names)?;
    open.forget_names();
    open.place.settle()?;
    open.register.forget(&known).map_err(|error| leftovers::not_forgotten(&error))?;
    // Blocks that a person has taken over or reordered, and copies elsewhere in the vault, may still mention them.
    let mut all: BTreeSet<String> = match names.keys().all(|name| scan.covers(name)) {
        true => scan.mentions.union(&scan.leading_to(names.keys())).cloned().collect(),
        false => open.place.whole()?.0.into_iter().collect(),
    };
    // An unreadable note may mention them as well.
    theirs.extend(scan.unread.iter().cloned());
    let outside = open.place.outside()?;
    theirs.extend(leftovers::untold(open, &outside, &|name| names.contains_key(name)));
    all.extend(outside.texts);
    let sought = Sought::of(&names, &known);
    theirs.extend(leftovers::telling(open, all, &|path, text| sought.is_in(open, path, text))?);
    tracing::info!(sessions = known.len(), edited = theirs.len(), reason = "forgotten", "notes removed");
    Ok(leftovers::shown(open, theirs))
}

/// Marks sessions as owed whose notes have the same name as a forgotten one: lines of theirs may have been removed with
/// it.
fn owe_namesakes(open: &mut Open, names: &Names) -> Result<(), Refused> {
    let is_namesake = |entry: &Entry| {
        let name = entry.named().and_then(stem);
        name.and_then(|name| names.get(name)).is_some_and(|scope| scope.folders.is_some())
    };
    let namesakes: Vec<(SessionId, Entry)> = open
        .register
        .entries()
        .filter(|(_, entry)| is_namesake(entry))
        .map(|(id, entry)| (id.clone(), entry.clone()))
        .collect();
    for (id, entry) in namesakes {
        // A note that a person has deleted is not written again for this.
        if !matches!(open.note_as_known(&id)?, Note::There(_)) {
            continue;
        }
        open.register.put(&id, Entry { stamp: String::new(), lacks: true, ..entry });
    }
    Ok(())
}
