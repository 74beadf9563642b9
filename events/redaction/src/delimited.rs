//! Secrets between two marks: private passages, key blocks, and user passwords on a command line.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::alphabet::{ALNUM, DIGIT, DOT, HYPHEN, PLUS, UNDERSCORE, floor, is, run_end, run_start};
use super::{Cut, MAX_PEM_BYTES};

/// Shortest Base64 run that is taken for part of a key even if it does not end its line, in characters. Lines of a
/// block have 64.
const SHORTEST_KEY_LINE: usize = 40;
/// Longest user name or host name, in bytes.
const MAX_USER_BYTES: usize = 64;
/// Longest password that is judged, in bytes.
const MAX_PASSWORD_BYTES: usize = 128;
/// Forms of a tag's opening bracket: plain, and as JSON and HTML may escape it.
const OPENS: &[&str] = &["<", "\\u003c", "\\u003C", "&lt;"];
/// Forms of its closing bracket.
const CLOSES: &[&str] = &[">", "\\u003e", "\\u003E", "&gt;"];
/// How far behind a tag's name its end may be, in bytes.
const MAX_TAG_BYTES: usize = 64;

/// Returns every passage marked private. Nested marks are closed one by one. An unclosed mark extends to the end of the
/// text. One that was never opened extends to the beginning: its other half was in an earlier text, or was mistyped.
pub(super) fn private(text: &str) -> Vec<Cut> {
    let bytes = text.as_bytes();
    let mut passages = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (at, tag) in tags(bytes) {
        match (depth, tag.closes) {
            (0, true) => {
                passages.clear();
                passages.push(Cut { start: 0, end: tag_end(bytes, tag.end), kind: "private" });
            }
            (1, true) => {
                depth = 0;
                passages.push(Cut { start, end: tag_end(bytes, tag.end), kind: "private" });
            }
            (_, true) => depth -= 1,
            (0, false) => (depth, start) = (1, at),
            (_, false) => depth += 1,
        }
    }
    if depth > 0 {
        passages.push(Cut { start, end: text.len(), kind: "private" });
    }
    passages
}

/// A `private` tag, up to the end of its name.
struct Tag {
    end: usize,
    closes: bool,
}

/// Returns every such tag with its position, in order.
fn tags(bytes: &[u8]) -> impl Iterator<Item = (usize, Tag)> {
    let mut plain = memchr::memchr_iter(b'<', bytes).filter_map(move |at| tag(bytes, at, 1)).peekable();
    let mut escaped = escaped(bytes).peekable();
    std::iter::from_fn(move || match (plain.peek(), escaped.peek()) {
        (Some((one, _)), Some((other, _))) if other < one => escaped.next(),
        (None, _) => escaped.next(),
        _ => plain.next(),
    })
}

/// Searchers for `<` as escaped by JSON and by HTML.
static ESCAPED: LazyLock<(Finder<'static>, Finder<'static>)> =
    LazyLock::new(|| (Finder::new("\\u003"), Finder::new("&lt;")));

/// Returns the tags whose bracket JSON or HTML escapes, in order.
fn escaped(bytes: &[u8]) -> impl Iterator<Item = (usize, Tag)> {
    let mut json = ESCAPED.0.find_iter(bytes).filter_map(move |at| tag(bytes, at, 6)).peekable();
    let mut html = ESCAPED.1.find_iter(bytes).filter_map(move |at| tag(bytes, at, 4)).peekable();
    std::iter::from_fn(move || match (json.peek(), html.peek()) {
        (Some((one, _)), Some((other, _))) if other < one => html.next(),
        (None, _) => html.next(),
        _ => json.next(),
    })
}

/// Returns the tag at `at` if its opening bracket takes `opening` bytes.
fn tag(bytes: &[u8], at: usize, opening: usize) -> Option<(usize, Tag)> {
    const NAME: &[u8] = b"private";
    let rest = bytes.get(at + opening..)?;
    if !matches!(rest.first()?, b'p' | b'P' | b'/' | b'\\') {
        return None;
    }
    if !OPENS.iter().any(|open| &bytes[at..at + opening] == open.as_bytes()) {
        return None;
    }
    let slash = [&b"/"[..], b"\\/"].iter().find(|slash| rest.starts_with(slash)).map_or(0, |slash| slash.len());
    let name = rest.get(slash..slash + NAME.len())?;
    let end = at + opening + slash + NAME.len();
    // `<private>` in backticks is only mentioned.
    let spoken = at > 0 && bytes[at - 1] == b'`' && bytes[tag_end(bytes, end)..].first() == Some(&b'`');
    let ended = bytes.get(end).is_none_or(|byte| *byte == b'/' || byte.is_ascii_whitespace())
        || CLOSES.iter().any(|close| bytes[end..].starts_with(close.as_bytes()));
    (name.eq_ignore_ascii_case(NAME) && ended && !spoken).then_some((at, Tag { end, closes: slash > 0 }))
}

