//! Words before a program that only run it.

use std::borrow::Cow;

use super::vocabulary::{FAMILIES, INTERPRETERS, LOOKING, SETUP, WITH_SUBCOMMANDS, WRAPPERS, lists};
use super::words::Word;

/// Strips what stands before a program: assignments, wrappers, runners. Returns true if a wrapper may not pass on the
/// program's exit code.
pub(super) fn unwrapped(words: Vec<Word<'_>>) -> (Vec<Cow<'_, str>>, bool) {
    // `command -v x` only looks for it.
    let is_asked = words.windows(2).any(|two| two[0].as_str() == "command" && two[1].as_str().to_lowercase() == "-v");
    let mut words = words.into_iter().map(Word::text).peekable();
    while let Some(word) = words.peek() {
        let assignment = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        if is_asked && word == "command" || !assignment && !WRAPPERS.contains(&&**word) && *word != "timeout" {
            break;
        }
        let wrapper = !assignment;
        if words.next().is_some_and(|word| word == "timeout") {
            words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        }
        while wrapper && words.next_if(|word| word.starts_with('-')).is_some() {}
    }
    let mut words: Vec<_> = words.collect();
    let wrapper = wrapper_words(&words);
    words.drain(..wrapper);
    unwrap_runner(&mut words);
    (words, wrapper > 0)
}

/// Subcommands of wrappers that run the rest of the line.
const RUNNING: [&str; 3] = ["run", "exec", "proxy"];

/// Returns the number of leading words that only run the program behind them: `rtk git status`, `rtk test bun run test`.
fn wrapper_words(words: &[Cow<'_, str>]) -> usize {
    let known = |word: &str| WITH_SUBCOMMANDS.has(word) || FAMILIES.iter().any(|(.., all)| lists(all, word));
    let named = |word: &str| FAMILIES.iter().any(|(_, endings, _)| lists(endings, word));
    let runs = |word: &str| known(word) || INTERPRETERS.contains(&word) || LOOKING.has(word) || SETUP.contains(&word);
    let looks = |word: &str| LOOKING.has(word) && !named(word);
    match words {
        [first, ..] if runs(first.rsplit('/').next().unwrap_or(first)) => 0,
        [_, second, _, ..] if known(second) || looks(second) => 1,
        [_, second, third, _, ..] if named(second) && known(third) => 2,
        [_, second, third, ..] if RUNNING.contains(&&**second) && (known(third) || looks(third)) => 2,
        _ => 0,
    }
}

/// Strips runners: `uv run`, `poetry run`, `bundle exec`, `pnpm exec`, `python -m`.
fn unwrap_runner(words: &mut Vec<Cow<'_, str>>) {
    for _ in 0..3 {
        let Some([first, second]) = words.first_chunk::<2>() else { return };
        let runs = matches!(
            (&**first, &**second),
            ("uv" | "poetry" | "pipenv" | "hatch" | "rye" | "pdm", "run")
                | ("bundle" | "npm" | "pnpm" | "yarn", "exec")
                | ("pnpm" | "yarn", "dlx")
                | ("python" | "python3", "-m")
        );
        if !runs {
            return;
        }
        let flags = words[2..].iter().take_while(|word| word.starts_with("--")).count();
        words.drain(..2 + flags);
    }
}
