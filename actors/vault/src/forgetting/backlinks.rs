//! What leads to notes that go: lines in other notes, in which a note may have nothing else, so that it goes too, and then what
//! leads to that.
//!
//! A note that goes is removed after what leads to it is changed, also where the power fails: whoever was killed in between
//! finds by it what is left to do.

use std::collections::{BTreeMap, BTreeSet};

use baton_notes::forget;
use baton_notes::forget::Remainder;

use super::edit::{Changed, change, text_of};
use super::own_notes::{Own, Scope};
use super::scan::Scan;
use crate::open_vault::Open;
use crate::vault_fs::Refused;

/// How often it is looked for what leads to notes that go: a line leads to an entity, its project's page to that, the page
/// of all to that.
const ROUNDS: u32 = 6;

/// Notes of which nothing is left, by their paths, each with the targets without which that is so.
type Emptied = BTreeMap<String, Vec<String>>;

/// Takes the lines out that lead to notes of some names. `own`: notes that are dealt with otherwise.
pub(super) fn out(
    open: &mut Open,
    names: &BTreeMap<String, Scope>,
    scan: &Scan,
    own: &BTreeMap<String, Own>,
) -> Result<(), Refused> {
    let (mut targets, mut done) = (names.clone(), BTreeSet::new());
    let mut going: Vec<Emptied> = Vec::new();
    for _ in 0..ROUNDS {
        targets.retain(|target, _| !done.contains(target));
        if targets.is_empty() {
            break;
        }
        let is_left_out = |path: &String| own.contains_key(path) || going.iter().any(|notes| notes.contains_key(path));
        let emptied = lines_to(open, &targets, scan, &is_left_out)?;
        done.extend(targets.into_keys());
        // As links name them.
        let gone = emptied.keys().filter_map(|path| path.strip_suffix(".md"));
        targets = gone.map(|target| (target.to_owned(), Scope::default())).collect();
        going.push(emptied);
    }
    for emptied in going.into_iter().rev().filter(|notes| !notes.is_empty()) {
        open.place.settle()?;
        for (path, targets) in emptied {
            change(open, &path, &|text| without(text, &targets))?;
        }
    }
    Ok(())
}

/// Takes the lines out that lead to some notes. Notes of which nothing is left are not removed yet.
fn lines_to(
    open: &mut Open,
    targets: &BTreeMap<String, Scope>,
    scan: &Scan,
    is_left_out: &dyn Fn(&String) -> bool,
) -> Result<Emptied, Refused> {
    let mut emptied = Emptied::new();
    for path in scan.leading_to(targets.keys()).into_iter().filter(|path| !is_left_out(path)) {
        let Some(text) = text_of(open, &path)? else { continue };
        let remembered = forget::remembered(&text);
        let is_told = |target: &String| text.contains(target.as_str()) || remembered.contains(&forget::tag(target));
        let is_concerned = |(target, scope): &(&String, &Scope)| scope.means(&path, open) && is_told(target);
        let concerned: Vec<String> = targets.iter().filter(is_concerned).map(|(target, _)| target.clone()).collect();
        let is_emptied = without(&text, &concerned) == Remainder::Nothing
            || change(open, &path, &|text| without(text, &concerned))? == Changed::Gone;
        if is_emptied {
            emptied.insert(path, concerned);
        }
    }
    Ok(emptied)
}

/// A text without the lines that lead to any of these.
fn without(text: &str, targets: &[String]) -> Remainder {
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
