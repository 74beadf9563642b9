//! The `baton` command.

use std::process::ExitCode;

use baton::cli;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok((parsed, error_format)) => cli::run(parsed).unwrap_or_else(|error| error_format.print_error(&error)),
        Err(code) => code,
    }
}
