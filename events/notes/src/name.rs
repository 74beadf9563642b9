//! File names that are safe on every system to which a vault may be copied, and when two names collide.
//!
//! A name is chosen once, when its note is created, and kept. Windows and macOS distinguish fewer names than Linux:
//! they ignore case, the encoding of accents, and trailing dots or spaces. Obsidian cannot link to names with `# ^ [ ]
//! |`. [`key`] maps names that collide anywhere to one key; it may map more names together, which only costs a suffix.

use baton_redaction::redact;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

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

/// Makes a safe name from any text, without extension: `src/auth.rs` becomes `src-auth.rs`. Never empty.
pub fn safe_file_name(text: &str) -> String {
    let mut out = String::new();
    let mut between: Option<char> = None;
    for c in nfc().normalize(&redact(text)).chars() {
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
    for word in nfc().normalize(&redact(title)).to_lowercase().split(|c: char| !c.is_alphanumeric() && !is_mark(c)) {
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
pub fn free_name(base: &str, taken: impl Fn(&str) -> bool) -> String {
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
    let lower: String = name.chars().flat_map(char::to_lowercase).collect();
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&lower);
    let mut out = String::new();
    let mut chars = decomposed.chars().peekable();
    while let Some(c) = chars.next() {
        if is_mark(c) {
            continue;
        }
        let mut is_marked = false;
        while chars.next_if(|next| is_mark(*next)).is_some() {
            is_marked = true;
        }
        out.push(if is_marked { '?' } else { c });
    }
    let len = out.trim_end_matches(['.', ' ']).len();
    out.truncate(len);
    out
}

/// Composes letters and accents, as systems write either.
fn nfc() -> ComposingNormalizerBorrowed<'static> {
    ComposingNormalizerBorrowed::new_nfc()
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

/// Combining marks that belong to the preceding character.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}'
        | '\u{93c}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{3099}'..='\u{309a}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests;
