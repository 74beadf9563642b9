//! Recognises text that Baton gave to an agent when it comes back in a transcript: whole, quoted, escaped or broken.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::RECALL_OPEN;

/// Forms of the `<` before a mark's name: literal, in HTML, in JSON, in JSON inside JSON.
const LESS: [&str; 4] = ["<", "&lt;", "u003c", "u003C"];
/// Forms of the `>` behind it.
const GREATER: [&str; 6] = [">", "&gt;", "\\u003e", "\\u003E", "\\\\u003e", "\\\\u003E"];

/// Forms of the quotes around an attribute's value, not counting backslashes.
const QUOTES: [&str; 4] = ["\"", "'", "&quot;", "&#34;"];
/// Longest tag after its name, in bytes.
const MAX_TAG_BYTES: usize = 256;
/// Kinds of the blocks that Baton writes.
const KINDS: [&str; 2] = ["handoff", "compaction"];
/// First words of a block after its tag: for an agent, and for a person who passes it to one.
const LEADS: [&str; 2] = ["From Baton's memory", "# Handoff: session "];
/// Text that an agent may write before a block on the same line.
const BEFORE: &str = "additional context:";

/// A mark in a text.
struct Mark {
    at: Range<usize>,
    closes: bool,
}

/// Removes everything that Baton gave: each block with an [`opening`] in Baton's form, up to its closing mark. A block
/// without a closing mark ends with its paragraph, if it begins with Baton's own words; so does one whose beginning was
/// cut off (`…`) and whose closing mark is alone on its line. Text that only mentions such marks stays. Escaped marks,
/// as in JSON, are recognised too; quotation signs before an opening mark are removed with it.
pub fn without_recall(text: &str) -> Cow<'_, str> {
    let Some(mut mark) = next_mark(text, 0) else { return Cow::Borrowed(text) };
    let mut out = String::new();
    let mut from = 0;
    // End of the next closing mark once it was searched for, so that many opening marks do not cause as many searches.
    let mut closing = None;
    loop {
        let before = &text[from..mark.at.start];
        let block = if mark.closes { None } else { block(text, &mark.at, &mut closing) };
        if let Some(end) = block {
            out.push_str(without_quotation_signs(before));
            from = end;
        } else {
            let rest = without_last_paragraph(before);
            let is_torn = mark.closes && stands_alone(before) && before[rest.len()..].trim_start().starts_with('…');
            out.push_str(if is_torn { rest } else { &text[from..mark.at.end] });
            from = mark.at.end;
        }
        match next_mark(text, from) {
            Some(next) => mark = next,
            None => {
                out.push_str(&text[from..]);
                return Cow::Owned(out);
            }
        }
    }
}

/// End of the block that this mark opens, if it is one of Baton's.
fn block(text: &str, mark: &Range<usize>, closing: &mut Option<Option<usize>>) -> Option<usize> {
    let tag_ends = opening(text, mark)?;
    let close = match *closing {
        Some(Some(end)) if end > tag_ends => Some(end),
        Some(None) => None,
        _ => *closing.insert(close_after(text, tag_ends)),
    };
    if close.is_some() {
        return close;
    }
    let behind = &text[tag_ends..];
    (behind.is_empty() || begins_as_told(behind)).then(|| paragraph_end(text, tag_ends))
}

/// True if the text after a tag begins with Baton's own words.
fn begins_as_told(behind: &str) -> bool {
    let lead = behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '|' | '\\'));
    let lead = lead.strip_prefix('n').filter(|_| behind.starts_with('\\')).unwrap_or(lead);
    LEADS.iter().any(|known| lead.starts_with(known))
}

