//! A command that is asked about, or words for what it does, and how well a line answers.

use std::borrow::Cow;

use super::asked_check::{AskedCheck, Suits, is_prose};
use baton_episode::digest::programs;
use baton_events::schema::outcomes::{Command, Line};
use baton_words::{WordList, is_stop, language};

/// Maximum number of words of a wrapper before a command: `rtk proxy gh api`.
pub(super) const MAX_WRAPPERS: usize = 2;
/// Words of at most this many letters have no plural and are no part of a name.
const SHORT_WORD: usize = 3;
/// Fewest words in a question of which a line may lack one.
const LEAST_WORDS: usize = 3;
/// Words of a request that do not say what is to be done.
static FILLING: WordList = WordList::words(crate::WORDS, "filling words");
/// Nouns that do not narrow what is to be done.
static GENERAL: WordList = WordList::words(crate::WORDS, "general nouns");

/// Returns the name of a script as it is without `run`: forms of one command to ask about, although not always one command.
pub(super) fn without_run(name: &str) -> String {
    name.replacen(" run ", " ", 1)
}

/// Returns the program of a command's name.
pub(super) fn program(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// Returns the words of a text in a form in which singular and plural are equal.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
    words.map(|word| {
        let word = word.to_lowercase();
        if word.len() > SHORT_WORD { word.trim_end_matches('s').to_owned() } else { word }
    })
}

/// Returns words of another language in English; a command stays as it is typed.
fn in_english(asked: &str) -> Cow<'_, str> {
    let is_word =
        |word: &str| !word.starts_with('-') && word.chars().all(|c| c.is_alphabetic() || "-'’?¿.,".contains(c));
    if !asked.split_whitespace().all(is_word) {
        return Cow::Borrowed(asked);
    }
    let read = language::read(asked, true);
    let Some(language) = read.language else { return read.text };
    let words = read.text.split_whitespace().filter(|word| !language.is_stop(&word.to_lowercase()));
    Cow::Owned(words.collect::<Vec<_>>().join(" "))
}

/// What is asked about: a command as it is typed, or words for it.
pub(super) struct CommandQuery {
    /// Program and subcommand.
    pub(super) name: String,
    /// Further words.
    pub(super) more: Vec<String>,
    /// True if it only looks: such runs are not counted.
    pub(super) looks: bool,
    /// The command as typed.
    pub(super) typed: Vec<String>,
    /// The words that say what is meant.
    pub(super) words: Vec<String>,
    /// The check that they mean.
    pub(super) check: Option<AskedCheck>,
    /// True if these are words and no command.
    pub(super) is_prose: bool,
}

/// How well a line answers; later ones are better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It is a check of the kind that is asked for.
    Kind,
    /// It, or its purpose, has all words but one.
    Part,
    /// It, or its purpose, has the words.
    Words,
    /// Its program and subcommand have all words, or it is the check that is asked for.
    Named,
    /// It runs the same command in another form.
    Command,
    /// It also has the further words, as parts of paths or names: `cache` of `test/test_cache.py`.
    InName,
    /// It also has the further words.
    Line,
    /// It has the command as typed.
    Typed,
}

impl CommandQuery {
    pub(super) fn read(asked: &str) -> Self {
        let asked = &*in_english(asked.trim());
        let typed = simple_commands(asked).pop().unwrap_or_default();
        let all = words(asked).count();
        let mut said: Vec<String> =
            words(asked).filter(|word| !FILLING.has(word) && (word.len() == 1 || !is_stop(word))).collect();
        if said.iter().any(|word| !GENERAL.has(word)) {
            said.retain(|word| !GENERAL.has(word));
        }
        // Words among which none is idle may be a command: `cargo test`.
        let is_said = said.len() < all;
        let query = Self {
            is_prose: is_prose(&typed),
            check: AskedCheck::read(&said).filter(|check| is_said || !check.is_narrower),
            name: typed.join(" "),
            more: Vec::new(),
            looks: false,
            typed: typed.into_iter().map(str::to_owned).collect(),
            words: said,
        };
        let Some(last) = programs(asked).pop() else { return query };
        let mut of_name: Vec<&str> = last.name.split(' ').collect();
        let mut more = Vec::new();
        for word in &last.words {
            let bare = word.rsplit('/').next().unwrap_or(word);
            match of_name.iter().position(|part| part == word || *part == bare) {
                Some(at) => drop(of_name.remove(at)),
                None => more.push(word.clone()),
            }
        }
        // Another spelling (`npm t`, `python -m pytest`) is already part of the name.
        if !of_name.is_empty() {
            more.clear();
        }
        // `run` before a package script may be omitted, and `sudo` does not matter.
        let manages = ["npm", "pnpm", "yarn", "bun"].contains(&program(&last.name));
        more.retain(|word| word != "sudo" && !(manages && word == "run"));
        Self { name: last.name, more, looks: last.looks, ..query }
    }

    pub(super) fn is_whole_program(&self) -> bool {
        !self.name.contains(' ')
    }

    pub(super) fn fits(&self, command: &Command) -> bool {
        match self.is_whole_program() {
            _ if self.is_prose => false,
            true => program(&command.name) == self.name,
            false => without_run(&command.name) == without_run(&self.name),
        }
    }

