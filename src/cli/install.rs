//! `baton install`: sets up hooks and MCP server in the agents found, and guidance in Claude Code.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_protocol::{TrackingParams, method};

use super::Error;
use crate::environment::Environment;
use crate::install::{Change, Error as Planning, Host, Installer, Plan, Scope};
use crate::print::{self, Output, Style};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The agents [default: all that are found on this machine]
    #[arg(value_enum, value_name = "AGENT")]
    agents: Vec<Host>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the JSON to add by hand, and change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "yes", "claude_md"])]
    print: bool,
    /// Which settings: yours, or those of this directory's project
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
    /// Aider and Crush only: the project whose sessions are read
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Add the block "Session Handoff Best Practice" to Claude Code's CLAUDE.md too
    #[arg(long)]
    claude_md: bool,
    /// Write a plugin with its marketplace into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "print", "yes", "claude_md", "scope", "agents", "project"])]
    plugin: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Shows what changes in the agents' files for hooks and MCP servers, and asks before it writes. Only Baton's own entries \
are touched; a copy of the file is kept beside it. Run it again after an update: it repairs what is no longer \
right, or says that there is nothing to do. `baton doctor` checks that everything works, `baton uninstall` removes it again.

Codex runs no hook before you have trusted it: start `codex` once and accept them where it says that hooks need review.

Examples:
  baton install                   hooks and MCP server for you, in all projects, in every agent that is here
  baton install codex             the same for Codex only
  baton install --dry-run         what that would change
  baton install --scope project   for this project: .claude/settings.json and .mcp.json of Claude Code
  baton install aider --project DIR  have Aider's sessions in a project read
  baton install --plugin DIR      as a plugin: `/plugin marketplace add DIR`, `/plugin install baton@baton-local`";

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let directory = here()?;
    let output = Output::new();
    if let Some(folder) = &args.plugin {
        let installer = Installer::new(Host::Claude, args.scope, environment, &directory)?;
        return plugin(&installer, &directory.join(folder), &output);
    }
    if let Some(done) = of_project(environment, &args.agents, args.project.as_deref(), true, args.dry_run)? {
        return Ok(done);
    }
    let installers = installers(environment, &args.agents, args.scope)?;
    if args.print {
        installers.iter().for_each(|installer| print_by_hand(installer, &output));
        return Ok(ExitCode::SUCCESS);
    }
    let mut plan = plan_all(&installers, args.dry_run, Installer::plan)?;
    let guidance = installers.iter().find_map(|installer| installer.plan_guidance().transpose()).transpose();
    // Guidance that cannot be added is not offered.
    let (wanted, offered) = if args.claude_md { (guidance?, None) } else { (None, guidance.unwrap_or_default()) };
    plan.changes.extend(wanted);
    let is_asked = !args.yes && !args.dry_run;
    let nothing = "Everything is as it should be; nothing to do.";
    let done = carry_out(&plan, args.dry_run, args.yes, nothing, &output)?;
    match offered {
        Some(change) if is_asked && done == ExitCode::SUCCESS && is_terminal() => {
            output.line("");
            show(&change, &output);
            if confirm("Add this block to CLAUDE.md?", &output) {
                output.line(&change.make().map_err(Error::Install)?);
            }
        }
        Some(_) if !args.dry_run && done == ExitCode::SUCCESS => {
            output.line("CLAUDE.md: --claude-md adds a block that tells agents when to close a session");
        }
        _ => {}
    }
    Ok(done)
}

/// Has the sessions that an agent keeps in a project read, or no longer: there is nothing else to set up in it. `None` if
/// others are to be set up.
pub(super) fn of_project(
    environment: &Environment,
    agents: &[Host],
    project: Option<&str>,
    is_read: bool,
    is_dry: bool,
) -> Result<Option<ExitCode>, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    let (title, project) = match (agents, project) {
        ([only], Some(project)) if only.is_in_projects() => (only.title(), project),
        ([only], None) if only.is_in_projects() => {
            return usage(&format!(
                "nothing is set up in {}: its sessions are read in every project where another agent has worked; name \
                 any other with --project DIR",
                only.title()
            ));
        }
        (agents, None) if !agents.iter().any(|agent| agent.is_in_projects()) => return Ok(None),
        _ => return usage("name `aider` or `crush` alone, and its project with --project DIR"),
    };
    let directory = std::path::absolute(project).and_then(|path| path.canonicalize());
    let directory = directory.map_err(|error| Error::File { path: project.to_owned(), reason: error.to_string() })?;
    let shown = directory.display().to_string();
    let output = Output::new();
    if !is_dry {
        let params = TrackingParams { enabled: None, project: Some(shown.clone()), stores: Some(is_read) };
        super::ask_shown(environment, false, |client| client.call_raw(method::TRACKING, &params, |_| {}))?;
    }
    output.line(&match (is_dry, is_read) {
        (true, _) => format!(
            "session_tracking.project_stores would {} {}",
            if is_read { "name" } else { "lose" },
            print::plain(&shown)
        ),
        (false, true) => {
            format!("{title}'s sessions in {} are read; `baton doctor` says if they cannot be", print::plain(&shown))
        }
        (false, false) => {
            format!("{title}'s sessions in {} are read only if another agent works there", print::plain(&shown))
        }
    });
    Ok(Some(ExitCode::SUCCESS))
}

