//! What Baton told an agent, recognised when it comes back in a transcript: whole, quoted, escaped, or broken.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::RECALL_OPEN;

/// How the `<` before a mark's name may be written: as it is, in HTML, in JSON, in JSON inside JSON.
const LESS: [&str; 4] = ["<", "&lt;", "u003c", "u003C"];
/// How the `>` behind it may be.
const GREATER: [&str; 6] = [">", "&gt;", "\\u003e", "\\u003E", "\\\\u003e", "\\\\u003E"];

/// A mark as it stands in a text.
struct Mark {
    at: Range<usize>,
    closes: bool,
}

/// The text without what Baton told: everything from an opening mark to the next closing one, or to the end. A closing mark
/// alone on its line, whose opening one was cut away, takes the paragraph with it that it ends. Marks are known also where
/// they are escaped, as in JSON; the signs of quotation before an opening one go with it.
pub fn without_recall(text: &str) -> Cow<'_, str> {
    let Some(mut mark) = next_mark(text, 0) else { return Cow::Borrowed(text) };
    let mut out = String::new();
    let mut from = 0;
    loop {
        if mark.closes {
            let before = &text[from..mark.at.start];
            if stands_alone(before) {
                out.push_str(without_last_paragraph(before));
            } else {
                // Somebody speaks of it.
                out.push_str(&text[from..mark.at.end]);
            }
            from = mark.at.end;
        } else {
            out.push_str(without_quotation_signs(&text[from..mark.at.start]));
            let Some(end) = close_after(text, mark.at.end) else { return Cow::Owned(out) };
            from = end;
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

/// Where the next closing mark ends.
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

/// Whether nothing but signs of quotation stands before, on the same line.
fn stands_alone(before: &str) -> bool {
    without_quotation_signs(before).trim_end_matches("\\n").len() < before.len() || line_is_empty(before)
}

fn line_is_empty(before: &str) -> bool {
    before.is_empty() || before.ends_with('\n')
}

/// The text without the blanks and `>` at the end that begin its last line.
fn without_quotation_signs(text: &str) -> &str {
    let line = text.rfind('\n').map_or(0, |end| end + 1);
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '>' | '|');
    if text[line..].chars().all(is_sign) && text[line..].contains(['>', '|']) { &text[..line] } else { text }
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
        check("a <baton-recall v=\"1\">old</baton-recall> b", "a  b");
        check("a<baton-recall>x</baton-recall>b<baton-recall>y</baton-recall >c", "abc");
        check("<baton-recall><baton-recall>x</baton-recall>b", "b");
        check("see:\n> <baton-recall k>\n> old\n> </baton-recall>\nwhat is it?", "see:\n\nwhat is it?");
        check(r#"{"c":"<baton-recall k=\"h\">\nold\n<\/baton-recall>"}"#, r#"{"c":""}"#);
        check(r#"{"c":"\u003cbaton-recall k\u003eold\u003c/baton-recall\u003e"}"#, r#"{"c":""}"#);
        check(r#""\\u003cbaton-recall\\u003eold\\u003C/baton-recall\\u003E z""#, r#"" z""#);
        check("<p>&lt;baton-recall&gt;old&lt;/baton-recall&gt;</p>", "<p></p>");
    }

    #[test]
    fn what_was_broken_is_cut_out_as_far_as_it_is_known() {
        check("a <baton-recall>never closed", "a ");
        check("<baton-recall kind=\"handoff\" ses", "");
        check("\u{2026}half of it\nOpen:\n- x\n</baton-recall>\nmy words", "\nmy words");
        check("my words\n\n\u{2026}half of it\n> - x\n> </baton-recall>\nmore", "my words\nmore");
        check("half \\n- x\\n</baton-recall>", "");
    }

    #[test]
    fn who_speaks_of_it_keeps_the_words() {
        check("why is `</baton-recall>` there?", "why is `</baton-recall>` there?");
        check("grep baton-recall src", "grep baton-recall src");
        check("the baton-recall/baton-recall crate", "the baton-recall/baton-recall crate");
        check("", "");
    }
}
