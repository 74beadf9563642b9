//! A check that is asked for in words: `run the tests`, `fix the style`, whatever program does it here.

use baton_episode::digest::{Check, check_kind, check_words, checks};
use baton_words::WordList;

/// Words for kinds of checks; the first kind of which the question has a word is meant.
static KINDS: [(&str, WordList); 5] = [
    ("types", WordList::words(crate::WORDS, "types words")),
    ("format", WordList::words(crate::WORDS, "format words")),
    ("lint", WordList::words(crate::WORDS, "lint words")),
    ("test", WordList::words(crate::WORDS, "test words")),
    ("build", WordList::words(crate::WORDS, "build words")),
];
static MENDING: WordList = WordList::words(crate::WORDS, "mending words");
/// Words beside them that say nothing more.
static CHECKING: WordList = WordList::words(crate::WORDS, "checking words");

/// Articles: a command has none.
const ARTICLES: [&str; 5] = ["a", "an", "my", "our", "the"];
/// Builtins of the shell that are usual words as well.
const USUAL_WORDS: [&str; 2] = ["test", "type"];

/// What is asked for.
pub(super) struct AskedCheck {
    kind: &'static str,
    /// True if what it finds is to be mended.
    mends: bool,
    /// True if the words say more than that.
    pub(super) is_narrower: bool,
}

/// How well a line does what is asked for; later ones are better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suits {
    /// It checks this kind, but does not mend as asked.
    Kind,
    /// It does.
    Part,
    /// The same for the whole work.
    Whole,
}

impl AskedCheck {
    /// Reads words in lower case and in the singular.
    pub(super) fn read(words: &[String]) -> Option<Self> {
        let (kind, known) = KINDS.iter().find(|(_, known)| words.iter().any(|word| known.has(word)))?;
        let is_mending = |word: &&String| MENDING.has(word);
        let is_checking = |word: &&String| CHECKING.has(word);
        let rest = words.iter().filter(|word| !known.has(word) && !is_mending(word) && !is_checking(word));
        let checks = words.iter().any(|word| CHECKING.has(word));
        let mends = words.iter().any(|word| MENDING.has(word)) || *kind == "format" && !checks;
        Some(Self { kind, mends, is_narrower: rest.count() > 0 })
    }

    /// Returns words of lines that may do it.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        check_words(self.kind)
    }

    /// Returns how well a line does it if its command of that name does.
    pub(super) fn suits(&self, command: &str, line: &str) -> Option<Suits> {
        self.line_suits(line).filter(|_| check_kind(command) == Some(self.kind))
    }

    /// Returns how well a line does it, whichever of its commands does.
    pub(super) fn line_suits(&self, line: &str) -> Option<Suits> {
        let suits = |check: Check| match (check.mends == self.mends, check.names_parts) {
            (false, _) if self.mends || self.kind == "format" => Suits::Kind,
            (false, _) | (true, true) => Suits::Part,
            (true, false) => Suits::Whole,
        };
        checks(line).into_iter().filter(|check| check.kind == self.kind).map(suits).max()
    }
}

/// Returns true for words with an article, and for `test` and `type` before nothing but words.
pub(super) fn is_prose(typed: &[&str]) -> bool {
    let Some((first, rest)) = typed.split_first() else { return false };
    let is_word = |word: &&str| word.chars().all(char::is_alphabetic);
    rest.iter().any(|word| ARTICLES.contains(word)) || USUAL_WORDS.contains(first) && rest.iter().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::super::how;
    use super::super::tests::Script;

    #[test]
    fn a_check_is_found_by_what_it_does() {
        let session = Script::default()
            .ok("uv run pytest tests/unit.py")
            .ok("source .venv/bin/activate && pytest")
            .ok("bun run lint")
            .ok("bun run lint:fix")
            .ok("mix dialyzer")
            .ok("ruff format src")
            .ok("ruff format --check src")
            .ok("make")
            .ok("test -f done.txt")
            .ok("type cargo");
        let witness = [session.witness("one", "/srv/shop")];
        let check = |asked: &str, expected: &[&str]| {
            let told = how(asked, &witness, None, 5);
            let lines: Vec<&str> = told.lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(lines, expected, "{asked}: {}", told.message);
        };
        let tests = ["source .venv/bin/activate && pytest", "uv run pytest tests/unit.py"];
        check("run the test suite", &tests);
        check("test everything", &tests);
        check("test the whole project", &tests);
        check("repair code style complaints automatically", &["bun run lint:fix"]);
        check("run the linter", &["bun run lint", "bun run lint:fix"]);
        check("check the types statically", &["mix dialyzer"]);
        check("type checking", &["mix dialyzer"]);
        check("format the code", &["ruff format src"]);
        check("check the format", &["ruff format --check src"]);
        check("build the app", &["make"]);
        // A builtin before arguments is meant itself, and only looks.
        check("test -f done.txt", &[]);
        check("upload a release", &[]);
        check("", &[]);
    }
}
