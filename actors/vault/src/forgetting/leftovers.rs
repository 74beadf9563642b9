//! What remains in a vault of forgotten sessions: texts of people that mention them, which are reported, and dangling
//! links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use baton_conversation::record::SessionId;

use super::own_notes::Scope;
use super::scan::{Words, prepare_scan};
use crate::index::stem;
use crate::open_vault::OpenVault;
use crate::vault_fs::{OtherFiles, Refused, VaultFs, of_file};

/// Handles sessions in a vault without any notes. Returns texts of people in the vault that still mention them.
pub(super) fn handle_empty_vault(open: &mut OpenVault, known: &[SessionId]) -> Result<Vec<String>, Refused> {
    if open.vault_fs.vault().is_dir() {
        // Resolves the vault's path, which paths of links are compared with.
        open.check(true)?;
    }
    let scan = prepare_scan(open, known, &BTreeSet::new());
    let outside = open.vault_fs.other_files()?;
    if let Some(folder) = find_moved_folder(open, &outside.texts) {
        return Err(Refused {
            what: format!("the folder of notes is {} now", open.vault_fs.vault().join(folder).display()),
            fix: "set vault.root to it".to_owned(),
        });
    }
    let mut theirs = unreadable_mentions(open, &outside, &|name| scan.matches(name));
    theirs.extend(find_mentions(open, outside.texts, &|_, text| scan.matches(text))?);
    open.drop_index();
    // A note folder that has an id may lie in another vault that is not known yet.
    match open.register.id().is_some() {
        true => open.register.seal(known, true),
        false => open.register.forget(known),
    }
    .map_err(|error| cannot_record(&error))?;
    Ok(full_paths(open, theirs))
}

/// The register cannot be written.
pub(super) fn cannot_record(error: &std::io::Error) -> Refused {
    Refused {
        what: format!("the register of the vault still mentions them: {error}"),
        fix: "free space on the disk of BATON_HOME".to_owned(),
    }
}

/// Finds the folder inside the vault to which the notes were moved, by its id.
fn find_moved_folder(open: &OpenVault, outside: &[String]) -> Option<String> {
    let id = open.register.id()?;
    // Hidden folders hold deleted files, or are kept by a program.
    let seen = outside.iter().filter(|path| !path.split('/').any(|part| part.starts_with('.')));
    let folders: BTreeSet<&Path> = seen.flat_map(|path| Path::new(path).ancestors().skip(1)).collect();
    let roots = folders.into_iter().filter_map(Path::to_str).filter(|folder| !folder.is_empty());
    let is_it = |root: &&str| {
        let vault_fs = VaultFs::new(open.vault_fs.vault().to_owned(), (*root).to_owned(), false);
        vault_fs.id().as_deref() == Some(id)
    };
    roots.into_iter().find(is_it).map(str::to_owned)
}

/// Returns what may mention them without being readable: closed folders, and dangling links whose name or target
/// matches `is_it`.
pub(super) fn unreadable_mentions(
    open: &OpenVault,
    outside: &OtherFiles,
    is_it: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let below = |folder: &Path| folder.strip_prefix(open.vault_fs.vault()).unwrap_or(folder).display().to_string();
    let folders = outside.closed.iter().map(|folder| below(folder));
    let links = outside.dangling.iter().filter(|(path, to)| link_names(path, to).any(is_it));
    folders.chain(links.map(|(path, _)| path.clone())).collect()
}

/// The names in a link: its own and its target's.
fn link_names<'a>(path: &'a str, to: &'a Path) -> impl Iterator<Item = &'a str> {
    stem(path).into_iter().chain(to.to_str().and_then(stem))
}

/// Removes links among the notes whose note is gone or renamed, because their names still mention it.
pub(super) fn remove_dangling_links(open: &OpenVault, names: &BTreeMap<String, Scope>) -> Result<(), Refused> {
    for (path, to) in open.vault_fs.dangling_links()? {
        let is_it = |name: &str| names.get(name).is_some_and(|scope| scope.means(&path, open));
        if !link_names(&path, &to).any(is_it) {
            continue;
        }
        of_file(open.vault_fs.remove_link(&path))?
            .map_err(|why| Refused { what: format!("{path}: {why}"), fix: "remove it".to_owned() })?;
    }
    Ok(())
}

/// Returns the texts that mention them, or may: those that are unreadable or being written.
pub(super) fn find_mentions(
    open: &OpenVault,
    texts: impl IntoIterator<Item = String>,
    is_match: &dyn Fn(&str, &str) -> bool,
) -> Result<BTreeSet<String>, Refused> {
    let mut theirs = BTreeSet::new();
    for path in texts {
        let text = of_file(open.read_text(&path))?;
        if text.map_or(true, |text| text.is_some_and(|text| is_match(&path, &text))) {
            theirs.insert(path);
        }
    }
    Ok(theirs)
}

/// Formats paths in the vault as absolute paths.
pub(super) fn full_paths(open: &OpenVault, theirs: impl IntoIterator<Item = String>) -> Vec<String> {
    theirs.into_iter().map(|path| open.vault_fs.vault().join(path).display().to_string()).collect()
}

/// What is sought in texts that were not scanned, by the names of notes: a name that another session's note also has
/// counts only where it may mean the forgotten one.
pub(super) struct Mentions<'a> {
    plain: Words,
    scoped: Vec<(Words, &'a Scope)>,
}

impl<'a> Mentions<'a> {
    pub(super) fn new(names: &'a BTreeMap<String, Scope>, known: &[SessionId]) -> Self {
        let (scoped, plain): (Vec<_>, Vec<_>) = names.iter().partition(|(_, scope)| scope.folders.is_some());
        let plain = plain.iter().map(|(name, _)| name.as_str()).chain(known.iter().map(|id| id.as_str()));
        let scoped = scoped.into_iter().map(|(name, scope)| (Words::new([name.as_str()]), scope));
        Self { plain: Words::new(plain), scoped: scoped.collect() }
    }

    /// True if the text mentions one of them.
    pub(super) fn is_in(&self, open: &OpenVault, path: &str, text: &str) -> bool {
        let is_match = |(words, scope): &(Words, &Scope)| scope.may_mean(open, path) && words.match_in(text);
        self.plain.match_in(text) || self.scoped.iter().any(is_match)
    }
}
