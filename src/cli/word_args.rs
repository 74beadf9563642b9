//! Commands whose arguments are words. A word may begin with a dash (`-sqlite`, `--release`), and our options may come
//! before, among or after the words. In a question an unknown long option is an error rather than a word; to search for
//! one, put it after `--`.

use std::ffi::{OsStr, OsString};

/// A command that takes every argument except its options as a word.
struct WordCommand {
    name: &'static str,
    /// Options that take no value.
    switches: &'static [&'static str],
    /// Options that take a value, as (long name, short name).
    valued: &'static [(&'static str, &'static str)],
    words: Words,
}

/// Kind of the words of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// A question: an unknown long option is a typing error.
    Question,
    /// The output of a program.
    Output,
    /// The command line of another program, where `-p` usually means a package or a port.
    CommandLine,
}

const HELP: [&str; 2] = ["--help", "-h"];
const SWITCHES: &[&str] = &["--json", "--no-wait", EXAMPLES];
/// Allowed before and after the command.
const EXAMPLES: &str = "--examples";
const VALUED: &[(&str, &str)] = &[("--project", "-p"), ("--limit", "-n")];

const COMMANDS: [WordCommand; 4] = [
    WordCommand { name: "search", switches: SWITCHES, valued: VALUED, words: Words::Question },
    WordCommand {
        name: "recall",
        switches: SWITCHES,
        valued: &[("--project", "-p"), ("--limit", "-n"), ("--budget", "--budget")],
        words: Words::Question,
    },
    WordCommand { name: "how", switches: SWITCHES, valued: VALUED, words: Words::CommandLine },
    WordCommand { name: "fix", switches: SWITCHES, valued: VALUED, words: Words::Output },
];

/// Moves the options of such a command before its words, with `--` between. Returns any other command line unchanged.
pub(super) fn options_first(arguments: Vec<OsString>) -> Vec<OsString> {
    let before = arguments.iter().skip(1).take_while(|word| *word == EXAMPLES).count() + 1;
    let asked = arguments.get(before).and_then(|name| COMMANDS.iter().find(|command| name == command.name));
    let Some(command) = asked else { return arguments };
    let mut given = arguments.into_iter();
    let mut sorted: Vec<OsString> = given.by_ref().take(before + 1).collect();
    let mut words: Vec<OsString> = Vec::new();
    while let Some(argument) = given.next() {
        if argument == "--" {
            words.extend(given);
            break;
        }
        match command.option(&argument, &words) {
            Some(Extent::Switch) => sorted.push(argument),
            Some(Extent::Valued) => {
                sorted.push(argument);
                sorted.extend(given.next());
            }
            Some(Extent::Whole(parts)) => sorted.extend(parts),
            None => words.push(argument),
        }
    }
    if !words.is_empty() {
        sorted.push("--".into());
        sorted.append(&mut words);
    }
    sorted
}

/// How much of the command line an option covers.
enum Extent {
    Switch,
    /// The next argument is its value.
    Valued,
    /// It contains its value.
    Whole(Vec<OsString>),
}

impl WordCommand {
    fn option(&self, argument: &OsStr, words: &[OsString]) -> Option<Extent> {
        let argument = argument.to_str().filter(|text| text.starts_with('-'))?;
        if self.switches.contains(&argument) || (HELP.contains(&argument) && words.is_empty()) {
            return Some(Extent::Switch);
        }
        let is_project = argument.starts_with("-p");
        // A quoted line is complete: options after it are ours.
        let is_command_line = self.words == Words::CommandLine;
        let is_theirs =
            is_command_line && !words.iter().any(|word| word.to_string_lossy().contains(char::is_whitespace));
        if is_project && is_theirs && !words.is_empty() {
            return None;
        }
        if self.valued.iter().any(|(long, short)| argument == *long || argument == *short) {
            return Some(Extent::Valued);
        }
        let whole = |(long, short): &(&str, &str)| {
            if argument.strip_prefix(long).is_some_and(|rest| rest.starts_with('=')) {
                return Some(vec![argument.into()]);
            }
            // A short option may be followed by a number directly; followed by letters it is an excluded word.
            let value = argument.strip_prefix(short).filter(|_| !short.starts_with("--"))?;
            let value = value.strip_prefix('=').or_else(|| is_number(value).then_some(value))?;
            Some(vec![OsString::from(short), OsString::from(value)])
        };
        let is_mistyped = self.words == Words::Question && is_long_option(argument);
        // Passed to clap, which rejects it and suggests the right one.
        self.valued.iter().find_map(whole).map(Extent::Whole).or_else(|| is_mistyped.then_some(Extent::Switch))
    }
}

