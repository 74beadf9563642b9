//! Repairs lines of a client for the library: an escaped lone surrogate, which agents write when they cut an emoji,
//! becomes a replacement character. Most parsers reject such a line as JSON, so it would never be answered.

/// Replaces each escaped lone surrogate by an escaped replacement character, in place: both have the same length.
pub(super) fn replace_lone(line: &mut [u8]) {
    let mut at = 0;
    while at < line.len() {
        if line[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(line, at), surrogate(line, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(_), _) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            // Another escape: skip the byte after the backslash.
            (None, _) => at += 2,
        }
    }
}

/// Returns the surrogate escaped at `at`.
fn surrogate(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdfff).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let mut replaced = line.as_bytes().to_vec();
        replace_lone(&mut replaced);
        assert_eq!(String::from_utf8(replaced).unwrap(), expected, "{line}");
    }

    #[test]
    fn halves_are_replaced_and_nothing_else() {
        check(r#"{"a":"cut \ud83d"}"#, r#"{"a":"cut \ufffd"}"#);
        check(r#""\ude00 \ud83d\ude00 \uD83D\uD83D\uDE00""#, r#""\ufffd \ud83d\ude00 \ufffd\uD83D\uDE00""#);
        check(r#""\\ud83d \u00e9 \n \"""#, r#""\\ud83d \u00e9 \n \"""#);
        for cut in [r"\", r"\u", r"\ud8", r"\ud83d", r"\ud83d\u", r"\ud83d\ude0", r"\ud83d\u+e00"] {
            let expected = if cut.len() >= 6 { cut.replacen("d83d", "fffd", 1) } else { cut.to_owned() };
            check(cut, &expected);
        }
    }
}
