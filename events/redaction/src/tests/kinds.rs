//! Kinds of secrets as they occur, each with several values, and texts that only look like secrets. One test counts
//! both.

use super::*;

mod commands;
mod files;
mod lookalikes;
mod once;
mod words;

/// The name of a kind, and a text of it. The text contains, for its secret,
///
/// - `¶` a chosen password, `◐` and `◑` its two halves;
/// - `§` 40 random letters and digits, `¤` 64 random hexadecimal digits;
/// - `♣` twelve words of a wallet, `♧` the same, numbered on separate lines.
///
/// `⟦…⟧` encodes its content in Base64, `⟪…⟫` in percent escapes, `⦃…⦄` in JSON escapes.
type Row = (&'static str, &'static str);

/// Chosen passwords. A kind counts only if every one of them is cut.
const CHOSEN: &[&str] = &["kW8xyzq7Lm2p", "tr0ub4dor3", "Herbst-2024.x", "Zq7xLm2pRt"];
const DRAWN: &str = "qT7xB2mK9pV4nL6wR8sY3cF5hJ1dG0zA7uE4iO2k";
const HEX: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
const PHRASE: &str = "cradle brick apple delta mango river stone cactus velvet orbit puzzle tunnel";

/// The share of kinds that must be cut, in percent.
const LEAST_PERCENT: usize = 95;

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        let letter = |at: usize| match at <= three.len() {
            true => char::from(LETTERS[bits >> (18 - 6 * at) & 63]),
            false => '=',
        };
        [letter(0), letter(1), letter(2), letter(3)]
    };
    bytes.chunks(3).flat_map(group).collect()
}

fn percent(text: &str) -> String {
    let part = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(part).collect()
}

fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

/// Encodes what is between two marks.
fn rewritten(text: String, open: char, close: char, write: impl Fn(&str) -> String) -> String {
    match text.split_once(open).and_then(|(before, rest)| Some((before, rest.split_once(close)?))) {
        Some((before, (inside, after))) => {
            format!("{before}{}{}", write(inside), rewritten(after.to_owned(), open, close, write))
        }
        None => text,
    }
}

/// The text of a row with a value in its place.
fn filled(text: &str, chosen: &str) -> String {
    let (left, right) = chosen.split_at(chosen.len() / 2);
    let numbered: Vec<String> = PHRASE.split(' ').enumerate().map(|(at, word)| format!("{}. {word}", at + 1)).collect();
    let marks = [
        ("¶", chosen),
        ("◐", left),
        ("◑", right),
        ("§", DRAWN),
        ("¤", HEX),
        ("♣", PHRASE),
        ("♧", &numbered.join("\n")),
    ];
    let text = marks.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value));
    let text = rewritten(text, '⟦', '⟧', |inside| base64(inside.as_bytes()));
    let text = rewritten(text, '⟪', '⟫', percent);
    rewritten(text, '⦃', '⦄', escaped)
}

fn all() -> Vec<Row> {
    [commands::COMMANDS, commands::MORE_COMMANDS, files::FILES, files::MORE_FILES, words::WORDS, words::MORE_WORDS]
        .concat()
}

/// A text of every kind.
pub(super) fn texts() -> Vec<String> {
    all().iter().map(|(_, text)| filled(text, CHOSEN[0])).collect()
}

/// The text before and after the secrets of every kind.
pub(super) fn around_secrets() -> Vec<(String, String)> {
    let around = |(_, text): &Row| {
        let (before, after) = text.split_once(['¶', '◐', '§', '¤', '♣', '♧'])?;
        Some((filled(before, ""), filled(after, CHOSEN[0])))
    };
    all().iter().filter_map(around).collect()
}

