//! `baton session-tracking`: switches tracking on or off, globally or for one project.

use std::process::ExitCode;

use baton_protocol::answer::Tracking;
use baton_protocol::{TrackingParams, method};
use clap::Subcommand;

use super::Error;
use crate::client::Client;
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Style};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

const ENABLE: &str = "\
A project's own switch takes precedence over the global one.

Examples:
  baton session-tracking enable               for all projects without a switch of their own
  baton session-tracking enable --project .   for this directory's project";

const DISABLE: &str = "\
A project's own switch takes precedence over the global one: projects that were switched on by name are still read.

Examples:
  baton session-tracking disable --project .        for this directory's project
  baton session-tracking disable --project '~/tmp*' for all projects that a pattern matches
  baton session-tracking disable                    for all projects without a switch of their own";

const STATUS: &str = "\
JSON: {\"global_enabled\",\"active_sessions\",\"sessions\":[{\"session_id\",\"project_root\",\"last_activity\"}],\
\"projects\":{PATTERN:true|false},\"exclude\":[…]}.

Examples:
  baton session-tracking status               the switches, and the open sessions
  baton session-tracking status --project .   only this directory's project";

#[derive(Debug, Subcommand)]
enum Action {
    /// Read and index sessions again; what grew meanwhile is found by the next search
    #[command(after_long_help = ENABLE)]
    Enable(Options),
    /// Stop reading and indexing; existing episodes stay searchable
    #[command(after_long_help = DISABLE)]
    Disable(Options),
    /// Show the switches and the open sessions that are tracked
    #[command(after_long_help = STATUS)]
    Status(Options),
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Only this project: a directory, a name that fits one project, or a glob
    #[arg(long, short, value_name = "P", allow_hyphen_values = true)]
    project: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let (enabled, options) = match &args.action {
        Action::Enable(options) => (Some(true), options),
        Action::Disable(options) => (Some(false), options),
        Action::Status(options) => (None, options),
    };
    let project = options.project.as_deref().map(super::project);
    let params = TrackingParams { enabled, project, stores: None };
    let call = |client: &mut Client| client.call_raw(method::TRACKING, &params, |_| {});
    let (result, output) = super::ask_shown(environment, options.json, call)?;
    if options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let tracking: Tracking = super::parse_result(&result)?;
    show(&output, &tracking);
    let on: Vec<&str> = tracking.projects.iter().filter(|(_, on)| **on).map(|(project, _)| project.as_str()).collect();
    if matches!(args.action, Action::Disable(Options { project: None, .. })) && !on.is_empty() {
        print::note(&format!(
            "\nStill read, because they are switched on by name: {}. `baton session-tracking disable --project P` \
             switches one off.",
            print::one_line(&on.join(", "), 400)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, tracking: &Tracking) {
    let on = |enabled: bool| match enabled {
        true => output.styled(Style::Good, "on"),
        false => output.styled(Style::Bad, "off"),
    };
    output.line(&format!("session tracking is {}", on(tracking.global_enabled)));
    for (project, enabled) in &tracking.projects {
        output.line(&format!("  {} for {}", on(*enabled), print::plain(project)));
    }
    for project in &tracking.exclude {
        output.line(&format!("  never read: {}", print::plain(project)));
    }
    let (noun, verb) = if tracking.active_sessions == 1 { ("session", "is") } else { ("sessions", "are") };
    output.line(&format!("{} open {noun} {verb} tracked", tracking.active_sessions));
    for session in &tracking.sessions {
        let at = session.last_activity.as_deref().map(zone::minute).unwrap_or_default();
        let id = output.id(&session.session_id);
        let left = output.width().saturating_sub(30).max(12);
        let project = print::one_line(session.project_root.as_deref().unwrap_or("-"), left);
        output.line(&format!("  {id}  {at:16}  {project}"));
    }
}
