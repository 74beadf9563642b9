//! What was drawn by lot, and what a person wrote.

use super::alphabet::{ALNUM, DIGIT, HEX, LOWER, UPPER, is};

/// Longest word of a name that is made of words, in characters.
const MAX_WORD_CHARS: usize = 14;
/// Longest number in such a name, in digits.
const MAX_NUMBER_DIGITS: usize = 4;
/// Longest text that is judged, in bytes: what is said of its beginning is said of all.
const MAX_JUDGED_BYTES: usize = 256;
/// Entropy above which a text is not in any language, in bits for each character. English in Base64 has 4.2 at most, and
/// 32 characters drawn of 64 have 4.3 at least in 999 of 1,000 cases.
const MIN_BITS: f64 = 4.1;

/// Whether a text is words joined by `-` or `_`, as names of packages, of CSS classes and of settings are:
/// `learn-based-tool`, `container-id-1`.
pub(super) fn is_words(body: &[u8]) -> bool {
    body.split(|byte| matches!(byte, b'-' | b'_')).all(|word| {
        let number = word.len() <= MAX_NUMBER_DIGITS && word.iter().all(|byte| is(*byte, DIGIT));
        let rest = word.get(1..).unwrap_or_default();
        let lower = word.len() <= MAX_WORD_CHARS && rest.iter().all(|byte| is(*byte, LOWER));
        let upper = word.len() <= MAX_WORD_CHARS && word.iter().all(|byte| is(*byte, UPPER));
        number || upper || (lower && word.iter().all(|byte| is(*byte, LOWER | UPPER)))
    })
}

/// How often the class of characters changes from one to the next, and how often it could. The step from a capital to
/// a small letter does not count: words begin so.
fn turns(text: &[u8]) -> (usize, usize) {
    let class = |byte: u8| (is(byte, LOWER), is(byte, UPPER), is(byte, DIGIT));
    let text = &text[..text.len().min(MAX_JUDGED_BYTES)];
    let pairs = text.windows(2).filter(|pair| is(pair[0], ALNUM) && is(pair[1], ALNUM));
    pairs.fold((0, 0), |(turns, pairs), pair| {
        let turn = class(pair[0]) != class(pair[1]) && !(is(pair[0], UPPER) && is(pair[1], LOWER));
        (turns + usize::from(turn), pairs + 1)
    })
}

/// Whether letters and digits follow each other as only the lot lets them: `9f8e7d6c5b4a`, not `step-2-of-12`.
pub(super) fn is_random(text: &[u8]) -> bool {
    let (turns, pairs) = turns(text);
    let has = |class| text.iter().any(|byte| is(*byte, class));
    turns >= 3 && turns * 5 >= pairs && has(DIGIT) && has(LOWER | UPPER)
}

/// Whether a text of Base64 or of letters and digits can be nothing but random: small letters, capitals and digits
/// mixed, and no two alike more often than by chance.
pub(super) fn is_dense(text: &[u8]) -> bool {
    let (turns, pairs) = turns(text);
    let count = |class| text.iter().filter(|byte| is(**byte, class)).count();
    turns * 10 >= pairs * 3 && count(DIGIT) >= 3 && count(LOWER) >= 3 && count(UPPER) >= 3 && bits(text) >= MIN_BITS
}

/// Shannon's entropy, in bits for each character.
fn bits(text: &[u8]) -> f64 {
    let text = &text[..text.len().min(MAX_JUDGED_BYTES)];
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let part = |count: u32| f64::from(count) / length;
    counts.iter().filter(|count| **count > 0).map(|count| -part(*count) * part(*count).log2()).sum()
}

/// Whether a text is hexadecimal.
pub(super) fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is(*byte, HEX))
}

/// Whether these are a UUID as it is usually written.
pub(super) fn is_uuid(bytes: &[u8]) -> bool {
    let group = |part: &[u8], length| part.len() == length && is_hex(part);
    let mut groups = bytes.split(|byte| *byte == b'-');
    [8, 4, 4, 4, 12].iter().all(|length| groups.next().is_some_and(|part| group(part, *length)))
        && groups.next().is_none()
}
