//! Parts of a plan in the agent's replies: what a conclusion names again, and what needed nothing after all.

use std::collections::BTreeSet;

use super::{MIN_NAMING, Section, file_of};
use crate::digest::label::without_brackets;
use crate::digest::repetition::significant_words;
use crate::digest::sentence::{lines, list_marker, plain, sentences};
use crate::digest::stated::{MIN_WORDS, names_test};
use crate::digest::timeline::Timeline;
use crate::lexicon::{Sign, Signs};

/// Fewest words of a heading beside names of code and files.
const MIN_HEADING: usize = 3;
/// What ends the lead of an item that is not in bold.
const LEAD_ENDS: [&str; 5] = [": ", " — ", " – ", " - ", " ("];
/// What stands between the number of a step and its heading.
const AFTER_NUMBER: [char; 6] = [':', '.', ')', '-', '–', '—'];

/// What the replies of a session say of the parts of its plans.
#[derive(Default)]
pub(super) struct Reported {
    /// The words of the leads of the items of conclusions, and of the whole items.
    items: Vec<(BTreeSet<String>, BTreeSet<String>)>,
    /// Code that replies say needs no change.
    dismissed: BTreeSet<String>,
}

impl Reported {
    pub(super) fn read(timeline: &Timeline<'_>) -> Self {
        let mut reported = Self::default();
        for round in &timeline.rounds {
            if let Some(last) = round.replies.last() {
                let leads = lines(last.text)
                    .filter(|(.., is_code)| !is_code)
                    .filter_map(|(_, line, _)| Some((lead(line)?, line)));
                reported.items.extend(leads.map(|(lead, line)| (significant_words(lead), significant_words(line))));
            }
            for reply in &round.replies {
                let mut before = "";
                for sentence in sentences(reply.text) {
                    if Signs::read(sentence.text).has(Sign::Needless) {
                        let named = [before, sentence.text].into_iter().flat_map(code);
                        reported.dismissed.extend(named.map(str::to_owned));
                    }
                    before = sentence.text;
                }
            }
        }
        reported
    }

    /// Returns what the heading of a step says, if it says it in words and an item of a conclusion begins with it; with the
    /// first sentence of its text if it is a name of few words.
    pub(super) fn step(&self, section: &Section<'_>) -> Option<String> {
        let heading = unnumbered(section.heading);
        let bare: String = heading.split('`').step_by(2).collect();
        let prose = bare.split_whitespace().filter(|word| file_of(word).is_none());
        let words = significant_words(heading);
        let is_told = |(lead, item): &(BTreeSet<String>, BTreeSet<String>)| {
            lead.intersection(&words).count() >= MIN_NAMING && item.intersection(&words).count() * 2 >= words.len()
        };
        let tells = prose.filter(|word| word.contains(char::is_alphabetic)).count() >= MIN_HEADING
            && file_of(heading).is_none()
            && !names_test(&heading.to_lowercase())
            && !Signs::read(heading).has_any(&[Sign::AsideHead, Sign::CheckHead]);
        if !tells || !self.items.iter().any(is_told) {
            return None;
        }
        let heading = plain(heading);
        let name = without_brackets(&heading);
        if name.split_whitespace().count() > MIN_NAMING {
            return Some(heading);
        }
        let first =
            sentences(section.text).into_iter().find(|first| first.text.split_whitespace().count() >= MIN_WORDS)?;
        Some(format!("{name}: {}", plain(first.text).trim_end_matches([':', '：'])))
    }

    /// Returns true if a reply says of the first code that a sentence names that nothing has to be changed.
    pub(super) fn dismisses(&self, text: &str) -> bool {
        code(text).next().is_some_and(|code| self.dismissed.contains(code))
    }
}

/// Returns the code that a text names.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns what an item or a heading begins with, unless that is code or a file.
fn lead(line: &str) -> Option<&str> {
    let bare = line.trim();
    let item = list_marker(bare).map_or(bare, |marker| bare[marker..].trim_start());
    let text = item.trim_start_matches('#').trim_start();
    let bold = text.strip_prefix("**").and_then(|rest| rest.split_once("**")).map(|(bold, _)| bold);
    let is_item = item.len() < bare.len() || text.len() < item.len();
    let plain = || LEAD_ENDS.iter().filter_map(|end| text.find(end)).min().map_or(text, |end| &text[..end]);
    let lead = bold.or_else(|| is_item.then(plain))?;
    (!lead.contains('`') && file_of(lead).is_none()).then_some(lead)
}

/// Returns a heading without the word and number of its step: `Fix 2: …`, `Step 3 — …`.
fn unnumbered(heading: &str) -> &str {
    let numbered = heading.split_once(' ').map(|(_, rest)| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let rest = numbered.filter(|rest| rest.len() + 1 < heading.len() && rest.trim_start().starts_with(AFTER_NUMBER));
    rest.map_or(heading, |rest| rest.trim_start_matches(' ').trim_start_matches(AFTER_NUMBER).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_begins_with_words_or_with_code() {
        for (line, expected) in [
            ("**Change 1 — Oil the drum** (`drum.rs`):", Some("Change 1 — Oil the drum")),
            ("1. **Stronger rope**: it now holds two tons", Some("Stronger rope")),
            ("- The rope is wound twice (as planned)", Some("The rope is wound twice")),
            ("### Oil the drum", Some("Oil the drum")),
            ("- **`drum.rs`**: oiled", None),
            ("**src/drum.rs** — oiled", None),
            ("- Oiled `drum`", None),
            ("The drum is oiled.", None),
            ("", None),
        ] {
            assert_eq!(lead(line), expected, "{line}");
        }
    }

    #[test]
    fn a_step_is_told_without_its_number() {
        for (heading, expected) in [
            ("Fix 2: Guard the drum against slack ropes", "Guard the drum against slack ropes"),
            ("Step 0 — Oil the whole drum", "Oil the whole drum"),
            ("Oil 2 drums of the winch", "Oil 2 drums of the winch"),
            ("Oil the drum", "Oil the drum"),
        ] {
            assert_eq!(unnumbered(heading), expected, "{heading}");
        }
    }
}
