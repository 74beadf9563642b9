//! Tables that are built at compile time from rows of words.

/// Returns one entry for each word of some rows, in order. The words of a row have one `separator` between.
pub(super) const fn spread<T: Copy, const N: usize>(
    rows: &[(T, &'static str)],
    separator: u8,
) -> [(&'static str, T); N] {
    let mut all = [("", rows[0].0); N];
    let (mut at, mut row) = (0, 0);
    while row < rows.len() {
        let (meaning, mut words) = rows[row];
        while !words.is_empty() {
            let (word, rest) = first_word(words, separator);
            all[at] = (word, meaning);
            (at, words) = (at + 1, rest);
        }
        row += 1;
    }
    all
}

/// Returns the number of words of some rows.
pub(super) const fn count<T>(rows: &[(T, &str)], separator: u8) -> usize {
    let (mut count, mut row) = (0, 0);
    while row < rows.len() {
        let mut words = rows[row].1;
        while !words.is_empty() {
            (count, words) = (count + 1, first_word(words, separator).1);
        }
        row += 1;
    }
    count
}

const fn first_word(words: &str, separator: u8) -> (&str, &str) {
    let mut end = 0;
    while end < words.len() && words.as_bytes()[end] != separator {
        end += 1;
    }
    let (word, rest) = words.split_at(end);
    (word, if rest.is_empty() { rest } else { rest.split_at(1).1 })
}