/// Describes which part of the row's secret is still readable after redaction.
fn leak(text: &str, chosen: &str) -> Option<String> {
    let whole = filled(text, chosen);
    let clean = redact(&whole).into_owned();
    let (left, right) = chosen.split_at(chosen.len() / 2);
    let words: Vec<&str> = PHRASE.split(' ').collect();
    let inside = |mark: char| text.contains(mark);
    let mut parts: Vec<String> = Vec::new();
    if inside('¶') || inside('◐') {
        parts.extend([left.to_owned(), right.to_owned()]);
    }
    parts.extend(inside('§').then(|| DRAWN[..DRAWN.len() / 2].to_owned()));
    parts.extend(inside('§').then(|| DRAWN[DRAWN.len() / 2..].to_owned()));
    parts.extend(inside('¤').then(|| HEX[HEX.len() / 2..].to_owned()));
    parts.extend((inside('♣') || inside('♧')).then(|| words[6].to_owned()));
    // What was encoded must not remain in encoded form either.
    let coded = |part: &String| {
        let mut forms = vec![part.clone(), percent(part), escaped(part)];
        if inside('⟦') {
            forms = vec![part.clone()];
            forms.extend(
                whole
                    .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
                    .filter(|run| run.len() >= 12 && text.find(run).is_none())
                    .map(str::to_owned),
            );
        }
        forms
    };
    let left_over = parts.iter().flat_map(coded).any(|form| clean.contains(&form));
    let settled = redact(&clean) == clean;
    (left_over || !settled).then(|| format!("{whole:?}\n      became {clean:?}"))
}

/// The kinds of which a value is still readable.
fn missed(rows: &[Row]) -> Vec<String> {
    let miss = |(kind, text): &Row| {
        let left = CHOSEN.iter().find_map(|chosen| leak(text, chosen))?;
        Some(format!("  {kind}: {left}"))
    };
    rows.iter().filter_map(miss).collect()
}

#[test]
fn rare_kinds_go_and_lookalikes_stay() {
    let asked = [commands::COMMANDS, files::FILES, words::WORDS].concat();
    let added = [commands::MORE_COMMANDS, files::MORE_FILES, words::MORE_WORDS].concat();
    assert!(asked.len() >= 190 && added.len() >= 60 && lookalikes::LOOKALIKES.len() >= 150);
    let mut failed = false;
    let mut say = String::new();
    for (name, rows) in [("asked for", &asked), ("added", &added)] {
        let missed = missed(rows);
        failed |= missed.len() * 100 > rows.len() * (100 - LEAST_PERCENT);
        say += &format!("of {} kinds {name}, {} are missed\n{}\n", rows.len(), missed.len(), missed.join("\n"));
    }
    let redacted: Vec<String> = lookalikes::LOOKALIKES
        .iter()
        .filter(|text| matches!(redact(text), Cow::Owned(_)))
        .map(|text| format!("  {text:?}\n      became {:?}", redact(text)))
        .collect();
    failed |= !redacted.is_empty();
    say += &format!(
        "of {} look-alikes, {} are redacted\n{}\n",
        lookalikes::LOOKALIKES.len(),
        redacted.len(),
        redacted.join("\n")
    );
    let known = lookalikes::TAKEN.iter().filter(|text| matches!(redact(text), Cow::Owned(_))).count();
    say += &format!("of {} known look-alikes, {known} are redacted\n", lookalikes::TAKEN.len());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), say.as_bytes());
    assert!(!failed, "{say}");
}

#[test]
fn what_passed_once_goes() {
    let kept = |text: &&&str| {
        let whole = text.replace(['‹', '›'], "");
        let clean = redact(&whole).into_owned();
        let secrets = text.split('‹').skip(1).filter_map(|rest| rest.split_once('›'));
        let left = secrets.map(|(secret, _)| secret).any(|secret| {
            let middle = secret.char_indices().nth(secret.chars().count() / 2).map_or(0, |(at, _)| at);
            clean.contains(&secret[..middle]) || clean.contains(&secret[middle..])
        });
        (left || redact(&clean) != clean).then(|| format!("  {whole:?}\n      became {clean:?}"))
    };
    let kept: Vec<String> = once::PASSED.iter().filter_map(|text| kept(&text)).collect();
    assert!(kept.is_empty(), "{} are kept:\n{}", kept.len(), kept.join("\n"));
}