/// `--word` or `--word=value`. Text with spaces was quoted and is no option.
fn is_long_option(text: &str) -> bool {
    let name = text.strip_prefix("--").unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains(char::is_whitespace)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Joins the words. Restores the quotes that the shell removed after a dash: `-"a phrase"`.
pub(super) fn join(words: &[String]) -> String {
    let several = words.len() > 1;
    let quoted = |word: &String| match word.strip_prefix('-') {
        Some(phrase) if several && phrase.contains(char::is_whitespace) && !phrase.contains(['"', ':']) => {
            format!("-\"{phrase}\"")
        }
        _ => word.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_separated_from_words() {
        let check = |typed: &str, expected: &str| {
            // `_` stands for a space that the shell does not split at.
            let words: Vec<OsString> =
                format!("baton {typed}").split(' ').map(|word| word.replace('_', " ").into()).collect();
            let sorted: Vec<String> =
                options_first(words).iter().skip(1).map(|word| word.to_string_lossy().replace(' ', "_")).collect();
            assert_eq!(sorted.join(" "), expected, "{typed}");
        };
        check("search lock -sqlite", "search -- lock -sqlite");
        check("search lock -sqlite --json -n 3", "search --json -n 3 -- lock -sqlite");
        check("search -n3 -p . lock", "search -n 3 -p . -- lock");
        check("search lock -file:store.py -project:tide-tables", "search -- lock -file:store.py -project:tide-tables");
        check("search -npm -php -- --no-verify", "search -- -npm -php --no-verify");
        check("search --limt 5 foo", "search --limt -- 5 foo");
        check("recall why --budgt=5 -sqlite", "recall --budgt=5 -- why -sqlite");
        check("search --no-verify_was_refused --- --1", "search -- --no-verify_was_refused --- --1");
        check("search lock --help", "search --help -- lock");
        check("search --limit=3 x --project=a", "search --limit=3 --project=a -- x");
        check("search -- -n 3 --json", "search -- -n 3 --json");
        check("search --help", "search --help");
        check("search lock -h", "search -- lock -h");
        check("search lock -n", "search -n -- lock");
        check("recall what --budget 300 -sqlite", "recall --budget 300 -- what -sqlite");
        check("how cargo test --release -p auth --json", "how --json -- cargo test --release -p auth");
        check("how pytest -x -n 3", "how -n 3 -- pytest -x");
        check("how cargo_test -p ledger -n 2", "how -p ledger -n 2 -- cargo_test");
        check("how -p ledger cargo -V", "how -p ledger -- cargo -V");
        check("how cargo test --test it --project ledger", "how --project ledger -- cargo test --test it");
        check("fix error: unexpected argument --foo", "fix -- error: unexpected argument --foo");
        check("fix - --json", "fix --json -- -");
        check("blame src/a.rs -p x", "blame src/a.rs -p x");
        check("--examples search lock -sqlite", "--examples search -- lock -sqlite");
        check("search lock --examples -sqlite", "search --examples -- lock -sqlite");
        check("search", "search");
    }

    #[test]
    fn a_phrase_gets_its_quotes_back() {
        let check = |words: &[&str], expected: &str| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(join(&words), expected);
        };
        check(&["lock", "-advisory lock"], "lock -\"advisory lock\"");
        check(&["lock", "-\"advisory lock\""], "lock -\"advisory lock\"");
        check(&["-sqlite lock"], "-sqlite lock");
        check(&["a b", "-c"], "a b -c");
    }
}
