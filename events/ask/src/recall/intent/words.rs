//! The words of a text.

use baton_words::language::is_wide;

/// Minimum length of the common prefix of two forms of a word.
const STEM_CHARS: usize = 5;

/// Returns the runs of letters and digits in lower case; for scripts without spaces, each pair of neighbours.
pub(in super::super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_owned()));
    words
}

/// Passes each word to `take`.
pub(super) fn each_word(text: &str, take: &mut impl FnMut(&str)) {
    let mut lowered = String::new();
    for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        if part.is_ascii() {
            lowered.clear();
            lowered.push_str(part);
            lowered.make_ascii_lowercase();
            take(&lowered);
            continue;
        }
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let wide = is_wide(first);
            let end = rest.find(|c| is_wide(c) != wide).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            let chars: Vec<char> = run.chars().collect();
            match wide && chars.len() > 2 {
                true => chars.windows(2).for_each(|pair| take(&pair.iter().collect::<String>())),
                false => take(&run.to_lowercase()),
            }
        }
    }
}

/// Returns the parts of names that are written with capitals inside, in lower case: `crane`, `id`, `ref` of `craneIdRef`.
pub(super) fn name_parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let is_compound = |name: &&str| name.chars().skip(1).any(char::is_uppercase) && name.contains(char::is_lowercase);
    for name in text.split(|c: char| !c.is_alphanumeric()).filter(is_compound) {
        let (mut part, mut was_lower) = (String::new(), false);
        for c in name.chars() {
            if c.is_uppercase() && was_lower && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            part.extend(c.to_lowercase());
            was_lower = !c.is_uppercase();
        }
        parts.push(part);
    }
    parts
}

/// Returns true if two words differ only in their endings.
pub(in super::super) fn is_same_stem(one: &str, other: &str) -> bool {
    if one == other || one.chars().next() != other.chars().next() {
        return one == other;
    }
    if let Some(stem) = one.strip_suffix("ies").or(other.strip_suffix("ies")) {
        let singular = |word: &str| word.strip_suffix('y') == Some(stem);
        if singular(one) || singular(other) {
            return true;
        }
    }
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let (shorter, longer) =
        (one.chars().count().min(other.chars().count()), one.chars().count().max(other.chars().count()));
    let plural = longer - shorter <= 2 && common == shorter && shorter >= 4;
    plural || common >= STEM_CHARS && common + 2 >= shorter
}
