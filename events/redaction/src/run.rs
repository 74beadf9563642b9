//! Long runs of credential characters: known prefixes, known formats, and text that only chance can have produced.
//!
//! No credential with a prefix is shorter than [`MIN_KEY_CHARS`], so the search probes blocks of that length: if a
//! block contains a character that credentials cannot contain, the search goes on behind it. Only runs that are long
//! enough are read byte by byte.

use super::alphabet::{ALNUM, DIGIT, HEX, HYPHEN, LOWER, PLUS, TOKEN, UPPER, class, is, run_end};
use super::randomness::{is_dense, is_random};
use super::{Cut, MIN_KEY_CHARS, Signs, encoded, key, name, shape, wallet};

/// Shortest text that is cut for its randomness alone, in characters.
const MIN_DENSE_CHARS: usize = 32;
/// Longest such text, in characters. Longer text is data (images, certificates, compressed files); a credential of that
/// length has a name, a prefix or a block around it.
const MAX_DENSE_CHARS: usize = 128;
/// How far before a random text a sensitive word may be, in bytes.
const MAX_WORD_BYTES: usize = 32;
/// How far into a run Base64 text that is assigned to a name may start, in bytes.
const MAX_ASSIGNED_BYTES: usize = 128;
/// Longest label before an id, in characters: `toolu_`, `chatcmpl-`.
const MAX_LABEL_CHARS: usize = 12;
/// Length of a line of encoded data, in characters: PEM has 64, MIME 76, OpenSSH 70.
const DATA_LINE_CHARS: std::ops::RangeInclusive<usize> = 56..=80;

/// State kept between calls, so that a text is searched once.
#[derive(Default)]
pub(super) struct Runs {
    /// End of the run searched last.
    end: usize,
    /// No credential of a known form starts in that run before this position.
    known_from: usize,
    /// The character classes of the run before that position.
    seen: u8,
    /// No JSON Web Token without a known header starts before this position.
    no_jwt_before: usize,
    /// All Base64 before this position has been decoded.
    decoded_before: usize,
}

impl Runs {
    /// Returns the first credential in a long run at or after `from`.
    pub(super) fn find(&mut self, text: &str, from: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            let start = self.next_start(bytes, at)?;
            if let Some(cut) = self.find_in_run(text, start) {
                return Some(cut);
            }
            at = self.end;
        }
    }

    /// Returns the start of the next run that is long enough.
    fn next_start(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        if from + MIN_KEY_CHARS <= self.end {
            return Some(from);
        }
        let mut start = from;
        loop {
            let probe = bytes.get(start..start + MIN_KEY_CHARS)?;
            match probe.iter().rposition(|byte| !is(*byte, TOKEN)) {
                Some(at) => start += at + 1,
                None => return Some(start),
            }
        }
    }

    /// Returns the first credential in the run that starts at `start`.
    fn find_in_run(&mut self, text: &str, start: usize) -> Option<Cut> {
        let bytes = text.as_bytes();
        let first = past_escape(bytes, start);
        let again = start < self.end;
        let (mut seen, mut word) = if again { (self.seen, first.max(self.known_from)) } else { (0, first) };
        let mut at = word;
        let mut known = None;
        loop {
            let classes = bytes.get(at).map_or(0, |byte| class(*byte));
            seen |= classes;
            if classes & ALNUM != 0 {
                at += 1;
                continue;
            }
            if at > word {
                known = key::find_at(text, word).or_else(|| shape::find_at(text, word, at, &mut self.no_jwt_before));
            }
            if known.is_some() || classes == 0 {
                break;
            }
            at += 1;
            word = at;
        }
        (self.known_from, self.seen) = (if known.is_some() { word } else { at }, seen);
        // A run is followed to its end only once, however much of it is cut.
        let end = if again { self.end } else { run_end(bytes, at, TOKEN) };
        self.end = end;
        // An apparent escape may be the start of a key: `C:\npm_…`.
        let known = known.or_else(|| if first > start { key::find_at(text, start) } else { None });
        let known = known.or_else(|| self.encoded_secret(text, first, end, seen));
        let before = known.map_or(end, |known| known.start);
        // Text without a digit or without a letter is not random.
        if seen & DIGIT == 0 || seen & (LOWER | UPPER) == 0 {
            return known;
        }
        let mixed = seen & UPPER != 0 && seen & LOWER != 0;
        pieces(bytes, first, end, before).find_map(|(start, end)| random_secret(text, start, end, mixed)).or(known)
    }

    /// Returns an encoded secret in a run: a secret in Base64, or an Ethereum key.
    fn encoded_secret(&mut self, text: &str, start: usize, end: usize, seen: u8) -> Option<Cut> {
        let bytes = text.as_bytes();
        let joined = seen & PLUS != 0;
        let window = &bytes[start..end.min(start + MAX_ASSIGNED_BYTES)];
        let assigned = joined.then(|| memchr::memchr(b'=', window)).flatten().map(|at| start + at + 1);
        for from in [Some(start), assigned].into_iter().flatten().filter(|from| end - from >= MIN_KEY_CHARS) {
            if bytes[from..].starts_with(b"0x") {
                return wallet::ethereum(text, from);
            }
            if seen & UPPER == 0 || seen & LOWER == 0 || from < self.decoded_before {
                continue;
            }
            if let Some((end, decoded)) = encoded::decode(text, from) {
                if super::run_pass(&decoded, Signs::new(&decoded)).is_some() {
                    return Some(Cut { start: from, end, kind: "encoded" });
                }
                self.decoded_before = end;
            }
        }
        None
    }
}

