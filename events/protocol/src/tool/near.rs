//! The name that somebody may have meant.

/// Longest name that is compared, in characters: comparing costs the product of two lengths.
const LONGEST: usize = 80;

/// The name that was most likely meant, if any: one that has all the words of what was written or almost its letters, else
/// the one that takes the fewest changes, at most in half of the letters, else one that contains it. Of equally near ones
/// the first.
pub fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written: String = written.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let letters: Vec<char> = written.chars().collect();
    let rank = |name: &str| {
        let words = |text: &str| text.split(['_', '-', ' ']).map(str::to_owned).collect::<Vec<_>>();
        let (wanted, there) = (words(&written), words(name));
        let far = distance(&letters, &name.chars().collect::<Vec<_>>());
        // A letter that is missing or too much is nearer than a word that is missing.
        if wanted.iter().all(|word| there.contains(word)) || far * 8 <= letters.len() {
            Some((0, far))
        } else if far * 2 <= letters.len().max(name.len()) {
            Some((1, far))
        } else {
            (letters.len() >= 4 && name.contains(&written)).then_some((2, far))
        }
    };
    names.filter_map(|name| Some((rank(name)?, name))).min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// How many characters have to be put in, taken out or replaced.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let replaced = before[column] + usize::from(from != to);
            now.push(replaced.min(before[column + 1] + 1).min(now[column] + 1));
        }
        before = now;
    }
    before[b.len()]
}
