//! Splits a text into words for pattern matching, and finds the things that it names.

mod vocabulary;

use self::vocabulary::{BORDERS, COMMON, DETERMINERS, FILLERS, IDLE};

/// Maximum number of words of a text that are inspected.
const MAX_WORDS: usize = 160;
/// Maximum number of words in a thing's name.
const THING_WORDS: usize = 3;
/// Maximum length of a thing's name, in characters.
const THING_CHARS: usize = 40;

/// A word or punctuation mark, normalised for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case, without emphasis.
    pub(super) low: String,
    /// True if it stood in backticks.
    code: bool,
    /// True if it has a digit, or a capital other than the first letter of a sentence.
    proper: bool,
}

/// A thing that a text names: `sled`, `job queue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    /// In lower case, without articles.
    pub(super) name: String,
    /// True for the name of one thing (`SQLite`, `tokio`), false for a kind of thing (`a queue`).
    pub(super) named: bool,
    /// True if it is definite: `the queue`.
    pub(super) definite: bool,
}

/// Splits a text into clauses at stops, colons, semicolons and line ends. The closing mark is kept as the last word.
pub(super) fn clauses(text: &str) -> Vec<Vec<Word>> {
    let mut clauses: Vec<Vec<Word>> = vec![Vec::new()];
    let mut words = 0;
    let mut push = |low: String, code: bool, clauses: &mut Vec<Vec<Word>>| {
        let Some(clause) = clauses.last_mut() else { return };
        let first = clause.is_empty();
        let inner = low.chars().skip(usize::from(first && !code));
        let proper = code || inner.clone().any(char::is_uppercase) || low.chars().any(|c| c.is_ascii_digit());
        let ends = !code && matches!(low.as_str(), "." | ";" | ":" | "!" | "?" | "\n");
        clause.push(Word { low: low.to_lowercase(), code, proper });
        if ends {
            clauses.push(Vec::new());
        }
    };
    let mut chars = text.char_indices().peekable();
    let mut word = String::new();
    while let Some((at, c)) = chars.next() {
        if words > MAX_WORDS {
            break;
        }
        let rest = &text[at + c.len_utf8()..];
        let mark = match c {
            '`' => {
                flush(&mut word, &mut clauses, &mut words, &mut push);
                let Some(end) = rest.find('`').filter(|end| *end <= 80) else { continue };
                let inside = rest[..end].trim();
                if !inside.is_empty() {
                    push(inside.to_owned(), true, &mut clauses);
                    words += 1;
                }
                while chars.next_if(|(next, _)| *next <= at + 1 + end).is_some() {}
                continue;
            }
            '*' => continue,
            '’' => {
                word.push('\'');
                continue;
            }
            ',' | ';' | '!' | '?' | '(' | ')' | '"' | '“' | '”' | '—' | '–' | '\n' => true,
            // A stop or colon inside a word belongs to it: `1.82`, `a::b`, `src/a.rs`.
            '.' | ':' => !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, ':' | '/' | '_')),
            c if c.is_whitespace() || c.is_control() => {
                flush(&mut word, &mut clauses, &mut words, &mut push);
                continue;
            }
            _ => false,
        };
        if mark {
            flush(&mut word, &mut clauses, &mut words, &mut push);
            push(c.to_string(), false, &mut clauses);
            words += 1;
        } else {
            word.push(c);
        }
    }
    flush(&mut word, &mut clauses, &mut words, &mut push);
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

fn flush(
    word: &mut String,
    clauses: &mut Vec<Vec<Word>>,
    words: &mut usize,
    push: &mut impl FnMut(String, bool, &mut Vec<Vec<Word>>),
) {
    if !word.is_empty() {
        *words += 1;
        push(std::mem::take(word), false, clauses);
    }
}

/// Returns the word at an index; empty beyond the end.
pub(super) fn word_at(words: &[Word], place: usize) -> &str {
    words.get(place).map_or("", |word| word.low.as_str())
}

/// Matches a pattern of consecutive words at `place` and returns its end; each word may list alternatives with `|`.
pub(super) fn match_words(words: &[Word], place: usize, pattern: &str) -> Option<usize> {
    let mut end = place;
    for wanted in pattern.split(' ') {
        let word = words.get(end)?;
        if word.code || !wanted.split('|').any(|wanted| wanted == word.low) {
            return None;
        }
        end += 1;
    }
    Some(end)
}

