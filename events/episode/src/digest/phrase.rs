//! A sentence prepared for word matching: lower case, no emphasis, code as one word, every punctuation mark a word of
//! its own.

/// Maximum length of a sentence that is read, in characters.
const MAX_CHARS: usize = 1_000;
/// Replacement of a code span.
const CODE: &str = "`";

/// The words of one sentence, separated by single blanks.
pub(super) struct Phrase {
    /// With a blank at both ends, so that whole words are found between blanks.
    text: String,
    /// Bloom filter over the beginnings of the words, see [`beginning`]: most patterns do not occur and are rejected at
    /// once.
    beginnings: u128,
}

impl Phrase {
    /// Reads a sentence; linear.
    pub(super) fn new(sentence: &str) -> Self {
        let mut text = String::with_capacity(sentence.len().min(4 * MAX_CHARS) + 8);
        text.push(' ');
        let mut chars = sentence.chars().take(MAX_CHARS).peekable();
        while let Some(c) = chars.next() {
            match c {
                '*' | '_' => {}
                '`' => {
                    while chars.next().is_some_and(|c| c != '`') {}
                    word(&mut text, CODE);
                }
                '’' => text.push('\''),
                ',' | ';' | '?' | '!' | '(' | ')' | '"' | '“' | '”' | '—' | '–' => {
                    blank(&mut text);
                    text.push(c);
                    blank(&mut text);
                }
                // A stop or colon inside a word belongs to it: `1.82`, `a::b`.
                '.' | ':' if chars.peek().is_none_or(|next| !next.is_alphanumeric() && *next != ':') => {
                    blank(&mut text);
                    text.push(c);
                    blank(&mut text);
                }
                c if c.is_whitespace() || c.is_control() => blank(&mut text),
                c => text.extend(c.to_lowercase()),
            }
        }
        blank(&mut text);
        let beginnings = text.as_bytes().windows(3).filter(|bytes| bytes[0] == b' ');
        let beginnings = beginnings.fold(0, |all, bytes| all | beginning(bytes[1], bytes[2]));
        Self { text, beginnings }
    }

    /// Returns the words in order, including punctuation.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> + Clone {
        self.text.split_ascii_whitespace()
    }

    /// Returns true if these consecutive words occur.
    pub(super) fn has(&self, words: &str) -> bool {
        self.find(words).is_some()
    }

    /// Returns true if any of these occurs.
    pub(super) fn has_any(&self, list: &[&str]) -> bool {
        list.iter().any(|words| self.has(words))
    }

    /// Returns the first position of these words, in bytes.
    pub(super) fn find(&self, words: &str) -> Option<usize> {
        let (text, wanted) = (self.text.as_bytes(), words.as_bytes());
        let (first, second) = (*wanted.first()?, wanted.get(1).copied().unwrap_or(b' '));
        if self.beginnings & beginning(first, second) == 0 {
            return None;
        }
        let stands = |at: &usize| {
            let rest = text.get(*at..).and_then(|rest| rest.strip_prefix(wanted));
            rest.is_some_and(|rest| rest.first() == Some(&b' '))
        };
        memchr::memchr_iter(b' ', text).map(|blank| blank + 1).find(stands)
    }

    /// Returns true if it begins with one of these.
    pub(super) fn begins(&self, list: &[&str]) -> bool {
        let text = self.text.trim_start();
        list.iter().any(|words| text.strip_prefix(words).is_some_and(|rest| rest.starts_with(' ')))
    }

    /// Returns true for a question.
    pub(super) fn asks(&self) -> bool {
        self.text.trim_end().trim_end_matches([')', '"', ' ']).ends_with(['?', '？'])
    }
}

/// Returns one of 128 bits for the first two bytes of a word; the second byte of a one-byte word is a blank.
fn beginning(first: u8, second: u8) -> u128 {
    1 << (first.wrapping_mul(31).wrapping_add(second) % 128)
}

fn blank(text: &mut String) {
    if !text.ends_with(' ') {
        text.push(' ');
    }
}

fn word(text: &mut String, word: &str) {
    blank(text);
    text.push_str(word);
    blank(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_whatever_stands_around_them() {
        let check = |sentence: &str, expected: &str| {
            assert_eq!(Phrase::new(sentence).words().collect::<Vec<_>>().join(" "), expected, "{sentence}");
        };
        check("**I’d take** `x instead` 1.82, a::b: so.", "i'd take ` 1.82 , a::b : so .");
        check("(Never)  \n closed `code", "( never ) closed `");
        check("", "");
        let phrase = Phrase::new("Postgres instead of Redis, because");
        assert!(phrase.has("instead of") && phrase.has("because") && !phrase.has("cause") && !phrase.has("instead o"));
        assert_eq!(
            (phrase.find("instead"), phrase.find(","), phrase.find(""), phrase.find("because ,")),
            (Some(10), Some(27), None, None)
        );
        assert!(Phrase::new("so I, a").has("a") && !Phrase::new("so I, ab").has("a") && !Phrase::new("").has("a"));
        assert!(phrase.begins(&["no", "postgres"]) && !phrase.begins(&["post"]));
        assert!(Phrase::new("Really (now?)").asks() && !Phrase::new("Why? So.").asks());
    }
}
