//! Values that follow a sensitive name without a separator: in a call, a table cell or column, or an expression that
//! builds a text.

use std::ops::RangeInclusive;

use super::alphabet::{ALNUM, LOWER, UNDERSCORE, UPPER, floor, is, run_end, run_start};
use super::assignment::{self, Join, past_blanks};
use super::command_line::word;
use super::name::{self, NameKind};
use super::password::{is_password, looks_chosen};
use super::randomness::is_words;
use super::{Cut, MARK};

/// Longest row of a table, in bytes.
const MAX_ROW_BYTES: usize = 1_000;
/// Most rows of a table that are searched.
const MAX_ROWS: usize = 1_000;
/// Longest list of arguments, in bytes.
const MAX_CALL_BYTES: usize = 400;
/// Prefixes of functions that look a value up by name: their argument is not the value.
const READS: &[&str] = &[
    "get", "fetch", "read", "find", "load", "has", "is", "check", "valid", "hash", "ask", "prompt", "input", "require",
    "lookup", "resolve", "want", "expect", "label", "query", "select", "delete", "remove", "forgot", "reset", "show",
];

/// `setPassword("x")`, `.api_key('x')`: returns the argument of a function with a sensitive name. `end` is at its
/// opening bracket.
pub(super) fn call(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let open = end + 1;
    let slashes = bytes[open..].iter().take(3).take_while(|byte| **byte == b'\\').count();
    if bytes.get(end) != Some(&b'(') || !matches!(bytes.get(open + slashes), Some(b'"' | b'\'')) {
        return None;
    }
    let name = name::name_ending_at(text, end).filter(|name| matches!(name.kind, NameKind::Strong | NameKind::Weak))?;
    let function = &text[run_start(bytes, end, 64, ALNUM | UNDERSCORE)..end].to_ascii_lowercase();
    if READS.iter().any(|read| function.starts_with(read)) {
        return None;
    }
    let cut = assignment::secret_value(text, open, name, Join::Loose)?;
    let value = &text[cut.start..cut.end];
    // A secret that need not be remembered is random: `new AccessToken("lock&key")` is a sample.
    let drawn = name.spoken || value.bytes().any(|byte| byte.is_ascii_digit());
    (drawn && plausible(value)).then_some(cut)
}

/// `define('DB_PASSWORD', 'x')`, `put("password", "x")`: returns the second argument if the first is a sensitive name.
/// `end` is at the quote behind the name.
pub(super) fn argument(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let comma = end + bytes[end..].iter().take(4).take_while(|byte| matches!(byte, b'\\' | b'"' | b'\'')).count();
    // `"password" to "x"` in Kotlin.
    let pair = bytes[comma..].starts_with(b" to ");
    if comma == end || !(pair || bytes.get(comma) == Some(&b',')) {
        return None;
    }
    let value = past_blanks(bytes, comma + if pair { 4 } else { 1 });
    let slashes = bytes[value..].iter().take(3).take_while(|byte| **byte == b'\\').count();
    if !matches!(bytes.get(value + slashes), Some(b'"' | b'\'')) {
        return None;
    }
    let name = name::name_ending_at(text, comma)?;
    let opens = bytes[..name.start].iter().rev().take(8).find(|byte| !matches!(byte, b'"' | b'\'' | b'\\' | b' '));
    let cut = assignment::secret_value(text, value, name, Join::Loose)?;
    ((pair || opens == Some(&b'(')) && plausible(&text[cut.start..cut.end])).then_some(cut)
}

/// `<entry key="password">x</entry>`: returns the content of a tag that names it in an attribute. `end` is at the quote
/// behind the name.
pub(super) fn attribute(text: &str, end: usize) -> Option<Cut> {
    let inside = text[end..].strip_prefix(['"', '\''])?.strip_prefix('>')?;
    let start = text.len() - inside.len();
    let window = &inside[..floor(inside.as_bytes(), inside.len().min(MAX_CALL_BYTES))];
    let value = &window[..window.find("</")?];
    name::name_ending_at(text, end).filter(|name| name.kind == NameKind::Strong)?;
    let chosen = !value.contains(char::is_whitespace) && looks_chosen(value) && is_password(value);
    chosen.then_some(Cut { start, end: start + value.len(), kind: "secret" })
}

