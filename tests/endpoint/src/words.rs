//! Deterministic vectors, the same on every machine: the direction of a word follows from its letters alone, synonyms
//! have the same direction, and a text's vector is the sum of its words'. So texts that share a meaning are similar
//! even if they share no word, as with a real model, for the few words listed here.

/// Dimensions unless others are requested.
pub const DIMENSIONS: usize = 64;

/// Groups of synonyms.
pub const SYNONYMS: &[&[&str]] = &[
    &["bug", "defect", "fault", "flaw"],
    &["crash", "panic", "abort", "blowup"],
    &["fast", "quick", "rapid", "swift"],
    &["slow", "sluggish", "laggy"],
    &["login", "signin", "authentication", "auth"],
    &["token", "credential", "ticket"],
    &["car", "automobile", "vehicle"],
    &["remove", "delete", "erase", "drop"],
    &["begin", "start", "launch"],
    &["repair", "fix", "mend", "correct"],
    &["database", "datastore", "storage"],
    &["error", "failure", "mistake"],
    &["test", "check", "verification"],
    &["folder", "directory"],
    &["picture", "image", "photo"],
    &["money", "payment", "billing", "invoice"],
    &["cat", "feline"],
    &["dog", "hound", "canine"],
    &["sea", "ocean"],
    &["doctor", "physician"],
];

/// Words that are ignored.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "did", "do", "does", "for", "has", "have", "how", "i", "in", "is", "it",
    "of", "on", "or", "our", "so", "that", "the", "this", "to", "was", "we", "what", "when", "why", "with", "you",
];

/// The vector of a text: of length one, and never all zeros unless it has no dimensions.
pub fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && !EMPTY.contains(word));
    let mut sum = vec![0.0; dimensions];
    for word in words {
        add(&mut sum, meaning(word));
    }
    if sum.iter().all(|number| *number == 0.0) {
        add(&mut sum, &lower);
        add(&mut sum, "nothing");
        add(&mut sum, "");
    }
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    sum.iter().map(|number| number / length).collect()
}

/// Number of words, which is reported as the token count.
pub(super) fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

/// One word for each group of synonyms; a plural becomes its singular.
fn meaning(word: &str) -> &str {
    let word = word.strip_suffix('s').filter(|singular| singular.len() > 2 && !singular.ends_with('s')).unwrap_or(word);
    SYNONYMS.iter().find(|group| group.contains(&word)).map_or(word, |group| group[0])
}

fn add(sum: &mut [f32], word: &str) {
    // FNV-1a, then one step of a linear congruential generator per dimension.
    let mut state = word
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    for number in sum {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *number += ((state >> 33) as f32 / (1_u64 << 30) as f32) - 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_alike_that_mean_the_same() {
        let cosine = |a: &str, b: &str| -> f32 {
            vector(a, DIMENSIONS).iter().zip(vector(b, DIMENSIONS)).map(|(a, b)| a * b).sum()
        };
        for (a, b, least, most) in [
            ("the login is slow", "why was the sluggish authentication so", 0.99, 1.01),
            ("Defects in the database", "a datastore bug", 0.99, 1.01),
            ("repair the swift car", "fix a fast vehicle today", 0.7, 0.99),
            ("the cat sat in the folder", "quarterly figures of the harbour", -0.5, 0.5),
        ] {
            let told = cosine(a, b);
            assert!((least..=most).contains(&told), "{a:?} and {b:?}: {told}");
        }
        for text in ["", "the of", "…", "x", "日本語"] {
            let vector = vector(text, 8);
            let length: f32 = vector.iter().map(|n| n * n).sum();
            assert!((length - 1.0).abs() < 1e-4, "{text:?}: {vector:?}");
        }
    }
}
