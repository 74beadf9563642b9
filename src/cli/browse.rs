//! `baton browse`, and `baton` alone on a terminal: the browser.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use super::Error;
use crate::browse;
use crate::environment::Environment;
use crate::examples;

const HELP: &str = "\
Opens a browser on the whole terminal: type to search, with the language of `baton search`; without a query the latest \
sessions are listed. A preview shows goal, conclusion, decisions, open ends, files and the places that match. Enter opens \
the conversation; `?` lists all keys. `baton` alone on a terminal does the same.

While you type, answers come from what is indexed; a moment later everything new is read, as by `baton search`. Text of \
sessions is drawn without control characters. Only the terminal's own colours are used; NO_COLOR=1 turns them off.

Examples:
  baton                                the latest sessions
  baton browse refresh token           what is found for these words
  baton --examples browse              the example sessions; nothing of yours is read";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// What to look for first
    query: Vec<String>,
}

/// True if the browser can be drawn: both ends are a terminal, and not one that can only print.
pub(super) fn has_screen() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if !has_screen() {
        let why =
            "the browser needs a terminal for its input and its output; `baton search` and `baton sessions` print";
        return Err(Error::Usage(why.to_owned()));
    }
    let query = args.query.join(" ");
    match examples::stand_in(environment) {
        Some(folder) => {
            let throwaway = super::start_examples(&folder)?;
            browse::run(throwaway.environment(), &query, "example sessions").map_err(failed)
        }
        None => browse::run(environment, &query, "").map_err(failed),
    }
}

fn failed(error: browse::Error) -> Error {
    match error {
        browse::Error::Client(error) => Error::Client(error),
        browse::Error::Resume(why) => Error::Resume(why),
        error @ browse::Error::Terminal(_) => Error::Browse(error.to_string()),
    }
}
