//! Tells random text from text that a person wrote.
//!
//! # Decisions
//!
//! - Randomness is tested last. A text under 64 bytes of letters, digits and `_-./~` can only hide a run and is
//!   searched for nothing else; a text of up to 1 KiB is searched only by the finders whose trigger bytes it contains.

use super::alphabet::{DIGIT, HEX, LOWER, UPPER, is};

/// Longest word in a name made of words, in characters.
const MAX_WORD_CHARS: usize = 14;
/// Longest number in such a name, in digits.
const MAX_NUMBER_DIGITS: usize = 4;
/// Length of the prefix by which a text is judged, in bytes.
const MAX_JUDGED_BYTES: usize = 256;
/// Entropy above which a text is in no language, in tenths of a bit per character. English in Base64 has at most 4.2
/// bits; 32 random characters out of 64 have at least 4.3 in 999 of 1,000 cases.
const MIN_TENTH_BITS: u64 = 41;
/// Fraction bits of a fixed-point logarithm.
const FRACTION_BITS: u32 = 24;
/// `n * log2(n)` for every count in a judged text, with [`FRACTION_BITS`] fraction bits. Integers, because
/// floating-point logarithms differ between platforms in their last bits, and the result decides a content hash.
const COUNT_LOG2: [u64; MAX_JUDGED_BYTES + 1] = {
    let mut table = [0; MAX_JUDGED_BYTES + 1];
    let mut count = 1;
    while count < table.len() {
        table[count] = count as u64 * log2(count as u64);
        count += 1;
    }
    table
};

/// Returns the logarithm of a number below 2^32, with [`FRACTION_BITS`] fraction bits, rounded down.
const fn log2(number: u64) -> u64 {
    let whole = number.ilog2();
    // The number as 1.x with 31 fraction bits; squaring it doubles its logarithm.
    let mut square = number << (31 - whole);
    let mut log = whole as u64;
    let mut bit = 0;
    while bit < FRACTION_BITS {
        square = (square * square) >> 31;
        log <<= 1;
        if square >= 1 << 32 {
            square >>= 1;
            log |= 1;
        }
        bit += 1;
    }
    log
}

/// True if a text is words joined by `-` or `_`, like the names of packages, CSS classes and settings:
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

/// Counts of a text's character classes and of the changes between them.
struct Census {
    /// How often the character class changes from one character to the next. The step from an uppercase to a lowercase
    /// letter does not count, because words begin that way.
    turns: usize,
    /// How often it could have changed.
    pairs: usize,
    lower: usize,
    upper: usize,
    digits: usize,
}

/// Number of characters counted together: few enough that a byte holds the count.
const BLOCK: usize = 128;

impl Census {
    /// Written so that the compiler vectorises it.
    fn new(text: &[u8]) -> Self {
        let mut census = Self { turns: 0, pairs: 0, lower: 0, upper: 0, digits: 0 };
        // One bit each: lowercase, uppercase, digit.
        let mut classes = [0_u8; MAX_JUDGED_BYTES];
        let text = &text[..text.len().min(MAX_JUDGED_BYTES)];
        let classes = &mut classes[..text.len()];
        for (class, byte) in classes.iter_mut().zip(text) {
            let lower = u8::from(byte.wrapping_sub(b'a') < 26);
            let upper = u8::from(byte.wrapping_sub(b'A') < 26);
            let digit = u8::from(byte.wrapping_sub(b'0') < 10);
            *class = lower | upper << 1 | digit << 2;
        }
        for block in classes.chunks(BLOCK) {
            census.lower += usize::from(block.iter().map(|class| class & 1).sum::<u8>());
            census.upper += usize::from(block.iter().map(|class| class >> 1 & 1).sum::<u8>());
            census.digits += usize::from(block.iter().map(|class| class >> 2).sum::<u8>());
        }
        let next = classes.get(1..).unwrap_or_default();
        for (block, next) in classes.chunks(BLOCK).zip(next.chunks(BLOCK)) {
            let (mut turns, mut pairs) = (0_u8, 0_u8);
            for (one, other) in block.iter().zip(next) {
                let pair = u8::from(*one != 0) & u8::from(*other != 0);
                pairs += pair;
                turns += pair & u8::from(one != other) & u8::from((one | other << 4) != 0x12);
            }
            census.turns += usize::from(turns);
            census.pairs += usize::from(pairs);
        }
        census
    }
}

/// True if letters and digits alternate as only random text does: `9f8e7d6c5b4a`, not `step-2-of-12`.
pub(super) fn is_random(text: &[u8]) -> bool {
    let census = Census::new(text);
    let rest = || text.get(MAX_JUDGED_BYTES..).unwrap_or_default();
    let has = |count, class| count > 0 || rest().iter().any(|byte| is(*byte, class));
    census.turns >= 3
        && census.turns * 5 >= census.pairs
        && has(census.digits, DIGIT)
        && has(census.lower + census.upper, LOWER | UPPER)
}

