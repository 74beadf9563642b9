//! Cuts a text at the end of a clause.

use super::excerpt::{one_line, sentences_within};
use super::label::{is_joint, is_loose, is_subordinator, without_brackets};
use super::sentence::words_of_prose;

/// A clause ends no earlier than after this length, in characters.
const CLAUSE_CHARS: usize = 40;
/// Only so many times the wanted length of a text is looked at.
const SEEN: usize = 8;
/// Most words of a longer label, without code.
const LABEL_WORDS: usize = 4;
/// Maximum number of words between the commas of an enumeration.
const ENUMERATED_WORDS: usize = 2;

/// Shortens a text to whole sentences, or else to a clause of the first one.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return one_line(text, max_chars);
    }
    let cut = sentences_within(text, max_chars);
    match cut.strip_suffix('…') {
        Some(whole) if whole.ends_with(' ') => whole.trim_end().to_owned(),
        Some(_) => clause_within(text, max_chars).unwrap_or(cut),
        None => cut,
    }
}

/// Returns the beginning of a text up to the end of a clause, some way behind its label. `None` if no such end is near.
pub(super) fn clause_within(text: &str, max_chars: usize) -> Option<String> {
    // A hostile text may be long: all that follows looks at its beginning only.
    let seen: String = text.chars().take(SEEN * max_chars).collect();
    let is_whole = seen.len() == text.len();
    let mut text = seen;
    while text.chars().count() > max_chars {
        // The text after a bracket says more than the bracket.
        let without = without_brackets(&text);
        if without.len() == text.len() {
            return first_clause(&text, max_chars);
        }
        text = without;
    }
    is_whole.then_some(text)
}

fn first_clause(text: &str, max_chars: usize) -> Option<String> {
    let after = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let until = after(max_chars);
    let label = [": ", " — ", " – ", " - "].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(0);
    let is_label = words_of_prose(&text[..label]) <= LABEL_WORDS || label < after(CLAUSE_CHARS);
    let from = if is_label { label + CLAUSE_CHARS } else { after(CLAUSE_CHARS) };
    let is_open = |end: usize| {
        let count = |c: char| text[..end].matches(c).count();
        count('`') % 2 == 1 || count('"') % 2 == 1 || count('(') > count(')')
    };
    // Neither half of an enumeration stands alone.
    let is_short =
        |part: Option<&str>| part.is_some_and(|part| part.split_whitespace().nth(ENUMERATED_WORDS).is_none());
    let enumerates = |at: usize| {
        text[at..]
            .strip_prefix(", ")
            .is_some_and(|after| is_short(text[..at].rsplit(", ").next()) || is_short(after.split(", ").next()))
    };
    // `When it is full, …` has its main clause after the comma.
    let body = label + text[label..].find(char::is_alphanumeric).unwrap_or(0);
    let is_subordinate = |part: &str| is_joint(part.split_whitespace().next().unwrap_or_default());
    let lacks_main = |at: usize| text[body.min(at)..at].split(", ").all(is_subordinate);
    // `so when it is full, …` has its main clause after the comma as well.
    let lacks_end = |at: usize| {
        let part = text[..at].rsplit([',', ';']).next().unwrap_or_default();
        let words: Vec<&str> = part.split_whitespace().collect();
        words.windows(2).any(|two| is_joint(two[0]) && is_subordinator(two[1]))
    };
    let goes_on = |at: usize| text[at..].strip_prefix(". ").is_some_and(|next| next.starts_with(char::is_lowercase));
    let is_led = |at: usize| {
        let words = text[..at].trim_end_matches([',', ';', ' ']);
        words.ends_with(':') || words.rsplit(' ').next().is_some_and(is_loose)
    };
    let fits = |at: &usize| {
        let is_in_parts =
            || is_open(*at) || enumerates(*at) || lacks_main(*at) || lacks_end(*at) || goes_on(*at) || is_led(*at);
        (from..until).contains(at) && !is_in_parts()
    };
    let last =
        |marks: &[&str]| marks.iter().flat_map(|mark| text.match_indices(mark)).map(|(at, _)| at).filter(fits).max();
    let half = after(max_chars / 2);
    let end =
        last(&["; ", ". ", "。"]).filter(|at| *at >= half).or_else(|| last(&[" — ", " – ", " - ", ", ", "，"]))?;
    Some(text[..end].trim_end_matches([',', ';', ':', ' ']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_a_main_clause_whole() {
        let check = |text: &str, cut: Option<&str>| assert_eq!(clause_within(text, 80).as_deref(), cut, "{text}");
        let rest = "and then it goes on and on without any end in sight for a long while";
        check("The winch stops at the mark.", Some("The winch stops at the mark."));
        check(&format!("The winch stops at the mark when it is full, {rest}"), {
            Some("The winch stops at the mark when it is full")
        });
        check(&format!("When the winch stands at the upper mark, {rest}"), None);
        check(&format!("The winch has an upper mark so when it stands there, {rest}"), None);
        check(&format!("The winch reads the mark of the mast, the jib, {rest}"), None);
        check(&format!("The winch stops at the mark that was painted {rest}"), None);
        check(&format!("The winch stops at the mark (or {rest}) of the upper mast"), {
            Some("The winch stops at the mark of the upper mast")
        });
        check(&format!("The winch stops at the upper mark of the mast (or not), {rest}"), {
            Some("The winch stops at the upper mark of the mast")
        });
        check(&format!("The winch that lifts the load is the one that it stops for, {rest}"), None);
    }
}
