//! Quotations in a text: lines behind `>`, fenced blocks, and passages in quotation marks.
//!
//! A name in quotation marks is not a quotation: that takes at least [`QUOTED_WORDS`] words.

use std::borrow::Cow;
use std::ops::Range;

/// Fewest words of a quoted sentence; fewer are a name.
const QUOTED_WORDS: usize = 4;
/// Longest passage in quotation marks, in bytes; beyond it a mark must be missing.
const MAX_BYTES: usize = 2_000;

/// Byte ranges of passages in quotation marks, marks included, in order. Linear.
pub fn passages(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut blank = 0;
    // Up to where no mark closes, by closing mark: nothing is searched twice.
    let mut searched: Vec<(char, usize)> = Vec::new();
    while let Some((begin, close)) = opening(text, from) {
        let inside = begin + mark_len(text, begin);
        // A blank line ends every quotation.
        if blank < inside {
            blank = text[inside..].find("\n\n").map_or(text.len(), |end| inside + end);
        }
        let window = floor(text, inside + MAX_BYTES).min(blank);
        let known = searched.iter().position(|(mark, _)| *mark == close);
        let first = known.map_or(inside, |known| searched[known].1.max(inside)).min(window);
        let end = text[first..window]
            .char_indices()
            .map(|(at, c)| (first + at, c))
            .find(|(at, c)| closes(text, *at, *c, close));
        let until = end.map_or(window, |(at, _)| at);
        match known {
            Some(known) => searched[known].1 = until.max(searched[known].1),
            None => searched.push((close, until)),
        }
        from = match end {
            Some((at, c)) if words(&text[inside..at]) >= QUOTED_WORDS => {
                found.push(begin..at + c.len_utf8());
                at + c.len_utf8()
            }
            Some((at, c)) => at + c.len_utf8(),
            None => inside,
        };
    }
    found
}

/// A sentence without its quotations, including one of which it contains only one mark.
pub fn own_words(sentence: &str) -> Cow<'_, str> {
    if !sentence.contains(['"', '“', '”', '«', '»', '「', '」', '\'', '‘']) {
        return Cow::Borrowed(sentence);
    }
    let mut own = String::with_capacity(sentence.len());
    let mut from = 0;
    for passage in passages(sentence) {
        own.push_str(&sentence[from..passage.start]);
        own.push(' ');
        from = passage.end;
    }
    own.push_str(&sentence[from..]);
    // A mark whose partner is in another sentence.
    let open = own.char_indices().find(|(at, c)| matches!(c, '"' | '“' | '«' | '「') && alone(&own, *at, *c, true));
    if let Some((at, _)) = open.filter(|(at, _)| words(&own[*at..]) >= QUOTED_WORDS) {
        own.truncate(at);
    }
    let close =
        own.char_indices().rev().find(|(at, c)| matches!(c, '"' | '”' | '»' | '」') && alone(&own, *at, *c, false));
    if let Some((at, c)) = close.filter(|(at, _)| words(&own[..*at]) >= QUOTED_WORDS) {
        own.drain(..at + c.len_utf8());
    }
    Cow::Owned(own)
}

/// A text without quoted lines and fenced blocks; passages in quotation marks stay.
pub fn without_blocks(text: &str) -> Cow<'_, str> {
    if !text.contains(['>', '`', '~']) {
        return Cow::Borrowed(text);
    }
    let mut own = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        match fence {
            Some(mark) if bare.starts_with(mark) => fence = None,
            Some(_) => {}
            None => {
                fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
                if fence.is_none() && !bare.starts_with('>') {
                    own.push_str(line);
                    continue;
                }
            }
        }
        own.push('\n');
    }
    Cow::Owned(own)
}

/// The start of the next passage, and the mark that closes it.
fn opening(text: &str, from: usize) -> Option<(usize, char)> {
    let mut code = false;
    text[from..].char_indices().map(|(at, c)| (from + at, c)).find_map(|(at, c)| {
        code ^= c == '`';
        let close = match c {
            _ if code => return None,
            '"' => '"',
            '“' => '”',
            '«' => '»',
            '「' => '」',
            '\'' => '\'',
            '‘' => '’',
            _ => return None,
        };
        let begins = matches!(c, '“' | '«' | '「') || (before_opens(text, at) && follows_word(text, at + c.len_utf8()));
        begins.then_some((at, close))
    })
}