/// Like [`argument`], for a function that is known to take a name and a value. `open` is behind its bracket.
pub(super) fn named_argument(text: &str, open: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let (start, end) = word(text, open + bytes[open..].iter().take(4).take_while(|byte| **byte == b' ').count())?;
    if start == open || end - start > 64 {
        return None;
    }
    argument(text, end)
}

/// True if a quoted value is more than a word or a name.
fn plausible(value: &str) -> bool {
    looks_chosen(value) || (value.len() >= 16 && !is_words(value.as_bytes()))
}

/// `<td>Password</td><td>x</td>`: returns the content of the next cell. `end` is at the end of the first.
pub(super) fn cell(text: &str, end: usize) -> Option<Cut> {
    let rest = &text[end..floor(text.as_bytes(), text.len().min(end + 120))];
    let closed = rest.trim_start_matches([':', ' ']).strip_prefix("</")?;
    let opened = closed.split_once('>')?.1.trim_start();
    let inside =
        opened.strip_prefix('<')?.split_once('>').filter(|(tag, _)| tag.starts_with(['t', 'd', 'c', 's', 'b']))?.1;
    let start = end + (rest.len() - inside.len());
    let value = &inside[..inside.find('<')?];
    name::name_ending_at(text, end).filter(|name| name.kind == NameKind::Strong)?;
    let chosen = !value.contains(char::is_whitespace) && looks_chosen(value) && is_password(value);
    chosen.then_some(Cut { start, end: start + value.len(), kind: "secret" })
}

