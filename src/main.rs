//! The `baton` command: what was typed in, what came of it out.

use std::process::ExitCode;

use baton::cli::{self, Cli};
use clap::Parser;

fn main() -> ExitCode {
    let typed = Cli::parse();
    match cli::run(typed) {
        Ok(code) => code,
        Err(error) => {
            baton::print::error(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
