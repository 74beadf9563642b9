//! Decisions about what is there no more: the session wrote the code that one names, and after a person's word removed all
//! of it, or put back the file that it names.
//!
//! Texts of edits are cut, so what is not seen is taken to stand.

use std::collections::BTreeMap;

use super::agent_choice::Found;
use super::evidence::complaint;
use super::failure::is_alike;
use super::file;
use super::settled::replacement;
use super::timeline::Timeline;
use baton_conversation::item::{Edit, Outcome};

/// A shorter code span names nothing alone, in bytes.
const MIN_SPAN_BYTES: usize = 4;
/// Maximum number of edits that are searched.
const MAX_EDITS: usize = 500;

/// Returns the indices of the agent's decisions that a person's later word undid, each with the place where that was done;
/// `None` if only a part of what it names is gone.
pub(super) fn undone_decisions(timeline: &Timeline<'_>, found: &[Found]) -> BTreeMap<usize, Option<usize>> {
    let own = || found.iter().enumerate().filter(|(_, found)| !found.by_person);
    let undone = &timeline.undone;
    let mut fallen: BTreeMap<usize, Option<usize>> = own()
        .filter_map(|(at, found)| Some((at, Some(undone.place_of_named(&found.said.text, found.place)?))))
        .collect();
    if !own().any(|(_, found)| found.said.text.contains('`')) {
        return fallen;
    }
    let written = Written::read(timeline);
    for (at, found) in own() {
        // A replaced word is gone because of the decision.
        let replaced = replacement(&found.said.text).map(|(old, _)| old).unwrap_or_default();
        let spans = found.said.text.split('`').skip(1).step_by(2);
        let telling = spans.filter(|span| span.len() >= MIN_SPAN_BYTES && !replaced.contains(span));
        let places: Vec<Option<usize>> = telling.map(|span| written.removed_after(span, found.place)).collect();
        if let Some(place) = places.iter().flatten().min() {
            fallen.entry(at).or_insert_with(|| places.iter().all(Option::is_some).then_some(*place));
        }
    }
    fallen
}

/// Returns the indices of the agent's decisions that were to mend a failure and did not: the edit that follows one leaves a
/// check failing alike with the same file, which is then edited again.
pub(super) fn refuted<'t>(timeline: &'t Timeline<'_>, found: &'t [Found]) -> impl Iterator<Item = usize> + 't {
    let failed =
        timeline.deeds.iter().filter(|deed| deed.outcome() == Some(Outcome::Failed) && deed.command().is_some());
    let failures: Vec<(usize, String)> = failed.map(|deed| (deed.began, complaint(deed))).collect();
    let prompts: Vec<usize> = timeline.rounds.iter().filter_map(|round| round.prompt).map(|said| said.place).collect();
    let from = |place: usize| &timeline.deeds[timeline.deeds.partition_point(|deed| deed.began < place)..];
    let is_refuted = move |found: &Found| {
        let before = failures.partition_point(|(began, _)| *began < found.place);
        let ((failed, said), (again, says)) = (failures.get(before.checked_sub(1)?)?, failures.get(before)?);
        if prompts.partition_point(|place| place < failed) != prompts.partition_point(|place| place < again) {
            return None;
        }
        let later = from(found.place).iter().take(MAX_EDITS);
        let edited = later.clone().find(|deed| !deed.only_looks())?.edit()?.0;
        let edits = later.filter(|deed| deed.edit().is_some_and(|(path, ..)| path == edited));
        let name = edited.rsplit('/').next().unwrap_or(edited);
        // One edit before it fails again, and another one after.
        let is_tried =
            || edits.clone().take_while(|deed| deed.began < *again).count() == 1 && edits.clone().count() > 1;
        (said.contains(name) && is_alike(said, says) && is_tried()).then_some(())
    };
    let own = found.iter().enumerate().filter(|(_, found)| !found.by_person);
    own.filter(move |(_, found)| is_refuted(found).is_some()).map(|(at, _)| at)
}

/// What the edits of a session write and remove, by word.
struct Written<'t> {
    /// Edits by place.
    edits: Vec<(usize, &'t Edit)>,
    /// Indices of the edits whose texts have a word.
    by_word: BTreeMap<&'t str, Vec<usize>>,
    /// Place of the last command line that writes files and has a word.
    lines: BTreeMap<&'t str, usize>,
    /// Places of the prompts.
    prompts: Vec<usize>,
}

impl<'t> Written<'t> {
    fn read(timeline: &Timeline<'t>) -> Self {
        let prompts = timeline.rounds.iter().filter_map(|round| round.prompt).map(|said| said.place).collect();
        let mut written = Self { edits: Vec::new(), by_word: BTreeMap::new(), lines: BTreeMap::new(), prompts };
        for deed in timeline.deeds.iter().filter(|deed| deed.succeeded()) {
            if let Some(edit) = deed.effect() {
                let at = written.edits.len();
                written.edits.push((deed.began, edit));
                for word in words(&edit.old_text).chain(words(&edit.new_text)) {
                    let edits = written.by_word.entry(word).or_default();
                    if edits.last() != Some(&at) {
                        edits.push(at);
                    }
                }
            } else if let Some(line) = deed.command().filter(|_| file::changes(deed) || file::script(deed).is_some()) {
                written.lines.extend(words(line).map(|word| (word, deed.began)));
            }
        }
        written
    }

    /// Returns the place of the edit that removed for good, once a person had spoken, what was written about a place.
    fn removed_after(&self, span: &str, place: usize) -> Option<usize> {
        let word = words(span).max_by_key(|word| word.len())?;
        let mut stands: BTreeMap<&str, bool> = BTreeMap::new();
        let (mut written, mut removed) = (None, None);
        let edits = self.by_word.get(word).filter(|edits| edits.len() <= MAX_EDITS)?;
        for (began, edit) in edits.iter().map(|at| self.edits[*at]) {
            if edit.new_text.contains(span) || edit.new_text.ends_with('…') {
                stands.insert(&edit.path, true);
                (written, removed) = (Some(began), None);
            } else if edit.old_text.contains(span) {
                stands.insert(&edit.path, false);
                removed = Some(began);
            }
        }
        let (written, removed) = (written?, removed?);
        let is_written = self.lines.get(word).is_some_and(|began| *began > written);
        let spoken = self.prompts.partition_point(|prompt| *prompt <= written.max(place));
        let is_asked = self.prompts.get(spoken).is_some_and(|prompt| *prompt < removed);
        (is_asked && !is_written && !stands.values().any(|stands| *stands)).then_some(removed)
    }
}

/// Returns the words by which texts of edits are found.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}
