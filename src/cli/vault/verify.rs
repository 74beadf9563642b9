//! `baton vault verify`: reads and checks every note.

use std::process::ExitCode;

use baton_protocol::answer::VaultVerify;
use baton_protocol::method;

use super::super::{Error, ask, parse_result};
use super::SILENT;
use crate::environment::Environment;
use crate::print::{self, Output, Progress, Style};

const HELP: &str = "\
Checks that all frontmatter is valid YAML, every link leads to a note, every marker has its counterpart, and every \
name is safe on Windows and macOS. Nothing is changed.

JSON: {\"clean\",\"notes\",\"bytes\",\"findings\":[{\"file\",\"line\",\"what\",\"fix\"}],\"found\",\"seconds\"}

Exit code 0 only if nothing is wrong.

Examples:
  baton vault verify                   can every note be read, and does every link lead to one?";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let progress = Progress::new();
    let result = ask(environment, |client| {
        client.set_answer_timeout(SILENT);
        client.call_raw(method::VAULT_VERIFY, &(), |update| progress.show(&update))
    });
    progress.end();
    let result = result?;
    let verified: VaultVerify = parse_result(&result)?;
    let output = Output::new();
    match args.json {
        true => output.json(&result),
        false => report(&output, &verified),
    }
    Ok(if verified.clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(output: &Output, verified: &VaultVerify) {
    for finding in &verified.findings {
        let place = if finding.line > 0 { format!("{}:{}", finding.file, finding.line) } else { finding.file.clone() };
        output.line(&output.styled(Style::Bad, &print::plain(&format!("{place}: {}", finding.what))));
        output.line(&format!("  {}", print::plain(&finding.fix)));
    }
    let more = verified.found.saturating_sub(verified.findings.len() as u64);
    if more > 0 {
        output.line(&format!("… and {more} more"));
    }
    let verdict = match verified.found {
        0 => output.styled(Style::Good, "Nothing is wrong."),
        1 => output.styled(Style::Bad, "1 thing is wrong."),
        found => output.styled(Style::Bad, &format!("{found} things are wrong.")),
    };
    let (notes, were) = (print::counted(verified.notes, "note"), if verified.notes == 1 { "was" } else { "were" });
    output.line(&format!("{verdict} {notes} {were} read in {:.2} s.", verified.seconds));
}
