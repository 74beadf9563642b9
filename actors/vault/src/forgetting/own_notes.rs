//! The notes that belong to forgotten sessions, and where their names mean these notes.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::SessionId;
use baton_notes::layout::NoteRole;
use baton_notes::{forget, session};

use super::edit::{change, is_dated, read_text, rename};
use super::scan::{Scan, scan_vault};
use crate::index::stem;
use crate::open_vault::{Changed, OpenVault};
use crate::register::Entry;
use crate::vault_fs::Refused;

/// Where a name means the note of a forgotten session: everywhere, unless another session's note has the same name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Project folders in which it does, relative to the vault and with a trailing slash; `None` for all.
    pub(super) folders: Option<BTreeSet<String>>,
    /// True if it does in notes of no single project too: the other sessions are then written again, which restores
    /// their lines.
    others_are_restored: bool,
}

impl Scope {
    /// True if the name means that note in the file at `path`.
    pub(super) fn means(&self, path: &str, open: &OpenVault) -> bool {
        let is_in = |folders: &BTreeSet<String>| folders.iter().any(|folder| path.starts_with(folder));
        let is_of_all =
            || matches!(open.layout.role(path), Some(NoteRole::Start | NoteRole::Preferences | NoteRole::Shared(_)));
        self.folders.as_ref().is_none_or(is_in) || (self.others_are_restored && is_of_all())
    }

    /// True if it may mean that note there: a file that belongs to no project may be about any.
    pub(super) fn may_mean(&self, open: &OpenVault, path: &str) -> bool {
        let is_of_a_project = open.layout.role(path).is_some_and(|place| {
            matches!(
                place,
                NoteRole::Project(_)
                    | NoteRole::Session(..)
                    | NoteRole::Entity(..)
                    | NoteRole::Topic(..)
                    | NoteRole::Archived(..)
            )
        });
        self.means(path, open) || !is_of_a_project
    }
}

/// Names of removed notes, each with where it means such a note.
pub(super) type Names = BTreeMap<String, Scope>;

/// True if links use this name for the session.
pub(super) fn is_named(entry: &Entry, name: &str) -> bool {
    entry.linked_note().and_then(stem) == Some(name)
}

/// A note that belongs to a session.
pub(super) struct OwnNote {
    /// True if the remainder is renamed. A name that a person chose for a note of their own is kept.
    is_renamed: bool,
    /// True if it is renamed even though nothing but the name is Baton's: a killed process had not renamed it yet, or a
    /// person has rewritten it all.
    is_renamed_if_empty: bool,
}

