//! File names that are safe on every system to which a vault may be copied, and when two names collide.
//!
//! A name is chosen once, when its note is created, and kept. Windows and macOS distinguish fewer names than Linux:
//! they ignore case, the encoding of accents, and trailing dots or spaces. Obsidian cannot link to names with `# ^ [ ]
//! |`. [`key`] maps names that collide anywhere to one key; it may map more names together, which only costs a suffix.

use baton_redaction::redact;

/// Maximum length of a name without suffix and extension, in bytes: file systems allow 255, Windows paths 260 in all.
pub const MAX_BYTES: usize = 80;
/// Maximum length of the topic in the name of a session's note, in bytes.
pub const MAX_TOPIC_BYTES: usize = 60;
/// Number of suffixes to try before a name is made from a hash.
const TRIES: u32 = 99_999;

/// Device names of Windows, reserved with any extension.
const RESERVED: [&str; 30] = [
    "aux", "clock$", "com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "conin$",
    "conout$", "lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn", "com¹",
    "com²", "com³",
];

/// Combining accents with letters and their composed forms, as systems write either.
const COMPOSED: [(char, &str, &str); 7] = [
    ('\u{300}', "aeiounAEIOUN", "àèìòùǹÀÈÌÒÙǸ"),
    ('\u{301}', "aeiouyncszAEIOUYNCSZ", "áéíóúýńćśźÁÉÍÓÚÝŃĆŚŹ"),
    ('\u{302}', "aeiouAEIOU", "âêîôûÂÊÎÔÛ"),
    ('\u{303}', "anoANO", "ãñõÃÑÕ"),
    ('\u{308}', "aeiouyAEIOUY", "äëïöüÿÄËÏÖÜŸ"),
    ('\u{30c}', "cdenrstzCDENRSTZ", "čďěňřšťžČĎĚŇŘŠŤŽ"),
    ('\u{327}', "csCS", "çşÇŞ"),
];

/// Makes a safe name from any text, without extension: `src/auth.rs` becomes `src-auth.rs`. Never empty.
pub fn safe(text: &str) -> String {
    let mut out = String::new();
    let mut between: Option<char> = None;
    for c in composed(&redact(text)).chars() {
        let keeps =
            c.is_alphanumeric() || is_mark(c) || matches!(c, '.' | '_' | '+' | '@' | ',' | '(' | ')' | '=' | '\'');
        match (keeps, c) {
            (true, c) => {
                out.extend(between.take().filter(|_| !out.is_empty()));
                out.push(c);
            }
            // A run of other characters becomes one dash, a run of spaces one space.
            (false, ' ') => between = between.or(Some(' ')),
            (false, _) => between = Some('-'),
        }
    }
    finished(out, MAX_BYTES)
}

/// Returns the topic in the name of a session's note: lower-case words joined by dashes. Empty if the title has no
/// words.
pub fn topic(title: &str) -> String {
    let mut out = String::new();
    for word in composed(&redact(title)).to_lowercase().split(|c: char| !c.is_alphanumeric() && !is_mark(c)) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() && out.len() + word.len() + 1 > MAX_TOPIC_BYTES {
            break;
        }
        if !out.is_empty() {
            out.push('-');
        }
        out.push_str(word);
    }
    cut(&mut out, MAX_TOPIC_BYTES);
    out
}

/// Returns the first of `base`, `base-2`, `base-3` … that is free. `taken` receives the [`key`] of each.
pub fn free(base: &str, taken: impl Fn(&str) -> bool) -> String {
    let fits = |name: &String| !taken(&key(name));
    let all = std::iter::once(base.to_owned()).chain((2..=TRIES).map(|number| format!("{base}-{number}")));
    let mut all = all.filter(fits);
    match all.next() {
        Some(name) => name,
        None => format!("{base}-{}", super::block::hash(base)),
    }
}

/// Returns a key that is equal for names that denote one file on some system. It is not itself a name.
pub fn key(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().flat_map(char::to_lowercase).flat_map(jamo).peekable();
    while let Some(c) = chars.next() {
        if is_mark(c) {
            continue;
        }
        let mut marked = is_accented(c);
        while chars.next_if(|next| is_mark(*next)).is_some() {
            marked = true;
        }
        out.push(if marked { '?' } else { c });
    }
    let len = out.trim_end_matches(['.', ' ']).len();
    out.truncate(len);
    out
}