    pub(super) fn fit_of(&self, command: &Command, line: &Line) -> Option<Fit> {
        let fits = self.fits(command);
        if self.is_typed_in(&line.text) {
            return Some(Fit::Typed);
        }
        if fits {
            return Some(match self.has_more(&line.text) {
                true => Fit::Line,
                false if self.has_more_in_names(&line.text) => Fit::InName,
                false => Fit::Command,
            });
        }
        if self.words.is_empty() {
            return None;
        }
        let suits = self.check.as_ref().and_then(|check| Some((check, check.suits(&command.name, &line.text)?)));
        if let Some((_, suits)) = suits.as_ref().filter(|(check, _)| !check.is_narrower) {
            return Some(if *suits > Suits::Kind { Fit::Named } else { Fit::Kind });
        }
        let named: Vec<String> = words(&command.name).collect();
        let is_named = |word: &String| named.iter().any(|name| name == word || ends_as(name, word));
        if self.words.iter().all(is_named) {
            return Some(Fit::Named);
        }
        let mut known: Vec<String> = words(&line.purpose).collect();
        // Words of arguments alone, such as the path of a file, do not say what a line does.
        if self.words.iter().any(|word| is_named(word) || known.contains(word)) {
            known.extend(words(&line.text));
        }
        match self.words.iter().filter(|word| !known.contains(word)).count() {
            0 => Some(Fit::Words),
            1 if self.words.len() >= LEAST_WORDS => Some(Fit::Part),
            _ => suits.map(|_| Fit::Kind),
        }
    }

    /// Returns true if one of the line's commands is the one asked about, alone or behind a wrapper: `rtk proxy gh api`
    /// for `gh api`.
    fn is_typed_in(&self, line: &str) -> bool {
        let wrapped = if self.typed.len() > 1 { MAX_WRAPPERS } else { MAX_WRAPPERS - 1 };
        let is_at = |command: &[&str], at: usize| {
            command.get(at..at + self.typed.len()).is_some_and(|part| part.iter().zip(&self.typed).all(|(a, b)| a == b))
        };
        let has = |command: &Vec<&str>| (0..=wrapped).any(|at| is_at(command, at));
        let may_be = !self.typed.is_empty() && self.typed.iter().all(|word| line.contains(word.as_str()));
        may_be && simple_commands(line).iter().any(has)
    }

    /// Returns true if a line has all further words that were asked for.
    fn has_more(&self, line: &str) -> bool {
        let has = |asked: &String| {
            let asked = asked.as_str();
            if asked.contains(char::is_whitespace) {
                return line.contains(asked);
            }
            let bare = |word: &str| word.trim_matches(['"', '\'', '(', ')', ';']).trim_end_matches('3').to_owned();
            let fits = |word: &str| {
                bare(word) == bare(asked) || word.strip_prefix(asked).is_some_and(|rest| rest.starts_with('='))
            };
            line.split_whitespace().any(fits)
        };
        self.more.iter().all(has)
    }

    /// Returns true if the further words that were asked for are plain, and parts of paths, options or names that the line
    /// gives to the command.
    fn has_more_in_names(&self, line: &str) -> bool {
        let commands = simple_commands(line);
        let is_own = |command: &&Vec<&str>| self.name.split(' ').all(|part| command.contains(&part));
        let own = || commands.iter().filter(is_own).flatten();
        let names = || own().filter(|word| words(word).count() > 1).flat_map(|word| words(word));
        let is_plain = |asked: &String| asked.len() >= SHORT_WORD && asked.chars().all(char::is_alphanumeric);
        let has = |asked: &String| words(asked).all(|word| names().any(|part| part == word));
        !self.more.is_empty() && self.more.iter().all(|asked| is_plain(asked) && has(asked))
    }
}

/// Returns true for `typecheck` and `check`: the end of a name is a word of its own.
fn ends_as(name: &str, word: &str) -> bool {
    word.len() >= SHORT_WORD && name.ends_with(word)
}

/// Splits a line into its commands and these into words as typed.
fn simple_commands(line: &str) -> Vec<Vec<&str>> {
    let mut commands = vec![Vec::new()];
    for word in line.split_whitespace() {
        let (bare, ends) = word.strip_suffix(';').map_or((word, false), |bare| (bare, true));
        let is_joint = matches!(bare, "&&" | "||" | "|" | "");
        if let Some(last) = commands.last_mut().filter(|_| !is_joint) {
            last.push(bare.trim_start_matches(['(', '{']).trim_end_matches([')', '}']));
        }
        if is_joint || ends {
            commands.push(Vec::new());
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::super::how;
    use super::super::tests::Script;

    #[test]
    fn further_words_may_be_parts_of_names() {
        let session = Script::default()
            .ok("uv run pytest test/test_cache.py -v")
            .ok("uv run pytest --lf-only")
            .ok("git add src/jib_cache.rs && git commit -m 'cache: keep it'");
        let witness = [session.witness("one", "/srv/shop")];
        let check = |asked: &str, lines: &[&str], says: &str| {
            let told = how(asked, &witness, None, 5);
            let found: Vec<&str> = told.lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!((&found[..], told.message.starts_with(says)), (lines, true), "{asked}: {}", told.message);
        };
        let cache = "uv run pytest test/test_cache.py -v";
        check("pytest cache", &[cache], "lines with `cache` in a name ran once in 1 session: 1 succeeded");
        check(
            "pytest test_cache.py",
            &["uv run pytest --lf-only", cache],
            "no line with `test_cache.py` is known; `pytest`",
        );
        check("pytest only", &["uv run pytest --lf-only"], "lines with `only` in a name");
        check("pytest heron", &["uv run pytest --lf-only", cache], "no line with `heron` is known; `pytest`");
        let commit = "git add src/jib_cache.rs && git commit -m 'cache: keep it'";
        check("git commit cache", &[commit], "no line with `cache` is known");
    }
}