/// Returns the end of the tag whose name ends at `at`.
fn tag_end(bytes: &[u8], at: usize) -> usize {
    let window = &bytes[at..bytes.len().min(at + MAX_TAG_BYTES)];
    let ends =
        CLOSES.iter().filter_map(|close| memmem::find(window, close.as_bytes()).map(|found| found + close.len()));
    ends.min().map_or(at, |length| at + length)
}

/// The position of the next `-----END …`, cached so that many openings search the text once.
#[derive(Default)]
pub(super) struct NextEnd(Option<Option<usize>>);

impl NextEnd {
    fn after(&mut self, text: &str, from: usize) -> Option<usize> {
        if let Some(known) = self.0
            && known.is_none_or(|at| at >= from)
        {
            return known;
        }
        // SSH blocks have four hyphens and a space.
        let bytes = &text.as_bytes()[from..];
        let usual = memmem::find(bytes, b"-----END ").map(|at| from + at);
        let other = memmem::find(bytes, b"---- END ").map(|at| from + at);
        let found = usual.into_iter().chain(other).min();
        self.0 = Some(found);
        found
    }
}

/// A private key block, complete or truncated. `end` is behind `BEGIN `.
pub(super) fn pem(text: &str, end: usize, next_end: &mut NextEnd) -> Option<Cut> {
    let bytes = text.as_bytes();
    let word = end - "BEGIN ".len();
    let dashes = run_start(bytes, word - usize::from(bytes[..word].ends_with(b" ")), 5, HYPHEN);
    let label_end = run_end(bytes, end, super::alphabet::UPPER | DIGIT);
    let label_end = label(bytes, label_end);
    if !text[end..label_end].contains("PRIVATE KEY") || !bytes[label_end..].starts_with(b"----") {
        return None;
    }
    let body = run_end(bytes, label_end, HYPHEN);
    let close = next_end.after(text, body).filter(|at| at - body <= MAX_PEM_BYTES);
    let end = match close {
        Some(at) => run_end(bytes, label(bytes, at + "-----END ".len()), HYPHEN),
        None => torn_block_end(text, body),
    };
    Some(Cut { start: dashes, end, kind: "private_key" })
}

/// Returns the end of a block's label: uppercase letters, digits and spaces.
fn label(bytes: &[u8], from: usize) -> usize {
    let part = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
    from + bytes[from..].iter().take(64).take_while(part).count()
}

/// Returns the end of what still looks like the body of a key: lines of Base64, after headers such as `Proc-Type:
/// 4,ENCRYPTED`, with the prefixes of a diff, a quotation or a numbered listing.
fn torn_block_end(text: &str, body: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = body;
    loop {
        let line = line_start(text, end);
        if ["Proc-Type:", "DEK-Info:", "Comment:", "Version:"].iter().any(|name| text[line..].starts_with(name)) {
            end = memchr::memchr(b'\n', &bytes[line..]).map_or(text.len(), |at| line + at);
            continue;
        }
        let mut run = line;
        loop {
            run = run_end(bytes, run, ALNUM | PLUS);
            // A line end as JSON writes it, escaped once or twice.
            let slashes = bytes[run..].iter().take(4).take_while(|byte| **byte == b'\\').count();
            if slashes == 0 {
                break;
            }
            run += slashes;
        }
        let ends_line = bytes.get(run).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        if run == line || !(ends_line || run - line >= SHORTEST_KEY_LINE) {
            return end;
        }
        end = run;
    }
}

