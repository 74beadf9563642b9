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

#[derive(Debug, Subcommand)]
enum Action {
    /// Read and index sessions again; what grew meanwhile is found by the next search
    Enable(Options),
    /// Stop reading and indexing; existing episodes stay searchable
    Disable(Options),
    /// Show the switches and the open sessions that are tracked
    Status(Options),
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Only this project: a directory, a name that fits one project, or a glob
    #[arg(long, short, value_name = "P")]
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
    let params = TrackingParams { enabled, project: options.project.as_deref().map(super::project) };
    let call = |client: &mut Client| client.call_raw(method::TRACKING, &params, |_| {});
    let (result, output) = super::ask_shown(environment, options.json, call)?;
    if options.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    show(&output, &super::parse_result(&result)?);
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
