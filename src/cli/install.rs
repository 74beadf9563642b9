//! `baton install`: sets up hooks and MCP server in the agents found, and guidance in Claude Code.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_protocol::{Agent, TrackingParams, method};
use baton_tracking::transcript_roots;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};

use super::Error;
use crate::environment::{Environment, in_time};
use crate::print::{self, Output, Style};
use baton_install::{Change, Error as Planning, Host, Installer, Plan, Scope};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The agents [default: all that are found on this machine]
    #[arg(value_parser = AgentParser, value_name = "AGENT")]
    agents: Vec<Host>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the JSON to add by hand, and change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "yes", "claude_md", "rules"])]
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
    /// Tell other agents in their instructions too that Baton has earlier sessions, and when to ask it
    #[arg(long)]
    rules: bool,
    /// Write a plugin with its marketplace into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "print", "yes", "claude_md", "rules", "scope", "agents", "project"])]
    plugin: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Shows what changes in each agent's files for hooks and MCP server, and asks before it writes them. Only Baton's own entries \
are touched; a copy of the file is kept beside it. Run it again after an update: it repairs what is no longer \
right, or says that there is nothing to do. `baton doctor` checks that everything works, `baton uninstall` removes it again.

Codex runs no hook before you have trusted it: start `codex` once and accept them where it says that hooks need review.

