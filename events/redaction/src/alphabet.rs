//! Character classes of bytes, one bit each, and runs of bytes of given classes.

/// `a` to `z`.
pub(super) const LOWER: u8 = 1;
/// `A` to `Z`.
pub(super) const UPPER: u8 = 2;
/// `0` to `9`.
pub(super) const DIGIT: u8 = 4;
/// `_`.
pub(super) const UNDERSCORE: u8 = 8;
/// `-`.
pub(super) const HYPHEN: u8 = 16;
/// `.` and `~`.
pub(super) const DOT: u8 = 32;
/// The characters of Base64 besides letters and digits: `+`, `/`, `=`.
pub(super) const PLUS: u8 = 64;
/// Digits, and `a` to `f` in either case.
pub(super) const HEX: u8 = 128;
/// ASCII letters and digits.
pub(super) const ALNUM: u8 = LOWER | UPPER | DIGIT;
/// Every character that a credential may contain.
pub(super) const TOKEN: u8 = ALNUM | UNDERSCORE | HYPHEN | DOT | PLUS;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'f' => LOWER | HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'F' => UPPER | HEX,
            b'G'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT | HEX,
            b'_' => UNDERSCORE,
            b'-' => HYPHEN,
            b'.' | b'~' => DOT,
            b'+' | b'/' | b'=' => PLUS,
            _ => 0,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// Returns the classes of a byte.
pub(super) const fn class(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

/// True if the byte belongs to one of the classes.
pub(super) const fn is(byte: u8, classes: u8) -> bool {
    class(byte) & classes != 0
}

/// True if the byte may announce or join something other than a long run of [`TOKEN`]: everything but letters, digits
/// and the characters that join words and paths.
pub(super) const fn is_sign(byte: u8) -> bool {
    !is(byte, ALNUM | UNDERSCORE | HYPHEN | DOT) && byte != b'/'
}

/// Returns the end of the longest run of bytes of these classes that starts at `from`.
pub(super) fn run_end(bytes: &[u8], from: usize, classes: u8) -> usize {
    from + bytes[from..].iter().take_while(|byte| is(**byte, classes)).count()
}

/// Returns the start of the longest run of bytes of these classes that ends at `end`, at most `most` bytes long.
pub(super) fn run_start(bytes: &[u8], end: usize, most: usize, classes: u8) -> usize {
    end - bytes[..end].iter().rev().take(most).take_while(|byte| is(**byte, classes)).count()
}

/// Returns the last character boundary at or before `at`. Every limit counted in bytes is rounded down with it.
pub(super) fn floor(bytes: &[u8], at: usize) -> usize {
    let continues = |byte: &u8| *byte & 0xC0 == 0x80;
    if bytes.get(at).is_none_or(|byte| !continues(byte)) {
        return at;
    }
    at - 1 - bytes[..at].iter().rev().take(2).take_while(|byte| continues(byte)).count()
}
