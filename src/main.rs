//! The `baton` command.

use std::process::ExitCode;

use baton::cli;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok((typed, telling)) => cli::run(typed).unwrap_or_else(|error| telling.failed(&error)),
        Err(code) => code,
    }
}
