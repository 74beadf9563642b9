//! Passages of a text, and what their form says.

use baton_words::WordList;

/// A passage ends with the line that takes it to so many characters.
const PASSAGE_CHARS: usize = 200;
/// Words that begin a reason.
static REASON_LEADS: WordList = WordList::new(crate::WORDS, "reason leads");

/// Returns true if a line of a passage, or what follows its heading, begins like a reason.
pub(super) fn gives_reason_first(passage: &str) -> bool {
    let is_lead = |text: &str| {
        let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
        // Words of languages without spaces are followed by others.
        let ends = |(lead, rest): (&str, &str)| !lead.is_ascii() || !rest.starts_with(char::is_alphanumeric);
        REASON_LEADS.iter().filter_map(|lead| Some((*lead, text.strip_prefix(lead)?))).any(ends)
    };
    let mut lines = passage.lines().map(str::to_lowercase);
    lines.any(|line| is_lead(&line) || line.split_once(": ").is_some_and(|(_, rest)| is_lead(rest)))
}

/// Returns true if a text ends with a question.
pub(super) fn is_question(text: &str) -> bool {
    text.trim_end_matches(|c: char| c.is_whitespace() || "*_`)\"'”»".contains(c)).ends_with(['?', '？'])
}

/// Returns true if a passage has a numbered list.
pub(super) fn has_options(passage: &str) -> bool {
    let numbered = |line: &&str| line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with([')', '.']);
    passage.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).filter(numbered).count() > 1
}

/// Splits a text into passages: paragraphs and list items, short ones together, each below its heading. The second value
/// is true for code and data.
pub(super) fn passages(text: &str) -> Vec<(String, bool)> {
    let (mut passages, mut heading, mut passage, mut chars) = (Vec::new(), "", String::new(), 0);
    let (mut in_code, mut was_code) = (false, false);
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        let is_heading = !in_code && line.starts_with('#');
        let is_code = in_code || line.starts_with(['{', '}', '"', '<', '[']) && !line.starts_with("[ ]");
        let ends = is_heading || is_code != was_code || line.is_empty() && chars >= PASSAGE_CHARS / 2;
        if (ends || chars >= PASSAGE_CHARS) && chars > 0 {
            passages.push((std::mem::take(&mut passage), was_code));
            chars = 0;
        }
        was_code = is_code;
        if is_heading {
            heading = line.trim_start_matches('#').trim();
            continue;
        }
        if is_fence || !line.chars().any(char::is_alphanumeric) {
            continue;
        }
        if chars == 0 && !heading.is_empty() {
            passage = format!("{}: ", heading.trim_end_matches(':'));
        }
        passage.push_str(line);
        passage.push('\n');
        chars += line.chars().count();
    }
    if chars > 0 {
        passages.push((passage, was_code));
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_split_below_its_headings() {
        let text = format!("# Cause\n- {}\n- short\n\n```\ncode\n```\n", "word ".repeat(60));
        let told: Vec<(String, bool)> = passages(&text);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].0.starts_with("Cause: - word") && told[1].0 == "Cause: - short\n", "{told:?}");
        assert!(told[2] == ("Cause: code\n".to_owned(), true), "{told:?}");
        assert_eq!(passages(""), []);
    }
}
