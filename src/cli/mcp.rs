//! `baton mcp`: the door for agents.

use std::process::ExitCode;

use clap::Args;

use super::Error;
use crate::environment::Environment;
use crate::mcp;

const HELP: &str = "\
An agent starts it by itself once it is registered. It greets the agent at once, starts the daemon in the background, and \
forwards the agent's calls: search_memory_nodes, search_memory_facts, get_episodes, get_handoff, session_tracking_close, \
session_tracking_list_unindexed, session_tracking_sync_history, session_tracking_status, track_session and \
stop_tracking_session. It ends when its input does; until then the daemon knows that the agent is there. The agent's own \
session is the one of CLAUDE_CODE_SESSION_ID and what followed it, else the only open one of CLAUDE_PROJECT_DIR or of its \
directory. Standard output carries the protocol only; with BATON_LOG set, standard error tells what it does.

Examples:
  claude mcp add --scope user baton -- baton mcp    register it in Claude Code, for all projects";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(super) struct Typed {}

pub(super) fn run(environment: &Environment, _typed: &Typed) -> Result<ExitCode, Error> {
    mcp::run(environment)?;
    Ok(ExitCode::SUCCESS)
}
