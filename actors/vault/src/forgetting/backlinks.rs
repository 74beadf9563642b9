//! Links to notes that are removed: lines in other notes. A note that has nothing else is removed as well, and so are
//! the links to it.
//!
//! Links to a note are removed before the note itself, also across a power cut: after a kill, the note tells which
//! links are left.

use std::collections::{BTreeMap, BTreeSet};

use baton_notes::forget;
use baton_notes::forget::Remainder;

use super::edit::{change, read_text};
use super::own_notes::{OwnNote, Scope};
use super::scan::Scan;
use crate::open_vault::{Changed, OpenVault};
use crate::vault_fs::Refused;

/// Most steps along chains of links: lines link to an entity, its project's page to the entity, the start page to the
/// project.
const ROUNDS: u32 = 6;

/// Notes that become empty, by path, each with the targets whose removal empties it.
type Emptied = BTreeMap<String, Vec<String>>;

/// Removes the lines that link to notes of these names. Notes in `own` are left to the caller.
pub(super) fn remove(
    open: &mut OpenVault,
    names: &BTreeMap<String, Scope>,
    scan: &Scan,
    own: &BTreeMap<String, OwnNote>,
) -> Result<(), Refused> {
    let (mut targets, mut done) = (names.clone(), BTreeSet::new());
    let mut going: Vec<Emptied> = Vec::new();
    for _ in 0..ROUNDS {
        targets.retain(|target, _| !done.contains(target));
        if targets.is_empty() {
            break;
        }
        let is_left_out = |path: &String| own.contains_key(path) || going.iter().any(|notes| notes.contains_key(path));
        let emptied = remove_lines_to(open, &targets, scan, &is_left_out)?;
        done.extend(targets.into_keys());
        // The form in which links name them.
        let gone = emptied.keys().filter_map(|path| path.strip_suffix(".md"));
        targets = gone.map(|target| (target.to_owned(), Scope::default())).collect();
        going.push(emptied);
    }
    for emptied in going.into_iter().rev().filter(|notes| !notes.is_empty()) {
        open.vault_fs.sync()?;
        for (path, targets) in emptied {
            change(open, &path, &|text| without_lines(text, &targets))?;
        }
    }
    Ok(())
}

/// Removes the lines that link to `targets`. Returns notes that become empty, which are not removed yet.
fn remove_lines_to(
    open: &mut OpenVault,
    targets: &BTreeMap<String, Scope>,
    scan: &Scan,
    is_left_out: &dyn Fn(&String) -> bool,
) -> Result<Emptied, Refused> {
    let mut emptied = Emptied::new();
    for path in scan.notes_linking_to(targets.keys()).into_iter().filter(|path| !is_left_out(path)) {
        let Some(text) = read_text(open, &path)? else { continue };
        let remembered = forget::remembered_tags(&text);
        let is_told =
            |target: &String| text.contains(target.as_str()) || remembered.contains(&forget::target_tag(target));
        let is_concerned = |(target, scope): &(&String, &Scope)| scope.means(&path, open) && is_told(target);
        let concerned: Vec<String> = targets.iter().filter(is_concerned).map(|(target, _)| target.clone()).collect();
        let is_emptied = without_lines(&text, &concerned) == Remainder::Nothing
            || change(open, &path, &|text| without_lines(text, &concerned))? == Changed::Gone;
        if is_emptied {
            emptied.insert(path, concerned);
        }
    }
    Ok(emptied)
}

/// Removes the lines that link to any of the targets from a text.
fn without_lines(text: &str, targets: &[String]) -> Remainder {
    let mut left = Remainder::Unchanged;
    for target in targets {
        let so_far = match &left {
            Remainder::Text(text) => text,
            Remainder::Unchanged => text,
            Remainder::Nothing => break,
        };
        match forget::forget_target(so_far, target) {
            Remainder::Unchanged => {}
            changed => left = changed,
        }
    }
    left
}
