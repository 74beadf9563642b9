//! Writes the man pages of all commands and the completion scripts into the folder named by its argument:
//! `cargo run --example man --features packaging -- target/packaging`. A program of its own, so that what is shipped
//! does not carry what only a release needs.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap_complete::Shell;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the folder to write to")?;
    let (man, completions) = (out.join("man"), out.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder)?;
    }
    let mut command = baton::cli::command_line();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
        clap_complete::generate_to(shell, &mut command, "baton", &completions)?;
    }
    clap_mangen::generate_to(command, &man)?;
    Ok(())
}
