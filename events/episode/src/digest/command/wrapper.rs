//! Words before a program that only run it.

use std::borrow::Cow;

use super::vocabulary::{FAMILIES, INTERPRETERS, LOOKING, SETUP, WITH_SUBCOMMANDS};

/// Returns the number of leading words that only run the program behind them: `rtk git status`, `rtk test bun run test`.
pub(super) fn wrapper_words(words: &[Cow<'_, str>]) -> usize {
    let known = |word: &str| WITH_SUBCOMMANDS.contains(&word) || FAMILIES.iter().any(|(.., all)| all.contains(&word));
    let named = |word: &str| FAMILIES.iter().any(|(_, endings, _)| endings.contains(&word));
    let runs =
        |word: &str| known(word) || INTERPRETERS.contains(&word) || LOOKING.contains(&word) || SETUP.contains(&word);
    let looks = |word: &str| LOOKING.contains(&word) && !named(word);
    match words {
        [first, ..] if runs(first.rsplit('/').next().unwrap_or(first)) => 0,
        [_, second, _, ..] if known(second) || looks(second) => 1,
        [_, second, third, _, ..] if named(second) && known(third) => 2,
        _ => 0,
    }
}

/// Strips runners: `uv run`, `poetry run`, `bundle exec`, `pnpm exec`, `python -m`.
pub(super) fn unwrap_runner(words: &mut Vec<Cow<'_, str>>) {
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