/// Returns true if a name (one component of a path, with or without extension) is safe as it is.
pub fn is_safe(name: &str) -> bool {
    let barred = |c: char| {
        c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '#' | '^' | '[' | ']')
    };
    !name.is_empty()
        && name.len() <= 255
        && !name.contains(barred)
        && !name.starts_with([' ', '.'])
        && !name.ends_with([' ', '.'])
        && !is_reserved(name)
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    RESERVED.contains(&stem.as_str())
}

/// Makes the name valid: bounded, without characters that systems drop at the ends, and not a device name.
fn finished(mut name: String, max_bytes: usize) -> String {
    cut(&mut name, max_bytes);
    let mut name = name.trim_matches(['.', ' ', '-', ',']).to_owned();
    // A link to `README.md` would mean that file and not `README.md.md`.
    for extension in [".md", ".canvas", ".base"] {
        if name.to_lowercase().ends_with(extension) {
            let at = name.len() - extension.len();
            name.replace_range(at..=at, "-");
        }
    }
    match () {
        () if name.is_empty() => "unnamed".to_owned(),
        () if is_reserved(&name) => format!("{name}_").replacen('.', "-", 1),
        () => name,
    }
}

/// Cuts to `max_bytes` at a character boundary, and not between a letter and its accent.
fn cut(name: &mut String, max_bytes: usize) {
    if name.len() <= max_bytes {
        return;
    }
    let mut end = max_bytes;
    while end > 0 && (!name.is_char_boundary(end) || name[end..].starts_with(is_mark)) {
        end -= 1;
    }
    name.truncate(end);
    let kept = name.trim_end_matches(['-', ' ', '.']).len();
    name.truncate(kept);
}

/// Composes the most common letters and accents into one character.
fn composed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let pair = COMPOSED.iter().find(|(mark, ..)| *mark == c).and_then(|(_, plain, whole)| {
            let at = plain.chars().position(|letter| out.ends_with(letter))?;
            whole.chars().nth(at)
        });
        if let Some(whole) = pair {
            out.pop();
            out.push(whole);
        } else {
            out.push(c);
        }
    }
    out
}

/// Combining marks that belong to the preceding character.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}'
        | '\u{93c}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{3099}'..='\u{309a}' | '\u{fe20}'..='\u{fe2f}')
}

/// Characters that some systems write as a letter and an accent.
fn is_accented(c: char) -> bool {
    let latin = matches!(c, '\u{c0}'..='\u{17f}' | '\u{1cd}'..='\u{233}' | '\u{1e00}'..='\u{1eff}')
        && !matches!(c, 'æ' | 'ð' | 'ø' | 'þ' | 'ß' | 'đ' | 'ħ' | 'ı' | 'ł' | 'ŋ' | 'œ' | 'ŧ');
    let greek = matches!(c, '\u{385}'..='\u{390}' | '\u{3aa}'..='\u{3b0}' | '\u{3ca}'..='\u{3ce}' | '\u{3d3}'..='\u{3d4}' | '\u{1f00}'..='\u{1fff}');
    let cyrillic = matches!(c, 'й' | 'ё' | 'ї' | 'ў' | 'ѓ' | 'ќ' | 'ѐ' | 'ѝ' | '\u{476}'..='\u{477}' | '\u{4c1}'..='\u{4c2}' | '\u{4d0}'..='\u{4f9}');
    let kana = "がぎぐげござじずぜぞだぢづでどばびぶべぼぱぴぷぺぽゔゞガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポヴヷヸヹヺヾ";
    latin
        || greek
        || cyrillic
        || kana.contains(c)
        || matches!(c, '\u{958}'..='\u{95f}' | '\u{9dc}'..='\u{9df}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// Decomposes a Hangul syllable into its letters; other characters are returned as they are.
fn jamo(c: char) -> impl Iterator<Item = char> {
    let at = (c as u32).checked_sub(0xac00).filter(|at| *at < 11_172);
    let letters = match at {
        Some(at) => {
            let tail = at % 28;
            [Some(0x1100 + at / 588), Some(0x1161 + at % 588 / 28), (tail > 0).then_some(0x11a7 + tail)]
        }
        None => [Some(c as u32), None, None],
    };
    letters.into_iter().flatten().filter_map(char::from_u32)
}

#[cfg(test)]
mod tests;
