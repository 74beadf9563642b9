//! The `baton` command.

use std::process::ExitCode;

use baton::cli;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok((parsed, telling)) => cli::run(parsed).unwrap_or_else(|error| telling.failed(&error)),
        Err(code) => code,
    }
}
