//! `baton mcp`: the MCP server for agents.

use std::process::ExitCode;

use baton_protocol::tool;
use clap::Args;

use super::Error;
use crate::environment::Environment;
use crate::mcp;

const HELP: &str = "\
An agent starts it by itself once it is registered. It greets the agent at once, starts the daemon in the background, and \
forwards the agent's calls. It ends when its input does; until then the daemon knows that the agent is there. The agent's own \
session is the one of CLAUDE_CODE_SESSION_ID and what followed it, else the only open one of CLAUDE_PROJECT_DIR or of its \
directory. Standard output carries the protocol only; with BATON_LOG set, standard error tells what it does.

What it lists costs every session of the agent some of its context, so it lists what agents need most (core): recall, the \
searches, what the last session left, and the tracking of sessions. --tools graphiti lists the tools of Graphiti's server, \
--tools all every one, and names with commas between them just these. What is not listed can be called all the same.

Examples:
  claude mcp add --scope user baton -- baton mcp               register it in Claude Code, for all projects
  claude mcp add baton -- baton mcp --tools core,timeline      with one more tool listed";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(super) struct Typed {
    /// Which tools are listed: all, core, graphiti, or names with commas between them
    #[arg(long, value_name = "TOOLS", default_value = "core")]
    tools: String,
}

pub(super) fn run(environment: &Environment, typed: &Typed) -> Result<ExitCode, Error> {
    let tools = tool::selected(&typed.tools).map_err(Error::Usage)?;
    mcp::run(environment, tools)?;
    Ok(ExitCode::SUCCESS)
}
