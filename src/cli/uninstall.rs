//! `baton uninstall`: removes what `baton install` added, and nothing else.

use std::process::ExitCode;

use super::Error;
use super::install::{AgentParser, carry_out, install_for_project, installers, plan_all};
use crate::environment::Environment;
use crate::print::{self, Output};
use baton_install::{Host, Installer, Scope};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The agents [default: all that are found on this machine]
    #[arg(value_parser = AgentParser, value_name = "AGENT")]
    agents: Vec<Host>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Which settings: yours, or those of this directory's project
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
    /// Aider and Crush only: the project whose sessions are no longer read, unless another agent works there
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

const AFTER_HELP: &str = "\
Removes Baton's hooks and its MCP server from the agents' files, and its block in CLAUDE.md, AGENTS.md and the like. Everything else in these files stays byte for byte. Memory and log in BATON_HOME stay too, and the daemon \
runs until `baton stop`; Codex keeps its list of trusted hooks. A plugin is named and stays: only Claude Code can \
remove it. Do this before you remove the program: a hook whose program is gone shows a notice each time.

Examples:
  baton uninstall --dry-run            what would be removed
  baton uninstall                      from every agent that is here; asks first
  baton uninstall codex --yes          from Codex only, without asking";

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if let Some(done) = install_for_project(environment, &args.agents, args.project.as_deref(), false, args.dry_run)? {
        return Ok(done);
    }
    let installers = installers(environment, &args.agents, args.scope)?;
    let plans = plan_all(&installers, args.dry_run, Installer::plan_removal)?;
    let output = Output::new();
    let nothing = match plans.iter().all(|(_, plan)| plan.remarks.is_empty()) {
        true => "Nothing of Baton is installed in the agents here; there is nothing to remove.",
        false => "There is nothing else to remove.",
    };
    let (code, _) = carry_out(&plans, args.dry_run, args.yes, nothing, &output)?;
    if code == ExitCode::SUCCESS && !args.dry_run && plans.iter().any(|(_, plan)| !plan.changes.is_empty()) {
        let home = print::one_line_end(&environment.home.display().to_string(), 200);
        let trusted = match installers.iter().any(Installer::is_of_codex) {
            true => ", Codex's list of trusted hooks ([hooks.state] in its config.toml)",
            false => "",
        };
        output.line(&format!("The memory in {home}{trusted} and the daemon stay; `baton stop` ends the daemon."));
    }
    Ok(code)
}
