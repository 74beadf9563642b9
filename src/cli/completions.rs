//! `baton completions`: prints a completion script for a shell.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::print::Output;

const HELP: &str = "\
Prints a script for the shell; writes no file.

Examples:
  bash        baton completions bash > ~/.local/share/bash-completion/completions/baton
  zsh         baton completions zsh > \"${fpath[1]}/_baton\"
  fish        baton completions fish > ~/.config/fish/completions/baton.fish
  powershell  baton completions powershell >> $PROFILE
  elvish      baton completions elvish >> ~/.config/elvish/rc.elv";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command_line(), "baton", &mut script);
    Output::new().line(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}
