//! `baton vault status`: where the notes are, and their state.

use std::process::ExitCode;

use baton_protocol::answer::Vault;
use baton_protocol::method;

use super::super::{Error, ask, parse_result};
use crate::environment::Environment;
use crate::print::{self, Output, Style};

const HELP: &str = "\
JSON: \
{\"enabled\",\"state\":\"off|ready|incomplete|writing|waiting\",\"path\",\"root\",\"notes\",\"active\",\"archived\",\"compaction_failed\",\
\"behind\",\"pending\",\"to_remove\",\"conflicts\",\"left_alone\":[{\"note\",\"error\"}],\"failed\":[{\"note\",\"error\"}],\"promoted\",\
\"last_end_ms\",\"swept_at\",\"problem\":{\"what\",\"fix\"}}

Notes are written if `vault.enabled` is true in config.json, into the vault at `vault.path`, or else into \
BATON_HOME/vault.

Examples:
  baton vault status                   where the notes are, and whether any could not be written";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let result = ask(environment, |client| client.call_raw(method::VAULT_STATUS, &(), |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let vault: Vault = parse_result(&result)?;
    let fact = |name: &str, value: String| {
        output.line(&format!("{} {}", output.styled(Style::Faint, &format!("{name:9}")), print::plain(&value)));
    };
    fact("vault", vault.path.clone());
    fact("folder", vault.root.clone());
    fact("state", if vault.enabled { vault.state.clone() } else { "off: vault.enabled is false".to_owned() });
    let failed = match vault.compaction_failed {
        0 => String::new(),
        failed => format!(", {failed} not compacted"),
    };
    fact("notes", format!("{}: {} active, {} archived{failed}", vault.notes, vault.active, vault.archived));
    let waiting = [
        (vault.behind, "to be written"),
        (vault.pending, "ready in vault-pending"),
        (
            vault.to_remove,
            if vault.to_remove == 1 {
                "of a forgotten session to be removed"
            } else {
                "of forgotten sessions to be removed"
            },
        ),
    ];
    let waiting: Vec<String> =
        waiting.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !waiting.is_empty() {
        fact("waiting", waiting.join(", "));
    }
    if vault.conflicts > 0 {
        let what = match vault.conflicts {
            1 => "1 block was changed by people, and is theirs".to_owned(),
            blocks => format!("{blocks} blocks were changed by people, and are theirs"),
        };
        fact("edited", what);
    }
    if vault.promoted > 0 {
        let what = match vault.promoted {
            1 => "1 entity is shared by projects".to_owned(),
            entities => format!("{entities} entities are shared by projects"),
        };
        fact("shared", what);
    }
    if let Some(ms) = vault.last_end_ms {
        fact("last end", format!("written in {ms} ms"));
    }
    if let Some(at) = &vault.swept_at {
        fact("checked", format!("all notes at {at}"));
    }
    for failure in vault.failed.iter().chain(&vault.left_alone) {
        output.line("");
        let what = format!("{}: {}", failure.note, failure.error);
        output.line(&output.styled(Style::Warning, &print::plain(&what)));
    }
    if let Some(problem) = &vault.problem {
        output.line("");
        output.line(&output.styled(Style::Bad, &print::plain(&problem.what)));
        output.line(&format!("  {}", print::plain(&problem.fix)));
    }
    Ok(ExitCode::SUCCESS)
}
