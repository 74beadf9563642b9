//! What each agent has of Baton: a row for each, made of the findings about it.

use serde::Serialize;

use super::Finding;
use baton_install::Host;

/// How a part of an agent's connection is; later ones outweigh earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// As `baton install` writes it.
    Present,
    /// There, but otherwise than `baton install` writes it.
    Changed,
    /// There, but switched off or not allowed to run.
    Off,
    /// There, but the program that it names is not.
    Gone,
    /// Not there.
    Absent,
    /// Cannot be determined.
    Unknown,
}

impl Link {
    /// The word for it, as in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Changed => "changed",
            Self::Off => "off",
            Self::Gone => "gone",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
        }
    }
}

/// The part of a connection that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Server,
    Hooks,
    /// Codex's record of the hooks that its user trusts.
    Trust,
}

/// What a finding says of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About {
    pub(super) part: Part,
    pub(super) link: Link,
}

/// What an agent has of Baton.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// The agent, as `baton install` names it.
    pub agent: String,
    /// Its name for display.
    pub title: &'static str,
    /// The MCP server; `None` if the agent has no MCP servers.
    pub mcp_server: Option<Link>,
    /// The hooks, or what calls them.
    pub hooks: Link,
    /// Codex: true if its user has trusted all of the hooks that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks_trusted: Option<bool>,
}

/// A row for each agent. What no finding is about cannot be determined.
pub(super) fn all(hosts: &[Host], findings: &[Finding]) -> Vec<Connection> {
    let row = |host: &Host| {
        let agent = host.cli_name();
        let own = findings.iter().filter(|finding| finding.agent.as_ref() == Some(&agent));
        let about: Vec<About> = own.filter_map(|finding| finding.about).collect();
        let worst = |part| about.iter().filter(|about| about.part == part).map(|about| about.link).max();
        Connection {
            title: host.title(),
            mcp_server: host.has_servers().then(|| worst(Part::Server).unwrap_or(Link::Unknown)),
            hooks: worst(Part::Hooks).unwrap_or(Link::Unknown),
            hooks_trusted: worst(Part::Trust).map(|link| link == Link::Present),
            agent,
        }
    };
    hosts.iter().map(row).collect()
}
