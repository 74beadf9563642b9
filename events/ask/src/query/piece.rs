//! Splits a text into pieces at white space, keeping quoted text together.

/// Maximum length of a filter's name, in bytes.
const NAME_BYTES: usize = 20;
/// Opening quotes, each with its closing quote.
const QUOTES: [(char, char); 3] = [('"', '"'), ('“', '”'), ('„', '“')];

/// One piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The whole piece as written.
    pub(super) raw: &'a str,
    /// True if a single dash precedes it.
    pub(super) minus: bool,
    /// The name before a colon, letters only.
    pub(super) field: Option<&'a str>,
    /// The rest: after dash and colon, between the quotes.
    pub(super) text: &'a str,
    /// True if it is quoted.
    pub(super) quoted: bool,
}

/// Returns the pieces in order. Dashes, names and quotes count only at the beginning of a piece; inside a word they are
/// part of it. A quote without a closing one is an ordinary character.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    // A quote without a closing one from here on has none later either.
    let mut hopeless = [false; QUOTES.len()];
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let piece = first_piece(rest, &mut hopeless);
        rest = &rest[piece.raw.len()..];
        Some(piece)
    })
}

/// Returns the piece that `text` begins with.
fn first_piece<'a>(text: &'a str, hopeless: &mut [bool; QUOTES.len()]) -> Piece<'a> {
    let word = &text[..text.find(char::is_whitespace).unwrap_or(text.len())];
    let minus = word.starts_with('-') && !word.starts_with("--") && word.len() > 1;
    let behind_dash = usize::from(minus);
    let field = filter_name(&word[behind_dash..]);
    let at = behind_dash + field.map_or(0, |name| name.len() + 1);
    if let Some((inside, end)) = quoted(text, at, hopeless) {
        return Piece { raw: &text[..end], minus, field, text: inside, quoted: true };
    }
    Piece { raw: word, minus, field, text: &word[at..], quoted: false }
}

/// Returns the letters before a colon if something follows it.
fn filter_name(word: &str) -> Option<&str> {
    let (name, value) = word.split_once(':')?;
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_name && !value.is_empty()).then_some(name)
}

/// Returns the quoted text at byte `at` and the end of the piece, which must not be followed by a letter or digit.
fn quoted<'a>(text: &'a str, at: usize, hopeless: &mut [bool; QUOTES.len()]) -> Option<(&'a str, usize)> {
    let opening = text[at..].chars().next()?;
    for ((open, close), hopeless) in QUOTES.into_iter().zip(hopeless) {
        if opening != open || *hopeless {
            continue;
        }
        let from = at + open.len_utf8();
        let Some(length) = text[from..].find(close) else {
            *hopeless = true;
            continue;
        };
        let (inside, end) = (&text[from..from + length], from + length + close.len_utf8());
        let ends = text[end..].chars().next().is_none_or(|next| !next.is_alphanumeric());
        return (ends && !inside.trim().is_empty()).then(|| (inside.trim(), end));
    }
    None
}
