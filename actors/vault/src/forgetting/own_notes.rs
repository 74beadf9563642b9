//! The notes that belong to forgotten sessions, and where their names mean these notes.

use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::SessionId;
use baton_notes::layout::Place as Lies;
use baton_notes::{forget, session};

use super::edit::{Changed, change, is_dated, rename, text_of};
use super::scan::{Scan, gone_through};
use crate::index::stem;
use crate::open_vault::Open;
use crate::register::Entry;
use crate::vault_fs::Refused;

/// Where a name means the note of a forgotten session: everywhere, unless another session's note has the same name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Project folders in which it does, relative to the vault and with a trailing slash; `None` for all.
    pub(super) folders: Option<BTreeSet<String>>,
    /// True if it does in notes of no single project too: the other sessions are then written again, which restores
    /// their lines.
    is_put_back: bool,
}

impl Scope {
    /// True if the name means that note in the file at `path`.
    pub(super) fn means(&self, path: &str, open: &Open) -> bool {
        let is_in = |folders: &BTreeSet<String>| folders.iter().any(|folder| path.starts_with(folder));
        let is_of_all = || matches!(open.layout.place(path), Some(Lies::Start | Lies::Preferences | Lies::Shared(_)));
        self.folders.as_ref().is_none_or(is_in) || (self.is_put_back && is_of_all())
    }

    /// True if it may mean that note there: a file that belongs to no project may be about any.
    pub(super) fn may_mean(&self, open: &Open, path: &str) -> bool {
        let is_of_a_project = open.layout.place(path).is_some_and(|place| {
            matches!(
                place,
                Lies::Project(_) | Lies::Session(..) | Lies::Entity(..) | Lies::Topic(..) | Lies::Archived(..)
            )
        });
        self.means(path, open) || !is_of_a_project
    }
}

/// Names of removed notes, each with where it means such a note.
pub(super) type Names = BTreeMap<String, Scope>;

/// True if links use this name for the session.
pub(super) fn is_called_so(entry: &Entry, name: &str) -> bool {
    entry.named().and_then(stem) == Some(name)
}

/// A note that belongs to a session.
pub(super) struct Own {
    /// True if the remainder is renamed. A name that a person chose for a note of their own is kept.
    is_renamed: bool,
    /// True if it is renamed even though nothing but the name is Baton's: a killed process had not renamed it yet, or a
    /// person has rewritten it all.
    is_left: bool,
}