/// Returns the argument with index `number` of a call that takes a password there. `open` is behind its bracket.
pub(super) fn given(text: &str, open: usize, number: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &text[open..floor(bytes, bytes.len().min(open + MAX_CALL_BYTES))];
    let (mut depth, mut arguments, mut at) = (0_u32, 0, 0);
    while at < window.len() {
        match window.as_bytes()[at] {
            b'"' | b'\'' if arguments == number && depth <= 1 => {
                let (start, end) = word(text, open + at)?;
                let last = bytes.get(end + 1).is_some_and(|byte| matches!(byte, b',' | b')' | b'.' | b' ' | b'\n'));
                let value = &text[start..end];
                let cut = Cut { start, end, kind: "password" };
                return (last && looks_chosen(value) && is_password(value)).then_some(cut);
            }
            quote @ (b'"' | b'\'') => at += window[at + 1..].find(char::from(quote))? + 1,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return None,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => arguments += 1,
            b';' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the argument that PowerShell turns into a secure string. `end` is behind the announcing word.
pub(super) fn secure(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let line = &text[end..floor(bytes, bytes.len().min(end + 200))];
    let line = &line[..line.find(['\n', '|', ';']).unwrap_or(line.len())];
    let mut at = end;
    while at < end + line.len() {
        at += bytes[at..].iter().take_while(|byte| **byte == b' ').count();
        let (start, last) = word(text, at)?;
        if start >= end + line.len() {
            return None;
        }
        let content = &text[start..last];
        if !content.starts_with('-') {
            return (is_password(content) && !content.starts_with(['$', '(', ')', '[', ']', ','])).then_some(Cut {
                start,
                end: last,
                kind: "secret",
            });
        }
        at = last;
    }
    None
}

/// Returns the start and end of the line that contains `at`. `None` if it is too long.
fn line(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let first = at.saturating_sub(MAX_ROW_BYTES);
    let start = memchr::memrchr(b'\n', &bytes[first..at]).map(|end| first + end + 1).or((first == 0).then_some(0))?;
    let window = &bytes[at..bytes.len().min(at + MAX_ROW_BYTES)];
    let end = memchr::memchr(b'\n', window)
        .map(|end| at + end)
        .or((at + window.len() == bytes.len()).then_some(bytes.len()))?;
    Some((start, end))
}

/// Returns every password in the column under a sensitive heading, or in the cell next to a sensitive name, and the end
/// of the table. `end` is behind the name.
pub(super) fn columns(text: &str, end: usize) -> (Vec<Cut>, usize) {
    if !fills_cell(text.as_bytes(), end) {
        return (Vec::new(), end);
    }
    let Some((start, stop)) = line(text, end) else { return (Vec::new(), end) };
    let row = &text[start..stop];
    let separator = if row.trim_start().starts_with('|') {
        '|'
    } else {
        [',', ';', '\t'].into_iter().find(|c| row.contains(*c)).unwrap_or('\n')
    };
    let sensitive = headings(text, start, row, separator);
    let Some((column, _)) = sensitive.iter().find(|(_, cell)| cell.contains(&end)) else { return (Vec::new(), end) };
    let next = (stop + 1 < text.len()).then(|| line(text, stop + 1)).flatten().map(|(from, to)| &text[from..to]);
    let ruled = next.is_some_and(|next| next.contains("--") && next.bytes().all(|byte| b"|-: \r".contains(&byte)));
    if separator == '|' && !ruled {
        // `| DB_PASSWORD | x |`
        let value = cells(row, start, '|').nth(*column + 1).and_then(|(at, cell)| password(at, cell, true));
        return (value.into_iter().collect(), stop);
    }
    let heads = row.split(separator).count();
    let names = row.split(separator).all(|field| {
        field.bytes().all(|byte| is(byte, ALNUM | UNDERSCORE) || b" \"'-.\r".contains(&byte) || byte >= 0x80)
    });
    // A list has similar rows before it; a heading has a name in every column.
    let first = start
        .checked_sub(1)
        .and_then(|end| line(text, end))
        .is_none_or(|(from, to)| !text[from..to].contains(separator));
    let full = row.split(separator).all(|field| !field.trim().is_empty());
    if separator != '|' && !(names && first && full) {
        return (Vec::new(), end);
    }
    let mut last = stop;
    let mut cuts = Vec::new();
    let rows = cells(&text[stop..], stop, '\n').skip(if ruled { 2 } else { 1 }).take(MAX_ROWS);
    for (at, row) in rows {
        last = at + row.len();
        if row.len() > MAX_ROW_BYTES || row.split(separator).count() < heads.max(2) {
            break;
        }
        let fields: Vec<_> = cells(row, at, separator).collect();
        let held = sensitive.iter().filter_map(|(column, _)| fields.get(*column));
        cuts.extend(held.filter_map(|(at, cell)| password(*at, cell, false)));
    }
    (cuts, last)
}

/// True if a name that ends at `end` also ends its cell, apart from one more word and surrounding quotes. Most names in
/// a text do not, and then their lines need not be read.
fn fills_cell(bytes: &[u8], end: usize) -> bool {
    let past_around = |at: usize| {
        let around = |byte: &&u8| matches!(**byte, b' ' | b'"' | b'\'' | b'`' | b'*' | b'\\');
        at + bytes[at..].iter().take(MAX_ROW_BYTES).take_while(around).count()
    };
    let word = run_end(bytes, past_around(end), LOWER | UPPER);
    matches!(bytes.get(past_around(word)), None | Some(b'|' | b',' | b';' | b'\t' | b'\n' | b'\r'))
}

/// Returns the cells of a row, or the rows of a table, with the position of each. The first starts at `start`.
fn cells(row: &str, start: usize, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut from = start;
    row.split(separator).map(move |cell| {
        let at = from;
        from += cell.len() + separator.len_utf8();
        (at, cell)
    })
}

/// Returns the content of a cell that starts at `at`, stripped of the characters in `around`, and its position.
fn bare<'a>(at: usize, cell: &'a str, around: &[char]) -> (usize, &'a str) {
    let rest = cell.trim_start_matches(around);
    (at + (cell.len() - rest.len()), rest.trim_end_matches(around))
}

/// Returns the columns under sensitive names whose cells hold nothing else, with the position of each heading cell.
fn headings(text: &str, start: usize, row: &str, separator: char) -> Vec<(usize, RangeInclusive<usize>)> {
    if separator == '\n' {
        return Vec::new();
    }
    let sensitive = |(column, (at, cell)): (usize, (usize, &str))| {
        let (first, content) = bare(at, cell, &[' ', '"', '\'', '`', '*', '\r']);
        let name = name::name_ending_at(text, first + content.len()).filter(|name| name.kind == NameKind::Strong)?;
        let whole = name.start <= first || content.bytes().all(|byte| is(byte, ALNUM) || byte == b' ');
        whole.then(|| (column, at..=at + cell.len()))
    };
    cells(row, start, separator).enumerate().filter_map(sensitive).collect()
}

/// Returns the password in a cell that starts at `at`, without surrounding quotes and spaces.
fn password(at: usize, cell: &str, strict: bool) -> Option<Cut> {
    let (start, value) = bare(at, cell, &[' ', '"', '\'', '`', '*', '\r', '\t']);
    let likely = looks_chosen(value) || (!strict && value.len() >= 8 && !is_words(value.as_bytes()));
    let called = value.contains('(') && value.ends_with(')');
    let fits = !value.contains([' ', '/']) && !value.contains(MARK) && !called && likely && is_password(value);
    fits.then_some(Cut { start, end: start + value.len(), kind: "secret" })
}

/// Returns every value of the Kubernetes Secret whose `kind` line ends at `at`.
pub(super) fn cluster(text: &str, at: usize) -> Vec<Cut> {
    const KIND: &str = "kind: Secret\n";
    const MAX_BYTES: usize = 8_192;
    let bytes = text.as_bytes();
    let kind = at - KIND.len();
    let base = bytes[..kind].iter().rev().take(MAX_ROW_BYTES).take_while(|byte| matches!(byte, b' ' | b'-')).count();
    if !bytes[..kind - base].ends_with(b"\n") && kind > base {
        return Vec::new();
    }
    // The lines that belong to the object.
    let depth = |row: &str| row.len() - row.trim_start_matches([' ', '-']).len();
    let is_own =
        |row: &str| row.trim().is_empty() || (depth(row) >= base && !row.starts_with("---") && !row.starts_with("```"));
    let opens = |row: &str, key: &str| depth(row) == base && row.trim_start_matches([' ', '-']).starts_with(key);
    let first = floor(bytes, kind.saturating_sub(MAX_BYTES));
    let mut from = kind - base;
    for row in text[first..kind - base].split_inclusive('\n').rev() {
        if !is_own(row) || opens(row, "kind:") {
            break;
        }
        from -= row.len();
        // Objects start with this line, both as people write them and in alphabetical order.
        if opens(row, "apiVersion:") {
            break;
        }
    }
    let mut cuts = Vec::new();
    let mut inside = false;
    for (start, row) in cells(&text[from..floor(bytes, bytes.len().min(at + MAX_BYTES))], from, '\n') {
        if !is_own(row) || (start > kind && opens(row, "kind:")) {
            break;
        }
        if depth(row) == base && !row.trim().is_empty() {
            inside = opens(row, "data:") || opens(row, "stringData:");
        } else if let Some((_, value)) = row.split_once(": ").filter(|_| inside) {
            let value = value.trim_matches([' ', '"', '\'', '\r']);
            let first = start + row.rfind(value).unwrap_or(0);
            let fits = value.len() >= 4
                && !value.contains(MARK)
                && !value.contains("{{")
                && !value.starts_with(['|', '>', '$']);
            cuts.extend(fits.then_some(Cut { start: first, end: first + value.len(), kind: "secret" }));
        }
    }
    cuts
}

/// Returns the hexadecimal lines after the header of an Ansible vault.
pub(super) fn vault(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let head = end + memchr::memchr(b'\n', &bytes[end..bytes.len().min(end + 64)])?;
    let (mut last, mut first) = (head, None);
    loop {
        let line = last + bytes[last..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
        let run = super::alphabet::run_end(bytes, line, super::alphabet::HEX);
        if run - line < 8 || line == last {
            break;
        }
        first.get_or_insert(line);
        last = run;
    }
    first.map(|start| Cut { start, end: last, kind: "vault" })
}