/// End of the tag, if the mark opens one of Baton's blocks: it has a known kind, nothing follows on its line, and only
/// quotation signs stand before it unless Baton's own words follow. A tag that was cut off extends to the end.
fn opening(text: &str, mark: &Range<usize>) -> Option<usize> {
    let window = head_of(&text[mark.end..], MAX_TAG_BYTES);
    let value = window.trim_start().strip_prefix("kind=")?.trim_start_matches('\\');
    let value = QUOTES.iter().find_map(|quote| value.strip_prefix(quote))?;
    let kind = KINDS.iter().find_map(|kind| value.strip_prefix(kind))?.trim_start_matches('\\');
    if !QUOTES.iter().any(|quote| kind.starts_with(quote)) {
        return None;
    }
    let begins_line = begins_line(&text[..mark.start]);
    let Some(end) = GREATER.iter().filter_map(|sign| Some(window.find(sign)? + sign.len())).min() else {
        let is_cut_off = begins_line && window.len() == text.len() - mark.end && !window.contains('\n');
        return is_cut_off.then_some(text.len());
    };
    let behind = text[mark.end + end..].trim_start_matches([' ', '\t', '\r']);
    if !begins_line && !begins_as_told(behind) {
        return None;
    }
    let ends_line =
        behind.is_empty() || behind.starts_with('\n') || behind.trim_start_matches('\\').len() < behind.len();
    (ends_line && !window[..end].contains('\n')).then_some(mark.end + end)
}

/// The first bytes of a text, in whole characters.
fn head_of(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The last bytes of a text, in whole characters.
fn tail_of(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|start| text.is_char_boundary(*start));
    &text[start.unwrap_or(0)..]
}

/// True if only quotation signs, or an agent's introduction, stand before it on the same line or in the same JSON
/// string.
fn begins_line(before: &str) -> bool {
    let before = tail_of(before, MAX_TAG_BYTES);
    let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    let line = line.rfind("\\n").map_or(line, |end| &line[end + 2..]);
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '|'));
    line.is_empty() || line.ends_with('"') || line.ends_with(BEFORE)
}

/// End of the next closing mark.
fn close_after(text: &str, mut from: usize) -> Option<usize> {
    loop {
        let mark = next_mark(text, from)?;
        if mark.closes {
            return Some(mark.at.end);
        }
        from = mark.at.end;
    }
}

fn next_mark(text: &str, mut from: usize) -> Option<Mark> {
    let name = RECALL_OPEN.trim_start_matches('<');
    loop {
        let found = from + memmem::find(&text.as_bytes()[from..], name.as_bytes())?;
        let (before, behind) = (&text[from..found], &text[found + name.len()..]);
        let opened = before.strip_suffix('/').map(|before| before.trim_end_matches('\\'));
        let (before, closes) = opened.map_or((before, false), |before| (before, true));
        if let Some(sign) = LESS.iter().find(|sign| before.ends_with(*sign)) {
            let before =
                before[..before.len() - sign.len()].trim_end_matches(if sign.starts_with('u') { '\\' } else { '\0' });
            let start = from + before.len();
            let end = GREATER.iter().find(|sign| closes && behind.trim_start().starts_with(*sign));
            let blanks = behind.len() - behind.trim_start().len();
            let end = found + name.len() + end.map_or(0, |sign| blanks + sign.len());
            return Some(Mark { at: start..end, closes });
        }
        from = found + name.len();
    }
}

/// True if only quotation signs stand before it on the same line.
fn stands_alone(before: &str) -> bool {
    without_quotation_signs(before).trim_end_matches("\\n").len() < before.len() || line_is_empty(before)
}

fn line_is_empty(before: &str) -> bool {
    before.is_empty() || before.ends_with('\n')
}

/// The text without a last line that consists of quotation signs.
fn without_quotation_signs(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |end| end + 1);
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '>' | '|');
    if text[line..].chars().all(is_sign) && text[line..].contains(['>', '|']) { &text[..line] } else { text }
}

/// End of the paragraph at this offset.
fn paragraph_end(text: &str, from: usize) -> usize {
    let gaps = ["\n\n", "\r\n\r\n", "\\n\\n"];
    let end = gaps.iter().filter_map(|gap| text[from..].find(gap)).min();
    end.map_or(text.len(), |end| from + end)
}