/// Returns the start of the text behind an escape whose last characters begin the run: `\n`, `\u003d`, `\x1b`, `%3D`,
/// or a colour `[32m`.
fn past_escape(bytes: &[u8], start: usize) -> usize {
    let hex = |count: usize| {
        let last = start + count;
        if bytes.len() >= last && bytes[start + count.min(1)..last].iter().all(|byte| is(*byte, HEX)) {
            last
        } else {
            start
        }
    };
    let Some(before) = start.checked_sub(1).map(|at| bytes[at]) else { return start };
    match (before, bytes[start]) {
        (b'\\', b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'a' | b'e' | b'0') => start + 1,
        (b'\\', b'u') => hex(5),
        (b'\\', b'x') => hex(3),
        (b'%', digit) if is(digit, HEX) => hex(2),
        (b'[' | b';', b'0'..=b'9') => {
            let last = run_end(bytes, start, DIGIT);
            if last - start <= 3 && bytes.get(last) == Some(&b'm') { last + 1 } else { start }
        }
        _ => start,
    }
}

/// Returns the parts of a run before `before` that may be one random text: the parts between `=` (padding included),
/// `.` and `~`.
fn pieces(bytes: &[u8], start: usize, end: usize, before: usize) -> impl Iterator<Item = (usize, usize)> {
    let window = &bytes[..end.min(before + 1)];
    let mut at = start;
    std::iter::from_fn(move || {
        while at < before {
            let first = at + window[at..].iter().take_while(|byte| !is(**byte, ALNUM)).count();
            let body =
                memchr::memchr3(b'=', b'.', b'~', &window[first..]).map_or(window.len(), |length| first + length);
            let padding = window[body..].iter().take(2).take_while(|byte| **byte == b'=').count();
            let ends = window.get(body + padding).is_none_or(|byte| !is(*byte, ALNUM));
            at = if ends { body + padding } else { body };
            if at > before || at == first {
                return None;
            }
            if body - first >= MIN_KEY_CHARS {
                return Some((first, at));
            }
        }
        None
    })
}

/// A random text after a sensitive word, or a long one by itself. `mixed` means that the run contains letters of both
/// cases.
fn random_secret(text: &str, start: usize, end: usize, mixed: bool) -> Option<Cut> {
    let bytes = text.as_bytes();
    let piece = &bytes[start..end];
    if end - start > MAX_DENSE_CHARS {
        return None;
    }
    let announced = is_announced(text, start, piece);
    let alone = !announced && mixed && end - start >= MIN_DENSE_CHARS && stands_alone(bytes, start, end);
    if !(announced || alone) || !is_random(piece) {
        return None;
    }
    if announced {
        return Some(Cut { start, end, kind: "secret" });
    }
    let data = || is_labelled(piece) || is_public(piece) || is_data(text, start, end) || is_named_data(bytes, start);
    (is_dense(piece) && !data()).then_some(Cut { start, end, kind: "high_entropy" })
}

