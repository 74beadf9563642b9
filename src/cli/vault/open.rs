//! `baton vault open`: opens the vault for reading.

use std::process::ExitCode;
use std::time::Duration;

use baton_protocol::answer::Vault;
use baton_protocol::method;

use super::super::{Error, ask, parse_result};
use crate::environment::Environment;
use crate::print::{self, Output};
use baton_base::program;

/// Time limit for the program that opens it.
const WAIT: Duration = Duration::from_secs(10);

const HELP: &str = "\
Prints the folder of the notes and opens it: in Obsidian if that handles obsidian:// addresses and the vault is one of \
its own, otherwise as a folder. With --print it only prints the folder.

JSON: {\"path\",\"opened\"}

Examples:
  baton vault open
  cd \"$(baton vault open --print)\"";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print the folder without opening it
    #[arg(long)]
    print: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let result = ask(environment, |client| client.call_raw(method::VAULT_STATUS, &(), |_| {}))?;
    let vault: Vault = parse_result(&result)?;
    let folder = std::path::Path::new(&vault.path).join(&vault.root);
    let shown = folder.display().to_string();
    if !folder.is_dir() {
        let why = match vault.enabled {
            true => "no note is written yet; `baton vault status` says more",
            false => "notes are off; set vault.enabled to true in config.json",
        };
        return Err(Error::File { path: shown, reason: format!("it does not exist: {why}") });
    }
    let is_obsidian = std::path::Path::new(&vault.path).join(".obsidian").is_dir();
    let address = format!("obsidian://open?path={}", encoded(&shown));
    let opened = !args.print && (is_obsidian.then_some(&address).into_iter().chain([&shown])).any(|what| open(what));
    let output = Output::new();
    match args.json {
        true => output.data(&serde_json::json!({ "path": shown, "opened": opened }).to_string()),
        false => output.line(&print::plain(&shown)),
    }
    if !opened && !args.print {
        print::note("No program opened it; the notes are in the folder above.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the system open `what`; true if it succeeded.
fn open(what: &str) -> bool {
    let name = if cfg!(windows) {
        "explorer"
    } else if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let Some(program) = program::find(name) else { return false };
    program::run(&program, &[what.to_owned()], WAIT).is_ok_and(|ran| ran.is_ok)
}

/// Percent-encodes a path for a URL.
fn encoded(path: &str) -> String {
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    path.bytes().map(|byte| if keeps(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn a_path_is_one_part_of_an_address() {
        assert_eq!(encoded("/home/a b/Notizen-ü"), "%2Fhome%2Fa%20b%2FNotizen-%C3%BC");
    }
}
