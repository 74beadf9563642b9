//! `baton bench`: runs `baton-bench`, a separate program.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
Runs the program `baton-bench` beside this one with all arguments: `baton bench --help` prints its help. `cargo build \
--release` builds both in a checkout.

Examples:
  baton bench all
  baton bench crash --kills 1000";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP, disable_help_flag = true)]
pub(super) struct Args {
    /// Arguments of baton-bench
    #[arg(value_name = "ARGUMENT", allow_hyphen_values = true, trailing_var_arg = true)]
    arguments: Vec<OsString>,
}

/// Reason why `baton-bench` did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was not built.
    #[error("the benchmarks are a separate program, and there is no {}; in a checkout `cargo build --release` builds it, and `target/release/baton bench` runs it", .0.display())]
    Missing(PathBuf),
    /// The system refused to run it.
    #[error("cannot run {}: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let failed = |program: &Path| {
        let program = program.to_owned();
        |source| Error::Run { program, source }
    };
    let this = std::env::current_exe().map_err(failed(Path::new("baton-bench")))?;
    let program = this.with_file_name(format!("baton-bench{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        return Err(Error::Missing(program));
    }
    become_program(Command::new(&program).args(&args.arguments)).map_err(failed(&program))
}

/// Replaces this process, so that signals and the exit code need no forwarding.
#[cfg(unix)]
fn become_program(command: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

/// Runs the program to its end and exits with its code.
#[cfg(not(unix))]
fn become_program(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code().unwrap_or(1);
    std::process::exit(code)
}
