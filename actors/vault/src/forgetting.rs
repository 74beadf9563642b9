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
use baton_protocol::Zone;

use super::index::stem;
use super::open_vault::{Note, OpenVault, Vaults};
use super::owed_sessions::forgotten_in_vault;
use super::register::{Entry, Register};
use super::relocated::{self, Places};
use super::vault_fs::{Refused, VaultFs};
use baton_config::settings;
use edit::change;
use leftovers::Mentions;
use own_notes::{Names, Scope, clear_own_notes, own_notes};
use scan::{Words, prepare_scan, scan_vault};

/// Removals that are still to be done.
pub(super) struct OwedRemovals {
    /// Forgotten sessions that are still in some known vault.
    pub(super) sessions: Vec<SessionId>,
    /// Note folders that were moved away, as far as is known, and contain forgotten sessions if they return.
    pub(super) away: Vec<PathBuf>,
}

/// Returns the removals owed in all vaults of a home. Blocks for reads.
pub(super) fn owed_removals(vaults: &Vaults, table: &SessionTable, current: &settings::Vault) -> OwedRemovals {
    let places = Places::find(vaults.home(), current);
    let waiting = vaults
        .outbox
        .sessions()
        .filter(|id| table.get(id).is_some_and(|row| row.state.phase == baton_events::session::Phase::Forgotten));
    let of = |register: &Register, is_owed: &dyn Fn(&Entry) -> bool| {
        let mut sessions = forgotten_in_vault(table, register);
        sessions.retain(|id| register.get(id).is_some_and(is_owed));
        sessions
    };
    // For a folder that is gone, sessions are only remembered, unless the folder is now found elsewhere.
    let ids = places.ids(vaults.home(), current);
    let is_found = |entry: &Entry| ids.iter().any(|id| entry.is_lost_from(id));
    let there = places.there.iter().flat_map(|register| {
        let vault_fs = relocated::vault_fs_of(register, vaults.home());
        let (is_gone, id) = (vault_fs.is_gone(), vault_fs.id());
        let is_back = |entry: &Entry| !is_gone && entry.applies_to(id.as_deref());
        of(register, &|entry| !entry.is_sealed() || is_back(entry) || is_found(entry))
    });
    let moved = places.moved.iter().flat_map(|register| of(register, &|entry| !entry.is_sealed() || is_found(entry)));
    let all: BTreeSet<SessionId> = there.chain(moved).chain(waiting.cloned()).collect();
    OwedRemovals { sessions: all.into_iter().collect(), away: places.awaited(vaults.home()) }
}