/// True if a Base64 or alphanumeric text can only be random: lowercase, uppercase and digits mixed, with no more
/// repetition than chance allows. Judges only the first [`MAX_JUDGED_BYTES`]; callers pass no longer text.
pub(super) fn is_dense(text: &[u8]) -> bool {
    let census = Census::new(text);
    let mixed = census.digits >= 3 && census.lower >= 3 && census.upper >= 3;
    mixed && census.turns * 10 >= census.pairs * 3 && is_above_language(text)
}

/// True if the Shannon entropy of the text, `log2(n) - sum(count * log2(count)) / n`, is at least [`MIN_TENTH_BITS`].
fn is_above_language(text: &[u8]) -> bool {
    let text = &text[..text.len().min(MAX_JUDGED_BYTES)];
    let mut counts = [0_u16; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let repeated: u64 = counts.iter().map(|count| COUNT_LOG2[usize::from(*count)]).sum();
    let bits = COUNT_LOG2[text.len()] - repeated;
    bits * 10 >= (text.len() as u64 * MIN_TENTH_BITS) << FRACTION_BITS
}

/// True if a text is one mixed-case word in which a digit stands for a letter: `Vault0fTears`.
pub(super) fn is_respelled(text: &[u8]) -> bool {
    let has = |class| text.iter().any(|byte| is(*byte, class));
    // `k8s`, `log4j` and `Base64Url` contain digits for other reasons.
    let stands_in = |four: &[u8]| {
        let round = four[1] == b'0' && is(four[2], LOWER);
        is(four[0], LOWER | UPPER)
            && (round || (b"13457".contains(&four[1]) && four[2..].iter().all(|byte| is(*byte, LOWER))))
    };
    has(LOWER)
        && has(UPPER)
        && text.iter().all(|byte| is(*byte, LOWER | UPPER | DIGIT))
        && text.windows(4).any(stands_in)
}

/// True if a text is one capitalised word followed by three to eight digits: `Hunter2024`.
pub(super) fn is_numbered(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|byte| is(**byte, LOWER | UPPER)).count();
    let (word, digits) = text.split_at(letters);
    letters >= 4
        && is(word[0], UPPER)
        && word[1..].iter().all(|byte| is(*byte, LOWER))
        && (3..=8).contains(&digits.len())
        && digits.iter().all(|byte| is(*byte, DIGIT))
}

/// True if every byte is a hexadecimal digit.
pub(super) fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is(*byte, HEX))
}

/// True if the bytes are a UUID in its usual hyphenated form.
pub(super) fn is_uuid(bytes: &[u8]) -> bool {
    let group = |part: &[u8], length| part.len() == length && is_hex(part);
    let mut groups = bytes.split(|byte| *byte == b'-');
    [8, 4, 4, 4, 12].iter().all(|length| groups.next().is_some_and(|part| group(part, *length)))
        && groups.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_the_same_everywhere() {
        let one = 1 << FRACTION_BITS;
        // Rounded down, of 2^24: log2(3) = 1.5849625007…, log2(10) = 3.3219280948…
        assert_eq!([log2(1), log2(2), log2(256), log2(3), log2(10)], [0, one, 8 * one, 26_591_258, 55_732_705]);
        assert_eq!(COUNT_LOG2[..4], [0, 0, 2 * one, 3 * 26_591_258]);
    }

    #[test]
    fn a_digit_that_stands_for_a_letter_is_told_from_others() {
        let respelled = |word: &&&str| is_respelled(word.as_bytes());
        assert!(
            ["Vault0fTears", "M4ngoJuice", "P4payaMilk", "Gr4peFruit", "B4nanaSplit"]
                .iter()
                .all(|word| respelled(&word))
        );
        let others = ["Log4jAppender", "k8sSecret", "OAuth2Token", "Base64String", "i18nKey", "Sha1Sum", "token4you"];
        assert_eq!(others.iter().find(respelled), None);
    }

    #[test]
    fn entropy_is_judged_at_its_border() {
        // 17 distinct characters have 4.09 bits each, 18 have 4.17.
        let different = |count: u8| (b'a'..b'a' + count).collect::<Vec<_>>();
        assert!(!is_above_language(&different(17)) && is_above_language(&different(18)));
        assert!(!is_above_language(&different(17).repeat(7)) && is_above_language(&different(18).repeat(7)));
        assert!(is_above_language(&different(20).repeat(20)), "what is longer is judged by its beginning");
        assert!(!is_above_language(b"aaaa"));
    }
}
