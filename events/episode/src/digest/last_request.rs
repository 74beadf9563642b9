//! The request with which a session ends, if it goes beyond the objective and nothing was changed for it.

use super::excerpt::sentences_within;
use super::file;
use super::plan;
use super::request::{before_log, has_substance, without_politeness};
use super::timeline::{Deed, Timeline};
use super::{Pointed, is_courtesy, work};
use baton_conversation::item::Act;

/// Maximum length, in characters.
const MAX_CHARS: usize = 240;
/// What the objective says of a prompt is recognised by so many of its first characters.
const KNOWN_CHARS: usize = 40;

/// Returns the last request of substance after work on another one, if no file was changed and nothing committed since.
pub(super) fn last_request(timeline: &Timeline<'_>, objective: &str) -> Option<Pointed> {
    let works = |deed: &&Deed<'_>| !deed.aside && (file::changes(deed) && !is_note(timeline, deed) || deed.commits());
    let worked = timeline.deeds.iter().filter(works).map(|deed| deed.began).max()?;
    let asked = work::requests(timeline).last().filter(|said| said.place > worked && has_substance(said.text))?;
    if is_courtesy(asked.text) || plan::pasted_plan(asked.text).is_some() {
        return None;
    }
    let text = sentences_within(before_log(without_politeness(asked.text.trim())), MAX_CHARS);
    let begin: String = text.chars().take(KNOWN_CHARS).collect();
    let is_told = objective.to_lowercase().contains(&begin.to_lowercase());
    (!is_told && !text.is_empty()).then_some(Pointed { text, line: asked.line, at: asked.at })
}

/// Returns true if a call writes only notes outside of the project, such as a plan.
fn is_note(timeline: &Timeline<'_>, deed: &Deed<'_>) -> bool {
    let outside = |path: &str| path.starts_with(['/', '~']) && file::is_document(path);
    deed.act() == Act::Edit && file::written_files(deed).iter().all(|(path, ..)| outside(timeline.relative_path(path)))
}
