//! `baton hook`: does what `baton-hook` does, if only this program is at hand.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Called by an agent's hook: reads one JSON object from standard input, reports the event to the daemon and prints \
context for the agent. It ends within 150 ms (SessionStart, UserPromptSubmit) or 100 ms, or hooks.timeout_ms, and \
always with exit code 0; a signal that was not taken in time is left for the daemon in BATON_HOME/spool. `baton-hook \
EVENT` does the same and starts faster; `baton install` registers that.

Examples:
  baton hook session-start < event.json";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The event, such as SessionStart or session-start [default: the object's hook_event_name]; before it may stand
    /// --agent NAME, the agent that calls [default: as the object tells]
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    event: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> ExitCode {
    baton_hook::run(args.event.iter().cloned(), Instant::now());
    ExitCode::SUCCESS
}
