//! Issues and tickets that a text names.

/// Capital words before a hyphen and a number that are standards, not trackers; sorted.
const STANDARDS: [&str; 34] = [
    "AES", "ANSI", "ASCII", "CVE", "CWE", "ECMA", "EN", "ES", "FIPS", "GPT", "H", "HTTP", "IEEE", "IPV", "ISO",
    "LATIN", "MD", "MIT", "MP", "MPEG", "PEP", "POSIX", "PR", "RFC", "RSA", "SHA", "SSE", "TLS", "UCS", "UTC", "UTF",
    "UUID", "X", "XP",
];

/// `#123` and `ABC-123`, in the order of the text; may repeat.
pub(super) fn issues(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let opens = at == 0 || opening(bytes[at - 1]);
        let end = match bytes[at] {
            b'#' if opens => numbered(bytes, at + 1),
            b'A'..=b'Z' if opens => ticket(text, at),
            _ => None,
        };
        match end {
            Some(end) => {
                found.push(&text[at..end]);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Whether a name may begin after this.
fn opening(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b'[' | b',' | b':' | b';' | b'/' | b'"' | b'\'' | b'`')
}

/// Where the one to six digits from `at` end, if a name may end there and they are no colour and no zero.
fn numbered(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + digits;
    let closes = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_'));
    // `1.5` goes on.
    let goes_on = bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    ((1..=6).contains(&digits) && bytes[at] != b'0' && closes && !goes_on).then_some(end)
}

fn ticket(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
    let dash = at + letters;
    let key = &text[at..dash];
    if !(2..=10).contains(&letters) || bytes.get(dash) != Some(&b'-') || STANDARDS.binary_search(&key).is_ok() {
        return None;
    }
    numbered(bytes, dash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_told_from_what_looks_like_them() {
        let check = |text: &str, found: &[&str]| assert_eq!(issues(text), found, "{text:?}");
        check("fix #12, (#7) and see SHOP-431: done", &["#12", "#7", "SHOP-431"]);
        check("colour #123abc, # 5, a#5, #0, #1234567, ##3", &[]);
        check("UTF-8 SHA-256 ISO-8601 RFC-3339 CVE-2024-1234 GPT-4", &[]);
        check("feature/ABC-9 and abc-9, A-1, ABC-1x, ABC-12.5, AB-12.", &["ABC-9", "AB-12"]);
        check("ünder #4 ✓ #5", &["#4", "#5"]);
        check("#", &[]);
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(STANDARDS.is_sorted());
    }
}