Examples:
  baton install                   hooks and MCP server for you, in all projects, in every agent that is here
  baton install codex             the same for Codex only
  baton install --dry-run         what that would change
  baton install --rules           a few lines in AGENTS.md and the like of the other agents too
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
    if let Some(done) = install_for_project(environment, &args.agents, args.project.as_deref(), true, args.dry_run)? {
        return Ok(done);
    }
    let installers = installers(environment, &args.agents, args.scope)?;
    if args.print {
        installers.iter().for_each(|installer| print_by_hand(installer, &output));
        return Ok(ExitCode::SUCCESS);
    }
    if args.rules && !installers.iter().any(Installer::has_rules) {
        let what = "none of these agents has a file for --rules; Claude Code has --claude-md, Cursor its settings";
        return Err(Error::Usage(what.to_owned()));
    }
    let guidance = installers.iter().find_map(|installer| installer.plan_guidance().transpose()).transpose();
    // Guidance that cannot be added is not offered.
    let (mut wanted, offered) = if args.claude_md { (guidance?, None) } else { (None, guidance.unwrap_or_default()) };
    let mut plans = plan_all(&installers, args.dry_run, Installer::plan)?;
    let of_claude = plans.iter_mut().find(|(title, _)| *title == Host::Claude.title());
    of_claude.into_iter().for_each(|(_, plan)| plan.changes.extend(wanted.take()));
    if args.rules {
        let rules = plan_all(&installers, args.dry_run, Installer::plan_rules)?;
        for ((_, plan), (_, Plan { changes, remarks, refused })) in plans.iter_mut().zip(rules) {
            plan.changes.extend(changes);
            plan.remarks.extend(remarks);
            plan.refused.extend(refused);
        }
    }
    let is_asked = !args.yes && !args.dry_run;
    let nothing = "Everything is as it should be; nothing to do.";
    let (done, is_declined) = carry_out(&plans, args.dry_run, args.yes, nothing, &output)?;
    if args.agents.is_empty() && args.scope == Scope::User {
        output.line(&format!("Read as well, with nothing to set up: {}", read_only().join(", ")));
    }
    match offered {
        Some(_) if is_declined => {}
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
pub(super) fn install_for_project(
    environment: &Environment,
    agents: &[Host],
    project: Option<&str>,
    is_read: bool,
    is_dry: bool,
) -> Result<Option<ExitCode>, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    let (agent, project) = match (agents, project) {
        ([only], Some(project)) if only.is_in_projects() => (only.agent(), project),
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
    let title = agent.title();
    let refused = in_time(move || transcript_roots::why_unread_in(agent, &directory)).flatten();
    if let Some(why) = refused.filter(|_| is_read) {
        return Err(Error::File { path: format!("{title}'s sessions in {shown}"), reason: why });
    }
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
        ([], Scope::User) => Host::detect(environment),
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

/// The plan of each installer, with its agent's name for display.
pub(super) fn plan_all(
    installers: &[Installer],
    is_dry: bool,
    plan: impl Fn(&Installer) -> Result<Plan, Planning>,
) -> Result<Vec<(&'static str, Plan)>, Error> {
    let mut all: Vec<(&str, Plan)> = Vec::new();
    for installer in installers {
        let is_one_of_several = installers.len() > 1;
        let mut planned = match plan(installer) {
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
        // Some remarks concern the machine, not one agent: show them once.
        planned.remarks.retain(|remark| !all.iter().any(|(_, plan)| plan.remarks.contains(remark)));
        all.push((installer.title(), planned));
    }
    Ok(all)
}

/// Agents whose sessions are read, and in which nothing can be set up.
fn read_only() -> Vec<&'static str> {
    Agent::ALL.iter().filter(|agent| Host::for_agent(**agent).is_none()).map(|agent| agent.title()).collect()
}

/// Parses the name of an agent in any of its spellings.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentParser;

impl TypedValueParser for AgentParser {
    type Value = Host;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Host, clap::Error> {
        match value.to_str().and_then(Agent::named).map(|agent| Host::for_agent(agent).ok_or(agent)) {
            Some(Ok(host)) => Ok(host),
            Some(Err(agent)) => Err(clap::Error::raw(
                ErrorKind::ValueValidation,
                format!(
                    "there is nothing to set up in {}: its sessions are read without it, and end by a close, a search or \
                     silence; `baton handoff` prints what the last one left\n",
                    agent.title()
                ),
            )
            .with_cmd(command)),
            None => EnumValueParser::<Host>::new().parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Host::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
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

/// Shows each agent's plan, asks for confirmation of it, and carries it out. `nothing` is printed if there is nothing to
/// change. Returns the exit code, and true if a plan was declined.
pub(super) fn carry_out(
    plans: &[(&str, Plan)],
    is_dry: bool,
    is_agreed: bool,
    nothing: &str,
    output: &Output,
) -> Result<(ExitCode, bool), Error> {
    let with_changes = plans.iter().filter(|(_, plan)| !plan.changes.is_empty()).count();
    let mut is_agreed = is_agreed || is_dry;
    let cannot_ask = !is_agreed && !is_terminal();
    let (mut made, mut has_failed, mut is_declined) = (0, false, false);
    for (title, plan) in plans {
        plan.changes.iter().for_each(|change| show(change, output));
        for remark in &plan.remarks {
            output.line(&format!("{} {}", output.styled(Style::Warning, "note:"), print::plain(remark)));
        }
        plan.refused.iter().for_each(|why| print::error(why));
        has_failed |= !plan.refused.is_empty();
        if plan.changes.is_empty() || is_dry || cannot_ask {
            continue;
        }
        let choice = if is_agreed { Choice::All } else { choose(title, with_changes > 1, output) };
        is_agreed = choice == Choice::All;
        is_declined |= matches!(choice, Choice::No | Choice::Quit);
        match choice {
            Choice::Yes | Choice::All => {}
            Choice::No => continue,
            Choice::Quit => break,
        }
        for change in &plan.changes {
            made += 1;
            match change.make() {
                Ok(done) => output.line(&print::plain(&done)),
                Err(error) => {
                    print::error(&error.to_string());
                    has_failed = true;
                }
            }
        }
    }
    if cannot_ask && with_changes > 0 {
        return Err(Error::NotAgreed);
    }
    let code = if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    match (with_changes, made) {
        (0, _) if has_failed => {}
        (0, _) => output.line(nothing),
        (_, 0) => {
            output.line("Nothing was changed.");
            return Ok((if is_dry { code } else { ExitCode::FAILURE }, is_declined));
        }
        _ => {}
    }
    Ok((code, is_declined))
}

/// What a person says to one agent's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Yes,
    No,
    /// To this agent's and all others'.
    All,
    /// To neither.
    Quit,
}

impl Choice {
    /// What an answer says; all else than a clear yes is a no.
    fn of(answer: &str) -> Self {
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "a" | "all" => Self::All,
            "q" | "quit" => Self::Quit,
            _ => Self::No,
        }
    }
}

fn choose(title: &str, is_one_of_several: bool, output: &Output) -> Choice {
    if !is_one_of_several {
        return if confirm("Make these changes?", output) { Choice::Yes } else { Choice::No };
    }
    let question = format!("Make these changes for {title}?");
    output.line(&format!("{} [y/N, a for all, q to stop]", output.styled(Style::Strong, &question)));
    // Without an answer there is none to come.
    read_answer().map_or(Choice::Quit, |answer| Choice::of(&answer))
}

/// A line of the person; `None` at the end of input.
fn read_answer() -> Option<String> {
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok().filter(|bytes| *bytes > 0).map(|_| answer)
}

/// The current directory.
pub(super) fn here() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::File {
        path: ".".to_owned(),
        reason: format!("{error}; change to a directory that exists"),
    })
}

fn show(change: &Change, output: &Output) {
    for line in change.diff().lines() {
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
    read_answer().is_some_and(|answer| Choice::of(&answer) == Choice::Yes)
}