/// Returns the start of a line's own text: past whitespace, line ends, and `+`, `-`, `>`, `|` or `12→`.
fn line_start(text: &str, from: usize) -> usize {
    let blanks =
        |from: usize| from + text.as_bytes()[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let line = blanks(from);
    if line == from {
        return line;
    }
    let number = run_end(text.as_bytes(), line, DIGIT);
    if let Some(mark) = ["→", "\t"].iter().find(|mark| text[number..].starts_with(**mark)) {
        return number + mark.len();
    }
    let marks = text.as_bytes()[line..].iter().take(2).take_while(|byte| matches!(byte, b'-' | b'>' | b'|')).count();
    blanks(line + marks)
}

/// The private lines of a PuTTY key, or its checksum. `from` is behind the field's colon.
pub(super) fn putty(text: &str, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let start = from + bytes[from..].iter().take(2).take_while(|byte| **byte == b' ').count();
    let mut end = run_end(bytes, start, DIGIT | super::alphabet::HEX);
    loop {
        let line = end
            + bytes[end..]
                .iter()
                .take(4)
                .take_while(|byte| matches!(byte, b'\r' | b'\n' | b'\\' | b'n' | b'r'))
                .count();
        let run = run_end(bytes, line, ALNUM | PLUS);
        if line == end || run - line < 2 || bytes.get(run) == Some(&b'-') || bytes.get(run) == Some(&b':') {
            break;
        }
        end = run;
    }
    (end > start).then_some(Cut { start, end, kind: "private_key" })
}

/// The password in `-u user:password`, at its colon, and in `user:password@tcp(host)`.
pub(super) fn user(text: &str, colon: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let start = run_start(bytes, colon, MAX_USER_BYTES, ALNUM | UNDERSCORE | HYPHEN | DOT);
    let apart = start.checked_sub(1).is_some_and(|at| b" \t\n\r\x0c\"'=".contains(&bytes[at]));
    let window = &bytes[colon + 1..bytes.len().min(colon + 1 + MAX_PASSWORD_BYTES)];
    if !apart && memchr::memchr(b'@', window).is_none() {
        return None;
    }
    let part = |byte: &&u8| {
        !byte.is_ascii_whitespace() && !matches!(**byte, b'"' | b'\'' | b'`' | b'<' | b'\\' | b'|' | b';' | b'&' | b')')
    };
    let end = floor(bytes, colon + 1 + window.iter().take_while(part).count());
    let password = &bytes[colon + 1..end];
    let network =
        |at: &usize| [&b"@tcp("[..], b"@unix(", b"@udp("].iter().any(|mark| password[*at..].starts_with(mark));
    if let Some(at) = memchr::memchr_iter(b'@', password).find(network) {
        let real = at > 0 && !matches!(password[0], b'$' | b'{' | b'%');
        return real.then_some(Cut { start: colon + 1, end: colon + 1 + at, kind: "password" });
    }
    if !apart {
        return None;
    }
    let before = bytes[start.saturating_sub(16)..start].trim_ascii_end();
    let before = before.strip_suffix(b"\"").or_else(|| before.strip_suffix(b"'")).unwrap_or(before);
    let before = before.trim_ascii_end().strip_suffix(b"=").unwrap_or(before).trim_ascii_end();
    let option =
        [&b" -u"[..], b"--user", b"--proxy-user", b" -U", b"-basic-auth"].iter().any(|option| before.ends_with(option));
    let asks = matches!(password.first(), None | Some(b'$' | b'{' | b'%' | b'*'));
    let number = password.iter().all(|byte| is(*byte, DIGIT));
    let same = password == &bytes[start..colon];
    // A password longer than the judged part is cut whole.
    let whole = || end + bytes[end..].iter().take_while(part).count();
    (option && !asks && !number && !same).then(|| Cut { start: colon + 1, end: whole(), kind: "password" })
}

/// The password in a `.pgpass` line, `host:port:database:user:password`, at its first colon.
pub(super) fn pgpass(text: &str, colon: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let port = colon + 1;
    let end = if bytes.get(port) == Some(&b'*') { port + 1 } else { run_end(bytes, port, DIGIT) };
    if !(matches!(end - port, 4 | 5) || bytes[port] == b'*') || bytes.get(end) != Some(&b':') {
        return None;
    }
    let host = bytes[..colon]
        .iter()
        .rev()
        .take(MAX_USER_BYTES)
        .take_while(|byte| is(**byte, ALNUM | HYPHEN | DOT) || **byte == b'*');
    let start = colon - host.count();
    let begins = start.checked_sub(1).is_none_or(|at| matches!(bytes[at], b'\n' | b'\t' | b' ' | b'\'' | b'"'));
    let window = &bytes[end + 1..bytes.len().min(end + 1 + 2 * MAX_PASSWORD_BYTES)];
    let line = window.split(|byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'')).next().unwrap_or_default();
    let mut fields = line.splitn(3, |byte| *byte == b':');
    let named = |field: Option<&[u8]>| {
        field.is_some_and(|field| {
            !field.is_empty() && !field.contains(&b' ') && !field.iter().all(|byte| is(*byte, DIGIT))
        })
    };
    if !begins || start == colon || !named(fields.next()) || !named(fields.next()) {
        return None;
    }
    let password = fields.next()?;
    // Request numbers have such parts.
    if password.iter().all(|byte| is(*byte, super::alphabet::HEX)) {
        return None;
    }
    let first = end + 1 + (line.len() - password.len());
    let value = std::str::from_utf8(password).ok()?;
    let plain =
        !value.contains([' ', ':']) && super::password::looks_chosen(value) && super::password::is_password(value);
    plain.then_some(Cut { start: first, end: first + value.len(), kind: "password" })
}
