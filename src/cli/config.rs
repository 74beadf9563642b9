//! `baton config`: shows each value with its origin, and imports a `graphiti.config.json`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_config::configuration::describe_keys;
use baton_protocol::answer::Config;
use baton_protocol::{ConfigParams, method};
use clap::Subcommand;

use super::Error;
use crate::environment::Environment;
use crate::print::{self, Output, Style};

/// Largest file that can be imported; a configuration is a few kilobytes.
const IMPORT_BYTES: u64 = 256 * 1024;

const EXAMPLES: &str = "\
Without a subcommand it prints every key with its value and where the value comes from: the default, the file, or a \
variable. To change a value, edit config.json in BATON_HOME; the next command reads it.

Examples:
  baton config                         every key with its value
  baton config --json                  the same as JSON
  baton config import graphiti.config.json --dry-run";

const IMPORT: &str = "\
JSON: {\"path\",\"values\":[…],\"warnings\":[…],\"mistakes\":[…],\"imported\":[{\"key\",\"became\",\"value\",\"outcome\",\"message\"}]}.

Examples:
  baton config import graphiti.config.json --dry-run   what would become of each key
  baton config import graphiti.config.json             set what is not set yet
  baton config import graphiti.config.json --force     replace what is set, too";

#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\nKeys of config.json, their defaults, and the values they take:\n{}", describe_keys()))]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Import a graphiti.config.json, and show what became of each of its keys
    #[command(after_long_help = IMPORT)]
    Import {
        /// The graphiti.config.json to import
        file: PathBuf,
        /// Replace values that are already set
        #[arg(long)]
        force: bool,
        /// Show the result, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let params = match &args.action {
        None => ConfigParams::default(),
        Some(Action::Import { file, force, dry_run }) => {
            ConfigParams { import: Some(read(file)?), force: *force, dry_run: *dry_run }
        }
    };
    let result = super::ask(environment, |client| client.call_raw(method::CONFIG, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let config: Config = super::parse_result(&result)?;
    if params.import.is_some() {
        show_import(&output, &config, params.dry_run);
        return Ok(ExitCode::SUCCESS);
    }
    show(&output, &config);
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String, Error> {
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(IMPORT_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > IMPORT_BYTES {
        return Err(failed(format!("it is larger than {} KB, so it is no configuration", IMPORT_BYTES / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8; save it as UTF-8".to_owned()))
}

fn show(output: &Output, config: &Config) {
    output.line(&output.styled(Style::Faint, &print::plain(&config.path)));
    let width = config.values.iter().map(|value| value.key.chars().count()).max().unwrap_or(0).min(56);
    for value in &config.values {
        let origin = output.styled(Style::Faint, &format!("({})", value.origin));
        output.line(&format!(
            "{:width$}  {}  {origin}",
            print::plain(&value.key),
            print::plain(&value.value.to_string())
        ));
    }
    for warning in &config.warnings {
        print::note(&format!("warning: {}", print::plain(warning)));
    }
    for mistake in &config.mistakes {
        print::note(&format!("mistake: {}", print::plain(mistake)));
    }
    if !config.mistakes.is_empty() {
        print::note("The file is ignored until this is fixed; the values above are in effect.");
    }
}

fn show_import(output: &Output, config: &Config, dry_run: bool) {
    for key in &config.imported {
        let style = match key.outcome.as_str() {
            "taken" => Style::Good,
            "wrong" => Style::Bad,
            _ => Style::Faint,
        };
        let became = key.became.as_deref().filter(|became| *became != key.key);
        let became = became.map(|became| format!(" -> {became}")).unwrap_or_default();
        let value = key.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        let message = if key.message.is_empty() { String::new() } else { format!(": {}", key.message) };
        let line = print::plain(&format!("{}{became}{value}{message}", key.key));
        output.line(&format!("{}  {line}", output.styled(style, &format!("{:7}", key.outcome))));
    }
    let taken = config.imported.iter().filter(|key| key.outcome == "taken").count();
    output.line(&match dry_run {
        true => format!("{taken} keys would be set in {}; nothing was written.", print::plain(&config.path)),
        false => format!("{taken} keys are set in {}. `baton config` shows them.", print::plain(&config.path)),
    });
}
