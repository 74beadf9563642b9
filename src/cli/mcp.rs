//! `baton mcp`: the MCP server for agents.

use std::process::ExitCode;

use baton_protocol::tool;

use super::Error;
use crate::environment::Environment;
use crate::mcp;

const HELP: &str = "\
Agents start it by themselves once it is registered. It answers the agent at once, starts the daemon in the \
background, and forwards the agent's calls. It ends when its input does; until then the daemon knows that the agent is \
there. The agent's own session is the one in CLAUDE_CODE_SESSION_ID or one that followed it, otherwise the only open \
one of CLAUDE_PROJECT_DIR or of its directory. Standard output carries only the protocol; with BATON_LOG set, standard \
error has a log.

Each listed tool takes some context in every session of the agent, so only the tools that agents need most (core) are \
listed: recall, the searches, the handoff, and session tracking. --tools graphiti lists the tools of Graphiti's \
server, --tools all lists every tool, and names separated by commas list just those. Tools that are not listed can be \
called as well.

Examples:
  claude mcp add --scope user baton -- baton mcp               register it in Claude Code, for all projects
  claude mcp add baton -- baton mcp --tools core,timeline      with one more tool listed";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Tools to list: all, core, graphiti, or names separated by commas
    #[arg(long, value_name = "TOOLS", default_value = "core")]
    tools: String,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let tools = tool::selected(&args.tools).map_err(Error::Usage)?;
    mcp::run(environment, tools)?;
    Ok(ExitCode::SUCCESS)
}