/// True if the preceding words announce a secret: `the API key is …`, `password …`.
fn is_announced(text: &str, start: usize, piece: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let floor = start.saturating_sub(MAX_WORD_BYTES);
    let mut end = start;
    for _ in 0..3 {
        while end > floor && matches!(bytes[end - 1], b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'=' | b'*' | b'>') {
            end -= 1;
        }
        let word = &bytes[floor..end];
        let filler = [" is", " was", " to", " as", " ="].iter().find(|filler| word.ends_with(filler.as_bytes()));
        match filler {
            Some(filler) => end -= filler.len(),
            None => break,
        }
    }
    if end == start || end == floor {
        return false;
    }
    let uniform = piece.iter().all(|byte| is(*byte, HEX | HYPHEN));
    match name::name_ending_at(text, end).map(|name| name.kind) {
        Some(name::NameKind::Strong) => true,
        Some(name::NameKind::Weak | name::NameKind::Pass) => !uniform,
        _ => false,
    }
}

/// True if only whitespace, quotes, brackets or separators are on both sides.
fn stands_alone(bytes: &[u8], start: usize, end: usize) -> bool {
    let open = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'=');
    let close =
        |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b')' | b',' | b';' | b'\\');
    let end = end + usize::from(bytes.get(end) == Some(&b'.'));
    let before = start.checked_sub(1).is_none_or(|at| open(bytes[at]));
    before && bytes.get(end).is_none_or(|byte| close(*byte))
}

/// True if a text begins with a lowercase label, as ids do: `toolu_01…`, `chatcmpl-…`, `sha512-…`.
fn is_labelled(piece: &[u8]) -> bool {
    let end = piece.iter().position(|byte| matches!(byte, b'_' | b'-')).unwrap_or(0);
    let label = &piece[..end];
    (2..=MAX_LABEL_CHARS).contains(&label.len()) && !is_random(label) && label.iter().all(u8::is_ascii_alphanumeric)
}

/// True if a text is the beginning of something public: a public key, a certificate or an image; or a path.
fn is_public(piece: &[u8]) -> bool {
    let starts = ["AAAA", "MII", "/", "AQAB", "iVBOR", "R0lGOD", "/9j/", "UklGR", "PHN2Zy", "LS0t"];
    starts.iter().any(|start| piece.starts_with(start.as_bytes())) || is_path(piece)
}

/// True if a text reads as a path: words between slashes.
fn is_path(piece: &[u8]) -> bool {
    let wordy = |part: &[u8]| part.len() >= 3 && !is_random(part);
    piece.contains(&b'/') && piece.split(|byte| *byte == b'/').any(wordy) && !piece.contains(&b'+')
}

/// True if the text fills a line of encoded data, next to another such line.
fn is_data(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let lined = (start == 0 || bytes[start - 1].is_ascii_whitespace())
        && bytes.get(end).is_none_or(u8::is_ascii_whitespace)
        && DATA_LINE_CHARS.contains(&(end - start));
    let encoded = |line: &[u8]| {
        let line = line.trim_ascii();
        line.len() >= 16 && line.iter().all(|byte| is(*byte, ALNUM | PLUS))
    };
    let window = |from: usize, to: usize| &bytes[from..to];
    let next = window(end, bytes.len().min(end + 96)).split(|byte| *byte == b'\n').nth(1).is_some_and(encoded);
    let before = window(start.saturating_sub(96), start);
    let last = before.iter().rposition(|byte| *byte == b'\n');
    let previous = last.is_some_and(|at| before[..at].rsplit(|byte| *byte == b'\n').next().is_some_and(encoded));
    lined && (next || previous)
}

/// True if the value's name says that it is a checksum, an id or public.
fn is_named_data(bytes: &[u8], start: usize) -> bool {
    let mut end = start;
    while end > 0
        && start - end < 6
        && matches!(bytes[end - 1], b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'=' | b'\\')
    {
        end -= 1;
    }
    end < start && name::is_of_data(bytes, end)
}
