//! Questions in other languages: what of one is asked is read in English, by a lexicon.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use super::{WordList, is_stop, lines_with_sections};

const LEXICON: &str = include_str!("lexicon.txt");
/// Separators of words in languages without spaces; they say nothing about a subject.
static WIDE: WordList = WordList::words(super::STOP_WORDS, "wide");
static LEXICON_LINES: LazyLock<(Vec<Line>, Vec<Line>)> = LazyLock::new(|| (lines("asked"), lines("things")));

/// Maximum number of words of a text, and of characters in one without spaces, that are read: what follows stays.
const MAX_WORDS: usize = 200;
const MAX_CHARS: usize = 1_000;

/// A language whose stop words are known.
pub struct Language {
    code: &'static str,
    /// Those that the library lacks.
    more: WordList,
}

static LANGUAGES: [Language; 5] = [language("de"), language("fr"), language("es"), language("pt"), language("ru")];

const fn language(code: &'static str) -> Language {
    Language { code, more: WordList::words(super::STOP_WORDS, code) }
}

impl Language {
    /// Returns true for a word in lower case that says nothing about the subject of a text.
    pub fn is_stop(&self, word: &str) -> bool {
        self.more.has(word) || stop_words::lookup(self.code).is_some_and(|words| words.contains(&word))
    }

    /// Returns true if every noun is written with a capital.
    pub fn has_capital_nouns(&self) -> bool {
        self.code == "de"
    }
}

/// A line of the lexicon.
pub struct Line {
    /// English words that mean about the same; of what is asked, one text.
    pub english: Vec<&'static str>,
    foreign: Vec<Foreign>,
}

struct Foreign {
    words: Vec<&'static str>,
    language: Option<&'static str>,
}

fn lines(wanted: &str) -> Vec<Line> {
    let found = lines_with_sections(LEXICON).filter(|(section, _)| *section == wanted);
    let lines = found.filter_map(|(_, line)| line.split_once(": "));
    let foreign = |entry: &'static str| {
        let (language, words) = entry.split_once(':').map_or((None, entry), |(code, rest)| (Some(code), rest));
        Foreign { words: words.split('_').collect(), language }
    };
    let line = |(english, others): (&'static str, &'static str)| Line {
        english: if wanted == "asked" { vec![english] } else { english.split(' ').collect() },
        foreign: others.split_whitespace().map(foreign).collect(),
    };
    lines.map(line).collect()
}

impl Line {
    /// Returns true if the line has the word, also as the beginning of one.
    pub fn has(&self, word: &str) -> bool {
        self.english.contains(&word) || self.singles().any(|known| matches(word, known))
    }

    /// Returns its words, without those of which only the beginning is known.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.english.iter().copied().chain(self.singles().filter(|word| !word.ends_with('*')))
    }

    fn singles(&self) -> impl Iterator<Item = &'static str> {
        self.foreign.iter().filter_map(|entry| if entry.words.len() == 1 { entry.words.first().copied() } else { None })
    }
}

/// Returns true if a word is the known one, or begins as it does before its star.
fn matches(word: &str, known: &str) -> bool {
    known.strip_suffix('*').map_or(word == known, |start| word.starts_with(start))
}

/// The developers' words of the lexicon.
pub fn things() -> &'static [Line] {
    &LEXICON_LINES.1
}

/// Returns true for a character of a script that is written without spaces.
pub fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// A question, read.
pub struct Question<'t> {
    /// The text with what is asked in English.
    pub text: Cow<'t, str>,
    /// Its language, if that is another one and known.
    pub language: Option<&'static Language>,
    /// True if it is not, or not only, in English.
    pub is_foreign: bool,
}