/// Removes sessions from every vault that a home ever wrote to. Returns the files in which text of people is left, or
/// which may still mention the sessions. On an error, which says what is still there, call again to continue. `away`
/// receives [`OwedRemovals::away`]. Blocks for the disk.
pub(super) fn remove_everywhere(
    vaults: &mut Vaults,
    current: &settings::Vault,
    table: &SessionTable,
    sessions: &[SessionId],
    zone: Zone,
    away: &mut Vec<PathBuf>,
) -> Result<Vec<String>, String> {
    let days = stray_names::start_days(table, sessions, zone);
    let (mut problems, mut left) = (Vec::new(), Vec::new());
    let in_outbox: BTreeSet<SessionId> = vaults.outbox.sessions().cloned().collect();
    let mut names = vaults.outbox.note_names(sessions);
    for id in sessions {
        if let Err(error) = vaults.outbox.remove(id) {
            problems.push(format!("notes of session {id} in vault-pending were not removed: {error}"));
        }
    }
    let home = vaults.home().to_owned();
    let mut places = Places::find(&home, current);
    // Notes of other sessions in the outbox may mention these; they are dropped and rendered again.
    let registers = || places.there.iter().chain(&places.moved);
    let entries = sessions.iter().flat_map(|id| registers().filter_map(move |register| register.get(id)));
    names.extend(entries.filter_map(Entry::linked_note).filter_map(stem).map(str::to_owned));
    let words = Words::new(names.iter().map(String::as_str).chain(sessions.iter().map(|id| id.as_str())));
    let tags: Vec<String> = names.iter().map(|name| forget::target_tag(name)).collect();
    let is_mentioned = |text: &str| {
        let remembered = forget::remembered_tags(text);
        words.match_in(text) || tags.iter().any(|tag| remembered.contains(tag))
    };
    if let Err(error) = vaults.outbox.remove_matching(&is_mentioned) {
        problems.push(format!("notes in vault-pending may still mention it: {error}"));
    }
    problems.extend(places.unread.drain(..).map(|why| format!("notes may still mention it: {why}")));
    for register in places.unused.drain(..) {
        if let Err(error) = register.remove() {
            tracing::debug!(%error, "register of a vault without notes not removed");
        }
    }
    // Even with notes disabled, a folder that was moved to the configured path is searched.
    let id = VaultFs::from_settings(current, &home).id();
    let elsewhere = places.elsewhere(sessions);
    let is_moved_here = id.is_some()
        && (places.moved.iter().any(|register| register.id() == id.as_deref())
            || elsewhere.iter().any(|(folder, ..)| Some(folder) == id.as_ref()));
    if (current.enabled || is_moved_here) && !places.there.iter().any(|known| relocated::is_register_of(known, current))
    {
        match Register::open(&home, current) {
            Ok(register) => places.there.push(register),
            Err(error) => problems.push(format!("notes may still mention it: {}: {error}", super::register::FOLDER)),
        }
    }
    let (mut undone, mut done, mut awaited) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for register in std::mem::take(&mut places.there) {
        let settings = settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
        let is_current = relocated::is_register_of(&register, current);
        let known = vaults.opened().is_some_and(|open| relocated::is_register_of(&open.register, &settings));
        let (vault_fs, file) = (relocated::vault_fs_of(&register, &home), register.file().to_owned());
        let mut out = |open: &mut OpenVault| {
            let id = open.vault_fs.id();
            for (_, session, entry) in elsewhere.iter().filter(|(folder, ..)| Some(folder) == id.as_ref()) {
                if open.register.get(session).is_none() {
                    open.register.put(session, entry.clone());
                }
            }
            let left = remove_from_vault(open, sessions, &in_outbox, &days);
            if open.register.has_sealed() && open.vault_fs.is_gone() {
                awaited.push(open.vault_fs.notes_folder());
            }
            left
        };
        let removed = if is_current || known {
            vaults.open(&settings).and_then(|(open, _)| out(open))
        } else {
            OpenVault::new(settings, &home, register).and_then(|mut open| out(&mut open))
        };
        match removed {
            Ok(theirs) => {
                done.extend(vault_fs.id());
                left.extend(theirs);
            }
            Err(refused) => {
                undone.extend(vault_fs.id());
                let fix = refused.fix.clone();
                let gone = match !is_current && vault_fs.is_gone() {
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
        for mut register in Register::open_all(&home).0 {
            let settings =
                settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
            let found = match vaults.opened().filter(|open| relocated::is_register_of(&open.register, &settings)) {
                Some(open) => open.register.mark_removed(sessions, id),
                None => register.mark_removed(sessions, id),
            };
            if let Err(error) = found {
                problems.push(format!("{} still mentions it: {error}", register.file().display()));
            }
        }
    }
    *away = places.awaited(&home).into_iter().chain(awaited).collect();
    if problems.is_empty() { Ok(left) } else { Err(problems.join("; ")) }
}

/// Removes sessions from one vault. Sessions in `in_outbox` are in the outbox and may never have been in the vault; `days`
/// are the days on which sessions began. Returns notes that still contain text of people.
fn remove_from_vault(
    open: &mut OpenVault,
    sessions: &[SessionId],
    in_outbox: &BTreeSet<SessionId>,
    days: &BTreeMap<SessionId, BTreeSet<Day>>,
) -> Result<Vec<String>, Refused> {
    // What is remembered for a folder that used to be here is not looked for in another folder.
    let id = open.vault_fs.id();
    let applies_to =
        |session: &&SessionId| open.register.get(session).is_none_or(|entry| entry.applies_to(id.as_deref()));
    let (mut known, others): (Vec<SessionId>, Vec<SessionId>) =
        sessions.iter().filter(applies_to).cloned().partition(|id| open.register.get(id).is_some());
    let mut scan = None;
    // Without a register entry, the heads of notes tell, if they can be read.
    if !others.is_empty() {
        match open.check(false) {
            Ok(()) => {
                if open.known_index().is_none() {
                    let mut found = prepare_scan(open, sessions, &BTreeSet::new());
                    open.index_reporting(&mut |path, seen| found.add(path, seen))?;
                    scan = Some(found);
                }
                let found = match scan.take() {
                    Some(found) => found,
                    None => scan_vault(open, sessions, &BTreeSet::new())?,
                };
                // A session without a note may still be linked to, if a person has removed the note.
                let has_strays = |id: &SessionId| {
                    days.get(id).into_iter().flatten().any(|day| stray_names::has_any(open, &found, *day))
                };
                let is_in_vault = |id: &SessionId| {
                    open.known_index().is_some_and(|index| index.session_note(id).is_some()) || has_strays(id)
                };
                known.extend(others.into_iter().filter(is_in_vault));
                scan = Some(found);
            }
            // The vault cannot tell, so assume that they are in it.
            Err(_) if !open.register.has_notes() => {
                known.extend(others.into_iter().filter(|id| !in_outbox.contains(id)));
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
    if open.vault_fs.is_gone() && open.vault_fs.vault_exists() {
        // All notes were removed from a vault that is there.
        return leftovers::handle_empty_vault(open, &known);
    }
    open.check(false)?;
    // Use current names: a person may have renamed notes.
    let mut scan = match scan {
        Some(scan) => scan,
        None => scan_vault(open, &known, &BTreeSet::new())?,
    };
    let _lock = open.vault_fs.lock()?;
    // Temporary files of a killed daemon may contain text of these sessions. And fail if part of the vault is
    // unreadable.
    let (_, left) = open.vault_fs.list_all_notes()?;
    // Links that followed a renamed note are Baton's lines, whichever program has rewritten them.
    let mut has_relinked = false;
    for id in &known {
        if let Note::At(path) = open.known_note(id)? {
            has_relinked |= open.relink_session_note(id, &path)?;
        }
    }
    has_relinked |= open.relink_entity_notes()?;
    if has_relinked {
        scan = scan_vault(open, &known, &BTreeSet::new())?;
    }
    let (mut names, own) = own_notes(open, &known, &mut scan)?;
    let ids: Vec<&str> = known.iter().map(SessionId::as_str).collect();
    for path in scan.mentions.iter().filter(|path| !own.contains_key(*path)) {
        change(open, path, &|text| forget::forget_continued(text, &ids))?;
    }
    // A note that no register knows may have been renamed or removed by a person; only its day identifies links to it.
    for day in known.iter().filter_map(|id| days.get(id)).flatten().collect::<BTreeSet<_>>() {
        names.extend(stray_names::names(open, &scan, *day).map(|name| (name, Scope::default())));
    }
    backlinks::remove(open, &names, &scan, &own)?;
    // Last, because the sessions' own notes tell what else is to be removed: a run after a kill finds the rest by them.
    let mut theirs = clear_own_notes(open, own)?;
    mark_namesakes_owed(open, &names)?;
    for file in left {
        std::fs::remove_file(&file)
            .map_err(|error| Refused { what: format!("{}: {error}", file.display()), fix: "remove it".to_owned() })?;
    }
    leftovers::remove_dangling_links(open, &names)?;
    open.drop_index();
    open.vault_fs.sync()?;
    open.register.forget(&known).map_err(|error| leftovers::cannot_record(&error))?;
    // Blocks that a person has taken over or reordered, and copies elsewhere in the vault, may still mention them.
    let mut all: BTreeSet<String> = match names.keys().all(|name| scan.matches(name)) {
        true => scan.mentions.union(&scan.notes_linking_to(names.keys())).cloned().collect(),
        false => open.vault_fs.list_all_notes()?.0.into_iter().collect(),
    };
    // An unreadable note may mention them as well.
    theirs.extend(scan.unread.iter().cloned());
    let outside = open.vault_fs.other_files()?;
    theirs.extend(leftovers::unreadable_mentions(open, &outside, &|name| names.contains_key(name)));
    all.extend(outside.texts);
    let mentions = Mentions::new(&names, &known);
    theirs.extend(leftovers::find_mentions(open, all, &|path, text| mentions.is_in(open, path, text))?);
    tracing::info!(sessions = known.len(), edited = theirs.len(), reason = "forgotten", "notes removed");
    Ok(leftovers::full_paths(open, theirs))
}

/// Marks sessions as owed whose notes have the same name as a forgotten one: lines of theirs may have been removed with
/// it.
fn mark_namesakes_owed(open: &mut OpenVault, names: &Names) -> Result<(), Refused> {
    let is_namesake = |entry: &Entry| {
        let name = entry.linked_note().and_then(stem);
        name.and_then(|name| names.get(name)).is_some_and(|scope| scope.folders.is_some())
    };
    let namesakes = open.register.entries().filter(|(_, entry)| is_namesake(entry)).map(|(id, _)| id.clone());
    for id in namesakes.collect::<Vec<_>>() {
        // A note that a person has deleted is not written again for this.
        if matches!(open.known_note(&id)?, Note::At(_)) {
            open.register.update(&id, |entry| {
                entry.stamp.clear();
                entry.lacks = true;
            });
        }
    }
    Ok(())
}
