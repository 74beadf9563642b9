//! External research: searches and pages, each with its result.

use super::clause::shortened;
use super::excerpt::{one_line, without_filter_mark};
use super::outcome::outcome;
use super::timeline::{Deed, Timeline};
use super::{LINE_CHARS, MAX_ENTRIES, Pointed, SHORT_CHARS, Show};
use baton_conversation::item::{Act, Outcome};

/// A shorter remark ("I have enough now.") does not say what was found, in characters.
const TELLING_CHARS: usize = 40;
/// Maximum length of the agent's remark on what it found, in characters.
const REMARK_CHARS: usize = 160;

/// Returns searches and fetches in transcript order without repetitions, at the line of the call.
pub(super) fn research(timeline: &Timeline<'_>, show: &Show) -> Vec<Pointed> {
    let mut found: Vec<Pointed> = Vec::new();
    for deed in &timeline.deeds {
        let Some(asked) = asked(deed) else { continue };
        let mut text = one_line(&without_filter_mark(asked), SHORT_CHARS * 3 / 2);
        let came = came_of_it(deed, show.output_chars(LINE_CHARS));
        if !came.is_empty() {
            text = format!("{text} -> {came}");
        }
        if let Some(remark) = remark(timeline, deed) {
            text = format!("{text}: {remark}");
        }
        if found.iter().all(|known| known.text != text) {
            found.push(Pointed { text: one_line(&text, LINE_CHARS), line: deed.line, at: deed.at });
        }
        super::keep(&mut found, MAX_ENTRIES, |_| true);
    }
    found
}

/// Returns what was looked up: a query, or a URL.
fn asked<'a>(deed: &Deed<'a>) -> Option<&'a str> {
    let asked = || ["query", "url"].iter().find_map(|key| deed.input(key)).filter(|text| !text.trim().is_empty());
    (deed.act() == Act::Fetch).then(asked).flatten()
}

/// Returns the result: the size of what was found, or why there is nothing.
fn came_of_it(deed: &Deed<'_>, chars: usize) -> String {
    let Some(result) = deed.result else { return String::new() };
    let text = match result.outcome {
        Outcome::Failed => result.error.as_deref().map_or("failed".to_owned(), |error| format!("failed: {error}")),
        Outcome::Denied => "denied".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Ok => result.text.rsplit_once(": ").map_or(result.text.clone(), |(_, size)| size.to_owned()),
    };
    one_line(&text, chars)
}

/// Returns what the agent said right after it, if that is a statement.
fn remark(timeline: &Timeline<'_>, deed: &Deed<'_>) -> Option<String> {
    if !deed.succeeded() || deed.aside {
        return None;
    }
    let next = timeline.deeds.iter().map(|deed| deed.began).filter(|&began| began > deed.ended).min();
    let replies = timeline.rounds.iter().flat_map(|round| &round.replies);
    let said = replies.filter(|reply| reply.place > deed.ended).min_by_key(|reply| reply.place)?;
    let at_once = next.is_none_or(|next| said.place < next);
    let remark = at_once.then(|| shortened(&outcome(said.text, "", false), REMARK_CHARS));
    remark.filter(|text| text.chars().count() >= TELLING_CHARS)
}
