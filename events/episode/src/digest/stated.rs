//! Sentences that state a choice.

use super::settled::contrasted;
use crate::lexicon::{Sign, Signs};
use baton_conversation::quoted_text::own_words;

/// Fewest words of a choice.
pub(super) const MIN_WORDS: usize = 4;

/// Returns true if a sentence of a conclusion or a plan states a choice with what it was made against, or what was kept.
pub(super) fn concludes_choice(sentence: &str) -> bool {
    let own = own_words(sentence);
    let signs = Signs::read(&own);
    let telling = own.split_whitespace().count() >= MIN_WORDS || !own.is_ascii();
    let idle = signs.asks() || signs.begins(Sign::Announce) || signs.begins(Sign::Offer) || signs.has(Sign::Hedge);
    telling
        && !own.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("fixed"))
        && !is_heading(&own)
        && !is_measurement(&own)
        && !idle
        && !signs.has_any(&[Sign::Trouble, Sign::Later, Sign::Remaining, Sign::Next])
        && (signs.has_any(&[Sign::Contrast, Sign::Choose, Sign::Keep]))
}

/// Returns true if a sentence only introduces what follows it.
fn is_heading(sentence: &str) -> bool {
    sentence.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// Returns true for `59 fps instead of 9`.
fn is_measurement(text: &str) -> bool {
    contrasted(&text.to_lowercase())
        .is_some_and(|(_, after)| after.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}
