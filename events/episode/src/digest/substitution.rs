//! What an edit put in the place of what, by the code that a sentence names. The edit decides, in any language.

use std::cell::{Cell, LazyCell};
use std::ops::Range;

use super::timeline::{Deed, Timeline};
use crate::lexicon::{Sign, Signs};
use baton_conversation::item::Edit;

/// Longest text between the two that a sentence names, in bytes: `` `a` → `b` ``, `` `b` instead of `a` ``.
const BETWEEN_BYTES: usize = 24;
/// A shorter name stands in too many lines, in bytes.
const MIN_BYTES: usize = 3;
/// Maximum number of times that an edit is compared with a sentence.
const MAX_COMPARED: usize = 20_000;

/// The edits of a part of a session.
#[derive(Default)]
pub(super) struct Substitutions<'a> {
    edits: Vec<&'a Edit>,
    compared: Cell<usize>,
}

impl<'a> Substitutions<'a> {
    /// Reads the edits of some deeds.
    pub(super) fn read(timeline: &Timeline<'a>, deeds: Range<usize>) -> Self {
        let deeds = timeline.deeds[deeds].iter().filter(|deed| deed.succeeded());
        Self { edits: deeds.filter_map(Deed::effect).collect(), compared: Cell::new(0) }
    }

    /// Returns true if a sentence names two things side by side of which one edit removed the first and added the second; or
    /// the second and the first, if the sentence contrasts them.
    pub(super) fn shows(&self, sentence: &str) -> bool {
        let replaces = |edit: &Edit, old: &str, new: &str| {
            let (before, after) = (&edit.old_text, &edit.new_text);
            before.contains(old) && after.contains(new) && !after.contains(old) && !before.contains(new)
        };
        let contrasts = LazyCell::new(|| Signs::read(sentence).has(Sign::Contrast));
        pairs(sentence).any(|(one, other)| {
            self.compared.set(self.compared.get() + self.edits.len());
            self.compared.get() <= MAX_COMPARED
                && self.edits.iter().any(|edit| replaces(edit, one, other) || *contrasts && replaces(edit, other, one))
        })
    }
}

/// Returns the pieces of code that stand side by side.
fn pairs(sentence: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = sentence.split('`').skip(1);
    let mut before = parts.next();
    std::iter::from_fn(move || {
        let (between, next) = (parts.next()?, parts.next()?);
        Some((before.replace(next)?, between, next))
    })
    .filter(|(_, between, _)| between.len() <= BETWEEN_BYTES)
    .map(|(one, _, other)| (one.trim_end_matches("()"), other.trim_end_matches("()")))
    .filter(|(one, other)| one.len() >= MIN_BYTES && other.len() >= MIN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old_text: &str, new_text: &str) -> Edit {
        Edit { old_text: old_text.to_owned(), new_text: new_text.to_owned(), ..Edit::default() }
    }

    #[test]
    fn an_edit_shows_what_took_whose_place() {
        let edits = [edit("winch.load = 1.5;", "winch.load = 2.5;"), edit("drum()", "drum(), reel()")];
        let done = Substitutions { edits: edits.iter().collect(), ..Substitutions::default() };
        for (sentence, shown) in [
            ("The load went from `1.5` to `2.5`", true),
            ("Last: `1.5` → `2.5`", true),
            ("Wir nehmen `2.5` statt `1.5`", true),
            ("The load of `winch.load` is `2.5`", false),
            ("The load went from `2.5` to `1.5`", false),
            ("It maps `drum()` to `reel()`", false),
            ("From `1.5`, which nobody had asked for, to `2.5`", false),
            ("`1.5", false),
            ("", false),
        ] {
            assert_eq!(done.shows(sentence), shown, "{sentence}");
        }
    }
}
