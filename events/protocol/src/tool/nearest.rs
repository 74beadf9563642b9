//! Finds the name that was probably meant.

/// Longest name compared, in characters: the cost is the product of both lengths.
const LONGEST: usize = 80;

/// Returns the name that was most probably meant, if any. Best is a name that contains every word of `written` or
/// almost equals it, next the one with the smallest edit distance of at most half of its letters, last one that
/// contains it. The first of equals wins.
pub fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written: String = written.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let letters: Vec<char> = written.chars().collect();
    let rank = |name: &str| {
        let words = |text: &str| text.split(['_', '-', ' ']).map(str::to_owned).collect::<Vec<_>>();
        let (wanted, there) = (words(&written), words(name));
        let far = distance(&letters, &name.chars().collect::<Vec<_>>());
        // A missing or extra letter counts less than a missing word.
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

/// Returns the edit distance: characters inserted, deleted or replaced.
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
