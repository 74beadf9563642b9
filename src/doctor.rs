//! `baton doctor`: checks that everything is installed and works together, with a fix for each problem. Read-only: it
//! starts no daemon, and asks a running one only for its state.

mod agent;
mod daemon;
mod formats;
mod home;
mod programs;

use std::time::Duration;

use serde::Serialize;

use crate::environment::{Environment, within};

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
}

/// All findings, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Report {
    /// True if no finding is an error.
    pub healthy: bool,
    /// Findings; later checks build on earlier ones.
    pub findings: Vec<Finding>,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, status: Health::Ok, what: what.into(), fix: None }
    }

    fn unknown(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, status: Health::Unknown, what: what.into(), fix: None }
    }

    fn warn(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, status: Health::Warn, what: what.into(), fix: Some(fix.into()) }
    }

    fn error(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, status: Health::Error, what: what.into(), fix: Some(fix.into()) }
    }
}

/// Runs all checks. `directory` decides which project settings count.
pub fn examine(environment: &Environment, directory: &std::path::Path) -> Report {
    let mut findings = programs::check();
    findings.extend(home::check(environment));
    let (seen, from) = (environment.clone(), directory.to_owned());
    findings.extend(within(AGENTS, move || agent::check(&seen, &from)).unwrap_or_else(|| {
        let what = "the agents' directories do not answer, so their settings cannot be checked";
        vec![Finding::unknown("agents", what)]
    }));
    findings.extend(daemon::check(environment));
    let healthy = findings.iter().all(|finding| finding.status != Health::Error);
    Report { healthy, findings }
}
