//! Joins the clones of one repository, and short-lived copies, into one project.
//!
//! # Decisions
//!
//! - Clones are recognised by the address of their repository: from git's configuration while the directory exists,
//!   else from the transcript. The project that was recorded first keeps its sessions, and later clones join it, so no
//!   session ever changes its project.
//! - For projects recorded without an address it is looked up on disk, so that a clone joins them, not they the clone.
//! - A copy in a temporary directory that is gone and has no address joins the one project of its name, unless the name
//!   is one that many directories have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use baton_base::project::{is_directory, named_for_repository, resolve_in_time, resolve_or_as_written};
use baton_events::project;
use baton_events::projection::table::SessionTable;
use baton_events::session::Place;

/// Most projects whose address is looked up on disk.
const MOST_ASKED: usize = 100;

/// The projects of repositories, as recorded by this process: the session table lags behind.
#[derive(Debug, Default)]
pub struct Clones(Mutex<BTreeMap<String, String>>);

impl Clones {
    /// The place to record for a session. `remote` is the address that its transcript names. Blocks for looks at the
    /// disk.
    pub fn record(&self, table: &SessionTable, place: Place, remote: Option<&str>) -> Place {
        let place = joined(table, with_remote(place, remote));
        let Some(remote) = place.remote.clone() else { return place };
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let project = recorded.entry(remote).or_insert_with(|| place.project.clone()).clone();
        drop(recorded);
        if project == place.project { place } else { place.in_project(project) }
    }
}

/// This place with the address from a transcript, unless the disk has one.
pub fn with_remote(place: Place, remote: Option<&str>) -> Place {
    match remote.filter(|_| place.remote.is_none()).and_then(project::remote) {
        Some(remote) => named_for_repository(place.with_remote(Some(remote))),
        None => place,
    }
}

/// The project of a directory; from the path as written if the disk does not answer. Blocks for looks at the disk.
pub fn project_of(table: &SessionTable, directory: &str) -> String {
    joined(table, resolve_or_as_written(directory)).project
}

/// This place in the project of its repository, if sessions of another clone or of the original are known.
pub fn joined(table: &SessionTable, place: Place) -> Place {
    match project_in(table, &place) {
        Some(project) if project != place.project => place.in_project(project),
        _ => place,
    }
}

fn project_in(table: &SessionTable, place: &Place) -> Option<String> {
    let known = || table.belongings().filter_map(|belonging| belonging.place.as_ref());
    let Some(remote) = &place.remote else {
        let name = project::name(&place.project);
        if !project::is_copy(&place.project) || !project::is_telling(name) || is_directory(&place.project) {
            return None;
        }
        let is_original = |other: &&str| !project::is_copy(other) && project::name(other) == name;
        let originals: BTreeSet<&str> = known().map(|known| known.project.as_str()).filter(is_original).collect();
        return originals.first().filter(|_| originals.len() == 1).map(|original| (*original).to_owned());
    };
    let clones = known().filter(|known| known.remote.as_ref() == Some(remote)).map(|known| &known.project);
    if let Some(project) = clones.min_by_key(|project| (project::is_copy(project), project.as_str())) {
        return Some(project.clone());
    }
    if known().any(|known| known.project == place.project) {
        return None;
    }
    let unasked = known().filter(|known| known.remote.is_none()).map(|known| known.project.as_str());
    let unasked: BTreeSet<&str> = unasked.collect();
    let is_clone = |project: &&&str| {
        let there = is_directory(project).then(|| resolve_in_time(project)).flatten();
        there.is_some_and(|there| there.project == **project && there.remote.as_ref() == Some(remote))
    };
    unasked.iter().take(MOST_ASKED).find(is_clone).map(|project| (*project).to_owned())
}

#[cfg(test)]
mod tests {
    use baton_conversation::record::{Position, SequenceNumber, SessionId};
    use baton_events::session::Event;

    use super::*;

    fn table(places: &[Place]) -> SessionTable {
        let mut table = SessionTable::default();
        for (number, place) in (1..).zip(places) {
            let id = SessionId::new(&format!("session-{number}")).unwrap();
            table.apply(Position(number), &id, SequenceNumber(1), &Event::Located { place: place.clone() });
        }
        table
    }

    fn place(project: &str, remote: Option<&str>) -> Place {
        Place::new(project, project).with_remote(remote.map(str::to_owned))
    }

    const SHOP: Option<&str> = Some("github.com/acme/shop");

    #[test]
    fn clones_and_copies_join_the_project_that_is_known() {
        let known = table(&[
            place("/gone/shop", SHOP),
            place("/gone/cart-worktrees/fix", None),
            place("/gone/a/twice", None),
            place("/gone/b/twice", None),
        ]);
        for (directory, remote, expected) in [
            ("/elsewhere/shop", SHOP, "/gone/shop"),
            ("/elsewhere/storefront", SHOP, "/gone/shop"),
            ("/elsewhere/shop", Some("github.com/other/shop"), "/elsewhere/shop"),
            ("/elsewhere/shop", None, "/elsewhere/shop"),
            ("/tmp/gone/cart", None, "/gone/cart"),
            ("/tmp/gone/cart-worktrees/other", None, "/gone/cart"),
            ("/home/u/.codex/worktrees/3f2a/cart", None, "/gone/cart"),
            ("/tmp/gone/twice", None, "/tmp/gone/twice"),
            ("/tmp/gone/unknown", None, "/tmp/gone/unknown"),
        ] {
            assert_eq!(joined(&known, place(directory, remote)).project, expected, "{directory}");
        }
    }

    #[test]
    fn a_project_is_recorded_once_for_all_clones() {
        let (clones, empty) = (Clones::default(), SessionTable::default());
        let record = |directory: &str, remote| clones.record(&empty, place(directory, None), Some(remote)).project;
        assert_eq!(record("/gone/shop-2", "git@github.com:acme/shop.git"), "/gone/shop");
        assert_eq!(record("/elsewhere/1", "https://github.com/acme/shop"), "/gone/shop");
        assert_eq!(record("/elsewhere/1", "https://github.com/acme/cart"), "/elsewhere/cart");
        assert_eq!(clones.record(&empty, place("/elsewhere/1", None), None).project, "/elsewhere/1");
    }

    #[test]
    fn a_clone_joins_sessions_that_were_recorded_without_an_address() {
        let temp = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(temp.path()).unwrap();
        let clone = |name: &str| {
            let git = root.join(name).join(".git");
            std::fs::create_dir_all(&git).unwrap();
            std::fs::write(git.join("config"), "[remote \"origin\"]\n\turl = https://github.com/acme/shop\n").unwrap();
            root.join(name).to_str().unwrap().to_owned()
        };
        let (first, second) = (clone("first"), clone("second"));
        let known = table(&[place(&first, None)]);
        assert_eq!(project_of(&known, &second), first);
        assert_eq!(project_of(&SessionTable::default(), &second), second);
        // Sessions of both are known: they stay apart.
        assert_eq!(project_of(&table(&[place(&first, None), place(&second, None)]), &second), second);
    }
}
