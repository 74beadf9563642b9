//! Bounded quotations: one line, cut at word or sentence ends, never inside a character.

use std::ops::Range;

use baton_words::WordList;

/// Mark of the filter where it cut a long value; a length and a digest follow it.
const FILTER_MARK: &str = "…[+";
/// Articles, which a title does without.
pub(super) static ARTICLES: WordList = WordList::new(crate::WORDS, "articles");
/// A code span is no longer, in bytes.
const CODE_BYTES: usize = 400;
/// Maximum number of names of a list.
const MAX_NAMED: usize = 3;
/// Maximum length of these names, in characters.
const NAMED_CHARS: usize = 200;

/// Puts the text on one line: white space and control characters collapse to one space, ends are trimmed, and at most
/// `max_chars` characters are kept. A longer text is cut at a nearby word boundary and ends in `…`. Reads no further
/// into `text` than necessary.
pub fn one_line(text: &str, max_chars: usize) -> String {
    cut_line(text, max_chars).0
}

/// Like [`one_line`]; returns with it whether it was cut.
fn cut_line(text: &str, max_chars: usize) -> (String, bool) {
    let mut line = String::with_capacity(text.len().min(max_chars.saturating_mul(2)));
    let (mut chars, mut gap) = (0, false);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        // A backslash before a line end is how a terminal encodes a line break in a prompt.
        let line_break = c == '\\' && rest.as_str().starts_with('\n');
        if c.is_whitespace() || c.is_control() || line_break {
            gap = !line.is_empty();
            continue;
        }
        if chars + 1 + usize::from(gap) > max_chars {
            shorten(&mut line, max_chars, gap);
            return (line, true);
        }
        if gap {
            line.push(' ');
        }
        line.push(c);
        chars += 1 + usize::from(gap);
        gap = false;
    }
    (line, false)
}

/// Returns the first names of a list that fit, at most [`MAX_NAMED`], and the number of the rest; only that there are others
/// if the list may lack some, with the number of those that are known to have no name.
pub(super) fn names_with_rest(names: &[&str], nameless: Option<usize>) -> String {
    let mut left = NAMED_CHARS;
    let fits = |(at, name): &(usize, String)| {
        let length = name.chars().count();
        let fits = *at == 0 || length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let told: Vec<String> = names
        .iter()
        .take(MAX_NAMED)
        .map(|name| one_line(name, NAMED_CHARS))
        .enumerate()
        .take_while(fits)
        .map(|(_, name)| name)
        .collect();
    let more = match (names.len() - told.len() + nameless.unwrap_or(0), nameless) {
        (0, _) => String::new(),
        (more, None) => format!(" and {more} more"),
        _ => " and others".to_owned(),
    };
    format!("{}{more}", told.join(", "))
}

/// Like [`one_line`], but prefers to cut after a sentence in the second half.
pub fn sentences_within(text: &str, max_chars: usize) -> String {
    let (line, is_cut) = cut_line(text, max_chars);
    let Some(whole) = line.strip_suffix('…').filter(|_| is_cut) else {
        return line;
    };
    let code: Vec<Range<usize>> = code_spans(whole).collect();
    let mut code = code.into_iter().peekable();
    let end = whole.char_indices().zip(whole.chars().skip(1).chain([' '])).filter_map(|((at, c), next)| {
        let ends = matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && next == ' ');
        while ends && code.next_if(|span| span.end <= at).is_some() {}
        (ends && code.peek().is_none_or(|span| at < span.start)).then_some(at + c.len_utf8())
    });
    match end.last() {
        Some(end) if end >= whole.len() / 2 => format!("{} …", &whole[..end]),
        _ => line,
    }
}

/// Returns the spans between backticks, these included. One without a partner in the next few hundred bytes is ordinary text,
/// unless the text is cut there.
pub(super) fn code_spans(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let begin = from + text[from..].find('`')?;
            let rest = &text.as_bytes()[begin + 1..];
            let partner = memchr::memchr(b'`', &rest[..rest.len().min(CODE_BYTES)]);
            from = partner.map_or(begin, |partner| begin + 1 + partner) + 1;
            if partner.is_some() {
                return Some(begin..from);
            } else if rest.len() < CODE_BYTES {
                from = text.len();
                return Some(begin..from);
            }
        }
    })
}

/// Returns true if a text contains a title, whatever is set in capitals or as code.
pub(crate) fn contains_title(text: &str, title: &str) -> bool {
    let bare = |text: &str| {
        let text = text.replace('`', "").to_lowercase();
        text.split_whitespace().filter(|word| !ARTICLES.has(word)).collect::<Vec<_>>().join(" ")
    };
    bare(text).contains(&bare(title))
}

/// Adds a full stop unless the text ends with punctuation.
pub(super) fn with_full_stop(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', '…', '。', '！', '？', ':']) {
        text.push('.');
    }
    text
}