/// One installer per named agent, or per agent found if none is named. Only Claude Code has project scope.
pub(super) fn installers(environment: &Environment, named: &[Host], scope: Scope) -> Result<Vec<Installer>, Error> {
    let hosts = match (named, scope) {
        ([], Scope::Project) => vec![Host::Claude],
        ([], Scope::User) => Host::found(environment),
        (named, Scope::Project) if named.iter().any(|host| *host != Host::Claude) => {
            return Err(Error::Usage(
                "only Claude Code can be set up for a project: leave out --scope project, or name only `claude`"
                    .to_owned(),
            ));
        }
        (named, _) => named.to_vec(),
    };
    let directory = here()?;
    let installers = hosts.into_iter().map(|host| Ok(Installer::new(host, scope, environment, &directory)?));
    installers.collect()
}

/// Merges the plans of all installers.
pub(super) fn plan_all(
    installers: &[Installer],
    is_dry: bool,
    plan: impl Fn(&Installer) -> Result<Plan, Planning>,
) -> Result<Plan, Error> {
    let mut all = Plan::default();
    for installer in installers {
        let is_one_of_several = installers.len() > 1;
        let Plan { changes, remarks, refused } = match plan(installer) {
            // One agent that a plugin covers, or whose file cannot be changed, does not keep the others from theirs.
            Err(error @ Planning::Plugin(..)) if is_one_of_several => {
                Plan { remarks: vec![error.to_string()], ..Plan::default() }
            }
            Err(error @ (Planning::Content { .. } | Planning::Target(_))) if is_one_of_several => {
                Plan { refused: vec![error.to_string()], ..Plan::default() }
            }
            planned => planned?,
        };
        if !is_dry {
            installer.sweep();
        }
        all.changes.extend(changes);
        all.refused.extend(refused);
        // Some remarks concern the machine, not one agent: show them once.
        let new: Vec<String> = remarks.into_iter().filter(|remark| !all.remarks.contains(remark)).collect();
        all.remarks.extend(new);
    }
    Ok(all)
}

fn print_by_hand(installer: &Installer, output: &Output) {
    let printed = installer.printed();
    for (text, path) in printed.files {
        output.line(&text);
        print::note(&format!("\nThis goes into {}.", path.display()));
    }
    if let Some(command) = printed.command {
        print::note(&format!("The MCP server:\n  {command}"));
    }
    if let Some(servers) = printed.servers {
        print::note("or, for one project, in its .mcp.json:");
        servers.lines().for_each(print::note);
    }
}

fn plugin(installer: &Installer, folder: &Path, output: &Output) -> Result<ExitCode, Error> {
    let written = installer.write_plugin(folder)?;
    match written.is_empty() {
        true => output.line("The plugin is up to date; nothing to do."),
        false => written
            .iter()
            .for_each(|path| output.line(&format!("{} written", print::plain(&path.display().to_string())))),
    }
    output.line("In Claude Code:");
    output.line(&format!("  /plugin marketplace add {}", print::plain(&folder.display().to_string())));
    output.line("  /plugin install baton@baton-local");
    Ok(ExitCode::SUCCESS)
}

/// Shows a plan, asks for confirmation, and carries it out. `nothing` is printed if the plan is empty.
pub(super) fn carry_out(
    plan: &Plan,
    is_dry: bool,
    is_agreed: bool,
    nothing: &str,
    output: &Output,
) -> Result<ExitCode, Error> {
    for change in &plan.changes {
        show(change, output);
    }
    for remark in &plan.remarks {
        output.line(&format!("{} {}", output.styled(Style::Warning, "note:"), print::plain(remark)));
    }
    plan.refused.iter().for_each(|why| print::error(why));
    let mut code = if plan.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if plan.changes.is_empty() {
        if plan.refused.is_empty() {
            output.line(nothing);
        }
        return Ok(code);
    }
    if is_dry {
        output.line("Nothing was changed.");
        return Ok(code);
    }
    if !is_agreed && !is_terminal() {
        return Err(Error::NotAgreed);
    }
    if !is_agreed && !confirm("Make these changes?", output) {
        output.line("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    for change in &plan.changes {
        match change.make() {
            Ok(done) => output.line(&print::plain(&done)),
            Err(error) => {
                print::error(&error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// The current directory.
pub(super) fn here() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::File {
        path: ".".to_owned(),
        reason: format!("{error}; change to a directory that exists"),
    })
}

fn show(change: &Change, output: &Output) {
    for line in change.shown().lines() {
        let line = print::plain(line);
        output.line(&match line.as_bytes().first() {
            Some(b'+') => output.styled(Style::Good, &line),
            Some(b'-') => output.styled(Style::Bad, &line),
            Some(b'@') => output.styled(Style::Faint, &line),
            _ => line.to_string(),
        });
    }
}

pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(super) fn confirm(question: &str, output: &Output) -> bool {
    output.line(&format!("{} [y/N]", output.styled(Style::Strong, question)));
    let mut answer = String::new();
    // A failed read counts as no.
    let _ = io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