fn without_last_paragraph(text: &str) -> &str {
    let gaps = ["\n\n", "\r\n\r\n", "\\n\\n"];
    gaps.iter().filter_map(|gap| text.rfind(gap)).max().map_or("", |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_recall(text), expected, "{text:?}");
    }

    #[test]
    fn what_was_told_is_cut_out_however_it_is_written() {
        check("a", "a");
        let own = "<baton-recall kind=\"handoff\" session=\"7acd37a8\">\nold\n</baton-recall>";
        check(own, "");
        check(&format!("a\n{own}\nb"), "a\n\nb");
        check(&format!("a\n  {own}b\n{own}c"), "a\n  b\nc");
        check(&format!("SessionStart hook additional context: {own}"), "SessionStart hook additional context: ");
        // Within a line, Baton's own words distinguish it from a mark that is only mentioned.
        let block = "<baton-recall kind=\"handoff\">\n> From Baton's memory: quoted.\n> x\n> </baton-recall>";
        check(&format!("what is this? {block} Tell me."), "what is this?  Tell me.");
        check("see:\n> <baton-recall kind=\"handoff\">\n> old\n> </baton-recall>\nwhat is it?", "see:\n\nwhat is it?");
        check(r#"{"c":"<baton-recall kind=\"handoff\">\nold\n<\/baton-recall>"}"#, r#"{"c":""}"#);
        check(r#"{"c":"\u003cbaton-recall kind=\"handoff\"\u003e\nold\u003c/baton-recall\u003e"}"#, r#"{"c":""}"#);
        check(r#""\\u003cbaton-recall kind=\\\"handoff\\\"\\u003e\\nold\\u003C/baton-recall\\u003E z""#, r#"" z""#);
        check("<p>\n&lt;baton-recall kind=&quot;handoff&quot;&gt;\nold&lt;/baton-recall&gt;</p>", "<p>\n</p>");
    }

    #[test]
    fn what_was_broken_is_cut_out_as_far_as_it_is_known() {
        let own = "<baton-recall kind=\"handoff\" session=\"7acd37a8\">\nFrom Baton's memory: quoted.\nGoal: x";
        check(&format!("a\n{own}"), "a\n");
        check(&format!("a\n{own}\n\nmy words"), "a\n\n\nmy words");
        check("> <baton-recall kind=\"handoff\">\n> # Handoff: session 7acd37a8\n> - x\n\nmy words", "\n\nmy words");
        check("<baton-recall kind=\"handoff\" ses", "");
        check("\u{2026}half of it\nOpen:\n- x\n</baton-recall>\nmy words", "\nmy words");
        check("my words\n\n\u{2026}half of it\n> - x\n> </baton-recall>\nmore", "my words\nmore");
    }

    #[test]
    fn who_speaks_of_it_keeps_the_words() {
        for text in [
            "why is `</baton-recall>` there?",
            "grep baton-recall src",
            "the baton-recall/baton-recall crate",
            "The tag <baton-recall is written by Baton. Please rename the harbour.",
            "What is <baton-recall>? And then: paint the lighthouse.",
            "What is `<baton-recall kind=\"handoff\" session=\"7acd37a8\">` good for? Paint the lighthouse.",
            "<baton-recall kind=\"handoff\"> is what I see at the start. Paint the lighthouse.",
            "<baton-recall kind=\"handoff\" session=\nis how it begins.\nPaint the lighthouse.",
            "Look at\n<baton-recall kind=\"foo\">\nand paint the lighthouse.",
            "Look at\n<baton-recall kind=\"foo\">\nand paint\n</baton-recall>\nthe lighthouse.",
            "Look at\n<baton-recall kind=\"handoff\">\nand paint the lighthouse.",
            "Explain what <baton-recall kind=\"handoff\">\nmeans and close with </baton-recall> please.",
            "```\n<baton-recall kind=\"handoff\">\n```\nPaint the lighthouse.",
            "<baton-recall n=\"1\">old</baton-recall> is no mark of ours.",
            "The output ends with\n</baton-recall>\nwhy? Paint the lighthouse.",
            "",
        ] {
            check(text, text);
        }
    }
}
