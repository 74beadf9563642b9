//! Mutations of bytes: flips, losses, doublings, moves, cuts, and inserted pieces that have surprised readers before.

use crate::dice::Dice;

/// Longest input, in bytes; longer ones are cut.
pub(crate) const LONGEST: usize = 32 * 1024;

const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\0",
    b"\0\0\0\0\0\0\0\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\xbd",
    b"\xf4\x90\x80\x80",
    b"\\ud83d",
    b"\\ude00",
    b"\\u",
    b"\\u00",
    b"\\",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"{}",
    b"[]",
    b"null",
    b"1e999",
    b"-",
    b"NaN",
    b"{\"type\":\"user\",",
    b"\"type\":\"assistant\",",
    b"\"message\":{\"content\":",
    b"\"message\":null,",
    b"\"content\":[",
    b"{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":",
    b"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Edit\",\"input\":",
    b"\"timestamp\":\"2026-03-14T09:26:53.589Z\"",
    b"<private>",
    b"</private>",
    b"<task-notification>",
    b"</task-notification>",
    b"<command-name>",
    b"<baton-recall",
    b"[redacted:",
    b"-----BEGIN RSA PRIVATE KEY-----",
    b"eyJhbGciOiJIUzI1NiJ9.",
    b"sk-ant-",
    b"password=",
    b"://a:b@",
    b"Authorization: Bearer ",
    b"curl -u admin:",
    b"key=",
    "ü".as_bytes(),
    "\u{2192}".as_bytes(),
    "语".as_bytes(),
    "😀".as_bytes(),
    "：".as_bytes(),
    "用 curl 来调用接口，密码是".as_bytes(),
    "пароль от базы данных: ".as_bytes(),
    "größer als 東京, über alle Maßen. ".as_bytes(),
];

/// Applies a few mutations.
pub(crate) fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..1 + dice.below(6) {
        once(dice, bytes, others);
    }
    bytes.truncate(LONGEST);
}

fn once(dice: &mut Dice, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = dice.below(bytes.len() + 1);
    let length = short(dice).min(bytes.len() - at);
    match dice.below(12) {
        0 | 1 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        2 if at < bytes.len() => bytes[at] = dice.roll().to_le_bytes()[0],
        3 => drop(bytes.drain(at..at + length)),
        4 => {
            let again = bytes[at..at + length].to_vec();
            let to = dice.below(bytes.len() + 1);
            bytes.splice(to..to, again);
        }
        5 => bytes.truncate(at),
        6 if !others.is_empty() => {
            let other = &others[dice.below(others.len())];
            let from = dice.below(other.len() + 1);
            let until = from + short(dice).min(other.len() - from);
            bytes.splice(at..at + length, other[from..until].iter().copied());
        }
        7 => {
            // Moves a structural character.
            let marks: Vec<usize> = (0..bytes.len()).filter(|at| b"{}[]\",:\\\n".contains(&bytes[*at])).collect();
            if let Some(mark) = marks.get(dice.below(marks.len())) {
                let byte = bytes.remove(*mark);
                let to = dice.below(bytes.len() + 1);
                bytes.insert(to, byte);
            }
        }
        8 => {
            let piece = PIECES[dice.below(PIECES.len())];
            let many = 1 + dice.below(3) * dice.below(300);
            bytes.splice(at..at, piece.iter().copied().cycle().take(piece.len() * many));
        }
        _ => {
            let piece = PIECES[dice.below(PIECES.len())];
            bytes.splice(at..at + length.min(2), piece.iter().copied());
        }
    }
}

/// Mostly a few bytes, sometimes many.
fn short(dice: &mut Dice) -> usize {
    let most = 1 << dice.below(11);
    1 + dice.below(most)
}