/// Returns the names that link to the sessions' own notes, with their scopes, and these notes by path.
pub(super) fn own_notes(
    open: &mut OpenVault,
    sessions: &[SessionId],
    scan: &mut Scan,
) -> Result<(Names, BTreeMap<String, OwnNote>), Refused> {
    let (mut targets, mut own) = (BTreeSet::new(), BTreeMap::new());
    for id in sessions {
        let note = open.register.get(id).and_then(Entry::linked_note);
        targets.extend(note.and_then(stem).map(str::to_owned));
    }
    targets.extend(scan.names.iter().cloned());
    let names = targets.clone();
    let layout = open.layout.clone();
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let mut prints: BTreeSet<String> = entries.flat_map(|entry| entry.prints.iter().cloned()).collect();
    let has_their_name = |path: &str| match layout.role(path) {
        Some(NoteRole::Session(_, name) | NoteRole::Archived(_, name)) => names.contains(&name),
        _ => false,
    };
    let is_forgotten = |id: &str| sessions.iter().any(|known| known.as_str() == id);
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let known_notes: BTreeSet<String> = entries.filter_map(|entry| entry.note.clone()).collect();
    let belongs_to_them = |path: &str, text: &str| match session::identity(text) {
        Some(identity) if identity.is_sure => identity.own.iter().any(|id| is_forgotten(id)),
        // With an edited head it is the note of the session that the register has it for. Below, a note that also names
        // other sessions is nobody's.
        Some(identity) if known_notes.contains(path) => identity.session_ids.iter().any(|id| is_forgotten(id)),
        Some(identity) if has_their_name(path) => identity.own.iter().any(|id| is_forgotten(id)),
        Some(identity) => identity.session_ids.iter().all(|id| is_forgotten(id)),
        // Without a head, which a person has removed, the name decides.
        None => has_their_name(path),
    };
    let candidates = |scan: &Scan| -> Vec<String> {
        let may_be = |path: &&String| scan.mentions.contains(*path) || has_their_name(path);
        scan.paths.iter().filter(may_be).cloned().collect()
    };
    let mut folders: BTreeSet<String> = BTreeSet::new();
    let mut add_folder_of = |path: &str, text: &str| {
        let named = session::identity(text).map(|identity| identity.project).filter(|project| !project.is_empty());
        let by_path = match layout.role(path) {
            Some(NoteRole::Session(project, _) | NoteRole::Archived(project, _)) => Some(project),
            _ => None,
        };
        folders.extend(named.into_iter().chain(by_path).map(|project| format!("{}/", layout.project(&project))));
    };
    for path in sessions.iter().filter_map(|id| open.register.get(id)).filter_map(Entry::linked_note) {
        add_folder_of(path, "");
    }
    let mut notes = candidates(scan);
    for path in &notes {
        if let Some(text) = read_text(open, path)?.filter(|text| belongs_to_them(path, text)) {
            prints.extend(forget::fingerprints(&text));
            add_folder_of(path, &text);
        }
    }
    // Prints that no register had were not searched for.
    if !prints.iter().all(|print| scan.matches(print)) {
        *scan = scan_vault(open, sessions, &prints)?;
        notes = candidates(scan);
    }
    let is_in = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    // Without a head, the blocks that Baton wrote decide.
    let is_headless =
        |text: &str| session::identity(text).is_none() && !forget::fingerprints(text).is_disjoint(&prints);
    for path in notes {
        let Some(text) = read_text(open, &path)? else { continue };
        if belongs_to_them(&path, &text) || is_headless(&text) {
            targets.extend(stem(&path).map(str::to_owned));
            let is_named = stem(&path).is_some_and(|name| names.contains(name));
            let is_renamed = belongs_to_them(&path, &text) || is_named || stem(&path).is_some_and(is_dated);
            own.insert(path.clone(), OwnNote { is_renamed, is_renamed_if_empty: is_in(&path) && is_named });
        }
    }
    // Names that notes of other sessions have as well, and whether the register knows all of these notes.
    let mut others: BTreeMap<String, bool> = BTreeMap::new();
    for path in &scan.paths {
        let Some(name) = stem(path).filter(|name| targets.contains(*name)) else { continue };
        let Some(text) = read_text(open, path)?.filter(|text| !belongs_to_them(path, text)) else { continue };
        let Some(identity) = session::identity(&text) else { continue };
        let ids = identity.own.iter().filter_map(|id| SessionId::new(id));
        let is_known = ids.filter_map(|id| open.register.get(&id)).any(|entry| is_named(entry, name));
        *others.entry(name.to_owned()).or_insert(true) &= is_known;
    }
    let scoped = |name: String| {
        let other = others.get(&name);
        let scope =
            Scope { folders: other.map(|_| folders.clone()), others_are_restored: other.is_some_and(|known| *known) };
        (name, scope)
    };
    Ok((targets.into_iter().map(scoped).collect(), own))
}

/// Removes what is Baton's from the sessions' own notes. Returns the paths of notes in which a person's text is left.
pub(super) fn clear_own_notes(
    open: &mut OpenVault,
    own: BTreeMap<String, OwnNote>,
) -> Result<BTreeSet<String>, Refused> {
    open.vault_fs.sync()?;
    let mut theirs = BTreeSet::new();
    for (path, OwnNote { is_renamed, is_renamed_if_empty }) in own {
        let is_named_anew = match change(open, &path, &|text| forget::forget_own_note(text))? {
            Changed::Written => is_renamed,
            Changed::No if is_renamed_if_empty => true,
            Changed::No | Changed::Gone => continue,
        };
        theirs.insert(if is_named_anew { rename(open, &path)? } else { path });
    }
    Ok(theirs)
}
