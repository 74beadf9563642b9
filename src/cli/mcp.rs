//! `baton mcp`: the door for agents.

use std::process::ExitCode;

use clap::Args;

use super::Error;
use crate::environment::Environment;
use crate::mcp;

/// Serve agents: an MCP server on standard input and output
///
/// An agent starts it by itself once it is registered, for Claude Code with `claude mcp add baton -- baton mcp`.
/// It answers at once and starts the daemon in the background. Standard output carries the protocol only; set BATON_LOG to
/// see what it does on standard error.
#[derive(Debug, Args)]
pub(super) struct Typed {}

pub(super) fn run(environment: &Environment, _typed: &Typed) -> Result<ExitCode, Error> {
    mcp::run(environment)?;
    Ok(ExitCode::SUCCESS)
}