/// Reads a question in any language. With `all`, the developers' words in one that is not English are translated as well.
pub fn read(text: &str, all: bool) -> Question<'_> {
    let is_wide_text = text.chars().any(is_wide);
    let text = if is_wide_text { Cow::Owned(without_particles(text, all)) } else { Cow::Borrowed(text) };
    let lowered: Vec<(Range<usize>, String)> =
        tokens(&text).take(MAX_WORDS).map(|range| (range.clone(), text[range].to_lowercase())).collect();
    let words: Vec<&str> = lowered.iter().map(|(_, word)| word.as_str()).collect();
    let (asked, things) = &*LEXICON_LINES;
    // A sign that occurs in no English text shows another language.
    let is_foreign = is_wide_text
        || (0..words.len()).any(|at| longest(&words[at..], asked, None).is_some())
        || words.iter().any(|word| !word.is_ascii() && things.iter().any(|line| line.has(word)));
    let has_things = || words.iter().any(|word| things.iter().any(|line| line.singles().any(|it| matches(word, it))));
    let language = language_of(&words, if is_foreign || has_things() { 1 } else { 2 });
    let code = language.map(|language| language.code);
    if !is_foreign && language.is_none() {
        return Question { text, language, is_foreign };
    }
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while at < words.len() {
        let known = longest(&words[at..], asked, code);
        let (length, english) = match known.or_else(|| longest(&words[at..], things, code).filter(|_| all)) {
            Some(found) => found,
            None => {
                at += 1;
                continue;
            }
        };
        out.push_str(&text[done..lowered[at].0.start]);
        out.push_str(english);
        at += length;
        done = lowered[at - 1].0.end;
    }
    out.push_str(&text[done..]);
    Question { text: Cow::Owned(out), language, is_foreign: true }
}

/// Returns the English of the longest entry that words begin with, and the number of its words.
fn longest(words: &[&str], lines: &'static [Line], language: Option<&str>) -> Option<(usize, &'static str)> {
    let holds = |entry: &&Foreign| {
        entry.language.is_none_or(|code| language == Some(code))
            && entry.words.len() <= words.len()
            && entry.words.iter().zip(words).all(|(known, word)| matches(word, known))
    };
    let of_line =
        |line: &'static Line| line.foreign.iter().filter(holds).map(|entry| (entry.words.len(), line.english[0]));
    lines.iter().flat_map(of_line).max_by_key(|(length, _)| *length)
}

/// Returns the places of the words of a text.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}

/// Returns the language that has most stop words of a text, and more than English: at least so many.
fn language_of(words: &[&str], least: usize) -> Option<&'static Language> {
    let count = |has: &dyn Fn(&str) -> bool| words.iter().filter(|word| has(word)).count();
    let english = count(&is_stop);
    let counts = LANGUAGES.iter().map(|language| (count(&|word| language.is_stop(word)), language));
    // Of equal ones the first.
    let (most, language) = counts.rev().max_by_key(|(most, _)| *most)?;
    (most >= least && most > english).then_some(language)
}