/// Returns the names that link to the sessions' own notes, with their scopes, and these notes by path.
pub(super) fn own_notes(
    open: &mut Open,
    sessions: &[SessionId],
    scan: &mut Scan,
) -> Result<(Names, BTreeMap<String, Own>), Refused> {
    let (mut targets, mut own) = (BTreeSet::new(), BTreeMap::new());
    for id in sessions {
        let note = open.register.get(id).and_then(Entry::named);
        targets.extend(note.and_then(stem).map(str::to_owned));
    }
    targets.extend(scan.names.iter().cloned());
    let names = targets.clone();
    let layout = open.layout.clone();
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let mut prints: BTreeSet<String> = entries.flat_map(|entry| entry.prints.iter().cloned()).collect();
    let is_called = |path: &str| match layout.place(path) {
        Some(Lies::Session(_, name) | Lies::Archived(_, name)) => names.contains(&name),
        _ => false,
    };
    let is_one = |id: &str| sessions.iter().any(|known| known.as_str() == id);
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let of_them: BTreeSet<String> = entries.filter_map(|entry| entry.note.clone()).collect();
    let is_of_them = |path: &str, text: &str| match session::identity(text) {
        Some(identity) if identity.is_sure => identity.own.iter().any(|id| is_one(id)),
        // With an edited head it is the note of the session that the register has it for. Below, a note that also names
        // other sessions is nobody's.
        Some(identity) if of_them.contains(path) => identity.session_ids.iter().any(|id| is_one(id)),
        Some(identity) if is_called(path) => identity.own.iter().any(|id| is_one(id)),
        Some(identity) => identity.session_ids.iter().all(|id| is_one(id)),
        // Without a head, which a person has removed, the name decides.
        None => is_called(path),
    };
    let candidates = |scan: &Scan| -> Vec<String> {
        let may_be = |path: &&String| scan.mentions.contains(*path) || is_called(path);
        scan.paths.iter().filter(may_be).cloned().collect()
    };
    let mut folders: BTreeSet<String> = BTreeSet::new();
    let mut folder_of = |path: &str, text: &str| {
        let named = session::identity(text).map(|identity| identity.project).filter(|project| !project.is_empty());
        let lies = match layout.place(path) {
            Some(Lies::Session(project, _) | Lies::Archived(project, _)) => Some(project),
            _ => None,
        };
        folders.extend(named.into_iter().chain(lies).map(|project| format!("{}/", layout.project(&project))));
    };
    for path in sessions.iter().filter_map(|id| open.register.get(id)).filter_map(Entry::named) {
        folder_of(path, "");
    }
    let mut notes = candidates(scan);
    for path in &notes {
        if let Some(text) = text_of(open, path)?.filter(|text| is_of_them(path, text)) {
            prints.extend(forget::prints(&text));
            folder_of(path, &text);
        }
    }
    // Prints that no register had were not searched for.
    if !prints.iter().all(|print| scan.covers(print)) {
        *scan = gone_through(open, sessions, &prints)?;
        notes = candidates(scan);
    }
    let is_in = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    // Without a head, the blocks that Baton wrote decide.
    let is_headless = |text: &str| session::identity(text).is_none() && !forget::prints(text).is_disjoint(&prints);
    for path in notes {
        let Some(text) = text_of(open, &path)? else { continue };
        if is_of_them(&path, &text) || is_headless(&text) {
            targets.extend(stem(&path).map(str::to_owned));
            let is_called_so = stem(&path).is_some_and(|name| names.contains(name));
            let is_renamed = is_of_them(&path, &text) || is_called_so || stem(&path).is_some_and(is_dated);
            own.insert(path.clone(), Own { is_renamed, is_left: is_in(&path) && is_called_so });
        }
    }
    // Names that notes of other sessions have as well, and whether the register knows all of these notes.
    let mut others: BTreeMap<String, bool> = BTreeMap::new();
    for path in &scan.paths {
        let Some(name) = stem(path).filter(|name| targets.contains(*name)) else { continue };
        let Some(text) = text_of(open, path)?.filter(|text| !is_of_them(path, text)) else { continue };
        let Some(identity) = session::identity(&text) else { continue };
        let ids = identity.own.iter().filter_map(|id| SessionId::new(id));
        let is_known = ids.filter_map(|id| open.register.get(&id)).any(|entry| is_called_so(entry, name));
        *others.entry(name.to_owned()).or_insert(true) &= is_known;
    }
    let scoped = |name: String| {
        let other = others.get(&name);
        let scope = Scope { folders: other.map(|_| folders.clone()), is_put_back: other.is_some_and(|known| *known) };
        (name, scope)
    };
    Ok((targets.into_iter().map(scoped).collect(), own))
}

/// Removes what is Baton's from the sessions' own notes. Returns the paths of notes in which a person's text is left.
pub(super) fn take_out(open: &mut Open, own: BTreeMap<String, Own>) -> Result<BTreeSet<String>, Refused> {
    open.place.settle()?;
    let mut theirs = BTreeSet::new();
    for (path, Own { is_renamed, is_left }) in own {
        let is_named_anew = match change(open, &path, &|text| forget::forget_own_note(text))? {
            Changed::Written => is_renamed,
            Changed::No if is_left => true,
            Changed::No | Changed::Gone => continue,
        };
        theirs.insert(if is_named_anew { rename(open, &path)? } else { path });
    }
    Ok(theirs)
}