/// Returns the thing named at `from` and the end of its name. `None` if nothing is named there, or if the phrase is too
/// long for a name.
pub(super) fn parse_thing(words: &[Word], from: usize) -> Option<(Thing, usize)> {
    let mut place = from;
    let (mut determined, mut definite) = (false, false);
    while let Some(word) = words.get(place).filter(|word| !word.code) {
        if DETERMINERS.contains(&&*word.low) {
            determined = true;
            definite |= matches!(&*word.low, "the" | "our");
        } else if !FILLERS.contains(&&*word.low) {
            break;
        }
        place += 1;
    }
    let begin = place;
    while words.get(place).is_some_and(|word| word.code || !is_border(&word.low)) {
        place += 1;
        if place - begin > THING_WORDS {
            return None;
        }
    }
    let found = words.get(begin..place)?;
    let first = found.first()?;
    if found.iter().any(|word| !word.code && IDLE.contains(&&*word.low)) {
        return None;
    }
    let name = found.iter().map(|word| word.low.as_str()).collect::<Vec<_>>().join(" ");
    if name.chars().count() > THING_CHARS || !name.chars().any(char::is_alphabetic) {
        return None;
    }
    let named = match found {
        [one] => (one.code || (!determined && (one.proper || is_name(&one.low)))) && !is_common(&one.low),
        _ => found.iter().all(|word| word.proper) && !is_path(&first.low),
    };
    Some((Thing { named: named && !is_path(&name), name, definite }, place))
}

/// Returns true if a word ends the name of a thing.
fn is_border(word: &str) -> bool {
    !word.contains(char::is_alphanumeric)
        || !word.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '@' | '.' | '/' | '-' | '_' | '#'))
        || BORDERS.binary_search(&word).is_ok()
}

/// Returns true if a lower-case word without an article may be the name of one thing.
fn is_name(word: &str) -> bool {
    (2..=30).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !(word.len() > 5 && (word.ends_with("ing") || word.ends_with("tion") || word.ends_with("ly")))
}

/// Returns true if a word names a kind of thing.
fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok() || COMMON.binary_search(&word.trim_end_matches('s')).is_ok()
}

/// Returns true for the name of a file or a directory: a location is not a choice between two things.
fn is_path(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    name.contains('/')
        || name.starts_with('.')
        || matches!(
            ending,
            "rs" | "py" | "ts" | "tsx" | "jsx" | "go" | "md" | "toml" | "json" | "yml" | "yaml" | "html" | "css" | "sh"
        )
}

/// Strips a plural ending: `logs` becomes `log`.
pub(super) fn singular(word: &str) -> &str {
    let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    if plural { &word[..word.len() - 1] } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        clauses(text).into_iter().flatten().collect()
    }

    #[test]
    fn the_lists_that_are_searched_are_sorted() {
        assert!(BORDERS.is_sorted() && COMMON.is_sorted());
    }

    #[test]
    fn a_text_is_cut_into_clauses() {
        let check = |text: &str, expected: &str| {
            let found: Vec<String> = clauses(text)
                .iter()
                .map(|clause| clause.iter().map(|word| word.low.as_str()).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(found.join(" / "), expected, "{text:?}");
        };
        check("Use `sled v0`, not SQLite. Then: go", "use sled v0 , not sqlite . / then : / go");
        check("v1.2 in src/a.rs: yes", "v1.2 in src/a.rs : / yes");
        check("don’t **ever**\nagain?", "don't ever \n / again ?");
        check("a ` b", "a b");
        check("", "");
    }

    #[test]
    fn a_thing_is_a_short_name_and_known_for_a_name_or_not() {
        let mut wrong = Vec::new();
        let mut check = |text: &str, expected: Option<(&str, bool)>| {
            let found = parse_thing(&words(text), 0).map(|(thing, _)| thing);
            let found = found.as_ref().map(|thing| (thing.name.as_str(), thing.named));
            if found != expected {
                wrong.push(format!("{text:?}: {found:?}"));
            }
        };
        check("SQLite because", Some(("sqlite", true)));
        check("sled for the log", Some(("sled", true)));
        check("`my_index` here", Some(("my_index", true)));
        check("the Redis cache", Some(("redis cache", false)));
        check("GitHub Actions, then", Some(("github actions", true)));
        check("a queue", Some(("queue", false)));
        check("queues", Some(("queues", false)));
        check("polling", Some(("polling", false)));
        check("the job queue.", Some(("job queue", false)));
        check("src/auth.rs", Some(("src/auth.rs", false)));
        check("it", None);
        check("this one", None);
        check("a plain frozen dataclass with slots", Some(("frozen dataclass", false)));
        check("the very long second name of something", None);
        check("a Vec", Some(("vec", false)));
        check("polling we use", Some(("polling", false)));
        check(", and", None);
        check("42", None);
        check("", None);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
