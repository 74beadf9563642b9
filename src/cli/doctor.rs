//! `baton doctor`: checks that everything is installed and works together.

use std::process::ExitCode;

use super::Error;
use crate::doctor::{self, Connection, Health, Link};
use crate::environment::Environment;
use crate::print::{self, Cell, Column, Output, Style, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Checks the programs, the home and the agents' settings, and asks a running daemon for its state. Changes nothing and \
starts nothing. Each problem comes with a fix.

✓ in order, ! works, but could be better, ✗ does not work, ? cannot be determined now. Exit code 1 only if there is a ✗.

At the end it says for each agent here whether its MCP server and its hooks are present as `baton install` writes them, \
changed, off, gone (they name a program that does not exist) or absent. Pi has no MCP servers.

JSON: {\"healthy\",\"findings\":[{\"check\",\"status\":\"ok|warn|error|unknown\",\"what\",\"fix\",\"agent\"}],\
\"agents\":[{\"agent\",\"title\",\"mcp_server\",\"hooks\":\"present|changed|off|gone|absent|unknown\",\"hooks_trusted\"}]}

Examples:
  baton doctor                         after `baton install`, or when something is wrong
  baton doctor --json | jq -r '.findings[] | select(.status != \"ok\") | .what'";

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let report = doctor::examine(environment, &super::install::here()?);
    let output = Output::new();
    let code = if report.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        let text = serde_json::to_string(&report).map_err(|error| crate::client::Error::Garbled(error.to_string()))?;
        output.data(&text);
        return Ok(code);
    }
    for finding in &report.findings {
        let (sign, style) = match finding.status {
            Health::Ok => ("✓", Style::Good),
            Health::Warn => ("!", Style::Warning),
            Health::Error => ("✗", Style::Bad),
            Health::Unknown => ("?", Style::Faint),
        };
        let check = output.styled(Style::Faint, &format!("{:11}", finding.check));
        output.hanging(14, &format!("{} {check} {}", output.styled(style, sign), print::plain(&finding.what)));
        if let Some(fix) = &finding.fix {
            output.hanging(14, &format!("              fix: {}", print::plain(fix)));
        }
    }
    if !report.agents.is_empty() {
        output.line("");
        table(&report.agents).lines(&output).iter().for_each(|line| output.line(line));
    }
    let count = |status: Health| report.findings.iter().filter(|finding| finding.status == status).count() as u64;
    let (broken, warnings) = (count(Health::Error), count(Health::Warn));
    print::note(&match (broken, warnings) {
        (0, 0) => "\nEverything works.".to_owned(),
        (0, _) => format!("\nEverything works; {} (!).", print::counted(warnings, "remark")),
        _ => format!(
            "\n{} (✗), so the exit code is 1; {} (!).",
            print::counted(broken, "error"),
            print::counted(warnings, "remark")
        ),
    });
    Ok(code)
}

/// What each agent has of Baton.
fn table(agents: &[Connection]) -> Table<3> {
    let mut table = Table::new([Column::words("agent"), Column::words("MCP server"), Column::words("hooks")]);
    let cell = |link: Link, more: &str| {
        let style = match link {
            Link::Present => Style::Good,
            Link::Changed | Link::Off | Link::Absent => Style::Warning,
            Link::Gone => Style::Bad,
            Link::Unknown => Style::Faint,
        };
        Cell::styled(style, format!("{}{more}", link.as_str()))
    };
    for agent in agents {
        let trust = match agent.hooks_trusted {
            Some(true) => ", trusted",
            Some(false) => ", not all trusted",
            None => "",
        };
        let server = agent.mcp_server.map_or(Cell::styled(Style::Faint, "has none"), |link| cell(link, ""));
        table.row([Cell::new(agent.title), server, cell(agent.hooks, trust)]);
    }
    table
}
