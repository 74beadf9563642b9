//! What is told of the nearest session if no answer is claimed.

use super::intent::{Intent, Kind};
use super::quotes::Quotes;
use super::session_entries::{best_sentences, left_open, nearest_error};
use baton_episode::digest::{Episode, sentences_within};

/// Maximum number of characters told of the best conclusion, of passages, of the end.
const CONCLUDED_CHARS: usize = 500;
const QUOTED_CHARS: usize = 800;
const ENDED_CHARS: usize = 300;
/// Minimum share of the subject that an error and what mended it have, if no error is asked for; maximum length of both.
const NEAR_ERROR: f32 = 0.3;
const FAILED_CHARS: usize = 500;

/// Returns the best exchange of a session, the passages that say most, and how it ended, with the line to begin with.
pub fn told_of_nearest(episode: &Episode, quotes: &Quotes, asked: &Intent) -> (String, Option<u64>) {
    let best = best_sentences(episode, asked, CONCLUDED_CHARS);
    let line = quotes.passages.first().map(|quote| quote.line).or(best.as_ref().map(|(line, _)| *line));
    let concluded = best.as_ref().map_or(0, |(line, _)| *line);
    let said = quotes.within(QUOTED_CHARS, |line| line == concluded);
    let last = quotes.last.as_ref().filter(|(line, _)| *line != concluded);
    let last = last.map(|(_, text)| format!("Ended with: {}", sentences_within(text, ENDED_CHARS)));
    let open = left_open(episode, ENDED_CHARS).map(|open| format!("Open: {open}"));
    let asks_it = asked.is(Kind::Solved) || asked.is(Kind::Failed);
    let failed = nearest_error(episode, asked).filter(|(fit, _)| asks_it || *fit >= NEAR_ERROR);
    let failed = failed
        .and_then(|(_, error)| Some((error, error.resolution.as_ref()?)))
        .map(|(error, mended)| sentences_within(&format!("Failed: {} -> {}", error.text, mended.text), FAILED_CHARS));
    let texts = best.map(|(_, text)| text).into_iter().chain(Some(said)).chain(failed).chain(last).chain(open);
    (texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" … "), line)
}
