//! `baton doctor`: checks that everything is installed and works together, with a fix for each problem. Read-only: it
//! starts no daemon, and asks a running one only for its state.

mod agent;
mod connection;
mod daemon;
mod disk;
mod formats;
mod home;
mod programs;

use std::time::Duration;

use serde::Serialize;

use crate::environment::{Environment, within};
use baton_install::Host;
use connection::{About, Part};
pub use connection::{Connection, Link};

/// Time limit for checking the agents' settings.
const AGENTS: Duration = Duration::from_secs(10);

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// In order.
    Ok,
    /// Works, but not as well as it could.
    Warn,
    /// Does not work.
    Error,
    /// Cannot be determined now.
    Unknown,
}

/// The finding of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, in one or two words: `hooks`.
    pub check: &'static str,
    /// The result.
    pub status: Health,
    /// What was found, in one sentence.
    pub what: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// The agent that it concerns, as `baton install` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it says of that agent's connection.
    #[serde(skip)]
    about: Option<About>,
}

/// All findings, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Report {
    /// True if no finding is an error.
    pub healthy: bool,
    /// Findings; later checks build on earlier ones.
    pub findings: Vec<Finding>,
    /// What each agent on this machine has of Baton.
    pub agents: Vec<Connection>,
}

impl Finding {
    fn new(check: &'static str, status: Health, what: impl Into<String>, fix: Option<String>) -> Self {
        Self { check, status, what: what.into(), fix, agent: None, about: None }
    }

    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Health::Ok, what, None)
    }

    fn unknown(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Health::Unknown, what, None)
    }

    fn warn(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(check, Health::Warn, what, Some(fix.into()))
    }

    fn error(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(check, Health::Error, what, Some(fix.into()))
    }

    /// The same, which tells how a part of the agent's connection is.
    fn on(self, part: Part, link: Link) -> Self {
        Self { about: Some(About { part, link }), ..self }
    }
}

/// Runs all checks. `directory` decides which project settings count.
pub fn examine(environment: &Environment, directory: &std::path::Path) -> Report {
    let mut findings = programs::check();
    findings.extend(home::check(environment));
    findings.extend(disk::check(&environment.home));
    let (seen, from) = (environment.clone(), directory.to_owned());
    let checked = within(AGENTS, move || {
        let hosts = Host::detect(&seen);
        let findings = agent::check(&hosts, &seen, &from);
        (connection::all(&hosts, &findings), findings)
    });
    let (agents, of_agents) = checked.unwrap_or_else(|| {
        let what = "the agents' directories do not answer, so their settings cannot be checked";
        (Vec::new(), vec![Finding::unknown("agents", what)])
    });
    findings.extend(of_agents);
    findings.extend(daemon::check(environment));
    let healthy = findings.iter().all(|finding| finding.status != Health::Error);
    Report { healthy, findings, agents }
}
