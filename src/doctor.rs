//! `baton doctor`: whether everything is there and works together, each finding with its fix. It looks and changes nothing:
//! it starts no daemon and asks a running one only for what it knows.

mod agent;
mod daemon;
mod home;
mod model;
mod programs;

use std::time::Duration;

use serde::Serialize;

use crate::environment::{Environment, within};

/// How long what the agents have of Baton is looked at.
const AGENTS: Duration = Duration::from_secs(10);

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Works, and not as well as it could.
    Warn,
    /// Does not work.
    Error,
    /// Cannot be told now.
    Unknown,
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, one word or two: `hooks`.
    pub check: &'static str,
    /// How it is.
    pub status: Health,
    /// What there is, one sentence.
    pub what: String,
    /// What to do, where something is to be done.
    pub fix: Option<String>,
}

/// Everything that was found out, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether there is no error.
    pub healthy: bool,
    /// In the order in which they build on each other.
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

/// Looks at everything, seen from a directory.
pub fn examine(environment: &Environment, directory: &std::path::Path) -> Report {
    let mut findings = programs::look();
    findings.extend(home::look(environment));
    let (seen, from) = (environment.clone(), directory.to_owned());
    findings.extend(within(AGENTS, move || agent::look(&seen, &from)).unwrap_or_else(|| {
        let what = "the directories of the agents do not answer, so what they have of Baton cannot be told";
        vec![Finding::unknown("agents", what)]
    }));
    findings.extend(daemon::look(environment));
    let healthy = findings.iter().all(|finding| finding.status != Health::Error);
    Report { healthy, findings }
}
