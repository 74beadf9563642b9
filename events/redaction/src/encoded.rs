//! Secrets in Base64-encoded text: an environment, a URL, a JSON object.

use super::alphabet::{ALNUM, HYPHEN, PLUS, UNDERSCORE, run_end};

/// Shortest run that is decoded, in characters.
const MIN_CHARS: usize = 20;
/// Longest run that is decoded, in characters; longer runs are data.
const MAX_CHARS: usize = 64 * 1024;
/// Length of the prefix that must decode to text before the rest is decoded, in characters.
const PROBE_CHARS: usize = 16;
/// Shortest encoded line that may continue on the next, in characters.
const MIN_LINE_CHARS: usize = 60;
/// Longest encoded line that may continue on the next, in characters.
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

/// A text decoded line by line.
#[derive(Default)]
struct Decoded {
    out: Vec<u8>,
    /// How many bytes of `out` are valid text.
    text: usize,
    /// Bits that were read but do not fill a byte yet, and their number.
    rest: (u32, u32),
}

impl Decoded {
    /// Decodes one more line. If it holds no text, returns `None` and leaves `self` unchanged.
    fn decode_line(&mut self, line: &[u8]) -> Option<()> {
        let (before, (mut bits, mut count)) = (self.out.len(), self.rest);
        for value in line.iter().filter_map(|byte| value(*byte)) {
            bits = bits << 6 | u32::from(value);
            count += 6;
            if count >= 8 {
                count -= 8;
                let [.., low] = (bits >> count).to_be_bytes();
                self.out.push(low);
            }
        }
        match std::str::from_utf8(&self.out[self.text..]) {
            Ok(text) => self.text += text.len(),
            // A character may continue on the next line.
            Err(wrong) if wrong.error_len().is_none() => self.text += wrong.valid_up_to(),
            Err(_) => {
                self.out.truncate(before);
                return None;
            }
        }
        self.rest = (bits, count);
        Some(())
    }

    fn into_text(mut self) -> String {
        self.out.truncate(self.text);
        String::from_utf8(self.out).unwrap_or_default().replace('\0', "\n")
    }
}

/// True if the first [`PROBE_CHARS`] characters decode to plain text.
fn is_text(bytes: &[u8]) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0);
    bytes.len() >= PROBE_CHARS
        && bytes[..PROBE_CHARS].chunks_exact(4).all(|four| {
            let bits = four.iter().try_fold(0_u32, |bits, byte| Some(bits << 6 | u32::from(value(*byte)?)));
            bits.is_some_and(|bits| bits.to_be_bytes()[1..].iter().all(|byte| plain(*byte)))
        })
}

/// Returns the end of the Base64 run that starts at `start`, and its text, if it decodes to text. The text is empty if
/// the run is too long. Lines beyond the longest text are treated as a run of their own.
pub(super) fn decode(text: &str, start: usize) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    if !is_text(&bytes[start..bytes.len().min(start + PROBE_CHARS)]) {
        return None;
    }
    let classes = ALNUM | PLUS | HYPHEN | UNDERSCORE;
    let mut end = run_end(bytes, start, classes);
    let length = end - start;
    if length < MIN_CHARS {
        return None;
    }
    if length > MAX_CHARS {
        return Some((end, String::new()));
    }
    let mut decoded = Decoded::default();
    decoded.decode_line(&bytes[start..end])?;
    // Lines of equal length, as `base64` writes them.
    while (MIN_LINE_CHARS..=MAX_LINE_CHARS).contains(&length) && end - start < MAX_CHARS {
        let line = end + bytes[end..].iter().take(40).take_while(|byte| byte.is_ascii_whitespace()).count();
        let next = run_end(bytes, line, classes);
        if line == end || next == line || next - line > length || decoded.decode_line(&bytes[line..next]).is_none() {
            break;
        }
        end = next;
        if next - line < length {
            break;
        }
    }
    Some((end, decoded.into_text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_text_is_read_and_other_data_is_not() {
        let decoded = |lines: &[&str]| {
            let mut decoded = Decoded::default();
            let accepted = lines.iter().map(|line| decoded.decode_line(line.as_bytes()).is_some()).collect::<Vec<_>>();
            (accepted, decoded.into_text())
        };
        assert_eq!(decoded(&["cGFzc3dvcmQ9aHVudGVyMg=="]), (vec![true], "password=hunter2".to_owned()));
        assert_eq!(decoded(&["cGFzc3dv", "cmQ9aHVudGVyMg"]), (vec![true; 2], "password=hunter2".to_owned()));
        assert_eq!(decoded(&["cGFzc3dv", "////", "cmQ9"]), (vec![true, false, true], "password=".to_owned()));
        assert_eq!(decoded(&["5a+G56", "CB"]), (vec![true; 2], "密码".to_owned()));
        assert!(is_text(b"cGFzc3dvcmQ9aHVudGVyMg==") && !is_text(b"iVBORw0KGgoAAAANSUhEUg"));
        assert_eq!(decode("x cGFzc3dvcmQ9aHVudGVyMg== y", 2), Some((26, "password=hunter2".to_owned())));
    }
}
