//! `baton project`: what is known of a project, or the list of all.

use std::process::ExitCode;

use baton_protocol::answer::{AgentCount, Project, Projects, Quote};
use baton_protocol::{Agent, ProjectParams, ProjectsParams, method};

use super::question::{place, rate, row};
use super::{Error, question};
use crate::environment::{self, Environment, zone};
use crate::print::{self, Output, Style};

const HELP: &str = "\
Shows a project: its sessions, the decisions that hold and what they replaced, open work of its latest 60 sessions, the \
files that most sessions changed, and how often its tests, builds and lints ran and passed, by week. Files and checks \
are counted over the newest 500 sessions; a session's runs count for the week in which it ended. Rates count only runs \
with a known outcome. Subagents' sessions are not listed. With --all: all projects, that with the latest activity first.

JSON: {\"project\",\"sessions_total\",\"agents\":[{\"agent\",\"sessions\"}],\"first_at\",\"last_at\",\"sessions\":[as in timeline],\"more_sessions\", \
\"decisions\":[{\"text\",\"session_id\",\"line\",\"at\",\"said_by\"}],\"more_decisions\", \
\"replaced\":[{\"text\",\"session_id\",\"line\",\"at\",\"until\",\"by\":{\"text\",\"session_id\",\"line\",\"at\"}}],\"more_replaced\",\"decisions_cut\", \
\"open\":[{\"text\",\"session_id\",\"line\",\"at\"}],\"more_open\", \
\"files\":[{\"path\",\"changed_in\",\"read_in\",\"added\",\"removed\",\"last_at\",\"ask\"}],\"more_files\", \
\"checks\":[{\"command\",\"kind\",\"count\",\"ok\",\"failed\",\"success_rate\",\"weeks\":[{\"week\",\"count\",\"ok\",\"failed\"}],\"earlier\"}], \
\"more_checks\",\"counted\",\"not_counted\",\"freshness\"}
With --all: {\"projects\":[{\"project\",\"sessions\",\"active\",\"last_at\",\"agents\",\"open\"}],\"more\",\"without_project\",\"freshness\"}

Examples:
  baton project                  this directory's project
  baton project ledger-api -n 30 more of another, by its name
  baton project --all            all projects";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// A directory, or a name that fits one project [default: this directory's]
    #[arg(value_name = "DIR|NAME")]
    project: Option<String>,
    /// List all projects
    #[arg(long, conflicts_with = "project")]
    all: bool,
    /// How many entries of each kind to show
    #[arg(long, short = 'n', value_name = "N", value_parser = super::number::<u32, 1, 100>)]
    limit: Option<u32>,
    /// Answer at once, without waiting until all history is read
    #[arg(long)]
    no_wait: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let (limit, wait, caller) = (args.limit.unwrap_or_default(), !args.no_wait, environment::caller());
    if args.all {
        let params = ProjectsParams { limit, wait, caller };
        let (result, output) = question::call(environment, method::PROJECTS, &params, args.json)?;
        if args.json {
            output.json(&result);
            return Ok(ExitCode::SUCCESS);
        }
        let answer: Projects = super::parse_result(&result)?;
        show_all(&output, &answer);
        question::note_freshness(&answer.freshness);
        return Ok(ExitCode::SUCCESS);
    }
    let params = ProjectParams { project: args.project.as_deref().map(super::project), limit, wait, caller };
    let (result, output) = question::call(environment, method::PROJECT, &params, args.json)?;
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Project = super::parse_result(&result)?;
    let listed = usize::try_from(args.limit.unwrap_or(12)).unwrap_or(usize::MAX);
    show(&output, &answer, listed);
    question::note_freshness(&answer.freshness);
    Ok(ExitCode::SUCCESS)
}

fn show_all(output: &Output, answer: &Projects) {
    for project in &answer.projects {
        let last = project.last_at.as_deref().map(zone::minute).unwrap_or_default();
        let sessions = print::counted(u64::from(project.sessions), "session");
        let active = if project.active > 0 { format!(", {} not ended", project.active) } else { String::new() };
        let open = project.open.filter(|open| *open > 0).map(|open| format!(", {open} open")).unwrap_or_default();
        output.line(&output.styled(Style::Strong, &print::one_line(&project.project, usize::MAX)));
        row(output, 2, &last, &format!("{sessions}{active}{open}, {}", agents(&project.agents)));
    }
    if answer.projects.is_empty() {
        output.line("No project is known.");
    }
    more(output, answer.more, "project");
    if answer.without_project > 0 {
        let sessions = print::counted(u64::from(answer.without_project), "session");
        output.line(&format!("\n{sessions} without a project."));
    }
}

fn agents(agents: &[AgentCount]) -> String {
    agents.iter().map(|one| format!("{} {}", one.agent, one.sessions)).collect::<Vec<_>>().join(", ")
}

fn more(output: &Output, count: u32, what: &str) {
    if count > 0 {
        output.line(
            &output
                .styled(Style::Faint, &format!("  and {}", print::counted(u64::from(count), &format!("more {what}")))),
        );
    }
}

fn heading(output: &Output, title: &str) {
    output.line(&format!("\n{}", output.styled(Style::Strong, title)));
}

fn quote(output: &Output, indent: usize, before: &str, quote: &Quote) {
    let place = place(output, &quote.session_id, quote.line, quote.at.as_deref());
    row(output, indent, &format!("{before}{}", quote.text), &place);
}

fn show(output: &Output, project: &Project, listed: usize) {
    output.line(&output.styled(Style::Strong, &print::one_line(&project.project, usize::MAX)));
    let day = |at: &Option<String>| at.as_deref().map(zone::day).unwrap_or_default();
    let sessions = print::counted(u64::from(project.sessions_total), "session");
    let span = format!("{} to {}", day(&project.first_at), day(&project.last_at));
    row(output, 0, &format!("{sessions}, {span}"), &agents(&project.agents));
    heading(output, "Sessions");
    for session in project.sessions.iter().take(listed) {
        let title = if session.title.is_empty() { "(no title)" } else { &session.title };
        let at = session.ended_at.as_deref().map(zone::minute).unwrap_or_default();
        let agent = session.agent.as_deref().map_or("", Agent::title_of);
        row(
            output,
            2,
            &format!("{at} {} {title}", output.id(&session.session_id)),
            &format!("{agent} {}", super::timeline::outcome(&session.outcome)),
        );
    }
    let hidden = project.sessions.len().saturating_sub(listed);
    more(output, project.more_sessions.saturating_add(u32::try_from(hidden).unwrap_or(u32::MAX)), "session");
    if !project.decisions.is_empty() {
        heading(output, "Decisions that hold");
        for decision in &project.decisions {
            let by = if decision.said_by.is_some() { "(model) " } else { "" };
            quote(output, 2, by, &decision.said);
        }
        more(output, project.more_decisions, "decision");
    }
    if !project.replaced.is_empty() {
        heading(output, "Superseded decisions");
        for replaced in &project.replaced {
            quote(output, 2, "", &replaced.said);
            if let Some(by) = &replaced.by {
                quote(output, 6, "now: ", by);
            }
        }
        more(output, project.more_replaced, "decision");
    }
    if project.decisions_cut {
        output.line("  There are further decisions that were not looked at; `baton recall` finds them by words.");
    }
    if !project.open.is_empty() {
        heading(output, "Open");
        project.open.iter().for_each(|open| quote(output, 2, "", open));
        more(output, project.more_open, "open item");
    }
    if !project.files.is_empty() {
        heading(output, "Files");
        for file in &project.files {
            let changed = print::counted(u64::from(file.changed_in), "session");
            let read = if file.read_in > 0 { format!(", read in {} others", file.read_in) } else { String::new() };
            let lines = print::changed_lines(", ", file.added, file.removed);
            row(output, 2, &file.path, &format!("changed in {changed}{read}{lines}"));
        }
        more(output, project.more_files, "file");
    }
    if !project.checks.is_empty() {
        heading(output, "Checks");
        for check in &project.checks {
            row(output, 2, &check.command, &format!("{}, {}", check.kind, rate(&check.runs)));
            for week in &check.weeks {
                let name = if week.week.is_empty() { "unknown week" } else { &week.week };
                row(output, 6, name, &rate(&week.runs));
            }
            if check.earlier > 0 {
                row(output, 6, "earlier", &print::counted(u64::from(check.earlier), "run"));
            }
        }
        more(output, project.more_checks, "check");
    }
    if project.not_counted > 0 {
        let sessions = print::counted(u64::from(project.not_counted), "older session");
        output.line(&format!("\nFiles and checks of {sessions} are not counted."));
    }
}