/// Adds a full stop, or the mark of a cut if what the text was taken from has one.
pub(super) fn with_end_mark(text: &str, from: &str) -> String {
    if from.ends_with('…') { format!("{text} …") } else { with_full_stop(text.to_owned()) }
}

/// Strips marks before an item and punctuation behind it.
pub(super) fn bare(text: &str) -> String {
    let opens = |c: char| c.is_alphanumeric() || matches!(c, '`' | '"' | '\'' | '/' | '.' | '@' | '(' | '[');
    text.trim_start_matches(|c: char| !opens(c)).trim_end_matches(['.', ';', ',', ':', '。', ' ']).to_owned()
}

/// Replaces the filter's cut mark and everything after it by `…`; lengths and digests are not meant for people.
pub fn without_filter_mark(text: &str) -> String {
    match text.find(FILTER_MARK) {
        Some(at) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// Returns at most the first `max_bytes` bytes of a text, cut at a character boundary.
pub fn head(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns at most the last `max_bytes` bytes of a text, cut at a character boundary.
pub(super) fn tail(text: &str, max_bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// Makes room for `…` and appends it, at the last word boundary of the last quarter if there is one. `complete`: the
/// line ends with a whole word.
fn shorten(line: &mut String, max_chars: usize, complete: bool) {
    let keep = line.char_indices().nth(max_chars.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let inside_word = if keep == line.len() { !complete } else { !line[keep..].starts_with(' ') };
    line.truncate(keep);
    if let Some(space) = line.rfind(' ').filter(|_| inside_word)
        && space >= line.len() - line.len() / 4
    {
        line.truncate(space);
    }
    let kept = line.trim_end_matches([' ', ',', ';', ':', '…']).len();
    line.truncate(kept);
    if max_chars > 0 {
        line.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, max: usize, expected: &str) {
        let line = one_line(text, max);
        assert_eq!(line, expected);
        assert!(line.chars().count() <= max);
    }

    #[test]
    fn a_line_is_cut_at_a_word_and_never_inside_a_character() {
        check("", 5, "");
        check("  a\n\t b \r\n", 5, "a b");
        check("\u{1b}[31mred", 8, "[31mred");
        check("a\\\n\\\nb\\c", 9, "a b\\c");
        check("12345", 5, "12345");
        check("123456", 5, "1234…");
        check("one two three four", 15, "one two three…");
        check("one verylongwordthatgoeson", 12, "one verylon…");
        check("日本語のとても長い文", 4, "日本語…");
        check("👩‍👩‍👧 family", 3, "👩\u{200d}…");
        check("abc", 0, "");
        check("ab", 1, "…");
    }

    #[test]
    fn a_longer_cut_ends_with_a_sentence_when_it_can() {
        assert_eq!(sentences_within("First one here. Second one is long.", 24), "First one here. …");
        assert_eq!(sentences_within("No. Then it goes on and on and on", 20), "No. Then it goes on…");
        assert_eq!(sentences_within("Short.", 20), "Short.");
        assert_eq!(sentences_within("First one here. And the names of…", 40), "First one here. And the names of…");
        assert_eq!(sentences_within("It ends right here. And more.", 20), "It ends right here. …");
        assert_eq!(sentences_within("It ends. Then `a ? b : c` turns it", 24), "It ends. Then `a ? b…");
        assert_eq!(sentences_within("The end is `a` here. And more.", 22), "The end is `a` here. …");
        assert_eq!(sentences_within("最初の文。二番目の文はもっと長い", 9), "最初の文。 …");
    }

    #[test]
    fn a_list_says_how_many_it_leaves_out() {
        let long = "mast/".repeat(30);
        assert_eq!(names_with_rest(&["a.rs", "b.rs", "c.rs"], None), "a.rs, b.rs, c.rs");
        assert_eq!(names_with_rest(&["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"], None), "a.rs, b.rs, c.rs and 2 more");
        assert_eq!(names_with_rest(&["a.rs"], Some(2)), "a.rs and others");
        assert_eq!(names_with_rest(&[&long, &long, "c.rs"], None), format!("{long} and 2 more"));
        assert_eq!(names_with_rest(&[], Some(0)), "");
    }

    #[test]
    fn ends_of_a_text_are_cut_between_characters() {
        let check = |text, max, expected: (&str, &str)| assert_eq!((head(text, max), tail(text, max)), expected);
        check("日本", 6, ("日本", "日本"));
        check("日本", 5, ("日", "本"));
        check("日本", 2, ("", ""));
        check("", 3, ("", ""));
    }

    #[test]
    fn the_mark_of_the_filter_is_not_shown() {
        assert_eq!(without_filter_mark("git commit -m \"Fix …[+812 chars #0a1b2c3d]"), "git commit -m \"Fix…");
        assert_eq!(without_filter_mark("ls"), "ls");
    }
}