/// Returns a text with the known words of languages without spaces apart, what is asked in English, and without what says
/// nothing: particles, the syllables that Japanese has between its words, and single characters.
fn without_particles(text: &str, all: bool) -> String {
    let (asked, things) = &*LEXICON_LINES;
    let wide =
        |line: &'static Line| line.singles().filter(|word| word.starts_with(is_wide)).map(move |word| (word, line));
    let kept =
        |all: bool, (word, line): (&'static str, &'static Line)| (word, if all { line.english[0] } else { word });
    let known: Vec<(&str, &str)> = WIDE
        .iter()
        .map(|particle| (*particle, ""))
        .chain(things.iter().flat_map(wide).map(|one| kept(all, one)))
        // The question comes last: of equally long entries the last is taken.
        .chain(asked.iter().flat_map(wide).map(|one| kept(true, one)))
        .collect();
    let read = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| at);
    let (mut left, mut rest) = (String::new(), &text[..read]);
    // The characters since the last known word.
    let mut run = String::new();
    let end_run = |run: &mut String, left: &mut String| {
        let is_lone = run.chars().count() == 1 && run.starts_with(is_wide);
        left.push_str(if is_lone { " " } else { run });
        run.clear();
    };
    while let Some(first) = rest.chars().next() {
        let longest = known.iter().filter(|(word, _)| rest.starts_with(word)).max_by_key(|(word, _)| word.len());
        let length = longest.map_or(first.len_utf8(), |(word, _)| word.len());
        let changes = run.chars().last().is_some_and(|last| is_wide(last) != is_wide(first));
        let is_syllable = matches!(first, '\u{3040}'..='\u{309f}');
        if longest.is_some() || is_syllable || changes {
            end_run(&mut run, &mut left);
        }
        match longest {
            Some((_, said)) => left.extend([" ", said, " "]),
            None if is_syllable => left.push(' '),
            None => run.push(first),
        }
        rest = &rest[length..];
    }
    end_run(&mut run, &mut left);
    left + &text[read..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_commonest_words() {
        let code = |text: &str| read(text, false).language.map(|language| language.code);
        for (text, expected) in [
            ("was wurde dagegen getan", Some("de")),
            ("que reste t il dans la file", Some("fr")),
            ("cuándo lo hicimos", Some("es")),
            ("onde paramos", Some("pt")),
            ("что осталось сделать", Some("ru")),
            ("why did the process die in the end", None),
            ("cache die comment", None),
            ("还有什么没做", None),
            ("", None),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_asked_is_read_in_english() {
        let check = |text: &str, all: bool, expected: &str| {
            let read = read(text, all).text;
            assert_eq!(read.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
        };
        check("Warum ist der Cache so groß?", false, "why ist der Cache so groß?");
        check("was ist beim Export noch nicht da", false, "was ist beim Export still open da");
        check("que reste-t-il à faire ?", false, "que still open ?");
        check("où en étions-nous", false, "où left off-nous");
        check("what is here", false, "what is here");
        check("was haben wir hier gestern gemacht", false, "was haben wir hier yesterday done");
        check("qu'est-ce qu'on a fait hier", false, "qu'est-ce qu'on done yesterday");
        check("почему мы убрали dialog", false, "why мы убрали dialog");
        check("还有什么没做", false, "still open");
        check("为什么用缓存", false, "why 缓存");
        check("缓存的大小", false, "缓存 大小");
        check("service worker を使った理由は何ですか", false, "service worker 使っ reason for");
        check("まだ残っていますか", false, "still open still open");
        check("Tests ausführen", true, "test run");
        check("ejecutar las pruebas", true, "run las test");
        check("запуск тестов", true, "run test");
        check("运行测试", true, "run test");
        check("テストを実行する", true, "test run");
        check("run the suite in parallel", true, "run the suite in parallel");
        check("plain", true, "plain");
        check("", true, "");
    }

    #[test]
    fn a_long_text_is_read_in_part() {
        let long = "なぜ".repeat(MAX_CHARS);
        assert_eq!(read(&long, false).text.matches("why").count(), MAX_CHARS / 2);
        let long = "warum ".repeat(2 * MAX_WORDS);
        assert_eq!(read(&long, false).text.matches("why").count(), MAX_WORDS);
    }

    #[test]
    fn lines_have_english_words_and_others() {
        let (asked, things) = &*LEXICON_LINES;
        for line in asked.iter().chain(things) {
            assert!(!line.english.is_empty() && !line.foreign.is_empty(), "{:?}", line.english);
            let is_lower =
                |word: &&str| !word.is_empty() && !word.chars().any(char::is_uppercase) || word.chars().any(is_wide);
            assert!(line.foreign.iter().flat_map(|entry| &entry.words).all(is_lower), "{:?}", line.english);
        }
        let folder = things.iter().find(|line| line.has("ordner")).unwrap();
        assert!(folder.has("directory") && folder.words().any(|word| word == "carpetas") && !folder.has("datei"));
    }
}