fn closes(text: &str, at: usize, c: char, close: char) -> bool {
    c == close
        && (!matches!(c, '"' | '\'' | '’') || (!before_opens(text, at) && !follows_letter(text, at + c.len_utf8())))
}

/// True if a mark has no partner: an opening one if `opens`, else a closing one.
fn alone(text: &str, at: usize, c: char, opens: bool) -> bool {
    match (c, opens) {
        ('"', true) => before_opens(text, at) && follows_word(text, at + 1) && !text[at + 1..].contains('"'),
        ('"', false) => {
            !before_opens(text, at)
                && !follows_letter(text, at + 1)
                // Inches.
                && !text[..at].ends_with(|c: char| c.is_ascii_digit())
                && !text[..at].contains('"')
        }
        ('“' | '«' | '「', opens) => opens && !text[at..].contains(['”', '»', '」']),
        (_, opens) => !opens && !text[..at].contains(['“', '«', '「']),
    }
}

fn before_opens(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | ':' | '—' | '–' | '*' | '_'))
}

fn follows_word(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_some_and(|c| !c.is_whitespace())
}

fn follows_letter(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_some_and(char::is_alphanumeric)
}

fn mark_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Number of words; a character of a script without spaces counts half a word.
fn words(text: &str) -> usize {
    let wide = text.chars().filter(|c| *c >= '\u{3040}').count() / 2;
    wide + text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_of_somebody_else_is_left_out_and_a_name_is_not() {
        let check = |text: &str, own: &str| {
            let found = own_words(text);
            assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), own, "{text:?}");
        };
        check(r#"The docs say: "We decided to use MongoDB." So?"#, "The docs say: So?");
        check("He wrote “never use tabs in code” there.", "He wrote there.");
        check("« toujours utiliser des tabulations » says it", "says it");
        check("The linter says 'never use tabs here' again", "The linter says again");
        check(r#"I prefer "single quotes" over "double quotes"."#, r#"I prefer "single quotes" over "double quotes"."#);
        check("Don't use the users' table, it's theirs.", "Don't use the users' table, it's theirs.");
        check(r#"A 5" disk and a 3" one are all that we have"#, r#"A 5" disk and a 3" one are all that we have"#);
        check(r#"The docs say: "We decided to use MongoDB instead"#, "The docs say:");
        check(r#"It scales well enough for us." That is theirs."#, "That is theirs.");
        check(r#"Use `grep "a b c d e" x` here"#, r#"Use `grep "a b c d e" x` here"#);
        check("そして「タブではなくスペースを使います」と言う", "そして と言う");
        check(r#"""#, r#"""#);
        check("", "");
    }

    #[test]
    fn passages_end_with_their_paragraph() {
        let text = "He said \"one two three four\" and \"five\n\nsix seven eight nine\" ten";
        let found: Vec<&str> = passages(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["\"one two three four\""]);
        let long = format!("\"{}\" and more words to read", "word ".repeat(1_000));
        assert!(passages(&long).is_empty());
    }

    #[test]
    fn marks_that_never_close_hold_no_passage() {
        let text = "\"a ` ".repeat(200_000);
        assert!(passages(&text).is_empty());
    }

    #[test]
    fn quoted_lines_and_fences_are_left_out() {
        assert_eq!(without_blocks("a\n> b\n```\nc\n```\nd > e"), "a\n\n\n\n\nd > e");
        assert_eq!(without_blocks("~~~\nnever closed"), "\n\n");
        assert_eq!(without_blocks("plain"), "plain");
    }

    #[test]
    fn any_text_is_read() {
        for text in ["\"", "“”", "''", "\"a", "a\"", "«", "é\"é é é é\"é", "\"\"\"\"", "'\"'\"", "` \" `\""]
        {
            own_words(text);
            passages(text);
            without_blocks(text);
        }
    }
}
