//! Secrets in texts that are held in Base64: an environment, a URL, a JSON object.

use super::alphabet::{ALNUM, HYPHEN, PLUS, UNDERSCORE, run_end};

/// Shortest run that is decoded, in characters.
const MIN_CHARS: usize = 20;
/// Longest run that is decoded, in characters; more is data.
const MAX_CHARS: usize = 64 * 1024;
/// How much must be text for the rest to be decoded, in characters.
const PROBE_CHARS: usize = 16;
/// Shortest line of encoded text that goes on in the next one, in characters.
const MIN_LINE_CHARS: usize = 60;
/// Longest such line, in characters.
const MAX_LINE_CHARS: usize = 76;

const fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// What Base64 holds; nothing if it holds no text.
fn decoded(bytes: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(bytes.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in bytes.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != b'=') {
        bits = bits << 6 | u32::from(value(*byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            let [.., low] = (bits >> held).to_be_bytes();
            out.push(low);
        }
    }
    String::from_utf8(out).ok()
}

/// Whether the first characters hold text.
fn is_text(bytes: &[u8]) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0);
    bytes.len() >= PROBE_CHARS
        && bytes[..PROBE_CHARS].chunks_exact(4).all(|four| {
            let bits = four.iter().try_fold(0_u32, |bits, byte| Some(bits << 6 | u32::from(value(*byte)?)));
            bits.is_some_and(|bits| bits.to_be_bytes()[1..].iter().all(|byte| plain(*byte)))
        })
}

/// The end of the run of Base64 that begins at `start`, if it holds a text, and the text.
pub(super) fn at(text: &str, start: usize) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    if !is_text(&bytes[start..bytes.len().min(start + PROBE_CHARS)]) {
        return None;
    }
    let classes = ALNUM | PLUS | HYPHEN | UNDERSCORE;
    let first = run_end(bytes, start, classes);
    let mut end = first;
    // Lines of one length, as `base64` writes them.
    while (MIN_LINE_CHARS..=MAX_LINE_CHARS).contains(&(first - start)) && end - start < MAX_CHARS {
        let line = end + bytes[end..].iter().take(40).take_while(|byte| byte.is_ascii_whitespace()).count();
        let next = run_end(bytes, line, classes);
        if line == end || next == line || next - line > first - start {
            break;
        }
        end = next;
        if next - line < first - start {
            break;
        }
    }
    if end - start < MIN_CHARS || end - start > MAX_CHARS {
        return None;
    }
    let whole = decoded(&bytes[start..end]).or_else(|| {
        end = first;
        decoded(&bytes[start..end])
    })?;
    Some((end, whole.replace('\0', "\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_text_is_read_and_other_data_is_not() {
        assert_eq!(decoded(b"cGFzc3dvcmQ9aHVudGVyMg==").as_deref(), Some("password=hunter2"));
        assert_eq!(decoded(b"cGFzc3dv\ncmQ9aHVudGVyMg").as_deref(), Some("password=hunter2"));
        assert!(is_text(b"cGFzc3dvcmQ9aHVudGVyMg==") && !is_text(b"iVBORw0KGgoAAAANSUhEUg"));
        assert_eq!(at("x cGFzc3dvcmQ9aHVudGVyMg== y", 2), Some((26, "password=hunter2".to_owned())));
    }
}
