//! Lower-case hex digits, as used in events and file names.

use std::fmt::Write;

/// Two digits per byte.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Decodes exactly `N` bytes; `None` for anything else. Accepts upper case too.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N * 2 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = byte_of(pair)?;
    }
    Some(bytes)
}

/// Decodes any number of bytes; `None` for anything but pairs of digits.
pub fn decode_all(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(byte_of).collect()
}

fn byte_of(pair: &[u8]) -> Option<u8> {
    let digit = |c: u8| char::from(c).to_digit(16);
    let [high, low] = *pair else { return None };
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
